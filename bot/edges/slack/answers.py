"""Sends what people asked for, off the listeners' threads: a few workers, one lane a place, each lane in order.

``app`` hands it every answer that does not go with an ack. A job that is told to try later waits in its lane without holding up a
thread; the other lanes go on. An answer is worth little after a while, so it is given up then, with a line in the log.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from bot.service.ports import TryLater, VoiceError

log = logging.getLogger(__name__)

WORKERS = 4
"""Answers that may be on their way to Slack at once."""

WORTH = 120.0
"""Real seconds after which an answer is not sent any more."""


@dataclass(frozen=True)
class _Job:
    """One answer."""

    send: Callable[[], None]  # raises VoiceError
    what: str  # for the log
    until: float  # real seconds (monotonic) at which it is given up


class Answers:
    """Thread-safe; one for a process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, workers: int = WORKERS) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._lanes: dict[str, deque[_Job]] = {}
        self._due: list[tuple[float, int, str]] = []  # lanes that nobody works on: (not before, order, lane)
        self._order = itertools.count()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"answer-{n}", daemon=True) for n in range(workers)]
        for thread in self._threads:
            thread.start()

    def send(self, lane: str, what: str, job: Callable[[], None]) -> None:
        """Send one answer after those of its lane. ``job`` raises VoiceError; ``what``: for the log."""
        with self._changed:
            if self._closed:
                return
            waiting = self._lanes.get(lane)
            if waiting is None:
                self._lanes[lane] = waiting = deque()
                heapq.heappush(self._due, (self._clock(), next(self._order), lane))
            waiting.append(_Job(job, what, self._clock() + WORTH))
            self._changed.notify_all()

    def close(self, patience: float = 2.0) -> None:
        """Send what can be sent within ``patience`` real seconds, then end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._lanes, patience)
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(patience)

    # ---- inside

    def _work(self) -> None:
        while (lane := self._next()) is not None:
            self._first_of(lane)

    def _next(self) -> str | None:
        """A lane whose time has come; None at the end."""
        with self._changed:
            while not self._closed:
                ahead = self._due[0][0] - self._clock() if self._due else None
                if ahead is not None and ahead <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(ahead)
        return None

    def _first_of(self, lane: str) -> None:
        """Send the first answer of a lane that nobody else works on, and give the lane back."""
        job = self._lanes[lane][0]
        again_at = self._clock()
        done = True
        try:
            job.send()
        except TryLater as later:
            again_at += later.after.total_seconds()
            done = again_at > job.until
            log.warning("%s %s: %s", job.what, "is given up" if done else "waits", later)
        except VoiceError as error:
            log.warning("%s could not be sent: %s", job.what, error)
        except Exception:
            log.exception("%s failed", job.what)
        with self._changed:
            if done:
                self._lanes[lane].popleft()
            if self._lanes[lane]:
                heapq.heappush(self._due, (again_at if not done else self._clock(), next(self._order), lane))
            else:
                del self._lanes[lane]
            self._changed.notify_all()
