"""Which devices a request could have, when they are there, and whether a window for them is known.

Asked by the other files of this room. It gives nothing away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    MachineId,
    Person,
    PersonId,
    Power,
    Request,
    SlotId,
    Turn,
)
from bot.domain.occurrences import coming
from bot.domain.policy import Policy
from bot.domain.rules import Rule
from bot.domain.shelves import agreements_of, cards_on, leases_to, moves_of
from bot.domain.sight import Sight
from bot.domain.slots import open_of, parts

People = Mapping[PersonId, Person]
"""Those whom the rules may ask about, by id."""


@dataclass(frozen=True)
class Spot:
    """A slot that a request could be given now."""

    slot: SlotId  # which
    turn: Turn  # has: it is free and clean; next: it is on its way back
    here: bool = False  # it sits on the request's own machine already: no power cycle
    free_at: datetime | None = None  # next: when it is expected


@dataclass(frozen=True)
class There:
    """A slot that somebody on its host could be given now, whoever asks."""

    slot: SlotId  # which
    turn: Turn  # has: it is free and clean; next: it is on its way back
    free_at: datetime | None = (
        None  # next: when it is expected; None: nobody knows, so only its own machine can have it
    )
    home: MachineId = ""  # next: the machine on which it sits


def spots(draft: Draft, sight: Sight, request: Request, policy: Policy | None = None) -> list[Spot]:
    """The slots that a request could be given, best first: on its own machine, the one it had last, free, on its way.

    :param policy: the site's blackouts move the times at which they are expected
    """
    seen = sight.machine(request.machine)
    if seen is None or seen.template:
        return []  # an unknown machine and a template get nothing, and a known one can have cards of its own host only
    return best(draft, request, there(draft, sight, request.kind, (seen.vcenter, seen.host), policy))


def best(draft: Draft, request: Request, found: Iterable[There]) -> list[Spot]:
    """Those of some slots that a request could be given, best first."""
    mine = [spot for slot in found if (spot := _spot(slot, request))]
    if len(mine) < 2:
        return mine
    had = {slot for lease in leases_to(draft, request.person) for slot in lease.slots}
    # Among equals in the order in which their hosts fill them, which is that of ``open_of``.
    return sorted(mine, key=lambda s: (not s.here, s.turn is Turn.NEXT, s.slot not in had))


def _spot(found: There, request: Request) -> Spot | None:
    if found.home == request.machine:
        return Spot(found.slot, Turn.NEXT, here=True)
    if found.turn is Turn.HAS:
        return Spot(found.slot, Turn.HAS)
    return Spot(found.slot, Turn.NEXT, free_at=found.free_at) if found.free_at is not None else None


def together(draft: Draft, found: list[Spot]) -> list[Spot]:
    """Those of some devices for which nobody waits longer than for the first: what is there; else what comes out of a machine with the first of them.
    Who takes fewer than they want waits for no more."""
    now = [spot for spot in found if spot.here or spot.turn is Turn.HAS]
    if now or not found:
        return now
    first = min(found, key=lambda spot: (spot.free_at is None, spot.free_at or draft.now))
    return [spot for spot in found if draft.holder(spot.slot, Turn.HAS) == draft.holder(first.slot, Turn.HAS)]


def there(
    draft: Draft,
    sight: Sight,
    kind: str,
    host: tuple[str, str],
    policy: Policy | None = None,
    off: frozenset[Rule] = frozenset(),
) -> list[There]:
    """The slots of a kind on a host that could be given now, in the order in which the host fills them.

    :param host: its vCenter, and its id there
    :param off: rules that are not applied: without LENT what others have, or were promised, counts as free, and without POOL what rests
    """
    if Rule.LENT not in off:
        return [t for slot in open_of(draft, kind, host) if (t := _there(draft, sight, slot, kind, policy, off))]
    every = (slot for card in cards_on(draft, *host) for slot in parts(card, kind))
    ordered = sorted(every, key=lambda slot: draft.holder(slot, Turn.HAS) is not None)
    return [t for slot in ordered if (t := _there(draft, sight, slot, kind, policy, off))]


def _there(
    draft: Draft, sight: Sight, slot: SlotId, kind: str, policy: Policy | None, off: frozenset[Rule]
) -> There | None:
    """This slot, if it can be given."""
    holder = draft.holder(slot, Turn.HAS)
    lease = draft.leases.get(holder) if holder is not None else None
    if holder is not None and Rule.LENT not in off and (lease is None or lease.state is not LeaseState.RETURNING):
        return None  # as of nearly all
    if Rule.POOL not in off and not _good(draft, sight, slot, kind):
        return None
    if holder is None:
        return There(slot, Turn.HAS) if Rule.POOL in off or sight.clean(slot) else None
    if Rule.LENT in off:
        return There(slot, Turn.HAS)
    if lease is None or draft.holder(slot, Turn.NEXT) is not None:
        return None
    if lease.fault:
        return None  # set aside when it comes off
    return There(slot, Turn.NEXT, expected_free(draft, lease, draft.now, policy), lease.machine)


def _good(draft: Draft, sight: Sight, slot: SlotId, kind: str) -> bool:
    """Whether it is in the pool, and nobody else runs another size on it."""
    card = draft.card(slot)
    return card.aside is None and not card.doubted and sight.usable(slot) and sight.foreign_size(slot) in ("", kind)


def expected_free(books: Books | Draft, lease: Lease, now: datetime, policy: Policy | None = None) -> datetime | None:
    """When a returning lease's devices are expected to be clean: its machine's window is known; None: it is not.

    :param policy: the site's blackouts are taken from it; None: they are left out of account
    """
    for move in moves_of(books, lease.machine):
        if move.state in OPEN_MOVE:
            if move.window is not None:
                return max(now, move.window.start)
            if move.last_call_for is not None:
                return max(now, move.last_call_for)
    mine = [a for a in agreements_of(books, lease.machine) if carries(books, a, lease.label)]
    starts = [window.start for a in mine if (window := coming(a, now, policy)) is not None]
    return max(now, min(starts)) if starts else None


def window_known(draft: Draft, sight: Sight, request: Request) -> bool:
    """Whether the request's machine may restart for it: a window was named, one stands, or the machine is off (not by us).

    After "ask me first" only a time that was named for this request counts: what stands for any change was agreed before it was said.
    """
    if sight.power(request.machine) is Power.OFF and not comes_on(moves_of(draft, request.machine), request.machine):
        return True
    labels = (str(request.number),) if request.ask_first else ("", str(request.number))
    return any(a.label in labels for a in agreements_of(draft, request.machine) if is_open(a))


def is_open(agreement: Agreement) -> bool:
    return agreement.state.value == "open"
