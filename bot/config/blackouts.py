"""``[site] blackout``: stretches of time in which the bot begins no shutdown, as people write them.

Read with the section ``[site]``; the zone is put to them when the rules' numbers are made. Weekly ones are ``fri 16:00-18:00``,
``mon-thu 12:00-12:30``, ``daily``, ``weekdays``, ``weekends``; ones of a date ``2026-12-24 00:00 - 2026-12-27 00:00`` or
``2026-12-24 14:00-18:00``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from pydantic_core import PydanticCustomError

from bot.config.values import WORKDAYS, nearest, read_days, wrong
from bot.domain.hours import wall
from bot.domain.model import Blackout, Pattern, Window

NAMES = {"daily": "mon-sun", "weekdays": "mon-fri", "weekends": "sat-sun"}
"""Words for several days."""

ALWAYS = timedelta(hours=167)
"""Of a week: who leaves less lets nothing restart."""

_TIME = r"([01]?\d|2[0-4]):([0-5]\d)"
_DATE = r"(\d{4}-\d{2}-\d{2})"
_WEEKLY = re.compile(rf"(?P<days>[a-z][a-z, -]*?)\s+(?P<start>{_TIME})\s*-\s*(?P<end>{_TIME})")
_DATED = re.compile(rf"(?P<day>{_DATE})\s+(?P<start>{_TIME})\s*-\s*(?:(?P<last>{_DATE})\s+)?(?P<end>{_TIME})")

EXAMPLE = '"fri 16:00-18:00"'


@dataclass(frozen=True)
class Stretch:
    """One of them, by the wall clock."""

    said: str  # as it was written
    days: frozenset[int] = frozenset()  # of a weekly one
    start: time = time(0)  # of a weekly one
    end: time = time(0)  # likewise; not after start: on the next day
    begins: tuple[date, time] | None = None  # of a dated one
    ends: tuple[date, time] | None = None  # likewise

    def in_zone(self, zone: str) -> Blackout:
        """The same for the rules."""
        if self.begins is None or self.ends is None:
            return Blackout(self.said, Pattern(self.days, self.start, self.end, zone))
        return Blackout(self.said, window=Window(wall(*self.begins, zone), wall(*self.ends, zone)))


def read_blackouts(value: object) -> tuple[Stretch, ...]:
    """A list of them; one text with ``;`` between (from the environment) as well. All mistakes at once."""
    items = [x for x in value.split(";") if x.strip()] if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise wrong(f"is no list of times (write it like [{EXAMPLE}])")
    found, mistakes = [], []
    for item in items:
        try:
            found.append(item if isinstance(item, Stretch) else read_stretch(str(item)))
        except PydanticCustomError as error:
            said = error.context or {}
            line = f'"{said["instead"]}"' if said.get("instead") else EXAMPLE
            mistakes.append(f'[site] blackout "{item}" {said["what"]}; write: {line}')
    if not mistakes and _fill_the_week(found):
        mistakes.append(f"[site] blackout leaves no time in which a machine may restart; write: blackout = [{EXAMPLE}]")
    if mistakes:
        raise wrong("", *mistakes)
    return tuple(found)


def read_stretch(text: str) -> Stretch:
    """One of them."""
    said = " ".join(text.split())
    low = said.lower().replace("–", "-")
    if dated := _DATED.fullmatch(low):
        begins = (_date(dated["day"]), _minutes(dated["start"]))
        ends = (_date(dated["last"] or dated["day"]), _minutes(dated["end"]))
        first, last = (_at(*x) for x in (begins, ends))
        if last <= first:
            raise wrong("ends before it begins")
        return Stretch(said, begins=(first.date(), first.time()), ends=(last.date(), last.time()))
    weekly = _WEEKLY.fullmatch(low)
    if weekly is None:
        raise wrong(f"is no stretch of time (write it like {EXAMPLE} or 2026-12-24 00:00 - 2026-12-27 00:00)")
    start, end = _minutes(weekly["start"]), _minutes(weekly["end"])
    if start == 1440:
        raise wrong("begins at 24:00, which is 00:00 of the next day")
    if start == end:
        raise wrong("begins and ends at the same time")
    return Stretch(said, _days(weekly["days"].strip(), low), _clock(start), _clock(end))


def _days(word: str, whole: str) -> frozenset[int]:
    if word in NAMES:
        return read_days(NAMES[word])
    try:
        return read_days(word)
    except PydanticCustomError:
        near = nearest(word, [*NAMES, *WORKDAYS])
        raise wrong("names no days", instead=whole.replace(word, near, 1) if near else "") from None


def _date(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        raise wrong(f"has the date {text}, which there is not") from None
    if not 2000 <= found.year <= 2999:  # near the ends of the calendar no zone can be reckoned with
        raise wrong(f"has the year {found.year}, which nobody will meet")
    return found


def _minutes(text: str) -> int:
    hour, minute = (int(x) for x in text.split(":"))
    if hour == 24 and minute:
        raise wrong(f"has the time {text}, which there is not")
    return hour * 60 + minute


def _clock(minute: int) -> time:
    return time(minute % 1440 // 60, minute % 60)


def _at(day: date, minute: int) -> datetime:
    return datetime.combine(day, time(0), UTC) + timedelta(minutes=minute)


def _fill_the_week(found: Iterable[Stretch]) -> bool:
    """Whether the weekly ones leave no hour in which a restart could begin and end."""
    taken: set[int] = set()
    for one in found:
        start, end = (x.hour * 60 + x.minute for x in (one.start, one.end))
        for day in one.days:
            for minute in range(start, end if end > start else end + 1440):
                taken.add((day * 1440 + minute) % 10080)
    return len(taken) > ALWAYS.total_seconds() / 60
