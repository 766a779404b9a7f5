"""What the line knows of those who wait: shifts of a place, promises, who went past whom, and what somebody used lately. Frozen values.

Kept in requests, leases and books; made by ``order``, ``planner`` and ``promises``. This module must not decide anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class ShiftWhy(StrEnum):
    """What moves a place in line. Each is bounded by a setting, so nobody waits for ever."""

    URGENT = "urgent"  # said so, with a public reason: earlier
    TEAM = "team"  # the team has less than its guaranteed part: earlier
    SPARE = "spare"  # said so: later
    USE = "use"  # used more than an even share of the hours others waited for, lately: later


@dataclass(frozen=True)
class Shift:
    """One term of a virtual arrival, frozen when it was asked for."""

    why: ShiftWhy  # the rule
    by: timedelta  # positive: later
    fact: str = ""  # what it was reckoned from, in words: "9 h", the name of a team
    said: datetime | None = None  # since when, if it was said of what was in line already; None: since it was asked


@dataclass(frozen=True)
class Promised:
    """A waiting time that somebody was told, as it was told."""

    at: datetime  # when it was told
    likely: datetime | None  # None: not known
    latest: datetime | None  # None: not known
    because: str = ""  # the cause behind it (``Promise.cause``)


@dataclass(frozen=True)
class Passing:
    """Devices were given to somebody past others, who lose nothing by it: they are surely back in time."""

    over: int  # the number of the request that was passed; the first of several
    ends_by: datetime  # the lease ends then at the latest: no longer, and no work is waited for
    back_by: datetime  # its devices are out then, restart included: the promised start of who was passed
    anyway: int = 0  # the agreement of a time in which its machine restarts anyway, without which it would be too late; 0: none is needed


@dataclass(frozen=True)
class Account:
    """What somebody used lately of hours for which others waited, halved each ``use_half_life``."""

    person: str  # whose
    hours: float = 0.0  # hours of devices, as of `at`
    at: datetime | None = None  # when that was reckoned; None: never
    urgent: datetime | None = None  # when they last asked urgently
    team: str = ""  # their team at the last charge; "" none


@dataclass(frozen=True)
class Interest:
    """Somebody wants to hear once when a kind has something free: ``watch``."""

    person: str  # who
    kind: str  # of what
    since: datetime  # from when
    open: bool = True  # False: told, or taken back

    @property
    def key(self) -> str:
        """One a person and kind."""
        return f"{self.person}:{self.kind}"


@dataclass(frozen=True)
class Team:
    """People who share a part of the pool, from the settings."""

    name: str  # as the settings have it
    members: frozenset[str]  # Slack ids or user names
    weight: float = 1.0  # how much more than others it may use before it waits longer; 1 as much
    guaranteed: int = 0  # devices of each kind that are its own when it wants them; lent while it does not
