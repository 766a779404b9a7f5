"""How much of the pool somebody may have while others wait, what is given over that, and what is spare: by examples of four cards."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain import leases, planner, queue
from bot.domain.caps import Caps, Share
from bot.domain.draft import Draft
from bot.domain.errors import NoLonger, NotPossible
from bot.domain.model import Job, LeaseState, Length, RequestState
from bot.domain.news import NewsKind
from bot.domain.policy import Policy
from bot.domain.rules import Rule
from bot.domain.waiting import Team
from tests.domain.test_backfill import ask, verdict
from tests.domain.world import World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
QUEUED, LEASED = RequestState.QUEUED, RequestState.LEASED
ACTIVE, RETURNING = LeaseState.ACTIVE, LeaseState.RETURNING


def caps(world: World) -> Caps:
    return Caps(Draft(world.books, world.now), world.policy, "T4", "uuid-vm-r")


def active(world: World, number: int) -> None:
    world.until(lambda: world.lease(number).state is ACTIVE, HOUR)


# ---- a person


def test_who_has_their_share_waits_behind_those_who_have_not() -> None:
    """Two cards are free. ada has two of the four already; bob wants both that are free, and asked later."""
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    ada, bob = ask(world, "ada", "vm-python-2").number, ask(world, "bob", "vm-r", 2).number
    world.round()
    assert world.req(ada).state is QUEUED and world.req(bob).state is LEASED
    assert verdict(world, ada).rules == {Rule.LENT}, "bob waits no more"


def test_while_others_wait_it_is_said_how_many_one_may_have() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    world.give("vm-train", ("T4-3",), "for 2d")
    ada, bob = ask(world, "ada", "vm-python-2").number, ask(world, "bob", "vm-r", 2).number
    world.round()
    assert world.req(ada).state is QUEUED and world.req(bob).state is QUEUED
    found = verdict(world, ada)
    assert Rule.CAP in found.rules and (found.most, found.has) == (2, 2)


def test_while_nobody_waits_there_is_no_share_and_what_is_over_it_is_spare() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    ada = ask(world, "ada", "vm-python-2").number
    world.round()
    assert world.req(ada).state is LEASED and world.lease(ada).terms.spare and not world.req(ada).terms.spare


def test_enough_for_all_is_no_contention() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    ada, bob = ask(world, "ada", "vm-python-2").number, ask(world, "bob", "vm-r").number
    world.round()
    assert world.req(ada).state is LEASED and world.req(bob).state is LEASED


def test_what_could_never_be_within_a_share_waits_until_nobody_else_does() -> None:
    world = World()
    ada, bob = ask(world, "ada", "vm-python", 3, "now", "for 1d").number, ask(world, "bob", "vm-r", 2).number
    world.round()
    assert world.req(ada).state is QUEUED and world.req(bob).state is LEASED
    other = World()
    ada = ask(other, "ada", "vm-python", 3, "now", "for 1d").number
    other.round()
    assert other.req(ada).state is LEASED and other.lease(ada).terms.spare


def test_two_who_are_over_their_share_do_not_wait_for_each_other() -> None:
    world = World()
    ada, bob = ask(world, "ada", "vm-python", 3).number, ask(world, "bob", "vm-r", 3).number
    world.round()
    assert world.req(ada).state is LEASED and world.req(bob).state is QUEUED


@pytest.mark.parametrize(
    ("share", "cards", "most"), [(0.5, 4, 2), (0.5, 3, 2), (0.5, 1, 1), (0.1, 4, 1), (1.0, 4, 4), (0.01, 1, 1)]
)
def test_a_share_is_rounded_up_and_never_less_than_one(share: float, cards: int, most: int) -> None:
    world = World()
    world.books = replace(world.books, cards=dict(list(world.books.cards.items())[:cards]))
    world.policy = replace(world.policy, pool_share=share)
    assert caps(world).most == most


def test_what_was_given_back_counts_no_more() -> None:
    world = World()
    world.give("vm-r", ("T4-1", "T4-2"), "for 2d")
    assert caps(world).share(world.lease(1)).has == 2
    world.release("bob", "1", ("T4-1",))
    assert caps(world).share(world.lease(1)).has == 1


def test_a_share_by_hand() -> None:
    alone, team = Share(most=2, has=1, team_most=6, team_has=0), Share(most=2, has=0, team_most=3, team_has=3)
    assert (alone.over(1), alone.over(2)) == (frozenset(), {Rule.CAP})
    assert (team.over(1), team.over(3)) == ({Rule.TEAM_CAP}, {Rule.CAP, Rule.TEAM_CAP})


def test_whoever_is_in_no_team_has_no_share_of_one() -> None:
    world = teams(team_leaves=3)
    bob, carol = ask(world, "bob", "vm-r"), ask(world, "carol", "vm-train")
    assert Rule.TEAM_CAP in caps(world).share(bob).over(9) and Rule.TEAM_CAP not in caps(world).share(carol).over(9)


# ---- a team


def teams(**policy: Any) -> World:
    """ada and bob are one team, carol is in none."""
    one = Team("vision", frozenset({"ada", "bob"}))
    return World(policy=Policy(level="act", teams=(one,), pool_share=1.0, **policy))


def test_a_team_leaves_one_to_others_while_they_wait() -> None:
    world = teams()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "for 2d")
    bob, carol = ask(world, "bob", "vm-r").number, ask(world, "carol", "vm-train").number
    world.round()
    assert world.req(bob).state is QUEUED and world.req(carol).state is LEASED


def test_a_team_has_all_while_nobody_else_waits_and_what_is_over_is_spare() -> None:
    world = teams()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "for 2d")
    bob = ask(world, "bob", "vm-r").number
    world.round()
    assert world.req(bob).state is LEASED and world.lease(bob).terms.spare
    active(world, bob)
    ask(world, "carol", "vm-train")
    world.until(lambda: world.lease(bob).state is RETURNING, HOUR, MIN)


def test_of_a_team_that_leaves_more_it_is_said_so() -> None:
    world = teams(team_leaves=2)
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    world.give("vm-train", ("T4-3",), "for 2d")
    bob, carol = ask(world, "bob", "vm-r").number, ask(world, "carol", "vm-train", 2).number
    world.round()
    assert world.req(bob).state is QUEUED and world.req(carol).state is QUEUED
    found = verdict(world, bob)
    assert Rule.TEAM_CAP in found.rules and (found.most, found.has) == (2, 2)


# ---- spare


def spare(count: int = 1) -> tuple[World, int]:
    """carol has a spare card that works, all others are ada's."""
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.give("vm-python", tuple(f"T4-{n}" for n in range(1, 5 - count)), "for 2d")
    number = ask(world, "carol", "vm-train", count, "now", "for 2d", spare=True).number
    world.round()
    assert world.lease(number).terms.spare
    active(world, number)
    return world, number


def test_what_is_spare_is_given_after_everybody_else_and_not_while_they_wait() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "for 2d")
    carol = ask(world, "carol", "vm-train", 1, "now", spare=True).number
    bob = ask(world, "bob", "vm-r", 2).number  # who waits for more than is free
    world.round()
    assert world.req(carol).state is QUEUED and world.req(bob).state is QUEUED
    assert Rule.CAP in verdict(world, carol).rules and verdict(world, carol).most == 0


def test_what_is_spare_goes_back_as_soon_as_somebody_waits_and_says_why() -> None:
    world, carol = spare()
    world.pass_time(HOUR, 10 * MIN)
    assert world.lease(carol).state is ACTIVE
    bob = ask(world, "bob", "vm-r").number
    world.round()
    assert world.lease(carol).state is RETURNING and world.req(bob).state is QUEUED
    assert [n.reason for n in world.told(NewsKind.RETURNING, "carol")] == ["it was spare, and somebody else waits"]
    with pytest.raises(NotPossible):
        world.do(lambda d: leases.keep(d, d.leases[str(carol)], "carol"))


def test_work_that_runs_on_a_spare_card_is_waited_for_a_day_from_then() -> None:
    world, carol = spare()
    world.vms["vm-train"].jobs = (Job("carol", "train", world.now, True),)
    world.pass_time(5 * HOUR, HOUR)
    ask(world, "bob", "vm-r", 1, "nights")
    world.round()
    asked = world.lease(carol).wanted_since
    assert world.lease(carol).state is ACTIVE and asked == world.now
    told = world.told(NewsKind.WORK_RUNS, "bob")
    assert [n.until for n in told] == [world.now + world.policy.running_work]
    with pytest.raises(NoLonger):
        world.do(
            lambda d: leases.extend(d, d.leases[str(carol)], Length(lasting=HOUR), world.people["carol"], world.policy)
        )
    world.until(lambda: world.lease(carol).state is RETURNING, 25 * HOUR, HOUR)
    assert world.now - asked >= world.policy.running_work


def test_nobody_waits_any_more_and_it_goes_on_to_its_end() -> None:
    world, carol = spare()
    world.vms["vm-train"].jobs = (Job("carol", "train", world.now, True),)
    bob = ask(world, "bob", "vm-r", 1, "nights").number
    world.round()
    assert world.lease(carol).wanted_since is not None
    world.do(lambda d: queue.withdraw(d, d.requests[bob], "bob"))
    world.round()
    assert world.lease(carol).wanted_since is None and world.lease(carol).state is ACTIVE


def test_of_what_is_over_a_share_only_that_goes_back_and_only_as_much_as_is_wanted() -> None:
    world = World()
    ada = ask(world, "ada", "vm-python", 4, "now", "for 2d").number
    world.round()
    active(world, ada)
    ask(world, "bob", "vm-r", 1, "nights")
    world.round()
    assert len(world.lease(ada).slots) == 3 and world.lease(ada).state is ACTIVE
    part = world.lease(f"{ada}b")
    assert part.state is RETURNING and part.reason == "it was more than your share, and somebody else waits"
    world.round()
    ask(world, "carol", "vm-train", 2, "nights")
    world.round()
    assert len(world.lease(ada).slots) == 2, "carol waits for two, and ada has a share of two"
    world.pass_time(10 * MIN, MIN)
    assert len(world.lease(ada).slots) == 2 and not world.lease(ada).terms.spare


def test_what_is_over_a_share_is_not_any_more_when_others_were_given_back() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    ada = ask(world, "ada", "vm-python-2", 1, "now", "for 2d").number
    world.round()
    active(world, ada)
    world.release("ada", "1", ("T4-1", "T4-2"))
    world.round()
    assert not world.lease(ada).terms.spare


def test_an_offer_over_a_share_says_so_and_is_spare_when_it_is_taken() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    ada = ask(world, "ada", "vm-python-2", 1, None).number
    world.round()
    offer = world.req(ada).offer
    assert offer is not None and offer.spare
    lease = world.accept("ada", ada, "now")
    assert lease.terms.spare


def test_the_last_one_that_was_lent_goes_back_first() -> None:
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    first = ask(world, "carol", "vm-train", 1, "now", "for 2d", spare=True).number
    world.round()
    world.pass_time(MIN)
    second = ask(world, "ada", "vm-python-2", 1, "now", "for 2d", spare=True).number
    world.round()
    active(world, first)
    active(world, second)
    ask(world, "bob", "vm-r", 1, "nights")
    world.round()
    assert (world.lease(first).state, world.lease(second).state) == (ACTIVE, RETURNING)


def test_planned_starts_are_in_order_and_by_what_is_due() -> None:
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    first, second = ask(world, "bob", "vm-r", 4, "nights").number, ask(world, "carol", "vm-train", 1, "nights").number
    found = planner.plan(Draft(world.books, world.now), world.sight(), world.people, world.policy)
    assert [*found] == [first, second]
    start = found[first]
    assert start == world.lease(1).end + world.policy.last_call + world.policy.usual_first  # type: ignore[operator]
    assert found[second] is not None and found[second] > start  # type: ignore[operator]


# ---- who really waits


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_card_that_somebody_put_elsewhere_by_hand_does_not_lie_free_for_who_waits(elsewhere: bool) -> None:
    world = World(policy=Policy(level="act", pool_share=1.0))
    if elsewhere:
        world.vms["vm-train"].cards.add(world.card("T4-4").pci)
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "for 2h")
    world.pass_time(5 * MIN, MIN)
    bob = ask(world, "bob", "vm-r", 1)
    world.pass_time(10 * MIN, MIN)
    assert (world.req(bob.number).state is QUEUED) is elsewhere, "T4-4 is his, if it is there"
    assert queue.contended(world.books, "T4", "uuid-vm-r") is elsewhere
    world.pass_time(3 * HOUR, 10 * MIN)
    left = world.books.leases[lease.label]
    assert (left.state is RETURNING or left.state is LeaseState.ENDED, left.over_time) == (elsewhere, not elsewhere)
