"""Whether somebody may go past those who have to wait. Pure arithmetic, in O(log n) a question.

Used by the planner, for each line of a kind on a host, and by the replay of traces, which plays the same rule over months. One who waits for more
devices than are free has a *shadow*: the start that is promised, and how many devices will be over then. Past them goes only who is surely
back before that start, or takes what will be over. So nobody who was passed starts later than without that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass
class Shadow:
    """What one who waits counts on. Not frozen: whoever is let past uses up what is over."""

    number: int  # whose request
    start: datetime  # when it is promised to start
    over: int  # devices that are free then and not wanted by it

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
    free = sum(1 for due in dues if due <= start)
    return Shadow(number, start, free - count)


def first_in_the_way(shadows: Iterable[Shadow], count: int, back: datetime) -> Shadow | None:
    """The first who would be delayed; None: it may go."""
    return next((s for s in shadows if not s.admits(count, back)), None)


def go_past(shadows: Iterable[Shadow], count: int, back: datetime) -> None:
    """Somebody goes: what was over for those who are not surely waited for is used up."""
    for waits in shadows:
        if back > waits.start:
            waits.over -= count


class Waiting:
    """Those of one line who have to wait, in order: the first counts on the devices that are due first, the next one on what is left, and so on.

    Shadows are made when somebody asks to go past them, and no more of them than that needs.
    """

    def __init__(self, dues: Iterable[datetime]) -> None:
        """``dues``: when each device of the line is due to be free."""
        self._dues = sorted(dues)
        self._next: deque[tuple[int, int, datetime, Callable[[datetime], datetime]]] = deque()
        self.shadows: list[Shadow] = []
        self.stuck: int | None = None  # who waits for more than there is: nobody goes past

    def wait(self, number: int, count: int, earliest: datetime, back: Callable[[datetime], datetime]) -> None:
        """Somebody has to wait: from now on they are counted with.

        :param back: when devices are due back that they take at some time
        """
        self._next.append((number, count, earliest, back))

    def counted(self, back: datetime) -> Iterator[Shadow]:
        """Those for whom it matters: for all after one who starts later than that, as many are there as before."""
        at = 0
        while at < len(self.shadows) or self._made():
            yield self.shadows[at]
            if self.shadows[at].start >= back:
                return
            at += 1

    def _made(self) -> bool:
        """The next shadow is made; False: there is none."""
        if not self._next or self.stuck is not None:
            return False
        number, count, earliest, back = self._next.popleft()
        found = shadow(number, count, self._dues, earliest)
        if found is None:
            self.stuck = number
            return False
        self.shadows.append(found)
        self._take(count, back(found.start))
        return True

    def _take(self, count: int, back: datetime) -> None:
        """Of what is left so many devices are away until then."""
        del self._dues[:count]
        at = bisect_right(self._dues, back)
        self._dues[at:at] = [back] * count

    def in_the_way(self, count: int, back: datetime) -> Shadow | None:
        """The first who would be delayed if so many devices were given now; None: nobody."""
        return first_in_the_way(self.counted(back), count, back)

    def go(self, count: int, back: datetime) -> None:
        """Somebody is given so many devices past them."""
        counted = [*self.counted(back)]
        go_past(counted, count, back)
        if all(waits.start < back for waits in counted):
            self._take(count, back)
