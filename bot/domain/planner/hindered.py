"""Whoever is in line and can be given nothing, whatever is free: for how long they hold up those behind, and when they rest.

Called by this room's ``settle`` once a round. The first in line keeps the others waiting so that nobody passes; where its own turn could not come anyway,
that helps nobody. So after a while it rests: it keeps its place and its time asked, is not counted as waiting, and has its turn
again with the first complete look in which it could be served. The while is there so that nothing is given away for a look or two in
which a machine could not be read. It gives nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain.draft import Draft
from bot.domain.model import BOT, Hindrance, Machine, Request, Rest, RestWhy, Turn
from bot.domain.near import near
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.domain.slots import all_of

UNREAD = timedelta(minutes=10)
"""So long a machine that cannot be read, or whose host is away, holds up others: a host that loses its vCenter for a moment, or an agent of
it that starts anew, is back by then."""


def settle(draft: Draft, sight: Sight, request: Request, machine: Machine, policy: Policy) -> None:
    """Notice that a queued request can be given nothing, let it rest when that lasts, and wake it when it can."""
    shut = sight.shut(machine)
    if shut is None:
        return  # nobody can tell: as it was
    why = shut or _lacking(draft, sight, request)
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


def _lacking(draft: Draft, sight: Sight, request: Request) -> str:
    """Why its host could not serve it even if everybody gave back what they have, in words: fewer cards are in the pool there; "" it could."""
    there = near(draft, request.machine) or draft
    good = 0
    for slot in all_of(there, request.kind):
        card = draft.card(slot)
        strange = draft.holder(slot, Turn.HAS) is None and bool(sight.settings(slot))
        foreign = sight.foreign_size(slot) not in ("", request.kind)
        good += card.aside is None and not card.doubted and sight.usable(slot) and not strange and not foreign
    if good >= request.count:
        return ""
    return (
        f"{good or 'none'} of the {request.count} that it wants {'is' if good < 2 else 'are'} in the pool"
        if request.count > 1
        else ("no card that it could have is in the pool")
    )
