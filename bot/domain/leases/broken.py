"""Broken cards under leases that work: written down, to be set aside when they come off, and told once a machine and cause.

Called by ``settle`` when every lease is settled. Nothing is taken from anybody for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bot.domain.broken import Broken, broken
from bot.domain.draft import Draft
from bot.domain.leases.common import Round
from bot.domain.lifecycle import On, step
from bot.domain.model import Lease, LeaseState, MachineId, Reading, SlotId
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.shelves import leases_of

THERE = (LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING)
"""Leases whose cards may sit in their machine."""


def broken_on(draft: Draft, ctx: Round, machine: MachineId, word: Reading) -> Broken:
    """Which cards of a machine are reported broken."""
    here = [s for x in leases_of(draft, machine) if x.state in THERE for s in x.slots]
    return broken(draft.cards, [s for s in here if ctx.sight.there(s, machine) is not False], word)


def settle(draft: Draft, ctx: Round) -> None:
    """Take in what the guests of lent cards report."""
    working: dict[MachineId, list[Lease]] = {}
    for lease in draft.leases.values():
        if lease.state is LeaseState.ACTIVE:
            working.setdefault(lease.machine, []).append(lease)
    for machine, leases in working.items():
        word = ctx.sight.word(machine, draft.now, ctx.policy.reading_stale)
        if word is not None and (word.faults or any(d.fault for d in word.devices)):
            _one(draft, ctx, machine, leases, word)


def _one(draft: Draft, ctx: Round, machine: MachineId, leases: list[Lease], word: Reading) -> None:
    """One machine: each lease that it concerns, its holder, and the admins."""
    found = broken_on(draft, ctx, machine, word)
    concerned = []
    for lease in leases:
        causes = found.causes_of(lease.slots)
        if causes:
            why = ", ".join(causes)
            if not lease.fault:
                lease = step(draft, lease, On.BROKEN, why=why, changed=lease.changed, fault=why)
            concerned.append(lease)
    news = News(NewsKind.CARD_BROKEN, ADMINS, machine=draft.machines.get(machine), inside=word)
    at = f"{machine}:{word.boot_id}"
    lent = {s: x.state for x in leases_of(draft, machine) if x.state in THERE for s in x.slots}
    mine = {
        s for s in found.named if lent.get(s, LeaseState.ACTIVE) is LeaseState.ACTIVE and draft.card(s).aside is None
    }
    one = concerned[0] if len(concerned) == 1 else None
    _named(draft, replace(news, lease=one), at, {s: found.named[s] for s in mine})
    _unsure(draft, replace(news, lease=one), at, found.causes)
    for person in dict.fromkeys(x.person for x in concerned if not ctx.left(x.person)):  # their work ran there
        theirs = [x for x in concerned if x.person == person]
        about, scope = replace(news, to=person, lease=theirs[0]), f"{at}:{person}"
        slots = {s for x in theirs for s in x.slots}
        _named(draft, about, scope, {s: c for s, c in found.named.items() if s in slots})
        if one is not None and not slots & set(found.named):
            _unsure(draft, about, scope, found.causes)


def _named(draft: Draft, news: News, scope: str, causes: dict[SlotId, str]) -> None:
    """One message a cause, of those cards that were not told with it before."""
    for cause in dict.fromkeys(causes.values()):
        once = f"{scope}:{cause}:"
        new = sorted({s for s in causes if causes[s] == cause} - _before(draft, f"{news.kind}:{news.to}:{once}"))
        if new:
            draft.tell(replace(news, once=once + ",".join(new), slots=tuple(new), reason=cause))


def _unsure(draft: Draft, news: News, scope: str, causes: Iterable[str]) -> None:
    """A card of the machine, nobody knows which: no card is named."""
    for cause in causes:
        draft.tell(replace(news, once=f"{scope}:{cause}:", slots=(), reason=cause))


def _before(draft: Draft, said: str) -> set[SlotId]:
    """The cards that were named with this cause before."""
    return {slot for x in draft.books.said if x.startswith(said) for slot in x.removeprefix(said).split(",")}
