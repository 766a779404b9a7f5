"""Moves under way: what the last look and the outcome of the last call make of them.

Called by ``decide`` each round. One function a state; each writes the next state, or the next call, or nothing. Nothing waits here.
Past ``stopping`` a machine that we put off is never left off: nothing changed yet, then back; changed, then forward to power-on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain import windows
from bot.domain.draft import Draft
from bot.domain.leases.settle import ask_window, fresh
from bot.domain.lifecycle import OPEN_LEASE, UNDER_WAY, On, step
from bot.domain.model import (
    BOT,
    AgreementKind,
    AgreementState,
    AsideWhy,
    CallKind,
    LeaseState,
    Machine,
    Move,
    MoveState,
    Outcome,
    Power,
    Skip,
    SlotId,
    Wish,
    Work,
)
from bot.domain.moves.calls import call, forget_lost, in_flight, journal, tell, waits
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.pool import set_aside
from bot.domain.sight import Sight

PAUSES = (
    timedelta(seconds=30),
    timedelta(minutes=1),
    timedelta(minutes=2),
    timedelta(minutes=5),
    timedelta(minutes=10),
)
"""Growing pauses between asking again."""


@dataclass(frozen=True)
class Round:
    """What settling needs besides the draft."""

    sight: Sight
    policy: Policy
    run: str
    acting: bool  # whether calls may be written now


def settle(draft: Draft, ctx: Round) -> None:
    """Go on with every move under way."""
    for number in sorted(draft.moves):
        move = forget_lost(draft, draft.moves[number], ctx.run)
        if move.state is MoveState.PLANNED:
            machine = draft.machines.get(move.machine)
            if machine is None or machine.gone:
                step(draft, move, On.GONE, reason="the machine is gone")
            continue
        if move.state in UNDER_WAY:
            _under_way(draft, ctx, move)


def _under_way(draft: Draft, ctx: Round, move: Move) -> None:
    machine = draft.machines.get(move.machine)
    if machine is None or machine.gone:
        gone = step(draft, move, On.GONE, reason="the machine is gone", steps=journal(move, draft.now, "gone"))
        tell(draft, gone)
        return
    power = ctx.sight.power(move.machine)
    if power is None:
        return
    match move.state:
        case MoveState.STOPPING:
            _stopping(draft, ctx, machine, move, power)
        case MoveState.CHANGING:
            _changing(draft, ctx, machine, move, power)
        case MoveState.STARTING:
            _starting(draft, ctx, machine, move, power)
        case MoveState.PROVING:
            _proving(draft, ctx, machine, move, power)
        case MoveState.UNDOING:
            _undoing(draft, ctx, machine, move, power)
        case _:
            _stuck(draft, ctx, move, power)


def _again_at(move: Move) -> timedelta:
    return PAUSES[min(move.calls, len(PAUSES) - 1)]


# ---- stopping -----------------------------------------------------------------------------------------------------


def _stopping(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """The shutdown was asked: seen off, taken back, hanging, or lost."""
    if power is Power.OFF:
        steps = journal(move, draft.now, "off")
        _go_changing(draft, ctx, step(draft, move, On.SEEN_OFF, off_at=draft.now, steps=steps))
        return
    if move.shutdown_at is not None and ctx.sight.started_after(move.machine, move.shutdown_at):
        _started_by_hand(draft, machine, move)
        return
    agreement = draft.agreements.get(move.agreement or 0)
    allowed = agreement is not None and agreement.state is AgreementState.OPEN
    inside = move.window is not None and move.window.holds(draft.now)
    skipped = agreement is not None and any(move.window and s.start == move.window.start for s in agreement.skips)
    if not allowed or not inside or skipped:
        why = "not now was said" if skipped or not allowed else "the agreed time is over"
        _undo(draft, move, On.WITHDRAWN, f"{why} before the machine was off")
        return
    if in_flight(move, ctx.run):
        return
    c = move.call
    late = draft.now - _asked_last(move) >= ctx.policy.guest_shutdown
    if c is not None and c.outcome is Outcome.REFUSED and (late or not _asked_before(move)):
        undone = _undo(draft, move, On.REFUSED, c.reason)
        _tell_owners(draft, machine, NewsKind.GUEST_HANGS, undone, c.reason)
    elif c is not None and c.outcome is Outcome.AGAIN:
        # Nobody knows whether the guest heard it: the time that it may take counts from the next asking.
        if ctx.acting and not waits(draft, move) and _fresh(draft, ctx, move):
            step(draft, move, On.AGAIN, why="asked again", changed=move.changed, **call(draft, move, c.kind, ctx.run))
    elif late:
        _hangs(draft, ctx, machine, move, hard=agreement is not None and agreement.hard)


def _asked_last(move: Move) -> datetime:
    """When the guest was last asked to stop, as far as this move knows."""
    c = move.call
    first = move.shutdown_at or move.changed
    return max(first, c.asked) if c is not None and c.kind is CallKind.SHUTDOWN else first


def _asked_before(move: Move) -> bool:
    """Whether the last shutdown call repeats one whose answer was lost: the guest may be stopping, so a refusal says little."""
    return _asked_last(move) != (move.shutdown_at or move.changed)


def _hangs(draft: Draft, ctx: Round, machine: Machine, move: Move, *, hard: bool) -> None:
    """Not off in time: a hard stop if that was agreed beforehand, else the way back."""
    c = move.call
    if hard:
        asked = c is not None and c.kind is CallKind.HARD_STOP and c.outcome in (Outcome.ASKED, Outcome.DONE)
        if ctx.acting and not asked and not (c and c.kind is CallKind.HARD_STOP and waits(draft, move)):
            steps = journal(move, draft.now, "hard_stop")
            step(
                draft,
                move,
                On.HARD,
                steps=steps,
                changed=move.changed,
                **call(draft, move, CallKind.HARD_STOP, ctx.run),
            )
        return
    undone = _undo(draft, move, On.HANGS, "the guest did not shut down in time")
    _tell_owners(draft, machine, NewsKind.GUEST_HANGS, undone, "it did not shut down within 5 minutes")


def _started_by_hand(draft: Draft, machine: Machine, move: Move) -> None:
    """Somebody wants it on: "not now" for this window, wishes planned anew, no second shutdown in it."""
    why = "somebody started it again"
    _bar(draft, move, why)
    dropped = step(draft, move, On.STARTED_BY_HAND, reason=why, steps=journal(move, draft.now, "started_by_hand"))
    tell(draft, dropped)
    _tell_owners(draft, machine, NewsKind.NOT_NOW, dropped, why)


def _bar(draft: Draft, move: Move, why: str) -> None:
    """The window that this move used is not used again: a named one is over, of a standing one this occurrence is skipped."""
    agreement = draft.agreements.get(move.agreement or 0)
    if agreement is None or agreement.state is not AgreementState.OPEN or move.window is None:
        return
    if agreement.kind is AgreementKind.NAMED:
        windows.use(draft, agreement, why)
    else:
        skips = (*agreement.skips, Skip(move.window.start, BOT))
        step(draft, agreement, On.SKIPPED, why=why, skips=skips)


def _undo(draft: Draft, move: Move, event: On, why: str) -> Move:
    """A shutdown cannot be called back: on again as soon as it is off, nothing changed."""
    undone = step(draft, move, event, undo=True, reason=why, steps=journal(move, draft.now, "undoing", why))
    return tell(draft, undone)


def _tell_owners(draft: Draft, machine: Machine, kind: NewsKind, move: Move, why: str) -> None:
    for to in (*machine.owners, ADMINS):
        once = f"{move.number}:{move.state}:{move.calls}"
        draft.tell(News(kind, to, once=once, move=move, machine=machine, reason=why))


# ---- changing -----------------------------------------------------------------------------------------------------


def _live(draft: Draft, move: Move, work: Work) -> list[Wish]:
    """The wishes of a kind that still hold: a lease that ended meanwhile wants nothing, one that returns wants its device off."""
    found = []
    for wish in move.wishes:
        lease = draft.leases.get(wish.label)
        if lease is None or lease.state not in OPEN_LEASE or wish.slot not in lease.slots:
            continue
        now_work = Work.TAKE if lease.state is LeaseState.RETURNING else wish.work
        if now_work is work and not (work is Work.PUT and lease.state is not LeaseState.MOVING):
            found.append(replace(wish, work=now_work))
    return found


def _go_changing(draft: Draft, ctx: Round, move: Move) -> None:
    """Just seen off: tell it, and look at once what is to be changed."""
    tell(draft, move)
    machine = draft.machines[move.machine]
    _changing(draft, ctx, machine, move, Power.OFF)


def _changing(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """Off: what comes off, then what is put on if it is clean, then power back as it was found."""
    if power is Power.ON:
        dropped = step(
            draft,
            move,
            On.SEEN_ON_EARLY,
            reason="somebody started it meanwhile",
            steps=journal(move, draft.now, "started_by_hand"),
        )
        _bar(draft, move, "somebody started it meanwhile")
        tell(draft, dropped)
        return
    if power is not Power.OFF or in_flight(move, ctx.run) or not _fresh(draft, ctx, move):
        return
    c = move.call
    if c is not None and c.kind is CallKind.CHANGE and c.outcome is Outcome.REFUSED:
        _refused_change(draft, move)
        return
    takes = tuple(w for w in _live(draft, move, Work.TAKE) if _there(draft, ctx, w) is True)
    puts = tuple(w for w in _live(draft, move, Work.PUT) if _there(draft, ctx, w) is False)
    move = _seen_changes(draft, ctx, move)
    if takes or puts:
        if _must_close(draft, move):
            _close_early(draft, ctx, move, bool(_done_something(move)))
            return
        if takes:
            _ask_change(draft, ctx, move, (), takes)
            return
        clean = tuple(w for w in puts if ctx.sight.clean(draft.cards[w.slot]))
        whole = tuple(w for w in clean if {x.slot for x in puts if x.label == w.label} <= {x.slot for x in clean})
        if whole:
            _ask_change(draft, ctx, move, whole, ())
            return
        move = replace(move, left_out=(*move.left_out, *puts), wishes=tuple(w for w in move.wishes if w not in puts))
    _read_back(draft, ctx, move)


def _fresh(draft: Draft, ctx: Round, move: Move) -> bool:
    """Whether the look began after the last call was answered."""
    return fresh(draft, ctx.sight, move.machine)


def _there(draft: Draft, ctx: Round, wish: Wish) -> bool | None:
    return ctx.sight.there(draft.cards[wish.slot], draft.leases[wish.label].machine)


def _must_close(draft: Draft, move: Move) -> bool:
    """Whether nothing more may be changed: the window is over or taken back. A machine found off needs no window."""
    if not move.was_on or move.window is None:
        return False
    agreement = draft.agreements.get(move.agreement or 0)
    # One that was taken back in an earlier transaction is not among the open ones any more.
    withdrawn = move.agreement is not None and (agreement is None or agreement.state is AgreementState.WITHDRAWN)
    return withdrawn or draft.now >= move.window.end


def _done_something(move: Move) -> tuple[str, ...]:
    return tuple(s.what for s in move.steps if s.what in ("taken", "put"))


def _close_early(draft: Draft, ctx: Round, move: Move, changed: bool) -> None:
    """The window is over while the machine is off: changed, then forward; nothing changed, then back."""
    if changed:
        _read_back(draft, ctx, replace(move, reason="the agreed time was over"))
    else:
        back = _undo(draft, move, On.WITHDRAWN, "the agreed time was over before anything was changed")
        _undoing(draft, ctx, draft.machines[move.machine], back, Power.OFF)


def _seen_changes(draft: Draft, ctx: Round, move: Move) -> Move:
    """Write into the journal what the look shows of the last change."""
    c = move.call
    if c is None or c.kind is not CallKind.CHANGE:
        return move
    taken = tuple(w for w in c.takes if _there(draft, ctx, w) is False)
    put = tuple(w for w in c.puts if _there(draft, ctx, w) is True)
    steps = move.steps
    for what, done in (("taken", taken), ("put", put)):
        detail = " ".join(f"{w.label} {w.slot}" for w in done)
        if done and not any(s.what == what and s.detail == detail for s in steps):
            steps = journal(replace(move, steps=steps), draft.now, what, detail)
    if steps == move.steps:
        return move
    move = replace(move, steps=steps)
    draft.put(move)
    return tell(draft, move)


def _ask_change(draft: Draft, ctx: Round, move: Move, puts: tuple[Wish, ...], takes: tuple[Wish, ...]) -> None:
    """Write the change down; a conflict, a busy machine or a lost reply is decided anew like this, with pauses."""
    if not ctx.acting or waits(draft, move):
        draft.put(move)
        return
    if puts:
        _remember_memory(draft, ctx, move)
    step(draft, move, On.CHANGE, changed=move.changed, **call(draft, move, CallKind.CHANGE, ctx.run, puts, takes))


def _remember_memory(draft: Draft, ctx: Round, move: Move) -> None:
    """Write down what the machine's memory settings are before its first card is put on, to go back to with the last one."""
    machine, seen = draft.machines[move.machine], ctx.sight.machine(move.machine)
    if machine.lock_before is None and seen is not None and not seen.cards:
        draft.put(replace(machine, reservation_before=seen.reservation_mb, lock_before=seen.memory_locked))


def _refused_change(draft: Draft, move: Move) -> None:
    """Refused for good: a card to blame goes aside; the way back."""
    c = move.call
    assert c is not None
    _blame(draft, move, c.card, c.reason)
    back = step(
        draft, move, On.REFUSED, undo=True, reason=c.reason, steps=journal(move, draft.now, "refused", c.reason)
    )
    tell(draft, back)


def _blame(draft: Draft, move: Move, pci: str, why: str) -> None:
    """Set the card aside that a refusal names, if it is one of this move's."""
    slots: set[SlotId] = {w.slot for w in move.wishes}
    for slot in slots:
        if pci and draft.cards[slot].pci == pci:
            set_aside(draft, draft.cards[slot], AsideWhy.QUARANTINED, why)


def _read_back(draft: Draft, ctx: Round, move: Move) -> None:
    """All read back: on again if it was on, or if its owner wants it on."""
    if move.was_on or move.wants_on:
        if not ctx.acting:
            draft.put(move)
            return
        fields: dict[str, Any] = {"wishes": move.wishes, "left_out": move.left_out, "reason": move.reason}
        steps = journal(move, draft.now, "starting")
        on = step(draft, move, On.READ_BACK, steps=steps, **fields, **call(draft, move, CallKind.POWER_ON, ctx.run))
        tell(draft, on)
        return
    done = step(draft, move, On.READ_BACK_OFF, steps=journal(move, draft.now, "done_off"))
    tell(draft, done)


# ---- starting, proving --------------------------------------------------------------------------------------------


def _starting(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """Power-on asked: seen on, refused, or asked again."""
    if power is Power.ON:
        if move.off_at is not None:
            lasted = draft.now - (move.shutdown_at or move.off_at)
            if move.was_on and not move.undo and lasted <= ctx.policy.late_off:  # longer is an outage, not a restart
                seconds = max(1, round(lasted.total_seconds()))
                draft.put(replace(machine, durations_s=(*machine.durations_s, seconds)[-10:]))
        on = step(draft, move, On.SEEN_ON, on_at=draft.now, steps=journal(move, draft.now, "on"))
        tell(draft, on)
        _proving(draft, ctx, draft.machines[move.machine], on, power)
        return
    if in_flight(move, ctx.run):
        return
    c = move.call
    if c is not None and c.kind is CallKind.POWER_ON and c.outcome is Outcome.REFUSED:
        _start_refused(draft, ctx, machine, move, c.reason, c.card)
    elif ctx.acting and _may_ask_on(draft, ctx, move):
        step(draft, move, On.AGAIN, changed=move.changed, **call(draft, move, CallKind.POWER_ON, ctx.run))


def _may_ask_on(draft: Draft, ctx: Round, move: Move) -> bool:
    """Whether the power-on is to be asked (again): never asked, lost, to be repeated, or without effect for a minute."""
    c = move.call
    if c is None or c.kind is not CallKind.POWER_ON:
        return True
    if c.outcome is Outcome.AGAIN:
        return not waits(draft, move) and _fresh(draft, ctx, move)
    return (
        c.answered is not None
        and draft.now - c.answered >= timedelta(minutes=1)
        and fresh(draft, ctx.sight, move.machine)
    )


def _start_refused(draft: Draft, ctx: Round, machine: Machine, move: Move, why: str, pci: str) -> None:
    """With something put on, that comes off again; with nothing put on, a person is needed at once."""
    put = [w for w in move.wishes if w.work is Work.PUT and _there(draft, ctx, w) is True]
    if put:
        _blame(draft, move, pci, why)
        back = step(
            draft, move, On.START_REFUSED, undo=True, reason=why, steps=journal(move, draft.now, "start_refused", why)
        )
        tell(draft, back)
        return
    stuck = step(draft, move, On.START_REFUSED_BARE, reason=why, steps=journal(move, draft.now, "stuck", why))
    tell(draft, stuck)
    for to in (*machine.owners, ADMINS):
        draft.tell(News(NewsKind.STUCK, to, once=f"{move.number}", move=stuck, machine=machine, reason=why))


def _proving(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """On: done when what was put on is proven (its lease's own table says how), or nothing was put on."""
    if power is not Power.ON:
        _finish(draft, ctx, move, On.OFF_AGAIN)
        return
    puts = [w for w in move.wishes if w.work is Work.PUT]
    open_puts = [w for w in puts if (x := draft.leases.get(w.label)) and x.state is LeaseState.MOVING]
    if not open_puts or move.undo:
        _finish(draft, ctx, move, On.PROOF)
    elif move.on_at is not None and draft.now - move.on_at >= ctx.policy.seen_in_guest:
        bound = all(ctx.sight.works_on(draft.cards[w.slot], move.machine) for w in open_puts)
        _finish(draft, ctx, move, On.PROOF if bound else On.NOT_BOUND)


def _finish(draft: Draft, ctx: Round, move: Move, event: On) -> None:
    """The power cycle is over: its agreement is used, and those who wait for another one are asked."""
    agreement = draft.agreements.get(move.agreement or 0)
    if agreement is not None and agreement.state is AgreementState.OPEN and agreement.kind is AgreementKind.NAMED:
        windows.use(draft, agreement, f"m{move.number}")
    elif move.undo:
        _bar(draft, move, move.reason)
    seen = [w for w in move.wishes if w.work is Work.PUT and draft.leases.get(w.label, None)]
    what = "undone" if move.undo else "done"
    detail = " ".join(w.slot for w in seen)
    done = step(draft, move, event, steps=journal(move, draft.now, what, detail))
    tell(draft, done)
    if move.undo:
        _went_back(draft, done)


def _went_back(draft: Draft, move: Move) -> None:
    """Tell the owners that everything is as before, and ask whoever still wants a change for another window."""
    machine = draft.machines[move.machine]
    for to in machine.owners:
        draft.tell(
            News(NewsKind.UNDONE, to, key=f"undone:{move.number}", move=move, machine=machine, reason=move.reason)
        )
    for label in sorted({w.label for w in move.wishes}):
        lease = draft.leases.get(label)
        if lease is not None and lease.state is LeaseState.RETURNING:
            draft.put(step(draft, lease, On.ASK_AGAIN, why=move.reason, changed=lease.changed))
            ask_window(draft, lease, move.reason)


# ---- the way back -------------------------------------------------------------------------------------------------


def _undoing(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """Off: what was put on comes off, then power-on. Still on: wait for a late power-off for two hours."""
    if power is Power.OFF:
        _undo_off(draft, ctx, machine, move)
        return
    if power is not Power.ON or in_flight(move, ctx.run):
        return
    since = move.shutdown_at or move.changed
    if move.off_at is not None or ctx.sight.started_after(move.machine, since):
        _bar(draft, move, move.reason)
        dropped = step(
            draft, move, On.STARTED_BY_HAND, reason=move.reason, steps=journal(move, draft.now, "started_by_hand")
        )
        tell(draft, dropped)
    elif ctx.acting and (found := _new_window(draft, ctx, machine, move)) is not None:
        again = step(draft, move, On.NEW_WINDOW, undo=False, reason="", shutdown_at=draft.now, **found)
        tell(draft, replace(again, steps=journal(again, draft.now, "stopping")))
    elif draft.now - max(since, _asked_last(move)) >= ctx.policy.late_off or _never_asked(move):
        _bar(draft, move, move.reason)
        dropped = step(draft, move, On.LATE, reason=move.reason, steps=journal(move, draft.now, "dropped", move.reason))
        tell(draft, dropped)
        _went_back(draft, dropped)


def _never_asked(move: Move) -> bool:
    """Whether the guest was never asked to stop: the call was refused, so no late power-off can be ours."""
    c = move.call
    refused = c is not None and c.kind is CallKind.SHUTDOWN and c.outcome is Outcome.REFUSED
    return refused and not _asked_before(move)


def _new_window(draft: Draft, ctx: Round, machine: Machine, move: Move) -> dict[str, Any] | None:
    """An owner agreed anew, after we gave up: the fields that ask for the shutdown again (a hard stop if agreed)."""
    usual = windows.usual(machine, ctx.policy)
    newer = [
        a
        for a in draft.agreements.values()
        if a.machine == machine.uuid and a.state is AgreementState.OPEN and a.made > move.changed
    ]
    found = windows.open_window(newer, machine.uuid, draft.now, usual, ctx.policy)
    if found is None:
        return None
    agreement, window = found
    return {"agreement": agreement.number, "window": window, **call(draft, move, CallKind.SHUTDOWN, ctx.run)}


def _undo_off(draft: Draft, ctx: Round, machine: Machine, move: Move) -> None:
    """Off on the way back: what this cycle put on comes off again, then power as it was found."""
    if move.off_at is None:
        move = replace(move, off_at=draft.now, steps=journal(move, draft.now, "off"))
        draft.put(move)
    if in_flight(move, ctx.run) or not _fresh(draft, ctx, move):
        return
    c = move.call
    put = tuple(
        replace(w, work=Work.TAKE)
        for w in move.wishes
        if w.work is Work.PUT and _there(draft, ctx, w) is True and _ours(draft, w)
    )
    if put:
        if c is not None and c.kind is CallKind.CHANGE and c.outcome is Outcome.REFUSED and c.takes:
            stuck = step(draft, move, On.REFUSED, reason=c.reason, steps=journal(move, draft.now, "stuck", c.reason))
            tell(draft, stuck)
            for to in (*machine.owners, ADMINS):
                draft.tell(
                    News(NewsKind.STUCK, to, once=f"{move.number}", move=stuck, machine=machine, reason=c.reason)
                )
        elif ctx.acting and not waits(draft, move):
            step(draft, move, On.CHANGE, changed=move.changed, **call(draft, move, CallKind.CHANGE, ctx.run, (), put))
        return
    move = _seen_changes(draft, ctx, move)
    if not (move.was_on or move.wants_on):
        dropped = step(draft, move, On.UNDONE_OFF, steps=journal(move, draft.now, "undone"))
        tell(draft, dropped)
        _went_back(draft, dropped)
    elif ctx.acting:
        steps = journal(move, draft.now, "starting")
        tell(draft, step(draft, move, On.UNDONE, steps=steps, **call(draft, move, CallKind.POWER_ON, ctx.run)))


def _ours(draft: Draft, wish: Wish) -> bool:
    """Whether a device on the machine was put there by this cycle: its lease never became active."""
    lease = draft.leases.get(wish.label)
    return lease is not None and lease.active_since is None


def _stuck(draft: Draft, ctx: Round, move: Move, power: Power) -> None:
    """Power-on asked again with growing pauses, without end; seen on, it is mended."""
    if power is Power.ON:
        tell(draft, step(draft, move, On.MENDED, reason=move.reason, steps=journal(move, draft.now, "on")))
        return
    if in_flight(move, ctx.run) or not ctx.acting:
        return
    c = move.call
    asked: datetime = c.answered or c.asked if c is not None else move.changed
    if draft.now - asked >= _again_at(move):
        step(draft, move, On.AGAIN, changed=move.changed, **call(draft, move, CallKind.POWER_ON, ctx.run))
