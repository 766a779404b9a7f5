"""The morning check: what is held for long while somebody really waits is asked about once a working day, at its beginning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import idle, inquiries, leases, queue
from bot.domain.draft import Draft
from bot.domain.inside import Nudge
from bot.domain.model import Job, Length
from bot.domain.news import NewsKind
from tests.domain.world import MONDAY_10, World

H, MIN, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)


def held() -> World:
    """ada and carol have all cards since Monday, 10:00; bob waits since 11:00. It is Tuesday, 08:50."""
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"), "5d")
    world.give("vm-train", ("T4-3", "T4-4"), "5d")
    world.pass_time(H, H)
    world.request("bob", "vm-r", 1, "any time today")
    world.pass_time(21 * H + 50 * MIN, 30 * MIN)
    return world


def later(world: World, days: int = 1) -> None:
    """The next morning at 09:10, by long steps until just before nine and short ones from then on."""
    for _ in range(days):
        world.pass_time(24 * H, 6 * H)
    world.pass_time(20 * MIN, 5 * MIN)


def asked(world: World, to: str = "ada") -> int:
    return len(world.told(NewsKind.MORNING, to))


def overs(world: World, to: str = "ada") -> list[str]:
    return [n.reason for n in world.told(NewsKind.MORNING_OVER, to)]


def test_not_before_it_is_held_for_a_day() -> None:
    world = held()
    world.pass_time(70 * MIN, 5 * MIN)  # 10:00, a day after it was given; the day has begun an hour ago
    assert not world.told(NewsKind.MORNING)


def test_once_a_working_day_at_its_beginning() -> None:
    world = held()
    later(world)  # Wednesday, 09:10
    (news,) = world.told(NewsKind.MORNING, "ada")
    assert (news.who, news.slots) == ("bob", ("T4-1", "T4-2")) and news.request is not None
    assert world.lease("1").morning is not None and asked(world, "carol") == 1
    world.pass_time(6 * H, 30 * MIN)
    assert asked(world) == 1
    world.pass_time(18 * H, 30 * MIN)
    assert asked(world) == 2
    assert overs(world) == ["newer"], "that of the day before is edited away"


def test_who_begins_later_is_not_asked_in_the_middle_of_the_day() -> None:
    world = held()
    world.people["ada"] = replace(world.people["ada"], quiet_until=MONDAY_10 + 2 * DAY)  # Wednesday, 10:00
    later(world)
    world.pass_time(3 * H, 15 * MIN)
    assert asked(world) == 0 and asked(world, "carol") == 1


def test_nobody_waits() -> None:
    world = held()
    world.do(lambda d: queue.withdraw(d, d.requests[3], "bob"))
    later(world, 2)
    assert not world.told(NewsKind.MORNING)


def test_not_while_the_guest_reports_work_and_withdrawn_when_it_begins() -> None:
    world = held()
    world.vms["vm-python"].jobs = (Job("ada", "python train.py", MONDAY_10, True),)
    later(world)
    assert asked(world) == 0 and asked(world, "carol") == 1
    (news,) = world.told(NewsKind.MORNING, "carol")
    assert news.inside is not None and not news.inside.jobs, "what was seen is told with it"
    world.vms["vm-train"].jobs = (Job("carol", "python train.py", MONDAY_10, True),)
    world.pass_time(MIN)
    assert overs(world, "carol") == ["busy"]


def test_not_if_it_was_asked_about_that_day_already() -> None:
    world = held()
    world.pass_time(24 * H, 6 * H)  # Wednesday, 08:50
    nudge = Nudge("idle:1:1", 1, world.now, ("T4-1",), waits="bob", over=True, to=("ada",))
    world.do(lambda d: d.put(replace(d.leases["1"], nudge=nudge)))
    world.pass_time(20 * MIN, 5 * MIN)
    assert asked(world) == 0 and asked(world, "carol") == 1


def test_nor_if_somebody_asked_about_it() -> None:
    world = held()
    world.do(lambda d: inquiries.ask(d, d.leases["1"], ("T4-1",), "bob", "", world.people, world.policy))
    world.pass_time(20 * MIN, 5 * MIN)
    assert len(world.told(NewsKind.ASKED, "ada")) == 1
    later(world)
    assert asked(world) == 1, "that was the day before"


@pytest.mark.parametrize("answer", ["using", "keep"])
def test_nor_of_what_its_holder_has_answered_for(answer: str) -> None:
    world = held()
    if answer == "using":
        world.do(lambda d: idle.using(d, d.leases["1"], None, "ada", ""))
    else:
        until = world.now + 3 * DAY
        world.do(lambda d: idle.keep(d, d.leases["1"], None, until, "a long run", "ada", world.policy))
    later(world)
    assert asked(world) == 0 and asked(world, "carol") == 1


ANSWERS: tuple[tuple[Callable[[Draft, World], object], str], ...] = (
    (lambda d, w: idle.using(d, d.leases["1"], None, "ada", ""), "using"),
    (lambda d, w: idle.keep(d, d.leases["1"], None, d.now + H, "", "ada", w.policy), "kept"),
    (lambda d, w: leases.release(d, d.leases["1"], None, "ada"), "given"),
    (lambda d, w: leases.extend(d, d.leases["1"], Length(lasting=H), w.people["ada"], w.policy), "longer"),
    (lambda d, w: queue.withdraw(d, d.requests[3], "bob"), "nobody"),
)


@pytest.mark.parametrize(("act", "why"), ANSWERS, ids=[why for _, why in ANSWERS])
def test_each_answer_edits_it(act: Callable[[Draft, World], object], why: str) -> None:
    world = held()
    later(world)
    world.do(lambda d: act(d, world))
    world.round()
    assert overs(world) == [why]


def test_it_counts_for_the_attention_of_the_day() -> None:
    world = held()
    later(world)
    world.pass_time(20 * MIN, 5 * MIN)
    world.do(lambda d: inquiries.ask(d, d.leases["1"], ("T4-1",), "bob", "", world.people, world.policy))
    assert overs(world) == ["newer"] and len(world.told(NewsKind.ASKED, "ada")) == 1
    world.pass_time(20 * MIN, 5 * MIN)
    at = world.do(lambda d: inquiries.ask(d, d.leases["1"], ("T4-1",), "carol", "", world.people, world.policy))[1]
    assert at == world.now, "a name is added to what stands"
    world.do(lambda d: idle.keep(d, d.leases["1"], None, d.now + H, "", "ada", world.policy))
    world.pass_time(20 * MIN, 5 * MIN)
    at = world.do(lambda d: inquiries.ask(d, d.leases["1"], ("T4-1",), "dana", "", world.people, world.policy))[1]
    assert at > world.now, "two a day are enough"


def test_who_has_two_things_is_asked_about_one_after_the_other() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"), "5d")
    world.give("vm-python-2", ("T4-3", "T4-4"), "5d")
    world.request("bob", "vm-r", 1, "any time today")
    world.pass_time(46 * H + 50 * MIN, 8 * H)
    world.pass_time(15 * MIN, 5 * MIN)
    assert asked(world) == 1
    world.pass_time(20 * MIN, 5 * MIN)
    assert asked(world) == 2 and overs(world) == ["newer"]


def test_not_on_a_weekend() -> None:
    world = held()
    world.pass_time(3 * DAY + 4 * H, 6 * H)  # Friday, 12:50
    world.pass_time(44 * H, H)  # Sunday, 08:50
    world.pass_time(2 * H, 30 * MIN)
    assert asked(world) == 0
