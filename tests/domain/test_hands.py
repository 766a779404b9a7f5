"""The level `hands`: all is planned and agreed as in `act`, people do what the bot would have asked of vCenter, and what is seen counts.

In `watch` nothing is asked of anybody. The level may change between two runs, in the middle of a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import moves
from bot.domain.model import CallKind, LeaseState, MoveState, Outcome, Power
from bot.domain.moves.hands import ANEW, ITSELF
from bot.domain.news import ADMINS, NewsKind
from bot.domain.policy import Policy
from tests.domain.world import World

MIN = timedelta(minutes=1)
FAST = timedelta(seconds=2)
BY_US = {"shutdown", "hard_stop", "change", "power_on"}


def world(level: str = "hands") -> World:
    return World(policy=Policy(level=level))


def change_level(w: World, level: str) -> None:
    """Between two runs of the bot."""
    w.policy = replace(w.policy, level=level)
    w.run += "'"


def asked(w: World, vm: str) -> CallKind | None:
    """What people are asked to do."""
    call = w.move(vm).call
    return call.kind if call is not None and call.outcome is Outcome.HANDS else None


def clicks(w: World, vm: str) -> None:
    """An admin changes the cards of a machine that is off, as asked."""
    call = w.move(vm).call
    assert call is not None and call.kind is CallKind.CHANGE and w.vms[vm].power is Power.OFF
    w.vms[vm].cards |= {w.card(x.slot).pci for x in call.puts}
    w.vms[vm].cards -= {w.card(x.slot).pci for x in call.takes}


def untouched(w: World) -> bool:
    return not any(a.what in BY_US for a in w.journal)


def is_asked(w: World, vm: str, kind: CallKind) -> Callable[[], bool]:
    return lambda: any(m.machine == f"uuid-{vm}" for m in w.books.moves.values()) and asked(w, vm) is kind


def is_done(w: World, vm: str) -> bool:
    """Whether its restart is over as planned; a round after its lease is active."""
    w.pass_time(FAST)
    return w.move(vm).state is MoveState.DONE and not w.move(vm).undo


def to_the_shutdown(w: World, window: str = "now") -> None:
    w.request("bob", "vm-r", window=window)
    w.until(is_asked(w, "vm-r", CallKind.SHUTDOWN), 5 * MIN)


def test_hands_do_each_step_and_the_lease_becomes_active_and_goes_back() -> None:
    w = world()
    to_the_shutdown(w)
    assert w.told(NewsKind.LAST_CALL, "bob"), "owners are warned as ever"
    w.switch("vm-r", Power.OFF)
    w.until(is_asked(w, "vm-r", CallKind.CHANGE), MIN)
    clicks(w, "vm-r")
    w.until(is_asked(w, "vm-r", CallKind.POWER_ON), MIN)
    w.switch("vm-r", Power.ON)
    w.until(lambda: w.lease(1).state is LeaseState.ACTIVE, 5 * MIN)
    assert is_done(w, "vm-r")
    w.release("bob", "1", window="now")
    w.until(is_asked(w, "vm-r", CallKind.SHUTDOWN), 5 * MIN)
    w.switch("vm-r", Power.OFF)
    w.until(is_asked(w, "vm-r", CallKind.CHANGE), MIN)
    clicks(w, "vm-r")
    w.until(is_asked(w, "vm-r", CallKind.POWER_ON), MIN)
    w.switch("vm-r", Power.ON)
    w.until(lambda: w.lease(1).state is LeaseState.ENDED, 5 * MIN)
    assert untouched(w)


def test_the_admins_have_one_message_a_move_told_at_each_step_and_no_more() -> None:
    w = world()
    to_the_shutdown(w)
    told = w.told(NewsKind.BY_HAND)
    assert {(n.to, n.key.partition(":2026")[0]) for n in told} == {(ADMINS, "hands:1")} and len(
        {n.key for n in told}
    ) == 1
    assert [n.move.state for n in told if n.move] == [MoveState.PLANNED, MoveState.STOPPING], (
        "ahead, and when it is time"
    )
    w.pass_time(3 * MIN)
    assert len(w.told(NewsKind.BY_HAND)) == len(told), "nothing new, nothing told"
    w.switch("vm-r", Power.OFF)
    w.until(is_asked(w, "vm-r", CallKind.CHANGE), MIN)
    number = w.move("vm-r").calls
    w.pass_time(3 * MIN)
    assert w.move("vm-r").calls == number and len(w.told(NewsKind.BY_HAND)) == len(told) + 1
    clicks(w, "vm-r")
    w.until(is_asked(w, "vm-r", CallKind.POWER_ON), MIN)
    w.switch("vm-r", Power.ON)
    w.until(lambda: w.move("vm-r").state is MoveState.DONE, 25 * MIN)
    w.pass_time(3 * MIN)
    states = [n.move.state for n in w.told(NewsKind.BY_HAND) if n.move][len(told) :]
    assert states == [MoveState.CHANGING, MoveState.STARTING, MoveState.PROVING, MoveState.DONE]


def test_all_clicks_between_two_looks_count() -> None:
    w = world()
    to_the_shutdown(w)
    w.now += MIN
    w.switch("vm-r", Power.OFF)
    w.vms["vm-r"].cards.add(w.card(w.lease(1).slots[0]).pci)
    w.switch("vm-r", Power.ON)
    w.until(lambda: w.lease(1).state is LeaseState.ACTIVE, 5 * MIN)
    assert is_done(w, "vm-r") and [s.what for s in w.move("vm-r").steps][-1] == "done"
    assert not w.told(NewsKind.NOT_NOW), "nobody said no"


def test_change_and_start_between_two_looks_count() -> None:
    w = world()
    to_the_shutdown(w)
    w.switch("vm-r", Power.OFF)
    w.until(is_asked(w, "vm-r", CallKind.CHANGE), MIN)
    clicks(w, "vm-r")
    w.now += FAST
    w.switch("vm-r", Power.ON)
    w.until(lambda: w.lease(1).state is LeaseState.ACTIVE, 5 * MIN)
    assert is_done(w, "vm-r")


def test_started_without_the_change_is_not_now_and_planned_anew() -> None:
    w = world()
    to_the_shutdown(w)
    w.now += MIN
    w.switch("vm-r", Power.OFF)
    w.switch("vm-r", Power.ON)
    w.round()
    assert w.books.moves[1].state is MoveState.DROPPED
    w.pass_time(MIN)
    assert w.lease(1).state is LeaseState.RESERVED


def test_half_of_a_change_is_seen_and_the_rest_is_asked_for() -> None:
    w = world()
    w.request("bob", "vm-r", count=2, window="now")
    w.until(is_asked(w, "vm-r", CallKind.SHUTDOWN), 5 * MIN)
    w.switch("vm-r", Power.OFF)
    w.until(is_asked(w, "vm-r", CallKind.CHANGE), MIN)
    first, second = w.lease(1).slots
    w.vms["vm-r"].cards.add(w.card(first).pci)
    w.pass_time(MIN)
    call = w.move("vm-r").call
    assert call is not None and [x.slot for x in call.puts] == [second] and call.outcome is Outcome.HANDS


def test_a_window_that_ends_undone_leaves_the_machine_on_and_asks_for_another_time() -> None:
    w = world()
    to_the_shutdown(w)
    w.until(lambda: w.books.moves[1].state is MoveState.UNDOING, 90 * MIN)
    w.until(lambda: w.books.moves[1].state is MoveState.DROPPED, 20 * MIN)
    w.pass_time(MIN)
    assert w.lease(1).state is LeaseState.RESERVED and w.vms["vm-r"].power is Power.ON
    assert w.told(NewsKind.ASK_WINDOW, "bob")
    w.agree("bob", "vm-r", "now")
    w.until(is_asked(w, "vm-r", CallKind.SHUTDOWN), 10 * MIN)


def test_off_when_the_window_ends_it_is_to_be_started_as_it_is() -> None:
    w = world()
    to_the_shutdown(w)
    w.switch("vm-r", Power.OFF)
    w.until(is_asked(w, "vm-r", CallKind.POWER_ON), 90 * MIN)
    w.switch("vm-r", Power.ON)
    w.until(lambda: w.lease(1).state is LeaseState.RESERVED, 10 * MIN)
    assert not w.vms["vm-r"].cards


def test_shut_down_just_after_its_time_it_is_to_be_started_again() -> None:
    w = world()
    to_the_shutdown(w)
    w.until(lambda: w.move("vm-r").state is MoveState.UNDOING, 90 * MIN)
    w.pass_time(5 * MIN)
    w.switch("vm-r", Power.OFF)
    w.until(is_asked(w, "vm-r", CallKind.POWER_ON), MIN)


def test_a_hard_stop_is_never_asked_as_a_call() -> None:
    w = world()
    w.request("bob", "vm-r", window="now hard")
    w.until(is_asked(w, "vm-r", CallKind.SHUTDOWN), 5 * MIN)
    w.pass_time(10 * MIN)
    assert asked(w, "vm-r") is CallKind.SHUTDOWN and untouched(w)


def test_watch_asks_nobody_and_says_what_it_would_do_once_a_window() -> None:
    w = world("watch")
    w.request("bob", "vm-r", window="now")
    w.pass_time(20 * MIN)
    told = w.told(NewsKind.BY_HAND)
    assert len(told) == 1 and told[0].to == ADMINS and untouched(w)
    assert w.move("vm-r").state is MoveState.PLANNED and not w.told(NewsKind.LAST_CALL)


def test_watch_says_of_a_machine_that_is_off_that_its_cards_would_be_changed() -> None:
    w = world("watch")
    w.switch("vm-r", Power.OFF)
    w.request("bob", "vm-r", window="tonight")
    w.pass_time(5 * MIN)
    (told,) = w.told(NewsKind.BY_HAND)
    assert told.move is not None and told.move.handed.startswith("would off") and untouched(w)


def test_what_was_announced_and_called_off_says_so_and_the_next_is_a_new_message() -> None:
    w = world()
    w.request("bob", "vm-r", window="today 11:00-13:00")
    w.until(lambda: w.told(NewsKind.BY_HAND), 70 * MIN)
    w.say_no("vm-r", "bob")
    w.pass_time(2 * MIN)
    first, over = w.told(NewsKind.BY_HAND)
    assert first.key == over.key and over.move is not None and over.move.handed == "idle"
    w.agree("bob", "vm-r", "today 14:00-15:00")
    w.until(is_asked(w, "vm-r", CallKind.SHUTDOWN), 300 * MIN)
    later = w.told(NewsKind.BY_HAND)[2:]
    assert {n.key for n in later} == {n.key for n in later} - {first.key}, "an edit would call nobody"


def test_a_second_try_within_the_same_restart_is_asked_for_in_a_new_message() -> None:
    w = world()
    to_the_shutdown(w)
    first = w.told(NewsKind.BY_HAND)[0].key
    w.until(lambda: w.move("vm-r").state is MoveState.UNDOING, 90 * MIN)
    w.pass_time(MIN)
    w.agree("bob", "vm-r", "now")
    w.until(lambda: w.move("vm-r").state is MoveState.STOPPING, 10 * MIN)
    told = [n for n in w.told(NewsKind.BY_HAND) if n.key != first]
    assert [n.move.state for n in told if n.move] == [MoveState.UNDOING, MoveState.STOPPING]


@pytest.mark.parametrize("between", ["hands", "watch"])
@pytest.mark.parametrize("state", [MoveState.STOPPING, MoveState.CHANGING, MoveState.STARTING])
def test_from_act_by_another_level_and_back_nothing_is_lost(state: MoveState, between: str) -> None:
    w = world("act")
    w.again[("vm-r", {MoveState.CHANGING: CallKind.CHANGE, MoveState.STARTING: CallKind.POWER_ON}.get(
        state, CallKind.SHUTDOWN))] = 2  # fmt: skip
    w.request("bob", "vm-r", window="now")
    w.until(lambda: w.books.moves and w.move("vm-r").state is state, 5 * MIN, FAST)
    change_level(w, between)
    before = [a for a in w.journal if a.what in BY_US]
    w.pass_time(2 * MIN)
    assert [a for a in w.journal if a.what in BY_US] == before, "nothing is asked of vCenter"
    if between == "hands" or w.vms["vm-r"].power is Power.OFF:
        assert w.told(NewsKind.BY_HAND), "people know of it"
    change_level(w, "act")
    w.until(lambda: w.lease(1).state is LeaseState.ACTIVE, 20 * MIN)
    assert w.vms["vm-r"].power is Power.ON


@pytest.mark.parametrize("kind", [CallKind.SHUTDOWN, CallKind.CHANGE, CallKind.POWER_ON])
def test_from_hands_to_act_the_bot_goes_on_by_what_it_sees(kind: CallKind) -> None:
    w = world()
    to_the_shutdown(w)
    if kind is not CallKind.SHUTDOWN:
        w.switch("vm-r", Power.OFF)
        w.until(is_asked(w, "vm-r", CallKind.CHANGE), MIN)
    if kind is CallKind.POWER_ON:
        clicks(w, "vm-r")
        w.until(is_asked(w, "vm-r", kind), MIN)
    change_level(w, "act")
    w.until(lambda: w.lease(1).state is LeaseState.ACTIVE, 10 * MIN)
    assert kind.value in w.acts("vm-r")


def test_a_bot_that_is_started_again_asks_for_the_same_and_tells_nothing_twice() -> None:
    w = world()
    to_the_shutdown(w)
    told, call = len(w.told(NewsKind.BY_HAND)), w.move("vm-r").call
    w.run += "'"
    w.pass_time(MIN)
    assert len(w.told(NewsKind.BY_HAND)) == told and w.move("vm-r").call == call


def test_paused_nothing_new_is_asked_and_what_stands_says_so() -> None:
    w = world()
    to_the_shutdown(w)
    told = len(w.told(NewsKind.BY_HAND))
    w.do(lambda d: setattr(d, "paused", "dana lunch"))
    w.pass_time(MIN)
    assert len(w.told(NewsKind.BY_HAND)) == told + 1
    w.switch("vm-r", Power.OFF)
    w.pass_time(MIN)
    assert asked(w, "vm-r") is CallKind.SHUTDOWN, "seen off, and nothing new asked"
    w.do(lambda d: setattr(d, "paused", ""))
    w.until(is_asked(w, "vm-r", CallKind.CHANGE), MIN)


def test_what_was_done_by_hand_stays_told_when_the_level_becomes_act() -> None:
    w = world()
    to_the_shutdown(w)
    w.switch("vm-r", Power.OFF)
    w.until(is_asked(w, "vm-r", CallKind.CHANGE), MIN)
    clicks(w, "vm-r")
    w.until(is_asked(w, "vm-r", CallKind.POWER_ON), MIN)
    w.switch("vm-r", Power.ON)
    w.until(lambda: w.move("vm-r").state is MoveState.PROVING, MIN, FAST)
    told = len(w.told(NewsKind.BY_HAND))
    change_level(w, "act")
    w.until(lambda: w.move("vm-r").state is MoveState.DONE, 25 * MIN)
    w.pass_time(MIN)
    after = [n.move.state for n in w.told(NewsKind.BY_HAND)[told:] if n.move]
    assert after == [MoveState.DONE], "nothing was open: the bot did not go on with it"


def test_what_the_bot_went_on_with_itself_is_not_told_as_done_by_hand() -> None:
    w = world()
    to_the_shutdown(w)
    change_level(w, "act")
    w.until(lambda: w.move("vm-r").state is MoveState.DONE, 25 * MIN)
    w.pass_time(MIN)
    last = w.told(NewsKind.BY_HAND)[-1]
    assert last.move is not None and last.move.handed == "act" and last.move.state is not MoveState.DONE


@pytest.mark.parametrize("level", ["hands", "watch"])
def test_on_already_when_the_level_goes_down_nobody_is_asked_or_thanked(level: str) -> None:
    w = world("act")
    w.request("bob", "vm-r", window="now")
    w.until(lambda: bool(w.books.moves) and w.move("vm-r").state is MoveState.STARTING, 20 * MIN, FAST)
    w.until(lambda: w.vms["vm-r"].power is Power.ON, MIN, FAST)
    change_level(w, level)
    w.until(lambda: w.move("vm-r").state is MoveState.DONE, 25 * MIN)
    w.pass_time(MIN)
    assert not w.told(NewsKind.BY_HAND)


def test_who_was_only_told_that_it_is_to_be_finished_is_not_said_to_have_done_it() -> None:
    w = world("act")
    w.again[("vm-r", CallKind.POWER_ON)] = 9
    w.request("bob", "vm-r", window="now")
    w.until(lambda: bool(w.books.moves) and w.move("vm-r").state is MoveState.STARTING, 20 * MIN, FAST)
    change_level(w, "watch")
    w.pass_time(MIN)
    w.switch("vm-r", Power.ON)
    w.until(lambda: w.move("vm-r").state is MoveState.DONE, 25 * MIN)
    w.pass_time(MIN)
    marks = [n.move.handed for n in w.told(NewsKind.BY_HAND) if n.move]
    assert [m.endswith(ITSELF) for m in marks] == [False, True, True], "asked for, on, and over"


def test_from_watch_to_hands_what_act_would_do_is_ended_in_its_own_message() -> None:
    w = world("watch")
    w.request("bob", "vm-r", window="now")
    w.until(lambda: w.told(NewsKind.BY_HAND), 5 * MIN)
    first = w.told(NewsKind.BY_HAND)[0].key
    change_level(w, "hands")
    w.until(is_asked(w, "vm-r", CallKind.SHUTDOWN), 15 * MIN)
    told = w.told(NewsKind.BY_HAND)
    ended = [n for n in told if n.key == first][-1]
    assert told[-1].key != first and ended.reason == ANEW


@pytest.mark.parametrize("at", [MoveState.CHANGING, MoveState.STARTING])
def test_begun_at_act_and_only_watched_then_its_owners_hear_that_nobody_starts_it(at: MoveState) -> None:
    w = world("act")
    w.request("bob", "vm-r", 1, "now")
    w.until(lambda: bool(w.books.moves) and w.move("vm-r").state is at, timedelta(minutes=20), FAST)
    change_level(w, "watch")
    w.vms["vm-r"].power = Power.OFF
    w.pass_time(30 * MIN)
    assert w.vms["vm-r"].power is Power.OFF
    told = w.told(NewsKind.STAYS_OFF, "bob")
    assert [n.key for n in told] == ["off:1:watching"], "once, and nothing else"
    assert told[0].move is not None
    change_level(w, "act")
    w.pass_time(MIN)
    assert len(w.told(NewsKind.STAYS_OFF, "bob")) == 2, "edited: the bot goes on"
    w.until(lambda: w.vms["vm-r"].power is Power.ON, 10 * MIN)


def test_a_start_that_is_wished_for_is_asked_of_the_admins() -> None:
    w = world()
    w.vms["vm-r"].power = Power.OFF
    w.pass_time(FAST)
    w.do(lambda draft: moves.start(draft, draft.machines["uuid-vm-r"], "bob"))
    w.until(is_asked(w, "vm-r", CallKind.POWER_ON), MIN, FAST)
    assert {(n.to, n.key) for n in w.told(NewsKind.BY_HAND)} == {(ADMINS, "hands:1")} and untouched(w)
