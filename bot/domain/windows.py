"""Agreements: who said when a machine may be off, and what becomes of it.

Called by commands (agree, not now, take back) and by the round (settle). One owner's yes is enough; a "not now" beats every yes for that
occurrence, and only who said it can take it back. It calls no vCenter and moves nothing: it only says what is allowed.
When agreements hold is in ``occurrences``; its functions are offered here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.domain.draft import Draft
from bot.domain.errors import NotPossible, NotYours, TooLate
from bot.domain.hours import local
from bot.domain.lifecycle import UNDER_WAY, On, step
from bot.domain.model import (
    BOT,
    Agreement,
    AgreementKind,
    AgreementState,
    Lease,
    LeaseState,
    Machine,
    MachineId,
    Move,
    MoveState,
    Person,
    PersonId,
    Reading,
    Request,
    RequestState,
    Skip,
    Window,
)
from bot.domain.occurrences import (
    begin_by,
    next_night,
    next_window,
    now_window,
    occurrence,
    open_window,
    pattern_window,
    rebase_now,
    usual,
    works,
)
from bot.domain.policy import Policy
from bot.domain.times import Which, WindowWish, lasting_words

__all__ = [
    "agree",
    "begin_by",
    "firm_night",
    "next_night",
    "next_window",
    "not_now",
    "now_window",
    "objections",
    "occurrence",
    "open_window",
    "pattern_window",
    "rebase_now",
    "settle",
    "take_back_not_now",
    "use",
    "usual",
    "withdraw",
    "works",
]

BEFORE_OFF = frozenset({MoveState.PLANNED, MoveState.STOPPING})
"""Moves that still give way when their agreement is taken back."""


OVER = frozenset({LeaseState.ENDED, LeaseState.FAILED})
"""Leases that are over."""


# ---- what people say ----------------------------------------------------------------------------------------------


def agree(
    draft: Draft, machine: Machine, person: Person, wish: WindowWish, policy: Policy, label: str = ""
) -> Agreement | None:
    """Write an owner's word; None for "ask me first", which makes no agreement.

    The same person's open named agreement for the same machine and label is replaced, also by "ask me first"; a standing one replaces
    their standing one, so that nobody has agreed to more than they said last. One that a running power cycle uses is left alone.

    Raises NotYours, and NotPossible if the window is shorter than a restart usually takes.
    """
    if person.id not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    standing = wish.which is Which.STANDING
    label = "" if standing else label
    window = now_window(draft.now, policy) if wish.which is Which.NOW else _window_of(wish)
    takes = usual(machine, policy)
    if window and window.end - max(window.start, draft.now) < takes:
        raise NotPossible(what=wish.echo, why=f"a restart of {machine.name} takes about {lasting_words(takes)}")
    if standing and wish.pattern is None:
        raise ValueError("a standing wish without a pattern")
    kind = AgreementKind.STANDING if standing else AgreementKind.NAMED
    for old in _open_of(draft, machine.uuid):
        if (old.person, old.kind, old.label) == (person.id, kind, label) and not old.firm and not _in_use(draft, old):
            step(draft, old, On.TAKEN_BACK, by=person.id, why=f"replaced by: {wish.echo}")
    if wish.which is Which.ASK:
        return None
    made = Agreement(
        number=draft.number("agreement"),
        machine=machine.uuid,
        person=person.id,
        kind=kind,
        made=draft.now,
        window=window,
        pattern=wish.pattern if standing else None,
        now=wish.which is Which.NOW,
        when_done=wish.which is Which.WHEN_DONE,
        label=label,
        hard=wish.hard,
        even_if_busy=wish.even_if_busy,
    )
    made = replace(made, skips=objections(draft, made, policy))
    return _open(draft, made, On.AGREE, f"{machine.name}: {wish.echo}" + (f", for #{label}" if label else ""))


def objections(draft: Draft, agreement: Agreement, policy: Policy) -> tuple[Skip, ...]:
    """The "not now" of other people that already stand against an agreement's next occurrence: they beat a later yes too."""
    machine = draft.machines[agreement.machine]
    window = occurrence(replace(agreement, skips=()), draft.now, policy, usual(machine, policy))
    if window is None:
        return ()
    said = {
        skip.by
        for other in _open_of(draft, agreement.machine)
        for skip in other.skips
        if skip.by not in (BOT, agreement.person) and (skipped := _skipped(other, skip)) and _overlap(skipped, window)
    }
    return tuple(Skip(window.start, by) for by in sorted(said))


def withdraw(draft: Draft, agreement: Agreement, by: PersonId, why: str = "") -> Agreement:
    """An owner (any of the machine) takes an agreement back; for a standing one this ends all its occurrences.

    Raises NotYours; NotPossible for one that is by the terms; TooLate once the machine was seen off under it, or it is over.
    """
    machine = draft.machines.get(agreement.machine)
    if by != BOT and machine is not None and by not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    if agreement.state is not AgreementState.OPEN:
        raise TooLate(state=agreement.state.value, number=agreement.number, why="it is over")
    if by != BOT and agreement.firm:
        raise NotPossible(what="window", why="it is agreed by the terms, because others wait")
    move = _move_of(draft, agreement)
    if by != BOT and move is not None and move.state not in BEFORE_OFF:
        raise TooLate(
            state=move.state.value, number=move.number, why="the machine is off already and goes on to power-on"
        )
    return step(draft, agreement, On.TAKEN_BACK, by=by, why=why)


def not_now(draft: Draft, machine: Machine, by: PersonId, policy: Policy) -> tuple[Agreement, ...]:
    """An owner says "not now": the machine's current or next window is not used, nor any other that overlaps its beginning.

    That is: of each open agreement, the occurrence that begins before the soonest one is over. A named one-time window is skipped whole,
    a standing one this once; one by the terms is not skipped. Returns the agreements as they are now; empty if there was nothing to skip.
    Raises NotYours.
    """
    if by not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    takes = usual(machine, policy)
    coming = [
        (agreement, window)
        for agreement in _open_of(draft, machine.uuid)
        if not agreement.firm and (window := occurrence(agreement, draft.now, policy, takes))
    ]
    fresh = [window for agreement, window in coming if draft.now <= begin_by(agreement, window, takes, policy)]
    if not coming:
        return ()
    soonest = min(fresh or [window for _, window in coming], key=lambda window: window.start)
    return tuple(
        step(
            draft,
            agreement,
            On.SKIPPED,
            by=by,
            why=f"not now: {machine.name}",
            skips=(*agreement.skips, Skip(window.start, by)),
        )
        for agreement, window in coming
        if window.start < soonest.end
    )


def take_back_not_now(draft: Draft, machine: Machine, by: PersonId) -> tuple[Agreement, ...]:
    """Take back one's own "not now" of occurrences that are not over. Returns the agreements that changed; another's stays."""
    changed = []
    for agreement in _open_of(draft, machine.uuid):
        kept = tuple(
            skip
            for skip in agreement.skips
            if skip.by != by or (window := _skipped(agreement, skip)) is None or window.end <= draft.now
        )
        if kept != agreement.skips:
            changed.append(
                step(draft, agreement, On.CHANGED, by=by, why=f"not now taken back: {machine.name}", skips=kept)
            )
    return tuple(changed)


# ---- by the terms -------------------------------------------------------------------------------------------------


def firm_night(draft: Draft, machine: Machine, person_zone: str, policy: Policy, label: str) -> Agreement:
    """The machine's next night that has not begun, agreed by the terms: "not now" does not skip it. Asked again, the same one."""
    for agreement in _open_of(draft, machine.uuid):
        if agreement.firm and agreement.label == label and agreement.window and agreement.window.end > draft.now:
            return agreement
    takes = usual(machine, policy)
    window = next_night(draft.now + policy.last_call, person_zone, policy)
    if window.end - window.start < takes:  # a clock change made it short
        window = next_night(window.end, person_zone, policy)
    made = Agreement(
        number=draft.number("agreement"),
        machine=machine.uuid,
        person=BOT,
        kind=AgreementKind.NAMED,
        made=draft.now,
        window=window,
        label=label,
        firm=True,
    )
    return _open(draft, made, On.BY_TERMS, f"{machine.name}: next night, by the terms of #{label}")


# ---- what the round settles ---------------------------------------------------------------------------------------


def use(draft: Draft, agreement: Agreement, why: str = "") -> Agreement:
    """The power cycle of a one-time agreement is done, or its time is over. A standing one stays open."""
    return step(draft, agreement, On.USED, why=why) if agreement.kind is AgreementKind.NAMED else agreement


def settle(draft: Draft, readings: Mapping[MachineId, Reading], policy: Policy) -> None:
    """Bring all open agreements up to date: lost ground, reached purpose, time over, and `when done`."""
    for agreement in sorted(draft.agreements.values(), key=lambda a: a.number):
        if agreement.state is AgreementState.OPEN:
            _settle_one(draft, agreement, readings.get(agreement.machine), policy)


def _settle_one(draft: Draft, agreement: Agreement, reading: Reading | None, policy: Policy) -> None:
    machine = draft.machines.get(agreement.machine)
    if machine is None:
        step(draft, agreement, On.TAKEN_BACK, why="the machine is no longer registered")
    elif agreement.person != BOT and agreement.person not in machine.owners:
        step(draft, agreement, On.NO_OWNER, why="who gave it is no longer an owner")
    elif agreement.kind is AgreementKind.STANDING:
        _forget(draft, agreement)
    elif _in_use(draft, agreement):
        return  # the power cycle goes by the window that it fixed
    elif any(m.agreement == agreement.number and m.state is MoveState.DONE for m in draft.moves.values()):
        use(draft, agreement, "its power cycle is done")
    elif lost := _ground_lost(draft, agreement):
        step(draft, agreement, On.QUEUED_AGAIN, why=lost)
    elif _purpose_reached(draft, agreement):
        use(draft, agreement, "the card works")
    elif agreement.when_done:
        _when_done(draft, agreement, reading, policy)
    elif agreement.window is not None and agreement.window.end <= draft.now and not _waits_for_device(draft, agreement):
        use(draft, agreement, "its time is over")


def _when_done(draft: Draft, agreement: Agreement, reading: Reading | None, policy: Policy) -> None:
    """Open it when the guest has reported nothing running for long enough; close it again if work begins before the restart."""
    now, window = draft.now, agreement.window
    fresh = reading is not None and now - reading.at <= policy.reading_stale and not reading.stopping
    free = reading.free_since if reading is not None and fresh else None
    if window is None:
        if free is not None and now - free >= policy.done_quiet:
            opened = replace(agreement, window=now_window(now, policy))
            why = f"nothing has run for {lasting_words(now - free)}"
            skips = (*agreement.skips, *objections(draft, opened, policy))
            step(draft, agreement, On.OPENED, why=why, window=opened.window, skips=skips)
    elif window.end <= now:
        use(draft, agreement, "its time is over")
    elif fresh and free is None and not agreement.skips:
        step(draft, agreement, On.CHANGED, why="work began again: waits for its end", window=None)


def _ground_lost(draft: Draft, agreement: Agreement) -> str:
    """Why the request or lease that an agreement was given for no longer needs it; "" while it does."""
    if not agreement.label:
        return ""
    lease = draft.leases.get(agreement.label)
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
        skip for skip in agreement.skips if (window := _skipped(agreement, skip)) is None or window.end > draft.now
    )
    if kept != agreement.skips:
        draft.put(replace(agreement, skips=kept))


# ---- small questions ----------------------------------------------------------------------------------------------


def _open(draft: Draft, agreement: Agreement, event: On, why: str) -> Agreement:
    """Write a new agreement."""
    return step(draft, agreement, event, by=agreement.person, why=why, new=True)


def _open_of(draft: Draft, machine: MachineId) -> list[Agreement]:
    found = [a for a in draft.agreements.values() if a.machine == machine and a.state is AgreementState.OPEN]
    return sorted(found, key=lambda a: a.number)


def _window_of(wish: WindowWish) -> Window | None:
    """The fixed window of a named wish; None for the others."""
    if wish.which in (Which.WHEN_DONE, Which.STANDING, Which.ASK):
        return None
    if wish.start is None or wish.end is None:
        raise ValueError("a named wish without a window")
    return Window(wish.start, wish.end)


def _skipped(agreement: Agreement, skip: Skip) -> Window | None:
    """The occurrence that a skip is about; None if the agreement has none that begins then."""
    if agreement.pattern is None:
        window = agreement.window
        return window if window is not None and window.start == skip.start else None
    window = pattern_window(agreement.pattern, local(skip.start, agreement.pattern.zone).date())
    return window if window.start == skip.start else None


def _skipped_now(agreement: Agreement) -> bool:
    return any(_skipped(agreement, skip) for skip in agreement.skips)


def _overlap(one: Window, other: Window) -> bool:
    return one.start < other.end and other.start < one.end


def _move_of(draft: Draft, agreement: Agreement) -> Move | None:
    """The move that is under way in an agreement's window."""
    return next(
        (m for m in draft.moves.values() if m.agreement == agreement.number and m.state in UNDER_WAY),
        None,
    )


def _in_use(draft: Draft, agreement: Agreement) -> bool:
    return _move_of(draft, agreement) is not None
