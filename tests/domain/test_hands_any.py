"""The level `hands` with admins who do what they are asked for late, half, out of order, all at once or not at all; and levels that change.

Once they do what is asked again, all comes to an end: nothing is lost, nothing stays off, and no call was ever made for them.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import moves, queue
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import CallKind, LeaseState, Move, Power, RequestState
from bot.domain.policy import Policy
from tests.domain.modes_world import ModesWorld, labelled, shared
from tests.domain.test_hands import BY_US
from tests.domain.world import PCI, World

MIN = timedelta(minutes=1)
WORLDS = {
    "fixed": lambda: World(policy=Policy(level="hands")),
    "dynamic": lambda: ModesWorld(labelled(*PCI), policy=Policy(level="hands")),
    "vgpu": lambda: ModesWorld(shared(*PCI), policy=Policy(level="hands")),
}


class Admin:
    """Somebody who reads the messages and does the clicks, more or less."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.dice = world, random.Random(seed)

    def asked(self) -> list[Move]:
        return [
            m for m in self.world.books.moves.values() if m.state in OPEN_MOVE and m.call is not None and m.call.by_hand
        ]

    def obey(self, move: Move) -> None:
        """What the message asks for now."""
        w, call = self.world, move.call
        assert call is not None
        vm = next(v for v in w.vms.values() if v.uuid == move.machine)
        if call.kind in (CallKind.SHUTDOWN, CallKind.HARD_STOP) and vm.power is Power.ON:
            w.switch(vm.name, Power.OFF)
        elif call.kind is CallKind.POWER_ON and vm.power is Power.OFF:
            w.switch(vm.name, Power.ON)
        elif call.kind is CallKind.CHANGE and vm.power is Power.OFF:
            self.change(move)

    def change(self, move: Move) -> None:
        """By the world's own way of changing devices, with nobody's call in the journal."""
        w = self.world
        before = list(w.journal)
        w._carry_out(moves.step_of(w.books, move))
        w.journal[:] = before

    def meddle(self) -> None:
        """Something else than was asked for: early, too much, by itself."""
        w = self.world
        vm = self.dice.choice(list(w.vms.values()))
        if vm.power is Power.ON:
            w.switch(vm.name, Power.OFF)
        elif not w.clash(vm):
            w.switch(vm.name, Power.ON)

    def all_at_once(self, move: Move) -> None:
        """Off, changed and on again between two looks, if the change is known."""
        self.obey(move)
        self.world.now += timedelta(seconds=2)
        vm = next(v for v in self.world.vms.values() if v.uuid == move.machine)
        if (
            vm.power is Power.OFF
            and not self.world.clash(vm)
            and move.call is not None
            and move.call.kind is CallKind.CHANGE
        ):
            self.world.switch(vm.name, Power.ON)

    def step(self) -> None:
        for move in self.asked():
            what = self.dice.random()
            if what < 0.4:
                self.obey(move)
            elif what < 0.55:
                self.all_at_once(move)
        if self.dice.random() < 0.03:
            self.meddle()


@pytest.mark.parametrize("kind", list(WORLDS))
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 100))])
def test_whatever_admins_do_all_comes_to_an_end(kind: str, seed: int) -> None:
    w = WORLDS[kind]()
    admin = Admin(w, seed)
    owners = {name: vm.owners[0] for name, vm in w.vms.items()}
    wish = "8gb" if kind == "vgpu" else ""
    for name, who in owners.items():
        if admin.dice.random() < 0.8:
            w.request(who, name, window=admin.dice.choice(("now", "now", "tonight"))) if not wish else ask(w, who, name)
    for _ in range(60):
        w.pass_time(admin.dice.choice((MIN / 4, MIN, 4 * MIN, 15 * MIN)), MIN / 2)
        admin.step()
        if admin.dice.random() < 0.05:
            w.policy = replace(w.policy, level=admin.dice.choice(("hands", "hands", "watch")))
            w.run += "'"
        for lease in list(w.books.leases.values()):
            if lease.state is LeaseState.ACTIVE and admin.dice.random() < 0.1:
                w.release(lease.person, lease.label, window="now")
        for number, request in list(w.books.requests.items()):
            if request.state is RequestState.OFFERED and admin.dice.random() < 0.5:
                w.accept(request.person, number, "now")
    finish(w, admin)
    assert not any(a.what in BY_US for a in w.journal), "no call was made"


def ask(w: World, who: str, name: str) -> None:
    """A part of a card."""
    wanted = queue.Wanted(1, "grid_t4-8q", f"uuid-{name}", queue.Length(), "", w.wish("now"))
    w.do(lambda d: queue.request(d, w.people[who], wanted, w.policy))


def settled(w: World) -> bool:
    """Every machine is on, and what is lent is in use; one may wait for its time."""
    states = {x.state for x in w.books.leases.values()} - {LeaseState.ENDED, LeaseState.FAILED}
    return states <= {LeaseState.ACTIVE, LeaseState.RESERVED} and all(vm.power is Power.ON for vm in w.vms.values())


def finish(w: World, admin: Admin) -> None:
    """From here on admins do what they are asked for, owners say when, and what is off through nobody's wish is started."""
    w.policy = replace(w.policy, level="hands")
    w.run += "'"
    for _ in range(120):
        w.pass_time(MIN, MIN / 2)
        for move in admin.asked():
            admin.obey(move)
        for vm in w.vms.values():
            idle = not any(m.machine == vm.uuid and m.state in OPEN_MOVE for m in w.books.moves.values())
            if vm.power is Power.OFF and idle and not w.clash(vm):
                w.switch(vm.name, Power.ON)
        for lease in list(w.books.leases.values()):
            if lease.question is not None and lease.state in (LeaseState.RESERVED, LeaseState.RETURNING):
                w.agree(lease.person, next(n for n, v in w.vms.items() if v.uuid == lease.machine), "now", lease.label)
        for number, request in list(w.books.requests.items()):
            if request.state is RequestState.OFFERED:
                w.accept(request.person, number, "now")
        if (
            not admin.asked()
            and not any(m.state in OPEN_MOVE and m.call for m in w.books.moves.values())
            and settled(w)
        ):
            break
    open_ = [m for m in w.books.moves.values() if m.state in OPEN_MOVE and m.call is not None]
    assert not open_, w.describe()
    assert settled(w), w.describe()
    for lease in w.books.leases.values():
        if lease.state is LeaseState.ACTIVE:
            assert all(w.sight().there(s, lease.machine) for s in lease.slots), w.describe()
