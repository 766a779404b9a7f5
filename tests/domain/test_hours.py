"""Wall clocks and working hours."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.domain.errors import Unclear
from bot.domain.hours import (
    add_working,
    add_working_days,
    is_working,
    local,
    midnight,
    next_working_day_end,
    next_working_start,
    wall,
    zone_info,
)
from bot.domain.policy import Policy

BERLIN, NEW_YORK, KOLKATA = "Europe/Berlin", "America/New_York", "Asia/Kolkata"
ZONES = (BERLIN, NEW_YORK, KOLKATA, "UTC", "Australia/Lord_Howe", "America/Santiago")
POLICY = Policy(level="act")
H = timedelta(hours=1)
FIRST, LAST = datetime.fromisoformat("2026-01-01"), datetime.fromisoformat("2027-12-31")


def berlin(text: str) -> datetime:
    """An instant by its wall time in Berlin (the first of two)."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(BERLIN)).astimezone(UTC)


@pytest.mark.parametrize(
    ("zone", "shown", "utc"),
    [
        (BERLIN, "2026-03-28 02:30", "2026-03-28 01:30"),
        (BERLIN, "2026-03-29 01:59", "2026-03-29 00:59"),
        (BERLIN, "2026-03-29 02:00", "2026-03-29 01:00"),  # does not exist: 03:00
        (BERLIN, "2026-03-29 02:30", "2026-03-29 01:00"),
        (BERLIN, "2026-03-29 03:00", "2026-03-29 01:00"),
        (BERLIN, "2026-10-25 01:59", "2026-10-24 23:59"),
        (BERLIN, "2026-10-25 02:30", "2026-10-25 00:30"),  # twice: the first
        (BERLIN, "2026-10-25 03:00", "2026-10-25 02:00"),
        (NEW_YORK, "2026-03-08 02:15", "2026-03-08 07:00"),
        (NEW_YORK, "2026-11-01 01:30", "2026-11-01 05:30"),
        (KOLKATA, "2026-03-29 02:30", "2026-03-28 21:00"),
        ("America/Santiago", "2026-09-06 00:00", "2026-09-06 04:00"),  # midnight itself does not exist
        ("Australia/Lord_Howe", "2026-10-04 02:10", "2026-10-03 15:30"),  # half an hour is left out
    ],
)
def test_wall_clock(zone: str, shown: str, utc: str) -> None:
    at = datetime.fromisoformat(shown)
    assert wall(at.date(), at.time(), zone) == datetime.fromisoformat(utc).replace(tzinfo=UTC)


@given(st.datetimes(FIRST, LAST), st.sampled_from(ZONES))
def test_wall_is_the_first_existing_minute_not_before_what_was_asked(shown: datetime, zone: str) -> None:
    shown = shown.replace(second=0, microsecond=0)
    at = wall(shown.date(), shown.time(), zone)
    read = local(at, zone).replace(tzinfo=None)
    assert at.tzinfo is UTC
    assert shown <= read <= shown + H
    assert local(at - 2 * H, zone).replace(tzinfo=None) < shown or read != shown
    if read != shown:  # a gap: the minute before it is earlier than what was asked, on the wall too
        assert local(at - timedelta(minutes=1), zone).replace(tzinfo=None) < shown
    else:  # not the second of two
        assert local(at, zone).fold == 0


@given(st.datetimes(FIRST, LAST, timezones=st.just(UTC)), st.sampled_from(ZONES))
def test_midnight_ends_the_local_day(at: datetime, zone: str) -> None:
    end = midnight(at, zone)
    assert at < end <= at + 25 * H
    assert local(end, zone).date() == local(at, zone).date() + timedelta(days=1)
    assert local(end - timedelta(minutes=1), zone).date() == local(at, zone).date()


@pytest.mark.parametrize("zone", ["", "Nowhere/Atall", "../../etc/passwd", "Europe", "x" * 5000, "Europe/Berlin\0"])
def test_unknown_zones_are_refused_with_an_example(zone: str) -> None:
    with pytest.raises(Unclear) as refusal:
        zone_info(zone)
    assert refusal.value.facts["hint"] == BERLIN


@pytest.mark.parametrize(
    ("at", "working"),
    [
        ("2026-11-27 08:59", False),
        ("2026-11-27 09:00", True),
        ("2026-11-27 17:59", True),
        ("2026-11-27 18:00", False),  # half open
        ("2026-11-28 12:00", False),  # Saturday
        ("2026-11-29 12:00", False),
        ("2026-11-30 09:00", True),
    ],
)
def test_working_hours(at: str, working: bool) -> None:
    assert is_working(berlin(at), BERLIN, POLICY) is working


def test_working_hours_are_those_of_the_persons_zone() -> None:
    at = berlin("2026-11-27 16:00")
    assert is_working(at, BERLIN, POLICY) and is_working(at, NEW_YORK, POLICY)  # 10:00 there
    assert not is_working(at, KOLKATA, POLICY)  # 20:30 there


@pytest.mark.parametrize(
    ("start", "amount", "end"),
    [
        ("2026-11-27 10:00", 0 * H, "2026-11-27 10:00"),
        ("2026-11-27 10:00", 4 * H, "2026-11-27 14:00"),
        ("2026-11-27 17:45", H / 2, "2026-11-30 09:15"),  # over the weekend
        ("2026-11-27 17:30", H / 2, "2026-11-27 18:00"),  # ends with the day, not with the next one's begin
        ("2026-11-27 18:00", H / 2, "2026-11-30 09:30"),
        ("2026-11-28 03:00", H / 2, "2026-11-30 09:30"),
        ("2026-11-27 07:00", 4 * H, "2026-11-27 13:00"),
        ("2026-11-27 09:00", 30 * H, "2026-12-02 12:00"),  # 9 Fri, 9 Mon, 9 Tue, 3 Wed
        ("2026-10-23 17:00", 2 * H, "2026-10-26 10:00"),  # the clock goes back that weekend
        ("2026-03-27 17:00", 2 * H, "2026-03-30 10:00"),
    ],
)
def test_working_time_goes_by(start: str, amount: timedelta, end: str) -> None:
    assert add_working(berlin(start), amount, BERLIN, POLICY) == berlin(end)


@given(
    st.datetimes(FIRST, LAST, timezones=st.just(UTC)),
    st.timedeltas(timedelta(minutes=1), 40 * H),
    st.timedeltas(timedelta(minutes=1), 40 * H),
    st.sampled_from(ZONES),
)
# A moment of the next spell is needed: it is in working hours, a second before it is not.
@example(datetime(2026, 1, 2, 17, 58, tzinfo=UTC), H / 60, H / 60 + timedelta(microseconds=1), "UTC")
def test_working_time_adds_up(start: datetime, one: timedelta, two: timedelta, zone: str) -> None:
    end = add_working(start, one + two, zone, POLICY)
    assert end == add_working(add_working(start, one, zone, POLICY), two, zone, POLICY)
    assert end >= start + one + two
    assert is_working(end - timedelta(microseconds=1), zone, POLICY)  # the last moment of what went by


@pytest.mark.parametrize(
    ("at", "days", "end"),
    [
        ("2026-11-26 10:00", 1, "2026-11-27 18:00"),
        ("2026-11-27 10:00", 1, "2026-11-30 18:00"),  # Friday: Monday
        ("2026-11-27 00:01", 1, "2026-11-30 18:00"),
        ("2026-11-28 23:59", 1, "2026-11-30 18:00"),
        ("2026-11-30 23:30", 1, "2026-12-01 18:00"),
        ("2026-11-27 10:00", 3, "2026-12-02 18:00"),
        ("2026-12-31 10:00", 1, "2027-01-01 18:00"),  # the site knows no holidays
    ],
)
def test_working_days(at: str, days: int, end: str) -> None:
    assert add_working_days(berlin(at), days, BERLIN, POLICY) == berlin(end)
    if days == 1:
        assert next_working_day_end(berlin(at), BERLIN, POLICY) == berlin(end)


@pytest.mark.parametrize(
    ("at", "start"),
    [
        ("2026-11-27 10:07", "2026-11-27 10:07"),
        ("2026-11-27 18:00", "2026-11-30 09:00"),
        ("2026-11-27 03:00", "2026-11-27 09:00"),
    ],
)
def test_next_working_start(at: str, start: str) -> None:
    assert next_working_start(berlin(at), BERLIN, POLICY) == berlin(start)


def test_a_shift_may_cross_midnight() -> None:
    late = Policy(working_start=time(22), working_end=time(6), working_days=frozenset({4}))
    assert is_working(berlin("2026-11-28 03:00"), BERLIN, late)
    assert not is_working(berlin("2026-11-27 03:00"), BERLIN, late)
    assert add_working(berlin("2026-11-28 05:00"), 2 * H, BERLIN, late) == berlin("2026-12-04 23:00")


def test_a_site_without_working_hours_is_a_mistake_in_the_settings() -> None:
    none = Policy(working_days=frozenset())
    at = berlin("2026-11-27 10:00")
    for ask in (
        lambda: add_working(at, H, BERLIN, none),
        lambda: add_working_days(at, 1, BERLIN, none),
        lambda: next_working_start(at, BERLIN, none),
    ):
        with pytest.raises(ValueError, match="working"):
            ask()
    with pytest.raises(ValueError, match="at least one"):
        add_working_days(at, 0, BERLIN, POLICY)


def test_dates_are_local() -> None:
    assert local(datetime(2026, 11, 27, 23, 30, tzinfo=UTC), KOLKATA).date() == date(2026, 11, 28)
