"""When machines of a replay may restart: at any time, at whole hours, or when their owners agree to it.

Asked by ``play`` alone. Times are seconds from the start of a trace, which is a Saturday, 00:00; wall clocks are those of one zone without
clock changes. Working hours and nights are the product's own (``hours``, ``Policy``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol

from bot.domain import hours
from bot.domain.policy import Policy
from bot.service.replay.people import DAY, HOUR, Ask, Consent, Says

KINDS = ("any", "1h", "4h", "demand")

SATURDAY = datetime(2000, 1, 1, tzinfo=UTC)
ZONE = "UTC"


@dataclass(frozen=True, slots=True)
class Turn:
    """What becomes of a request whose turn it is: its cards are kept, and it begins; or nobody answers, and they are free again."""

    begins: float | None  # when its cards are at work; None: it is not answered in time
    over: float = 0.0  # then: when the cards are free again …
    again: float = 0.0  # … and when it may have a turn again


class Windows(Protocol):
    """When machines may restart."""

    def opens(self, now: float) -> float:
        """From when on turns may be given: now, or later."""
        ...

    def asks(self, ask: Ask, now: float) -> float:
        """From when on somebody's turn may come: now, or when they can be asked."""
        ...

    def turn(self, ask: Ask, now: float) -> Turn:
        """Its turn comes now."""
        ...

    def out(self, ask: Ask, now: float) -> float:
        """When cards are out that are to come out from now on."""
        ...

    def due(self, end: float) -> float:
        """When cards are due to be out whose time ends then."""
        ...

    def back(self, ask: Ask, start: float) -> float:
        """When cards are due back that somebody takes then, for their whole time."""
        ...

    def surely(self, ask: Ask, now: float) -> float:
        """When cards are surely back that are given now, for their whole time."""
        ...


def named(kind: str, policy: Policy) -> Windows:
    """Those of a name of ``KINDS``."""
    if kind == "demand":
        return Demand(policy)
    return Whole(float(kind.removesuffix("h")) * HOUR) if kind != "any" else AnyTime()


class AnyTime:
    """At any time, at once."""

    def opens(self, now: float) -> float:
        return now

    def asks(self, ask: Ask, now: float) -> float:
        return now

    def turn(self, ask: Ask, now: float) -> Turn:
        return Turn(now)

    def out(self, ask: Ask, now: float) -> float:
        return now

    def due(self, end: float) -> float:
        return end

    def back(self, ask: Ask, start: float) -> float:
        return self.due(start + ask.length)

    def surely(self, ask: Ask, now: float) -> float:
        return self.due(now + ask.length)


class Whole(AnyTime):
    """Only at whole multiples of some hours: starts and returns alike."""

    def __init__(self, every: float) -> None:
        self._every = every

    def opens(self, now: float) -> float:
        return math.ceil(now / self._every) * self._every

    def out(self, ask: Ask, now: float) -> float:
        return self.opens(now)

    def due(self, end: float) -> float:
        return self.opens(end)


class Demand(AnyTime):
    """When the owners say. Who waits is asked when they ask, who gives back is asked then; an answer takes working hours, and whoever has not
    answered is restarted in the next night, as their terms say."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._cycle = policy.usual_first.total_seconds()
        self._accept = policy.accept_by.total_seconds()
        start, end = policy.night_start, policy.night_end
        self._night = start.hour * HOUR + start.minute * 60.0
        self._lasts = (end.hour * HOUR + end.minute * 60.0 - self._night) % DAY
        self._after = lru_cache(maxsize=65536)(self._added)

    def asks(self, ask: Ask, now: float) -> float:
        """Outside working hours nobody is asked who has not agreed yet: the next one goes first."""
        if ask.goes.says is not Says.NOTHING and self._after(ask.at, ask.goes.after) <= now:
            return now
        if self._in_night(now) or hours.is_working(_instant(now), ZONE, self._policy):
            return now
        morning = _seconds(hours.next_working_start(_instant(now), ZONE, self._policy))
        return min(morning, self.night(now))

    def turn(self, ask: Ask, now: float) -> Turn:
        if self._in_night(now):  # whoever has not agreed is restarted by the terms
            return Turn(now + self._cycle)
        agreed = self._agreed(ask.goes, ask.at)
        lapses = max(now, self._after(now, self._accept)) if agreed > now else now
        if agreed > lapses:
            return Turn(None, min(lapses, self.night(now)), min(agreed, self.night(now)))
        begins = max(agreed, now)
        return Turn((self.night(begins) if ask.goes.says is Says.TONIGHT else begins) + self._cycle)

    def out(self, ask: Ask, now: float) -> float:
        """The soonest of what was agreed, and the next night."""
        night = self.night(now)
        agreed = self._agreed(ask.comes, now) if ask.comes.says is Says.SOON else night
        return min(agreed, night) + self._cycle

    def due(self, end: float) -> float:
        return end + self._cycle

    def back(self, ask: Ask, start: float) -> float:
        return self.due(start + self._cycle + ask.length)

    def surely(self, ask: Ask, now: float) -> float:
        """Its answer, its restart, its time, and the end of the first night after that."""
        turn = self.turn(ask, now)
        end = (turn.begins if turn.begins is not None else turn.over + self._cycle) + ask.length
        return self.night(end) + self._lasts

    def _agreed(self, consent: Consent, asked: float) -> float:
        """When somebody has answered that was asked then; infinite: never."""
        return math.inf if consent.says is Says.NOTHING else self._after(asked, consent.after)

    def night(self, now: float) -> float:
        """Now, if a whole restart fits into the night that it is, else the beginning of the next."""
        if self._in_night(now):
            return now
        return now + (self._night - now % DAY) % DAY

    def _in_night(self, now: float) -> bool:
        return (now % DAY - self._night) % DAY <= self._lasts - self._cycle

    def _added(self, start: float, amount: float) -> float:
        return _seconds(hours.add_working(_instant(start), timedelta(seconds=amount), ZONE, self._policy))


def _instant(seconds: float) -> datetime:
    return SATURDAY + timedelta(seconds=seconds)


def _seconds(at: datetime) -> float:
    return (at - SATURDAY).total_seconds()
