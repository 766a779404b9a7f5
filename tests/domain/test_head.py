"""Who is first in line and can be given nothing: for how long that holds up others, and that the place is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain import pool, queue
from bot.domain.errors import TooLate
from bot.domain.model import Job, LeaseState, Power, RequestState, RestWhy
from bot.domain.planner.hindered import UNREAD
from bot.domain.promises import promise
from bot.domain.queue import contended, line
from bot.domain.sight import Sight
from tests.domain.world import ZONE, World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)


def unknown(world: World, on: bool = True) -> None:
    world.vms["vm-r"].unknown = on


def template(world: World, on: bool = True) -> None:
    world.vms["vm-r"].template = on
    world.vms["vm-r"].power = Power.OFF


def waiting(hinder: Callable[[World], None] = unknown) -> World:
    """bob is first in line, carol behind him; one card is free, and bob's machine cannot be read since before that."""
    world = World()
    for slot in ("T4-2", "T4-3", "T4-4"):
        world.do(lambda d, s=slot: pool.drain(d, d.cards[s], "dana", "spare"))  # type: ignore[misc]
    hinder(world)
    world.request("bob", "vm-r", window="any time today")
    world.request("carol", "vm-train", window="any time today")
    return world


def states(world: World) -> tuple[RequestState, RequestState]:
    return world.req(1).state, world.req(2).state


QUEUED, LEASED = RequestState.QUEUED, RequestState.LEASED


@pytest.mark.parametrize("hinder", [unknown, template])
def test_a_head_whose_machine_cannot_take_a_card_holds_up_nobody_for_ever(hinder: Callable[[World], None]) -> None:
    world = waiting(hinder)
    world.pass_time(UNREAD - MIN, MIN)
    assert states(world) == (QUEUED, QUEUED), "a short outage gives nothing away"
    world.pass_time(3 * MIN, MIN)
    assert states(world) == (QUEUED, LEASED)
    rest = world.req(1).rest
    assert rest is not None and rest.why is RestWhy.HINDERED and [r.number for r in line(world.books)] == [1]


def test_back_again_it_has_the_next_one_at_its_old_place() -> None:
    world = waiting()
    world.pass_time(UNREAD + 2 * MIN, MIN)
    world.request("ada", "vm-python", window="any time today")
    unknown(world, False)
    world.round()
    assert world.req(1).rest is None and world.req(1).hindrance is None
    world.do(lambda d: pool.undrain(d, d.cards["T4-2"], "dana"))
    world.round()
    assert world.req(1).state is LEASED and world.req(3).state is QUEUED
    assert world.holders("T4-1") == {"has": "2"} and world.holders("T4-2") == {"has": "1"}


def test_seen_between_it_begins_anew_and_the_card_is_its_own_at_once() -> None:
    world = waiting()
    world.pass_time(UNREAD - MIN, MIN)
    unknown(world, False)
    world.round()
    assert states(world) == (LEASED, QUEUED)


@pytest.mark.parametrize("away", ["vCenter", "the bot"])
def test_what_nobody_looked_at_does_not_count_by_itself(away: str) -> None:
    """Nobody looks for hours: the machine rests only when a look says the same again."""
    world = waiting()
    world.round()
    unknown(world, False)
    if away == "vCenter":
        world.looking = False
        world.pass_time(2 * HOUR, 10 * MIN)
        assert world.req(1).rest is None and states(world) == (QUEUED, QUEUED)
        world.looking = True
    else:
        world.now += 2 * HOUR
    world.round()
    assert states(world) == (LEASED, QUEUED)


def test_who_rests_so_is_not_waited_for_and_nothing_is_taken_for_it() -> None:
    world = waiting()
    world.do(lambda d: queue.withdraw(d, d.requests[2], "carol"))
    world.give("vm-train", ("T4-1",), "3d")
    assert contended(world.books, "T4")
    world.pass_time(UNREAD + 2 * MIN, MIN)
    assert not contended(world.books, "T4")


def test_a_time_that_is_named_wakes_nobody_whose_machine_cannot_be_read() -> None:
    world = waiting()
    world.pass_time(UNREAD + 2 * MIN, MIN)
    world.accept("bob", 1, "tonight")
    assert world.req(1).rest is not None and world.req(1).rest.why is RestWhy.HINDERED  # type: ignore[union-attr]
    assert any(a.label == "1" for a in world.books.agreements.values())
    with pytest.raises(TooLate):
        world.accept("bob", 1, None)


def test_a_lease_given_up_because_its_machine_could_not_be_read_waits_for_no_window() -> None:
    world = waiting(lambda _: None)
    world.round()
    assert world.lease("1").state is LeaseState.RESERVED
    unknown(world)
    world.until(lambda: world.req(1).state is QUEUED, 26 * HOUR, 10 * MIN)
    assert world.req(1).rest is not None and world.req(1).rest.why is RestWhy.HINDERED  # type: ignore[union-attr]
    world.until(lambda: world.req(2).state is not QUEUED, MIN)
    unknown(world, False)
    world.round()
    assert world.req(1).rest is None


def test_who_wants_more_than_the_pool_has_holds_up_others_for_a_day() -> None:
    """As long as a card lies free for somebody who does not put it in; and so it is promised to those behind."""
    world = World()
    world.policy = replace(world.policy, pool_share=1.0)
    world.do(lambda d: pool.drain(d, d.cards["T4-4"], "dana", "hot"))
    world.request("bob", "vm-r", 4, "any time today")
    world.request("carol", "vm-train", 1, "nights")
    world.round()
    told = promise(world.books, world.req(2), world.now, world.policy, lambda _: ZONE, world.sight())
    assert told.likely is not None and told.likely >= world.now + 23 * HOUR and told.who == "bob"
    world.pass_time(23 * HOUR, 10 * MIN)
    assert states(world) == (QUEUED, QUEUED)
    world.pass_time(80 * MIN, 10 * MIN)
    assert states(world) == (QUEUED, LEASED)
    world.do(lambda d: pool.undrain(d, d.cards["T4-4"], "dana"))
    world.round()
    assert world.req(1).rest is None, "it gathers its cards again"


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    counts=st.lists(st.sampled_from((1, 1, 2)), min_size=3, max_size=3),
    hidden=st.sets(st.sampled_from(("vm-r", "vm-train", "vm-python")), max_size=2),
    drained=st.integers(0, 3),
)
def test_no_card_that_somebody_could_use_stays_free_for_ever(counts: list[int], hidden: set[str], drained: int) -> None:
    world = World()
    for slot in ("T4-4", "T4-3", "T4-2")[:drained]:
        world.do(lambda d, s=slot: pool.drain(d, d.cards[s], "dana", "spare"))  # type: ignore[misc]
    for vm in hidden:
        world.vms[vm].unknown = True
    for (who, vm), count in zip((("bob", "vm-r"), ("carol", "vm-train"), ("ada", "vm-python")), counts, strict=True):
        world.request(who, vm, count, "nights")
    numbers = dict(zip(("vm-r", "vm-train", "vm-python"), (1, 2, 3), strict=True))
    for _ in range(2):
        world.pass_time(UNREAD + MIN, UNREAD + MIN)
    world.pass_time(world.policy.reserved_free, 50 * MIN)
    free = [s for s in world.books.cards if not world.holders(s) and world.books.cards[s].aside is None]
    for vm, number in numbers.items():
        request = world.req(number)
        if vm not in hidden and request.state is QUEUED:
            assert request.rest is not None or request.count > len(free), world.describe()
    before = {n: world.req(n).asked for n in (1, 2, 3)}
    for vm in hidden:
        world.vms[vm].unknown = False
    world.round()
    assert before == {n: world.req(n).asked for n in (1, 2, 3)}
    held = [h.slot for h in world.books.holds]
    assert len(held) == len(set(held)), "nothing is granted twice"
    sight = Sight(world.books, world.look(), world.readings())
    assert all(sight.shut(m) == "" for m in world.books.machines.values())


def waits_for_its_window(world: World) -> str:
    """bob's card lies free for a restart by "when done" while something runs there, and carol waits for one, too."""
    for slot in ("T4-2", "T4-3", "T4-4"):
        world.do(lambda d, s=slot: pool.drain(d, d.cards[s], "dana", "spare"))  # type: ignore[misc]
    world.vms["vm-r"].jobs = (Job("bob", "train", world.now, True),)
    world.request("bob", "vm-r", window="when done")
    world.request("carol", "vm-train", window="when done")
    world.round()
    world.round()
    assert world.lease("1").state is LeaseState.RESERVED and world.lease("1").free_since is not None
    return "1"


@pytest.mark.parametrize("cause", ["paused", "no look", "the bot is away", "none"])
def test_a_card_that_lies_free_while_the_bot_can_do_nothing_is_not_given_on_for_that(cause: str) -> None:
    world = World()
    label = waits_for_its_window(world)
    if cause == "paused":
        world.do(lambda d: pool.pause(d, "dana", "a test"))
    world.looking = cause != "no look"
    if cause == "the bot is away":
        world.now += 25 * HOUR
    else:
        world.pass_time(25 * HOUR, 30 * MIN)
    if cause == "paused":
        world.do(lambda d: pool.resume(d, "dana"))
    world.looking = True
    world.pass_time(2 * MIN)
    given_on = world.lease(label).state is LeaseState.ENDED
    assert given_on == (cause == "none")
    world.pass_time(25 * HOUR, 30 * MIN)
    assert world.lease(label).state is LeaseState.ENDED, "from then on it counts"
