"""What the guests' words do to lent devices, once a round. Called by ``decide`` when the leases are settled.

Each minute counts once: the number of the last one that was folded in is written with the clocks, in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bot.domain.draft import Draft
from bot.domain.idle import asking, blind, facts, identity, taking
from bot.domain.idle.acts import new_watch
from bot.domain.idle.clocks import fold, missed, unseen
from bot.domain.idle.common import BACK, watch_of, watched
from bot.domain.idle.identity import Names
from bot.domain.inside import Minute, Watch
from bot.domain.leases.common import Round
from bot.domain.model import LeaseState, Reading, SlotId

MINUTE = "minute"
"""A number of the books: the last minute that was folded in."""


def settle(
    draft: Draft, ctx: Round, minutes: Sequence[Minute] = (), last_look: datetime | None = None, asks: bool = True
) -> None:
    """Make clocks, take the minutes in, and act on what they say.

    :param minutes: those behind the last one that was folded in, in the order of arrival
    :param last_look: when the look before this one began; long ago: the bot itself was away
    :param asks: False: nobody is asked anything in this round
    """
    _begin(draft)
    back = _came_back(draft, ctx, last_look)
    names = identity.settle(draft, ctx)
    _fold(draft, ctx, names, minutes, back)
    just_back = back is not None and draft.now < back + ctx.policy.reading_stale
    if not just_back:
        _silence(draft, ctx)
    facts.settle(draft, ctx)
    taking.back(draft, ctx)
    asking.settle(draft, ctx, asks and not just_back)
    if minutes:
        asking.evidence(draft, ctx.policy)
    if asks and not just_back:
        blind.settle(draft, ctx)


def _begin(draft: Draft) -> None:
    """Clocks for what has become active; those of the lease before are replaced."""
    for lease in draft.leases.values():
        if lease.state is LeaseState.ACTIVE and lease.active_since is not None:
            for slot in lease.slots:
                if watch_of(draft, lease, slot) is None:
                    draft.put(new_watch(lease, slot))


def _came_back(draft: Draft, ctx: Round, last_look: datetime | None) -> datetime | None:
    """When the bot came back from its last outage; None: it was never away. Its own silence is nobody's idleness."""
    known = draft.numbers.get(BACK)
    if known is not None and known > draft.now.timestamp():  # the clock was set back
        known = int(draft.now.timestamp())
        draft.note(BACK, known)
    away = last_look is not None and draft.now - last_look > ctx.policy.reading_stale
    if away and last_look is not None and (known is None or known <= last_look.timestamp()):
        known = int(draft.now.timestamp())
        draft.note(BACK, known)
    return datetime.fromtimestamp(known, UTC) if known is not None else None


def _fold(draft: Draft, ctx: Round, names: Names, minutes: Sequence[Minute], back: datetime | None) -> None:
    """Each minute into the clocks of its device; those of devices that are not lent are passed over."""
    if not minutes:
        return
    after = draft.numbers.get(MINUTE, 0)
    changed: dict[SlotId, Watch] = {}
    for minute in minutes:
        slot = names.get((minute.machine, minute.uuid))
        if slot is None or 0 < minute.id <= after:
            continue
        watch = changed.get(slot) or draft.watches.get(slot)
        if watch is not None and watch.machine == minute.machine:
            changed[slot] = fold(watch, minute, ctx.policy, back)
    for watch in changed.values():
        draft.put(watch)
    last = max(minute.id for minute in minutes)
    if last > after:
        draft.note(MINUTE, last)


def _silence(draft: Draft, ctx: Round) -> None:
    """What is not seen: a guest that says nothing, or speaks and does not list the device."""
    for lease, slot in list(watched(draft)):
        watch = watch_of(draft, lease, slot)
        if watch is None:
            continue
        word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
        why = _unlisted(watch, word)
        after = unseen(watch, watch.upto or watch.since, why) if why else missed(watch, draft.now, ctx.policy)
        if after is not watch:
            draft.put(after)


def _unlisted(watch: Watch, word: Reading | None) -> str:
    """Why a guest that speaks says nothing of a device, in words; "" it does, or is silent."""
    if word is None or any(d.uuid == watch.uuid for d in word.devices):
        return ""
    if word.devices:
        return "the guest does not list it"
    return "the guest sees no card" if word.cards == 0 else "the guest does not say what its cards do"
