"""One card through a period: whose it was, and where it was when nobody had it, in pieces that cover each instant once.

Called by ``reckon``. The books say whose (leases), the ledger where (lines about the card).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise

from bot.domain import standing
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import Card, Lease, Line, Mode, SlotId
from bot.domain.report.values import Amount, What

OWN_OUT = frozenset({"card.drained", "card.quarantined"})
"""Lines that take a card out of the pool, by itself or (drained) with its host."""

STANDS = {line: where for where, line in standing.LINES.items()}


@dataclass(frozen=True)
class Piece:
    """A stretch of a card, or of a part of it."""

    start: datetime  # from
    end: datetime  # before
    what: What  # UNKNOWN where it is lent: what was measured comes later
    share: Amount  # of the card: 1, or a part of it
    lease: Lease | None = None  # whose it is
    slot: SlotId = ""  # which device, where it is lent


def pieces(
    card: Card, leases: Sequence[Lease], lines: Sequence[Line], cuts: Sequence[datetime], upto: datetime
) -> Iterator[Piece]:
    """All of a card from the first cut to the last, cut there too; from when it was first seen. ``leases``: those that had it or a part of it;
    ``lines``: those about it; ``upto``: now."""
    where = _Where(card, lines)
    mine = [(x, slot, *_lent(x, upto)) for x in leases for slot in x.slots if slot.partition(".")[0] == card.name]
    marks = {at for _, _, *times in mine for at in times if at is not None} | {where.since, *where.marks}
    inner = sorted({*cuts, *(at for at in marks if cuts[0] < at < cuts[-1])})
    for start, end in pairwise(inner):
        if start >= where.since:
            yield from _of(card, where, [m for m in mine if m[2] < end and start < m[4]], start, end)


def first_seen(lines: Iterable[Line]) -> datetime:
    """When a card came under the bot's eyes, by the lines about it; where none says so, always."""
    return min((line.at for line in lines if line.what == "card.seen"), default=datetime.min.replace(tzinfo=UTC))


_Claim = tuple[Lease, SlotId, datetime, datetime | None, datetime]
"""A lease, one of its devices, kept from, lent from (None: never), until."""


def _lent(lease: Lease, upto: datetime) -> tuple[datetime, datetime | None, datetime]:
    over = upto if lease.state in OPEN_LEASE else lease.changed
    return min(lease.since, lease.active_since or lease.since), lease.active_since, max(over, lease.since)


def _of(card: Card, where: _Where, claims: Iterable[_Claim], start: datetime, end: datetime) -> Iterator[Piece]:
    """One stretch in which nothing changes. Who got a device last has it, if the books name two."""
    left: Amount = 1
    taken: set[SlotId] = set()
    lent = sorted((c for c in claims if c[3] is not None and c[3] <= start), key=lambda c: c[3] or start, reverse=True)
    kept = [c for c in claims if c not in lent]
    out = where.at(start)
    for claim in (*lent, *(kept if out is not What.RESTING else ())):
        share = min(left, _share(card, claim[0]))
        if claim[1] not in taken and share > 0:
            taken.add(claim[1])
            left -= share
            yield Piece(start, end, What.UNKNOWN if claim in lent else What.KEPT, share, claim[0], claim[1])
    if left > 0:
        yield Piece(start, end, What.FREE if taken and out is What.ELSEWHERE else out, left)


def _share(card: Card, lease: Lease) -> Amount:
    """How much of a card a device of a lease is."""
    if card.mode is not Mode.VGPU or lease.slots[0] == card.name:
        return 1
    parts = dict(card.profiles).get(lease.kind) or max((n for _, n in card.profiles), default=1)
    return Fraction(1, parts)


class _Where:
    """What the ledger says of a card that nobody has."""

    def __init__(self, card: Card, lines: Sequence[Line]) -> None:
        self.marks: list[datetime] = []
        self._states: list[What] = []
        self.since = first_seen(lines)
        own = host = doubted = False
        stands = standing.POOL
        for line in lines:
            whole = line.what == "card.drained" and line.why.startswith(f"{card.host_name}: ")
            if line.what in OWN_OUT:
                own, host = own or not whole, host or whole
            elif line.what == "card.back" and line.why:  # with its host
                host = False
            elif line.what == "card.back":
                own = doubted = False
            elif line.what == "card.doubted":
                doubted = True
            elif line.what == "card.healed":  # of what was seen; or, with words, back into the pool
                own, doubted = own and not line.why, doubted and bool(line.why)
            elif line.what in STANDS:
                stands = STANDS[line.what]
            else:
                continue
            self._note(line.at, own or host or doubted, stands)
        if card.aside is not None and self.at(card.aside.since) is not What.RESTING:
            self._note(max([card.aside.since, *self.marks]), True, stands)

    def _note(self, at: datetime, out: bool, stands: str) -> None:
        gone = out or stands in (standing.UNUSABLE, standing.AWAY)
        self.marks.append(max([at, *self.marks[-1:]]))  # a clock that was set back does not turn the order round
        self._states.append(What.RESTING if gone else What.ELSEWHERE if stands else What.FREE)

    def at(self, at: datetime) -> What:
        """Where it was at an instant, had nobody had it."""
        number = bisect_right(self.marks, at)
        return self._states[number - 1] if number else What.FREE
