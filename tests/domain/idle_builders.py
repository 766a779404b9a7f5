"""Minutes and clocks for the tests of idle detection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain.idle import fold
from bot.domain.inside import Minute, Watch
from bot.domain.policy import Policy
from tests.domain.world import MONDAY_10

POLICY = Policy(level="act")
NUDGING = replace(Policy(level="act"), idle=replace(Policy().idle, nudge=True))
MIN = timedelta(minutes=1)
NAN = float("nan")


def watch(**fields: Any) -> Watch:
    """Clocks of a lease that began at ten."""
    return replace(Watch("T4-1", "1", MONDAY_10, "uuid-vm-python", "GPU-1"), **fields)


def minute(number: int, **fields: Any) -> Minute:
    """The n-th minute after ten: quiet and measured whole, no process."""
    start = MONDAY_10 + number * MIN
    base: dict[str, Any] = {
        "id": number + 1, "machine": "uuid-vm-python", "uuid": "GPU-1", "start": start, "end": start + MIN, "at": start + MIN,
        "boot_id": "boot", "measured_s": 60.0, "busy_s": 0.0, "top": 0.0, "mem_mb": 0.0, "mem_total_mb": 15360.0, "processes": 0,
    }  # fmt: skip
    return Minute(**{**base, **fields})


BUSY: dict[str, Any] = {"top": 97.0, "busy_s": 30.0, "processes": 1, "mem_mb": 9800.0}
NOTHING: dict[str, Any] = {"top": None, "busy_s": None, "measured_s": None, "processes": None, "mem_mb": None}
HELD: dict[str, Any] = {"processes": 1, "mem_mb": 9800.0}


def folded(watch: Watch, minutes: Iterable[Minute], policy: Policy = POLICY, back: datetime | None = None) -> Watch:
    """The clocks after some minutes."""
    for one in minutes:
        watch = fold(watch, one, policy, back)
    return watch
