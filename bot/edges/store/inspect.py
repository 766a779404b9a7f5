"""The database as ``gpubot doctor`` sees it: where it is, whether it can be written, how old its tables are, and what the books say.

Called by wiring. It makes no database, brings none up to date and changes no row: the write lock is taken and given back. Opening one puts
it into the mode in which the bot uses it (WAL).
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import select

from bot.edges.store import schema
from bot.edges.store.claims import CLAIM, alive
from bot.edges.store.engine import Gate, parse_url, where
from bot.edges.store.errors import (
    Absent,
    Away,
    Busy,
    Missing,
    NotOurs,
    NotWritable,
    StoreError,
    TooNew,
    TooOld,
    plain_words,
    reached,
)
from bot.edges.store.place import refuse_remains
from bot.edges.store.store import SqlStore
from bot.edges.store.tables import TokenRow, table
from bot.service.setup.facts import DatabaseFacts

HEARTBEAT_OLD = timedelta(seconds=60)
"""Real time without a heartbeat after which a bot is not well."""

PATIENCE_S = 2.0
"""Real seconds to wait for somebody else's write lock; the bot's own writes take milliseconds."""

SEARCHED_MB = 512
"""MB up to which the whole file is searched for damage."""

KINDS: Mapping[type[StoreError], str] = {
    TooOld: "older",
    TooNew: "newer",
    NotWritable: "read-only",
    NotOurs: "not-ours",
    Busy: "busy",
    Absent: "missing",
    Missing: "lost",
    Away: "away",
}


def inspect(url: str, real_now: datetime | None = None) -> DatabaseFacts:
    """All of it. Raises nothing that a database may cause."""
    now = real_now or datetime.now(UTC)
    name = url.partition(":")[0]
    try:
        parsed = parse_url(url)
        name = where(parsed)
        facts = DatabaseFacts(name)
        if parsed.get_backend_name() == "sqlite":
            path = Path(str(parsed.database))
            facts = replace(facts, free_mb=_free(path))
            with reached(path):
                facts = _file(path, facts) if path.exists() else _absent(path, facts)
            if facts.trouble:
                return facts
        return _books(url, facts, now)
    except StoreError as error:
        return DatabaseFacts(name, trouble=str(error), kind=KINDS.get(type(error), "away"))


def passwords_in(url: str) -> frozenset[str]:
    """The passwords in an address, as they stand there and as they are sent."""
    try:
        parsed = parse_url(url)
    except StoreError:
        return frozenset()
    asked = [value for name, value in parsed.query.items() if name.endswith("password")]
    found = {str(parsed.password or ""), *(one for one in asked if isinstance(one, str))} - {""}
    return frozenset({*found, *map(quote, found)})


def _free(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path.parent).free >> 20
    except OSError:
        return None


def _absent(path: Path, facts: DatabaseFacts) -> DatabaseFacts:
    if not path.parent.is_dir():
        text = f"the database {path} cannot be made: its folder does not exist; make it first"
        return replace(facts, trouble=text, kind="read-only")
    try:
        refuse_remains(path)
    except Missing as error:  # `gpubot run` refuses as well: it is not there any more
        return replace(facts, trouble=str(error), kind="lost")
    return replace(facts, kind="missing", trouble="it is not there yet")


def _file(path: Path, facts: DatabaseFacts) -> DatabaseFacts:
    """What SQLite says of the file itself."""
    with plain_words(facts.where), closing(_open(path)) as base:
        if path.stat().st_size >> 20 <= SEARCHED_MB and not _sound(base):
            text = f"the database {path} is damaged: stop the bot, and bring back a copy with `gpubot db restore`"
            return replace(facts, trouble=text, kind="damaged")
        broken = tuple(sorted({str(row[0]) for row in base.execute("PRAGMA foreign_key_check")}))
        # A file that may only be read lets even a writer begin (as a reader): what would write is what is refused.
        base.execute("BEGIN IMMEDIATE")
        try:
            if base.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
                base.execute("DELETE FROM alembic_version WHERE 0")
        finally:
            base.execute("ROLLBACK")
    return replace(facts, broken_links=broken)


def _sound(base: sqlite3.Connection) -> bool:
    try:
        return bool(base.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError as error:
        if "malformed" in str(error):
            return False
        raise


def _open(path: Path) -> sqlite3.Connection:
    base = sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=PATIENCE_S)
    base.isolation_level = None
    return base


def _books(url: str, facts: DatabaseFacts, now: datetime) -> DatabaseFacts:
    gate = Gate(parse_url(url), create=False)
    store = SqlStore(gate, lambda: now)
    try:
        with gate.reading() as connection:
            schema.check(connection, gate.where)
            claim = connection.execute(select(CLAIM)).mappings().first()
            tokens = frozenset(connection.execute(select(table(TokenRow).c.machine)).scalars())
        wal: bool | None = None
        if gate.sqlite:
            # Opening it has asked for that, as the bot's does: a copy that was just restored is not in that mode before.
            wal = str(gate.glance("PRAGMA journal_mode")[0][0]).lower() == "wal"
        else:
            with gate.writing():
                pass  # the lock row is taken, and given back
        books = store.read()
        running, hangs = _alive(claim, now)
        return replace(
            facts,
            wal=wal,
            running=running,
            hangs=hangs,
            cards=tuple(books.cards.values()),
            machines=tuple(books.machines.values()),
            readings=dict(store.readings()),
            tokens=tokens,
        )
    finally:
        store.close()


def _alive(claim: Any, now: datetime) -> tuple[bool, timedelta | None]:
    """Whether a bot lives on it, and for how long it has said nothing though its process lives."""
    if claim is None:
        return False, None
    silent = now - claim["seen"]
    lives = alive(claim["place"], claim["pid"])
    old = silent > HEARTBEAT_OLD
    return (lives if lives is not None else not old), (silent if lives and old else None)
