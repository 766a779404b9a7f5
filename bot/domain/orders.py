"""What a guest may be asked to do: a closed list, without arguments; and when it is.

Called by ``desk`` and ``rounds`` after they have recorded, and by the edges that carry orders. An agent obeys only what the owner of its machine
has enabled, so nothing may depend on an order being heard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import Books, Lease, LeaseState, MachineId, Move, MoveState, Reading


class Order(StrEnum):
    """One order, as it goes over the wire."""

    LAST_CALL = "last call"  # the machine restarts soon: tell who is logged in
    INTERVAL_SHORT = "interval short"  # a word every 15 s
    INTERVAL_NORMAL = "interval normal"  # a word every 60 s, as without an order
    DETACH_SOON = "detach soon"  # let go of the cards: the machine is about to go off
    QUICK_CHECK = "quick check"  # see that the cards compute, and tell


WITHOUT_A_WORD = frozenset({Order.LAST_CALL.value})
"""What a guest is told that has said nothing of what it allows: what every agent has always done."""

ENDS: Mapping[Order, frozenset[Order]] = {
    Order.INTERVAL_SHORT: frozenset({Order.INTERVAL_NORMAL}),
    Order.INTERVAL_NORMAL: frozenset({Order.INTERVAL_SHORT, Order.LAST_CALL, Order.DETACH_SOON}),
}
"""Orders that no guest has fetched yet, and that do not hold any more with another one."""

DETACH_AHEAD = timedelta(seconds=60)
"""So long before the restart that was announced the cards are let go of: four chances to hear it at the short interval."""

Given = tuple[MachineId, Order]


def given(
    before: Books, after: Books, readings: Mapping[MachineId, Reading], last: datetime | None, now: datetime
) -> tuple[Given, ...]:
    """The orders that follow from what has changed, each once for its cause, and only if the guest allows it.

    :param before: the books as they were; ``after``: as they are now
    :param last: when this was asked the last time; None: not yet in this process
    """
    found: dict[Given, None] = {}
    for move in after.moves.values():
        for order in _of_move(before.moves.get(move.number), move, last, now):
            found[move.machine, order] = None
    for lease in after.leases.values():
        if _came(before.leases.get(lease.label), lease):
            found[lease.machine, Order.QUICK_CHECK] = None
    return tuple((machine, order) for machine, order in found if order in _allowed(readings.get(machine)))


def _of_move(before: Move | None, move: Move, last: datetime | None, now: datetime) -> Iterator[Order]:
    was = before.announced if before is not None else None
    if move.announced is not None:
        if move.announced != was:
            yield Order.LAST_CALL
            yield Order.INTERVAL_SHORT
        detach = move.announced - DETACH_AHEAD
        if detach <= now and (move.announced != was or last is None or last < detach):
            yield Order.DETACH_SOON
    elif was is not None and move.state is MoveState.PLANNED:
        yield Order.INTERVAL_NORMAL  # it was called off
    if before is not None and before.state in OPEN_MOVE and move.state not in OPEN_MOVE and move.last_call is not None:
        yield Order.INTERVAL_NORMAL


def _came(before: Lease | None, lease: Lease) -> bool:
    """Whether its cards, which came by a restart, are now seen in the guest, and nothing has computed on them yet."""
    if not _waits_for_work(lease) or before is None or _waits_for_work(before):
        return False
    return before.state is LeaseState.MOVING or lease.bound_since is not None


def _waits_for_work(lease: Lease) -> bool:
    return (
        lease.state is LeaseState.ACTIVE
        and lease.seen_guest is not None
        and lease.computed is None
        and lease.proven is None
    )


def _allowed(word: Reading | None) -> frozenset[str]:
    return word.allows if word is not None else WITHOUT_A_WORD
