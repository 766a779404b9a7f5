"""The end of a lease that works: reminders, the end with nobody waiting, and the end with somebody waiting.

Called by ``active`` once a round. What was given past others ends in time for them; what is spare ends as soon as somebody else really waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain import order
from bot.domain.caps import Caps
from bot.domain.draft import Draft
from bot.domain.errors import Refusal
from bot.domain.leases.acts import extended, waiter
from bot.domain.leases.common import Round
from bot.domain.leases.ends import TIME_OVER, split
from bot.domain.lifecycle import On, step
from bot.domain.model import BOT, Lease, LeaseState, Length, Person, RequestState
from bot.domain.near import host_of
from bot.domain.news import News, NewsKind
from bot.domain.planner.back import waits_for
from bot.domain.promises.bound import Bound
from bot.domain.questions import window_key
from bot.domain.queue import shortage, waiters

SPARE_OVER = "it was spare, and somebody else waits"
"""The reason of a lease that returns before its end, because it was lent only while nobody else wanted it."""

SHARE_OVER = "it was more than your share, and somebody else waits"
"""Likewise, of what was given over somebody's share while nobody waited."""


def ending(draft: Draft, ctx: Round, lease: Lease) -> None:
    """One round of it."""
    due = lease.end
    if due is None or lease.active_since is None:
        return
    if draft.now < due:
        if lease.terms.spare:
            _spare(draft, ctx, lease)
        else:
            _remind(draft, ctx, lease, due)
        return
    if not _needed(draft, ctx, lease):
        if not lease.over_time:
            lease = step(draft, lease, On.OVER_TIME, over_time=True, changed=lease.changed)
            once = f"{lease.label}:{due.isoformat()}"
            draft.tell(News(NewsKind.OVER_TIME, lease.person, once=once, lease=lease))
        return
    _goes_back(draft, ctx, lease, min(due, lease.wanted_since or due), TIME_OVER, len(lease.slots))


def _remind(draft: Draft, ctx: Round, lease: Lease, due: datetime) -> None:
    # A mark that was over when the time began, or was made longer, needs no reminder.
    if due - draft.now > max(ctx.policy.reminders, default=timedelta(0)):
        return
    near = [before for before in ctx.policy.reminders if lease.changed < due - before <= draft.now]
    if near:
        once = f"{lease.label}:{due.isoformat()}:{min(near)}"
        news = News(NewsKind.REMIND, lease.person, once=once, lease=lease, until=due)
        if f"{news.kind}:{news.to}:{once}" not in draft.books.said:
            waits = waiter(draft, lease)
            who = waits.person if waits is not None and waits.person != lease.person else ""
            draft.tell(replace(news, who=who, counts=longer(draft, ctx, lease)))


def longer(draft: Draft, ctx: Round, lease: Lease) -> tuple[tuple[str, int], ...]:
    """Which of the usual lengths ``extend`` would hear now (1) or refuse (0): nobody is offered what is refused; nor what is heard, but by which
    somebody likely waits longer than they were told (DELAYS)."""
    person, found = ctx.people.get(lease.person) or Person(lease.person, lease.person, ctx.policy.zone), []
    bound: Bound | None = None
    for word, length in USUAL:
        try:
            later = extended(draft, lease, Length(lasting=length), person, ctx.policy, ctx.zone)
        except Refusal:
            found.append((word, 0))
        else:
            bound = bound or Bound(draft, lease, ctx.policy, ctx.zone)
            found.append((word, 1 if bound.delayed(later) is None else DELAYS))
    return tuple(found)


DELAYS = 2
"""Of a length: it is heard, and makes somebody wait longer than they were told."""


USUAL = (("4h", timedelta(hours=4)), ("1d", timedelta(days=1)))
"""The lengths that messages offer."""


def _goes_back(draft: Draft, ctx: Round, lease: Lease, since: datetime, reason: str, count: int) -> None:
    """It returns, or so many of its devices do, as soon as its machine does not work any more; that is waited for only so long.

    :param since: from when its time is over
    """
    until = since + ctx.policy.running_work
    if lease.passing is not None and waits_for(draft, lease) is not None:
        until = min(until, lease.passing.ends_by)
    if works(draft, ctx, lease) and draft.now < until:
        _tell_waiters(draft, lease, since, until)
        return
    why = f"{reason.removesuffix(', and somebody else waits')} and somebody waits"
    if count < len(lease.slots):
        lease = split(draft, lease, lease.slots[-count:], On.END, BOT, reason)
        lease = replace(lease, question=draft.now, wanted_since=None)
        draft.put(lease)
    else:
        fields: dict[str, Any] = {"reason": reason, "not_nows": 0, "question": draft.now, "wanted_since": None}
        lease = step(draft, lease, On.END, why=why, **fields)
    machine, key = draft.machines.get(lease.machine), window_key(lease.label)
    waits = waiter(draft, lease)
    who = waits.person if waits is not None and waits.person != lease.person else ""
    news = News(NewsKind.RETURNING, lease.person, key=key, lease=lease, machine=machine, reason=lease.reason)
    draft.tell(replace(news, who=who))


# ---- who goes first -----------------------------------------------------------------------------------------------


def _needed(draft: Draft, ctx: Round, lease: Lease) -> bool:
    """Whether somebody waits for one whose time is over: they were passed by it, or it is its turn to go back."""
    waits = waits_for(draft, lease)
    if waits is not None and lease.passing is not None:
        now = order.waits(waits, draft.now) and waits.state is RequestState.QUEUED
        if now or draft.now >= lease.passing.ends_by:
            return True
    short = shortage(draft, lease.kind, lease.machine)
    for other, count in _in_turn(draft, ctx, lease):
        if short <= 0:
            return False
        if other.label == lease.label:
            return True
        short -= count
    return False


def _in_turn(draft: Draft, ctx: Round, lease: Lease) -> Iterator[tuple[Lease, int]]:
    """All that go back before those whose time is not over, with how many devices each: those that do nothing go first, of these what is spare,
    the last one lent first, then whoever is over their time for longest."""
    over = [x for x in _working(draft, lease) if x.end is not None and (x.end <= draft.now or x.terms.spare)]

    def turn(x: Lease) -> tuple[bool, bool, float, str]:
        # What was spare, and was to go back before its time was over, goes back first then, too.
        ended = x.end is not None and x.end <= draft.now and x.wanted_since is None
        at = x.end if ended and x.end is not None else x.since
        return works(draft, ctx, x), ended, at.timestamp() * (1 if ended else -1), x.label

    caps: Caps | None = None
    for x in sorted(over, key=turn):
        if x.end is not None and x.end <= draft.now:
            yield x, len(x.slots)
        else:
            caps = caps or Caps(draft, ctx.policy, lease.kind, lease.machine)
            yield x, _spare_count(draft, caps, x)


def _working(draft: Draft, lease: Lease) -> list[Lease]:
    """The leases that work and are of the same as one: its kind, on its host."""

    def by_host() -> dict[str, list[Lease]]:
        found: dict[str, list[Lease]] = {}
        for x in draft.leases.values():
            if x.state is LeaseState.ACTIVE and x.kind == lease.kind:
                found.setdefault(host_of(draft, x.machine), []).append(x)
        return found

    found, host = draft.remembered((_working, lease.kind), by_host), host_of(draft, lease.machine)
    if not host:
        return [x for mine in found.values() for x in mine]
    return [*found.get(host, ()), *found.get("", ())]


def _spare_count(draft: Draft, caps: Caps, lease: Lease) -> int:
    """How many devices of a spare lease are: all, or those over its holder's share."""
    request = draft.requests.get(lease.request)
    if request is None or request.terms.spare:
        return len(lease.slots)
    return min(len(lease.slots), caps.share(lease).beyond)


# ---- spare --------------------------------------------------------------------------------------------------------


def _spare(draft: Draft, ctx: Round, lease: Lease) -> None:
    """One that is lent only while nobody else wants it: it goes back as if its time were over, as soon as somebody else really waits."""
    caps = Caps(draft, ctx.policy, lease.kind, lease.machine)
    mine = _spare_count(draft, caps, lease)
    if mine == 0:  # within the share by now: others were given back
        draft.put(replace(lease, terms=replace(lease.terms, spare=False), wanted_since=None))
        draft.log(BOT, "lease.spare_over", f"#{lease.label}", "it is within the share of its holder by now")
        return
    short = caps.lacking(lease)
    for other, count in _in_turn(draft, ctx, lease):
        if other.label == lease.label:
            break
        short -= count
    if short <= 0:
        if lease.wanted_since is not None:
            draft.put(replace(lease, wanted_since=None))
        if lease.end is not None:
            _remind(draft, ctx, lease, lease.end)
        return
    if lease.wanted_since is None:
        lease = replace(lease, wanted_since=draft.now)
        draft.put(lease)
    request = draft.requests.get(lease.request)
    reason = SPARE_OVER if request is None or request.terms.spare else SHARE_OVER
    _goes_back(draft, ctx, lease, lease.wanted_since or draft.now, reason, min(mine, short))


def works(draft: Draft, ctx: Round, lease: Lease) -> bool:
    """Whether work is known to run in its machine."""
    word = ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale)
    return word is not None and word.inside and (bool(word.jobs) or word.computes)


def _tell_waiters(draft: Draft, lease: Lease, since: datetime, until: datetime) -> None:
    """Work that runs is waited for; who waits for the card hears of it once, and until when at most."""
    for request in waiters(draft, lease.kind, lease.machine):
        if request.state is RequestState.QUEUED:
            once = f"{request.number}:{lease.label}:{since.isoformat()}"
            news = News(NewsKind.WORK_RUNS, request.person, once=once, request=request, slots=lease.slots, until=until)
            draft.tell(replace(news, who=lease.person))
