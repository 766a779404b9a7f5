"""How holds pass from a request to its lease, change their slots, and go back to the line.

Called by the other files of this room; whose turn it is they decide.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain.draft import Draft
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    Hold,
    Lease,
    LeaseState,
    PersonId,
    Request,
    RequestState,
    Rest,
    SlotId,
    Turn,
)
from bot.domain.planner.spots import spots
from bot.domain.queue import leave
from bot.domain.sight import Sight
from bot.domain.waiting import Passing


def reserve(
    draft: Draft, request: Request, slots: tuple[SlotId, ...], passing: Passing | None = None, spare: bool = False
) -> Lease:
    """The lease that a request becomes.

    :param passing: what it keeps to, if it goes past others
    :param spare: it is more than a share
    """
    lease = Lease(
        label=str(request.number),
        request=request.number,
        person=request.person,
        machine=request.machine,
        kind=request.kind,
        slots=slots,
        state=LeaseState.RESERVED,
        terms=replace(request.terms, spare=True) if spare else request.terms,
        since=draft.now,
        changed=draft.now,
        team=request.team,
        passing=passing,
    )
    return step(draft, lease, On.RESERVE, new=True, why=", ".join(slots))


def after_aside(draft: Draft, sight: Sight, held: tuple[Hold, ...], request: Request) -> tuple[Hold, ...] | None:
    """The same holds, those on cards aside changed for others that could be given now; None if there are not enough."""
    good = [h for h in held if draft.card(h.slot).aside is None]
    free = [s.slot for s in spots(draft, sight, request) if s.turn is Turn.HAS]
    good += [Hold(slot, Turn.HAS, str(request.number)) for slot in free][: len(held) - len(good)]
    return tuple(good) if len(good) == len(held) else None


def swap(draft: Draft, label: str, holds: tuple[Hold, ...]) -> None:
    draft.free(label)
    for h in holds:
        draft.hold(h.slot, h.turn, label)


def let_go(draft: Draft, sight: Sight, request: Request) -> frozenset[SlotId]:
    """Free what was offered. Returns all that was there to be had then, also what others are asked about just now: none of it wakes
    the request again."""
    offered = {str(r.number) for r in draft.requests.values() if r.state is RequestState.OFFERED}
    slots = {h.slot for h in draft.holds if h.label in offered}
    draft.free(str(request.number))
    return frozenset(slots | {s.slot for s in spots(draft, sight, request)})


def back(
    draft: Draft, request: Request, event: On, why: str, by: PersonId = "bot", rest: Rest | None = None
) -> Request:
    """Back to the old place; holds free; the offer's message says why."""
    leave(draft, request, why, rest.until if rest else None)
    return step(draft, whole(request), event, to=RequestState.QUEUED, by=by, why=why, offer=None, rest=rest)


def whole(request: Request) -> Request:
    """As it was asked for: fewer were offered, or it went past others, for that once."""
    if request.passing is None and not request.wanted:
        return request
    return replace(request, count=request.wanted or request.count, wanted=0, passing=None)
