"""What a policy made of the requests of all seeds, in numbers. It must not know how they were played."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from bot.service.replay.held import Held
from bot.service.replay.people import HOUR


@dataclass(frozen=True)
class Outcome:
    """One policy over all seeds. Waits are from the time of asking until the cards are at work."""

    policy: str
    mean_wait_h: float
    median_wait_h: float
    p95_wait_h: float  # 95 % wait less
    max_wait_h: float
    idle_share: float  # of the hours for which cards were held: after the work, until they were back
    useful_share: float  # of all hours of the pool, from the start of the trace to its last request: work ran
    leases: int  # requests that were played, over all seeds; nobody gives up

    def as_json(self) -> dict[str, str | float]:
        """For programs, with as many digits as are worth telling."""
        return {name: round(one, 6) if isinstance(one, float) else one for name, one in asdict(self).items()}


@dataclass
class Tally:
    """Adds up what was played with one policy."""

    policy: str
    waits: list[float] = field(default_factory=list)  # hours
    held: float = 0.0  # hours of cards
    worked: float = 0.0  # of these
    useful: float = 0.0  # of these, before the last request of their seed
    pool: float = 0.0  # hours of all cards until then

    def add(self, played: Iterable[Held], cards: int) -> None:
        """One seed."""
        began = list(played)
        last = max((held.ask.at for held in began), default=0.0)
        self.pool += cards * last / HOUR
        for held in began:
            assert held.out is not None, "it was played to the end"
            count = held.ask.count / HOUR
            self.waits.append((held.start - held.ask.at) / HOUR)
            self.held += count * (held.out - held.start)
            self.worked += count * held.ask.work
            self.useful += count * max(0.0, min(held.done, last) - held.start)

    def outcome(self) -> Outcome:
        """What it came to."""
        waits = sorted(self.waits)
        return Outcome(
            policy=self.policy,
            mean_wait_h=statistics.fmean(waits),
            median_wait_h=statistics.median(waits),
            p95_wait_h=waits[min(len(waits) - 1, int(0.95 * len(waits)))],
            max_wait_h=waits[-1],
            idle_share=max(0.0, 1 - self.worked / self.held),
            useful_share=self.useful / self.pool if self.pool else 0.0,
            leases=len(waits),
        )
