"""What a report of this week costs: 256 cards in 200 machines, seven days of lends and requests, what guests told summed up by the hour, and the
last ten minutes of it not summed up yet; against a bare loop that reads the same hours from the same file and adds up their busy seconds.

``python -m bench.report`` prints both and their ratio, and ends with 1 if the ratio is above 120.
"""

from __future__ import annotations

import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from bot.domain.draft import Changes
from bot.domain.inside import Device
from bot.domain.model import (
    Card,
    Lease,
    LeaseState,
    Line,
    Machine,
    Reading,
    Request,
    RequestState,
    Terms,
)
from bot.domain.report import this_week
from bot.edges.store import SqlStore, open_store
from bot.service.reporting import report_of

CARDS, MACHINES, HOSTS = 256, 200, 64
TURNS = 5
MOST = 120.0

ZONE, HOUR = "Europe/Berlin", timedelta(hours=1)
BEGIN = datetime(2026, 11, 29, 23, tzinfo=UTC)
"""A Monday, 0:00 in Berlin."""
NOW = BEGIN + timedelta(days=7) - timedelta(minutes=3)


def leases(chance: Random, machines: list[Machine]) -> Iterator[Lease]:
    """Each card lent, one after the other, for all of the week."""
    number = 0
    for n in range(CARDS):
        mine, at = [m for m in machines if m.host == f"host-{n % HOSTS}"], BEGIN - chance.randrange(48) * HOUR
        while at < NOW:
            number, machine = number + 1, chance.choice(mine)
            end = at + chance.choice((4, 8, 24, 40)) * HOUR
            state, changed = (LeaseState.ENDED, end) if end < NOW else (LeaseState.ACTIVE, at)
            slots, label, works = (f"T4-{n + 1}",), str(number), at + timedelta(minutes=7)
            person, team = machine.owners[0], chance.choice(("red", "blue", ""))
            yield Lease(
                label, number, person, machine.uuid, "T4", slots, state, Terms(), at, changed, works, end, team=team
            )
            at = end + timedelta(minutes=chance.randrange(20, 200))


def requested(lease: Lease, chance: Random) -> Request:
    """What a lease came of."""
    asked, served = lease.since - timedelta(minutes=chance.randrange(600)), lease.active_since
    state = RequestState.SERVED if lease.state is LeaseState.ENDED else RequestState.LEASED
    return Request(
        lease.request, lease.person, "T4", 1, lease.machine, asked, state, changed=lease.changed, served=served
    )


def fill(store: SqlStore, path: Path) -> None:
    """A week of a busy site."""
    chance = Random(1)
    cards = [
        Card(f"T4-{n + 1}", "lab", f"host-{n % HOSTS}", f"host-{n % HOSTS}", f"0000:{n // HOSTS:02x}:00.0", "T4", uuid=f"GPU-{n + 1}")
        for n in range(CARDS)
    ]  # fmt: skip
    machines = [
        Machine(f"m-{n}", f"vm-{n}", "lab", (f"U{n % 100}",), host=f"host-{n % HOSTS}") for n in range(MACHINES)
    ]
    lent = list(leases(chance, machines))
    said = ("request.asked", "request.leased", "lease.cycle", "lease.active", "idle.asked")
    lines = [Line(BEGIN - timedelta(days=30), "bot", "card.seen", c.name) for c in cards]
    lines += [Line(x.since, "bot", what, f"#{x.label}", "why") for x in lent for what in said]
    with store.transaction() as transaction:
        transaction.books()
        puts = (*cards, *machines, *(requested(x, chance) for x in lent), *lent)
        transaction.record(Changes(puts, lines=tuple(lines)), ())
    hours: dict[tuple[str, str, str], tuple[int, int]] = {}
    for lease in lent:
        at = max(lease.since, BEGIN).replace(minute=0, second=0)
        while at < min(lease.end or NOW, NOW):
            key = lease.machine, f"GPU-{lease.slots[0].removeprefix('T4-')}", f"{at:%Y-%m-%d %H}:00:00.000000"
            hours[key] = 3_600_000, chance.choice((0, 0, 1_800_000, 3_600_000))
            at += HOUR
    with sqlite3.connect(path) as base:
        base.executemany(
            "INSERT INTO hour (machine, uuid, start, measured_ms, busy_ms) VALUES (?, ?, ?, ?, ?)",
            [(*key, *sums) for key, sums in hours.items()],
        )
    base.close()
    tell(store, [x for x in lent if x.state is LeaseState.ACTIVE])


def tell(store: SqlStore, working: list[Lease]) -> None:
    """The last ten minutes, of all machines."""
    on: dict[str, list[Device]] = {}
    for lease in working:
        name = f"GPU-{lease.slots[0].removeprefix('T4-')}"
        on.setdefault(lease.machine, []).append(Device(name, "Tesla T4", measured_s=60.0, busy_s=12.0))
    for n in range(10):
        at = NOW - timedelta(minutes=10 - n)
        for machine, devices in on.items():
            store.take_reading(
                Reading(machine, at, "boot", n + 1, False, len(devices), devices=tuple(devices), interval_s=60.0)
            )


def seconds(work: Callable[[], object]) -> float:
    """How long it takes of the processor: nothing else is measured that way."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def bare(path: Path) -> float:
    """The floor: all hours read and added up."""
    base = sqlite3.connect(path)
    try:
        return sum(busy / 1000 for _, _, _, busy in base.execute("SELECT machine, uuid, start, busy_ms FROM hour"))
    finally:
        base.close()


def main() -> int:
    """Measures, prints, and says whether the target is met."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gpubot.db"
        store = open_store(f"sqlite:///{path}", now=lambda: NOW)
        try:
            fill(store, path)
            books, week = store.read(), this_week(NOW, ZONE)
            floors, ours = [], []
            for _ in range(TURNS):
                floors.append(seconds(lambda: bare(path)))
                ours.append(seconds(lambda: report_of(store, books, week, NOW)))
        finally:
            store.close()
    floor, took = statistics.median(floors), statistics.median(ours)
    print(f"this week of {CARDS} cards: a report {took:.2f} s, its hours read bare {floor * 1e3:.0f} ms")
    print(f"  {took / floor:.0f} times (at most {MOST:.0f})")
    return 0 if took / floor <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
