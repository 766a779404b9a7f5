"""The Store of ``service.ports`` on SQLite or PostgreSQL.

Wiring opens one a process and shares it between threads. Only it remembers. It must not decide, speak or look: it reads
and writes what it is given, in transactions that the database keeps apart.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, select

from bot.domain.draft import Changes
from bot.domain.inside import Hour, Minute
from bot.domain.model import Books, Line, MachineId, Person, PersonId, Reading, Seen, SlotId
from bot.domain.orders import Order
from bot.edges.store import beside, claims, intake, listening, minutes, outbox, past, record, schema
from bot.edges.store import books as shelf
from bot.edges.store import tidy as tidying
from bot.edges.store.alone import alone
from bot.edges.store.codec import to_text
from bot.edges.store.engine import Gate, parse_url
from bot.edges.store.errors import Busy, Lost, plain_words
from bot.edges.store.pen import put, say
from bot.edges.store.tables import TokenRow, table
from bot.edges.store.watch import Watch
from bot.service.ports import Address, Beside, Heard, Past, Post

log = logging.getLogger("gpubot.store")

TOKEN = table(TokenRow)

FIRST_S = 60.0
"""Real seconds in which another program may be making the first tables."""


def real_now() -> datetime:
    """The machine's time, aware UTC."""
    return datetime.now(UTC)


def open_store(
    url: str,
    *,
    now: Callable[[], datetime] = real_now,
    plain: bool = False,
    make: bool = True,
    only_reads: bool = False,
) -> SqlStore:
    """Open a database.

    :param now: the clock of the bot (virtual where that is virtual); it decides what is too old for the books
    :param plain: no BEGIN IMMEDIATE and no lock; wrong, and there to show why
    :param make: a SQLite file that is not there yet, or is empty, gets its tables; else it is refused (Absent)
    :param only_reads: whatever would write is refused by the database; nothing is made
    :raises StoreError: newer or older than this program, not ours, held, not writable; the text says what to do
    """
    make = make and not only_reads
    gate = Gate(parse_url(url), plain=plain, create=make, only_reads=only_reads)
    try:
        _make_ready(gate, make)
    except BaseException:
        gate.close()
        raise
    return SqlStore(gate, now, locked=not plain)


def _make_ready(gate: Gate, make: bool) -> None:
    """See that the tables are there and ours. Who else makes those of a new database just now is waited for longer than a writer is: on a
    slow disk that takes its time."""
    end = time.monotonic() + FIRST_S
    fresh = gate.sqlite and Path(gate.where).stat().st_size == 0
    while True:
        try:
            with gate.reading() as connection:
                fresh = make and gate.sqlite and schema.step_of(connection) is None
            if fresh:
                schema.bring_up(gate)
            with gate.reading() as connection:
                schema.check(connection, gate.where)
            return
        except Busy:
            if not fresh or time.monotonic() > end:
                raise


class SqlTransaction:
    """One writing transaction; see ``service.ports.Transaction``."""

    def __init__(self, connection: Connection, store: SqlStore) -> None:
        """Made by the store alone."""
        self._connection, self._store = connection, store
        self._now = store.now()
        self._kept: shelf.Kept | None = None
        self.wrote = 0  # how many times the books were written

    def books(self) -> Books:
        """The books, with what this transaction has written."""
        return self._shelf().books

    def record(self, changes: Changes, posts: Sequence[Post]) -> None:
        """Write all of it, in this transaction.

        :raises Conflict: a constraint refuses it (two holders of one slot, two open moves of one machine, …)
        """
        if not changes and not posts:
            return
        kept = self._shelf()
        with plain_words(self._store.where):
            once = record.write(self._connection, changes, posts, self._now)
        self._kept = shelf.apply(kept, changes, once, self._now)
        self.wrote += 1

    def _shelf(self) -> shelf.Kept:
        if self._kept is None:
            self._kept = self._store.kept(self._connection, self._now)
        return self._kept

    @property
    def result(self) -> shelf.Kept | None:
        """The books after a clean end."""
        return self._kept


class SqlStore:
    """See ``service.ports.Store``. Safe for threads; one writer at a time in the process."""

    def __init__(self, gate: Gate, now: Callable[[], datetime], *, locked: bool = True) -> None:
        """Use :func:`open_store`."""
        self._gate, self.now, self.where = gate, now, gate.where
        self._writer: threading.Lock | None = threading.Lock() if locked else None
        self._writing_thread: int | None = None
        self._cache_lock = threading.Lock()  # guards the four below
        self._kept: shelf.Kept | None = None
        self._decoded = shelf.Decoded()
        self._beside = beside.Shelf()
        self._tokens = beside.Tokens()
        self._watch = Watch(gate)
        gate.place.now = now

    def close(self) -> None:
        """Close all connections. The store is not used afterwards."""
        self._watch.close()
        self._gate.close()

    # ---- transactions

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        """Commit at a clean end, roll back otherwise; one writer at a time in the process.

        :raises StoreError: the database does not let us, in plain words
        """
        with self._writing() as (connection, own):
            tx = SqlTransaction(connection, self)
            yield tx
            own.append(tx.wrote)
        # Committed: what was written is what the next reader gets without reading.
        if tx.result is not None:
            with self._cache_lock:
                if self._kept is None or self._kept.pulse <= tx.result.pulse:
                    self._kept = tx.result

    @contextmanager
    def _writing(self) -> Iterator[tuple[Connection, list[int]]]:
        """A connection that may write, and a list to be told how often the books were written."""
        own: list[int] = []
        if self._writing_thread == threading.get_ident():
            raise RuntimeError("a transaction inside a transaction of the same thread would wait for itself")
        with self._writer or nullcontext():
            try:
                if self._writer is not None:
                    self._writing_thread = threading.get_ident()
                with self._gate.writing(self._watch.counting(own)) as connection:
                    yield connection, own
            finally:
                self._writing_thread = None

    def read(self) -> Books:
        """The books as they are now."""
        beats, now = self._beats(), self.now()
        with self._cache_lock:
            if self._kept is not None and self._kept.good(beats["books"], now):
                return self._kept.books
        with self._gate.reading() as connection:
            return self.kept(connection, now).books

    def _beats(self) -> dict[str, int]:
        return dict(self._gate.glance(beside.BEATS))

    def beside(self) -> Beside:
        """The last look, the readings and the people, as of one moment."""
        with self._cache_lock:
            known = self._beside.known(self._beats())
        if known is not None:
            return known
        with self._gate.reading() as connection, self._cache_lock:
            return self._beside.read(connection, dict(say(connection, beside.BEATS)))

    def kept(self, connection: Connection, now: datetime) -> shelf.Kept:
        """The books in the connection's transaction: those at hand if nobody has written since, else read anew."""
        with plain_words(self.where):
            beat = shelf.pulse(connection)
            with self._cache_lock:
                if self._kept is not None and self._kept.good(beat, now):
                    return self._kept
                kept = shelf.load(connection, now, self._decoded)
                if self._kept is None or self._kept.pulse <= kept.pulse:
                    self._kept = kept
                return kept

    def changed(self) -> int:
        """A number that moves when another process (or another store) wrote the books, and only then."""
        if self.lost() is not None:
            return -1
        with plain_words(self.where):
            return self._watch.foreign()

    def lost(self) -> Lost | None:
        """Why the database is not at its place any more; None: it is. See ``place``."""
        return self._gate.place.look()

    def rescue(self) -> Path | None:
        """Copy what is in a lost file to a new one beside it; None if that cannot be (the log says why)."""
        target = self._gate.place.rescue_path()
        try:
            return target if self._watch.copy_to(target) else None
        except (sqlite3.Error, OSError) as error:
            log.error("no copy of the lost database could be written to %s: %s", target, error)
            return None

    # ---- the outbox

    def unsent(self, now: datetime, limit: int = 50) -> list[Post]:
        """Messages that are due, by priority, then age."""
        with self._gate.reading() as connection:
            return outbox.unsent(connection, now, limit)

    def sent(self, post: Post, at: Address | None, now: datetime) -> None:
        """It is out, and stands there."""
        with self._writing() as (connection, _):
            outbox.sent(connection, post, now)
            if post.key.startswith(shelf.IDLE):
                say(connection, record.NEXT_PULSE)  # the books tell when it was delivered
            if post.key and at is not None:
                row = {"audience": post.to, "key": post.key, "channel": at.channel, "ts": at.ts}
                put(connection, outbox.STANDING, [row])

    def delayed(self, post: Post, until: datetime, why: str) -> None:
        """Not before ``until``."""
        with self._writing() as (connection, _):
            outbox.delayed(connection, post, until, why)

    def given_up(self, post: Post, why: str, now: datetime) -> None:
        """Never; kept with its cause."""
        with self._writing() as (connection, _):
            outbox.given_up(connection, post, why, now)

    def forget_standing(self, to: PersonId, key: str) -> None:
        """The message with this key was deleted."""
        with self._writing() as (connection, _):
            outbox.forget_standing(connection, to, key)

    def tidy(self, now: datetime) -> bool:
        """Sum minutes up and throw away what is old, a small piece at a time. Returns whether all is done; else there may be more."""
        with self._writing() as (connection, _):
            return tidying.tidy(connection, now)

    def pending(self) -> int:
        """How many messages wait, due or not."""
        return int(self._gate.glance(outbox.PENDING)[0][0])

    def ledger(self, about: str = "", limit: int = 100) -> list[Line]:
        """Lines, newest first; ``about`` is exact."""
        t = record.LEDGER
        query = select(t.c.at, t.c.who, t.c.what, t.c.about, t.c.why).order_by(t.c.id.desc()).limit(limit)
        with self._gate.reading() as connection:
            rows = connection.execute(query.where(t.c.about == about) if about else query)
            return [Line(*row) for row in rows]

    # ---- beyond the books

    def of_number(self, number: int) -> Past:
        """The past of a number."""
        with self._gate.reading() as connection:
            return past.of_number(connection, number)

    def of_person(self, person: PersonId, most: int) -> Past:
        """Somebody's last numbers."""
        with self._gate.reading() as connection:
            return past.of_person(connection, person, most)

    def of_card(self, card: SlotId, most: int) -> Past:
        """Who had a card last."""
        with self._gate.reading() as connection:
            return past.of_card(connection, card, most)

    def between(self, since: datetime, until: datetime) -> Past:
        """All of a stretch of time."""
        with self._gate.reading() as connection:
            return past.between(connection, since, until)

    # ---- guests

    def set_token(self, machine: MachineId, digest: str, now: datetime) -> None:
        """Replace a machine's token by its digest (hex SHA-256). That two spoke with the old one is over."""
        with self._writing() as (connection, _):
            last = intake.latest(connection, {machine}).get(machine)
            if last is not None and last.rivals is not None:
                intake.keep(connection, {machine: to_text(replace(last, rivals=None), lean=True)})
                beside.moved(connection, beside.READINGS)
            put(connection, TOKEN, [{"machine": machine, "digest": digest, "at": now}])
            beside.moved(connection, beside.TOKENS)

    def machine_of_token(self, digest: str) -> MachineId | None:
        """Whose token it is."""
        with self._cache_lock:
            known = self._tokens.known(self._beats())
        if known is None:
            with self._gate.reading() as connection, self._cache_lock:
                known = self._tokens.read(connection, dict(say(connection, beside.BEATS)))
        return known.get(digest)

    def take_reading(self, reading: Reading) -> bool:
        """Keep the latest reading of a machine; False if it was taken before or is older than what is known."""
        with self._writing() as (connection, _):
            words = listening.Listening(connection, self._at_hand(connection))
            new = words.take(reading)
            beat = words.keep()
        self._heard(beat, words)
        return new

    def hear(self, words: Sequence[tuple[str, Reading]]) -> list[Heard | None]:
        """Keep readings that came with these tokens, in one transaction."""
        with self._writing() as (connection, _):
            at_hand = self._at_hand(connection)
            with self._cache_lock:
                tokens = self._tokens.read(connection, at_hand.beats)
            heard = listening.Listening(connection, at_hand)
            told = [heard.hear(reading) if tokens.get(digest) == reading.machine else None for digest, reading in words]
            beat = heard.keep()
        self._heard(beat, heard)
        return told

    def _at_hand(self, connection: Connection) -> listening.AtHand:
        """The beats as they are in this transaction, and the latest readings if they are those at hand."""
        beats = dict(say(connection, beside.BEATS))
        with self._cache_lock:
            return listening.AtHand(beats, self._beside.readings(beats))

    def _heard(self, beat: int | None, words: listening.Listening) -> None:
        """It is committed: what was written is what the next reader gets without reading."""
        if beat is not None:
            with self._cache_lock:
                self._beside.heard(beat, words.written)

    def readings(self) -> Mapping[MachineId, Reading]:
        """The latest reading of each machine."""
        return self.beside().readings

    def minutes(self, after: int, limit: int = 20_000) -> list[Minute]:
        """What guests said of their devices, behind a number."""
        newest = self._gate.glance(minutes.NEWEST)[0][0]
        if newest is None or newest <= after:
            return []  # as it is in most rounds
        with self._gate.reading() as connection:
            return minutes.read(connection, after, limit)

    def hours(self, machine: MachineId, since: datetime) -> list[Hour]:
        """Hourly sums of a machine's devices."""
        with self._gate.reading() as connection:
            return minutes.hours(connection, machine, since)

    def order(self, machine: MachineId, order: str, now: datetime) -> None:
        """An order for the guest, given with the answer to its next word; what does not hold with it is forgotten.

        :raises ValueError: it is not of the closed list
        """
        with self._writing() as (connection, _):
            intake.order(connection, machine, Order(order), now)

    def take_orders(self, machine: MachineId, now: datetime) -> list[str]:
        """The orders that wait for this guest, and forget them."""
        with self._gate.reading() as connection:
            if machine not in intake.waiting(connection):
                return []
        with self._writing() as (connection, _):
            return intake.take_orders(connection, machine, now)

    # ---- the look, the claim, persons

    def keep_look(self, seen: Seen) -> None:
        """Remember the last good look."""
        body = to_text(seen, lean=True)  # of thousands of machines, every few seconds
        with self._writing() as (connection, _):
            beat = beside.moved(connection, beside.LOOKS)
            put(connection, beside.LOOK, [{"id": 1, "beat": beat, "at": seen.at, "body": body}])
        with self._cache_lock:
            self._beside.looked(beat, seen)

    def last_look(self) -> Seen | None:
        """The last good look of whichever process looked."""
        return self.beside().seen

    def claim(self, run: str, now: datetime, ttl: timedelta) -> bool:
        """Take or renew the right to be the bot of this database; False if another one lives."""
        with self._writing() as (connection, _):
            return claims.claim(connection, run, now, ttl)

    def claimed(self, now: datetime, ttl: timedelta) -> bool:
        """Whether a bot lives on this database. ``now``: real time."""
        with self._gate.reading() as connection:
            return claims.claimed(connection, now, ttl)

    def resign(self, run: str) -> None:
        """Give that right back."""
        with self._writing() as (connection, _):
            claims.resign(connection, run)

    def alone(self, what: str) -> AbstractContextManager[bool]:
        """Whether nobody else is at it in any process, for as long as it is open: see :func:`alone`."""
        return alone(self._gate, what)

    def person_seen(self, person: Person) -> None:
        """Remember a person; costs nothing if they are known as they are."""
        if self.beside().persons.get(person.id) == person:
            return
        with self._writing() as (connection, _):
            put(connection, beside.PERSON, [{"id": person.id, "body": to_text(person)}])
            beside.moved(connection, beside.PERSONS)

    def persons(self) -> list[Person]:
        """Everybody remembered, by id."""
        return list(self.beside().persons.values())
