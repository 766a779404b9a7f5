"""Rows of the request's table that no awkward case plays, each by its name."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain import leases, planner, pool, queue
from bot.domain.errors import Already, NotYours, ReasonWanted, TooLate, TooMany
from bot.domain.model import AsideWhy, Job, LeaseState, Length, RequestState, RestWhy
from bot.domain.news import NewsKind
from bot.domain.pool import set_aside
from tests.domain.world import MONDAY_10, PCI, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
EVENING = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)


def lines(world: World, what: str) -> list[str]:
    return [x.about for x in world.lines if x.what == what]


def tight(now: datetime = MONDAY_10) -> World:
    """One card is free."""
    world = World(now)
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "14d")
    return world


def test_impossible_is_refused_and_nothing_is_written() -> None:
    world = World()
    with pytest.raises(TooMany):
        world.request("bob", "vm-r", 5)
    with pytest.raises(NotYours):
        world.request("bob", "vm-train")
    assert not world.books.requests


def test_said_again_it_changes_the_waiting_request() -> None:
    world = World()
    world.looking = False
    first = world.request("bob", "vm-r", 1, None, "for 4h")
    again = world.request("bob", "vm-r", 1, "tonight", "for 8h")
    assert again.number == first.number and again.terms.length.lasting == 8 * HOUR
    assert [a.label for a in world.books.agreements.values()] == [str(first.number)]


def test_a_standing_window_is_a_known_window() -> None:
    world = World()
    world.agree("bob", "vm-r", "nights")
    number = world.request("bob", "vm-r").number
    world.round()
    assert world.req(number).state is RequestState.LEASED and world.lease(number).state is LeaseState.RESERVED
    assert lines(world, "request.turn") == [f"#{number}"] and world.told(NewsKind.LEASED, "bob")


def test_outside_working_hours_the_next_is_asked_and_the_place_is_kept() -> None:
    world = tight(EVENING)
    first = world.request("bob", "vm-r").number
    second = world.request("carol", "vm-train", 1, "nights").number
    world.pass_time(2 * MIN)
    assert world.req(second).state is RequestState.LEASED
    assert world.req(first).state is RequestState.QUEUED and world.req(first).silences == 0
    assert lines(world, "request.turn_away") == [f"#{first}"], "written once"
    assert queue.place(world.books, world.req(first)) == 1


def test_outside_working_hours_and_nobody_else_it_is_offered_all_the_same() -> None:
    world = tight(EVENING)
    number = world.request("bob", "vm-r").number
    world.round()
    offer = world.req(number).offer
    assert offer is not None and offer.accept_by == datetime(2026, 12, 1, 8, 30, tzinfo=UTC), "half an hour of Tuesday"


def test_nobody_passes_one_who_waits_for_more_by_way_of_one_who_sleeps() -> None:
    """The second wants three and blocks; the third cannot be asked instead of the first, so the first is."""
    world = tight(EVENING)
    first = world.request("bob", "vm-r").number
    world.request("carol", "vm-train", 3, "nights")
    third = world.request("ada", "vm-python-2", 1, "nights").number
    world.pass_time(MIN)
    assert world.req(first).state is RequestState.OFFERED and world.req(third).state is RequestState.QUEUED


@pytest.mark.parametrize("offered", [False, True])
def test_no_longer_an_owner_it_rests_until_another_machine_is_named(offered: bool) -> None:
    world = tight()
    if not offered:
        world.looking = False
    number = world.request("bob", "vm-r").number
    world.round()
    assert world.req(number).state is (RequestState.OFFERED if offered else RequestState.QUEUED)
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("carol",), "dana"))
    world.round()
    rest = world.req(number).rest
    assert world.req(number).state is RequestState.QUEUED and rest is not None and rest.why is RestWhy.MACHINE
    assert world.told(NewsKind.BACK_IN_LINE, "bob") and not [h for h in world.books.holds if h.label == str(number)]
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("carol", "bob"), "dana"))
    world.looking = True
    world.pass_time(MIN)
    assert world.req(number).rest is None, "an owner again"


def test_no_machine_named_for_three_working_days_it_is_withdrawn_and_told() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="tonight").number
    world.round()
    world.vms["vm-r"].exists = False
    world.pass_time(MIN)
    rest = world.req(number).rest
    assert rest is not None and rest.why is RestWhy.MACHINE and rest.until == datetime(2026, 12, 3, 17, 0, tzinfo=UTC)
    world.pass_time(4 * DAY, 15 * MIN)
    assert world.req(number).state is RequestState.WITHDRAWN and world.told(NewsKind.LEFT_LINE, "bob")


@pytest.mark.parametrize("window", [None, "ask"])
def test_release_leaves_the_line(window: str | None) -> None:
    world = World()
    if window is None:
        world.looking = False
    number = world.request("bob", "vm-r", window=window).number
    world.round()
    assert world.req(number).state is (RequestState.QUEUED if window is None else RequestState.OFFERED)
    world.do(lambda d: queue.withdraw(d, d.requests[number], "bob"))
    assert world.req(number).state is RequestState.WITHDRAWN and not world.books.holds


def test_a_released_offer_goes_to_the_next() -> None:
    world = tight()
    first, second = world.request("bob", "vm-r").number, world.request("carol", "vm-train").number
    world.round()
    world.do(lambda d: queue.withdraw(d, d.requests[first], "bob"))
    world.round()
    assert world.req(second).state is RequestState.OFFERED


def test_accepted_with_a_window_it_is_a_lease_an_agreement_and_terms() -> None:
    world = World()
    number = world.request("bob", "vm-r", 1, "ask", "for 4h").number
    world.round()
    lease = world.accept("bob", number, "tonight")
    assert lease.state is LeaseState.RESERVED and lease.terms.length.lasting == 4 * HOUR  # type: ignore[union-attr]
    assert [(a.label, a.person) for a in world.books.agreements.values()] == [(str(number), "bob")]
    assert lines(world, "request.accepted") == [f"#{number}"] and world.told(NewsKind.OFFER_OVER, "bob")


def test_accepted_while_a_slot_went_aside_the_ledger_says_which_instead() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="ask").number
    world.round()
    world.do(lambda d: set_aside(d, d.cards["T4-1"], AsideWhy.QUARANTINED, "hot"))
    world.accept("bob", number, "tonight")
    assert lines(world, "request.accepted_aside") == [f"#{number}"] and not lines(world, "request.accepted")
    assert any(x.what == "request.accepted_aside" and "T4-2 instead" in x.why for x in world.lines)


def test_accepted_too_late_or_twice_it_stays_as_it_is() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="ask").number
    world.round()
    world.accept("bob", number, "tonight")
    with pytest.raises(TooLate):
        world.accept("bob", number, "now")
    other = world.request("carol", "vm-train", window="ask").number
    world.round()
    world.now += 31 * MIN
    with pytest.raises(TooLate):
        world.accept("carol", other, "now")
    assert world.req(other).state is RequestState.OFFERED and world.req(number).state is RequestState.LEASED


def test_silence_rests_and_the_second_asks_whether_it_is_still_wanted() -> None:
    world = tight()
    number = world.request("bob", "vm-r").number
    world.pass_time(32 * MIN, MIN)
    rest = world.req(number).rest
    assert rest is not None and rest.why is RestWhy.SILENT and rest.until == rest.since + 4 * HOUR
    world.pass_time(5 * HOUR, MIN)
    rest = world.req(number).rest
    assert rest is not None and rest.why is RestWhy.STILL_WANTED and len(world.told(NewsKind.STILL_WANTED, "bob")) == 1
    world.pass_time(4 * DAY, 15 * MIN)
    assert world.req(number).state is RequestState.WITHDRAWN and world.told(NewsKind.LEFT_LINE, "bob")


def test_still_wanted_is_answered_by_a_window() -> None:
    world = tight()
    number = world.request("bob", "vm-r").number
    world.pass_time(6 * HOUR, MIN)
    world.request("bob", "vm-r", window="tonight")
    world.round()
    assert world.req(number).state is RequestState.LEASED and world.req(number).silences == 0


def test_an_offered_slot_goes_aside_an_equal_one_is_offered() -> None:
    world = World()
    number = world.request("bob", "vm-r").number
    world.round()
    world.do(lambda d: pool.drain(d, d.cards["T4-1"], "dana", "hot"))
    world.round()
    assert world.req(number).state is RequestState.OFFERED and {h.slot for h in world.books.holds} == {"T4-2"}
    keys = {n.key for n in world.told(NewsKind.OFFER, "bob")}
    assert len(world.told(NewsKind.OFFER, "bob")) == 2 and len(keys) == 1, "the message is edited"


@pytest.mark.parametrize("accepts", [False, True])
def test_an_offered_slot_goes_aside_and_the_others_are_in_somebodys_machine_it_is_taken_back(accepts: bool) -> None:
    world = World()
    number = world.request("bob", "vm-r").number
    world.round()
    world.vms["vm-train"].cards |= {PCI[1], PCI[2], PCI[3]}  # lent to nobody, and not free
    world.do(lambda d: pool.drain(d, d.cards["T4-1"], "dana", "hot"))
    if accepts:
        world.accept("bob", number, "tonight")
    else:
        world.round()
    assert world.req(number).state is RequestState.QUEUED and not world.books.holds


def test_an_offered_slot_goes_aside_and_none_is_equal_it_is_taken_back() -> None:
    world = tight()
    number = world.request("bob", "vm-r").number
    world.round()
    world.do(lambda d: pool.drain(d, d.cards["T4-4"], "dana", "hot"))
    world.round()
    assert world.req(number).state is RequestState.QUEUED and world.req(number).rest is None
    assert not [h for h in world.books.holds if h.slot == "T4-4"] and world.told(NewsKind.OFFER_OVER, "bob")


@pytest.mark.parametrize("offered", [False, True])
def test_who_left_the_workspace_leaves_the_line_and_admins_are_told(offered: bool) -> None:
    world = World()
    world.looking = offered
    number = world.request("bob", "vm-r").number
    world.round()
    assert (world.req(number).offer is not None) is offered
    world.people["bob"] = replace(world.people["bob"], active=False)
    world.round()
    assert world.req(number).state is RequestState.WITHDRAWN and not world.books.holds
    assert world.told(NewsKind.PERSON_LEFT, "admins")


def test_a_lease_given_up_by_its_person_before_it_worked_withdraws_the_request() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="tonight").number
    world.round()
    world.release("bob", str(number))
    assert world.req(number).state is RequestState.WITHDRAWN


def test_a_lease_over_after_it_worked_serves_the_request() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="now").number
    world.until(lambda: world.req(number).state is RequestState.LEASED and world.vms["vm-r"].cards, 10 * MIN)
    world.until(lambda: world.lease(number).state is LeaseState.ACTIVE, 10 * MIN)
    world.release("bob", str(number), None, "now")
    world.until(lambda: world.req(number).state is RequestState.SERVED, 15 * MIN)


def test_who_lost_a_card_asks_again_at_the_old_place_once() -> None:
    world = tight()
    lost = world.request("bob", "vm-r", window="now").number
    world.until(lambda: str(lost) in world.books.leases and world.lease(lost).state is LeaseState.ACTIVE, 15 * MIN)
    carol = world.request("carol", "vm-train").number
    world.vms["vm-r"].cards.clear()
    world.pass_time(MIN)
    assert world.lease(lost).state is LeaseState.FAILED and world.req(lost).state is RequestState.SERVED
    again = world.request("bob", "vm-r", window="tonight")
    assert [r.number for r in queue.line(world.books)] == [again.number, carol]
    world.do(lambda d: queue.withdraw(d, d.requests[again.number], "bob"))
    assert world.request("bob", "vm-r").asked == world.now, "once"


def test_a_rest_for_want_of_a_window_ends_only_by_a_new_one() -> None:
    """A standing window that was there all the while was of no use: it does not give the card back to the same one at once."""
    world = tight()
    world.agree("bob", "vm-r", "nights")
    world.vms["vm-r"].jobs = (Job("bob", "python", MONDAY_10, True),)
    number = world.request("bob", "vm-r").number
    world.round()
    other = world.request("carol", "vm-train", 1, "nights").number
    world.pass_time(25 * HOUR, 5 * MIN)
    rest = world.req(number).rest
    assert rest is not None and rest.why is RestWhy.NO_WINDOW and world.req(other).state is RequestState.LEASED
    assert len(world.told(NewsKind.FREE_UNUSED, "bob")) == 2, "told at 4 h and 20 h"
    world.agree("bob", "vm-r", "tonight")
    world.round()
    assert world.req(number).rest is None


def test_a_passed_offer_may_be_taken_after_all() -> None:
    world = tight()
    number = world.request("bob", "vm-r").number
    world.round()
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[number], world.people["bob"], world.policy))
    world.accept("bob", number, "tonight")
    world.round()
    assert world.req(number).state is RequestState.LEASED


def test_forced_by_an_admin_before_it_worked_its_person_is_told() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="tonight").number
    world.round()
    world.do(lambda d: leases.force(d, d.leases[str(number)], "dana", "the demo"))
    assert world.lease(number).state is LeaseState.ENDED and not world.told(NewsKind.RETURNING)
    request, told = world.req(number), world.told(NewsKind.BACK_IN_LINE, "bob")
    assert request.state is RequestState.QUEUED and request.rest is None
    assert [(n.who, n.reason) for n in told] == [("dana", "the demo")]


def test_forced_by_an_admin_while_it_is_put_in_it_waits_at_its_old_place_when_it_is_out() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="now").number
    asked = world.req(number).asked
    world.until(lambda: world.vms["vm-r"].cards, 10 * MIN, timedelta(seconds=5))
    world.do(lambda d: leases.force(d, d.leases[str(number)], "dana", "the demo"))
    assert world.lease(number).state is LeaseState.RETURNING and len(world.told(NewsKind.RETURNING, "bob")) == 1
    world.until(lambda: world.lease(number).state is LeaseState.ENDED, 30 * MIN)
    assert world.req(number).state is not RequestState.WITHDRAWN and world.req(number).asked == asked
    assert world.told(NewsKind.BACK_IN_LINE, "bob")[-1].who == "dana"


def test_given_up_by_another_owner_of_its_machine_it_is_withdrawn() -> None:
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    number = world.request("bob", "vm-r", window="tonight").number
    world.round()
    with pytest.raises(ReasonWanted):
        world.release("carol", str(number))
    world.release("carol", str(number), because="it is theirs this week")
    assert world.req(number).state is RequestState.WITHDRAWN


# ---- passed: what wakes it, and what does not


def passed(world: World, number: int) -> None:
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[number], world.people["ada"], world.policy))


def test_passed_with_more_cards_free_it_is_not_asked_again_and_not_by_a_lease_of_the_same_person() -> None:
    world = World()
    number = world.request("ada", "vm-python", window="ask").number
    world.round()
    passed(world, number)
    world.pass_time(5 * MIN)
    other = world.request("ada", "vm-python-2", window="now").number
    world.round()
    world.until(lambda: world.lease(other).state is LeaseState.ACTIVE, 20 * MIN)
    world.pass_time(2 * HOUR, MIN)
    assert world.req(number).rest is not None and len(world.told(NewsKind.OFFER, "ada")) == 1
    world.release("ada", str(other), None, "now")
    world.until(lambda: world.req(number).state is RequestState.OFFERED, 20 * MIN)


def test_silent_with_more_cards_free_it_is_not_asked_again_at_once() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="ask").number
    world.pass_time(45 * MIN, MIN)
    rest = world.req(number).rest
    assert rest is not None and rest.why is RestWhy.SILENT and len(world.told(NewsKind.OFFER, "bob")) == 1


def test_passed_it_is_not_asked_again_because_vcenter_was_away_or_the_next_one_passed_too() -> None:
    world = World()
    number = world.request("ada", "vm-python", window="ask").number
    second = world.request("bob", "vm-r", window="ask").number
    world.round()
    passed(world, number)
    world.round()
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[second], world.people["bob"], world.policy))
    world.looking = False
    world.pass_time(3 * MIN)
    world.looking = True
    world.pass_time(HOUR, MIN)
    assert world.req(number).rest is not None and len(world.told(NewsKind.OFFER)) == 2


def test_passed_a_card_that_rested_and_is_lent_again_wakes_it() -> None:
    world = tight()
    number = world.request("bob", "vm-r", window="ask").number
    world.round()
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[number], world.people["bob"], world.policy))
    world.do(lambda d: set_aside(d, d.cards["T4-4"], AsideWhy.DRAINED, "a look at its fan", "dana"))
    world.pass_time(MIN)
    world.do(lambda d: d.put(replace(d.cards["T4-4"], aside=None)))
    world.round()
    assert world.req(number).state is RequestState.OFFERED


def test_a_time_that_was_named_otherwise_is_no_silence() -> None:
    world = World()
    number = world.request("bob", "vm-r").number
    world.round()
    world.agree("bob", "vm-r", "nights")
    world.pass_time(40 * MIN, MIN)
    assert world.req(number).state is RequestState.LEASED and world.req(number).silences == 0
    assert [n.reason for n in world.told(NewsKind.OFFER_OVER, "bob")] == ["a time to restart is agreed by now"]


# ---- who leaves takes along what was agreed and what was asked


def agreed(world: World) -> list[str]:
    return [a.label for a in world.books.agreements.values()]


def test_who_leaves_the_line_takes_the_time_that_was_agreed_along_at_once() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    number = world.request("bob", "vm-r", window="tonight").number
    world.agree("bob", "vm-r", "nights")
    assert agreed(world) == [str(number), ""]
    world.do(lambda d: queue.withdraw(d, d.requests[number], "bob"))
    assert agreed(world) == [""], "what stands for the machine stays"


def test_who_gives_up_a_card_that_was_not_there_yet_takes_the_time_along_at_once() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="tonight").number
    world.round()
    assert world.lease(number).state is LeaseState.RESERVED and agreed(world) == [str(number)]
    world.release("bob", str(number))
    assert not agreed(world)


def test_who_is_taken_out_of_the_line_takes_the_time_along_in_the_same_round() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.request("bob", "vm-r", window="tonight")
    world.people["bob"] = replace(world.people["bob"], active=False)
    world.round()
    assert not agreed(world)


def test_who_leaves_the_line_is_not_asked_any_more() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="ask").number
    world.round()
    offer = world.told(NewsKind.OFFER, "bob")[-1]
    world.do(lambda d: queue.withdraw(d, d.requests[number], "bob"))
    assert [n.key for n in world.told(NewsKind.OFFER_OVER, "bob")] == [offer.key]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("turn", [RequestState.QUEUED, RequestState.OFFERED])
def test_another_number_that_cannot_be_had_changes_nothing_else(turn: RequestState, count: int) -> None:
    world = World()
    number = world.request("bob", "vm-r", 2).number
    if turn is RequestState.OFFERED:
        world.round()
    assert world.req(number).state is turn
    before = world.req(number)
    again = queue.Wanted(count, None, "uuid-vm-r", Length(), "other", None, counted=True)
    if turn is RequestState.QUEUED and count == 1:
        world.do(lambda d: queue.request(d, world.people["bob"], again, world.policy))
        assert (world.req(number).count, world.req(number).because) == (1, "other")
        return
    with pytest.raises(Already) as no:
        world.do(lambda d: queue.request(d, world.people["bob"], again, world.policy))
    assert no.value.facts["offered"] is (turn is RequestState.OFFERED) and world.req(number) == before
