"""Wall clocks and working hours: how local time of a named zone meets instants.

Called by the words of time, by windows and by every rule that counts a person's working time. Pure: ``now`` is always an
argument. It must not know what the time is for.

On a clock-change night a wall time that does not exist is the next existing minute, and one that exists twice is the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from bot.domain.errors import Unclear
from bot.domain.policy import Policy

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
FARTHEST = 400
"""Days that a search for working time looks ahead; a site without any working hours is a mistake in the settings."""


@lru_cache(maxsize=256)
def zone_info(zone: str) -> ZoneInfo:
    """The zone of an IANA name. Raises Unclear for a name that nobody knows."""
    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, OSError):  # unknown, malformed, or the name of a folder
        raise Unclear(text=zone, hint="Europe/Berlin") from None


def local(at: datetime, zone: str) -> datetime:
    """An instant as the zone's wall clock shows it (aware)."""
    return at.astimezone(zone_info(zone))


@lru_cache(maxsize=4096)
def wall(day: date, at: time, zone: str) -> datetime:
    """The instant (UTC) at which the zone's wall clock shows a day and time: the next existing minute, or the first of two."""
    info = zone_info(zone)
    shown = datetime.combine(day, at.replace(tzinfo=None, fold=0))
    while True:
        instant = shown.replace(tzinfo=info).astimezone(UTC)
        if instant.astimezone(info).replace(tzinfo=None) == shown:
            return instant
        # In a gap. Seconds are dropped so that the end of the gap itself is met.
        shown = shown.replace(second=0, microsecond=0) + MINUTE


def skipped_hour(at: datetime, zone: str) -> tuple[str, str] | None:
    """The wall clock's stretch (``02:00``, ``03:00``) that does not exist because the zone's clocks go forward at an instant; None: they do not."""
    info = zone_info(zone)
    before, after = (at - MINUTE).astimezone(info), at.astimezone(info)
    gone = (after.utcoffset() or timedelta(0)) - (before.utcoffset() or timedelta(0))
    return (f"{after - gone:%H:%M}", f"{after:%H:%M}") if gone > timedelta(0) else None


def midnight(at: datetime, zone: str) -> datetime:
    """The end of the local day in which an instant lies: 24:00, in UTC."""
    return wall(local(at, zone).date() + DAY, time(0), zone)


def is_working(at: datetime, zone: str, policy: Policy) -> bool:
    """Whether an instant lies in the working hours of the zone."""
    return any(start <= at < end for start, end in _spells(at, zone, policy, days=1))


def add_working(start: datetime, amount: timedelta, zone: str, policy: Policy) -> datetime:
    """The instant at which ``amount`` of working time has gone by since ``start``; ``start`` itself for nothing."""
    if amount <= timedelta(0):
        return start
    for begin, end in _spells(start, zone, policy):
        begin = max(begin, start)
        if begin + amount <= end:
            return begin + amount
        amount -= max(end - begin, timedelta(0))
    raise ValueError("the policy has no working hours")


def add_working_days(start: datetime, days: int, zone: str, policy: Policy) -> datetime:
    """The end of the working hours of the n-th working day after the day of ``start`` (1: the next one); UTC."""
    if days < 1:
        raise ValueError("at least one working day")
    today = local(start, zone).date()
    left = days
    for ahead in range(1, FARTHEST):
        day = today + ahead * DAY
        if day.weekday() in policy.working_days:
            left -= 1
            if left == 0:
                return _hours(day, zone, policy)[1]
    raise ValueError("the policy has no working days")


def next_working_day_end(at: datetime, zone: str, policy: Policy) -> datetime:
    """The end of the next working day after today, local: the default end of a lease; UTC."""
    return add_working_days(at, 1, zone, policy)


def next_working_start(at: datetime, zone: str, policy: Policy) -> datetime:
    """``at`` itself if it lies in working hours, else the next instant at which they begin; UTC."""
    for begin, end in _spells(at, zone, policy):
        if at < end:
            return max(begin, at)
    raise ValueError("the policy has no working hours")


def _hours(day: date, zone: str, policy: Policy) -> tuple[datetime, datetime]:
    """The working hours that begin on a day; an end not after the start is on the next day."""
    ends = day if policy.working_end > policy.working_start else day + DAY
    return wall(day, policy.working_start, zone), wall(ends, policy.working_end, zone)


def _spells(at: datetime, zone: str, policy: Policy, days: int = FARTHEST) -> Iterator[tuple[datetime, datetime]]:
    """Working hours in order, from the day before that of ``at`` (a shift may cross midnight)."""
    today = local(at, zone).date()
    for ahead in range(-1, days):
        day = today + ahead * DAY
        if day.weekday() in policy.working_days:
            yield _hours(day, zone, policy)
