"""Do-not-disturb as Slack tells it: heeded, cached, never waited for, and "not known" where it is not told."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.config import load
from bot.domain.model import Person
from bot.edges.slack import SlackPeople, make_client
from bot.edges.slack import disturb as edge
from bot.local.slack import LocalSlack, start_in_thread
from bot.wiring.values import slack_of
from tests.edges.slack_rig import settings_for
from tests.edges.test_slack_voice import Hand, arm
from tests.edges.waiting import until

BOB = "UBOB000001"
SCOPES = sorted({"commands", "chat:write", "users:read", "dnd:read"})


@pytest.fixture(scope="module")
def shared() -> Iterator[LocalSlack]:
    with start_in_thread() as running:
        yield running


@pytest.fixture
def slack(shared: LocalSlack) -> Iterator[LocalSlack]:
    shared.drive.post("app", scopes=SCOPES)
    yield shared
    shared.drive.post("faults/clear")
    shared.drive.person("bob", dnd=False, dnd_until=None)


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def people(slack: LocalSlack, clock: Hand) -> Iterator[SlackPeople]:
    settings = settings_for(slack, disturb=True)
    made = SlackPeople(make_client(settings), settings, clock=clock)
    yield made
    made.close()


def asked(slack: LocalSlack) -> int:
    return int(slack.drive.get("counts").get("dnd.info", 0))


def again(slack: LocalSlack, people: SlackPeople, before: int) -> Person:
    """Somebody as known while Slack is asked beside, until it was."""
    until(lambda: people.person(BOB) is not None and asked(slack) > before, "Slack was asked")
    return people.person(BOB)


def disturbed_until(people: SlackPeople) -> datetime:
    """Waits until it is known that somebody is not to be disturbed."""
    until(lambda: people.person(BOB).quiet_until is not None, "it is known")
    found = people.person(BOB).quiet_until
    assert found is not None
    return found


def test_who_does_not_want_to_be_disturbed_is_known_until_when(slack: LocalSlack, people: SlackPeople) -> None:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=3)
    slack.drive.person("bob", dnd=True, dnd_until=end.timestamp())
    assert people.person(BOB).quiet_until is None, "not waited for"
    assert disturbed_until(people) == end


def test_who_may_be_disturbed_has_no_such_time(slack: LocalSlack, people: SlackPeople) -> None:
    assert again(slack, people, asked(slack)).quiet_until is None


def test_a_stretch_ends_by_itself_although_slack_is_not_asked_again(slack: LocalSlack, clock: Hand) -> None:
    now = [datetime.now(UTC)]
    settings = settings_for(slack, disturb=True)
    people = SlackPeople(make_client(settings), settings, clock=clock, now=lambda: now[0])
    slack.drive.person("bob", dnd=True, dnd_until=(now[0] + timedelta(hours=1)).timestamp())
    before = asked(slack)
    assert disturbed_until(people) > now[0]
    now[0] += timedelta(minutes=61)
    assert people.person(BOB).quiet_until is None
    assert asked(slack) == before + 1
    people.close()


def test_it_is_asked_once_in_a_few_minutes_and_beside(slack: LocalSlack, people: SlackPeople, clock: Hand) -> None:
    before = asked(slack)
    again(slack, people, before)
    assert [people.person(BOB).quiet_until for _ in range(20)] == [None] * 20
    assert asked(slack) == before + 1
    before = asked(slack)
    slack.drive.person("bob", dnd=True)
    clock.seconds += edge.FRESH + 1
    arm(slack, "slow", "dnd.info", 0.5)
    start = time.monotonic()
    assert people.person(BOB).quiet_until is None, "as it was known"
    assert time.monotonic() - start < 0.2, "nobody waits"
    disturbed_until(people)
    assert asked(slack) == before + 1


@pytest.mark.parametrize("kind", ["refused", "broken", "rate_limited"])
def test_what_slack_does_not_tell_is_not_known_and_said_once(
    slack: LocalSlack, people: SlackPeople, clock: Hand, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    slack.drive.person("bob", dnd=True)
    value = {"refused": "internal_error", "broken": 503, "rate_limited": 7}[kind]
    arm(slack, kind, "dnd.info", value, times=2)
    before = asked(slack)

    def known_later() -> bool:
        clock.seconds += 8  # whatever Slack said is over by then
        return people.person(BOB).quiet_until is not None

    with caplog.at_level(logging.WARNING, logger=edge.__name__):
        assert people.person(BOB).quiet_until is None
        until(known_later, "it is asked again")
    assert asked(slack) >= before + 3 and len(caplog.records) == 1, caplog.text


class _Later(Executor):
    """Does what it is given when it is told to."""

    def __init__(self) -> None:
        self.given: list[Callable[[], object]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.given.append(lambda: fn(*args, **kwargs))
        return Future()


def test_who_waits_to_be_asked_about_while_slack_says_too_many_is_left_for_later(
    slack: LocalSlack, clock: Hand
) -> None:
    pool, before = _Later(), asked(slack)
    disturb = edge.Disturb(make_client(settings_for(slack)), pool, lambda: datetime.now(UTC), clock)
    arm(slack, "rate_limited", "dnd.info", 7, times=1)
    for id in (BOB, "UADA000001"):
        disturb.until(id)
    for ask in pool.given:
        ask()
    assert asked(slack) == before + 1
    clock.seconds += 8
    for id in (BOB, "UADA000001"):
        disturb.until(id)
    for ask in pool.given[2:]:
        ask()
    assert asked(slack) == before + 3


def test_many_people_are_asked_about_no_more_often_than_slack_takes() -> None:
    assert edge.fresh(1) == edge.FRESH
    assert max(60 * people / edge.fresh(people) for people in range(1, 3000)) <= 40


def test_without_the_scope_nobody_is_asked_for_and_the_log_says_what_to_do(
    slack: LocalSlack, people: SlackPeople, clock: Hand, caplog: pytest.LogCaptureFixture
) -> None:
    slack.drive.post("app", scopes=[s for s in SCOPES if s != "dnd:read"])
    before = asked(slack)
    with caplog.at_level(logging.WARNING, logger=edge.__name__):
        assert again(slack, people, before).quiet_until is None
        until(lambda: bool(caplog.records), "it is said")
        clock.seconds += edge.FRESH + 1
        people.person(BOB)
        people.person("UADA000001")
    assert "reinstall it with the manifest" in caplog.text and "dnd:read" in caplog.text
    assert asked(slack) == before + 1 and len(caplog.records) == 1


def test_it_is_not_asked_for_while_nothing_heeds_it(slack: LocalSlack) -> None:
    settings = settings_for(slack)
    people = SlackPeople(
        make_client(settings), settings, lambda: [Person(BOB, "bob", "UTC", quiet_until=datetime.now(UTC))]
    )
    before = asked(slack)
    assert people.person(BOB).quiet_until is None
    assert asked(slack) == before
    people.close()


@pytest.mark.parametrize("nudge", [True, False])
def test_it_is_asked_for_where_questions_about_quiet_cards_are_on(tmp_path: Path, nudge: bool) -> None:
    file = tmp_path / "gpubot.toml"
    file.write_text(f"[idle]\nnudge = {str(nudge).lower()}\n")
    assert slack_of(load(file)).disturb is nudge
