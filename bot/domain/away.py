"""A machine that is on another host than what it was lent: what that means, and how it is said. Pure.

A slot is of a card of one host, and a machine can only have cards of its own. Devices stay in the settings of a machine that is moved
while it is off: a fixed one keeps its PCI address, which is another card on another host, or none; one that names no card is the new host's
to give. Called by the rules of leases and moves wherever something would be put on, counted as lost, or taken off again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bot.domain import slots
from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import Assignment, FixedCard, Lease, LeaseState, MachineId, SlotId
from bot.domain.quarantine import not_there
from bot.domain.renumbered import stale
from bot.domain.shelves import leases_of
from bot.domain.sight import Sight
from bot.domain.slots import Places

SITS = frozenset({LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING})
"""Leases whose devices may be on their machine."""


def away(sight: Sight, lease: Lease) -> tuple[SlotId, ...]:
    """The slots of a lease whose card is in another host than the one on which its machine is seen."""
    return tuple(s for s in lease.slots if sight.elsewhere(s, lease.machine))


def words(places: Places, sight: Sight, lease: Lease, away_slots: Iterable[SlotId]) -> str:
    """The reason, for people: ``vm-r is on esx-02 now, and T4-1 is in esx-01``."""
    known, seen = places.machines.get(lease.machine), sight.machine(lease.machine)
    name = seen.name if seen is not None else known.name if known is not None else "its machine"
    names = sorted(away_slots)
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    at = sight.host_name(lease.machine) or "another host"
    return (
        f"{name} is on {at} now, and {listed} {'is' if len(names) == 1 else 'are'} in {sight.card(names[0]).host_name}"
    )


def carried(places: Places, sight: Sight, lease: Lease, slot: SlotId) -> bool:
    """Whether the device of a slot is in the settings of its machine though not as the books have it: its host gave the card another address;
    or the machine is on another host: the fixed one of that address, of those that name no card as many as there are beyond what its other
    leases have."""
    seen = sight.machine(lease.machine)
    if seen is None:
        return False
    if not sight.elsewhere(slot, lease.machine):
        return at_old_address(places, sight, lease.machine, slot)
    device = slots.assignment(places, slot, lease.kind)
    if isinstance(device, FixedCard):
        return device.pci in seen.cards
    mine: list[tuple[str, SlotId]] = []
    kept = 0
    for other in leases_of(places, lease.machine):
        if other.state not in OPEN_LEASE:
            continue
        same = [s for s in other.slots if slots.assignment(places, s, other.kind) == device]
        if other.state is lease.state:
            mine += [(other.label, s) for s in same]
        elif other.state is LeaseState.ACTIVE:
            kept += len(same)
    rank = sorted({*mine, (lease.label, slot)}).index((lease.label, slot))
    return rank < Counter[Assignment](seen.unplaced)[device] - kept


def at_old_address(places: Places, sight: Sight, machine: MachineId, slot: SlotId) -> bool:
    """Whether a machine's settings name the card by an address that it had before its host was restarted: it does not start with that."""
    card, seen = sight.card(slot), sight.machine(machine)
    if not card.was or seen is None or (seen.vcenter, seen.host) != (card.vcenter, card.host):
        return False
    return not set(stale(places.cards.values(), card)).isdisjoint(seen.cards)


def names_lost(draft: Draft, sight: Sight, machine: MachineId, slot: SlotId) -> bool:
    """Whether a machine's settings name a card that its host does not show any more, alone or since another make is at its address: it does
    not start with that, and the card is lost."""
    host, card = sight.host(slot), sight.card(slot)
    if host is None or not not_there(draft, slot) or any(slots.same_card(card, c) for c in host.cards):
        return False
    return sight.there(slot, machine) is True


def brought(places: Places, sight: Sight, machine: MachineId, slot: SlotId) -> bool:
    """Whether what sits on a slot of a machine's own host is what it was lent on another one, and brought along: it is no stranger's."""
    return any(
        slots.assignment(places, slot, lease.kind) == slots.assignment(places, lent, lease.kind)
        and carried(places, sight, lease, lent)
        for lease in leases_of(places, machine)
        if lease.state in SITS
        for lent in away(sight, lease)
    )


__all__ = ["at_old_address", "away", "brought", "carried", "names_lost", "words"]
