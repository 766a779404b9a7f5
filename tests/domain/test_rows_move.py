"""Rows of the move's and the agreement's tables that no awkward case plays, each by its name."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain import leases, moves, pool, windows
from bot.domain.errors import TooLate
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import CallKind, Job, LeaseState, MoveState, Power, RequestState
from bot.domain.news import ADMINS, NewsKind
from tests.domain.world import MONDAY_10, PCI, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
EVENING = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)


def events(world: World, number: int) -> list[str]:
    return [x.what.removeprefix("move.") for x in world.lines if x.about == f"m{number}" and x.what.startswith("move.")]


def reach(world: World, state: MoveState, window: str = "any time today", within: timedelta = 30 * MIN) -> str:
    """bob's request is on its way: the first move is in this state."""
    label = str(world.request("bob", "vm-r", 1, window).number)
    world.until(lambda: bool(world.books.moves) and world.books.moves[1].state is state, within, timedelta(seconds=5))
    return label


def state(world: World, label: str) -> LeaseState:
    return world.lease(label).state


# ---- planned


def test_a_reserved_or_returning_lease_plans_a_move_and_no_wish_drops_it() -> None:
    world = World()
    label = reach(world, MoveState.PLANNED, "tonight")
    assert [(w.label, w.work) for w in world.move("vm-r").wishes] == [(label, "put")]
    world.release("bob", label)
    world.round()
    assert world.move("vm-r").state is MoveState.DROPPED and events(world, 1) == ["plan", "no_wish"]


def test_more_wishes_share_one_power_cycle() -> None:
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    one = reach(world, MoveState.PLANNED, "tonight")
    two = str(world.request("carol", "vm-r", 1, "tonight").number)
    world.round()
    assert {w.label for w in world.move("vm-r").wishes} == {one, two} and events(world, 1) == ["plan", "wishes"]
    world.until(lambda: state(world, one) is state(world, two) is LeaseState.ACTIVE, 13 * HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1


@pytest.mark.parametrize("what", ["template", "suspended", "question"])
def test_a_blocker_is_told_once_and_looked_at_each_round(what: str) -> None:
    world = World()
    vm = world.vms["vm-r"]
    label = str(world.request("bob", "vm-r", 1, "any time today").number)
    world.until(lambda: label in world.books.leases, MIN, timedelta(seconds=5))  # before, a template is given nothing
    vm.template, vm.question = what == "template", "is the disk full?" if what == "question" else ""
    vm.power = Power.SUSPENDED if what == "suspended" else Power.ON
    world.pass_time(HOUR, MIN)
    assert len(world.told(NewsKind.BLOCKED, "bob")) == len(world.told(NewsKind.BLOCKED, "admins")) == 1
    assert world.acts("vm-r") == []
    vm.template, vm.question, vm.power = False, "", Power.ON
    world.until(lambda: state(world, label) is LeaseState.ACTIVE, 30 * MIN)


def test_a_blocker_of_the_dry_run_stops_it() -> None:
    world = World()
    reach(world, MoveState.PLANNED, "tonight")
    world.dry_runs = {1: ("only 41 GB of memory are free",)}
    world.pass_time(2 * MIN)
    assert world.move("vm-r").blockers == ("only 41 GB of memory are free",) and world.told(NewsKind.BLOCKED, "admins")


def test_the_last_call_is_ten_minutes_ahead_and_a_minute_for_now() -> None:
    for window, lead in (("any time today", 10 * MIN), ("now", MIN)):
        world = World()
        world.do(lambda d, w=world: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
        reach(world, MoveState.STOPPING, window)
        move = world.move("vm-r")
        assert move.last_call is not None and move.shutdown_at is not None
        assert lead <= move.shutdown_at - move.last_call < lead + MIN
        assert {n.to for n in world.told(NewsKind.LAST_CALL)} == {"bob", "carol"}


def test_a_restart_that_was_held_up_is_announced_anew() -> None:
    world = World()
    reach(world, MoveState.PLANNED)
    assert len(world.told(NewsKind.LAST_CALL, "bob")) == 1
    world.vms["vm-r"].question = "is the disk full?"
    world.pass_time(3 * HOUR, MIN)
    world.vms["vm-r"].question = ""
    world.pass_time(2 * MIN)
    assert "shutdown" not in world.acts("vm-r") and len(world.told(NewsKind.LAST_CALL, "bob")) == 2
    world.pass_time(10 * MIN)
    assert "shutdown" in world.acts("vm-r")


def test_no_window_is_used_with_less_than_the_usual_duration_to_spare() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 1, "today 11:00-11:30").number)
    world.vms["vm-r"].question = "is the disk full?"
    world.round()
    world.now = MONDAY_10 + HOUR + 16 * MIN
    world.round()
    world.vms["vm-r"].question = ""
    asked = world.told(NewsKind.ASK_WINDOW, "bob")
    assert asked, "at once, not when the time is over"
    world.pass_time(HOUR, MIN)
    assert "shutdown" not in world.acts("vm-r") and state(world, label) is LeaseState.RESERVED
    assert len({n.key for n in asked}) == 1 and "too little is left" in asked[-1].reason
    assert "it usually takes 15 min" in asked[-1].reason and "is the disk full?" in asked[-1].reason
    assert not world.told(NewsKind.WINDOW_UNUSED), "one message, not two"


def test_a_window_that_went_by_unused_names_the_next_one_and_asks_for_none() -> None:
    world = World()
    world.request("bob", "vm-r", 1, "today 11:00-11:30")
    world.agree("bob", "vm-r", "nights")
    world.vms["vm-r"].question = "is the disk full?"
    world.pass_time(2 * HOUR, MIN)
    told = world.told(NewsKind.WINDOW_UNUSED, "bob")
    assert [n.until for n in told] == [datetime(2026, 11, 30, 21, tzinfo=UTC)]
    assert not world.told(NewsKind.ASK_WINDOW)


def test_who_hears_of_a_not_now_hears_of_the_next_time_that_is_agreed() -> None:
    world = World()
    vm = world.vms["vm-r"]
    world.do(lambda d: d.put(replace(d.machines[vm.uuid], owners=("bob", "carol"))))
    world.request("bob", "vm-r", 1, "today 11:00-11:30")
    world.agree("bob", "vm-r", "nights")
    world.round()
    world.do(lambda d: moves.not_now(d, d.machines[vm.uuid], "carol", world.policy))
    assert [n.until for n in world.told(NewsKind.NOT_NOW, "bob")] == [datetime(2026, 11, 30, 21, tzinfo=UTC)]


@pytest.mark.parametrize("seen", [True, False])
def test_a_standing_window_is_not_used_while_somebody_works_or_nobody_can_see(seen: bool) -> None:
    world = World(EVENING)
    world.agree("bob", "vm-r", "nights")
    vm = world.vms["vm-r"]
    vm.agent, vm.jobs = seen, (Job("bob", "python", EVENING, True),)
    label = str(world.request("bob", "vm-r").number)
    world.pass_time(2 * HOUR, MIN)
    assert len(world.told(NewsKind.STANDING_SKIPPED, "bob")) == 1
    vm.agent, vm.jobs, vm.free_since = True, (), world.now
    world.pass_time(7 * HOUR, MIN)
    assert "shutdown" not in world.acts("vm-r"), "it was said that this night is not used"
    world.until(lambda: state(world, label) is LeaseState.ACTIVE, 20 * HOUR, MIN)
    assert world.now > EVENING + DAY


def test_a_standing_window_is_used_although_somebody_works_if_so_agreed() -> None:
    world = World(EVENING)
    world.agree("bob", "vm-r", "nights even if busy")
    world.vms["vm-r"].jobs = (Job("bob", "python", EVENING, True),)
    label = str(world.request("bob", "vm-r").number)
    world.until(lambda: label in world.books.leases and state(world, label) is LeaseState.ACTIVE, 3 * HOUR, MIN)


def test_planned_and_the_machine_is_gone() -> None:
    world = World()
    reach(world, MoveState.PLANNED, "tonight")
    world.vms["vm-r"].exists = False
    world.pass_time(MIN)
    assert events(world, 1)[-1] == "gone" and world.told(NewsKind.MACHINE_GONE, "bob")


@pytest.mark.parametrize("at", [MoveState.STOPPING, MoveState.CHANGING, MoveState.STARTING, MoveState.UNDOING])
def test_under_way_and_the_machine_is_gone(at: MoveState) -> None:
    world = World()
    vm = world.vms["vm-r"]
    vm.stop_takes = None if at is MoveState.UNDOING else vm.stop_takes
    kind = CallKind.POWER_ON if at is MoveState.STARTING else CallKind.CHANGE
    world.again[("vm-r", kind)] = 0 if at is MoveState.UNDOING else 10_000
    label = reach(world, at)
    vm.exists = False
    world.pass_time(MIN)
    assert events(world, 1)[-1] == "gone" and not [m for m in world.books.moves.values() if m.state in OPEN_MOVE]
    assert {n.to for n in world.told(NewsKind.MACHINE_GONE)} == {"bob", "admins"}
    assert state(world, label) is LeaseState.ENDED and not world.books.holds


def test_stop_of_a_planned_move_is_a_not_now() -> None:
    world = World()
    label = reach(world, MoveState.PLANNED)
    world.do(lambda d: moves.stop(d, d.moves[1], "bob", world.policy))
    world.pass_time(3 * HOUR, MIN)
    assert "shutdown" not in world.acts("vm-r") and state(world, label) is LeaseState.RESERVED


def test_a_stop_before_the_shutdown_was_asked_waits_for_no_power_off() -> None:
    world = World()
    world.request("bob", "vm-r", window="any time today")
    world.unmade.add(("vm-r", CallKind.SHUTDOWN))
    world.until(lambda: world.books.moves.get(1) and world.move("vm-r").state is MoveState.STOPPING, timedelta(hours=1))
    world.do(lambda d: moves.stop(d, d.moves[1], "bob", world.policy))
    world.pass_time(timedelta(minutes=1))
    assert world.books.moves[1].state is MoveState.DROPPED and "shutdown" not in world.acts("vm-r")


def test_what_was_not_made_is_asked_while_it_still_holds() -> None:
    world = World()
    world.request("bob", "vm-r", window="any time today")
    world.unmade.add(("vm-r", CallKind.SHUTDOWN))
    world.until(lambda: "shutdown" in world.acts("vm-r"), timedelta(hours=1))
    world.until(lambda: world.books.moves[1].state is MoveState.DONE, timedelta(hours=1))


def test_stop_while_stopping_tells_the_other_owner() -> None:
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    world.vms["vm-r"].stop_takes = 3 * MIN
    reach(world, MoveState.STOPPING)
    world.do(lambda d: moves.stop(d, d.moves[1], "carol", world.policy))
    (told,) = world.told(NewsKind.NOT_NOW, "bob")
    assert told.who == "carol"
    world.until(lambda: world.books.moves[1].state is MoveState.DONE, 10 * MIN)
    assert "change" not in world.acts("vm-r") and world.vms["vm-r"].power is Power.ON


@pytest.mark.parametrize("at", [MoveState.CHANGING, MoveState.STARTING])
def test_stop_is_refused_once_it_is_off(at: MoveState) -> None:
    world = World()
    world.again[("vm-r", CallKind.CHANGE if at is MoveState.CHANGING else CallKind.POWER_ON)] = 20
    label = reach(world, at)
    with pytest.raises(TooLate):
        world.do(lambda d: moves.stop(d, d.moves[1], "bob", world.policy))
    world.until(lambda: state(world, label) is LeaseState.ACTIVE, 20 * MIN)


# ---- stopping


def test_the_window_is_over_before_it_is_off() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = 20 * MIN
    world.policy = replace(world.policy, guest_shutdown=HOUR, usual_first=5 * MIN)
    label = str(world.request("bob", "vm-r", 1, "today 11:00-11:10").number)
    world.until(lambda: "withdrawn" in events(world, 1), 2 * HOUR)
    world.until(lambda: world.books.moves[1].state is MoveState.DONE, HOUR)
    assert "change" not in world.acts("vm-r") and world.vms["vm-r"].power is Power.ON
    world.round()
    assert state(world, label) is LeaseState.RESERVED and world.told(NewsKind.UNDONE, "bob")


def test_not_off_in_time_with_a_hard_stop_agreed() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = None
    label = str(world.request("bob", "vm-r", 1, "now hard").number)
    world.until(lambda: label in world.books.leases and state(world, label) is LeaseState.ACTIVE, 20 * MIN)
    asked = {a.what: a.at for a in world.journal if a.vm == "vm-r"}
    assert asked["hard_stop"] - asked["shutdown"] >= 5 * MIN and "hard" in events(world, 1)


def test_a_guest_that_cannot_be_asked_is_left_on() -> None:
    world = World()
    world.refuse[("vm-r", CallKind.SHUTDOWN)] = ("no guest tools run in it", "")
    label = reach(world, MoveState.DROPPED)
    assert "refused" in events(world, 1) and world.told(NewsKind.UNDONE, "bob")
    world.pass_time(HOUR, MIN)
    assert state(world, label) is LeaseState.RESERVED and world.vms["vm-r"].power is Power.ON
    assert [m.state for m in world.books.moves.values()][1:] == [MoveState.PLANNED], "not again in this window"


def test_a_window_in_which_a_move_went_back_is_not_used_by_another_agreement_either() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = None
    world.agree("bob", "vm-r", "today 10:05-23:00")
    label = reach(world, MoveState.DROPPED, "any time today", 4 * HOUR)
    world.vms["vm-r"].stop_takes = timedelta(seconds=30)
    world.pass_time(5 * HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1 and state(world, label) is LeaseState.RESERVED
    world.agree("bob", "vm-r", "now", label)
    world.until(lambda: state(world, label) is LeaseState.ACTIVE, 15 * MIN)


# ---- changing, starting, proving


def test_refused_for_good_goes_back() -> None:
    world = World()
    world.refuse[("vm-r", CallKind.CHANGE)] = ("the machine has a snapshot", "")
    label = reach(world, MoveState.UNDOING)
    world.until(lambda: world.books.moves[1].state is MoveState.DONE, 10 * MIN)
    world.pass_time(MIN)
    assert world.vms["vm-r"].power is Power.ON and state(world, label) is LeaseState.RESERVED
    assert not any(c.aside for c in world.books.cards.values()) and world.told(NewsKind.UNDONE, "bob")
    (told,) = world.told(NewsKind.UNDONE, ADMINS)  # it was on and is on again: nobody would look
    assert told.reason == "the machine has a snapshot"
    world.agree("bob", "vm-r", "now", label)
    world.until(lambda: len([m for m in world.books.moves.values() if m.state is MoveState.DONE]) == 2, HOUR)
    assert len(world.told(NewsKind.UNDONE, "bob")) == 2 and len(world.told(NewsKind.UNDONE, ADMINS)) == 1


def test_busy_is_asked_again_while_the_window_is_open() -> None:
    world = World()
    world.again[("vm-r", CallKind.CHANGE)] = 8
    label = reach(world, MoveState.DONE)
    assert state(world, label) is LeaseState.ACTIVE


def test_found_off_and_left_off() -> None:
    world = World()
    world.switch("vm-r", Power.OFF)
    label = str(world.request("bob", "vm-r").number)
    world.until(lambda: label in world.books.leases and world.move("vm-r").state is MoveState.DONE, 5 * MIN)
    assert events(world, 1) == ["plan", "found_off", "change", "read_back_off"] and world.acts("vm-r")[-1] == "change"


def test_start_refused_and_nothing_was_put_on_needs_a_person() -> None:
    world = World()
    lease = world.give("vm-r", ("T4-1",))
    world.refuse[("vm-r", CallKind.POWER_ON)] = ("no memory is free", "")
    world.release("bob", lease.label, None, "now")
    world.until(lambda: bool(world.books.moves) and world.move("vm-r").state is MoveState.STUCK, 15 * MIN)
    assert {n.to for n in world.told(NewsKind.STUCK)} == {"bob", "admins"}
    world.pass_time(HOUR, MIN)
    assert (
        world.acts("vm-r").count("power_on") + events(world, 1).count("again") >= 4
        and len(world.told(NewsKind.STUCK)) == 2
    )
    world.refuse.clear()
    world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "bob"))
    world.until(lambda: world.vms["vm-r"].power is Power.ON, timedelta(seconds=30))
    world.pass_time(MIN)
    assert world.books.moves[1].state is MoveState.DROPPED and state(world, lease.label) is LeaseState.ENDED


def test_stuck_is_over_when_an_admin_says_done() -> None:
    world = World()
    lease = world.give("vm-r", ("T4-1",))
    world.refuse[("vm-r", CallKind.POWER_ON)] = ("no memory is free", "")
    world.release("bob", lease.label, None, "now")
    world.until(lambda: bool(world.books.moves) and world.move("vm-r").state is MoveState.STUCK, 15 * MIN)
    world.do(lambda d: moves.done(d, d.moves[1], "dana"))
    assert world.books.moves[1].state is MoveState.DROPPED
    assert any(x.what == "move.mended" and x.who == "dana" for x in world.lines)
    with pytest.raises(TooLate):
        world.do(lambda d: moves.done(d, d.moves[1], "dana"))


def test_off_while_it_was_to_be_proven_is_somebody_elses() -> None:
    world = World()
    world.vms["vm-r"].boot_takes = HOUR
    label = reach(world, MoveState.PROVING)
    world.switch("vm-r", Power.OFF)
    world.pass_time(5 * MIN)
    assert events(world, 1)[-1] == "off_again" and world.vms["vm-r"].power is Power.OFF
    assert state(world, label) is LeaseState.MOVING and world.told(NewsKind.WAITS_POWER_ON, "bob")


def test_not_bound_there_is_no_second_power_off() -> None:
    class Unbound(World):
        def look(self):  # type: ignore[no-untyped-def]
            seen = super().look()
            return replace(seen, hosts=tuple(replace(h, bound={"0000:00:00.0": "other"}) for h in seen.hosts))

    world = Unbound()
    label = reach(world, MoveState.DONE, within=HOUR)
    assert events(world, 1)[-1] == "not_bound"
    world.pass_time(HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1 and state(world, f"{label}b") is LeaseState.RETURNING


# ---- undoing


def test_still_on_and_an_owner_agrees_to_a_hard_stop() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = None
    label = reach(world, MoveState.UNDOING)
    world.now += timedelta(seconds=15)
    world.agree("bob", "vm-r", "now hard", label)
    world.until(lambda: state(world, label) is LeaseState.ACTIVE, 20 * MIN)
    assert {"new_window", "hard"} <= set(events(world, 1))


def test_what_was_put_on_comes_off_when_the_start_is_refused() -> None:
    world = World()
    world.refuse[("vm-r", CallKind.POWER_ON)] = ("no memory is free", "")
    label = reach(world, MoveState.UNDOING)
    world.until(lambda: not world.vms["vm-r"].cards, 5 * MIN)
    world.refuse.clear()
    world.until(lambda: world.vms["vm-r"].power is Power.ON, 15 * MIN)
    world.pass_time(5 * MIN)
    assert state(world, label) is LeaseState.RESERVED and "start_refused" in events(world, 1)


def test_what_was_put_on_cannot_be_taken_off_again() -> None:
    world = World()
    world.refuse[("vm-r", CallKind.POWER_ON)] = ("no memory is free", "")
    reach(world, MoveState.UNDOING)
    world.refuse[("vm-r", CallKind.CHANGE)] = ("the disk of its settings is full", "")
    world.until(lambda: world.move("vm-r").state is MoveState.STUCK, 10 * MIN)
    assert {n.to for n in world.told(NewsKind.STUCK)} == {"bob", "admins"}


def test_found_off_and_gone_back_it_is_left_off() -> None:
    world = World()
    world.switch("vm-r", Power.OFF)
    world.refuse[("vm-r", CallKind.CHANGE)] = ("the machine has a snapshot", "")
    label = str(world.request("bob", "vm-r").number)
    world.until(lambda: "undone_off" in events(world, 1), 5 * MIN)
    assert world.vms["vm-r"].power is Power.OFF and "power_on" not in world.acts("vm-r") and label in world.books.leases


def tries(world: World) -> int:
    """How often vCenter refused."""
    return sum(s.what == "refused" for m in world.books.moves.values() for s in m.steps)


@pytest.mark.parametrize("gives", [False, True])
def test_found_off_and_refused_it_is_tried_again_after_growing_pauses_and_told_once(gives: bool) -> None:
    world = World()
    if gives:
        label = world.give("vm-r", ("T4-1",)).label
    world.switch("vm-r", Power.OFF)
    world.refuse[("vm-r", CallKind.CHANGE)] = ("the licence does not allow it", "")
    if gives:
        world.release("bob", label)
    else:
        world.request("bob", "vm-r")
    world.until(lambda: "undone_off" in events(world, 1), 5 * MIN)
    world.pass_time(7 * HOUR)
    assert tries(world) == 4 and max(world.books.moves) <= 5, "after 15 min, 1 h, 4 h"
    assert {n.to for n in world.told(NewsKind.UNDONE)} == {"bob", "admins"}
    assert {n.key for n in world.told(NewsKind.UNDONE)} == {"undone:1"}, "one message, edited"
    assert {n.key for n in world.told(NewsKind.MOVE)} == {"move:1"}


@pytest.mark.parametrize("how", ["power", "blocker", "settings", "start"])
def test_found_off_and_refused_it_is_tried_at_once_when_something_is_otherwise(how: str) -> None:
    world = World()
    world.switch("vm-r", Power.OFF)
    world.refuse[("vm-r", CallKind.CHANGE)] = ("the licence does not allow it", "")
    world.request("bob", "vm-r")
    world.until(lambda: "undone_off" in events(world, 1), 5 * MIN)
    world.pass_time(MIN)
    before = tries(world)
    assert before == 1
    if how == "power":
        world.switch("vm-r", Power.ON)
        world.pass_time(MIN)
        world.switch("vm-r", Power.OFF)
    elif how == "blocker":
        world.vms["vm-r"].question = "which one?"
        world.pass_time(3 * MIN)
        assert tries(world) == before
        world.vms["vm-r"].question = ""
    elif how == "settings":
        world.vms["vm-r"].cards.add(PCI[3])
    else:
        world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "bob"))
    world.pass_time(2 * MIN)
    assert tries(world) == before + 1


def test_memory_goes_back_with_the_last_device() -> None:
    world = World()
    label = reach(world, MoveState.DONE, "now")
    assert world.books.machines["uuid-vm-r"].lock_before is False
    world.release("bob", label, None, "now")
    world.until(lambda: state(world, label) is LeaseState.ENDED, 15 * MIN)
    world.pass_time(MIN)
    assert world.books.machines["uuid-vm-r"].lock_before is None


# ---- levels, pause, clocks


@pytest.mark.parametrize("how", ["watch", "paused"])
def test_nothing_is_announced_or_asked_while_the_bot_may_not_act(how: str) -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    if how == "watch":
        world.policy = replace(world.policy, level="watch")
    else:
        world.do(lambda d: pool.pause(d, "dana", "a test"))
    world.request("bob", "vm-r", 1, "any time today")
    world.release("ada", lease.label, None, "now")
    world.switch("vm-train", Power.OFF)
    world.request("carol", "vm-train")
    world.pass_time(3 * HOUR, MIN)
    assert not world.told(NewsKind.LAST_CALL) and not [a for a in world.journal if a.what not in ("on", "off")]
    assert not [m for m in world.books.moves.values() if m.call is not None]


@pytest.mark.parametrize("skew", [10 * MIN, -10 * MIN])
def test_a_clock_of_vcenter_that_differs_starts_nothing_by_hand(skew: timedelta) -> None:
    world = World()
    world.skew = skew
    label = reach(world, MoveState.DONE)
    assert state(world, label) is LeaseState.ACTIVE and "started_by_hand" not in events(world, 1)
    other = str(world.request("carol", "vm-train", 1, "any time today").number)
    world.vms["vm-train"].stop_takes = 2 * MIN
    world.until(lambda: "shutdown" in world.acts("vm-train"), 20 * MIN)
    world.looking = False
    world.pass_time(2 * MIN + timedelta(seconds=30))
    world.looking = True
    world.switch("vm-train", Power.ON)
    world.pass_time(2 * HOUR, MIN)
    assert world.acts("vm-train").count("shutdown") == 1 and state(world, other) is LeaseState.RESERVED


def test_a_night_of_a_clock_change_moves_a_machine_within_its_window() -> None:
    """25 October 2026: 03:00 comes twice. 02:00 to 04:00 is three hours; the restart is in it."""
    world = World(datetime(2026, 10, 24, 20, 0, tzinfo=UTC))
    world.agree("bob", "vm-r", "every day 02:00-04:00 even if busy")
    label = str(world.request("bob", "vm-r").number)
    world.until(lambda: label in world.books.leases and state(world, label) is LeaseState.ACTIVE, 12 * HOUR, MIN)
    at = min(a.at for a in world.journal if a.what == "shutdown")
    assert datetime(2026, 10, 25, 0, 0, tzinfo=UTC) <= at < datetime(2026, 10, 25, 3, 0, tzinfo=UTC)


def test_18_re_registered_or_renamed_it_is_the_same_machine() -> None:
    world = World()
    lease = world.give("vm-r", ("T4-1",))
    vm = world.vms["vm-r"]
    vm.shown = "vm-r-old"
    vm.exists = False
    world.round()
    vm.exists = True
    world.pass_time(2 * MIN)
    machine = world.books.machines[vm.uuid]
    assert machine.name == "vm-r-old" and not machine.gone and state(world, lease.label) is LeaseState.ACTIVE
    vm.exists = False
    world.pass_time(MIN)
    assert world.books.machines[vm.uuid].gone
    vm.exists = True
    world.round()
    assert not world.books.machines[vm.uuid].gone
    assert world.request("bob", "vm-r").machine == vm.uuid


@pytest.mark.parametrize("template", [False, True])
def test_19_two_settings_name_one_card(template: bool) -> None:
    from tests.domain.world import Vm

    world = World()
    lease = world.give("vm-r", ("T4-1",))
    world.vms["copy"] = Vm("copy", (), Power.OFF, {world.card("T4-1").pci}, template=template)
    world.pass_time(2 * MIN)
    assert {n.to for n in world.told(NewsKind.SHARED_SETTING)} == {"bob", "admins"}
    assert len(world.told(NewsKind.SHARED_SETTING)) == 2
    world.release("bob", lease.label, None, "now")
    number = world.request("carol", "vm-train", 4, "now").number
    world.pass_time(30 * MIN)
    assert not world.vms["vm-r"].cards and "change" not in world.acts("vm-train"), "clean for nobody"
    del world.vms["copy"]
    world.agree("carol", "vm-train", "now", str(number))
    world.until(lambda: len(world.vms["vm-train"].cards) == 4, 15 * MIN)


# ---- agreements


def test_a_one_time_agreement_is_used_with_its_power_cycle() -> None:
    world = World()
    label = reach(world, MoveState.DONE)
    world.round()
    assert not world.books.agreements and any(x.what == "agreement.used" for x in world.lines)
    world.release("bob", label)
    world.pass_time(2 * HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1


def test_it_is_withdrawn_with_its_request() -> None:
    world = World()
    reach(world, MoveState.PLANNED, "tonight")
    world.vms["vm-r"].exists = False
    world.pass_time(MIN)
    assert not world.books.agreements and any(x.what == "agreement.queued_again" for x in world.lines)
    assert [r.state for r in world.books.requests.values()] == [RequestState.QUEUED]


def test_any_owner_withdraws_before_it_is_off_and_nobody_after() -> None:
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    world.again[("vm-r", CallKind.CHANGE)] = 20
    reach(world, MoveState.CHANGING)
    with pytest.raises(TooLate):
        world.do(lambda d: windows.withdraw(d, d.agreements[1], "carol"))


def test_who_gave_it_is_no_owner_any_more() -> None:
    world = World()
    world.agree("bob", "vm-r", "nights")
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("carol",), "dana"))
    world.round()
    assert not world.books.agreements and any(x.what == "agreement.no_owner" for x in world.lines)


def test_a_not_now_outlives_its_agreement_and_beats_the_next_yes() -> None:
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    label = reach(world, MoveState.PLANNED)
    world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-r"], "carol", world.policy))
    world.do(lambda d: windows.withdraw(d, d.agreements[1], "bob"))
    world.agree("bob", "vm-r", "any time today", label)
    world.pass_time(2 * HOUR, MIN)
    assert "shutdown" not in world.acts("vm-r")
    world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-r"], "bob", world.policy))  # said too: each is one's own
    world.do(lambda d: windows.take_back_not_now(d, d.machines["uuid-vm-r"], "bob"))
    world.pass_time(HOUR, MIN)
    assert "shutdown" not in world.acts("vm-r"), "only who said it can take it back"
    world.do(lambda d: windows.take_back_not_now(d, d.machines["uuid-vm-r"], "carol"))
    world.until(lambda: state(world, label) is LeaseState.ACTIVE, 30 * MIN)


def test_one_restart_a_day_in_standing_windows() -> None:
    world = World(EVENING)
    world.agree("bob", "vm-r", "nights even if busy")
    label = str(world.request("bob", "vm-r").number)
    world.until(lambda: label in world.books.leases and state(world, label) is LeaseState.ACTIVE, 3 * HOUR, MIN)
    world.do(lambda d: leases.release(d, d.leases[label], None, "bob"))
    world.pass_time(6 * HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1
    world.until(lambda: state(world, label) is LeaseState.ENDED, 20 * HOUR, MIN)
