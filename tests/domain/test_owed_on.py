"""A machine that is off through us and whose move is lost, because it left vCenter or the books were put back: it is started when it is
seen off, and never said to have been off before. And of one that is off after a restore for no known cause."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import CallKind, LeaseState, MoveState, Power
from bot.domain.moves.common import OUT_FIRST
from bot.domain.news import ADMINS, NewsKind
from tests.domain.world import MONDAY_10, Vm, World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)


def under_way(world: World) -> bool:
    return any(m.state in UNDER_WAY for m in world.books.moves.values())


def moving(state: MoveState, *, lent: bool, refuse: bool = False) -> World:
    """A restart of vm-r has come so far: to take a card off (lent), or to put one on."""
    world = World()
    if lent:
        world.release("bob", world.give("vm-r", ("T4-1",)).label, None, "now")
    else:
        world.request("bob", "vm-r", window="now")
    kind = CallKind.CHANGE if state is MoveState.CHANGING else CallKind.POWER_ON
    world.again[("vm-r", kind)] = 10_000
    if refuse:
        world.refuse[("vm-r", CallKind.POWER_ON)] = ("no licence", "")
    world.until(lambda: state in {m.state for m in world.books.moves.values()}, 30 * MIN)
    return world


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("lent", [False, True])
@pytest.mark.parametrize("state", [MoveState.STOPPING, MoveState.CHANGING, MoveState.STARTING])
def test_gone_while_it_is_off_and_back(state: MoveState, lent: bool, asks: bool, paused: bool) -> None:
    world = moving(state, lent=lent)
    vm = world.vms["vm-r"]
    vm.exists, vm.power, vm.stops_at = False, Power.OFF, None
    world.pass_time(MIN)
    assert not under_way(world) and world.books.machines[vm.uuid].gone
    world.again.clear()
    vm.exists = True
    if paused:
        world.books = replace(world.books, paused="dana a test")
        world.pass_time(5 * MIN)
        assert vm.power is Power.OFF
        world.books = replace(world.books, paused="")
    if asks:
        world.request("bob", "vm-r", window="now")
    world.until(lambda: vm.power is Power.ON, 10 * MIN)
    assert {n.to for n in world.told(NewsKind.MACHINE_BACK)} == {"bob", ADMINS}
    assert not world.told(NewsKind.WAITS_POWER_ON), "it was not off before we came"
    world.pass_time(MIN)
    assert world.books.machines[vm.uuid].owed_on is None
    world.switch("vm-r", Power.OFF)
    world.pass_time(5 * MIN)
    assert vm.power is Power.OFF, "that was somebody else"


def test_back_and_on_is_nobody_s_business() -> None:
    world = moving(MoveState.STARTING, lent=True)
    vm = world.vms["vm-r"]
    vm.exists = False
    world.pass_time(MIN)
    vm.exists = True
    world.switch("vm-r", Power.ON)
    world.pass_time(MIN)
    assert not world.told(NewsKind.MACHINE_BACK) and world.books.machines[vm.uuid].owed_on is None


def test_gone_when_it_was_on_again_it_is_left_as_it_is() -> None:
    world = World()
    world.request("bob", "vm-r", window="now")
    world.vms["vm-r"].sees = 0
    world.until(lambda: MoveState.PROVING in {m.state for m in world.books.moves.values()}, 30 * MIN)
    vm = world.vms["vm-r"]
    vm.exists, vm.power = False, Power.OFF
    world.pass_time(MIN)
    vm.exists, vm.cards = True, set()
    world.pass_time(5 * MIN)
    assert vm.power is Power.OFF and not world.told(NewsKind.MACHINE_BACK)


def test_books_that_were_put_back_from_before_the_restart() -> None:
    """The restore marked the machine: it is started, and the card that waits is put on in the same cycle."""
    world = World()
    world.request("bob", "vm-r", window="now")
    vm = world.vms["vm-r"]
    vm.power = Power.OFF
    machine = replace(world.books.machines[vm.uuid], owed_on=MONDAY_10, restored=MONDAY_10)
    world.books = replace(world.books, machines={**world.books.machines, vm.uuid: machine})
    world.until(lambda: vm.power is Power.ON, 5 * MIN)
    assert not world.told(NewsKind.WAITS_POWER_ON) and not world.told(NewsKind.RESTORED_OFF)
    world.until(lambda: {x.state for x in world.books.leases.values()} == {LeaseState.ACTIVE}, 30 * MIN)


def test_off_after_a_restore_and_nobody_knows_why() -> None:
    world = World()
    vm = world.vms["vm-r"]
    vm.power = Power.OFF
    machines = {uuid: replace(m, restored=MONDAY_10) for uuid, m in world.books.machines.items()}
    world.books = replace(world.books, machines=machines)
    world.pass_time(5 * MIN)
    assert [n.to for n in world.told(NewsKind.RESTORED_OFF)] == ["bob", ADMINS]
    assert {uuid for uuid, m in world.books.machines.items() if m.restored is not None} == {vm.uuid}
    assert vm.power is Power.OFF
    world.switch("vm-r", Power.ON)
    world.pass_time(MIN)
    assert world.books.machines[vm.uuid].restored is None


def test_two_machines_with_one_card_and_the_end_of_it() -> None:
    world = World()
    world.give("vm-r", ("T4-1",))
    for _ in range(2):
        world.news.clear()
        world.vms["copy"] = Vm("copy", (), Power.OFF, {world.card("T4-1").pci})
        world.pass_time(2 * MIN)
        told = world.told(NewsKind.SHARED_SETTING)
        assert [n.to for n in told] == ["bob", ADMINS] and not world.told(NewsKind.SHARED_OVER)
        del world.vms["copy"]
        world.pass_time(2 * MIN)
        over = world.told(NewsKind.SHARED_OVER)
        assert [(n.to, n.key) for n in over] == [(n.to, n.key) for n in told], "the same message, edited"
        assert over[0].reason == "vm-r"


@pytest.mark.parametrize("lost", [True, False])
@pytest.mark.parametrize("after", [timedelta(seconds=30), timedelta(minutes=5), timedelta(minutes=30)])
def test_a_shutdown_whose_answer_was_lost_is_carried_out_once_more(lost: bool, after: timedelta) -> None:
    """The first call comes minutes later, when the machine is on again: that it is off then is ours."""
    world = World()
    world.request("bob", "vm-r", window="now")
    if lost:
        world.again[("vm-r", CallKind.SHUTDOWN)] = 1
    world.until(lambda: "on" in world.acts("vm-r"), 30 * MIN)
    world.pass_time(after)
    vm = world.vms["vm-r"]
    world.switch("vm-r", Power.OFF)
    world.pass_time(5 * MIN)
    ours = lost and after < timedelta(minutes=15)
    assert (vm.power is Power.ON) is ours
    assert {n.to for n in world.told(NewsKind.MACHINE_BACK)} == ({"bob", ADMINS} if ours else set())
    if ours:
        world.switch("vm-r", Power.OFF)
        world.pass_time(5 * MIN)
        assert vm.power is Power.OFF, "the second time it is its owner's hand"


def test_a_shutdown_that_is_carried_out_late_while_the_bot_is_away_is_its_own_too() -> None:
    world = World()
    world.request("bob", "vm-r", window="now")
    world.again[("vm-r", CallKind.SHUTDOWN)] = 1
    world.until(lambda: "on" in world.acts("vm-r"), 30 * MIN)
    world.pass_time(2 * MIN)
    world.switch("vm-r", Power.OFF)
    world.pass_time(30 * MIN, 30 * MIN)  # no round meanwhile
    world.pass_time(5 * MIN)
    assert world.vms["vm-r"].power is Power.ON


def test_what_is_given_back_while_the_machine_does_not_start_comes_out_before_it_is_started_again() -> None:
    """Its place may be another's by now: with it the machine never starts."""
    world = World()
    first, second = world.give("vm-r", ("T4-1",)).label, world.give("vm-r", ("T4-2",)).label
    world.refuse["vm-r", CallKind.POWER_ON] = ("no room for it", "")
    world.release("bob", first, None, "now")
    world.until(lambda: any(m.state is MoveState.STUCK for m in world.books.moves.values()), HOUR, MIN)
    before = len(world.acts("vm-r"))
    world.release("bob", second)
    world.until(lambda: not world.vms["vm-r"].cards, 10 * MIN)
    assert world.vms["vm-r"].power is Power.OFF and "change" in world.acts("vm-r")[before:]
    del world.refuse["vm-r", CallKind.POWER_ON]
    world.until(lambda: world.vms["vm-r"].power is Power.ON, HOUR, MIN)
    world.until(lambda: world.lease(second).state is LeaseState.ENDED, 10 * MIN)
    back = [n.reason for n in world.told(NewsKind.MACHINE_BACK)]
    assert OUT_FIRST in back, "its owner reads why it is started anew"
