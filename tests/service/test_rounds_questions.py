"""What people are asked, and in which order they hear things: one question at a time, and none that is over."""

from __future__ import annotations

from bot.domain.model import LeaseState, RequestState
from tests.fakes import text_of
from tests.house import House

BOB, ADA = "U2BOB", "U1ADA"


def buttons(house: House, person: str) -> list[str]:
    """What the messages that stand in somebody's eyes offer to say."""
    return [b.says for who, reply in house.voice.standing.values() if who == person for b in reply.buttons]


# ---- the turn and the restart


def test_who_agreed_to_now_hears_of_the_turn_and_of_the_restart_in_one_message(house: House) -> None:
    house.say("bob", "request 1 restart now")
    house.round()
    (said,) = house.voice.said_to(BOB)
    assert said.startswith("Your turn: T4-1 is reserved for you. vm-r restarts 16 09:01. Please save your work."), said
    assert buttons(house, BOB) == ["notnow vm-r", "release #1"]


def test_who_agreed_to_the_night_hears_of_the_turn_first_and_of_the_restart_later(house: House) -> None:
    house.say("bob", "request 1 restart today 11:00-12:00")
    house.round()
    (said,) = house.voice.said_to(BOB)
    assert said.startswith("Your turn: ")
    house.forward(55, 5)
    turn, call = house.voice.said_to(BOB)
    assert turn == said and call.startswith("vm-r restarts 16 10:00. Please save your work.")


def test_the_turn_goes_out_before_the_restart_when_both_wait(house: House) -> None:
    house.say("bob", "request 1 restart today 10:15-11:00")
    house.rounds.round()
    house.clock.forward(minutes=6)
    house.round()
    assert [said.split()[0] for said in house.voice.said_to(BOB)] == ["Your", "vm-r"]


# ---- one question


def test_a_free_card_is_one_question(house: House) -> None:
    answer = house.say("bob", "request 1")
    assert "May I restart" not in text_of(answer) and [b.says for b in answer.buttons] == ["release #1"]
    house.round()
    (said,) = house.voice.said_to(BOB)
    assert "Shall vm-r restart now?" in said
    assert buttons(house, BOB) == ["accept #1 now", "accept #1 tonight", "pass #1"]
    assert house.books.requests[1].state is RequestState.OFFERED


def test_an_accepted_offer_asks_nothing_more(house: House) -> None:
    house.say("bob", "request 1")
    house.round()
    house.say("bob", "accept now")
    house.round()
    assert house.lease("1").state is LeaseState.RESERVED
    assert buttons(house, BOB) == ["notnow vm-r"]


def test_an_offer_that_was_given_up_asks_nothing_more(house: House) -> None:
    house.say("bob", "request 1")
    house.round()
    house.say("bob", "release")
    house.round()
    assert not buttons(house, BOB) and "you left the line" in house.voice.said_to(BOB)[0]
