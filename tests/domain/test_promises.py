"""Promised waiting times: what they may never say, and that *at the latest* holds in a world where people are slow, silent and say no.

In the long ones machines shut down when asked, nothing breaks, and the one who asked answers when asked: that is what a promise assumes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain import hours, leases, moves, queue
from bot.domain.errors import Refusal
from bot.domain.lifecycle import OPEN_MOVE, UNDER_WAY
from bot.domain.model import AsideWhy, Books, Job, LeaseState, Length, MoveState, Request, RequestState
from bot.domain.news import NewsKind
from bot.domain.policy import Policy
from bot.domain.pool import set_aside
from bot.domain.promises import Promise, Promises, promise
from bot.domain.promises.lines import Line
from bot.domain.sight import Sight
from bot.domain.slots import all_of
from tests.domain.pools import Pool, pool
from tests.domain.world import MONDAY_10, ZONE, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def told(world: World, request: Request | int) -> Promise:
    """The promise as it would be given now."""
    found = world.req(request) if isinstance(request, int) else request
    sight = Sight(world.books, world.look(), {})
    return promise(world.books, found, world.now, world.policy, lambda _: ZONE, sight)


# ---- a hand-over ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("released", [False, True], ids=["at its end", "given back now"])
def test_the_likely_time_is_about_when_it_is_served(released: bool) -> None:
    """The giver's machine is warned and shut down before the card is free: that is what will normally happen."""
    world = World()
    for vm in ("vm-r", "vm-python"):
        world.vms[vm].stop_takes, world.vms[vm].boot_takes = 2 * MIN, 3 * MIN
        world.do(lambda d, vm=vm: d.put(replace(d.machines[f"uuid-{vm}"], durations_s=(360,))))
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "for 2h")
    if released:
        world.release("ada", lease.label, None, "now")
    else:
        world.agree("ada", "vm-python", "any time today", lease.label)
    number = world.request("bob", "vm-r", 1, "any time today").number
    said = told(world, number)
    world.until(lambda: any(x.request == number and x.active_since for x in world.books.leases.values()), 4 * HOUR)
    assert said.likely is not None and said.latest is not None and said.latest >= world.now
    assert abs(world.now - said.likely) <= 5 * MIN, f"{world.now - said.likely} after"


# ---- what is said at once -----------------------------------------------------------------------------------------


def test_a_free_card_is_likely_now_and_a_restart() -> None:
    world = World()
    request = world.request("bob", "vm-r")
    said = told(world, request)
    assert said.likely == world.now + world.policy.usual_first and said.cause == "free_now"
    assert said.latest is not None and world.now + HOUR < said.latest < world.now + 2 * HOUR, "half an hour to answer"


def test_a_free_card_comes_in_the_window_that_was_named() -> None:
    world = World()
    said = told(world, world.request("bob", "vm-r", window="tonight"))
    assert said.likely == datetime(2026, 11, 30, 21, 15, tzinfo=MONDAY_10.tzinfo)


def test_what_is_not_there_is_not_promised() -> None:
    world = World()
    world.do(lambda d: set_aside(d, d.cards["T4-1"], AsideWhy.DRAINED, "hot", "dana"))
    said = told(world, world.request("bob", "vm-r", 4))
    assert (said.likely, said.latest, said.cause) == (None, None, "aside")


def test_where_no_card_is_left_nothing_is_promised_to_who_takes_fewer_and_those_behind() -> None:
    world = World()
    world.request("carol", "vm-train", 2, partly=True)
    number = world.request("bob", "vm-r", 1).number
    for slot in ("T4-1", "T4-2", "T4-3", "T4-4"):
        world.do(lambda d, s=slot: set_aside(d, d.cards[s], AsideWhy.DRAINED, "hot", "dana"))
    assert [told(world, n).cause for n in (number - 1, number)] == ["aside", "aside"]


def test_a_card_that_somebody_put_on_a_machine_is_not_counted_on() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"))
    world.vms["vm-train"].cards.add(world.card("T4-4").pci)
    world.round()
    said = told(world, world.request("bob", "vm-r"))
    assert said.cause == "own_end" and said.likely is not None and said.likely > world.now + HOUR


def test_all_cards_of_a_request_start_together() -> None:
    """Who is ahead with two takes both when the later one is free: the earlier one helps nobody behind."""
    world = World(policy=Policy(level="act", pool_share=1.0))
    world.give("vm-python", ("T4-1",), "for 2h")
    world.give("vm-python-2", ("T4-2",), "for 10h")
    for slot in ("T4-3", "T4-4"):
        world.do(lambda d, s=slot: set_aside(d, d.cards[s], AsideWhy.DRAINED, "hot", "dana"))
    world.request("carol", "vm-train", 2, None, "for 4h")
    said = told(world, world.request("bob", "vm-r"))
    p = (
        world.policy
    )  # bob's own restart, and out of ada's and of carol's machine before: both are warned, and take their time
    assert said.likely == MONDAY_10 + 14 * HOUR + 2 * p.last_call + 4 * p.usual_first and said.who == "carol"


def test_the_worst_counts_work_silence_and_the_night() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "for 4h")
    said = told(world, world.request("bob", "vm-r"))
    end = MONDAY_10 + 4 * HOUR
    assert said.likely == end + world.policy.last_call + 2 * world.policy.usual_first
    # Once 24 h longer, 24 h of work, 24 h of silence: Thursday 14:00, so the night to Friday; then half an hour of working time.
    assert said.latest is not None and said.latest > datetime(2026, 12, 4, 8, 30, tzinfo=end.tzinfo)
    assert said.latest < datetime(2026, 12, 4, 10, 30, tzinfo=end.tzinfo)


# ---- any line -----------------------------------------------------------------------------------------------------


def promise_in(of: Pool, request: Request, books: Books | None = None) -> Promise:
    return promise(books or of.books, request, of.now, of.policy, of.zone)


def without(of: Pool, numbers: set[int]) -> Books:
    return replace(of.books, requests={n: r for n, r in of.books.requests.items() if n not in numbers})


def plain(of: Pool, request: Request) -> bool:
    """Whether all in its line are served in order: nobody is over a share, or waits for more than there is; nothing is spare, and goes back as
    soon as anybody waits; nobody rests, and may come back at any time."""
    mine = queue.line_of(of.books, request)
    most = len(all_of(of.books, request.kind))
    spare = any(x.terms.spare for x in (*of.books.leases.values(), *mine))
    return not spare and all(r.rest is None and r.offer is None and r.count <= most for r in mine)


def one_by_one(of: Pool, request: Request) -> bool:
    """Whether nobody goes past anybody in its line: each wants one, and none is booked for later."""
    return all(r.count == 1 and r.start is None for r in queue.line_of(of.books, request))


def strange(seed: int) -> str:
    """What a line is told that cannot be; "" nothing."""
    of = pool(seed)
    of.policy = replace(of.policy, pool_share=1.0, teams=())
    together, waiting = Promises(of.books, of.now, of.policy, of.zone), queue.line(of.books)
    if list(together) != [r.number for r in waiting] or len(together) != len(waiting):
        return "the line has others"
    if any(together.get(n) is not None for n in {*of.books.requests, 10**6} - {r.number for r in waiting}):
        return "somebody is promised something who does not wait"
    chance = Random(seed)
    for request in chance.sample(waiting, len(waiting)) + waiting:
        said = together[request.number]
        if said != promise_in(of, request):
            return f"#{request.number}: all together and alone differ"
        if (said.likely is None) > (said.latest is None) or bool(said.open) != (said.likely != said.latest is None):
            return f"#{request.number}: {said}"
        if said.likely is not None and said.latest is not None and not of.now < said.likely <= said.latest:
            return f"#{request.number}: {said}"
    return next((wrong for r in waiting if plain(of, r) and (wrong := of_others(of, r, together[r.number]))), "")


def of_others(of: Pool, request: Request, said: Promise) -> str:
    """Whether those behind somebody count, or those ahead make it sooner; "" neither."""
    mine = queue.line_of(of.books, request)
    behind = {r.number for r in mine if r.place_key > request.place_key}
    if one_by_one(of, request) and said != promise_in(of, request, without(of, behind)):
        return f"those behind #{request.number} matter"
    for other in mine[: mine.index(request)]:
        less = promise_in(of, request, without(of, {other.number}))
        if less.latest is not None and said.latest is not None and less.latest > said.latest:
            return f"#{request.number}: at worst later without #{other.number}"
        sooner = less.likely is not None and said.likely is not None and less.likely > said.likely
        if one_by_one(of, request) and sooner:
            return f"#{request.number}: likely later without #{other.number}"
    return ""


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_in_any_line_likely_is_not_after_latest_and_those_ahead_only_delay(seed: int) -> None:
    assert not strange(seed)


def backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who came last is played first."""
    monkeypatch.setattr("bot.domain.promises.lines.line", lambda books: queue.line(books)[::-1])


def last_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is told the turn of the last one that was played."""
    real = Line.worst

    def worst(self: Line, request: Request) -> datetime | None:
        real(self, request)
        return next(reversed(self._worst.values()))

    monkeypatch.setattr(Line, "worst", worst)


@pytest.mark.parametrize("fault", [backwards, last_asked])
def test_a_fault_in_the_play_is_found(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    assert any(strange(seed) for seed in range(300))


# ---- kept ---------------------------------------------------------------------------------------------------------


ASLEEP = frozenset({"request.turn_away", "lease.not_used"})
"""The next one went first, because its person was not at work when the turn came."""


class Slow:
    """A world of people who are in no hurry. ``promised`` is what each one who asked was told, by number."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        start = MONDAY_10 + timedelta(hours=self.random.randrange(5 * 24))
        self.world = World(start)
        self.promised: dict[int, datetime] = {}
        self.asked: dict[int, datetime] = {}
        slots = ["T4-1", "T4-2", "T4-3", "T4-4"]
        for vm in ("vm-python", "vm-python-2"):
            take = slots[: self.random.choice((1, 2, 2))]
            del slots[: len(take)]
            self.world.give(vm, tuple(take), self.random.choice(("for 2h", "for 30h", "3d", "")))
        for slot in slots[: self.random.choice((0, 1, 2))]:
            self.world.do(lambda d, s=slot: set_aside(d, d.cards[s], AsideWhy.DRAINED, "hot", "dana"))
        self.busy = self.random.random() < 0.6
        self.contrary = self.random.random() < 0.6
        for name in ("vm-python", "vm-python-2"):
            if self.busy:
                self.world.vms[name].jobs = (Job("ada", "python train.py", self.world.now, True),)

    def ask(self, who: str, vm: str, window: str | None) -> None:
        """Ask, and write down what was promised. The window is one that will do whenever the card comes."""
        count = self.random.choice((1, 1, 2))
        length = self.random.choice(("for 4h", "for 20h", ""))
        request = self.world.request(who, vm, count, window, length)
        said = told(self.world, request)
        if said.latest is not None:
            self.promised[request.number] = said.latest
            self.asked[request.number] = self.world.now

    def people(self) -> None:
        """Whoever asked answers in working hours when asked, those ahead at the last minute; holders are as slow as they may be."""
        world, policy = self.world, self.world.policy
        for request in queue.line(world.books):
            if request.offer is not None and hours.is_working(world.now, ZONE, policy):
                late = request.offer.accept_by - world.now <= 6 * MIN
                if late or request.number == max(self.promised, default=0):
                    world.accept(request.person, request.number, "now")
        for lease in list(world.books.leases.values()):
            asks = [
                n
                for n in world.news[-40:]
                if n.kind is NewsKind.ASK_WINDOW and n.lease and n.lease.label == lease.label
            ]
            waits = lease.state is LeaseState.RESERVED and not lease.windowed
            if waits and asks and hours.is_working(world.now, ZONE, policy):
                world.agree(lease.person, self.name(lease.machine), "now", lease.label)
            ends = lease.state is LeaseState.ACTIVE and lease.end is not None and world.now + 5 * MIN >= lease.end
            if ends and self.contrary:
                self.attempt(lambda x=lease: world.do(lambda d: leases.extend(
                    d, d.leases[x.label], Length(DAY), world.people[x.person], policy)))  # fmt: skip
        if self.contrary:
            for machine in list(world.books.machines.values()):
                soon = [
                    m for m in world.books.moves.values() if m.machine == machine.uuid and m.state is MoveState.PLANNED
                ]
                giving = any(
                    x.machine == machine.uuid and x.state is LeaseState.RETURNING for x in world.books.leases.values()
                )
                if giving and any(m.last_call and world.now - m.last_call < 2 * MIN for m in soon):
                    self.attempt(
                        lambda m=machine: world.do(lambda d: moves.not_now(d, d.machines[m.uuid], m.owners[0], policy))
                    )

    def name(self, uuid: str) -> str:
        return next(v.name for v in self.world.vms.values() if v.uuid == uuid)

    def attempt(self, act: object) -> None:
        try:
            act()  # type: ignore[operator]
        except Refusal:
            pass

    def step(self) -> timedelta:
        """Fine steps while something is near."""
        moving = any(
            m.state in UNDER_WAY or m.last_call for m in self.world.books.moves.values() if m.state in OPEN_MOVE
        )
        return timedelta(seconds=30) if moving else 5 * MIN

    def live(self, most: timedelta) -> None:
        """Until all that was promised is served, or its time is over."""
        world, end = self.world, self.world.now + most
        while world.now < end and any(self.waits(n) for n in self.promised):
            world.now += self.step()
            world.round()
            self.people()
            for number, latest in self.promised.items():
                if any(x.what in ASLEEP and x.about == f"#{number}" for x in world.lines):
                    continue  # it could not be asked at night or on Sunday, and had agreed to nothing beforehand
                assert world.now <= latest or not self.waits(number), (
                    f"#{number} asked {self.asked[number]} was promised {latest}: {world.describe()}"
                )

    def waits(self, number: int) -> bool:
        """Whether it was never served."""
        if self.world.req(number).state in (RequestState.QUEUED, RequestState.OFFERED):
            return True
        return self.world.lease(number).active_since is None


def keep_promises(seed: int) -> None:
    slow = Slow(seed)
    windows = ("nights even if busy", None, "nights even if busy", "any time today")
    for who, vm in (("bob", "vm-r"), ("carol", "vm-train")):
        slow.ask(who, vm, slow.random.choice(windows))
        slow.live(timedelta(minutes=slow.random.choice((1, 60, 600))))
    slow.live(30 * DAY)


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_at_the_latest_is_kept_when_everybody_is_slow(seed: int) -> None:
    keep_promises(seed)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(100, 120, 10))
def test_at_the_latest_is_kept_in_more_worlds(first: int) -> None:
    for seed in range(first, first + 10):
        keep_promises(seed)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(120, 320, 40))
def test_at_the_latest_is_kept_in_many_worlds(first: int) -> None:
    for seed in range(first, first + 40):
        keep_promises(seed)


def test_a_return_when_done_is_foretold_by_no_time_that_was_agreed_before() -> None:
    """Its restart waits until nothing runs: a time that would not wait is not used, so it is not promised either."""
    from bot.domain.planner import expected_free

    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.agree("ada", "vm-python", "at 18:00")
    world.vms["vm-python"].jobs = (Job("ada", "train.py", MONDAY_10, True),)
    world.now += timedelta(seconds=15)
    world.release("ada", lease.label, None, "when done")
    returning = world.lease(lease.label)
    assert returning.state is LeaseState.RETURNING
    assert expected_free(world.books, returning, world.now) is None
    number = world.request("bob", "vm-r", 1, "now").number
    told = promise(world.books, world.req(number), world.now, world.policy, lambda _: "Europe/Berlin")
    assert told.likely is None or told.likely.hour != 17


def test_what_comes_out_when_nothing_runs_has_one_time_for_all_and_none_that_is_over() -> None:
    """Nobody knows when that is until nothing runs; then whoever waits reads the time that the board shows."""
    from bot.service.words.answers import promise_line
    from bot.service.words.board import comes_out
    from bot.service.words.common import say
    from tests.service.words_cases import text

    world = World()
    world.vms["vm-python"].jobs = (Job("ada", "train.py", MONDAY_10, True),)
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.release("ada", lease.label, None, "when done")
    number = world.request("bob", "vm-r", 1, "ask me first").number
    said, line = told(world, number), promise_line(told(world, number), "bob")
    assert said.cause == "when_done" and said.at is not None and said.at > world.now
    assert line is not None and "out as soon as nothing runs there, at the latest" in text(say(line))
    world.vms["vm-python"].jobs = ()
    seen = 0
    while world.lease(lease.label).state is LeaseState.RETURNING:
        world.pass_time(timedelta(seconds=15))
        said, shown = told(world, number), comes_out(world.books, world.lease(lease.label), world.now, world.policy)
        if said.cause == "returning" and shown is not None:
            seen += 1
            assert said.at == shown and shown > world.now, "the same time, and still to come"
    assert seen, "it had a time at last"


def test_of_a_card_given_back_with_no_restart_agreed_no_time_is_named() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.release("ada", lease.label, None, "ask me first")
    number = world.request("bob", "vm-r", 1, "ask me first").number
    said = told(world, number)
    assert (said.cause, said.at) == ("returning", None)
