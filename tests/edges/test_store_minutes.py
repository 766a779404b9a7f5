"""Minutes and the hours that they become: exact, in small pieces, forgotten with their machine."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.draft import Changes
from bot.domain.inside import Device, Hour, Minute
from bot.domain.minutes import minutes_of
from bot.domain.model import Reading
from bot.edges.store import SqlStore, tidy, upgrade
from tests.edges.store_builders import M1, M2, MACHINES, NOW, H, Hands, furnish, reading
from tests.edges.store_servers import Databases, databases  # noqa: F401

pytestmark = pytest.mark.parametrize("kind", ["sqlite", "postgresql"])

S = timedelta(seconds=1)
MIN = 60 * S
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def url(kind: str, databases: Databases, tmp_path: Path) -> str:  # noqa: F811
    url = databases.fresh(kind, tmp_path)
    upgrade(url)
    return url


def said(seq: int, at: datetime, *devices: Device, **more: object) -> Reading:
    return reading(seq, at=at, devices=devices, **more)


def card(uuid: str = "GPU-1", **more: float | bool | str) -> Device:
    return Device(uuid, "Tesla T4", **{"measured_s": 60.0, "busy_s": 10.0, **more})  # type: ignore[arg-type]


def tidied(store: SqlStore, now: datetime) -> int:
    """How many pieces it took."""
    pieces = 1
    while not store.tidy(now):
        pieces += 1
    return pieces


def test_a_minute_comes_back_as_it_was_kept(store: SqlStore) -> None:
    word = said(
        1, NOW, card(util_max=97.0, energy_j=2100.5, fault="xid 79", stale=True), late_s=12.345678, interval_s=15.5
    )
    store.take_reading(word)
    store.take_reading(said(2, NOW + MIN))
    kept = store.minutes(0)
    made = [*minutes_of(word), *minutes_of(said(2, NOW + MIN))]
    assert kept == [Minute(**{**vars(m), "id": k.id}) for m, k in zip(made, kept, strict=True)]
    assert kept[0].uuid == "GPU-1" and kept[1].uuid == ""
    assert store.minutes(kept[0].id) == kept[1:]
    assert len(store.minutes(0, 1)) == 1


def test_what_is_told_in_an_hour(store: SqlStore) -> None:
    start = NOW - 10 * DAY
    for n in range(3):
        store.take_reading(said(n + 1, start + (n + 1) * MIN, card(util_max=10.0 * n, energy_j=1.5, mem_used_mb=n)))
    tidied(store, NOW)
    assert store.minutes(0) == []
    assert store.hours(M1, start) == [Hour(M1, "GPU-1", start, 180.0, 30.0, 20.0, 4.5, 2.0)]
    assert store.hours(M1, start + H) == store.hours(M2, start) == []


def test_what_was_not_measured_adds_nothing_and_what_is_not_believed_neither(store: SqlStore) -> None:
    old = NOW - 10 * DAY
    store.take_reading(said(1, old, Device("GPU-1", "T4")))
    store.take_reading(said(2, old + MIN, card(stale=True, energy_j=5.0)))
    store.take_reading(said(3, old + 2 * MIN, card(), rivals=old))
    store.take_reading(said(4, old + 3 * MIN))
    tidied(store, NOW)
    got = store.hours(M1, old - H)
    assert {(h.measured_s, h.busy_s, h.top, h.energy_j, h.mem_mb) for h in got} <= {
        (0.0, 0.0, None, None, None),
        (60.0, 10.0, None, None, None),
    }


def test_recent_minutes_stay(store: SqlStore) -> None:
    store.take_reading(said(1, NOW - 8 * DAY, card()))
    store.take_reading(said(2, NOW - 6 * DAY, card()))
    tidied(store, NOW)
    assert [m.at for m in store.minutes(0)] == [NOW - 6 * DAY]


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_between_minutes_and_hours(store: SqlStore, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Whatever is summed when, in whatever pieces: the sums are what was told, to the millisecond, and those of each hour never change by it."""
    rng = random.Random(seed)
    told: Counter[str] = Counter()
    at = NOW - 9 * DAY
    for seq in range(1, 150):
        length = rng.choice([15.0, 60.0, 61.234, 600.0, 9000.0])
        at += length * S * rng.choice([1, 1, 2])
        measured = round(rng.uniform(0, length), 3)
        devices = [card(f"GPU-{n}", measured_s=measured, busy_s=round(rng.uniform(0, measured), 3)) for n in (1, 2)]
        for device in devices:
            told["measured"] += round((device.measured_s or 0) * 1000)
            told["busy"] += round((device.busy_s or 0) * 1000)
        store.take_reading(said(seq, at, *devices, interval_s=length))
        if rng.random() < 0.1:
            monkeypatch.setattr(tidy, "AT_ONCE", rng.choice([1, 7, 100]))
            before = hours(store)
            for _ in range(rng.randrange(3)):
                store.tidy(at + rng.choice([DAY, 7.1 * DAY]))
            assert hours(store) == before
            assert told == Counter(
                measured=sum(round(x.measured_s * 1000) for x in before),
                busy=sum(round(x.busy_s * 1000) for x in before),
            )
    before = hours(store)
    tidied(store, at + 8 * DAY)
    assert store.minutes(0) == []
    assert hours(store) == before


def hours(store: SqlStore) -> list[Hour]:
    """What a report is made of."""
    return list(store.between(NOW - 100 * DAY, NOW + 100 * DAY).hours)


def test_minutes_that_stay_are_in_the_hours_once(store: SqlStore) -> None:
    """So that a report of this week need not read those of a week."""
    for n in range(90):
        store.take_reading(said(n + 1, NOW + (n + 1) * MIN, card()))
        if n in (20, 60):
            tidied(store, NOW + n * MIN)
    assert [h.measured_s for h in store.hours(M1, NOW)] == [3600.0, 60.0], "those behind are in none yet"
    assert len(store.minutes(0)) == 90
    assert [h.measured_s for h in hours(store)] == [3600.0, 1800.0]
    tidied(store, NOW + 90 * MIN)
    tidied(store, NOW + 90 * MIN)
    assert len(store.minutes(0)) == 90 and store.hours(M1, NOW) == hours(store), "of one device"


def test_in_small_pieces(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "AT_ONCE", 4)
    for n in range(10):
        store.take_reading(said(n + 1, NOW - 8 * DAY + n * MIN, card()))
    assert tidied(store, NOW) == 3
    assert sum(h.measured_s for h in store.hours(M1, NOW - 9 * DAY)) == 600


def test_hours_are_kept_for_a_year_and_more(store: SqlStore) -> None:
    store.take_reading(said(1, NOW - 410 * DAY, card()))
    store.take_reading(said(2, NOW - 390 * DAY, card()))
    tidied(store, NOW)
    assert [h.start for h in store.hours(M1, NOW - 500 * DAY)] == [NOW - 390 * DAY - H]


def test_minutes_of_a_clock_that_was_ahead_do_not_keep_those_behind_them(store: SqlStore) -> None:
    store.take_reading(said(1, NOW + 300 * DAY, card()))
    store.take_reading(said(2, NOW - 8 * DAY, card()))
    assert len(store.minutes(0)) == 2, "in the order of arrival"
    tidied(store, NOW)
    assert store.minutes(0) == []


def test_forgotten_with_its_machine(store: SqlStore) -> None:
    furnish(store)
    for machine in (M1, M2):
        store.take_reading(said(1, NOW - 8 * DAY, card(), machine=machine))
    tidied(store, NOW)
    for machine in (M1, M2):
        store.take_reading(said(2, NOW, card(), machine=machine))
    with store.transaction() as tx:
        tx.record(Changes(removed=(MACHINES[0],)), ())
    assert (store.hours(M1, NOW - 9 * DAY), set(store.readings())) == ([], {M2})
    assert {m.machine for m in store.minutes(0)} == {M2}
    assert len(store.hours(M2, NOW - 9 * DAY)) == 1


def test_who_reads_behind_a_number_misses_none(opened: Callable[[], SqlStore]) -> None:
    """Several write at once, as processes would: a number that was read is never followed by a smaller one."""
    writers, readers = [opened() for _ in range(3)], opened()

    def write(which: int) -> None:
        for seq in range(1, 21):
            writers[which].take_reading(said(seq, NOW, card(), machine=f"m-{which}"))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    seen: list[int] = []
    while any(thread.is_alive() for thread in threads):
        seen += [m.id for m in readers.minutes(seen[-1] if seen else 0)]
    seen += [m.id for m in readers.minutes(seen[-1] if seen else 0)]
    for thread in threads:
        thread.join()
    assert len(seen) == 60
    assert seen == [m.id for m in readers.minutes(0)]
