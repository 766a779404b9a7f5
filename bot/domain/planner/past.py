"""Those of one line who have to wait, what each counts on, and who may go past them.

Made by ``lots`` for each line of a kind on a host, and asked by ``turns`` down the line. The first who waits counts on the devices that are due
first, the next one on what is left, and so on; a booking on what is due by its time. So whoever is back before the first of them who starts
later than that, changes nothing for anybody; and whoever is not, may take only what is over for each of them, at worst too. It gives nothing.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from bot.domain.backfill import Shadow, Waiting, Way
from bot.domain.draft import Draft
from bot.domain.frees import Frees
from bot.domain.lengths import end_of
from bot.domain.model import Card, LeaseState, Mode, Request, SlotId, Turn
from bot.domain.planner.back import Stay
from bot.domain.planner.spots import expected_free
from bot.domain.sight import Sight
from bot.domain.slots import parts, size_of


class Past:
    """The shadows of one line. Lives for one round."""

    def __init__(self, draft: Draft, sight: Sight, frees: Frees, kind: str, cards: list[Card]) -> None:
        """``cards``: those that the line could have, as they are booked by now."""
        self._draft, self._sight, self._frees = draft, sight, frees
        self._policy, self._zone_of = frees.policy, frees.zone_of
        self._kind, self._cards = kind, cards
        self._line: Waiting | None = None  # None: nobody waits so far
        self._waiting: list[int] = []  # those who do, in order
        self._latest: dict[int, datetime | None] | None = None  # what they may be promised, where that is asked for
        self._refused: tuple[int, int] | None = None  # so many devices would move the latest time of whom

    # ---- who waits

    @property
    def waits(self) -> bool:
        """Whether anybody has to wait so far."""
        return self._line is not None

    @property
    def waiting(self) -> Sequence[int]:
        """Who was found to have to wait, by number, in order."""
        return self._waiting

    def wait(self, request: Request, earliest: datetime) -> None:
        """Somebody has to wait: from now on they are counted with."""
        if self._line is None:
            self._line = Waiting(self.dues(), self._draft.now)
        self._line.wait(request.number, needs(request), earliest, partial(self.due_back, request))
        self._waiting.append(request.number)

    def due_back(self, request: Request, start: datetime) -> datetime:
        """When devices are due that somebody takes then."""
        frees = self._frees
        begins = start + frees.usual(request.machine)
        ends = end_of(request.terms.length, begins, self._zone_of(request.person), self._policy)
        return ends + self._policy.last_call + frees.usual(request.machine)

    # ---- who goes past

    def way(self, count: int, its: Stay) -> Way:
        """Who is passed if so many devices are given now, and the first of them who would be delayed."""
        return self._line.way(count, its.back) if self._line is not None else Way(None, (), count)

    def shadow(self, number: int) -> Shadow | None:
        """What one who waits counts on; None: there is less than that."""
        shadows = self._line.shadows if self._line is not None else ()
        return next((s for s in shadows if s.number == number), None)

    def counts_on(self, number: int) -> Shadow | None:
        """The same, also if nobody has asked to go past it yet. On a copy of the books, when all else was asked: what is made now knows nothing of
        those who go past later."""
        return self._line.shadow(number) if self._line is not None else None

    def go(self, count: int, its: Stay) -> None:
        """Somebody is given so many devices."""
        if self._line is not None:
            self._line.go(count, its.back)
        self._latest, self._refused = None, None

    # ---- what was promised

    def moves(self, request: Request, count: int, trial: Callable[[], Draft]) -> int | None:
        """The first other person who waits, and whose latest time would move if so many devices were given to a request; None: nobody's.

        Asked where somebody takes what will be over: at worst it may not be.

        :param trial: makes a copy of the books in which it was given
        """
        if self._refused is not None and count >= self._refused[0]:
            return self._refused[1]
        if self._latest is None:
            self._latest = self._latest_times(self._draft)
        then = self._latest_times(trial())
        for number, was in self._latest.items():
            now, mine = then[number], self._draft.requests[number].person == request.person
            if not mine and was is not None and (now is None or now > was):
                self._refused = count, number
                return number
        return None

    def _latest_times(self, draft: Draft) -> dict[int, datetime | None]:
        from bot.domain.promises.play import Play  # which reckons with turns

        play = Play(draft, draft.now, self._policy, self._zone_of, self._sight)
        return {number: play.latest(draft.requests[number]) for number in self._waiting}

    # ---- what is due

    def dues(self) -> list[datetime]:
        """When each device of the line is due to be free, as agreed, sorted."""
        found: list[datetime] = []
        for card in self._cards:
            if card.aside is not None or card.doubted or not self._sight.usable(card.name):
                continue
            for slot in parts(card, self._kind):
                due = self._due(slot) if self._size(card) in (None, self._kind) else self._due_whole(card)
                if due is not None:
                    insort(found, due)
        return found

    def _size(self, card: Card) -> str | None:
        """In which size it is cut by now; None: it is not."""
        return size_of(self._draft, card) if card.mode is Mode.VGPU else None

    def _due_whole(self, card: Card) -> datetime | None:
        """When the last part of a card is due that is cut in another size."""
        dues = [self._due(slot) for slot in {hold.slot for hold in self._draft.on(card.name)}]
        known = [due for due in dues if due is not None]
        return max(known) if len(known) == len(dues) else None

    def _due(self, slot: SlotId) -> datetime | None:
        """When a device is due to be free, as agreed; None: nobody knows, or it will not be given again."""
        has, after = self._draft.holder(slot, Turn.HAS), self._draft.holder(slot, Turn.NEXT)
        if has is None:
            return self._draft.now if self._sight.clean(slot) else None
        due = self._due_of(has, self._draft.now)
        return self._due_of(after, due) if due is not None and after is not None else due

    def _due_of(self, label: str, since: datetime) -> datetime | None:
        """When what a label has, or will have from then on, is due."""
        frees, now = self._frees, self._draft.now
        lease = frees.lease_of(label)
        if lease is None:
            request = self._draft.requests.get(int(label)) if label.isdigit() else None
            return self._due_offered(request, since) if request is not None else None
        if lease.fault:
            return None
        if lease.state is LeaseState.ACTIVE and lease.end is not None:
            return min(frees.out(lease.machine, max(lease.end, now), lease.label), frees.worst_of(lease))
        if lease.state is LeaseState.RETURNING:
            out = expected_free(self._draft, lease, now, self._policy)
            # Where no time was named yet it was due at its end, and may come at any moment: nobody goes past who waits for it till the night of its terms.
            due = out + frees.usual(lease.machine) if out is not None else frees.out(lease.machine, now)
            return min(due, frees.worst_back(lease))
        ends = end_of(lease.terms.length, since + frees.usual(lease.machine), self._zone_of(lease.person), self._policy)
        out = frees.out(lease.machine, ends)
        return min(out, lease.passing.back_by) if lease.passing is not None else out

    def _due_offered(self, request: Request, since: datetime) -> datetime:
        offer = request.offer
        out = self.due_back(request, max(since, offer.accept_by if offer is not None else since))
        return min(out, request.passing.back_by) if request.passing is not None else out


def kept_to(way: Way, its: Stay) -> Shadow | None:
    """Whom somebody who goes must be back for; None: nobody."""
    return min((s for s, _ in way.counted if s.start >= its.back), key=lambda s: s.start, default=None)


def needs(request: Request) -> int:
    """How many devices it waits for: with `partly` one is enough."""
    return 1 if request.partly else request.count
