"""What guests say, and the orders that wait for them.

Called by the store. It keeps the latest word of each machine and what only a row of words can tell: since when a boot is
heard of, and since when nothing runs. It must not judge what a reading means.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, delete, select

from bot.domain.inside import Hour, Minute
from bot.domain.minutes import minutes_of
from bot.domain.model import Reading
from bot.edges.store.beside import READINGS, moved
from bot.edges.store.codec import from_text, to_text
from bot.edges.store.pen import add, put
from bot.edges.store.tables import BootRow, HourRow, MinuteRow, OrderRow, ReadingRow, table

READING, BOOT, ORDER = table(ReadingRow), table(BootRow), table(OrderRow)
MINUTE, HOUR = table(MinuteRow), table(HourRow)

SILENCE = timedelta(minutes=5)
"""After a silence of more than that nobody knows that nothing ran: "free since" begins anew."""

ORDER_LIVES = timedelta(minutes=30)
"""An order that no guest has fetched by then is of no use any more."""

BOOTS_KEPT = 20
"""Boots of a machine that are remembered."""


def take(connection: Connection, reading: Reading) -> Reading | None:
    """Keep a reading; returns it completed, or None if it was taken before or is overtaken by a later one."""
    known = connection.execute(
        select(BOOT.c.boot_id, BOOT.c.seq, BOOT.c.first_at)
        .where(BOOT.c.machine == reading.machine)
        .order_by(BOOT.c.first_at.desc())
    ).all()
    boots = {row.boot_id: row for row in known}
    body = connection.execute(select(READING.c.body).where(READING.c.machine == reading.machine)).scalar()
    last = from_text(Reading, body) if body is not None else None
    boot = boots.get(reading.boot_id)
    if boot is not None and (reading.seq <= boot.seq or (last is not None and last.boot_id != reading.boot_id)):
        return None
    first_at = boot.first_at if boot is not None else reading.at
    done = replace(reading, first_at=first_at, free_since=free_since(last, reading))
    heard = {"machine": done.machine, "boot_id": done.boot_id, "seq": done.seq, "first_at": first_at}
    put(connection, BOOT, [heard])
    put(connection, READING, [{"machine": done.machine, "body": to_text(done)}])
    add(connection, MINUTE, [{"machine": m.machine, "at": m.at, "body": to_text(m)} for m in minutes_of(done)])
    moved(connection, READINGS)
    if boot is None and len(known) >= BOOTS_KEPT:
        old = and_(BOOT.c.machine == done.machine, BOOT.c.boot_id.in_([row.boot_id for row in known[BOOTS_KEPT - 1 :]]))
        connection.execute(delete(BOOT).where(old))
    return done


def free_since(last: Reading | None, new: Reading) -> datetime | None:
    """Since when no job has run and no key was pressed, as far as readings without a long gap tell; None: a job runs."""
    if new.jobs:
        return None
    if last is None or last.free_since is None or not timedelta() <= new.at - last.at <= SILENCE:
        return new.at
    return max([last.free_since, *(x.pressed for x in new.logins if x.pressed is not None)])


def waits(connection: Connection, machine: str) -> bool:
    """Whether an order waits."""
    return connection.execute(select(ORDER.c.word).where(ORDER.c.machine == machine).limit(1)).first() is not None


def take_orders(connection: Connection, machine: str, now: datetime) -> list[str]:
    """The orders that wait and are not too old, oldest first; forgets them all."""
    rows = connection.execute(select(ORDER.c.word, ORDER.c.at).where(ORDER.c.machine == machine)).all()
    connection.execute(delete(ORDER).where(ORDER.c.machine == machine))
    return [row.word for row in sorted(rows, key=lambda r: (r.at, r.word)) if abs(now - row.at) <= ORDER_LIVES]


def minutes(connection: Connection, after: int, limit: int) -> list[Minute]:
    """Those behind ``after``, in the order of arrival."""
    query = select(MINUTE.c.id, MINUTE.c.body).where(MINUTE.c.id > after).order_by(MINUTE.c.id).limit(limit)
    return [replace(from_text(Minute, body), id=id) for id, body in connection.execute(query)]


def hours(connection: Connection, machine: str, since: datetime) -> list[Hour]:
    """The kept hours of a machine's devices, oldest first."""
    query = select(HOUR).where(HOUR.c.machine == machine, HOUR.c.start >= since).order_by(HOUR.c.start, HOUR.c.uuid)
    return [Hour(**row._mapping) for row in connection.execute(query)]
