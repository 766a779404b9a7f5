"""What the rules of quiet cards share: which clocks belong to a lease, who is asked, and the counters.

Used by the files of this folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from bot.domain import attention
from bot.domain.draft import Draft
from bot.domain.idle.clocks import quiet_for, whole
from bot.domain.inside import Nudge, Verdict, Watch
from bot.domain.leases.common import Round
from bot.domain.model import Books, Lease, LeaseState, PersonId, Request, SlotId
from bot.domain.near import host_of
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.domain.queue import contended, waiters

WATCHED = frozenset({LeaseState.ACTIVE, LeaseState.RETURNING})
"""Leases whose devices are watched: on their way back too, for work that begins before the shutdown is asked."""

BACK = "back"
"""A number of the books: when the bot came back from its last outage, in Unix seconds."""


def belongs(watch: Watch, lease: Lease) -> bool:
    """Whether clocks are those of a lease, or of a part of it: they began with it."""
    return watch.since == lease.active_since and watch.machine == lease.machine


def watch_of(draft: Draft | Books, lease: Lease, slot: SlotId) -> Watch | None:
    """The clocks of a device of a lease; None: not made yet."""
    watch = draft.watches.get(slot)
    return watch if watch is not None and belongs(watch, lease) else None


def watches_of(draft: Draft | Books, lease: Lease) -> list[Watch]:
    """The clocks of all its devices, as far as there are."""
    return [w for s in lease.slots if (w := watch_of(draft, lease, s)) is not None]


def watched(draft: Draft) -> Iterator[tuple[Lease, SlotId]]:
    """Every device that is watched now, with its lease."""
    for lease in draft.leases.values():
        if lease.state in WATCHED and lease.active_since is not None:
            for slot in lease.slots:
                yield lease, slot


def is_quiet(watch: Watch, now: datetime, policy: Policy) -> timedelta | None:
    """How long a device is quiet, if that is known up to now; None: it is not, or it is not known."""
    if watch.verdict is not Verdict.QUIET or watch.upto is None or abs(now - watch.upto) > policy.reading_stale:
        return None
    return quiet_for(watch, policy)


def askable(watch: Watch, now: datetime) -> bool:
    """Whether its person has not answered already: in use, or kept."""
    return not answer(watch, now)


def answer(watch: Watch, now: datetime) -> str:
    """What its person said last that still holds: "kept", "using"; "" nothing."""
    if watch.keep_until is not None and watch.keep_until > now:
        return "kept"  # "in use" ends what was kept; so it was said after that
    return "using" if watch.using is not None else ""


class Waiting:
    """Who really waits, looked up once a kind and host: valid while nobody's place and no hold changes."""

    def __init__(self, draft: Draft) -> None:
        """Nothing is looked up yet."""
        self._draft = draft
        self._of: dict[tuple[str, str], list[Request]] = {}

    def first(self, lease: Lease) -> Request | None:
        """The first other person who really waits for a card like those of a lease; None: nobody does."""
        key = lease.kind, host_of(self._draft, lease.machine)
        if key not in self._of:
            wanted = contended(self._draft, lease.kind, lease.machine)
            self._of[key] = waiters(self._draft, lease.kind, lease.machine) if wanted else []
        return next((r for r in self._of[key] if r.person != lease.person), None)


def first_waiter(draft: Draft, lease: Lease) -> Request | None:
    """The same, looked up anew."""
    return Waiting(draft).first(lease)


def audience(draft: Draft, ctx: Round, lease: Lease) -> tuple[PersonId, ...]:
    """Who is asked: the holder; if they left the workspace, the other owners of the machine. Never the channel."""
    return attention.audience(draft, ctx.people, lease)


def month(counter: str, now: datetime) -> str:
    """A counter of a month: ``nudges 2026-11`` (UTC)."""
    return f"{counter} {now:%Y-%m}"


def rate(numbers: Mapping[str, int], now: datetime) -> tuple[int, int]:
    """How many questions about quiet cards were asked this month, and how many of them were false alarms."""
    return numbers.get(month("nudges", now), 0), numbers.get(month("false alarms", now), 0)


def outcome(draft: Draft, lease: Lease, nudge: Nudge) -> str:
    """What became of the cards of a question, as ``over`` has it: all busy again, in use, kept or given back; else "answered": each in its way."""
    ways = set()
    for slot in nudge.slots:
        if slot in lease.slots:
            watch = watch_of(draft, lease, slot)
            ways.add((answer(watch, draft.now) if watch is not None else "") or "busy")
    return "answered" if len(ways) > 1 else next(iter(ways), "released")


def over(
    draft: Draft,
    lease: Lease,
    nudge: Nudge,
    why: str,
    to: tuple[PersonId, ...],
    until: datetime | None = None,
    slots: tuple[SlotId, ...] | None = None,
) -> Lease:
    """The question of a lease is withdrawn or answered: its message is edited to what holds.

    :param why: busy, using, kept, answered, released, taken, lease, newer, or nobody (waits any more, of a warning)
    :param to: who reads it, if it is not known to whom it was put
    :param slots: the devices of which that is true; None: all that it is about
    """
    slots = slots or tuple(s for s in nudge.slots if s in lease.slots) or nudge.slots
    lease = replace(lease, nudge=replace(nudge, over=True))
    draft.put(lease)
    draft.log("bot", f"idle.{why}", f"#{lease.label}", ", ".join(slots))
    if nudge.key:
        watches = tuple(whole(w) for s in slots if (w := draft.watches.get(s)) is not None and belongs(w, lease))
        asked, wrong = rate(draft.numbers, draft.now)
        news = News(
            NewsKind.NUDGE_OVER,
            "",
            key=nudge.key,
            lease=lease,
            machine=draft.machines.get(lease.machine),
            slots=slots,
            watches=watches,
            who=nudge.waits,
            reason=why,
            until=until,
            counts=(("asked", asked), ("wrong", wrong)),
        )
        for person in nudge.to or to:
            draft.tell(replace(news, to=person))
    return lease
