"""Whether a database fits this program, and bringing it up to date; copies to and from a file.

Called by ``open_store`` and by the ``gpubot db`` commands. It never changes what the rows say, but
for the mark that a restore leaves on each machine.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import Machine, Move
from bot.edges.store.claims import alive
from bot.edges.store.codec import from_text, to_text
from bot.edges.store.engine import Gate, parse_url
from bot.edges.store.errors import (
    Busy,
    NotOurs,
    NotWritable,
    StoreError,
    TooNew,
    TooOld,
    Unreadable,
    plain_words,
    reached,
)
from bot.edges.store.place import put_logs_aside, refuse_absent

STEPS = ("0001", "0002", "0003", "0004")
"""All migrations in order; the last one is what this program wants."""

HEARTBEAT_OLD = timedelta(minutes=5)
"""A bot that runs where we cannot see it and was silent for that long is taken for gone by a restore."""

UPGRADE = "run `gpubot db upgrade` (after `gpubot db backup`)"


def step_of(connection: Connection) -> str | None:
    """The database's step; None: it is empty.

    :raises NotOurs: it has tables, but none of ours
    """
    tables = inspect(connection).get_table_names()
    if "alembic_version" not in tables:
        if tables:
            raise NotOurs(
                f"this database has other tables ({', '.join(sorted(tables)[:3])}); give gpubot one of its own"
            )
        return None
    steps = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    return str(steps[0]) if steps else None


def check(connection: Connection, name: str) -> None:
    """Refuse a database that is not at our step.

    :raises TooNew, TooOld, NotOurs: with what to do
    """
    step = step_of(connection)
    if step == STEPS[-1]:
        return
    if step is None:
        raise TooOld(f"the database {name} has no tables yet; run `gpubot db upgrade`")
    if step in STEPS:
        raise TooOld(f"the database {name} is of an older gpubot; {UPGRADE}")
    raise TooNew(
        f"the database {name} is of a newer gpubot (step {step}); install that one, or bring back an older copy"
    )


def upgrade(url: str) -> str:
    """Bring a database to this program's step, or make it. All or nothing. Returns the step.

    :raises StoreError: newer than this program, not ours, held, not writable
    """
    gate = Gate(parse_url(url))
    try:
        bring_up(gate)
    finally:
        gate.close()
    return STEPS[-1]


def bring_up(gate: Gate) -> None:
    """The same on an open gate. Two programs may do it at once: the second waits, and finds it done."""
    with gate.writing(desk=False) as connection:
        if not gate.sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(7420011)"))
        step = step_of(connection)
        if step == STEPS[-1]:
            return
        if step is not None and step not in STEPS:
            check(connection, gate.where)
        _run_steps(connection)


def _run_steps(connection: Connection) -> None:
    from alembic import command  # late: costs a third of a second, and is needed once in a database's life
    from alembic.config import Config

    config = Config()
    folder = Path(__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def backup(url: str, path: str | Path) -> Path:
    """Copy a SQLite database into a new file, also while the bot runs. Returns the file, readable by its owner alone.

    :raises StoreError: the file exists, cannot be written, or the database is PostgreSQL
    """
    source, target = _file_of(url), Path(path)
    with reached(source):
        refuse_absent(source)
    with reached(target):
        if target.exists():
            raise NotWritable(f"{target} exists; name a new file")
        if not target.parent.is_dir():
            raise NotWritable(f"the folder {target.parent} does not exist; make it first")
    with plain_words(str(source)), closing(_open_read(source)) as base:
        if _step_in(base) is None:
            raise NotOurs(f"{source} is no database of gpubot: name the right one in [store] url")
        with reached(target):
            target.touch(mode=0o600)
        try:
            _copy(source, target)
        except BaseException:
            target.unlink()
            raise
    return target


@dataclass(frozen=True)
class Restored:
    """What a restore has found in the database that it replaced."""

    kept: Path | None = None  # where that one is now; None: there was none
    off: (
        tuple[str, ...] | None
    ) = ()  # machines that were off through the bot by its books, or about to be; None: it cannot be read


def restore(url: str, path: str | Path) -> Restored:
    """Put a copy in the place of a SQLite database; the database before is kept beside it, named by the time.

    The copy does not know what was under way since it was made: each machine in it is marked so (``restored``) until it is seen on, and
    those that were off through the bot by the books of the replaced one are to be started (``owed_on``).

    :raises StoreError: the copy is damaged, not ours or too new, or a bot runs on the database
    """
    target, source = _file_of(url), Path(path)
    with reached(source):
        if not source.is_file():
            raise NotOurs(f"there is no file {source}")
    with reached(target):
        if target.exists() and target.samefile(source):
            raise NotOurs(f"{source} is the database itself; name a copy of it")
    with plain_words(str(source)), closing(_open_read(source)) as copy:
        if copy.execute("PRAGMA quick_check").fetchone()[0] != "ok":
            raise NotOurs(f"{source} is damaged; take another copy")
        step = _step_in(copy)
        if step is None:
            raise NotOurs(f"{source} is no copy of a gpubot database")
        if step not in STEPS:
            raise TooNew(f"{source} is of a newer gpubot; install that one first")
    kept: Path | None = None
    off: dict[str, str] | None = {}
    with plain_words(str(target)), reached(target):
        if not target.exists():
            put_logs_aside(target)  # of a file that is gone: SQLite would take them for the copy's, or delete them
        if target.exists():
            _refuse_while_running(target)
            stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
            kept = target.with_name(f"{target.name}.before-restore-{stamp}-{time.monotonic_ns() % 1000:03d}")
            kept.touch(mode=0o600)
            off = _off_through_us(target)
            _copy(target, kept)
        _copy(source, target)
        with closing(sqlite3.connect(target)) as restored:
            restored.execute("DELETE FROM claim")
            _mark(restored, datetime.now(UTC), off or {})
            restored.commit()
    return Restored(kept, tuple(sorted(off.values())) if off is not None else None)


def _step_in(base: sqlite3.Connection) -> str | None:
    """The step of a file; None: it is no database of gpubot."""
    if not base.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
        return None
    row = base.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row is not None else None


def _off_through_us(file: Path) -> dict[str, str] | None:
    """The machines that by these books are off through the bot, or were just asked to shut down: name by id. None: it cannot be read."""
    try:
        with closing(_open_read(file)) as base:
            machines = [from_text(Machine, body) for (body,) in base.execute("SELECT body FROM machine")]
            moves = [from_text(Move, body) for (body,) in base.execute("SELECT body FROM move")]
    except (sqlite3.DatabaseError, ValueError, Unreadable):
        return None
    lost = {m.machine for m in moves if m.state in UNDER_WAY and (m.was_on or m.wants_on) and m.on_at is None}
    return {m.uuid: m.name for m in machines if m.uuid in lost or m.owed_on is not None}


def _mark(base: sqlite3.Connection, now: datetime, off: Mapping[str, str]) -> None:
    """Write into each machine of a copy what is not known of it any more. One of an older program is brought up to date first."""
    try:
        rows = base.execute("SELECT uuid, body FROM machine").fetchall()
        machines = [(uuid, from_text(Machine, body)) for uuid, body in rows]
    except (sqlite3.DatabaseError, ValueError, Unreadable):
        return  # of a program before this one: its own upgrade knows how to read it
    for uuid, machine in machines:
        marked = replace(machine, restored=now, owed_on=now if uuid in off else machine.owed_on)
        base.execute("UPDATE machine SET body = ? WHERE uuid = ?", (to_text(marked), uuid))


def _copy(source: Path, target: Path) -> None:
    with closing(_open_read(source)) as a, closing(sqlite3.connect(target, timeout=5)) as b:
        a.backup(b)
        b.commit()
    os.chmod(target, 0o600)


def _open_read(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)


def _refuse_while_running(target: Path) -> None:
    with closing(_open_read(target)) as base:
        try:
            row = base.execute("SELECT run, seen, place, pid FROM claim").fetchone()
        except sqlite3.OperationalError:
            return  # not a database of ours yet
    if row is None:
        return
    lives = alive(row[2], row[3])
    if lives is None:  # on another machine, perhaps: its heartbeat must be old
        lives = datetime.now(UTC) - datetime.fromisoformat(row[1]).replace(tzinfo=UTC) < HEARTBEAT_OLD
    if lives:
        raise Busy(f"a bot ({row[0]}) runs on {target}; stop it first")


def _file_of(url: str) -> Path:
    parsed = parse_url(url)
    if parsed.get_backend_name() != "sqlite":
        raise StoreError("this is PostgreSQL: use pg_dump and pg_restore")
    return Path(str(parsed.database))
