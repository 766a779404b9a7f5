"""What guests said of each device: the minutes, and the hours that they become.

Called by the store: ``add`` when a reading is taken, ``fold`` by the tidying. A minute is numbered in the order of arrival (writers take
turns), which is also the order in which the rules read it, and in which hours take it in: up to which number they did stands beside them. So
sums need only the hours, and the few minutes behind that number. It must not judge what is told.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from typing import Any, get_type_hints

from sqlalchemy import Connection, Executable, and_, case, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from bot.domain.inside import Hour, Minute
from bot.domain.minutes import minutes_of
from bot.domain.model import MachineId, Reading
from bot.edges.store import pen
from bot.edges.store.codec import MICRO, as_line, reader, writer
from bot.edges.store.errors import Unreadable
from bot.edges.store.tables import HourRow, MinuteRow, WordRow, table

MINUTE, HOUR, WORD = table(MinuteRow), table(HourRow), table(WordRow)

SUMMED = "summed"
"""The word that says up to which number minutes are in the hours; without it none is."""

MINUTES_KEPT = timedelta(days=7)
"""Minutes stay for that long: people ask what was measured."""

HOURS_KEPT = timedelta(days=400)
"""Hours stay for that long: a year is compared with the one before."""

AHEAD = timedelta(days=1)
"""Minutes that lie so far ahead were stamped by a clock that was wrong; they go at once, so that those behind them are not kept for as long."""

AT_ONCE = 5000
"""Minutes in memory at once when those are summed up that are in no hour yet."""

AN_HOUR = timedelta(hours=1)

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
    """The hours of a machine's devices as far as minutes are in them, oldest first."""
    query = select(HOUR).where(HOUR.c.machine == machine, HOUR.c.start >= since).order_by(HOUR.c.start, HOUR.c.uuid)
    return [
        _hour(row.machine, row.uuid, row.start, Sum(row.measured_ms, row.busy_ms, row.top, row.energy_mj, row.mem_mb))
        for row in connection.execute(query)
    ]


def _hour(machine: MachineId, uuid: str, start: datetime, one: Sum) -> Hour:
    energy = None if one.energy_mj is None else one.energy_mj / 1000
    return Hour(machine, uuid, start, one.measured_ms / 1000, one.busy_ms / 1000, one.top, energy, one.mem_mb)


def between(connection: Connection, since: datetime, until: datetime) -> list[Hour]:
    """The hours of all devices from the one in which ``since`` lies, with what those minutes say that are in none yet."""
    first = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    inside = and_(HOUR.c.start >= first, HOUR.c.start < until)
    found: dict[Key, _Adding] = defaultdict(_Adding)
    for row in connection.execute(select(HOUR).where(inside)):
        part = Sum(row.measured_ms, row.busy_ms, row.top, row.energy_mj, row.mem_mb)
        found[row.machine, row.uuid, row.start].add(part)
    recent = ROWS.where(MINUTE.c.id > _summed(connection))
    with connection.execute(recent.execution_options(yield_per=AT_ONCE)) as rows:
        for key, part in sums(rows).items():
            if first <= key[2] < until:
                found[key].add(part)
    return [_hour(*key, one.sum()) for key, one in sorted(found.items(), key=lambda pair: pair[0])]


# ---- from minutes to hours


@dataclass(frozen=True)
class Sum:
    """What minutes add to an hour of a device. Thousandths, so that it is exact in whatever pieces it is made."""

    measured_ms: int = 0
    busy_ms: int = 0
    top: float | None = None  # %
    energy_mj: int | None = None
    mem_mb: float | None = None


Key = tuple[MachineId, str, datetime]
"""Machine, device, and the hour's start."""


ROWS = select(MINUTE.c.id, MINUTE.c.machine, MINUTE.c.at, MINUTE.c.body)
"""Minutes as ``sums`` reads them."""


def fold(connection: Connection, now: datetime, at_once: int) -> int:
    """The next ``at_once`` minutes become hours, and so many that did and are old go, in a writing transaction. Returns how many of either."""
    return max(_sum_up(connection, at_once), _forget(connection, now, at_once))


def _summed(connection: Connection) -> int:
    """Up to which number minutes are in the hours."""
    return int(connection.execute(select(WORD.c.value).where(WORD.c.name == SUMMED)).scalar() or 0)


def _sum_up(connection: Connection, at_once: int) -> int:
    new = connection.execute(
        ROWS.where(MINUTE.c.id > _summed(connection)).order_by(MINUTE.c.id).limit(at_once)
    ).fetchall()
    if new:
        rows = [{"machine": m, "uuid": u, "start": at, **asdict(sum)} for (m, u, at), sum in sums(new).items()]
        if rows:
            connection.execute(_adding(connection.dialect.name), rows)
        pen.put(connection, WORD, [{"name": SUMMED, "value": str(new[-1].id)}])
    return len(new)


def _forget(connection: Connection, now: datetime, at_once: int) -> int:
    """By number, so that no index of the times is needed; the first one that stays ends it."""
    first = select(MINUTE.c.id, MINUTE.c.at).where(MINUTE.c.id <= _summed(connection)).order_by(MINUTE.c.id)
    rows = connection.execute(first.limit(at_once)).fetchall()
    old = list(takewhile(lambda row: not now - MINUTES_KEPT <= row.at <= now + AHEAD, rows))
    if old:
        connection.execute(delete(MINUTE).where(MINUTE.c.id.between(old[0].id, old[-1].id)))
    return len(old)


def forget_hours(connection: Connection, now: datetime) -> int:
    """Throw away the oldest hour of all devices, if it is too old, in a writing transaction. Returns how many rows went."""
    oldest = connection.execute(select(func.min(HOUR.c.start))).scalar()
    if oldest is None or oldest >= now - HOURS_KEPT:
        return 0
    return connection.execute(delete(HOUR).where(HOUR.c.start == oldest)).rowcount


def sums(rows: Iterable[Any]) -> dict[Key, Sum]:
    """What minutes (their rows: id, machine, at, body) add to each hour. One that nobody believes adds nothing; one that lies in several hours adds
    to each its share. Of one that does not say how long the device worked, or of a broken one, nothing was measured: else its time would be
    taken for quiet. There are ten thousand a device and week, so the usual one is not made a value."""
    found: dict[Key, _Adding] = defaultdict(_Adding)
    for row in rows:
        _, machine, at, body = row
        try:
            raw = json.loads(body)
            uuid = raw.get("uuid")
            if not uuid or raw.get("stale") or raw.get("rivals"):
                continue
            end = at - raw.get("end", 0) * MICRO
            start = end - raw["start"] * MICRO
            hour = start.replace(minute=0, second=0, microsecond=0)
            if hour < end <= hour + AN_HOUR:
                found[machine, uuid, hour].take(raw)
                continue
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Unreadable(f"a row of the database does not read as a minute: {error}") from error
        for hour, part in _by_hour(_minute(*row)):
            found[machine, uuid, hour].add(part)
    return {key: one.sum() for key, one in found.items()}


class _Adding:
    """A sum that is being made."""

    __slots__ = ("busy", "energy", "measured", "mem", "top")

    def __init__(self) -> None:
        self.measured = self.busy = 0
        self.energy: int | None = None
        self.top: float | None = None
        self.mem: float | None = None

    def take(self, raw: Mapping[str, Any]) -> None:
        """Add a whole minute."""
        if raw.get("busy_s") is not None and not raw.get("fault"):
            self.measured += round((raw.get("measured_s") or 0.0) * 1000)
            self.busy += round(raw["busy_s"] * 1000)
        if (energy := raw.get("energy_j")) is not None:
            self.energy = (self.energy or 0) + round(energy * 1000)
        self.top, self.mem = _most(self.top, raw.get("top")), _most(self.mem, raw.get("mem_mb"))

    def add(self, part: Sum) -> None:
        """Add what of a minute lies in this hour."""
        self.measured += part.measured_ms
        self.busy += part.busy_ms
        if part.energy_mj is not None:
            self.energy = (self.energy or 0) + part.energy_mj
        self.top, self.mem = _most(self.top, part.top), _most(self.mem, part.mem_mb)

    def sum(self) -> Sum:
        """What it has come to."""
        return Sum(self.measured, self.busy, self.top, self.energy, self.mem)


def _by_hour(minute: Minute) -> Iterator[tuple[datetime, Sum]]:
    known = minute.busy_s is not None and not minute.fault
    measured = round((minute.measured_s or 0) * 1000) if known else 0
    busy = round((minute.busy_s or 0) * 1000) if known else 0
    energy = None if minute.energy_j is None else round(minute.energy_j * 1000)
    whole, gone = max((minute.end - minute.start) // MICRO, 1), 0
    at = minute.start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    while gone < whole:
        upto = min((at + AN_HOUR - minute.start) // MICRO, whole)

        def share(of: int, gone: int = gone, upto: int = upto) -> int:
            return of * upto // whole - of * gone // whole  # the parts are the whole, to the last unit

        part = Sum(share(measured), share(busy), minute.top, None if energy is None else share(energy), minute.mem_mb)
        yield at, part
        gone, at = upto, at + AN_HOUR


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
