"""A lease that is reserved: better slots, devices put on by hand, and the wait for a window."""

from __future__ import annotations

from dataclasses import replace

from bot.domain import away, hours, windows
from bot.domain.draft import Draft
from bot.domain.leases.common import Round, ask_window, fresh, under_way, watch_window
from bot.domain.leases.ends import TIME_OVER, end, moved, no_window, split
from bot.domain.lifecycle import On, step
from bot.domain.model import BOT, AgreementState, Card, Lease, Mode, Rest, RestWhy, SlotId, Turn
from bot.domain.news import News, NewsKind
from bot.domain.planner.back import waits_for
from bot.domain.policy import Policy
from bot.domain.quarantine import LOOKS_TO_BE_GONE
from bot.domain.queue import contended, waiters
from bot.domain.shelves import agreements_of
from bot.domain.sight import Sight
from bot.domain.slots import equal, open_of, size_of


def reserved(draft: Draft, ctx: Round, lease: Lease) -> None:
    """One round of it."""
    sight = ctx.sight
    if lease.active_since is not None and lease.end is not None and draft.now >= lease.end:
        if not under_way(draft, lease.machine):  # its host was restarted; its machine may name the old address
            step(draft, lease, On.END, why="its time is over", reason=TIME_OVER, not_nows=0)
        return
    if _moved_away(draft, ctx, lease):
        return
    lease = draft.leases[lease.label]
    swapped = _better_slots(draft, sight, lease)
    if swapped is None:
        cut = any(_cut_otherwise(sight, s, lease) for s in lease.slots)
        why = "somebody else runs another size on its card" if cut else "its card was taken out of the pool"
        if not cut and any(sight.given_otherwise(s) is not None for s in lease.slots):
            why = "its host gives its card another way now"
        end(draft, lease, On.NO_EQUAL, f"{why} and no equal one is free")
        return
    lease = swapped
    if _too_late(draft, lease, ctx.policy):
        before = lease.passing.over if lease.passing is not None else 0
        _give_up(draft, sight, lease, f"too little time was left before the turn of #{before}, who waits longer")
        return
    has = {h.slot for h in draft.held(lease.label) if h.turn is Turn.HAS} >= set(lease.slots)
    if has and not under_way(draft, lease.machine) and all(sight.there(s, lease.machine) for s in lease.slots):
        step(draft, lease, On.SEEN_THERE, why="its devices are on its machine already")
        return
    _wait_for_window(draft, ctx, watch_window(draft, sight, lease), has)


def _give_up(draft: Draft, sight: Sight, lease: Lease, why: str) -> None:
    """It was not put on in time. What sits on its machine already, handed on from the lease before, comes off as a part."""
    here = tuple(s for s in lease.slots if sight.there(s, lease.machine))
    if here and set(here) == set(lease.slots):
        step(draft, lease, On.SEEN_THERE, why="its devices are on its machine already")
        return
    if here:
        part = split(draft, lease, here, On.RELEASE, BOT, why)
        ask_window(draft, part, why)
    end(draft, draft.leases[lease.label], On.NOT_USED, why)


def _too_late(draft: Draft, lease: Lease, policy: Policy) -> bool:
    """Whether what was given past others would be over before it is put on."""
    if lease.passing is None or lease.active_since is not None or under_way(draft, lease.machine):
        return False
    takes = windows.usual(draft.machines[lease.machine], policy)
    return draft.now + takes >= lease.passing.ends_by and waits_for(draft, lease) is not None


def _moved_away(draft: Draft, ctx: Round, lease: Lease) -> bool:
    """Whether its machine is on another host than its devices; in two complete looks, and it is over: its request waits at its old place, for
    what the machine's own host has. One that worked and is only put on anew stays lent, as one that is in."""
    elsewhere = away.away(ctx.sight, lease)
    if not elsewhere:
        if lease.missing and ctx.sight.machine(lease.machine) is not None:
            draft.put(replace(lease, missing=0))
        return False
    if ctx.again or not fresh(draft, ctx.sight, lease.machine) or under_way(draft, lease.machine):
        return True
    if lease.active_since is not None:
        moved(draft, ctx, lease, elsewhere)
        return True
    lease = replace(lease, missing=lease.missing + 1)
    draft.put(lease)
    if lease.missing >= LOOKS_TO_BE_GONE:
        end(draft, lease, On.MOVED_AWAY, away.words(draft, ctx.sight, lease, elsewhere))
    return True


def _better_slots(draft: Draft, sight: Sight, lease: Lease) -> Lease | None:
    """Change holds for equal cards that are free now, if that is sooner or the own one is aside. None: no equal one left."""
    for hold in draft.held(lease.label):
        card = draft.card(hold.slot)
        changed = sight.given_otherwise(hold.slot) is not None  # a start with it as it was lent could only fail
        bad = card.aside is not None or card.doubted or changed or _cut_otherwise(sight, hold.slot, lease)
        if sight.settings(hold.slot) is None or sight.there(hold.slot, lease.machine) or lease.active_since:
            continue  # unknown is no difference; put there by hand is as good; what worked is put on anew, no other
        if not bad and hold.turn is Turn.HAS and sight.free_for(hold.slot, lease.kind):
            continue
        other = _equal_free(draft, sight, card, lease, sooner=not bad)
        if other is None:
            if bad and not _taken_over(sight, card):
                return None
            continue
        draft.free(lease.label, (hold.slot,))
        draft.hold(other, Turn.HAS, lease.label)
        slots = tuple(other if s == hold.slot else s for s in lease.slots)
        why = f"{other} instead of {hold.slot}"
        lease = step(draft, lease, On.SLOT_CHANGED, why=why, slots=slots, free_since=None)
        if lease.question is not None:  # it stands in their eyes, with the other card's name
            ask_window(draft, lease, f"it is {why} now")
            lease = draft.leases[lease.label]
    return lease


def _taken_over(sight: Sight, card: Card) -> bool:
    """Whether nothing is the matter with a card but that its host gives it another way by now, whole as before: the next look takes that over."""
    fine = card.aside is None and not card.doubted and card.mode is not Mode.VGPU
    return fine and sight.given_otherwise(card.name) is not None and sight.given_otherwise(card.name) is not Mode.VGPU


def _cut_otherwise(sight: Sight, slot: SlotId, lease: Lease) -> bool:
    """Whether somebody else's vGPU keeps the card from being cut into this lease's size."""
    return sight.foreign_size(slot) not in ("", lease.kind)


def _equal_free(draft: Draft, sight: Sight, like: Card, lease: Lease, *, sooner: bool) -> SlotId | None:
    """A slot for the kind on an equal card that is free and clean.

    :param sooner: it has a good one to wait for, so no card is cut into its size for which others wait in another
    """
    kind = lease.kind
    others = sooner and any(r.kind != kind for r in waiters(draft, kind, lease.machine))
    return next(
        (
            slot
            for slot in open_of(draft, kind, (like.vcenter, like.host))
            if (card := draft.card(slot)).aside is None
            and equal(card, like)
            and not card.doubted
            and draft.holder(slot, Turn.HAS) is None
            and sight.foreign_size(slot) in ("", kind)
            and sight.usable(slot)
            and not (others and card.mode is Mode.VGPU and size_of(draft, card) is None)
            and sight.clean(slot)
        ),
        None,
    )


def _wait_for_window(draft: Draft, ctx: Round, lease: Lease, has: bool) -> None:
    """A free device that is not put on: told at 4 h and 20 h, given up at 24 h if somebody waits."""
    policy = ctx.policy
    free = has and all(ctx.sight.free_for(s, lease.kind) for s in lease.slots)
    if not free or lease.free_since is None:
        if free or lease.free_since is not None:
            if not free and not fresh(draft, ctx.sight, lease.machine):
                return
            lease = replace(lease, free_since=draft.now if free else None)
            draft.put(lease)
            if free:
                _now_is_late(draft, ctx, lease)
        return
    since = lease.free_since
    if not ctx.acting:
        return  # it is the bot that does nothing just now: that time is nobody's
    if ctx.still and not ctx.again:
        since = min(draft.now, since + ctx.still)
        lease = replace(lease, free_since=since)
        draft.put(lease)
    if lease.active_since is not None:
        return  # at another address since it worked: its time goes on
    waited = draft.now - since
    waits = waited >= min(policy.reserved_warn) and contended(draft, lease.kind, lease.machine)
    if waited >= policy.reserved_free and waits:
        machine = draft.machines.get(lease.machine)
        shut = machine is not None and bool(ctx.sight.shut(machine))  # no window would have helped
        rest = Rest(RestWhy.HINDERED, draft.now, None) if shut else no_window(draft.now)
        end(draft, lease, On.NOT_USED, "the card lay free for 24 hours and others wait", rest=rest)
        return
    reached = [warn for warn in policy.reserved_warn if waited >= warn]
    if reached and waits:  # of two that are reached at once, when somebody joins the line late, the last
        once = f"{lease.label}:{since.isoformat()}:{max(reached)}"
        until = since + policy.reserved_free
        draft.tell(News(NewsKind.FREE_UNUSED, lease.person, once=once, lease=lease, until=until))


def _now_is_late(draft: Draft, ctx: Round, lease: Lease) -> None:
    """A "now" that had to wait for its device: from here it counts, but outside working hours the owner is asked again."""
    for agreement in agreements_of(draft, lease.machine):
        if not agreement.now or agreement.label != lease.label:
            continue
        if agreement.state is not AgreementState.OPEN:
            continue  # over in this very round
        person = ctx.people.get(agreement.person)
        waited = draft.now - agreement.made > ctx.policy.now_within
        if waited and person is not None and not hours.is_working(draft.now, person.zone, ctx.policy):
            windows.withdraw(draft, agreement, "bot")
            ask_window(draft, lease, "the card is here now, and it is outside your working hours")
        else:
            windows.begin_again(draft, agreement, ctx.policy)
