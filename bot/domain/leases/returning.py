"""A lease that is on its way back: handed on, clean, or still there after a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bot.domain import windows
from bot.domain.away import carried
from bot.domain.draft import Draft
from bot.domain.leases.common import Round, all_taken_off, fresh, others_wait, stood_still, under_way, watch_window
from bot.domain.leases.ends import HANDED_ON, end, split
from bot.domain.lifecycle import On, step
from bot.domain.model import Agreement, AgreementState, Lease, LeaseState, MachineId, Turn
from bot.domain.news import ADMINS, CHANNEL, News, NewsKind
from bot.domain.planner.back import waits_for
from bot.domain.quarantine import not_there
from bot.domain.questions import firm_key
from bot.domain.shelves import agreements_of
from bot.domain.spoken import limit_words


def returning(draft: Draft, ctx: Round, lease: Lease) -> None:
    """One round of it."""
    remaining = _hand_on(draft, lease)
    if remaining is None:
        return
    lease = remaining
    known = fresh(draft, ctx.sight, lease.machine) and ctx.sight.machine(lease.machine) is not None
    brought = any(carried(draft, ctx.sight, lease, s) for s in lease.slots)  # to another host, in its settings
    clean = all(ctx.sight.clean(s) for s in lease.slots) and not brought
    if known and (clean or all_taken_off(draft, lease)):
        ended = end(draft, lease, On.CLEAN, lease.reason, by=lease.ended_by)
        machine = draft.machines.get(lease.machine)
        news = News(NewsKind.ENDED, lease.person, lease=ended, machine=machine, slots=ended.slots, reason=ended.reason)
        draft.tell(news)
        return
    _firm(draft, ctx, watch_window(draft, ctx.sight, stood_still(draft, ctx, lease)))


def _hand_on(draft: Draft, lease: Lease) -> Lease | None:
    """Slots whose next lease is for the same machine are handed on without a power cycle. None: that was all of it."""
    if under_way(draft, lease.machine) or lease.fault:
        return lease
    here = tuple(
        s
        for s in lease.slots
        if (after := draft.leases.get(draft.holder(s, Turn.NEXT) or "")) is not None
        and after.machine == lease.machine
        and after.state is LeaseState.RESERVED
    )
    if not here:
        return lease
    part = (
        lease if set(here) == set(lease.slots) else split(draft, lease, here, On.RELEASE, lease.ended_by, lease.reason)
    )
    ended = end(draft, part, On.HANDED_ON, HANDED_ON, by=part.ended_by)
    machine = draft.machines.get(lease.machine)
    draft.tell(News(NewsKind.HANDED_ON, lease.person, lease=ended, machine=machine, slots=here))
    return None if part.label == lease.label else draft.leases[lease.label]


def _firm(draft: Draft, ctx: Round, lease: Lease) -> None:
    """24 h after the end, less what stood still, the device has not come off, or "not now" was said twice, while others wait: the next night is agreed."""
    passed = _passed(draft, lease)
    _firm_over(draft, ctx, lease)
    why = "somebody has waited for it since before it was lent" if passed else _why_firm(draft, ctx, lease)
    by = lease.passing.back_by if passed and lease.passing is not None else None
    waited = passed or (why and others_wait(draft, lease))
    if not (ctx.acting and waited) or under_way(draft, lease.machine) or _has_firm(draft, lease.machine, by):
        return
    if all(not_there(draft, s) for s in lease.slots):
        return  # nobody gains a card by it
    if not any(ctx.sight.there(s, lease.machine) or carried(draft, ctx.sight, lease, s) for s in lease.slots):
        return  # no restart of its machine would help, or it cannot be seen
    machine = draft.machines[lease.machine]
    agreement: Agreement = windows.firm_night(
        draft, machine, ctx.zone(lease.person), ctx.policy, label=lease.label, by=by
    )
    start = agreement.window.start if agreement.window else None
    for to in (*machine.owners, ADMINS, CHANNEL):
        news = News(
            NewsKind.FIRM_WINDOW, to, lease=lease, machine=machine, agreement=agreement, until=start, reason=why
        )
        draft.tell(replace(news, key=firm_key(agreement), once=f"{lease.label}:{agreement.number}"))


def _firm_over(draft: Draft, ctx: Round, lease: Lease) -> None:
    """A night that was certain only for those who were passed is taken back when none of them waits any more; all who were told of it read so."""
    if lease.passing is None or waits_for(draft, lease) is not None or under_way(draft, lease.machine):
        return
    if _why_firm(draft, ctx, lease):
        return  # certain for that
    for agreement in agreements_of(draft, lease.machine):
        if agreement.firm and agreement.label == lease.label and agreement.state is AgreementState.OPEN:
            step(draft, agreement, On.QUEUED_AGAIN, why="nobody waits any more who was passed")


def _why_firm(draft: Draft, ctx: Round, lease: Lease) -> str:
    """The one cause that makes the next night certain while others wait, in words; "" there is none yet."""
    if lease.not_nows >= 2:
        return 'others wait, and "not now" was said twice'
    if draft.now - lease.counts_from >= ctx.policy.stuck_return:
        return f"others wait, and it should have come out {limit_words(ctx.policy.stuck_return)} ago"
    return ""


def _passed(draft: Draft, lease: Lease) -> bool:
    """Whether it was given past somebody who waits still, and its time is over: they have it in time."""
    if lease.passing is None or waits_for(draft, lease) is None:
        return False
    return draft.now >= min(lease.end or lease.passing.ends_by, lease.passing.ends_by)


def _has_firm(draft: Draft, machine: MachineId, by: datetime | None) -> bool:
    """Whether a time is agreed by the terms already, which is over in time."""
    mine = (a for a in agreements_of(draft, machine) if a.firm and a.state is AgreementState.OPEN)
    return any(by is None or a.window is None or a.window.end <= by for a in mine)
