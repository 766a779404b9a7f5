"""A lease whose power cycle has begun: are its devices bound, and does the guest see them; or did they not come?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.domain.away import away, carried
from bot.domain.draft import Draft
from bot.domain.leases.acts import move_of
from bot.domain.leases.broken import broken_on
from bot.domain.leases.common import Round, ask_window, fresh, stood_still
from bot.domain.leases.ending import longer
from bot.domain.leases.ends import TIME_OVER, broken
from bot.domain.lengths import end_of
from bot.domain.lifecycle import OPEN_MOVE, On, step
from bot.domain.model import BOT, AsideWhy, Lease, LeaseState, Move, MoveState, Power, Reading
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.planner.back import waits_for
from bot.domain.pool import set_aside
from bot.domain.questions import window_key

PROVABLE = frozenset({MoveState.PROVING, MoveState.DONE, MoveState.DROPPED})
"""States of the move in which its devices may be proven."""


def moving(draft: Draft, ctx: Round, lease: Lease) -> None:
    """One round of it."""
    sight = ctx.sight
    if not fresh(draft, sight, lease.machine):
        return
    move = move_of(draft, lease)
    over = move is None or move.state not in OPEN_MOVE
    if elsewhere := away(sight, lease):
        comes_off = sight.power(lease.machine) is Power.OFF and any(carried(draft, sight, lease, s) for s in elsewhere)
        if over and not comes_off:
            _came_not(draft, lease, move)
        return
    there = [sight.there(s, lease.machine) for s in lease.slots]
    if None in there:
        return
    if not all(there):
        if over:
            _came_not(draft, lease, move)
        return
    if move is not None and move.state not in PROVABLE:
        return
    if sight.power(lease.machine) is Power.OFF:
        if over:
            _left_off(draft, ctx, lease)
        return
    _prove(draft, ctx, lease)


def _came_not(draft: Draft, lease: Lease, move: Move | None) -> None:
    """The power cycle is over and the devices are not on: back to reserved; a card aside is changed there for an equal one."""
    blamed = any(draft.card(s).aside is not None for s in lease.slots)
    event = On.CARD_TO_BLAME if blamed else On.WENT_BACK
    was_put = move is None or any(s.what == "put" and lease.label in s.detail.split() for s in move.steps)
    free_since = None if was_put else lease.free_since  # never put on: it has been free all the while
    fields: dict[str, Any] = {
        "free_since": free_since,
        "bound_since": None,
        "guest_without_since": None,
        "seen_vcenter": None,
    }
    step(draft, lease, event, to=LeaseState.RESERVED, **fields)


def _left_off(draft: Draft, ctx: Round, lease: Lease) -> None:
    """The devices sit in a machine that is off by its owner's wish: a button for it; after 12 h the clock starts."""
    machine, lease = draft.machines[lease.machine], stood_still(draft, ctx, lease)
    if lease.passing is not None and draft.now >= lease.passing.ends_by and waits_for(draft, lease) is not None:
        fields: dict[str, Any] = {"reason": TIME_OVER, "ended_by": BOT, "not_nows": 0}
        lease = step(draft, lease, On.RELEASE_LATE, why=TIME_OVER, **fields)
        news = News(NewsKind.RETURNING, lease.person, lease=lease, machine=machine, reason=TIME_OVER)
        draft.tell(replace(news, key=window_key(lease.label)))
        return
    if draft.now - lease.counts_from >= ctx.policy.power_on_wait and not draft.paused:
        _activate(draft, ctx, lease, On.LEFT_OFF)
        return
    for to in machine.owners:
        once = f"{lease.label}:{lease.changed.isoformat()}"
        until = lease.counts_from + ctx.policy.power_on_wait
        draft.tell(News(NewsKind.WAITS_POWER_ON, to, once=once, lease=lease, machine=machine, until=until))


def _prove(draft: Draft, ctx: Round, lease: Lease) -> None:
    """On, with the devices in its settings: bound, and seen in the guest?"""
    bound = all(ctx.sight.works_on(s, lease.machine) for s in lease.slots)
    word = _word(draft, ctx, lease)
    machine = ctx.sight.machine(lease.machine)
    expected = machine.devices if machine else len(lease.slots)
    if bound and lease.seen_vcenter is None:
        lease = replace(lease, seen_vcenter=draft.now)
        draft.put(lease)
    causes = broken_on(draft, ctx, lease.machine, word).causes_of(lease.slots) if word is not None else ()
    if bound and causes:
        _broken(draft, lease, "the guest reports: " + ", ".join(causes))
    elif bound and word is not None and word.cards >= expected:
        _activate(draft, ctx, replace(lease, guest_seen=True), On.PROVEN)
    elif bound and (word is None or not word.inside):  # an exporter shows what it was given to see
        if lease.bound_since is None:
            draft.put(replace(lease, bound_since=draft.now))
        elif ctx.away and not ctx.again:  # its guest may have spoken to nobody
            draft.put(replace(lease, bound_since=min(draft.now, lease.bound_since + ctx.away)))
        elif draft.now - lease.bound_since >= ctx.policy.seen_in_guest:
            _activate(draft, ctx, lease, On.UNSEEN)
    elif lease.guest_without_since is None:
        _ask_repair(draft, ctx, replace(lease, guest_without_since=draft.now))
    elif draft.now - lease.guest_without_since >= ctx.policy.repair:
        _broken(draft, lease, "the guest did not see the card for an hour")


def _ask_repair(draft: Draft, ctx: Round, lease: Lease) -> None:
    """The guest does not see it: its owners have a while to look inside, the card stays in."""
    draft.put(lease)
    machine = draft.machines[lease.machine]
    once, until = f"{lease.label}:{lease.changed.isoformat()}", draft.now + ctx.policy.repair
    for to in (*machine.owners, ADMINS):
        draft.tell(News(NewsKind.GUEST_WITHOUT, to, once=once, lease=lease, machine=machine, until=until))


def _word(draft: Draft, ctx: Round, lease: Lease) -> Reading | None:
    """The guest's word about the boot that came with the devices."""
    move = move_of(draft, lease)
    since = move.off_at if move is not None else None
    return ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale, since)


def _broken(draft: Draft, lease: Lease, why: str) -> None:
    """A card that the guest cannot use: aside; what came goes back as a part, the request waits at its old place."""
    for slot in lease.slots:
        set_aside(draft, draft.card(slot), AsideWhy.QUARANTINED, why)
    part = broken(draft, lease, why)
    for to in (lease.person, ADMINS):
        draft.tell(News(NewsKind.CARD_BROKEN, to, lease=part, slots=part.slots, reason=why))
    ask_window(draft, part, why)


TOLD = {On.PROVEN: NewsKind.ACTIVE, On.UNSEEN: NewsKind.ACTIVE_UNSEEN, On.LEFT_OFF: NewsKind.ACTIVE_OFF}
"""What its holder hears, by why the clock starts."""


def _activate(draft: Draft, ctx: Round, lease: Lease, event: On) -> None:
    """The clock starts: `for` counts from now, `until` stays; if that has passed, the default length counts and it is said."""
    due = end_of(lease.terms.length, draft.now, ctx.zone(lease.person), ctx.policy)
    until = lease.terms.length.until
    worked = (
        lease.active_since is not None and lease.end is not None
    )  # put on anew at another address: its clock went on
    due = lease.end if worked and lease.end is not None else due
    passed = until is not None and until <= draft.now and not worked
    why = "the time you named has passed, so the usual length counts" if passed else ""
    before = waits_for(draft, lease)
    if before is not None and lease.passing is not None and due > lease.passing.ends_by:
        due = max(draft.now, lease.passing.ends_by)
        why = f"it ends sooner than you asked: it was given past #{before.number}, whose turn comes then"
    lease = step(
        draft,
        lease,
        event,
        why=why,
        active_since=lease.active_since or draft.now,
        end=due,
        guest_seen=lease.guest_seen,
        guest_without_since=None,
        windowed=False,  # the way home is agreed anew
    )
    kind = TOLD[event]
    machine = draft.machines.get(lease.machine)
    news = News(kind, lease.person, lease=lease, machine=machine, slots=lease.slots, until=due, reason=why)
    draft.tell(replace(news, counts=longer(draft, ctx, lease)))
