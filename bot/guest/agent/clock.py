"""The agent's time: seconds since the boot of the guest, which no one can set, sleep included.

Tests and demos let it run faster; whatever is measured by the kernel (processor time, ages of processes) stays in real seconds.
"""

from __future__ import annotations

import threading
import time
from datetime import datetime, timezone


def boottime() -> float:
    """Real seconds since the boot, the time that the machine slept included."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Clock:
    """``speed``: seconds of the agent's time in a real second (1, but for tests and demos)."""

    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed

    def now(self) -> float:
        """Seconds since the boot, in the agent's time."""
        return boottime() * self.speed

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Until the event is set, or so many seconds of the agent's time at most; whether it is set."""
        return event.wait(max(0.0, seconds) / self.speed)


def stamp(unix: float | None = None) -> str:
    """An instant by the guest's clock (Unix seconds; None: now), as the wire has it: UTC."""
    at = time.time() if unix is None else unix
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
