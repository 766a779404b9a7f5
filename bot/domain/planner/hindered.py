"""Whoever is in line and can be given nothing, whatever is free: for how long they hold up those behind, and when they rest.

Called by this room's ``settle`` once a round. The first in line keeps the others waiting so that nobody passes; where its own turn could not come anyway,
that helps nobody. So after a while it rests: it keeps its place and its time asked, is not counted as waiting, and has its turn
again with the first complete look in which it could be served. The while is there so that nothing is given away for a look or two in
which a machine could not be read. It gives nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from bot.domain.draft import Draft
from bot.domain.model import BOT, Card, Hindrance, Machine, MachineId, Request, RequestState, Rest, RestWhy, Turn
from bot.domain.near import host_of, near
from bot.domain.planner.past import needs
from bot.domain.planner.plain import Plain
from bot.domain.policy import Policy
from bot.domain.shelves import cards_on
from bot.domain.sight import Sight
from bot.domain.slots import parts

UNREAD = timedelta(minutes=10)
"""So long a machine that cannot be read, or whose host is away, holds up others: a host that loses its vCenter for a moment, or an agent of
it that starts anew, is back by then."""


class Pool:
    """How many devices of a kind there are in the pool, on a machine's host: found once, as long as no hold changes. Lives for one passing of
    the line."""

    def __init__(self, draft: Draft, sight: Sight) -> None:
        """Nothing is looked up yet."""
        self._draft, self._sight, self._seen = draft, sight, sight.machines
        self._good: dict[tuple[str, str], int] = {}
        self._open: dict[tuple[str, str, str], int] = {}  # the same of hosts that are there; 0 those that are not
        self._stamp = draft.stamp

    def unsure(self, waiting: Sequence[Request]) -> list[Request]:
        """Those in line of whom something may be to be settled, in order: all others only wait (``only_waits``). Whole groups are passed by at
        once where the books and the look say the same of all of them, as of nearly all in nearly every round."""
        odd = self._sight.odd
        if odd is None:
            return [r for r in waiting if not self._only_waits(r)]
        plain, requests = self._draft.kept(Plain).fresh(), self._draft.requests
        found = [requests[number] for number in plain.others]
        for (kind, vcenter, host), mine in plain.groups.items():
            if mine and not self._all_only_wait(kind, vcenter, host, mine.values(), odd):
                found += [r for number in mine if not self._only_waits(r := requests[number])]
        return sorted(found, key=lambda r: r.place_key)

    def _all_only_wait(
        self, kind: str, vcenter: str, host: str, mine: Collection[tuple[int, MachineId]], odd: Collection[MachineId]
    ) -> bool:
        """Whether so much is there as any of a group wants, and its machines are seen as the books have them."""
        if odd and any(uuid in odd for _, uuid in mine):
            return False
        machine = self._draft.machines[next(iter(mine))[1]]
        return self._sight.shut(machine) == "" and self._has(kind, machine, max(need for need, _ in mine))

    def _has(self, kind: str, machine: Machine, need: int) -> bool:
        """Whether there are so many: as ``good``, and no farther than that needs."""
        there = near(self._draft, machine.uuid)
        for card in (
            cards_on(self._draft, machine.vcenter, machine.host) if there is not None else self._draft.cards.values()
        ):
            need -= self._of(card, kind)
            if need <= 0:
                return True
        return False

    def _only_waits(self, request: Request) -> bool:
        machine = self._draft.machines.get(request.machine)
        return machine is not None and self.only_waits(request, machine)

    def only_waits(self, request: Request, machine: Machine) -> bool:
        """Whether nothing is to be settled of one in line: it could be served if everybody gave back what they have, and all is as it should
        be. What holds of a host is asked of it once: there may be thousands in line."""
        if request.state is not RequestState.QUEUED or request.rest is not None or request.hindrance is not None:
            return False
        if machine.gone or request.person not in machine.owners:
            return False
        seen = self._seen.get(machine.uuid)
        if seen is None or seen.template or seen.host != machine.host or seen.vcenter != machine.vcenter:
            return False
        return (1 if request.partly else request.count) <= self._most(request.kind, machine)

    def _most(self, kind: str, machine: Machine) -> int:
        """How many of a kind there are for a machine; 0: also where it can be given none."""
        if self._stamp != self._draft.stamp:
            self._forget()
        key = kind, machine.vcenter, machine.host
        most = self._open.get(key)
        if most is None:
            most = self._open[key] = self.good(kind, machine.uuid) if self._sight.shut(machine) == "" else 0
        return most

    def _forget(self) -> None:
        self._good, self._open, self._stamp = {}, {}, self._draft.stamp

    def good(self, kind: str, machine: MachineId) -> int:
        """Those that could be lent if everybody gave back what they have."""
        if self._stamp != self._draft.stamp:
            self._forget()
        key = kind, host_of(self._draft, machine)
        if key not in self._good:
            there = near(self._draft, machine) or self._draft
            self._good[key] = sum(self._of(card, kind) for card in there.cards.values())
        return self._good[key]

    def _of(self, card: Card, kind: str) -> int:
        sight, draft = self._sight, self._draft
        slots = parts(card, kind)
        if not slots or card.aside is not None or card.doubted or not sight.usable(card.name):
            return 0
        if sight.foreign_size(card.name) not in ("", kind):
            return 0
        return sum(draft.holder(slot, Turn.HAS) is not None or not sight.settings(slot) for slot in slots)


def settle(draft: Draft, sight: Sight, pool: Pool, request: Request, machine: Machine, policy: Policy) -> None:
    """Notice that a queued request can be given nothing, let it rest when that lasts, and wake it when it can."""
    shut = sight.shut(machine)
    if shut is None:
        return  # nobody can tell: as it was
    why = shut or _lacking(request, pool.good(request.kind, request.machine))
    if not why:
        _over(draft, request)
        return
    old = request.hindrance
    since = old.since if old is not None else draft.now
    found = Hindrance(since, why, since + (UNREAD if shut else policy.reserved_free))
    fresh = request if found == old else replace(request, hindrance=found)
    # A second look has to say the same, however long the bot was away between them.
    if fresh.rest is None and old is not None and draft.now >= found.passes:
        fresh = replace(fresh, rest=Rest(RestWhy.HINDERED, draft.now, None))
        draft.log(BOT, "request.hindered", f"#{request.number}", why)
    if fresh is not request:
        draft.put(fresh)


def _over(draft: Draft, request: Request) -> None:
    """It could be served: its turn is as if nothing had been."""
    rests = request.rest is not None and request.rest.why is RestWhy.HINDERED
    if rests:
        draft.log(BOT, "request.unhindered", f"#{request.number}")
    if rests or request.hindrance is not None:
        draft.put(replace(request, hindrance=None, rest=None if rests else request.rest))


def _lacking(request: Request, good: int) -> str:
    """Why its host could not serve it even if everybody gave back what they have, in words: fewer cards are in the pool there; "" it could."""
    if good >= needs(request):
        return ""
    return (
        f"{good or 'none'} of the {request.count} that it wants {'is' if good < 2 else 'are'} in the pool"
        if request.count > 1
        else ("no card that it could have is in the pool")
    )
