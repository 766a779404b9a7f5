"""Clocks of the rules that stand still while nothing can happen: the bot is paused or away, or vCenter is. The free card's is in ``test_head``."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain import pool
from bot.domain.model import LeaseState, Power, RequestState, RestWhy
from bot.domain.news import NewsKind
from tests.domain.world import World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ALL = ("T4-1", "T4-2", "T4-3", "T4-4")
CAUSES = ["paused", "no look", "the bot is away", "none"]


def stand_still(world: World, cause: str, length: timedelta) -> None:
    """So long nothing can happen, and then it can."""
    if cause == "paused":
        world.do(lambda d: pool.pause(d, "dana", "a test"))
    world.looking = cause != "no look"
    if cause == "the bot is away":
        world.now += length
    else:
        world.pass_time(length, 10 * MIN)
    if cause == "paused":
        world.do(lambda d: pool.resume(d, "dana"))
    world.looking = True
    world.pass_time(MIN)


@pytest.mark.parametrize("cause", CAUSES)
def test_the_next_night_is_not_certain_for_hours_in_which_nothing_could_come_out(cause: str) -> None:
    world = World()
    lease = world.give("vm-python", ALL)
    world.request("bob", "vm-r")
    world.release("ada", lease.label)
    world.pass_time(10 * HOUR, 10 * MIN)
    stand_still(world, cause, 15 * HOUR)
    assert bool(world.told(NewsKind.FIRM_WINDOW)) is (cause == "none")
    world.pass_time(13 * HOUR, 10 * MIN)
    assert bool(world.told(NewsKind.FIRM_WINDOW)) is (cause == "none")
    world.pass_time(90 * MIN, 10 * MIN)
    assert world.told(NewsKind.FIRM_WINDOW), "the ten hours before count"


@pytest.mark.parametrize("cause", CAUSES)
def test_the_time_of_a_card_in_a_machine_that_was_left_off_does_not_begin_meanwhile(cause: str) -> None:
    world = World()
    world.vms["vm-r"].power = Power.OFF
    label = str(world.request("bob", "vm-r").number)
    world.until(lambda: world.told(NewsKind.WAITS_POWER_ON, "bob"), 10 * MIN)
    stand_still(world, cause, 13 * HOUR)
    assert world.lease(label).state is (LeaseState.ACTIVE if cause == "none" else LeaseState.MOVING)
    world.pass_time(12 * HOUR + 20 * MIN, 10 * MIN)
    assert world.lease(label).state is LeaseState.ACTIVE


def offered() -> tuple[World, int]:
    world = World()
    number = world.request("bob", "vm-r").number
    world.round()
    assert world.req(number).state is RequestState.OFFERED
    return world, number


@pytest.mark.parametrize(("cause", "open_"), [("the bot is away", True), ("none", False), ("paused", False)])
def test_an_offer_can_be_answered_once_the_bot_is_back(cause: str, open_: bool) -> None:
    """While it is paused it hears answers all the same."""
    world, number = offered()
    stand_still(world, cause, 2 * HOUR)
    assert (world.req(number).state is RequestState.OFFERED) is open_
    if open_:
        offer = world.req(number).offer
        assert offer is not None and timedelta(0) < offer.accept_by - world.now <= 30 * MIN, (
            "no longer than if asked now"
        )
        assert world.told(NewsKind.OFFER, "bob")[-1].until == offer.accept_by
        world.pass_time(31 * MIN, MIN)
        assert world.req(number).state is RequestState.QUEUED


def test_whether_it_is_still_wanted_can_be_answered_once_the_bot_is_back() -> None:
    world, number = offered()
    world.pass_time(6 * HOUR, 5 * MIN)
    rest = world.req(number).rest
    assert rest is not None and rest.why is RestWhy.STILL_WANTED and rest.until is not None
    world.now = rest.until - HOUR
    world.round()
    before = world.req(number).rest
    world.now += DAY
    world.round()
    assert before is not None and before.until is not None
    assert world.req(number).state is RequestState.QUEUED, "it was away when that time came"
    world.pass_time(7 * DAY, 10 * MIN)
    assert world.req(number).state is RequestState.WITHDRAWN


@pytest.mark.parametrize("away", [False, True])
def test_a_guest_s_first_word_is_waited_for_while_somebody_hears_it(away: bool) -> None:
    world = World()
    world.vms["vm-r"].agent = False
    label = str(world.request("bob", "vm-r", window="any time today").number)
    world.until(lambda: label in world.books.leases and world.lease(label).bound_since, HOUR)
    if away:
        world.now += 40 * MIN
        world.round()
        assert world.lease(label).state is LeaseState.MOVING
    world.pass_time(21 * MIN, MIN)
    assert world.lease(label).state is LeaseState.ACTIVE
