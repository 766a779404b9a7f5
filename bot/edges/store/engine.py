"""Connections to the database, and how transactions begin on it.

Called by the store and by ``schema``. SQLite: WAL, foreign keys, ``synchronous=FULL``, 5 s of patience; a writing
transaction takes the write lock (BEGIN IMMEDIATE) before its first read, because a transaction that read first and writes
later fails at once when somebody else wrote in between, however long one would wait. PostgreSQL: the desk's lock row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from bot.edges.store.errors import NotOurs, NotWritable, StoreError, plain_words

PATIENCE_S = 5
"""Real seconds that a transaction waits for another program's write lock."""

WRITES = "gpubot_writes"
"""The option of a connection whose transactions write."""

LOCK_ROW = text("SELECT beat FROM pulse WHERE name = 'books' FOR UPDATE")


def parse_url(url: str) -> URL:
    """The address of a database: ``sqlite:///gpubot.db`` or ``postgresql+psycopg://…``.

    :raises StoreError: not an address, or another kind of database
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
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
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


def make_engine(url: URL, *, plain: bool = False, create: bool = True) -> Engine:
    """An engine with our rules. ``plain``: transactions begin as the driver likes (for the test that shows why not)."""
    if url.get_backend_name() == "sqlite":
        _check_file(url, create)
        engine = create_engine(url, connect_args={"timeout": PATIENCE_S}, pool_size=8, max_overflow=24)
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _begin_plain if plain else _begin)
    else:
        args = {"connect_timeout": PATIENCE_S, "options": f"-c lock_timeout={PATIENCE_S * 1000}"}
        engine = create_engine(url, connect_args=args, pool_size=8, max_overflow=24, pool_pre_ping=True)
    return engine


def _check_file(url: URL, create: bool) -> None:
    """Say what is wrong with the path before SQLite says less."""
    path = Path(str(url.database))
    if not path.parent.is_dir():
        raise NotWritable(f"the database {path} cannot be made: its folder does not exist; make it first")
    if path.is_dir():
        raise NotOurs(f"the database {path} is a folder; name a file in [store] url")
    if path.exists():
        return
    if not create:
        raise NotOurs(f"there is no database {path}; `gpubot db upgrade` makes one")
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


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_plain(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


class Gate:
    """Opens transactions on one engine. It knows the database's name for error messages."""

    def __init__(self, url: URL, *, plain: bool = False, create: bool = True) -> None:
        """Nothing is connected yet."""
        self.where = where(url)
        self.sqlite = url.get_backend_name() == "sqlite"
        self.engine = make_engine(url, plain=plain, create=create)
        self._writer = self.engine.execution_options(**{WRITES: True})
        reads: dict[str, Any] = {} if self.sqlite else {"isolation_level": "REPEATABLE READ"}
        self._reader = self.engine.execution_options(**reads) if reads else self.engine

    @contextmanager
    def writing(self, committing: AbstractContextManager[object] | None = None) -> Iterator[Connection]:
        """A writing transaction: locked before its first read; committed at a clean end, rolled back otherwise.

        :param committing: held while it commits, and only then
        """
        with plain_words(self.where), self._writer.connect() as connection:
            transaction = connection.begin()
            try:
                if not self.sqlite:
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
        with plain_words(self.where), self._reader.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
