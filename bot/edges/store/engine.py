"""Connections to the database, and how transactions begin on it.

Called by the store and by ``schema``. SQLite: WAL, foreign keys, ``synchronous=FULL``, 5 s of patience; a writing
transaction takes the write lock (BEGIN IMMEDIATE) before its first read, because a transaction that read first and writes
later fails at once when somebody else wrote in between, however long one would wait. PostgreSQL: the desk's lock row.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, PoolProxiedConnection, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from bot.edges.store.errors import NotOurs, NotWritable, StoreError, plain_words, reached
from bot.edges.store.pen import say
from bot.edges.store.place import Place, refuse_absent, refuse_remains

log = logging.getLogger("gpubot.store")

PATIENCE_S = 5
"""Real seconds that a transaction waits for another program's write lock."""

LOCK_ROW = text("SELECT beat FROM pulse WHERE name = 'books' FOR UPDATE")


def parse_url(url: str) -> URL:
    """The address of a database: ``sqlite:///gpubot.db`` or ``postgresql+psycopg://…``.

    :raises StoreError: not an address, or another kind of database
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # ValueError: of its port
        raise StoreError('[store] url is no address of a database; write url = "sqlite:///gpubot.db"') from error
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise StoreError(f"[store] url names {parsed.get_backend_name()}; only sqlite and postgresql work")
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise StoreError('[store] url names no file; write url = "sqlite:///gpubot.db"')
    return parsed


def where(url: URL) -> str:
    """The database's name for messages, without a password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    # libpq takes a password among what follows the question mark, too.
    secret = [name for name in url.query if name.endswith("password")]
    return url.update_query_dict(dict.fromkeys(secret, "…")).render_as_string(hide_password=True)


def name_of(url: str) -> str:
    """The same of an address."""
    return where(parse_url(url))


def make_engine(url: URL, *, create: bool = True, only_reads: bool = False) -> Engine:
    """An engine with our rules. Transactions are begun by the :class:`Gate` alone. ``only_reads``: the database itself refuses anything else."""
    if url.get_backend_name() == "sqlite":
        with reached(Path(str(url.database))):
            _check_file(url, create)
        engine = create_engine(url, connect_args={"timeout": PATIENCE_S}, pool_size=8, max_overflow=24)
        event.listen(engine, "connect", _on_connect_reading if only_reads else _on_connect)
    else:
        only = " -c default_transaction_read_only=on" if only_reads else ""
        args = {"connect_timeout": PATIENCE_S, "options": f"-c lock_timeout={PATIENCE_S * 1000}{only}"}
        engine = create_engine(url, connect_args=args, pool_size=8, max_overflow=24, pool_pre_ping=True)
    return engine


def _check_file(url: URL, create: bool) -> None:
    """Say what is wrong with the path before SQLite says less."""
    path = Path(str(url.database))
    if not create:
        refuse_absent(path)
    if not path.parent.is_dir():
        raise NotWritable(f"the database {path} cannot be made: its folder does not exist; make it first")
    if path.is_dir():
        raise NotOurs(f"the database {path} is a folder; name a file in [store] url")
    if path.exists():
        return
    refuse_remains(path)
    log.info("there is no database %s yet: a new one is made", path)
    try:
        path.touch(mode=0o600)  # who asked for what, and why, is not for every user of the machine
    except OSError as error:
        raise NotWritable(f"the database {path} cannot be made: {error.strerror}; make its folder writable") from error


def _on_connect(raw: sqlite3.Connection, _record: Any) -> None:
    raw.isolation_level = None  # we say BEGIN ourselves; the driver's own begins too late
    cursor = raw.cursor()
    for pragma in (
        f"busy_timeout = {PATIENCE_S * 1000}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _on_connect_reading(raw: sqlite3.Connection, _record: Any) -> None:
    raw.isolation_level = None
    cursor = raw.cursor()
    for pragma in (f"busy_timeout = {PATIENCE_S * 1000}", "query_only = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


class Gate:
    """Opens transactions on one engine. It knows the database's name for error messages."""

    def __init__(self, url: URL, *, plain: bool = False, create: bool = True, only_reads: bool = False) -> None:
        """Nothing is connected yet. ``plain``: writers begin as the driver likes (for the test that shows why not)."""
        self.where = where(url)
        self.sqlite = url.get_backend_name() == "sqlite"
        self.engine = make_engine(url, create=create, only_reads=only_reads)
        self.place = Place(Path(str(url.database)) if self.sqlite else None)
        self.place.guard(self.engine)
        self._begin_writing = "BEGIN" if plain else "BEGIN IMMEDIATE"
        self._reader = self.engine if self.sqlite else self.engine.execution_options(isolation_level="REPEATABLE READ")
        self._glancing = threading.Lock()
        self._glance: PoolProxiedConnection | None = None

    @contextmanager
    def writing(
        self, committing: AbstractContextManager[object] | None = None, *, desk: bool = True
    ) -> Iterator[Connection]:
        """A writing transaction: locked before its first read; committed at a clean end, rolled back otherwise.

        :param committing: held while it commits, and only then
        :param desk: whether to take the desk's lock row, where there is no lock of the whole file (False: it is not made yet)
        """
        self.place.check()
        with plain_words(self.where), self.engine.connect() as connection:
            transaction = connection.begin()
            try:
                if self.sqlite:
                    say(connection, self._begin_writing)
                elif desk:
                    connection.execute(LOCK_ROW)
                yield connection
            except BaseException:
                transaction.rollback()
                raise
            with committing or nullcontext():
                transaction.commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One view of the whole database, however long the reading takes."""
        self.place.check()
        with plain_words(self.where), self._reader.connect() as connection, connection.begin():
            if self.sqlite:
                say(connection, "BEGIN")
            yield connection

    def glance(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of one small reading statement, outside any transaction. In SQLite on a connection that is kept for it."""
        self.place.check()
        with plain_words(self.where):
            if not self.sqlite:
                with self.engine.connect() as connection:
                    return [tuple(row) for row in connection.exec_driver_sql(statement)]
            with self._glancing:
                if self._glance is None:
                    self._glance = self.engine.raw_connection()
                cursor = self._glance.cursor()
                try:
                    return list(cursor.execute(statement).fetchall())
                finally:
                    cursor.close()

    def close(self) -> None:
        """Close all connections."""
        with self._glancing:
            if self._glance is not None:
                self._glance.close()
                self._glance = None
        self.engine.dispose()
        self.place.close()
