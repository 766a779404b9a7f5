"""The books as one host's machines see them: its cards, and who waits for those. Pure.

A machine can only have cards of its own host, so who waits on one host stands in nobody's way on another. Called by `queue`, `planner` and
`promises`. A machine whose host is not known is near to every card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from bot.domain.model import Card, Hold, Lease, Machine, MachineId, Request, SlotId, Turn
from bot.domain.shelves import CardsOn, Line, S, cards_on, place_of
from bot.domain.slots import Places, card_name


@dataclass(frozen=True)
class Near:
    """What concerns one host. Made to be asked at once: it does not go along with what is written later."""

    places: Places  # the books, or a draft of them
    vcenter: str  # the host's vCenter
    host: str  # its id there

    @property
    def machines(self) -> Mapping[MachineId, Machine]:
        """All."""
        return self.places.machines

    @property
    def leases(self) -> Mapping[str, Lease]:
        """All."""
        return self.places.leases

    @cached_property
    def cards(self) -> Mapping[SlotId, Card]:
        """Its own."""
        return {c.name: c for c in cards_on(self.places, self.vcenter, self.host)}

    @cached_property
    def in_line(self) -> list[Request]:
        """Who waits for machines on it, or that may be, in order."""
        return self.places.kept(Line).on(f"{self.vcenter}:{self.host}")

    @cached_property
    def requests(self) -> Mapping[int, Request]:
        """The same by number."""
        return {r.number: r for r in self.in_line}

    @cached_property
    def holds(self) -> frozenset[Hold]:
        """Those on its cards."""
        return frozenset(h for name in self.cards for h in self.on(name))

    def holder(self, slot: SlotId, turn: Turn) -> str | None:
        """The label that has, or is next for, a slot."""
        return next((h.label for h in self.on(card_name(slot)) if h.slot == slot and h.turn is turn), None)

    def on(self, card: SlotId) -> tuple[Hold, ...]:
        """The holds on a card, whole or part."""
        return self.places.on(card)

    def kept(self, kind: type[S]) -> S:
        """The shelves of the books: of all hosts."""
        return self.places.kept(kind)


def host_of(places: Places, machine: MachineId) -> str:
    """The host of a machine, by vCenter and id; "" not known."""
    return place_of(places.machines.get(machine))


def meet(places: Places, one: MachineId, other: MachineId) -> bool:
    """Whether two machines may want the same cards."""
    mine, theirs = host_of(places, one), host_of(places, other)
    return not mine or not theirs or mine == theirs


def may_have(places: Places, machine: MachineId, card: Card) -> bool:
    """Whether a machine may have a card: it is on the same host, or nobody knows."""
    return host_of(places, machine) in ("", f"{card.vcenter}:{card.host}")


def near(places: Places, machine: MachineId) -> Near | None:
    """What concerns the host of a machine; None: everything does, since all cards are on one host, or its own is not known."""
    known = places.machines.get(machine)
    if known is None or not known.host or len(places.kept(CardsOn).hosts) < 2:
        return None
    return Near(places, known.vcenter, known.host)
