"""A move that gave its shutdown up, or that somebody stopped: no second try without a last call, no yes over a no, and what is said of it.

Also what is asked of a machine while it is off because of us: it is no window for anything new.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain import leases, moves, pool, windows
from bot.domain.errors import TooLate
from bot.domain.model import AgreementState, AsideWhy, CallKind, LeaseState, MoveState, Power, RequestState
from bot.domain.news import ADMINS, News, NewsKind
from tests.domain.world import World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)


def shared() -> World:
    """bob and carol own vm-r."""
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    return world


def reach(world: World, state: MoveState, window: str = "any time today") -> str:
    label = str(world.request("bob", "vm-r", 1, window).number)
    world.until(lambda: 1 in world.books.moves and world.books.moves[1].state is state, HOUR, timedelta(seconds=5))
    world.now += timedelta(seconds=5)
    return label


def calls_to(world: World, who: str) -> list[News]:
    return world.told(NewsKind.LAST_CALL, who)


@pytest.mark.parametrize(("words", "lead"), [("now hard", MIN), ("any time today hard", 10 * MIN)])
def test_the_second_try_has_a_last_call_to_all_owners(words: str, lead: timedelta) -> None:
    world = shared()
    world.vms["vm-r"].stop_takes = None
    label = reach(world, MoveState.UNDOING)
    before, said = len(calls_to(world, "carol")), world.now
    world.agree("bob", "vm-r", words)
    world.until(lambda: world.acts("vm-r").count("shutdown") == 2, HOUR, timedelta(seconds=5))
    assert world.now - said >= lead
    for who in ("bob", "carol"):
        told = calls_to(world, who)[before:]
        assert len(told) == 1 and told[0].agreement is not None and told[0].agreement.hard
    world.until(lambda: world.lease(label).state is LeaseState.ACTIVE, 20 * MIN)


@pytest.mark.parametrize("words", ["not now", "stop"])
def test_the_second_try_can_be_refused(words: str) -> None:
    world = shared()
    world.vms["vm-r"].stop_takes = None
    reach(world, MoveState.UNDOING)
    world.agree("bob", "vm-r", "now hard")
    world.until(lambda: len(calls_to(world, "carol")) == 2, 5 * MIN, timedelta(seconds=5))
    if words == "stop":
        world.do(lambda d: moves.stop(d, d.moves[1], "carol", world.policy))
    else:
        world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-r"], "carol", world.policy))
    world.pass_time(HOUR)
    assert world.acts("vm-r").count("shutdown") == 1 and "hard_stop" not in world.acts("vm-r")
    with pytest.raises(TooLate):
        world.do(lambda d: moves.stop(d, d.moves[1], "carol", world.policy))


def test_nothing_is_shut_down_a_second_time_for_what_nobody_wants_any_more() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = None
    label = reach(world, MoveState.UNDOING)
    world.agree("bob", "vm-r", "now")
    world.do(lambda d: leases.release(d, d.leases[label], None, "bob"))
    world.pass_time(HOUR)
    assert world.acts("vm-r").count("shutdown") == 1


def test_what_was_agreed_for_something_else_is_no_second_try() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = None
    reach(world, MoveState.UNDOING)
    other = str(world.request("bob", "vm-r", 4, "ask").number)
    world.agree("bob", "vm-r", "now", other)
    world.pass_time(20 * MIN)
    assert world.acts("vm-r").count("shutdown") == 1


def test_a_standing_time_is_no_second_try_while_somebody_works_there() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = None
    world.now = world.now.replace(hour=22)
    reach(world, MoveState.UNDOING, "now")
    world.vms["vm-r"].agent = False
    world.agree("bob", "vm-r", "nights")
    world.pass_time(HOUR)
    assert world.acts("vm-r").count("shutdown") == 1


def test_a_restart_that_may_be_hard_by_now_is_announced_as_such() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 1, "at 20:00").number)
    world.until(lambda: calls_to(world, "bob"), 12 * HOUR)
    world.vms["vm-r"].stop_takes = None
    world.pass_time(8 * MIN)
    world.agree("bob", "vm-r", "at 20:00 hard", label)
    world.until(lambda: "shutdown" in world.acts("vm-r"), HOUR)
    asked = next(a.at for a in world.journal if a.what == "shutdown")
    hard = [n for n in calls_to(world, "bob") if n.agreement is not None and n.agreement.hard]
    assert len(hard) == 1 and hard[0].until is not None and hard[0].until <= asked


@pytest.mark.parametrize("words", ["not now", "stop"])
def test_a_no_while_it_shuts_down_beats_a_later_yes_of_somebody_else(words: str) -> None:
    world = shared()
    world.vms["vm-r"].stop_takes = 3 * MIN
    label = reach(world, MoveState.STOPPING)
    if words == "stop":
        world.do(lambda d: moves.stop(d, d.moves[1], "carol", world.policy))
    else:
        world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-r"], "carol", world.policy))
    world.now += timedelta(seconds=5)
    world.agree("bob", "vm-r", "now")
    world.pass_time(HOUR)
    assert world.acts("vm-r").count("shutdown") == 1 and "change" not in world.acts("vm-r")
    assert world.vms["vm-r"].power is Power.ON and world.lease(label).state is LeaseState.RESERVED
    world.do(lambda d: windows.take_back_not_now(d, d.machines["uuid-vm-r"], "carol"))
    world.agree("bob", "vm-r", "now")
    world.until(lambda: world.lease(label).state is LeaseState.ACTIVE, 20 * MIN)


def test_who_stopped_it_may_say_another_time() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = 3 * MIN
    label = reach(world, MoveState.STOPPING)
    world.do(lambda d: moves.stop(d, d.moves[1], "bob", world.policy))
    world.now += timedelta(seconds=5)
    world.agree("bob", "vm-r", "now")
    world.until(lambda: world.lease(label).state is LeaseState.ACTIVE, 30 * MIN)
    assert world.acts("vm-r").count("shutdown") == len(calls_to(world, "bob"))


def test_a_no_while_it_shuts_down_beats_the_other_times_that_stand_then() -> None:
    world = shared()
    world.agree("bob", "vm-r", "today 10:02-23:00")
    world.vms["vm-r"].stop_takes = 3 * MIN
    reach(world, MoveState.STOPPING, "now")
    world.do(lambda d: moves.stop(d, d.moves[1], "carol", world.policy))
    world.pass_time(6 * HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1


# ---- it does not start


def stuck(world: World) -> str:
    world.refuse[("vm-r", CallKind.POWER_ON)] = ("no licence", "")
    return reach(world, MoveState.STUCK)


def test_stuck_then_on_again_is_told_and_its_time_is_over() -> None:
    world = shared()
    label = stuck(world)
    world.pass_time(25 * MIN)
    world.refuse.clear()
    world.until(lambda: world.books.moves[1].state is MoveState.DROPPED, 20 * MIN)
    world.round()
    for who in ("bob", "carol", ADMINS):
        (failed,) = world.told(NewsKind.STUCK, who)
        (on,) = world.told(NewsKind.ON_AGAIN, who)
        assert failed.key == on.key != ""
    assert not [a for a in world.books.agreements.values() if a.state is AgreementState.OPEN]
    assert world.told(NewsKind.ASK_WINDOW, "bob") and world.lease(label).state is LeaseState.RESERVED


def test_seen_to_by_an_admin_its_owners_hear_that_nobody_tries_any_more() -> None:
    world = shared()
    stuck(world)
    world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "bob"))
    world.do(lambda d: moves.done(d, d.moves[1], "dana"))
    for who in ("bob", "carol", ADMINS):
        (told,) = world.told(NewsKind.SEEN_TO, who)
        assert told.who == "dana" and told.key == world.told(NewsKind.STUCK, who)[0].key
    assert not world.books.agreements


def test_gone_in_mid_restart_its_time_is_over_and_who_gets_it_back_is_asked() -> None:
    world = World()
    lease = world.give("vm-r", ("T4-1",))
    world.again[("vm-r", CallKind.CHANGE)] = 200
    world.release("bob", lease.label, None, "now")
    world.until(lambda: 1 in world.books.moves and world.move("vm-r").state is MoveState.CHANGING, HOUR)
    world.vms["vm-r"].exists = False
    world.until(lambda: world.books.moves[1].state is MoveState.DROPPED, 10 * MIN)
    assert not [a for a in world.books.agreements.values() if a.state is AgreementState.OPEN]


def test_a_question_names_the_card_that_is_reserved_by_now() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 1, "at 20:00").number)
    world.pass_time(2 * MIN)
    (slot,) = world.lease(label).slots
    for agreement in list(world.books.agreements.values()):
        world.do(lambda d, a=agreement: windows.withdraw(d, a, "bob"))
    world.pass_time(2 * MIN)
    asked = world.told(NewsKind.ASK_WINDOW, "bob")
    assert asked and asked[-1].lease is not None and asked[-1].lease.slots == (slot,)
    world.do(lambda d: pool.set_aside(d, d.cards[slot], AsideWhy.DRAINED, "a test", "dana"))
    world.pass_time(2 * MIN)
    again = world.told(NewsKind.ASK_WINDOW, "bob")[-1]
    assert again.lease is not None and again.lease.slots == world.lease(label).slots != (slot,)
    assert again.key == asked[-1].key


# ---- off because of us


@pytest.mark.parametrize("how", ["not now", "stop"])
def test_a_no_to_a_machine_that_is_off_comes_too_late(how: str) -> None:
    world = World()
    world.again[("vm-r", CallKind.CHANGE)] = 20
    label = reach(world, MoveState.CHANGING)
    with pytest.raises(TooLate):
        if how == "stop":
            world.do(lambda d: moves.stop(d, d.moves[1], "bob", world.policy))
        else:
            world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-r"], "bob", world.policy))
    world.until(lambda: world.lease(label).state is LeaseState.ACTIVE, 20 * MIN)


def test_a_machine_that_we_switched_off_is_no_window_for_something_new() -> None:
    world = World()
    world.again[("vm-r", CallKind.CHANGE)] = 20
    one = reach(world, MoveState.CHANGING)
    two = world.request("bob", "vm-r", 1, "ask").number
    world.round()
    assert world.req(two).state is RequestState.OFFERED
    world.until(lambda: world.lease(one).state is LeaseState.ACTIVE, 20 * MIN)
    assert str(two) not in world.books.leases and world.acts("vm-r").count("shutdown") == 1
