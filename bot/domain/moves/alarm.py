"""A machine that is off because of us, and stays off longer than planned: its owners are told why, once, and when it is on again.

Called by ``settle`` for each move under way, whatever the look shows. Three causes: nobody can look (vCenter or the host is away), somebody
paused all acting, vCenter waits for an answer about the machine, or takes longer, or answers "again". It begins nothing and undoes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain import windows
from bot.domain.draft import Draft
from bot.domain.model import BOT, Machine, Move, MoveState, Power
from bot.domain.moves.calls import tell
from bot.domain.moves.common import Round
from bot.domain.news import ADMINS, News, NewsKind

BLIND = timedelta(seconds=90)
"""Without a look for that long, owners are told: a look that is only late is no news."""

HELD_UP = timedelta(minutes=5)
"""Off for that long, and longer than a restart of the machine usually takes, owners are told."""

UNSEEN, HIDDEN, PAUSED, AGAIN, QUESTION = "unseen", "hidden", "paused", "again", "question"
"""Causes, as ``Move.alarmed`` keeps them; unseen: vCenter does not answer, hidden: it does, and cannot see the machine."""

WATCHING = "watching"
"""The bot only watches now: what it had begun is finished by people."""

ON = "on:"
"""Before a cause: its owners were told that it is over, while the shutdown that was asked for may still come."""

MAY_BE_OFF = frozenset({MoveState.STOPPING, MoveState.CHANGING, MoveState.STARTING, MoveState.UNDOING})
"""States in which a machine is off by us, or may be. Of one that is stuck its owners were told more."""


def watch(draft: Draft, ctx: Round, machine: Machine, number: int) -> None:
    """Notice that nobody can look, and tell the owners what it means for their machine."""
    power = ctx.sight.power(machine.uuid)
    move = _looked(draft, number, power)
    # Paused while its guest goes down: that it will stay off is said before it is.
    goes = draft.paused and move.state in (MoveState.STOPPING, MoveState.UNDOING) and move.off_at is None
    if power is Power.ON and not goes:
        if move.alarmed:
            _clear(draft, machine, move)
        return
    if WATCHING in move.alarmed and ctx.policy.level != "watch":
        move = _goes_on(draft, machine, move)
    cause = _cause(draft, ctx, machine, move, power)
    if cause == UNSEEN and ctx.sight.complete(machine.vcenter):
        cause = HIDDEN
    if not cause or cause in move.alarmed:
        return
    move = replace(move, alarmed=(*move.alarmed, cause))
    draft.put(move)
    draft.log(BOT, f"move.{cause}", f"m{number}", "its owners are told that it stays off")
    reason = seen.question if cause == QUESTION and (seen := ctx.sight.machine(machine.uuid)) is not None else ""
    for to in (*machine.owners, *((ADMINS,) if cause == QUESTION else ())):
        news = News(NewsKind.STAYS_OFF, to, key=f"off:{number}:{cause}", move=move, machine=machine, reason=reason)
        draft.tell(news)
    tell(draft, move)


def _goes_on(draft: Draft, machine: Machine, move: Move) -> Move:
    """The bot acts again, or asks people to: what was told of watching is not true any more."""
    move = replace(move, alarmed=tuple(ON + cause if cause == WATCHING else cause for cause in move.alarmed))
    draft.put(move)
    for to in machine.owners:
        key = f"off:{move.number}:{WATCHING}"
        draft.tell(News(NewsKind.STAYS_OFF, to, key=key, move=move, machine=machine))
    return tell(draft, move)


def _looked(draft: Draft, number: int, power: Power | None) -> Move:
    """Write down since when nobody can look; a look ends it."""
    move = draft.moves[number]
    if (power is None) == (move.blind_since is not None):
        return move
    move = replace(move, blind_since=draft.now if power is None else None)
    draft.put(move)
    if power is not None and {UNSEEN, HIDDEN} & set(move.alarmed):
        tell(draft, move)  # its message says that nobody can look
    return move


def _cause(draft: Draft, ctx: Round, machine: Machine, move: Move, power: Power | None) -> str:
    """Why a machine that we put off stays off longer than planned; "" it does not."""
    if not (move.was_on or move.wants_on):
        return ""
    off = move.off_at is not None
    if ctx.policy.level == "watch" and move.on_at is None:
        return WATCHING
    if draft.paused and (off or move.shutdown_at is not None) and move.state in MAY_BE_OFF | {MoveState.STUCK}:
        return PAUSED
    if move.state not in MAY_BE_OFF:
        return ""
    seen = ctx.sight.machine(machine.uuid)
    if seen is not None and seen.question and QUESTION not in move.alarmed:
        return QUESTION
    if power is None:
        return UNSEEN if move.blind_since is not None and draft.now - move.blind_since >= BLIND else ""
    if move.alarmed:
        return ""  # they know that it takes longer
    longest = max(HELD_UP, windows.usual(machine, ctx.policy))
    return AGAIN if move.off_at is not None and draft.now - move.off_at >= longest else ""


def _clear(draft: Draft, machine: Machine, move: Move) -> None:
    """It is on: what its owners were told is not true any more. While it may still go down, what they read now is not the last word:
    the message is told again once it is on again, or stays on."""
    told = dict.fromkeys(cause.removeprefix(ON) for cause in move.alarmed)
    goes = move.off_at is None and move.state in (MoveState.STOPPING, MoveState.UNDOING)
    kept = tuple(ON + cause for cause in told) if goes else ()
    if kept == move.alarmed:
        return
    for cause in told:
        for to in (*machine.owners, *((ADMINS,) if cause == QUESTION else ())):
            key = f"off:{move.number}:{cause}"
            draft.tell(News(NewsKind.ON_AGAIN, to, key=key, move=move, machine=machine, reason=cause))
    draft.put(replace(move, alarmed=kept))
