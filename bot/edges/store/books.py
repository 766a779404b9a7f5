"""The books: read from the tables, kept decoded, and written.

Called by the store inside its transactions. Reading is cheap: the whole ``Books`` is kept with the pulse it was read at
(a row that every writer of the books moves), a decoded value is kept with the JSON it came from, and what this process
writes is applied to the kept books instead of being read again. It must not decide anything: it filters by age and state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, and_, func, or_, select

from bot.domain.draft import Changes, copied, key_of, tables
from bot.domain.inside import Watch
from bot.domain.model import (
    Agreement,
    AgreementState,
    Books,
    Card,
    Hold,
    Lease,
    LeaseState,
    Machine,
    Move,
    MoveState,
    Request,
    RequestState,
    Turn,
)
from bot.domain.shelves import Shelf
from bot.domain.waiting import Account, Interest
from bot.edges.store.codec import from_text
from bot.edges.store.pen import say
from bot.edges.store.tables import (
    AccountRow,
    AgreementRow,
    CardRow,
    CounterRow,
    HoldRow,
    InterestRow,
    LeaseRow,
    MachineRow,
    MoveRow,
    OutboxRow,
    PulseRow,
    RequestRow,
    SaidRow,
    WatchRow,
    WordRow,
    table,
)

V = TypeVar("V")

KEPT_LONG = timedelta(days=8)
"""Requests and leases stay in the books for that long after they are over: people still speak of them, and who lost a card
asks again at the old place for three working days, which are a week and some hours where only three days are worked."""

KEPT_SHORT = timedelta(days=1)
"""The same for moves."""

SAID_KEPT = timedelta(days=60)
"""Keys of notices stay in the books for that long; the database knows them for ever."""

READ_ANEW = timedelta(days=1)
"""Books that were kept so long are read again: old keys of notices leave them."""

CARD, MACHINE, REQUEST, LEASE = table(CardRow), table(MachineRow), table(RequestRow), table(LeaseRow)
MOVE, AGREEMENT, HOLD = table(MoveRow), table(AgreementRow), table(HoldRow)
COUNTER, WORD, PULSE, SAID = table(CounterRow), table(WordRow), table(PulseRow), table(SaidRow)
WATCH, OUTBOX = table(WatchRow), table(OutboxRow)
ACCOUNT, INTEREST = table(AccountRow), table(InterestRow)

IDLE = "idle:"
"""What the key of a message begins with whose delivery the rules ask about: the questions about quiet cards."""

UNDATED = (Card, Machine, Watch, Account, Interest)
"""What does not leave the books by its age."""

OVER_REQUESTS = frozenset({RequestState.SERVED, RequestState.WITHDRAWN})
OVER_LEASES = frozenset({LeaseState.ENDED, LeaseState.FAILED})
OVER_MOVES = frozenset({MoveState.DONE, MoveState.DROPPED})


def over_at(value: Request | Lease | Move | Agreement, now: datetime) -> datetime | None:
    """Since when a value is over; None: it is open. ``now`` where the value does not say."""
    match value:
        case Request():
            return (value.changed or now) if value.state in OVER_REQUESTS else None
        case Lease():
            return value.changed if value.state in OVER_LEASES else None
        case Move():
            return value.changed if value.state in OVER_MOVES else None
        case Agreement():
            return None if value.state is AgreementState.OPEN else now


def until(value: Request | Lease | Move | Agreement, now: datetime) -> datetime | None:
    """When a value that is over leaves the books; None: it is open and stays."""
    over = over_at(value, now)
    if over is None:
        return None
    match value:
        case Request() | Lease():
            return over + KEPT_LONG
        case Move():
            return over + KEPT_SHORT
        case Agreement():
            return over


@dataclass(frozen=True)
class Kept:
    """The books as of a pulse."""

    pulse: int  # the pulse they were read at, or brought to
    books: Books  # frozen, shared by all threads
    read_at: datetime  # the clock's now when they were made
    leaves_at: datetime | None  # the first moment at which something that is over leaves them

    def good(self, pulse: int, now: datetime) -> bool:
        """Whether they still say what the database says."""
        fresh = self.read_at <= now < self.read_at + READ_ANEW and (self.leaves_at is None or now < self.leaves_at)
        return fresh and self.pulse == pulse


@dataclass
class Decoded:
    """Values by table and key, with the text they were read from. One lock of the store guards it."""

    values: dict[str, dict[Any, tuple[str, Any]]] = field(default_factory=dict)

    def all(self, rows: Any, name: str, kind: type[V]) -> dict[Any, V]:
        """Decode (key, text) rows; unchanged ones are taken from before. Forgets the keys that did not come."""
        before, after = self.values.get(name, {}), {}
        for key, text in rows:
            known = before.get(key)
            after[key] = known if known is not None and known[0] == text else (text, from_text(kind, text))
        self.values[name] = after
        return {key: value for key, (_, value) in after.items()}


def pulse(connection: Connection) -> int:
    """How many transactions have changed the books."""
    return int(say(connection, PULSE_NOW)[0][0])


PULSE_NOW = "SELECT beat FROM pulse WHERE name = 'books'"


def load(connection: Connection, now: datetime, decoded: Decoded) -> Kept:
    """Read the books whole, in whatever transaction the connection is in."""
    beat = pulse(connection)
    long, short = now - KEPT_LONG, now - KEPT_SHORT

    def dated(t: Table, key: str, cut: datetime) -> Any:
        fresh = or_(t.c.open, t.c.over_at > cut)
        return connection.execute(select(t.c[key], t.c.body).where(fresh).order_by(t.c[key]))

    cards = connection.execute(select(CARD.c.name, CARD.c.body).order_by(CARD.c.name))
    here = select(MACHINE.c.uuid, MACHINE.c.body).where(MACHINE.c.removed.is_(False)).order_by(MACHINE.c.uuid)
    open_words = select(AGREEMENT.c.number, AGREEMENT.c.body).where(AGREEMENT.c.open).order_by(AGREEMENT.c.number)
    holds = connection.execute(select(HOLD.c.slot, HOLD.c.turn, HOLD.c.label))
    said = connection.execute(select(SAID.c.once).where(SAID.c.at > now - SAID_KEPT)).scalars()
    numbers = connection.execute(select(COUNTER.c.name, COUNTER.c.last))
    watches = connection.execute(select(WATCH.c.slot, WATCH.c.body).order_by(WATCH.c.slot))
    accounts = connection.execute(select(ACCOUNT.c.person, ACCOUNT.c.body).order_by(ACCOUNT.c.person))
    interests = connection.execute(
        select(INTEREST.c.key, INTEREST.c.body).where(INTEREST.c.open).order_by(INTEREST.c.key)
    )
    paused = connection.execute(select(WORD.c.value).where(WORD.c.name == "paused")).scalar()
    books = Books(
        cards=MappingProxyType(decoded.all(cards, "card", Card)),
        machines=MappingProxyType(decoded.all(connection.execute(here), "machine", Machine)),
        requests=MappingProxyType(decoded.all(dated(REQUEST, "number", long), "request", Request)),
        leases=MappingProxyType(decoded.all(dated(LEASE, "label", long), "lease", Lease)),
        holds=frozenset(Hold(slot, Turn(turn), label) for slot, turn, label in holds),
        moves=MappingProxyType(decoded.all(dated(MOVE, "number", short), "move", Move)),
        agreements=MappingProxyType(decoded.all(connection.execute(open_words), "agreement", Agreement)),
        watches=MappingProxyType(decoded.all(watches, "watch", Watch)),
        accounts=MappingProxyType(decoded.all(accounts, "account", Account)),
        interests=MappingProxyType(decoded.all(interests, "interest", Interest)),
        said=frozenset(said),
        delivered=MappingProxyType(_delivered(connection, long)),
        numbers=MappingProxyType(dict(numbers.all())),
        paused=paused or "",
    )
    return Kept(beat, books, now, _leaves_at(books, now))


def _delivered(connection: Connection, since: datetime) -> dict[str, datetime]:
    """When the questions about quiet cards last went out, by key."""
    out = and_(OUTBOX.c.key.startswith(IDLE, autoescape=True), OUTBOX.c.sent > since)
    rows = connection.execute(select(OUTBOX.c.key, func.max(OUTBOX.c.sent)).where(out).group_by(OUTBOX.c.key))
    return {key: at if at.tzinfo is not None else at.replace(tzinfo=UTC) for key, at in rows}


def apply(kept: Kept, changes: Changes, once: frozenset[str], now: datetime) -> Kept:
    """What ``load`` would read after these changes were written. ``once``: the notices told with them."""
    b = kept.books
    old = tables(b)
    new: dict[type, dict[Any, Any]] = {}
    leaves_at = kept.leaves_at
    for value in changes.puts:
        kind = type(value)
        mine = new[kind] if kind in new else new.setdefault(kind, copied(old[kind]))
        mine[key_of(value)] = value
        if isinstance(value, Interest) and not value.open:
            mine.pop(value.key, None)
        end = None if isinstance(value, UNDATED) else until(value, now)
        if end is None:
            continue
        if end <= now:
            del mine[key_of(value)]
        else:
            leaves_at = end if leaves_at is None else min(leaves_at, end)
    for machine in changes.removed:
        new.setdefault(Machine, copied(b.machines)).pop(machine.uuid, None)
    after = {**old, **{kind: _ordered(values, old[kind]) for kind, values in new.items()}}
    books = replace(
        b,
        cards=after[Card],
        machines=after[Machine],
        requests=after[Request],
        leases=after[Lease],
        moves=after[Move],
        agreements=after[Agreement],
        watches=after[Watch],
        accounts=after[Account],
        interests=after[Interest],
        holds=(b.holds - frozenset(changes.drops)) | frozenset(changes.holds),
        said=b.said | once if once else b.said,
        numbers=MappingProxyType({**b.numbers, **dict(changes.numbers)}),
        paused=b.paused if changes.paused is None else changes.paused,
    )
    _take_over(b, books, changes, frozenset(kind for kind, values in new.items() if not _in_order(values, old[kind])))
    return Kept(kept.pulse + 1, books, kept.read_at, leaves_at)


def _take_over(before: Books, books: Books, changes: Changes, sorted_anew: frozenset[type]) -> None:
    """The shelves of the books before, with what was written: making all of them anew would cost more than the round that asks. Not those
    that say in which order nouns stand which stand in another one now."""
    kept = before.shelves.copy().items()  # at once: readers may be making others
    shelves = ((k, x) for k, x in kept if isinstance(x, Shelf))
    taken = {k: x for k, x in shelves if not x.in_order or sorted_anew.isdisjoint(x.follows)}
    books.shelves.update({kind: shelf.over(books) for kind, shelf in taken.items()})
    was, now = tables(before), tables(books)
    for value in (*changes.removed, *changes.puts):  # machines before requests, which are found by them
        noun, key = type(value), key_of(value)
        old, new = was[noun].get(key), now[noun].get(key)
        if old is not new:
            for shelf in books.shelves.values():
                if noun in shelf.follows:
                    shelf.follow(old, new)


def _ordered(values: dict[Any, V], before: Mapping[Any, V]) -> Mapping[Any, V]:
    """By key, as the tables give them: no rule may depend on who wrote first."""
    return MappingProxyType(values if _in_order(values, before) else dict(sorted(values.items())))


def _in_order(values: dict[Any, V], before: Mapping[Any, V]) -> bool:
    """Whether what is new stands behind all others."""
    added = [key for key in values if key not in before]
    return not added or (added == sorted(added) and (not before or next(reversed(before)) < added[0]))


def _leaves_at(books: Books, now: datetime) -> datetime | None:
    dated: list[Request | Lease | Move] = [*books.requests.values(), *books.leases.values(), *books.moves.values()]
    ends = [end for value in dated if (end := until(value, now)) is not None]
    return min(ends, default=None)
