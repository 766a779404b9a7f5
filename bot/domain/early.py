"""How often loans come back before their time, lately: the statistics behind a likely waiting time.

Asked by ``frees``. Pure, from the leases that are over and still in the books (those of about a week). Few of them say nothing, so below
``ENOUGH`` there is no answer. In one sentence, as people read it: "3 of the last 5 loans came back early".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median_low

from bot.domain.model import BOT, Lease, LeaseState

ENOUGH = 5
"""Loans that have to be over before anything is concluded from them."""

LATELY = 20
"""So many of the last ones are looked at."""


@dataclass(frozen=True)
class Early:
    """What the last loans of a kind were like."""

    of: int  # loans that were looked at
    early: int  # of them came back before their end
    used: float  # half of them were out of their machine after this share of their time; 1.0: no sooner than at its end

    def end(self, since: datetime, end: datetime, now: datetime) -> datetime:
        """When a loan from ``since`` to ``end`` is likely over. One that lasts longer already than most is over at its end."""
        likely = since + (end - since) * self.used
        return likely if now < likely < end else end


def lately(leases: Iterable[Lease], kind: str) -> Early | None:
    """The last loans of a kind that came to an end by time, by their holders, or under their terms; None: too few to say anything."""
    over = sorted((x for x in leases if x.kind == kind and _tells(x)), key=lambda x: (x.changed, x.label))[-LATELY:]
    if len(over) < ENOUGH:
        return None
    shares = [_share(lease) for lease in over]
    return Early(len(over), sum(share < 1.0 for share in shares), median_low(shares))


def _tells(lease: Lease) -> bool:
    """A part of a loan is none of its own, and what an admin ended, or somebody who waited for what was spare, says nothing of holders."""
    over = lease.state is LeaseState.ENDED and lease.ended_by in (BOT, lease.person)
    whole = lease.label == str(lease.request) and not lease.terms.spare
    return (
        over and whole and lease.active_since is not None and lease.end is not None and lease.end > lease.active_since
    )


def _share(lease: Lease) -> float:
    """Of the time for which it was lent: after which part of it its devices were out. No more than all of it."""
    assert lease.active_since is not None and lease.end is not None
    return min(1.0, max(0.0, (lease.changed - lease.active_since) / (lease.end - lease.active_since)))
