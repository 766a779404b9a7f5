"""A quiet card goes back under its terms: all conditions at once, and each of them missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import idle, leases, pool, queue, windows
from bot.domain.idle.common import BACK
from bot.domain.model import Job, Lease, LeaseState, Login, Power, Terms
from bot.domain.news import NewsKind
from bot.domain.policy import Policy
from tests.domain.world import MONDAY_10, World

MIN = timedelta(minutes=1)
NUDGING = replace(Policy(level="act"), idle=replace(Policy().idle, nudge=True))
NEEDED = ("T4-1", "T4-2", "T4-3", "T4-4")


def contended_world(slots: tuple[str, ...] = ("T4-1",), does: str = "held") -> tuple[World, Lease]:
    """ada has a quiet card, all others are busy with carol, and bob waits; nothing is agreed for ada's machine."""
    world = World(policy=NUDGING)
    lease = world.give("vm-python", slots, "3d")
    world.vms["vm-python"].does = {"": does}
    rest = tuple(s for s in NEEDED if s not in slots)
    world.give("vm-train", rest, "3d")
    world.vms["vm-train"].does = {"": "busy"}
    world.request("bob", "vm-r", 1, "any time today")
    return world, lease


def run(world: World, length: timedelta) -> None:
    world.pass_time(length, MIN)


def taken(world: World) -> bool:
    return bool(world.told(NewsKind.TAKEN_BACK))


def until_warned(world: World, agreed: str = "any time today") -> None:
    world.agree("ada", "vm-python", agreed)
    world.until(lambda: any(n.lease and n.lease.nudge and n.lease.nudge.warning for n in world.told(NewsKind.NUDGE)),
                timedelta(hours=4), MIN)  # fmt: skip


def test_a_quiet_card_goes_back_in_the_window_that_is_open() -> None:
    world, lease = contended_world()
    world.agree("ada", "vm-python", "any time today")
    asked: list[float] = []
    while not taken(world):
        run(world, MIN)
        asked += [(world.now - lease.since).total_seconds() / 60] * (len(world.told(NewsKind.NUDGE)) - len(asked))
        assert world.now - lease.since < timedelta(hours=4), world.describe()
    after = (world.now - lease.since).total_seconds() / 60
    assert [round(x) for x in asked] == pytest.approx([61, 121], abs=2)
    assert after == pytest.approx(166, abs=3), "not before 165 minutes"
    assert [n.lease.nudge.warning for n in world.told(NewsKind.NUDGE) if n.lease and n.lease.nudge] == [False, True]
    assert world.lease("1").state is LeaseState.RETURNING
    world.until(lambda: world.lease("1").state is LeaseState.ENDED, timedelta(hours=1))
    world.until(lambda: world.vms["vm-python"].power is Power.ON, timedelta(hours=1))
    assert world.told(NewsKind.TAKEN_BACK, "ada") and world.told(NewsKind.TAKEN_BACK)[0].who == "bob"


# ---- each condition missing ---------------------------------------------------------------------------------------


def change_lease(world: World, label: str, **fields: object) -> None:
    world.books = replace(world.books, leases={**world.books.leases, label: replace(world.lease(label), **fields)})  # type: ignore[arg-type]


def without_terms(world: World) -> None:
    change_lease(world, "1", terms=Terms(take_back=False))


def without_waiter(world: World) -> None:
    world.do(lambda d: queue.withdraw(d, d.requests[3], "bob"))


def for_two(world: World) -> None:
    without_waiter(world)
    world.request("bob", "vm-r", 2, "any time today")


def undelivered(world: World) -> None:
    world.delivers = False
    world.delivered.clear()


def without_window(world: World) -> None:
    mine = [a.number for a in world.books.agreements.values() if a.person == "ada"]
    for number in mine:
        world.do(lambda d, n=number: windows.withdraw(d, d.agreements[n], "ada"))  # type: ignore[misc]


def answered(world: World) -> None:
    world.do(lambda d: idle.using(d, d.leases["1"], None, "ada", ""))


def kept(world: World) -> None:
    until = world.now + timedelta(hours=10)
    world.do(lambda d: idle.keep(d, d.leases["1"], None, until, "", "ada", NUDGING))


def silent(world: World) -> None:
    world.vms["vm-python"].agent = False


def hidden(world: World) -> None:
    world.vms["vm-python"].does = {"": "nothing"}


def worked(world: World) -> None:
    world.vms["vm-python"].does = {"": "burst"}
    run(world, 2 * MIN)
    world.vms["vm-python"].does = {"": "held"}


def gap(world: World) -> None:
    world.vms["vm-python"].agent = False
    run(world, 8 * MIN)
    world.vms["vm-python"].agent = True


def report_only(world: World) -> None:
    world.policy = Policy(level="act")


def paused(world: World) -> None:
    world.do(lambda d: pool.pause(d, "dana", "a test"))


def watching(world: World) -> None:
    world.policy = replace(NUDGING, level="watch")


def vcenter_away(world: World) -> None:
    world.looking = False


@pytest.mark.parametrize(
    "missing",
    [
        without_terms, without_waiter, for_two, undelivered, without_window, answered, kept, silent, hidden, worked, gap, report_only, paused, watching,
        vcenter_away,
    ],
)  # fmt: skip
def test_nothing_is_taken_back(missing: Callable[[World], None]) -> None:
    world, _ = contended_world()
    until_warned(world)
    run(world, 20 * MIN)
    missing(world)
    run(world, 100 * MIN)
    assert not taken(world), world.describe()


def test_the_same_without_anything_missing_is_taken_back() -> None:
    world, _ = contended_world()
    until_warned(world)
    run(world, 120 * MIN)
    assert taken(world)


def test_the_notice_counts_anew_once_the_bot_that_nobody_could_answer_is_back() -> None:
    """Its guests' words of that time are told when it is back, so they show a card that was quiet all the while."""
    world, _ = contended_world()
    until_warned(world)
    run(world, 40 * MIN)
    world.do(lambda d: d.note(BACK, int(world.now.timestamp())))
    run(world, 40 * MIN)
    assert not taken(world)
    run(world, 10 * MIN)
    assert taken(world)


def test_45_minutes_count_from_the_delivery() -> None:
    world, _ = contended_world()
    world.delivers = False
    until_warned(world)
    run(world, 30 * MIN)
    key = world.told(NewsKind.NUDGE)[-1].key
    world.delivered[key] = world.now
    world.do(lambda d: d.put(d.leases["1"]))
    run(world, 44 * MIN)
    assert not taken(world)
    run(world, 3 * MIN)
    assert taken(world)


def test_without_a_time_to_restart_the_second_question_is_no_warning() -> None:
    world, _ = contended_world()
    run(world, 5 * 60 * MIN)
    assert [n.lease.nudge.warning for n in world.told(NewsKind.NUDGE) if n.lease and n.lease.nudge] == [False, False]
    assert not taken(world)


def test_not_in_the_first_two_hours_and_stretched_while_data_are_loaded() -> None:
    world, lease = contended_world(does="loading")
    world.agree("ada", "vm-python", "any time today")
    world.until(lambda: taken(world), timedelta(hours=8), MIN)
    assert (world.now - lease.since) / MIN == pytest.approx(240 + 45, abs=4)


def test_in_a_standing_window_only_while_nothing_runs_in_the_guest() -> None:
    for jobs in ((), (Job("ada", "make", MONDAY_10, False),)):
        world, _ = contended_world(does="busy")
        world.agree("ada", "vm-python", "nights")
        world.vms["vm-python"].does = {"": "held"}
        world.vms["vm-python"].jobs = jobs
        run(world, timedelta(hours=13))
        assert taken(world) == (not jobs)


def test_only_the_quiet_ones_of_several_go_and_no_more_than_are_wanted() -> None:
    world, _ = contended_world(("T4-1", "T4-2", "T4-3"))
    world.do(lambda d: idle.keep(d, d.leases["1"], ("T4-1",), d.now + 10 * 60 * MIN, "", "ada", NUDGING))
    world.agree("ada", "vm-python", "any time today")
    world.until(lambda: taken(world), timedelta(hours=4), MIN)
    over = world.told(NewsKind.NUDGE_OVER)[-1]
    assert (over.reason, over.slots) == ("taken", ("T4-2",))
    assert over.lease and over.lease.nudge and over.lease.nudge.slots == ("T4-2", "T4-3"), "which of them stay"
    part = world.lease("1b")
    assert part.slots == ("T4-2",) and part.state is LeaseState.RETURNING
    assert world.lease("1").slots == ("T4-1", "T4-3") and world.lease("1").state is LeaseState.ACTIVE


@pytest.mark.parametrize("agreed", ["any time today", "nights"])
def test_it_waits_for_work_on_a_card_that_stays(agreed: str) -> None:
    world, _ = contended_world(("T4-1", "T4-2"))
    vm = world.vms["vm-python"]
    vm.does = {"": "held", world.card("T4-2").pci: "busy"}
    world.agree("ada", "vm-python", agreed)
    run(world, 7 * 60 * MIN if agreed == "any time today" else 14 * 60 * MIN)
    assert not taken(world) and "shutdown" not in world.acts("vm-python")
    if agreed == "any time today":
        assert world.lease("1").nudge and world.lease("1").nudge.warning  # type: ignore[union-attr]
    vm.does = {"": "held"}
    run(world, 8 * MIN)
    assert not taken(world), "a training that rests between two steps"
    run(world, 5 * MIN)
    assert taken(world) and world.told(NewsKind.TAKEN_BACK)[0].slots == ("T4-1",)


@pytest.mark.parametrize("there", ["a program without a card", "somebody", "not known"])
def test_in_a_named_window_too_only_while_nothing_runs_in_the_guest(there: str) -> None:
    world, _ = contended_world()
    until_warned(world)
    vm = world.vms["vm-python"]
    vm.jobs = (Job("ada", "make", MONDAY_10, False),) if there == "a program without a card" else ()
    vm.logins = (Login("ada", MONDAY_10),) if there == "somebody" else ()
    vm.inside = there != "not known"
    run(world, 120 * MIN)
    assert not taken(world)
    vm.jobs, vm.logins, vm.inside = (), (), True
    run(world, 8 * MIN)
    assert taken(world)


def test_those_that_stayed_are_warned_anew_before_they_go() -> None:
    world, _ = contended_world(("T4-1", "T4-2"))
    world.agree("ada", "vm-python", "nights")
    world.agree("ada", "vm-python", "any time today")
    world.until(lambda: taken(world), timedelta(hours=4), MIN)
    assert world.lease("1").slots == ("T4-2",)
    world.request("carol", "vm-train", 1, "any time today")
    until = world.now + timedelta(hours=14)
    while len(world.told(NewsKind.TAKEN_BACK)) < 2 and world.now < until:
        run(world, 10 * MIN)
    _, second = world.told(NewsKind.TAKEN_BACK)
    assert second.slots == ("T4-2",)
    warned = [n for n in world.told(NewsKind.NUDGE) if n.lease and n.lease.nudge and n.lease.nudge.warning]
    assert [n.slots for n in warned] == [("T4-1", "T4-2"), ("T4-2",)]


def test_a_warning_of_last_week_is_given_anew_and_buys_no_immunity() -> None:
    world, _ = contended_world()
    until_warned(world)
    week = timedelta(days=8)
    nudge, watch = world.lease("1").nudge, world.books.watches["T4-1"]
    assert nudge is not None
    change_lease(world, "1", nudge=replace(nudge, asked=nudge.asked - week))
    before = replace(watch, asked=tuple(at - week for at in watch.asked))
    world.books = replace(world.books, watches={**world.books.watches, "T4-1": before})
    world.delivered.clear()  # the store knows them for eight days
    run(world, 40 * MIN)
    assert not taken(world)
    assert len([n for n in world.told(NewsKind.NUDGE) if n.lease and n.lease.nudge and n.lease.nudge.warning]) == 2
    run(world, 10 * MIN)
    assert taken(world)


# ---- work begins --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("promised", [False, True])
def test_work_that_begins_before_the_shutdown_is_asked_keeps_it(promised: bool) -> None:
    world, _ = contended_world()
    world.agree("ada", "vm-python", "any time today")
    world.until(lambda: taken(world), timedelta(hours=4), MIN)
    if promised:
        run(world, MIN)
        assert "next" in world.holders("T4-1"), world.describe()
    world.vms["vm-python"].does = {"": "burst"}
    run(world, 2 * MIN)
    assert world.lease("1").state is LeaseState.ACTIVE and world.lease("1").reason == ""
    assert "next" not in world.holders("T4-1") and world.req(3).state.value in ("queued", "offered")
    assert "shutdown" not in world.acts("vm-python")
    over = world.told(NewsKind.NUDGE_OVER)[-1]
    assert over.reason == "busy" and over.key == world.told(NewsKind.TAKEN_BACK)[0].key
    run(world, 30 * MIN)
    assert world.lease("1").state is LeaseState.ACTIVE and "shutdown" not in world.acts("vm-python")


def test_work_of_before_the_take_that_is_heard_after_it_keeps_it_too() -> None:
    world, _ = contended_world()
    world.agree("ada", "vm-python", "any time today")
    world.until(lambda: taken(world), timedelta(hours=4), MIN)
    (watch,) = [w for w in world.books.watches.values() if w.lease == "1"]
    late = replace(watch, last_busy=world.lease("1").changed - 3 * MIN)
    world.books = replace(world.books, watches={**world.books.watches, late.slot: late})
    run(world, MIN)
    assert world.lease("1").state is LeaseState.ACTIVE and "shutdown" not in world.acts("vm-python")


def test_nothing_is_taken_by_a_word_that_is_older_than_two_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _ = contended_world()
    until_warned(world)
    run(world, 40 * MIN)
    now = world.readings
    old = {"by": 3 * MIN}
    monkeypatch.setattr(world, "readings", lambda: {k: replace(r, at=r.at - old["by"]) for k, r in now().items()})
    run(world, 15 * MIN)
    assert not taken(world)
    old["by"] = 2 * MIN
    run(world, 2 * MIN)
    assert taken(world)


def test_work_that_begins_later_than_that_is_too_late() -> None:
    world, _ = contended_world()
    world.vms["vm-python"].stop_takes = timedelta(minutes=4)
    world.agree("ada", "vm-python", "any time today")
    world.until(lambda: "shutdown" in world.acts("vm-python"), timedelta(hours=4), MIN)
    world.vms["vm-python"].does = {"": "busy"}
    run(world, 2 * MIN)
    assert world.lease("1").state is LeaseState.RETURNING


def test_its_holder_may_keep_it_until_somebody_was_promised_it() -> None:
    world, _ = contended_world()
    world.agree("ada", "vm-python", "any time today")
    world.until(lambda: taken(world), timedelta(hours=4), MIN)
    assert "next" not in world.holders("T4-1"), world.describe()
    world.do(lambda d: leases.keep(d, d.leases["1"], "ada"))
    assert world.lease("1").state is LeaseState.ACTIVE
    assert world.told(NewsKind.NUDGE_OVER)[-1].reason == "taken"


def test_a_restart_that_is_agreed_only_after_the_second_question_brings_a_warning_first() -> None:
    world, _ = contended_world()
    run(world, 200 * MIN)
    world.agree("ada", "vm-python", "any time today")
    run(world, 44 * MIN)
    assert [n.lease.nudge.warning for n in world.told(NewsKind.NUDGE) if n.lease and n.lease.nudge] == [
        False,
        False,
        True,
    ]
    assert not taken(world)
    run(world, 3 * MIN)
    assert taken(world)


@pytest.mark.parametrize("wanted, drained", [(2, False), (4, False), (4, True), (1, False)])
def test_nobody_is_warned_of_a_take_back_that_would_serve_nobody(wanted: int, drained: bool) -> None:
    world, _ = contended_world()
    without_waiter(world)
    world.request("bob", "vm-r", wanted, "any time today")
    if drained:
        world.do(lambda d: pool.drain(d, d.cards["T4-4"], "dana", "a test"))
    world.agree("ada", "vm-python", "any time today")
    run(world, timedelta(hours=3))
    asked = [n.lease.nudge.warning for n in world.told(NewsKind.NUDGE) if n.lease and n.lease.nudge]
    assert asked and any(asked) == (wanted == 1)


def test_a_warning_is_withdrawn_when_nobody_waits_any_more() -> None:
    world, lease = contended_world()
    until_warned(world)
    without_waiter(world)
    run(world, MIN)
    assert [n.reason for n in world.told(NewsKind.NUDGE_OVER, "ada")][-1:] == ["nobody"]
    nudge = world.lease(lease.label).nudge
    assert nudge is not None and nudge.over
