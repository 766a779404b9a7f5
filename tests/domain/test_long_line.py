"""Many in line, on many hosts: what a round costs grows with those who wait, not with the square of them, whatever they wait for."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bench.crowd import NOW, Crowd, crowd
from bot.domain import planner
from bot.domain.decide import decide
from bot.domain.draft import Draft
from bot.domain.lengths import Length
from bot.domain.model import LeaseState, Offer, Person, Request, RequestState, Rest, RestWhy, Terms
from bot.domain.sight import Sight

HOUR = timedelta(hours=1)


def as_made(made: Crowd) -> Crowd:
    """Every way to ask there is, nearly all cards lent."""
    return made


def a_card_free_on_each_host(made: Crowd) -> Crowd:
    """One card of each host lies free, and most want more than that."""
    off = {c.name for c in made.books.cards.values() if c.pci == "0000:00:00.0"}
    gone = {h.label for name in off for h in made.books.on(name)}
    machines = {made.books.leases[label].machine for label in gone}
    seen = replace(
        made.seen,
        machines=tuple(replace(m, cards=()) if m.uuid in machines else m for m in made.seen.machines),
        hosts=tuple(
            replace(h, bound={pci: uuid for pci, uuid in h.bound.items() if uuid not in machines})
            for h in made.seen.hosts
        ),
    )
    wants = {n: _more(r) for n, r in made.books.requests.items() if str(n) not in gone}
    leases = {label: lease for label, lease in made.books.leases.items() if label not in gone}
    holds = frozenset(h for h in made.books.holds if h.label not in gone)
    return replace(made, seen=seen, books=replace(made.books, leases=leases, requests=wants, holds=holds))


def _more(request: Request) -> Request:
    waits = request.state is RequestState.QUEUED and request.number % 3
    return replace(request, count=max(2, request.count), partly=False) if waits else request


def all_over_their_time(made: Crowd) -> Crowd:
    """Every lease goes back in this round."""
    leases = {label: replace(x, end=NOW - HOUR, over_time=True) for label, x in made.books.leases.items()}
    return replace(made, books=replace(made.books, leases=leases))


def all_spare(made: Crowd) -> Crowd:
    """Everything that is lent is spare."""
    leases = {label: replace(x, terms=replace(x.terms, spare=True)) for label, x in made.books.leases.items()}
    return replace(made, books=replace(made.books, leases=leases))


def all_are_asked(made: Crowd) -> Crowd:
    """Every card is offered to somebody, whose time to answer is over."""
    books = made.books
    free = sorted(books.held_on)
    first = [r for r in sorted(made.waiting, key=lambda r: r.number) if r.count == 1][: len(free)]
    offered = {
        r.number: replace(r, state=RequestState.OFFERED, offer=Offer(NOW - 2 * HOUR, NOW - HOUR, None)) for r in first
    }
    leases = {label: replace(x, state=LeaseState.ENDED) for label, x in books.leases.items()}
    holds = frozenset(
        replace(books.held_on[name][0], label=str(r.number)) for name, r in zip(free, first, strict=False)
    )
    seen = replace(made.seen, machines=tuple(replace(m, cards=()) for m in made.seen.machines))
    seen = replace(seen, hosts=tuple(replace(h, bound={}) for h in seen.hosts))
    return replace(
        made, seen=seen, books=replace(books, leases=leases, holds=holds, requests={**books.requests, **offered})
    )


def all_rest(made: Crowd) -> Crowd:
    """Who waits passed an offer, in the time that is over by now."""
    rest = Rest(RestWhy.PASSED, NOW - 5 * HOUR, NOW - HOUR)
    resting = {r.number: replace(r, rest=rest) for r in made.waiting}
    return replace(made, books=replace(made.books, requests={**made.books.requests, **resting}))


def all_too_late(made: Crowd) -> Crowd:
    """Who waits wanted it until a time that is over."""
    terms = Terms(Length(until=NOW - HOUR))
    late = {r.number: replace(r, terms=terms) for r in made.waiting}
    return replace(made, books=replace(made.books, requests={**made.books.requests, **late}))


def all_left(made: Crowd) -> Crowd:
    """Who waits left the workspace."""
    return replace(made, people={id: Person(id, id, "Europe/Berlin", active=False) for id in made.people})


def hosts_away(made: Crowd) -> Crowd:
    """No host can be seen any more."""
    return replace(made, seen=replace(made.seen, hosts=()))


def work(made: Crowd) -> int:
    """How many calls of functions a round takes, with a planned start for everybody: the same on every machine."""
    draft, profile = Draft(made.books, NOW), cProfile.Profile()
    profile.enable()
    decide(draft, made.seen, {}, made.people, made.policy, "run")
    planner.plan(draft, Sight(draft, made.seen, {}), made.people, made.policy)
    draft.changes()
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


SITES = (
    as_made,
    a_card_free_on_each_host,
    all_over_their_time,
    all_spare,
    all_are_asked,
    all_rest,
    all_too_late,
    all_left,
    hosts_away,
)


@pytest.mark.parametrize("made", SITES)
def test_four_times_as_many_in_line_are_not_sixteen_times_the_work(made: Callable[[Crowd], Crowd]) -> None:
    assert work(made(crowd(512, hosts=8))) < 7 * work(made(crowd(128, hosts=8)))


@pytest.mark.parametrize("made", SITES)
def test_nor_are_four_times_as_many_hosts_with_a_line_each(made: Callable[[Crowd], Crowd]) -> None:
    assert work(made(crowd(384, hosts=32))) < 7 * work(made(crowd(96, hosts=8)))


@pytest.mark.parametrize("made", [as_made, a_card_free_on_each_host, all_are_asked])
def test_nor_are_as_many_in_one_line(made: Callable[[Crowd], Crowd]) -> None:
    assert work(made(crowd(1600, hosts=1))) < 7 * work(made(crowd(400, hosts=1)))
