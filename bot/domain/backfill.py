"""Whether somebody may go past those who have to wait. Pure arithmetic, in one pass over those who stand before.

Used by the planner, for each line of a kind on a host, and by the replay of traces, which plays the same rule over months. One who waits for more
devices than are free has a *shadow*: the start that is promised, and how many devices will be over then. Past them goes only who is surely
back before that start, or takes what will be over. So nobody who was passed starts later than without that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass
class Shadow:
    """What one who waits counts on. Not frozen: whoever is let past uses up what is over."""

    number: int  # whose request
    start: datetime  # when it is promised to start
    over: int  # devices that are free then and not wanted by it
    there: int | None = (
        None  # booked for later: so many of those that it counts on are free until then; None: it waits for others to come back
    )

    def admits(self, count: int, back: datetime) -> bool:
        """Whether so many devices, back then at the latest, delay nobody."""
        return back <= self.start or count <= self.over


def shadow(number: int, count: int, dues: Sequence[datetime], earliest: datetime) -> Shadow | None:
    """The shadow of one who wants ``count`` devices.

    :param dues: when each device is due to be free, sorted
    :param earliest: not before: now, or the time that was booked
    :return: None: there are not as many
    """
    if count > len(dues):
        return None
    start = max(earliest, dues[count - 1])
    return Shadow(number, start, bisect_right(dues, start) - count)


def counted_on(count: int, dues: Sequence[datetime], start: datetime) -> slice:
    """Which of the devices those are: the first, since it waits for the last of them. A booking has of all that are due by its time the last,
    so that those behind have the first."""
    upto = bisect_right(dues, start) if start > dues[count - 1] else count
    return slice(upto - count, upto)


@dataclass(frozen=True)
class Way:
    """What stands between somebody and devices that are free."""

    blocked: int | None  # the number of the first who would be delayed; None: nobody
    counted: tuple[
        tuple[Shadow, int], ...
    ]  # those who count on them, each with how many that it does not have to spare until it starts
    rest: int  # so many are taken of what nobody who waits counts on


class Waiting:
    """Those of one line who have to wait, in order: the first counts on devices that are due by its start, the next one on what is left, and so on.

    Whoever is back before the start of one who waits for others to come back takes only what that one has no use for until then, so that nobody
    behind loses anything either. Of a booking that is so as far as its devices are free already. Shadows are made when somebody asks to go
    past them, and no more of them than that needs.
    """

    def __init__(self, dues: Iterable[datetime], now: datetime | None = None) -> None:
        """``dues``: when each device of the line is due to be free; ``now``: what is due by then is free. Without it nothing is booked."""
        self._dues, self._now = sorted(dues), now
        self._next: deque[tuple[int, int, datetime, Callable[[datetime], datetime]]] = deque()
        self.shadows: list[Shadow] = []
        self.stuck: int | None = None  # who waits for more than there is: nobody goes past

    def wait(self, number: int, count: int, earliest: datetime, back: Callable[[datetime], datetime]) -> None:
        """Somebody has to wait: from now on they are counted with.

        :param back: when devices are due back that they take at some time
        """
        self._next.append((number, count, earliest, back))

    def shadow(self, number: int) -> Shadow | None:
        """What one who waits counts on; None: there is less than that, for it or for one before it."""
        found = next((s for s in self.shadows if s.number == number), None)
        while found is None and self._made():
            found = self.shadows[-1] if self.shadows[-1].number == number else None
        return found

    def way(self, count: int, back: datetime) -> Way:
        """Who is passed if so many devices are given now that are surely back then."""
        counted: list[tuple[Shadow, int]] = []
        at = 0
        while count > 0 and (at < len(self.shadows) or self._made()):
            waits = self.shadows[at]
            counted.append((waits, count))
            if not waits.admits(count, back):
                return Way(waits.number, tuple(counted), 0)
            if waits.start >= back:
                count -= count if waits.there is None else min(waits.there, count)
            at += 1
        return Way(self.stuck if count > 0 else None, tuple(counted), count)

    def in_the_way(self, count: int, back: datetime) -> int | None:
        """The number of the first who would be delayed if so many devices were given now; None: nobody."""
        return self.way(count, back).blocked

    def go(self, count: int, back: datetime) -> None:
        """Somebody is given so many devices past them."""
        way = self.way(count, back)
        for waits, wanted in way.counted:
            if back > waits.start:
                waits.over -= wanted
            elif waits.there is not None:
                waits.there -= min(waits.there, wanted)
        if way.rest:
            self._take(slice(way.rest), back)

    def _made(self) -> bool:
        """The next shadow is made; False: there is none."""
        if not self._next or self.stuck is not None:
            return False
        number, count, earliest, back = self._next.popleft()
        found = shadow(number, count, self._dues, earliest)
        if found is None:
            self.stuck = number
            return False
        mine = counted_on(count, self._dues, found.start)
        if self._now is not None and found.start > self._dues[count - 1]:
            found.there = bisect_right(self._dues[mine], self._now)
        self.shadows.append(found)
        self._take(mine, back(found.start))
        return True

    def _take(self, taken: slice, back: datetime) -> None:
        """Of what is left these devices are away until then."""
        count = len(self._dues[taken])
        del self._dues[taken]
        at = bisect_right(self._dues, back)
        self._dues[at:at] = [back] * count
