"""What is said of one who waits is what the decision does: the rules that it names, and what would be given instead."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import planner
from bot.domain.draft import Draft
from bot.domain.model import LeaseState, RequestState
from bot.domain.planner import Asked
from bot.domain.rules import Instead, Rule
from bot.domain.sight import Sight
from tests.domain.test_why_histories import given, judge
from tests.domain.world import MONDAY_10, World

HOUR = timedelta(hours=1)


def asked(world: World) -> Asked:
    draft = Draft(world.books, world.now)
    return Asked(draft, Sight(draft, world.look(), world.readings()), world.people, world.policy)


def behind_two() -> World:
    """carol waits for two: one is free, another is bob's until tomorrow, the rest is lent for days. ada asks for the free one, for three days."""
    world = World()
    world.give("vm-r", ("T4-1",), "until tomorrow 18:00")
    world.give("vm-r", ("T4-2",), "5d")
    world.give("vm-python-2", ("T4-3",), "5d")
    world.request("carol", "vm-train", 2, "any time today")
    world.request("ada", "vm-python", 1, "any time today", "3d")
    world.round()
    return world


def waiting(world: World, number: int) -> bool:
    return world.req(number).state is RequestState.QUEUED


def test_what_would_be_back_in_time_is_given_when_it_is_asked_for_and_an_hour_more_is_not() -> None:
    world = behind_two()
    number = max(world.books.requests)
    found = asked(world).verdict(number)
    assert Rule.PASSING in found.rules and found.passed is not None and world.req(found.passed).person == "carol"
    lasting = asked(world).instead(number).lasting
    assert lasting is not None and lasting < timedelta(days=3)
    world.request("ada", "vm-python", length=f"for {int(lasting / HOUR) + 1}h")
    world.round()
    assert waiting(world, number), "an hour more is too long"
    world.request("ada", "vm-python", length=f"for {int(lasting / HOUR)}h")
    world.round()
    assert not waiting(world, number) and world.lease(number).state is LeaseState.RESERVED


def test_until_when_others_may_use_what_is_gathered_is_what_they_are_told_themselves() -> None:
    world = behind_two()
    first, behind = sorted(n for n, r in world.books.requests.items() if r.state is RequestState.QUEUED)
    found, past = asked(world).verdict(first), asked(world).verdict(behind)
    assert found.expected is not None and (found.expected, found.over) == (past.start, 0)
    assert past.expected is None, "it gathers nothing"


def test_what_is_gathered_is_known_also_while_all_is_lent_and_what_will_be_over() -> None:
    world = World()
    lease = world.give("vm-r", ("T4-1", "T4-2", "T4-3"), "until tomorrow 18:00")
    world.give("vm-python-2", ("T4-4",), "5d")
    first = world.request("carol", "vm-train", 2, "any time today").number
    second = world.request("ada", "vm-python", 2, "any time today", "3d").number
    world.round()
    assert lease.end is not None
    one, two = asked(world).verdict(first), asked(world).verdict(second)
    assert one.expected is not None and one.expected >= lease.end and one.over == 1
    assert two.expected is not None and two.expected > one.expected, (
        "it counts on what is left, and on what carol gives back"
    )


def test_fewer_are_given_when_fewer_will_do() -> None:
    world = World()
    world.give("vm-r", ("T4-1", "T4-2"), "3d")
    number = world.request("carol", "vm-train", 3, "any time today").number
    world.round()
    assert asked(world).instead(number) == Instead(count=2, partly=True)
    assert asked(world).verdict(number).rules >= {Rule.TOGETHER} or asked(world).verdict(number).rules == {Rule.LENT}
    world.do(lambda d: d.put(replace(d.requests[number], partly=True)))
    world.round()
    assert len(world.lease(number).slots) == 2


@pytest.mark.parametrize("lent", [("T4-1", "T4-2", "T4-3", "T4-4"), ()])
def test_nothing_is_said_to_help_where_nothing_does_or_nothing_need(lent: tuple[str, ...]) -> None:
    world = World()
    if lent:
        world.give("vm-r", lent, "3d")
    number = world.request("carol", "vm-train", 1, "any time today").number
    found = asked(world)
    assert found.verdict(number).served == (not lent) and found.instead(number) == Instead()


def test_it_is_asked_of_those_in_line_alone_and_changes_nothing() -> None:
    world = behind_two()
    before, found = world.books, asked(world)
    verdicts = planner.Lazily(found, found.verdict)
    assert (
        list(verdicts) == [n for n, r in world.books.requests.items() if r.state is RequestState.QUEUED]
        and len(verdicts) == 2
    )
    assert verdicts.get(99) is None
    assert found.left(max(verdicts)).rule is Rule.PASSING and world.books is before


def test_it_can_be_asked_while_all_is_lent_and_somebody_has_booked_a_part() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "3d")
    world.request("carol", "vm-train", 2, "nights", "for 4h", start=world.now + 100 * HOUR)
    number = world.request("bob", "vm-r", 1, "any time today", "for 6d").number
    assert Rule.LENT in asked(world).verdict(number).rules


def test_whom_somebody_lets_go_first_who_cannot_answer_now_is_reckoned_with_before_its_turn() -> None:
    """At night ada is first and not asked while carol, who agreed before, could be served: if it were not for the time that carol booked."""
    world = World(now=MONDAY_10 + 12 * HOUR)
    world.give("vm-r", ("T4-1", "T4-2", "T4-3"), "3d")
    world.request("ada", "vm-python", 1)
    number = world.request("carol", "vm-train", 1, "nights", start=world.now + 30 * HOUR, length="for 1h").number
    found = judge(world, number)
    assert not found.served and Rule.BOOKED in found.rules
    assert given(world, number, frozenset({Rule.BOOKED})), "that alone keeps her from it"
