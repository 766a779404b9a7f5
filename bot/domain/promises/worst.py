"""The devices of one line at worst, while those in it are served in order.

Used by ``play``. It knows when each device is free, and from when on anything is given to those behind.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from datetime import datetime, timedelta

from bot.domain import hours
from bot.domain.frees import ROUND, Frees
from bot.domain.model import Request

MOST_FLOAT = 3
"""If all is wanted by more who float than so many, no latest time is promised to those behind: it would be weeks away."""

Back = tuple[datetime, bool, str, str]
"""When a device is free at worst; whether it is whoever waits, else only if somebody else than its holder waits until then; who has it before that of
all who waited for a card of their own alone (a label), whose time begins when that comes, "" nobody; and whose it is, "" nobody's."""


class Worst:
    """See the module. Who floats may take their turn between any two others: so what it wants is counted on by nobody behind."""

    def __init__(self, frees: Frees, free: Iterable[Back], zones: Iterable[str] = (), spare: bool = False) -> None:
        """``free``: when each device of the line is free at worst, and whether that is so whoever waits. ``zones``: of those who have them.
        ``spare``: whether anything is lent only while nobody else wants it."""
        self._frees, self._zones, self._spare = frees, frozenset(zones), spare
        self._free = sorted(free)
        self._all = len(self._free)
        self._from = frees.now  # before that nobody behind is given anything
        self._floats: list[Request] = []
        self._wanted: list[Back] = []  # when what those want is free
        self._lost = False  # nothing is known of those behind

    def turn(self, request: Request) -> datetime | None:
        """When it is the turn of a request that is next; None: it wants more than there is, or too many float before it."""
        needs = 1 if request.partly else request.count
        if needs > self._all or self._is_lost(needs):
            return None
        free, since = (self._free, self._from) if needs <= len(self._free) else self._after_floats(request)
        return max(since, self._counted(request, free, needs)[0])

    def earliest(self, request: Request) -> datetime:
        """Not before: a booking is put on in a restart that is over at its start."""
        now = self._frees.now
        return max(now, request.start - self._frees.usual(request.machine)) if request.start is not None else now

    def _counted(self, request: Request, free: list[Back], count: int) -> tuple[datetime, list[Back]]:
        """The devices that a request takes, and when it has them all. Until the time of a booking nobody gives anything back for it: so what is not free
        by itself is taken then, by the terms."""
        begins, night = self.earliest(request), self._taken_by(request)
        if night is None:
            return free[count - 1][0], free[:count]
        found = sorted((self._by_then(device, night), device) for device in free)[:count]
        return max(begins, found[-1][0]), [device for _, device in found]

    def _taken_by(self, request: Request) -> datetime | None:
        """When what nobody gives back before the time of a booking is taken for it, by the terms; None: it waits from now on. What is spare goes back
        first, and work on it is waited for from then on."""
        frees = self._frees
        if request.start is None or request.start <= frees.now:
            return None
        work = frees.policy.running_work if self._spare or self._floats else timedelta(0)
        stuck = request.start + ROUND + work + frees.policy.stuck_return
        return max([self.earliest(request), *(frees.night(stuck, zone) for zone in self._zones)])

    def _by_then(self, device: Back, night: datetime) -> datetime:
        """When a device is there for a booking before whose time nobody waits: what would come back for somebody is taken in that night."""
        at, sure, after, _ = device
        if sure:
            return at
        return max(at, self._frees.back_of(after, night)[0] if after else night)

    def serve(self, request: Request) -> None:
        """It takes what it wants at its turn, and has it for as long as it may. Until then nobody behind is given anything; but what is over for
        a booking, until its time comes."""
        count = self._count(request)
        if count > self._all:
            self._from = max(self._from, self._passed(request))
            return
        if self._is_lost(count):
            return
        brought = count > len(self._free)
        if brought:
            self._free, self._from = self._after_floats(request)
            self._wanted = []
        at, taken = self._counted(request, self._free, count)
        turn = max(self._from, at)
        own = any(who == request.person and not sure for _, sure, _, who in taken)
        back = self._back(request, turn), False, str(request.number) if own else "", request.person
        for device in taken:
            self._free.remove(device)
            insort(self._free, back)
        if request.start is None:
            self._from = turn
        if brought:
            self._set_apart(sum(map(self._count, self._floats)))

    def float(self, request: Request) -> None:
        """It may take its turn at any time from now on."""
        if self._count(request) <= self._all:
            self._floats.append(request)
            self._set_apart(self._count(request))

    def lend_spare(self) -> None:
        """Somebody may get more than their share: what is over it is lent only while nobody else wants it."""
        self._spare = True

    def _is_lost(self, needs: int) -> bool:
        """Whether nothing can be said any more: too little is left without those who float, and these are too many."""
        self._lost = self._lost or (needs > len(self._free) and len(self._floats) > MOST_FLOAT)
        return self._lost

    def _count(self, request: Request) -> int:
        """How many devices it takes at most."""
        return max(1, min(request.count, self._all)) if request.partly else request.count

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

    def _after_floats(self, request: Request) -> tuple[list[Back], datetime]:
        """Too little is left for a request that is next: what there is when all who float were served before it, each at the last moment, so one
        after the other."""
        all_of = request, *self._floats
        begins = *map(self.earliest, all_of), *(at for one in all_of if (at := self._taken_by(one)) is not None)
        at = max([self._from, *begins, *(device[0] for device in (*self._free[-1:], *self._wanted))])
        for other in self._floats:
            at = self._back(other, at)
        return [(at, False, "", "")] * self._all, at
