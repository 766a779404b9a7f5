"""What people do to a machine in vCenter while a restart of it is planned or under way: renamed, registered anew, made a template, suspended, asked
about, a device half removed. In each state of a move: nothing is lost, and what we put off is on again at rest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.domain import pool
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import CallKind, LeaseState, MoveState, Power, RequestState
from bot.domain.news import ADMINS, NewsKind
from tests.domain.world import World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)
VM = "vm-r"


def planned() -> World:
    world = World()
    world.request("bob", VM, 2, "any time today")
    world.round()
    return world


def reach(world: World, state: MoveState) -> World:
    world.until(lambda: bool(world.books.moves) and world.move(VM).state is state, HOUR, timedelta(seconds=5))
    return world


def stopping() -> World:
    world = planned()
    world.vms[VM].stop_takes = 4 * MIN
    return reach(world, MoveState.STOPPING)


def changing() -> World:
    world = planned()
    world.again[(VM, CallKind.CHANGE)] = 3
    return reach(world, MoveState.CHANGING)


def starting() -> World:
    world = planned()
    world.again[(VM, CallKind.POWER_ON)] = 3
    return reach(world, MoveState.STARTING)


def proving() -> World:
    world = planned()
    world.vms[VM].agent = False
    return reach(world, MoveState.PROVING)


def undoing() -> World:
    world = stopping()
    world.say_no(VM, "bob", stop=True)
    return reach(world, MoveState.UNDOING)


def stuck() -> World:
    world = World()
    lease = world.give(VM, ("T4-1", "T4-2"))
    world.refuse[(VM, CallKind.POWER_ON)] = ("the disk is locked", "")
    world.release("bob", lease.label, None, "now")
    return reach(world, MoveState.STUCK)


STATES: dict[str, Callable[[], World]] = {
    "planned": planned,
    "stopping": stopping,
    "changing": changing,
    "starting": starting,
    "proving": proving,
    "undoing": undoing,
    "stuck": stuck,
}
each_state = pytest.mark.parametrize("state", STATES)


def at_rest(world: World, *, on: bool = True) -> None:
    """Nothing is under way any more, the machine is on, and what was asked for is served or still asked for."""
    world.refuse.clear()
    world.until(
        lambda: not any(m.state in OPEN_MOVE - {MoveState.PLANNED} for m in world.books.moves.values()), 5 * HOUR, MIN
    )
    world.pass_time(25 * MIN, MIN)
    assert not on or world.vms[VM].power is Power.ON, world.describe()
    lost = [r for r in world.books.requests.values() if r.state in (RequestState.WITHDRAWN, RequestState.SERVED)]
    assert not lost, f"a request is lost: {lost}"
    for lease in world.books.leases.values():
        has = {world.card(s).pci for s in lease.slots} <= world.vms[VM].cards
        assert lease.state is not LeaseState.ACTIVE or has, f"a lease without its device: {lease}"


@each_state
def test_18_renamed_it_is_the_same_machine(state: str) -> None:
    world = STATES[state]()
    shutdowns = world.acts(VM).count("shutdown")
    world.vms[VM].shown = "vm-r-renamed"
    world.round()
    assert world.books.machines["uuid-vm-r"].name == "vm-r-renamed"
    at_rest(world)
    assert world.acts(VM).count("shutdown") <= max(1, shutdowns), "no second restart for a name"
    assert not world.told(NewsKind.MACHINE_GONE)


@each_state
def test_18_registered_anew_it_is_the_same_machine_by_its_uuid(state: str) -> None:
    """Out of the inventory for one look: not gone."""
    world = STATES[state]()
    world.vms[VM].exists = False
    world.now += timedelta(seconds=2)
    world.round()
    world.vms[VM].exists = True
    at_rest(world)
    assert not world.told(NewsKind.MACHINE_GONE)


@each_state
def test_18_gone_and_registered_anew_power_is_put_back_as_it_was_found(state: str) -> None:
    world = STATES[state]()
    world.vms[VM].exists = False
    world.pass_time(5 * MIN)
    assert world.books.machines["uuid-vm-r"].gone
    assert all(m.state not in OPEN_MOVE for m in world.books.moves.values())
    world.vms[VM].exists = True
    world.refuse.clear()
    world.pass_time(30 * MIN, MIN)
    assert world.vms[VM].power is Power.ON, world.describe()
    assert not world.books.machines["uuid-vm-r"].gone
    waiting = [r for r in world.books.requests.values() if r.state is RequestState.QUEUED]
    assert all(r.rest is not None for r in waiting), "asked for another machine; the place is kept"


@each_state
def test_made_a_template_it_is_told_and_goes_on_when_it_is_none_any_more(state: str) -> None:
    world = STATES[state]()
    vm = world.vms[VM]
    vm.template = True
    for kind in CallKind:
        world.refuse[(VM, kind)] = ("vm-r is a template", "")
    world.pass_time(10 * MIN)
    vm.template = False
    at_rest(world)


@each_state
def test_suspended_it_is_neither_off_nor_on_and_its_memory_is_kept(state: str) -> None:
    world = STATES[state]()
    vm = world.vms[VM]
    before = world.acts(VM).count("hard_stop")
    was = vm.power
    vm.power, vm.stops_at = Power.SUSPENDED, None
    if was is Power.OFF:
        vm.boot, vm.boots = world.now, vm.boots + 1  # it was started, and suspended since
    world.pass_time(10 * MIN)
    assert "change" not in [a.what for a in world.journal if a.vm == VM and a.at > world.now - 9 * MIN]
    assert world.acts(VM).count("hard_stop") == before
    vm.power = Power.ON
    at_rest(world)


def test_suspended_after_the_shutdown_is_never_switched_off_hard() -> None:
    world = World()
    world.vms[VM].stop_takes = None
    world.request("bob", VM, 1, "now hard")
    reach(world, MoveState.STOPPING)
    world.vms[VM].power = Power.SUSPENDED
    world.pass_time(3 * HOUR, MIN)
    assert "hard_stop" not in world.acts(VM)
    assert world.move(VM).state not in OPEN_MOVE or world.move(VM).state is MoveState.PLANNED, "not waited for for ever"
    assert world.told(NewsKind.GUEST_HANGS, "bob")


@each_state
def test_a_pending_question_is_told_at_once_and_the_move_goes_on_when_it_is_answered(state: str) -> None:
    world = STATES[state]()
    vm = world.vms[VM]
    vm.question = "is the disk full?"
    off = vm.power is Power.OFF
    world.pass_time(30 * timedelta(seconds=1), timedelta(seconds=5))
    told = {
        n.to: n for n in (*world.told(NewsKind.STAYS_OFF), *world.told(NewsKind.BLOCKED)) if "disk full" in n.reason
    }
    if off and state != "stuck":
        assert {"bob", ADMINS} <= set(told), world.describe()
    if state == "planned":
        assert {"bob", ADMINS} <= set(told)
    vm.question = ""
    at_rest(world)


@each_state
def test_one_of_two_devices_is_taken_off_by_hand(state: str) -> None:
    world = STATES[state]()
    vm = world.vms[VM]
    if vm.cards:
        vm.cards = set(sorted(vm.cards)[1:])
    world.pass_time(10 * MIN)
    at_rest(world)


@pytest.mark.parametrize("by_hand", ["T4-1", "T4-2"])
def test_one_of_two_devices_that_come_off_is_taken_by_hand_in_mid_move(by_hand: str) -> None:
    world = World()
    lease = world.give(VM, ("T4-1", "T4-2"))
    world.again[(VM, CallKind.CHANGE)] = 2
    world.release("bob", lease.label, None, "now")
    reach(world, MoveState.CHANGING)
    world.vms[VM].cards.discard(world.card(by_hand).pci)
    world.until(lambda: world.lease(lease.label).state is LeaseState.ENDED, HOUR)
    at_rest(world)
    assert not world.vms[VM].cards and all(world.card(s).aside is None for s in ("T4-1", "T4-2"))


def test_one_of_two_devices_that_are_put_on_is_put_by_hand_in_mid_move() -> None:
    world = changing()
    lease = world.lease(1)
    world.vms[VM].cards.add(world.card(lease.slots[0]).pci)
    world.until(lambda: world.lease(1).state is LeaseState.ACTIVE, HOUR)
    assert len(world.vms[VM].cards) == 2


def test_pause_in_mid_move_is_told_to_the_owners_at_once() -> None:
    world = stopping()
    world.do(lambda d: pool.pause(d, "dana", "patching"))
    world.round()
    (told,) = world.told(NewsKind.STAYS_OFF, "bob")
    assert told.move is not None and told.move.alarmed == ("paused",) and told.move.off_at is None
    world.do(lambda d: pool.resume(d, "dana"))
    world.round()
    (first,) = world.told(NewsKind.ON_AGAIN, "bob")
    assert first.move is not None and first.move.state is MoveState.STOPPING, "it still goes down: not the last word"
    at_rest(world)
    assert len(world.told(NewsKind.ON_AGAIN, "bob")) == 2
    last = world.told(NewsKind.ON_AGAIN, "bob")[-1]
    assert last.key == told.key and last.move is not None and last.move.off_at is not None, (
        "it was off, and that is said"
    )
