"""A notebook that is left open over night keeps no card: it is no running work, nobody is there, and the night is agreed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain import leases
from bot.domain.model import Job, LeaseState, Login, Power
from bot.domain.news import NewsKind
from tests.domain.test_idle_taking import MIN, NUDGING, contended_world, run, taken
from tests.domain.world import MONDAY_10, World


def evening() -> World:
    """ada's notebook holds memory and computes nothing since the morning; her nights are agreed, and bob waits."""
    world, _ = contended_world(does="held")
    world.agree("ada", "vm-python", "nights")
    assert world.vms["vm-python"].jobs == () and world.vms["vm-python"].logins == ()
    return world


def test_an_open_notebook_is_taken_back_in_the_night_that_is_agreed() -> None:
    world = evening()
    run(world, timedelta(hours=14))
    assert taken(world)
    assert [n.lease.nudge.warning for n in world.told(NewsKind.NUDGE, "ada") if n.lease and n.lease.nudge] == [
        False,
        True,
    ]
    asked = next(act.at for act in world.journal if act.what == "shutdown" and act.vm == "vm-python")
    assert asked.hour in (21, 22, 23, 0), asked  # UTC: after 22:00 in Berlin
    assert world.lease("1").state is LeaseState.ENDED and world.vms["vm-python"].power is Power.ON
    (call,) = world.told(NewsKind.LAST_CALL, "ada")
    assert call.inside is not None and call.inside.jobs == ()
    assert [p.name for d in call.inside.devices for p in d.processes or ()], "what is open is at hand for the words"


@pytest.mark.parametrize(
    "there",
    [
        {"jobs": (Job("ada", "python simulate.py", MONDAY_10, False),)},
        {"jobs": (Job("ada", "python train.py", MONDAY_10, True),)},
        {"logins": (Login("ada", MONDAY_10),)},
    ],
)
def test_while_a_job_runs_or_somebody_is_logged_in_nothing_is_taken(there: dict[str, object]) -> None:
    world = evening()
    for name, value in there.items():
        setattr(world.vms["vm-python"], name, value)
    run(world, timedelta(hours=14))
    assert not taken(world) and "shutdown" not in world.acts("vm-python")
    assert world.lease("1").state is LeaseState.ACTIVE
    assert [n.lease.nudge.warning for n in world.told(NewsKind.NUDGE, "ada") if n.lease and n.lease.nudge][-1]


def test_whoever_has_something_open_on_a_card_is_called_before_a_restart() -> None:
    """carol owns nothing there, and only has her notebook open in it."""
    world = evening()
    world.vms["vm-python"].user = "carol"
    world.until(lambda: "shutdown" in world.acts("vm-python"), timedelta(hours=14), MIN)
    assert {n.to for n in world.told(NewsKind.LAST_CALL)} == {"ada", "carol"}


def test_clocks_of_ended_leases_do_not_grow_and_are_read_by_nobody() -> None:
    """One a device, whoever had it: those of the lease before are replaced, and until then belong to none."""
    world = World(policy=NUDGING)
    for vm, owner in (("vm-python", "ada"), ("vm-r", "bob")) * 2:
        label = world.give(vm, ("T4-1",), "3d").label
        world.vms[vm].does = {"": "held"}
        run(world, 3 * MIN)
        assert [(w.slot, w.lease) for w in world.books.watches.values()] == [("T4-1", label)]
        world.do(lambda d, x=label: leases.force(d, d.leases[x], "dana", "a demo"))  # type: ignore[misc]
        world.agree(owner, vm, "now")
        world.until(lambda vm=vm: not world.vms[vm].cards, timedelta(hours=2))  # type: ignore[misc]
        run(world, 3 * MIN)
        ended = world.past.get(label) or world.lease(label)
        assert ended.state is LeaseState.ENDED
        assert len(world.books.watches) == 1
