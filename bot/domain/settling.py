"""What becomes of agreements as time goes by and the world changes.

Called through ``windows`` by the round, before the rules that use agreements. It writes states and ``when done``; it asks nobody and tells
nobody: who must hear of it is found by those rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter

from bot.domain import blackouts
from bot.domain.agreements import in_use, objections, skipped_window, use
from bot.domain.draft import Draft
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    BOT,
    Agreement,
    AgreementKind,
    AgreementState,
    Lease,
    LeaseState,
    MachineId,
    Move,
    MoveState,
    Reading,
    Request,
    RequestState,
)
from bot.domain.occurrences import begin_at, held_back, now_window, usual
from bot.domain.policy import Policy
from bot.domain.shelves import agreements_for, agreements_of, moves_of
from bot.domain.sight import Sight
from bot.domain.speakers import doubted, two_speak
from bot.domain.spoken import lasting_words

NO_ROOM = "too little of it is left for a restart"
"""Why a time is used up before it is over."""

NO_BEGIN = "the site lets no restart begin in the rest of it"
"""The same, where a blackout takes what is left."""

OVER = frozenset({LeaseState.ENDED, LeaseState.FAILED})
"""Leases that are over."""


def settle(draft: Draft, readings: Mapping[MachineId, Reading], policy: Policy, sight: Sight | None = None) -> None:
    """Bring all open agreements up to date: lost ground, reached purpose, time over, and `when done`."""
    for agreement in sorted(draft.agreements.values(), key=attrgetter("number")):
        if agreement.state is AgreementState.OPEN and not _is_to_come(draft, agreement, policy):
            word = readings.get(agreement.machine)
            if word is not None and (doubted(word, draft.now) or (sight and word.cards < sight.cards_of(word.machine))):
                word = None  # it may be another machine's (a clone), or be blind: it does not say that nothing runs
            _settle_one(draft, agreement, word, policy)


def _is_to_come(draft: Draft, agreement: Agreement, policy: Policy) -> bool:
    """Whether it is plainly of one who waits, for a time that is still to come: as nearly all are in a long line."""
    window, label = agreement.window, agreement.label
    if window is None or window.start <= draft.now or agreement.now or agreement.when_done or agreement.firm:
        return False
    if policy.blackout or not label.isdigit() or label in draft.leases or agreement.kind is AgreementKind.STANDING:
        return False
    request, machine = draft.requests.get(int(label)), draft.machines.get(agreement.machine)
    return (
        request is not None
        and request.state is RequestState.QUEUED
        and request.machine == agreement.machine
        and machine is not None
        and agreement.person in machine.owners
        and window.end - window.start >= usual(machine, policy)
        and not moves_of(draft, agreement.machine)
    )


def _settle_one(draft: Draft, agreement: Agreement, reading: Reading | None, policy: Policy) -> None:
    machine, moves = draft.machines.get(agreement.machine), moves_of(draft, agreement.machine)
    if machine is None:
        step(draft, agreement, On.TAKEN_BACK, why="the machine is no longer registered")
    elif agreement.person != BOT and agreement.person not in machine.owners:
        step(draft, agreement, On.NO_OWNER, why="who gave it is no longer an owner")
    elif agreement.kind is AgreementKind.STANDING:
        _forget(draft, agreement)
    elif moves and in_use(draft, agreement):
        return  # the power cycle goes by the window that it fixed
    elif _drop(draft, agreement, moves):
        return
    elif _purpose_reached(draft, agreement):
        use(draft, agreement, "the card works")
    elif agreement.when_done:
        _when_done(draft, agreement, reading, policy)
    elif agreement.window is not None and agreement.window.end <= draft.now and not _waits_for_device(draft, agreement):
        use(draft, agreement, "its time is over")
    elif _no_longer_fits(draft, agreement, policy):
        held = agreement.window is not None and held_back(
            agreement, agreement.window, draft.now, usual(machine, policy), policy
        )
        use(draft, agreement, NO_BEGIN if held else NO_ROOM)


def _no_longer_fits(draft: Draft, agreement: Agreement, policy: Policy) -> bool:
    """Whether no restart can begin any more that would end in its time, by how long those of its machine took: it is postponed now, not when
    the time is over, so that its owners are told while there is time to say another."""
    window, machine = agreement.window, draft.machines[agreement.machine]
    if window is None or agreement.skips or _waits_for_device(draft, agreement):
        return False
    return begin_at(agreement, window, draft.now, usual(machine, policy), policy) is None


def drop_lost(draft: Draft, label: str | None = None) -> None:
    """Take back what was agreed for something that is over by now: in the transaction in which it ended, so that nobody is told, a
    moment later, of a restart for nothing. A power cycle that has begun keeps its agreement.

    :param label: the request or lease that ended; None: whatever was written in this transaction
    """
    found = agreements_for(draft, label) if label is not None else _written_about(draft)
    for agreement in sorted(found, key=lambda a: a.number):
        if agreement.state is AgreementState.OPEN and agreement.label and not in_use(draft, agreement):
            _drop(draft, agreement, moves_of(draft, agreement.machine))


def _written_about(draft: Draft) -> Collection[Agreement]:
    """The agreements of which something was written here that may have ended what they were given for."""
    found = [draft.agreements[number] for number in draft.touched(Agreement)]
    for label in {*map(str, draft.touched(Request)), *draft.touched(Lease)}:
        found += agreements_for(draft, label)
    for number in draft.touched(Move):
        found += agreements_of(draft, draft.moves[number].machine)
    return {a.number: a for a in found}.values()


def _drop(draft: Draft, agreement: Agreement, moves: Iterable[Move]) -> bool:
    """Whether a power cycle, or the loss of what it was for, has ended an agreement just now. ``moves``: of its machine."""
    if any(m.agreement == agreement.number and m.state is MoveState.DONE for m in moves):
        use(draft, agreement, "its power cycle is done")
    elif lost := _ground_lost(draft, agreement):
        step(draft, agreement, On.QUEUED_AGAIN, why=lost)
    else:
        return False
    return True


def _when_done(draft: Draft, agreement: Agreement, reading: Reading | None, policy: Policy) -> None:
    """Open it when the guest has reported no job and no key press for long enough; close it again if work begins before the restart."""
    now, window = draft.now, agreement.window
    near = reading is not None and abs(now - reading.at) <= policy.reading_stale
    fresh = reading is not None and near and reading.inside and not reading.stopping
    if reading is not None and two_speak(reading, now):
        fresh = False  # two tell it differently
    free = reading.free_since if reading is not None and fresh else None
    if window is None:
        machine = draft.machines[agreement.machine]
        if (
            free is not None
            and now - free >= policy.done_quiet
            and not blackouts.holding(policy, now + policy.last_call, usual(machine, policy))
        ):
            opened = replace(agreement, window=now_window(now, policy))
            why = f"nothing has run for {lasting_words(now - free)}"
            skips = (*agreement.skips, *objections(draft, opened, policy))
            step(draft, agreement, On.OPENED, why=why, window=opened.window, skips=skips)
    elif window.end <= now:
        use(draft, agreement, "its time is over")
    elif fresh and (free is None or free >= window.start) and not agreement.skips:
        step(draft, agreement, On.CHANGED, why="work began again: waits for its end", window=None)


def _ground_lost(draft: Draft, agreement: Agreement) -> str:
    """Why the request or lease that an agreement was given for no longer needs it; "" while it does."""
    if not agreement.label:
        return ""
    lease = draft.leases.get(agreement.label)
    if agreement.firm and lease is not None and lease.state is LeaseState.ACTIVE:
        return f"#{agreement.label} is kept"
    if agreement.firm or not agreement.label.isdigit():
        return "" if lease is not None and lease.state not in OVER else f"#{agreement.label} is over"
    request = draft.requests.get(int(agreement.label))
    if request is None:
        return "" if lease is not None and lease.state not in OVER else f"#{agreement.label} is over"
    if request.state is RequestState.WITHDRAWN:
        return f"#{agreement.label} is withdrawn"
    if request.state is RequestState.SERVED:
        return f"#{agreement.label} is over"
    if _needs_machine(request, lease) != agreement.machine:
        return f"#{agreement.label} is for another machine"
    again = request.state is RequestState.QUEUED and lease is not None and lease.state in OVER
    return f"#{agreement.label} is queued again" if again and lease and lease.changed >= agreement.made else ""


def _needs_machine(request: Request, lease: Lease | None) -> MachineId:
    return lease.machine if lease is not None and lease.state not in OVER else request.machine


def _purpose_reached(draft: Draft, agreement: Agreement) -> bool:
    """Whether it was given to take a card that works by now: the way home is agreed anew."""
    lease = draft.leases.get(agreement.label) if agreement.label else None
    return (
        lease is not None
        and lease.state is LeaseState.ACTIVE
        and lease.active_since is not None
        and agreement.made < lease.active_since
    )


def _waits_for_device(draft: Draft, agreement: Agreement) -> bool:
    """Whether a "now" of a receiver has not begun: its device is not clean yet, or was not when the window was counted."""
    if not agreement.now or not agreement.label.isdigit() or _skipped_now(agreement):
        return False
    lease = draft.leases.get(agreement.label)
    if lease is not None and lease.state not in OVER:
        late = (
            agreement.window is not None and lease.free_since is not None and agreement.window.end <= lease.free_since
        )
        return lease.state is LeaseState.RESERVED and (lease.free_since is None or late)
    request = draft.requests.get(int(agreement.label))
    return request is not None and request.state in (RequestState.QUEUED, RequestState.OFFERED)


def _forget(draft: Draft, agreement: Agreement) -> None:
    """Drop skips of occurrences that are long over, so that they do not pile up."""
    kept = tuple(
        skip
        for skip in agreement.skips
        if (window := skipped_window(agreement, skip)) is None or window.end > draft.now
    )
    if kept != agreement.skips:
        draft.put(replace(agreement, skips=kept))


def _skipped_now(agreement: Agreement) -> bool:
    return any(skipped_window(agreement, skip) for skip in agreement.skips)
