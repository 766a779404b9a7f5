"""What guests say, and the orders that wait for them.

Called by the store. It keeps the latest word of each machine and what only a row of words can tell: since when a boot is heard of, since
when nothing runs, whether two speak for one machine. It must not judge what a reading means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, delete, select

from bot.domain.idle.verdict import is_ghost, weigh
from bot.domain.inside import Minute, Verdict
from bot.domain.minutes import minutes_of
from bot.domain.model import MachineId, Reading
from bot.domain.orders import ENDS, Order
from bot.domain.policy import IdlePolicy
from bot.domain.speakers import DOUBTED, RIVALS
from bot.edges.store import minutes
from bot.edges.store.codec import from_text
from bot.edges.store.pen import put, say
from bot.edges.store.tables import BootRow, OrderRow, ReadingRow, table

READING, BOOT, ORDER = table(ReadingRow), table(BootRow), table(OrderRow)

SILENCE = timedelta(minutes=5)
"""After a silence of more than that nobody knows that nothing ran: "free since" begins anew."""

ORDER_LIVES = timedelta(minutes=30)
"""An order that no guest has fetched by then is of no use any more."""

BOOTS_KEPT = 20
"""Boots of a machine that are remembered."""

IN_FLIGHT = timedelta(seconds=5)
"""A word may be on its way for so long without knowing it."""

AGAIN = timedelta(seconds=60)
"""Words of "done" or of a check that lie no farther apart are of the same one: its age is told anew with each reading."""


@dataclass(frozen=True)
class Taken:
    """What became of a reading."""

    new: bool  # it is the machine's latest word now
    now: Reading | None  # the latest word, if it has changed: this one, completed, or the one that stays, with a rival


def take(connection: Connection, reading: Reading, last: Reading | None) -> Taken:
    """Keep the boots and minutes of a reading, and complete it; the caller keeps what is ``now``.

    :param last: the latest word of this machine; a reading of before, or one that was taken already, is known by it
    """
    me = speaker(reading)
    if last is not None and speaker(last) == me:
        if reading.seq > last.seq:
            return _next(connection, reading, last, last.first_at or reading.at)
        other = reading.seq == last.seq and abs(_stamp(reading) - _stamp(last)) > IN_FLIGHT
        return _rival(reading, last) if other else Taken(False, None)
    boots = _boots(connection, reading.machine)
    known = boots.get(me)
    if known is not None and reading.seq <= known.seq:
        return Taken(False, None)
    if last is not None:
        _remember(connection, last, boots.get(speaker(last)))
    listened = _listened_to(last, boots) if reading.inside else None
    if last is not None and listened is not None and listened.who != me:
        before = listened.since <= reading.at and _end(reading) <= listened.since + IN_FLIGHT
        if before and (known is not None or reading.late_s > IN_FLIGHT.total_seconds()):
            _remember(connection, reading, known)
            minutes.add(connection, reading)
            return Taken(False, None)
        if known is not None and abs(reading.at - listened.heard) <= RIVALS:
            _remember(connection, reading, known)
            return _rival(reading, last)
        known = None  # it is listened to from now on, again or for the first time
    _remember(connection, reading, known)
    if me not in boots and len(boots) >= BOOTS_KEPT:
        old = and_(BOOT.c.machine == reading.machine, BOOT.c.boot_id.in_([*boots][BOOTS_KEPT - 1 :]))
        connection.execute(delete(BOOT).where(old))
    firsts = [b.first_at for name, b in boots.items() if name == me or name.partition("/")[0] == reading.boot_id]
    return _next(connection, reading, last, min(firsts, default=reading.at))


@dataclass(frozen=True)
class _Boot:
    """A speaker that was heard of."""

    seq: int  # how far it has counted
    first_at: datetime  # since when it is listened to


@dataclass(frozen=True)
class _Listened:
    """The agent that speaks for a machine now."""

    who: str  # see ``speaker``
    since: datetime  # its first word
    heard: datetime  # its last


def speaker(reading: Reading) -> str:
    """Who speaks: a boot, and which agent in it; or a source outside. Each counts its own words."""
    if not reading.inside:
        return f"/{reading.boot_id}"
    return f"{reading.boot_id}/{reading.agent_id}" if reading.agent_id else reading.boot_id


def _boots(connection: Connection, machine: MachineId) -> dict[str, _Boot]:
    """The speakers of a machine, the latest first."""
    query = select(BOOT.c.boot_id, BOOT.c.seq, BOOT.c.first_at).where(BOOT.c.machine == machine)
    return {who: _Boot(seq, at) for who, seq, at in connection.execute(query.order_by(BOOT.c.first_at.desc()))}


def _listened_to(last: Reading | None, boots: Mapping[str, _Boot]) -> _Listened | None:
    """Of the agents of a machine the one that is listened to; a source outside silences none."""
    if last is None:
        return None
    if last.inside:
        boot = boots.get(speaker(last))
        return _Listened(
            speaker(last), boot.first_at if boot is not None else last.first_at or last.at, last.agent_at or last.at
        )
    agents = [(boot.first_at, who) for who, boot in boots.items() if not who.startswith("/")]
    if not agents:
        return None
    since, who = max(agents)
    return _Listened(who, since, last.agent_at or since)


def _end(reading: Reading) -> datetime:
    """When it was measured, by the bot's clock."""
    return reading.at - timedelta(seconds=reading.late_s)


def _stamp(reading: Reading) -> datetime:
    """The same by the guest's clock, as it was sent: a word that is sent again has the same."""
    try:
        return _end(reading) + timedelta(seconds=reading.skew_s)
    except OverflowError:
        return _end(reading)


def _next(connection: Connection, reading: Reading, last: Reading | None, first_at: datetime) -> Taken:
    """It is the latest word, and has what stays of the one before."""
    same = last if last is not None and last.boot_id == reading.boot_id else None
    reading = worked(last, reading)
    done = replace(
        reading, first_at=first_at, free_since=free_since(last, reading), rivals=_still_rivals(last, reading.at),
        agent_at=reading.at if reading.inside else last.agent_at if last is not None else None,
    )  # fmt: skip
    if _stays(same, done):
        assert same is not None
        done = replace(done, done_at=same.done_at, done_by=same.done_by)
    if same is not None and (done.check is None or _again(same.check_at, done.check_at, same.check == done.check)):
        done = replace(done, check=same.check, check_at=same.check_at)
    minutes.add(connection, done)
    # What waited in the guest for an hour tells how it was then: as the latest word it is an hour old.
    return Taken(True, replace(done, at=_end(done), late_s=0.0) if done.late_s else done)


def _stays(before: Reading | None, now: Reading) -> bool:
    """Whether the "done" of before is still the last one. A time that lies ahead, by a clock that was set back since, was heard long ago, and
    would be once more."""
    if before is None or before.done_at is None or before.done_at > now.at:
        return False
    return now.done_at is None or _again(before.done_at, now.done_at, before.done_by == now.done_by)


def _again(before: datetime | None, now: datetime | None, alike: bool) -> bool:
    return before is not None and now is not None and alike and abs(now - before) <= AGAIN


def _rival(reading: Reading, last: Reading) -> Taken:
    """Another one speaks for this machine: the latest word stays, and nobody believes it."""
    return Taken(False, replace(last, rivals=reading.at))


def _still_rivals(last: Reading | None, now: datetime) -> datetime | None:
    """When two were last heard, if that still counts; a time that lies ahead, by a clock that was set back since, is now."""
    if last is None or last.rivals is None or now - last.rivals > DOUBTED:
        return None
    return min(last.rivals, now)


def _remember(connection: Connection, heard: Reading, known: _Boot | None) -> None:
    """How far this speaker has counted."""
    first_at = known.first_at if known is not None else heard.first_at or heard.at
    row = {"machine": heard.machine, "boot_id": speaker(heard), "seq": heard.seq, "first_at": first_at}
    put(connection, BOOT, [row])


def free_since(last: Reading | None, new: Reading) -> datetime | None:
    """Since when no job has run, no card worked and no key was pressed, as far as readings without a long gap tell; None: something
    runs, or the word does not say that nothing does."""
    if new.jobs or new.computes or not new.inside or not new.tells_work:
        return None
    late = new.late_s > SILENCE.total_seconds()  # what it says of then is not what is now
    if (
        last is None
        or last.free_since is None
        or late
        or new.cards != last.cards
        or not timedelta() <= new.at - last.at <= SILENCE
    ):
        return new.at
    return max([last.free_since, *(x.pressed for x in new.logins if x.pressed is not None)])


def worked(last: Reading | None, new: Reading) -> Reading:
    """A reading with what its cards did: one that reads full load without a process and without memory for long is an artefact, as it is
    for the verdict."""
    idle, told = IdlePolicy(), [_bare(minute) for minute in minutes_of(new) if minute.uuid]
    ghosts = any(is_ghost(minute) for minute in told)
    since = (last.ghosts_since if last is not None else None) or _end(new) - timedelta(seconds=new.interval_s)
    before = since if ghosts else None
    found = (weigh(minute, idle, new.interval_s, before)[0] for minute in told)
    return replace(new, computes=any(verdict is Verdict.BUSY for verdict in found), ghosts_since=before)


def _bare(minute: Minute) -> Minute:
    """The same, judged by its numbers alone: a broken card, and one of two speakers' words, may compute all the same."""
    return replace(minute, fault="", rivals=False)


def latest(connection: Connection, machines: set[MachineId]) -> dict[MachineId, Reading]:
    """The latest word of each of these."""
    rows = connection.execute(select(READING.c.machine, READING.c.body).where(READING.c.machine.in_(machines)))
    return {machine: from_text(Reading, body) for machine, body in rows}


def keep(connection: Connection, texts: Mapping[MachineId, str]) -> None:
    """Write the latest words."""
    put(connection, READING, [{"machine": machine, "body": text} for machine, text in texts.items()])


# ---- orders


def order(connection: Connection, machine: MachineId, order: Order, now: datetime) -> None:
    """Keep an order for a guest; those that do not hold any more with it are forgotten."""
    over = ENDS.get(order)
    if over:
        connection.execute(delete(ORDER).where(ORDER.c.machine == machine, ORDER.c.word.in_(over)))
    put(connection, ORDER, [{"machine": machine, "word": order.value, "at": now}])


def waiting(connection: Connection) -> set[MachineId]:
    """Guests for which an order waits."""
    return {row[0] for row in say(connection, "SELECT machine FROM guest_order")}


def take_orders(connection: Connection, machine: MachineId, now: datetime) -> list[str]:
    """The orders that wait and are not too old, oldest first; forgets them all."""
    rows = connection.execute(select(ORDER.c.word, ORDER.c.at).where(ORDER.c.machine == machine)).all()
    connection.execute(delete(ORDER).where(ORDER.c.machine == machine))
    return [row.word for row in sorted(rows, key=lambda r: (r.at, r.word)) if abs(now - row.at) <= ORDER_LIVES]


def forget_orders(connection: Connection, now: datetime) -> None:
    """Throw away those that no guest has fetched: one that is silent would be asked about at each word of the others."""
    connection.execute(delete(ORDER).where(~ORDER.c.at.between(now - ORDER_LIVES, now + ORDER_LIVES)))
