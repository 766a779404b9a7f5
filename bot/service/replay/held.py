"""Cards that somebody has in a replay, and which of them are needed. Values of ``play``, which alone changes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bot.service.replay.people import Ask
from bot.service.replay.policies import Idle


@dataclass(eq=False, slots=True)
class Held:
    """Cards that somebody has, or that are kept for them. Seconds from the start of the trace."""

    ask: Ask
    start: float  # at work from then on
    end: float = math.inf  # the time that was agreed is over
    due: float = math.inf  # and its cards are due to be out
    done: float = math.inf  # the work is over
    back: float = math.inf  # its cards come out from then on, whoever waits
    asked: bool = False  # whether they still need it
    warned: float = math.inf  # since when a warning stands
    out: float | None = None  # it is to come out, and is out then

    def may_be_taken(self, idle: Idle, now: float) -> bool:
        """Whether it was quiet, warned and lent for long enough."""
        return now >= max(self.done + idle.taken, self.warned + idle.warned, self.start + idle.not_before)


def needed(ready: Sequence[Held], serves: Callable[[Iterable[Held]], frozenset[int]]) -> list[Held]:
    """Of what may be taken back only that without which somebody would not have their turn; of several of which one is enough the first. The
    rule of ``idle.taking``.

    :param serves: the numbers of those who would have their turn with some of it
    """
    if not ready:
        return []
    base, chosen, best = serves(()), list(ready), serves(ready)
    if best <= base:
        return []
    for held in reversed(ready):
        fewer = [other for other in chosen if other is not held]
        then = serves(fewer)
        if best - then <= base:
            chosen, best = fewer, then
    return chosen
