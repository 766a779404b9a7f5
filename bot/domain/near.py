"""The books as one host's machines see them: its cards, and who waits for those. Pure.

A machine can only have cards of its own host, so who waits on one host stands in nobody's way on another. Called by `queue`, `planner` and
`promises`. A machine whose host is not known is near to every card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.model import Card, Hold, Lease, Machine, MachineId, Request, SlotId, Turn
from bot.domain.slots import Places, card_name


@dataclass(frozen=True)
class Near:
    """What concerns one host."""

    cards: Mapping[SlotId, Card]  # its own
    machines: Mapping[MachineId, Machine]  # all
    requests: Mapping[int, Request]  # for machines on it, or that may be
    leases: Mapping[str, Lease]  # all
    held_on: Mapping[SlotId, tuple[Hold, ...]]  # the holds on its cards, by card

    @property
    def holds(self) -> frozenset[Hold]:
        """All of them."""
        return frozenset(h for mine in self.held_on.values() for h in mine)

    def holder(self, slot: SlotId, turn: Turn) -> str | None:
        """The label that has, or is next for, a slot."""
        return next((h.label for h in self.on(card_name(slot)) if h.slot == slot and h.turn is turn), None)

    def on(self, card: SlotId) -> tuple[Hold, ...]:
        """The holds on a card, whole or part."""
        return self.held_on.get(card, ())


def host_of(places: Places, machine: MachineId) -> str:
    """The host of a machine, by vCenter and id; "" not known."""
    known = places.machines.get(machine)
    return f"{known.vcenter}:{known.host}" if known is not None and known.host else ""


def meet(places: Places, one: MachineId, other: MachineId) -> bool:
    """Whether two machines may want the same cards."""
    mine, theirs = host_of(places, one), host_of(places, other)
    return not mine or not theirs or mine == theirs


def may_have(places: Places, machine: MachineId, card: Card) -> bool:
    """Whether a machine may have a card: it is on the same host, or nobody knows."""
    return host_of(places, machine) in ("", f"{card.vcenter}:{card.host}")


def near(places: Places, machine: MachineId) -> Near | None:
    """What concerns the host of a machine; None: everything does, since all cards are on one host, or its own is not known."""
    host = host_of(places, machine)
    if not host or len({(c.vcenter, c.host) for c in places.cards.values()}) < 2:
        return None
    cards = {name: c for name, c in places.cards.items() if f"{c.vcenter}:{c.host}" == host}
    requests = {n: r for n, r in places.requests.items() if host_of(places, r.machine) in ("", host)}
    return Near(cards, places.machines, requests, places.leases, {name: places.on(name) for name in cards})
