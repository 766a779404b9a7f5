"""Times said in words that can be typed again, and minutes of local days.

Called by ``times`` and by rules that put a time into a reason. What people read in messages is put into their own zone by the surface; these
words are for echoes, hints and the ledger.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from bot.domain.hours import DAY, local, wall
from bot.domain.model import Pattern
from bot.domain.shapes import MONTHS, WEEKDAYS

# ---- minutes of local days ----------------------------------------------------------------------------------------


def stretch(day: date, begin: int, finish: int, zone: str) -> tuple[datetime, datetime]:
    """The stretch that begins on a day; an end not after the begin is on the next day. May be empty by a clock change."""
    return minute_of(day, begin, zone), minute_of(day + DAY * (finish <= begin), finish, zone)


def minute_of(day: date, minute: int, zone: str) -> datetime:
    """The instant of a minute of a local day (0 to 1440); UTC."""
    return wall(day + DAY * (minute // 1440), clock(minute), zone)


def clock(minute: int) -> time:
    """A minute of the day as a time; 1440 is the next midnight."""
    return time(minute % 1440 // 60, minute % 60)


def minutes(at: time) -> int:
    """A time as a minute of the day."""
    return at.hour * 60 + at.minute


# ---- saying -------------------------------------------------------------------------------------------------------


def clock_words(minute: int) -> str:
    """A minute of the day, as `18:00`; 1440 is `24:00`."""
    return f"{minute // 60:02}:{minute % 60:02}"


def instant_words(at: datetime, zone: str, now: datetime) -> str:
    """An instant in words that can be typed again: `today 18:00`, `tomorrow 09:00`, `fri 4 dec 18:00`."""
    shown = local(at, zone)
    return f"{date_words(shown.date(), local(now, zone).date())} {shown:%H:%M}"


def lasting_words(amount: timedelta) -> str:
    """A duration in words that can be typed again: `8 h`, `3 d`, `1 h 30 min`; whole minutes, at least one."""
    days, rest = divmod(max(1, round(amount.total_seconds() / 60)), 1440)
    hours, rest = divmod(rest, 60)
    return " ".join(f"{n} {unit}" for n, unit in ((days, "d"), (hours, "h"), (rest, "min")) if n)


def limit_words(length: timedelta) -> str:
    """A limit in words that can be typed again, of days where it is long: `24 hours`, `7 days`."""
    hours = length.total_seconds() / 3600
    return f"{hours / 24:.0f} days" if hours >= 48 else f"{hours:.0f} hours"


def pattern_words(pattern: Pattern) -> str:
    """A standing window in words that can be typed again: `nights 22:00-06:00`, `mon-fri 20:00-23:00`, `weekends`."""
    begin, finish = minutes(pattern.start), minutes(pattern.end) or 1440
    if pattern.days == {5, 6} and (begin, finish) == (0, 1440):
        return "weekends"
    return f"{_days_words(pattern.days, crosses=finish <= begin)} {clock_words(begin)}-{clock_words(finish)}"


def _days_words(days: frozenset[int], crosses: bool) -> str:
    known = {frozenset(range(7)): "nights" if crosses else "daily", frozenset(range(5)): "weekdays"}
    if words := known.get(days) or ("weekends" if days == {5, 6} else ""):
        return words
    named = [WEEKDAYS[day] for day in sorted(days)]
    return f"every {named[0]}" if len(named) == 1 else ", ".join(named)


def date_words(day: date, today: date) -> str:
    """A date in words that can be typed again: `today`, `tomorrow`, `fri 4 dec`; far ahead `2027-11-01`."""
    if day in (today, today + DAY):
        return "today" if day == today else "tomorrow"
    if day > today + 180 * DAY:
        return day.isoformat()
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}"
