"""Readings, orders and the claim to be the bot."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from bot.domain.inside import Device
from bot.domain.model import Job, Login
from bot.domain.occurrences import works as works_of
from bot.domain.orders import Order
from bot.domain.policy import Policy
from bot.edges.store import SqlStore, claims, open_store
from tests.edges.store_builders import M1, M2, NOW, reading

S = timedelta(seconds=1)
JOB = Job("ada", "python train.py", NOW, True)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    store = open_store(f"sqlite:///{tmp_path}/gpubot.db", now=lambda: NOW)
    yield store
    store.close()


def test_the_latest_word_of_each_machine(store: SqlStore) -> None:
    assert store.readings() == {}
    assert store.take_reading(reading(1, logins=(Login("ada", NOW),), faults=("xid 79",)))
    assert store.take_reading(reading(1, machine=M2))
    assert store.take_reading(reading(2, cards=2, at=NOW + 60 * S))
    assert {m: (r.seq, r.cards) for m, r in store.readings().items()} == {M1: (2, 2), M2: (1, 1)}
    assert store.readings()[M2].first_at == NOW


def test_taken_before_or_overtaken(store: SqlStore) -> None:
    assert store.take_reading(reading(5))
    assert not store.take_reading(reading(5, cards=3))
    assert not store.take_reading(reading(4))
    assert store.take_reading(reading(6))
    assert store.take_reading(reading(1, "boot-2"))
    assert not store.take_reading(reading(1, "boot-2"))
    assert not store.take_reading(reading(7)), "a late word of the boot before"
    assert store.take_reading(reading(2, "boot-2"))
    assert (store.readings()[M1].boot_id, store.readings()[M1].cards) == ("boot-2", 1)


def test_first_word_of_a_boot(store: SqlStore) -> None:
    for seq in (1, 2, 3):
        store.take_reading(reading(seq, at=NOW + seq * S))
    assert store.readings()[M1].first_at == NOW + S
    store.take_reading(reading(1, "boot-2", at=NOW + 9 * S))
    assert store.readings()[M1].first_at == NOW + 9 * S


def test_many_boots(store: SqlStore) -> None:
    for i in range(60):
        assert store.take_reading(reading(1, f"boot-{i}", at=NOW + i * S))
        assert not store.take_reading(reading(1, f"boot-{i}", at=NOW + i * S))
    assert not store.take_reading(reading(1, "boot-50", at=NOW + 61 * S))


@pytest.mark.parametrize(
    ("words", "free"),
    [
        ([(0, ())], 0),
        ([(0, (JOB,))], None),
        ([(0, ()), (60, ()), (120, ())], 0),
        ([(0, (JOB,)), (60, ()), (120, ())], 60),
        ([(0, ()), (60, (JOB,)), (120, ())], 120),
        ([(0, ()), (60, ()), (90, (JOB,))], None),
        ([(0, ()), (300, ())], 0),  # 5 min of silence: still known
        ([(0, ()), (301, ())], 301),  # longer: nobody knows
        ([(0, ()), (-60, ())], -60),  # the clock was set back
    ],
)
def test_since_when_nothing_runs(store: SqlStore, words: list[tuple[int, tuple[Job, ...]]], free: int | None) -> None:
    for seq, (at, jobs) in enumerate(words, 1):
        assert store.take_reading(reading(seq, at=NOW + at * S, jobs=jobs))
    assert store.readings()[M1].free_since == (None if free is None else NOW + free * S)


WORKS = Device(
    "GPU-1", "Tesla T4", measured_s=60.0, busy_s=54.0, util_max=97.0, mem_used_mb=9000.0, mem_total_mb=15360.0
)
HELD = replace(WORKS, busy_s=0.0, util_max=0.0)
GHOST = replace(WORKS, busy_s=60.0, util_max=100.0, mem_used_mb=0.0, processes=())


@pytest.mark.parametrize(
    ("more", "free"),
    [
        ({"devices": (HELD,)}, True),
        ({"devices": (replace(HELD, busy_s=4.0, util_max=2.0),)}, True),  # a desktop flickers
        ({"devices": (WORKS,)}, False),
        ({"devices": (replace(WORKS, processes=None),)}, False),
        ({"devices": (HELD, replace(WORKS, uuid="GPU-2"))}, False),
        ({"devices": (replace(HELD, busy_s=1.0, util_max=None),)}, False),
        ({"devices": (replace(HELD, encode_max=40.0),)}, False),
        ({"devices": (replace(WORKS, fault="xid 31"),)}, False),
        ({"tells_work": False}, False),
    ],
)
def test_a_card_that_works_and_what_is_left_out_never_say_that_nothing_runs(
    store: SqlStore, more: dict[str, Any], free: bool
) -> None:
    for n in range(20):
        store.take_reading(reading(n + 1, at=NOW + n * 60 * S, **more))
    now = store.readings()[M1]
    assert (now.free_since == NOW) is free and (now.free_since is None) is not free
    works, what = works_of(now, now.at, Policy(level="act"))
    assert (works is False) is free, what
    if "devices" in more and not free:
        assert (works, what) == (True, "its card computes")


def test_full_load_without_process_and_memory_is_work_for_ten_minutes_and_then_an_artefact(store: SqlStore) -> None:
    told = []
    for n in range(13):
        store.take_reading(reading(n + 1, at=NOW + n * 60 * S, devices=(GHOST,)))
        told.append(store.readings()[M1].computes)
    assert told == [True] * 10 + [False] * 3
    store.take_reading(reading(20, at=NOW + 13 * 60 * S, devices=(HELD,)))
    store.take_reading(reading(21, at=NOW + 14 * 60 * S, devices=(GHOST,)))
    assert store.readings()[M1].computes, "it begins anew"


def test_free_since_lasts_over_a_quick_restart(store: SqlStore) -> None:
    store.take_reading(reading(1))
    store.take_reading(reading(1, "boot-2", at=NOW + 90 * S))
    assert store.readings()[M1].free_since == NOW


def test_logins_alone_are_no_work(store: SqlStore) -> None:
    store.take_reading(reading(1, logins=(Login("ada", NOW),)))
    assert store.readings()[M1].free_since == NOW


def test_who_presses_keys_is_at_work_and_who_is_only_logged_in_is_not(store: SqlStore) -> None:
    for seq, (at, pressed) in enumerate([(0, 0), (60, 30), (120, 30), (180, 30)], 1):
        logins = (Login("ada", NOW, NOW + pressed * S), Login("bob", NOW))
        store.take_reading(reading(seq, at=NOW + at * S, logins=logins))
    assert store.readings()[M1].free_since == NOW + 30 * S


def test_orders_are_given_once(store: SqlStore) -> None:
    assert store.take_orders(M1, NOW) == []
    store.order(M1, "last call", NOW)
    store.order(M1, "last call", NOW + S)
    store.order(M2, "last call", NOW)
    assert store.take_orders(M1, NOW + 2 * S) == ["last call"]
    assert store.take_orders(M1, NOW + 2 * S) == []
    assert store.take_orders(M2, NOW + timedelta(minutes=30)) == ["last call"]
    store.order(M2, "last call", NOW)
    assert store.take_orders(M2, NOW + timedelta(minutes=30, seconds=1)) == [], "too late to be of use"
    assert store.take_orders(M2, NOW) == []


# ---- one bot


TTL = timedelta(seconds=30)


def test_one_bot_a_database(store: SqlStore) -> None:
    assert store.claim("a", NOW, TTL)
    assert not store.claim("b", NOW + 29 * S, TTL)
    assert store.claim("a", NOW + 29 * S, TTL)
    assert not store.claim("b", NOW + 58 * S, TTL)
    assert store.claim("b", NOW + 59 * S, TTL)
    assert not store.claim("a", NOW + 60 * S, TTL)
    store.resign("a")
    assert not store.claim("a", NOW + 60 * S, TTL), "only one's own is given back"
    store.resign("b")
    assert store.claim("a", NOW + 60 * S, TTL)


def test_a_claim_from_the_far_future_does_not_bar_for_ever(store: SqlStore) -> None:
    assert store.claim("a", NOW + timedelta(days=300), TTL)
    assert store.claim("b", NOW, TTL)


def test_a_killed_bot_is_not_waited_for(store: SqlStore, tmp_path: Path) -> None:
    script = (
        "import sys, datetime as d\n"
        "from bot.edges.store import open_store\n"
        f"s = open_store('sqlite:///{tmp_path}/gpubot.db')\n"
        f"print(s.claim('killed', d.datetime.fromisoformat('{NOW.isoformat()}'), d.timedelta(seconds=30)), flush=True)\n"
        "sys.stdin.read()\n"
    )
    bot = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    with bot:
        assert bot.stdout is not None
        assert bot.stdout.readline() == b"True\n"
        assert not store.claim("next", NOW, TTL), "it lives"
        bot.kill()
        os.waitid(os.P_PID, bot.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet buried by its parent
        if not claims.place():
            pytest.skip("needs /proc to see that a process is gone")
        assert store.claim("next", NOW, TTL)


def test_a_claim_from_elsewhere_counts_as_alive(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(claims, "place", lambda: "another machine")
        assert store.claim("a", NOW, TTL)
    assert not store.claim("b", NOW, TTL)
    assert store.claim("b", NOW + TTL, TTL)


def test_a_process_number_that_was_given_again(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container the bot always has the same number: the one before is told by when it began."""
    if not claims.place():
        pytest.skip("needs /proc to see when a process began")
    with monkeypatch.context() as before:
        before.setattr(claims, "me", lambda: f"{claims.place()}#1")
        assert store.claim("before", NOW, TTL)
    assert store.claim("next", NOW, TTL)
    assert not store.claim("third", NOW, TTL)


# ---- orders that end others


def test_an_order_of_no_closed_list_is_refused(store: SqlStore) -> None:
    with pytest.raises(ValueError, match="rm -rf"):
        store.order(M1, "rm -rf /", NOW)
    assert store.take_orders(M1, NOW) == []


def test_what_does_not_hold_any_more_is_not_told(store: SqlStore) -> None:
    for word in (Order.LAST_CALL, Order.INTERVAL_SHORT, Order.DETACH_SOON, Order.QUICK_CHECK):
        store.order(M1, word, NOW)
    store.order(M1, Order.INTERVAL_NORMAL, NOW + S)
    assert store.take_orders(M1, NOW + S) == ["quick check", "interval normal"]
    store.order(M1, Order.INTERVAL_NORMAL, NOW)
    store.order(M1, Order.INTERVAL_SHORT, NOW)
    assert store.take_orders(M1, NOW) == ["interval short"]


# ---- many machines


def test_a_push_makes_nobody_read_all_the_others_again(store: SqlStore) -> None:
    """With a thousand machines each would cost a thousand rows, a thousand times a minute."""
    for n in range(20):
        store.take_reading(reading(1, machine=f"m-{n}"))
    store.readings()
    statements: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)

    event.listen(store._gate.engine, "before_cursor_execute", note)
    for seq in range(2, 6):
        assert store.take_reading(reading(seq, machine="m-3", at=NOW + seq * S))
        assert store.readings()["m-3"].seq == seq
    assert [s for s in statements if "FROM reading" in s] == []


def test_another_stores_pushes_are_seen(store: SqlStore, tmp_path: Path) -> None:
    store.take_reading(reading(1))
    other = open_store(f"sqlite:///{tmp_path}/gpubot.db", now=lambda: NOW)
    for seq in range(2, 6):
        assert (store if seq % 2 else other).take_reading(reading(seq))
        assert store.readings()[M1].seq == other.readings()[M1].seq == seq
    other.close()
