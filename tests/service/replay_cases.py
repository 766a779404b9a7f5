"""Small traces for the tests of the replay: drawn by hypothesis, and the real one."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from bot.domain.policy import IdlePolicy, Policy
from bot.service.replay.held import Held
from bot.service.replay.people import DAY, HOUR, MIN, Ask, Consent, Says
from bot.service.replay.play import Play
from bot.service.replay.policies import Rules, compared
from bot.service.replay.trace import Row, read
from bot.service.replay.windows import KINDS, named

REAL = Path(__file__).parents[1] / "data" / "traces" / "philly_4vc.csv.gz"
NAMES = ("fifo-manual", "fifo-take-back", "gpubot-nudge", "gpubot", "clairvoyant")
CARDS = 4


@lru_cache(maxsize=1)
def real() -> list[Row]:
    return read(REAL)


def rules(name: str, take_back: float | None = 30 * MIN) -> Rules:
    return next(one for one in compared(IdlePolicy(), take_back) if one.name == name)


def play(
    asks: list[Ask], name: str, take_back: float | None = 30 * MIN, kind: str = "any", cards: int = CARDS
) -> list[Held]:
    policy = Policy()
    return Play(asks, cards, rules(name, take_back), named(kind, policy), policy).run()


AT_ONCE = Consent(Says.SOON, 0.0)


def ask(number: int, at: float, count: int = 1, work: float = HOUR, hold: float = 0.0, length: float | None = None,
        answer: float = math.inf, user: str = "", goes: Consent = AT_ONCE, comes: Consent = AT_ONCE) -> Ask:  # fmt: skip
    return Ask(number, at, user or f"u{number}", count, work, hold, length or work, answer, goes, comes)


CONSENTS = [Consent(says, after) for says in Says for after in (0.0, 20 * MIN, 4 * HOUR)]


@st.composite
def crowds(draw: st.DrawFn) -> list[Ask]:
    """People who ask within two days; many at the same moments, so that ties and full pools are common."""
    found = []
    for number, seed in enumerate(draw(st.lists(st.integers(0, 2**32), min_size=1, max_size=25))):
        chance = Random(seed)  # one draw a person: what they do is nothing that hypothesis could make simpler
        work = chance.choice([15 * MIN, HOUR, 5 * HOUR, 2 * DAY, chance.uniform(15 * MIN, 2 * DAY)])
        found.append(
            Ask(
                number=number,
                at=chance.randrange(97) * HOUR / 2,
                user=chance.choice("abc"),
                count=chance.randint(1, CARDS),
                work=work,
                hold=chance.choice([0.0, HOUR, 30 * HOUR, chance.uniform(0, 72 * HOUR)]),
                length=work * chance.choice([1.0, 1.5, 3.0]),
                answer=chance.choice([0.0, 10 * MIN, math.inf]),
                goes=chance.choice(CONSENTS),
                comes=chance.choice(CONSENTS),
            )
        )
    return sorted(found, key=lambda one: (one.at, one.number))


ways = st.tuples(st.sampled_from(NAMES), st.sampled_from([None, 30 * MIN, 120 * MIN]), st.sampled_from(KINDS))
"""A policy, when cards are taken back, and when machines may restart."""
