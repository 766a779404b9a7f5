"""A planned start for everybody in line, in one pass: in order, by what is due, without anybody who goes past.

Called where a time for all at once is wanted; for one of them ``promises`` says more. It decides nothing.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from datetime import date, datetime

from bot.domain import hours
from bot.domain.backfill import counted_on
from bot.domain.draft import Draft
from bot.domain.frees import Frees
from bot.domain.lengths import end_of
from bot.domain.model import Length, PersonId, Request, RequestState
from bot.domain.near import host_of
from bot.domain.planner.lots import Lot
from bot.domain.planner.past import needs
from bot.domain.planner.spots import People
from bot.domain.policy import Policy
from bot.domain.queue import line
from bot.domain.sight import Sight

USUAL = Length()


def plan(draft: Draft, sight: Sight, people: People, policy: Policy) -> Mapping[int, datetime | None]:
    """When the devices of each in line are there for it, by number, in the order of the line; None: nobody knows, or it rests."""
    made = _Plan(draft, sight, people, policy)
    return {request.number: made.start(request) for request in line(draft)}


class _Plan:
    """One pass: for each device of each request a look into a sorted list of those of its line."""

    def __init__(self, draft: Draft, sight: Sight, people: People, policy: Policy) -> None:
        self._draft, self._sight, self._people, self._policy = draft, sight, people, policy
        self._frees = Frees(draft, draft.now, policy, self._zone, sight)
        self._dues: dict[tuple[str, str], list[datetime]] = {}  # when what is left is due, sorted, by host and kind
        self._ends: dict[tuple[str, date], datetime] = {}  # the usual end of what begins on a day, by zone

    def _zone(self, person: PersonId) -> str:
        known = self._people.get(person)
        return known.zone if known else self._policy.zone

    def start(self, request: Request) -> datetime | None:
        """The next one in line takes what is due first."""
        if request.state is RequestState.OFFERED:
            offer = request.offer
            return max(self._draft.now, offer.free_at) if offer and offer.free_at else self._draft.now
        dues, count = self._of(request), needs(request)
        if request.rest is not None or count > len(dues):
            return None
        usual = self._frees.usual(request.machine)
        earliest = self._draft.now if request.start is None else max(self._draft.now, request.start - usual)
        start = max(earliest, dues[count - 1])
        del dues[counted_on(count, dues, start)]
        out = self._end(request, start + usual) + self._policy.last_call + usual
        for _ in range(count):
            insort(dues, out)
        return start

    def _of(self, request: Request) -> list[datetime]:
        key = host_of(self._draft, request.machine), request.kind
        if key not in self._dues:
            lot = Lot(self._draft, self._sight, self._policy, self._frees, request, frozenset())
            self._dues[key] = lot.past.dues()
        return self._dues[key]

    def _end(self, request: Request, begins: datetime) -> datetime:
        """``end_of``, with the usual end reckoned once a day and zone."""
        length = request.terms.length
        if length.lasting is not None:
            return begins + length.lasting
        zone = self._zone(request.person)
        if length.until is not None:
            return end_of(length, begins, zone, self._policy)
        key = zone, hours.local(begins, zone).date()
        if key not in self._ends:
            self._ends[key] = end_of(USUAL, begins, zone, self._policy)
        return self._ends[key]
