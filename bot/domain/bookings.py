"""The words of a booking: from when something is wanted, and until when somebody waits for it.

Called by the grammar and by ``times``, before anybody asks what time it is. It knows no clock, no zone and no policy.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import phrases
from bot.domain.shapes import DayKind, Moment, read_span
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
