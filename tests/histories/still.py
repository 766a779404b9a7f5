"""Time and threads that a history holds in its hand: a clock that goes when it is told to, and a pool that works when it is told to."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from datetime import UTC, datetime
from typing import Any

from bot.local.clock import Clock, Timers
from tests.fakes import MONDAY


class StillClock(Clock):
    """One clock for the bot and for the stand-in: it stands still between two steps of a history."""

    def __init__(self, at: datetime = MONDAY) -> None:
        super().__init__()
        self.path = None
        self.at = at.timestamp()

    def unix(self) -> float:
        """Virtual unix seconds."""
        return self.at

    def now(self) -> datetime:
        """Virtual now."""
        return datetime.fromtimestamp(self.at, UTC)

    def real(self) -> float:
        """Real seconds go with it."""
        return self.at

    def real_wait(self, until: float) -> float:
        """Nobody sleeps it through: threads that wait for a time are passed over, and `go` makes their calls."""
        return 3600.0

    def go(self, seconds: float, timers: Timers) -> None:
        """Time passes, and what is due on the way happens in its order."""
        end = self.at + seconds
        while (due := timers.next_due()) is not None and due <= end:
            self.at = max(self.at, due)
            timers.run_due()
        self.at = end


class Later(Executor):
    """Keeps what it is given until `work`: a bot that is killed before has written its call down and never made it."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """To be done at `work`."""
        future: Future[Any] = Future()
        self._waiting.append((future, lambda: fn(*args, **kwargs)))
        return future

    def __len__(self) -> int:
        return len(self._waiting)

    def work(self) -> None:
        """Do all of it, here and now."""
        while self._waiting:
            future, job = self._waiting.popleft()
            try:
                future.set_result(job())
            except BaseException:
                future.cancel()
                raise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """What waits is never done."""
        self._waiting.clear()


class RealSeconds:
    """The bot's clock where sockets are real: their patience is real too."""

    def __init__(self, clock: StillClock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        """Virtual now."""
        return self._clock.now()

    def real(self) -> float:
        """Real seconds."""
        return time.monotonic()
