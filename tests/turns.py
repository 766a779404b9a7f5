"""In which order tests run, and who runs them: what takes longest begins first, so that no worker is left alone with it at the end.

Called by tests/conftest.py alone, with what is left of the tests when those that are not asked for are gone.
"""

from __future__ import annotations

from itertools import chain, groupby, zip_longest
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOMS = ("story", "guest", "edges", "local")
"""Rooms whose tests mostly wait for processes and clocks; the others only reckon."""

WAITING = (
    "test_the_story_holds[take-back",
    "test_the_story_holds[idle",
    "test_the_story_holds[day",
    "test_the_story_holds[queue",
    "story/test_crash.py",
    "test_any_expectation_made_wrong",
    "test_the_last_card_goes_to_one_200_times",
    "test_two_bots_and_two_terminals",
    "story/",
    "guest/test_check_tensorflow.py",
    "edges/test_slack_link.py",
)
"""Long tests that mostly wait, by parts of their names, longest first."""

RECKONING = (
    "test_many_long_histories_with_a_clock_set_back",
    "domain/test_modes_histories.py",
    "domain/test_idle_properties.py",
    "domain/test_histories.py",
    "histories/test_planted.py",
    "histories/test_histories.py",
    "domain/",
    "service/",
)
"""Long tests that only reckon, longest first."""


TOGETHER = {
    "story/test_crash.py": "crash",
    "::test_without_a_card_the_same_code_runs": "sound",
    "::test_its_numbers_are_sound": "sound",
    "::test_it_says_where_each_kind_of_op_ran": "sound",
}
"""Long tests that share what one of them starts, by parts of their names."""


class OneByOne(LoadScopeScheduling):
    """Tests go one by one to whoever is free, in their order; those that share something go to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        return next((scope for part, scope in TOGETHER.items() if part in nodeid), nodeid)


def has_none(path: Path, wanted: str) -> bool:
    """Whether only long tests are asked for, and a file marks none: then it need not be loaded, which takes longer than some of them."""
    if wanted not in ("long", "long or soak") or not path.name.startswith("test_") or path.suffix != ".py":
        return False
    text = path.read_text("utf-8")
    return "mark.long" not in text and "mark.soak" not in text


def files_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """Files of the waiting rooms come first, one of each room in turn: not all start their processes at once."""
    files = {path: list(tests) for path, tests in groupby(items, lambda item: item.path)}
    rooms = [[path for path in files if path.parent.name == room] for room in ROOMS]
    first = [path for turn in zip_longest(*rooms) for path in turn if path is not None]
    return list(chain.from_iterable(files[path] for path in dict.fromkeys([*first, *files])))


def longest_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of long tests those that wait and those that reckon in turn, the longest first, so that neither the processors nor the workers stand idle.
    A worker has always a second one in hand: behind each of the first come short ones."""
    ranks = [_rank(item) for item in items]
    waiting, reckoning = ([item for _, item in _by(ranks, items, kind)] for kind in (WAITING, RECKONING))
    short = [item for rank, item in zip(ranks, items, strict=True) if rank is None]
    turns = [item for turn in zip_longest(waiting, reckoning) for item in turn if item is not None]
    return [*turns[:AT_ONCE], *short[:AT_ONCE], *turns[AT_ONCE:], *short[AT_ONCE:]]


AT_ONCE = 4
"""Workers of ``make test-long``."""

Rank = tuple[tuple[str, ...], int]


def _rank(item: pytest.Item) -> Rank | None:
    for names in (WAITING, RECKONING):
        for place, name in enumerate(names):
            if name in item.nodeid:
                return names, place
    return None


def _by(ranks: list[Rank | None], items: list[pytest.Item], names: tuple[str, ...]) -> list[tuple[int, pytest.Item]]:
    found = [(rank[1], item) for rank, item in zip(ranks, items, strict=True) if rank is not None and rank[0] is names]
    return sorted(found, key=lambda one: one[0])
