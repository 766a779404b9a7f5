"""What is known of a lease since its move: seen by vCenter, seen in the guest, a check or work computed; and that its work is over.

Called by ``settle`` once a round. It follows what the guests say; nobody is asked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.domain import windows
from bot.domain.draft import Draft
from bot.domain.errors import Refusal
from bot.domain.idle.common import watches_of
from bot.domain.leases.acts import release
from bot.domain.leases.common import Round, ask_window
from bot.domain.model import Lease, LeaseState, Person, Reading
from bot.domain.news import News, NewsKind
from bot.domain.speakers import doubted
from bot.domain.times import Which, WindowWish

LENT = (LeaseState.ACTIVE, LeaseState.RETURNING)
"""States of a lease whose cards are in its machine."""

GOOD = 0
"""Exit of a check that computed on the card."""


def settle(draft: Draft, ctx: Round) -> None:
    """Take the guests' words into the leases."""
    for label in sorted(draft.leases):
        lease = draft.leases[label]
        if lease.state is LeaseState.ACTIVE and lease.active_since is not None:
            _seen(draft, ctx, lease)
            _done(draft, ctx, draft.leases[label])
        elif lease.state is LeaseState.RETURNING:
            _spend(draft, ctx, lease)


def _seen(draft: Draft, ctx: Round, lease: Lease) -> None:
    """Each is written once, when it is first true."""
    found: dict[str, Any] = {}
    word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
    if lease.seen_vcenter is None and all(ctx.sight.works_on(s, lease.machine) for s in lease.slots):
        found["seen_vcenter"] = draft.now
    watches = watches_of(draft, lease)
    if lease.seen_guest is None and word is not None and lease.guest_seen:
        found["seen_guest"] = word.at
    if not lease.guest_lines and word is not None and word.devices:
        mine = {w.uuid for w in watches}
        lines = tuple(d.line for d in word.devices if d.uuid in mine and d.line)
        if lines:
            found["guest_lines"] = lines
    if lease.computed is None:
        worked = [w.last_busy for w in watches if w.last_busy is not None]
        if worked:
            found["computed"] = min(worked)
    if lease.proven is None and checked(lease, word):
        found["proven"] = word.check_at if word is not None else None
    if found:
        draft.put(replace(lease, **found))


def checked(lease: Lease, word: Reading | None) -> bool:
    """Whether a check computed on the card after the lease began."""
    if word is None or word.check is None or word.check_at is None or lease.active_since is None:
        return False
    return word.check.exit == GOOD and word.check_at >= lease.active_since


def _spend(draft: Draft, ctx: Round, lease: Lease) -> None:
    """`gpu done` said of a card that goes back already is heard: it does not undo a "keep" of later."""
    word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
    said = word.done_at if word is not None else None
    if said is not None and said <= draft.now and (lease.done_heard is None or said > lease.done_heard):
        draft.put(replace(lease, done_heard=said))


def _done(draft: Draft, ctx: Round, lease: Lease) -> None:
    """`gpu done` was said in the guest: given back in the holder's name, to come out when the work ends."""
    word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
    said = word.done_at if word is not None else None
    if word is None or said is None or lease.active_since is None or said <= lease.active_since:
        return
    if doubted(word, draft.now) or word.cards < ctx.sight.cards_of(lease.machine):
        return  # it may be said in another machine: a clone with its token
    if said <= lease.changed:
        return  # whoever kept it, or made it longer, since then knew better
    if said > draft.now or (lease.done_heard is not None and said <= lease.done_heard):
        return  # one that lies ahead, by a clock that was set back since, was heard before that
    lease = replace(lease, done_heard=said)
    draft.put(lease)
    machine = draft.machines.get(lease.machine)
    if machine is None or lease.person not in machine.owners:
        return  # whoever is in that guest cannot speak for them
    if any(x.machine == lease.machine and x.person != lease.person for x in draft.leases.values() if x.state in LENT):
        return  # nor for one of several holders: nobody knows whose work is done
    lease = release(draft, lease, None, lease.person, reason="said in the guest: gpu done")
    person = ctx.people.get(lease.person) or Person(lease.person, lease.person, ctx.policy.zone)
    try:
        wish = WindowWish(Which.WHEN_DONE, echo="when done")
        windows.agree(draft, machine, person, wish, ctx.policy, label=lease.label)
    except Refusal as no:  # it is given back all the same; its owners are asked for a time
        draft.log("bot", "idle.done_without_time", f"#{lease.label}", type(no).__name__)
        ask_window(draft, lease, "its work is done, and no time to restart is agreed")
        lease = draft.leases[lease.label]
    news = News(NewsKind.DONE_INSIDE, lease.person, key=f"done:{lease.label}", lease=lease, machine=machine)
    draft.tell(replace(news, slots=lease.slots, reason=word.done_by))
