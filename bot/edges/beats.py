"""The beat of the rounds. The only home of apscheduler.

Wiring hands it the round; it runs that on one thread, one at a time, at the interval that is asked after each round, and
soon after ``wake``. A wake is never lost: a round begins after it. It must not decide anything: deadlines are decided by
rounds from ``now``.

Two traps are kept out here. apscheduler 3 drops a "run now" job whose namesake still runs: so two instances are allowed on
one thread, and a wake during a round is kept by a flag. And it waits by the machine's wall clock, which may be set back: so
a beat that is late by the steady clock is given all the same.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

log = logging.getLogger("gpubot.beats")

SHORTEST_S = 0.5  # real seconds from the start of a round to that of the next: at most two a second
LATE_S = 0.5  # real seconds after which a beat that did not come is given by the watch
WATCH_S = 0.05  # real seconds between two looks at what is watched
FALLBACK_S = 15.0  # real seconds, if asking for the interval fails


@dataclass(frozen=True)
class Watch:
    """Something that wakes a round when it changes, looked at on a small thread of its own."""

    name: str  # for the thread and the log
    ask: Callable[[], object]  # cheap; a new answer (by ==) wakes a round
    every_s: float = WATCH_S  # real seconds between two looks


def wall() -> datetime:
    """The machine's clock, by which apscheduler waits."""
    return datetime.now(UTC)


class Beats:
    """Gives the beat from ``start`` to ``stop``. Safe for threads."""

    def __init__(
        self,
        round_: Callable[[], object],
        every: Callable[[], float],
        *,
        speed: Callable[[], float] = lambda: 1.0,
        watches: Sequence[Watch] = (),
        wall: Callable[[], datetime] = wall,
    ) -> None:
        """
        :param round_: one round; what it raises is logged, and the next one comes all the same
        :param every: virtual seconds until the next round, asked after each
        :param speed: virtual seconds a real second
        :param watches: what wakes a round when it changes (the clock file, other writers of the database)
        :param wall: the machine's clock
        """
        self._round, self._every, self._speed, self._wall = round_, every, speed, wall
        self._lock = threading.Lock()  # guards the five below
        self._running = False
        self._woken = False  # during the running round
        self._stopped = False
        self._began = float("-inf")  # steady seconds, start of the latest round
        self._due = float("inf")  # steady seconds of the next
        self._end = threading.Event()
        self._thread: int | None = None
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 2},
        )
        mine = (*watches, Watch("late", self._late))
        self._watchers = [threading.Thread(target=self._watch, args=(w,), name=f"watch {w.name}") for w in mine]
        logging.getLogger("apscheduler").setLevel(logging.ERROR)  # each beat would be told twice

    def start(self) -> None:
        """Begin: the first round at once."""
        self._scheduler.start()
        for watcher in self._watchers:
            watcher.daemon = True
            watcher.start()
        self.wake()

    def wake(self) -> None:
        """Let a round begin soon. Returns at once; does nothing after ``stop``."""
        with self._lock:
            if self._running:
                self._woken = True
            else:
                self._set(time.monotonic())

    def stop(self) -> None:
        """No further round; returns when the running one has ended (at once if called from it)."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
        self._end.set()
        if not self._scheduler.running:
            return  # never started
        mine = threading.get_ident()
        # waits until the scheduler has handed on what was due: it must not meet a pool that is shut down
        self._scheduler.remove_all_jobs()
        self._scheduler.shutdown(wait=self._thread != mine)
        for watcher in self._watchers:
            if watcher.ident not in (None, mine):
                watcher.join(5)

    def _set(self, due: float) -> None:
        """The next round begins at ``due`` (steady seconds), or as soon after as is allowed. Called with the lock."""
        if self._stopped:
            return
        due = max(due, self._began + SHORTEST_S)
        self._due = due
        at = self._wall() + timedelta(seconds=max(0.0, due - time.monotonic()))
        self._scheduler.add_job(self._beat, "date", run_date=at, id="round", replace_existing=True)

    def _beat(self) -> None:
        with self._lock:
            if self._stopped or self._running or time.monotonic() < self._due - 0.001:
                return  # a second instance: the round it stood for has begun, or is set for later
            self._running, self._woken = True, False
            self._began, self._due = time.monotonic(), float("inf")
            self._thread = threading.get_ident()
        try:
            self._round()
        except Exception:  # one failed round stops nobody; the cause is in the log
            log.exception("a round failed")
        finally:
            pause = self._pause()
            with self._lock:
                self._running, self._thread = False, None
                self._set(time.monotonic() if self._woken else self._began + pause)

    def _pause(self) -> float:
        """Real seconds between the starts of this round and the next."""
        try:
            virtual, speed = self._every(), self._speed()
        except Exception:  # without an interval the beat goes on
            log.exception("no interval for the next round")
            return FALLBACK_S
        # slower than real, or standing still: people do not wait longer for that
        return virtual / speed if speed > 1 else virtual

    # ---- watching

    def _watch(self, watch: Watch) -> None:
        before, failed = self._ask(watch, False)
        while not self._end.wait(watch.every_s):
            after, failed = self._ask(watch, failed)
            if not failed and after != before:
                before = after
                self.wake()

    def _ask(self, watch: Watch, failed: bool) -> tuple[object, bool]:
        """The answer, and whether asking failed; only the first failure in a row is told."""
        try:
            return watch.ask(), False
        except Exception:  # told, and asked again
            if not failed:
                log.exception("cannot watch %s", watch.name)
            return None, True

    def _late(self) -> int:
        """Counts the beats that did not come in time by the steady clock, each of which wakes a round."""
        with self._lock:
            if not self._running and not self._stopped and time.monotonic() > self._due + LATE_S:
                self._set(time.monotonic())
        return 0
