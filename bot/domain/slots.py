"""Slots: the places in the books for devices, and what each of them is to vCenter. Pure.

Called by every rule that gives, takes or shows devices. A card that is given whole (fixed or dynamic) is one slot of its own name, ``T4-1``.
A vGPU card is as many as the size admits that it is booked for, ``T4-5.1`` and ``T4-5.2``: the first part booked fixes its size until the
last is given back. Which card a vGPU or a dynamic device sits on is its host's choice at power-on: slots foresee it, `seats` corrects it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from bot.domain.model import (
    Assignment,
    Card,
    DynamicCard,
    FixedCard,
    Hold,
    Lease,
    Machine,
    MachineId,
    Mode,
    Request,
    SeenCard,
    SlotId,
    Turn,
    Vgpu,
)
from bot.domain.shelves import S, cards_on


class Places(Protocol):
    """Books or a draft."""

    @property
    def cards(self) -> Mapping[SlotId, Card]:
        """By name."""
        ...

    @property
    def machines(self) -> Mapping[MachineId, Machine]:
        """By id: those that are registered."""
        ...

    @property
    def leases(self) -> Mapping[str, Lease]:
        """By label."""
        ...

    @property
    def requests(self) -> Mapping[int, Request]:
        """By number."""
        ...

    @property
    def holds(self) -> frozenset[Hold] | set[Hold]:
        """All of them."""
        ...

    def on(self, card: SlotId) -> tuple[Hold, ...]:
        """Those on a card, whole or part."""
        ...

    def kept(self, kind: type[S]) -> S:
        """The shelf of a kind (`shelves`)."""
        ...


def card_name(slot: SlotId) -> str:
    """The card that a slot is of."""
    return slot.partition(".")[0]


def card_of(places: Places, slot: SlotId) -> Card:
    """The same, as the books have it. KeyError: no such card."""
    card = places.cards.get(slot)  # a whole card is called as its slot is
    return card if card is not None else places.cards[card_name(slot)]


def part_of(slot: SlotId) -> int:
    """Which part of its card it is, from 1; 0: the whole card."""
    return int(slot.partition(".")[2] or 0)


def kinds_of(card: Card) -> tuple[str, ...]:
    """What people may ask for of it."""
    return tuple(name for name, _ in card.profiles) if card.mode is Mode.VGPU else (card.kind,)


def kinds(places: Places) -> list[str]:
    """All kinds of the pool, by name."""
    return sorted({kind for card in places.cards.values() for kind in kinds_of(card)})


def rivals(places: Places, kind: str) -> frozenset[str]:
    """The kinds that come of the same cards as this one, itself among them: of vGPU cards each size stands in the way of the others."""
    return frozenset({kind, *(k for card in places.cards.values() if has_kind(card, kind) for k in kinds_of(card))})


def has_kind(card: Card, kind: str) -> bool:
    """Whether devices of this kind can be had of it."""
    return kind in kinds_of(card)


def parts(card: Card, kind: str) -> tuple[SlotId, ...]:
    """Its slots for a kind, whatever is booked; () it has none."""
    if not has_kind(card, kind):
        return ()
    if card.mode is not Mode.VGPU:
        return (card.name,)
    return tuple(f"{card.name}.{n}" for n in range(1, dict(card.profiles)[kind] + 1))


def all_of(places: Places, kind: str) -> list[SlotId]:
    """Every slot for a kind if nothing were booked, by name."""
    return [slot for card in sorted(places.cards.values(), key=lambda c: c.name) for slot in parts(card, kind)]


def kind_of(places: Places, label: str) -> str | None:
    """What the lease or the offered request with this label is for; None: neither."""
    lease = places.leases.get(label)
    if lease is not None:
        return lease.kind
    request = places.requests.get(int(label)) if label.isdigit() else None
    return request.kind if request is not None else None


def size_of(places: Places, card: Card) -> str | None:
    """The profile that a vGPU card is booked for; None: it is booked for nothing, so any will do."""
    labels = sorted({h.label for h in places.on(card.name)})
    return next((kind for label in labels if (kind := kind_of(places, label)) is not None), None)


def open_of(places: Places, kind: str, host: tuple[str, str] | None = None) -> list[SlotId]:
    """The slots that a kind can have as the cards are booked now, held or not, in the order in which hosts fill them: whole cards by
    name; parts on the emptiest card first where a host spreads, on the fullest where it consolidates.

    :param host: those on it alone, by its vCenter and its id there; None: all
    """
    found: list[tuple[tuple[int, str, int], SlotId]] = []
    for card in places.cards.values() if host is None else cards_on(places, *host):
        if not has_kind(card, kind):
            continue
        if card.mode is Mode.VGPU and size_of(places, card) not in (None, kind):
            continue
        used = {h.slot for h in places.on(card.name) if h.turn is Turn.HAS}
        mine = sorted(parts(card, kind), key=lambda s: (s not in used, part_of(s)))
        for n, slot in enumerate(mine):  # so many are filled before it
            filled = 0 if card.mode is not Mode.VGPU else -n if card.consolidates else n
            found.append(((filled, card.name, n), slot))
    return [slot for _, slot in sorted(found)]


def in_pool(card: Card) -> bool:
    """Whether it may be lent, as the books have it: not set aside, not doubted, and, while nobody had it, seen where it can be taken from.

    Of a vGPU card a part may be free beside what somebody runs on another, so for these the last is not asked.
    """
    return card.aside is None and not card.doubted and (not card.stands or card.mode is Mode.VGPU)


def assignment(places: Places, slot: SlotId, kind: str) -> Assignment:
    """What stands in a machine's settings for it."""
    card = card_of(places, slot)
    match card.mode:
        case Mode.FIXED:
            return FixedCard(card.pci)
        case Mode.DYNAMIC:
            return DynamicCard(card.ids, card.label)
        case Mode.VGPU:
            return Vgpu(kind)


def same_card(card: Card, seen: SeenCard) -> bool:
    """Whether what a host shows is a card of the books: at its address, and of the same make. What has no ids says nothing against it."""
    return seen.pci == card.pci and alike(card.ids, seen.ids)


def alike(ids: str, other: str) -> bool:
    """Whether two cards may be one by their ids (vendor:device); those that are not known may be any."""
    return ids == other or not known(ids) or not known(other)


def known(ids: str) -> bool:
    """Whether ids say which make a card is of; in some looks a host has none for it, or zeros."""
    return bool(ids.replace("0", "").replace(":", ""))


def machines_of(places: Places, slot: SlotId) -> frozenset[MachineId]:
    """The machines to which a device is lent, or that have it still."""
    found = (places.leases.get(h.label) for h in places.on(card_name(slot)) if h.slot == slot and h.turn is Turn.HAS)
    return frozenset(x.machine for x in found if x is not None)


def equal(a: Card, b: Card) -> bool:
    """Whether one may stand for the other: of one host, one mode, and for the same askers."""
    return (a.vcenter, a.host, a.mode, a.kind, a.label) == (b.vcenter, b.host, b.mode, b.kind, b.label)
