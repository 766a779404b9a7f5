"""Moves under way: what the last look and the outcome of the last call make of them.

Called by ``decide`` each round. One function a state; each writes the next state, or the next call, or nothing. Nothing waits here.
Past ``stopping`` a machine that we put off is never left off: nothing changed yet, then back; changed, then forward to power-on.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain.draft import Draft
from bot.domain.leases.common import under_way
from bot.domain.lifecycle import UNDER_WAY, On, step
from bot.domain.model import (
    BOT,
    Machine,
    Move,
    MoveState,
    Power,
)
from bot.domain.moves.alarm import watch
from bot.domain.moves.calls import forget_lost, journal, tell
from bot.domain.moves.changing import changing
from bot.domain.moves.common import Round, bar
from bot.domain.moves.hands import taken_up
from bot.domain.moves.starting import proving, starting, stuck
from bot.domain.moves.stopping import given_up, stopping
from bot.domain.moves.undoing import undoing


def settle(draft: Draft, ctx: Round) -> None:
    """Go on with every move under way."""
    for number in sorted(draft.moves):
        move = taken_up(draft, ctx, forget_lost(draft, draft.moves[number], ctx.run))
        if move.state is MoveState.PLANNED:
            machine = draft.machines.get(move.machine)
            if machine is None or machine.gone:
                step(draft, move, On.GONE, reason="the machine is gone")
                _owe(draft, machine, move)
            continue
        if move.state in UNDER_WAY:
            _under_way(draft, ctx, move)
        _stopped_late(draft, ctx, draft.moves[number])


LATE_STOP = timedelta(minutes=15)
"""So long after it was asked a power-off whose answer was lost may still be carried out."""


def _stopped_late(draft: Draft, ctx: Round, move: Move) -> None:
    """A power-off that was asked again came after all, when the machine was on again: it is off through us, and ``plan`` starts it."""
    machine = draft.machines.get(move.machine)
    over = move.state not in UNDER_WAY and move.on_at is not None
    if move.lost_stop is None or machine is None or not over:
        return
    if draft.now - move.lost_stop >= LATE_STOP:
        draft.put(replace(move, lost_stop=None))
    elif ctx.sight.power(move.machine) is Power.OFF and not under_way(draft, move.machine):
        draft.put(replace(move, lost_stop=None, stopped_late=True))
        draft.put(replace(machine, owed_on=draft.now))
        draft.log(
            BOT, "move.stopped_late", f"m{move.number}", "a shutdown whose answer was lost was carried out once more"
        )


def _under_way(draft: Draft, ctx: Round, move: Move) -> None:
    machine = draft.machines.get(move.machine)
    if machine is None or machine.gone:
        bar(draft, move, "the machine is gone")
        gone = step(draft, move, On.GONE, reason="the machine is gone", steps=journal(move, draft.now, "gone"))
        tell(draft, gone)
        _owe(draft, machine, move)
        return
    power = ctx.sight.power(move.machine)
    if power is not None:
        _go_on(draft, ctx, machine, move, power)
    elif move.state is MoveState.STOPPING:
        given_up(draft, move)
    watch(draft, ctx, machine, move.number)


def _owe(draft: Draft, machine: Machine | None, move: Move) -> None:
    """A machine that is gone while it is off through us, or was to be started: when it is back and still off, ``plan`` starts it."""
    if machine is not None and (move.was_on or move.wants_on) and move.on_at is None:
        draft.put(replace(machine, owed_on=move.off_at or move.shutdown_at or draft.now))


def _go_on(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """What the look makes of it."""
    match move.state:
        case MoveState.STOPPING:
            stopping(draft, ctx, machine, move, power)
        case MoveState.CHANGING:
            changing(draft, ctx, machine, move, power)
        case MoveState.STARTING:
            starting(draft, ctx, machine, move, power)
        case MoveState.PROVING:
            proving(draft, ctx, machine, move, power)
        case MoveState.UNDOING:
            undoing(draft, ctx, machine, move, power)
        case _:
            stuck(draft, ctx, move, power)
