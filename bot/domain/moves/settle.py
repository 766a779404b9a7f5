"""Moves under way: what the last look and the outcome of the last call make of them.

Called by ``decide`` each round. One function a state; each writes the next state, or the next call, or nothing. Nothing waits here.
Past ``stopping`` a machine that we put off is never left off: nothing changed yet, then back; changed, then forward to power-on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.domain.away import at_old_address, names_lost
from bot.domain.draft import Draft
from bot.domain.leases.common import under_way
from bot.domain.lifecycle import OPEN_LEASE, UNDER_WAY, On, step
from bot.domain.model import (
    BOT,
    LeaseState,
    Machine,
    Move,
    MoveState,
    Power,
    Wish,
)
from bot.domain.moves.alarm import watch
from bot.domain.moves.calls import forget_lost, in_flight, journal, tell
from bot.domain.moves.changing import changing
from bot.domain.moves.common import (
    ANEW,
    OUT_FIRST,
    RENUMBERED,
    Round,
    bar,
    live,
    move_before,
    ours_there,
    seen_since,
    sits,
)
from bot.domain.moves.hands import taken_up
from bot.domain.moves.plan import ready
from bot.domain.moves.starting import proving, starting, stuck, to_be_on
from bot.domain.moves.stopping import given_up, stopping
from bot.domain.moves.undoing import undoing
from bot.domain.shelves import leases_of


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
    power = ctx.sight.power(move.machine)
    if draft.now - move.lost_stop >= LATE_STOP and power is Power.ON:
        # Only seen on is it over: the bot may have been away all the while.
        draft.put(replace(move, lost_stop=None))
    elif power is Power.OFF and not under_way(draft, move.machine):
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
    if power is Power.OFF and _names_old_addresses(draft, ctx, move):
        _anew(draft, machine, move, On.RENUMBERED, RENUMBERED)
    elif power is Power.OFF and _gives_back_more(draft, ctx, move):
        _anew(draft, machine, move, On.OUT_FIRST, OUT_FIRST)
    elif power is not None:
        _go_on(draft, ctx, machine, move, power)
    elif move.state is MoveState.STOPPING:
        given_up(draft, move)
    watch(draft, ctx, machine, move.number)


PAST_OFF = frozenset({MoveState.CHANGING, MoveState.STARTING, MoveState.UNDOING, MoveState.STUCK})
"""States in which a machine that is off is to be changed or started by this move."""


ANEW_AGAIN = timedelta(minutes=30)
"""What was planned anew and still cannot be started is tried as everything else for so long."""

HAS = frozenset({LeaseState.ACTIVE, LeaseState.RETURNING})
"""Leases of which what their machine's settings name comes off once its host does not show it any more."""

ON_ITS_WAY = frozenset({LeaseState.MOVING, LeaseState.RETURNING})
"""Leases whose old addresses come off whatever else is."""


def _names_old_addresses(draft: Draft, ctx: Round, move: Move) -> bool:
    """Whether a machine cannot be started by this move, since its settings name cards that are gone, or by addresses that these had before
    their host was restarted meanwhile, and a move that is planned anew puts them right."""
    if move.state not in PAST_OFF or in_flight(move, ctx.run) or not seen_since(draft, ctx, move):
        return False
    if _is_anew(draft, move):
        return False
    sees_to: Sequence[Wish] = live(draft, move) if move.state is MoveState.CHANGING else ()
    sees_to = ours_there(draft, ctx, move) if move.state is MoveState.UNDOING else sees_to
    covered = {(w.label, w.slot) for w in sees_to}
    for lease in leases_of(draft, move.machine):
        if lease.state not in OPEN_LEASE:
            continue
        for slot in lease.slots:
            comes = lease.state in ON_ITS_WAY or ready(draft, ctx.sight, lease, slot)
            old = comes and at_old_address(draft, ctx.sight, lease.machine, slot)
            lost = lease.state in HAS and names_lost(draft, ctx.sight, lease.machine, slot)
            if (lease.label, slot) not in covered and (old or lost):
                return True
    return False


def _gives_back_more(draft: Draft, ctx: Round, move: Move) -> bool:
    """Whether a machine that does not start has something in it that was given back since this move was made: its place on a card may be
    another's by now, so that it never starts with it."""
    if move.state is not MoveState.STUCK or sits(move) or in_flight(move, ctx.run) or not seen_since(draft, ctx, move):
        return False
    back = [x for x in leases_of(draft, move.machine) if x.state is LeaseState.RETURNING]
    in_it = any(ctx.sight.there(slot, move.machine) for lease in back for slot in lease.slots)
    return in_it and not _is_anew(draft, move)


def _is_anew(draft: Draft, move: Move) -> bool:
    """Whether a move was made for what the one before it could not do, a short while ago."""
    last = move_before(draft, move)
    return last is not None and last.reason in ANEW and draft.now - last.changed < ANEW_AGAIN


def _anew(draft: Draft, machine: Machine, move: Move, event: On, why: str) -> None:
    """This move is over; the next one puts the settings right, and then power back as it was found."""
    bar(draft, move, why)
    tell(draft, step(draft, move, event, reason=why, steps=journal(move, draft.now, "dropped", why)))
    if to_be_on(machine, move):
        draft.put(replace(machine, owed_on=machine.owed_on or move.off_at or draft.now))


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
