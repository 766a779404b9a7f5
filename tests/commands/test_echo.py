"""What was understood is said back: which restart "now" is, and what was said besides a time."""

import pytest

from tests.fakes import text_of
from tests.house import House

HARD = "switched off hard if it does not shut down"
BUSY = "even if somebody works"


@pytest.mark.parametrize("time", ["now", "tonight", "today", "at 18:00", "nights", "weekdays 20:00-23:00"])
@pytest.mark.parametrize(
    "line", ["window {}", "request 1 on vm-r restart {}", "accept {}", "release {}"], ids=lambda line: line.split()[0]
)
def test_what_was_said_besides_the_time_is_repeated(house: House, line: str, time: str) -> None:
    if line.startswith("accept"):
        house.say("bob", "request 1 restart ask")
        house.round()
    if line.startswith("release"):
        house.lend("vm-r", "T4-1")
    reply = house.say("bob", line.format(f"{time} hard even if busy"))
    assert reply.ok, text_of(reply)
    assert HARD in text_of(reply) and BUSY in text_of(reply)


def test_now_is_as_soon_as_the_card_is_there(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    reply = house.say("bob", "request 1 restart now hard")
    assert f"vm-r may restart as soon as the card is there, beginning within 30 min, {HARD}." in text_of(reply)
    again = house.say("bob", "window vm-r now")
    assert "vm-r may restart as soon as the card is there, beginning within 30 min." in text_of(again)


def test_now_is_now_if_a_card_lies_there(house: House) -> None:
    assert "vm-r may restart now, between " in text_of(house.say("bob", "request 1 restart now"))


def test_a_card_that_is_likely_after_its_time_is_said_to_be_so(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4", until="until 17:30")
    late = text_of(house.say("bob", "request 1 until 15:00"))
    assert "That is likely too late" in late and "request on vm-r until tomorrow 18:00" in late
    assert "likely too late" in text_of(house.say("bob", "why"))
    assert "too late" not in text_of(house.say("bob", "request on vm-r until tomorrow 18:00"))
