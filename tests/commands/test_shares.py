"""What people read of cards that are given for less than was asked: fewer, past others, or only while nobody else wants them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.model import LeaseState, RequestState
from bot.domain.policy import Policy
from tests.fakes import text_of
from tests.house import House


def told(house: House, person: str) -> str:
    """The messages that stand in somebody's eyes now."""
    return "\n".join(text_of(reply) for to, reply in house.voice.standing.values() if to == person)


def test_over_a_share_it_is_said_with_the_offer_with_yes_and_when_it_goes_back(house: House) -> None:
    house.lend("vm-r", "T4-1", "T4-2")
    house.say("bob", "request 1")
    house.round()
    more = "With this you have more than your share of the cards: as soon as somebody else waits, it goes back."
    assert more in told(house, "U2BOB") and more in text_of(house.say("bob", "accept now"))
    house.forward(25)
    assert house.books.leases["2"].state is LeaseState.ACTIVE
    house.lend("vm-python", "T4-4")
    house.say("carol", "request 1")
    house.round()
    assert "it was more than your share, and somebody else waits" in told(house, "U2BOB")


def test_fewer_than_asked_for_are_named_with_how_many_were(house: House) -> None:
    house.lend("vm-r", "T4-1", "T4-2", "T4-3")
    house.say("carol", "request 2 partly")
    house.round()
    assert "1 T4 is free for you" in told(house, "U3CAROL")
    fewer = "You wanted 2 T4, or fewer: 1 is there, because U2BOB has the others. That is all of #2: the rest is not waited for."
    assert fewer in told(house, "U3CAROL")


def test_behind_others_who_takes_fewer_reads_how_many_are_left(house: House) -> None:
    house.say("ada", "request 1 restart now")
    house.say("carol", "request 1 restart now")
    asked = text_of(house.say("bob", "request 3 partly restart now"))
    assert "2 of the 3 you want are free after those before you; you take fewer. " in asked and "Enough" not in asked


def test_of_a_booking_before_its_time_the_share_is_not_told_and_in_a_list_it_is_as_a_number(house: House) -> None:
    house.lend("vm-r", "T4-1", "T4-2", "T4-3", until="for 6d")
    assert house.say("carol", "request 2 restart now").ok
    house.say("bob", "request 1 from thu 14:00 for 4h restart now")
    house.forward(minutes=3)
    why = text_of(house.say("bob", "why"))
    assert "You booked it for" in why and "nobody has more than" not in why
    for who, line in (("bob", "mine"), ("ada", "queue"), ("ada", "status")):
        shown = next(x for x in text_of(house.say(who, line)).splitlines() if "booked from" in x)
        assert "more than a person's" not in shown, "whether it binds is known only when its time comes"
    assert "is known only when its time comes" in why, "nor is the latest time"


@pytest.fixture
def no_share(tmp_path: Path) -> Iterator[House]:
    """A house in which everybody may have all."""
    house = House(tmp_path, Policy(level="act", pool_share=1.0))
    house.furnish()
    yield house
    house.close()


def test_yes_to_what_is_offered_past_others_says_until_when_and_what_is_too_late(no_share: House) -> None:
    house = no_share
    house.lend("vm-python", "T4-1", "T4-2", until="for 2d")
    house.say("bob", "request 4 for 1d")
    house.say("carol", "request 1 for 1h")
    house.round()
    assert house.books.requests[3].state is RequestState.OFFERED
    assert "This goes past bob, who waits for 4 cards" in told(house, "U3CAROL").replace("U2BOB", "bob")
    late = text_of(house.say("carol", "accept tomorrow 21:30-23:00"))
    assert "goes past #2" in late and "accept #3 now" in late
    taken = text_of(house.say("carol", "accept now")).replace("U2BOB", "bob")
    assert "This goes past bob" in taken and "at the latest" in taken
