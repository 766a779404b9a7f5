"""Writing a draft's changes and its messages, inside one transaction.

Called by the store. It writes what it is given; whether that is right, the rules have decided and the constraints check.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, delete, update

from bot.domain.draft import Changes
from bot.domain.inside import Watch
from bot.domain.model import Agreement, Card, Entity, Lease, Line, Machine, Move, Request
from bot.domain.slots import card_name
from bot.domain.waiting import Account, Interest
from bot.edges.store import outbox
from bot.edges.store.beside import READINGS, TOKENS, moved
from bot.edges.store.books import (
    ACCOUNT,
    AGREEMENT,
    CARD,
    COUNTER,
    HOLD,
    INTEREST,
    LEASE,
    MACHINE,
    MOVE,
    REQUEST,
    SAID,
    WATCH,
    WORD,
    over_at,
)
from bot.edges.store.codec import to_text
from bot.edges.store.pen import add, ask, put, say
from bot.edges.store.tables import BootRow, HourRow, LedgerRow, MinuteRow, OrderRow, ReadingRow, TokenRow, table
from bot.service.ports import Post

LEDGER = table(LedgerRow)
OF_A_GUEST = tuple(table(row) for row in (TokenRow, ReadingRow, BootRow, OrderRow, MinuteRow, HourRow))
"""What is forgotten with a machine that is removed."""

ORDER = (Card, Machine, Request, Lease, Move, Agreement, Watch, Account, Interest)
"""Tables that others point at come first."""


NO_HOLD = "DELETE FROM hold WHERE slot = :slot AND turn = :turn AND label = :label"
WAS_SAID = "SELECT once FROM said WHERE once = :once"
NEXT_PULSE = "UPDATE pulse SET beat = beat + 1 WHERE name = 'books'"


def row_of(value: Entity, now: datetime) -> tuple[Table, dict[str, Any]]:
    """A value's table and row."""
    body = to_text(value)
    match value:
        case Card():
            return CARD, {"name": value.name, "body": body}
        case Watch():
            return WATCH, {"slot": value.slot, "body": body}
        case Account():
            return ACCOUNT, {"person": value.person, "body": body}
        case Interest():
            return INTEREST, {"key": value.key, "open": value.open, "body": body}
        case Machine():
            return MACHINE, {"uuid": value.uuid, "name": value.name, "removed": False, "body": body}
        case Request() | Lease() | Move() | Agreement():
            over = over_at(value, now)
            row = {"machine": value.machine, "state": value.state.value, "open": over is None, "over_at": over}
    match value:
        case Request():
            return REQUEST, {"number": value.number, "person": value.person, **row, "body": body}
        case Lease():
            identity = {"label": value.label, "request": value.request, "person": value.person}
            return LEASE, {**identity, **row, "body": body}
        case Move():
            return MOVE, {"number": value.number, **row, "body": body}
        case Agreement():
            return AGREEMENT, {"number": value.number, "person": value.person, **row, "body": body}


def write(connection: Connection, changes: Changes, posts: Sequence[Post], now: datetime) -> frozenset[str]:
    """Write all of it. Returns the `once` keys that were asked for, of which only new ones are told. Raises what the database refuses."""
    _write_values(connection, changes.puts, now)
    for hold in changes.drops:
        ask(connection, NO_HOLD, slot=hold.slot, turn=hold.turn.value, label=hold.label)
    if changes.holds:
        # a plain insert: a slot whose turn is taken is refused by the primary key
        rows = [
            {"slot": h.slot, "turn": h.turn.value, "card": card_name(h.slot), "label": h.label} for h in changes.holds
        ]
        add(connection, HOLD, rows)
    put(connection, COUNTER, [{"name": name, "last": last} for name, last in changes.numbers])
    for machine in changes.removed:
        connection.execute(update(MACHINE).where(MACHINE.c.uuid == machine.uuid).values(removed=True))
        for t in OF_A_GUEST:
            connection.execute(delete(t).where(t.c.machine == machine.uuid))
        moved(connection, READINGS)
        moved(connection, TOKENS)
    add(connection, LEDGER, [_line(x) for x in changes.lines])
    if changes.paused is not None:
        put(connection, WORD, [{"name": "paused", "value": changes.paused}])
    wanted = frozenset(k for k in (*(n.once for n in changes.news), *(p.once for p in posts)) if k)
    new = _write_said(connection, wanted, now)
    outbox.write(connection, [p for p in posts if not p.once or p.once in new], now)
    say(connection, NEXT_PULSE)
    return wanted


def _line(x: Line) -> dict[str, Any]:
    return {"at": x.at, "who": x.who, "what": x.what, "about": x.about, "why": x.why}


def _write_values(connection: Connection, puts: Iterable[Entity], now: datetime) -> None:
    """Each table once; what is over before what is open, so that a machine's next move may follow in one transaction."""
    by_table: dict[type, list[tuple[Table, dict[str, Any]]]] = {kind: [] for kind in ORDER}
    for value in puts:
        by_table[type(value)].append(row_of(value, now))
    for pairs in by_table.values():
        if pairs:
            rows = sorted((row for _, row in pairs), key=lambda row: bool(row.get("open")))
            put(connection, pairs[0][0], rows)


def _write_said(connection: Connection, wanted: frozenset[str], now: datetime) -> frozenset[str]:
    """Returns those that are new. One that the books have forgotten and a rule asks for again comes back into them: else that rule would
    ask, and the books be written, at every round from then on."""
    if not wanted:
        return wanted
    told = frozenset(once for once in wanted if ask(connection, WAS_SAID, once=once))
    if told:
        connection.execute(update(SAID).where(SAID.c.once.in_(told)).values(at=now))
    new = wanted - told
    add(connection, SAID, [{"once": k, "at": now} for k in sorted(new)])
    return new
