"""Take-back: a quiet card goes back under the terms that were agreed when it was taken, and comes back to life if work begins.

Called by ``decide``: ``settle`` when turns are given and before moves are planned, ``back`` when the clocks are up to date. All conditions
are looked at here at once, in the moment of the machine's window; nothing else ever takes a card that works. It restarts nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.domain import windows
from bot.domain.draft import Draft
from bot.domain.frees import TAKEN
from bot.domain.idle.clocks import busy_within, unknown_for
from bot.domain.idle.common import (
    BACK,
    askable,
    audience,
    first_waiter,
    is_quiet,
    over,
    watch_of,
    watched,
    watches_of,
)
from bot.domain.inside import Nudge, Verdict, Watch
from bot.domain.leases.acts import unagree
from bot.domain.leases.common import Round, fresh, under_way
from bot.domain.leases.ends import end, split
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    BOT,
    Lease,
    LeaseState,
    Machine,
    MachineId,
    PersonId,
    Power,
    RequestState,
    SlotId,
    Turn,
    Window,
)
from bot.domain.moves.plan import may_use, usable
from bot.domain.news import News, NewsKind
from bot.domain.planner import allot
from bot.domain.planner.holds import back as back_in_line
from bot.domain.policy import Policy


def may_be_warned(draft: Draft, ctx: Round, lease: Lease) -> bool:
    """Whether a second question is the warning of a take-back: the terms allow it, a restart is agreed, and the bot acts at all."""
    machine = draft.machines.get(lease.machine)
    if machine is None or not ctx.acting or not lease.terms.take_back or lease.fault:
        return False
    usual, agreed = windows.usual(machine, ctx.policy), usable(draft, machine, {lease.label})
    return windows.next_window(agreed, machine.uuid, draft.now, usual, ctx.policy) is not None


def would_serve(draft: Draft, ctx: Round, label: str, quiet: Mapping[str, tuple[SlotId, ...]]) -> bool:
    """Whether taking back what is quiet of a lease would give somebody else their turn, by the rule by which it is taken.

    :param quiet: what may be taken of this lease and of all others, by label
    """
    first = {label: quiet[label], **quiet}  # of several of which one is enough, each may be the one
    return label in _needed(draft, ctx, first)[0]


@dataclass(frozen=True)
class _Ready:
    """A lease whose quiet devices may go back in this moment."""

    lease: Lease
    nudge: Nudge
    machine: Machine
    slots: tuple[SlotId, ...]
    window: Window


def settle(draft: Draft, ctx: Round) -> None:
    """Take back what may be taken back in this moment, as far as it serves somebody who waits: half of what they need serves nobody."""
    if not ctx.acting or not ctx.policy.idle.nudge:
        return
    ready: dict[str, _Ready] = {}
    for label in sorted(draft.leases):
        lease = draft.leases[label]
        nudge = lease.nudge
        if lease.state is LeaseState.ACTIVE and nudge is not None and warned(draft, lease, nudge, ctx.policy):
            found = _ready(draft, ctx, lease, nudge)
            if found is not None:
                ready[label] = found
    while ready:
        needed, serves = _needed(draft, ctx, {label: found.slots for label, found in ready.items()})
        busy = [x for x, slots in needed.items() if not _nothing_runs(draft, ctx, ready[x].machine, slots)]
        if not busy:
            for label, slots in needed.items():
                _take(draft, ctx, ready[label], slots, serves[label])
            return
        for label in busy:
            del ready[label]


def warned(draft: Draft, lease: Lease, nudge: Nudge, policy: Policy) -> bool:
    """Whether the terms allow it, its time has come, and the warning stands and was delivered long enough ago."""
    idle, delivered = policy.idle, draft.books.delivered.get(nudge.key)
    # While the bot was away nobody could answer: the notice is as long after that.
    back = draft.numbers.get(BACK, 0)
    return (
        lease.terms.take_back
        and not lease.fault
        and nudge.warning
        and not nudge.over
        and lease.active_since is not None
        and draft.now - lease.active_since >= idle.take_back_not_before
        and delivered is not None
        and delivered >= nudge.asked
        and draft.now - delivered >= idle.take_back_warned
        and draft.now.timestamp() - back >= idle.take_back_warned.total_seconds()
    )


def quiet_enough(draft: Draft, lease: Lease, nudge: Nudge, slot: SlotId, policy: Policy) -> bool:
    """Whether a device was quiet for T, since before the warning, without a long unknown stretch, and nobody answered."""
    watch = watch_of(draft, lease, slot)
    if watch is None or slot not in nudge.slots or not askable(watch, draft.now):
        return False
    quiet = is_quiet(watch, draft.now, policy)
    return (
        quiet is not None
        and quiet >= _limit(watch, policy)
        and watch.quiet_since is not None
        and watch.quiet_since <= nudge.asked
        and unknown_for(watch, draft.now) <= policy.idle.take_back_gap
    )


def _limit(watch: Watch, policy: Policy) -> timedelta:
    return policy.idle.take_back_quiet * (policy.idle.stretch if watch.loading else 1.0)


def open_window(draft: Draft, ctx: Round, machine: Machine, label: str) -> Window | None:
    """The window of a machine in which a restart for a lease may be announced now and still begin; None: there is none."""
    usual, agreed = windows.usual(machine, ctx.policy), usable(draft, machine, {label})
    while True:
        found = windows.open_window(agreed, machine.uuid, draft.now, usual, ctx.policy)
        if found is None:
            return None
        agreement, window = found
        lead = ctx.policy.last_call_now if agreement.now else ctx.policy.last_call
        begins = draft.now + lead
        in_time = begins <= windows.begin_by(agreement, window, usual, ctx.policy)
        if in_time and may_use(draft, ctx.sight, ctx.policy, machine, agreement)[0]:
            return window
        agreed.remove(agreement)


def _ready(draft: Draft, ctx: Round, lease: Lease, nudge: Nudge) -> _Ready | None:
    """The quiet devices of a lease, if a window is open in which they may come off, and somebody waits; None: not in this moment."""
    slots = tuple(s for s in lease.slots if quiet_enough(draft, lease, nudge, s, ctx.policy))
    machine = draft.machines.get(lease.machine)
    if not slots or machine is None or machine.gone or first_waiter(draft, lease) is None:
        return None
    if ctx.sight.power(machine.uuid) is not Power.ON or not fresh(draft, ctx.sight, machine.uuid):
        return None
    if under_way(draft, machine.uuid) or not all(ctx.sight.there(s, machine.uuid) for s in slots):
        return None
    window = open_window(draft, ctx, machine, lease.label)
    return _Ready(lease, nudge, machine, slots, window) if window is not None else None


def _needed(
    draft: Draft, ctx: Round, ready: Mapping[str, tuple[SlotId, ...]]
) -> tuple[dict[str, tuple[SlotId, ...]], dict[str, PersonId]]:
    """Of what may be taken from each lease, only that without which somebody else would not have their turn; and who that is, by lease."""
    chosen = [(label, slot) for label, slots in ready.items() for slot in slots]
    base, now = _served(draft, ctx, ()), _served(draft, ctx, chosen)
    serves: dict[str, PersonId] = {}
    for one in reversed(chosen):
        fewer = [other for other in chosen if other != one]
        then = _served(draft, ctx, fewer)
        people = [draft.requests[n].person for n in sorted(now - then - base)]
        others = [person for person in people if person != draft.leases[one[0]].person]
        if others:
            serves[one[0]] = others[0]
        else:
            chosen, now = fewer, then
    needed = {label: tuple(slot for of, slot in chosen if of == label) for label in ready}
    return {label: slots for label, slots in needed.items() if slots}, serves


def _served(draft: Draft, ctx: Round, taken: Iterable[tuple[str, SlotId]]) -> frozenset[int]:
    """The requests that have their turn next, by the rules of the line, if these devices were off, and with them all that is given back."""
    scratch, off = draft.scratch(), dict[SlotId, MachineId]()
    back = [
        (x.label, s) for x in draft.leases.values() if x.state is LeaseState.RETURNING and not x.fault for s in x.slots
    ]
    for label, slot in (*back, *taken):
        after = scratch.holder(slot, Turn.NEXT)
        scratch.free(label, (slot,))
        if after is not None:
            scratch.free(after, (slot,))
            scratch.hold(slot, Turn.HAS, after)
        off[slot] = draft.leases[label].machine
    allot(scratch, ctx.sight.without(off), ctx.people, ctx.policy)
    queued = (n for n, r in draft.requests.items() if r.state is RequestState.QUEUED)
    return frozenset(n for n in queued if scratch.requests[n].state is not RequestState.QUEUED)


def _take(draft: Draft, ctx: Round, found: _Ready, slots: tuple[SlotId, ...], who: PersonId) -> None:
    """These quiet devices of a lease go back; the others stay."""
    watches = tuple(draft.watches[s] for s in slots)
    lease = over(draft, found.lease, found.nudge, "taken", audience(draft, ctx, found.lease), slots=slots)
    if set(slots) == set(lease.slots):
        lease = step(draft, lease, On.TAKE_BACK, why=TAKEN, reason=TAKEN, ended_by=BOT, not_nows=0)
    else:
        lease = split(draft, lease, slots, On.TAKE_BACK, BOT, TAKEN)
    for to in audience(draft, ctx, lease):
        news = News(NewsKind.TAKEN_BACK, to, key=taken_key(lease), lease=lease, machine=found.machine, slots=slots)
        draft.tell(replace(news, who=who, until=found.window.end, watches=watches))


def _nothing_runs(draft: Draft, ctx: Round, machine: Machine, slots: tuple[SlotId, ...]) -> bool:
    """Whether a restart that only the bot wants disturbs nobody: nothing runs in the machine, as in "when nothing runs", and no card that
    stays was at work of late. Whoever agreed to a restart agreed to one that somebody asks for, not that it ends their work by itself."""
    word = ctx.sight.readings.get(machine.uuid)
    if word is None or windows.works(word, draft.now, ctx.policy, ctx.sight.cards_of(machine.uuid))[0] is not False:
        return False
    if draft.now - word.at > WORDS_MISSED * timedelta(seconds=word.interval_s):
        return False  # what it did since then may be on its way
    stay = [(x, s) for x, s in watched(draft) if x.machine == machine.uuid and s not in slots]
    found = [w for x, s in stay if (w := watch_of(draft, x, s)) is not None]
    return not any(w.verdict is Verdict.BUSY or busy_within(w, draft.now, ctx.policy) for w in found)


WORDS_MISSED = 2
"""Intervals of a guest's words: one whose last word is older may have begun work that nobody has heard of."""


def taken_key(lease: Lease) -> str:
    """The key of the message that a card is taken back."""
    return f"taken:{lease.label}:{lease.changed.isoformat()}"


# ---- work begins --------------------------------------------------------------------------------------------------


def back(draft: Draft, ctx: Round) -> None:
    """Work is seen on a card that is taken back, before the shutdown is asked: it stays with its holder."""
    for lease in list(draft.leases.values()):
        if lease.state is not LeaseState.RETURNING or lease.reason != TAKEN or lease.ended_by != BOT:
            continue
        # A device that is taken did nothing since its warning: work of after that, also of before the take, was heard late.
        since = lease.changed - ctx.policy.idle.take_back_warned
        worked = [w for w in watches_of(draft, lease) if w.last_busy is not None and w.last_busy > since]
        if worked and not under_way(draft, lease.machine):
            _stays(draft, ctx, lease)


def _stays(draft: Draft, ctx: Round, lease: Lease) -> None:
    """Whoever was promised it is in line again, at the old place."""
    key = taken_key(lease)
    for slot in lease.slots:
        after = draft.holder(slot, Turn.NEXT) or ""
        next_lease, request = draft.leases.get(after), draft.requests.get(int(after)) if after.isdigit() else None
        if next_lease is not None and next_lease.state is LeaseState.RESERVED:
            end(draft, next_lease, On.NO_EQUAL, "work began on the card that was to come out")
        elif request is not None and request.state is RequestState.OFFERED:
            back_in_line(draft, request, On.SLOT_ASIDE, "work began on the card that was to come out")
    unagree(draft, lease)
    lease = step(
        draft, lease, On.WORK_SEEN, why="work was seen on it", reason="", ended_by=BOT, over_time=False, not_nows=0
    )
    for to in audience(draft, ctx, lease):
        news = News(NewsKind.NUDGE_OVER, to, key=key, lease=lease, machine=draft.machines.get(lease.machine))
        draft.tell(replace(news, slots=lease.slots, watches=tuple(watches_of(draft, lease)), reason="busy"))
