"""Who may go past one who has to wait, by examples: four cards on one host, two of them lent until Wednesday."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.domain import leases, planner, pool, promises, queue
from bot.domain.draft import Draft
from bot.domain.errors import NotPossible, TooLong
from bot.domain.model import Job, Lease, LeaseState, Length, Power, Request, RequestState, Terms, Window
from bot.domain.news import NewsKind
from bot.domain.rules import Rule
from bot.domain.times import read_length
from bot.domain.waiting import Passing
from tests.domain.world import ZONE, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
QUEUED, OFFERED, LEASED = RequestState.QUEUED, RequestState.OFFERED, RequestState.LEASED


def berlin(day: int, hour: int, minute: int = 0) -> datetime:
    """A time of the first days of December 2026 in Berlin; the 30th is Monday of November."""
    month = 11 if day == 30 else 12
    return datetime(2026, month, day, hour - 1, minute, tzinfo=UTC)


def ask(
    world: World, who: str, vm: str, count: int = 1, window: str | None = "now", length: str = "", **more: Any
) -> Request:
    """A request, with the words that only some have."""
    kept = read_length(length, world.now, ZONE, world.policy) if length else Length()
    wanted = queue.Wanted(count, "T4", f"uuid-{vm}", kept, window=world.wish(window), **more)
    return world.do(lambda d: queue.request(d, world.people[who], wanted, world.policy))


def two_lent(**policy: Any) -> World:
    """ada has two of four cards until Wednesday 10:00; bob is first in line and wants all four."""
    world = World()
    world.policy = replace(world.policy, pool_share=1.0, **policy)
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    ask(world, "bob", "vm-r", 4, "nights")
    world.round()
    assert world.req(2).state is QUEUED
    return world


def verdict(world: World, number: int) -> Any:
    return planner.verdict(Draft(world.books, world.now), world.sight(), world.people, world.policy, number)


# ---- past a head that wants more


def test_who_is_surely_back_goes_past_and_keeps_to_it() -> None:
    world = two_lent()
    carol = ask(world, "carol", "vm-train", 1, "now", "for 1h").number
    world.round()
    assert world.req(carol).state is LEASED
    kept = world.lease(carol).passing
    assert kept is not None and kept.over == 2
    assert kept.back_by == berlin(2, 10, 25), "ada's end, the announcement, and a restart of 15 min"
    assert kept.ends_by == berlin(1, 21, 48), "before the last night that is over by then is announced"


def test_who_is_not_waits_behind() -> None:
    world = two_lent()
    carol = ask(world, "carol", "vm-train", 1, "now", "for 3d").number
    world.round()
    assert world.req(carol).state is QUEUED
    found = verdict(world, carol)
    assert Rule.PASSING in found.rules and found.passed == 2 and found.free == 2
    assert found.start == berlin(2, 10, 25) and found.back == berlin(4, 6), "Thursday 10:30, and the night after"


@pytest.mark.parametrize(("length", "goes"), [("until tue 21:30", True), ("until tue 22:30", False)])
def test_the_night_after_the_end_counts(length: str, goes: bool) -> None:
    """Until 22:30 it is in its machine until the night that begins on Wednesday."""
    world = two_lent()
    carol = ask(world, "carol", "vm-train", 1, "now", length).number
    world.round()
    assert (world.req(carol).state is LEASED) is goes


def test_a_time_in_which_its_machine_restarts_anyway_counts_too() -> None:
    world = two_lent()
    world.agree("carol", "vm-train", "weekdays 07:00-08:00 even if busy")
    carol = ask(world, "carol", "vm-train", 1, "now", "until wed 06:30").number
    world.round()
    kept = world.lease(carol).passing
    assert kept is not None and kept.ends_by == berlin(2, 6, 48), (
        "a late start costs nothing of its time: before that is announced"
    )
    assert world.books.agreements[kept.anyway].even_if_busy, "without it, it would have to be sooner"


def test_the_limit_is_the_same_for_whoever_is_back_by_the_same_time() -> None:
    """A time for restarts that has begun by the end is none to be back by: the same limit lets an hour go, and until it."""
    limits = set()
    for length in ("for 1h", "until wed 06:45", "until wed 07:10"):
        world = two_lent()
        world.agree("carol", "vm-train", "weekdays 07:00-08:00 even if busy")
        carol = ask(world, "carol", "vm-train", 1, "now", length).number
        world.round()
        kept = world.lease(carol).passing if world.req(carol).state is LEASED else None
        limits.add(kept.ends_by if kept is not None else None)
    assert limits == {berlin(2, 6, 48), None}


def test_what_is_offered_past_others_is_offered_for_that_long_alone() -> None:
    world = two_lent()
    short, long = (
        ask(world, "carol", "vm-train", 1, None, "for 1h"),
        ask(world, "ada", "vm-python-2", 1, None, "for 3d"),
    )
    world.round()
    assert world.req(short.number).state is OFFERED and world.req(long.number).state is QUEUED
    assert world.req(short.number).passing is not None


def test_what_will_be_over_goes_to_whoever_wants_it() -> None:
    """bob wants three: when ada's two are back, one of the four is over."""
    world = World()
    world.policy = replace(world.policy, pool_share=1.0)
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    ask(world, "bob", "vm-r", 3, "nights")
    first, second = (
        ask(world, "carol", "vm-train", 1, "now", "for 3d"),
        ask(world, "ada", "vm-python-2", 1, "now", "for 3d"),
    )
    world.round()
    assert world.req(first.number).state is LEASED and world.lease(first.number).passing is None
    assert world.req(second.number).state is QUEUED, "it was one"


def test_what_may_not_be_over_at_worst_is_not() -> None:
    """Two of ada's are due at one time, but her machines are two: one may be late by days, so bob would lose by it."""
    world = World()
    world.policy = replace(world.policy, pool_share=1.0)
    world.give("vm-python", ("T4-1",), "for 1d")
    world.give("vm-python-2", ("T4-2",), "for 1d")
    world.do(lambda d: d.put(replace(d.leases["2"], extended=1)))  # so the first may be extended, the second not
    ask(world, "bob", "vm-r", 3, "nights")
    carol = ask(world, "carol", "vm-train", 1, "now", "for 3d").number
    world.round()
    assert world.req(carol).state is QUEUED


def test_nobody_goes_past_one_who_waits_for_more_than_there_is() -> None:
    world = two_lent()
    world.do(lambda d: pool.drain(d, d.cards["T4-1"], "dana", "hot"))
    carol = ask(world, "carol", "vm-train", 1, "now", "for 1h").number
    world.round()
    assert world.req(carol).state is QUEUED
    assert Rule.PASSING in verdict(world, carol).rules and verdict(world, carol).passed is None


def test_the_first_in_line_is_served_as_if_nobody_had_gone_past() -> None:
    """ada gives back when her time is over, carol's machine is restarted in the night before: bob has all four on Wednesday night."""
    world = two_lent()
    carol = ask(world, "carol", "vm-train", 1, "now", "for 1h").number
    world.round()
    world.until(lambda: world.lease(carol).state is LeaseState.ACTIVE, HOUR)
    world.until(lambda: world.lease(carol).state is LeaseState.ENDED, 2 * DAY, 5 * MIN)
    assert world.now <= berlin(1, 6), "its first night after the end is certain at once"
    world.until(lambda: world.req(2).state is not QUEUED, 3 * DAY, 5 * MIN)
    assert world.lease("2").slots and len(world.lease("2").slots) == 4


# ---- booked


def booked(world: World, start: datetime, count: int = 2, length: str = "for 4h") -> int:
    return ask(world, "bob", "vm-r", count, "any time today", length, start=start).number


def test_a_booking_is_served_at_its_time_less_the_restart() -> None:
    world = World()
    number = booked(world, berlin(30, 14), 1)
    world.round()
    assert world.req(number).state is QUEUED and verdict(world, number).rules == {Rule.BOOKED}
    assert verdict(world, number).start == berlin(30, 14)
    world.until(lambda: world.req(number).state is not QUEUED, 5 * HOUR, MIN)
    assert world.now == berlin(30, 13, 45)


def test_a_booking_keeps_its_cards_from_who_is_not_back_by_then() -> None:
    """Thursday 14:00: whoever asks later gets what is not booked, or is surely back."""
    world = World()
    world.policy = replace(world.policy, pool_share=1.0)
    number = booked(world, berlin(3, 14), 3)
    long = ask(world, "carol", "vm-train", 2, "now", "for 5d")
    world.round()
    assert world.req(number).state is QUEUED and world.req(long.number).state is QUEUED
    short = ask(world, "ada", "vm-python", 2, "now", "for 1d")
    world.round()
    kept = world.lease(short.number).passing
    assert world.req(short.number).state is LEASED and kept is not None and kept.over == number
    one = ask(world, "ada", "vm-python-2", 1, "now", "for 5d")
    world.round()
    assert world.req(one.number).state is LEASED and world.lease(one.number).passing is None, "one of four is over"


# ---- partly


def test_partly_takes_what_is_there() -> None:
    world = World()
    world.policy = replace(world.policy, pool_share=1.0)
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    number = ask(world, "bob", "vm-r", 4, "nights", partly=True).number
    world.round()
    assert world.req(number).state is LEASED and world.req(number).count == 2 and world.req(number).wanted == 4
    assert len(world.lease(number).slots) == 2


def test_partly_asked_and_not_taken_is_as_it_was() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "for 2d")
    number = ask(world, "bob", "vm-r", 2, None, partly=True).number
    world.round()
    assert world.req(number).state is OFFERED and world.req(number).count == 1
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[number], world.people["bob"], world.policy))
    assert world.req(number).count == 2 and world.req(number).wanted == 0


def test_partly_goes_past_with_as_many_as_are_over() -> None:
    world = World()
    world.policy = replace(world.policy, pool_share=1.0)
    world.give("vm-python", ("T4-1", "T4-2"), "for 2d")
    ask(world, "bob", "vm-r", 3, "nights")
    carol = ask(world, "carol", "vm-train", 2, "now", "for 3d", partly=True).number
    world.round()
    assert world.req(carol).state is LEASED and len(world.lease(carol).slots) == 1


# ---- what is kept to


def offered_past() -> tuple[World, int]:
    """carol is offered a card for an hour, past bob, who waits for all four."""
    world = two_lent()
    number = ask(world, "carol", "vm-train", 1, None, "for 1h").number
    world.round()
    assert world.req(number).state is OFFERED
    return world, number


def test_an_offer_past_others_is_taken_for_a_time_in_which_it_is_back() -> None:
    world, number = offered_past()
    with pytest.raises(NotPossible) as no:
        world.accept("carol", number, "tomorrow 20:50-23:00")
    assert no.value.facts["works"] == f"accept #{number} now"
    assert world.req(number).state is OFFERED, "there is still time"
    lease = world.accept("carol", number, "tonight")
    assert isinstance(lease, Lease) and lease.passing is not None and world.req(number).passing is None


def test_an_offer_past_others_that_is_too_late_by_now_goes_back_and_keeps_its_place() -> None:
    """Who is passed will have it sooner than was foreseen: ada gave back, and her machine restarts today."""
    world, number = offered_past()
    world.do(lambda d: d.put(replace(d.requests[number], passing=Passing(2, berlin(30, 20), berlin(30, 23)))))
    asked, place = world.req(number).asked, queue.place(world.books, world.req(number))
    back = world.accept("carol", number, "now")
    assert isinstance(back, Request) and back.state is QUEUED and back.passing is None
    assert (back.asked, queue.place(world.books, back)) == (asked, place)


def test_when_nobody_waits_any_more_who_went_past_keeps_to_nothing() -> None:
    world, number = offered_past()
    world.do(lambda d: queue.withdraw(d, d.requests[2], "bob"))
    world.accept("carol", number, "tomorrow 20:50-23:00")
    world.until(lambda: world.lease(number).state is LeaseState.ACTIVE, 2 * DAY, 5 * MIN)
    assert world.lease(number).end == world.lease(number).active_since + HOUR  # type: ignore[operator]


def put_on_past(length: str = "for 1h") -> tuple[World, str]:
    """carol works with a card that she was given past bob."""
    world = two_lent()
    number = ask(world, "carol", "vm-train", 1, "now", length).number
    world.round()
    world.until(lambda: world.lease(number).state is LeaseState.ACTIVE, HOUR)
    return world, str(number)


def test_begun_late_it_is_shorter_and_said_so() -> None:
    world = two_lent()
    number = ask(world, "carol", "vm-train", 1, "when done", "until tue 21:30").number
    world.vms["vm-train"].jobs = (Job("carol", "train", world.now, True),)
    world.round()
    assert world.req(number).state is LEASED
    kept = world.lease(number).passing
    assert kept is not None
    world.do(lambda d: d.put(replace(d.leases[str(number)], terms=Terms(length=Length(lasting=20 * HOUR)))))
    world.pass_time(20 * HOUR, 10 * MIN)
    world.vms["vm-train"].jobs, world.vms["vm-train"].free_since = (), world.now
    world.until(lambda: world.lease(number).state is LeaseState.ACTIVE, 2 * HOUR)
    assert world.lease(number).end == kept.ends_by
    assert any("sooner than you asked" in n.reason for n in world.told(NewsKind.ACTIVE, "carol"))


def test_never_begun_it_goes_on_when_it_would_be_over_before_it_begins() -> None:
    world = two_lent(reserved_free=5 * DAY)
    number = ask(world, "carol", "vm-train", 1, "when done", "for 1h").number
    world.vms["vm-train"].jobs = (Job("carol", "train", world.now, True),)
    world.round()
    kept = world.lease(number).passing
    assert kept is not None
    world.pass_time(34 * HOUR, 2 * HOUR)
    world.until(lambda: world.req(number).state is QUEUED, 3 * HOUR, 10 * MIN)
    assert kept.ends_by - timedelta(minutes=30) < world.now <= kept.ends_by
    assert any("too little time" in n.reason for n in world.told(NewsKind.BACK_IN_LINE, "carol"))
    world.pass_time(30 * MIN, 10 * MIN)
    assert world.req(number).state is QUEUED, "it is not given again for a time that is too short"


def test_it_is_made_longer_as_far_as_those_who_were_passed_lose_nothing() -> None:
    world, label = put_on_past()
    carol, kept = world.people["carol"], world.lease(label).passing
    assert kept is not None

    def extend(text: str) -> Lease:
        length = read_length(text, world.now, ZONE, world.policy)
        return world.do(lambda d: leases.extend(d, d.leases[label], length, carol, world.policy))

    with pytest.raises(TooLong) as no:
        extend("until wed 08:00")
    assert no.value.facts["who"] == "bob" and "tomorrow 21:48" in no.value.facts["works"]
    assert extend("12h").end == world.lease(label).end


def urgent_behind() -> tuple[World, str, Request]:
    """carol went past bob for an hour, back in time since her machine restarts at five; ada, who asks urgently since, waits for her card."""
    world = World()
    world.policy = replace(world.policy, pool_share=1.0)
    world.give("vm-python", ("T4-1", "T4-2"), "until mon 18:00")
    ask(world, "bob", "vm-r", 4, "now")
    world.agree("carol", "vm-train", "daily 17:00-18:00 even if busy")
    number = ask(world, "carol", "vm-train", 1, "now", "for 1h").number
    world.round()
    world.until(lambda: world.lease(number).state is LeaseState.ACTIVE, HOUR)
    asked = ask(world, "ada", "vm-python-2", 2, "now", "for 1h", urgent=True, because="a deadline")
    return world, str(number), told(world, asked.number)


def told(world: World, number: int) -> Request:
    """Somebody reads a waiting time."""

    def tell(draft: Draft) -> Request:
        request = draft.requests[number]
        found = promises.promise(draft.as_books(), request, draft.now, world.policy, lambda _: ZONE, world.sight())
        return promises.tell(draft, request, found) or draft.requests[number]

    return world.do(tell)


def test_what_is_certain_to_come_out_at_its_end_is_likely_then_also_while_it_works() -> None:
    world, label, asked = urgent_behind()
    end, said = world.lease(label).end, asked.promised
    assert end is not None and said is not None and said.likely is not None
    assert said.likely < end + HOUR, "its machine restarts at its end, not at five"
    world.pass_time(10 * MIN, MIN)
    again = told(world, asked.number).promised
    assert again is not None and again.likely == said.likely


def test_who_is_next_since_is_named_and_nothing_is_offered_that_moves_what_they_were_told() -> None:
    world, label, asked = urgent_behind()
    length = read_length("6h", world.now, ZONE, world.policy)
    with pytest.raises(TooLong) as no:
        world.do(lambda d: leases.extend(d, d.leases[label], length, world.people["carol"], world.policy))
    facts = no.value.facts
    assert (facts["who"], facts["number"], facts["late"], facts["works"]) == ("ada", f"#{asked.number}", "ada", "")
    assert asked.promised is not None and facts["when"] == asked.promised.likely
    assert dict(world.told(NewsKind.ACTIVE, "carol")[0].counts) == {"4h": 1, "1d": 0}, "which are worth a button"


def test_at_its_end_it_returns_for_who_was_passed_and_its_first_night_is_certain() -> None:
    world, label = put_on_past()
    world.until(lambda: world.lease(label).state is LeaseState.RETURNING, 2 * HOUR, MIN)
    firm = [a for a in world.books.agreements.values() if a.firm]
    assert [(a.machine, a.window) for a in firm] == [("uuid-vm-train", Window(berlin(30, 22), berlin(1, 6)))]


@pytest.mark.parametrize(
    ("length", "over"),
    [("for 1h", timedelta(hours=24)), ("until tue 20:00", berlin(1, 21, 48) - berlin(1, 20))],
    ids=["a day", "as far as those who were passed lose nothing"],
)
def test_work_that_runs_is_waited_for(length: str, over: timedelta) -> None:
    world, label = put_on_past(length)
    end = world.lease(label).end
    assert end is not None
    world.vms["vm-train"].jobs = (Job("carol", "train", world.now, True),)
    world.pass_time(end + over - 10 * MIN - world.now, HOUR)
    assert world.lease(label).state is LeaseState.ACTIVE
    world.until(lambda: world.lease(label).state is LeaseState.RETURNING, HOUR, MIN)
    assert timedelta(0) <= world.now - end - over < MIN
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, 20 * HOUR, 10 * MIN)
    assert world.now <= berlin(2, 6)


def test_a_time_that_was_counted_on_comes_whatever_is_said_since() -> None:
    """Its machine restarts at seven anyway, and that was taken back, or put off: it is restarted all the same, in time for who was passed."""
    world = two_lent()
    world.agree("carol", "vm-train", "weekdays 07:00-08:00 even if busy")
    number = ask(world, "carol", "vm-train", 1, "now", "until wed 06:30").number
    world.round()
    kept = world.lease(number).passing
    assert kept is not None and berlin(2, 6, 30) <= kept.ends_by < berlin(2, 7)
    world.until(lambda: world.lease(number).state is LeaseState.ACTIVE, HOUR)
    world.pass_time(berlin(2, 6, 20) - world.now, HOUR)
    world.say_no("vm-train", "carol")
    world.until(lambda: world.lease(number).state is LeaseState.RETURNING, HOUR, MIN)
    firm = [a.window for a in world.books.agreements.values() if a.firm]
    assert len(firm) == 1 and firm[0] is not None and firm[0].end <= kept.back_by
    world.until(lambda: world.lease(number).state is LeaseState.ENDED, 4 * HOUR, MIN)
    assert world.now <= kept.back_by


def test_in_a_machine_that_is_left_off_it_comes_out_in_time() -> None:
    world = two_lent(power_on_wait=5 * DAY)
    world.switch("vm-train", Power.OFF)
    number = ask(world, "carol", "vm-train", 1, None, "for 1h").number
    world.until(
        lambda: world.lease(number).state is LeaseState.MOVING if str(number) in world.books.leases else False, HOUR
    )
    kept = world.lease(number).passing
    assert kept is not None
    world.pass_time(kept.ends_by - 10 * MIN - world.now, 3 * HOUR)
    assert world.lease(number).state is LeaseState.MOVING and world.vms["vm-train"].cards
    world.until(lambda: world.lease(number).state is LeaseState.ENDED, HOUR, MIN)
    assert world.now < kept.back_by and not world.vms["vm-train"].cards
    assert world.vms["vm-train"].power is Power.OFF


def test_for_a_booking_it_returns_when_it_has_to() -> None:
    """Nobody else waits at its end, so it stays until the booking needs it."""
    world = World()
    world.policy = replace(world.policy, pool_share=1.0)
    booked(world, berlin(3, 14), 4)
    number = ask(world, "carol", "vm-train", 1, "now", "for 4h").number
    world.round()
    kept = world.lease(number).passing
    assert kept is not None and kept.back_by == berlin(3, 13, 45) and kept.ends_by == berlin(2, 21, 48)
    world.pass_time(40 * MIN, MIN)
    world.pass_time(kept.ends_by - 10 * MIN - world.now, HOUR)
    assert world.lease(number).state is LeaseState.ACTIVE and world.lease(number).over_time
    world.until(lambda: world.lease(number).state is not LeaseState.ACTIVE, HOUR, MIN)
    assert timedelta(0) <= world.now - kept.ends_by < MIN
    world.pass_time(berlin(3, 13, 40) - world.now, 5 * MIN)
    assert world.req(1).state is QUEUED
    world.until(lambda: world.req(1).state is not QUEUED, 10 * MIN, MIN)


def test_outside_working_hours_the_next_one_is_asked_only_if_it_delays_nobody() -> None:
    """bob waits for four; it is night for carol, whose turn for one would be; ada is asked instead for an hour, and not for days."""
    for length, state in (("for 1h", OFFERED), ("for 3d", QUEUED)):
        world = two_lent()
        world.people["carol"] = replace(world.people["carol"], zone="Pacific/Auckland")
        carol = ask(world, "carol", "vm-train", 1, None, "for 1h").number
        ada = ask(world, "ada", "vm-python-2", 1, None, length).number
        world.round()
        assert world.req(ada).state is state
        assert world.req(carol).state is (QUEUED if state is OFFERED else OFFERED), length
