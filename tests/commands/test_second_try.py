"""A second word about a machine whose restart was given up, stopped, or runs: the answer says what is, and everybody hears what comes."""

from __future__ import annotations

from bot.domain.model import CallKind, MoveState, Power, RequestState
from tests.fakes import text_of, uuid
from tests.house import House

BOB, CAROL = "U2BOB", "U3CAROL"


def to_state(house: House, state: MoveState, minutes: float = 0.25) -> None:
    """The first restart of vm-r comes so far."""
    for _ in range(200):
        if 1 in house.books.moves and house.books.moves[1].state is state:
            return
        house.forward(minutes, minutes)
    raise AssertionError(f"never {state}: {house.books.moves}")


def shared(house: House) -> None:
    house.say("dana", "machine owners vm-r @bob @carol")


def test_a_time_for_a_restart_that_was_given_up_says_so_and_is_announced_as_hard(house: House) -> None:
    shared(house)
    house.lab.stubborn.add(uuid("vm-r"))
    house.say("bob", "request 1 on vm-r restart now")
    to_state(house, MoveState.UNDOING)
    house.clock.forward(seconds=20)
    before = len(house.voice.posts)
    answer = text_of(house.say("bob", "window vm-r now hard"))
    assert "Nothing needs a restart" not in answer
    assert "For: T4-1 in." in answer and "is still on" in answer
    house.round()
    for who in (BOB, CAROL):
        (call,) = [
            text_of(reply) for to, reply in house.voice.posts[before:] if to == who and "restarts" in text_of(reply)
        ]
        assert "Switched off hard if it is not off 5 min later" in call
    assert [c.kind for c in house.lab.calls] == [CallKind.SHUTDOWN]
    assert house.say("carol", "notnow vm-r").ok
    house.forward(30, 0.5)
    assert [c.kind for c in house.lab.calls] == [CallKind.SHUTDOWN]


def test_a_time_that_is_named_while_it_restarts_is_for_after_that(house: House) -> None:
    house.say("bob", "request 1 restart now")
    to_state(house, MoveState.PROVING)
    answer = text_of(house.say("bob", "window vm-r tonight"))
    assert "vm-r was restarted just now, and what it got is still looked at; this is for a restart after" in answer
    assert "Nothing needs a restart" not in answer


def test_a_time_that_is_named_while_it_starts_is_for_after_that(house: House) -> None:
    house.say("bob", "request 1 restart now")
    to_state(house, MoveState.STARTING)
    assert "vm-r is just being restarted, and that goes on as it is" in text_of(house.say("bob", "window vm-r tonight"))


def off_by_us(house: House) -> None:
    """vm-r is off, and the call that puts the card in is not made yet."""
    house.say("bob", "request 1 restart now")
    to_state(house, MoveState.STOPPING)
    start = house.rounds._performer.start
    house.settle()
    house.rounds._performer.start = lambda _: 0  # type: ignore[method-assign]
    to_state(house, MoveState.CHANGING)
    house.rounds._performer.start = start  # type: ignore[method-assign]
    house.store.keep_look(house.lab.look())
    assert house.lab.vms[uuid("vm-r")].power is Power.OFF


def test_asked_for_while_it_is_off_because_of_us_needs_a_restart_of_its_own(house: House) -> None:
    off_by_us(house)
    answer = text_of(house.say("bob", "request 1 restart ask"))
    assert "left off" not in answer and "goes on without it" in answer and "I ask you before" in answer
    house.round()
    assert house.books.requests[2].state is RequestState.OFFERED


def test_taken_back_by_an_admin_in_mid_restart_says_what_the_machine_went_through(house: House) -> None:
    off_by_us(house)
    house.say("dana", "force release #1 because the demo")
    house.forward(10, 0.5)
    back = [x for x in house.voice.said_to(BOB) if "back in line" in x]
    assert back and "left as it was" not in back[0] and "vm-r was off" in back[0] + "".join(back)
    assert not [x for x in house.voice.said_to("channel") if "went to bob" in x]


def test_stuck_then_seen_to_is_told_to_who_asked_for_a_start(house: House) -> None:
    house.lend("vm-r", "T4-1")
    house.say("bob", "release now")
    house.lab.refused.add(CallKind.POWER_ON)
    to_state(house, MoveState.STUCK)
    assert house.say("bob", "start vm-r").ok
    assert house.say("dana", "done").ok
    house.round()
    assert [x for x in house.voice.said_to(BOB) if "has seen to vm-r: I stop trying" in x], house.voice.said_to(BOB)


def test_stuck_then_on_again_is_told_in_the_same_message(house: House) -> None:
    house.lend("vm-r", "T4-1")
    house.say("bob", "release now")
    house.lab.refused.add(CallKind.POWER_ON)
    to_state(house, MoveState.STUCK)
    house.round()
    assert [
        x for x in house.voice.said_to(BOB) if x.startswith("vm-r is off and does not start")
    ] and not house.untrue_power()
    house.lab.refused.clear()
    house.forward(30, 0.5)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON
    assert house.untrue_power() == [] and [x for x in house.voice.said_to(BOB) if x.startswith("vm-r is on again")]


def test_an_hour_that_the_clocks_leave_out_is_said(house: House) -> None:
    house.clock.at = house.clock.at.replace(year=2027, month=3, day=27, hour=19)
    answer = text_of(house.say("bob", "window tomorrow 02:30"))
    assert "02:00 to 03:00 does not exist" in answer
    assert "does not exist" in text_of(house.say("bob", "request 1 until 28.03. 02:30"))
    assert "does not exist" not in text_of(house.say("bob", "window tomorrow 04:30"))
