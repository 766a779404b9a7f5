"""Calls that nobody knows the fate of: vCenter was away, or the bot was killed over them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain.model import CallKind, LeaseState, MoveState, Power, Seen
from bot.domain.news import ADMINS, NewsKind
from tests.domain.world import World

MIN = timedelta(minutes=1)
SHUTDOWN = ("vm-r", CallKind.SHUTDOWN)


class Killed(World):
    """A bot that is killed before its next call is made, and away until another one is started."""

    killed = False

    def perform(self) -> None:
        if not self.killed:
            super().perform()

    def start_again(self) -> None:
        """Another bot."""
        self.killed, self.run = False, self.run + "'"


def asks(world: World) -> None:
    """bob's machine is about to be asked to stop."""
    world.request("bob", "vm-r", window="now")
    world.until(lambda: any(m.last_call for m in world.books.moves.values()), 5 * MIN)


def nothing_was_told_but_the_move(world: World) -> bool:
    return not any(world.told(kind) for kind in (NewsKind.GUEST_HANGS, NewsKind.UNDONE, NewsKind.NOT_NOW))


def test_a_vcenter_that_is_away_for_long_is_no_guest_that_hangs() -> None:
    world = World()
    asks(world)
    world.again[SHUTDOWN] = 30  # 15 s each
    world.until(lambda: world.books.moves and world.move("vm-r").state is MoveState.DONE, 20 * MIN)
    assert nothing_was_told_but_the_move(world)
    assert world.acts("vm-r").count("shutdown") == 1 and world.lease("1").state is LeaseState.ACTIVE


def test_killed_before_the_call_and_away_for_ten_minutes() -> None:
    world = Killed()
    asks(world)
    world.killed = True
    world.until(lambda: world.move("vm-r").state is MoveState.STOPPING, 5 * MIN)
    world.now += 10 * MIN
    world.start_again()
    world.round()
    world.until(lambda: world.move("vm-r").state is MoveState.DONE, 10 * MIN)
    assert nothing_was_told_but_the_move(world)
    assert world.acts("vm-r").count("shutdown") == 1 and world.lease("1").state is LeaseState.ACTIVE


def test_killed_after_the_call_while_the_tools_of_the_guest_stop() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = 2 * MIN
    asks(world)
    world.lose.add(SHUTDOWN)
    world.until(lambda: "shutdown" in world.acts("vm-r"), 5 * MIN)
    world.refuse[SHUTDOWN] = ("VMware Tools do not run in vm-r", "")
    world.until(lambda: world.vms["vm-r"].power is Power.OFF, 5 * MIN)
    world.until(lambda: world.move("vm-r").state is MoveState.DONE, 5 * MIN)
    assert nothing_was_told_but_the_move(world)
    assert world.acts("vm-r").count("shutdown") == 1 and world.lease("1").state is LeaseState.ACTIVE


def test_asked_twice_and_refused_is_given_up_when_the_guest_had_its_time() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = None
    asks(world)
    world.lose.add(SHUTDOWN)
    world.until(lambda: "shutdown" in world.acts("vm-r"), 5 * MIN)
    world.refuse[SHUTDOWN] = ("VMware Tools do not run in vm-r", "")
    world.pass_time(4 * MIN)
    assert world.move("vm-r").state is MoveState.STOPPING
    world.until(lambda: world.move("vm-r").state is MoveState.UNDOING, 3 * MIN)
    assert "Tools" in world.told(NewsKind.GUEST_HANGS, "bob")[0].reason
    # It may have heard the first call: a late power-off within two hours is ours.
    world.pass_time(10 * MIN)
    assert world.move("vm-r").state is MoveState.UNDOING
    world.switch("vm-r", Power.OFF)
    world.until(lambda: world.vms["vm-r"].power is Power.ON, 5 * MIN)


def test_refused_at_once_is_given_up_at_once() -> None:
    world = World()
    asks(world)
    world.refuse[SHUTDOWN] = ("VMware Tools do not run in vm-r", "")
    world.until(lambda: 1 in world.books.moves and world.books.moves[1].state is MoveState.DROPPED, 5 * MIN)
    # Nothing was heard, so nothing was waited for and nothing can still go off: one message says what was refused, to the admins as well.
    assert not world.told(NewsKind.GUEST_HANGS)
    for to in ("bob", ADMINS):
        assert ["Tools" in n.reason for n in world.told(NewsKind.UNDONE, to)] == [True]


def test_started_again_while_it_goes_down_nobody_said_not_now() -> None:
    world = World()
    asks(world)
    world.vms["vm-r"].stop_takes = 4 * MIN
    world.until(lambda: "shutdown" in world.acts("vm-r"), 5 * MIN)
    world.looking = False
    world.pass_time(5 * MIN)
    world.switch("vm-r", Power.ON)
    world.looking = True
    world.until(lambda: world.books.moves[1].state is MoveState.DROPPED, 5 * MIN)
    assert [n.to for n in world.told(NewsKind.STARTED_AGAIN)] == ["bob"] and not world.told(NewsKind.NOT_NOW)


class Looking(World):
    """Each look begins a second before the round decides, as outside."""

    def look(self) -> Seen | None:
        seen = super().look()
        return seen and replace(seen, at=seen.at - timedelta(seconds=1))


def test_given_back_and_every_answer_is_lost() -> None:
    """Nobody is asked for another time when the one that was agreed has done all that it was for."""
    world = Looking()
    label = world.give("vm-python", ("T4-1",)).label
    world.release("ada", label, window="now")
    world.lose |= {("vm-python", kind) for kind in CallKind}
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, 20 * MIN)
    world.pass_time(5 * MIN)
    assert world.acts("vm-python").count("power_on") == 1 and not world.lose - {("vm-python", CallKind.HARD_STOP)}
    assert not world.told(NewsKind.ASK_WINDOW), world.told(NewsKind.ASK_WINDOW)
