"""By when a card that is given back is out of its machine: the one answer for the promises of those who wait, and for all that is said of it.

Asked by ``promises`` and words. It decides nothing, and never names a time that is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Protocol

from bot.domain import occurrences
from bot.domain.model import Agreement, Lease, Machine, MachineId, Move, MoveState, Work
from bot.domain.policy import Policy
from bot.domain.shelves import S, moves_of

OVER = (MoveState.DONE, MoveState.DROPPED)


class Open(Protocol):
    """Books or a draft."""

    @property
    def machines(self) -> Mapping[MachineId, Machine]: ...
    @property
    def moves(self) -> Mapping[int, Move]: ...
    def kept(self, kind: type[S]) -> S: ...


def taken_along(move: Move, lease: Lease) -> bool:
    """Whether a restart that has begun takes a card out, or leaves it out: not if it is in, and its machine comes on with it."""
    early = move.state in (MoveState.STOPPING, MoveState.CHANGING)
    return any(w.label == lease.label and (w.work is Work.TAKE or early) for w in move.wishes)


def restart_of(books: Open, lease: Lease) -> Move | None:
    """The restart that a card which is given back comes out in, planned or begun."""
    here = (m for m in moves_of(books, lease.machine) if m.state not in OVER)
    return next((m for m in here if m.state is MoveState.PLANNED or taken_along(m, lease)), None)


def out_by(books: Open, lease: Lease, agreed: Iterable[Agreement], now: datetime, policy: Policy) -> datetime | None:
    """By when a card that is given back is out, in the restart that is planned or begun, else in the first that is agreed.

    :param agreed: the open agreements that serve it
    :return: None: no restart is agreed, only one "when nothing runs", or the one that is under way takes longer than it was given
    """
    move, machine = restart_of(books, lease), books.machines.get(lease.machine)
    takes = occurrences.usual(machine, policy) if machine is not None else policy.usual_first
    if move is not None and move.window is not None:
        began = [move.shutdown_at + policy.guest_shutdown + takes] if move.shutdown_at is not None else []
        return min((at for at in (*began, move.window.end) if at > now), default=None)
    found = [occurrences.next_beginning([a], lease.machine, now, takes, policy) for a in agreed]
    return min((occurrences.begin_by(a, w, takes, policy) + takes for a, w, _ in filter(None, found)), default=None)
