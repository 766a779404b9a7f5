"""The tables of the lifecycles, row by row: each has its transition in ``bot.domain.lifecycle`` and a test that plays it.

``ROWS`` is the page; ``ADDED`` is what the tables allow besides, with the reason. Together they are the tables, no more and no less.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import pytest

from bot.domain.draft import Draft
from bot.domain.lifecycle import AGREEMENT, LEASE, MOVE, REQUEST, A, Impossible, L, M, On, R, State, Table, step
from bot.domain.model import Books, Request
from tests.domain.world import MONDAY_10

TABLES: dict[str, Table] = {"request": REQUEST, "lease": LEASE, "move": MOVE, "agreement": AGREEMENT}


@dataclass(frozen=True)
class Row:
    """One row of the page."""

    table: str  # request, lease, move or agreement
    when: tuple[State | None, ...]  # from; None: new
    on: On | None  # the event; None: nothing changes, so no transition
    to: tuple[State, ...]  # the states that may follow
    test: str  # the test that plays it: module and name, without `tests.domain.test_` and `test_`


def _r(when: object, on: On | None, to: object, test: str, table: str = "request") -> Row:
    as_tuple = lambda x: x if isinstance(x, tuple) else (x,)  # noqa: E731
    return Row(table, as_tuple(when), on, as_tuple(to), test)


def _l(when: object, on: On | None, to: object, test: str) -> Row:
    return _r(when, on, to, test, "lease")


def _m(when: object, on: On | None, to: object, test: str) -> Row:
    return _r(when, on, to, test, "move")


def _a(when: object, on: On | None, to: object, test: str) -> Row:
    return _r(when, on, to, test, "agreement")


ROWS = [
    # ---- request
    _r(None, None, (), "rows_request impossible_is_refused_and_nothing_is_written"),
    _r(R.QUEUED, On.CHANGED, R.QUEUED, "rows_request said_again_it_changes_the_waiting_request"),
    _r(None, On.ASKED, R.QUEUED, "rows_request a_standing_window_is_a_known_window"),
    _r(R.QUEUED, On.TURN, R.LEASED, "rows_request a_standing_window_is_a_known_window"),
    _r(R.QUEUED, On.TURN_HERE, R.LEASED, "awkward 11_giver_and_receiver_are_one_machine"),
    _r(R.QUEUED, On.TURN_OFFER, R.OFFERED, "rows_request outside_working_hours_and_nobody_else_it_is_offered_all_the_same"),
    _r(R.QUEUED, On.TURN_AWAY, R.QUEUED, "rows_request outside_working_hours_the_next_is_asked_and_the_place_is_kept"),
    _r((R.QUEUED, R.OFFERED), On.MACHINE_LOST, R.QUEUED, "rows_request no_longer_an_owner_it_rests_until_another_machine_is_named"),
    _r(R.QUEUED, On.LEFT_LINE, R.WITHDRAWN, "rows_request release_leaves_the_line"),
    _r(R.OFFERED, On.ACCEPTED, R.LEASED, "rows_request accepted_with_a_window_it_is_a_lease_an_agreement_and_terms"),
    _r(R.OFFERED, On.ACCEPTED_ASIDE, (R.LEASED, R.QUEUED), "awkward 01_accepted_while_the_card_breaks_and_none_is_equal"),
    _r((R.OFFERED, R.LEASED), None, (), "rows_request accepted_too_late_or_twice_it_stays_as_it_is"),
    _r(R.OFFERED, On.PASSED, R.QUEUED, "awkward 15_passed_and_alone_is_not_asked_again_for_four_working_hours"),
    _r(R.OFFERED, On.SILENCE, R.QUEUED, "rows_request silence_rests_and_the_second_asks_whether_it_is_still_wanted"),
    _r(R.OFFERED, On.SLOT_ASIDE, (R.OFFERED, R.QUEUED), "rows_request an_offered_slot_goes_aside_an_equal_one_is_offered"),
    _r(R.OFFERED, On.LEFT_LINE, R.WITHDRAWN, "rows_request a_released_offer_goes_to_the_next"),
    _r(R.QUEUED, On.BEFORE_PASSED, R.WITHDRAWN, "overdue what_was_wanted_before_a_time_leaves_the_line_then"),
    _r((R.QUEUED, R.OFFERED), On.PERSON_LEFT, R.WITHDRAWN, "rows_request who_left_the_workspace_leaves_the_line_and_admins_are_told"),
    _r(R.LEASED, On.LEASE_FAILED_EARLY, R.QUEUED, "rows_request a_rest_for_want_of_a_window_ends_only_by_a_new_one"),
    _r(R.LEASED, On.LEASE_BROKEN_EARLY, R.QUEUED, "rows_lease a_broken_card_returns_as_a_part_and_the_request_waits_at_its_old_place_at_once"),
    _r(R.LEASED, On.LEASE_GIVEN_UP, R.WITHDRAWN, "rows_request a_lease_given_up_by_its_person_before_it_worked_withdraws_the_request"),
    _r(R.LEASED, On.LEASE_OVER, R.SERVED, "rows_request a_lease_over_after_it_worked_serves_the_request"),
    # ---- lease
    _l(None, On.RESERVE, L.RESERVED, "rows_request a_standing_window_is_a_known_window"),
    _l(None, On.ADOPT, L.ACTIVE, "rows_lease adopt_gives_a_stranger_a_number_terms_and_a_clock"),
    _l(L.RESERVED, On.SLOT_CHANGED, L.RESERVED, "rows_lease an_equal_device_that_is_free_earlier_is_taken"),
    _l(L.RESERVED, On.NO_EQUAL, L.ENDED, "rows_lease its_own_is_aside_and_no_equal_one_is_free"),
    _l(L.RESERVED, On.RELEASE, L.ENDED, "rows_lease reserved_and_released"),
    _l(L.RESERVED, On.GONE, L.ENDED, "rows_lease reserved_and_the_machine_is_gone"),
    _l(L.RESERVED, On.NOT_USED, L.ENDED, "awkward 27_reserved_and_never_a_window_while_others_wait"),
    _l(L.RESERVED, On.SEEN_THERE, L.MOVING, "awkward 22_admin_puts_the_reserved_device_on_by_hand"),
    _l(L.RESERVED, On.CYCLE, L.MOVING, "awkward 05_machine_goes_off_by_itself_and_gets_its_reserved_card"),
    _l(L.MOVING, On.PROVEN, L.ACTIVE, "awkward 29_until_that_has_passed_counts_as_the_usual_length"),
    _l(L.MOVING, On.UNSEEN, L.ACTIVE, "rows_lease no_word_from_the_guest_for_twenty_minutes_is_not_broken"),
    _l(L.MOVING, On.LEFT_OFF, L.ACTIVE, "rows_lease left_off_for_twelve_hours_the_clock_starts_all_the_same"),
    _l(L.MOVING, On.RELEASE_EARLY, L.ENDED, "awkward 02_released_between_shutdown_and_change_comes_on_unchanged"),
    _l(L.MOVING, On.RELEASE_LATE, L.RETURNING, "awkward 02_released_after_the_change_comes_off_in_the_same_cycle"),
    _l(L.MOVING, On.RELEASE_LATE, L.RETURNING, "rows_lease released_later_than_the_power_on_it_returns_in_the_next_window"),
    _l(L.MOVING, On.WENT_BACK, L.RESERVED, "awkward 24_window_over_while_off_and_not_yet_put_on"),
    _l(L.MOVING, On.CARD_TO_BLAME, (L.RESERVED, L.ENDED), "rows_lease a_card_to_blame_goes_aside_and_an_equal_one_is_taken"),
    _l(L.MOVING, On.CARD_TO_BLAME, (L.RESERVED, L.ENDED), "rows_lease 10_one_of_two_devices_fails_when_put_on_neither_stays"),
    _l(L.MOVING, None, L.MOVING, "rows_lease a_guest_without_its_card_has_an_hour_for_repair"),
    _l(L.MOVING, On.BROKEN, L.ENDED, "rows_lease a_broken_card_returns_as_a_part_and_the_request_waits_at_its_old_place_at_once"),
    _l(L.ACTIVE, On.EXTEND, L.ACTIVE, "rows_lease extend_within_the_limits_and_not_beyond"),
    _l(L.ACTIVE, On.OVER_TIME, L.ACTIVE, "rows_lease nobody_waits_at_the_end_it_runs_on_and_is_said_once"),
    _l(L.ACTIVE, On.END, L.RETURNING, "rows_lease over_their_time_as_many_go_as_are_wanted_and_who_does_nothing_first"),
    _l(L.ACTIVE, On.RELEASE, (L.RETURNING, L.ACTIVE), "awkward 04_machine_goes_off_by_itself_removal_pending"),
    _l(L.ACTIVE, On.RELEASE, (L.RETURNING, L.ACTIVE), "rows_lease release_of_some_is_a_part_with_a_letter_that_is_not_given_twice"),
    _l(L.ACTIVE, On.TAKE_BACK, L.RETURNING, "idle_taking a_quiet_card_goes_back_in_the_window_that_is_open"),
    _l(L.ACTIVE, On.FORCE, L.RETURNING, "rows_lease force_release_names_no_window"),
    _l(L.ACTIVE, On.SOME_LOST, L.ACTIVE, "rows_lease 10_one_of_two_devices_fails_later_the_rest_runs_on"),
    _l(L.ACTIVE, On.ALL_LOST, L.FAILED, "awkward 21_admin_takes_a_device_off_by_hand"),
    _l(L.ACTIVE, On.GONE, L.ENDED, "awkward 17_machine_deleted"),
    _l(L.ACTIVE, On.BROKEN, L.ACTIVE, "rows_lease a_broken_card_of_a_lease_that_works_is_set_aside_when_it_comes_off"),
    _l(L.ACTIVE, On.DIFFERS, L.ACTIVE, "rows_lease books_and_guest_differ_the_card_is_not_granted_before_three_looks_agree"),
    _l(L.RETURNING, On.KEEP, L.ACTIVE, "awkward 13_keep_while_returning"),
    _l(L.RETURNING, None, L.RETURNING, "awkward 13_keep_is_refused_when_somebody_was_promised_it"),
    _l(L.RETURNING, On.CLEAN, L.ENDED, "awkward 21_admin_takes_a_device_off_by_hand"),
    _l(L.RETURNING, On.HANDED_ON, L.ENDED, "awkward 11_giver_and_receiver_are_one_machine"),
    _l(L.RETURNING, On.ASK_AGAIN, L.RETURNING, "rows_lease way_back_done_a_returning_lease_is_asked_again"),
    _l(L.RETURNING, On.GONE, L.ENDED, "rows_lease returning_and_the_machine_is_gone"),
    # ---- move
    _m(None, On.PLAN, M.PLANNED, "rows_move a_reserved_or_returning_lease_plans_a_move_and_no_wish_drops_it"),
    _m(M.PLANNED, On.WISHES, M.PLANNED, "rows_move more_wishes_share_one_power_cycle"),
    _m(M.PLANNED, On.NO_WISH, M.DROPPED, "rows_move a_reserved_or_returning_lease_plans_a_move_and_no_wish_drops_it"),
    _m(M.PLANNED, On.BLOCKED, M.PLANNED, "rows_move a_blocker_is_told_once_and_looked_at_each_round"),
    _m(M.PLANNED, On.SHUTDOWN, M.STOPPING, "rows_move no_window_is_used_with_less_than_the_usual_duration_to_spare"),
    _m(M.PLANNED, On.FOUND_OFF, M.CHANGING, "rows_move found_off_and_left_off"),
    _m(M.PLANNED, On.LAST_CALL, M.PLANNED, "rows_move the_last_call_is_ten_minutes_ahead_and_a_minute_for_now"),
    _m(M.PLANNED, On.NOT_USED_NOW, M.PLANNED, "rows_move a_standing_window_is_not_used_while_somebody_works_or_nobody_can_see"),
    _m(M.PLANNED, None, M.PLANNED, "awkward 16_bot_away_during_a_window_with_nothing_off"),
    _m(M.STOPPING, On.SEEN_OFF, M.CHANGING, "rows_move busy_is_asked_again_while_the_window_is_open"),
    _m(M.STOPPING, On.WITHDRAWN, M.UNDOING, "rows_move the_window_is_over_before_it_is_off"),
    _m(M.STOPPING, On.HARD, M.STOPPING, "rows_move not_off_in_time_with_a_hard_stop_agreed"),
    _m(M.STOPPING, On.HANGS, M.UNDOING, "awkward 08_guest_goes_off_late_but_within_two_hours_is_started_again"),
    _m(M.STOPPING, On.STARTED_BY_HAND, M.DROPPED, "awkward 07_user_powers_on_after_our_shutdown"),
    _m(M.CHANGING, On.CHANGE, M.CHANGING, "awkward 11_part_given_part_received_is_one_power_cycle"),
    _m(M.CHANGING, On.AGAIN, M.CHANGING, "rows_move busy_is_asked_again_while_the_window_is_open"),
    _m(M.CHANGING, On.SEEN_ON_EARLY, M.DROPPED, "awkward 06_user_powers_on_while_we_change_theirs_wins"),
    _m(M.CHANGING, On.REFUSED, M.UNDOING, "rows_move refused_for_good_goes_back"),
    _m(M.CHANGING, On.READ_BACK, M.STARTING, "awkward 06_user_powers_on_while_we_change_ours_wins"),
    _m(M.CHANGING, On.READ_BACK_OFF, M.DONE, "rows_move found_off_and_left_off"),
    _m(M.STARTING, On.SEEN_ON, M.PROVING, "rows_move off_while_it_was_to_be_proven_is_somebody_elses"),
    _m(M.STARTING, On.START_REFUSED, M.UNDOING, "rows_move what_was_put_on_comes_off_when_the_start_is_refused"),
    _m(M.STARTING, On.START_REFUSED_BARE, M.STUCK, "rows_move start_refused_and_nothing_was_put_on_needs_a_person"),
    _m(M.PROVING, On.PROOF, M.DONE, "rows_move a_one_time_agreement_is_used_with_its_power_cycle"),
    _m(M.PROVING, On.NOT_BOUND, M.DONE, "rows_move not_bound_there_is_no_second_power_off"),
    _m(M.PROVING, On.OFF_AGAIN, M.DONE, "rows_move off_while_it_was_to_be_proven_is_somebody_elses"),
    _m(M.UNDOING, On.UNDONE, M.STARTING, "rows_move what_was_put_on_comes_off_when_the_start_is_refused"),
    _m(M.UNDOING, On.NEW_WINDOW, M.STOPPING, "rows_move still_on_and_an_owner_agrees_to_a_hard_stop"),
    _m(M.UNDOING, On.LATE, M.DROPPED, "awkward 08_guest_that_goes_off_later_is_the_owners_own"),
    _m(M.PLANNED, On.GONE, M.DROPPED, "rows_move planned_and_the_machine_is_gone"),
    _m((M.STOPPING, M.CHANGING, M.STARTING, M.PROVING, M.UNDOING, M.STUCK), On.GONE, M.DROPPED, "rows_move under_way_and_the_machine_is_gone"),
    _m((M.PLANNED, M.STOPPING), None, (), "rows_move stop_while_stopping_tells_the_other_owner"),
    _m((M.CHANGING, M.STARTING), None, (), "rows_move stop_is_refused_once_it_is_off"),
    _m(M.STUCK, On.MENDED, M.DROPPED, "rows_move stuck_is_over_when_an_admin_says_done"),
    # ---- agreement
    _a(None, On.AGREE, A.OPEN, "windows ask_me_first_makes_no_agreement_and_ends_the_one_that_was_there"),
    _a(A.OPEN, On.USED, A.USED, "rows_move a_one_time_agreement_is_used_with_its_power_cycle"),
    _a(A.OPEN, On.QUEUED_AGAIN, A.WITHDRAWN, "rows_move it_is_withdrawn_with_its_request"),
    _a(A.OPEN, On.TAKEN_BACK, A.WITHDRAWN, "rows_move any_owner_withdraws_before_it_is_off_and_nobody_after"),
    _a(A.OPEN, On.SKIPPED, A.OPEN, "rows_move a_not_now_outlives_its_agreement_and_beats_the_next_yes"),
    _a(A.OPEN, On.NO_OWNER, A.WITHDRAWN, "rows_move who_gave_it_is_no_owner_any_more"),
    _a(None, On.BY_TERMS, A.OPEN, "rows_lease the_night_is_agreed_a_day_after_the_end_while_others_wait"),
]  # fmt: skip

ADDED = [
    # An offered request may be changed as well (`until`, `restart`), as one that waits.
    _r(R.OFFERED, On.CHANGED, R.OFFERED, ""),
    # Silence of three working days is said in words of the rows that it ends (silence, machine gone).
    _r(R.QUEUED, On.UNWANTED, R.WITHDRAWN, ""),
    # What is wanted until a time that passes before a card is there is as over as what was wanted before a time.
    _r(R.QUEUED, On.UNTIL_PASSED, R.WITHDRAWN, ""),
    _r(R.OFFERED, On.UNTIL_PASSED, R.WITHDRAWN, ""),
    # Parts of a lease (#12b) are leases that begin where their whole was.
    _l(None, On.RELEASE, L.RETURNING, ""),
    _l(None, On.FORCE, L.RETURNING, ""),
    _l(L.RETURNING, On.FORCE, L.RETURNING, ""),  # given back already: why is the admin's word from now on
    _l(None, On.TAKE_BACK, L.RETURNING, ""),
    _l(None, On.BROKEN, L.RETURNING, ""),
    _l(None, On.SOME_LOST, L.FAILED, ""),
    # A card is taken back because it is idle, and that is judged until the shutdown is asked: work that begins before keeps it.
    _l(L.RETURNING, On.WORK_SEEN, L.ACTIVE, ""),
    # The page has this row for the other open states.
    _l(L.MOVING, On.GONE, L.ENDED, ""),
    # A machine may be moved to another host than what is reserved for it, or was just put on.
    _l(L.RESERVED, On.MOVED_AWAY, L.ENDED, ""),
    _l(L.ACTIVE, On.RENUMBERED, L.RESERVED, ""),
    # Reserved again because its cards have other addresses, it is as one that works: its machine may name the old ones.
    _l(L.RESERVED, On.RELEASE_LATE, L.RETURNING, ""),
    _l(L.RESERVED, On.FORCE, L.RETURNING, ""),
    _l(L.RESERVED, On.END, L.RETURNING, ""),
    # A card that its host does not show any more is lost, but its machine names it still, and does not start with it.
    _l(L.ACTIVE, On.NOT_SHOWN, L.RETURNING, ""),
    _l(None, On.NOT_SHOWN, L.RETURNING, ""),
    # Of several that are had, those that are spare end as a part when somebody waits.
    _l(None, On.END, L.RETURNING, ""),
    _m(M.STARTING, On.MOVED_AWAY, M.UNDOING, ""),
    # Its host may be restarted with its cards at other addresses while it is off: the next move puts them right.
    _m((M.CHANGING, M.STARTING, M.UNDOING, M.STUCK), On.RENUMBERED, M.DROPPED, ""),
    _m((M.STUCK,), On.OUT_FIRST, M.DROPPED, ""),
    # The page has the last call for a planned move; the second try of one that went back is announced likewise.
    _m(M.UNDOING, On.LAST_CALL, M.UNDOING, ""),
    _m(M.UNDOING, On.NOT_USED_NOW, M.UNDOING, ""),
    # Calls whose answer was lost, or that may be repeated, are asked again in their state.
    _m(M.STOPPING, On.AGAIN, M.STOPPING, ""),
    _m(M.STARTING, On.AGAIN, M.STARTING, ""),
    _m(M.UNDOING, On.AGAIN, M.UNDOING, ""),
    _m(M.STUCK, On.AGAIN, M.STUCK, ""),
    _m(M.UNDOING, On.CHANGE, M.UNDOING, ""),
    # A guest that cannot be asked to shut down stays on: the way back without waiting for it.
    _m(M.STOPPING, On.REFUSED, M.UNDOING, ""),
    # "Past stopping … nothing changed yet, then undo."
    _m(M.CHANGING, On.WITHDRAWN, M.UNDOING, ""),
    # On the way back: power goes back as it was found; somebody may start it; a device may not come off again.
    _m(M.UNDOING, On.UNDONE_OFF, M.DROPPED, ""),
    _m(M.UNDOING, On.STARTED_BY_HAND, M.DROPPED, ""),
    _m(M.UNDOING, On.REFUSED, M.STUCK, ""),
    _m(M.STUCK, On.UNDONE_OFF, M.DROPPED, ""),
    # What is wanted only before a time is not wanted after it, offered or not.
    _r(R.OFFERED, On.BEFORE_PASSED, R.WITHDRAWN, ""),
    # `when done` opens and closes; a "not now" is taken back by who said it.
    _a(A.OPEN, On.OPENED, A.OPEN, ""),
    _a(A.OPEN, On.CHANGED, A.OPEN, ""),
]


def test_the_tables_are_the_page_and_the_additions_no_more_and_no_less() -> None:
    for name, table in TABLES.items():
        said: dict[tuple[State | None, On], tuple[State, ...]] = {}
        for row in (*ROWS, *ADDED):
            if row.table == name and row.on is not None:
                said |= {(state, row.on): row.to for state in row.when}
        assert said == dict(table), name


def test_an_addition_is_no_row_of_the_page() -> None:
    rows = {(row.table, state, row.on) for row in ROWS for state in row.when if row.on is not None}
    added = {(row.table, state, row.on) for row in ADDED for state in row.when}
    assert not rows & added


@pytest.mark.parametrize("test", sorted({row.test for row in ROWS}))
def test_each_row_is_played_by_a_test(test: str) -> None:
    module, name = test.split(" ", 1)
    assert hasattr(importlib.import_module(f"tests.domain.test_{module}"), f"test_{name}"), test


@pytest.mark.parametrize("name", sorted(TABLES))
def test_what_is_over_stays_over(name: str) -> None:
    over = {R.SERVED, R.WITHDRAWN, L.ENDED, L.FAILED, M.DONE, M.DROPPED, A.USED, A.WITHDRAWN}
    assert not {state for state, _ in TABLES[name]} & over


def test_what_is_in_no_table_cannot_happen() -> None:
    draft = Draft(Books(), MONDAY_10)
    request = Request(1, "bob", "T4", 1, "uuid-vm-r", MONDAY_10)
    with pytest.raises(Impossible):
        step(draft, request, On.ACCEPTED)
    with pytest.raises(Impossible):
        step(draft, request, On.TURN, to=R.OFFERED)
    assert not draft.changes()
    leased = step(draft, request, On.TURN, why="first in line")
    assert leased.state is R.LEASED and leased.changed == MONDAY_10
    assert [(x.who, x.what, x.about, x.why) for x in draft.changes().lines] == [
        ("bot", "request.turn", "#1", "first in line")
    ]
