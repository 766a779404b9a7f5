"""The product's policy played on a trace of requests with simulated people, so that an admin can choose one before living with it.

``trace`` reads the file, ``people`` draws what people do, ``windows`` knows when machines may restart, ``policies`` are what is compared,
``play`` plays one (with ``held`` and ``use``), ``outcome`` adds up, ``show`` has the words. Called by the command ``gpubot replay``. It touches no books
and needs no settings. What is modelled, and what is not, is in docs/policy.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.domain.policy import Policy
from bot.service.replay.outcome import Outcome, Tally
from bot.service.replay.people import drawn
from bot.service.replay.play import Play
from bot.service.replay.policies import compared
from bot.service.replay.trace import CannotReplay, Row, read
from bot.service.replay.windows import KINDS, named

__all__ = ["KINDS", "CannotReplay", "Outcome", "Row", "Setup", "read", "replay"]


@dataclass(frozen=True)
class Setup:
    """What a replay is played with."""

    cards: int  # of the pool, all of one kind and host
    load: float  # share of its hours that would be held if everybody were served at once and gave back by hand
    seeds: int  # how often, with other people
    take_back: float | None = None  # minutes after the end of the work; None: as the product does
    windows: str = "any"  # one of KINDS

    def __post_init__(self) -> None:
        """:raises CannotReplay: with all that is wrong"""
        wrong = []
        if not 1 <= self.cards <= MOST_CARDS:
            wrong.append(f"--cards is {self.cards}: a number from 1 to {MOST_CARDS}, like 8")
        if not 0 < self.load <= MOST_LOAD:
            wrong.append(
                f"--load is {self.load:g}: above 0 and at most {MOST_LOAD:g}, like 0.7 (seven of ten hours are held)"
            )
        if not 1 <= self.seeds <= MOST_SEEDS:
            wrong.append(f"--seeds is {self.seeds}: a number from 1 to {MOST_SEEDS}, like 5")
        if self.take_back is not None and not 0 < self.take_back < math.inf:
            wrong.append(
                f"--take-back is {self.take_back:g}: minutes above 0, like 30; left out: the bot's own numbers"
            )
        if self.windows not in KINDS:
            wrong.append(f"--windows is {self.windows}: one of {', '.join(KINDS)}")
        if wrong:
            raise CannotReplay("\n".join(wrong))


MOST_CARDS, MOST_LOAD, MOST_SEEDS = 10_000, 2.0, 1000


def replay(
    rows: Sequence[Row], setup: Setup, told: Callable[[int, int], None] = lambda done, of: None
) -> list[Outcome]:
    """Each policy, played on the same people.

    :param rows: in the order of asking
    :param told: is called with how many plays are done, and of how many
    :raises CannotReplay: nothing of the trace can be played so
    """
    policy = Policy()
    rules = compared(policy.idle, None if setup.take_back is None else setup.take_back * 60)
    tallies = [Tally(one.name) for one in rules]
    when, done = named(setup.windows, policy), 0
    for seed in range(setup.seeds):
        asks = drawn(rows, setup.cards, setup.load, seed)
        for one, tally in zip(rules, tallies, strict=True):
            tally.add(Play(asks, setup.cards, one, when, policy).run(), setup.cards)
            done += 1
            told(done, setup.seeds * len(rules))
    return [tally.outcome() for tally in tallies]
