"""What people are told when a restart does not go on: vCenter is away, somebody paused, an owner stopped it, it does not start."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.domain.model import CallKind, LeaseState, MoveState, Power
from bot.domain.news import CHANNEL
from bot.service.ports import NeedsPerson
from tests.fakes import text_of, uuid
from tests.house import House

BOB, DANA = "U2BOB", "U4DANA"


def restart(house: House, state: MoveState, said: str = "request 1 restart now") -> None:
    """bob's machine is being restarted; this state is reached."""
    house.say("bob", said)
    for _ in range(40):
        if house.books.moves and house.books.moves[1].state is state:
            return
        house.forward(0.25, 0.25)
    raise AssertionError(house.books.moves)


def told(house: House, to: str, *words: str) -> list[str]:
    """What stands in somebody's eyes with all these words in it."""
    return [text for text in house.voice.said_to(to) if all(word in text for word in words)]


# ---- the clock goes back


@pytest.mark.parametrize("killed", [False, True])
def test_the_clock_goes_back_while_the_machine_is_off(house: House, killed: bool) -> None:
    """Also while a call is being answered, and when the bot that saw the jump is gone."""
    house.say("bob", "request 1 restart now")
    while house.lab.vms[uuid("vm-r")].power is Power.ON:
        house.forward(0.25, 0.25)
    house.clock.at -= timedelta(hours=6)
    if killed:
        house.restart("another")
    house.forward(15, 0.25)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON
    assert len(told(house, DANA, "My clock has jumped")) == 1
    house.forward(25, 0.25)
    assert told(house, BOB, "Yours until")


# ---- vCenter is away


def off_and_away(house: House) -> None:
    """vm-r is off, and vCenter goes away before it is started."""
    house.say("bob", "request 1 restart now")
    while house.lab.vms[uuid("vm-r")].power is Power.ON:
        house.forward(0.25, 0.25)
    house.forward(0.05, 0.05)
    house.lab.away = True


def test_an_owner_hears_that_the_machine_is_off_and_comes_on_by_itself(house: House) -> None:
    off_and_away(house)
    house.forward(3, 0.25)
    (text,) = told(house, BOB, "vm-r is off, and vCenter does not answer")
    assert "It is started as soon as vCenter answers again" in text and "Nothing is needed from you" in text
    assert told(house, CHANNEL, "vCenter does not answer since")
    assert "held up" in text_of(house.say("bob", ""))
    house.lab.away = False
    house.forward(10, 0.25)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON
    assert told(house, BOB, "vm-r is on again") and not told(house, BOB, "vCenter does not answer")


def test_admins_hear_once_that_it_answers_again_and_what_is_off(house: House) -> None:
    off_and_away(house)
    house.forward(20, 0.5)
    assert told(house, DANA, "vCenter lab does not answer", "Off through me", "vm-r")
    assert not told(house, DANA, "answers again")
    house.lab.away = False
    house.forward(10, 0.5)
    assert len(told(house, DANA, "vCenter lab answers again", "It did not answer since")) == 1


def test_a_short_absence_has_no_all_clear(house: House) -> None:
    house.lab.away = True
    house.forward(3, 0.5)
    house.lab.away = False
    house.forward(3, 0.5)
    assert not told(house, DANA, "vCenter")


def test_a_bot_that_was_started_meanwhile_tells_the_end_and_does_not_repeat_the_beginning(house: House) -> None:
    house.lab.away = True
    house.forward(10, 0.5)
    house.restart("run-2")
    house.forward(10, 0.5)
    house.restart("run-3")
    house.lab.away = False
    house.forward(5, 0.5)
    house.restart("run-4")
    house.forward(5, 0.5)
    assert len(told(house, DANA, "does not answer;")) == len(told(house, DANA, "answers again")) == 1


# ---- stopped


def test_after_a_stop_the_status_says_what_is(house: House) -> None:
    restart(house, MoveState.STOPPING)
    house.lab.away = True
    house.forward(1, 0.5)
    assert house.say("bob", "stop m1").ok
    status = text_of(house.say("bob", ""))
    assert "not put in this time" in status and "on its way" not in status and "on the way" not in status
    assert "You have no card" in status
    assert "it is stopped already" in text_of(house.say("bob", "stop m1"))
    why = text_of(house.say("bob", "why #1"))
    assert "not put into vm-r this time" in why and "put on again as it was" in why
    house.lab.away = False
    house.forward(5, 0.25)
    (end,) = told(house, BOB, "vm-r was not changed")
    assert "an owner stopped it" in end and "was off for a few minutes at most" in end and "It did not work" not in end
    (move,) = told(house, CHANNEL, "not this time, all is as it was before")
    assert "with no card" in move and "for a few minutes at most" in move


def test_a_card_that_was_to_come_out_is_said_to_stay(house: House) -> None:
    house.lend("vm-r", "T4-1")
    restart(house, MoveState.STOPPING, "release now")
    house.say("bob", "stop m1")
    assert "stays in this time" in text_of(house.say("bob", ""))
    assert "under way" not in text_of(house.say("bob", "why #1"))


# ---- paused


def test_pause_says_which_machines_are_off_whose_they_are_and_their_owners_hear_it(house: House) -> None:
    house.say("bob", "request 1 restart now")
    while house.lab.vms[uuid("vm-r")].power is Power.ON:
        house.forward(0.25, 0.25)
    house.rounds.round()
    answer = text_of(house.say("dana", "pause because patching"))
    assert "vm-r (U2BOB) since" in answer and "Its owners are told" in answer
    house.forward(30, 1)
    (text,) = told(house, BOB, "vm-r is off and stays off for now", "U4DANA", "patching")
    assert "start vm-r in vCenter" in text
    assert "held up: paused while its machine is off" in text_of(house.say("bob", ""))
    (move,) = told(house, CHANNEL, "Paused by U4DANA", "stays off until an admin resumes")
    assert "held up" in move.split("\n")[0] and "min left" not in move
    no = house.say("bob", "start vm-r")
    assert not no.ok and "U4DANA has paused" in text_of(no) and "patching" in text_of(no) and "vCenter" in text_of(no)
    answer = text_of(house.say("dana", "resume"))
    assert "Put on again first: vm-r" in answer
    house.forward(10, 0.5)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON and told(house, BOB, "vm-r is on again")


# ---- it does not start


class Refuses:
    """A lab that does not start vm-r while it is told so."""

    def __init__(self, house: House) -> None:
        self.real, self.no, self.tries = house.lab.act, True, 0

    def __call__(self, step: Any) -> Any:
        if step.kind is CallKind.POWER_ON:
            self.tries += 1
            if self.no:
                raise NeedsPerson("esx-01 has no memory left for vm-r")
        return self.real(step)


@pytest.mark.parametrize("who", ["bob", "dana"])
def test_stuck_the_button_of_owner_and_admin_starts_it(house: House, who: str) -> None:
    house.lend("vm-r", "T4-1")
    refuses = Refuses(house)
    house.lab.act = refuses  # type: ignore[method-assign]
    restart(house, MoveState.STUCK, "release now")
    house.round()
    to = {"bob": BOB, "dana": DANA}[who]
    reply = next(r for w, r in house.voice.posts if w == to and "does not start" in text_of(r))
    says = [b.says for b in reply.buttons]
    assert says == (["start vm-r"] if who == "bob" else ["start vm-r", "done m1"])
    tries, refuses.no = refuses.tries, False
    assert house.say(who, says[0]).ok
    house.round(2)
    assert refuses.tries == tries + 1 and house.lab.vms[uuid("vm-r")].power is Power.ON
    assert house.books.moves[1].state is MoveState.DROPPED


def test_stuck_an_admin_says_done(house: House) -> None:
    house.lend("vm-r", "T4-1")
    house.lab.act = Refuses(house)  # type: ignore[method-assign]
    restart(house, MoveState.STUCK, "release now")
    assert not house.say("bob", "done m1").ok
    assert not house.say("carol", "start vm-r").ok
    assert house.say("dana", "done m1").ok and house.books.moves[1].state is MoveState.DROPPED


# ---- taken back by an admin


def test_forced_before_it_worked_the_answer_and_the_message_say_the_old_place(house: House) -> None:
    house.say("bob", "request 1 restart tonight")
    house.round(2)
    answer = text_of(house.say("dana", "force release #1 because the demo needs it"))
    assert "no longer reserved for U2BOB" in answer and "in line again at the old place" in answer
    house.round()
    (text,) = told(house, BOB, "back in line at your old place", "the demo needs it")
    assert "Decided by U4DANA" in text


# ---- the old place


def test_a_lost_card_is_asked_for_at_the_old_place_after_a_weekend(house: House) -> None:
    house.forward(60 * 24 * 4, 120)  # Friday, ten o'clock
    house.say("bob", "request 1 restart now for 6d")
    house.forward(40, 0.5)
    asked = house.books.requests[1].asked
    assert house.lease("1").state is LeaseState.ACTIVE
    house.lab.vms[uuid("vm-r")].cards = []
    house.forward(2, 0.5)
    assert house.lease("1").state is LeaseState.FAILED
    house.forward(60 * (24 * 5 + 7), 120)  # Wednesday, after five
    assert house.say("bob", "request 1").ok
    assert house.books.requests[2].asked == asked
