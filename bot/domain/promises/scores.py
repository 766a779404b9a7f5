"""Whether a promise was kept: what was told against when the devices worked. Pure; asked by the ledger, ``history`` and the reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bot.domain.model import Request
from bot.domain.spoken import lasting_words


@dataclass(frozen=True)
class Score:
    """A promise and what came of it. ``before`` and ``late`` are what was told against the same instant, so their sum is how far apart the
    two times were that were told."""

    before: (
        timedelta | None
    )  # the latest time minus when it came: negative, it was missed by that; None: no latest was told
    late: (
        timedelta | None
    )  # when it came minus the likely time: negative, it came sooner; None: no likely time was told

    @property
    def kept(self) -> bool | None:
        """Whether it came by the latest time; None: none was told."""
        return None if self.before is None else self.before >= timedelta(0)


def score(request: Request) -> Score | None:
    """The score of a request as it was told last; None: nothing was told, or its devices never worked."""
    said, at = request.promised, request.served
    if said is None or at is None or (said.likely is None and said.latest is None):
        return None
    before = said.latest - at if said.latest is not None else None
    return Score(before, at - said.likely if said.likely is not None else None)


def score_words(score: Score) -> str:
    """One line for the ledger: ``latest kept, 35 min before it; likely 10 min late``."""
    found = []
    if score.before is not None:
        found.append(
            f"latest kept, {_span(score.before)} before it" if score.kept else f"latest missed by {_span(score.before)}"
        )
    if score.late is not None:
        off = abs(score.late) < timedelta(minutes=1)
        found.append(
            "likely right" if off else f"likely {_span(score.late)} {'late' if score.late > timedelta(0) else 'early'}"
        )
    return "; ".join(found)


def _span(amount: timedelta) -> str:
    minutes = abs(amount)
    return lasting_words(minutes) if minutes >= timedelta(minutes=1) else "less than 1 min"
