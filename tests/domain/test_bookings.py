"""`from` and `before` of a line that books ahead: what they are read as, and what still belongs to a restart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from bot.domain.errors import InThePast, Refusal, Unclear
from bot.domain.grammar import Bare, Heard, hear
from bot.domain.policy import Policy

ZONE = "Europe/Berlin"
NOW = datetime(2026, 11, 25, 13, 0, tzinfo=UTC)
"""A Wednesday, 14:00 in Berlin."""


def heard(text: str, *, books: bool = True, bare: Bare = Bare.WINDOW) -> Heard:
    names = {"kinds": {"t4": "T4"}, "machines": ["vm-r"], "cards": ["T4-1"]}
    return hear(text, NOW, ZONE, Policy(), bare=bare, books=books, **names)  # type: ignore[arg-type]


def shown(at: datetime | None) -> str:
    return at.astimezone(ZoneInfo(ZONE)).strftime("%a %d %H:%M") if at else ""


def until(h: Heard) -> str:
    return shown(h.length.until) if h.length else ""


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("1 from thu 14:00", "Thu 26 14:00", ""),
        ("1 from thu 2pm on vm-r", "Thu 26 14:00", ""),
        ("from 16", "Wed 25 16:00", ""),
        ("1 from in 2h", "Wed 25 16:00", ""),
        ("1 from fri", "Fri 27 09:00", ""),  # a day is its working hours
        ("1 from tonight", "Wed 25 22:00", ""),
        ("1 from wed", "Wed 02 09:00", ""),  # today's began: the coming one
        ("1 from 2026-12-01T10:00", "Tue 01 10:00", ""),
        ("1 thu from 14:00", "Thu 26 14:00", ""),
        ("1 on fri from 14:00", "Fri 27 14:00", ""),
        ("1 from thu 14:00 until 18:00", "Thu 26 14:00", "Thu 26 18:00"),  # the first after the start
        ("1 from 22:00 until 6:00", "Wed 25 22:00", "Thu 26 06:00"),
        ("1 until 18:00 from thu 14:00", "Thu 26 14:00", "Thu 26 18:00"),
        ("1 from thu 14:00 to fri 18:00", "Thu 26 14:00", "Fri 27 18:00"),
        ("1 from fri until thu", "Fri 27 09:00", "Thu 03 18:00"),
        ("1 from thu 14-18", "Thu 26 14:00", "Thu 26 18:00"),
        ("1 from 16:00-18:00", "Wed 25 16:00", "Wed 25 18:00"),
        ("1 from fri until tomorrow", "Fri 27 09:00", "Thu 26 18:00"),  # for the verb to refuse
    ],
)
def test_a_booking_is_read(text: str, start: str, end: str) -> None:
    h = heard(text)
    assert (shown(h.start), until(h), h.before, h.window, h.rest) == (start, end, None, None, ())


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("1 before 17:00", "Wed 25 17:00"),
        ("1 before fri", "Fri 27 00:00"),  # before it begins
        ("1 before fri 12:00", "Fri 27 12:00"),
        ("1 before tonight", "Wed 25 22:00"),
        ("1 fri before 12:00", "Fri 27 12:00"),
    ],
)
def test_an_end_of_waiting_is_read(text: str, before: str) -> None:
    h = heard(text)
    assert (shown(h.before), h.start, h.length, h.window, h.rest) == (before, None, None, None, ())


def test_a_length_of_a_booking_counts_from_its_start() -> None:
    h = heard("2 from thu 14:00 for 8h before fri")
    assert h.count == 2 and h.length is not None and h.length.lasting == timedelta(hours=8)
    assert (shown(h.start), shown(h.before)) == ("Thu 26 14:00", "Fri 27 00:00")


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        ("1 restart today from 16:00 to 18:00", "today 16:00-18:00"),
        ("1 restart from 16:00 to 18:00", "today 16:00-18:00"),
        ("1 restart today from 16:00", "today 16:00-24:00"),
        ("1 restart before 17:00", "today 00:00-17:00"),
        ("1 restart after 16:00", "today 16:00-24:00"),
        ("1 between 16 and 18", "today 16:00-18:00"),
    ],
)
def test_what_belongs_to_a_restart_stays_there(text: str, echo: str) -> None:
    h = heard(text)
    assert h.window is not None and h.window.echo == echo
    assert (h.start, h.before, h.length, h.rest) == (None, None, None, ())


def test_a_booking_and_a_restart_in_one_line_are_both_heard() -> None:
    h = heard("1 from thu 14:00 restart tonight before fri 9:00")
    assert h.window is not None and h.window.echo == "tomorrow 22:00-06:00"
    assert (shown(h.start), shown(h.before)) == ("Thu 26 14:00", "Fri 27 09:00")


@pytest.mark.parametrize("bare", list(Bare))
@pytest.mark.parametrize("text", ["from 22 to 6", "today from 16:00 to 18:00", "before 17:00", "after 16:00"])
def test_other_verbs_read_no_booking(text: str, bare: Bare) -> None:
    try:
        h = heard(text, books=False, bare=bare)
    except Refusal:
        return  # an end of a length that makes no sense
    assert h.start is None and h.before is None
    if bare is Bare.ONLY_WINDOW:
        assert h.window is not None and h.rest == ()


def test_from_now_is_as_if_nothing_were_said() -> None:
    assert heard("1 from now until 18:00") == heard("1 until 18:00")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1 from 9:00", "from tomorrow 09:00"),
        ("1 from today", "from tomorrow 09:00"),
        ("1 before 9:00", "before tomorrow 09:00"),
        ("1 from 2026-11-01", "from fri 27 nov 18:00"),
    ],
)
def test_a_time_that_has_passed_is_refused_with_one_that_works(text: str, hint: str) -> None:
    with pytest.raises(InThePast) as no:
        heard(text)
    assert no.value.facts["hint"] == hint
    heard(f"1 {hint}")


@pytest.mark.parametrize(
    "text", ["1 from", "1 from vm-r", "1 before", "1 before lunch", "1 from next week", "1 from 3d", "1 before 2h"]
)
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Unclear) as no:
        heard(text)
    example = str(no.value.facts["hint"]).partition(", or ")[0]
    assert (h := heard(f"1 {example}")).start or h.before


def test_two_starts_are_refused() -> None:
    with pytest.raises(Unclear) as no:
        heard("1 from fri from thu 14:00")
    assert no.value.facts["hint"] == "one of the two: from fri, or from thu 14:00"
    assert heard("1 from fri from fri").start == heard("1 from fri").start


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("1 from fri restart any time today", "Fri 27 09:00", "Sat 28 00:00"),
        ("1 from fri 14:00 restart tonight", "Fri 27 22:00", "Sat 28 06:00"),
        ("1 from fri 14:00 restart at 13:45", "Fri 27 13:45", "Fri 27 14:45"),  # so that it is there in time
        ("1 from fri 14:00 restart from 13:00 to 15:00", "Fri 27 13:00", "Fri 27 15:00"),
        ("1 from fri 14:00 restart thu 20:00", "Thu 26 20:00", "Thu 26 21:00"),  # another day was said
        ("1 from fri 14:00 restart now", "Wed 25 14:00", "Wed 25 15:15"),  # "now" counts from its turn anyway
    ],
)
def test_a_restart_that_is_named_with_a_booking_is_of_its_day(text: str, start: str, end: str) -> None:
    h = heard(text)
    assert h.window is not None and (shown(h.window.start), shown(h.window.end)) == (start, end)
    if "now" not in text:
        assert heard(f"1 restart {h.window.echo}").window == h.window, "its echo can be typed again"
