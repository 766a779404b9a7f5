"""A machine whose guest was asked to shut down: seen off, taken back, hanging, or started again by somebody."""

from __future__ import annotations

from bot.domain.draft import Draft
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    CallKind,
    Machine,
    Move,
    Outcome,
    Power,
)
from bot.domain.moves.calls import call, in_flight, journal, tell, waits
from bot.domain.moves.changing import changing
from bot.domain.moves.common import (
    Round,
    asked_before,
    asked_last,
    bar,
    by_hand,
    called_off,
    seen_since,
    tell_owners,
    undo,
    unseen_since,
)
from bot.domain.moves.hands import caught_up
from bot.domain.moves.starting import starting
from bot.domain.news import News, NewsKind


def stopping(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """The shutdown was asked: seen off, taken back, hanging, or lost."""
    if power is Power.OFF:
        steps = journal(move, draft.now, "off", since=unseen_since(draft, ctx, move, move.shutdown_at or move.changed))
        _go_changing(draft, ctx, step(draft, move, On.SEEN_OFF, off_at=draft.now, steps=steps))
        return
    if (done := caught_up(draft, ctx, move)) is not None:
        starting(draft, ctx, machine, tell(draft, done), power)
        return
    if move.shutdown_at is not None and ctx.sight.started_after(move.machine, move.shutdown_at):
        _started_by_hand(draft, machine, move)
        return
    if given_up(draft, move):
        return
    agreement = draft.agreements.get(move.agreement or 0)
    if in_flight(move, ctx.run) or by_hand(move):
        return  # people have the whole of the agreed time
    c = move.call
    late = draft.now - asked_last(move) >= ctx.policy.guest_shutdown
    if c is not None and c.outcome is Outcome.REFUSED and (late or not asked_before(move)):
        undone = undo(draft, move, On.REFUSED, c.reason)
        if asked_before(move):  # else nothing can still go off: the end of the way back says it all
            tell_owners(draft, machine, NewsKind.GUEST_HANGS, undone, c.reason)
    elif c is not None and c.goes_again:
        # Nobody knows whether the guest heard it: the time that it may take counts from the next asking.
        if ctx.acting and _begun(draft, move) and not waits(draft, move) and seen_since(draft, ctx, move):
            step(draft, move, On.AGAIN, why="asked again", changed=move.changed, **call(draft, move, c.kind, ctx.run))
    elif late:
        # Switching off what somebody has suspended would lose its memory: nobody agreed to that.
        hard = agreement is not None and agreement.hard and power is not Power.SUSPENDED
        _hangs(draft, ctx, machine, move, hard=hard)


def _begun(draft: Draft, move: Move) -> bool:
    """Whether its window has begun: a clock that was set back a little may be before it once more."""
    return move.window is None or move.window.start <= draft.now


def given_up(draft: Draft, move: Move) -> bool:
    """Whether it was stopped or its time is over before the machine was seen off: then the way back has begun. Needs no look."""
    why = called_off(draft, move)
    if why:
        undo(draft, move, On.WITHDRAWN, why)
    return bool(why)


def _hangs(draft: Draft, ctx: Round, machine: Machine, move: Move, *, hard: bool) -> None:
    """Not off in time: a hard stop if that was agreed beforehand, else the way back."""
    c = move.call
    if hard:
        asked = c is not None and c.kind is CallKind.HARD_STOP and c.outcome in (Outcome.ASKED, Outcome.DONE)
        if (
            ctx.acting
            and _begun(draft, move)
            and not asked
            and not (c and c.kind is CallKind.HARD_STOP and waits(draft, move))
        ):
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
    undone = undo(draft, move, On.HANGS, "the guest did not shut down in time")
    tell_owners(draft, machine, NewsKind.GUEST_HANGS, undone, "it did not shut down within 5 minutes")


def _started_by_hand(draft: Draft, machine: Machine, move: Move) -> None:
    """Somebody wants it on: nothing was said, but this window is over all the same; wishes planned anew, no second shutdown in it."""
    why = "somebody started it again"
    bar(draft, move, why)
    dropped = step(draft, move, On.STARTED_BY_HAND, reason=why, steps=journal(move, draft.now, "started_by_hand"))
    tell(draft, dropped)
    for to in machine.owners:
        draft.tell(News(NewsKind.STARTED_AGAIN, to, move=dropped, machine=machine))


def _go_changing(draft: Draft, ctx: Round, move: Move) -> None:
    """Just seen off: tell it, and look at once what is to be changed."""
    tell(draft, move)
    machine = draft.machines[move.machine]
    changing(draft, ctx, machine, move, Power.OFF)
