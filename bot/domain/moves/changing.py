"""A machine that is off: what comes off, then what is put on if it is clean, then power back as it was found."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from bot.domain.away import at_old_address
from bot.domain.draft import Draft
from bot.domain.leases.common import taken_off
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    CallKind,
    Machine,
    Move,
    Outcome,
    Power,
    Wish,
    Work,
)
from bot.domain.moves.calls import call, in_flight, journal, tell, waits
from bot.domain.moves.common import (
    Round,
    asks,
    bar,
    blame,
    called_off,
    change,
    handed_already,
    live,
    moved_away,
    seen_changes,
    seen_since,
    there,
    undo,
)
from bot.domain.moves.hands import caught_up
from bot.domain.moves.starting import starting
from bot.domain.moves.undoing import undoing

NO_EFFECT = timedelta(seconds=30)
"""A change that vCenter answered well and no look shows is asked again after that."""


def changing(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """Off: what comes off, then what is put on if it is clean, then power back as it was found."""
    if power is Power.ON and (done := caught_up(draft, ctx, move)) is not None:
        starting(draft, ctx, machine, tell(draft, done), power)
        return
    if power is not Power.OFF:  # one that is suspended was started, too
        dropped = step(
            draft,
            move,
            On.SEEN_ON_EARLY,
            reason="somebody started it meanwhile",
            steps=journal(move, draft.now, "started_by_hand"),
        )
        bar(draft, move, "somebody started it meanwhile")
        tell(draft, dropped)
        return
    if in_flight(move, ctx.run) or not seen_since(draft, ctx, move):
        return
    if why := moved_away(draft, ctx, move):
        back = undo(draft, seen_changes(draft, ctx, move), On.WITHDRAWN, why)
        undoing(draft, ctx, draft.machines[move.machine], back, Power.OFF)
        return
    c = move.call
    if c is not None and c.kind is CallKind.CHANGE and c.outcome is Outcome.REFUSED:
        _refused_change(draft, move)
        return
    move = seen_changes(draft, ctx, move)
    takes = tuple(
        w
        for w in _live(draft, move, Work.TAKE)
        if there(draft, ctx, w) is True and not taken_off(move, w.label, w.slot)
    )
    puts = tuple(w for w in _live(draft, move, Work.PUT) if there(draft, ctx, w) is False or _names_old(draft, ctx, w))
    if takes or puts:
        if why := called_off(draft, move):
            _close_early(draft, ctx, move, why)
            return
        if takes:
            _ask_change(draft, ctx, move, (), takes)
            return
        clean = tuple(w for w in puts if ctx.sight.clean(w.slot) or there(draft, ctx, w) is True)
        whole = tuple(w for w in clean if {x.slot for x in puts if x.label == w.label} <= {x.slot for x in clean})
        if whole:
            _ask_change(draft, ctx, move, whole, ())
            return
        move = replace(move, left_out=(*move.left_out, *puts), wishes=tuple(w for w in move.wishes if w not in puts))
    read_back(draft, ctx, move)


def _names_old(draft: Draft, ctx: Round, wish: Wish) -> bool:
    """Whether an address that its card had before comes off with it, though it is there: somebody put it on anew, and left that."""
    return at_old_address(draft, ctx.sight, draft.leases[wish.label].machine, wish.slot)


def _live(draft: Draft, move: Move, work: Work) -> list[Wish]:
    """The wishes of a kind that still hold."""
    return [w for w in live(draft, move) if w.work is work]


def _close_early(draft: Draft, ctx: Round, move: Move, why: str) -> None:
    """The window is over or taken back while the machine is off: changed, then forward; nothing changed, then back."""
    if any(s.what in ("taken", "put") for s in move.steps):
        read_back(draft, ctx, replace(move, reason=why))
    else:
        back = undo(draft, move, On.WITHDRAWN, f"{why} before anything was changed")
        undoing(draft, ctx, draft.machines[move.machine], back, Power.OFF)


def _ask_change(draft: Draft, ctx: Round, move: Move, puts: tuple[Wish, ...], takes: tuple[Wish, ...]) -> None:
    """Write the change down; a conflict, a busy machine or a lost reply is decided anew like this, with pauses."""
    if not ctx.acting or waits(draft, move) or _no_effect_yet(draft, move, puts, takes):
        draft.put(move)
        return
    if puts:
        _remember_memory(draft, ctx, move)
    step(draft, move, asks(move), changed=move.changed, **change(draft, ctx, move, puts, takes))


def _no_effect_yet(draft: Draft, move: Move, puts: tuple[Wish, ...], takes: tuple[Wish, ...]) -> bool:
    """Whether the same change was answered well less than half a minute ago and only cannot be seen, or people were asked for it."""
    if handed_already(move, puts, takes):
        return True
    c = move.call
    same = (
        c is not None and c.kind is CallKind.CHANGE and c.outcome is Outcome.DONE and (c.puts, c.takes) == (puts, takes)
    )
    return same and c is not None and c.answered is not None and draft.now - c.answered < NO_EFFECT


def _remember_memory(draft: Draft, ctx: Round, move: Move) -> None:
    """Write down what the machine's memory settings are before its first card is put on, to go back to with the last one."""
    machine, seen = draft.machines[move.machine], ctx.sight.machine(move.machine)
    if seen is None or seen.cards or seen.unplaced:
        return
    # What is remembered of a card that came off while the answer was lost is old; a lock that is still there may be ours.
    if machine.lock_before is None or not seen.memory_locked:
        draft.put(replace(machine, reservation_before=seen.reservation_mb, lock_before=seen.memory_locked))


def _refused_change(draft: Draft, move: Move) -> None:
    """Refused for good: a card to blame goes aside; the way back."""
    c = move.call
    assert c is not None
    blame(draft, move, c.card, c.reason)
    back = step(
        draft, move, On.REFUSED, undo=True, reason=c.reason, steps=journal(move, draft.now, "refused", c.reason)
    )
    tell(draft, back)


def read_back(draft: Draft, ctx: Round, move: Move) -> None:
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
