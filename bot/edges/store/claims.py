"""One bot a database: who claims it, and whether that process still lives.

Called by the store. A claim is kept by its heartbeat; where the claimer ran on this very machine and its process is gone
(killed, say), nobody waits for the heartbeat to run out. No guess otherwise: what cannot be seen counts as alive.
"""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection, delete, insert, select, update

from bot.edges.store.tables import ClaimRow, table

CLAIM = table(ClaimRow)


def place() -> str:
    """This machine, this boot of it and this space of process numbers; "" where that cannot be told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{socket.gethostname()}/{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def me() -> str:
    """This process in its place: its number alone may be given again, in a container it is always the same."""
    return f"{place()}#{_stat(os.getpid())[1]}" if place() else ""


def alive(there: str, pid: int) -> bool | None:
    """Whether a claimer's process lives; None: it cannot be seen from here. ``there``: what it said by :func:`me`."""
    where, _, began = there.partition("#")
    if not where or where != place():
        return None
    state, now_began = _stat(pid)
    # a killed process whose parent has not asked for it yet still has its number
    return state not in ("", "Z", "X") and now_began == began


def _stat(pid: int) -> tuple[str, str]:
    """State and start (ticks since the machine began) of a process; empty if there is none."""
    try:
        # the name in parentheses may contain anything
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""


def claim(connection: Connection, run: str, now: datetime, ttl: timedelta) -> bool:
    """Take or renew the right to be the bot; False if another one lives. In a writing transaction."""
    row = connection.execute(select(CLAIM)).mappings().first()
    mine = {"run": run, "seen": now, "place": me(), "pid": os.getpid()}
    if row is None:
        connection.execute(insert(CLAIM).values(id=1, **mine))
        return True
    fresh = abs(now - row["seen"]) < ttl
    # Both ways: the clock of the one before may have been far ahead. Our own process number: an earlier bot of this process.
    if row["run"] != run and fresh and alive(row["place"], row["pid"]) is not False:
        return False
    connection.execute(update(CLAIM).values(**mine))
    return True


def claimed(connection: Connection, now: datetime, ttl: timedelta) -> bool:
    """Whether a bot lives on the database: its process does, or where that cannot be seen, its heartbeat is fresh. Writes nothing."""
    row = connection.execute(select(CLAIM)).mappings().first()
    if row is None:
        return False
    lives = alive(row["place"], row["pid"])
    return lives if lives is not None else abs(now - row["seen"]) < ttl


def resign(connection: Connection, run: str) -> None:
    """Give it back, if it is ours."""
    connection.execute(delete(CLAIM).where(CLAIM.c.run == run))
