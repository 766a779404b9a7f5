"""The words of a booking: from when something is wanted, and until when somebody waits for it.

Called by the grammar and by ``times``. It reads words alone; what instants they are, ``times`` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time

from bot.domain import phrases
from bot.domain.hours import local, wall
from bot.domain.shapes import DayKind, Moment, Phrase, Shape, read_span
from bot.domain.spoken import clock_words

LEADS = frozenset({"from", "before"})
"""Words that stand before such a time."""


def edge(words: Sequence[str]) -> Moment | None:
    """What may follow `from` or `before`: a point in time (also `18`, which is an hour there), or two of one day: `thu 14:00-18:00`."""
    if words and (span := read_span(words[-1])):
        words = [*words[:-1], clock_words(span[0])]
    return phrases.moment(["until", *words]) if words and words[0] not in ("until", "till", "to", "by") else None


def clock(words: Sequence[str]) -> Moment | None:
    """What may follow them where the day was said before: `thu from 14:00`."""
    found = edge(words)
    return found if found is not None and found.day is None and found.minute is not None else None


def day(words: Sequence[str]) -> Moment | None:
    """A day that may stand before them: `thu`, `tomorrow`, `4 dec`; not tonight, which is a night."""
    found = phrases.moment(words) if words and words[0] not in ("until", "till", "to", "by") else None
    whole = found is not None and found.day is not None and found.minute is None and found.fixed is None
    return found if found and whole and found.day and found.day.kind is not DayKind.TONIGHT else None


def edges(words: Sequence[str]) -> tuple[str, str]:
    """The words of a start, and of the length that was said with it: ``thu 14:00`` and ``until 18:00`` of `thu 14:00-18:00`; "" none."""
    span = read_span(words[-1])
    if span is None:
        return " ".join(words), ""
    return " ".join([*words[:-1], clock_words(span[0])]), f"until {clock_words(span[1])}"


SOME_DAY = frozenset({DayKind.TODAY, DayKind.TONIGHT})
"""Days that are meant by where one stands."""


def goes_along(phrase: Phrase) -> bool:
    """Whether a restart time that is named with a booking is one of the day on which that begins: no other day was said."""
    begins = phrase.start
    if begins is None or begins.fixed is not None or begins.after is not None:
        return False
    return begins.day is None or begins.day.kind in SOME_DAY


def reference(phrase: Phrase, now: datetime, start: datetime, zone: str) -> datetime:
    """From where such a time is read: `today` and `tonight` from the start on, an hour from the beginning of its day (it may be a little before)."""
    whole = phrase.shape is Shape.DAY
    return start if whole else max(now, wall(local(start, zone).date(), time(0), zone))
