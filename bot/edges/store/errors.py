"""What can go wrong with the database, in plain words. Raised by this room alone; no library's exception leaves it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from bot.service.ports import StoreTrouble


class StoreError(Exception):
    """Base of all; the text says what is wrong and what to do."""

    def __init__(self, text: str, plain: str = "") -> None:
        """``plain``: see ``service.ports.StoreTrouble``."""
        super().__init__(text)
        self.plain = plain


class Busy(StoreError, StoreTrouble):
    """Another program holds the database for longer than we wait."""


class Conflict(StoreError):
    """A constraint of the database refused the change: somebody else was first, or a rule is wrong."""


class NotWritable(StoreError, StoreTrouble):
    """The file or its folder cannot be written."""


class Away(StoreError, StoreTrouble):
    """The database's server does not answer."""


class Lost(StoreError, StoreTrouble):
    """The file that was opened is not at its place any more: this process must not go on."""

    def __init__(self, text: str, plain: str, since: datetime) -> None:
        """``since``: when it was last seen there, by the bot's clock."""
        super().__init__(text, plain)
        self.since = since


class Absent(StoreError):
    """There is no database yet, and who looks for it must not make one."""


class Missing(StoreError):
    """There is no database where there was one."""


class NotOurs(StoreError, StoreTrouble):
    """The file is no database, or not one of gpubot."""


class TooNew(StoreError):
    """A newer gpubot has written this database."""


class TooOld(StoreError):
    """The tables must be brought up to date first."""


class Unreadable(StoreError):
    """A row that this program cannot read."""


SQLITE_WORDS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("database is locked", Busy, "is held by another program for more than 5 s; end that program or try again"),
    ("database table is locked", Busy, "is held by another part of this program; try again"),
    ("readonly database", NotWritable, "cannot be written; give this user the right to write the file and its folder"),
    ("unable to open database file", NotWritable, "cannot be opened; the folder must exist and be writable"),
    ("disk is full", NotWritable, "cannot be written, the disk is full; make room"),
    ("disk i/o error", NotWritable, "cannot be written, the disk has an error; see the system's log"),
    ("file is not a database", NotOurs, "is no SQLite database; name another file in [store] url"),
    ("malformed", NotOurs, "is damaged; bring back a copy with `gpubot db restore`"),
)
"""What SQLite says (lower case, part of it), the error that it becomes, and our words after the file's name."""


@contextmanager
def reached(path: Path) -> Iterator[None]:
    """Turn what the system says of a file, or of the folders above it, into :class:`NotWritable`."""
    try:
        yield
    except OSError as error:
        raise NotWritable(
            f"{path} cannot be reached: {error.strerror or error}; give this user the right to it and its folders",
            f"my database cannot be reached: {error.strerror or error}",
        ) from error


SERVER_BUSY = ("lock timeout", "could not serialize", "deadlock detected")
"""What PostgreSQL says of somebody else's transaction."""


@contextmanager
def plain_words(where: str) -> Iterator[None]:
    """Turn the libraries' exceptions into :class:`StoreError`. ``where`` names the database without its password."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise in_words(error, where) from error


def in_words(error: Exception, where: str) -> StoreError:
    """The :class:`StoreError` for a library's exception. Values of the statement are left out: they may be anybody's."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = " ".join(str(cause).split())
    for part, kind, words in SQLITE_WORDS:
        if part in said.lower():
            return kind(f"the database {where} {words}", f"my database {words}")
    if isinstance(error, IntegrityError | sqlite3.IntegrityError):
        return Conflict(f"the database {where} refused a change: {said}")
    if isinstance(error, PoolTimeout):
        busy = "are in use; try again"
        return Busy(f"all connections to the database {where} {busy}", f"all connections to my database {busy}")
    if isinstance(error, OperationalError) and any(part in said for part in SERVER_BUSY):
        busy = "is held by another program for more than 5 s; end that program or try again"
        return Busy(f"the database {where} {busy}", f"my database {busy}")
    if isinstance(error, OperationalError) and not isinstance(error.orig, sqlite3.Error):
        return Away(
            f"the database {where} does not answer: {said}", "my database does not answer; see that its server runs"
        )
    return StoreError(f"the database {where} does not work: {said}")
