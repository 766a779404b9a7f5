"""What the clocks of idle detection cost: one minute of each of 10,000 devices judged and folded in, against a loop that only sums what
the same minutes say of seconds with work, by device, as the simplest idle detection would.

``python -m bench.verdicts`` prints both and their ratio, and ends with 1 if the ratio is above 10.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from bot.domain.idle import fold
from bot.domain.inside import Minute, Verdict, Watch
from bot.domain.policy import Policy

DEVICES = 10_000
TURNS = 9  # of each, one after the other; the fastest counts, for neighbours on the machine only make slower
MOST = 10.0

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
LENGTH = timedelta(seconds=60)


def minutes(number: int) -> list[Minute]:
    """One of each device: a third works, the others are quiet, and every twentieth is not measured."""
    start = START + number * LENGTH
    made = []
    for i in range(DEVICES):
        busy = i % 3 == 0
        minute = Minute(
            id=number * DEVICES + i + 1,
            machine=f"machine-{i // 4}",
            uuid=f"GPU-{i}",
            start=start,
            end=start + LENGTH,
            at=start + LENGTH,
            boot_id="boot",
            measured_s=59.0,
            busy_s=20.0 if busy else 0.0,
            top=95.0 if busy else 0.0,
            energy_j=1200.0,
            mem_mb=9800.0,
            mem_total_mb=15360.0,
            processes=1,
            cpu=0.1,
        )
        made.append(minute if i % 20 else replace(minute, measured_s=None, busy_s=None, top=None))
    return made


def folded(watches: list[Watch], told: list[Minute], policy: Policy) -> list[Watch]:
    """Ours: every minute into its clocks."""
    return [fold(watch, minute, policy) for watch, minute in zip(watches, told, strict=True)]


def summed(told: list[Minute], busy: dict[tuple[str, str], float]) -> None:
    """The floor: seconds with work, by device."""
    for minute in told:
        if minute.busy_s is not None:
            key = (minute.machine, minute.uuid)
            busy[key] = busy.get(key, 0.0) + minute.busy_s


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, without the collector of garbage."""
    gc.collect()
    gc.disable()
    try:
        begin = time.process_time()
        work()
        return time.process_time() - begin
    finally:
        gc.enable()


def measure() -> tuple[float, float]:
    """Seconds of a fold of all devices, and of the floor."""
    policy = Policy(level="act")
    watches = [Watch(f"T4-{i}", str(i), START - LENGTH, f"machine-{i // 4}", f"GPU-{i}") for i in range(DEVICES)]
    for number in range(3):
        watches = folded(watches, minutes(number), policy)
    ours, floor, busy = [], [], dict[tuple[str, str], float]()
    for turn in range(TURNS):
        told = minutes(3 + turn)
        made: list[Watch] = []
        ours.append(seconds(partial(_fold_into, made, watches, told, policy)))
        floor.append(seconds(partial(summed, told, busy)))
        watches = made
    assert sum(w.verdict is Verdict.BUSY for w in watches) > DEVICES / 4, "a third of them works"
    assert sum(w.quiet_s > 0 for w in watches) > DEVICES / 2, "the others are quiet"
    return min(ours), min(floor)


def _fold_into(made: list[Watch], watches: list[Watch], told: list[Minute], policy: Policy) -> None:
    made.extend(folded(watches, told, policy))


def main() -> int:
    """Print the figures; 1 if the target is missed."""
    ours, floor = measure()
    ratio = ours / floor
    print(
        f"verdicts: {DEVICES} devices in {ours * 1000:.1f} ms, a loop that sums their busy seconds {floor * 1000:.1f} ms"
    )
    print(f"verdicts: ratio {ratio:.1f} (at most {MOST:.0f})")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
