"""What the rules of quiet cards cost in a large house: counted in calls, so that no busy machine spoils it."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta
from functools import cache
from types import FrameType

from bot.domain import idle
from bot.domain.draft import Draft
from bot.domain.inside import Verdict
from bot.domain.leases.common import Round
from bot.domain.model import Books, Hold, Turn
from bot.domain.sight import Sight
from tests.domain.idle_builders import MIN, NUDGING
from tests.domain.test_idle_taking import contended_world, run
from tests.domain.world import World

OFTEN = 4


@cache
def one() -> World:
    world, _ = contended_world()
    run(world, 10 * MIN)
    return world


def house(count: int) -> Books:
    """So many quiet cards, one lent to each of as many people, while bob waits."""
    world = one()
    books, lease, card = world.books, world.lease("1"), world.card("T4-1")
    since, watch = world.now - timedelta(hours=3), books.watches["T4-1"]
    quiet = replace(watch, verdict=Verdict.QUIET, quiet_since=since, quiet_s=10_800.0, upto=world.now)
    names = [f"X{i}" for i in range(count)]
    return replace(
        books,
        cards={s: replace(card, name=s, pci=s) for s in names},
        leases={s: replace(lease, label=s, slots=(s,), person=s) for s in names},
        watches={s: replace(quiet, slot=s, lease=s) for s in names},
        holds=frozenset(Hold(s, Turn.HAS, s) for s in names),
        agreements={},
        moves={},
    )


def calls(books: Books) -> int:
    """Calls of Python in a round that has nothing new to say."""
    world = one()
    ctx = Round(Sight(books, None, {}), world.people, NUDGING, True)
    draft = Draft(books, world.now)
    found = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal found
        found += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        idle.settle(draft, ctx, (), last_look=world.now)
    finally:
        sys.setprofile(before)
    assert len(draft.changes().news) == len(books.leases), "each is asked"
    return found


def test_four_times_as_many_quiet_cards_cost_about_four_times_as_much() -> None:
    few, many = calls(house(50)), calls(house(50 * OFTEN))
    assert many / few < 2 * OFTEN, f"{few} calls, and {many}"
