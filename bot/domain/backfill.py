"""Whether somebody may go past those who have to wait. Pure arithmetic, in O(log n) a question.

Used by the planner, for each line of a kind on a host, and by the replay of traces, which plays the same rule over months. One who waits for more
devices than are free has a *shadow*: the start that is promised, and how many devices will be over then. Past them goes only who is surely
back before that start, or takes what will be over. So nobody who was passed starts later than without that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
