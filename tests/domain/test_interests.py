"""Who wants to hear that something is free hears it once, when nobody waits for it and they may be told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain import interests
from bot.domain.model import Power
from bot.domain.news import NewsKind
from bot.domain.sight import Sight
from tests.domain.world import MONDAY_10, World

H, MIN = timedelta(hours=1), timedelta(minutes=1)


def full() -> World:
    """All cards are lent; bob wants to hear of one that is free."""
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"), "5d")
    world.give("vm-train", ("T4-3", "T4-4"), "5d")
    want(world)
    world.pass_time(MIN)
    return world


def want(world: World, who: str = "bob") -> None:
    world.do(lambda d: interests.want(d, who, "T4"))


def free(world: World, vm: str = "vm-python", label: str = "1") -> None:
    """Its holder gives back, and the machine goes off by itself."""
    world.release(world.vms[vm].owners[0], label)
    world.switch(vm, Power.OFF)
    world.pass_time(2 * MIN)
    world.switch(vm, Power.ON)


def told(world: World, to: str = "bob") -> int:
    return len(world.told(NewsKind.FREE_NOW, to))


def test_it_is_told_once_and_is_over() -> None:
    world = full()
    assert told(world) == 0
    free(world)
    world.pass_time(MIN)
    (news,) = world.told(NewsKind.FREE_NOW)
    assert (news.to, news.reason, news.slots, news.until) == ("bob", "T4", ("T4-1", "T4-2"), MONDAY_10)
    assert not any(x.open for x in world.books.interests.values())
    world.pass_time(H, 5 * MIN)
    assert told(world) == 1


def test_once_a_person_and_kind_and_again_when_it_was_told() -> None:
    world = full()
    world.pass_time(H, H)
    want(world)
    assert world.books.interests["bob:T4"].since == MONDAY_10
    free(world)
    world.pass_time(MIN)
    world.request("carol", "vm-train", 2, "any time today")
    world.pass_time(2 * H, 5 * MIN)
    want(world)
    world.pass_time(MIN)
    assert told(world) == 1 and world.books.interests["bob:T4"].since > MONDAY_10


def test_not_while_somebody_waits_for_it() -> None:
    world = full()
    world.request("carol", "vm-train", 4)  # more than ever come free at once
    free(world)
    world.pass_time(10 * MIN, MIN)
    assert told(world) == 0
    world.do(lambda d: interests.want(d, "dana", "T4"))
    assert len(interests.interests_of(world.books, "dana")) == 1


def test_what_is_free_and_cannot_be_had_is_not_told() -> None:
    world = full()
    world.maintenance = True
    free(world)
    world.pass_time(10 * MIN, MIN)
    assert told(world) == 0
    world.maintenance = False
    world.pass_time(MIN)
    assert told(world) == 1


def test_at_night_and_while_they_are_not_to_be_disturbed_it_waits() -> None:
    world = full()
    world.people["bob"] = replace(world.people["bob"], quiet_until=world.now + 2 * H)
    free(world)
    world.pass_time(H, 10 * MIN)
    assert told(world) == 0
    world.pass_time(70 * MIN, 10 * MIN)
    assert told(world) == 1
    world = full()
    world.pass_time(13 * H, H)  # 23:00
    free(world)
    world.pass_time(4 * H, 30 * MIN)
    assert told(world) == 0
    world.pass_time(3 * H + 10 * MIN, 10 * MIN)  # six o'clock has passed
    assert told(world) == 1


def test_who_asks_for_one_themselves_needs_to_hear_nothing_more() -> None:
    world = full()
    world.request("bob", "vm-r", 1, "any time today")
    world.pass_time(MIN)
    assert not interests.interests_of(world.books, "bob") and told(world) == 0


def test_who_left_hears_nothing_more() -> None:
    world = full()
    world.people["bob"] = replace(world.people["bob"], active=False)
    world.pass_time(MIN)
    assert not interests.interests_of(world.books, "bob")


def test_the_clock_is_set_back_and_the_bot_was_killed() -> None:
    world = full()
    world.set_back(2 * H)
    world.run = "run-2"
    free(world)
    world.pass_time(5 * MIN)
    assert told(world) == 1


def test_what_is_free_for_somebody_now() -> None:
    world = full()

    def now(who: str) -> tuple[str, ...]:
        return world.do(lambda d: interests.free_for(d, Sight(d, world.look(), {}), who, "T4", world.policy))

    assert now("bob") == ()
    free(world)
    assert now("bob") == now("dana") == ("T4-1", "T4-2")
    world.request("carol", "vm-train", 4)
    assert now("bob") == () and now("carol") == ("T4-1", "T4-2"), (
        "who waits themselves stands in nobody's way but others'"
    )
