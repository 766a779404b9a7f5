"""Which devices a request could have, when they are there, and whether a window for them is known.

Asked by the other files of this room. It gives nothing away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bot.domain.carrying import carries
from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_MOVE, comes_on
from bot.domain.model import (
    Agreement,
    Books,
    Lease,
    LeaseState,
    Person,
    PersonId,
    Power,
    Request,
    SlotId,
    Turn,
)
from bot.domain.occurrences import coming
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.domain.slots import open_of

People = Mapping[PersonId, Person]
"""Those whom the rules may ask about, by id."""


@dataclass(frozen=True)
class Spot:
    """A slot that a request could be given now."""

    slot: SlotId  # which
    turn: Turn  # has: it is free and clean; next: it is on its way back
    here: bool = False  # it sits on the request's own machine already: no power cycle
    free_at: datetime | None = None  # next: when it is expected


def spots(draft: Draft, sight: Sight, request: Request, policy: Policy | None = None) -> list[Spot]:
    """The slots that a request could be given, best first: on its own machine, the one it had last, free, on its way.

    :param policy: the site's blackouts move the times at which they are expected
    """
    seen = sight.machine(request.machine)
    if seen is None or seen.template:
        return []  # an unknown machine and a template get nothing, and a known one can have cards of its own host only
    mine = open_of(draft, request.kind, (seen.vcenter, seen.host))
    found = [s for slot in mine if (s := _spot(draft, sight, request, slot, policy))]
    last = {x.slots for x in draft.leases.values() if x.person == request.person}
    had = {slot for slots in last for slot in slots}
    # Among equals in the order in which their hosts fill them, which is that of ``open_of``.
    return sorted(found, key=lambda s: (not s.here, s.turn is Turn.NEXT, s.slot not in had))


def _spot(draft: Draft, sight: Sight, request: Request, slot: SlotId, policy: Policy | None) -> Spot | None:
    """This slot for this request, if it can be given."""
    card = draft.card(slot)
    if card.aside is not None or card.doubted or not sight.usable(slot):
        return None
    if sight.foreign_size(slot) not in ("", request.kind):
        return None  # somebody else runs another size on it
    holder = draft.holder(slot, Turn.HAS)
    if holder is None:
        return Spot(slot, Turn.HAS) if sight.clean(slot) else None
    lease = draft.leases.get(holder)
    if lease is None or lease.state is not LeaseState.RETURNING or draft.holder(slot, Turn.NEXT) is not None:
        return None
    if lease.fault:
        return None  # set aside when it comes off
    if lease.machine == request.machine:
        return Spot(slot, Turn.NEXT, here=True)
    free_at = expected_free(draft, lease, draft.now, policy)
    return Spot(slot, Turn.NEXT, free_at=free_at) if free_at is not None else None


def expected_free(books: Books | Draft, lease: Lease, now: datetime, policy: Policy | None = None) -> datetime | None:
    """When a returning lease's devices are expected to be clean: its machine's window is known; None: it is not.

    :param policy: the site's blackouts are taken from it; None: they are left out of account
    """
    for move in books.moves.values():
        if move.machine == lease.machine and move.state in OPEN_MOVE:
            if move.window is not None:
                return max(now, move.window.start)
            if move.last_call_for is not None:
                return max(now, move.last_call_for)
    mine = [a for a in books.agreements.values() if a.machine == lease.machine and carries(books, a, lease.label)]
    starts = [window.start for a in mine if (window := coming(a, now, policy)) is not None]
    return max(now, min(starts)) if starts else None


def window_known(draft: Draft, sight: Sight, request: Request) -> bool:
    """Whether the request's machine may restart for it: a window was named, one stands, or the machine is off (not by us).

    After "ask me first" only a time that was named for this request counts: what stands for any change was agreed before it was said.
    """
    if sight.power(request.machine) is Power.OFF and not comes_on(draft.moves.values(), request.machine):
        return True
    labels = (str(request.number),) if request.ask_first else ("", str(request.number))
    return any(a.machine == request.machine and a.label in labels for a in draft.agreements.values() if is_open(a))


def is_open(agreement: Agreement) -> bool:
    return agreement.state.value == "open"
