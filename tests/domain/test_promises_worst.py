"""At worst, piece by piece: when a device is back that somebody has, is offered, or is over with; each was once reckoned too early for somebody."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain import queue
from bot.domain.draft import Draft
from bot.domain.frees import Frees
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
from bot.domain.planner.past import Past
from bot.domain.policy import Policy
from bot.domain.promises import Bound
from bot.domain.promises.play import Play
from bot.domain.promises.worst import Worst
from bot.domain.sight import Sight
from bot.domain.waiting import Passing, Promised
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
    waits = Request(50, "bob", "T4", 2, "uuid-vm-r", MONDAY_10)
    had = replace(asked, number=41, terms=Terms(Length(DAY)))
    beyond = replace(beyond, request=41)
    both = changed(world.books, leases={x.label: x for x in (spare, beyond)}, requests={40: asked, 41: had, 50: waits})
    alone = changed(both, leases={spare.label: replace(spare, request=41, terms=Terms(Length(3 * DAY)))})

    def causes(books: Books) -> list[str]:
        return [f.cause for slot in ALL[:3] if (f := play(world, books).held(slot)) is not None]

    assert causes(alone) == ["own_end", "own_end", "spare"], "one of three is over her share"
    assert causes(both) == ["spare", "own_end", "own_end"]
    for other in (replace(waits, start=MONDAY_10 + DAY), replace(waits, terms=Terms(spare=True))):
        assert causes(changed(alone, requests={50: other})) == ["own_end"] * 3, "and only if somebody else really waits"


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


# ---- whose time is kept to ----------------------------------------------------------------------------------------


def test_only_those_who_were_passed_count_on_the_time_that_is_kept_to() -> None:
    """What went past somebody is back by their turn as long as they wait. Who is behind both may see them served sooner, by another card."""
    world = World(policy=Policy(level="act", pool_share=1.0))
    now, back = world.now, world.now + 10 * HOUR
    went = working(
        world, "vm-python", ("T4-1",), end=now + 5 * HOUR, passing=Passing(50, now + 8 * HOUR, back), request=51
    )
    soon = working(world, "vm-python-2", ("T4-2",), end=now - 20 * HOUR, extended=1)
    far = working(world, "vm-train", ("T4-3", "T4-4"))
    first = Request(50, "carol", "T4", 1, "uuid-vm-train", went.since - DAY)
    own = Request(51, "ada", "T4", 1, "uuid-vm-python", went.since - HOUR, RequestState.LEASED)
    behind = Request(52, "bob", "T4", 1, "uuid-vm-r", now)
    leases = {x.label: x for x in (went, soon, far)}
    found = play(world, changed(world.books, leases=leases, requests={50: first, 51: own, 52: behind}))
    alone = play(world, changed(world.books, leases=leases, requests={51: own, 52: behind}))
    assert found.worst_of(went) == back < found.worst_of(soon) < alone.worst_of(went)
    assert found.line_of(first).worst(first) == back
    assert found.line_of(behind).worst(behind) == alone.worst_of(went), "the first may have had the other one before"

    went = replace(went, extended=1)
    books = changed(world.books, leases={**leases, went.label: went}, requests={50: first, 51: own, 52: behind})
    told = replace(behind, promised=Promised(now, None, play(world, books).latest(behind)))
    draft = Draft(changed(books, requests={52: told}), now)
    moved = Bound(draft, went, world.policy, lambda _: ZONE).moved(replace(went, end=now + 35 * HOUR))
    assert moved is not None and moved.number == 52, "nor is its time made longer past what they were told"


def test_for_a_booking_work_on_what_is_spare_is_waited_for_from_its_time_on() -> None:
    start = MONDAY_10 + 5 * DAY
    booked = Request(2, "bob", "T4", 1, "vm", MONDAY_10, terms=Terms(Length(HOUR)), start=start)

    def turn(*, spare: bool) -> timedelta:
        at = Worst(Nightly(), [(MONDAY_10 + DAY, False, "", "ada")], ["UTC"], spare).turn(booked)
        assert at is not None
        return at - start

    world = World(policy=Policy(level="act", pool_share=1.0))
    spare = working(world, "vm-python", ("T4-1",), terms=Terms(Length(DAY), spare=True), request=51)
    own = Request(51, "ada", "T4", 1, "uuid-vm-python", world.now, RequestState.LEASED)
    first = Request(50, "carol", "T4", 1, "uuid-vm-train", world.now - DAY, start=start)
    for passing, lends in ((None, True), (Passing(50, start - 8 * HOUR, start), False)):
        lease = replace(spare, passing=passing)
        found = play(world, changed(world.books, leases={lease.label: lease}, requests={50: first, 51: own}))
        assert found.lends_spare(first) is lends, "what went past it is back by its time"

    policy = Nightly().policy
    assert turn(spare=False) == MIN + policy.stuck_return
    assert turn(spare=True) == MIN + policy.running_work + policy.stuck_return


def test_who_takes_fewer_may_have_more_than_a_share_when_all_of_it_is_there() -> None:
    """With one card they are within it, with both they are not: what is over it is spare, and goes back first for a booking behind."""
    world = World(policy=Policy(level="act", pool_share=0.25))
    first = Request(50, "carol", "T4", 2, "uuid-vm-train", MONDAY_10, partly=True)
    found = play(world, changed(world.books, requests={50: first})).line_of(first)
    assert not found.floats and found._shares.beyond == {50}
    worst = Worst(Nightly(), [(MONDAY_10, False, "", "")], ["UTC"])
    worst.lend_spare()
    booked = Request(2, "bob", "T4", 1, "vm", MONDAY_10, terms=Terms(Length(HOUR)), start=MONDAY_10 + DAY)
    policy = Nightly().policy
    assert worst.turn(booked) == MONDAY_10 + DAY + MIN + policy.running_work + policy.stuck_return


def test_of_a_time_that_was_named_after_the_card_was_there_only_what_was_left_counts() -> None:
    world = World(policy=Policy(level="act"))
    lease = working(world, "vm-r", ("T4-1",), state=LeaseState.RESERVED, free_since=MONDAY_10 - 12 * HOUR)
    world.agree("bob", "vm-r", "nights even if busy")
    found = play(world, changed(world.books, leases={lease.label: lease}))
    named = list(world.books.agreements.values())
    latest = found.latest_reserved(found.books.leases[lease.label], named)
    assert latest is not None and latest > world.now, "not the night that was over"


# ---- what others may count on -------------------------------------------------------------------------------------


def due(world: World, books: Books) -> list[timedelta]:
    """When each device is due, from now on, for those who would go past somebody."""
    draft = Draft(books, world.now)
    sight = Sight(draft, world.look(), {})
    frees = Frees(draft, world.now, world.policy, lambda _: ZONE, sight)
    cards = [c for c in books.cards.values() if c.name != "T4-4"]
    return [at - world.now for at in Past(draft, sight, frees, "T4", cards).dues()]


def test_a_device_is_due_no_later_than_at_worst_whatever_time_is_agreed_for_its_machine() -> None:
    """A restart that is agreed for next week does not keep it for so long: else whoever is back by then would go past those who wait for it."""
    world = World(policy=Policy(level="act", pool_share=1.0))
    lease = working(world, "vm-python", ALL[:3])
    window = Window(world.now + 9 * DAY, world.now + 9 * DAY + 4 * HOUR)
    named = Agreement(7, lease.machine, "ada", AgreementKind.NAMED, world.now, window=window)
    books = changed(world.books, agreements={7: named})
    frees = play(world, books)
    assert frees.out(lease.machine, world.now, lease.label) > world.now + 9 * DAY, "it would be used for it"
    assert due(world, books) == [frees.worst_of(lease) - world.now] * 3


def test_what_is_over_its_time_is_due_as_it_was_also_where_no_restart_is_agreed() -> None:
    """Its end was known. That nobody named a time moves no promised start by a day, by which others could go past."""
    world = World(policy=Policy(level="act", pool_share=1.0))
    lease = working(world, "vm-python", ALL[:3], end=MONDAY_10 + 2 * MIN)
    books = changed(world.books, leases={lease.label: lease})
    world.now += MIN
    before = due(world, books)
    over = replace(lease, state=LeaseState.RETURNING, since=lease.end, changed=lease.end)
    world.now += 2 * MIN
    assert before == [MIN + world.policy.last_call + world.policy.usual_first] * 3
    assert (
        due(world, changed(books, leases={lease.label: over}))
        == [world.policy.last_call + world.policy.usual_first] * 3
    )
