"""Examples that fit what somebody typed, for refusals: what works is near what was meant.

Called by the grammar when words of time could not be read. It knows no clock and no zone; it never decides what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from bot.domain.shapes import MONTHS, NUMBER_WORDS, duration, read_minute

HOURS = "hours go from 0 to 24"
_NUMBER = re.compile(r"[0-9]{1,4}")
_CLOCK_LIKE = re.compile(r"[0-9]{1,3}:[0-9]{1,3}(?:-[0-9]{1,3}:?[0-9]{0,3})?")
_PAIR = re.compile(r"([0-9]{1,2})[./]([0-9]{1,2})(?:[./](?:[0-9]{2}|[0-9]{4}))?[./]?")
_WORDS = {word: number for number, word in enumerate(NUMBER_WORDS) if number}
_DAYS = {"fortnight": 14, "month": 28, "year": 365, "night": 1, "workday": 1, "working": 1, "business": 1}
"""Units that are not understood, in the days that come nearest."""
_DAYS_AGAIN = frozenset({"weekdays", "daily", "mondays", "fridays"})
"""Days that come again: they want times."""
_ENDS = (
    (re.compile(r"(?:end of (?:the |this )?(?:week|working week)|eow)\b"), ("fri 18:00", "sun 24:00")),
    (re.compile(r"(?:end of (?:the |this )?(?:day|working day)|eod|cob)\b"), ("today 18:00", "today 24:00")),
    (re.compile(r"(?:over )?(?:the )?weekend\b"), ("sun 24:00", "mon 09:00")),
    (re.compile(r"next week\b"), ("next mon 18:00", "next mon 09:00")),
)
"""Ends of which everybody means another hour, with what they may mean."""
_PARTS = {"morning": "06:00-09:00", "afternoon": "12:00-18:00", "evening": "18:00-22:00", "night": "22:00-06:00"}
"""Parts of a day: everybody means other hours."""
_PART_AT = {"morning": "09:00", "afternoon": "15:00", "evening": "20:00", "night": "23:00"}
"""An hour of each, where it is to be one time."""
_MOST = 14
"""Days of the longest example: as long as a card may be lent by default."""


def for_hint(words: Sequence[str]) -> str:
    """What works instead of the words (lower case) after `for`: a duration."""
    padded = [*words, "", ""]
    first, rest = padded[0], padded[1:]
    number = str(_WORDS[first]) if first in _WORDS else first
    if read_minute(first) is not None:
        return f"until {first}, or for 8h"
    if first in ("until", "till", "to", "by"):
        return "until fri 18:00, or for 8h"
    if comma := re.fullmatch(r"([0-9]{1,3}),([0-9]{1,2}) ?(.*)", " ".join(words).strip()):
        decimal = f"{comma[1]}.{comma[2]}{comma[3].split(' ')[0]}"
        return f"for {decimal}" if duration([decimal]) else "for 8h"
    if first == "tonight":
        return "until tomorrow 08:00, or for 12h"
    if not _NUMBER.fullmatch(number):
        return "for 8h"
    for count in (2, 1):
        if first in _WORDS and duration([number, *rest[:count]]):
            return f"for {' '.join([number, *rest[:count]]).strip()}"
    days = _DAYS.get(rest[0].rstrip("s"))
    if days is not None:
        count = min(int(number) * days, _MOST)
        return f"for {count} day{'s' if count != 1 else ''}"
    at = f", or until {number}:00" if int(number) <= 24 else ""
    return f"for {number}h, for {number} min{at}"


def until_hint(words: Sequence[str], lead: str = "until ") -> str:
    """What works instead of the words (lower case) after `until`: a point in time."""
    for count in (3, 2, 1):
        if (lasting := duration(words[:count])) and lasting.days <= _MOST:
            said = " ".join(words[:count])
            hour = re.fullmatch(r"([0-9]{1,2}) ?h", said)
            return f"for {said}" + (f", or until {hour[1]}:00" if hour and int(hour[1]) <= 24 else "")
    return near(words, lead, lead) or f"{lead}fri 18:00"


def ahead(words: Sequence[str]) -> timedelta | None:
    """How far ahead words without an `in` probably mean; None: they mean no duration, or one that is too long for an example."""
    found = duration(words)
    return found if found is not None and found.days <= _MOST else None


def part_of_day(said: str, words: Sequence[str]) -> str:
    """What works for `tomorrow morning`, `this evening`: the same day at an hour; "" it is none.

    :param said: the day, as it was understood ("until tomorrow"); "" none was: today
    :param words: those that were left over
    """
    part = next((_PART_AT[word.lower()] for word in words[:2] if word.lower() in _PART_AT), "")
    return f"{said or 'today'} {part}" if part and not any(c.isdigit() for c in said) else ""


def near(words: Sequence[str], clock: str, date: str) -> str:
    """What works instead of a time of day or a date that does not exist or could be two, days without times, parts of a day; "" if it is none.

    :param clock: what stands before a time of day
    :param date: what stands before a date
    """
    said = " ".join(words[:5])
    for pattern, ends in _ENDS:
        if pattern.match(said):
            return ", or ".join(f"{date}{end}" for end in ends)
    for word in words[:3]:
        if word in _DAYS_AGAIN:
            return f"{word} 22:00-06:00"
        if word in _PARTS:
            return f"the day and its hours: fri {_PARTS[word]}"
        if _CLOCK_LIKE.fullmatch(word) and any(read_minute(part) is None for part in word.split("-")):
            return f"{clock}18:00 ({HOURS})"
        if comma := re.fullmatch(r"([0-9]{1,3}),([0-9]{1,2})([a-z]+)", word):
            one, two, unit = comma.groups()
            return f"for {one}.{two}{unit}, or {one} for {two}{unit}" if duration([f"{two}{unit}"]) else ""
        if word == "1/2":
            return "30 min"
        if pair := _PAIR.fullmatch(word):
            return _dates(pair[1], pair[2], "." in word, clock, date)
    return ""


def _dates(first: str, second: str, dot: bool, clock: str, date: str) -> str:
    """Two numbers as the dates and times of day that they could be; between dots the day is first."""
    one, two = int(first), int(second)
    timed = dot and one < 24 and two < 60 and len(second) == 2
    pairs = ((one, two),) if timed else ((one, two), (two, one))
    found = [f"{date}{day} {MONTHS[month - 1]}" for day, month in pairs if 1 <= month <= 12 and 1 <= day <= 28]
    if timed:
        found.insert(0, f"{clock}{one}:{two:02}")
    return ", or ".join(dict.fromkeys(found[:2]))
