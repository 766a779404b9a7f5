"""Counting of calls, and the hold: a changing call of the bot that is kept waiting so that a test can kill the bot there.

Called by ``server`` around each call, outside the inventory's lock; steered by ``drive``.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

POLL_S = 0.05  # real seconds between looks whether the client still lives


@dataclass
class Held:
    """A call that waits."""

    method: str  # its name on the wire
    vm: str  # moid of the VM
    since: float  # unix seconds, real
    gone: bool = False  # the client has closed the connection


class Counts:
    """Calls by user and method; ``-`` is nobody logged in."""

    def __init__(self) -> None:
        """All zero."""
        self._lock = threading.Lock()
        self._seen: Counter[tuple[str, str]] = Counter()

    def add(self, user: str, method: str) -> None:
        """Count one."""
        with self._lock:
            self._seen[user, method] += 1

    def reset(self) -> None:
        """All zero again."""
        with self._lock:
            self._seen.clear()

    def shown(self) -> dict[str, Any]:
        """``{"total": n, "methods": {method: n}, "users": {user: {method: n}}}``."""
        with self._lock:
            methods: Counter[str] = Counter()
            users: dict[str, dict[str, int]] = {}
            for (user, method), number in sorted(self._seen.items()):
                methods[method] += number
                users.setdefault(user, {})[method] = number
            return {"total": sum(methods.values()), "methods": dict(methods), "users": users}


class Reach:
    """Whether the API can be reached, and if not, how it fails. Steered by ``drive``."""

    HOWS = ("up", "drop", "503", "silent")

    def __init__(self) -> None:
        """Up."""
        self._cond = threading.Condition()
        self.how = "up"

    def set(self, how: str) -> None:
        """``drop``: each connection is closed; ``503``: an overloaded proxy; ``silent``: accepts and says nothing; ``up``."""
        if how not in self.HOWS:
            raise ValueError(f"how is one of {', '.join(self.HOWS)}")
        with self._cond:
            self.how = how
            self._cond.notify_all()

    def end(self, how: str) -> None:
        """Up again, if it still fails in this way."""
        with self._cond:
            if self.how == how:
                self.how = "up"
                self._cond.notify_all()

    def silence(self, gone: Callable[[], bool]) -> None:
        """Say nothing as long as it is silent and the client is there."""
        with self._cond:
            while self.how == "silent" and not gone():
                self._cond.wait(POLL_S)


class Hold:
    """Holds the n-th changing call from when it is armed, before or after its execution, until released.

    When the client goes away meanwhile, a call held *before* is not executed (``late`` set: it is, at the release, as by a
    server that had read it but was slow), and the thread ends.
    """

    def __init__(self) -> None:
        """Nothing is held."""
        self._cond = threading.Condition()
        self._stopped = False
        self.n, self.when, self.late = 0, "before", False
        self.seen = 0  # changing calls since it was armed
        self.total = 0  # changing calls in all
        self.held: Held | None = None
        self.last: dict[str, Any] | None = None  # how the last hold ended
        self._answer: str | None = None  # "go" or "drop"

    def arm(self, n: int, when: str, late: bool = False) -> None:
        """Hold the ``n``-th changing call from now, 1 the next, 0 none; ``when``: before or after. Releases what is held."""
        if when not in ("before", "after") or n < 0:
            raise ValueError("n is 0 or more, when is 'before' or 'after'")
        with self._cond:
            if self.held is not None:
                self._answer = "go"
            self.n, self.when, self.late, self.seen = n, when, late, 0
            self._cond.notify_all()

    def release(self, drop: bool) -> bool:
        """Let the held call go on, or drop its connection; False if nothing is held."""
        with self._cond:
            if self.held is None:
                return False
            self._answer = "drop" if drop else "go"
            self._cond.notify_all()
            return True

    def stop(self) -> None:
        """Drop what is held, hold nothing more."""
        with self._cond:
            self._stopped, self._answer, self.n = True, "drop", 0
            self._cond.notify_all()

    def count(self) -> str | None:
        """Count one changing call; "before" or "after" if this is the one to hold."""
        with self._cond:
            self.total += 1
            self.seen += 1
            if self.n and self.seen == self.n and self.held is None and not self._stopped:
                self.n = 0
                return self.when
            return None

    def wait(self, method: str, vm: str, gone: Callable[[], bool]) -> str:
        """Hold here; returns "go", "drop" (close the connection) or "late" (execute, then close)."""
        with self._cond:
            held = self.held = Held(method, vm, time.time())
            self._answer = None
            self._cond.notify_all()
            while self._answer is None:
                self._cond.wait(POLL_S)
                if not held.gone and gone():
                    held.gone = True
                if held.gone and not self.late:
                    break
            answer = self._answer or "drop"
            if held.gone and answer == "go":
                answer = "late"
            self.held, self._answer = None, None
            self.last = {"method": method, "vm": vm, "ended": answer, "client_gone": held.gone}
            return answer

    def shown(self) -> dict[str, Any]:
        """For the drive."""
        with self._cond:
            held = self.held
            return {
                "armed": self.n > 0,
                "n": self.n,
                "when": self.when,
                "seen": self.seen,
                "total": self.total,
                "held": None
                if held is None
                else {"method": held.method, "vm": held.vm, "since": held.since, "client_gone": held.gone},
                "last": self.last,
            }
