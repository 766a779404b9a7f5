"""An agent and an exporter that take turns in speaking for one machine: neither makes the other's next word one of the past."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.model import Reading
from bot.edges.store import SqlStore, open_store
from tests.edges.store_builders import M1, NOW, reading

S = timedelta(seconds=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    store = open_store(f"sqlite:///{tmp_path}/gpubot.db", now=lambda: NOW)
    yield store
    store.close()


def outside(seq: int = 1, boot_id: str = "prometheus-0-1", **more: object) -> Reading:
    return reading(seq, boot_id, inside=False, **more)


def test_an_agent_goes_on_after_an_exporter_spoke_for_it(store: SqlStore) -> None:
    assert store.take_reading(reading(5))
    assert store.take_reading(outside(1, at=NOW + 400 * S))
    assert store.take_reading(reading(6, at=NOW + 460 * S)), "the same boot as before its silence"
    assert store.readings()[M1].boot_id == "boot-1"
    assert store.take_reading(outside(2, at=NOW + 900 * S))


def test_a_boot_that_is_over_stays_over_behind_an_exporter(store: SqlStore) -> None:
    assert store.take_reading(reading(5))
    assert store.take_reading(reading(1, "boot-2", at=NOW + 60 * S))
    assert store.take_reading(outside(1, at=NOW + 460 * S))
    assert not store.take_reading(reading(6, at=NOW + 470 * S)), "a late word of the boot before"
    assert store.take_reading(reading(2, "boot-2", at=NOW + 480 * S))


def test_an_exporter_never_says_since_when_nothing_runs(store: SqlStore) -> None:
    assert store.take_reading(outside(1))
    assert store.take_reading(outside(2, at=NOW + 60 * S))
    assert store.readings()[M1].free_since is None
    assert store.take_reading(reading(1, at=NOW + 120 * S))
    assert store.readings()[M1].free_since == NOW + 120 * S
