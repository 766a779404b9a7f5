"""The one message of a restart, at each step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.leases.ends import TIME_OVER
from bot.domain.model import (
    Call,
    CallKind,
    Hold,
    Lease,
    LeaseState,
    MoveState,
    Outcome,
    RequestState,
    Step,
    Turn,
    Wish,
    Work,
)
from bot.domain.news import News, NewsKind
from bot.service import words
from bot.service.ports import Ping, Reply, Show, When
from tests.service import words_cases as w
from tests.service.words_rules import check

GAVE = w.lease("7", w.ADA, w.PYTHON, ("T4-3",), state=LeaseState.ENDED, changed=w.NOW - 10 * w.MIN)
WORLD = w.books(GAVE, w.MOVING, w.agreement())


def shown(state: MoveState, **other: object) -> Reply:
    """The message of a restart of vm-r."""
    return words.move_message(w.move(state, **other), WORLD, w.NOW, w.POLICY)


def test_a_restart_that_was_agreed_for_now_names_no_times_that_run_along() -> None:
    now = w.books(w.MOVING, w.agreement(now=True))
    assert "Agreed by bob, to begin at once." in w.text(words.move_message(w.move(), now, w.NOW, w.POLICY))


PUT, TAKE = Wish(Work.PUT, "12", "T4-3"), Wish(Work.TAKE, "7", "T4-3")
ASKED = w.request(because="the quarter's numbers", state=RequestState.LEASED)


@pytest.mark.parametrize(
    ("gave", "wishes", "expected"),
    [
        (GAVE, (PUT,), "Why: bob asked today 12:40: the quarter's numbers."),
        (replace(GAVE, ended_by=w.ADA.id), (TAKE,), "Why: ada gave it back."),
        (replace(GAVE, ended_by=w.CAROL.id), (TAKE,), "Why: carol gave it back for ada."),
        (replace(GAVE, ended_by=w.DANA.id, reason="a class"), (TAKE,), "Why: dana gave it back for ada: a class."),
        (replace(GAVE, reason=TIME_OVER), (TAKE,), "Why: the time of ada is over."),
        (replace(GAVE, reason="it did nothing"), (TAKE, PUT), "Why: it did nothing; bob asked today 12:40: the quarter's numbers."),
        (replace(GAVE, state=LeaseState.ACTIVE), (TAKE,), ""),
    ],
)  # fmt: skip
def test_everybody_reads_why_a_card_goes(gave: Lease, wishes: tuple[Wish, ...], expected: str) -> None:
    reply = words.move_message(w.move(wishes=wishes), w.books(gave, w.MOVING, ASKED, w.agreement()), w.NOW, w.POLICY)
    check(reply)
    assert [line for line in w.text(reply).split("\n") if line.startswith("Why")] == ([expected] if expected else [])


@pytest.mark.parametrize("state", list(MoveState))
@pytest.mark.parametrize("steps", [(), w.STEPS[:2], w.STEPS])
def test_every_state_keeps_the_rules_and_names_both_sides(state: MoveState, steps: tuple[Step, ...]) -> None:
    reply = shown(state, steps=steps, off_at=w.NOW - 4 * w.MIN, on_at=w.NOW, reason="no memory is free")
    check(reply)
    first = w.text(reply).split("\n")[0]
    assert "T4-3" in first and "ada (vm-python)" in first and "bob (vm-r)" in first
    assert "Agreed by bob: between today 14:30 and today 15:15." in w.text(reply)
    assert all(s.show is Show.DAY_TIME for line in reply.lines for s in line if isinstance(s, When))
    assert not any(isinstance(s, Ping) for line in reply.lines for s in line)


def test_steps_are_marked_with_their_times_and_only_what_came_of_them() -> None:
    said = w.text(shown(MoveState.PROVING, steps=w.STEPS, off_at=w.NOW - 4 * w.MIN, on_at=w.NOW - w.MIN))
    assert [x for x in said.split("\n") if x.startswith("✅")] == [
        "✅ vm-r off today 14:36",
        "✅ T4-3 in today 14:37",
        "✅ vm-r on again today 14:39 (it was off for 3 min)",
    ]
    assert "I wait until today 14:59" in said and "not restarted unasked" in said
    steps = (Step(w.NOW - 1.3 * w.MIN, "off"), w.STEPS[-1])
    quick = w.text(shown(MoveState.PROVING, steps=steps, off_at=w.NOW - 1.3 * w.MIN, on_at=w.NOW - w.MIN))
    assert "vm-r on again today 14:39 (it was off for less than a minute)" in quick, "never 0 s"


def test_a_wait_says_its_end_and_what_follows() -> None:
    stopping = w.text(shown(MoveState.STOPPING))
    assert "about 4 min left" in stopping and "I wait until today 14:43; still on then, I leave it on" in stopping
    slow = w.text(shown(MoveState.STARTING, shutdown_at=w.NOW - 20 * w.MIN))
    assert "longer than usual" in slow


def test_a_card_that_goes_away_names_who_gets_it() -> None:
    away = w.move(MoveState.STOPPING, w.PYTHON, wishes=(Wish(Work.TAKE, "7b", "T4-2"),))
    books = w.books(w.RETURNING, w.RESERVED, Hold("T4-2", Turn.NEXT, "12"))
    first = w.text(words.move_message(away, books, w.NOW, w.POLICY)).split("\n")[0]
    assert first.startswith("T4-2 goes from ada (vm-python) to bob (vm-r)")


def test_cards_in_and_out_in_one_restart_are_one_message() -> None:
    wishes = (Wish(Work.TAKE, "7b", "T4-2"), Wish(Work.PUT, "12", "T4-3"), Wish(Work.PUT, "12", "T4-1"))
    both = w.move(MoveState.PLANNED, w.PYTHON, wishes=wishes)
    first = w.text(words.move_message(both, w.books(w.RETURNING, w.RESERVED), w.NOW, w.POLICY)).split("\n")[0]
    assert "T4-2 comes out of vm-python (ada)" in first and "T4-1 and T4-3 go" in first


def test_a_card_that_was_free_is_not_said_to_come_from_anybody() -> None:
    wishes = tuple(Wish(Work.PUT, "12", slot) for slot in ("T4-3", "T4-4", "T4-2"))
    books = w.books(w.RETURNING, replace(w.RESERVED, slots=("T4-2", "T4-3", "T4-4")))
    first = w.text(words.move_message(w.move(wishes=wishes), books, w.NOW, w.POLICY)).split("\n")[0]
    assert first.startswith("T4-3 and T4-4 go to bob (vm-r), and T4-2 goes from ada (vm-python) to bob (vm-r), about")


def test_the_end_says_what_is_known_of_the_card() -> None:
    def end(lease: object, **other: object) -> str:
        return w.text(words.move_message(w.move(MoveState.DONE, **other), w.books(lease), w.NOW, w.POLICY))

    assert "T4-3 works, vm-r sees it. Lent to bob until tomorrow 18:00." in end(w.ACTIVE)
    assert "I have not heard" in end(replace(w.ACTIVE, guest_seen=False))
    assert "not seen to work yet" in end(w.MOVING)
    off = end(w.MOVING, was_on=False)
    assert "its time has not begun" in off and "stays off, as it was found" in off


def test_the_way_back_says_why_and_that_all_is_as_before() -> None:
    refused = (Step(w.NOW, "refused", "no memory is free"),)
    back = shown(MoveState.DONE, undo=True, reason="no memory is free", steps=refused)
    assert "it did not work, all is as it was before" in w.text(back)
    assert w.text(back).count("no memory is free") == 1
    told = shown(MoveState.UNDOING, reason="no memory", steps=(Step(w.NOW, "undoing", "no memory"),))
    assert w.text(told).count("no memory") == 1 and "⚠️ vm-r goes back" in w.text(told)


def test_what_was_stopped_is_not_said_to_have_failed_and_the_machine_has_what_it_had() -> None:
    steps = (w.STEPS[1], w.STEPS[4], Step(w.NOW, "undone"))
    told = w.text(shown(MoveState.DONE, undo=True, reason="an owner stopped it", steps=steps))
    assert ": not this time, all is as it was before" in told and "did not work" not in told
    assert "vm-r is as it was before today 14:40, with no card" in told
    had = w.text(shown(MoveState.DONE, undo=True, steps=(Step(w.NOW, "undone", "T4-2"),)))
    assert "vm-r is as it was before today 14:40, with T4-2" in had


def test_a_length_that_nobody_saw_is_not_claimed() -> None:
    steps = (Step(w.NOW - 4 * w.MIN, "off", since=w.NOW - 12.5 * w.MIN), w.STEPS[4])
    told = w.text(shown(MoveState.PROVING, steps=steps))
    assert "✅ vm-r off today 14:36, seen only then: nobody looked since today 14:27" in told
    assert "(it was off for at most 12 min)" in told
    steps = (Step(w.NOW - 4 * w.MIN, "off", since=w.NOW - 6 * w.MIN), w.STEPS[4])
    told = w.text(shown(MoveState.PROVING, steps=steps))
    assert "✅ vm-r off today 14:36\n" in told and "(it was off for a few minutes at most)" in told
    found = w.text(shown(MoveState.DONE, was_on=False, steps=(Step(w.NOW - 4 * w.MIN, "found_off"), w.STEPS[4])))
    assert "was found off today 14:36" in found and "it was off for" not in found, "nobody knows since when"


def test_a_machine_that_was_started_because_somebody_asked_is_not_said_to_have_restarted() -> None:
    steps = (Step(w.NOW - 4 * w.MIN, "found_off"), w.STEPS[4])
    for state, says in (
        (MoveState.STARTING, "vm-r is started, as bob asked"),
        (MoveState.DONE, "vm-r was started, as bob asked"),
    ):
        told = w.text(shown(state, wishes=(), was_on=False, wants_on=True, starter=w.BOB.id, steps=steps))
        assert told.startswith(says) and "restart" not in told.split("\n")[0] and "nothing was changed" not in told


def test_cards_that_go_the_same_way_are_named_together() -> None:
    one, other = w.lease("7", w.BOB, w.R, ("T4-4",)), w.lease("8", w.BOB, w.R, ("T4-1",))
    back = [replace(x, state=LeaseState.RETURNING) for x in (one, other)]
    wishes = (Wish(Work.TAKE, "7", "T4-4"), Wish(Work.TAKE, "8", "T4-1"))
    away = w.move(MoveState.STOPPING, w.R, wishes=wishes)
    assert w.text(words.move_message(away, w.books(*back), w.NOW, w.POLICY)).startswith(
        "T4-1 and T4-4 come out of vm-r (bob), about"
    )


def test_a_card_that_lay_free_for_an_hour_does_not_come_from_who_had_it_before() -> None:
    long_ago = w.books(replace(GAVE, changed=w.NOW - 2 * w.H), w.MOVING, w.agreement())
    assert w.text(words.move_message(w.move(MoveState.DONE), long_ago, w.NOW, w.POLICY)).startswith(
        "T4-3 went to bob (vm-r)"
    )


def test_a_move_that_is_held_up_says_why_and_what_follows() -> None:
    away = {"off_at": w.NOW - 4 * w.MIN, "blind_since": w.NOW - 2 * w.MIN, "alarmed": ("unseen",)}
    told = w.text(shown(MoveState.STARTING, **away))
    assert "⚠️ vCenter does not answer since today 14:38. vm-r is started as soon as I can see it again." in told
    assert "vm-r is starting" not in told
    asked = w.text(shown(MoveState.STOPPING, blind_since=w.NOW, alarmed=("unseen",)))
    assert "vm-r is started, if it is off, as soon as I can see it again" in asked
    books = w.books(GAVE, w.MOVING, w.agreement(), paused=f"{w.DANA.id} patching")
    paused = words.move_message(w.move(MoveState.CHANGING, off_at=w.NOW), books, w.NOW, w.POLICY)
    assert "Paused by dana: patching. vm-r stays off until an admin resumes, or somebody starts it" in w.text(paused)


def test_only_before_the_machine_is_off_it_can_be_stopped() -> None:
    for state in MoveState:
        can = [b.says for b in shown(state).buttons]
        assert can == (["stop m7"] if state in (MoveState.PLANNED, MoveState.STOPPING) else [])


def test_a_call_that_is_tried_again_says_why() -> None:
    call = Call(2, CallKind.POWER_ON, w.NOW, "run", Outcome.AGAIN, "vCenter does not answer")
    assert "Last try: vCenter does not answer." in w.text(shown(MoveState.STARTING, call=call))


def test_what_stands_in_the_way_is_in_the_message_and_what_is_left_out_too() -> None:
    assert "In the way: only 41 GB" in w.text(shown(MoveState.PLANNED, blockers=("only 41 GB are free",)))
    left = shown(MoveState.STOPPING, left_out=(Wish(Work.PUT, "13", "T4-1"),))
    assert "Left for another time: T4-1." in w.text(left)


def test_a_long_journal_is_cut_at_the_old_end() -> None:
    steps = tuple(Step(w.NOW - (30 - i) * w.MIN, "refused", f"reason {i}") for i in range(30))
    said = w.text(shown(MoveState.CHANGING, steps=steps))
    assert "… 22 earlier steps" in said and "reason 29" in said and "reason 3." not in said


def test_books_that_forgot_everything_still_make_a_message() -> None:
    check(words.move_message(w.move(MoveState.DONE, steps=w.STEPS), w.books(), w.NOW, w.POLICY))
    nothing = replace(w.move(MoveState.DROPPED), wishes=(), machine="gone", agreement=None, window=None)
    check(words.move_message(nothing, w.books(), w.NOW, w.POLICY))


def test_a_card_that_came_out_is_not_said_to_have_arrived() -> None:
    out = w.move(MoveState.DONE, w.PYTHON, wishes=(Wish(Work.TAKE, "7b", "T4-2"),))
    back = replace(w.RETURNING, state=LeaseState.ENDED)
    coming = replace(w.RESERVED, slots=("T4-2",))
    first = w.text(words.move_message(out, w.books(back, coming), w.NOW, w.POLICY)).split("\n")[0]
    assert first == "T4-2 came out of vm-python (ada), next: bob (vm-r)"


def test_a_machine_that_is_on_again_is_not_slow_but_checked() -> None:
    late = shown(MoveState.PROVING, shutdown_at=w.NOW - 20 * w.MIN, on_at=w.NOW - 15 * w.MIN)
    assert w.text(late).split("\n")[0].endswith("on again, being checked")


def test_a_card_that_goes_from_one_machine_of_somebody_to_another_names_the_machines() -> None:
    gave = w.lease("7", w.BOB, w.PYTHON, ("T4-3",), state=LeaseState.ENDED, changed=w.NOW - 10 * w.MIN)
    came = w.text(words.move_message(w.move(MoveState.DONE), w.books(gave, w.MOVING), w.NOW, w.POLICY)).split("\n")[0]
    assert came == "T4-3 went from vm-python to vm-r of bob"
    goes = w.move(MoveState.STOPPING, w.PYTHON, wishes=(Wish(Work.TAKE, "7b", "T4-2"),))
    away = w.books(replace(w.RETURNING, person=w.BOB.id), w.RESERVED, Hold("T4-2", Turn.NEXT, "12"))
    assert w.text(words.move_message(goes, away, w.NOW, w.POLICY)).startswith(
        "T4-2 goes from vm-python to vm-r of bob,"
    )


def test_a_card_that_comes_back_to_where_it_was_is_said_to_go_back() -> None:
    gave = w.lease("7", w.BOB, w.R, ("T4-3",), state=LeaseState.ENDED, changed=w.NOW - 10 * w.MIN)
    said = w.text(words.move_message(w.move(MoveState.DONE), w.books(gave, w.MOVING), w.NOW, w.POLICY))
    assert said.startswith("T4-3 went back into vm-r of bob")


def test_what_was_told_of_a_stay_is_over_in_true_words() -> None:
    """Still to go down, never off after all, or off and on again: each is said as it is."""
    said = {}
    for state, off_at, cause in (
        (MoveState.STOPPING, None, "paused"),
        (MoveState.UNDOING, None, "paused"),
        (MoveState.UNDOING, None, "unseen"),
        (MoveState.PROVING, w.NOW, "paused"),
    ):
        move = w.move(state, off_at=off_at, steps=w.STEPS if off_at else ())
        item = News(NewsKind.ON_AGAIN, w.BOB.id, move=move, machine=w.R, reason=cause)
        said[state, cause] = w.text(words.news(item, w.books(), w.NOW, w.POLICY))
    assert "goes on with its restart" in said[MoveState.STOPPING, "paused"]
    assert "not switched off" not in said[MoveState.STOPPING, "paused"]
    assert said[MoveState.UNDOING, "paused"].endswith("It was not switched off.")
    assert "I can see it again; it was not switched off" in said[MoveState.UNDOING, "unseen"]
    assert "is on again" in said[MoveState.PROVING, "paused"]


@pytest.mark.parametrize("state", [MoveState.STOPPING, MoveState.CHANGING, MoveState.STARTING, MoveState.STUCK])
def test_a_restart_that_was_begun_and_is_only_watched_now_promises_nothing(state: MoveState) -> None:
    off = None if state is MoveState.STOPPING else w.NOW
    move = replace(w.move(state), was_on=True, shutdown_at=w.NOW, off_at=off, on_at=None)
    for kind in (NewsKind.STAYS_OFF, NewsKind.STUCK):
        news = News(kind, w.BOB.id, move=replace(move, alarmed=("again",)), machine=w.R)
        for level in ("watch", "act"):
            policy = replace(w.POLICY, level=level)
            said = w.text(words.news(news, w.books(move), w.NOW, policy))
            said += w.text(words.move_message(move, w.books(move), w.NOW, policy))
            promises = [
                x for x in ("is started again", "go on trying", "Nothing is needed", "start it as") if x in said
            ]
            assert ("I only watch now" in said) is (level == "watch") and bool(promises) is (level == "act"), said


def test_a_time_for_when_nothing_runs_is_told_as_one() -> None:
    """In the channel: who reads plain times would wait for them, and see nothing happen while work runs."""
    for window, end in ((w.move().window, "."), (None, ".")):
        agreed = w.agreement(when_done=True, window=window)
        said = w.text(words.move_message(w.move(MoveState.DONE, window=window), w.books(agreed), w.NOW, w.POLICY))
        assert f"Agreed by bob: as soon as nothing runs any more{end}" in said and "between" not in said


def test_where_an_admin_does_it_nobody_else_was_asked() -> None:
    call = Call(3, CallKind.SHUTDOWN, w.NOW, "run", Outcome.HANDS)
    move = w.move(call=call, handed="x", steps=(Step(w.NOW, "stopping"),))
    said = w.text(words.move_message(move, w.books(), w.NOW, replace(w.POLICY, level="hands")))
    assert "an admin is asked to shut down vm-r" in said and "vm-r asked to" not in said
    said = w.text(words.move_message(replace(move, handed="", call=None), w.books(), w.NOW, w.POLICY))
    assert "vm-r asked to shut down" in said


def test_times_that_come_again_are_told_with_what_they_depend_on() -> None:
    """They are used only if nothing runs; a single time is used whatever runs."""
    for change, tail in (({}, ", if nothing runs then."), ({"even_if_busy": True}, ".")):
        agreed = replace(w.standing(1), **change)
        done = w.move(MoveState.DONE, agreement=agreed.number)
        said = w.text(words.move_message(done, w.books(agreed), w.NOW, w.POLICY))
        assert f"Agreed by bob: between today 14:30 and today 15:15{tail}" in said
