"""Whether somebody else wrote the books.

Called by the store. Another process (``gpubot say``) is noticed by SQLite's ``data_version``, which costs no reading, and
then told from our own writing by the pulse less the pulses that we gave ourselves: a round's own writing must not wake the
next one.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import PoolProxiedConnection

from bot.edges.store import books as shelf
from bot.edges.store.engine import Gate


class Watch:
    """One a store."""

    def __init__(self, gate: Gate) -> None:
        """Connects when first asked."""
        self._gate = gate
        self._lock = threading.Lock()  # a commit and its count are one
        self._own = 0  # pulses given by this store
        self._raw: PoolProxiedConnection | None = None  # data_version is a connection's own
        self._version: Any = None
        self._beat = 0  # the pulse at that version

    @contextmanager
    def counting(self, own: Sequence[int]) -> Iterator[None]:
        """Held round a commit: counts what it wrote as ours if it succeeds. ``own`` is filled by then."""
        with self._lock:
            yield
            self._own += sum(own)

    def foreign(self) -> int:
        """How many pulses others gave."""
        with self._lock:
            if not self._gate.sqlite:
                with self._gate.reading() as connection:
                    return shelf.pulse(connection) - self._own
            if self._raw is None:
                self._raw = self._gate.engine.raw_connection()
            cursor = self._raw.cursor()
            version = cursor.execute("PRAGMA data_version").fetchone()[0]
            if version != self._version:
                self._beat = cursor.execute(shelf.PULSE_NOW).fetchone()[0]
                self._version = version
            cursor.close()
            return self._beat - self._own

    def copy_to(self, target: Path) -> bool:
        """Copy the whole database through the connection that is at hand, also if its file is lost; False if there is none.

        :raises sqlite3.Error, OSError: it cannot be written there
        """
        with self._lock:
            if self._raw is None or not isinstance(self._raw.driver_connection, sqlite3.Connection):
                return False
            target.touch(mode=0o600)
            with closing(sqlite3.connect(target)) as copy:
                self._raw.driver_connection.backup(copy)
            # If the log alone was lost, what is in it goes into the file, which still is the one that the next start opens.
            self._raw.driver_connection.execute("PRAGMA wal_checkpoint(FULL)").fetchall()
            return True

    def close(self) -> None:
        """Give the connection back."""
        with self._lock:
            if self._raw is not None:
                self._raw.close()
                self._raw = None
                self._version = None
