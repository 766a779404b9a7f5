"""Virtual time for the stand-ins: the file, sleepers that follow it, timers that fire in order."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.local.clock import Clock, Rate, Timers, write_clock
from tests.local.vcenter_client import CARD_1, rig, until

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def test_without_a_file_time_is_real() -> None:
    clock = Clock()
    assert abs(clock.unix() - time.time()) < 1
    assert clock.now().tzinfo is UTC
    assert clock.real_wait(clock.unix() - 1) == 0 and 1 < clock.real_wait(clock.unix() + 2) <= 2


def test_the_environment_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clock.json"
    write_clock(path, Rate(time.time(), NEW_YEAR, 0))
    monkeypatch.setenv("GPUBOT_CLOCK", str(path))
    assert Clock().now() == datetime(2026, 1, 1, tzinfo=UTC)


def test_the_formula() -> None:
    rate = Rate(1000.0, 5000.0, 60.0)
    assert [rate.at(1000.0), rate.at(1001.0), rate.at(999.5)] == [5000.0, 5060.0, 4970.0]


def test_a_replaced_file_counts_at_once_and_a_broken_one_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "clock.json"
    write_clock(path, Rate(time.time(), NEW_YEAR, 0))
    clock = Clock(path)
    assert clock.unix() == NEW_YEAR
    write_clock(path, Rate(time.time(), NEW_YEAR + 3600, 0))
    assert clock.unix() == NEW_YEAR + 3600
    for broken in ("", "{", "[]", '{"real0": 1}', '{"real0": "x", "virtual0": 1, "speed": 1}'):
        path.write_text(broken)
        assert clock.unix() == NEW_YEAR + 3600
    path.unlink()
    assert clock.unix() == NEW_YEAR + 3600


def test_before_the_first_good_content_time_is_real(tmp_path: Path) -> None:
    assert abs(Clock(tmp_path / "missing.json").unix() - time.time()) < 1


def test_a_sleeper_follows_a_jump_within_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "clock.json"
    write_clock(path, Rate(time.time(), NEW_YEAR, 0))
    clock, woke = Clock(path), threading.Event()
    thread = threading.Thread(target=lambda: clock.sleep(600) and woke.set())
    thread.start()
    assert not woke.wait(0.15)  # time stands still
    write_clock(path, Rate(time.time(), NEW_YEAR + 599, 0))
    assert not woke.wait(0.15)
    begin = time.monotonic()
    write_clock(path, Rate(time.time(), NEW_YEAR + 600, 0))
    assert woke.wait(2)
    assert time.monotonic() - begin < 0.5
    thread.join(2)


def test_a_sleeper_can_be_stopped() -> None:
    stop = threading.Event()
    stop.set()
    assert Clock().sleep(60, stop) is False
    assert Clock().sleep(-1) is True


@pytest.fixture
def still(tmp_path: Path) -> Any:
    path = tmp_path / "clock.json"
    write_clock(path, Rate(time.time(), NEW_YEAR, 0))
    return path


def test_timers_fire_in_order_of_their_time_also_in_a_jump(still: Path) -> None:
    timers, fired = Timers(Clock(still)), []
    timers.start()
    for seconds in (30, 10, 20):
        timers.after(seconds, lambda s=seconds: fired.append(s))  # type: ignore[misc]
    timers.after(15, lambda: fired.append(15)).cancel()
    timers.after(40, lambda: fired.append(40))
    write_clock(still, Rate(time.time(), NEW_YEAR + 35, 0))
    until(lambda: len(fired) == 3)
    assert fired == [10, 20, 30]
    timers.stop()
    write_clock(still, Rate(time.time(), NEW_YEAR + 99, 0))
    assert fired == [10, 20, 30]


def test_a_call_that_fails_stops_no_other(still: Path, caplog: pytest.LogCaptureFixture) -> None:
    timers, fired = Timers(Clock(still)), []
    timers.start()
    timers.after(0, lambda: 1 // 0)  # type: ignore[arg-type,return-value]
    timers.after(0, lambda: fired.append(1))
    until(lambda: fired)
    timers.stop()
    assert "ZeroDivisionError" in caplog.text


def test_the_vcenter_lives_by_the_virtual_clock(still: Path) -> None:
    with rig(clock=Clock(still), boot_s=40, shutdown_s=30) as lab:
        assert lab.si.CurrentTime() == datetime(2026, 1, 1, tzinfo=UTC)
        lab.give("vm-r", CARD_1)
        lab.on("vm-r")
        assert lab.vm("vm-r").runtime.bootTime == datetime(2026, 1, 1, tzinfo=UTC)
        write_clock(still, Rate(time.time(), NEW_YEAR + 39, 0))
        time.sleep(0.15)
        assert lab.state("vm-r")["tools"] == "guestToolsNotRunning"
        write_clock(still, Rate(time.time(), NEW_YEAR + 41, 0))
        until(lambda: lab.state("vm-r")["tools"] == "guestToolsRunning")
        lab.vm("vm-r").ShutdownGuest()
        write_clock(still, Rate(time.time(), NEW_YEAR + 70, 0))
        time.sleep(0.15)
        assert lab.power("vm-r") == "poweredOn"
        write_clock(still, Rate(time.time(), NEW_YEAR + 72, 0))
        until(lambda: lab.power("vm-r") == "poweredOff")
        last = lab.drive("GET", "journal")["entries"][-1]
        assert last["virtual"].startswith("2026-01-01T00:01:12") and not last["real"].startswith("2026-01-01T00:01")


def test_tasks_may_take_virtual_time(still: Path) -> None:
    with rig(clock=Clock(still), task_latency_s=10, task_latency_virtual=True) as lab:
        task = lab.vm("vm-r").PowerOnVM_Task()
        time.sleep(0.1)
        assert task.info.state == "queued"
        write_clock(still, Rate(time.time(), NEW_YEAR + 6, 0))
        until(lambda: task.info.state == "running")
        write_clock(still, Rate(time.time(), NEW_YEAR + 12, 0))
        until(lambda: task.info.state == "success")
