"""The way back: what was put on comes off again, and power goes back as it was found."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from bot.domain.draft import Draft
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    CallKind,
    Machine,
    Move,
    Outcome,
    Power,
)
from bot.domain.moves.again import likeness
from bot.domain.moves.calls import call, in_flight, journal, tell, waits
from bot.domain.moves.common import (
    SITS,
    Round,
    asked_before,
    asked_last,
    asks,
    bar,
    cards_there,
    change,
    handed_already,
    ours_there,
    seen_changes,
    seen_since,
    stuck_key,
    unseen_since,
    went_back,
)
from bot.domain.moves.plan import Context, second_try
from bot.domain.news import ADMINS, News, NewsKind


def undoing(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power) -> None:
    """Off: what was put on comes off, then power-on. Still on: wait for a late power-off for two hours."""
    if power is Power.OFF:
        _undo_off(draft, ctx, machine, move)
        return
    if in_flight(move, ctx.run):
        return
    since = move.shutdown_at or move.changed
    if move.off_at is not None or ctx.sight.started_after(move.machine, since):
        bar(draft, move, move.reason)
        dropped = step(
            draft, move, On.STARTED_BY_HAND, reason=move.reason, steps=journal(move, draft.now, "started_by_hand")
        )
        tell(draft, dropped)
        if not ours_there(draft, ctx, move):
            went_back(draft, dropped)
    elif ctx.acting and power is Power.ON and (found := _new_window(draft, ctx, machine, move)) is not None:
        move = draft.moves[move.number]
        steps = journal(move, draft.now, "stopping")
        again = step(draft, move, On.NEW_WINDOW, undo=False, reason="", shutdown_at=draft.now, steps=steps, **found)
        tell(draft, again)
    elif (
        draft.now - max(since, asked_last(move)) >= ctx.policy.late_off or _never_asked(move) or _unheeded(draft, move)
    ):
        move = draft.moves[move.number]
        bar(draft, move, move.reason)
        dropped = step(draft, move, On.LATE, reason=move.reason, steps=journal(move, draft.now, "dropped", move.reason))
        tell(draft, dropped)
        went_back(draft, dropped)


def _never_asked(move: Move) -> bool:
    """Whether the guest was never asked to stop: the call was refused, or not made, so no late power-off can be ours."""
    c = move.call
    unheard = c is not None and c.kind is CallKind.SHUTDOWN and c.outcome in (Outcome.REFUSED, Outcome.UNMADE)
    return unheard and not asked_before(move)


HAND_LATE = timedelta(minutes=15)
"""For so long after its time a machine that people were asked to shut down may still go off by what they did."""


def _unheeded(draft: Draft, move: Move) -> bool:
    """Whether people were asked to shut it down, and did not: then it is planned anew."""
    c = move.call
    return c is not None and c.by_hand and c.kind is CallKind.SHUTDOWN and draft.now - move.changed >= HAND_LATE


def _new_window(draft: Draft, ctx: Round, machine: Machine, move: Move) -> dict[str, Any] | None:
    """An owner agreed anew, after we gave up, and the last call of that was made: the fields that ask for the shutdown again (a hard
    stop if agreed)."""
    found = second_try(draft, Context(ctx.sight, ctx.policy, ctx.run, ctx.acting, {}, ctx.people), machine, move)
    if found is None:
        return None
    agreement, window = found
    return {"agreement": agreement.number, "window": window, **call(draft, move, CallKind.SHUTDOWN, ctx.run)}


def _undo_off(draft: Draft, ctx: Round, machine: Machine, move: Move) -> None:
    """Off on the way back: what this cycle put on comes off again, then power as it was found."""
    if move.off_at is None:
        since = unseen_since(draft, ctx, move, asked_last(move))
        move = replace(move, off_at=draft.now, steps=journal(move, draft.now, "off", since=since))
        draft.put(move)
    if in_flight(move, ctx.run) or not seen_since(draft, ctx, move):
        return
    c = move.call
    if any(ctx.sight.elsewhere(w.slot, move.machine) for w in move.wishes):
        move = seen_changes(draft, ctx, move)  # what came and went is counted by the journal, since no place tells it
    put = ours_there(draft, ctx, move)
    if put:
        if c is not None and c.kind is CallKind.CHANGE and c.outcome is Outcome.REFUSED and c.takes:
            steps = journal(move, draft.now, SITS, c.reason)
            stuck = step(draft, move, On.REFUSED, reason=c.reason, wants_on=False, steps=steps)
            tell(draft, stuck)
            for to in (*machine.owners, ADMINS):
                draft.tell(News(NewsKind.STUCK, to, key=stuck_key(move), move=stuck, machine=machine, reason=c.reason))
        elif ctx.acting and not waits(draft, move) and not handed_already(move, (), put):
            step(draft, move, asks(move), changed=move.changed, **change(draft, ctx, move, (), put))
        return
    move = seen_changes(draft, ctx, move)
    if not (move.was_on or move.wants_on):
        tried = any(s.what in ("refused", "start_refused") for s in move.steps)
        like = likeness(ctx.sight.machine(move.machine), move.wishes) if tried else ""
        dropped = step(
            draft,
            move,
            On.UNDONE_OFF,
            refused_as=like,
            steps=journal(move, draft.now, "undone", cards_there(draft, ctx, move)),
        )
        tell(draft, dropped)
        went_back(draft, dropped)
    elif ctx.acting:
        steps = journal(move, draft.now, "starting")
        tell(draft, step(draft, move, On.UNDONE, steps=steps, **call(draft, move, CallKind.POWER_ON, ctx.run)))
