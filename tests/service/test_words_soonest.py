"""A time to come and "when nothing runs" are told together wherever a restart that is ahead is named: either may come first."""

import re

import pytest

from bot.domain.model import LeaseState
from tests.fakes import text_of
from tests.house import House

QUIET = "as soon as nothing has run for a while"
BOTH = re.compile(rf"{QUIET}, or [^\n]+, whichever is earlier")


@pytest.mark.parametrize("order", ["nights first", "when done first"])
def test_of_a_card_on_its_way_back_both_are_named(house: House, order: str) -> None:
    house.lend("vm-python", "T4-1")
    if order == "nights first":
        house.say("ada", "window vm-python nights")
        answer = house.say("ada", "release T4-1 when done")
    else:
        house.say("ada", "release T4-1 when done")
        answer = house.say("ada", "window vm-python nights")
    assert BOTH.search(text_of(answer)), text_of(answer)
    for _ in range(2):  # before the next round, and once the restart is planned
        for line in ("release T4-1", "window vm-python", "mine", "why T4-1", "status"):
            said = text_of(house.say("ada", line))
            assert BOTH.search(said), f"{line}: {said}"
        house.round()


def test_what_counts_as_nothing_runs_is_said_beside_a_time_too(house: House) -> None:
    house.lend("vm-python", "T4-1")
    house.say("ada", "window vm-python nights")
    assert "I go by what vm-python reports" in text_of(house.say("ada", "release T4-1 when done"))


def test_of_a_place_in_line_and_of_a_reserved_card_both_are_named(house: House) -> None:
    house.say("bob", "window vm-r nights")
    said = text_of(house.say("bob", "request 1 restart when done"))
    assert BOTH.search(said), said
    assert BOTH.search(text_of(house.say("bob", "why #1"))), text_of(house.say("bob", "why #1"))
    house.round(2)
    assert house.lease("1").state is LeaseState.RESERVED
    for line in ("mine", "why #1", "status"):
        said = text_of(house.say("bob", line))
        assert BOTH.search(said), f"{line}: {said}"
    told = house.voice.said_to(house.people.find("bob").id)
    assert any(BOTH.search(text) for text in told), told


def test_what_is_put_off_leaves_when_nothing_runs(house: House) -> None:
    house.lend("vm-python", "T4-1")
    house.say("ada", "window vm-python tonight")
    house.say("ada", "release T4-1 when done")
    house.round()
    said = text_of(house.say("ada", "stop vm-python"))
    assert BOTH.search(said), said
    said = text_of(house.say("ada", "notnow vm-python"))
    assert f"Still agreed: {QUIET}" in said, said


def test_one_alone_is_named_alone(house: House) -> None:
    house.lend("vm-python", "T4-1")
    said = text_of(house.say("ada", "release T4-1 when done"))
    assert QUIET in said and "whichever" not in said
    house.lend("vm-r", "T4-2")
    house.say("bob", "window vm-r nights")
    assert "whichever" not in text_of(house.say("bob", "release T4-2"))
