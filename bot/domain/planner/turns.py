"""Whose turn it is: the first in line for whom all devices are there gets them, or is asked.

The others of the kind wait behind it (all or nothing, no passing), except that a person who cannot answer now keeps the place while
the next is asked. ``decide`` calls it once a round.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.domain import hours, windows
from bot.domain.draft import Draft
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    Card,
    Lease,
    Mode,
    Offer,
    Request,
    RequestState,
)
from bot.domain.near import may_have, meet
from bot.domain.news import News, NewsKind
from bot.domain.planner.holds import reserve
from bot.domain.planner.spots import People, Spot, spots, window_known
from bot.domain.policy import Policy
from bot.domain.queue import line, tell_offer
from bot.domain.sight import Sight
from bot.domain.slots import card_name, has_kind, parts

LONG = timedelta(days=365)
"""Of what has no end yet."""


def allot(draft: Draft, sight: Sight, people: People, policy: Policy) -> None:
    """Give turns: for each kind, go down the line and serve while the devices suffice."""
    blocked: list[Request] = []  # those whose turn it is and for whom too little is there
    kept: set[str] = set()  # cards on which those who wait for a whole one, or for another size, count
    away: list[Request] = []
    for request in line(draft):
        if request.state is not RequestState.QUEUED or request.rest is not None:
            continue
        if any(r.kind == request.kind and meet(draft, r.machine, request.machine) for r in blocked):
            continue
        found = [s for s in spots(draft, sight, request, policy) if card_name(s.slot) not in kept][: request.count]
        if len(found) < request.count:
            blocked.append(request)  # all or nothing, and nobody passes: on its own host
            kept |= _counts_on(draft, sight, request, found)
            continue
        if window_known(draft, sight, request) or all(s.here for s in found):
            lease_out(draft, request, found, policy)
        elif _asked_elsewhere(draft, sight, request, people, policy, kept):
            away.append(request)
            continue
        else:
            _offer(draft, sight, request, found, people, policy)
        gone_past = [r for r in away if r.kind == request.kind and meet(draft, r.machine, request.machine)]
        for passed in gone_past:
            why = f"outside working hours, so #{request.number} went first"
            step(draft, passed, On.TURN_AWAY, why=why, changed=passed.changed)
        away = [r for r in away if r not in gone_past]


def _counts_on(draft: Draft, sight: Sight, request: Request, found: list[Spot]) -> set[str]:
    """The vGPU cards of its host that one who has to wait will be given: those of the parts that are there, and those that are free soonest. Nobody
    behind takes a part of them in another size, else a whole card would never come free."""
    cards = [c for c in draft.cards.values() if c.mode is Mode.VGPU and may_have(draft, request.machine, c)]
    good = [
        c for c in cards if has_kind(c, request.kind) and c.aside is None and not c.doubted and sight.usable(c.name)
    ]
    mine = {card_name(s.slot) for s in found}
    lacks = request.count - len(found)
    for card in sorted(good, key=lambda c: (_free_at(draft, c), c.name)):
        if lacks <= 0:
            break
        if card.name not in mine:
            mine.add(card.name)
            lacks -= len(parts(card, request.kind))
    return mine if good else set()


def _free_at(draft: Draft, card: Card) -> datetime:
    """When the last part of a card is due."""
    leases = [draft.leases[h.label] for h in draft.on(card.name) if h.label in draft.leases]
    return max((x.end or draft.now + LONG for x in leases), default=draft.now)


def _asked_elsewhere(
    draft: Draft, sight: Sight, request: Request, people: People, policy: Policy, kept: set[str]
) -> bool:
    """Outside a person's working hours the next one who can answer, or needs no answer, goes first; the place is kept.

    :param kept: cards that are for others who asked before
    """
    person = people.get(request.person)
    if person is None or hours.is_working(draft.now, person.zone, policy):
        return False
    behind = line(draft)
    for other in behind[behind.index(request) + 1 :]:
        if other.state is not RequestState.QUEUED or other.kind != request.kind or other.rest:
            continue
        if not meet(draft, other.machine, request.machine):
            continue
        if sum(card_name(s.slot) not in kept for s in spots(draft, sight, other)) < other.count:
            return False  # nobody passes that one either
        who = people.get(other.person)
        if window_known(draft, sight, other) or (who and hours.is_working(draft.now, who.zone, policy)):
            return True
    return False


def lease_out(draft: Draft, request: Request, found: list[Spot], policy: Policy) -> Lease:
    """It is the request's turn and a window is known: holds and a reserved lease."""
    label = str(request.number)
    for spot in found:
        draft.hold(spot.slot, spot.turn, label)
    here = all(s.here for s in found)
    event = On.TURN_HERE if here else On.TURN
    if request.state is RequestState.OFFERED:
        event = On.ACCEPTED
    step(draft, request, event, offer=None, rest=None, hindrance=None, silences=0)
    lease = reserve(draft, request, tuple(s.slot for s in found))
    if not here:
        draft.tell(News(NewsKind.LEASED, request.person, key=f"turn:{label}", request=request, lease=lease))
    return lease


def _offer(draft: Draft, sight: Sight, request: Request, found: list[Spot], people: People, policy: Policy) -> None:
    """Its turn, and no window is known: the person is asked, and the devices are held until accept-by."""
    person = people.get(request.person)
    zone = person.zone if person else policy.zone
    accept_by = hours.add_working(draft.now, policy.accept_by, zone, policy)
    free = [s.free_at for s in found if s.free_at is not None]
    for spot in found:
        draft.hold(spot.slot, spot.turn, str(request.number))
    offer = Offer(draft.now, accept_by, max(free) if free else None)
    request = step(draft, request, On.TURN_OFFER, offer=offer, hindrance=None)
    slots = tuple(s.slot for s in found)
    word = sight.word(request.machine, draft.now, policy.reading_stale)
    _, what = windows.works(word, draft.now, policy)
    tell_offer(draft, NewsKind.OFFER, request, slots=slots, until=accept_by, reason=what, zone=zone)
