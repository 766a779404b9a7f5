"""What is given back "when done" goes when nothing runs, whatever else was agreed before."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain import leases
from bot.domain.model import Job, LeaseState
from tests.domain.world import MONDAY_10, World

MIN = timedelta(minutes=1)
TRAINING = (Job("ada", "python train.py", MONDAY_10, True),)


def given_back(before: str, after: str = "") -> World:
    """ada's machine trains; a time was agreed, then her card was given back when done, and perhaps another time was agreed after that."""
    world = World()
    world.give("vm-python", ("T4-1",), "3d")
    world.vms["vm-python"].jobs = TRAINING
    world.agree("ada", "vm-python", before)
    world.pass_time(2 * MIN, MIN)
    world.do(lambda d: leases.release(d, d.leases["1"], None, "ada"))
    world.agree("ada", "vm-python", "when done", label="1")
    if after:
        world.pass_time(2 * MIN, MIN)
        world.agree("ada", "vm-python", after)
    return world


def test_a_time_that_was_agreed_before_does_not_end_its_work() -> None:
    world = given_back("any time today")
    world.pass_time(timedelta(hours=2), MIN)
    assert "shutdown" not in world.acts("vm-python") and world.lease("1").state is LeaseState.RETURNING
    world.vms["vm-python"].jobs, world.vms["vm-python"].free_since = (), world.now
    world.until(lambda: world.lease("1").state is LeaseState.ENDED, timedelta(hours=1))


@pytest.mark.parametrize("after", ["any time today"])
def test_a_time_that_is_agreed_after_that_is_a_new_word(after: str) -> None:
    world = given_back("tonight", after)
    world.until(lambda: "shutdown" in world.acts("vm-python"), timedelta(hours=2), MIN)


def test_a_word_that_lists_fewer_cards_than_the_machine_has_never_says_that_nothing_runs() -> None:
    """A clone with its token and no card, while the machine itself is silent."""
    world = given_back("tonight")
    vm = world.vms["vm-python"]
    vm.jobs, vm.free_since, vm.sees = (), world.now, 0
    world.pass_time(timedelta(hours=1), MIN)
    assert "shutdown" not in world.acts("vm-python")
    vm.sees = None
    world.until(lambda: world.lease("1").state is LeaseState.ENDED, timedelta(hours=1))


def test_done_that_is_said_where_a_card_is_missing_is_not_believed() -> None:
    world = World()
    world.give("vm-python", ("T4-1",), "3d")
    vm = world.vms["vm-python"]
    world.pass_time(2 * MIN, MIN)
    vm.sees, vm.done_at = 0, world.now
    world.pass_time(5 * MIN, MIN)
    assert world.lease("1").state is LeaseState.ACTIVE
    vm.sees = None
    world.pass_time(2 * MIN, MIN)
    assert world.lease("1").state is LeaseState.RETURNING
