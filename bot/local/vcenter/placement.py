"""Where devices go at power-on: which free card a dynamic device gets, and on which card, in which place, a vGPU sits. Pure.

Called by ``power``. Answers what would be bound; changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from bot.local.vcenter.devices import allowed
from bot.local.vcenter.metal import VENDOR, Card, Metal, Part
from bot.local.vcenter.models import MIG_COMPUTE, MIG_SLICES, STARTS, Profile
from bot.local.vcenter.vmomi import DataObject

Order = Callable[[list[Card]], list[Card]]


def fits(card: Card, backing: DataObject) -> bool:
    """Whether a card is of a kind that a dynamic backing takes, free or not. No label in the backing: any card."""
    kinds, label = allowed(backing), backing.customLabel
    return (not kinds or (VENDOR, card.model.device) in kinds) and (not label or label == card.label)


def choose(
    metal: Metal, moid: str, devices: Sequence[DataObject], taken: Iterable[str], order: Order
) -> dict[int, Card] | None:
    """A free active card for each dynamic device of the VM ``moid``, by device key; None: there are not enough that match.

    ``taken``: PCI ids that this VM names itself; ``order``: in which the host tries its cards. What the VM still has of before
    (it slept, or has just gone off) is free to it.
    """
    gone = {*(pci for pci, holder in metal.bound.items() if holder != moid), *taken}
    free = order([c for c in metal.cards if c.active and c.pci.id not in gone])
    return _assign(list(devices), free)


def _assign(devices: list[DataObject], free: list[Card]) -> dict[int, Card] | None:
    if not devices:
        return {}
    first, *rest = devices
    for card in free:
        if fits(card, first.backing):
            others = _assign(rest, [c for c in free if c is not card])
            if others is not None:
                return {first.key: card, **others}
    return None


def place(metal: Metal, moid: str, wanted: Sequence[tuple[int, str]]) -> dict[str, list[Part]] | str:
    """The host's vGPUs with those ``wanted`` (device key, profile) added, or the profile that found no room.

    Each goes to the card with the fewest (``performance``) or the most vGPUs that has room, the first of equals. What the VM still
    has of before is taken from it first.
    """
    parts = {pci: [p for p in ps if p.moid != moid] for pci, ps in metal.parts.items()}
    for key, name in wanted:
        sign = -1 if metal.policy == "consolidation" else 1
        cards = sorted(metal.cards, key=lambda c: (sign * len(parts.get(c.pci.id, ())), c.pci.id))
        made = next((p for c in cards if (p := on_card(c, parts.get(c.pci.id, ()), moid, key, name))), None)
        if made is None:
            return name
        pci, part = made
        parts.setdefault(pci, []).append(part)
    return parts


def on_card(card: Card, there: Sequence[Part], moid: str, key: int, name: str) -> tuple[str, Part] | None:
    """(PCI id, the part) if the card has room for one more of this profile beside what is ``there``."""
    profile = next((p for p in card.offers if p.name == name), None)
    if profile is None:
        return None
    if profile.mig:
        spot = _slices(profile, there)
    elif card.vgpu_mode == "mixedSize":
        spot = _region(card, profile, there)
    else:
        same = all(p.profile.gb == profile.gb for p in there)
        spot = (0, 0) if same and len(there) < profile.count else None
    return None if spot is None else (card.pci.id, Part(moid, key, profile, *spot))


def _slices(profile: Profile, there: Sequence[Part]) -> tuple[int, int] | None:
    used = {s for p in there for s in range(p.start, p.start + p.size)}
    if sum(p.profile.name == profile.name for p in there) >= profile.count:
        return None
    memory = next(m for (c, m), (starts, _) in STARTS.items() if c == profile.slices and _count(starts, profile))
    starts, size = STARTS[profile.slices, memory]
    start = next((s for s in starts if not used & set(range(s, s + size))), None)
    return None if start is None or start + size > MIG_SLICES else (start, size)


def _count(starts: tuple[int, ...], profile: Profile) -> bool:
    return len(starts) == profile.count or (profile.series == "cme" and len(starts) == MIG_COMPUTE)


def mixed_slot(card_gb: int, gb: int) -> int:
    """In mixed sizes a part takes the smallest of whole, half, quarter ... of the card that holds it, counted in 1/64 of a card."""
    slot = 64
    while slot > 2 and card_gb * slot / 2 / 64 >= gb:
        slot //= 2
    return slot


def _region(card: Card, profile: Profile, there: Sequence[Part]) -> tuple[int, int] | None:
    size = mixed_slot(card.model.gb, profile.gb)
    used = {s for p in there for s in range(p.start, p.start + p.size)}
    if sum(p.profile.name == profile.name for p in there) >= profile.count:
        return None
    return next(((s, size) for s in range(0, 64, size) if not used & set(range(s, s + size))), None)


def load(parts: Mapping[str, Sequence[Part]], moid: str) -> list[tuple[str, Part]]:
    """(PCI id, part) of one VM, in the order of its devices."""
    return sorted(((pci, p) for pci, ps in parts.items() for p in ps if p.moid == moid), key=lambda one: one[1].key)
