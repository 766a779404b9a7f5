"""What time and looks do to those who wait: offers run out, rests end, machines are lost. ``decide`` calls it once a round."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter

from bot.domain import hours, windows
from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_LEASE, On, step
from bot.domain.model import (
    Hold,
    LeaseState,
    Machine,
    Person,
    PersonId,
    Request,
    RequestState,
    Rest,
    RestWhy,
    SlotId,
    Turn,
)
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.planner import hindered
from bot.domain.planner.holds import after_aside, back, let_go, swap
from bot.domain.planner.spots import People, expected_free, is_open, spots, window_known
from bot.domain.policy import Policy
from bot.domain.questions import wanted_key
from bot.domain.queue import line, tell_offer
from bot.domain.shelves import WAITING, agreements_of, leases_to
from bot.domain.sight import Sight


def settle(draft: Draft, sight: Sight, people: People, policy: Policy, away: timedelta = timedelta(0)) -> None:
    """Rests that end, offers that run out or lose their slot, machines and people that are gone.

    :param away: for so long, until this round, nobody could be answered
    """
    _left(draft, people)
    pool, waiting = hindered.Pool(draft, sight), line(draft)
    stamp, first = draft.stamp, waiting if away else pool.unsure(waiting)
    for request in first:
        _one(draft, sight, people, policy, pool, request, away)
        if draft.stamp != stamp and not away:  # what is there for those behind is not what it was
            for other in waiting[bisect_right(waiting, request.place_key, key=attrgetter("place_key")) :]:
                _one(draft, sight, people, policy, pool, other, away)
            return


def _one(
    draft: Draft,
    sight: Sight,
    people: People,
    policy: Policy,
    pool: hindered.Pool,
    request: Request,
    away: timedelta,
) -> None:
    """One in line."""
    machine = draft.machines.get(request.machine)
    if machine is not None and not away and pool.only_waits(request, machine):
        return  # as nearly all, in nearly every round
    person = people.get(request.person)
    if away:
        request = _later(draft, sight, request, person, policy, away)
    if machine is None or machine.gone or request.person not in machine.owners:
        _lost_machine(draft, request, machine, person, policy)
    elif request.state is RequestState.OFFERED:
        _settle_offer(draft, sight, request, person, policy)
    else:
        if request.rest is not None:
            _settle_rest(draft, sight, request)
        hindered.settle(draft, sight, pool, draft.requests[request.number], machine, policy)


def _later(
    draft: Draft, sight: Sight, request: Request, person: Person | None, policy: Policy, away: timedelta
) -> Request:
    """Who could not answer, because nobody was there to hear it, has as long as if the question had been asked later by that, and never
    longer than if it were asked now. A rest that only passes is none of that."""
    offer, rest, zone = request.offer, request.rest, person.zone if person else policy.zone
    if offer is not None:
        latest = hours.add_working(draft.now, policy.accept_by, zone, policy)
        by = max(offer.accept_by, min(offer.accept_by + away, latest))
        request = replace(request, offer=replace(offer, accept_by=by))
    if rest is not None and rest.until is not None and rest.why in (RestWhy.STILL_WANTED, RestWhy.MACHINE):
        latest = hours.add_working_days(draft.now, policy.still_wanted, zone, policy)
        request = replace(request, rest=replace(rest, until=max(rest.until, min(rest.until + away, latest))))
    if request != draft.requests[request.number]:
        draft.put(request)
        if offer is not None:
            _tell_anew(draft, sight, request, person, policy)
    return request


def _left(draft: Draft, people: People) -> None:
    """Who left the workspace is out of the line, and the admins hear once of all that is still theirs, for nobody else ends it."""
    gone = [id for id, known in people.items() if not known.active]
    if not gone:
        return
    asked: dict[PersonId, list[Request]] = {id: [] for id in gone}
    for request in draft.requests.values():
        if request.person in asked:
            asked[request.person].append(request)
    nobodys = [m for m in draft.machines.values() if not any(_here(people, o) for o in m.owners)]
    for who in gone:
        _has_left(draft, who, asked[who], [m for m in nobodys if who in m.owners])


def _has_left(draft: Draft, who: PersonId, asked: list[Request], alone: list[Machine]) -> None:
    """One of them. ``asked``: all their requests; ``alone``: the machines that nobody else here owns."""
    for request in sorted((r for r in asked if r.state in WAITING), key=lambda r: r.place_key):
        draft.free(str(request.number))  # its message is not edited: nobody reads it
        step(draft, request, On.PERSON_LEFT, offer=None, rest=None)
    over = (r for a in asked if (r := draft.requests[a.number]).state is RequestState.WITHDRAWN)
    out = [request for request in over if request.changed == draft.now]  # in this round, also by the rules of leases
    lent = [lease for lease in leases_to(draft, who) if lease.state in OPEN_LEASE]
    if out or lent or alone:
        machine = min(alone, key=lambda m: m.name, default=None)
        news = News(NewsKind.PERSON_LEFT, ADMINS, once=who, who=who, request=out[0] if out else None, machine=machine)
        draft.tell(news)


def _here(people: People, person: PersonId) -> bool:
    known = people.get(person)
    return known is None or known.active


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
    request = back(draft, request, On.MACHINE_LOST, why, rest=Rest(RestWhy.MACHINE, draft.now, until))
    draft.tell(News(NewsKind.BACK_IN_LINE, request.person, request=request, machine=machine, until=until, reason=why))


def _settle_offer(draft: Draft, sight: Sight, request: Request, person: Person | None, policy: Policy) -> None:
    """An offer that nobody answered, or whose slot went aside."""
    label = str(request.number)
    if request.offer is not None and draft.now >= request.offer.accept_by:
        if window_known(
            draft, sight, request
        ):  # named since it was offered: that is an answer, though not to this message
            back(draft, replace(request, silences=0), On.SILENCE, "a time to restart is agreed by now")
            return
        _silent(draft, sight, request, person, policy)
        return
    held = draft.held(label)
    if any(draft.card(h.slot).aside is not None for h in held):
        found = after_aside(draft, sight, held, request)
        if found is None:
            back(draft, request, On.SLOT_ASIDE, "the card was taken out of the pool")
        else:
            swap(draft, label, found)
            request = step(draft, request, On.SLOT_ASIDE, to=RequestState.OFFERED)
            until = request.offer.accept_by if request.offer else None
            slots, zone = tuple(h.slot for h in found), person.zone if person else policy.zone
            tell_offer(draft, NewsKind.OFFER, request, slots=slots, until=until, zone=zone)
        return
    _keep_true(draft, sight, request, person, policy)


SHIFTED = timedelta(minutes=5)
"""An expected time that moves by less is not told again."""


def _keep_true(draft: Draft, sight: Sight, request: Request, person: Person | None, policy: Policy) -> None:
    """When the devices of an open offer are there by now, or at another time than it says, its message is edited."""
    offer, held = request.offer, draft.held(str(request.number))
    if offer is None:
        return
    free_at, unknown = _free_at(draft, held, request, policy)
    same = unknown == offer.unknown and (free_at is None) == (offer.free_at is None)
    if same and (free_at is None or offer.free_at is None or not _shifted(offer.free_at, free_at, draft.now)):
        return
    request = replace(request, offer=replace(offer, free_at=free_at, unknown=unknown))
    draft.put(request)
    _tell_anew(draft, sight, request, person, policy)


def _tell_anew(draft: Draft, sight: Sight, request: Request, person: Person | None, policy: Policy) -> None:
    """The message of an open offer is edited: it says what holds by now."""
    held, until = draft.held(str(request.number)), request.offer.accept_by if request.offer is not None else None
    word = sight.word(request.machine, draft.now, policy.reading_stale)
    _, what = windows.works(word, draft.now, policy)
    slots, zone = tuple(h.slot for h in held), person.zone if person else policy.zone
    tell_offer(draft, NewsKind.OFFER, request, slots=slots, until=until, reason=what, zone=zone)


def _shifted(told: datetime, free_at: datetime, now: datetime) -> bool:
    """Whether an expected time is another one than was told: an hour that has come and passes is not."""
    return free_at > now and abs(free_at - told) >= SHIFTED


def _free_at(draft: Draft, held: tuple[Hold, ...], request: Request, policy: Policy) -> tuple[datetime | None, bool]:
    """When all that is offered is there (None: it is), and whether nobody knows."""
    coming = [h.slot for h in held if h.turn is Turn.NEXT and not _on_own(draft, h.slot, request)]
    leases = [draft.leases.get(draft.holder(slot, Turn.HAS) or "") for slot in coming]
    times = [expected_free(draft, lease, draft.now, policy) if lease is not None else None for lease in leases]
    known = [at for at in times if at is not None]
    unknown = len(known) < len(times)
    return (max(known) if known and not unknown else None), unknown


def _on_own(draft: Draft, slot: SlotId, request: Request) -> bool:
    """Whether a slot sits on the request's own machine: it is handed on there."""
    lease = draft.leases.get(draft.holder(slot, Turn.HAS) or "")
    return lease is not None and lease.machine == request.machine


def _silent(draft: Draft, sight: Sight, request: Request, person: Person | None, policy: Policy) -> None:
    """Accept-by reached: as pass; the second time in a row the person is asked whether it is still wanted."""
    zone = person.zone if person else policy.zone
    slots = let_go(draft, sight, request)
    silences = request.silences + 1
    if silences >= 2:
        until = hours.add_working_days(draft.now, policy.still_wanted, zone, policy)
        rest = Rest(RestWhy.STILL_WANTED, draft.now, until, slots)
    else:
        rest = Rest(RestWhy.SILENT, draft.now, hours.add_working(draft.now, policy.pass_rest, zone, policy), slots)
    request = back(draft, replace(request, silences=silences), On.SILENCE, "not answered in time", rest=rest)
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
        found = {s.slot for s in spots(draft, sight, request)}
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
    return lent or after is not None or draft.card(slot).aside is not None


def _named_since(draft: Draft, request: Request, rest: Rest) -> bool:
    """Whether a window was named since the rest began; one that stood all the while was of no use."""
    labels = ("", str(request.number))
    return any(a.label in labels and a.made > rest.since and is_open(a) for a in agreements_of(draft, request.machine))


def _unwanted(draft: Draft, request: Request, why: str) -> None:
    """Three working days of silence: out of the line, and told so."""
    over = step(draft, request, On.UNWANTED, why=why, rest=None)
    machine = draft.machines.get(request.machine)
    draft.tell(News(NewsKind.LEFT_LINE, request.person, request=over, machine=machine, reason=why))
