"""The devices of one line as it will probably go, while those in it are served in order.

Used by ``play``. Whoever gathers several devices, or has booked, lets others use them in between if these are surely back.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from bot.domain.frees import Free, Frees, by_time
from bot.domain.lengths import end_of
from bot.domain.model import Request
from bot.domain.planner.back import back

GAPS = 16
"""So many devices are looked at that lie free in between: more would cost time, and change little."""


@dataclass(frozen=True)
class Gap:
    """A device that somebody waits with until they have all they want."""

    free: Free  # from when
    until: datetime  # whoever uses it has to be back then


class Likely:
    """See the module."""

    def __init__(self, frees: Frees, free: Iterable[Free]) -> None:
        """``free``: when each device of the line is likely free."""
        self._frees = frees
        self._free = sorted(free, key=by_time)
        self._gaps: list[Gap] = []
        self._last: tuple[int, list[Free] | None] | None = None  # what was counted last, and for whom

    def counted(self, request: Request) -> list[Free] | None:
        """The devices that a request counts on which is next, by time; None: there are too few."""
        if self._last is None or self._last[0] != request.number:
            needs = 1 if request.partly else request.count
            enough = needs <= len(self._free)
            self._last = request.number, (self._between(request, needs) or self._free[:needs]) if enough else None
        return self._last[1]

    def _between(self, request: Request, needs: int) -> list[Free]:
        """Devices with some that others wait with, if it is surely back; none: it is not."""
        if not self._gaps:
            return []
        soonest = min(f.likely for f in (self._free[0], *(g.free for g in self._gaps)))
        back = self._sure(request, max(soonest, self._frees.now))
        gaps = [g for g in self._gaps if g.until >= back]
        while gaps:
            found = sorted([*(g.free for g in gaps), *self._free[:needs]], key=by_time)[:needs]
            sure = self._sure(request, self.start(request, found))
            left = [g for g in gaps if g.until >= sure]
            if len(left) == len(gaps):
                return found
            gaps = left
        return []

    def start(self, request: Request, counted: list[Free]) -> datetime:
        """When a request is given what it counts on."""
        frees = self._frees
        booked = [request.start - frees.usual(request.machine)] if request.start is not None else []
        return max([frees.now, counted[-1].likely, *booked])

    def serve(self, request: Request) -> None:
        """It takes what it counts on, all together; free again when its time is over."""
        counted = self.counted(request)
        self._last = None
        if counted is None:
            self._too_few(request)
            return
        frees, start = self._frees, self.start(request, counted)
        if request.partly:  # all that is there by then, up to what it wants
            counted = [f for f in self._free[: request.count] if f.likely <= start] or counted
        end = frees.kept_until(request.kind, request.terms.length, start + frees.usual(request.machine), request.person)
        out = frees.out(request.machine, end)
        between = [g for g in self._gaps if g.free in counted]
        self._gaps = [g for g in self._gaps if g not in between]
        for f in counted:
            again = Free(out, out, f.slot, "behind", request.person, end)
            gap = next((g for g in between if g.free == f), None)
            if gap is not None:
                self._gap(Gap(again, gap.until))
                continue
            self._free.remove(f)
            insort(self._free, again, key=by_time)
            self._gap(Gap(f, start))

    def _gap(self, gap: Gap) -> None:
        if gap.free.likely < gap.until and len(self._gaps) < GAPS:
            self._gaps.append(gap)

    def _too_few(self, request: Request) -> None:
        """It cannot be served, and holds up those behind for a while."""
        found, now = request.hindrance, self._frees.now
        passes = found.passes if found is not None else now + self._frees.policy.reserved_free
        held = (
            f if f.likely >= passes else Free(passes, max(f.latest, passes), f.slot, "behind", request.person)
            for f in self._free
        )
        self._free = sorted(held, key=by_time)

    def _sure(self, request: Request, start: datetime) -> datetime:
        """When it is surely back if it is given devices then."""
        frees = self._frees
        begins = start + frees.usual(request.machine)
        ends = end_of(request.terms.length, begins, frees.zone_of(request.person), frees.policy)
        return back(frees, request.machine, request.person, str(request.number), ends)
