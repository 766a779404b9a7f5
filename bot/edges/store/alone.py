"""One drill of a machine at a time: a mark that lives exactly as long as the process that set it.

Called by the store. The system keeps it and takes it back, also after ``kill -9``: beside a file's database it is the lock of a file, on a server
the lock of a session. A heartbeat in the books would outlive its process, and end in one that is only stopped for a while.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

from bot.edges.store.engine import Gate
from bot.edges.store.errors import NotWritable, plain_words

SPACE = 0x6470
"""Sets these locks of a server apart from others'."""


@contextmanager
def alone(gate: Gate, what: str) -> Iterator[bool]:
    """Whether nobody else is at it; nobody else is until the end, then.

    :raises StoreError: no mark can be set: the server does not answer, or nothing may be written beside the file
    """
    key = zlib.crc32(what.encode())
    if not gate.sqlite:
        with plain_words(gate.where), gate.engine.connect() as connection:
            held = bool(
                connection.scalar(
                    text("SELECT pg_try_advisory_lock(:space, :key)"), {"space": SPACE, "key": key - 2**31}
                )
            )
            connection.commit()  # the lock is the session's; no transaction stays open for it
            try:
                yield held
            finally:
                connection.invalidate()  # ends the session, and with it the lock, whether the server answers or not
        return
    path = Path(f"{gate.where}.{key:08x}.drill")
    try:
        mark = _locked(path)
    except OSError as error:
        raise NotWritable(f"no mark of a drill can be set beside the database: {error}") from error
    try:
        yield mark is not None
    finally:
        if mark is not None:
            path.unlink(missing_ok=True)  # while it is locked: who opened it before sees that it is another one now
            os.close(mark)


def _locked(path: Path) -> int | None:
    """The file, open and locked; None: somebody else has it. One that is left by who was killed is locked by nobody."""
    while True:
        mark = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(path) and os.path.samestat(os.fstat(mark), os.stat(path)):
                return mark
        except BlockingIOError:
            os.close(mark)
            return None
        except FileNotFoundError:
            pass  # taken away between the two
        os.close(mark)
