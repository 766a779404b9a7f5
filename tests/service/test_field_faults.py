"""Faults of docs/field-faults.md that are about a move as a whole: time that a guest takes, and hosts that go away."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.model import CallKind, LeaseState, MoveState, Outcome, Power, RequestState
from bot.domain.policy import Policy
from tests.fakes import uuid
from tests.house import House


def kinds(house: House) -> list[CallKind]:
    return [call.kind for call in house.lab.calls]


@pytest.mark.parametrize("minutes", [2, 7])
def test_fault_28_the_time_of_a_guest_shutdown_is_the_one_of_the_settings(tmp_path: Path, minutes: int) -> None:
    house = House(tmp_path, Policy(level="act", guest_shutdown=timedelta(minutes=minutes)))
    try:
        house.furnish()
        house.lab.stubborn.add(uuid("vm-r"))
        house.say("bob", "request 1 restart now")
        house.forward(30, 0.25)
        move = house.books.moves[1]
        (given_up,) = [step for step in move.steps if step.what == "undoing"] or [None]
        assert move.shutdown_at is not None
        late = (given_up.at if given_up is not None else move.changed) - move.shutdown_at
        assert timedelta(minutes=minutes) <= late < timedelta(minutes=minutes, seconds=31), (late, move.steps)
        assert CallKind.CHANGE not in kinds(house), "nothing after it ran too early"
    finally:
        house.close()


def test_fault_29_a_guest_that_never_stops_is_left_on_or_stopped_hard_as_was_agreed(house: House) -> None:
    house.lab.stubborn.add(uuid("vm-r"))
    house.say("bob", "request 1 restart now")
    house.forward(20, 0.5)
    assert CallKind.HARD_STOP not in kinds(house) and house.lab.vms[uuid("vm-r")].power is Power.ON
    assert house.books.moves[1].state is MoveState.UNDOING
    house.say("bob", "window vm-r now hard")
    house.forward(30, 0.5)
    assert CallKind.HARD_STOP in kinds(house)
    assert house.lease("1").state is LeaseState.ACTIVE and house.lab.vms[uuid("vm-r")].power is Power.ON


def test_fault_32_a_machine_that_others_put_off_is_not_ours_to_start_and_its_people_are_told(house: House) -> None:
    lease = house.lend("vm-r", "T4-1")
    vm = house.lab.vms[uuid("vm-r")]
    vm.power, vm.boot = Power.OFF, None  # by DRS, for a maintenance
    house.forward(10, 0.5)
    assert kinds(house) == [] and house.books.leases[lease.label].state is LeaseState.ACTIVE
    vm.power, vm.boot = Power.ON, house.clock.now()
    house.forward(5, 0.5)
    assert house.books.leases[lease.label].state is LeaseState.ACTIVE


def test_fault_33_a_host_that_vanishes_in_mid_move_is_waited_for_and_the_move_goes_on(house: House) -> None:
    house.say("bob", "request 1 restart now")
    while not house.lab.calls:
        house.forward(0.5, 0.5)
    house.lab.away = True
    house.forward(10, 0.5)
    assert house.books.requests[1].state is RequestState.LEASED, "nothing is decided on half a view"
    for vm in house.lab.vms.values():  # a crash: all are off
        vm.power, vm.boot = Power.OFF, None
    house.lab.away = False
    house.forward(30, 0.5)
    assert house.lab.vms[uuid("vm-r")].cards and house.lab.vms[uuid("vm-r")].power is Power.ON
    assert house.lease("1").state is LeaseState.ACTIVE


@pytest.fixture
def gated(house: House) -> Iterator[House]:
    """The first call of vm-r never comes back before the test lets it."""
    gate, real = threading.Event(), house.lab.act

    def act(step: object) -> object:
        if getattr(step, "machine", "") == uuid("vm-r"):
            assert gate.wait(20)
        return real(step)  # type: ignore[arg-type]

    house.lab.act = act  # type: ignore[method-assign, assignment]
    yield house
    gate.set()


def test_a_machine_whose_task_never_ends_delays_no_other(gated: House) -> None:
    gated.say("bob", "request 1 restart now")
    gated.say("carol", "request 1 restart now")
    for _ in range(60):
        gated.clock.forward(minutes=0.5)
        gated.rounds.round()
        if gated.lab.vms[uuid("vm-train")].cards and gated.lab.vms[uuid("vm-train")].power is Power.ON:
            break
        threading.Event().wait(0.02)
    assert gated.lab.vms[uuid("vm-train")].power is Power.ON and gated.lab.vms[uuid("vm-train")].cards
    assert not gated.lab.vms[uuid("vm-r")].cards
    move = next(m for m in gated.books.moves.values() if m.machine == uuid("vm-r"))
    assert move.call is not None and move.call.outcome is Outcome.ASKED
