"""What was measured of the devices that were lent: how much of each piece was busy, and how much quiet. The rest stays unknown.

Called by ``reckon``. Guests tell hours of devices by UUID; whose they were, the pieces know. *Unknown is never quiet*: what cannot be put to one
device, or one person, is nobody's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.domain.inside import Hour
from bot.domain.model import Lease, MachineId, SlotId
from bot.domain.report.cards import Piece
from bot.domain.report.values import MICRO

HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Measured:
    """A piece that was lent, or what of it lies in one hour, in microseconds of its device."""

    piece: Piece  # which
    busy: int
    quiet: int
    unknown: int


def measured(lent: Iterable[Piece], hours: Iterable[Hour], devices: Mapping[str, SlotId]) -> Iterator[Measured]:
    """All of the pieces, hour by hour. ``devices``: what is known of UUIDs."""
    told: dict[tuple[MachineId, datetime], dict[str, Hour]] = defaultdict(dict)
    for hour in hours:
        told[hour.machine, hour.start][hour.uuid] = hour
    mine: dict[tuple[MachineId, datetime], dict[SlotId, list[tuple[Piece, int]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for piece in lent:
        assert piece.lease is not None, "of what is lent"
        for start, micros in _by_hour(piece):
            mine[piece.lease.machine, start][piece.slot].append((piece, micros))
    for key, slots in mine.items():
        found = _whose(told.get(key, {}), slots, devices)
        for slot, parts in slots.items():
            yield from _parted(parts, found.get(slot))


def _by_hour(piece: Piece) -> Iterator[tuple[datetime, int]]:
    """The hours that a piece reaches into, and how much of each it has."""
    at = piece.start
    while at < piece.end:
        hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        upto = min(hour + HOUR, piece.end)
        yield hour, (upto - at) // MICRO
        at = upto


def _whose(
    told: Mapping[str, Hour], slots: Mapping[SlotId, Sequence[tuple[Piece, int]]], devices: Mapping[str, SlotId]
) -> dict[SlotId, Hour]:
    """What was told in an hour of a machine, by device of the books. UUIDs that are not known stand for the devices that are left, if these are
    as many, and all of one lease: then it is the same which is which."""
    found = {slot: hour for uuid, hour in told.items() if (slot := devices.get(uuid, "")) in slots}
    left = [told[uuid] for uuid in sorted(told) if devices.get(uuid, "") not in slots]
    others = sorted(slot for slot in slots if slot not in found)
    holders: set[Lease | None] = {piece.lease for slot in others for piece, _ in slots[slot]}
    if len(left) == len(others) and (len(holders) == 1 or len(others) == 1):
        found |= dict(zip(others, left, strict=True))
    return found


def _parted(parts: Sequence[tuple[Piece, int]], hour: Hour | None) -> Iterator[Measured]:
    """An hour of a device among those who had it in turn, by time. It was not measured for longer than it was lent."""
    whole = sum(micros for _, micros in parts)
    seen = round(hour.measured_s * 1000) * 1000 if hour is not None else 0
    worked = min(round(hour.busy_s * 1000) * 1000, seen) if hour is not None else 0
    known = min(seen, whole)
    busy = worked * known // seen if seen else 0
    gone = 0
    for piece, micros in parts:
        before, gone = gone, gone + micros
        mine = known * gone // whole - known * before // whole
        works = min(busy * gone // whole - busy * before // whole, mine)
        yield Measured(piece, works, mine - works, micros - mine)
