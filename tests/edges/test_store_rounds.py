"""A round on books that were kept, and with all that lets it pass by whole groups of values, decides what one does that reads everything anew and
looks at each: asked of every round of random histories. So nothing that makes long lines cheap changes what is given, said or written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.crowd import NOW, crowd
from bench.crowd import Crowd as Site
from bot.domain import clockback, leases, settling
from bot.domain.decide import decide
from bot.domain.draft import Changes, Draft, key_of, tables
from bot.domain.model import LeaseState
from bot.domain.planner import hindered, lots, turns
from bot.edges.store import books as shelf
from tests.domain import world as worlds
from tests.domain.test_histories import History
from tests.domain.test_long_line import SITES
from tests.domain.test_modes_histories import ModesHistory
from tests.domain.test_why_histories import Crowd
from tests.domain.world import World

leases_settle = sys.modules["bot.domain.leases.settle"]  # the room calls its function by the same name


class Always(clockback.Last):
    """Something may always lie in the future."""

    @property  # type: ignore[misc]
    def at(self) -> datetime:
        """The end of time."""
        return datetime.max.replace(tzinfo=UTC)

    @at.setter
    def at(self, value: datetime | None) -> None:
        """Whatever was found."""


@contextmanager
def long_way() -> Iterator[None]:
    """Without any of what lets a round pass something by."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clockback, "Last", Always)
        patch.setattr(hindered.Pool, "unsure", lambda _, waiting: list(waiting))
        patch.setattr(lots.Lot, "_only_at_home", staticmethod(lambda _: False))
        patch.setattr(settling, "_is_to_come", lambda *_: False)
        patch.setattr(turns, "_lent_out", lambda _: frozenset())
        patch.setattr(leases_settle, "_written_on", lambda _: None)
        yield


def both(draft: Draft, seen: Any, *more: Any, **named: Any) -> None:
    """Decide, and see that the long way decides the same."""
    anew = Draft(replace(draft.books), draft.now)
    anew.paused = draft.paused
    with long_way():
        decide(anew, seen and replace(seen), *more, **named)
    decide(draft, seen, *more, **named)
    assert draft.changes() == anew.changes()


def carried(world: World, changes: Changes, draft: Draft) -> None:
    """Books after a transaction, with the shelves of those before as a store brings them along; where values were forgotten meanwhile, it reads
    all anew."""
    before = draft.books
    World.apply(world, changes, draft)
    written = {(type(value), key_of(value)) for value in (*changes.puts, *changes.removed)}
    old, new = tables(before), tables(world.books)
    if all((kind, key) in written for kind in old for key in old[kind].keys() - new[kind].keys()):
        shelf._take_over(before, world.books, changes, frozenset())


def play(kind: type[History], seed: int, steps: int) -> None:
    """A history in which each round is decided twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worlds, "decide", both)
        history = kind(seed)
        patch.setattr(history.world, "apply", lambda changes, draft: carried(history.world, changes, draft))
        history.play(steps)


@pytest.mark.parametrize("kind", [History, Crowd, ModesHistory])
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_the_short_way_decides_what_the_long_one_does(kind: type[History], seed: int) -> None:
    play(kind, seed, 12)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", [History, Crowd, ModesHistory])
def test_it_does_so_in_many_histories(kind: type[History]) -> None:
    for seed in range(6):
        play(kind, seed, 40)


@pytest.mark.parametrize("made", SITES)
def test_nor_do_they_differ_where_many_wait_on_many_hosts(made: Callable[[Site], Site]) -> None:
    """Round after round; in between a card comes back early on one of the hosts."""
    site = made(crowd(96, hosts=8))
    kept = shelf.Kept(1, site.books, NOW, None)
    for n in range(1, 5):
        draft = Draft(kept.books, NOW + n * timedelta(seconds=15))
        works = [x for x in draft.leases.values() if x.state is LeaseState.ACTIVE]
        if works:
            leases.release(draft, works[n % len(works)], None, works[n % len(works)].person)
        kept = shelf.apply(kept, draft.changes(), frozenset(), draft.now)
        draft = Draft(kept.books, draft.now)
        both(draft, replace(site.seen, at=draft.now), {}, site.people, site.policy, "run")
        kept = shelf.apply(kept, draft.changes(), draft.books.said | draft._said, draft.now)


def test_what_passes_somebody_by_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One who can be given nothing, and is taken for one who only waits."""
    monkeypatch.setattr(hindered.Pool, "unsure", lambda *_: [])
    with pytest.raises(AssertionError):
        for seed in range(20):
            play(Crowd, seed, 12)
