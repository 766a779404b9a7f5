"""What guests said of each device: the minutes, and the hours that they become.

Called by the store: ``add`` when a reading is taken, ``fold`` by the daily tidying. A minute is numbered in the order of arrival (writers take
turns), which is also the order in which the rules read it. It must not judge what is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from typing import Any, get_type_hints

from sqlalchemy import Connection, Executable, case, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.inside import Hour, Minute
from bot.domain.minutes import minutes_of
from bot.domain.model import MachineId, Reading
from bot.edges.store import pen
from bot.edges.store.codec import MICRO, as_line, reader, writer
from bot.edges.store.errors import Unreadable
from bot.edges.store.tables import HourRow, MinuteRow, table

MINUTE, HOUR = table(MinuteRow), table(HourRow)

MINUTES_KEPT = timedelta(days=7)
"""Minutes stay for that long: people ask what was measured."""

HOURS_KEPT = timedelta(days=400)
"""Hours stay for that long: a year is compared with the one before."""

AHEAD = timedelta(days=1)
"""Minutes that lie so far ahead were stamped by a clock that was wrong; they are summed at once, so that those behind them are not kept for
as long."""

COLUMNS = frozenset({"id", "machine", "at", "start", "end"})
"""Fields of a minute that its body does not have, or has as microseconds: ``end`` before ``at``, and ``start`` before ``end``."""

WRITE = writer(Minute, True)
READ = {f.name: reader(get_type_hints(Minute)[f.name]) for f in fields(Minute) if f.name not in COLUMNS}


def add(connection: Connection, reading: Reading) -> None:
    """Keep a reading's minutes."""
    pen.add(connection, MINUTE, [{"machine": m.machine, "at": m.at, "body": _body(m)} for m in minutes_of(reading)])


def _body(minute: Minute) -> str:
    raw = {name: value for name, value in WRITE(minute).items() if name not in COLUMNS}
    raw["start"] = (minute.end - minute.start) // MICRO
    if minute.end != minute.at:
        raw["end"] = (minute.at - minute.end) // MICRO
    return as_line(raw)


def _minute(id: int, machine: MachineId, at: datetime, body: str) -> Minute:
    try:
        raw = json.loads(body)
        end = at - raw.get("end", 0) * MICRO
        told = {name: READ[name](value) for name, value in raw.items() if name in READ}
        return Minute(id=id, machine=machine, start=end - raw["start"] * MICRO, end=end, at=at, **told)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable(f"a row of the database does not read as a minute: {error}") from error


NEWEST = "SELECT max(id) FROM minute"
"""Whether there is anything to read: asked at a glance, in each round."""


def read(connection: Connection, after: int, limit: int) -> list[Minute]:
    """Those behind ``after``, in the order of arrival."""
    query = select(MINUTE.c.id, MINUTE.c.machine, MINUTE.c.at, MINUTE.c.body).where(MINUTE.c.id > after)
    return [_minute(*row) for row in connection.execute(query.order_by(MINUTE.c.id).limit(limit))]


def hours(connection: Connection, machine: MachineId, since: datetime) -> list[Hour]:
    """The kept hours of a machine's devices, oldest first."""
    query = select(HOUR).where(HOUR.c.machine == machine, HOUR.c.start >= since).order_by(HOUR.c.start, HOUR.c.uuid)
    return [
        Hour(
            machine=row.machine,
            uuid=row.uuid,
            start=row.start,
            measured_s=row.measured_ms / 1000,
            busy_s=row.busy_ms / 1000,
            top=row.top,
            energy_j=None if row.energy_mj is None else row.energy_mj / 1000,
            mem_mb=row.mem_mb,
        )
        for row in connection.execute(query)
    ]


# ---- from minutes to hours


@dataclass(frozen=True)
class Sum:
    """What minutes add to an hour of a device. Thousandths, so that it is exact in whatever pieces it is made."""

    measured_ms: int = 0
    busy_ms: int = 0
    top: float | None = None  # %
    energy_mj: int | None = None
    mem_mb: float | None = None

    def __add__(self, other: Sum) -> Sum:
        return Sum(
            self.measured_ms + other.measured_ms,
            self.busy_ms + other.busy_ms,
            _most(self.top, other.top),
            self.energy_mj if other.energy_mj is None else (self.energy_mj or 0) + other.energy_mj,
            _most(self.mem_mb, other.mem_mb),
        )


Key = tuple[MachineId, str, datetime]
"""Machine, device, and the hour's start."""


def fold(connection: Connection, now: datetime, at_once: int) -> int:
    """Sum up old minutes, the first ``at_once`` of them, in a writing transaction. Returns how many went."""
    query = select(MINUTE.c.id, MINUTE.c.machine, MINUTE.c.at, MINUTE.c.body).order_by(MINUTE.c.id).limit(at_once)
    # by number, so that no index of the times is needed; the first one that stays ends it
    old = list(
        takewhile(lambda row: not now - MINUTES_KEPT <= row.at <= now + AHEAD, connection.execute(query).fetchall())
    )
    if old:
        found = sums(_minute(*row) for row in old)
        rows = [{"machine": m, "uuid": u, "start": at, **asdict(sum)} for (m, u, at), sum in found.items()]
        if rows:
            connection.execute(_adding(connection.dialect.name), rows)
        connection.execute(delete(MINUTE).where(MINUTE.c.id.between(old[0].id, old[-1].id)))
    return len(old)


def forget_hours(connection: Connection, now: datetime) -> int:
    """Throw away the oldest hour of all devices, if it is too old, in a writing transaction. Returns how many rows went."""
    oldest = connection.execute(select(func.min(HOUR.c.start))).scalar()
    if oldest is None or oldest >= now - HOURS_KEPT:
        return 0
    return connection.execute(delete(HOUR).where(HOUR.c.start == oldest)).rowcount


def sums(minutes: Iterable[Minute]) -> dict[Key, Sum]:
    """What these add to each hour. One that nobody believes adds nothing; one that lies in several hours adds to each its share."""
    found: dict[Key, Sum] = {}
    for minute in minutes:
        if minute.uuid and not minute.stale and not minute.rivals:
            for start, part in _by_hour(minute):
                key = (minute.machine, minute.uuid, start)
                found[key] = found.get(key, Sum()) + part
    return found


def _by_hour(minute: Minute) -> Iterator[tuple[datetime, Sum]]:
    measured, busy = round((minute.measured_s or 0) * 1000), round((minute.busy_s or 0) * 1000)
    energy = None if minute.energy_j is None else round(minute.energy_j * 1000)
    whole, gone = max((minute.end - minute.start) // MICRO, 1), 0
    at = minute.start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    while gone < whole:
        upto = min((at + timedelta(hours=1) - minute.start) // MICRO, whole)

        def share(of: int, gone: int = gone, upto: int = upto) -> int:
            return of * upto // whole - of * gone // whole  # the parts are the whole, to the last unit

        part = Sum(share(measured), share(busy), minute.top, None if energy is None else share(energy), minute.mem_mb)
        yield at, part
        gone, at = upto, at + timedelta(hours=1)


def _most(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else max(a, b)


@cache
def _adding(dialect: str) -> Executable:
    """Adds a sum to what is kept of its hour."""
    insert = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(HOUR)
    new = insert.excluded

    def most(name: str) -> Any:
        kept = HOUR.c[name]
        return case((new[name].is_(None), kept), (kept.is_(None), new[name]), (kept > new[name], kept), else_=new[name])

    energy = case((new.energy_mj.is_(None), HOUR.c.energy_mj), else_=func.coalesce(HOUR.c.energy_mj, 0) + new.energy_mj)
    summed = {
        "measured_ms": HOUR.c.measured_ms + new.measured_ms,
        "busy_ms": HOUR.c.busy_ms + new.busy_ms,
        "top": most("top"),
        "energy_mj": energy,
        "mem_mb": most("mem_mb"),
    }
    return insert.on_conflict_do_update(index_elements=["machine", "uuid", "start"], set_=summed)
