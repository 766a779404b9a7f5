"""Who gets what, and when: turns, offers, and promised times.

``allot`` is the only place that gives holds. A turn goes to the first in line for whom all devices are there; the others of the kind
wait behind it (all or nothing, no passing), except that a person who cannot answer now keeps the place while the next is asked.
``promises`` plays the same line forward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bot.domain import hours, windows
from bot.domain.draft import Draft
from bot.domain.errors import NotPossible, NotYours, TooLate
from bot.domain.lifecycle import OPEN_MOVE, On, step
from bot.domain.model import (
    Agreement,
    Card,
    Hold,
    Lease,
    LeaseState,
    Length,
    Machine,
    MachineId,
    Offer,
    Person,
    PersonId,
    Power,
    Request,
    RequestState,
    Rest,
    RestWhy,
    SlotId,
    Turn,
)
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.questions import wanted_key
from bot.domain.queue import leave, line, tell_offer, wake
from bot.domain.sight import Sight
from bot.domain.times import Which, WindowWish

People = Mapping[PersonId, Person]


# ---- which devices a request could have ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Spot:
    """A slot that a request could be given now."""

    card: Card  # which
    turn: Turn  # has: it is free and clean; next: it is on its way back
    here: bool = False  # it sits on the request's own machine already: no power cycle
    free_at: datetime | None = None  # next: when it is expected


def spots(draft: Draft, sight: Sight, request: Request) -> list[Spot]:
    """The slots that a request could be given, best first: on its own machine, the one it had last, free, on its way."""
    found = [s for c in draft.cards.values() if c.kind == request.kind and (s := _spot(draft, sight, request, c))]
    last = {x.slots for x in draft.leases.values() if x.person == request.person}
    had = {slot for slots in last for slot in slots}
    return sorted(found, key=lambda s: (not s.here, s.turn is Turn.NEXT, s.card.name not in had, s.card.name))


def _spot(draft: Draft, sight: Sight, request: Request, card: Card) -> Spot | None:
    """This card for this request, if it can be given."""
    if card.aside is not None or card.doubted or not sight.usable(card) or not _reachable(sight, card, request.machine):
        return None
    holder = draft.holder(card.name, Turn.HAS)
    if holder is None:
        return Spot(card, Turn.HAS) if sight.clean(card) else None
    lease = draft.leases.get(holder)
    if lease is None or lease.state is not LeaseState.RETURNING or draft.holder(card.name, Turn.NEXT) is not None:
        return None
    if lease.fault:
        return None  # set aside when it comes off
    if lease.machine == request.machine:
        return Spot(card, Turn.NEXT, here=True)
    free_at = expected_free(draft, lease)
    return Spot(card, Turn.NEXT, free_at=free_at) if free_at is not None else None


def _reachable(sight: Sight, card: Card, machine: MachineId) -> bool:
    """A fixed card can be put on machines of its own host only; an unknown machine gets nothing."""
    seen = sight.machine(machine)
    return seen is not None and (seen.vcenter, seen.host) == (card.vcenter, card.host)


def expected_free(draft: Draft, lease: Lease) -> datetime | None:
    """When a returning lease's devices are expected to be clean: its machine's window is known; None: it is not."""
    for move in draft.moves.values():
        if move.machine == lease.machine and move.state in OPEN_MOVE:
            if move.window is not None:
                return max(draft.now, move.window.start)
            if move.last_call_for is not None:
                return max(draft.now, move.last_call_for)
    mine = [a for a in draft.agreements.values() if a.machine == lease.machine and a.label in ("", lease.label)]
    starts = [a.window.start for a in mine if a.window is not None and a.window.end > draft.now]
    if starts:
        return max(draft.now, min(starts))
    return draft.now if any(a.pattern is not None for a in mine) else None


def window_known(draft: Draft, sight: Sight, request: Request) -> bool:
    """Whether the request's machine may restart for it: a window was named, one stands, or the machine is off.

    After "ask me first" only a time that was named for this request counts: what stands for any change was agreed before it was said.
    """
    if sight.power(request.machine) is Power.OFF:
        return True
    labels = (str(request.number),) if request.ask_first else ("", str(request.number))
    return any(a.machine == request.machine and a.label in labels for a in draft.agreements.values() if _open(a))


def _open(agreement: Agreement) -> bool:
    return agreement.state.value == "open"


# ---- the turn -----------------------------------------------------------------------------------------------------


def allot(draft: Draft, sight: Sight, people: People, policy: Policy) -> None:
    """Give turns: for each kind, go down the line and serve while the devices suffice."""
    blocked: set[str] = set()
    away: list[Request] = []
    for request in line(draft):
        if request.state is not RequestState.QUEUED or request.kind in blocked or request.rest is not None:
            continue
        found = spots(draft, sight, request)[: request.count]
        if len(found) < request.count:
            blocked.add(request.kind)  # all or nothing, and nobody passes
            continue
        if window_known(draft, sight, request) or all(s.here for s in found):
            lease_out(draft, request, found, policy)
        elif _asked_elsewhere(draft, sight, request, people, policy):
            away.append(request)
            continue
        else:
            _offer(draft, sight, request, found, people, policy)
        for passed in (r for r in away if r.kind == request.kind):
            why = f"outside working hours, so #{request.number} went first"
            step(draft, passed, On.TURN_AWAY, why=why, changed=passed.changed)
        away = [r for r in away if r.kind != request.kind]


def _asked_elsewhere(draft: Draft, sight: Sight, request: Request, people: People, policy: Policy) -> bool:
    """Outside a person's working hours the next one who can answer, or needs no answer, goes first; the place is kept."""
    person = people.get(request.person)
    if person is None or hours.is_working(draft.now, person.zone, policy):
        return False
    behind = line(draft)
    for other in behind[behind.index(request) + 1 :]:
        if other.state is not RequestState.QUEUED or other.kind != request.kind or other.rest:
            continue
        if len(spots(draft, sight, other)) < other.count:
            return False  # nobody passes that one either
        who = people.get(other.person)
        if window_known(draft, sight, other) or (who and hours.is_working(draft.now, who.zone, policy)):
            return True
    return False


def lease_out(draft: Draft, request: Request, found: list[Spot], policy: Policy) -> Lease:
    """It is the request's turn and a window is known: holds and a reserved lease."""
    label = str(request.number)
    for spot in found:
        draft.hold(spot.card.name, spot.turn, label)
    here = all(s.here for s in found)
    event = On.TURN_HERE if here else On.TURN
    if request.state is RequestState.OFFERED:
        event = On.ACCEPTED
    step(draft, request, event, offer=None, rest=None, silences=0)
    lease = _reserve(draft, request, tuple(s.card.name for s in found))
    if not here:
        draft.tell(News(NewsKind.LEASED, request.person, key=f"turn:{label}", request=request, lease=lease))
    return lease


def _reserve(draft: Draft, request: Request, slots: tuple[SlotId, ...]) -> Lease:
    lease = Lease(
        label=str(request.number),
        request=request.number,
        person=request.person,
        machine=request.machine,
        kind=request.kind,
        slots=slots,
        state=LeaseState.RESERVED,
        terms=request.terms,
        since=draft.now,
        changed=draft.now,
    )
    return step(draft, lease, On.RESERVE, new=True, why=", ".join(slots))


def _offer(draft: Draft, sight: Sight, request: Request, found: list[Spot], people: People, policy: Policy) -> None:
    """Its turn, and no window is known: the person is asked, and the devices are held until accept-by."""
    person = people.get(request.person)
    zone = person.zone if person else policy.zone
    accept_by = hours.add_working(draft.now, policy.accept_by, zone, policy)
    free = [s.free_at for s in found if s.free_at is not None]
    for spot in found:
        draft.hold(spot.card.name, spot.turn, str(request.number))
    offer = Offer(draft.now, accept_by, max(free) if free else None)
    request = step(draft, request, On.TURN_OFFER, offer=offer)
    slots = tuple(s.card.name for s in found)
    word = sight.word(request.machine, draft.now, policy.reading_stale)
    _, what = windows.works(word, draft.now, policy)
    tell_offer(draft, NewsKind.OFFER, request, slots=slots, until=accept_by, reason=what, zone=zone)


# ---- answers to an offer ------------------------------------------------------------------------------------------


def accept(draft: Draft, request: Request, person: Person, wish: WindowWish | None, policy: Policy) -> Lease | Request:
    """Take an offered device with a window. Also said by somebody who passed: it ends the rest, the next round decides.

    :returns: the lease, or the queued request if its slots went aside and none is equal
    """
    machine = draft.machines.get(request.machine)
    if machine is None or person.id not in machine.owners:
        raise NotYours(what=f"#{request.number}", owners=(request.person,))
    if request.state is RequestState.QUEUED and request.rest is not None and request.rest.why is not RestWhy.MACHINE:
        if wish is not None:
            windows.agree(draft, machine, person, wish, policy, label=str(request.number))
        fields: dict[str, Any] = {"rest": None, "silences": 0, "ask_first": wish is None}
        return step(draft, request, On.CHANGED, by=person.id, why="wants it after all", **fields)
    if request.state is not RequestState.OFFERED or request.offer is None or draft.now >= request.offer.accept_by:
        raise TooLate(state=str(request.state), number=str(request.number), why="nothing is offered for it now")
    if wish is None or wish.which is Which.ASK:
        raise NotPossible(what="accept", why=f"say when {machine.name} may restart: accept now, accept tonight, …")
    label = str(request.number)
    held = draft.held(label)
    found = _after_aside(draft, held, request)
    if found is None:
        return _back(draft, request, On.ACCEPTED_ASIDE, "its card was taken out of the pool just now", person.id)
    _swap(draft, label, found)
    windows.agree(draft, machine, person, wish, policy, label=label)
    event, why = On.ACCEPTED, ""
    if set(found) != set(held):
        event, why = (
            On.ACCEPTED_ASIDE,
            ", ".join(sorted(h.slot for h in found)) + " instead, the other is out of the pool",
        )
    tell_offer(draft, NewsKind.OFFER_OVER, request, reason="accepted")
    accepted = step(draft, request, event, to=RequestState.LEASED, by=person.id, why=why, offer=None, silences=0)
    return _reserve(draft, accepted, tuple(h.slot for h in found))


def _after_aside(draft: Draft, held: tuple[Hold, ...], request: Request) -> tuple[Hold, ...] | None:
    """The same holds, those on cards aside changed for equal free ones; None if there are not enough."""
    good = [h for h in held if draft.cards[h.slot].aside is None]
    spare = [
        Hold(c.name, Turn.HAS, str(request.number))
        for c in sorted(draft.cards.values(), key=lambda c: c.name)
        if c.kind == request.kind
        and c.aside is None
        and not c.doubted
        and draft.holder(c.name, Turn.HAS) is None
        and _same_host(draft, c, held)
    ]
    good += spare[: len(held) - len(good)]
    return tuple(good) if len(good) == len(held) else None


def _same_host(draft: Draft, card: Card, held: tuple[Hold, ...]) -> bool:
    return all((draft.cards[h.slot].vcenter, draft.cards[h.slot].host) == (card.vcenter, card.host) for h in held)


def _swap(draft: Draft, label: str, holds: tuple[Hold, ...]) -> None:
    draft.free(label)
    for h in holds:
        draft.hold(h.slot, h.turn, label)


def pass_(draft: Draft, sight: Sight, request: Request, person: Person, policy: Policy) -> Request:
    """Not this one: the request keeps its place and rests."""
    if request.state is not RequestState.OFFERED or request.offer is None:
        raise TooLate(state=str(request.state), number=str(request.number), why="nothing is offered for it now")
    until = hours.add_working(draft.now, policy.pass_rest, person.zone, policy)
    slots = _let_go(draft, sight, request)
    tell_offer(draft, NewsKind.OFFER_OVER, request, reason="passed", until=until)
    rest = Rest(RestWhy.PASSED, draft.now, until, slots)
    return step(draft, request, On.PASSED, by=person.id, offer=None, rest=rest, silences=0)


def _let_go(draft: Draft, sight: Sight, request: Request) -> frozenset[SlotId]:
    """Free what was offered. Returns all that was there to be had then, also what others are asked about just now: none of it wakes
    the request again."""
    offered = {str(r.number) for r in draft.requests.values() if r.state is RequestState.OFFERED}
    slots = {h.slot for h in draft.holds if h.label in offered}
    draft.free(str(request.number))
    return frozenset(slots | {s.card.name for s in spots(draft, sight, request)})


def _back(
    draft: Draft, request: Request, event: On, why: str, by: PersonId = "bot", rest: Rest | None = None
) -> Request:
    """Back to the old place; holds free; the offer's message says why."""
    leave(draft, request, why, rest.until if rest else None)
    return step(draft, request, event, to=RequestState.QUEUED, by=by, why=why, offer=None, rest=rest)


# ---- what time and looks do to the line ---------------------------------------------------------------------------


def settle(draft: Draft, sight: Sight, people: People, policy: Policy) -> None:
    """Rests that end, offers that run out or lose their slot, machines and people that are gone."""
    for request in line(draft):
        person = people.get(request.person)
        machine = draft.machines.get(request.machine)
        if person is not None and not person.active:
            draft.free(str(request.number))
            step(draft, request, On.PERSON_LEFT, offer=None, rest=None)
            once = f"{request.person}:{request.number}"
            draft.tell(News(NewsKind.PERSON_LEFT, ADMINS, once=once, who=request.person, request=request))
        elif machine is None or machine.gone or request.person not in machine.owners:
            _lost_machine(draft, request, machine, person, policy)
        elif request.state is RequestState.OFFERED:
            _settle_offer(draft, sight, request, person, policy)
        elif request.rest is not None:
            _settle_rest(draft, sight, request)


def _lost_machine(
    draft: Draft, request: Request, machine: Machine | None, person: Person | None, policy: Policy
) -> None:
    """Its machine is gone, or its person no longer owns it: asked for another one; three working days of silence end it."""
    if request.rest is not None and request.rest.why is RestWhy.MACHINE:
        if request.rest.until is not None and draft.now >= request.rest.until:
            _unwanted(draft, request, "no other machine was named")
        return
    zone = person.zone if person else policy.zone
    until = hours.add_working_days(draft.now, policy.still_wanted, zone, policy)
    why = "its machine is gone" if machine is None or machine.gone else "you do not own its machine any more"
    _back(draft, request, On.MACHINE_LOST, why, rest=Rest(RestWhy.MACHINE, draft.now, until))
    news = News(NewsKind.BACK_IN_LINE, request.person, request=request, machine=machine, until=until, reason=why)
    draft.tell(replace(news, once=f"machine:{request.number}:{request.machine}"))


def _settle_offer(draft: Draft, sight: Sight, request: Request, person: Person | None, policy: Policy) -> None:
    """An offer that nobody answered, or whose slot went aside."""
    label = str(request.number)
    if request.offer is not None and draft.now >= request.offer.accept_by:
        if window_known(
            draft, sight, request
        ):  # named since it was offered: that is an answer, though not to this message
            _back(draft, replace(request, silences=0), On.SILENCE, "a time to restart is agreed by now")
            return
        _silent(draft, sight, request, person, policy)
        return
    held = draft.held(label)
    if any(draft.cards[h.slot].aside is not None for h in held):
        found = _after_aside(draft, held, request)
        if found is None:
            _back(draft, request, On.SLOT_ASIDE, "the card was taken out of the pool")
        else:
            _swap(draft, label, found)
            request = step(draft, request, On.SLOT_ASIDE, to=RequestState.OFFERED)
            until = request.offer.accept_by if request.offer else None
            slots, zone = tuple(h.slot for h in found), person.zone if person else policy.zone
            tell_offer(draft, NewsKind.OFFER, request, slots=slots, until=until, zone=zone)


def _silent(draft: Draft, sight: Sight, request: Request, person: Person | None, policy: Policy) -> None:
    """Accept-by reached: as pass; the second time in a row the person is asked whether it is still wanted."""
    zone = person.zone if person else policy.zone
    slots = _let_go(draft, sight, request)
    silences = request.silences + 1
    if silences >= 2:
        until = hours.add_working_days(draft.now, policy.still_wanted, zone, policy)
        rest = Rest(RestWhy.STILL_WANTED, draft.now, until, slots)
    else:
        rest = Rest(RestWhy.SILENT, draft.now, hours.add_working(draft.now, policy.pass_rest, zone, policy), slots)
    request = _back(draft, replace(request, silences=silences), On.SILENCE, "not answered in time", rest=rest)
    if silences >= 2:
        draft.put(replace(request, question=draft.now))
        key = wanted_key(request.number)
        draft.tell(News(NewsKind.STILL_WANTED, request.person, key=key, request=request, until=rest.until))


def _settle_rest(draft: Draft, sight: Sight, request: Request) -> None:
    """A rest that is over: its time has come, or another device came up."""
    rest = request.rest
    assert rest is not None
    over = rest.until is not None and draft.now >= rest.until
    if over and rest.why is RestWhy.STILL_WANTED:
        _unwanted(draft, request, "I asked whether it is still wanted and heard nothing")
        return
    if rest.why in (RestWhy.PASSED, RestWhy.SILENT) and not over:
        found = {s.card.name for s in spots(draft, sight, request)}
        there = frozenset(s for s in rest.slots if not _taken(draft, s))
        over = len(found) >= request.count and bool(found - there)
        if there != rest.slots:
            request = replace(request, rest=replace(rest, slots=there))
            draft.put(request)
    if rest.why is RestWhy.NO_WINDOW and _named_since(draft, request, rest):
        over = True
    if rest.why is RestWhy.MACHINE:
        over = True  # its machine is there again, and its person an owner: settled above otherwise
    if over:
        draft.put(replace(request, rest=None))


def _taken(draft: Draft, slot: SlotId) -> bool:
    """Whether a device went to somebody since, or out of the pool: when it is free again, it comes up anew."""
    has, after = (draft.leases.get(draft.holder(slot, turn) or "") for turn in (Turn.HAS, Turn.NEXT))
    lent = has is not None and has.state is not LeaseState.RETURNING
    return lent or after is not None or draft.cards[slot].aside is not None


def _named_since(draft: Draft, request: Request, rest: Rest) -> bool:
    """Whether a window was named since the rest began; one that stood all the while was of no use."""
    labels = ("", str(request.number))
    return any(
        a.machine == request.machine and a.label in labels and a.made > rest.since and _open(a)
        for a in draft.agreements.values()
    )


def _unwanted(draft: Draft, request: Request, why: str) -> None:
    """Three working days of silence: out of the line, and told so."""
    over = step(draft, request, On.UNWANTED, why=why, rest=None)
    machine = draft.machines.get(request.machine)
    draft.tell(News(NewsKind.LEFT_LINE, request.person, request=over, machine=machine, reason=why))


def end_of(length: Length, start: datetime, zone: str, policy: Policy) -> datetime:
    """When a card taken at ``start`` is due: for a length from then, until a time, or the site's default."""
    if length.lasting is not None:
        return start + length.lasting
    if length.until is not None and length.until > start:
        return length.until
    return hours.next_working_day_end(start, zone, policy)


__all__ = [
    "Spot",
    "accept",
    "allot",
    "end_of",
    "expected_free",
    "lease_out",
    "pass_",
    "settle",
    "spots",
    "wake",
    "window_known",
]
