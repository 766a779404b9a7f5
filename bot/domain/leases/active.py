"""A lease that works: lost devices, differences, reminders and the end. Its broken cards are in ``broken``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.domain import away, quarantine
from bot.domain.draft import Draft
from bot.domain.leases.acts import waiter
from bot.domain.leases.common import Round, fresh, under_way
from bot.domain.leases.ends import TIME_OVER, end, moved, split
from bot.domain.lifecycle import On, step
from bot.domain.model import BOT, AsideWhy, Lease, LeaseState, Power, Reading, RequestState
from bot.domain.near import meet
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.pool import set_aside
from bot.domain.quarantine import LOOKS_TO_BE_GONE, not_there
from bot.domain.questions import window_key
from bot.domain.queue import shortage, waiters


def active(draft: Draft, ctx: Round, lease: Lease) -> None:
    """One round of it."""
    checked = _lost(draft, ctx, lease)
    if checked is None:
        return
    word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
    if word is not None:
        checked = _heard(draft, ctx, checked, word)
    _ending(draft, ctx, checked)


def _lost(draft: Draft, ctx: Round, lease: Lease) -> Lease | None:
    """Devices that are no longer on their machine in two complete looks. None: the lease is over."""
    if not fresh(draft, ctx.sight, lease.machine) or under_way(draft, lease.machine):
        return lease
    if elsewhere := away.away(ctx.sight, lease):
        return moved(draft, ctx, lease, elsewhere)
    if any(away.at_old_address(draft, ctx.sight, lease.machine, s) for s in lease.slots):
        return _renumbered(draft, ctx, lease)
    there = {s: ctx.sight.there(s, lease.machine) for s in lease.slots}
    gone = tuple(s for s, is_there in there.items() if is_there is False or not_there(draft, s))
    gone = tuple(s for s in gone if there[s]) or gone  # what is lost and still in its settings, before what came off
    if not gone:
        if lease.missing and None not in there.values():
            lease = replace(lease, missing=0)
            draft.put(lease)
        return lease
    if ctx.again:
        return lease  # this look was counted already
    lease = replace(lease, missing=lease.missing + 1)
    draft.put(lease)
    if lease.missing < LOOKS_TO_BE_GONE and not all(not_there(draft, s) for s in gone):
        return lease
    why = "taken off its machine by somebody else"
    for slot in gone:
        set_aside(draft, draft.card(slot), AsideWhy.QUARANTINED, why, heals=True)
    if all(not_there(draft, s) for s in gone):
        why = quarantine.gone_words(draft.card(gone[0]), ctx.sight)
    named = all(away.names_lost(draft, ctx.sight, lease.machine, s) for s in gone)
    if set(gone) == set(lease.slots) and named:  # it comes off: its machine does not start so
        lost = step(draft, lease, On.NOT_SHOWN, why=why, reason=why, ended_by=BOT, not_nows=0)
    elif set(gone) == set(lease.slots):
        lost = end(draft, lease, On.ALL_LOST, why)
    else:
        lost = split(draft, lease, gone, On.NOT_SHOWN if named else On.SOME_LOST, BOT, why)
        if not named:
            draft.free(lost.label)
        step(draft, draft.leases[lease.label], On.SOME_LOST, why=why, missing=0, changed=lease.changed)
    machine = draft.machines.get(lease.machine)
    for to in (lease.person, ADMINS):
        draft.tell(News(NewsKind.FAILED, to, lease=lost, machine=machine, slots=gone, reason=why))
    return None if lost.label == lease.label else draft.leases[lease.label]


def _renumbered(draft: Draft, ctx: Round, lease: Lease) -> Lease | None:
    """Its cards have other addresses, and its machine's settings name the old ones: they are put on anew; nothing is lost, and its time goes
    on. None: it is reserved again."""
    if ctx.again:
        return lease
    fields: dict[str, Any] = {"guest_seen": False, "bound_since": None, "guest_without_since": None, "missing": 0}
    fields |= {"seen_vcenter": None, "free_since": None, "windowed": False}
    lease = step(draft, lease, On.RENUMBERED, why="its cards have other addresses", **fields)
    machine = draft.machines.get(lease.machine)
    at = "; ".join(f"{s} at {draft.card(s).pci}" for s in lease.slots)
    for to in dict.fromkeys((lease.person, *(machine.owners if machine is not None else ()))):
        once = f"{lease.label}:{at}:{draft.now.date()}"
        news = News(NewsKind.RENUMBERED, to, once=once, lease=lease, machine=machine, slots=lease.slots)
        draft.tell(replace(news, reason="off" if ctx.sight.power(lease.machine) is Power.OFF else ""))
    return None


def _heard(draft: Draft, ctx: Round, lease: Lease, word: Reading) -> Lease:
    """What the guest says: it sees the cards, or misses one."""
    machine = ctx.sight.machine(lease.machine)
    expected = machine.devices if machine is not None else len(lease.slots)
    if word.cards >= expected:
        if not lease.guest_seen or lease.guest_without_since is not None:
            lease = replace(lease, guest_seen=True, guest_without_since=None)
            draft.put(lease)
    elif _counts(word) and lease.guest_without_since is None and ctx.sight.power(lease.machine) is Power.ON:
        lease = replace(lease, guest_without_since=draft.now)
        draft.put(lease)
    if lease.guest_without_since is not None and draft.now - lease.guest_without_since >= ctx.policy.seen_in_guest:
        why = f"vCenter has {expected} in its machine, the guest sees {word.cards}"
        once = f"{lease.label}:{lease.guest_without_since.isoformat()}"
        if draft.tell(News(NewsKind.DIFFERENCE, lease.person, once=once, lease=lease, slots=lease.slots, reason=why)):
            lease = step(draft, lease, On.DIFFERS, why=why, changed=lease.changed)
    return lease


def _counts(word: Reading) -> bool:
    """Whether its count of cards says that some are missing: it looks from inside, and has a driver that could show them."""
    return word.inside and not word.no_driver


# ---- the end ------------------------------------------------------------------------------------------------------


def _ending(draft: Draft, ctx: Round, lease: Lease) -> None:
    """Reminders, the end with nobody waiting, and the end with somebody waiting."""
    due = lease.end
    if due is None or lease.active_since is None:
        return
    if draft.now < due:
        # A mark that was over when the time began, or was made longer, needs no reminder.
        near = [before for before in ctx.policy.reminders if lease.changed < due - before <= draft.now]
        if near:
            once = f"{lease.label}:{due.isoformat()}:{min(near)}"
            waits = waiter(draft, lease)
            who = waits.person if waits is not None and waits.person != lease.person else ""
            draft.tell(News(NewsKind.REMIND, lease.person, once=once, lease=lease, until=due, who=who))
        return
    if not _needed(draft, ctx, lease):
        if not lease.over_time:
            lease = step(draft, lease, On.OVER_TIME, over_time=True, changed=lease.changed)
            once = f"{lease.label}:{due.isoformat()}"
            draft.tell(News(NewsKind.OVER_TIME, lease.person, once=once, lease=lease))
        return
    if _works(draft, ctx, lease) and draft.now < due + ctx.policy.running_work:
        _tell_waiters(draft, ctx, lease)
        return
    fields: dict[str, Any] = {"reason": TIME_OVER, "not_nows": 0, "question": draft.now}
    lease = step(draft, lease, On.END, why="its time is over and somebody waits", **fields)
    machine, key = draft.machines.get(lease.machine), window_key(lease.label)
    draft.tell(News(NewsKind.RETURNING, lease.person, key=key, lease=lease, machine=machine, reason=lease.reason))


def _needed(draft: Draft, ctx: Round, lease: Lease) -> bool:
    """Whether somebody waits for this one: of all whose time is over, those that do nothing go first, then the longest over."""
    short = shortage(draft, lease.kind, lease.machine)
    due = [
        x
        for x in draft.leases.values()
        if x.state is LeaseState.ACTIVE
        and x.kind == lease.kind
        and meet(draft, x.machine, lease.machine)
        and x.end is not None
        and x.end <= draft.now
    ]
    for other in sorted(due, key=lambda x: (_works(draft, ctx, x), x.end, x.label)):
        if short <= 0:
            return False
        if other.label == lease.label:
            return True
        short -= len(other.slots)
    return False


def _works(draft: Draft, ctx: Round, lease: Lease) -> bool:
    """Whether work is known to run in its machine."""
    word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
    return word is not None and word.inside and (bool(word.jobs) or word.computes)


def _tell_waiters(draft: Draft, ctx: Round, lease: Lease) -> None:
    """Work that runs is waited for; who waits for the card hears of it once, and until when at most."""
    if lease.end is None:
        return
    until = lease.end + ctx.policy.running_work
    for request in waiters(draft, lease.kind, lease.machine):
        if request.state is RequestState.QUEUED:
            once = f"{request.number}:{lease.label}:{lease.end.isoformat()}"
            news = News(NewsKind.WORK_RUNS, request.person, once=once, request=request, slots=lease.slots, until=until)
            draft.tell(replace(news, who=lease.person))
