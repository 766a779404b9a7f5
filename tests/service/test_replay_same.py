"""The replay plays the product's policy: people drawn at random get the same cards in the same order from ``decide``, round by round, in a world
with machines, restarts and calls, and from the replay.

Compared are the order of the line (with the handicap for use), who goes past whom, and ends while somebody waits. The world is let to be quick
(restarts of seconds, announced at once), since a replay knows no minutes of restarts; shares and limits of people are off in both.
"""

from __future__ import annotations

import statistics
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from random import Random

import pytest

from bot.domain import pool, queue, windows
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE
from bot.domain.model import Lease, LeaseState, Length
from bot.domain.policy import Policy
from bot.domain.queue import Wanted
from bot.domain.times import Which, WindowWish
from bot.service.replay.people import DAY, HOUR, MIN, Ask, Consent, Says
from bot.service.replay.play import Play
from bot.service.replay.policies import Rules
from bot.service.replay.use import Use
from bot.service.replay.windows import AnyTime, Turn
from tests.domain.world import Vm, World

MONDAY = datetime(2026, 11, 29, 23, tzinfo=UTC)
"""0:00 in Berlin."""

CARDS, PEOPLE = 4, 9
NAMES = {"a": "ada", "b": "bob", "c": "carol"}
SECOND, SOON, STEP = timedelta(seconds=1), timedelta(seconds=2), timedelta(minutes=4)
POLICY = Policy(
    level="act",
    pool_share=9.0,  # nobody is ever over it
    queued_a_person=99,
    last_call=timedelta(0),
    last_call_now=timedelta(0),
    usual_first=timedelta(minutes=1),
    working_days=frozenset(range(7)),  # "now" holds whenever the card comes
    working_start=time(0),
    working_end=time(0),
)


def vm(one: Ask) -> str:
    """The machine of a request: each has its own."""
    return f"vm-{one.number}"


def crowd(seed: int) -> list[Ask]:
    """Some people within a day; lengths of hours, and no two moments that are close by plan."""
    chance, found = Random(f"same {seed}"), []
    for number in range(1, PEOPLE + 1):
        length = chance.choice([2, 4, 8, 24]) * HOUR
        work = length * chance.uniform(0.3, 1.0)
        hold = chance.choice([0.0, HOUR, 9 * HOUR]) * chance.uniform(0.5, 1)
        at = 9 * HOUR + chance.uniform(0, 14 * HOUR)
        agrees = Consent(Says.SOON, 0.0)
        found.append(
            Ask(number, at, chance.choice("abc"), chance.randint(1, 4), work, hold, length, 0.0, agrees, agrees)
        )
    return [replace(one, number=n) for n, one in enumerate(sorted(found, key=lambda one: one.at), 1)]


class Nights(AnyTime):
    """At any time; but surely back is only who is back after the next whole night, as for machines without standing times."""

    def due(self, end: float) -> float:
        return end + MIN

    def turn(self, ask: Ask, now: float) -> Turn:
        return Turn(now + MIN)

    def surely(self, ask: Ask, now: float) -> float:
        end = now + MIN + ask.length + 2 * MIN
        return end + (22 * HOUR - end) % DAY + 8 * HOUR


class Told(Use):
    """Places as they were told, in the order of asking; keeps beside them what the replay would have said."""

    def __init__(self, told: list[float]) -> None:
        super().__init__(POLICY)
        self._told, self.said = list(told), list[float]()

    def handicap(self, user: str) -> float:
        self.said.append(super().handicap(user))
        return self._told[len(self.said) - 1]


def replayed(asks: list[Ask], use: Use | None = None) -> list[tuple[int, float]]:
    """Whose turn it was, in order, and when."""
    play = Play(asks, CARDS, Rules("gpubot"), Nights(), POLICY)
    play._use = use or play._use
    return [(one.ask.number, one.start - MIN) for one in play.run()]


class Decided:
    """The same people in a world of machines, in which ``decide`` has the say."""

    def __init__(self, asks: list[Ask]) -> None:
        self.asks = {one.number: one for one in asks}
        self.world = World(MONDAY, POLICY)
        self.turns: list[tuple[int, float]] = []
        self.leaves: dict[str, datetime] = {}  # when each gives back by hand, by label
        for one in asks:
            self.world.vms[vm(one)] = Vm(vm(one), (NAMES[one.user],), stop_takes=SECOND, boot_takes=SECOND)
        self.world.round()
        for one in asks:
            seen = self.world.seen_machine(self.world.vms[vm(one)])
            self.world.do(lambda d, seen=seen, one=one: pool.add_machine(d, seen, (NAMES[one.user],), "dana"))

    def run(self) -> list[tuple[int, float]]:
        """Until everybody had their turn and gave back."""
        waits = list(self.asks.values())
        while waits or self.leaves or any(x.state in OPEN_LEASE for x in self.world.books.leases.values()):
            while waits and MONDAY + timedelta(seconds=waits[0].at) <= self.world.now:
                self.ask(waits.pop(0))
            self.give_back()
            self.round()
            while any(move.state in OPEN_MOVE for move in self.world.books.moves.values()):
                self.round()  # restarts are over at once
            self.world.now = min([self.world.now + STEP, *self.moments(waits)])
        return self.turns

    def later(self) -> list[float]:
        """By how much each place was shifted, in the order of asking."""
        known = self.world.gone_requests | dict(self.world.books.requests)
        return [sum(s.by.total_seconds() for s in known[number].shifts) for number in self.asks]

    def moments(self, waits: list[Ask]) -> list[datetime]:
        """When something is next."""
        asks = [MONDAY + timedelta(seconds=one.at) for one in waits[:1]]
        ends = [x.end for x in self.world.books.leases.values() if x.end is not None]
        return [at for at in (*asks, *self.leaves.values(), *ends) if at > self.world.now]

    def ask(self, one: Ask) -> None:
        length = Length(lasting=timedelta(seconds=one.length))
        wanted = Wanted(one.count, "T4", f"uuid-{vm(one)}", length, window=self.world.wish("now"))
        person = self.world.people[NAMES[one.user]]
        asked = self.world.do(lambda d: queue.request(d, person, wanted, self.world.policy))
        assert asked.number == one.number

    def give_back(self) -> None:
        """By hand, and at the end of the time: their machines may restart at once."""
        for label, at in list(self.leaves.items()):
            lease = self.world.lease(label)
            if lease.state is LeaseState.ACTIVE and at <= self.world.now:
                self.world.release(lease.person, label, window="now")
            if self.world.lease(label).state is not LeaseState.ACTIVE:
                del self.leaves[label]

    def round(self) -> None:
        self.world.now += SOON
        self.world.round()
        known = {number for number, _ in self.turns}
        for label, lease in self.world.books.leases.items():
            one = self.asks[int(label)]
            if one.number not in known:
                self.turns.append((one.number, (self.world.now - MONDAY).total_seconds()))
            if lease.state is LeaseState.ACTIVE and lease.active_since is not None and label not in self.leaves:
                self.leaves[label] = lease.active_since + timedelta(seconds=one.work + one.hold)
                self.agree_home(one, lease)
        self.give_back()

    def agree_home(self, one: Ask, lease: Lease) -> None:
        """Its machine may restart when its time is over, so that it is back then."""
        assert lease.end is not None
        home = WindowWish(Which.AT, lease.end, lease.end + timedelta(hours=12))
        machine = self.world.books.machines[lease.machine]
        person = self.world.people[lease.person]
        self.world.do(lambda d: windows.agree(d, machine, person, home, self.world.policy, lease.label))


def the_same(asks: list[Ask]) -> None:
    """Order and times but for minutes; and how much later those are in line who used more. That ``decide`` charges in steps, and a place that
    hangs on minutes may be another: so the turns are compared by its places."""
    world = Decided(asks)
    theirs, use = world.run(), Told(world.later())
    ours = replayed(asks, use)
    assert order(theirs) == order(ours)
    assert [at for _, at in theirs] == pytest.approx([at for _, at in ours], abs=10 * MIN)
    apart = [abs(one - other) for one, other in zip(use.said, world.later(), strict=True)]
    assert statistics.median(apart) <= 5 * MIN


def order(turns: list[tuple[int, float]]) -> list[int]:
    return [number for number, _ in turns]


def test_a_few_get_the_same_cards_in_the_same_order() -> None:
    asks = crowd(5)[:6]
    assert order(replayed(asks)) != sorted(order(replayed(asks))), "somebody goes past another"
    the_same(asks)


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 24, 8))
def test_people_get_the_same_cards_in_the_same_order(first: int) -> None:
    for seed in range(first, first + 8):
        the_same(crowd(seed))
