"""What stands in people's eyes: when what somebody was asked is answered, or over, its message is edited, so that nobody answers it in
vain; and when a restart that was announced is called off, has begun or is over, so is the announcement.

Called by ``decide`` last in a round, when everything else is settled: also the first round after the bot was killed finds what was asked
before and no longer holds. Offers are not among them: they end in the transaction that answers them (``queue.leave``). It asks nothing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bot.domain import blockers
from bot.domain.agreements import skipped_window
from bot.domain.carrying import carries
from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import (
    BOT,
    Agreement,
    AgreementState,
    Lease,
    LeaseState,
    MachineId,
    Move,
    MoveState,
    Request,
    RestWhy,
    Skip,
    SlotId,
)
from bot.domain.news import ADMINS, CHANNEL, News, NewsKind
from bot.domain.shelves import agreements_of, moves_of

ASKING = frozenset({LeaseState.RESERVED, LeaseState.RETURNING})
"""Leases that need a restart of their machine."""


def window_key(label: str) -> str:
    """The key of the one message in which a restart for a lease is asked for."""
    return f"window:{label}"


def wanted_key(number: int) -> str:
    """The key of the one message that asks whether a request is still wanted."""
    return f"wanted:{number}"


def call_key(move: Move) -> str:
    """The key of the last call that a move's owners have before their eyes."""
    return f"last:{move.number}:{move.announced.isoformat() if move.announced else ''}"


def firm_key(agreement: Agreement) -> str:
    """The key of the message that a machine's next night is agreed by the terms."""
    return f"firm:{agreement.number}"


def stranger_key(slot: SlotId, machine: MachineId, now: datetime) -> str:
    """The key of the question whose a card is that nobody was lent: asked once, and again when a week is over."""
    year, week, _ = now.isocalendar()
    return f"stranger:{slot}:{machine}:{year}-{week:02}"


def settle(draft: Draft) -> None:
    """Edit the questions and the announcements away that are answered, or have lost their ground."""
    for lease in list(draft.leases.values()):
        if lease.question is not None:
            _restart(draft, lease)
    for request in list(draft.requests.values()):
        if request.question is not None:
            _still_wanted(draft, request)
    for move in list(draft.moves.values()):
        if move.announced is not None:
            _last_call(draft, move)
        elif move.began_for and move.state not in OPEN_MOVE:
            _ended(draft, move)
    for move in list(draft.moves.values()):
        if move.blocked_shown and move.state is not MoveState.PLANNED:
            blockers.over(draft, move)
    for before in draft.books.agreements.values():
        if before.firm and before.state is AgreementState.OPEN:
            _firm(draft, draft.agreements.get(before.number, before))


# ---- announcements


def call_over(draft: Draft, move: Move, why: str) -> Move:
    """The last call of a move does not hold any more: whoever has it before their eyes reads what holds. A planned move is announced anew."""
    told = replace(move, announced=None, called=())
    if _ahead(move):
        told = replace(told, last_call=None, last_call_for=None, called_off_for=move.last_call_for)
    elif move.state in OPEN_MOVE and move.was_on:
        told = replace(told, began_for=move.called, began_key=call_key(move))
    draft.put(told)
    machine = draft.machines.get(move.machine)
    for to in move.called:
        news = News(NewsKind.ANNOUNCED_OVER, to, key=call_key(move), move=told, machine=machine, until=move.announced)
        draft.tell(replace(news, reason=why))
    return told


def _ended(draft: Draft, move: Move) -> None:
    """A restart that was told to begin is over: the same message says how it ended."""
    draft.put(replace(move, began_for=(), began_key=""))
    machine = draft.machines.get(move.machine)
    for to in move.began_for:
        news = News(NewsKind.ANNOUNCED_OVER, to, key=move.began_key, move=move, machine=machine)
        draft.tell(replace(news, reason=move.reason))


def _last_call(draft: Draft, move: Move) -> None:
    why = _call_lost(draft, move) if _ahead(move) else move.reason
    if why or not _ahead(move):
        call_over(draft, move, why)


def _ahead(move: Move) -> bool:
    """Whether what was announced is still to come: of a planned move, or the second try of one whose machine is still on."""
    again = move.state is MoveState.UNDOING and move.last_call is not None and move.last_call >= move.changed
    return move.state is MoveState.PLANNED or (again and move.off_at is None)


def _call_lost(draft: Draft, move: Move) -> str:
    """Why a planned move does not begin at the time for which it was announced, in words; "" it does."""
    assert move.last_call_for is not None, "announced for some window"
    labels = {"", *(w.label for w in move.wishes)}
    at, skipped = Skip(move.last_call_for, BOT), ""
    for a in agreements_of(draft, move.machine):
        if a.label not in labels or skipped_window(a, at) is None:
            continue
        if move.state is MoveState.UNDOING and a.made <= move.changed:
            continue
        skip = next((s for s in a.skips if s.start == at.start), None)
        if a.state is AgreementState.OPEN and skip is None:
            return ""
        if skip is not None:
            skipped = "not now was said" if skip.by != BOT else "that time is not used"
        elif a.state is AgreementState.USED:
            skipped = "that time went by"
    return skipped or "what was agreed for it holds no more"


def _firm(draft: Draft, agreement: Agreement) -> None:
    """A night by the terms that is used, or that nothing needs any more."""
    if agreement.state is AgreementState.OPEN:
        return
    machine, lease = draft.machines.get(agreement.machine), draft.leases.get(agreement.label)
    move = next(
        (
            m
            for m in moves_of(draft, agreement.machine)
            if m.agreement == agreement.number and m.state is MoveState.DONE
        ),
        None,
    )
    for to in (*(machine.owners if machine else ()), ADMINS, CHANNEL):
        news = News(NewsKind.ANNOUNCED_OVER, to, key=firm_key(agreement), machine=machine, lease=lease, move=move)
        draft.tell(replace(news, agreement=agreement, until=agreement.window.start if agreement.window else None))


# ---- questions


def _restart(draft: Draft, lease: Lease) -> None:
    """ "When may it restart?" """
    agreed = _named_since(draft, lease)
    if lease.state in ASKING and agreed is None:
        return
    restart_over(draft, lease, agreed)


def restart_over(draft: Draft, lease: Lease, agreed: Agreement | None = None) -> Lease:
    """Nobody need say any more when a machine may restart for a lease. Also said when the lease ends: in the same round another one may
    begin under its number, and would not know of the question."""
    lease = replace(lease, question=None)
    draft.put(lease)
    machine = draft.machines.get(lease.machine)
    # Its holder read it too when it was taken back or its time was over, whoever owns the machine by now.
    taken = lease.ended_by not in (BOT, lease.person)
    told = (lease.person,) if taken or (lease.active_since is not None and lease.ended_by == BOT) else ()
    for to in dict.fromkeys((*machine.owners, *told) if machine else (lease.person,)):
        news = News(NewsKind.ASK_OVER, to, key=window_key(lease.label), lease=lease, machine=machine, agreement=agreed)
        draft.tell(news)
    return lease


def _named_since(draft: Draft, lease: Lease) -> Agreement | None:
    """The time that was agreed for it after the question; one that stood before did not answer it."""
    return next(
        (
            a
            for a in sorted(agreements_of(draft, lease.machine), key=lambda a: -a.number)
            if a.state is AgreementState.OPEN
            and (a.firm or carries(draft, a, lease.label))
            and lease.question is not None
            and a.made >= lease.question
        ),
        None,
    )


def _still_wanted(draft: Draft, request: Request) -> None:
    """ "Do you still want it?" """
    if request.rest is not None and request.rest.why is RestWhy.STILL_WANTED:
        return
    request = replace(request, question=None)
    draft.put(request)
    machine = draft.machines.get(request.machine)
    draft.tell(
        News(NewsKind.ASK_OVER, request.person, key=wanted_key(request.number), request=request, machine=machine)
    )
