"""Time for the bot: real, or virtual as a clock file says.

The file is JSON, ``{"real0": unix seconds, "virtual0": unix seconds, "speed": virtual seconds a real second}``; virtual now
is ``virtual0 + (real now - real0) * speed``. It is replaced whole and read again when its stat changes; without one, time
is real. Wiring makes one and hands it round as the Clock of ``service.ports``. It must not be used for the limits of
sockets or the lives of tokens: those ask :meth:`FileClock.real`.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

EARLIEST, LATEST = datetime(1971, 1, 1, tzinfo=UTC).timestamp(), datetime(9000, 1, 1, tzinfo=UTC).timestamp()
"""Virtual times outside of these are taken for a mistake in the file."""


@dataclass(frozen=True)
class Rate:
    """One content of a clock file."""

    real0: float  # unix seconds, real
    virtual0: float  # unix seconds, virtual, at real0
    speed: float  # virtual seconds a real second; 0 stands still

    def at(self, wall: float) -> float:
        """Virtual unix seconds at the real unix seconds ``wall``."""
        return self.virtual0 + (wall - self.real0) * self.speed


REAL = Rate(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class _Mark:
    """Where the clocks stood when the jump was last asked."""

    generation: int  # of the clock file
    steady: float  # monotonic seconds
    virtual: float  # virtual unix seconds


class FileClock:
    """The Clock port. Safe for threads; one ``stat`` a call, a read only when that changed.

    A file that is missing or half written keeps the last good content; before the first good one time is real.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """``path``: the clock file, None for real time. ``wall``, ``steady``: the machine's clocks (unix, monotonic)."""
        self.path = Path(path) if path else None
        self._wall, self._steady = wall, steady
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._rate = REAL
        self._generation = 0
        self._mark = _Mark(0, 0.0, 0.0)
        with self._lock:
            self._mark = self._look()

    def now(self) -> datetime:
        """Virtual now, aware UTC."""
        with self._lock:
            return datetime.fromtimestamp(min(max(self._read().at(self._wall()), EARLIEST), LATEST), UTC)

    def real(self) -> float:
        """Real seconds that only ever grow, for deadlines of sockets and threads."""
        return self._steady()

    def wall(self) -> datetime:
        """Real now, aware UTC: for what must not follow the virtual clock, as the bot's claim on its database."""
        return datetime.fromtimestamp(self._wall(), UTC)

    def unusable(self) -> str:
        """Why there was no good content yet, so that time is real although a file is named; "" there was, or none is named."""
        if self.path is None:
            return ""
        with self._lock:
            self._read()
            if self._generation:
                return ""
            try:
                _parse(self.path.read_text(), self._wall())
            except OSError as error:
                return f"it cannot be read ({error.strerror})"
            except (ValueError, KeyError, TypeError):
                return "its content gives no time between 1971 and 9000"
        return ""  # it has come this very moment

    @property
    def speed(self) -> float:
        """Virtual seconds a real second; 0: time stands still."""
        with self._lock:
            return self._read().speed

    def generation(self) -> int:
        """Grows by one each time a new content of the file is met. Whoever watches it can wake a round."""
        with self._lock:
            self._read()
            return self._generation

    def jump(self) -> float:
        """Virtual seconds by which the clock went ahead (or back, negative) of the steady one since the last asking.

        Replacing the clock file is no jump: what is told then counts from the moment the new content was met.
        """
        with self._lock:
            self._read()
            before, after = self._mark, self._look()
            self._mark = after
            if before.generation != after.generation:
                return 0.0
            return after.virtual - before.virtual - (after.steady - before.steady) * self._rate.speed

    def _look(self) -> _Mark:
        rate = self._read()
        return _Mark(self._generation, self._steady(), rate.at(self._wall()))

    def _read(self) -> Rate:
        if self.path is None:
            return self._rate
        try:
            stat = self.path.stat()
            stamp = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if stamp != self._stamp:
                self._rate = _parse(self.path.read_text(), self._wall())
                self._stamp = stamp
                self._generation += 1
        except (OSError, ValueError, KeyError, TypeError):
            pass  # between two contents: the last good one holds
        return self._rate


def _parse(text: str, wall: float) -> Rate:
    """The content. Raises ValueError, KeyError or TypeError for one that gives no time."""
    raw = json.loads(text)
    rate = Rate(float(raw["real0"]), float(raw["virtual0"]), float(raw["speed"]))
    if rate.speed < 0 or not math.isfinite(rate.speed) or not EARLIEST <= rate.at(wall) <= LATEST:
        raise ValueError("a clock file that gives no time")
    return rate
