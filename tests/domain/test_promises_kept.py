"""Nobody is served later than the latest time they were told: in lines of pure arithmetic, and in played worlds with everything that people can ask.

Each has a fault planted into the rules that it finds.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.frees import Frees
from bot.domain.model import Books, Length, Request, Terms
from bot.domain.policy import Policy
from bot.domain.promises.worst import Worst
from tests.domain.world import MONDAY_10

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)

# ---- a line in numbers --------------------------------------------------------------------------------------------

ALWAYS = Policy(
    level="act", working_days=frozenset(range(7)), working_start=time(0), working_end=time(0), accept_by=timedelta(0)
)


class Plain(Frees):
    """What is taken is back after its length, and not a minute later: no nights, no silence."""

    def __init__(self) -> None:
        super().__init__(Books(), MONDAY_10, ALWAYS, lambda _: "UTC", None)

    def usual(self, uuid: str) -> timedelta:
        return timedelta(0)

    def starts(self, has: datetime) -> datetime:
        return has

    def back(self, length: Length, start: datetime, person: str) -> datetime:
        assert length.lasting is not None
        return start + length.lasting


class Numbers:
    """A random line: devices that are free by a time at worst, and sooner in truth; requests that keep what they have for a length at most."""

    def __init__(self, seed: int) -> None:
        self.random = chance = Random(seed)
        self.devices = [MONDAY_10 + chance.choice((0, 0, 1, 5, 9, 40)) * HOUR for _ in range(chance.randint(1, 5))]
        self.floats: set[int] = set()
        self.line = [self.request(n) for n in range(1, chance.randint(2, 8))]

    def request(self, number: int) -> Request:
        chance = self.random
        if chance.random() < 0.25:
            self.floats.add(number)
        start = MONDAY_10 + chance.choice((3, 12, 50)) * HOUR if chance.random() < 0.2 else None
        length = Length(chance.choice((1, 2, 8, 30, 100)) * HOUR)
        count = chance.randint(1, min(3, len(self.devices)))
        return Request(
            number, "ada", "T4", count, "vm", MONDAY_10, terms=Terms(length), start=start,
            partly=chance.random() < 0.2, team="" if number not in self.floats else "floats",
        )  # fmt: skip

    def promised(self) -> dict[int, datetime | None]:
        """The latest turn of each one that does not float."""
        worst, found = Worst(Plain(), self.devices), {}
        for request in self.line:
            found[request.number] = worst.turn(request) if request.number not in self.floats else None
            (worst.float if request.number in self.floats else worst.serve)(request)
        return found

    def served(self) -> dict[int, datetime]:
        """When each one was served in truth: devices come sooner, people keep them for less, and who floats takes their turn when they like."""
        chance, now = self.random, MONDAY_10
        opens = {n: MONDAY_10 + chance.choice((0, 1, 4, 20, 70)) * HOUR for n in self.floats}
        free = [MONDAY_10 + (at - MONDAY_10) * chance.choice((0.2, 1, 1)) for at in self.devices]
        found: dict[int, datetime] = {}
        for _ in range(400):
            self.round(now, free, opens, found)
            if len(found) == len(self.line):
                break
            times = [*free, *opens.values(), *(r.start for r in self.line if r.start is not None)]
            now = min(at for at in times if at > now)
        return found

    def round(
        self, now: datetime, free: list[datetime], opens: dict[int, datetime], found: dict[int, datetime]
    ) -> None:
        """Turns as they are given: in order; before its start a booking keeps from those behind what it wants, and what who floats before it wants."""
        kept = floating = 0
        for request in self.line:
            if request.number in found:
                continue
            if opens.get(request.number, now) > now:
                floating += request.count
                continue
            there = sorted(at for at in free if at <= now)
            needs = 1 if request.partly else request.count
            if request.start is not None and now < request.start:
                kept += request.count + floating
                floating = 0
                continue
            if len(there) - kept < needs:
                return
            found[request.number] = now
            for at in there[: min(request.count, len(there) - kept)]:
                free.remove(at)
                lasts = request.terms.length.lasting
                assert lasts is not None
                free.append(now + MIN + lasts * self.random.choice((0.1, 1, 1)))


def late_in(numbers: Numbers) -> str:
    """Who was served later than at worst; "" nobody."""
    promised, served = numbers.promised(), numbers.served()
    for number, latest in promised.items():
        if latest is not None and served.get(number, latest) > latest:
            return f"#{number} promised by {latest}, served {served[number]}"
    return ""


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_nobody_in_any_line_is_served_later_than_at_worst(seed: int) -> None:
    assert not late_in(Numbers(seed))


def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who floats is taken to have their turn in order."""
    monkeypatch.setattr(Worst, "float", Worst.serve)


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A booking is taken to begin at once."""
    monkeypatch.setattr(Worst, "earliest", lambda self, _: self._frees.now)


def back_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is ahead is taken to give back at once what they get."""
    monkeypatch.setattr(Worst, "_back", lambda self, request, turn: turn)


@pytest.mark.parametrize("fault", [in_order, at_once, back_at_once])
def test_a_fault_in_the_worst_is_found(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    assert any(late_in(Numbers(seed)) for seed in range(3000))
