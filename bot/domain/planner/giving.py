"""A turn is given: a reserved lease where a time for the restart is known, else a question; and what is kept to with it.

Called by ``turns``, which decides whose turn it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.domain import hours, windows
from bot.domain.backfill import Shadow
from bot.domain.caps import Share
from bot.domain.draft import Draft
from bot.domain.lifecycle import On, step
from bot.domain.model import Offer, Request
from bot.domain.news import News, NewsKind
from bot.domain.planner.back import Stay
from bot.domain.planner.holds import reserve
from bot.domain.planner.spots import Spot
from bot.domain.policy import Policy
from bot.domain.queue import tell_offer
from bot.domain.rules import Rule
from bot.domain.sight import Sight
from bot.domain.slots import card_name
from bot.domain.waiting import Passing


@dataclass(frozen=True)
class Left:
    """What a round found of somebody to whom it gave nothing. Fields that do not matter are unset."""

    rule: Rule | None = None  # CAP, TEAM_CAP, PASSING, HOURS: what stands in the way although enough is there
    free: int = 0  # devices that are there for it
    past: Shadow | None = None  # PASSING: whom it must not delay; None: somebody who waits for more than there is
    back: datetime | None = None  # PASSING: when it would be back
    share: Share | None = None  # CAP, TEAM_CAP: what it may have
    other: int = 0  # HOURS: who goes first


@dataclass(frozen=True)
class Given:
    """What somebody can be given."""

    spots: list[Spot]
    known: bool  # a time for the restart is known, or none is needed: no question
    stay: Stay | None  # how long it would be away; None: nobody waits before it
    passing: Passing | None  # what it keeps to, if it goes past others
    spare: bool  # it is more than a share: it goes back as soon as somebody waits


def give(draft: Draft, sight: Sight, request: Request, given: Given, zone: str, policy: Policy) -> None:
    """Its turn: holds, and a lease or an offer.

    :param zone: of its person
    """
    for spot in given.spots:
        draft.hold(spot.slot, spot.turn, str(request.number))
    if given.known:
        _lease_out(draft, request, given)
    else:
        _offer(draft, sight, request, given, zone, policy)


def take_away(draft: Draft, given: Given) -> None:
    """On a copy of the books, for a turn that would come if nothing were lent: whoever has the devices has them no more."""
    for spot in given.spots:
        for hold in [h for h in draft.on(card_name(spot.slot)) if h.slot == spot.slot]:
            draft.free(hold.label, (hold.slot,))


def _fewer(request: Request, given: Given) -> dict[str, Any]:
    """Who takes fewer than they asked for asks for so many from then on."""
    count = len(given.spots)
    return {"count": count, "wanted": request.wanted or request.count} if count < request.count else {}


def _lease_out(draft: Draft, request: Request, given: Given) -> None:
    """A window is known: a reserved lease."""
    here = all(s.here for s in given.spots)
    event = On.TURN_HERE if here else On.TURN
    fields = _fewer(request, given)
    request = step(draft, request, event, offer=None, rest=None, hindrance=None, silences=0, passing=None, **fields)
    slots = tuple(s.slot for s in given.spots)
    lease = reserve(draft, request, slots, given.passing, given.spare)
    if not here:
        draft.tell(News(NewsKind.LEASED, request.person, key=f"turn:{request.number}", request=request, lease=lease))


def _offer(draft: Draft, sight: Sight, request: Request, given: Given, zone: str, policy: Policy) -> None:
    """No window is known: the person is asked, and the devices are held until accept-by."""
    accept_by = hours.add_working(draft.now, policy.accept_by, zone, policy)
    free = [s.free_at for s in given.spots if s.free_at is not None]
    made = Offer(draft.now, accept_by, max(free) if free else None, spare=given.spare)
    fields = _fewer(request, given)
    request = step(draft, request, On.TURN_OFFER, offer=made, hindrance=None, passing=given.passing, **fields)
    slots = tuple(s.slot for s in given.spots)
    word = sight.word(request.machine, draft.now, policy.reading_stale)
    _, what = windows.works(word, draft.now, policy)
    tell_offer(draft, NewsKind.OFFER, request, slots=slots, until=accept_by, reason=what, zone=zone)
