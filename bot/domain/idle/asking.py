"""Questions about quiet cards: who is asked when, and when a question is taken back.

Called by ``settle`` once a round, when the clocks are up to date. It asks little: never what was answered, never twice for one deadline,
never more a day than people stand, never at night; only the warning before a take-back is not delayed. It takes nothing back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain import hours
from bot.domain.attention import TO_ANSWER, awake, put_away, spent
from bot.domain.draft import Draft
from bot.domain.frees import TAKEN
from bot.domain.idle.clocks import busy_within, whole
from bot.domain.idle.common import (
    Waiting,
    askable,
    audience,
    first_waiter,
    is_quiet,
    month,
    outcome,
    over,
    watch_of,
    watches_of,
)
from bot.domain.idle.taking import may_be_warned, would_serve
from bot.domain.inside import Nudge, Watch
from bot.domain.leases.acts import owns
from bot.domain.leases.common import Round
from bot.domain.model import BOT, Lease, LeaseState, PersonId, Request, SlotId
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.shelves import leases_to

BEFORE_END = timedelta(minutes=30)
"""The end of the working day, for the one question that is asked when nobody waits."""

COUNTED_FOR = timedelta(days=2)
"""So long a question is remembered for the attention budget of a day."""

LATE, LATE_APART = timedelta(minutes=5), timedelta(minutes=20)
"""A question that is not out after so long has its text made anew, and again after as long as it has waited by then, at most the second."""

WARNED_FOR = timedelta(days=7)
"""A warning that led to nothing for so long is given anew: nobody remembers it, and the books do not know much longer that it was delivered."""


@dataclass(frozen=True)
class _Due:
    """A quiet device, and which question about it is due."""

    watch: Watch  # its clocks
    rung: int  # 0 nothing new is due; 1, 2: this question is; more: the warning that the last one was not


@dataclass(frozen=True)
class _Question:
    """A question that is due."""

    label: str  # of the lease
    to: PersonId  # who is asked first
    due: tuple[_Due, ...]  # the devices for which it is
    slots: tuple[SlotId, ...]  # all that it names: these, and those that were asked about before
    waits: Request | None  # who waits first; None: nobody
    warning: bool  # it is the warning of a take-back


def settle(draft: Draft, ctx: Round, asks: bool = True) -> None:
    """Take back what has lost its ground, and ask what is due.

    :param asks: False: nothing is asked in this round, the clock of the host jumped
    """
    for lease in list(draft.leases.values()):
        if lease.nudge is not None and not lease.nudge.over:
            _still(draft, ctx, lease, lease.nudge)
    if not asks:
        return
    for lease in list(draft.leases.values()):
        if lease.nudge is not None and not lease.nudge.over and _is_late(draft, lease.nudge):
            lease = replace(lease, nudge=replace(lease.nudge, written=draft.now))
            draft.put(lease)
            _tell(draft, ctx, lease)
    found, waiting = [], Waiting(draft)
    for label in sorted(draft.leases):
        lease = draft.leases[label]
        if lease.state is LeaseState.ACTIVE and lease.active_since is not None and not lease.quiet:
            found.append(_question(draft, ctx, _without_counts(draft, ctx.policy, lease), waiting))
    due = [x for x in found if x is not None]
    # Warnings first: a question that one of them would edit away is not sent before it.
    for question in sorted(due, key=lambda x: not x.warning):
        if question.warning or _may_disturb(draft, ctx, question):
            _write(draft, ctx, question)


# ---- taking back --------------------------------------------------------------------------------------------------


def _still(draft: Draft, ctx: Round, lease: Lease, nudge: Nudge) -> None:
    """Whether a question still holds for all, some or none of its cards."""
    if lease.state is not LeaseState.ACTIVE:
        over(draft, lease, nudge, _why_over(draft, lease), audience(draft, ctx, lease))
        return
    if nudge.warning and first_waiter(draft, lease) is None:
        over(draft, lease, nudge, "nobody", audience(draft, ctx, lease))  # nothing is taken from whom it says it is
        return
    here = tuple(s for s in nudge.slots if s in lease.slots)
    left = tuple(s for s in here if not _answered(draft, lease, s) and not _worked(draft, ctx, lease, s))
    if left == nudge.slots:
        return
    if not left:
        over(draft, lease, nudge, outcome(draft, lease, nudge), audience(draft, ctx, lease))
        return
    lease = replace(lease, nudge=replace(nudge, slots=left))
    draft.put(lease)
    _tell(draft, ctx, lease)


def _heard(draft: Draft, nudge: Nudge) -> datetime | None:
    """When a question went out; None: it waits still."""
    at = draft.books.delivered.get(nudge.key)
    return at if at is not None and at >= nudge.asked else None


def _is_late(draft: Draft, nudge: Nudge) -> bool:
    """Whether it waits since so long that its times do not hold any more: whoever reads it then must not read of a deadline that has passed."""
    if not nudge.key or _heard(draft, nudge) is not None:
        return False
    written = nudge.written or nudge.asked
    return draft.now - written >= min(max(LATE, written - nudge.asked), LATE_APART)


def _answered(draft: Draft, lease: Lease, slot: SlotId) -> bool:
    """Whether its person has said what they have to say about this one of several."""
    watch = watch_of(draft, lease, slot)
    return watch is not None and not askable(watch, draft.now)


def _why_over(draft: Draft, lease: Lease) -> str:
    if lease.state in (LeaseState.RETURNING, LeaseState.ENDED) and owns(draft, lease, lease.ended_by):
        return "released"
    return "taken" if lease.reason == TAKEN else "lease"


def _worked(draft: Draft, ctx: Round, lease: Lease, slot: SlotId) -> bool:
    """Whether enough work was seen on it to take a question back: three minutes within ten, no single blip."""
    watch = watch_of(draft, lease, slot)
    return watch is None or busy_within(watch, draft.now, ctx.policy) >= ctx.policy.idle.withdraw_busy


# ---- asking -------------------------------------------------------------------------------------------------------


def _without_counts(draft: Draft, policy: Policy, lease: Lease) -> Lease:
    """A lease as it is asked about: what was only counted while questions were off, nobody has read. So a card that was quiet then is asked
    about once they are on."""
    if not policy.idle.nudge or lease.nudge is None or lease.nudge.key:
        return lease
    for watch in watches_of(draft, lease):
        draft.put(replace(watch, asked=()))
    lease = replace(lease, nudge=None)
    draft.put(lease)
    return lease


def _question(draft: Draft, ctx: Round, lease: Lease, waiting: Waiting) -> _Question | None:
    """The question about a lease that is due, naming all its quiet cards; None: none is."""
    idle = ctx.policy.idle
    quiet = [
        (watch, length)
        for slot in lease.slots
        if (watch := watch_of(draft, lease, slot)) is not None
        and askable(watch, draft.now)
        and (length := is_quiet(watch, draft.now, ctx.policy)) is not None
        and length >= min(idle.first, idle.never_opened)
    ]
    to = audience(draft, ctx, lease) if quiet else ()
    if not to or (not idle.nudge and lease.nudge is not None and not lease.nudge.over):
        return None  # one that stands when questions are switched off is not counted over: it is to be answered or withdrawn
    waits = waiting.first(lease)
    zone = ctx.zone(to[0])
    late = waits is not None and any(x >= idle.second and not _was_warned(lease, w, draft.now) for w, x in quiet)
    warns = late and may_be_warned(draft, ctx, lease) and would_serve(draft, ctx, lease.label, _takeable(draft, ctx))
    found = [
        _Due(w, _rung(draft.now, w, length, waits, zone, ctx.policy, warns and not _was_warned(lease, w, draft.now)))
        for w, length in quiet
    ]
    due = tuple(x for x in found if x.rung)
    if not due:
        return None
    slots = tuple(x.watch.slot for x in found if x.rung or x.watch.asked)
    return _Question(lease.label, to[0], due, slots, waits, warns and max(x.rung for x in due) > 1)


def _takeable(draft: Draft, ctx: Round) -> dict[str, tuple[SlotId, ...]]:
    """What may be taken back as far as it is known now, by lease: quiet for as long as a warning needs, and not answered for."""
    found: dict[str, tuple[SlotId, ...]] = {}
    for label in sorted(draft.leases):
        lease = draft.leases[label]
        if lease.state is LeaseState.ACTIVE and not lease.quiet and may_be_warned(draft, ctx, lease):
            quiet = ((w, is_quiet(w, draft.now, ctx.policy)) for w in watches_of(draft, lease) if askable(w, draft.now))
            late = tuple(w.slot for w, length in quiet if length is not None and length >= ctx.policy.idle.second)
            found |= {label: late} if late else {}
    return found


def stretched(watch: Watch, length: timedelta, policy: Policy) -> timedelta:
    """A limit, twice as long while its processes use the processor or read: data are loaded, something is compiled."""
    return length * policy.idle.stretch if watch.loading else length


def _was_warned(lease: Lease, watch: Watch, now: datetime) -> bool:
    """Whether the last question about a device was a warning that stands: it is over for those that stayed when others were taken back."""
    nudge = lease.nudge
    if nudge is None or not nudge.warning or nudge.over or now - nudge.asked >= WARNED_FOR:
        return False
    return watch.slot in nudge.slots and nudge.asked in watch.asked


def _rung(
    now: datetime, watch: Watch, quiet: timedelta, waits: Request | None, zone: str, policy: Policy, warns: bool = False
) -> int:
    """Which question about a device is due: 0 none, 1 the first, 2 the second, 3 a warning after that.

    :param warns: it could be a warning, and none was given
    """
    idle, apart = policy.idle, policy.idle.second - policy.idle.first
    if waits is None:
        late = hours.is_working(now, zone, policy) and not hours.is_working(now + BEFORE_END, zone, policy)
        return 1 if not watch.asked and late and quiet >= stretched(watch, idle.first, policy) else 0
    reached = 0
    for rung, limit in ((1, idle.first), (2, idle.second)):
        if watch.opened or watch.first_seen is None:
            reached = rung if quiet >= stretched(watch, limit, policy) else reached
            continue
        never = idle.never_opened + (limit - idle.first)
        if quiet >= never and hours.add_working(watch.first_seen, never, zone, policy) <= now:
            reached = rung
    if warns and reached == 2 and len(watch.asked) >= 2:
        # A restart was agreed only after the second question, or others were taken back on the last warning.
        reached = len(watch.asked) + 1
    if reached <= len(watch.asked) or (watch.asked and now - watch.asked[-1] < apart):
        return 0
    return reached


def _may_disturb(draft: Draft, ctx: Round, question: _Question) -> bool:
    """The attention budget: working hours, no do-not-disturb, not too often a day, and never over a warning that stands, or a question that
    has only just been asked."""
    to, zone = question.to, ctx.zone(question.to)
    if not awake(draft.now, ctx.people.get(to), zone, ctx.policy):
        return False
    lease = draft.leases[question.label]
    if any(spent(draft, x, ctx.zone(x)) >= ctx.policy.idle.asked_a_day for x in audience(draft, ctx, lease)):
        return False  # of several owners each has their own day
    holder = lease.person
    fresh = any(
        x.nudge is not None
        and not x.nudge.over
        and x.nudge.key
        and (x.nudge.warning or (x.label != question.label and draft.now - x.nudge.asked < TO_ANSWER))
        for x in leases_to(draft, holder)
    )
    return not fresh and not any(_asked_for(x, draft.now) for x in leases_to(draft, holder))


def _asked_for(lease: Lease, now: datetime) -> bool:
    """Whether its holder was only just asked something else about it, by somebody or in the morning."""
    morning = lease.morning is not None and not lease.morning.over and now - lease.morning.asked < TO_ANSWER
    return morning or any(x.shown and x.told is not None and now - x.told < TO_ANSWER for x in lease.inquiries)


def _write(draft: Draft, ctx: Round, question: _Question) -> None:
    """Write the question down, and tell it, or (report-only) count that it would have been told."""
    real, lease, slots, waits = ctx.policy.idle.nudge, draft.leases[question.label], question.slots, question.waits
    before, warning = lease.nudge, question.warning
    rung = max(x.rung for x in question.due)
    counted = tuple(at for at in (before.counted if before is not None else ()) if draft.now - at < COUNTED_FOR)
    nudge = Nudge(
        key=f"idle:{lease.label}:{draft.number('questions')}" if real else "",
        number=rung,
        asked=draft.now,
        slots=slots,
        warning=warning and real,
        waits=waits.person if waits is not None else "",
        over=not real,
        to=audience(draft, ctx, lease) if real else (),
        counted=counted if warning else (*counted, draft.now),
    )
    if real:
        _replace_older(draft, lease)
        lease = draft.leases[lease.label]
    for slot in slots:
        watch = draft.watches[slot]
        draft.put(replace(watch, asked=(watch.asked + (draft.now,) * rung)[: max(rung, len(watch.asked))]))
    lease = replace(lease, nudge=nudge)
    draft.put(lease)
    deadline = ",".join(f"{x.watch.slot}@{_begun(x.watch)}" for x in question.due)
    draft.log(BOT, "idle.asked" if real else "idle.would_ask", f"#{lease.label}", f"{deadline} {rung}")
    if not real:
        draft.number("would nudge")
        return
    if _tell(draft, ctx, lease, once=f"{lease.label}:{deadline}:{rung}:{'warning' if warning else ''}"):
        draft.number(month("nudges", draft.now))


def _begun(watch: Watch) -> str:
    """What tells one quiet stretch from another: its edge, or until when it was kept."""
    since = max((at for at in (watch.quiet_since, watch.keep_until) if at is not None), default=None)
    return since.isoformat() if since is not None else ""


def _replace_older(draft: Draft, lease: Lease) -> None:
    """One open question a person at a time: the newer edits the older away. Of warnings each stands."""
    nudges_away(draft, lease.person, lease.label)
    put_away(draft, lease.person)


def nudges_away(draft: Draft, person: PersonId, label: str = "") -> None:
    """A newer question to somebody edits away those about their quiet devices. Of warnings each stands, but that of the lease ``label``."""
    for other in leases_to(draft, person):
        nudge = other.nudge
        if nudge is not None and not nudge.over and (not nudge.warning or other.label == label):
            over(draft, other, nudge, "newer", (person,))


def _tell(draft: Draft, ctx: Round, lease: Lease, once: str = "") -> bool:
    """Tell a question, or edit it to the cards for which it still holds."""
    nudge = lease.nudge
    assert nudge is not None, "a question that was just written"
    told = False
    for to in audience(draft, ctx, lease):
        news = News(
            NewsKind.NUDGE,
            to,
            key=nudge.key,
            once=once,
            lease=lease,
            machine=draft.machines.get(lease.machine),
            slots=nudge.slots,
            watches=tuple(whole(draft.watches[s]) for s in nudge.slots),
            who=nudge.waits,
            until=_next_at(draft, ctx, lease, nudge),
            inside=ctx.sight.word(lease.machine, draft.now, ctx.policy.reading_stale),
            zone=ctx.zone(to),
        )
        told = draft.tell(news) or told
    return told


def _next_at(draft: Draft, ctx: Round, lease: Lease, nudge: Nudge) -> datetime | None:
    """When what comes next comes, if nothing changes: the second question, or (a warning) the take-back; None: nothing."""
    idle, since = ctx.policy.idle, lease.active_since
    watches = [draft.watches[s] for s in nudge.slots]
    if nudge.warning and since is not None:
        limits = [stretched(w, idle.take_back_quiet, ctx.policy) - timedelta(seconds=w.quiet_s) for w in watches]
        told = _heard(draft, nudge) or max(nudge.asked, draft.now)  # who reads it late has as long as others
        return max(told + idle.take_back_warned, since + idle.take_back_not_before, draft.now + max(limits))
    if not nudge.waits or nudge.number > 1:
        return None
    limits = [stretched(w, idle.second, ctx.policy) - timedelta(seconds=w.quiet_s) for w in watches]
    return max(nudge.asked + (idle.second - idle.first), draft.now + max(limits))


# ---- report-only --------------------------------------------------------------------------------------------------


def evidence(draft: Draft, policy: Policy) -> None:
    """While questions are off: count the working days with data; after some of them the admins are offered what was counted, once.

    Called when minutes came in.
    """
    if policy.idle.nudge:
        return
    today = hours.local(draft.now, policy.zone).date()
    days = draft.numbers.get("evidence days", 0)
    if today.weekday() not in policy.working_days or draft.numbers.get("evidence day", 0) == today.toordinal():
        return
    draft.note("evidence day", today.toordinal())
    if days > policy.idle.evidence_days:
        return
    if days == policy.idle.evidence_days:
        counts = (("would nudge", draft.numbers.get("would nudge", 0)), ("days", days))
        draft.tell(News(NewsKind.NUDGE_EVIDENCE, ADMINS, once="evidence", counts=counts))
    draft.note("evidence days", days + 1)
