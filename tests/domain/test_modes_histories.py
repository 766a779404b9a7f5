"""Random histories as in ``test_histories``, on a host that gives its cards in all three ways and places those that name none."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain import leases
from bot.domain.errors import Refusal
from bot.domain.model import Lease, Length, Mode, Power, SeenCard, Unplaced, Vgpu
from bot.domain.slots import card_name
from tests.domain.idle_builders import NUDGING
from tests.domain.modes_world import HALF, IDS, POOL, WHOLE, ModesWorld, labelled, shared
from tests.domain.test_histories import VMS, WINDOWS, History, run
from tests.domain.world import PCI, Vm, World

KINDS = ("T4", "T4", HALF.profile, HALF.profile, WHOLE.profile, "grid_t4-4q")
HOURS = timedelta(hours=1)


class ModesHistory(History):
    """See the module."""

    def build(self) -> World:
        rigs = (
            (*labelled(*PCI[:2]), *shared(*PCI[2:])),
            labelled(*PCI),
            shared(*PCI),
            (SeenCard(PCI[0], IDS, "Tesla T4", True), *labelled(PCI[1]), *shared(*PCI[2:])),
        )
        return ModesWorld(self.random.choice(rigs), VMS, self.random.random() < 0.5, NUDGING)

    @property
    def modes(self) -> ModesWorld:
        assert isinstance(self.world, ModesWorld)
        return self.world

    def request(self) -> None:
        vm = self.vm()
        kind, count = self.random.choice(KINDS), self.random.choice((1, 1, 1, 2, 3))
        self.world.request(self.owner(vm), vm.name, count, self.random.choice((None, *WINDOWS)), kind=kind)

    def by_hand(self) -> None:
        vm = self.vm()
        asked = self.modes.asked.get(vm.name, [])
        if vm.power is Power.OFF and vm.exists and asked and self.random.random() < 0.3:
            self.modes.asked[vm.name] = asked[1:]
        else:
            super().by_hand()

    def attach(self) -> None:
        """An admin puts something on a machine that is off: not more dynamic cards than there are."""
        vm = self.vm()
        if vm.power is not Power.OFF or not vm.exists:
            return
        device: Unplaced = self.random.choice((HALF, HALF, WHOLE, POOL))
        there = sum(c.mode is Mode.DYNAMIC for c in self.modes.rig)
        asked = [d for devices in self.modes.asked.values() for d in devices]
        if isinstance(device, Vgpu) or asked.count(device) < there:
            self.modes.asked[vm.name] = [*self.modes.asked.get(vm.name, []), device]

    def machine(self) -> None:
        vm = self.vm()
        existed = vm.exists
        super().machine()
        if vm.exists is not existed:
            self.modes.asked.pop(vm.name, None)
            self.modes.placed.pop(vm.name, None)

    def clone(self) -> None:
        vm = self.vm()
        super().clone()
        if "copy" in self.world.vms:
            self.modes.asked["copy"] = [d for d in self.modes.asked.get(vm.name, []) if isinstance(d, Vgpu)]
        else:
            self.modes.asked.pop("copy", None)

    def adopt(self) -> None:
        world, sight = self.modes, self.world.sight()
        for slot in sorted(sight.slots()):
            at = [v for v in world.vms.values() if v.uuid in (sight.settings(slot) or ())]
            if len(at) != 1 or at[0].uuid not in world.books.machines or world.holders(slot):
                continue
            machine = world.books.machines[at[0].uuid]
            profiles = [d.profile for d in world.asked.get(at[0].name, []) if isinstance(d, Vgpu)]
            part = "." in slot
            if part and not profiles:
                continue
            who, kind = world.people[machine.owners[0]], profiles[-1] if part else ""
            lease = world.do(
                lambda d, s=slot, m=machine, w=who, k=kind: leases.adopt(
                    d, m, (s,), w, Length(), by="dana", policy=world.policy, kind=k
                )
            )
            if self.random.random() < 0.5:
                world.release(who.id, lease.label, None, self.random.choice((None, *WINDOWS)))
            return
        raise Refusal()

    def taken_elsewhere(self, lease: Lease) -> bool:
        """Also: somebody's own devices are in the way of what it wants, on the host that has no room for both."""
        places = self.world.sight().settings
        return any((places(s) or frozenset()) - {lease.machine} for s in lease.slots) or super().taken_elsewhere(lease)

    def come_to_rest(self) -> None:
        self.modes.asked.pop("copy", None)
        super().come_to_rest()


def check_places(world: ModesWorld) -> None:
    """Every lease that works sits on the cards that its machine runs with, when the host says which."""
    for lease in world.books.leases.values():
        vm: Vm = next(v for v in world.vms.values() if v.uuid == lease.machine)
        places = [world.card(card_name(s)) for s in lease.slots]
        if lease.state.value != "active" or vm.power is not Power.ON or not vm.exists:
            continue
        running = {pci for _, pci in world.placed.get(vm.name, [])} | vm.cards
        assert {c.pci for c in places} <= running, f"#{lease.label} {lease.slots} runs on {running}"


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_any_history_of_the_three_modes_keeps_the_rules_and_comes_to_rest(seed: int) -> None:
    run(seed, 25, ModesHistory)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_leases_are_where_their_devices_run(seed: int) -> None:
    history = ModesHistory(seed)
    for _ in range(15):
        history.play(1)
        if history.world.looking and history.world.connected and not history.world.maintenance:
            history.world.pass_time(timedelta(minutes=1))
            check_places(history.modes)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, 40, 20))
def test_many_long_histories_of_the_three_modes(first: int) -> None:
    for seed in range(first, first + 20):
        run(seed, 60, ModesHistory)
