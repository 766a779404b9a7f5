"""One policy played on the requests of one seed: a pool of equal cards, and events in the order of their time.

Whose turn it is and who may go past whom is asked of the product's own functions (``backfill``; ``order`` in ``use``) on light values, since a
whole ``decide`` a request is far too slow for months; tests/service/test_replay_same.py plays both. It must draw nothing: what people do is in
the requests (``people``).
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import partial
from typing import Any

from bot.domain import backfill
from bot.domain.policy import Policy
from bot.service.replay.held import Held, needed
from bot.service.replay.people import Ask
from bot.service.replay.policies import Rules
from bot.service.replay.use import Use
from bot.service.replay.windows import Windows

# The product's own. It only compares times, so seconds do as well as instants.
WAITING: Any = backfill.Waiting


class What(IntEnum):
    """What happens at a time; of one moment in this order."""

    OUT = 0  # cards are back in the pool
    BACK = 1  # they are to come out
    AGAIN = 2  # one who was silent may have a turn again
    LAPSED = 3  # cards that were kept for one who was silent are free
    LOOK = 4  # something may be due


class Play:
    """See the module. ``run`` it once."""

    def __init__(self, asks: Sequence[Ask], cards: int, rules: Rules, windows: Windows, policy: Policy) -> None:
        """``asks``: in the order of asking; nobody asks for more than ``cards``."""
        self._asks, self._cards, self._rules, self._windows = asks, cards, rules, windows
        self._use = Use(policy) if rules.passes else None
        self._free = cards
        self._coming = 0  # cards that are to come out
        self._wanted = 0  # cards that those in line want, but for those who rest
        self._line: list[tuple[float, int, Ask]] = []  # by place
        self._places: dict[int, float] = {}  # of those in line, by number
        self._resting: set[int] = set()  # numbers in line
        self._held: dict[int, Held] = {}  # at work, or kept for somebody
        self._began: list[Held] = []
        self._events: list[tuple[float, int, int, int, Held | Ask | None]] = []
        self._pushed = 0
        self._looks: set[float] = set()  # at these times it is looked anyway

    def run(self) -> list[Held]:
        """All requests, played to the end: their cards in the order in which they were given."""
        asks, events, at = self._asks, self._events, 0
        while at < len(asks) or events:
            now = min(events[0][0] if events else math.inf, asks[at].at if at < len(asks) else math.inf)
            if self._use is not None:
                self._use.until(now, self._free)
            while events and events[0][0] <= now:
                _, what, _, _, of = heapq.heappop(events)
                self._happens(What(what), of, now)
            while at < len(asks) and asks[at].at <= now:
                self._join(asks[at])
                at += 1
            self._settle(now)
        return self._began

    # ---- events

    def _push(self, at: float, what: What, number: int, of: Held | Ask | None) -> None:
        if at < math.inf:
            self._pushed += 1
            heapq.heappush(self._events, (at, what, number, self._pushed, of))

    def _look(self, at: float) -> None:
        if at not in self._looks:
            self._looks.add(at)
            self._push(at, What.LOOK, 0, None)

    def _happens(self, what: What, of: Held | Ask | None, now: float) -> None:
        if isinstance(of, Held):
            if what is What.BACK:
                if of.out is None and of.back <= now:
                    self._give_back(of, now)
                return
            self._free += of.ask.count
            del self._held[of.ask.number]
            if what is What.OUT:
                self._coming -= of.ask.count
                self._count(of.ask, has=-1)
        elif of is not None:
            self._resting.discard(of.number)
            self._count(of, waits=1)
        else:
            self._looks.discard(now)

    def _join(self, ask: Ask) -> None:
        later = self._use.handicap(ask.user) if self._use is not None else 0.0
        self._places[ask.number] = ask.at + later
        insort(self._line, (ask.at + later, ask.number, ask))
        self._count(ask, waits=1)

    def _count(self, ask: Ask, waits: int = 0, has: int = 0) -> None:
        self._wanted += waits * ask.count
        if self._use is not None:
            self._use.waits(ask.user, waits * ask.count)
            self._use.has(ask.user, has * ask.count)

    def _settle(self, now: float) -> None:
        """What follows in this moment."""
        idle, opens = self._rules.idle, self._windows.opens(now)
        if opens > now:
            if self._line:
                self._look(opens)
        else:
            while self._free and self._line and self._give(now):
                pass  # as in the next round: what was just given counts as when it is due
        if self._wanted > self._free:
            if self._rules.ends:
                self._end(now)
            if idle.waiting:
                self._look_at_idle(now)
        elif idle.waiting:
            for held in self._held.values():
                held.warned = math.inf

    # ---- turns

    def _give(self, now: float) -> bool:
        """Whether anybody had a turn."""
        given = self._turns(now, self._free, self._held.values())
        for ask in given:
            self._turn(ask, now)
        return bool(given)

    def _turns(self, now: float, free: int, held: Iterable[Held]) -> list[Ask]:
        """Whose turn it is, in order, if so many cards are free and others are held."""
        given: list[Ask] = []
        waiting: Any = None
        for _, _, ask in self._line:
            if not free:
                break
            if ask.number in self._resting or not self._may_be_asked(ask, now):
                continue
            if ask.count > free and not self._rules.passes:
                break
            back = self._windows.surely(ask, now) if ask.count <= free and waiting is not None else now
            if ask.count > free or (waiting is not None and waiting.in_the_way(ask.count, back) is not None):
                waiting = waiting or self._counted(now, free, held, given)
                waiting.wait(ask.number, ask.count, now, partial(self._windows.back, ask))
                continue
            if waiting is not None:
                waiting.go(ask.count, back)
            given.append(ask)
            free -= ask.count
        return given

    def _counted(self, now: float, free: int, held: Iterable[Held], given: Iterable[Ask]) -> Any:
        """What those count on who have to wait, by what was given before them."""
        dues = [now] * free
        for one in held:
            dues += [max(one.due if one.out is None else one.out, now)] * one.ask.count
        for other in given:
            dues += [self._windows.back(other, now)] * other.count
        return WAITING(dues)

    def _may_be_asked(self, ask: Ask, now: float) -> bool:
        """Whether its turn can come now; else it is looked again when it can."""
        may = self._windows.asks(ask, now)
        if may > now:
            self._look(may)
        return may <= now

    def _turn(self, ask: Ask, now: float) -> None:
        """It leaves the line with its cards; or they are kept while it says nothing, and then it rests."""
        turn = self._windows.turn(ask, now)
        self._free -= ask.count
        self._count(ask, waits=-1)
        if turn.begins is not None:
            self._line.remove((self._places.pop(ask.number), ask.number, ask))
            self._count(ask, has=1)
            self._begin(ask, turn.begins)
            return
        self._held[ask.number] = held = Held(ask, turn.over, due=turn.over)
        self._resting.add(ask.number)
        self._push(turn.over, What.LAPSED, ask.number, held)
        self._push(turn.again, What.AGAIN, ask.number, ask)

    def _begin(self, ask: Ask, start: float) -> None:
        idle, end, done = self._rules.idle, start + ask.length, start + ask.work
        held = Held(ask, start, end, self._windows.due(end), done, done if self._rules.perfect else done + ask.hold)
        if not idle.waiting:
            held.back = min(held.back, done + idle.taken, done + idle.asked + ask.answer)
        else:
            for at in (done + idle.asked, done + idle.warns):
                if at < held.back:
                    self._look(at)
        if self._rules.ends and end < held.back:
            self._look(end)
        self._held[ask.number] = held
        self._began.append(held)
        self._push(held.back, What.BACK, ask.number, held)

    # ---- cards come back

    def _give_back(self, held: Held, now: float) -> None:
        held.out = self._windows.out(held.ask, now)
        self._coming += held.ask.count
        self._push(held.out, What.OUT, held.ask.number, held)

    def _end(self, now: float) -> None:
        """Of those whose time is over as many come out as are needed, the longest over first."""
        short = self._wanted - self._free - self._coming
        if short <= 0:
            return
        over = [held for held in self._held.values() if held.end <= now and held.out is None]
        for held in sorted(over, key=lambda held: (held.end, held.ask.number)):
            if short > 0:
                short -= held.ask.count
                self._give_back(held, now)

    def _look_at_idle(self, now: float) -> None:
        """While somebody waits: who is asked, warned and taken from. A warning comes, and a card goes back, only where that gives somebody
        their turn."""
        idle = self._rules.idle
        quiet = [held for held in self._held.values() if held.out is None and now >= held.done + idle.asked]
        for held in quiet:
            if not held.asked:
                held.asked = True
                held.back = min(held.back, now + held.ask.answer)
                self._push(held.back, What.BACK, held.ask.number, held)
        quiet = [held for held in self._held.values() if held.out is None and now >= held.done + idle.warns]
        quiet.sort(key=lambda held: held.ask.number)

        def serves(taken: Iterable[Held]) -> frozenset[int]:
            return self._served(taken, now)

        for held in quiet:
            if held.warned == math.inf and held in needed([held, *(h for h in quiet if h is not held)], serves):
                held.warned = now
                self._look(now + idle.warned)
        for held in needed([held for held in quiet if held.may_be_taken(idle, now)], serves):
            self._give_back(held, now)

    def _served(self, taken: Iterable[Held], now: float) -> frozenset[int]:
        """Who would have their turn if these were back, and all that is on its way."""
        gone = {held.ask.number for held in taken}
        stay = [h for number, h in self._held.items() if h.out is None and number not in gone]
        free = self._cards - sum(held.ask.count for held in stay)
        return frozenset(ask.number for ask in self._turns(now, free, stay))
