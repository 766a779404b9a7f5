"""Phrases of time, before anybody asks what time it is.

Called by ``times`` and the grammar. It turns words into ``Moment`` and ``Phrase`` or answers None: it knows no clock, no zone and no
policy, so a phrase that is understood here may still turn out to lie in the past.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.domain.shapes import (
    DOTTED,
    ISO,
    ISO_DAY,
    MONTH,
    MONTHS,
    ORDINAL,
    PLURAL,
    WEEKDAYS,
    Day,
    DayKind,
    Moment,
    Phrase,
    Shape,
    duration,
    read_minute,
    read_span,
    read_weekday,
    short_date,
)

_DONE = re.compile(
    r"(?:when|once|after|as soon as) (?:nothing runs(?: any ?more)?|(?:it is |it's |i am |i'm |(?:(?:the|my|all|all my) )?"
    r"(?:jobs?|work|runs?|training) (?:is |are |has |have )?)?(?:done|ends?|ended|finished|finish|finishes|over|idle))"
)
_NIGHTLY = {"weekday": frozenset(range(5)), "weekend": frozenset({5, 6})}


class _Cursor:
    """Words being read from left to right."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.at = 0

    def peek(self) -> str:
        """The next word, or ""."""
        return self.words[self.at] if self.at < len(self.words) else ""

    def done(self) -> bool:
        """Whether all words were read."""
        return self.at >= len(self.words)

    def accept(self, *options: str) -> bool:
        """Read one of the options (each one or several words, longer ones first); whether there was one."""
        for option in options:
            parts = option.split()
            if self.words[self.at : self.at + len(parts)] == parts:
                self.at += len(parts)
                return True
        return False

    def minute(self, loose: bool = False) -> int | None:
        """Read a time of day."""
        found = read_minute(self.peek(), loose)
        self.at += found is not None
        return found

    def span(self) -> tuple[int, int] | None:
        """Read two times of day: `18:00-22:00`, `18:00 to 22:00`, `between 18 and 22`, `from 18 to 22`."""
        start = self.at
        if found := read_span(self.peek()):
            self.at += 1
            return found
        said = self.accept("between", "from")
        begin = self.minute(loose=said)
        if begin is not None and self.accept("to", "until", "and", "till"):
            finish = self.minute(loose=said)
            if finish is not None and begin != finish:
                return begin % 1440, finish
        self.at = start
        return None

    def day(self) -> Day | None:
        """Read a day."""
        start = self.at
        self.accept("on", "this", "coming", "this coming")
        if self.accept("next") and (following := read_weekday(self.peek())) is not None:
            self.at += 1
            return Day(DayKind.NEXT, following)
        self.at = start
        self.accept("on", "this", "coming", "this coming")
        for kind in (DayKind.TODAY, DayKind.TOMORROW, DayKind.AFTER, DayKind.TONIGHT, DayKind.WORKING):
            if self.accept(kind.value, kind.value.removeprefix("the "), f"the {kind.value}"):
                return Day(kind)
        weekday = read_weekday(self.peek())
        self.at += weekday is not None
        if date := self._date():
            return replace(date, weekday=weekday)
        if weekday is not None:
            return Day(DayKind.WEEKDAY, weekday)
        self.at = start
        return None

    def _date(self) -> Day | None:
        """Read `2026-12-01`, `1.12.`, `dec 1`, `1st december`, each perhaps with a year."""
        start = self.at
        if found := ISO_DAY.fullmatch(self.peek()):
            self.at += 1
            return Day(DayKind.DATE, None, int(found[1]), int(found[2]), int(found[3]))
        if (found := DOTTED.fullmatch(self.peek())) and 1 <= int(found[2]) <= 12:
            self.at += 1
            return Day(DayKind.DATE, None, int(found[3]) if found[3] else None, int(found[2]), int(found[1]))
        after = self.words[self.at + 1] if self.at + 1 < len(self.words) else ""
        timed = any(read_minute(word) is not None for word in (after, self.words[self.at - 1] if self.at else ""))
        if short := short_date(self.peek(), timed):
            self.at += 1
            return Day(DayKind.DATE, None, short[2], short[1], short[0])
        pair = self.words[self.at : self.at + 2]
        for month, number in (pair, pair[::-1]) if len(pair) == 2 else ():
            if MONTH.fullmatch(month) and (found := ORDINAL.fullmatch(number)):
                self.at += 2
                year = int(self.peek()) if re.fullmatch(r"20[0-9]{2}", self.peek()) else None
                self.at += year is not None
                return Day(DayKind.DATE, None, year, MONTHS.index(month[:3]) + 1, int(found[1]))
        self.at = start
        return None

    def moment(self, loose: bool = False) -> Moment | None:
        """Read a point in time: `fri 18:00`, `18:00 tomorrow`, `at 6pm`, `in 2h`, an ISO time."""
        if iso := ISO.fullmatch(self.peek()):
            return self._iso(bool(iso[1]))
        if self.accept("in"):
            after = duration(self.words[self.at :])
            self.at = len(self.words) if after else self.at
            return Moment(after=after) if after else None
        day = self.day()
        minute = self.minute(loose=self.accept("at") or (loose and day is None))
        if day is None and minute is not None:
            day = self.day()
        return Moment(day, minute) if day or minute is not None else None

    def _iso(self, offset: bool) -> Moment | None:
        try:
            read = datetime.fromisoformat(self.peek().upper())
        except ValueError:
            return None
        self.at += 1
        if offset:
            return Moment(fixed=read)
        return Moment(Day(DayKind.DATE, None, read.year, read.month, read.day), read.hour * 60 + read.minute)

    def days(self) -> frozenset[int] | None:
        """Read days that come again: `weekdays`, `mon-fri`, `mon wed`, `fridays`, `every fri`, `daily`."""
        start = self.at
        if self.accept("weekdays", "working days", "every weekday", "every working day"):
            return frozenset(range(5))
        if self.accept("weekends", "every weekend"):
            return frozenset({5, 6})
        if self.accept("daily", "every day", "each day", "all days"):
            return frozenset(range(7))
        every = self.accept("every", "each")
        found: list[int] = []
        while (some := self.some_days()) or (found and self.accept("and")):
            found += some
            every = every or len(some) > 1 or bool(PLURAL.fullmatch(self.words[self.at - 1]))
        if found and (every or len(found) > 1):
            return frozenset(found)
        self.at = start
        return None

    def some_days(self) -> list[int]:
        """Read `fri`, `fridays` or `mon-fri`."""
        word = self.peek()
        first, dash, last = word.partition("-")
        begin = WEEKDAYS.index(word[:3]) if PLURAL.fullmatch(word) else read_weekday(first)
        end = read_weekday(last) if dash else begin
        if begin is None or end is None:
            return []
        self.at += 1
        if not dash and self.words[self.at : self.at + 1] == ["to"] and self.at + 1 < len(self.words):
            until = read_weekday(self.words[self.at + 1])  # mon to fri
            if until is not None:
                self.at += 2
                end = until
        return [(begin + step) % 7 for step in range((end - begin) % 7 + 1)]


# ---- whole phrases ------------------------------------------------------------------------------------------------


def moment(words: Sequence[str]) -> Moment | None:
    """The point in time that all the words make up together, or None."""
    cursor = _Cursor(words)
    cursor.accept("until", "till", "to", "by")
    found = cursor.moment(loose=cursor.at > 0)
    return found if found and cursor.done() else None


def window(words: Sequence[str]) -> Phrase | None:
    """The window that all the words make up together, or None."""
    rest, hard = _without(words, ("hard stop too", "hard stop", "hard"))
    rest, busy = _without(rest, ("even if busy", "even when busy", "even if it is busy"))
    cursor = _Cursor(rest)
    cursor.accept("restart")
    cursor.accept("only")
    if cursor.done():
        return None
    found = _word(cursor) or _standing(cursor) or _named(cursor)
    return replace(found, hard=hard, even_if_busy=busy) if found and cursor.done() else None


def _without(words: Sequence[str], phrases: tuple[str, ...]) -> tuple[list[str], bool]:
    """The words without the first of the phrases that is in them, and whether one was."""
    for phrase in phrases:
        parts = phrase.split()
        for at in range(len(words) - len(parts) + 1):
            if list(words[at : at + len(parts)]) == parts:
                return [*words[:at], *words[at + len(parts) :]], True
    return list(words), False


def _word(cursor: _Cursor) -> Phrase | None:
    """Windows that are one fixed expression."""
    if cursor.accept("now", "right now", "immediately", "at once"):
        return Phrase(Shape.NOW)
    if cursor.accept("ask me first", "ask first", "ask me", "ask"):
        return Phrase(Shape.ASK)
    if _DONE.fullmatch(" ".join(cursor.words[cursor.at :])):
        cursor.at = len(cursor.words)
        return Phrase(Shape.WHEN_DONE)
    return None


def _standing(cursor: _Cursor) -> Phrase | None:
    """Windows that come again. Days without times are understood only of weekends, which are short of work anyway."""
    start = cursor.at
    days = cursor.days()
    if days is None and cursor.words[cursor.at + 1 : cursor.at + 2] == ["nights"]:  # weekday nights, fri nights
        days = _NIGHTLY.get(cursor.peek(), frozenset(cursor.some_days()) or None)
        cursor.at = start + (days is not None)
    nights = cursor.accept("nights", "every night", "nightly", "each night") or (
        days is not None and cursor.accept("night", "at night")
    )
    if days is None and not nights:
        return None
    span = cursor.span()
    if span is None and not nights:
        if days != frozenset({5, 6}):
            cursor.at = start
            return None
        span = (0, 1440)
    begin, finish = span if span else (None, None)
    return Phrase(Shape.STANDING, begin=begin, finish=finish, days=days if days is not None else frozenset(range(7)))


def _named(cursor: _Cursor) -> Phrase | None:
    """Windows for once."""
    any_time = cursor.accept("any time", "anytime", "some time", "sometime")
    start = cursor.at
    led = cursor.accept("at")
    day = cursor.day()
    if day is None:
        cursor.at = start + (led and ISO.fullmatch(cursor.peek()) is not None)
    elif led and cursor.done():
        return None  # at fri: at what time?
    cursor.accept("only")
    for shape, words in ((Shape.AFTER, ("after", "from")), (Shape.BEFORE, ("before", "until", "by"))):
        if cursor.accept(*words):
            return _edge(cursor, day, shape)
    start = cursor.at
    cursor.accept("at")
    if span := cursor.span():
        return Phrase(Shape.SPAN, Moment(day or cursor.day()), begin=span[0], finish=span[1])
    cursor.at = start
    if day and cursor.done():
        return Phrase(Shape.DAY, Moment(day))
    if any_time:
        return None
    begins = Moment(day, cursor.minute(loose=cursor.accept("at"))) if day else cursor.moment()
    if begins is None or (begins.minute is None and begins.fixed is None and begins.after is None):
        return None
    return _lasting(cursor, begins)


def _edge(cursor: _Cursor, day: Day | None, shape: Shape) -> Phrase | None:
    """What follows `after`, `from` or `before`: a time of the day that was said, or a point in time, or two."""
    start = cursor.at
    if shape is Shape.AFTER and cursor.words[start - 1] == "from":
        cursor.at -= 1
        if span := cursor.span():
            return Phrase(Shape.SPAN, Moment(day or cursor.day()), begin=span[0], finish=span[1])
        cursor.at = start
    if day is None:
        found = cursor.moment(loose=True)
    else:
        minute = cursor.minute(loose=True)
        found = Moment(day, minute) if minute is not None else None
    timed = found is not None and (found.minute is not None or found.fixed is not None)
    if found is None or found.after or not (timed or cursor.words[start - 1] != "after"):  # after fri: from when?
        return None
    if shape is Shape.AFTER and cursor.words[start - 1] == "from" and not cursor.done():
        return _lasting(cursor, found)
    return Phrase(shape, found)


def _lasting(cursor: _Cursor, start: Moment) -> Phrase | None:
    """A start, and what may follow it: `for 2h`, or `to fri 06:00`."""
    if cursor.accept("for"):
        lasting = duration(cursor.words[cursor.at :])
        cursor.at = len(cursor.words) if lasting else cursor.at
        return Phrase(Shape.AT, start, lasting=lasting) if lasting else None
    if cursor.accept("to", "until", "till", "-"):
        end = cursor.moment(loose=True)
        return Phrase(Shape.AT, start, end=end) if end and (end.fixed or end.minute is not None) else None
    return Phrase(Shape.AT, start)


def modified(phrase: Phrase, hard: bool, even_if_busy: bool) -> Phrase:
    """The phrase with other modifiers."""
    return replace(phrase, hard=hard, even_if_busy=even_if_busy)
