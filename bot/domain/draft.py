"""The sheet on which a transaction's rules write.

``desk`` and ``rounds`` open a draft on the books, hand it to the rules in turn, and record its changes in the same transaction.
Later rules see what earlier ones wrote. It holds the rule that a state changes only through ``lifecycle.step`` by convention:
rules call ``lifecycle.step`` and put the result here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from bot.domain.inside import Watch
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
from bot.domain.news import News, NewsKind, in_order
from bot.domain.shelves import S, Shelf
from bot.domain.slots import card_name, card_of
from bot.domain.waiting import Account, Interest

K = TypeVar("K")
V = TypeVar("V")


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


def tables(books: Books) -> dict[type, Mapping[Any, Entity]]:
    """The values of the books by class, in the order in which they may be written."""
    return {
        Card: books.cards,
        Machine: books.machines,
        Request: books.requests,
        Lease: books.leases,
        Move: books.moves,
        Agreement: books.agreements,
        Watch: books.watches,
        Account: books.accounts,
        Interest: books.interests,
    }


NOUNS = ("cards", "machines", "requests", "leases", "moves", "agreements", "watches", "accounts", "interests")
"""The fields of books and draft that hold them."""


def key_of(value: Entity) -> str | int:
    """The key of a value in the books."""
    match value:
        case Card():
            return value.name
        case Watch():
            return value.slot
        case Account():
            return value.person
        case Interest():
            return value.key
        case Machine():
            return value.uuid
        case Lease():
            return value.label
        case Request() | Move() | Agreement():
            return value.number


def copied(values: Mapping[K, V]) -> dict[K, V]:
    """A dict of one's own. A view copies the dict behind it twenty times as fast as it is read."""
    return values.copy() if isinstance(values, MappingProxyType) else dict(values)


@dataclass
class Draft:
    """Books being rewritten. Not frozen, never shared between threads, lives for one transaction."""

    books: Books  # as read
    now: datetime  # aware UTC
    trial: bool = False  # to try something on: most of it is never written, and is copied only when it is
    cards: Mapping[SlotId, Card] = field(init=False)  # all nine: written by `put` and `remove` alone
    machines: Mapping[str, Machine] = field(init=False)
    requests: Mapping[int, Request] = field(init=False)
    leases: Mapping[str, Lease] = field(init=False)
    moves: Mapping[int, Move] = field(init=False)
    agreements: Mapping[int, Agreement] = field(init=False)
    watches: Mapping[SlotId, Watch] = field(init=False)
    accounts: Mapping[PersonId, Account] = field(init=False)
    interests: Mapping[str, Interest] = field(init=False)
    holds: set[Hold] = field(init=False)  # written by `hold` and `free` alone
    stamp: int = field(default=0, init=False)  # moves whenever a hold is given or taken away
    writes: int = field(default=0, init=False)  # moves whenever anything is written
    paused: str = field(init=False)
    _values: dict[type, Any] = field(init=False)  # the nine dicts behind those views
    _own: set[type] = field(init=False)  # which of them were copied from the books
    _remembered: dict[Any, Any] = field(default_factory=dict, init=False)  # see `remembered`
    _remembered_at: int = field(default=0, init=False)
    _on: dict[SlotId, tuple[Hold, ...]] = field(init=False)  # the holds by card
    _of: dict[str, tuple[Hold, ...]] = field(init=False)  # the same by label
    _shelves: dict[type, Any] = field(default_factory=dict, init=False)  # see `kept`
    _following: dict[type, list[Shelf]] = field(
        default_factory=dict, init=False
    )  # the same, by the nouns that move them
    _touched: dict[type, dict[Any, None]] = field(init=False)  # keys that were put, in order
    _said: set[str] = field(default_factory=set, init=False)  # told here
    _numbers: dict[str, int] = field(init=False)
    _lines: list[Line] = field(default_factory=list, init=False)
    _news: list[News] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        b = self.books
        self._values = {kind: values if self.trial else copied(values) for kind, values in tables(b).items()}
        self._own = set() if self.trial else set(self._values)
        self._touched = {kind: {} for kind in self._values}
        for name, values in zip(NOUNS, self._values.values(), strict=True):
            setattr(self, name, values)
        self.holds, self._numbers, self.paused = set(b.holds), dict(b.numbers), b.paused
        self._on, self._of = dict(b.held_on), dict(b.held_by)

    # ---- writing

    def put(self, value: Entity) -> None:
        """Write a new or changed value."""
        kind, key = type(value), key_of(value)
        values = self._written(kind)
        old = values.get(key)
        values[key] = value
        self._touched[kind][key] = None
        for shelf in self._following.get(kind, ()):
            shelf.follow(old, value)

    def remove(self, machine: Machine) -> None:
        """Take a machine out."""
        old = self._written(Machine).pop(machine.uuid)
        self._touched[Machine][machine.uuid] = None
        for shelf in self._following.get(Machine, ()):
            shelf.follow(old, None)

    def _written(self, kind: type) -> dict[Any, Any]:
        """The values of a kind, about to be written."""
        self.writes += 1
        if kind not in self._own:
            self._own.add(kind)
            self._values[kind] = copied(self._values[kind])
            setattr(self, NOUNS[list(self._values).index(kind)], self._values[kind])
        values: dict[Any, Any] = self._values[kind]
        return values

    def remembered(self, key: Any, make: Callable[[], K]) -> K:
        """What was found before, as long as nothing was written since; whoever asks must not change it."""
        if self._remembered_at != self.writes:
            self._remembered, self._remembered_at = {}, self.writes
        if key not in self._remembered:
            self._remembered[key] = make()
        found: K = self._remembered[key]
        return found

    def kept(self, kind: type[S]) -> S:
        """The shelf of a kind: that of the books, with what was written here."""
        found: S | None = self._shelves.get(kind)
        if found is None:
            found = self._shelves[kind] = self.books.kept(kind).over(self)
            before = tables(self.books)
            for noun in kind.follows:
                old, new = before[noun], self._values[noun]
                for key in self._touched[noun]:
                    if key in old or key in new:
                        found.follow(old.get(key), new.get(key))
                self._following.setdefault(noun, []).append(found)
        return found

    def touched(self, kind: type) -> tuple[Any, ...]:
        """The keys of the values of a kind that were put here."""
        return tuple(self._touched[kind])

    def card(self, slot: SlotId) -> Card:
        """The card that a slot is of."""
        card = self.cards.get(slot)
        return card if card is not None else card_of(self, slot)

    def number(self, counter: str) -> int:
        """The next number of a counter: ``number``, ``move`` or ``agreement``."""
        self._numbers[counter] = self._numbers.get(counter, 0) + 1
        return self._numbers[counter]

    def note(self, counter: str, value: int) -> None:
        """Set a counter that is no count of ours: up to which minute the guests' words were taken, and when."""
        self._numbers[counter] = value

    def hold(self, slot: SlotId, turn: Turn, label: str) -> None:
        """Give a hold. The slot's turn must be free: at most one ``has`` and one ``next`` a slot."""
        taken = self.holder(slot, turn)
        if taken is not None and taken != label:
            raise ValueError(f"{slot} is already held ({turn}) by {taken}")
        if taken is None:
            hold, card = Hold(slot, turn, label), card_name(slot)
            self.holds.add(hold)
            self.stamp, self.writes = self.stamp + 1, self.writes + 1
            self._on[card] = (*self.on(card), hold)
            self._of[label] = (*self._of.get(label, ()), hold)

    def free(self, label: str, slots: tuple[SlotId, ...] | None = None) -> None:
        """Take all holds of a label away, or those on some slots."""
        mine = self._of.get(label, ())
        gone = {h for h in mine if slots is None or h.slot in slots}
        if gone:
            self.holds -= gone
            self.stamp, self.writes = self.stamp + 1, self.writes + 1
            self._of[label] = tuple(h for h in mine if h not in gone)
            for card in {card_name(h.slot) for h in gone}:
                self._on[card] = tuple(h for h in self._on[card] if h not in gone)

    def log(self, who: PersonId, what: str, about: str, why: str = "") -> None:
        """Write a line of the ledger."""
        self._lines.append(Line(self.now, who, what, about, why))

    def tell(self, news: News) -> bool:
        """Tell somebody, unless the same ``once`` was told before. Returns whether it will be told."""
        if news.once:
            once = f"{news.kind}:{news.to}:{news.once}"
            if once in self._said or once in self.books.said:
                return False
            self._said.add(once)
            news = replace(news, once=once)
        self._news.append(news)
        return True

    def untell(self, kind: NewsKind, to: PersonId, key: str) -> bool:
        """Take back what was told in this very transaction, because another message says it too. Returns whether there was any."""
        kept = [n for n in self._news if (n.kind, n.to, n.key) != (kind, to, key)]
        found = len(kept) < len(self._news)
        self._news = kept
        return found

    def scratch(self) -> Draft:
        """A copy as it stands now, to try something on: what is written there is recorded nowhere."""
        return Draft(self.as_books(), self.now, trial=True)

    def as_books(self) -> Books:
        """The books as they stand now."""
        written = (name for name, kind in zip(NOUNS, self._values, strict=True) if self._touched[kind])
        now: dict[str, Any] = {name: dict(getattr(self, name)) for name in written}
        now |= {"holds": frozenset(self.holds), "numbers": dict(self._numbers), "paused": self.paused}
        books = replace(self.books, **now)
        books.__dict__.update(held_on=self._on.copy(), held_by=self._of.copy())  # as they would be found
        books.shelves.update({kind: shelf.over(books) for kind, shelf in self._shelves.items()})
        return books

    # ---- reading

    @property
    def numbers(self) -> Mapping[str, int]:
        """The counters as they are by now; they move by ``number`` and ``note`` alone."""
        return MappingProxyType(self._numbers)

    def holder(self, slot: SlotId, turn: Turn) -> str | None:
        """The label that has, or is next for, a slot."""
        holds = self._on.get(slot)  # a whole card is called as its slot is
        for hold in holds if holds is not None else self._on.get(card_name(slot), ()):
            if hold.turn is turn and hold.slot == slot:
                return hold.label
        return None

    def on(self, card: SlotId) -> tuple[Hold, ...]:
        """The holds on a card, whole or part."""
        return self._on.get(card, ())

    def held(self, label: str) -> tuple[Hold, ...]:
        """All holds of a label, by slot."""
        return tuple(sorted(self._of.get(label, ()), key=lambda h: (h.slot, h.turn)))

    # ---- closing

    def changes(self) -> Changes:
        """What differs from the books, and what is to be said."""
        b = self.books
        puts = tuple(
            value
            for kind, old in tables(b).items()
            for key in self._touched[kind]
            if (value := self._values[kind].get(key)) is not None
            and (was := old.get(key)) is not value
            and was != value
        )
        return Changes(
            puts=puts,
            drops=tuple(sorted(b.holds - self.holds, key=lambda h: (h.slot, h.turn))),
            holds=tuple(sorted(self.holds - b.holds, key=lambda h: (h.slot, h.turn))),
            removed=tuple(m for k, m in b.machines.items() if k not in self.machines),
            lines=tuple(self._lines),
            news=in_order(self._news),
            numbers=tuple((k, v) for k, v in self._numbers.items() if b.numbers.get(k) != v),
            paused=self.paused if self.paused != b.paused else None,
        )
