"""The stretches of time that reports are about: whole days of a zone. A day is as long as it is there, 23 and 25 hours included."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time

from bot.domain.hours import DAY, local, wall

MIDNIGHT = time(0)


@dataclass(frozen=True)
class Period:
    """Whole days of a zone."""

    first: date  # its first day
    last: date  # and its last one
    zone: str  # IANA name

    @property
    def start(self) -> datetime:
        """When it begins (UTC)."""
        return wall(self.first, MIDNIGHT, self.zone)

    @property
    def end(self) -> datetime:
        """When it is over (UTC); it does not belong to it."""
        return wall(self.last + DAY, MIDNIGHT, self.zone)


def days_of(period: Period) -> list[tuple[date, datetime, datetime]]:
    """Its days in order, each with when it begins and ends."""
    days = [period.first + n * DAY for n in range((period.last - period.first).days + 1)]
    return [(day, wall(day, MIDNIGHT, period.zone), wall(day + DAY, MIDNIGHT, period.zone)) for day in days]


def today(now: datetime, zone: str) -> date:
    """The day that it is there."""
    return local(now, zone).date()


def this_week(now: datetime, zone: str) -> Period:
    """From Monday on, as far as it has gone."""
    day = today(now, zone)
    return Period(day - day.weekday() * DAY, day, zone)


def last_week(now: datetime, zone: str) -> Period:
    """The last whole week, Monday to Sunday."""
    monday = this_week(now, zone).first
    return Period(monday - 7 * DAY, monday - DAY, zone)


def last_month(now: datetime, zone: str) -> Period:
    """The last whole month."""
    end = today(now, zone).replace(day=1) - DAY
    return Period(end.replace(day=1), end, zone)
