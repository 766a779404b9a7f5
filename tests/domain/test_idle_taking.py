"""A quiet card goes back under its terms: all conditions at once, and each of them missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.model import Lease, LeaseState, Power
from bot.domain.news import NewsKind
from bot.domain.policy import Policy
from tests.domain.world import World

MIN = timedelta(minutes=1)
NUDGING = replace(Policy(), idle=replace(Policy().idle, nudge=True))
NEEDED = ("T4-1", "T4-2", "T4-3", "T4-4")


def contended_world(slots: tuple[str, ...] = ("T4-1",), does: str = "held") -> tuple[World, Lease]:
    """ada has a quiet card, all others are busy with carol, and bob waits; nothing is agreed for ada's machine."""
    world = World(policy=NUDGING)
    lease = world.give("vm-python", slots, "3d")
    world.vms["vm-python"].does = {"": does}
    rest = tuple(s for s in NEEDED if s not in slots)
    world.give("vm-train", rest, "3d")
    world.vms["vm-train"].does = {"": "busy"}
    world.request("bob", "vm-r", 1, "any time today")
    return world, lease


def run(world: World, length: timedelta) -> None:
    world.pass_time(length, MIN)


def taken(world: World) -> bool:
    return bool(world.told(NewsKind.TAKEN_BACK))


def until_warned(world: World, agreed: str = "any time today") -> None:
    world.agree("ada", "vm-python", agreed)
    world.until(lambda: any(n.lease and n.lease.nudge and n.lease.nudge.warning for n in world.told(NewsKind.NUDGE)),
                timedelta(hours=4), MIN)  # fmt: skip


def test_a_quiet_card_goes_back_in_the_window_that_is_open() -> None:
    world, lease = contended_world()
    world.agree("ada", "vm-python", "any time today")
    asked: list[float] = []
    while not taken(world):
        run(world, MIN)
        asked += [(world.now - lease.since).total_seconds() / 60] * (len(world.told(NewsKind.NUDGE)) - len(asked))
        assert world.now - lease.since < timedelta(hours=4), world.describe()
    after = (world.now - lease.since).total_seconds() / 60
    assert [round(x) for x in asked] == pytest.approx([61, 121], abs=2)
    assert after == pytest.approx(166, abs=3), "not before 165 minutes"
    assert [n.lease.nudge.warning for n in world.told(NewsKind.NUDGE) if n.lease and n.lease.nudge] == [False, True]
    assert world.lease("1").state is LeaseState.RETURNING
    world.until(lambda: world.lease("1").state is LeaseState.ENDED, timedelta(hours=1))
    world.until(lambda: world.vms["vm-python"].power is Power.ON, timedelta(hours=1))
    assert world.told(NewsKind.TAKEN_BACK, "ada") and world.told(NewsKind.TAKEN_BACK)[0].who == "bob"
