"""What it costs to decide about a long line, against floors measured in the same run.

First: a round's decision and a planned start for everybody in line, on 256 cards in 64 hosts, against sorting those who wait by their place.
The books are kept from round to round, as the store keeps them; what the first round after the database was read takes is printed, too. Its
growth: time over n log n at 100,000 in line against that at 1,000. Then: one event at 1,000 in line, decided and committed through the real
store (SQLite in a file, ``synchronous=FULL``), against one row of sqlmodel's: a request, a release, and the round in which a card came back
and goes to the next; for 32 cards in 8 hosts, and for information for 256 in 64, for a round looks at every card.

``python -m bench.queue`` prints milliseconds and ratios, and ends with 1 if a target is missed.
"""

from __future__ import annotations

import gc
import logging
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlmodel import Session, SQLModel, create_engine

from bench.commands import Row
from bench.crowd import NOW, Crowd, crowd
from bot import commands
from bot.domain import planner
from bot.domain.decide import decide
from bot.domain.draft import Changes, Draft
from bot.domain.model import Books, Lease, LeaseState, Person, PersonId, RequestState, Seen
from bot.domain.queue import waiters
from bot.domain.sight import Sight
from bot.edges.store import SqlStore, open_store
from bot.edges.store import books as shelf
from bot.service.desk import Desk
from bot.service.ports import Address, Ask, Before, LabStep, Reply
from bot.service.rounds import Rounds

HOSTS, FEWER_HOSTS = 64, 8
MANY, FEW, MOST = 10_000, 1_000, 100_000
TURNS = 15  # rounds that are measured
EVENTS = 24  # of each kind
BEAT = timedelta(seconds=15)

MOST_SORTS, MOST_FIRST, MOST_GROWTH, MOST_COMMITS = 20.0, 30.0, 1.5, 10.0

PEER = "Slurm 22.05, its backfill pass over as many: 8,400 to 13,100 ms; labgrid, every place alike: 880 ms"


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long it takes, without the collector of garbage. ``clock``: of what only reckons the processor's, which neighbours disturb less."""
    gc.disable()
    try:
        begin = clock()
        work()
        return clock() - begin
    finally:
        gc.enable()


# ---- a long line


@dataclass
class Line:
    """Rounds over one crowd, each 15 s after the one before, with the books kept as the store keeps them."""

    crowd: Crowd
    kept: shelf.Kept
    at: datetime = NOW

    @staticmethod
    def of(waiting: int) -> Line:
        """As if just read from the database."""
        made = crowd(waiting, HOSTS)
        return Line(made, shelf.Kept(1, made.books, NOW, None))

    def round(self) -> float:
        """Seconds of one decision, with a planned start for everybody."""
        last, self.at = self.at, self.at + BEAT
        seen, draft = replace(self.crowd.seen, at=self.at), Draft(self.kept.books, self.at)
        people, policy = self.crowd.people, self.crowd.policy

        def work() -> None:
            decide(draft, seen, {}, people, policy, "run", last_look=last)
            planned = planner.plan(draft, Sight(draft, seen, {}), people, policy)
            assert len(planned) >= len(self.crowd.waiting) * 0.99, "everybody in line has a planned start"

        took = seconds(work, time.process_time)
        changes = draft.changes()
        told = frozenset(n.once for n in changes.news if n.once)
        self.kept = shelf.apply(self.kept, changes, told, self.at)
        return took

    def sort(self, chance: random.Random) -> float:
        """Seconds of sorting those who wait by their place, from no order."""
        waiting = [r for r in self.kept.books.requests.values() if r.state is RequestState.QUEUED]
        chance.shuffle(waiting)
        return seconds(lambda: sorted(waiting, key=attrgetter("place_key")), time.process_time)


@dataclass(frozen=True)
class Took:
    """At one length of the line; the fastest of several counts, for neighbours on the machine only make slower."""

    first: float  # seconds, fresh from the database
    later: float  # the rounds after
    sort: float  # the floor
    first_sorts: float  # how many times the sorting just before it
    later_sorts: float  # the same of the rounds after, as a median


def line(waiting: int, turns: int) -> Took:
    """Measures one length of the line."""
    chance, firsts, later = random.Random(1), list[tuple[float, float]](), list[tuple[float, float]]()
    for _ in range(3 if waiting < MOST else 1):
        one = Line.of(waiting)
        firsts.append((one.sort(chance), one.round()))
        later += [(one.sort(chance), one.round()) for _ in range(turns)]
        gc.collect()
    sort, first = min(sort for sort, _ in (*firsts, *later)), min(took for _, took in firsts)
    ratios = [[took / sort for sort, took in pairs] for pairs in (firsts, later)]
    return Took(first, min(took for _, took in later), sort, min(ratios[0]), statistics.median(ratios[1]))


def lines() -> bool:
    """Prints what a long line costs; whether the targets are met."""
    few, many, most = line(FEW, TURNS), line(MANY, TURNS), line(MOST, 5)
    for n, took in ((FEW, few), (MANY, many), (MOST, most)):
        print(
            f"{n:7} in line: decided, with a planned start for each, in {took.later * 1e3:7.1f} ms"
            f" (fresh from the database {took.first * 1e3:.1f} ms); sorted in {took.sort * 1e3:.2f} ms"
        )
    print(f"  peers: {PEER}")
    print(
        f"{MANY:7} in line: {many.later_sorts:.1f} times the sorting (at most {MOST_SORTS:.0f});"
        f" the first round {many.first_sorts:.1f} (at most {MOST_FIRST:.0f})"
    )
    growth = [(took.later / (n * math.log(n))) for n, took in ((FEW, few), (MOST, most))]
    print(f"time over n log n, {MOST} against {FEW}: {growth[1] / growth[0]:.2f} (at most {MOST_GROWTH})")
    return many.later_sorts <= MOST_SORTS and many.first_sorts <= MOST_FIRST and growth[1] / growth[0] <= MOST_GROWTH


# ---- one event


class Still:
    """The clock, the people, the lab and the voice of a site in which nothing happens by itself."""

    def __init__(self, people: Iterable[PersonId], seen: Seen) -> None:
        """``seen``: what every look shows, until it is changed."""
        self.at, self.seen = NOW, seen
        self._people = {id: Person(id, id, "Europe/Berlin") for id in people}

    def now(self) -> datetime:
        return self.at

    def real(self) -> float:
        return time.monotonic()

    def person(self, id: PersonId) -> Person:
        return self._people.get(id) or Person(id, id, "Europe/Berlin")

    def find(self, word: str) -> Person | None:
        return self._people.get(word)

    def admins(self) -> tuple[PersonId, ...]:
        return ()

    def look(self) -> Seen:
        return self.seen

    def dry_run(self, step: LabStep) -> list[str]:
        return []

    def act(self, step: LabStep) -> Before | None:
        return None

    def note(self, vcenter: str, machine: str, text: str) -> None:
        pass

    def post(self, to: PersonId, reply: Reply) -> Address:
        return Address(to, "1")

    def edit(self, at: Address, reply: Reply) -> Address:
        return at

    def pin(self, at: Address) -> None:
        pass

    def close(self) -> None:
        pass


class Site:
    """A bot on a database with a crowd in its books."""

    def __init__(self, store: SqlStore, made: Crowd, still: Still) -> None:
        """Records the crowd, and has the first rounds over it."""
        self.store, self.made, self.still = store, made, still
        wake = lambda: None  # noqa: E731 - nobody sleeps
        self.desk = Desk(store, still, still, made.policy, ("T4",), wake, commands.found())
        self.rounds = Rounds(store, still, still, still, still, made.policy, "run", wake)
        books = made.books
        puts = (books.cards, books.machines, books.requests, books.leases, books.agreements, books.accounts)
        with store.transaction() as transaction:
            transaction.books()
            values: tuple[Any, ...] = tuple(value for noun in puts for value in noun.values())
            transaction.record(Changes(values, holds=tuple(books.holds), numbers=tuple(books.numbers.items())), ())
        for _ in range(3):
            self.round()

    def round(self) -> float:
        """Seconds of the decision of one round, from the look to its commit."""
        self.still.at += BEAT
        self.still.seen = replace(self.still.seen, at=self.still.at)
        self.store.keep_look(self.still.seen)
        self.rounds._looks = (self.rounds._looks[1], self.still.at)
        return seconds(lambda: self.rounds._decide(self.still.seen))

    def say(self, person: PersonId, text: str) -> float:
        """Seconds until one line is answered, and what it changed committed."""
        self.still.at += timedelta(seconds=1)
        told: list[Reply] = []
        took = seconds(lambda: told.append(self.desk.hear(Ask(person, text, "bench"))))
        if not told[0].ok:
            raise RuntimeError(f"{text!r} was answered {told[0].lines}")
        return took

    def came_off(self, lease: Lease) -> None:
        """The next look shows a lease's cards off its machine."""
        seen = self.still.seen
        machines = tuple(replace(m, cards=()) if m.uuid == lease.machine else m for m in seen.machines)
        hosts = tuple(
            replace(h, bound={pci: uuid for pci, uuid in h.bound.items() if uuid != lease.machine}) for h in seen.hosts
        )
        self.still.seen = replace(seen, machines=machines, hosts=hosts)


@contextmanager
def one_row(folder: Path) -> Iterator[Callable[[], float]]:
    """The floor: seconds of one row written with sqlmodel."""
    engine = create_engine(f"sqlite:///{folder / 'floor.db'}")

    @event.listens_for(engine, "connect")
    def settings(connection: Any, _: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    SQLModel.metadata.create_all(engine, tables=[SQLModel.metadata.tables["row"]])

    def write() -> None:
        with Session(engine) as session:
            session.add(Row(person="ada", text="request 1"))
            session.commit()

    yield lambda: seconds(write)
    engine.dispose()


def events(folder: Path, hosts: int, most: float) -> bool:
    """Prints what one event costs at 1,000 in line; whether the targets are met. ``most``: so many rows at most."""
    made = with_more(crowd(FEW, hosts), EVENTS)
    still = Still(made.people, made.seen)
    store = open_store(f"sqlite:///{folder / 'gpubot.db'}", now=still.now)
    took: dict[str, list[float]] = {name: [] for name in ("one row", "a request", "a release", "a round that grants")}
    try:
        site = Site(store, made, still)
        with one_row(folder) as floor:
            floor()
            for n in range(EVENTS):
                _one_event(site, n, took, floor)
    finally:
        store.close()
    floor_s = statistics.median(took["one row"])
    good = True
    for name, each in took.items():
        middle, slow = statistics.median(each), sorted(each)[-2]
        ratio = middle / floor_s
        limit = f" (at most {most:.0f})" if most < math.inf else ""
        rows = "" if name == "one row" else f"   {ratio:.1f} rows{limit}"
        print(
            f"{FEW:7} in line, {4 * hosts:3} cards: {name:19} {middle * 1e3:6.2f} ms, slowest but one {slow * 1e3:6.2f} ms{rows}"
        )
        good = good and ratio <= most
    return good


def _one_event(site: Site, n: int, took: dict[str, list[float]], floor: Callable[[], float]) -> None:
    """A request; a release; the round in which that card is off, and goes to the next. Before each, the floor."""
    took["one row"].append(floor())
    took["a request"].append(site.say(f"new{n}", "request 1 for 4h"))
    site.round()
    took["one row"].append(floor())
    lease = _to_release(site.store.read(), site.still.at)
    took["a release"].append(site.say(lease.person, f"release #{lease.label}"))
    site.round()
    site.came_off(lease)
    took["one row"].append(floor())
    took["a round that grants"].append(site.round())
    books = site.store.read()
    if books.leases[lease.label].state is not LeaseState.ENDED or not books.on(lease.slots[0]):
        raise RuntimeError(f"{lease.slots[0]} did not go on to anybody")


def _to_release(books: Books, at: datetime) -> Lease:
    """A lease that works, and whose card goes to somebody in line."""
    working = (x for x in books.leases.values() if x.state is LeaseState.ACTIVE)
    for lease in working:
        if any(r.state is RequestState.QUEUED for r in waiters(books, lease.kind, lease.machine, at)):
            return lease
    raise RuntimeError("nobody waits for a card")


def with_more(made: Crowd, people: int) -> Crowd:
    """The same with so many more people, who have a machine each and want nothing yet; all others want one card each, so that each that comes
    back goes on to somebody."""
    books, seen = made.books, made.seen
    wants = {
        n: replace(r, count=1, start=None) if r.state is RequestState.QUEUED else r for n, r in books.requests.items()
    }
    machine, vm = books.machines["waits-0"], next(m for m in seen.machines if m.uuid == "waits-0")
    new = {f"more-{n}": f"new{n}" for n in range(people)}
    machines = {uuid: replace(machine, uuid=uuid, name=uuid, owners=(who,)) for uuid, who in new.items()}
    vms = tuple(replace(vm, uuid=uuid, name=uuid) for uuid in new)
    more = {who: Person(who, who, "Europe/Berlin") for who in new.values()}
    return replace(
        made,
        books=replace(books, requests=wants, machines={**books.machines, **machines}),
        seen=replace(seen, machines=(*seen.machines, *vms)),
        people={**made.people, **more},
    )


def main() -> int:
    """Measures, prints, and says whether the targets are met."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        good = [lines(), events(Path(one), FEWER_HOSTS, MOST_COMMITS), events(Path(other), HOSTS, math.inf)]
    print("the targets are met" if all(good) else "a target is MISSED")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
