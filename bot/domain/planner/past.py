"""Those of one line who have to wait, what each counts on, and who may go past them.

Made by ``lots`` for each line of a kind on a host, and asked by ``turns`` down the line. The first who waits counts on the devices that are due
first, the next one on what is left, and so on; a booking on what is due by its time. So whoever is back before the first of them who starts
later than that, changes nothing for anybody; and whoever is not, may take only what is over for each of them, at worst too. It gives nothing.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from datetime import datetime

from bot.domain import hours
from bot.domain.backfill import Shadow, first_in_the_way, go_past, shadow
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
        self._dues: list[datetime] | None = None  # of what is left when all who wait were served; None: nobody waits
        self._waiting: list[Request] = []  # in order, as the shadows are
        self.shadows: list[Shadow] = []
        self.stuck: int | None = None  # who waits for more than there is: nobody goes past

    # ---- who waits

    def wait(self, request: Request, earliest: datetime) -> None:
        """Somebody has to wait: from now on they are counted with."""
        if self.stuck is not None:
            return
        if self._dues is None:
            self._dues = self.dues()
        count = needs(request)
        found = shadow(request.number, count, self._dues, earliest)
        if found is None:
            self.stuck = request.number
            return
        self.shadows.append(found)
        self._waiting.append(request)
        self._dues = sorted(self._dues[count:] + [self.due_back(request, found.start)] * count)

    def due_back(self, request: Request, start: datetime) -> datetime:
        """When devices are due that somebody takes then."""
        frees = self._frees
        begins = start + frees.usual(request.machine)
        ends = end_of(request.terms.length, begins, self._zone_of(request.person), self._policy)
        return ends + self._policy.last_call + frees.usual(request.machine)

    # ---- who goes past

    def in_the_way(self, count: int, its: Stay) -> Shadow | None:
        """The first who would be delayed if so many devices were given now; None: nobody."""
        counted = [*self._counted(its.back)]
        found = first_in_the_way(counted, count, its.back)
        over = [s for s in counted if s.start < its.back]
        return found if found is not None or not over else self._at_worst(over, count, its)

    def kept_to(self, its: Stay) -> Shadow | None:
        """Whom somebody who goes must be back for; None: nobody."""
        return next((s for s in self.shadows if s.start >= its.back), None)

    def go(self, count: int, its: Stay) -> None:
        """Somebody is given so many devices."""
        counted = [*self._counted(its.back)]
        go_past(counted, count, its.back)
        if self._dues is not None and all(s.start < its.back for s in counted):
            self._dues = sorted(self._dues[count:] + [its.back] * count)

    def _counted(self, back: datetime) -> Iterator[Shadow]:
        """Those for whom it matters: for all after one who starts later than that, as many are there as before."""
        for one in self.shadows:
            yield one
            if one.start >= back:
                return

    def _at_worst(self, over: list[Shadow], count: int, its: Stay) -> Shadow | None:
        """Of those who would have some over: the first for whom that is not so if all goes as slowly as it may."""
        frees = Frees(self._draft, self._draft.now, self._policy, self._zone_of, self._sight)
        cards = [c for c in self._cards if self._size(c) in (None, self._kind) and self._sight.usable(c.name)]
        frees_of = (frees.free(slot, "") for card in cards for slot in parts(card, self._kind))
        worst = sorted(free.latest for free in frees_of if free is not None)
        kept = self.kept_to(its)
        back = kept.start if kept is not None else None
        for one, request in zip(self.shadows[: len(over)], self._waiting, strict=False):
            needed = needs(request)
            if len(worst) < needed:
                return one
            start = worst[needed - 1]
            if back is not None and back <= start:
                return None
            if sum(1 for at in worst if at <= start) - needed < count:
                return one
            again = frees.back(request.terms.length, frees.starts(self._answered(request, start)), request.person)
            worst = sorted([*worst[needed:], *[again] * needed])
        return None

    def _answered(self, request: Request, at: datetime) -> datetime:
        return hours.add_working(at, self._policy.accept_by, self._zone_of(request.person), self._policy)

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
        lease = self._draft.leases.get(label)
        if lease is None:
            request = self._draft.requests.get(int(label)) if label.isdigit() else None
            return self._due_offered(request, since) if request is not None else None
        if lease.fault:
            return None
        if lease.state is LeaseState.ACTIVE and lease.end is not None:
            return frees.out(lease.machine, max(lease.end, now), lease.label)
        if lease.state is LeaseState.RETURNING:
            out = expected_free(self._draft, lease, now, self._policy)
            stuck = max(now, lease.counts_from + self._policy.stuck_return)
            return out + frees.usual(lease.machine) if out else frees.night(stuck, self._zone_of(lease.person))
        ends = end_of(lease.terms.length, since + frees.usual(lease.machine), self._zone_of(lease.person), self._policy)
        out = frees.out(lease.machine, ends)
        return min(out, lease.passing.back_by) if lease.passing is not None else out

    def _due_offered(self, request: Request, since: datetime) -> datetime:
        if request.passing is not None:
            return request.passing.back_by
        offer = request.offer
        return self.due_back(request, max(since, offer.accept_by if offer is not None else since))


def needs(request: Request) -> int:
    """How many devices it waits for: with `partly` one is enough."""
    return 1 if request.partly else request.count
