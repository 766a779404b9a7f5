"""What answers ask of the decision about those in line, each found when it is asked for, from one moment of the books.

Made by the desk and by who renders the board, with the draft, sight and people that a round would decide with; they must not change meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from bot.domain.draft import Draft
from bot.domain.model import RequestState
from bot.domain.planner.giving import Left
from bot.domain.planner.instead import instead
from bot.domain.planner.spots import People
from bot.domain.planner.turns import Turns
from bot.domain.planner.verdicts import verdict
from bot.domain.policy import Policy
from bot.domain.queue import line
from bot.domain.rules import Instead, Verdict
from bot.domain.sight import Sight

V = TypeVar("V")


class Asked:
    """Verdicts of some, what they could ask for instead, and the first rule in the way of each."""

    def __init__(self, draft: Draft, sight: Sight, people: People, policy: Policy) -> None:
        self._draft, self._sight, self._people, self._policy = draft, sight, people, policy
        self._verdicts: dict[int, Verdict] = {}
        self._instead: dict[int, Instead] = {}
        self._left: Mapping[int, Left] | None = None

    def waits(self) -> Iterator[int]:
        """Those of whom it can be asked, in the order of the line."""
        return (r.number for r in line(self._draft) if r.state is RequestState.QUEUED)

    def verdict(self, number: int) -> Verdict:
        """By which rules it is given nothing now. Tries turns a few times, down to it.

        :raises KeyError: it does not wait
        """
        if number not in self._verdicts:
            if self._draft.requests[number].state is not RequestState.QUEUED:
                raise KeyError(number)
            self._verdicts[number] = verdict(self._draft, self._sight, self._people, self._policy, number)
        return self._verdicts[number]

    def instead(self, number: int) -> Instead:
        """What it would be given if asked otherwise.

        :raises KeyError: it does not wait
        """
        if number not in self._instead:
            found = self.verdict(number)
            self._instead[number] = instead(self._draft, self._sight, self._people, self._policy, found)
        return self._instead[number]

    def left(self, number: int) -> Left:
        """What a round finds of it, in one pass for all.

        :raises KeyError: it is given something, or nothing is there to be looked at
        """
        if self._left is None:
            turns = Turns(Draft(self._draft.as_books(), self._draft.now), self._sight, self._people, self._policy)
            for request in line(self._draft):
                turns.take(request)
            self._left = turns.left
        return self._left[number]


class Lazily(Mapping[int, V]):
    """One of these questions as a mapping by number."""

    def __init__(self, asked: Asked, ask: Callable[[int], V]) -> None:
        self._asked, self._ask = asked, ask

    def __getitem__(self, number: int) -> V:
        return self._ask(number)

    def __iter__(self) -> Iterator[int]:
        return self._asked.waits()

    def __len__(self) -> int:
        return sum(1 for _ in self._asked.waits())
