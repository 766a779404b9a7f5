"""Who went past others is bound to those who were passed: not to who came before it since, and not for longer than those wait."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain import queue
from bot.domain.leases.ends import queue_again
from bot.domain.model import AgreementState, LeaseState, Request, RequestState
from bot.domain.news import NewsKind
from bot.domain.planner.back import waits_for, was_before
from bot.domain.times import read_length
from bot.domain.waiting import Shift, ShiftWhy
from tests.domain.world import ZONE, World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)


def ask(world: World, who: str, vm: str, count: int, window: str, length: str = "", urgent: bool = False) -> Request:
    kept = read_length(length, world.now, ZONE, world.policy)
    because = "a deadline" if urgent else ""
    wanted = queue.Wanted(
        count, "T4", f"uuid-{vm}", kept, because=because, window=world.wish(window), urgent=urgent, counted=bool(count)
    )
    return world.do(lambda d: queue.request(d, world.people[who], wanted, world.policy))


def put_on_past(behind: int = 0) -> tuple[World, str]:
    """Two of four cards are lent until Wednesday, bob waits for four, and carol was given one for an hour past him.

    :param behind: so many cards ada waits for since then, who asked after her
    """
    world = World()
    world.policy = replace(world.policy, pool_share=1.0)
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    ask(world, "bob", "vm-r", 4, "nights", "for 1h")
    number = ask(world, "carol", "vm-train", 1, "now", "for 1h").number
    if behind:
        ask(world, "ada", "vm-python-2", behind, "nights", "for 1h")
    world.now += MIN
    world.round()
    world.until(lambda: world.lease(number).state is LeaseState.ACTIVE, HOUR)
    kept = world.lease(number).passing
    assert kept is not None and kept.over == 2
    return world, str(number)


def test_who_is_before_it_by_what_was_said_since_was_not_passed() -> None:
    world, label = put_on_past(behind=4)
    (behind,) = (r.number for r in world.books.requests.values() if r.machine == "uuid-vm-python-2")
    assert world.req(behind).place_key > world.req(int(label)).place_key
    ask(world, "ada", "vm-python-2", 4, "nights", "for 1h", urgent=True)
    assert world.req(behind).place_key < world.req(int(label)).place_key < (world.now, 0)
    assert waits_for(world.books, world.lease(label)) == world.req(2)
    world.do(lambda d: queue.withdraw(d, d.requests[2], "bob"))
    assert world.req(behind).state is RequestState.QUEUED and waits_for(world.books, world.lease(label)) is None


def test_who_was_passed_and_says_that_it_is_urgent_since_is_still_waited_for() -> None:
    world, label = put_on_past()
    world.now += MIN
    ask(world, "bob", "vm-r", 4, "nights", "for 1h", urgent=True)
    assert waits_for(world.books, world.lease(label)) == world.req(2)


def test_a_night_that_is_certain_only_for_who_was_passed_is_taken_back_with_them_and_told() -> None:
    world, label = put_on_past()
    world.until(lambda: bool(world.told(NewsKind.FIRM_WINDOW)), 4 * HOUR, MIN)
    assert world.lease(label).state is LeaseState.RETURNING
    world.do(lambda d: queue.withdraw(d, d.requests[2], "bob"))
    world.round()
    firm = [a for a in world.books.agreements.values() if a.firm and a.state is AgreementState.OPEN]
    assert not firm
    assert {n.key for n in world.told(NewsKind.FIRM_WINDOW)} <= {n.key for n in world.told(NewsKind.ANNOUNCED_OVER)}


def test_who_had_a_turn_then_and_is_back_at_an_old_place_was_not_passed() -> None:
    world, label = put_on_past()
    began = world.lease(label).since
    early = replace(
        world.req(2), number=90, person="ada", machine="uuid-vm-python-2", asked=began - HOUR, state=RequestState.LEASED
    )
    world.do(lambda d: d.put(early))
    world.do(lambda d: queue_again(d, d.requests[90], "its card broke"))
    assert queue.line(world.books)[0].number == 90 and world.req(90).asked < began < world.now
    assert waits_for(world.books, world.lease(label)) == world.req(2)
    world.do(lambda d: queue.withdraw(d, d.requests[2], "bob"))
    assert world.req(90).state is RequestState.QUEUED and waits_for(world.books, world.lease(label)) is None


def test_who_asks_again_from_the_place_of_a_lost_card_was_not_passed() -> None:
    world, label = put_on_past()
    given = next(x for x in world.books.leases.values() if x.machine == "uuid-vm-python")
    began = world.lease(label).since
    old = replace(
        world.req(2), number=given.request, person="ada", machine=given.machine, count=2, asked=began - HOUR,
        state=RequestState.SERVED,
    )  # fmt: skip
    world.do(lambda d: d.put(old))
    world.do(
        lambda d: (d.free(given.label, given.slots), d.put(replace(given, state=LeaseState.FAILED, changed=d.now)))
    )
    again = ask(world, "ada", "vm-python", 2, "nights", "for 1h")
    assert again.asked == old.asked < began < world.now == again.in_line
    world.do(lambda d: queue.withdraw(d, d.requests[2], "bob"))
    assert waits_for(world.books, world.lease(label)) is None


def test_who_came_back_to_a_place_and_asked_anew_after_that_is_before_others_only_since_then() -> None:
    world, label = put_on_past()
    began, bob, carol = world.lease(label).since, world.req(2), world.req(3)
    early = (Shift(ShiftWhy.URGENT, -24 * HOUR),)
    anew = replace(bob, number=90, in_line=began - HOUR, asked=began + HOUR, shifts=early)
    assert not was_before(anew, carol, began), "what it was before that is not asked for any more"
    assert was_before(replace(anew, asked=began - MIN), carol, began)
    assert not was_before(replace(anew, asked=began - MIN, in_line=began + MIN), carol, began)
