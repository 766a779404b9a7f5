"""Which cards of a machine its guest reports as broken: by the card's own UUID, or because no other is left that it could be.

Used by the rules of leases that move and that work. It tells nobody, and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from bot.domain.model import Card, Reading, SlotId


@dataclass(frozen=True)
class Broken:
    """What is known of it."""

    named: Mapping[SlotId, str] = field(default_factory=dict)  # cause in words, by card
    causes: tuple[str, ...] = ()  # of cards that cannot be told from others
    among: tuple[SlotId, ...] = ()  # which of these they may be

    def causes_of(self, slots: Collection[SlotId]) -> tuple[str, ...]:
        """What is, or may be, broken of some cards; empty: nothing."""
        mine = [self.named[s] for s in slots if s in self.named]
        return tuple(dict.fromkeys(mine)) or (self.causes if set(slots) & set(self.among) else ())


def broken(cards: Mapping[SlotId, Card], here: Collection[SlotId], word: Reading) -> Broken:
    """Match what is reported with the books' cards.

    :param here: the cards of the books that are on that machine
    """
    known = {c.uuid: c.name for c in cards.values() if c.uuid}
    shown = {known[d.uuid] for d in word.devices if d.uuid in known}
    named = {known[d.uuid]: d.fault for d in word.devices if d.fault and d.uuid in known}
    strange = [d for d in word.devices if d.uuid not in known]
    bad = [d.fault for d in strange if d.fault] + _nameless(word)
    among = tuple(sorted(s for s in here if s not in shown))
    strangers = max(word.cards - len(shown), len(strange))
    parts = len(among) == 1 and bool(strange) and all(d.virtual == "vgpu" or d.uuid.startswith("MIG-") for d in strange)
    causes = tuple(dict.fromkeys(bad))
    if causes and among and (parts or len(bad) >= max(strangers, len(among))):
        return Broken({**named, **dict.fromkeys(among, ", ".join(causes))})
    return Broken(named, causes, among if causes else ())


def _nameless(word: Reading) -> list[str]:
    """What is reported of cards whose UUID is not told: one that fell off the bus, or by an agent that tells none."""
    told = [f"{d.name}: {d.fault}" for d in word.devices if d.fault]
    left = Counter(word.faults) - Counter(told)
    return list(left.elements())[: max(0, len(word.faults) - len(told))]
