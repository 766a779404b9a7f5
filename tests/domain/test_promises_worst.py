"""At worst, piece by piece: when a device is back that somebody has, is offered, or is over with; each was once reckoned too early for somebody."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain import queue
from bot.domain.model import (
    Agreement,
    AgreementKind,
    Books,
    Hold,
    Lease,
    LeaseState,
    Length,
    Move,
    MoveState,
    Request,
    RequestState,
    SlotId,
    Terms,
    Turn,
    Window,
    Wish,
    Work,
)
from bot.domain.policy import Policy
from bot.domain.promises.play import Play
from bot.domain.promises.worst import Worst
from bot.domain.waiting import Passing
from tests.domain.test_promises_kept import Plain
from tests.domain.world import MONDAY_10, ZONE, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ALL = ("T4-1", "T4-2", "T4-3", "T4-4")


def play(world: World, books: Books | None = None) -> Play:
    return Play(books or world.books, world.now, world.policy, lambda _: ZONE, None)


def changed(books: Books, **tables: object) -> Books:
    """The books with more, or other, values in their tables."""
    return replace(books, **{name: {**getattr(books, name), **more} for name, more in tables.items()})  # type: ignore[dict-item]


def working(world: World, vm: str, slots: tuple[SlotId, ...], **more: object) -> Lease:
    lease = world.give(vm, slots, "for 30h")
    return replace(world.lease(lease.label), **more)  # type: ignore[arg-type]


# ---- an offer under a number that was lent once -------------------------------------------------------------------


def test_what_is_offered_again_is_not_what_was_lent_and_given_up() -> None:
    """A lease that is over keeps its number, and its request may be offered something else under it."""
    world = World(policy=Policy(level="act"))
    number = world.request("bob", "vm-r").number
    world.round()
    request, slot = world.req(number), next(h.slot for h in world.books.holds if h.label == str(number))
    assert request.state is RequestState.OFFERED
    now = world.now
    passing = Passing(99, now + HOUR, now + 2 * HOUR)
    old = Lease(
        str(number), number, "bob", request.machine, "T4", (slot,), LeaseState.ENDED, Terms(Length(HOUR)), now - DAY, now,
        passing=passing,
    )  # fmt: skip
    new, was = play(world, changed(world.books, leases={old.label: old})), play(world)
    assert new.free(slot, old.label) == was.free(slot, old.label), "it is free for whom it is offered to"
    assert new.back_of(old.label, now) == was.back_of(old.label, now), "and keeps to nothing that is over"
    other = Request(99, "carol", "T4", 4, "uuid-vm-train", now)
    assert new.worst_of_line(other) == was.worst_of_line(other)


# ---- what is over its time, and what is spare ---------------------------------------------------------------------


def test_what_is_over_its_time_goes_back_by_its_own_night_where_what_is_spare_is_too_little() -> None:
    world = World(policy=Policy(level="act", pool_share=1.0))
    over = working(world, "vm-python", ("T4-1", "T4-2"), end=MONDAY_10 - 20 * HOUR, extended=1)
    spare = working(world, "vm-python-2", ("T4-3",), terms=Terms(Length(3 * DAY), spare=True), wanted_since=MONDAY_10)
    other = working(world, "vm-train", ("T4-4",))
    books = changed(world.books, leases={x.label: x for x in (over, spare, other)})

    def latest(count: int) -> list[bool]:
        """Of those over their time: whether they may be kept for as long as what is spare."""
        request = Request(50, "bob", "T4", count, "uuid-vm-r", world.now, terms=Terms(Length(HOUR)))
        found = play(world, changed(books, requests={50: request}))
        its = found.held("T4-3")
        assert its is not None and its.cause == "spare" and its.latest > found.worst_of(over)
        return [at == its.latest for at, _, _, _ in found.worst_of_line(request)][:2]

    assert latest(1) == [True, True], "the spare one may be enough"
    assert latest(2) == [False, False], "it is not, so they go back as well"


def test_what_is_over_a_share_goes_back_only_as_far_as_what_goes_before_it_is_too_little() -> None:
    """ada may have two of the four, and has three: with the one that was asked for as spare she is within her share."""
    world = World(policy=Policy(level="act", pool_share=0.5))
    spare = working(world, "vm-python", ("T4-1",), request=40)
    beyond = working(world, "vm-python-2", ("T4-2", "T4-3"), terms=Terms(Length(3 * DAY), spare=True))
    spare = replace(spare, terms=beyond.terms)
    asked = Request(
        40, "ada", "T4", 1, "uuid-vm-python", MONDAY_10, RequestState.LEASED, Terms(Length(DAY), spare=True)
    )
    waits = Request(50, "bob", "T4", 3, "uuid-vm-r", MONDAY_10)
    had = replace(asked, number=41, terms=Terms(Length(DAY)))
    beyond = replace(beyond, request=41)
    both = changed(world.books, leases={x.label: x for x in (spare, beyond)}, requests={40: asked, 41: had, 50: waits})
    alone = changed(both, leases={spare.label: replace(spare, request=41, terms=Terms(Length(3 * DAY)))})

    def causes(books: Books) -> list[str]:
        return [f.cause for slot in ALL[:3] if (f := play(world, books).held(slot)) is not None]

    assert causes(alone) == ["own_end", "own_end", "spare"], "one of three is over her share"
    assert causes(both) == ["spare", "own_end", "own_end"]


# ---- a night that is used up --------------------------------------------------------------------------------------


def test_a_certain_night_is_none_for_what_its_restart_began_without() -> None:
    world = World(policy=Policy(level="act"))
    late = working(world, "vm-python", ("T4-2",), state=LeaseState.RETURNING)
    window = Window(world.now, world.now + 6 * HOUR)
    night = Agreement(
        7, late.machine, "bot", AgreementKind.NAMED, world.now - HOUR, window=window, label="8", firm=True
    )
    wish = Wish(Work.TAKE, "8", "T4-1")
    begun = Move(3, late.machine, MoveState.CHANGING, (wish,), world.now, world.now, agreement=7, shutdown_at=world.now)
    books = changed(world.books, leases={late.label: late}, agreements={7: night})

    def back(move: Move) -> tuple[bool, bool]:
        """Whether it is back with that night, and surely."""
        free = play(world, changed(books, moves={3: move})).free("T4-2", "")
        assert free is not None
        return free.latest <= window.end, free.sure

    assert back(begun) == (False, False)
    assert back(replace(begun, wishes=(wish, replace(wish, label=late.label, slot="T4-2")))) == (True, True)
    assert back(replace(begun, state=MoveState.PLANNED, shutdown_at=None)) == (True, True), (
        "it may still be taken along"
    )


# ---- a booking behind who floats ----------------------------------------------------------------------------------


class Nightly(Plain):
    """What nobody gives back by themselves is taken a day after it is wanted."""

    def night(self, at: object, zone: str) -> object:  # type: ignore[override]
        return at


def test_for_a_booking_behind_who_may_be_over_a_share_cards_are_taken_when_its_time_has_come() -> None:
    """Until then nobody asks for the cards that are lent to others than those who wait: also where who floats had them in between."""
    start = MONDAY_10 + 5 * DAY
    floats = Request(1, "ada", "T4", 2, "vm", MONDAY_10, terms=Terms(Length(HOUR)))
    booked = Request(2, "bob", "T4", 1, "vm", MONDAY_10, terms=Terms(Length(HOUR)), start=start)

    def turn(request: Request) -> timedelta:
        worst = Worst(Nightly(), [(MONDAY_10 + DAY, False, "", "ada")] * 2, ["UTC"])
        worst.float(floats)
        at = worst.turn(request)
        assert at is not None
        return at - MONDAY_10

    assert turn(replace(booked, start=None)) < 2 * DAY
    assert turn(booked) >= 5 * DAY + Nightly().policy.stuck_return + HOUR, (
        "first comes who floats, and has them for an hour"
    )


# ---- what a booking keeps from those behind it --------------------------------------------------------------------


def test_who_waits_behind_a_booking_is_not_waiting_for_what_it_keeps() -> None:
    """A card lies free for a booking that they could not be back for: so what is over its time is asked back for them."""
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.give("vm-python", ALL[:3], "for 30h")
    world.request("carol", "vm-train", 1, "any time today", "for 8h", start=MONDAY_10 + 8 * HOUR)
    number = world.request("bob", "vm-r", 1, "any time today", "for 3d").number
    assert not queue.contended(world.books, "T4", now=world.now), "they may still go past it"
    world.pass_time(2 * MIN)
    assert world.req(number).state is RequestState.QUEUED
    assert queue.contended(world.books, "T4", now=world.now)
    assert world.do(lambda d: queue.shortage(d, "T4")) == 1
    world.do(lambda d: queue.withdraw(d, d.requests[number], "bob"))
    assert not queue.contended(world.books, "T4", now=world.now), "a booking itself asks nothing back before its time"
    assert world.do(lambda d: queue.shortage(d, "T4")) == -1


# ---- what is waited for -------------------------------------------------------------------------------------------


def test_who_takes_fewer_waits_for_none_that_comes_later() -> None:
    """One lies free, and another one is on its way back: who would take either has the first alone, and has it by the time that was told."""
    world = World(policy=Policy(level="act", pool_share=1.0))
    for vm, slots in (("vm-python", ("T4-1",)), ("vm-python-2", ("T4-2", "T4-3"))):
        lease = world.give(vm, slots, "for 30h")
        world.release("ada", lease.label, None, "tonight")
    world.give("vm-train", ("T4-4",), "for 30h")
    number = world.request("bob", "vm-r", 3, "nights even if busy", "for 3h", partly=True).number
    world.round()
    assert len(world.lease(number).slots) in (1, 2), "those that come out of one machine, together"
    assert len({world.holders(slot)["has"] for slot in world.lease(number).slots}) == 1

    other = World(policy=Policy(level="act", pool_share=1.0))
    lease = other.give("vm-python", ALL[:3], "for 30h")
    other.release("ada", lease.label, None, "tonight")
    number = other.request("bob", "vm-r", 3, "nights even if busy", "for 3h", partly=True).number
    other.round()
    assert other.lease(number).slots == ("T4-4",)


def test_what_is_kept_for_who_went_past_is_given_up_in_time_although_the_rest_does_not_come() -> None:
    """They are next for a card that comes late: the one that is there for them is back by their time, put on or not."""
    world = World(policy=Policy(level="act", pool_share=1.0))
    late, now = working(world, "vm-python", ("T4-1", "T4-2", "T4-4")), world.now
    back = now + 10 * HOUR
    first = Request(50, "carol", "T4", 3, "uuid-vm-train", now - DAY)
    own = Request(51, "bob", "T4", 2, "uuid-vm-r", now - HOUR, RequestState.LEASED)
    keeps = Lease(
        "51", 51, "bob", own.machine, "T4", ("T4-3", "T4-1"), LeaseState.RESERVED, Terms(Length(HOUR)), now, now,
        passing=Passing(50, now + 8 * HOUR, back),
    )  # fmt: skip
    holds = {Hold("T4-3", Turn.HAS, "51"), Hold("T4-1", Turn.NEXT, "51")}
    books = changed(world.books, leases={late.label: late, "51": keeps}, requests={50: first, 51: own})
    books = replace(books, holds=books.holds | holds)
    found = play(world, books)
    assert found.worst_of(late) > back
    assert [at for at, _, _, _ in found.worst_of_line(first)] == [back, *[found.worst_of(late)] * 3]
