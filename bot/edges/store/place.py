"""Where the database's file is, and whether it is still the one that was opened.

Called by ``engine`` for each transaction, by the store at each look for other writers, and by ``schema``. SQLite goes on writing into a
file that was removed or moved, and nobody ever reads that again; and whoever opens another file in its place finds our log beside it
and takes it for that file's own. So: what is lost stays lost for this process, nothing more is written, and our logs are put aside at
the end. It only looks and renames: it never opens the file, because closing it would drop SQLite's locks.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Engine, event

from bot.edges.store.errors import Absent, Lost, Missing

log = logging.getLogger("gpubot.store")

LOGS = ("-wal", "-shm")
"""What SQLite keeps beside the file while it is open."""

RESCUED, ASIDE = ".rescued-", ".lost-"
"""In the names of a copy that was made of a lost file, and of the logs of one."""

Identity = tuple[int, int]
"""Device and inode."""


def _real_now() -> datetime:
    return datetime.now(UTC)


def identity(path: Path) -> Identity | None:
    """Which file stands there; None: none. Raises OSError where that cannot be told."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


class Place:
    """The place of one open database; that of a server's (``path`` is None) is never lost. Safe for threads."""

    def __init__(self, path: Path | None) -> None:
        """The file must be there."""
        self.path = path.absolute() if path is not None else None
        self.now: Callable[[], datetime] = _real_now  # the bot's clock, for the words to people
        self.lost: Lost | None = None  # set once
        self._mine = identity(self.path) if self.path is not None else None
        self._logs: dict[Path, Identity] = {}
        self._seen_at: datetime | None = None

    def guard(self, engine: Engine) -> None:
        """Check before the commit of every transaction too: what is told as done is in the file that stands there."""
        if self.path is not None:
            event.listen(engine, "commit", lambda _connection: self.check())

    def check(self) -> None:
        """Raises Lost if the file is not the one that was opened (costs a few microseconds)."""
        if self.lost is None and self.path is not None:
            self._compare(self.path, self._mine, "file")
            self._seen_at = self.now()
        if self.lost is not None:
            raise self.lost

    def look(self) -> Lost | None:
        """The same with the logs beside it; what is lost, or None."""
        if self.lost is None and self.path is not None:
            self._compare(self.path, self._mine, "file")
            for end in LOGS:
                path = Path(f"{self.path}{end}")
                if path in self._logs:
                    self._compare(path, self._logs[path], "log")
                elif (found := _identity_or_none(path)) is not None:
                    self._logs[path] = found
            self._seen_at = self.now()
        return self.lost

    def _compare(self, path: Path, mine: Identity | None, what: str) -> None:
        try:
            found = identity(path)
        except OSError:
            return  # SQLite meets the same and says so
        if found != mine and self.lost is None:
            how = "was removed or moved" if found is None else "was replaced by another file"
            self.lost = Lost(
                f"the database {what} {path} {how}", f"my database {what} {how}", self._seen_at or self.now()
            )

    def rescue_path(self) -> Path:
        """A new name beside it for a copy of what was lost."""
        return Path(f"{self.path}{RESCUED}{datetime.now(UTC):%Y%m%d-%H%M%S}")

    def close(self) -> None:
        """After the last connection: if the file was lost, put aside those of its logs that are still there."""
        if self.lost is not None and self.path is not None:
            put_logs_aside(self.path, self._logs)


def _identity_or_none(path: Path) -> Identity | None:
    try:
        return identity(path)
    except OSError:
        return None


def put_logs_aside(path: Path, only: dict[Path, Identity] | None = None) -> list[Path]:
    """Rename the logs beside a file that is not theirs; returns their new names. ``only``: those that are these files."""
    moved = []
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    for end in LOGS:
        old = Path(f"{path}{end}")
        found = _identity_or_none(old)
        if found is None or (only is not None and only.get(old) != found):
            continue
        new = Path(f"{path}{ASIDE}{stamp}{end}")
        try:
            old.rename(new)
        except OSError as error:
            log.error("%s belongs to a file that is lost and cannot be moved (%s): move it away", old, error.strerror)
            continue
        moved.append(new)
    return moved


def refuse_absent(path: Path) -> None:
    """Before a database is used by who must not make one.

    :raises Absent: there is none, or an empty file
    :raises Missing: there was one
    """
    if path.is_dir() or (path.exists() and path.stat().st_size > 0):
        return
    if path.exists():
        raise Absent(f"the database {path} is an empty file")
    if path.parent.is_dir():
        refuse_remains(path)
    raise Absent(f"there is no database {path}")


def refuse_remains(path: Path) -> None:
    """Before a database is made where there is none: is there what a lost one leaves?

    :raises Missing: with what to do
    """
    names = sorted(p.name for p in path.parent.iterdir())
    rescued = [name for name in names if name.startswith(f"{path.name}{RESCUED}")]
    logs = [name for name in names if name == f"{path.name}{LOGS[0]}"]
    if not rescued and not logs:
        return
    copy = path.parent / rescued[-1] if rescued else "COPY"
    raise Missing(
        f"there is no database {path}, but {', '.join([*rescued, *logs])} beside it: the file was removed or moved while "
        f"a bot used it. Bring it back, or run `gpubot db restore {copy}`; to begin with an empty one, move "
        f"{'that' if len(rescued) + len(logs) == 1 else 'those'} away first"
    )
