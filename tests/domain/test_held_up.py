"""A machine that we put off and that stays off: nobody can look, somebody paused, vCenter says "again"; and what is said of it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import moves, pool
from bot.domain.errors import NotYours, Paused
from bot.domain.model import CallKind, LeaseState, Machine, Move, MoveState, Outcome, Power, Step
from bot.domain.news import NewsKind
from tests.domain.world import World

MIN, HOUR, SECONDS = timedelta(minutes=1), timedelta(hours=1), timedelta(seconds=5)
OURS = [MoveState.CHANGING, MoveState.STARTING]


def under_way(state: MoveState) -> World:
    """bob's machine is being restarted for a card, by one of two owners; this state is reached."""
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    world.request("bob", "vm-r", 1, "now")
    world.until(lambda: bool(world.books.moves) and first(world).state is state, 5 * MIN, SECONDS)
    return world


def first(world: World) -> Move:
    return world.books.moves[1]


def over(world: World) -> bool:
    return first(world).state in (MoveState.DONE, MoveState.DROPPED)


def step(world: World, what: str) -> Step:
    return next(s for s in first(world).steps if s.what == what)


# ---- nobody can look


@pytest.mark.parametrize("state", [MoveState.STOPPING, *OURS])
def test_owners_hear_once_and_soon_that_nobody_can_look_and_when_it_is_on_again(state: MoveState) -> None:
    world = under_way(state)
    world.looking = False
    world.pass_time(MIN)
    assert not world.told(NewsKind.STAYS_OFF)
    edits = len(world.told(NewsKind.MOVE))
    world.pass_time(MIN)
    assert len(world.told(NewsKind.MOVE)) == edits + 1, "the message in the channel says so too"
    world.pass_time(10 * MIN)
    assert sorted(n.to for n in world.told(NewsKind.STAYS_OFF)) == ["bob", "carol"]
    assert first(world).alarmed == ("unseen",) and not world.told(NewsKind.ON_AGAIN)
    world.looking = True
    world.until(lambda: over(world), 15 * MIN)
    told = world.told(NewsKind.ON_AGAIN)
    assert sorted(n.to for n in told) == ["bob", "carol"]
    assert {n.key for n in told} == {n.key for n in world.told(NewsKind.STAYS_OFF)}, "an edit of what was said"
    assert first(world).alarmed == () and first(world).blind_since is None


def test_a_host_that_is_away_is_not_a_vcenter_that_is() -> None:
    world = under_way(MoveState.CHANGING)
    world.connected = False
    world.pass_time(3 * MIN)
    assert first(world).alarmed == ("hidden",) and world.told(NewsKind.STAYS_OFF, "bob")


def test_a_look_that_is_only_late_is_no_news() -> None:
    world = under_way(MoveState.CHANGING)
    world.looking = False
    world.pass_time(MIN)
    world.looking = True
    world.until(lambda: over(world), 15 * MIN)
    assert not world.told(NewsKind.STAYS_OFF) and not world.told(NewsKind.ON_AGAIN)


def test_a_machine_that_was_found_off_keeps_nobody_waiting() -> None:
    world = World()
    world.switch("vm-r", Power.OFF)
    world.request("bob", "vm-r", 1, "now")
    world.until(lambda: bool(world.books.moves) and first(world).state is MoveState.CHANGING, 5 * MIN, SECONDS)
    world.looking = False
    world.pass_time(10 * MIN)
    assert not world.told(NewsKind.STAYS_OFF)


# ---- what nobody saw


def test_the_time_at_which_it_went_off_unseen_is_not_claimed_and_teaches_nothing() -> None:
    world = under_way(MoveState.STOPPING)
    asked = first(world).shutdown_at
    world.looking = False
    world.pass_time(12 * MIN)
    world.looking = True
    world.until(lambda: over(world), 15 * MIN)
    move = first(world)
    off = step(world, "off")
    assert asked is not None and off.since is not None and asked <= off.since < off.at - 11 * MIN
    assert step(world, "on").since is None
    assert world.books.machines[move.machine].durations_s == (), "an outage is no usual duration"


def test_a_bot_that_was_away_claims_no_time_either() -> None:
    world = under_way(MoveState.STOPPING)
    world.now += 10 * MIN
    world.run += "'"
    world.until(lambda: over(world), 15 * MIN)
    off = step(world, "off")
    assert off.since is not None and off.at - off.since > 9 * MIN


def test_when_it_was_started_unseen_is_known_from_vcenter() -> None:
    world = under_way(MoveState.STARTING)
    asked = first(world).call
    assert asked is not None and asked.kind is CallKind.POWER_ON
    world.looking, world.skew = False, 7 * MIN
    world.pass_time(10 * MIN)
    world.looking = True
    world.until(lambda: over(world), 15 * MIN)
    on = step(world, "on")
    assert on.since is None and on.at - asked.asked < MIN, "by vCenter's own clock"


# ---- stopped


@pytest.mark.parametrize("away", [False, True])
def test_a_stop_begins_the_way_back_at_once_says_so_and_its_owners_hear_how_it_ended(away: bool) -> None:
    world = under_way(MoveState.STOPPING)
    world.looking = not away
    world.do(lambda d: moves.stop(d, d.moves[1], "bob", world.policy))
    assert first(world).state is MoveState.UNDOING and first(world).undo
    world.pass_time(5 * MIN)
    world.looking = True
    world.until(lambda: over(world), 15 * MIN)
    move = first(world)
    assert move.reason == "an owner stopped it"
    assert sorted(n.to for n in world.told(NewsKind.UNDONE)) == ["bob", "carol"]
    assert "change" not in world.acts("vm-r") and world.vms["vm-r"].power is Power.ON
    assert step(world, "undone").detail == "", "it has no card, as before"


def test_what_a_machine_has_after_the_way_back_is_what_it_had() -> None:
    world = World()
    world.give("vm-r", ("T4-1",))
    world.request("bob", "vm-r", 1, "now")
    world.refuse[("vm-r", CallKind.POWER_ON)] = ("no memory is free", "")
    world.until(lambda: bool(world.books.moves) and first(world).state is MoveState.UNDOING, 10 * MIN, SECONDS)
    world.refuse.clear()
    world.until(lambda: over(world), 15 * MIN)
    assert step(world, "undone").detail == "T4-1"


def test_not_now_to_a_standing_time_while_the_guest_stops_changes_nothing() -> None:
    world = World()
    world.agree("bob", "vm-r", "nights even if busy")
    world.request("bob", "vm-r", 1)
    world.until(lambda: bool(world.books.moves) and first(world).state is MoveState.STOPPING, 24 * HOUR)
    world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-r"], "bob", world.policy))
    world.vms["vm-r"].stops_at = world.now
    world.until(lambda: over(world), 15 * MIN)
    assert "change" not in world.acts("vm-r") and world.vms["vm-r"].power is Power.ON
    assert "not now was said" in first(world).reason


@pytest.mark.parametrize("how", ["notnow", "over"])
def test_without_a_look_too_a_move_that_is_called_off_goes_back(how: str) -> None:
    world = under_way(MoveState.STOPPING)
    world.looking = False
    if how == "notnow":
        world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-r"], "bob", world.policy))
    world.pass_time(2 * HOUR if how == "over" else MIN, MIN)
    assert first(world).state is MoveState.UNDOING


def test_started_by_hand_on_the_way_back_its_owners_hear_that_nothing_was_changed() -> None:
    world = under_way(MoveState.STOPPING)
    world.do(lambda d: moves.stop(d, d.moves[1], "bob", world.policy))
    world.do(lambda d: pool.pause(d, "dana", "patching"))  # so that the hand is faster
    world.until(lambda: world.vms["vm-r"].power is Power.OFF, 5 * MIN, SECONDS)
    world.round()
    world.switch("vm-r", Power.ON)
    world.round()
    assert first(world).state is MoveState.DROPPED
    assert sorted(n.to for n in world.told(NewsKind.UNDONE)) == ["bob", "carol"]


# ---- paused, and "again"


@pytest.mark.parametrize("state", OURS)
def test_paused_the_owners_of_a_machine_that_is_off_hear_that_it_stays_off(state: MoveState) -> None:
    world = World()
    world.again[("vm-r", CallKind.POWER_ON)] = 100  # so that it does not start by itself
    world.request("bob", "vm-r", 1, "now")
    world.until(lambda: bool(world.books.moves) and first(world).state is state, 5 * MIN, SECONDS)
    world.do(lambda d: pool.pause(d, "dana", "patching"))
    world.pass_time(2 * HOUR, MIN)
    assert len(world.told(NewsKind.STAYS_OFF, "bob")) == 1 and first(world).alarmed == ("paused",)
    assert first(world).state is state and world.vms["vm-r"].power is Power.OFF
    with pytest.raises(Paused) as no:
        world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "bob"))
    assert no.value.facts == {"machine": "vm-r", "who": "dana", "why": "patching"}
    world.again.clear()
    world.do(lambda d: pool.resume(d, "dana"))
    world.until(lambda: over(world), 30 * MIN)
    assert world.vms["vm-r"].power is Power.ON and len(world.told(NewsKind.ON_AGAIN, "bob")) == 1


def test_paused_a_start_by_hand_is_seen_and_accepted() -> None:
    world = under_way(MoveState.CHANGING)
    world.do(lambda d: pool.pause(d, "dana", "patching"))
    world.pass_time(2 * MIN)
    world.switch("vm-r", Power.ON)
    world.pass_time(2 * MIN)
    assert over(world) and world.told(NewsKind.ON_AGAIN, "bob")
    world.do(lambda d: pool.resume(d, "dana"))
    world.pass_time(20 * MIN)
    assert world.acts("vm-r").count("shutdown") == 1 and world.vms["vm-r"].power is Power.ON


def test_paused_before_it_is_off_nobody_is_alarmed() -> None:
    world = World()
    world.request("bob", "vm-r", 1, "tonight")
    world.do(lambda d: pool.pause(d, "dana", "patching"))
    world.pass_time(2 * HOUR, MIN)
    assert not world.told(NewsKind.STAYS_OFF)


def test_a_start_that_vcenter_puts_off_again_and_again_is_told_once() -> None:
    world = World()
    world.again[("vm-r", CallKind.POWER_ON)] = 80
    world.request("bob", "vm-r", 1, "now")
    world.until(lambda: bool(world.books.moves) and first(world).state is MoveState.STARTING, 5 * MIN, SECONDS)
    world.pass_time(14 * MIN)
    assert not world.told(NewsKind.STAYS_OFF), "a restart is said to take a quarter of an hour"
    world.pass_time(MIN)
    call = first(world).call
    assert call is not None and call.reason == "busy" and world.told(NewsKind.STAYS_OFF, "bob")
    world.until(lambda: over(world), 40 * MIN)
    assert len(world.told(NewsKind.STAYS_OFF, "bob")) == 1 and len(world.told(NewsKind.ON_AGAIN, "bob")) == 1


# ---- stuck


def test_stuck_it_is_asked_with_growing_pauses_and_at_once_when_an_admin_says_start() -> None:
    world = World()
    lease = world.give("vm-r", ("T4-1",))
    world.refuse[("vm-r", CallKind.POWER_ON)] = ("no memory is free", "")
    world.release("bob", lease.label, None, "now")
    asked: list[timedelta] = []
    begin, calls = world.now, 0
    for _ in range(720):
        world.pass_time(SECONDS, SECONDS)
        move = first(world)
        if move.call is not None and move.call.kind is CallKind.POWER_ON and move.calls > calls:
            calls = move.calls
            asked.append(world.now - begin)
    pauses = [b - a for a, b in itertools.pairwise(asked)]
    assert first(world).state is MoveState.STUCK and len(pauses) > 4
    assert pauses == sorted(pauses) and pauses[-1] >= 10 * MIN > pauses[0]
    assert len(world.told(NewsKind.STUCK, "bob")) == len(world.told(NewsKind.STUCK, "admins")) == 1
    world.refuse.clear()
    with pytest.raises(NotYours):
        world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "carol"))
    world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "dana", admin=True))
    world.pass_time(MIN, SECONDS)
    assert world.vms["vm-r"].power is Power.ON and over(world)
    assert world.lease(lease.label).state is LeaseState.ENDED


# ---- blockers that go by themselves


def test_tools_that_do_not_run_yet_are_no_blocker_while_the_guest_boots() -> None:
    world = World()
    world.vms["vm-r"].boot, world.vms["vm-r"].boot_takes = world.now, 4 * MIN
    world.request("bob", "vm-r", 1, "any time today")
    world.dry_runs = {1: ("the Tools of vm-r do not run",)}
    world.pass_time(4 * MIN - SECONDS, SECONDS)
    assert first(world).blocked_since is not None and not world.told(NewsKind.BLOCKED)
    assert "shutdown" not in world.acts("vm-r"), "it is in the way all the same"
    world.dry_runs = {}
    world.pass_time(20 * MIN)
    assert not world.told(NewsKind.BLOCKED) and "shutdown" in world.acts("vm-r")


def test_tools_that_do_not_run_long_after_the_start_are_told() -> None:
    world = World()
    world.vms["vm-r"].boot, world.vms["vm-r"].boot_takes = world.now, HOUR
    world.request("bob", "vm-r", 1, "any time today")
    world.dry_runs = {1: ("the Tools of vm-r do not run",)}
    world.pass_time(6 * MIN)
    assert len(world.told(NewsKind.BLOCKED, "bob")) == 1


def test_what_stood_in_the_way_for_some_seconds_is_not_told() -> None:
    world = World()
    world.request("bob", "vm-r", 1, "tonight")
    world.dry_runs = {1: ("vm-r is busy: a backup runs on it",)}
    world.pass_time(timedelta(seconds=45))
    world.dry_runs = {}
    world.pass_time(MIN)
    world.dry_runs = {1: ("vm-r is busy: a backup runs on it",)}
    world.pass_time(timedelta(seconds=45))
    assert not world.told(NewsKind.BLOCKED)
    world.pass_time(MIN)
    assert len(world.told(NewsKind.BLOCKED, "bob")) == 1


# ---- memory


@pytest.mark.parametrize("left_out", [False, True])
def test_memory_is_unlocked_with_the_last_card_though_another_was_to_come(left_out: bool) -> None:
    """One goes out and another was to come in, in one power cycle; the other is in somebody else's hands by then, or is not."""
    world = World()
    lease = world.give("vm-r", ("T4-1",))
    world.do(lambda d: d.put(_unlocked_before(d.machines["uuid-vm-r"])))
    locks: list[bool | None] = []
    carry_out = world._carry_out

    def noted(order: moves.Order) -> Outcome:
        if order.kind is CallKind.CHANGE:
            locks.append(order.lock_memory)
        return carry_out(order)

    world._carry_out = noted  # type: ignore[method-assign]
    world.give("vm-python", ("T4-2",))
    new = world.request("bob", "vm-r", 1, "now")
    world.round()
    world.release("bob", lease.label, None, "now")
    world.until(lambda: first(world).state is MoveState.STOPPING, 10 * MIN, SECONDS)
    slot = world.lease(new.number).slots[0]
    if left_out:
        world.vms["vm-train"].cards.add(world.card(slot).pci)  # an admin's hand
    world.until(lambda: over(world), 30 * MIN)
    assert locks == ([False] if left_out else [False, True])
    machine = world.books.machines["uuid-vm-r"]
    assert machine.lock_before is (None if left_out else False)


def _unlocked_before(machine: Machine) -> Machine:
    return replace(machine, reservation_before=0, lock_before=False)
