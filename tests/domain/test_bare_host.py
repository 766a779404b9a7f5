"""A host that a complete look does not list: it is gone, or has no cards any more, or may only be out of sight."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.model import LeaseState, Seen, SeenHost
from tests.domain.world import World

MIN = timedelta(minutes=1)


class Rack(World):
    """``absent``: how esx-01 is not in a look: "gone" (its machines are on esx-02, without cards), "no cards", "unknown" or "nowhere"
    (cut off, and where its machines are nobody tells)."""

    absent = ""

    def look(self) -> Seen | None:
        seen = super().look()
        if seen is None or not self.absent:
            return seen
        machines = seen.machines
        if self.absent == "gone":
            machines = tuple(replace(m, host="host-2", cards=()) for m in machines)
        elif self.absent in ("unknown", "nowhere"):
            host = "" if self.absent == "nowhere" else "host-1"
            machines = tuple(replace(m, unknown=True, cards=(), host=host) for m in machines)
        return replace(seen, hosts=(SeenHost("lab", "host-2", "esx-02", True, False),), machines=machines)


def lent(absent: str) -> Rack:
    world = Rack()
    world.give("vm-r", ("T4-1",), "3d")
    world.absent = absent
    return world


def test_what_was_lent_by_a_host_that_is_gone_ends_when_it_is_given_back_and_nothing_restarts_for_it() -> None:
    world = lent("gone")
    world.pass_time(3 * MIN, MIN)
    assert world.lease("1").state is LeaseState.ACTIVE, "moved back it would go on"
    world.release("bob", "1", None, "now")
    world.pass_time(2 * MIN, MIN)
    assert world.lease("1").state is LeaseState.ENDED and not world.holders("T4-1")
    world.pass_time(60 * MIN, 5 * MIN)
    assert "shutdown" not in world.acts("vm-r")


def test_cards_of_a_host_that_lists_none_any_more_are_gone_and_heal() -> None:
    world = lent("no cards")
    world.round()
    assert world.lease("1").state is LeaseState.ACTIVE, "one look is not enough"
    world.round()
    assert all(c.aside is not None and c.aside.heals for c in world.books.cards.values())
    assert world.lease("1").state is LeaseState.RETURNING, "its machine still names it, and does not start with it"
    world.absent = ""
    world.vms["vm-r"].cards.clear()
    for _ in range(4):
        world.round()
    assert not any(c.aside for c in world.books.cards.values())
    assert world.lease("1").state is LeaseState.ENDED


@pytest.mark.parametrize("absent", ["unknown", "nowhere"])
def test_a_host_that_may_only_be_out_of_sight_says_nothing(absent: str) -> None:
    world = lent(absent)
    before = world.books.cards
    world.pass_time(60 * MIN, 5 * MIN)
    assert world.books.cards == before and world.lease("1").state is LeaseState.ACTIVE
