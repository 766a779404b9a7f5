"""What owners may say about a restart: not now, stop, start. Called by commands inside their transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from bot.domain import windows
from bot.domain.draft import Draft
from bot.domain.errors import NotPossible, NotYours, Paused, TooLate
from bot.domain.leases.common import others_wait
from bot.domain.lifecycle import OPEN_MOVE, UNDER_WAY, On, step
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
    Window,
)
from bot.domain.moves.calls import journal, tell
from bot.domain.moves.common import SAID, STOPPED, bar, stuck_key, undo
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy


@dataclass(frozen=True)
class SaidBefore:
    """What was said "not now" to already, so that saying it again puts nothing more off."""

    window: Window  # the time that the restart had
    by: tuple[PersonId, ...]  # who said so, the first one first


def not_now(
    draft: Draft, machine: Machine, by: PersonId, policy: Policy, about: Move | None = None, *, too: bool = False
) -> tuple[Agreement, ...] | Move | SaidBefore:
    """Skip the current or next window of a machine; both the other owners and the move learn of it.

    About a restart that is named it is the time that its last call named, once: whoever says it again, and however often, puts off no
    later one. Said of the machine alone it is the current or next window, and as long as one that was put off is not over, that one: whoever
    says it again, another owner as well, puts off nothing more, unless something was agreed for that time since, or is announced for after it. It counts for what is to come out while others wait. Once the shutdown is written down it comes too late to leave the machine on:
    then it takes back what was agreed, as ``stop`` does.

    :param too: what comes after the one that was put off, in so many words
    :returns: the agreements whose occurrence is skipped; the move on its way back, if its shutdown was written down before; what was said
        already of the restart that is named
    :raises NotPossible: nothing is agreed, or only what the terms give
    :raises TooLate: the machine is off already, or the time that was announced is over
    """
    if by not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    move = next((m for m in draft.moves.values() if m.machine == machine.uuid and m.state in UNDER_WAY), None)
    if move is not None and move.state is MoveState.STOPPING:
        return _take_back(draft, machine, move, by, SAID, policy)
    if move is not None and move.off_at is not None and move.on_at is None:
        raise _too_late(move)
    if about is not None and (before := _said_before(draft, machine, about, by, policy)) is not None:
        return before
    if not too and (settled := _settled(draft, machine, by, policy)) is not None:
        return settled
    returning = [x for x in draft.leases.values() if x.machine == machine.uuid and x.state is LeaseState.RETURNING]
    counted = tuple(x.label for x in returning if others_wait(draft, x))
    skipped = windows.not_now(draft, machine, by, policy, counted)
    if not skipped:
        if move is not None:
            raise _too_late(move)
        raise NotPossible(what="notnow", why=f"no restart of {machine.name} is agreed that could be put off")
    usual, agreed = windows.usual(machine, policy), draft.agreements.values()
    ahead = windows.next_window(agreed, machine.uuid, draft.now, usual, policy)
    for to in machine.owners:
        if to != by:
            news = News(NewsKind.NOT_NOW, to, machine=machine, who=by, agreement=skipped[0])
            draft.tell(replace(news, until=ahead[1].start if ahead else None))
    return skipped


def _said_before(draft: Draft, machine: Machine, move: Move, by: PersonId, policy: Policy) -> SaidBefore | Move | None:
    """What was said already of the time that a restart had; None: nothing. Another owner's word is written down beside the first: it puts
    nothing more off, and stands if the first is taken back.

    :raises TooLate: the machine is going down already, and comes on again for what was said
    """
    anew = move.last_call is not None and move.last_call >= move.changed
    at = move.last_call_for or move.called_off_for
    if move.state is MoveState.UNDOING and not anew:
        newer = any(a.made > move.changed for a in windows.open_of(draft, machine.uuid))
        at = move.window.start if move.window is not None and not newer else None
    if at is None:
        return None
    said = [no for no in draft.machines[machine.uuid].not_nows if no.window.start <= at < no.window.end]
    if not said or _agreed_before(draft, machine, max(no.window.end for no in said), policy):
        return None
    windows.say_too(draft, machine, by, said[0].window)
    if move.state is MoveState.UNDOING and not anew:
        raise _too_late(move)
    return SaidBefore(said[0].window, tuple(dict.fromkeys(no.by for no in said)))


def _settled(draft: Draft, machine: Machine, by: PersonId, policy: Policy) -> SaidBefore | None:
    """What was said already of the time up to which a machine is left alone, as long as that is not over; None: nothing, or something else
    is meant: it was agreed anew, or a later time is announced. Another owner's word stands beside the first."""
    machine = draft.machines[machine.uuid]
    said = [no for no in machine.not_nows if no.window.end > draft.now and no.by in machine.owners]
    if not said:
        return None
    last = max(said, key=lambda no: no.window.end)
    calls = [m.last_call_for for m in draft.moves.values() if m.machine == machine.uuid and m.state in OPEN_MOVE]
    again = _agreed_before(draft, machine, last.window.end, policy)
    if again or any(at and at >= last.window.end for at in calls):
        return None
    windows.say_too(draft, machine, by, last.window)
    same = [no.by for no in said if no.window == last.window]
    return SaidBefore(last.window, tuple(dict.fromkeys(same)))


def _agreed_before(draft: Draft, machine: Machine, over: datetime, policy: Policy) -> bool:
    """Whether a restart is agreed that may begin before what was said "not now" to is over: that put off all that was agreed for it by then, so this
    was agreed since, be it for a part of that time or for more."""
    takes = windows.usual(machine, policy)
    open_ = (a for a in windows.open_of(draft, machine.uuid) if not a.firm)
    return any((w := windows.occurrence(a, draft.now, policy, takes)) is not None and w.start < over for a in open_)


def stop(draft: Draft, move: Move, by: PersonId, policy: Policy) -> Move:
    """Stop a move: planned, as "not now"; stopping, the machine comes on again unchanged; later it goes forward to power-on."""
    machine = draft.machines[move.machine]
    if by not in machine.owners:
        raise NotYours(what=f"m{move.number}", owners=machine.owners)
    if move.state is MoveState.PLANNED or (move.state is MoveState.UNDOING and move.off_at is None):
        not_now(draft, machine, by, policy, move)  # on its way back: a second try that was agreed since
        return draft.moves[move.number]
    if move.state is not MoveState.STOPPING:
        raise _too_late(move)
    return _take_back(draft, machine, move, by, STOPPED, policy)


def _too_late(move: Move) -> TooLate:
    """It goes forward: off, changed, or on its way back already."""
    over = move.state not in OPEN_MOVE
    changed = "it is on again already" if move.state is MoveState.PROVING else "the card is being changed"
    going = "it is stopped already" if move.undo else changed
    on = "" if move.state is MoveState.PROVING else "; the machine comes on again by itself"
    return TooLate(state=str(move.state), number=f"m{move.number}", why="it is over" if over else f"{going}{on}")


def _take_back(draft: Draft, machine: Machine, move: Move, by: PersonId, why: str, policy: Policy) -> Move:
    """The shutdown is written down: what was agreed for it is taken back, and the way back begins here, so that a call that is not made
    yet is not made any more. In whatever words it was said, it beats every other yes for that time, also a later one."""
    agreement = draft.agreements.get(move.agreement or 0)
    if agreement is not None and agreement.state is AgreementState.OPEN and move.window is not None:
        if agreement.kind is AgreementKind.STANDING:
            skips = (*agreement.skips, Skip(move.window.start, by))
            step(draft, agreement, On.SKIPPED, by=by, why=f"{why}: m{move.number}", skips=skips)
        else:
            windows.withdraw(draft, agreement, by)
        windows.refuse(draft, machine, by, move.window, policy)
        for to in machine.owners:
            if to != by:
                draft.tell(News(NewsKind.NOT_NOW, to, machine=machine, who=by, agreement=agreement, move=move))
    return undo(draft, draft.moves[move.number], On.WITHDRAWN, why, by)


def done(draft: Draft, move: Move, by: PersonId) -> Move:
    """An admin has seen to a machine that is stuck, whatever its power is now: the move is over, its leases go on from what is seen.

    :raises TooLate: the move needs nobody
    """
    if move.state is not MoveState.STUCK:
        raise TooLate(state=str(move.state), number=f"m{move.number}", why="it does not wait for anybody")
    bar(draft, move, "an admin says it is done")
    steps = journal(move, draft.now, "dropped", "an admin says it is done")
    over = tell(draft, step(draft, move, On.MENDED, by=by, why="an admin says it is done", steps=steps))
    machine = draft.machines[move.machine]
    for to in (*machine.owners, ADMINS):
        draft.tell(News(NewsKind.SEEN_TO, to, key=stuck_key(over), move=over, machine=machine, who=by))
    return over


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
        move = replace(move, wants_on=True, starter=by)
        draft.put(move)
        return move
    new = Move(draft.number("move"), machine.uuid, MoveState.PLANNED, (), draft.now, draft.now, wants_on=True)
    new = replace(new, starter=by)
    return step(draft, new, On.PLAN, by=by, new=True, why=f"start {machine.name}")
