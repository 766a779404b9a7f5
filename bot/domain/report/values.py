"""What a report is made of: what is known of a stretch of time, and the sums. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from bot.domain.inside import Hour
from bot.domain.model import Card, Lease, Line, PersonId, Request, SlotId
from bot.domain.report.periods import Period, today

Amount = int | Fraction
"""Microseconds of cards: whole ones, and fractions where a part of a card counts as its part of one."""

MICRO = timedelta(microseconds=1)


class What(StrEnum):
    """What an hour of a card was. ``WAITING`` is an hour of a request, and no card's."""

    BUSY = "busy"  # lent, and some engine worked
    QUIET = "quiet"  # lent, measured, and none did
    UNKNOWN = "unknown"  # lent, and not measured
    KEPT = "kept"  # promised to somebody, and not working there yet
    FREE = "free"  # in the pool, nobody's
    RESTING = "resting"  # out of the pool: drained, broken, doubted, or its host cannot give it
    ELSEWHERE = "elsewhere"  # in a machine to which it was not lent
    WAITING = "waiting"  # somebody waited for one


LENT = (What.BUSY, What.QUIET, What.UNKNOWN)
"""Hours in which a card was somebody's."""

POOL = (*LENT, What.KEPT, What.FREE, What.RESTING, What.ELSEWHERE)
"""All hours of cards."""


class Cell(NamedTuple):
    """What one sum is about."""

    day: date  # of the period's zone
    kind: str  # of card: T4; also where parts of it are lent
    what: What  # see What
    team: str = ""  # whose; "" of nobody, or of somebody without one
    person: PersonId = ""  # whose; "" of nobody


@dataclass(frozen=True)
class Known:
    """All that is known of a period: more does no harm."""

    cards: Sequence[Card]  # as they are now
    leases: Sequence[Lease]  # all that may reach into it
    requests: Sequence[Request]  # likewise
    lines: Sequence[Line]  # of the ledger, oldest first: all about the cards, and those about the leases and requests
    hours: Sequence[Hour]  # what guests told of devices in it
    devices: Mapping[str, SlotId] = field(default_factory=dict)  # what is known of UUIDs besides the cards' own


@dataclass(frozen=True)
class Promises:
    """How the waiting times held that people were told: of those that came true, or failed to, in the period."""

    told: int = 0  # requests with a latest time whose hour came
    kept: int = 0  # of these served by then
    error: timedelta | None = None  # median of how far the likely time was off; None: none was told


@dataclass(frozen=True)
class Nudges:
    """The questions about quiet cards."""

    asked: int = 0  # how many
    wrong: int = 0  # of these answered "I am using it"


@dataclass(frozen=True)
class Report:
    """The sums of a period, up to now."""

    period: Period  # which days
    upto: datetime  # what was still to come then is not in it
    cards: int  # how many had been there by its end
    cells: Mapping[Cell, Amount]  # the sums; what is nought is left out
    waits: tuple[timedelta, ...]  # of requests that were served in it, shortest first
    asked: int  # how many requests were made in it
    promises: Promises
    nudges: Nudges
    restarts: int  # of machines, for cards
    begins: datetime | None = None  # the first card of it was there then, or before it; None: that is not known

    def amount(
        self,
        *whats: What,
        day: date | None = None,
        kind: str | None = None,
        team: str | None = None,
        person: PersonId | None = None,
    ) -> Amount:
        """How much of these there was, to the last microsecond; ``None``: of any."""
        wanted = frozenset(whats)
        return sum(
            amount
            for cell, amount in self.cells.items()
            if cell.what in wanted
            and day in (None, cell.day)
            and kind in (None, cell.kind)
            and team in (None, cell.team)
            and person in (None, cell.person)
        )

    def sum(self, *whats: What, **of: Any) -> timedelta:
        """The same as a length of time."""
        return timedelta(microseconds=float(self.amount(*whats, **of)))

    @property
    def days(self) -> Period:
        """The days that it tells of: without those on which there was no card yet."""
        if self.begins is None or not self.cards:
            return self.period
        return Period(max(self.period.first, today(self.begins, self.period.zone)), self.period.last, self.period.zone)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its cards, by name."""
        return tuple(sorted({cell.kind for cell in self.cells if cell.what in POOL}))

    @property
    def teams(self) -> tuple[str, ...]:
        """The teams that had something, by name; "" those who are in none."""
        return tuple(sorted({cell.team for cell in self.cells if cell.what in LENT and cell.person}))

    @property
    def people(self) -> tuple[PersonId, ...]:
        """Who had something, or waited."""
        return tuple(sorted({cell.person for cell in self.cells if cell.person}))

    @property
    def empty(self) -> bool:
        """Whether there is nothing to tell: nothing was lent, nobody waited, nobody asked."""
        return not self.asked and not self.waits and not self.sum(*LENT, What.KEPT, What.WAITING)


def percentile(lengths: Sequence[timedelta], share: Fraction) -> timedelta | None:
    """The shortest of some lengths (in order) that at least so many of them do not exceed; None: there are none."""
    return lengths[max(0, -(-len(lengths) * share // 1) - 1)] if lengths else None
