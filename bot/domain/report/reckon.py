"""The sums of a period, from all that is known of it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime

from bot.domain.model import Lease, Line, SlotId
from bot.domain.report import people
from bot.domain.report.cards import Piece, first_seen, pieces
from bot.domain.report.measured import measured
from bot.domain.report.periods import Period, days_of
from bot.domain.report.values import MICRO, Amount, Cell, Known, Report, What
from bot.domain.slots import card_name


def reckon(known: Known, period: Period, now: datetime) -> Report:
    """The sums, of what lies behind ``now``."""
    upto = max(min(period.end, now), period.start)
    days = [(day, start, min(end, upto)) for day, start, end in days_of(period) if start < upto]
    cells: Counter[Cell] = Counter()
    waits = people.waits(known.requests, known.leases, known.lines, now)
    for cell, amount in (*_of_cards(known, days, now), *_of_people(waits, days)):
        cells[cell] += amount  # type: ignore[assignment]  # Counter says int; fractions add up as well
    inside = [line for line in known.lines if period.start <= line.at < upto]
    there = [at for at in _first_seen(known) if at < upto]
    served = [w for w in waits if w.served is not None and period.start <= w.served < upto]
    return Report(
        period=period,
        upto=upto,
        cards=len(there),
        cells={cell: amount for cell, amount in cells.items() if amount},
        waits=tuple(sorted(w.ends - w.begins for w in served)),
        asked=sum(period.start <= w.asked < upto for w in waits),
        promises=people.promises(waits, period.start, upto),
        nudges=people.nudges(inside, period.start, upto),
        restarts=len({line.about for line in inside if line.what in people.RESTARTED}),
        begins=max(period.start, min(there, default=upto)),
    )


def _first_seen(known: Known) -> list[datetime]:
    """When each card was first there."""
    lines: dict[str, list[Line]] = {card.name: [] for card in known.cards}
    for line in known.lines:
        if line.about in lines:
            lines[line.about].append(line)
    return [first_seen(about) for about in lines.values()]


Days = Sequence[tuple[date, datetime, datetime]]
"""Days, each with its start and its end (or now)."""


def _of_cards(known: Known, days: Days, now: datetime) -> Iterator[tuple[Cell, Amount]]:
    """Every hour of every card, once."""
    if not days:
        return
    cuts = [*(start for _, start, _ in days), days[-1][2]]
    about: dict[str, list[Line]] = defaultdict(list)
    for line in known.lines:
        about[line.about].append(line)
    on: dict[SlotId, list[Lease]] = defaultdict(list)
    for lease in known.leases:
        for name in {card_name(slot) for slot in lease.slots}:
            on[name].append(lease)
    kinds = {card.name: card.kind for card in known.cards}
    lent: list[Piece] = []
    starts = [start for _, start, _ in days]
    for card in known.cards:
        for piece in pieces(card, on[card.name], about[card.name], cuts, now):
            if piece.what is What.UNKNOWN:
                lent.append(piece)
                continue
            day = days[bisect_right(starts, piece.start) - 1][0]
            yield _cell(day, card.kind, piece.what, piece.lease), piece.share * ((piece.end - piece.start) // MICRO)
    devices = {card.uuid: card.name for card in known.cards if card.uuid} | dict(known.devices)
    for part in measured(lent, known.hours, devices):
        piece = part.piece
        day = days[bisect_right(starts, piece.start) - 1][0]
        for what, micros in ((What.BUSY, part.busy), (What.QUIET, part.quiet), (What.UNKNOWN, part.unknown)):
            if micros:
                yield _cell(day, kinds[card_name(piece.slot)], what, piece.lease), piece.share * micros


def _cell(day: date, kind: str, what: What, lease: Lease | None) -> Cell:
    return Cell(day, kind, what) if lease is None else Cell(day, kind, what, lease.team, lease.person)


def _of_people(waits: Iterable[people.Wait], days: Days) -> Iterator[tuple[Cell, Amount]]:
    """The hours that requests waited, day by day."""
    for wait in waits:
        request = wait.request
        for day, start, end in days:
            begins, ends = max(start, wait.begins), min(end, wait.ends)
            if begins < ends:
                yield Cell(day, request.kind, What.WAITING, request.team, request.person), (ends - begins) // MICRO
