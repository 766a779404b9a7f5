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

    def __init__(self, frees: Frees, free: Iterable[datetime]) -> None:
        """``free``: when each device of the line is free at worst."""
        self._frees = frees
        self._free = sorted(free)
        self._all = len(self._free)
        self._from = frees.now  # before that nobody behind is given anything
        self._floats: list[Request] = []

    def turn(self, request: Request) -> datetime | None:
        """When it is the turn of a request that is next; None: it wants more than there is."""
        needs = 1 if request.partly else request.count
        if needs > self._all:
            return None
        free, since = (self._free, self._from) if needs <= len(self._free) else self._after_floats()
        return max(since, free[needs - 1], self.earliest(request))

    def earliest(self, request: Request) -> datetime:
        """Not before: a booking is put on in a restart that is over at its start."""
        now = self._frees.now
        return max(now, request.start - self._frees.usual(request.machine)) if request.start is not None else now

    def serve(self, request: Request) -> None:
        """It takes what it wants at its turn, and has it for as long as it may. Until then nobody behind is given anything; but what is over for
        a booking, until its time comes."""
        count = min(request.count, self._all) if request.partly else request.count
        if count > self._all:
            self._from = max(self._from, self._passed(request))
            return
        brought = count > len(self._free)
        if brought:
            self._free, self._from = self._after_floats()
        turn = max(self._from, self._free[count - 1], self.earliest(request))
        back = self._back(request, turn)
        del self._free[:count]
        for _ in range(count):
            insort(self._free, back)
        if request.start is None:
            self._from = turn
        if brought:
            del self._free[: sum(x.count for x in self._floats)]

    def float(self, request: Request) -> None:
        """It may take its turn at any time from now on."""
        if request.count <= self._all:
            self._floats.append(request)
            del self._free[: request.count]

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

    def _after_floats(self) -> tuple[list[datetime], datetime]:
        """Too little is left for who is next: what there is when all who float were served first, those together for whom there is enough."""
        at, taken, backs = max([self._from, *self._free[-1:]]), 0, list[datetime]()
        for request in self._floats:
            if taken + request.count > self._all:
                at, taken, backs = max(backs), 0, []
            taken += request.count
            backs.append(self._back(request, at))
        at = max([at, *backs])
        return [at] * self._all, at
