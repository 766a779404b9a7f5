"""The devices of one line at worst, while those in it are served in order.

Used by ``play``. It knows when each device is free, and from when on anything is given to those behind.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from datetime import datetime

from bot.domain import hours
from bot.domain.frees import ROUND, Frees
from bot.domain.model import Request


class Worst:
    """See the module. Who floats may take their turn between any two others: so what it wants is counted on by nobody behind."""

    def __init__(self, frees: Frees, free: Iterable[datetime], zones: Iterable[str] = ()) -> None:
        """``free``: when each device of the line is free at worst. ``zones``: of those who have them."""
        self._frees, self._zones = frees, frozenset(zones)
        self._free = sorted(free)
        self._all = len(self._free)
        self._from = frees.now  # before that nobody behind is given anything
        self._floats: list[Request] = []
        self._wanted: list[datetime] = []  # when what those want is free

    def turn(self, request: Request) -> datetime | None:
        """When it is the turn of a request that is next; None: it wants more than there is."""
        needs = 1 if request.partly else request.count
        if needs > self._all:
            return None
        free, since = (self._free, self._from) if needs <= len(self._free) else self._after_floats(request)
        return max(since, free[needs - 1], self._booked(request, free[needs - 1]))

    def earliest(self, request: Request) -> datetime:
        """Not before: a booking is put on in a restart that is over at its start."""
        now = self._frees.now
        return max(now, request.start - self._frees.usual(request.machine)) if request.start is not None else now

    def _booked(self, request: Request, free: datetime) -> datetime:
        """From when on a booking is served. Until its time nobody gives anything back for it: so what is not free now is taken from who has it
        then by the terms."""
        begins, frees = self.earliest(request), self._frees
        if begins == frees.now or free <= frees.now:
            return begins
        stuck = begins + ROUND + frees.policy.stuck_return
        return max([begins, *(frees.night(stuck, zone) for zone in self._zones)])

    def serve(self, request: Request) -> None:
        """It takes what it wants at its turn, and has it for as long as it may. Until then nobody behind is given anything; but what is over for
        a booking, until its time comes."""
        count = min(request.count, self._all) if request.partly else request.count
        if count > self._all:
            self._from = max(self._from, self._passed(request))
            return
        brought = count > len(self._free)
        if brought:
            self._free, self._from = self._after_floats(request)
            self._wanted = []
        turn = max(self._from, self._free[count - 1], self._booked(request, self._free[count - 1]))
        back = self._back(request, turn)
        del self._free[:count]
        for _ in range(count):
            insort(self._free, back)
        if request.start is None:
            self._from = turn
        if brought:
            self._set_apart(sum(x.count for x in self._floats))

    def float(self, request: Request) -> None:
        """It may take its turn at any time from now on."""
        if request.count <= self._all:
            self._floats.append(request)
            self._set_apart(request.count)

    def _set_apart(self, count: int) -> None:
        self._wanted += self._free[:count]
        del self._free[:count]

    def _passed(self, request: Request) -> datetime:
        """From when on somebody who cannot be served holds up nobody any more."""
        frees, found = self._frees, request.hindrance
        if request.rest is not None:
            return frees.now
        return max(frees.now, (found.passes if found else frees.now + frees.policy.reserved_free) + ROUND)

    def _back(self, request: Request, turn: datetime) -> datetime:
        """When what is taken at a turn is free again. Whoever is asked answers late."""
        frees = self._frees
        answered = hours.add_working(turn + ROUND, frees.policy.accept_by, frees.zone_of(request.person), frees.policy)
        return frees.back(request.terms.length, frees.starts(answered), request.person)

    def _after_floats(self, request: Request) -> tuple[list[datetime], datetime]:
        """Too little is left for a request that is next: what there is when all who float were served before it, each at the last moment, so one
        after the other."""
        begins = map(self.earliest, (request, *self._floats))
        at = max([self._from, *begins, *self._free[-1:], *self._wanted])
        for other in self._floats:
            at = self._back(other, at)
        return [at] * self._all, at
