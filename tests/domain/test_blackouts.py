"""Stretches in which the site lets no shutdown be begun: windows, promises, last calls and answers go around them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain import blackouts, windows
from bot.domain.errors import NotPossible
from bot.domain.model import Blackout, LeaseState, MoveState, Pattern, Power, Window
from bot.domain.news import NewsKind
from bot.domain.policy import Policy
from tests.domain.world import MONDAY_10, ZONE, World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)
NOON = Blackout("daily 12:00-14:00", Pattern(frozenset(range(7)), time(12), time(14), ZONE))
FRIDAY = Blackout("fri 16:00-18:00", Pattern(frozenset({4}), time(16), time(18), ZONE))
HOLIDAYS = Blackout(
    "2026-11-30 20:00 - 2026-12-03 06:00",
    window=Window(datetime(2026, 11, 30, 19, tzinfo=UTC), datetime(2026, 12, 3, 5, tzinfo=UTC)),
)


def world_with(*blackout: Blackout) -> World:
    return World(policy=Policy(level="act", blackout=blackout))


def at(hour: int, minute: int = 0, day: int = 30) -> datetime:
    """Of the local day."""
    return datetime(2026, 11, day, hour - 1, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "takes", "free"),
    [
        (at(10), 15, at(10)),
        (at(11, 45), 15, at(11, 45)),  # ends just before
        (at(11, 46), 15, at(14)),  # would still be off when it begins
        (at(12), 0, at(14)),
        (at(13, 59), 15, at(14)),
        (at(14), 15, at(14)),
    ],
)
def test_the_first_moment_at_which_a_restart_may_begin(now: datetime, takes: int, free: datetime) -> None:
    assert blackouts.first(Policy(level="act", blackout=(NOON,)), now, takes * MIN) == free


def test_stretches_without_a_gap_between_are_one() -> None:
    after = Blackout("x", window=Window(at(14), at(16)))
    policy = Policy(level="act", blackout=(NOON, after))
    assert blackouts.first(policy, at(13), 15 * MIN) == at(16)
    held = blackouts.holding(policy, at(13))
    assert held == Window(at(12), at(16)) and blackouts.holding(policy, at(17)) is None


@settings(max_examples=60, deadline=None)
@given(
    minutes=st.integers(0, 7 * 1440),
    takes=st.integers(0, 180),
    spans=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 23), st.integers(1, 23)), max_size=3),
)
def test_no_restart_ever_touches_a_blackout_and_the_first_moment_is_the_first(
    minutes: int, takes: int, spans: list[tuple[int, int, int]]
) -> None:
    policy = Policy(
        blackout=tuple(
            Blackout("x", Pattern(frozenset({day}), time(hour), time((hour + length) % 24), ZONE))
            for day, hour, length in spans
        )
    )
    now, lasting = MONDAY_10 + minutes * MIN, takes * MIN
    found = blackouts.first(policy, now, lasting)
    assert found is not None and found >= now
    assert blackouts.holding(policy, found, lasting) is None
    if found > now:
        before = found - MIN
        assert before < now or blackouts.holding(policy, before, lasting) is not None


def test_no_shutdown_is_begun_in_a_blackout_whatever_was_agreed_and_the_call_names_the_time_after_it() -> None:
    world = world_with(Blackout("x", window=Window(at(10), at(13))))
    number = world.request("bob", "vm-r", 1, "any time today").number
    world.until(lambda: world.told(NewsKind.LAST_CALL, "bob"), 4 * HOUR, MIN)
    assert world.now == at(12, 50) and world.told(NewsKind.LAST_CALL, "bob")[0].until == at(13)
    world.until(lambda: "shutdown" in world.acts("vm-r"), HOUR, MIN)
    assert world.now == at(13)
    world.until(lambda: world.lease(number).state is LeaseState.ACTIVE, HOUR)


def test_a_restart_that_would_run_into_a_blackout_is_not_begun() -> None:
    world = world_with(Blackout("x", window=Window(at(10, 20), at(13))))
    world.request("bob", "vm-r", 1, "any time today")
    world.pass_time(2 * HOUR, MIN)
    assert "shutdown" not in world.acts("vm-r") and not world.told(NewsKind.LAST_CALL)


def test_now_in_a_blackout_begins_when_it_is_over() -> None:
    world = world_with(Blackout("x", window=Window(at(10), at(13))))
    made = world.agree("bob", "vm-r", "now")
    assert made is not None and made.window is not None and made.window.start == at(13)
    world.request("bob", "vm-r", 1)
    world.until(lambda: "shutdown" in world.acts("vm-r"), 4 * HOUR, MIN)
    assert at(13) <= world.now <= at(13, 5)


@pytest.mark.parametrize("text", ["at 12:30", "today 12:10-13:50", "12:00 - 14:00"])
def test_a_time_inside_a_blackout_is_refused_with_the_next_one(text: str) -> None:
    world = world_with(NOON)
    with pytest.raises(NotPossible) as refused:
        world.agree("bob", "vm-r", text)
    assert (
        "lets no restart begin between" in refused.value.facts["why"] and refused.value.facts["works"] == "today 14:00"
    )
    assert world.agree("bob", "vm-r", refused.value.facts["works"]) is not None


def test_a_standing_time_inside_one_that_comes_again_is_refused() -> None:
    world = world_with(NOON)
    with pytest.raises(NotPossible):
        world.agree("bob", "vm-r", "weekdays 12:00-13:30")
    assert world.agree("bob", "vm-r", "weekdays 12:00-14:30") is not None, "half an hour is left of it"


def test_a_move_under_way_is_finished_in_a_blackout() -> None:
    world = world_with(Blackout("x", window=Window(at(10, 30), at(13))))
    number = world.request("bob", "vm-r", 1, "now").number
    world.vms["vm-r"].stop_takes = 4 * MIN
    world.until(lambda: "shutdown" in world.acts("vm-r"), 5 * MIN)
    world.policy = replace(world.policy, blackout=(Blackout("x", window=Window(world.now, at(13))),))
    world.until(lambda: world.lease(number).state is LeaseState.ACTIVE, 20 * MIN)
    assert world.now < at(13)


def test_a_machine_that_is_off_is_used_in_a_blackout_too() -> None:
    world = world_with(Blackout("x", window=Window(at(10), at(18))))
    world.switch("vm-r", Power.OFF)
    number = world.request("bob", "vm-r", 1).number
    world.until(lambda: world.vms["vm-r"].cards, 5 * MIN)
    assert world.lease(number).state is LeaseState.MOVING


def test_nights_that_are_blacked_out_are_passed_and_the_promise_knows() -> None:
    policy = Policy(level="act", blackout=(HOLIDAYS,))
    world = World(policy=policy)
    made = world.agree("bob", "vm-r", "nights")
    assert made is not None
    found = windows.next_window([made], made.machine, world.now, 15 * MIN, policy)
    assert found is not None and found[1].start == datetime(2026, 12, 3, 21, tzinfo=UTC)
    night = windows.usable_night(world.now, ZONE, policy, 90 * MIN)
    assert night.start == datetime(2026, 12, 3, 21, tzinfo=UTC)


def test_when_done_waits_for_the_end_of_the_blackout() -> None:
    world = world_with(Blackout("x", window=Window(at(10), at(13))))
    lease = world.give("vm-python", ("T4-1",))
    world.release("ada", lease.label, None, "when done")
    world.pass_time(2 * HOUR, MIN)
    assert "shutdown" not in world.acts("vm-python")
    world.until(lambda: world.lease(lease.label).state is LeaseState.ENDED, 2 * HOUR, MIN)
    assert world.now >= at(13)


def test_a_second_try_and_a_hard_stop_of_one_that_was_given_up_wait_too() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = None
    world.request("bob", "vm-r", 1, "now")
    world.until(lambda: world.move("vm-r").state is MoveState.UNDOING if world.books.moves else False, 20 * MIN)
    world.policy = replace(world.policy, blackout=(Blackout("x", window=Window(world.now, world.now + HOUR)),))
    world.agree("bob", "vm-r", "now hard")
    before = world.acts("vm-r").count("shutdown")
    world.pass_time(50 * MIN, MIN)
    assert world.acts("vm-r").count("shutdown") == before and "hard_stop" not in world.acts("vm-r")


def test_an_offer_names_the_time_after_the_blackout_at_which_its_card_is_there() -> None:
    world = world_with(Blackout("x", window=Window(at(16), at(19))))
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.release("ada", lease.label, None, "today 16:30-20:00")
    number = world.request("bob", "vm-r", 1, "ask").number
    world.round()
    offer = world.req(number).offer
    assert offer is not None and offer.free_at == at(19)


# ---- named in the settings after a time was agreed ---------------------------------------------------------------------------


def test_a_blackout_over_a_time_that_was_agreed_is_said_to_be_one() -> None:
    world = world_with()
    world.give("vm-python", ("T4-1",))
    world.release("ada", "1")
    agreed = world.agree("ada", "vm-python", "at 16:00")
    assert agreed is not None
    world.pass_time(5 * MIN, MIN)
    world.policy = replace(world.policy, blackout=(Blackout("x", window=Window(at(9), at(9) + 60 * HOUR)),))
    world.pass_time(5 * MIN, MIN)
    said = world.told(NewsKind.ASK_WINDOW, "ada")[-1].reason
    assert said == "this site lets no restart begin in the time that was agreed; nothing was switched off"
    used = [x.why for x in world.lines if x.what == "agreement.used"]
    assert used == ["the site lets no restart begin in the rest of it"]
