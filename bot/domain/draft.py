"""The sheet on which a transaction's rules write.

``desk`` and ``rounds`` open a draft on the books, hand it to the rules in turn, and record its changes in the same transaction.
Later rules see what earlier ones wrote. It holds the rule that a state changes only through ``lifecycle.step`` by convention:
rules call ``lifecycle.step`` and put the result here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bot.domain.model import (
    Agreement,
    Books,
    Card,
    Entity,
    Hold,
    Lease,
    Line,
    Machine,
    Move,
    PersonId,
    Request,
    SlotId,
    Turn,
)
from bot.domain.news import News


@dataclass(frozen=True)
class Changes:
    """What a draft wants recorded, all in one transaction."""

    puts: tuple[Entity, ...] = ()  # new or changed values, last one of each wins
    drops: tuple[Hold, ...] = ()  # holds to delete (before `holds` are added)
    holds: tuple[Hold, ...] = ()  # holds to add
    removed: tuple[Machine, ...] = ()  # machines that are no longer registered
    lines: tuple[Line, ...] = ()  # for the ledger
    news: tuple[News, ...] = ()  # to be put into words and into the outbox
    numbers: tuple[tuple[str, int], ...] = ()  # counters that moved
    paused: str | None = None  # new pause word; None unchanged

    def __bool__(self) -> bool:
        """Whether there is anything to record."""
        return self != Changes()


@dataclass
class Draft:
    """Books being rewritten. Not frozen, never shared between threads, lives for one transaction."""

    books: Books  # as read
    now: datetime  # aware UTC
    cards: dict[SlotId, Card] = field(init=False)
    machines: dict[str, Machine] = field(init=False)
    requests: dict[int, Request] = field(init=False)
    leases: dict[str, Lease] = field(init=False)
    moves: dict[int, Move] = field(init=False)
    agreements: dict[int, Agreement] = field(init=False)
    holds: set[Hold] = field(init=False)
    paused: str = field(init=False)
    _said: set[str] = field(init=False)
    _numbers: dict[str, int] = field(init=False)
    _lines: list[Line] = field(default_factory=list, init=False)
    _news: list[News] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        b = self.books
        self.cards, self.machines, self.requests = dict(b.cards), dict(b.machines), dict(b.requests)
        self.leases, self.moves, self.agreements = dict(b.leases), dict(b.moves), dict(b.agreements)
        self.holds, self._said, self._numbers = set(b.holds), set(b.said), dict(b.numbers)
        self.paused = b.paused

    # ---- writing

    def put(self, value: Entity) -> None:
        """Write a new or changed value."""
        match value:
            case Card():
                self.cards[value.name] = value
            case Machine():
                self.machines[value.uuid] = value
            case Request():
                self.requests[value.number] = value
            case Lease():
                self.leases[value.label] = value
            case Move():
                self.moves[value.number] = value
            case Agreement():
                self.agreements[value.number] = value

    def number(self, counter: str) -> int:
        """The next number of a counter: ``number``, ``move`` or ``agreement``."""
        self._numbers[counter] = self._numbers.get(counter, 0) + 1
        return self._numbers[counter]

    def hold(self, slot: SlotId, turn: Turn, label: str) -> None:
        """Give a hold. The slot's turn must be free: at most one ``has`` and one ``next`` a slot."""
        taken = self.holder(slot, turn)
        if taken is not None and taken != label:
            raise ValueError(f"{slot} is already held ({turn}) by {taken}")
        self.holds.add(Hold(slot, turn, label))

    def free(self, label: str, slots: tuple[SlotId, ...] | None = None) -> None:
        """Take all holds of a label away, or those on some slots."""
        self.holds = {h for h in self.holds if h.label != label or (slots is not None and h.slot not in slots)}

    def log(self, who: PersonId, what: str, about: str, why: str = "") -> None:
        """Write a line of the ledger."""
        self._lines.append(Line(self.now, who, what, about, why))

    def tell(self, news: News) -> bool:
        """Tell somebody, unless the same ``once`` was told before. Returns whether it will be told."""
        if news.once:
            once = f"{news.kind}:{news.to}:{news.once}"
            if once in self._said:
                return False
            self._said.add(once)
            news = replace(news, once=once)
        self._news.append(news)
        return True

    # ---- reading

    def holder(self, slot: SlotId, turn: Turn) -> str | None:
        """The label that has, or is next for, a slot."""
        return next((h.label for h in self.holds if h.slot == slot and h.turn is turn), None)

    def held(self, label: str) -> tuple[Hold, ...]:
        """All holds of a label, by slot."""
        return tuple(sorted((h for h in self.holds if h.label == label), key=lambda h: h.slot))

    # ---- closing

    def changes(self) -> Changes:
        """What differs from the books, and what is to be said."""
        b = self.books
        pairs: tuple[tuple[Mapping[Any, Entity], Mapping[Any, Entity]], ...] = (
            (self.cards, b.cards),
            (self.machines, b.machines),
            (self.requests, b.requests),
            (self.leases, b.leases),
            (self.moves, b.moves),
            (self.agreements, b.agreements),
        )
        puts = tuple(v for new, old in pairs for k, v in new.items() if (was := old.get(k)) is not v and was != v)
        return Changes(
            puts=puts,
            drops=tuple(sorted(b.holds - self.holds, key=lambda h: (h.slot, h.turn))),
            holds=tuple(sorted(self.holds - b.holds, key=lambda h: (h.slot, h.turn))),
            removed=tuple(m for k, m in b.machines.items() if k not in self.machines),
            lines=tuple(self._lines),
            news=tuple(self._news),
            numbers=tuple((k, v) for k, v in self._numbers.items() if b.numbers.get(k) != v),
            paused=self.paused if self.paused != b.paused else None,
        )
