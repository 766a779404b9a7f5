"""The small shapes of words of time: clocks, durations, days, and the values that longer phrases are made of.

Called by ``phrases``, ``times`` and the grammar. It knows no clock, no zone and no policy. Minutes of a day count from 0 to 1440; 1440 is
24:00.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAY = re.compile(
    r"(mon(?:day)?|tue(?:s|sday)?|wed(?:s|nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
PLURAL = re.compile(r"(mon|tues|wednes|thurs|fri|satur|sun)days")
MONTH = re.compile(
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
ISO_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}t[0-9]{2}:[0-9]{2}(?::[0-9]{2})?(z|[+-][0-9]{2}:[0-9]{2})?")
_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?(am|pm)?")
_DOT_CLOCK = re.compile(r"([0-9]{1,2})\.([0-9]{2})")
DOTTED = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.(20[0-9]{2})?")
_SHORT_DATE = re.compile(r"([0-9]{1,2})([./])([0-9]{1,2})(?:/(20[0-9]{2}))?")
ORDINAL = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_UNIT = r"(?:minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w)"
_PART = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,3}})?) ?({_UNIT})(?![a-z])(?: and(?= ))? ?")
_COMMA = re.compile(rf"(?<![0-9.,])([0-9]{{1,3}}),([0-9]{{1,2}})(?= ?{_UNIT}(?![a-z]))")
NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORDED = re.compile(rf"\b({'|'.join(NUMBER_WORDS[1:])})(?= {_UNIT}(?![a-z]))")
_CLOCKED = re.compile(r"([0-9]{1,3}):([0-5][0-9]) ?(?:hours?|hrs?|h)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(days=7)}
_ONES = {
    "half an hour": timedelta(minutes=30),
    "an hour": timedelta(hours=1),
    "one hour": timedelta(hours=1),
    "an hour and a half": timedelta(minutes=90),
    "a day": timedelta(days=1),
    "one day": timedelta(days=1),
    "a week": timedelta(days=7),
    "one week": timedelta(days=7),
}
_BEGINNINGS = (
    "now right immediately at when once after as ask today tomorrow tonight the day next coming this on weekdays weekday weekends weekend "
    "working every each daily nights nightly all any anytime some sometime only from between before by until till to noon midnight "
    "in an a one two three four five six seven eight nine ten half restart hard even"
)
_BEGINS = frozenset(_BEGINNINGS.split())
_LASTING = timedelta(days=36500)
"""More than anybody means; also keeps sums within what a datetime can hold."""


class DayKind(StrEnum):
    """How a day was named."""

    TODAY = "today"
    TOMORROW = "tomorrow"
    AFTER = "the day after tomorrow"
    TONIGHT = "tonight"  # the site's night
    WORKING = "next working day"
    WEEKDAY = "weekday"  # the coming one
    NEXT = "next weekday"  # that of next week; clear only if there is none left in this one
    DATE = "date"  # with or without a year


@dataclass(frozen=True)
class Day:
    """A day as it was said."""

    kind: DayKind  # how
    weekday: int | None = None  # 0 Monday; of a date, only to be checked against it
    year: int | None = None  # of a date; None: the coming one
    month: int = 0  # of a date
    number: int = 0  # of a date: day of the month


@dataclass(frozen=True)
class Moment:
    """A point in time as it was said; at least one of the fields is set."""

    day: Day | None = None  # None: today is meant
    minute: int | None = None  # 0 to 1440; None: no time of day was said
    fixed: datetime | None = None  # an ISO time with an offset
    after: timedelta | None = None  # "in 2h"


class Shape(StrEnum):
    """What a phrase of a window looks like."""

    NOW = "now"
    WHEN_DONE = "when done"
    ASK = "ask"
    AT = "at"  # `start`, perhaps `end` or `lasting`
    DAY = "day"  # the whole day of `start`
    SPAN = "span"  # `start` with a day, from `begin` to `finish`
    AFTER = "after"  # from `start` to the end of that day
    BEFORE = "before"  # until `start`
    STANDING = "standing"  # on `days`, from `begin` to `finish`; none: the site's night


@dataclass(frozen=True)
class Phrase:
    """A window as it was said."""

    shape: Shape  # which of the fields below count
    start: Moment | None = None  # see Shape
    end: Moment | None = None  # of AT
    lasting: timedelta | None = None  # of AT
    begin: int | None = None  # minute
    finish: int | None = None  # minute; not after `begin`: on the next day
    days: frozenset[int] = frozenset()  # of STANDING
    hard: bool = False  # a hard stop too
    even_if_busy: bool = False  # although something runs


def split(text: str) -> list[str]:
    """Words in lower case: dashes are one sign, commas are blanks (but `1,5h` is `1.5h`), `6 pm` and `18:00 - 22:00` are one word each."""
    plain = text.lower().replace("–", "-").replace("—", "-").replace("’", "'")
    plain = _COMMA.sub(r"\1.\2", plain) if "," in plain else plain
    words: list[str] = []
    for word in plain.replace(",", " ").replace(";", " ").split():
        if words and (_joins(words[-1], word) or (word in ("am", "pm") and re.fullmatch(r"[0-9:]{1,5}", words[-1]))):
            words[-1] += word
        else:
            words.append(word)
    return words


def may_begin(word: str) -> bool:
    """Whether any of the phrases of this module can begin with a word (lower case): a cheap question before a dear one."""
    return (
        word in _BEGINS
        or word[:1].isdigit()
        or MONTH.fullmatch(word) is not None
        or PLURAL.fullmatch(word) is not None
        or read_weekday(word.partition("-")[0]) is not None
    )


def _joins(before: str, word: str) -> bool:
    """Whether a word with a dash belongs to the one before: `18:00 - 22:00`, `mon - fri`, `18:00 -22:00`."""
    if before.endswith("-"):
        return _ends(before[:-1]) and _ends(word)
    return word.startswith("-") and _ends(before) and (word == "-" or (":" in before and _ends(word[1:])))


def _ends(word: str) -> bool:
    return read_weekday(word) is not None or read_minute(word, loose=True) is not None


# ---- small shapes -------------------------------------------------------------------------------------------------


def duration(words: Sequence[str]) -> timedelta | None:
    """A positive duration that all the words make up together (`1h30`, `3 days`, `two hours`, `1:30h`, `1 week and 2 d`), or None."""
    text = " ".join(words)
    if text in _ONES:
        return _ONES[text]
    if clocked := _CLOCKED.fullmatch(text):
        text = f"{clocked[1]}h{clocked[2]}m"
    text = _WORDED.sub(lambda word: str(NUMBER_WORDS.index(word[1])), text)
    total, at, last = timedelta(0), 0, ""
    while part := _PART.match(text, at):
        unit = part[2][0]
        amount = float(part[1])
        if amount * _UNITS[unit].total_seconds() > _LASTING.total_seconds() or (last and _UNITS[unit] >= _UNITS[last]):
            return None  # absurd, or not in falling order
        total, at, last = total + amount * _UNITS[unit], part.end(), unit
    rest = text[at:]
    if last == "h" and re.fullmatch(r"[0-5][0-9]", rest):  # 1h30
        total, rest = total + int(rest) * _UNITS["m"], ""
    return total if total > timedelta(0) and not rest else None


def read_minute(word: str, loose: bool = False) -> int | None:
    """The minute of the day of `18:00`, `18.30`, `6pm`, `noon`, `midnight`; with ``loose`` also of `18`. What may be a date (`10.12`) is none."""
    if word in ("noon", "midnight"):
        return 720 if word == "noon" else 1440
    if dotted := _DOT_CLOCK.fullmatch(word):
        word = f"{dotted[1]}:{dotted[2]}" if not 1 <= int(dotted[2]) <= 12 else ""
    found = _CLOCK.fullmatch(word)
    if found is None or not (found[2] or found[3] or loose):
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found[3] == "pm" else 0)
    total = hour * 60 + minute
    return total if minute < 60 and total <= 1440 else None


def read_span(word: str) -> tuple[int, int] | None:
    """The two minutes of `18:00-22:00` or `22-06`; `6-8pm` could be either and is not understood."""
    first, dash, second = word.partition("-")
    if not dash or (first.isdigit() and second.endswith(("am", "pm"))):
        return None
    begin, finish = read_minute(first, loose=True), read_minute(second, loose=True)
    if begin is None or finish is None or begin == finish:
        return None
    return begin % 1440, finish


def read_weekday(word: str) -> int | None:
    """The weekday (0 Monday) of `fri` or `friday`."""
    return WEEKDAYS.index(word[:3]) if _WEEKDAY.fullmatch(word) else None


def short_date(word: str, timed: bool = False) -> tuple[int, int, int | None] | None:
    """Day, month and perhaps year of `24.12`, `24/12` or `12/24`, where that can be nothing else: no time of day, no other date.

    :param timed: a time of day stands beside it, so it is none itself
    """
    found = _SHORT_DATE.fullmatch(word)
    if found is None:
        return None
    one, two, year = int(found[1]), int(found[3]), int(found[4]) if found[4] else None
    if found[2] == ".":
        date = 1 <= two <= 12 and year is None
        return (one, two, None) if date and (timed or one >= 24) else None
    pairs = {(day, month) for day, month in ((one, two), (two, one)) if 1 <= month <= 12 and 1 <= day <= 31}
    return (*pairs.pop(), year) if len(pairs) == 1 else None
