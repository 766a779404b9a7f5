"""What people were promised binds others: whoever wishes something later is heard as far as no latest time that was told moves by it.

Asked by ``leases.acts`` (extend, keep) and ``queue`` (a longer time for what waits). It tries the wish on a copy of the books, and plays the one
line that it concerns: of a kind, on a host. The bound is what was told, not what would be told now.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property

from bot.domain.draft import Draft
from bot.domain.frees import Frees
from bot.domain.model import Lease, LeaseState, PersonId, Request
from bot.domain.near import near
from bot.domain.policy import Policy
from bot.domain.promises.play import Play
from bot.domain.promises.promise import likely_by
from bot.domain.queue import line

MINUTE = timedelta(minutes=1)


class Bound:
    """What binds one wish. Lives for one moment of the books."""

    def __init__(
        self,
        draft: Draft,
        wish: Lease | Request,
        policy: Policy,
        zone_of: Callable[[PersonId], str],
    ) -> None:
        """``wish``: what somebody wishes to change, as it is. Their own promises bind nobody."""
        self._draft, self._wish, self._policy, self._zone_of = draft, wish, policy, zone_of
        there = near(draft, wish.machine) or draft
        self._others = [r for r in line(there) if r.kind == wish.kind and r.person != wish.person and r.rest is None]
        self._told = [r for r in self._others if r.promised is not None and r.promised.latest is not None]

    def moved(self, changed: Lease | Request) -> Request | None:
        """The first whose latest time would move if it were changed so; None: nobody's."""
        if not self._told or not self._is_worse(changed):
            return None
        scratch = self._draft.scratch()
        scratch.put(changed)
        play = Play(scratch, self._draft.now, self._policy, self._zone_of, None)
        return next((r for r in self._told if self._is_later(r, play.latest(r))), None)

    def _is_worse(self, changed: Lease | Request) -> bool:
        """Whether it could make anybody wait longer: not if what is lent is back by the same time at worst."""
        wish = self._wish
        if not isinstance(wish, Lease) or not isinstance(changed, Lease) or wish.state is not LeaseState.ACTIVE:
            return True
        frees = Frees(self._draft, self._draft.now, self._policy, self._zone_of, None)
        frees.heeds = frozenset()  # whoever was not passed by it counts on no time that it keeps to
        return frees.worst_of(changed) > frees.worst_of(wish)

    def delayed(self, changed: Lease | Request) -> Request | None:
        """The first who would likely wait longer than they were told. It binds nobody; but nobody is offered to do it."""
        told = [
            (r, r.promised.likely) for r in self._others if r.promised is not None and r.promised.likely is not None
        ]
        if not told:
            return None
        scratch = self._draft.scratch()
        scratch.put(changed)
        then = Play(scratch, self._draft.now, self._policy, self._zone_of, None)
        for request, said in told:
            likely = then.promise(request).likely
            if likely is not None and likely_by(likely) <= said:
                continue  # as it was told, whatever it would be without
            was = self._play.promise(request).likely
            if was is not None and (likely is None or likely_by(likely) > max(said, likely_by(was))):
                return request
        return None

    def latest(
        self, changed: Callable[[datetime], Lease | Request], end: datetime, wished: datetime
    ) -> datetime | None:
        """The latest end that moves nobody's latest time, to the minute; None: none after ``end`` does.

        :param changed: how it would be with an end
        :param wished: an end that moves somebody's
        """
        low, high = 0, int((wished - end) / MINUTE)
        while high - low > 1:
            middle = (low + high) // 2
            if self.moved(changed(end + middle * MINUTE)) is None:
                low = middle
            else:
                high = middle
        return (end + low * MINUTE).replace(second=0, microsecond=0) if low else None

    def _is_later(self, request: Request, latest: datetime | None) -> bool:
        """Whether that is later than what was told, and than what it would be without the wish: what moved it before is none of this one's."""
        said, now = request.promised, self._now[request.number]
        if said is None or said.latest is None or now is None:
            return False
        return latest is None or latest > max(said.latest, now)

    @cached_property
    def _play(self) -> Play:
        """As it is, without the wish."""
        return Play(self._draft, self._draft.now, self._policy, self._zone_of, None)

    @cached_property
    def _now(self) -> dict[int, datetime | None]:
        return {r.number: self._play.latest(r) for r in self._told}
