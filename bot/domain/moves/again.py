"""A machine that was found off and whose change vCenter refused: tried again after growing pauses, or when something is otherwise.

Off by itself, a machine needs no window, so nothing else would keep the next round from trying the same again. ``plan`` asks it before it begins.
The tries are moves of their own; what people read of them is one message, edited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from bot.domain.model import Move, MoveState, SeenMachine, Wish

REFUSED_PAUSES = (
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=4),
    timedelta(hours=12),
)
"""Growing pauses after each refusal; the last one goes on. Shorter than moves are remembered."""

OVER = frozenset({MoveState.DONE, MoveState.DROPPED})


def likeness(seen: SeenMachine | None, wishes: Iterable[Wish]) -> str:
    """What a refusal depends on, as far as a look shows it: the machine's devices and settings, and what was to be changed."""
    what = sorted(f"{w.work} {w.label} {w.slot}" for w in wishes)
    if seen is None:
        return "; ".join(what)
    has = (seen.host, seen.cards, seen.unplaced, seen.foreign, seen.hardware, seen.memory_mb, seen.reservation_mb)
    return f"{'; '.join(what)}; {has}"


def refused(moves: Mapping[int, Move], move: Move) -> Move | None:
    """The latest move of the machine, if it went back because a change of the machine that was off was refused."""
    over = [m for m in moves.values() if m.machine == move.machine and m.state in OVER and m.number != move.number]
    last = max(over, key=lambda m: m.number, default=None)
    return last if last is not None and last.refused_as else None


def same(before: Move, move: Move, seen: SeenMachine, wishes: Iterable[Wish]) -> bool:
    """Whether nothing is otherwise since it was refused, so that it would be refused again."""
    return not move.afresh and not move.wants_on and before.refused_as == likeness(seen, wishes)


def next_try(before: Move) -> datetime:
    """When a change that was refused is tried again, if nothing is otherwise before."""
    return before.changed + REFUSED_PAUSES[min(before.tries, len(REFUSED_PAUSES) - 1)]


def told_in(move: Move) -> int:
    """The number by which its messages go."""
    return move.first or move.number
