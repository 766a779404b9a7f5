"""The rules by which somebody is not given a card now, each by its name, and what a decision says of one who waits.

``planner.allot`` decides by them, and can be asked what it would decide without some (``off``); ``planner.verdict`` asks it that. Words has a
sentence for each. This module must not decide anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from bot.domain.model import PersonId


class Rule(StrEnum):
    """Why one who waits is given nothing now. Without a rule somebody would be served who is not, never the other way round."""

    LENT = "lent"  # a card stays with who has it, or was promised it, until it is given back and has come off
    ORDER = "order"  # who is earlier in line goes first
    TOGETHER = "together"  # all devices of a request come together, unless `partly` was said
    PASSING = "passing"  # past one who has to wait goes only who is surely back before their promised start
    BOOKED = "booked"  # a booking is not served before its time
    CAP = "cap"  # while others wait, nobody has more than their share of the pool
    TEAM_CAP = "team_cap"  # while others wait, a team leaves some to them
    RESTS = "rests"  # who passed, kept silent, or can be given nothing, is not offered anything for now
    HOURS = "hours"  # outside somebody's working hours the next one who can answer goes first
    POOL = "pool"  # a card that rests, is doubted or cannot be given is given to nobody
    SIZE = "size"  # a card on which somebody earlier counts whole, or in another size, is not cut up


@dataclass(frozen=True)
class Verdict:
    """What the decision says of one request in line."""

    number: int  # of the request
    served: bool  # it would be given, or offered, something now
    rules: frozenset[Rule] = (
        frozenset()
    )  # what stands in the way: without all of them it would be served, without any other not
    ahead: tuple[int, ...] = ()  # who is before it in its line and not served either, in order
    passed: int | None = None  # PASSING, SIZE: whom it must not delay
    start: datetime | None = None  # PASSING: when that one starts; BOOKED: its own time
    back: datetime | None = None  # PASSING: when it would surely be back
    free: int = 0  # devices that it could be given now, but for those rules
    who: tuple[
        PersonId, ...
    ] = ()  # LENT: who has what it could have, the first to come back first; else HOURS: who goes first
    most: int = 0  # CAP, TEAM_CAP: how many it may have while others wait
    has: int = 0  # CAP, TEAM_CAP: how many they have
    expected: datetime | None = None  # of several: when all are due to be there for it, by which who goes past is back
    over: int = 0  # of several: devices that it has no use for then, which others may have for longer
    fact: str = ""  # no rule would help: why, in words ("vm-r is a template")


@dataclass(frozen=True)
class Instead:
    """What the same person would be given now, if they asked otherwise. Nothing set: nothing would."""

    lasting: timedelta | None = None  # for so long, whole hours: surely back in time
    count: int = 0  # so many instead of all
    partly: bool = False  # … by accepting fewer
    spare: bool = False  # as long as nobody else wants it
