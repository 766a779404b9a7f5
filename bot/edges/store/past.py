"""What the database keeps beyond the books: the past of a number, of a person, of a card, and all of a stretch of time.

Called by the store in a reading transaction, for histories and reports. It reads what was written and decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, or_, select

from bot.domain.model import Lease, Line, Move, PersonId, Request, SlotId
from bot.domain.slots import card_name
from bot.edges.store import minutes
from bot.edges.store.books import CARD, LEASE, MOVE, REQUEST
from bot.edges.store.codec import from_text
from bot.edges.store.record import LEDGER
from bot.service.ports import Past

V = TypeVar("V")

AT_ONCE = 500
"""Names in one question to the database."""


def of_number(connection: Connection, number: int) -> Past:
    """A request, the leases that came of it, the restarts that were for them, and what the ledger says of all."""
    requests = _read(connection, Request, REQUEST, REQUEST.c.number == number)
    leases = _read(connection, Lease, LEASE, LEASE.c.request == number, LEASE.c.label)
    labels = {str(number), *(x.label for x in leases)}
    machines = {r.machine for r in requests} | {x.machine for x in leases}
    moves = [
        m for m in _read(connection, Move, MOVE, MOVE.c.machine.in_(machines), MOVE.c.number) if _serves(m, labels)
    ]
    about = {f"#{label}" for label in labels} | {f"m{m.number}" for m in moves}
    return Past(tuple(requests), tuple(leases), tuple(moves), tuple(_lines(connection, about)))


def _serves(move: Move, labels: Set[str]) -> bool:
    """Whether a restart was, or would have been, for one of some leases."""
    return any(w.label in labels for w in (*move.wishes, *move.left_out)) or any(
        labels & set(step.detail.split()) for step in move.steps if step.what in ("put", "taken")
    )


def of_person(connection: Connection, person: PersonId, most: int) -> Past:
    """Somebody's last numbers, the newest first: requests, and leases that came of none or of these."""
    asked = select(REQUEST.c.number.label("number")).where(REQUEST.c.person == person)
    had = select(LEASE.c.request.label("number")).where(LEASE.c.person == person)
    both = asked.union(had).subquery()
    last = connection.execute(select(both.c.number).order_by(both.c.number.desc()).limit(most)).scalars().all()
    requests = _read(connection, Request, REQUEST, REQUEST.c.number.in_(last), REQUEST.c.number.desc())
    leases = _read(connection, Lease, LEASE, LEASE.c.request.in_(last), LEASE.c.request.desc(), LEASE.c.label)
    return Past(tuple(requests), tuple(leases))


def of_card(connection: Connection, card: SlotId, most: int) -> Past:
    """The last that had a card or a part of it, the newest first, and what the ledger says of it."""
    named = LEASE.c.body.contains(f'"{card}', autoescape=True)
    query = select(LEASE.c.body).where(named).order_by(LEASE.c.request.desc(), LEASE.c.label.desc())
    found: list[Lease] = []
    with connection.execute(query.execution_options(yield_per=20)) as rows:
        for (body,) in rows:
            lease = from_text(Lease, body)
            if lease.active_since is not None and any(card_name(slot) == card for slot in lease.slots):
                found.append(lease)
            if len(found) == most:
                break
    return Past(leases=tuple(found), lines=tuple(_lines(connection, {card})))


def between(connection: Connection, since: datetime, until: datetime) -> Past:
    """All that was open for some of a stretch of time, what the ledger says of it and ever said of the cards, and what guests told in it."""
    requests = _read(connection, Request, REQUEST, or_(REQUEST.c.open, REQUEST.c.over_at >= since), REQUEST.c.number)
    leases = _read(
        connection, Lease, LEASE, or_(LEASE.c.open, LEASE.c.over_at >= since), LEASE.c.request, LEASE.c.label
    )
    restarts = _read(connection, Move, MOVE, or_(MOVE.c.open, MOVE.c.over_at >= since), MOVE.c.number)
    requests = [r for r in requests if r.asked < until]
    leases = [x for x in leases if min(x.since, x.active_since or x.since) < until]
    moves = [m for m in restarts if m.opened < until]
    about = {f"#{r.number}" for r in requests} | {f"#{x.label}" for x in leases} | {f"m{m.number}" for m in moves}
    about |= set(connection.execute(select(CARD.c.name)).scalars())
    hours = minutes.between(connection, since, until)
    return Past(tuple(requests), tuple(leases), tuple(moves), tuple(_lines(connection, about)), tuple(hours))


def _read(connection: Connection, kind: type[V], table: Table, where: Any, *order: Any) -> list[V]:
    return [
        from_text(kind, body)
        for body in connection.execute(select(table.c.body).where(where).order_by(*order)).scalars()
    ]


def _lines(connection: Connection, about: Collection[str]) -> Iterator[Line]:
    """What the ledger says of these, oldest first."""
    t = LEDGER.c
    found: list[tuple[int, Line]] = []
    for some in _some(sorted(about)):
        rows = connection.execute(select(t.id, t.at, t.who, t.what, t.about, t.why).where(t.about.in_(some)))
        found += [(row[0], Line(*row[1:])) for row in rows]
    return (line for _, line in sorted(found, key=lambda pair: pair[0]))


def _some(names: list[str]) -> Iterator[list[str]]:
    return (names[at : at + AT_ONCE] for at in range(0, len(names), AT_ONCE))
