"""Virtual time: from a file that is replaced, and how far the machine's clock jumped."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.edges.clock import FileClock
from bot.local import clock as local

V0 = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Machine:
    """The machine's two clocks, set by hand."""

    def __init__(self) -> None:
        self.unix = 1_800_000_000.0
        self.up = 500.0

    def pass_(self, seconds: float) -> None:
        self.unix += seconds
        self.up += seconds


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clock.json"


def replace(file: Path, text: str) -> None:
    new = file.with_name("new")
    new.write_text(text)
    os.replace(new, file)


def set_to(file: Path, machine: Machine, virtual: datetime, speed: float) -> None:
    replace(file, json.dumps({"real0": machine.unix, "virtual0": virtual.timestamp(), "speed": speed}))


def clock_of(machine: Machine, file: Path | None) -> FileClock:
    return FileClock(file, wall=lambda: machine.unix, steady=lambda: machine.up)


def test_without_a_file_time_is_real() -> None:
    clock = FileClock()
    before = datetime.now(UTC)
    assert before <= clock.now() <= before + timedelta(seconds=5)
    assert clock.now().tzinfo is UTC
    assert clock.speed == 1
    assert abs(clock.real() - time.monotonic()) < 5
    assert clock.generation() == 0


def test_virtual_time_runs_at_its_speed(machine: Machine, file: Path) -> None:
    set_to(file, machine, V0, 60)
    clock = clock_of(machine, file)
    assert clock.now() == V0
    machine.pass_(2)
    assert clock.now() == V0 + timedelta(minutes=2)
    assert clock.real() == 502
    assert clock.wall() == datetime.fromtimestamp(machine.unix, UTC)
    assert clock.speed == 60


def test_time_can_stand_still(machine: Machine, file: Path) -> None:
    set_to(file, machine, V0, 0)
    clock = clock_of(machine, file)
    machine.pass_(100)
    assert clock.now() == V0
    assert clock.jump() == 0


def test_a_replaced_file_holds_at_once(machine: Machine, file: Path) -> None:
    set_to(file, machine, V0, 1)
    clock = clock_of(machine, file)
    assert clock.generation() == 1
    set_to(file, machine, V0 + timedelta(days=3), 1)
    assert clock.now() == V0 + timedelta(days=3)
    assert clock.generation() == 2
    assert clock.generation() == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"real0": 0, "virtual0": 0}',
        '{"real0": 0, "virtual0": "x", "speed": 1}',
        '{"real0": 0, "virtual0": 1e18, "speed": 1}',
        '{"real0": 0, "virtual0": NaN, "speed": 1}',
        '{"real0": 0, "virtual0": 1e9, "speed": -1}',
        '{"real0": 0, "virtual0": 1e9, "speed": Infinity}',
        "\udce4".encode("utf-8", "surrogateescape").decode("latin-1"),
    ],
)
def test_a_bad_file_keeps_the_last_good_content(machine: Machine, file: Path, text: str) -> None:
    set_to(file, machine, V0, 1)
    clock = clock_of(machine, file)
    replace(file, text)
    machine.pass_(1)
    assert clock.now() == V0 + timedelta(seconds=1)
    assert clock.generation() == 1
    file.unlink()
    assert clock.now() == V0 + timedelta(seconds=1)
    set_to(file, machine, V0, 5)
    assert clock.speed == 5


def test_a_named_file_without_a_time_is_said(machine: Machine, file: Path) -> None:
    assert clock_of(machine, file).unusable() == "it cannot be read (No such file or directory)"
    file.write_text("{}")
    clock = clock_of(machine, file)
    assert "gives no time" in clock.unusable()
    set_to(file, machine, V0, 60)
    assert clock.unusable() == ""
    file.unlink()
    assert clock.unusable() == "", "what was good once holds"


def test_time_that_runs_out_stands_still_at_its_end(machine: Machine, file: Path) -> None:
    """No clock shows years beyond 9999: every round would fail."""
    set_to(file, machine, V0, 1e7)
    clock = clock_of(machine, file)
    machine.pass_(7e5)
    assert clock.now().year == 9000


def test_a_file_that_comes_later(machine: Machine, file: Path) -> None:
    clock = clock_of(machine, file)
    assert clock.now().timestamp() == machine.unix
    set_to(file, machine, V0, 60)
    assert clock.now() == V0
    assert clock.jump() == 0, "not a jump of the machine's clock"


def test_bot_and_stand_ins_read_one_file_alike(file: Path) -> None:
    local.write_clock(file, local.Rate(time.time() - 100, V0.timestamp(), 60))
    ours, theirs = FileClock(file), local.Clock(file)
    assert abs((ours.now() - theirs.now()).total_seconds()) < 60 * 1
    assert ours.now() > V0 + timedelta(seconds=6000) - timedelta(seconds=1)


@pytest.mark.parametrize("speed", [1.0, 60.0])
@pytest.mark.parametrize("seconds", [400.0, -400.0, 0.0])
def test_a_jump_of_the_machines_clock(machine: Machine, file: Path, speed: float, seconds: float) -> None:
    set_to(file, machine, V0, speed)
    clock = clock_of(machine, file)
    machine.pass_(15)
    assert clock.jump() == pytest.approx(0)
    machine.pass_(15)
    machine.unix += seconds
    assert clock.jump() == pytest.approx(seconds * speed)
    machine.pass_(15)
    assert clock.jump() == pytest.approx(0), "told once"


def test_a_jump_without_a_file(machine: Machine) -> None:
    clock = clock_of(machine, None)
    machine.unix -= 3600
    assert clock.jump() == pytest.approx(-3600)


def test_a_replaced_file_is_no_jump_and_hides_no_later_one(machine: Machine, file: Path) -> None:
    set_to(file, machine, V0, 1)
    clock = clock_of(machine, file)
    machine.pass_(15)
    set_to(file, machine, V0 + timedelta(days=1), 60)
    assert clock.jump() == 0
    machine.pass_(1)
    assert clock.jump() == pytest.approx(0)
    machine.unix += 10
    assert clock.jump() == pytest.approx(600)
