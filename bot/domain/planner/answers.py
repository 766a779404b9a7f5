"""What a person says to an offer: accept, or pass. Called by commands."""

from __future__ import annotations

from typing import Any

from bot.domain import hours, windows
from bot.domain.draft import Draft
from bot.domain.errors import NotPossible, NotYours, TooLate
from bot.domain.frees import Frees
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    Lease,
    Person,
    Request,
    RequestState,
    Rest,
    RestWhy,
    Turn,
)
from bot.domain.news import NewsKind
from bot.domain.planner.back import first_passed, stay
from bot.domain.planner.holds import after_aside, back, let_go, reserve, swap, whole
from bot.domain.planner.spots import Spot, expected_free
from bot.domain.policy import Policy
from bot.domain.queue import tell_offer, wake
from bot.domain.sight import Sight
from bot.domain.times import Which, WindowWish


def accept(
    draft: Draft, sight: Sight, request: Request, person: Person, wish: WindowWish | None, policy: Policy
) -> Lease | Request:
    """Take an offered device with a window. Also said by somebody who passed: it ends the rest, the next round decides; and by somebody
    to whom nothing is offered yet: then the window is agreed for when it is their turn.

    :returns: the lease, or the queued request if its slots went aside and none is equal
    """
    machine = draft.machines.get(request.machine)
    if machine is None or person.id not in machine.owners:
        raise NotYours(what=f"#{request.number}", owners=(request.person,))
    stranded = request.rest is not None and request.rest.why is RestWhy.MACHINE
    rests = request.rest is not None and request.rest.why is not RestWhy.HINDERED
    if request.state is RequestState.QUEUED and not stranded and (rests or wish is not None):
        if wish is not None:
            windows.agree(draft, machine, person, wish, policy, label=str(request.number))
        ask_first = wish is None or wish.which is Which.ASK
        fields: dict[str, Any] = {"rest": wake(request).rest, "silences": 0, "ask_first": ask_first}
        why = "wants it after all" if rests else "named a time"
        return step(draft, request, On.CHANGED, by=person.id, why=why, **fields)
    if request.state is not RequestState.OFFERED or request.offer is None or draft.now >= request.offer.accept_by:
        raise TooLate(state=str(request.state), number=str(request.number), why="nothing is offered for it now")
    if wish is None or wish.which is Which.ASK:
        raise NotPossible(what="accept", why=f"say when {machine.name} may restart: accept now, accept tonight, …")
    label = str(request.number)
    held = draft.held(label)
    found = after_aside(draft, sight, held, request)
    if found is None:
        return back(draft, request, On.ACCEPTED_ASIDE, "its card was taken out of the pool just now", person.id)
    if (late := _late(draft, sight, request, person, wish, policy)) is not None:
        soonest = WindowWish(Which.NOW)
        if wish.which is not Which.NOW and _late(draft, sight, request, person, soonest, policy) is None:
            why = f"{wish.echo} is too late: it goes past #{late.number}, who has to have it in time"
            raise NotPossible(what="accept", why=why, works=f"accept #{label} now")
        why = f"it would not be back in time any more for #{late.number}, who is before you"
        return back(draft, request, On.ACCEPTED_ASIDE, why, person.id)
    swap(draft, label, found)
    windows.agree(draft, machine, person, wish, policy, label=label)
    event, why = On.ACCEPTED, ""
    if set(found) != set(held):
        event, why = (
            On.ACCEPTED_ASIDE,
            ", ".join(sorted(h.slot for h in found)) + " instead, the other is out of the pool",
        )
    tell_offer(draft, NewsKind.OFFER_OVER, request, reason="accepted")
    taken: dict[str, Any] = {"offer": None, "silences": 0, "passing": None}
    accepted = step(draft, request, event, to=RequestState.LEASED, by=person.id, why=why, **taken)
    return reserve(draft, accepted, tuple(h.slot for h in found), request.passing, request.offer.spare)


def _late(
    draft: Draft, sight: Sight, request: Request, person: Person, wish: WindowWish, policy: Policy
) -> Request | None:
    """Who would be delayed if what was offered past them were put on when its person says; None: nobody."""
    offer = request.offer
    waits = first_passed(draft, request, offer.made) if request.passing is not None and offer is not None else None
    if waits is None or request.passing is None:
        return None
    trial, label = draft.scratch(), str(request.number)
    windows.agree(trial, trial.machines[request.machine], person, wish, policy, label=label)
    zones = {person.id: person.zone}
    frees = Frees(trial, trial.now, policy, lambda who: zones.get(who, policy.zone), sight)
    coming = [trial.leases.get(trial.holder(h.slot, Turn.HAS) or "") for h in trial.held(label) if h.turn is Turn.NEXT]
    times = [at for x in coming if x is not None and (at := expected_free(trial, x, trial.now, policy)) is not None]
    spots = [Spot(h.slot, h.turn, free_at=max(times, default=None)) for h in trial.held(label)]
    return waits if stay(frees, request, spots, known=True).back > request.passing.back_by else None


def pass_(draft: Draft, sight: Sight, request: Request, person: Person, policy: Policy) -> Request:
    """Not this one: the request keeps its place and rests."""
    if request.state is not RequestState.OFFERED or request.offer is None:
        raise TooLate(state=str(request.state), number=str(request.number), why="nothing is offered for it now")
    until = hours.add_working(draft.now, policy.pass_rest, person.zone, policy)
    slots = let_go(draft, sight, request)
    tell_offer(draft, NewsKind.OFFER_OVER, request, reason="passed", until=until)
    rest = Rest(RestWhy.PASSED, draft.now, until, slots)
    return step(draft, whole(request), On.PASSED, by=person.id, offer=None, rest=rest, silences=0)
