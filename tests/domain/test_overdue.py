"""What is wanted until a time that passes before the card is there."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain.model import LeaseState, RequestState
from bot.domain.news import NewsKind
from tests.domain.world import World

HOUR = timedelta(hours=1)


def left(world: World, name: str) -> list[str]:
    return [news.reason for news in world.told(NewsKind.LEFT_LINE, name)]


SAID = ["you wanted it until today 12:00, and no card was there by then"]


@pytest.mark.parametrize("window", [None, "ask", "nights"])
def test_who_still_waits_then_leaves_the_line_and_is_told(window: str | None) -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "14d")
    number = world.request("bob", "vm-r", 1, window, "until 12:00").number
    world.pass_time(2 * HOUR - timedelta(minutes=1))
    assert world.req(number).state is RequestState.QUEUED and not left(world, "bob")
    world.pass_time(timedelta(minutes=2))
    assert world.req(number).state is RequestState.WITHDRAWN
    assert left(world, "bob") == SAID, "told once"


def test_an_offer_is_over_then_too_and_the_card_goes_on() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "14d")
    world.pass_time(HOUR + timedelta(minutes=45))
    number = world.request("bob", "vm-r", 1, "ask", "until 12:00").number
    other = world.request("carol", "vm-train", 1, "ask").number
    world.round()
    assert world.req(number).state is RequestState.OFFERED
    world.pass_time(timedelta(minutes=16))
    assert world.req(number).state is RequestState.WITHDRAWN and left(world, "bob") == SAID
    assert world.req(other).state is RequestState.OFFERED
    assert world.told(NewsKind.OFFER_OVER, "bob")


def test_a_card_that_is_kept_for_a_restart_is_given_up_then() -> None:
    world = World()
    number = world.request("bob", "vm-r", 1, "tonight", "until 12:00").number
    world.round()
    assert world.lease(number).state is LeaseState.RESERVED
    world.pass_time(2 * HOUR + timedelta(minutes=1))
    assert world.lease(number).state is LeaseState.ENDED and world.req(number).state is RequestState.WITHDRAWN
    assert left(world, "bob") == SAID and not world.told(NewsKind.BACK_IN_LINE, "bob")
    world.pass_time(14 * HOUR)
    assert not [act for act in world.journal if act.vm == "vm-r"], "nothing restarts for it"


@pytest.mark.parametrize("window", [None, "ask", "nights"])
def test_what_was_wanted_before_a_time_leaves_the_line_then(window: str | None) -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "14d")
    number = world.request("bob", "vm-r", 1, window, before=world.now + 2 * HOUR).number
    world.pass_time(2 * HOUR - timedelta(minutes=1))
    assert world.req(number).state is RequestState.QUEUED and not left(world, "bob")
    world.pass_time(timedelta(minutes=2))
    assert world.req(number).state is RequestState.WITHDRAWN
    assert left(world, "bob") == ["you wanted it before today 12:00, and no card was there by then"], "told once"
    assert [line.what for line in world.lines if line.about == f"#{number}"][-1] == "request.before_passed"


def test_an_offer_is_over_before_that_time_too_and_the_card_goes_on() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "14d")
    number = world.request("bob", "vm-r", 1, "ask", before=world.now + timedelta(minutes=10)).number
    other = world.request("carol", "vm-train", 1, "ask").number
    world.round()
    assert world.req(number).state is RequestState.OFFERED
    world.pass_time(timedelta(minutes=11))
    assert world.req(number).state is RequestState.WITHDRAWN and len(left(world, "bob")) == 1
    assert world.req(other).state is RequestState.OFFERED
    assert world.told(NewsKind.OFFER_OVER, "bob")


def test_a_card_that_is_kept_by_that_time_stays() -> None:
    world = World()
    number = world.request("bob", "vm-r", 1, "tonight", before=world.now + HOUR).number
    world.pass_time(2 * HOUR, timedelta(minutes=5))
    assert world.lease(number).state is LeaseState.RESERVED and not left(world, "bob")


def test_the_end_comes_before_it_if_that_is_sooner() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "14d")
    world.request("bob", "vm-r", 1, None, "until 12:00", before=world.now + 3 * HOUR)
    world.pass_time(4 * HOUR, timedelta(minutes=5))
    assert left(world, "bob") == SAID
