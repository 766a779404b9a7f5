"""What people answer to a question about quiet cards: in use, or kept for a while. Called by commands inside their transaction.

Who may say it is asked by the verb. Neither answer makes the time of a card longer.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from bot.domain.attention import answered
from bot.domain.draft import Draft
from bot.domain.errors import InThePast, NotPossible, TooLong
from bot.domain.idle.common import askable, is_quiet, month, outcome, over, watch_of, watches_of
from bot.domain.inside import Watch
from bot.domain.model import Lease, LeaseState, PersonId, SlotId
from bot.domain.policy import Policy
from bot.domain.spoken import limit_words

Slots = tuple[SlotId, ...] | None
"""Devices of a lease; None: all of them."""


def using(draft: Draft, lease: Lease, slots: Slots, by: PersonId, because: str) -> Lease:
    """ "I am using it": no more questions about these devices in this lease; a false alarm, counted once a question.

    :param because: the reason, raw text; "" none, and one that was given before stays
    :raises NotPossible: its cards do not work yet, or go back
    """
    wanted = _wanted(lease, slots, "using")
    for watch in _watches(draft, lease, wanted):
        draft.put(replace(watch, using=watch.using or draft.now, because=because or watch.because, keep_until=None))
    draft.log(by, "idle.using", f"#{lease.label}", because or ", ".join(wanted))
    nudge = lease.nudge
    if nudge is not None and nudge.key and not nudge.over and not nudge.wrong and set(wanted) & set(nudge.slots):
        draft.number(month("false alarms", draft.now))
        draft.log(by, "idle.false_alarm", f"#{lease.label}", ", ".join(sorted(set(wanted) & set(nudge.slots))))
        lease = replace(lease, nudge=replace(nudge, wrong=True))
        draft.put(lease)
    return _answered(draft, lease, wanted, "using", by, because)


def keep(
    draft: Draft, lease: Lease, slots: Slots, until: datetime, because: str, by: PersonId, policy: Policy
) -> Lease:
    """ "Keep it until …": no question about these devices before then.

    :param because: the reason, raw text, which who waits may read; without one, no more than a day in all
    :raises InThePast: that time has passed
    :raises TooLong: more than a day in all, and no reason; or longer than anybody has a card
    :raises NotPossible: its cards do not work yet, or go back
    """
    wanted = _wanted(lease, slots, "keep")
    if until <= draft.now:
        raise InThePast(text="keep")
    if until - draft.now > policy.longest_in_all:
        limit = limit_words(policy.longest_in_all)
        works = f"keep {' '.join(wanted)} {limit} because TEXT"
        raise TooLong(limit=limit, text=limit_words(until - draft.now), works=works)
    watches = _watches(draft, lease, wanted)
    most = policy.idle.kept_without_reason
    for watch in watches:
        kept = _kept(watch, until, because, draft.now)
        if kept > most:
            works = f"keep {' '.join(wanted)} {_hours(until - draft.now)} because TEXT"
            raise TooLong(limit=f"{limit_words(most)} in all without a reason", text="", works=works)
        draft.put(
            replace(
                watch,
                keep_until=until,
                because=because or watch.because,
                kept_s=kept.total_seconds(),
                asked=(),
            )
        )
    draft.log(by, "idle.kept", f"#{lease.label}", because or f"{', '.join(wanted)} until {until.isoformat()}")
    return _answered(draft, lease, wanted, "kept", by, because, until)


def _kept(watch: Watch, until: datetime, because: str, now: datetime) -> timedelta:
    """How long it is kept without a reason by then, in all. What a keep of before without one would still have lasted is given back where a
    shorter one, or one with a reason, takes its place; once a reason was given it is not known any more what that was, and nothing is."""
    kept, upto = timedelta(seconds=watch.kept_s), max(now, watch.keep_until or now)
    counted = now if because else until  # until then without a reason, by this answer
    more = counted - upto
    if more < timedelta() and watch.because:
        more = timedelta()
    return max(timedelta(), kept + more)


def quiet_slots(draft: Draft, lease: Lease, now: datetime, policy: Policy) -> tuple[SlotId, ...]:
    """The devices of a lease that are quiet now, long enough to be asked about, and not answered for."""
    return tuple(
        w.slot
        for w in watches_of(draft, lease)
        if askable(w, now) and (quiet := is_quiet(w, now, policy)) is not None and quiet >= policy.idle.first
    )


def _hours(length: timedelta) -> str:
    return f"{max(1, -(-int(length.total_seconds()) // 3600))}h"


def _wanted(lease: Lease, slots: Slots, what: str) -> tuple[SlotId, ...]:
    if lease.state is not LeaseState.ACTIVE or lease.active_since is None:
        why = f"#{lease.label} is {lease.state}" if lease.state is LeaseState.RETURNING else "it does not work yet"
        raise NotPossible(what=what, why=why)
    return lease.slots if slots is None else tuple(s for s in lease.slots if s in slots)


def _watches(draft: Draft, lease: Lease, slots: tuple[SlotId, ...]) -> list[Watch]:
    """Its clocks; new ones, if nothing was seen of it so far."""
    return [watch_of(draft, lease, s) or new_watch(lease, s) for s in slots]


def new_watch(lease: Lease, slot: SlotId) -> Watch:
    """The clocks of a device of a lease that has just become active: nothing is seen of it yet."""
    assert lease.active_since is not None, "of leases that work"
    since = lease.active_since
    return Watch(slot=slot, lease=lease.label, since=since, machine=lease.machine, blind_since=since)


def _answered(
    draft: Draft,
    lease: Lease,
    slots: tuple[SlotId, ...],
    why: str,
    by: PersonId,
    because: str,
    until: datetime | None = None,
) -> Lease:
    """The question that stands is answered for all its cards, now or before, or for some: then it goes on for the others. So is whoever asks
    for them."""
    answered(draft, lease, why, by, slots, until, because)
    lease = draft.leases[lease.label]
    nudge = lease.nudge
    if nudge is None or nudge.over or not set(slots) & set(nudge.slots):
        return lease
    here = [watch_of(draft, lease, s) for s in nudge.slots if s in lease.slots]
    if any(watch is None or askable(watch, draft.now) for watch in here):
        return lease  # the next round edits the message to the cards that are left
    at_once = set(nudge.slots) <= set(slots)
    why = why if at_once else outcome(draft, lease, nudge)
    return over(draft, lease, nudge, why, (lease.person,), until if at_once else None)
