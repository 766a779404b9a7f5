"""What becomes of a guest's words: the devices, and numbers and times that cannot be."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.inside import Check, Device, Process
from bot.domain.model import Reading
from bot.domain.orders import Order
from bot.edges.telemetry.push.told import AGE_MAX, NAME_MAX, clean, to_reading
from bot.edges.telemetry.push.wire import ReadingIn

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
S = timedelta(seconds=1)
BLANKS = (9.223372036854775794e18, 1.4e16)

OLD: dict[str, Any] = {
    "schema": 1, "boot_id": "b-1", "seq": 1, "taken": "2026-01-05T12:00:00Z", "interval_s": 60,
    "cards": [{"uuid": "GPU-1", "name": "Tesla T4", "busy_s": 10.0, "util_max": 97}],
}  # fmt: skip
CARD: dict[str, Any] = {
    "uuid": "GPU-1", "name": "Tesla T4", "pci": "0000:0b:00.0", "line": "GPU 0: Tesla T4 (UUID: GPU-1)", "measured_s": 58.0,
    "busy_s": 10.5, "util_max": 97, "util_mean": 40.0, "encode_max": 0, "decode_max": 1, "active_max": None, "energy_j": 2100.0,
    "power_w": 35.2, "mem_used_mb": 9800, "mem_total_mb": 15360, "mem_reserved_mb": 450, "fault": None, "xid": 79,
    "persistence": True, "virtual": "passthrough", "licence": None, "mig": False, "ecc": True,
    "can": ["util", "memory", "processes", "energy", "power"],
    "processes": [{"pid": 1, "user": "ada", "name": "python", "mem_mb": 9000, "cpu": 1.5, "reads": True, "graphics": False}],
}  # fmt: skip
NEW: dict[str, Any] = {
    **OLD, "agent": "1.0", "agent_id": "a-1", "allows": ["last call", "detach soon", "rm -rf"], "load1": 0.5, "cpus": 8,
    "driver": "550.90.07", "no_driver": None, "age_s": 0.0, "cards": [CARD],
}  # fmt: skip


def told(base: dict[str, Any] = NEW, **more: Any) -> Reading:
    return to_reading("m-1", ReadingIn.model_validate_json(json.dumps({**base, **more})), NOW)


def device(**more: Any) -> Device:
    return told(cards=[{**CARD, **more}]).devices[0]


def test_all_of_it() -> None:
    reading = told()
    process = Process(1, "ada", "python", 9000, 1.5, True, False)
    assert reading.devices == (
        Device(
            "GPU-1", "Tesla T4", "0000:0b:00.0", "GPU 0: Tesla T4 (UUID: GPU-1)", 58.0, 10.5, 97, 40, 0, 1, None, 2100, 35.2,
            9800, 15360, (process,), "", 79, True, "passthrough", "", False, True,
        ),
    )  # fmt: skip
    assert (reading.agent, reading.agent_id, reading.cpus, reading.load1) == ("1.0", "a-1", 8, 0.5)
    assert (reading.driver, reading.no_driver, reading.inside, reading.interval_s) == ("550.90.07", "", True, 60)
    assert reading.allows == {Order.LAST_CALL, Order.DETACH_SOON}, "of the closed list alone"


def test_an_old_guest_has_devices_too() -> None:
    reading = told(OLD)
    assert reading.devices == (Device("GPU-1", "Tesla T4", measured_s=60, busy_s=10, util_max=97),)
    assert reading.allows == {Order.LAST_CALL}, "which it always was told"
    assert told(OLD, cards=[{"uuid": "GPU-1", "name": "Tesla T4"}]).devices[0].measured_s is None


def test_what_is_left_out_was_not_measured() -> None:
    bare = told(cards=[{"uuid": "GPU-1", "name": "Tesla T4", "busy_s": 10.0}]).devices[0]
    assert bare == Device("GPU-1", "Tesla T4", busy_s=10.0), "a new agent says what it measured"
    nulls = told(cards=[{name: None if name not in ("uuid", "name") else CARD[name] for name in CARD}]).devices[0]
    assert nulls == Device("GPU-1", "Tesla T4")


@pytest.mark.parametrize(
    ("more", "tells"),
    [
        ({}, False),
        ({"jobs": []}, False),
        ({"logins": []}, False),
        ({"jobs": None, "logins": []}, False),
        ({"jobs": [], "logins": []}, True),
    ],
)
def test_what_runs_is_known_only_if_it_is_told(more: dict[str, Any], tells: bool) -> None:
    assert told(**more).tells_work is tells
    assert told(**more).jobs == ()


def test_what_cannot_be_measured_is_unknown_whatever_is_said_of_it() -> None:
    got = device(can=[])
    assert (got.busy_s, got.util_max, got.mem_used_mb, got.processes, got.energy_j, got.power_w) == (None,) * 6
    assert device(can=["processes"], processes=[]).processes == ()
    cut = device(can=["active"], active_max=40)
    assert (cut.busy_s, cut.util_max, cut.active_max) == (10.5, None, 40), (
        "the seconds of a card that MIG cuts are counted by them"
    )


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize(
    "field",
    [
        "measured_s", "busy_s", "util_max", "util_mean", "encode_max", "decode_max", "active_max", "energy_j", "power_w",
        "mem_used_mb", "mem_total_mb",
    ],
)  # fmt: skip
def test_one_blank_field_is_unknown_and_the_rest_is_kept(field: str, blank: float) -> None:
    """Row 23: the blanks of DCGM become 1.4e16 %, or one bad field kills the page."""
    assert device(**{field: blank}) == replace(device(), **{field: None})


@pytest.mark.parametrize("value", [100.5, 101, 250])
def test_a_share_above_all_is_unknown(value: float) -> None:
    assert (device(util_max=value).util_max, device(util_max=value).busy_s) == (None, 10.5)


def test_a_blank_error_and_blank_processes() -> None:
    assert device(xid=9223372036854775794).xid is None
    process = device(processes=[{"pid": 1, "user": "a", "name": "b", "mem_mb": BLANKS[0], "cpu": BLANKS[1]}]).processes
    assert process == (Process(1, "a", "b"),)


def test_seconds_are_no_more_than_the_interval() -> None:
    assert device(busy_s=61.5, measured_s=60.2).busy_s == 60
    assert device(measured_s=60.2).measured_s == 60
    assert device(busy_s=90).busy_s is None


def test_cards_without_a_name_and_twice() -> None:
    cards = [{**CARD, "uuid": ""}, {**CARD, "uuid": "\n"}, CARD, {**CARD, "busy_s": 1.0}]
    got = told(cards=cards)
    assert [(d.uuid, d.busy_s) for d in got.devices] == [("card 1", 10.5), ("card 2", 10.5), ("GPU-1", 10.5)]
    assert got.cards == 4


def test_what_waited_in_the_guest_is_told_of_the_time_before() -> None:
    job = {"pid": 1, "user": "ada", "name": "x", "since": "2026-01-05T11:59:00Z", "gpu": False}
    got = told(age_s=300, jobs=[job], logins=[{"user": "ada", "since": "2026-01-05T11:58:00Z", "idle_s": 5}])
    assert (got.at, got.late_s) == (NOW, 300)
    assert got.jobs[0].since == NOW - 360 * S
    assert (got.logins[0].since, got.logins[0].pressed) == (NOW - 420 * S, NOW - 305 * S)
    assert told(age_s=1e300).late_s == AGE_MAX.total_seconds()


@pytest.mark.parametrize(
    ("taken", "skew"),
    [
        ("2026-01-05T12:00:07Z", 7.0),
        ("2026-01-05T11:00:00Z", -3600.0),
        ("2026-01-05T14:00:00+02:00", 0.0),
        ("9999-12-31T23:59:59-12:00", (datetime(9999, 12, 31, 11, 59, 59, tzinfo=UTC) - NOW).total_seconds() + 86400),
        ("0001-01-01T00:00:00Z", (datetime(1, 1, 1, tzinfo=UTC) - NOW).total_seconds()),
    ],
)
def test_how_far_the_guests_clock_is_off(taken: str, skew: float) -> None:
    """Row 44: its stamps move nothing, and the skew is known."""
    got = told(taken=taken)
    assert (got.at, got.skew_s) == (NOW, skew)


def test_done_and_check_are_ages() -> None:
    got = told(done={"user": "ada", "ago_s": 3}, check={"exit": 0, "line": "fine\n", "ago_s": 5}, age_s=10)
    assert (got.done_at, got.done_by) == (NOW - 13 * S, "ada")
    assert (got.check, got.check_at) == (Check(0, "fine"), NOW - 15 * S)
    far = told(done={"user": "ada", "ago_s": 1e300}).done_at
    assert far is not None and far < NOW - timedelta(days=3000)


def test_why_there_is_no_driver() -> None:
    assert told(driver=None, no_driver="mismatch").no_driver == "mismatch"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("python", "python"), (" a  b ", "a b"), ("a\nb\x00\x1b[31m", "a b [31m"), ("a\u202eb", "a b"), ("\ud800", ""),
        ("x" * 500, "x" * (NAME_MAX - 1) + "…"), ("ä" * 3, "äää"),
    ],
)  # fmt: skip
def test_one_short_line(text: str, short: str) -> None:
    assert clean(text) == short
