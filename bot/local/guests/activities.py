"""What programs in a simulated guest do to processor and cards, as a schedule in virtual time.

Asked by ``cards`` and ``reading`` for any stretch of time: the answer is exact, however fast the clock runs or far it jumps. Values only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

MIN = 60.0
CPU_SHARE = 0.1
"""Of a core: less is no work, as the real agent has it."""
MIB = 1024.0


@dataclass(frozen=True)
class Phase:
    """Some time in which a program does one thing."""

    seconds: float  # how long; math.inf: for ever
    util: float = 0.0  # % of a card's engines for computing
    encode: float = 0.0  # % of a card's encoder
    cpu: float = 0.0  # cores
    reads: bool = False  # reads steadily from disk or network

    @property
    def works(self) -> bool:
        """Whether a card works in it."""
        return self.util > 0 or self.encode > 0


@dataclass(frozen=True)
class Activity:
    """One kind of program, by the plain name under which a person starts it."""

    name: str  # plain name
    what: str  # what it does, for the page: a few words
    program: str  # command line
    phases: tuple[Phase, ...]  # again and again, from the start of the program
    gpu: bool = True  # it opens cards
    mem_mb: float = 4500  # of each card that it opens, MiB
    graphics: bool = False  # it is a desktop's
    after: Phase | None = None  # what it does once its work is over, if it stays
    works_s: float = math.inf  # seconds of work until then, unless another number is said
    listed: bool = True  # offered to people


STEADY = Activity("steady", "busy all the time", "python train.py", (Phase(math.inf, 97, cpu=1.0),), listed=False)
PLAIN = Activity("plain", "a core busy all the time", "make", (Phase(math.inf, cpu=1.0),), gpu=False, listed=False)
IDLE = Phase(math.inf)

_TRAINS = (Phase(25 * MIN, 93, cpu=1.0, reads=True), Phase(150, cpu=1.0, reads=True))  # and a checkpoint

ACTIVITIES: dict[str, Activity] = {
    a.name: a
    for a in (
        STEADY,
        PLAIN,
        Activity("training", "busy, with a pause of 2.5 min each 27.5", "python train.py", _TRAINS, mem_mb=11_200),
        Activity("notebook", "holds 9.8 GB and computes nothing", "python -m ipykernel_launcher", (IDLE,), mem_mb=9.8 * MIB),
        Activity("bursts", "5 s of work every 5 min", "python serve.py", (Phase(5, 95, cpu=1.0), Phase(295)), mem_mb=2100),
        Activity(
            "data loading",
            "reads and prepares data, nothing on the card yet",
            "python prepare.py",
            (Phase(math.inf, cpu=0.9, reads=True),),
            mem_mb=420,
        ),
        Activity(
            "forgotten",
            "trains for a while, then its kernel idles on the card",
            "python -m ipykernel_launcher",
            _TRAINS,
            mem_mb=9.8 * MIB,
            after=IDLE,
            works_s=20 * MIN,
        ),
        Activity("video", "uses the encoder, hardly the rest", "ffmpeg", (Phase(math.inf, 4, encode=60, cpu=0.4),), mem_mb=700),
        Activity("desktop", "a screen that flickers at 2 %", "Xorg", (Phase(math.inf, 2, cpu=0.02),), mem_mb=60, graphics=True),
        Activity("cpu", "eight cores, no card", "python simulate.py", (Phase(math.inf, cpu=8.0),), gpu=False),
    )
}  # fmt: skip
"""By plain name."""


@dataclass(frozen=True)
class Job:
    """One program of a person."""

    pid: int  # process id
    user: str  # who runs it
    name: str  # command line
    since: float  # virtual unix seconds
    gpu: bool  # uses the cards, if there are any
    on: tuple[str, ...] = ()  # PCI ids of the cards that it holds
    do: str = STEADY.name  # which activity
    until: float = math.inf  # virtual unix seconds at which it ends by itself
    works_s: float = math.inf  # seconds of work, before it idles

    @property
    def activity(self) -> Activity:
        """What it does."""
        return ACTIVITIES[self.do]

    def stretches(self, begin: float, end: float) -> Iterator[tuple[float, float, Phase]]:
        """What it did from ``begin`` to ``end`` (virtual unix seconds): from, to, phase; in order, only while it ran."""
        at, end = max(begin, self.since), min(end, self.until)
        over = self.since + self.works_s
        for to, phase in self._work(at, min(end, over)):
            yield at, to, phase
            at = to
        if at < end and self.activity.after is not None:
            yield at, end, self.activity.after

    def works_between(self, begin: float, end: float) -> bool:
        """Whether it did anything in that time: a card worked, or a tenth of a core."""
        return any(phase.works or phase.cpu >= CPU_SHARE for _, _, phase in self.stretches(begin, end))

    def _work(self, at: float, end: float) -> Iterator[tuple[float, Phase]]:
        phases = self.activity.phases
        whole = sum(p.seconds for p in phases)
        start = self.since if math.isinf(whole) else self.since + (at - self.since) // whole * whole
        while at < end:
            for phase in phases:
                start += phase.seconds
                if start > at and at < end:
                    at = min(start, end)
                    yield at, phase

    def phase(self, at: float) -> Phase:
        """What it does at an instant."""
        return next((phase for _, _, phase in self.stretches(at, math.nextafter(at, math.inf))), IDLE)
