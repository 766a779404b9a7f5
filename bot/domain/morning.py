"""The morning check: what somebody has had for long while others really wait is asked about once a working day, at its beginning.

Called by ``decide`` once a round, when turns are given. One question within the holder's attention, with what is seen of the machine; not about
what was asked about that day already, nor what the holder has answered for, nor work that runs. It takes nothing from anybody.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from bot.domain import attention, hours, idle
from bot.domain.asked import Morning
from bot.domain.draft import Draft
from bot.domain.idle.common import Waiting, watch_of
from bot.domain.leases import owns
from bot.domain.leases.common import Round
from bot.domain.model import BOT, Lease, LeaseState, Person, PersonId, Request
from bot.domain.news import News, NewsKind

BEGINNING = timedelta(hours=1)
"""For so long the beginning of a working day lasts: who is asked later is asked at work."""


def settle(draft: Draft, ctx: Round, asks: bool = True) -> None:
    """Take back what has lost its ground, and ask what is due.

    :param asks: False: nothing is asked in this round, the clock of the host jumped
    """
    waiting = Waiting(draft)
    for lease in list(draft.leases.values()):
        if lease.morning is not None and not lease.morning.over and (why := _why_over(draft, ctx, lease, waiting)):
            attention.morning_over(draft, lease, why)
    if not asks:
        return
    longest_first = sorted(draft.leases.values(), key=lambda x: (x.active_since or draft.now, x.label))
    for lease in longest_first:
        to = _due(draft, ctx, lease)
        waits = waiting.first(lease) if to else None
        if waits is not None:
            _ask(draft, ctx, lease, to, waits)


def _why_over(draft: Draft, ctx: Round, lease: Lease, waiting: Waiting) -> str:
    """Why a question of the morning is over, as ``attention.morning_over`` has it; "" it stands."""
    assert lease.morning is not None, "asked in the morning"
    if lease.state is not LeaseState.ACTIVE:
        given = lease.ended_by != BOT and owns(draft, lease, lease.ended_by)
        return "given" if given else "taken"
    if waiting.first(lease) is None:
        return "nobody"
    if lease.end is not None and lease.morning.end is not None and lease.end > lease.morning.end:
        return "longer"
    return "busy" if _works(draft, ctx, lease) else ""


def _due(draft: Draft, ctx: Round, lease: Lease) -> tuple[PersonId, ...]:
    """Who is to be asked about a lease now; () nobody is."""
    since = lease.active_since
    held = since is not None and draft.now - since >= ctx.policy.morning_after
    if lease.state is not LeaseState.ACTIVE or not held or lease.quiet or _answered(draft, lease):
        return ()
    to = attention.audience(draft, ctx.people, lease)
    if not to or not all(_begins(draft.now, ctx.people.get(x), ctx.zone(x), ctx) for x in to):
        return ()
    today = hours.local(draft.now, ctx.zone(to[0])).date()
    if any(hours.local(at, ctx.zone(to[0])).date() == today for at in _asked_at(lease)) or _works(draft, ctx, lease):
        return ()
    free = all(attention.free_at(draft, ctx.people, x, ctx.policy) <= draft.now for x in to)
    warned = lease.nudge is not None and lease.nudge.warning and not lease.nudge.over
    return to if free and not warned else ()


def _begins(now: datetime, person: Person | None, zone: str, ctx: Round) -> bool:
    """Whether somebody's working day has just begun."""
    return attention.awake(now, person, zone, ctx.policy) and not hours.is_working(now - BEGINNING, zone, ctx.policy)


def _answered(draft: Draft, lease: Lease) -> bool:
    """Whether its holder has said already that all of it is in use, or kept."""
    watches = [watch_of(draft, lease, s) for s in lease.slots]
    return all(w is not None and idle.answer(w, draft.now) for w in watches)


def _asked_at(lease: Lease) -> list[datetime]:
    """When its holder was asked about it, by whatever rule or person."""
    found = [x.told for x in lease.inquiries if x.told is not None]
    if lease.nudge is not None and lease.nudge.key:
        found.append(lease.nudge.asked)
    return [*found, lease.morning.asked] if lease.morning is not None else found


def _works(draft: Draft, ctx: Round, lease: Lease) -> bool:
    """Whether the guest reports that something runs."""
    word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
    return word is not None and (word.computes or (word.inside and bool(word.jobs)))


def _ask(draft: Draft, ctx: Round, lease: Lease, to: tuple[PersonId, ...], waits: Request) -> None:
    """One question; what the same person was asked before is edited away."""
    lease, key = draft.leases[lease.label], f"morning:{lease.label}:{draft.number('mornings')}"
    idle.nudges_away(draft, lease.person)
    attention.put_away(draft, lease.person, key)
    lease = draft.leases[lease.label]
    before = lease.morning.counted if lease.morning is not None else ()
    counted = tuple(at for at in before if draft.now - at < idle.COUNTED_FOR)
    morning = Morning(key, draft.now, to, waits.person, lease.end, (*counted, draft.now))
    draft.put(replace(lease, morning=morning))
    draft.log(BOT, "lease.asked_in_the_morning", f"#{lease.label}", f"{waits.person} waits")
    word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
    news = News(
        NewsKind.MORNING, "", key=key, lease=draft.leases[lease.label], machine=draft.machines.get(lease.machine)
    )
    for person in to:
        told = replace(news, to=person, slots=lease.slots, until=lease.end, who=waits.person, request=waits)
        draft.tell(replace(told, inside=word, zone=ctx.zone(person)))
