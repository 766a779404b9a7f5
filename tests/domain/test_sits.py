"""What the way back cannot take off again: asked again, taken off by hand, and what becomes of a machine that was found off or was on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import moves
from bot.domain.model import CallKind, LeaseState, Move, MoveState, Power
from bot.domain.news import NewsKind
from tests.domain.world import World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)
KEY = ("vm-r", CallKind.CHANGE)
MOVE = 1


def stuck(*, found_off: bool) -> World:
    """T4-1 is put in, the start is refused, and so is the taking off. Found off: nobody asked to start it, and it is released meanwhile."""
    world = World()
    if found_off:
        world.switch("vm-r", Power.OFF)
        number = world.request("bob", "vm-r", window="now").number
        world.until(lambda: world.vms["vm-r"].cards, 10 * MIN)
        # The answer came, and it was moved away from under us: the way back begins with the card in it.
        world.do(lambda d: d.put(undoing(d.moves[MOVE])))
        assert world.lease(number).state is LeaseState.MOVING
    else:
        world.refuse[("vm-r", CallKind.POWER_ON)] = ("no memory is free", "")
        world.request("bob", "vm-r", window="now")
        world.until(lambda: world.vms["vm-r"].cards, 10 * MIN)
    world.refuse[KEY] = ("the file is locked", "")
    world.until(lambda: world.books.moves[MOVE].state is MoveState.STUCK, 10 * MIN)
    return world


def undoing(move: Move) -> Move:
    return replace(move, state=MoveState.UNDOING, undo=True, reason="it was stopped")


def asked(world: World) -> list[str]:
    """What is asked of vCenter while it is stuck."""
    return [x.what.removeprefix("call.") for x in world.lines if x.what.startswith("call.") and x.about == "m1"]


def test_found_off_it_is_never_started_and_the_taking_off_is_asked_again() -> None:
    world = stuck(found_off=True)
    before = len(asked(world))
    world.pass_time(HOUR, MIN)
    later = asked(world)[before:]
    assert len(later) >= 3 and set(later) == {"change"} and "power_on" not in world.acts("vm-r")
    assert world.vms["vm-r"].power is Power.OFF
    assert {n.to for n in world.told(NewsKind.STUCK)} == {"bob", "admins"}
    assert [w.slot for w in moves.sits(world.books.moves[MOVE])] == ["T4-1"]


@pytest.mark.parametrize("by_hand", [True, False])
def test_found_off_and_off_by_now_it_is_as_it_was_before_and_stays_off(by_hand: bool) -> None:
    world = stuck(found_off=True)
    if by_hand:
        world.vms["vm-r"].cards.clear()
    else:
        world.refuse.clear()
    world.until(lambda: world.books.moves[MOVE].state is MoveState.DROPPED, 15 * MIN)
    assert not world.vms["vm-r"].cards and "power_on" not in world.acts("vm-r")
    keys = {n.key for n in world.told(NewsKind.STUCK)}
    assert {(n.to, n.key) for n in world.told(NewsKind.ON_AGAIN)} == {(to, k) for to in ("bob", "admins") for k in keys}
    world.pass_time(2 * MIN)
    assert world.lease("1").state in (LeaseState.RESERVED, LeaseState.MOVING)


def test_what_was_on_is_started_and_rid_of_the_card_in_turn() -> None:
    world = stuck(found_off=False)
    before = len(asked(world))
    world.pass_time(HOUR, MIN)
    later = asked(world)[before:]
    assert later[:4] == ["power_on", "change", "power_on", "change"]
    world.vms["vm-r"].cards.clear()
    world.round()
    assert not moves.sits(world.books.moves[MOVE]) and world.books.moves[MOVE].state is MoveState.STUCK
    world.refuse.clear()
    world.until(lambda: world.vms["vm-r"].power is Power.ON, 15 * MIN)
    world.until(lambda: world.books.moves[MOVE].state is MoveState.DROPPED, 2 * MIN)


def test_a_card_that_nobody_can_see_is_not_off() -> None:
    world = stuck(found_off=True)
    world.connected = False
    world.pass_time(5 * MIN, MIN)
    assert world.books.moves[MOVE].state is MoveState.STUCK and moves.sits(world.books.moves[MOVE])


@pytest.mark.parametrize("level", ["act", "hands"])
@pytest.mark.parametrize("found_off", [True, False])
def test_taken_off_by_hand_at_any_level_it_goes_on_at_once(found_off: bool, level: str) -> None:
    world = stuck(found_off=found_off)
    world.policy = replace(world.policy, level=level)
    world.pass_time(15 * MIN, MIN)
    calls = len(asked(world))
    world.vms["vm-r"].cards.clear()
    world.refuse.clear()
    world.round()
    move = world.books.moves[MOVE]
    if found_off:
        assert move.state is MoveState.DROPPED and len(asked(world)) == calls
    else:
        assert move.call is not None and move.call.kind is CallKind.POWER_ON and move.call.by_hand == (level == "hands")


def test_while_the_bot_only_watches_or_is_paused_nothing_is_asked() -> None:
    world = stuck(found_off=False)
    world.policy = replace(world.policy, level="watch")
    before = asked(world)
    world.pass_time(30 * MIN, MIN)
    assert asked(world) == before
    world.vms["vm-r"].cards.clear()
    world.pass_time(2 * MIN, MIN)
    assert asked(world) == before and not moves.sits(world.books.moves[MOVE])
    world.switch("vm-r", Power.ON)
    world.round()
    assert world.books.moves[MOVE].state is MoveState.DROPPED
