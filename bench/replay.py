"""How many requests a second a replay plays, against a loop measured in the same run that only keeps the events of as many in a heap.

Ours: the policy `gpubot` with a take-back as shipped, the dearest of those that `gpubot replay` compares, on the real trace at 4, 32 and 256 cards,
overloaded at the last, so that the line is long. ``python -m bench.replay`` prints all and ends with 1 if the slowest plays fewer
than 2,000 requests a second, or takes more than 400 times as long as the loop.
"""

from __future__ import annotations

import gc
import heapq
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bot.domain.policy import Policy
from bot.service.replay.people import Ask, drawn
from bot.service.replay.play import Play
from bot.service.replay.policies import compared
from bot.service.replay.trace import read
from bot.service.replay.windows import named

TRACE = Path(__file__).parents[1] / "tests" / "data" / "traces" / "philly_4vc.csv.gz"
CELLS = ((4, 0.7, 30), (32, 0.7, 8), (256, 1.0, 1))  # cards, load, seeds
TURNS = 3  # of each, one after the other; the fastest counts, for neighbours on the machine only make slower
LEAST, MOST = 2000, 400.0


def played(crowds: list[list[Ask]], cards: int) -> None:
    """Ours."""
    policy = Policy()
    rules = next(one for one in compared(policy.idle, None) if one.name == "gpubot")
    for asks in crowds:
        Play(asks, cards, rules, named("any", policy), policy).run()


def heaped(crowds: list[list[Ask]]) -> None:
    """The floor: each begins when it asks, and ends."""
    for asks in crowds:
        events = [(one.at, one.number, one.work) for one in asks]
        heapq.heapify(events)
        while events:
            at, number, work = heapq.heappop(events)
            if work:
                heapq.heappush(events, (at + work, number, 0.0))


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, without the collector of garbage."""
    gc.collect()
    gc.disable()
    try:
        begin = time.process_time()
        work()
        return time.process_time() - begin
    finally:
        gc.enable()


def main() -> int:
    """Print the figures; 1 if a target is missed."""
    rows, missed = read(TRACE), False
    for cards, load, seeds in CELLS:
        crowds = [drawn(rows, cards, load, seed) for seed in range(seeds)]
        asked = sum(map(len, crowds))
        ours, floor = [], []
        for _ in range(TURNS):
            ours.append(seconds(partial(played, crowds, cards)))
            floor.append(seconds(partial(heaped, crowds)))
        speed, ratio = asked / min(ours), min(ours) / min(floor)
        print(
            f"replay: {cards} cards, load {load}: {asked} requests, {speed:.0f} a second (at least {LEAST}),"
            f" {ratio:.0f} times as long as a heap of their events (at most {MOST:.0f})"
        )
        missed |= speed < LEAST or ratio > MOST
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
