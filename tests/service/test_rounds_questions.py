"""What people are asked, and in which order they hear things: one question at a time, and none that is over."""

from __future__ import annotations

from datetime import timedelta

from bot.domain.model import LeaseState, Power, RequestState
from tests.fakes import text_of, uuid
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
    assert buttons(house, BOB) == ["notnow vm-r m1", "release #1"]


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
    assert buttons(house, BOB) == ["notnow vm-r m1"]


def test_an_offer_that_was_given_up_asks_nothing_more(house: House) -> None:
    house.say("bob", "request 1")
    house.round()
    house.say("bob", "release")
    house.round()
    assert not buttons(house, BOB) and "you left the line" in house.voice.said_to(BOB)[0]


# ---- a question that is over


def due(house: House) -> None:
    """Ada's card is to go back because carol waits; that is written down, and nobody has been told."""
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4", until="for 1h")
    house.say("carol", "request 1 on vm-train restart nights")
    house.round()
    house.clock.forward(hours=1, minutes=1)
    house.rounds.round()
    assert house.lease("1").state is LeaseState.RETURNING and house.lease("1").question is not None


def taken_out_by_hand(house: House) -> None:
    """Somebody shuts vm-python down and takes the cards out."""
    vm = house.lab.vms[uuid("vm-python")]
    vm.power, vm.boot, vm.cards = Power.OFF, None, []


def test_killed_before_it_asked_the_bot_does_not_ask_about_a_card_that_is_out(house: House) -> None:
    due(house)
    house.restart("run-2")
    taken_out_by_hand(house)
    house.round(2)
    assert house.lease("1").state is LeaseState.ENDED
    assert not any("When may" in said for said in house.voice.said_to(ADA)), house.voice.said_to(ADA)
    assert house.vain_questions() == []


def test_killed_after_it_asked_the_bot_takes_the_question_back(house: House) -> None:
    due(house)
    house.round()
    assert any("When may it?" in said for said in house.voice.said_to(ADA)) and house.vain_questions() == []
    house.restart("run-2")
    taken_out_by_hand(house)
    house.round(2)
    settled = [said for said in house.voice.said_to(ADA) if "settled" in said]
    assert settled == ["This question is settled: T4-1, T4-2, T4-3 and T4-4 are out of vm-python."]
    assert house.vain_questions() == []


def test_a_question_that_was_answered_while_the_bot_was_down_says_what_was_agreed(house: House) -> None:
    due(house)
    house.round()
    house.close()
    house._open("run-2")
    assert house.say("ada", "window vm-python tonight").ok  # gpubot say: the bot itself is down
    house.round()
    (settled,) = [said for said in house.voice.said_to(ADA) if "settled" in said]
    assert settled.startswith("This question is settled: vm-python may restart between 16 21:00"), settled
    house.say("ada", "window remove")
    house.round()
    assert any("When may vm-python restart" in said for said in house.voice.said_to(ADA)), "lost: asked again"
    assert house.vain_questions() == []


def test_killed_between_an_offer_and_its_message_nothing_is_asked_that_was_answered(house: House) -> None:
    house.say("bob", "request 1")
    house.rounds.round()
    house.restart("run-2")
    assert house.say("bob", "accept now").ok
    house.round()
    assert not any("Shall vm-r" in said for said in house.voice.said_to(BOB))
    assert house.vain_questions() == []


def test_whether_it_is_still_wanted_is_asked_until_it_is_answered(house: House) -> None:
    house.say("bob", "request 1")
    for _ in range(2):
        house.round()
        for _ in range(3):  # nobody answers, while somebody could
            house.clock.at += timedelta(minutes=11)
            house.round()
        house.clock.at += timedelta(hours=4, minutes=1)
    assert any("Do you still want" in said for said in house.voice.said_to(BOB))
    house.restart("run-2")
    house.say("bob", "window vm-r today")
    house.round()
    assert "This question is settled: 1 T4 for vm-r is still wanted." in house.voice.said_to(BOB)
    assert house.vain_questions() == []
