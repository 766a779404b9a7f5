"""How a lease is over, and what that means for its request, its holds, and whoever is next.

Called by ``acts``, ``settle`` and the moves. Every end goes through here, so that no hold outlives its lease.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bot.domain import away, windows
from bot.domain.draft import Draft
from bot.domain.leases.common import Round
from bot.domain.lifecycle import On, State, step
from bot.domain.model import (
    BOT,
    AsideWhy,
    Lease,
    LeaseState,
    PersonId,
    Request,
    RequestState,
    Rest,
    RestWhy,
    SlotId,
    Turn,
)
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.pool import set_aside
from bot.domain.quarantine import LOOKS_TO_BE_GONE
from bot.domain.questions import restart_over

HANDED_ON = "handed on without a restart"
"""The reason of a lease whose devices stayed on its machine, for the next lease there."""

TIME_OVER = "the time is over"
"""The reason of a lease that returns because its end is reached and somebody waits."""


def end(draft: Draft, lease: Lease, event: On, why: str, *, by: PersonId = BOT, rest: Rest | None = None) -> Lease:
    """End a lease: holds go to who is next, and its request is served, withdrawn or queued again.

    :param rest: if the request is queued again: why it is not offered for now
    """
    for slot in lease.slots if lease.fault else ():
        set_aside(draft, draft.card(slot), AsideWhy.QUARANTINED, lease.fault)
    hand_over(draft, lease.label)
    lease = step(draft, lease, event, to=_last(event), by=by, why=why, reason=why, ended_by=by)
    if lease.question is not None:
        lease = restart_over(draft, lease)
    _request_after(draft, lease, event, why, by, rest)
    windows.drop_lost(draft, lease.label)
    return lease


def _last(event: On) -> State:
    return LeaseState.FAILED if event is On.ALL_LOST else LeaseState.ENDED


def hand_over(draft: Draft, label: str) -> None:
    """Take a label's holds away; whoever is next for a slot has it now."""
    for hold in draft.held(label):
        after = draft.holder(hold.slot, Turn.NEXT)
        draft.free(label, (hold.slot,))
        if hold.turn is Turn.HAS and after is not None and after != label:
            draft.free(after, (hold.slot,))
            draft.hold(hold.slot, Turn.HAS, after)


def _request_after(draft: Draft, lease: Lease, event: On, why: str, by: PersonId, rest: Rest | None) -> None:
    """What a lease's end means for its request. Parts (#12b) and adopted leases have none of their own."""
    request = draft.requests.get(lease.request)
    if request is None or request.state is not RequestState.LEASED or lease.label != str(request.number):
        return
    if lease.active_since is not None:
        step(draft, request, On.LEASE_OVER, by=by, why=why)
    elif _given_up(draft, lease, event, by):  # also: released on its way, and off by now
        step(draft, request, On.LEASE_GIVEN_UP, by=by, why=why)
    else:
        queue_again(draft, request, why, rest, by=by)


def _given_up(draft: Draft, lease: Lease, event: On, by: PersonId) -> bool:
    """Whether its holder, or an owner of its machine, ended it, or the time until which they wanted it is over: an admin's word gives
    nobody's request up."""
    machine = draft.machines.get(lease.machine)
    over = by == BOT and event is On.RELEASE
    return over or by == lease.person or (machine is not None and by in machine.owners)


def queue_again(
    draft: Draft,
    request: Request,
    why: str,
    rest: Rest | None = None,
    event: On = On.LEASE_FAILED_EARLY,
    by: PersonId = BOT,
) -> Request:
    """Back in line at the old place, told why and by whom."""
    request = step(draft, request, event, by=by, why=why, rest=rest, offer=None, in_line=draft.now)
    machine = draft.machines.get(request.machine)
    draft.tell(News(NewsKind.BACK_IN_LINE, request.person, request=request, machine=machine, who=by, reason=why))
    return request


def split(draft: Draft, lease: Lease, slots: tuple[SlotId, ...], event: On, by: PersonId, why: str) -> Lease:
    """Make a part of a lease a lease of its own (#12b), with its holds; the rest goes on as it is."""
    label = part_label(draft, lease)
    for hold in draft.held(lease.label):
        if hold.slot in slots:
            draft.free(lease.label, (hold.slot,))
            draft.hold(hold.slot, hold.turn, label)
    part = replace(
        lease,
        label=label,
        slots=slots,
        reason=why,
        ended_by=by,
        not_nows=0,
        missing=0,
        windowed=False,
        question=None,
        nudge=None,  # the question stays with the lease, which knows what it holds
        inquiries=(),
        morning=None,
    )
    part = step(draft, part, event, by=by, why=why, new=True)
    rest = tuple(s for s in lease.slots if s not in slots)
    draft.put(replace(draft.leases[lease.label], slots=rest))
    return part


def part_label(draft: Draft, lease: Lease) -> str:
    """The next letter of a lease's number; counted, because old parts leave the books and their letters are not given again."""
    count = draft.number(f"part {lease.request}")
    letters = ""
    while count:  # b … y, then bb, bc …
        count, rest = divmod(count - 1, 24)
        letters = "bcdefghijklmnopqrstuvwxy"[rest] + letters
    return f"{lease.request}{letters}"


def broken(draft: Draft, lease: Lease, why: str) -> Lease:
    """A lease that was never active got a broken card: what came goes back as a part, its request waits at the old place."""
    label = part_label(draft, lease)
    for hold in draft.held(lease.label):
        draft.free(lease.label, (hold.slot,))
        draft.hold(hold.slot, hold.turn, label)
    part = replace(lease, label=label, reason=why, windowed=False, question=None)
    step(draft, lease, On.BROKEN, why=why, reason=why)
    part = step(draft, part, On.BROKEN, why=why, new=True)
    request = draft.requests.get(lease.request)
    if request is not None and request.state is RequestState.LEASED:
        queue_again(draft, request, why, event=On.LEASE_BROKEN_EARLY)
    return part


def moved(draft: Draft, ctx: Round, lease: Lease, elsewhere: tuple[SlotId, ...]) -> Lease:
    """Its machine is on another host: nobody took anything off, and moved back it goes on. Said when it lasts, once a host."""
    if ctx.again:
        return lease
    missing = min(lease.missing + 1, LOOKS_TO_BE_GONE)
    if missing != lease.missing:
        lease = replace(lease, missing=missing)
        draft.put(lease)
    if missing < LOOKS_TO_BE_GONE:
        return lease
    why = away.words(draft, ctx.sight, lease, elsewhere)
    seen, machine = ctx.sight.machine(lease.machine), draft.machines.get(lease.machine)
    once = f"{lease.label}:{seen.host if seen is not None else ''}"
    for to in dict.fromkeys((lease.person, *(machine.owners if machine is not None else ()), ADMINS)):
        draft.tell(News(NewsKind.MOVED_AWAY, to, once=once, lease=lease, machine=machine, slots=elsewhere, reason=why))
    return lease


def no_window(now: datetime) -> Rest:
    """The rest of a request whose lease ended for want of a window."""
    return Rest(RestWhy.NO_WINDOW, now, None)
