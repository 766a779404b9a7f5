"""From a card to a verdict, by the whole way: the real agent, its reading over the wire's own model, the minutes of it, and the judge.

Each state of a card that the fake NVML plays is called what it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain.idle.verdict import GHOST, judge
from bot.domain.inside import Minute, Verdict
from bot.domain.minutes import minutes_of
from bot.domain.policy import Policy
from bot.edges.telemetry.push.told import to_reading
from bot.edges.telemetry.push.wire import ReadingIn
from tests.guest.captured import from_csv, from_xml
from tests.guest.conftest import T4, Fake, Guest, Receiver
from tests.guest.test_agent_cards import MIG, VGPU

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
POLICY = Policy(level="act")
Reading = dict[str, Any]


def minutes(body: Reading) -> tuple[Minute, ...]:
    """As the bot keeps them."""
    return minutes_of(to_reading("machine", ReadingIn.model_validate_json(json.dumps(body)), NOW))


def verdict(body: Reading, ghost_for: timedelta | None = None) -> Verdict:
    """Of its one device."""
    (minute,) = minutes(body)
    return judge(minute, POLICY, None if ghost_for is None else minute.end - ghost_for)[0]


def whole(reading: Reading) -> bool:
    """Whether its samples cover it."""
    return all((c.get("measured_s") or 0) > 0.8 * reading["interval_s"] for c in reading["cards"])


@pytest.fixture
def say(guest: Guest, fake: Fake, receiver: Receiver) -> Callable[..., Reading]:
    """A whole minute of a guest with these cards."""

    def said(cards: list[dict[str, Any]], right: Callable[[Reading], bool] = whole, **general: Any) -> Reading:
        fake.set(cards, **general)
        if guest.process is None:
            guest.start()
        return receiver.fresh(right)

    return said


def test_work_is_busy_and_none_is_quiet(say: Callable[..., Reading]) -> None:
    assert verdict(say([{**T4, "util": 97, "compute": "4242:9000", "mem_used_mib": 9000}])) is Verdict.BUSY
    assert verdict(say([T4])) is Verdict.QUIET


def test_a_minute_with_a_burst_in_it_is_busy_and_one_without_is_quiet(
    guest: Guest, fake: Fake, receiver: Receiver
) -> None:
    fake.card(burst="80 100 6000")
    guest.start()
    burst = receiver.wait(lambda r: r["cards"][0]["util_max"] == 80)
    assert verdict(burst) is Verdict.BUSY
    quiet = receiver.wait(lambda r: whole(r) and r["cards"][0]["util_max"] == 0, since=len(receiver.readings))
    assert verdict(quiet) is Verdict.QUIET


def test_a_poisoned_first_reading_is_not_work(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    fake.set([T4], poison="100 18")
    guest.start()
    assert verdict(receiver.wait(whole)) is Verdict.QUIET
    assert Verdict.BUSY not in [verdict(body) for body in receiver.readings]


def test_ghost_load_is_unknown_once_it_has_lasted(say: Callable[..., Reading]) -> None:
    body = say([{**T4, "util": 100}])
    assert verdict(body) is Verdict.BUSY
    assert verdict(body, ghost_for=timedelta(minutes=11)) is Verdict.UNKNOWN
    (minute,) = minutes(body)
    assert judge(minute, POLICY, NOW - timedelta(hours=1))[1] == GHOST
    worked = say([{**T4, "util": 100, "compute": "4242:9000", "mem_used_mib": 9000}])
    assert verdict(worked, ghost_for=timedelta(minutes=11)) is Verdict.BUSY
    unread = say([{**T4, "util": 100, "compute": "!999"}])
    assert verdict(unread, ghost_for=timedelta(minutes=11)) is Verdict.BUSY  # nobody knows that no process holds it


def test_mig_without_counters_is_unknown_and_with_them_it_is_judged(say: Callable[..., Reading]) -> None:
    def anything(_: Reading) -> bool:
        return True

    assert verdict(say([MIG], right=anything)) is Verdict.UNKNOWN


@pytest.mark.parametrize(("share", "expected"), [(37.5, Verdict.BUSY), (0, Verdict.QUIET)])
def test_mig_with_counters(say: Callable[..., Reading], share: float, expected: Verdict) -> None:
    assert verdict(say([{**MIG, "gpm": 1, "mig.0.active": share, "mig.2.active": 0}])) is expected


def test_a_vgpu_guest_is_judged_by_its_utilisation(say: Callable[..., Reading]) -> None:
    assert verdict(say([VGPU])) is Verdict.QUIET
    assert verdict(say([{**VGPU, "util": 12}])) is Verdict.BUSY
    assert verdict(say([{**VGPU, "util": 2}])) is Verdict.QUIET  # a desktop flickers


def test_a_lost_card_is_a_fault(say: Callable[..., Reading]) -> None:
    say([T4])
    body = say([{**T4, "lost": 15}], right=lambda r: any(c["fault"] for c in r["cards"]))
    assert verdict(body) is Verdict.FAULT


def test_a_driver_mismatch_and_no_driver_are_no_quiet(guest: Guest, fake: Fake, receiver: Receiver) -> None:
    for init, word in ((18, "mismatch"), (9, "not loaded"), (12, "no library")):
        fake.set([T4], init=init)
        receiver.readings.clear()
        guest.kill()
        guest.start()
        body = receiver.wait(lambda r: True)
        assert body["no_driver"] == word
        (minute,) = minutes(body)
        assert minute.uuid == ""
        assert judge(minute, POLICY)[0] is Verdict.UNKNOWN


def test_a_process_list_that_fails_leaves_the_verdict_to_the_engines(say: Callable[..., Reading]) -> None:
    body = say([{**T4, "compute": "!999"}])
    (minute,) = minutes(body)
    assert minute.processes is None
    assert verdict(body) is Verdict.QUIET
    assert verdict(say([{**T4, "compute": "!999", "util": 30}])) is Verdict.BUSY


def test_utilisation_that_fails_is_unknown(say: Callable[..., Reading]) -> None:
    body = say([{**T4, "util": "!999"}], right=lambda r: bool(r["cards"]))
    assert body["cards"][0]["util_max"] is None
    assert verdict(body) is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("captured", "expected"),
    [
        (from_csv("01_csv_h100_passthrough_idle.csv"), Verdict.QUIET),
        (from_csv("04_csv_l40s_encoder_only.csv"), Verdict.BUSY),
        (from_xml("07_xml_t4_passthrough_schema11.xml"), Verdict.QUIET),
        (from_xml("09_xml_a5000_memory_held_util0_schema13.xml"), Verdict.QUIET),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_captured_cards(say: Callable[..., Reading], captured: dict[str, Any], expected: Verdict) -> None:
    assert verdict(say([captured], driver=captured["driver"])) is expected


def test_a_captured_card_whose_first_query_reads_full_load_is_quiet(
    guest: Guest, fake: Fake, receiver: Receiver
) -> None:
    captured = from_csv("03_csv_l40s_first_query_persistence_off.csv")
    fake.set([{**captured, "util": 0}], driver=captured["driver"], poison="100 18")
    guest.start()
    assert verdict(receiver.wait(whole)) is Verdict.QUIET
    assert Verdict.BUSY not in [verdict(body) for body in receiver.readings]


def test_nothing_of_a_quiet_minute_survives_a_lack_of_samples(say: Callable[..., Reading]) -> None:
    (minute,) = minutes(say([T4]))
    assert judge(minute, POLICY)[0] is Verdict.QUIET
    assert judge(replace(minute, measured_s=1.0), POLICY)[0] is Verdict.UNKNOWN
