"""What somebody was asked about what they have, apart from quiet cards: frozen values, kept in the lease that they are about.

Made and answered by ``inquiries`` (somebody asks the holder) and ``morning`` (the bot asks, while somebody waits). This module must not decide
anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Inquiry:
    """Somebody asked whether they can have sooner what another has: ``ask``."""

    id: int  # counts them
    by: str  # person id of who asks
    at: datetime  # when they said it
    slots: tuple[str, ...]  # which of its devices
    because: str = ""  # why, raw text
    number: int | None = None  # of their request then; None: they were not in line
    key: str = ""  # of the message to the holder, which is edited; several who ask share one; "" not told yet
    told: datetime | None = None  # when the holder was told; None: it waits for a time at which they may be
    joined: bool = False  # it was added to a message that stood already, so it disturbed nobody
    away: bool = False  # the message was edited away for a newer question; it is open all the same
    to: tuple[str, ...] = ()  # person ids of who was told: the holder, or other owners if they left
    zone: str = ""  # IANA name of that of who was told
    end: datetime | None = None  # until when it was theirs then
    answer: str = ""  # of ANSWERS; "" none yet
    until: datetime | None = None  # of the answer
    over: bool = False  # nothing can come of it any more

    @property
    def shown(self) -> bool:
        """Whether it stands before the holder's eyes as a question."""
        return self.told is not None and not self.away and not self.answer and not self.over


ANSWERS = frozenset({"kept", "using", "longer", "given", "due", "taken", "lost", "moot"})
"""What becomes of one: kept until a time, in use, made longer; given back, its time is over, taken back, gone otherwise; not wanted any more."""


@dataclass(frozen=True)
class Morning:
    """The question at the beginning of a working day: still needed? Somebody waits."""

    key: str  # of the message, which is edited
    asked: datetime  # when
    to: tuple[str, ...]  # person ids of who was asked
    waits: str  # person id of who waited first
    end: datetime | None  # until when it was theirs then
    counted: tuple[datetime, ...] = ()  # all of this lease that the attention budget counts, this one included
    over: bool = False  # answered, or its ground is gone: the message is edited
