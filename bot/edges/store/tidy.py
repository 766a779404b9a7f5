"""What is summed up, and what is thrown away: minutes become hours; messages that are long out, and where they stand, old minutes and old hours
go. Called by the store, each ten minutes of the bot's clock, in small pieces.

What is kept for ever, because it is the record or cannot grow: the ledger, requests, leases, moves and agreements, cards, machines and
people; and the keys of notices that are told once (`said`, a line each), for their conditions may come again after any time.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, delete, exists, func, not_, select

from bot.edges.store import intake, minutes
from bot.edges.store.outbox import OUTBOX, STANDING

KEPT = timedelta(days=30)
"""Messages stay for that long after they went out or were given up: somebody may ask what became of one. One that is
edited only later than that is posted anew."""

AT_ONCE = 1000
"""Rows in one go: whoever wants to write meanwhile does not wait long."""

FOR_EVER = ("board",)
"""Keys of messages that are edited however old they are."""


def tidy(connection: Connection, now: datetime) -> bool:
    """Throw away what is old, in a writing transaction. Returns whether all is done; else there may be more."""
    intake.forget_orders(connection, now)
    return (
        _messages(connection, now) < AT_ONCE
        and minutes.fold(connection, now, AT_ONCE) < AT_ONCE
        and minutes.forget_hours(connection, now) == 0
    )


def _messages(connection: Connection, now: datetime) -> int:
    """How many went."""
    over = func.coalesce(OUTBOX.c.sent, OUTBOX.c.given_up)
    old = select(OUTBOX.c.id).where(not_(OUTBOX.c.waiting), over < now - KEPT).order_by(OUTBOX.c.id).limit(AT_ONCE)
    gone = connection.execute(delete(OUTBOX).where(OUTBOX.c.id.in_(old))).rowcount
    told = exists().where(OUTBOX.c.audience == STANDING.c.audience, OUTBOX.c.key == STANDING.c.key)
    connection.execute(delete(STANDING).where(and_(STANDING.c.key.not_in(FOR_EVER), not_(told))))
    return gone
