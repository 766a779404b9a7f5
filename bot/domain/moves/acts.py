"""What owners may say about a restart: not now, stop, start. Called by commands inside their transaction."""

from __future__ import annotations

from dataclasses import replace

from bot.domain import windows
from bot.domain.draft import Draft
from bot.domain.errors import NotPossible, NotYours, Paused, TooLate
from bot.domain.lifecycle import OPEN_MOVE, On, step
from bot.domain.model import (
    Agreement,
    AgreementKind,
    AgreementState,
    LeaseState,
    Machine,
    Move,
    MoveState,
    PersonId,
    Skip,
)
from bot.domain.moves.calls import journal, tell
from bot.domain.moves.common import STOPPED, undo
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy


def not_now(draft: Draft, machine: Machine, by: PersonId, policy: Policy) -> tuple[Agreement, ...]:
    """Skip the current or next window of a machine; both the other owners and the move learn of it.

    :returns: the agreements whose occurrence is skipped
    :raises NotPossible: nothing is agreed, or only what the terms give
    """
    if by not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    skipped = windows.not_now(draft, machine, by, policy)
    if not skipped:
        raise NotPossible(what="notnow", why=f"no restart of {machine.name} is agreed that could be put off")
    for lease in list(draft.leases.values()):
        if lease.machine == machine.uuid and lease.state is LeaseState.RETURNING:
            draft.put(replace(lease, not_nows=lease.not_nows + 1))
    usual, agreed = windows.usual(machine, policy), draft.agreements.values()
    ahead = windows.next_window(agreed, machine.uuid, draft.now, usual, policy)
    for to in machine.owners:
        if to != by:
            news = News(NewsKind.NOT_NOW, to, machine=machine, who=by, agreement=skipped[0])
            draft.tell(replace(news, until=ahead[1].start if ahead else None))
    return skipped


def stop(draft: Draft, move: Move, by: PersonId, policy: Policy) -> Move:
    """Stop a move: planned, as "not now"; stopping, the machine comes on again unchanged; later it goes forward to power-on."""
    machine = draft.machines[move.machine]
    if by not in machine.owners:
        raise NotYours(what=f"m{move.number}", owners=machine.owners)
    if move.state is MoveState.PLANNED:
        not_now(draft, machine, by, policy)
        return draft.moves[move.number]
    if move.state is not MoveState.STOPPING:
        over = move.state not in OPEN_MOVE
        going = "it is stopped already" if move.undo else "the card is being changed"
        why = "it is over" if over else f"{going}; the machine comes on again by itself"
        raise TooLate(state=str(move.state), number=f"m{move.number}", why=why)
    agreement = draft.agreements.get(move.agreement or 0)
    if agreement is not None and agreement.state is AgreementState.OPEN and move.window is not None:
        if agreement.kind is AgreementKind.STANDING:
            skips = (*agreement.skips, Skip(move.window.start, by))
            step(draft, agreement, On.SKIPPED, by=by, why=f"stop m{move.number}", skips=skips)
        else:
            windows.withdraw(draft, agreement, by)
        for to in machine.owners:
            if to != by:
                draft.tell(News(NewsKind.NOT_NOW, to, machine=machine, who=by, agreement=agreement, move=move))
    return undo(draft, draft.moves[move.number], On.WITHDRAWN, f"{STOPPED} before the machine was off", by)


def done(draft: Draft, move: Move, by: PersonId) -> Move:
    """An admin has seen to a machine that is stuck, whatever its power is now: the move is over, its leases go on from what is seen.

    :raises TooLate: the move needs nobody
    """
    if move.state is not MoveState.STUCK:
        raise TooLate(state=str(move.state), number=f"m{move.number}", why="it does not wait for anybody")
    steps = journal(move, draft.now, "dropped", "an admin says it is done")
    return tell(draft, step(draft, move, On.MENDED, by=by, why="an admin says it is done", steps=steps))


def start(draft: Draft, machine: Machine, by: PersonId, *, admin: bool = False) -> Move:
    """Start a machine that is off with its devices on it: a power cycle whose first half is done.

    :param admin: said by an admin, who may have one started that is stuck
    :raises Paused: nothing is started; whoever wants it on starts it in vCenter
    """
    move = next((m for m in draft.moves.values() if m.machine == machine.uuid and m.state in OPEN_MOVE), None)
    stuck = move is not None and move.state is MoveState.STUCK
    if by not in machine.owners and not (admin and stuck):
        raise NotYours(what=machine.name, owners=machine.owners)
    if draft.paused:
        who, _, why = draft.paused.partition(" ")
        raise Paused(machine=machine.name, who=who, why=why)
    if move is not None:
        if move.state not in (MoveState.PLANNED, MoveState.CHANGING, MoveState.STUCK):
            raise TooLate(
                state=str(move.state), number=f"m{move.number}", why=f"{machine.name} is being restarted already"
            )
        move = replace(move, wants_on=True)
        draft.put(move)
        return move
    new = Move(draft.number("move"), machine.uuid, MoveState.PLANNED, (), draft.now, draft.now, wants_on=True)
    return step(draft, new, On.PLAN, by=by, new=True, why=f"start {machine.name}")
