"""A lease that works: lost devices and differences. Its broken cards are in ``broken``, its end is in ``ending``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.domain import away, quarantine
from bot.domain.draft import Draft
from bot.domain.leases.common import Round, fresh, under_way
from bot.domain.leases.ending import ending
from bot.domain.leases.ends import end, moved, split
from bot.domain.lifecycle import On, step
from bot.domain.model import BOT, AsideWhy, Lease, Power, Reading
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.pool import set_aside
from bot.domain.quarantine import LOOKS_TO_BE_GONE, not_there
from bot.domain.sight import Sight


def active(draft: Draft, ctx: Round, lease: Lease) -> None:
    """One round of it."""
    checked = lease if _as_lent(ctx.sight, lease) else _lost(draft, ctx, lease)
    if checked is None:
        return
    word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
    if word is not None:
        checked = _heard(draft, ctx, checked, word)
    ending(draft, ctx, checked)


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


def _as_lent(sight: Sight, lease: Lease) -> bool:
    """Whether all its devices are seen where they were lent, and nothing was otherwise before: as of nearly all in nearly every look."""
    seen = sight.machine(lease.machine)
    if seen is None or lease.missing:
        return False
    for slot in lease.slots:
        card = sight.card(slot)
        if card.was or card.missing or card.host != seen.host or card.vcenter != seen.vcenter:
            return False
        if lease.machine not in (sight.settings(slot) or ()):
            return False
    return True


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
