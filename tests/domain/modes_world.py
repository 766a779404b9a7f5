"""The world of the domain's tests with cards that are given by kind: dynamic ones and vGPUs. Its host places them when a machine starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from bot.domain.model import (
    Assignment,
    CallKind,
    DynamicCard,
    FixedCard,
    Mode,
    Outcome,
    Power,
    Seen,
    SeenCard,
    SeenMachine,
    Unplaced,
    Vgpu,
)
from bot.domain.moves import Order
from bot.domain.policy import Policy
from tests.domain.world import PCI, Act, Vm, World

IDS = "10de:1eb8"
SIZES = ("grid_t4-16q", "grid_t4-1b", "grid_t4-4q", "grid_t4-8a", "grid_t4-8q")
COUNTS = {"grid_t4-16q": 1, "grid_t4-8q": 2, "grid_t4-4q": 4, "grid_t4-1b": 16, "grid_t4-8a": 2}
HALF, WHOLE = Vgpu("grid_t4-8q"), Vgpu("grid_t4-16q")
POOL = DynamicCard(IDS, "pool")


def shared(*pcis: str) -> tuple[SeenCard, ...]:
    """vGPU cards."""
    return tuple(SeenCard(p, IDS, "Tesla T4", True, Mode.VGPU, "", SIZES) for p in pcis)


def labelled(*pcis: str) -> tuple[SeenCard, ...]:
    """Dynamic cards."""
    return tuple(SeenCard(p, IDS, "Tesla T4", True, Mode.DYNAMIC, "pool") for p in pcis)


class ModesWorld(World):
    """See the module. ``prefers``: which cards the host takes first; by default it spreads vGPUs, and takes dynamic cards from the last."""

    def __init__(
        self,
        cards: Iterable[SeenCard] = shared(*PCI),
        names: Iterable[str] = (),
        consolidates: bool = False,
        policy: Policy | None = None,
    ) -> None:
        self.rig, self.consolidates = tuple(cards), consolidates
        self.asked: dict[str, list[Unplaced]] = {}  # machine -> devices in its settings that name no card
        self.placed: dict[str, list[tuple[Unplaced, str]]] = {}  # running machine -> where they are
        self.prefers: list[str] = [c.pci for c in reversed(self.rig)]
        self.tells_bindings = True  # the host lists who runs with what
        super().__init__(names=names, policy=policy)

    def put(self, vm: str, *devices: Unplaced) -> None:
        """Somebody changes a machine's settings by hand, and starts it anew if it was on."""
        was_on = self.vms[vm].power is Power.ON
        if was_on:
            self.switch(vm, Power.OFF)
        self.asked[vm] = list(devices)
        if was_on:
            self.switch(vm, Power.ON)

    def seen_machine(self, vm: Vm) -> SeenMachine:
        return replace(super().seen_machine(vm), unplaced=tuple(sorted(self.asked.get(vm.name, []), key=str)))

    def look(self) -> Seen | None:
        seen = super().look()
        if seen is None:
            return None
        sharing: dict[str, tuple[str, ...]] = {}
        bound = dict(seen.hosts[0].bound)
        for name, places in self.placed.items() if self.tells_bindings else ():
            for device, pci in places:
                if isinstance(device, Vgpu):
                    sharing[pci] = (*sharing.get(pci, ()), self.vms[name].uuid)
                else:
                    bound[pci] = self.vms[name].uuid
        host = replace(seen.hosts[0], cards=self.rig, bound=bound, sharing=sharing, consolidates=self.consolidates)
        return replace(seen, hosts=(host,))

    def placed_in(self, vm: Vm) -> int:
        """Guests see what was placed in them."""
        return len(self.placed.get(vm.name, ()))

    def where(self, devices: Iterable[Unplaced]) -> list[tuple[Unplaced, str]] | None:
        """Where the host would place these now; None: no room."""
        taken = [x for places in self.placed.values() for x in places]
        for device in devices:
            pci = next((p for p in self._order(device, taken) if self._fits(device, p, taken)), None)
            if pci is None:
                return None
            taken.append((device, pci))
        return taken[sum(len(p) for p in self.placed.values()) :]

    def _order(self, device: Unplaced, taken: list[tuple[Unplaced, str]]) -> list[str]:
        used = Counter(pci for _, pci in taken)
        if isinstance(device, Vgpu):
            return sorted(self.prefers, key=lambda p: -used[p] if self.consolidates else used[p])
        return self.prefers

    def _fits(self, device: Unplaced, pci: str, taken: list[tuple[Unplaced, str]]) -> bool:
        card = next(c for c in self.rig if c.pci == pci)
        there = [d for d, p in taken if p == pci]
        whole = {p for vm in self.vms.values() if vm.power is Power.ON for p in vm.cards}
        if isinstance(device, Vgpu):
            same = all(d == device for d in there)
            return card.mode is Mode.VGPU and same and len(there) < COUNTS[device.profile]
        matches = card.ids == device.ids and device.label in ("", card.label)
        return card.mode is not Mode.VGPU and matches and not there and pci not in whole

    def switch(self, name: str, power: Power) -> None:
        if power is Power.ON:
            places = self.where(self.asked.get(name, []))
            assert places is not None, f"{name} does not find room"
            super().switch(name, power)
            self.placed[name] = places
        else:
            super().switch(name, power)
            self.placed.pop(name, None)

    def clash(self, vm: Vm) -> bool:
        return super().clash(vm) or self.where(self.asked.get(vm.name, [])) is None

    def _carry_out(self, order: Order) -> Outcome:
        vm = next(v for v in self.vms.values() if v.uuid == order.machine)
        if order.kind is not CallKind.CHANGE or not (_unplaced(order.put) or _unplaced(order.take)):
            return super()._carry_out(order)
        if vm.power is not Power.OFF:
            return Outcome.AGAIN
        has, had = Counter(self.asked.get(vm.name, [])), Counter(order.had)
        wanted = had - Counter(_unplaced(order.take)) + Counter(_unplaced(order.put))
        if has not in (had, wanted):
            return Outcome.AGAIN
        self._no_more_than_there_are(order)
        self.asked[vm.name] = list(wanted.elements())
        vm.cards = (vm.cards - _fixed(order.take)) | _fixed(order.put)
        self.journal.append(Act(self.now, "change", vm.name, tuple(map(str, order.put)), tuple(map(str, order.take))))
        return Outcome.DONE

    def _no_more_than_there_are(self, order: Order) -> None:
        """We never add a dynamic card beyond those that the host has."""
        asked = Counter(d for devices in self.asked.values() for d in devices)
        for device, number in Counter(d for d in order.put if isinstance(d, DynamicCard)).items():
            there = sum(c.mode is Mode.DYNAMIC and c.label == device.label for c in self.rig)
            assert asked[device] - order.take.count(device) + number <= there, f"too many of {device}"


def _unplaced(devices: Iterable[Assignment]) -> list[Unplaced]:
    return [d for d in devices if not isinstance(d, FixedCard)]


def _fixed(devices: Iterable[Assignment]) -> set[str]:
    return {d.pci for d in devices if isinstance(d, FixedCard)}


__all__ = ["HALF", "IDS", "POOL", "SIZES", "WHOLE", "ModesWorld", "labelled", "shared"]
