"""The end of a lease: reminders once a deadline, with and without somebody who waits, several devices as one, and on to the next on the same
machine."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import leases, queue
from bot.domain.errors import NoLonger, NotPossible
from bot.domain.model import LeaseState, Length
from bot.domain.news import NewsKind
from tests.domain.world import MONDAY_10, World

H, MIN, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)
ALL = ("T4-1", "T4-2", "T4-3", "T4-4")


def lent(length: str, slots: tuple[str, ...] = ALL) -> World:
    """ada has cards for so long."""
    world = World()
    world.give("vm-python", slots, length)
    return world


def marks(world: World) -> list[timedelta]:
    """How long before its end each reminder came."""
    return [
        n.until - n.lease.end + _before(n.once)
        for n in world.told(NewsKind.REMIND, "ada")
        if n.until and n.lease and n.lease.end
    ]


def _before(once: str) -> timedelta:
    hours = {"1 day, 0:00:00": 24, "1:00:00": 1}
    return next(timedelta(hours=h) for said, h in hours.items() if once.endswith(said))


def extend(world: World, length: timedelta) -> None:
    ada = world.people["ada"]
    world.do(lambda d: leases.extend(d, d.leases["1"], Length(lasting=length), ada, world.policy))


# ---- reminders ----------------------------------------------------------------------------------------------------


def test_a_day_and_an_hour_before_and_once_each_whatever_process_says_it() -> None:
    world = lent("3d")
    for number in range(12):
        world.run = f"run-{number}"
        world.pass_time(6 * H - 10 * MIN, 3 * H - 5 * MIN)
        world.pass_time(10 * MIN, 5 * MIN)
    assert marks(world) == [24 * H, H]


def test_a_longer_time_moves_them() -> None:
    world = lent("30h")
    world.pass_time(8 * H, H)
    assert marks(world) == [24 * H]
    extend(world, DAY)
    world.pass_time(21 * H + 30 * MIN, 30 * MIN)
    assert marks(world) == [24 * H], "not an hour before the end that was"
    world.pass_time(25 * H, H)
    assert marks(world) == [24 * H, 24 * H, H]


def test_a_mark_that_was_over_when_it_was_given_is_not_made_up_for() -> None:
    world = lent("8h")
    world.pass_time(6 * H, H)
    assert marks(world) == []
    world.pass_time(90 * MIN, 15 * MIN)
    assert marks(world) == [H]


def test_after_an_outage_the_nearest_alone_and_none_of_an_end_that_has_passed() -> None:
    world = lent("30h")
    world.now += 29 * H + 20 * MIN  # the bot was away: both marks went by
    world.round()
    assert marks(world) == [H]
    world = lent("30h")
    world.now += 31 * H
    world.pass_time(H, 15 * MIN)
    assert marks(world) == [] and len(world.told(NewsKind.OVER_TIME, "ada")) == 1


def test_what_is_given_back_is_reminded_of_no_more() -> None:
    world = lent("30h")
    world.release("ada", "1")
    world.pass_time(31 * H, H)
    assert marks(world) == []


def test_it_names_who_waits_and_offers_what_is_heard() -> None:
    world = lent("30h")
    world.request("bob", "vm-r", 1, "any time today")
    world.pass_time(7 * H, H)
    (news,) = world.told(NewsKind.REMIND, "ada")
    assert news.who == "bob" and dict(news.counts) == {"4h": 1, "1d": 1}
    extend(world, DAY)  # once, while somebody waits
    world.pass_time(30 * H, H)
    assert dict(world.told(NewsKind.REMIND, "ada")[1].counts) == {"4h": 0, "1d": 0}


def test_what_is_at_a_limit_is_not_offered() -> None:
    world = World(policy=replace(World().policy, longest_in_all=timedelta(hours=35)))
    world.give("vm-python", ALL, "30h")
    world.pass_time(7 * H, H)
    assert dict(world.told(NewsKind.REMIND, "ada")[0].counts) == {"4h": 1, "1d": 0}


# ---- the end ------------------------------------------------------------------------------------------------------


def test_nobody_waits_and_then_somebody_does() -> None:
    world = lent("3h")
    world.pass_time(5 * H, 30 * MIN)
    assert world.lease("1").over_time and world.lease("1").state is LeaseState.ACTIVE
    assert len(world.told(NewsKind.OVER_TIME, "ada")) == 1
    world.request("bob", "vm-r", 1, "any time today")
    world.pass_time(MIN)
    assert world.lease("1").state is LeaseState.RETURNING
    assert [(n.to, n.who) for n in world.told(NewsKind.RETURNING)] == [("ada", "bob")], "for whom, is said"


def test_somebody_waits_and_leaves_the_line_before_the_end() -> None:
    world = lent("3h")
    number = world.request("bob", "vm-r", 1, "any time today").number
    world.pass_time(2 * H, 30 * MIN)
    world.do(lambda d: queue.withdraw(d, d.requests[number], "bob"))
    world.pass_time(2 * H, 30 * MIN)
    assert world.lease("1").over_time and not world.told(NewsKind.RETURNING)


def test_over_its_time_it_is_made_longer_from_now_while_nobody_waits() -> None:
    world = lent("3h")
    world.pass_time(5 * H, 30 * MIN)
    extend(world, 2 * H)
    assert world.lease("1").end == world.now + 2 * H and not world.lease("1").over_time
    world.request("bob", "vm-r", 1, "any time today")
    world.pass_time(MIN)
    assert world.lease("1").state is LeaseState.ACTIVE


# ---- several devices ----------------------------------------------------------------------------------------------


def test_one_of_four_is_given_back_and_the_others_are_as_they_were() -> None:
    world = lent("3d")
    end = world.lease("1").end
    part = world.release("ada", "1", ("T4-3",), "now")
    assert (part.label, part.slots, part.state) == ("1b", ("T4-3",), LeaseState.RETURNING)
    rest = world.lease("1")
    assert (rest.slots, rest.state, rest.end) == (("T4-1", "T4-2", "T4-4"), LeaseState.ACTIVE, end)
    assert world.holders("T4-3") == {"has": "1b"} and world.holders("T4-4") == {"has": "1"}
    world.until(lambda: world.lease("1b").state is LeaseState.ENDED, 30 * MIN)
    assert world.acts("vm-python").count("shutdown") == 1 and world.lease("1").state is LeaseState.ACTIVE
    assert world.card("T4-3").pci not in world.vms["vm-python"].cards and len(world.vms["vm-python"].cards) == 3


def test_all_of_four_are_made_longer_and_end_as_one() -> None:
    world = lent("3h")
    extend(world, 2 * H)
    assert world.lease("1").slots == ALL and world.lease("1").end == MONDAY_10 + 5 * H
    world.pass_time(5 * H - 10 * MIN, 30 * MIN)
    world.request("bob", "vm-r", 1, "any time today")
    world.pass_time(20 * MIN, 5 * MIN)
    assert world.lease("1").state is LeaseState.RETURNING and world.lease("1").slots == ALL
    assert len(world.told(NewsKind.RETURNING, "ada")) == 1


def test_one_after_the_other_is_given_back_and_no_letter_is_given_twice() -> None:
    world = lent("3d")
    labels = [world.release("ada", "1", (slot,)).label for slot in ("T4-1", "T4-2", "T4-3")]
    assert labels == ["1b", "1c", "1d"] and world.lease("1").slots == ("T4-4",)
    assert world.release("ada", "1").label == "1"
    world.agree("ada", "vm-python", "now")
    world.until(lambda: world.lease("1").state is LeaseState.ENDED, 30 * MIN)
    assert world.acts("vm-python").count("shutdown") == 1, "one restart for all four"
    assert not world.books.holds


def test_while_somebody_waits_a_part_and_the_rest_are_made_longer_once_together() -> None:
    world = lent("3h")
    world.request("bob", "vm-r", 4, "any time today")
    extend(world, H)
    world.release("ada", "1", ("T4-4",))
    with pytest.raises(NoLonger):
        extend(world, H)


# ---- to the next on the same machine ------------------------------------------------------------------------------


def test_the_next_lease_is_for_the_same_machine_and_nothing_restarts() -> None:
    world = World()
    world.give("vm-python", ALL, "3h")
    world.do(lambda d: d.put(replace(d.machines["uuid-vm-python"], owners=("ada", "bob"))))
    world.vms["vm-python"].owners = ("ada", "bob")
    world.request("bob", "vm-python", 2, "any time today")
    world.pass_time(3 * H + 5 * MIN, 5 * MIN)
    mine = [x for x in world.books.leases.values() if x.person == "bob" and x.state is LeaseState.ACTIVE]
    assert [len(x.slots) for x in mine] == [2]
    assert "shutdown" not in world.acts("vm-python")
    assert any(n.kind is NewsKind.HANDED_ON for n in world.news)


def test_who_gives_back_and_asks_anew_for_the_same_machine_is_handed_on_too() -> None:
    world = lent("3h", ("T4-1",))
    world.give("vm-train", ("T4-2", "T4-3", "T4-4"), "5d")
    world.release("ada", "1")
    world.request("ada", "vm-python", 1, "any time today")
    world.pass_time(5 * MIN)
    new = [x for x in world.books.leases.values() if x.person == "ada" and x.state is LeaseState.ACTIVE]
    assert [x.slots for x in new] == [("T4-1",)] and "shutdown" not in world.acts("vm-python")


def test_what_is_over_while_somebody_waits_is_not_kept_for_one_round_but_made_longer() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "for 4h")
    world.request("bob", "vm-r", 1, "now")
    world.pass_time(4 * H, MIN)
    world.round()
    assert world.lease(lease.label).state is LeaseState.RETURNING
    with pytest.raises(NotPossible) as no:
        world.do(lambda d: leases.keep(d, d.leases[lease.label], "ada", world.policy))
    assert no.value.facts["works"] == f"extend #{lease.label} 4h"
    world.do(lambda d: leases.extend(d, d.leases[lease.label], Length(4 * H), world.people["ada"], world.policy))
    world.pass_time(H, MIN)
    assert world.lease(lease.label).state is LeaseState.ACTIVE
    assert len(world.told(NewsKind.RETURNING, "ada")) == 1


def test_what_is_over_is_kept_while_nobody_waits() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",), "for 4h")
    world.release("ada", lease.label)
    world.pass_time(5 * H, MIN)
    world.do(lambda d: leases.keep(d, d.leases[lease.label], "ada", world.policy))
    assert world.lease(lease.label).state is LeaseState.ACTIVE
