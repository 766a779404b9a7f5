"""What a person says to an offer: accept, or pass. Called by commands."""

from __future__ import annotations

from typing import Any

from bot.domain import hours, windows
from bot.domain.draft import Draft
from bot.domain.errors import NotPossible, NotYours, TooLate
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    Lease,
    Person,
    Request,
    RequestState,
    Rest,
    RestWhy,
)
from bot.domain.news import NewsKind
from bot.domain.planner.holds import after_aside, back, let_go, reserve, swap, whole
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


def pass_(draft: Draft, sight: Sight, request: Request, person: Person, policy: Policy) -> Request:
    """Not this one: the request keeps its place and rests."""
    if request.state is not RequestState.OFFERED or request.offer is None:
        raise TooLate(state=str(request.state), number=str(request.number), why="nothing is offered for it now")
    until = hours.add_working(draft.now, policy.pass_rest, person.zone, policy)
    slots = let_go(draft, sight, request)
    tell_offer(draft, NewsKind.OFFER_OVER, request, reason="passed", until=until)
    rest = Rest(RestWhy.PASSED, draft.now, until, slots)
    return step(draft, whole(request), On.PASSED, by=person.id, offer=None, rest=rest, silences=0)
