"""What is said of a waiting time, before anybody was told: a value. Made by ``play``, put into words by ``service.words``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.domain.early import Early
from bot.domain.model import PersonId, SlotId
from bot.domain.waiting import Passing

STEP = timedelta(minutes=5)
"""A likely time is shown to so much, on the board and in answers alike: it is no more exact, and the board is not a new one each minute."""

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Promise:
    """When a request is served: likely and at the latest, with the one fact behind it."""

    likely: datetime | None  # None: not known
    latest: datetime | None  # None: not known
    cause: str  # a word of CAUSES
    who: PersonId = ""  # whose card decides it
    at: datetime | None = None  # the time that decides it
    slots: tuple[SlotId, ...] = ()  # the slots counted on; of "aside" and "strange" the cards that are not
    open: str = ""  # why there is no latest time although there is a likely one: a word of OPEN; "" there is
    early: Early | None = None  # of "early": how the last loans went
    passing: Passing | None = None  # what it keeps to, if it goes past others now
    restart: int = 0  # the agreed time by the clock in which its machine likely restarts for it: an agreement; 0: at once, or it is asked
    waits: bool = False  # its devices are likely there before that time
    out: int = 0  # what decides it comes out in that agreed time of its holder's machine, later than its end alone would have it; 0: at once

    @property
    def past(self) -> int:
        """The request that it likely goes past now; 0 none."""
        return self.passing.over if self.passing is not None else 0


CAUSES = {
    "free_now": "enough is free",
    "own_end": "somebody's time ends",
    "early": "the same, and lately most loans came back sooner",
    "quiet": "a card does nothing, and goes back under its terms",
    "spare": "somebody has it only while nobody waits",
    "over_time": "somebody's time is over",
    "returning": "it was given back",
    "when_done": "the same, and comes out when nothing runs",
    "moving": "it is on its way to somebody",
    "reserved": "it is kept for somebody",
    "behind": "somebody is before it",
    "share": "somebody behind it goes first, since it is over a share of the pool",
    "booked": "it is booked for then",
    # where nothing is known:
    "aside": "cards rest",
    "strange": "cards sit where nobody borrowed them",
    "broken": "cards are broken, and are to come out",
    "hindered": "nothing can be given to its machine",
    "none": "there are too few cards",
}
"""The facts behind a waiting time."""

OPEN = {
    "size": "others want the same cards in another size",
    "share": "once others wait it would be over a share of the pool",
    "ahead": "too many before it may be over a share, or rest, and take their turn at any time",
    "spare": "it is spare: others who wait go first",
    "later": "its place is later than now: who asks until then may go before it",
}
"""Why no latest time is promised."""


def likely_by(at: datetime) -> datetime:
    """A likely time as it is shown: the next full step, of its minute."""
    epoch, minute = datetime(2000, 1, 1, tzinfo=UTC), at.replace(second=0, microsecond=0)
    return epoch + -(-(minute - epoch) // STEP) * STEP


def minute_of(at: datetime) -> datetime:
    """A time as it is promised: the next full minute."""
    minute = at.replace(second=0, microsecond=0)
    return minute if minute == at else minute + MINUTE


def shown(promise: Promise) -> tuple[datetime | None, datetime | None]:
    """Likely and latest exactly as people read them, and as they are written down. What is free now is likely to the minute."""
    likely, latest = promise.likely, promise.latest
    if likely is not None:
        likely = minute_of(likely) if promise.cause == "free_now" else likely_by(likely)
    if latest is not None:
        latest = max(minute_of(latest), likely) if likely is not None else minute_of(latest)
    return likely, latest
