"""Simulated people for a trace: which of its requests are asked, how long each holds on after the work, and what they answer.

All is drawn here, once a seed, and every policy plays the same draws; so policies differ by what they do and not by luck. The model is that
of docs/policy.md. It must not know any policy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random

from bot.service.replay.trace import CannotReplay, Row

MIN, HOUR, DAY = 60.0, 3600.0, 86400.0
WEEK = 7 * DAY

SHORTEST, LONGEST = 15 * MIN, 48 * HOUR  # of the work: shorter ones are left out, longer ones cut
WIDEST = 8  # cards of one request: one machine, on one host; wider ones are left out
HOLDS, HOLDS_SIGMA, HOLDS_MOST = 2 * HOUR, 1.5, 72 * HOUR  # after the work: lognormal, its median; cut
LENGTHS = tuple(h * HOUR for h in (1, 2, 4, 8, 12, 24, 48, 72))  # what people ask for
ANSWERS, ANSWERS_AFTER = 0.6, 20 * MIN  # to "do you still need it?": how many do, and after how long on average
HOLDS_MEAN = 5.5 * HOUR  # of those, roughly
CONSENTS, CONSENTS_SIGMA = 20 * MIN, 1.0  # to a restart: lognormal, its median, of working hours
TONIGHT, SILENT = 0.3, 0.2  # how many say "tonight", and how many nothing
CLOSE = 0.02  # the load is met that closely


class Says(Enum):
    """What an owner answers when their machine is to restart."""

    SOON = "soon"
    TONIGHT = "tonight"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Consent:
    """One answer."""

    says: Says
    after: float  # seconds of working hours until it comes


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, with all that its person will do. Seconds."""

    number: int  # from 1, in the order of asking
    at: float  # when it is asked, from the start of the trace
    user: str
    count: int  # cards
    work: float  # how long it works
    hold: float  # how long it is held after that, if nobody does anything
    length: float  # for how long it is asked
    answer: float  # seconds until "do you still need it?" is answered with no; infinite: it never is
    goes: Consent  # to the restart that puts its cards in
    comes: Consent  # to the one that takes them out


def span_of(rows: Sequence[Row]) -> float:
    """Seconds of a trace, in whole weeks; of one shorter than a week in whole days."""
    unit = WEEK if rows[-1].at >= WEEK else DAY
    return (rows[-1].at // unit + 1) * unit


def drawn(rows: Sequence[Row], cards: int, load: float, seed: int) -> list[Ask]:
    """The requests of one seed.

    :param cards: of the pool
    :param load: share of the pool's hours that would be held if everybody were served at once and gave back by hand
    :raises CannotReplay: no request is long enough, or each is too long
    """
    picked = sorted(_picked(rows, cards, load, seed), key=lambda p: (p.at, p.place))
    lengths, answers, consents = (Random(f"{seed} {what}") for what in ("lengths", "answers", "consents"))
    found = []
    for number, one in enumerate(picked, 1):
        work = min(one.row.work, LONGEST)
        does, after = answers.random(), answers.expovariate(1 / ANSWERS_AFTER)
        found.append(
            Ask(
                number=number,
                at=one.at,
                user=one.row.user,
                count=one.row.cards,
                work=work,
                hold=one.hold,
                length=next(h for h in LENGTHS if h >= min(work * lengths.uniform(1, 3), LENGTHS[-1])),
                answer=after if does < ANSWERS else math.inf,
                goes=_consent(consents),
                comes=_consent(consents),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class _Picked:
    at: float
    place: int  # among those picked
    row: Row
    hold: float


def _picked(rows: Sequence[Row], cards: int, load: float, seed: int) -> Iterator[_Picked]:
    """Requests at random until the load is reached, each with when it is asked and how long it is held."""
    fit = [row for row in rows if row.work >= SHORTEST and row.cards <= min(cards, WIDEST)]
    if not fit:
        most = f"at most {min(cards, WIDEST)} card{'s' if cards > 1 else ''}"
        raise CannotReplay(f"no request of the trace is for 15 min or longer and for {most}: others are left out")
    chance, holds = Random(f"{seed} picks"), Random(f"{seed} holds")
    span, total, place = span_of(rows), 0.0, 0
    wanted = load * cards * span
    for candidates in _batches(fit, sum(row.cards * _held(row, HOLDS_MEAN) for row in fit), wanted, span, chance):
        before = place
        for at, row in candidates:
            hold = min(holds.lognormvariate(math.log(HOLDS), HOLDS_SIGMA), HOLDS_MOST)
            area = row.cards * _held(row, hold)
            if total + area > wanted * (1 + CLOSE):
                continue
            total, place = total + area, place + 1
            yield _Picked(at, place, row, hold)
            if total >= wanted * (1 - CLOSE):
                return
        if place == 0:
            raise CannotReplay(
                "each request of the trace alone is more than this load: take more cards, or a higher load"
            )
        if place == before:
            return


def _batches(
    rows: Sequence[Row], area: float, wanted: float, span: float, chance: Random
) -> Iterator[list[tuple[float, Row]]]:
    """Requests to pick from, mixed: those of the trace if that has enough, else of copies of it, too, which are shifted by whole weeks and
    laid over each other. The next batch is for what the first one lacked."""
    weeks = int(span // WEEK)
    copies = max(1, math.ceil(wanted * 1.05 / area))
    first = True
    while True:
        batch = []
        for copy in range(copies):
            shift = chance.randrange(weeks) * WEEK if weeks and (copy or not first) else 0.0
            batch += [((row.at + shift) % span, row) for row in rows]
        chance.shuffle(batch)
        yield batch
        first, copies = False, 1


def _held(row: Row, hold: float) -> float:
    """For how long it is held if it is given back by hand."""
    return min(row.work, LONGEST) + hold


def _consent(chance: Random) -> Consent:
    does, after = chance.random(), chance.lognormvariate(math.log(CONSENTS), CONSENTS_SIGMA)
    says = Says.TONIGHT if does < TONIGHT else Says.NOTHING if does < TONIGHT + SILENT else Says.SOON
    return Consent(says, after)
