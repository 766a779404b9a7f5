"""The clock of the bot's host goes back, at any moment and by minutes to days: whatever we put off comes on again, and whoever waits is
served, without the old time having to come once more."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from random import Random
from typing import get_args, get_type_hints

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.domain import clockback
from bot.domain.draft import Draft
from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import CallKind, LeaseState, MoveState, Power
from bot.domain.news import ADMINS, NewsKind
from tests.domain.test_histories import History
from tests.domain.world import MONDAY_10, World

BACK = (timedelta(minutes=10), timedelta(hours=6), timedelta(days=3))


def under_way(world: World) -> bool:
    return any(m.state in UNDER_WAY for m in world.books.moves.values())


def state_of(world: World, label: str) -> LeaseState | None:
    lease = world.books.leases.get(label)
    return lease.state if lease is not None else None


@pytest.mark.parametrize("back", BACK)
@pytest.mark.parametrize("kind", [CallKind.CHANGE, CallKind.POWER_ON])
@pytest.mark.parametrize("lost", [False, True])
def test_a_machine_that_is_off_comes_on(back: timedelta, kind: CallKind, lost: bool) -> None:
    """Whether its last call was answered "again" or its answer was lost with the bot."""
    world = World()
    world.again[("vm-r", kind)] = 3
    world.request("bob", "vm-r", window="now")
    world.until(lambda: kind in {m.call.kind for m in world.books.moves.values() if m.call}, timedelta(hours=1))
    assert world.vms["vm-r"].power is Power.OFF
    if lost:
        world.run = "run-2"
    world.set_back(back)
    world.until(lambda: world.vms["vm-r"].power is Power.ON, timedelta(minutes=10))
    world.until(lambda: not under_way(world), timedelta(minutes=30))
    told = [n for n in world.news if n.kind is NewsKind.CLOCK_JUMP]
    assert [n.to for n in told] == [ADMINS], "the admins are told once"
    world.until(lambda: state_of(world, "1") is LeaseState.ACTIVE, timedelta(hours=3))


@pytest.mark.parametrize("back", BACK)
def test_a_restart_that_is_agreed_after_it_comes(back: timedelta) -> None:
    """A move that is over was answered in the future: no look is newer than that."""
    world = World()
    world.request("bob", "vm-r", window="now")
    world.until(lambda: state_of(world, "1") is LeaseState.ACTIVE, timedelta(hours=1))
    world.until(lambda: not under_way(world), timedelta(hours=1))
    world.set_back(back)
    world.release("bob", "1", None, "now")
    world.until(lambda: world.lease("1").state is LeaseState.ENDED, timedelta(minutes=20))
    world.until(lambda: world.vms["vm-r"].power is Power.ON and not under_way(world), timedelta(minutes=20))


def test_a_restart_for_now_that_was_agreed_before_it_comes() -> None:
    world = World()
    world.request("bob", "vm-r", window="now")
    world.set_back(timedelta(hours=6))
    world.until(lambda: state_of(world, "1") is LeaseState.ACTIVE, timedelta(hours=1))


def test_a_time_of_day_that_is_not_there_yet_calls_the_shutdown_off() -> None:
    """Nothing was changed: on again, and off no more before the time that was named."""
    world = World()
    world.vms["vm-r"].stop_takes = timedelta(minutes=4)
    world.request("bob", "vm-r", window="at 20:00")
    world.until(lambda: under_way(world), timedelta(hours=12))
    world.set_back(timedelta(hours=3))
    world.until(lambda: not under_way(world), timedelta(minutes=30))
    assert world.vms["vm-r"].power is Power.ON
    world.pass_time(timedelta(hours=2), timedelta(minutes=1))
    assert world.vms["vm-r"].power is Power.ON and not under_way(world)


def test_an_answer_is_awaited_for_as_long_as_before() -> None:
    world = World()
    world.request("bob", "vm-r")
    world.until(lambda: world.req(1).offer is not None, timedelta(minutes=5))
    offer = world.req(1).offer
    assert offer is not None
    world.set_back(timedelta(hours=1))
    world.round()
    after = world.req(1).offer
    assert after is not None and after.made <= world.now
    assert after.accept_by - after.made == offer.accept_by - offer.made


def test_the_order_of_what_happened_stays() -> None:
    world = World()
    for who, vm in (("carol", "vm-train"), ("ada", "vm-python"), ("bob", "vm-r")):
        world.request(who, vm, 4, "nights")
        world.now += timedelta(seconds=1)
    before = sorted(world.books.requests.values(), key=lambda r: r.asked)
    world.set_back(timedelta(days=1))
    world.round()
    assert [r.number for r in sorted(world.books.requests.values(), key=lambda r: r.asked)] == [
        r.number for r in before
    ]
    assert max(r.asked for r in world.books.requests.values()) == world.now


def test_nothing_is_written_while_the_clock_goes_on() -> None:
    world = World()
    world.request("bob", "vm-r", window="now")
    draft = Draft(world.books, world.now)
    assert clockback.settle(draft, world.policy) == timedelta() and not draft.changes()


def test_what_a_restart_takes_is_not_learned_from_one_with_a_clock_set_back() -> None:
    world = World()
    world.request("bob", "vm-r", window="now")
    world.until(lambda: MoveState.CHANGING in {m.state for m in world.books.moves.values()}, timedelta(hours=1))
    world.set_back(timedelta(hours=1))
    world.until(lambda: not under_way(world), timedelta(hours=1))
    assert world.books.machines["uuid-vm-r"].durations_s == ()


def test_no_stamp_is_forgotten() -> None:
    """Each field of a noun that holds a time says whether it is a stamp of what happened, or a time that was told."""
    for kind, stamps in clockback.STAMPS.items():
        hints = get_type_hints(kind)
        times = {f.name for f in fields(kind) if datetime in (hints[f.name], *get_args(hints[f.name]))}
        assert times == {*stamps, *clockback.TOLD[kind]}, kind


def parts(kind: object, seen: set[type]) -> None:
    """All dataclasses that a type is made of."""
    for arg in get_args(kind):
        parts(arg, seen)
    if isinstance(kind, type) and is_dataclass(kind) and kind not in seen:
        seen.add(kind)
        for hint in get_type_hints(kind).values():
            parts(hint, seen)


def test_no_stamp_is_forgotten_in_what_nouns_are_made_of() -> None:
    """Whoever adds a time here decides in ``clockback`` what becomes of it."""
    made: set[type] = set()
    for noun in clockback.STAMPS:
        parts(noun, made)
    times = {
        f"{kind.__name__}.{name}"
        for kind in made - set(clockback.STAMPS)
        for name, hint in get_type_hints(kind).items()
        if datetime in (hint, *get_args(hint))
    }
    stamps = {"Aside.since", "Offer.made", "Rest.since", "Call.asked", "Call.answered", "Step.at", "Step.since"}
    stamps |= {"Hindrance.since", "Promised.at", "Shift.said"}
    stamps |= {"Inquiry.at", "Inquiry.told", "Morning.asked", "Morning.counted"}
    stamps |= {"NotNow.said", "Nudge.asked", "Nudge.counted", "Nudge.written", "Quarter.start"}
    along = {
        "Offer.accept_by",
        "Rest.until",
        "Hindrance.passes",
        "Call.again_at",
        "Window.start",
        "Window.end",
        "Skip.start",
    }
    told = {"Offer.free_at", "Length.until", "Promised.likely", "Promised.latest", "Passing.ends_by", "Passing.back_by"}
    told |= {"Inquiry.end", "Inquiry.until", "Morning.end"}
    assert times == stamps | along | told


class BackAndForth(History):
    """The same, with a clock that is set back now and then."""

    def time(self) -> None:
        if self.random.random() < 0.15:
            self.world.set_back(timedelta(minutes=self.random.choice((1, 4, 10, 60, 360, 1440, 4320))))
        super().time()


def play(seed: int, steps: int) -> None:
    history = BackAndForth(seed)
    history.play(steps)
    if Random(seed).random() < 0.5:
        history.world.set_back(timedelta(hours=30))
    history.come_to_rest()


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@example(1_085_114_498)  # a "not now" whose time comes to lie over another night
@given(st.integers(0, 2**32))
def test_any_history_with_a_clock_set_back_comes_to_rest(seed: int) -> None:
    play(seed, 25)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, 20, 20))
def test_many_long_histories_with_a_clock_set_back(first: int) -> None:
    for seed in range(first, first + 20):
        play(seed, 60)


@pytest.mark.parametrize("back", [timedelta(minutes=15), timedelta(hours=26)])
def test_a_start_that_lies_in_the_future_is_no_start_of_now(back: timedelta) -> None:
    """One time for all: vCenter's clock goes back too, and says that a machine was started later than now. Nobody did."""
    world = World()
    world.vms["vm-r"].boot = boot = MONDAY_10 - timedelta(minutes=1)
    world.request("bob", "vm-r", window="now")
    world.until(lambda: "shutdown" in world.acts("vm-r"), timedelta(hours=1))
    world.set_back(back)
    world.skew, world.vms["vm-r"].boot = timedelta(), boot
    world.until(lambda: world.vms["vm-r"].power is Power.OFF, timedelta(minutes=5))
    world.until(lambda: state_of(world, "1") is LeaseState.ACTIVE, timedelta(minutes=30))
    assert world.vms["vm-r"].power is Power.ON and world.move("vm-r").number == 1, "in the same restart"
    assert not world.told(NewsKind.NOT_NOW)
