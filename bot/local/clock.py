"""Time for the stand-ins: real, or virtual as ``GPUBOT_CLOCK`` says.

The clock file is JSON, ``{"real0": unix seconds, "virtual0": unix seconds, "speed": virtual seconds a real second}``;
virtual now is ``virtual0 + (real now - real0) * speed``. The file is replaced whole (atomic rename) and read again when
its stat changes. Without a file, virtual time is real time. Called by every stand-in; it must not be used for socket
limits or sessions, which live in real time.
"""

from __future__ import annotations

import heapq
import itertools
import json
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

POLL_S = 0.04  # real seconds: how soon a replaced clock file is noticed by a sleeper


@dataclass(frozen=True)
class Rate:
    """One content of a clock file."""

    real0: float  # unix seconds, real
    virtual0: float  # unix seconds, virtual, at real0
    speed: float  # virtual seconds a real second; 0 stands still

    def at(self, real: float) -> float:
        """Virtual unix seconds at the real unix seconds ``real``."""
        return self.virtual0 + (real - self.real0) * self.speed


class Clock:
    """Reads a clock file, cheaply: one ``stat`` a call, a read only when that changed.

    A file that is missing or half written keeps the last good content; before the first good content time is real.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        """``path``: the clock file; None: the one that ``GPUBOT_CLOCK`` names, if any."""
        named = path if path is not None else os.environ.get("GPUBOT_CLOCK") or None
        self.path = Path(named) if named is not None else None
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._rate = Rate(0.0, 0.0, 1.0)

    def rate(self) -> Rate:
        """The content in force now."""
        if self.path is None:
            return self._rate
        with self._lock:
            try:
                stat = self.path.stat()
                stamp = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
                if stamp != self._stamp:
                    self._rate = _parse(self.path.read_text())
                    self._stamp = stamp
            except (OSError, ValueError, KeyError, TypeError):
                pass  # between two contents: the last good one holds
            return self._rate

    def unix(self) -> float:
        """Virtual unix seconds now."""
        return self.rate().at(time.time())

    def now(self) -> datetime:
        """Virtual now, aware, UTC."""
        return datetime.fromtimestamp(self.unix(), UTC)

    def real_wait(self, until: float) -> float:
        """Real seconds to sleep before looking again whether virtual ``until`` (unix seconds) has come; 0: it has."""
        rate = self.rate()
        left = until - rate.at(time.time())
        if left <= 0:
            return 0.0
        if self.path is None:
            return left
        return POLL_S if rate.speed <= 0 else min(POLL_S, max(left / rate.speed, 0.0005))

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        """Sleep ``seconds`` of virtual time; see ``sleep_until``."""
        return self.sleep_until(self.unix() + seconds, stop)

    def sleep_until(self, until: float, stop: threading.Event | None = None) -> bool:
        """Sleep until virtual ``until`` (unix seconds), following a replaced clock file; False if ``stop`` came first."""
        gate = stop or threading.Event()
        while (wait := self.real_wait(until)) > 0:
            if gate.wait(min(wait, 3600.0)):
                return False
        return True


def _parse(text: str) -> Rate:
    raw = json.loads(text)
    return Rate(float(raw["real0"]), float(raw["virtual0"]), float(raw["speed"]))


def write_clock(path: Path, rate: Rate) -> None:
    """Replace the clock file ``path`` whole."""
    new = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    new.write_text(json.dumps({"real0": rate.real0, "virtual0": rate.virtual0, "speed": rate.speed}))
    new.replace(path)


class Timer:
    """A call that is still to come."""

    __slots__ = ("call", "due", "off")

    def __init__(self, due: float, call: Callable[[], None]) -> None:
        """``due`` in virtual unix seconds."""
        self.due, self.call, self.off = due, call, False

    def cancel(self) -> None:
        """Do not call any more (a call that has begun goes on)."""
        self.off = True


class Timers:
    """One thread that makes calls when their virtual time has come, in order of that time.

    A jump of the clock makes all calls that it passed, oldest first. Calls must be short.
    """

    def __init__(self, clock: Clock, name: str = "timers") -> None:
        """Nothing runs before ``start``."""
        self.clock = clock
        self._cond = threading.Condition()
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to make calls."""
        self._thread.start()

    def stop(self) -> None:
        """Make no more calls; returns when the thread has ended (or at once when called from it)."""
        with self._cond:
            self._stopped = True
            self._cond.notify_all()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(5)

    def after(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Call ``call`` when ``seconds`` of virtual time have passed."""
        timer = Timer(self.clock.unix() + seconds, call)
        with self._cond:
            heapq.heappush(self._heap, (timer.due, next(self._order), timer))
            self._cond.notify_all()
        return timer

    def next_due(self) -> float | None:
        """When the next call is due, virtual unix seconds; None: there is none."""
        with self._cond:
            while self._heap and self._heap[0][2].off:
                heapq.heappop(self._heap)
            return self._heap[0][0] if self._heap else None

    def run_due(self) -> None:
        """Make the calls whose time has come, in the caller's thread: for a world that is moved by hand and never started."""
        while (due := self.next_due()) is not None and due <= self.clock.unix():
            with self._cond:
                timer = heapq.heappop(self._heap)[2]
            timer.call()

    def _next(self) -> Timer | None:
        with self._cond:
            while not self._stopped:
                while self._heap and self._heap[0][2].off:
                    heapq.heappop(self._heap)
                wait = self.clock.real_wait(self._heap[0][0]) if self._heap else None
                if wait == 0.0:
                    return heapq.heappop(self._heap)[2]
                self._cond.wait(wait if wait is None else min(wait, 3600.0))
        return None

    def _run(self) -> None:
        while (timer := self._next()) is not None:
            if timer.off:
                continue
            try:
                timer.call()
            except Exception:
                logging.getLogger(__name__).exception("a timed call failed")
