"""Seats: which slot each device that names no card is taken to be, as one look shows it. Pure.

Called by `sight` once a look, and by `pool` for what the bindings say. The settings of a machine say "one card labelled t4" or "one
grid_t4-8q"; devices of one such kind are the same to everybody, so those that a machine has stand for the slots of its own leases first,
in the order in which these have a right to them, and the rest are strangers. Nothing of it is stored: the same books and the same look
seat alike.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.domain import slots
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import (
    Card,
    DynamicCard,
    Hold,
    Lease,
    LeaseState,
    MachineId,
    Mode,
    Power,
    SeenHost,
    SeenMachine,
    SlotId,
    Turn,
    Unplaced,
    Vgpu,
)

RIGHT = {LeaseState.ACTIVE: 1, LeaseState.MOVING: 2, LeaseState.RETURNING: 3, LeaseState.RESERVED: 4}
"""Whose device it is first. One that must come off because it is broken goes before all (0), so that it is seen until it is off."""


MIXED = "several sizes"
"""Stands for the size of a card on which a machine with vGPUs of several sizes runs: nobody can tell which of them it is."""


@dataclass
class Seats:
    """Who sits where."""

    by_slot: dict[SlotId, set[MachineId]] = field(default_factory=dict)
    by_card: dict[str, list[SlotId]] = field(default_factory=dict)  # the same slots by their card
    sizes: dict[str, str] = field(default_factory=dict)  # vGPU card -> the profile that a stranger runs on it

    def of(self, slot: SlotId) -> frozenset[MachineId]:
        """The machines whose settings have this device."""
        return frozenset(self.by_slot.get(slot, ()))

    def parts_of(self, card: str) -> list[SlotId]:
        """The slots of a card on which somebody sits."""
        return self.by_card.get(card, [])

    def sit(self, slot: SlotId, machine: MachineId) -> None:
        """Seat a machine on a slot."""
        if slot not in self.by_slot:
            self.by_slot[slot] = set()
            self.by_card.setdefault(slots.card_name(slot), []).append(slot)
        self.by_slot[slot].add(machine)


def seat(
    places: slots.Places,
    machines: Iterable[SeenMachine],
    hosts: Mapping[tuple[str, str], SeenHost],
    ours: Iterable[MachineId],
) -> Seats:
    """Seat all devices of a look that name no card, and so concern only the machines that have some. ``ours``: the registered machines; a vGPU of another one counts only while it runs, since its settings
    reserve nothing."""
    seats = Seats()
    looked = list(machines)
    pooled = [c for c in places.cards.values() if c.mode is not Mode.FIXED]
    registered = frozenset(ours)
    held = _by_machine(places)
    strangers: list[tuple[SeenMachine, Unplaced]] = []
    for machine in sorted(looked, key=lambda m: (m.vcenter, m.uuid)):
        mine = [s for s in held.get(machine.uuid, ()) if _here(slots.card_of(places, s.slot), machine)]
        for device, number in sorted(Counter(machine.unplaced).items(), key=str):
            fitting = [h.slot for h in mine if _is(places, h, device) and not seats.by_slot.get(h.slot)]
            for slot in fitting[:number]:
                seats.sit(slot, machine.uuid)
            if isinstance(device, DynamicCard) or machine.uuid in registered or machine.power is not Power.OFF:
                strangers += [(machine, device)] * (number - len(fitting[:number]))
    there: dict[tuple[str, str], list[Card]] = {}
    for card in sorted(places.cards.values() if strangers else (), key=lambda c: c.name):
        there.setdefault((card.vcenter, card.host), []).append(card)
    for machine, device in strangers:
        at = (machine.vcenter, machine.host)
        _stranger(
            places, [c for c in there.get(at, []) if serves(c, device, hosts.get(at))], hosts, seats, machine, device
        )
    _leftovers(places, pooled, hosts, seats)
    return seats


def _by_machine(places: slots.Places) -> dict[MachineId, list[Hold]]:
    """What the open leases of each machine have, by their right to what is there."""
    found: dict[MachineId, list[tuple[tuple[int, str, str], Hold]]] = defaultdict(list)
    has = {(h.label, h.slot) for h in places.holds if h.turn is Turn.HAS}
    for lease in places.leases.values():
        if lease.state in OPEN_LEASE:
            for slot in lease.slots:
                if (lease.label, slot) in has:
                    rank = (_right(lease), lease.label, slot)
                    found[lease.machine].append((rank, Hold(slot, Turn.HAS, lease.label)))
    return {uuid: [hold for _, hold in sorted(ranked, key=lambda x: x[0])] for uuid, ranked in found.items()}


def _right(lease: Lease) -> int:
    return 0 if lease.fault and lease.state is LeaseState.RETURNING else RIGHT[lease.state]


def _here(card: Card, machine: SeenMachine) -> bool:
    return card.mode is not Mode.FIXED and (card.vcenter, card.host) == (machine.vcenter, machine.host)


def _is(places: slots.Places, hold: Hold, device: Unplaced) -> bool:
    """Whether a device of a machine's settings may be the one of this hold."""
    wanted = slots.assignment(places, hold.slot, slots.kind_of(places, hold.label) or "")
    return wanted == device


def serves(card: Card, device: Unplaced, host: SeenHost | None = None) -> bool:
    """Whether a host may take this card for a device of a machine's settings. One without a label, or with a label that is not among the
    site's, may take a card that is given by its address, too."""
    if isinstance(device, Vgpu):
        return card.mode is Mode.VGPU
    labels = {card.label, *(c.label for c in (host.cards if host is not None else ()) if c.pci == card.pci)} - {""}
    return card.mode is not Mode.VGPU and card.ids == device.ids and (not device.label or device.label in labels)


def _stranger(
    places: slots.Places,
    near: list[Card],
    hosts: Mapping[tuple[str, str], SeenHost],
    seats: Seats,
    machine: SeenMachine,
    device: Unplaced,
) -> None:
    """Somebody's own device takes the place that it runs on, else a free one, else one that is not in use yet: it is not granted."""
    runs = {c.name: running_on(hosts.get((c.vcenter, c.host)), c).count(machine.uuid) for c in near}
    alone = len({d for d in machine.unplaced if isinstance(d, Vgpu)}) == 1
    if isinstance(device, Vgpu):
        for card in (c for c in near if runs[c.name]):
            seats.sizes.setdefault(card.name, device.profile if alone else MIXED)
    candidates: list[tuple[tuple[bool, int, bool, str], SlotId]] = []
    for card in near:
        here = sum(machine.uuid in seats.by_slot[s] for s in seats.parts_of(card.name))
        for slot in _slots_for(card, device):
            if machine.uuid in seats.by_slot.get(slot, ()):
                continue
            holder = next((h.label for h in places.on(card.name) if h.slot == slot and h.turn is Turn.HAS), None)
            lease = places.leases.get(holder or "")
            use = 0 if holder is None else 9 - (RIGHT[lease.state] if lease and lease.state in RIGHT else 5)
            candidates.append(((runs[card.name] <= here, use, bool(seats.by_slot.get(slot)), slot), slot))
    if candidates:
        seats.sit(min(candidates)[1], machine.uuid)


def _slots_for(card: Card, device: Unplaced) -> tuple[SlotId, ...]:
    if isinstance(device, DynamicCard):
        return (card.name,)
    most = dict(card.profiles).get(device.profile, 1)
    return tuple(f"{card.name}.{n}" for n in range(most, 0, -1))


def _leftovers(
    places: slots.Places, pooled: list[Card], hosts: Mapping[tuple[str, str], SeenHost], seats: Seats
) -> None:
    """Parts of vGPU cards that are still bound although no settings ask for them (a machine just stopped): those places are not clean."""
    for card in (c for c in pooled if c.mode is Mode.VGPU):
        running = Counter(running_on(hosts.get((card.vcenter, card.host)), card))
        held = {h.slot for h in places.on(card.name)}
        for uuid, number in running.items():
            seated = sum(uuid in seats.by_slot[s] for s in seats.parts_of(card.name))
            free = [s for s in _all_parts(card) if not seats.by_slot.get(s)]
            for slot in sorted(free, key=lambda s: (s in held, slots.part_of(s)))[: max(0, number - seated)]:
                seats.sit(slot, uuid)


def _all_parts(card: Card) -> list[SlotId]:
    most = max((n for _, n in card.profiles), default=0)
    return [f"{card.name}.{n}" for n in range(1, most + 1)]


def running_on(host: SeenHost | None, card: Card) -> tuple[MachineId, ...]:
    """The machines that run with a card or a part of it, one entry a part; () none, or not known."""
    if host is None or any(c.pci == card.pci and not slots.same_card(card, c) for c in host.cards):
        return ()
    if card.mode is Mode.VGPU:
        return host.sharing.get(card.pci, ())
    return (host.bound[card.pci],) if card.pci in host.bound else ()
