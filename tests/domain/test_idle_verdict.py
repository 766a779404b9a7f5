"""Busy, quiet, unknown, fault: what each signal, and each missing one, makes of a minute. Rows are those of the threads that were read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.idle import judge
from bot.domain.inside import Device, Process, Verdict
from bot.domain.minutes import minutes_of
from bot.domain.model import Reading
from tests.domain.idle_builders import BUSY, HELD, NAN, NOTHING, NUDGING, POLICY, folded, minute, watch
from tests.domain.world import MONDAY_10

V = Verdict


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (BUSY, V.BUSY),
        ({"busy_s": 1.0, "top": 60.0}, V.BUSY),  # one second is enough
        ({"top": 60.0, "busy_s": None}, V.BUSY),  # a source that knows a maximum alone
        ({"top": 0.0, "busy_s": 3.0}, V.BUSY),  # seconds with work, whatever the maximum says
        ({"top": None, "busy_s": 3.0}, V.BUSY),
        ({"top": 4.9, "busy_s": 50.0}, V.QUIET),  # a desktop flickers
        ({"top": 2.0, "busy_s": None}, V.QUIET),
        (HELD, V.QUIET),  # memory is context
        ({"processes": None, "mem_mb": None}, V.QUIET),  # a vGPU tells neither power nor, here, processes
        (NOTHING, V.UNKNOWN),
        ({**NOTHING, "processes": 0, "energy_j": 900.0}, V.UNKNOWN),  # MIG without a counter: these cannot tell
        ({"measured_s": 30.0}, V.UNKNOWN),
        ({"measured_s": 48.0}, V.QUIET),
        ({"measured_s": 30.0, "top": 50.0}, V.BUSY),  # little was measured, but work was seen
        ({"stale": True}, V.UNKNOWN),
        ({"stale": True, **BUSY}, V.UNKNOWN),
        ({"rivals": True}, V.UNKNOWN),
        ({"rivals": True, **BUSY}, V.UNKNOWN),
        ({"fault": "xid 79"}, V.FAULT),
        ({"fault": "xid 79", **BUSY}, V.FAULT),
        ({"top": NAN, "busy_s": 0.0}, V.UNKNOWN),
        ({"top": 1.4e16, "busy_s": 0.0}, V.UNKNOWN),
        ({"top": -1.0, "busy_s": 0.0}, V.UNKNOWN),
        ({"top": NAN, "busy_s": 2.0}, V.BUSY),
        ({"busy_s": NAN}, V.UNKNOWN),
        ({"busy_s": -5.0}, V.UNKNOWN),
        ({"measured_s": NAN}, V.UNKNOWN),
        ({"end": MONDAY_10}, V.UNKNOWN),
    ],
)  # fmt: skip
def test_a_minute_is_called(said: dict[str, Any], verdict: Verdict) -> None:
    found, why = judge(minute(0, **said), POLICY)
    assert found is verdict and why, why


@pytest.mark.parametrize(
    ("signals", "why"),
    [
        ({"util_max": 60.0}, "its computing engines worked"),
        ({"util_max": 2.0, "encode_max": 60.0}, "its encoder worked"),
        ({"util_max": 2.0, "decode_max": 60.0}, "its decoder worked"),
        ({"util_max": None, "active_max": 60.0}, "its hardware counter showed work"),
        ({"util_max": None, "busy_s": 5.0}, "seconds with work were told"),
        ({"util_max": 0.0, "busy_s": 5.0}, "seconds with work were told"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_row_47_the_clock_keeps_which_signal_reset_it(signals: dict[str, Any], why: str, late: bool) -> None:
    device = replace(Device("GPU-1", "Tesla T4", measured_s=60.0, busy_s=0.0, util_max=0.0, processes=()), **signals)
    at = MONDAY_10 + 11 * timedelta(minutes=1)
    (told,) = minutes_of(Reading("uuid-vm-python", at, "boot", 1, False, 1, devices=(device,), interval_s=60.0))
    before = [minute(n) for n in range(11 if late else 10)]
    clocks = folded(watch(), [*before, replace(told, at=told.at + timedelta(minutes=9)) if late else told])
    assert clocks.recent[-1][2] == why and clocks.last_busy == at
    if not late:
        assert (clocks.verdict, clocks.why, clocks.quiet_since) == (V.BUSY, why, None)
    after = folded(clocks, [minute(n) for n in range(11, 200)] + [minute(n, **NOTHING) for n in range(200, 210)])
    assert after.recent[-1][2] == why, "still, after hours and whatever came between"


def of_device(**fields: Any) -> Verdict:
    """The verdict on a device as a guest tells it."""
    device = replace(Device("GPU-1", "Tesla T4", measured_s=60.0, busy_s=0.0, util_max=0.0, processes=()), **fields)
    reading = Reading("uuid-vm-python", MONDAY_10, "boot", 1, False, 1, devices=(device,))
    return judge(minutes_of(reading)[0], POLICY)[0]


def test_row_22_a_card_that_no_process_ever_opened_is_judged_by_its_lease_not_by_its_processes() -> None:
    assert of_device() is V.QUIET
    assert not folded(watch(), [minute(n) for n in range(90)]).opened


def test_row_24_quiet_only_if_no_signal_says_busy() -> None:
    assert of_device(util_max=99.0, active_max=0.0, busy_s=None) is V.BUSY
    assert of_device(util_max=0.0, active_max=80.0, busy_s=None) is V.BUSY


@pytest.mark.parametrize("engine", ["encode_max", "decode_max"])
def test_video_alone_is_work(engine: str) -> None:
    assert of_device(util_max=2.0, **{engine: 60.0}) is V.BUSY


def test_row_29_with_mig_the_hardware_counter_decides() -> None:
    mig = {"uuid": "MIG-1", "util_max": None, "busy_s": None, "mig": True}
    assert of_device(**mig, active_max=40.0) is V.BUSY
    assert of_device(**mig, active_max=0.0) is V.QUIET


def test_row_30_mig_without_a_counter_is_unknown_not_zero() -> None:
    bare = {"uuid": "MIG-1", "util_max": None, "busy_s": None, "mig": True, "energy_j": 900.0, "power_w": 15.0}
    assert of_device(**bare, processes=()) is V.UNKNOWN
    assert of_device(**bare, processes=(Process(1, "ada", "python", 9800.0),)) is V.UNKNOWN


def test_row_40_one_field_unknown_keeps_the_rest() -> None:
    assert of_device(power_w=None, energy_j=None, mem_used_mb=None) is V.QUIET
    assert of_device(util_mean=NAN, util_max=97.0, busy_s=None) is V.BUSY


def test_row_42_what_cannot_be_read_is_none_and_none_is_unknown() -> None:
    assert of_device(util_max=None, busy_s=None, measured_s=None) is V.UNKNOWN


def test_row_43_high_power_is_no_work() -> None:
    assert of_device(power_w=250.0, energy_j=15000.0) is V.QUIET


def test_row_38_limits_of_memory_are_relative() -> None:
    """700 MiB are reserved on a large card without anybody; the same on a small one is a program."""
    ghost = {"top": 100.0, "busy_s": 60.0, "processes": 0}
    late = minute(20, **ghost, mem_mb=700.0, mem_total_mb=49140.0)
    assert judge(late, POLICY, MONDAY_10)[0] is V.UNKNOWN
    assert judge(replace(late, mem_total_mb=2048.0), POLICY, MONDAY_10)[0] is V.BUSY


def test_row_36_full_load_without_process_and_memory_is_an_artefact_after_ten_minutes() -> None:
    ghost = {"top": 100.0, "busy_s": 60.0, "processes": 0, "mem_mb": 0.0}
    first = folded(watch(), [minute(n, **ghost) for n in range(10)])
    assert first.verdict is V.BUSY and first.ghost_since == MONDAY_10
    later = folded(first, [minute(n, **ghost) for n in range(10, 90)])
    assert later.verdict is V.UNKNOWN and "artefact" in later.why and later.quiet_since is None
    someone = folded(later, [minute(90, **{**ghost, "processes": 1})])
    assert someone.verdict is V.BUSY and someone.ghost_since is None


@pytest.mark.parametrize(("xid", "verdict"), [(79, V.FAULT), (119, V.FAULT), (13, V.QUIET), (None, V.QUIET)])
def test_row_31_only_errors_after_which_a_card_needs_a_reset_are_faults(xid: int | None, verdict: Verdict) -> None:
    assert of_device(xid=xid) is verdict


def test_the_limit_is_the_policys() -> None:
    strict = replace(POLICY, idle=replace(NUDGING.idle, quiet_below=1.0))
    assert judge(minute(0, top=3.0), strict)[0] is V.BUSY


def test_a_longer_interval_is_covered_by_its_own_length() -> None:
    long = minute(0, end=MONDAY_10 + timedelta(minutes=5), measured_s=60.0)
    assert judge(long, POLICY)[0] is V.UNKNOWN
    assert judge(replace(long, measured_s=290.0), POLICY)[0] is V.QUIET
