"""A likely time that is later than the card is there, since a restart is agreed for another time: the answer names that time."""

from __future__ import annotations

from tests.fakes import text_of
from tests.house import House

EVERY_DAY = "every day 16:00-17:00 (Europe/Berlin), even if somebody works"


def test_the_time_that_is_waited_for_is_named_and_is_not_forgotten_where_another_is_too_early(house: House) -> None:
    house.lend("vm-r", "T4-1", "T4-2", "T4-3", "T4-4", until="until tomorrow 18:00")
    house.say("ada", "window vm-python daily 16:00-17:00 even if busy")
    asked = text_of(house.say("ada", "request 1 on vm-python restart any time today"))
    assert "Likely by 18 15:15, at the latest " in asked
    assert (
        f": U2BOB's time ends 17 17:00, and cards may come back earlier; then vm-python restarts as agreed, {EVERY_DAY}.\n"
        in asked
    )
    early = "That is likely too early; then the other time is used that is agreed."
    assert early in asked and "I ask again" not in asked
    house.round()
    why = text_of(house.say("ada", "why"))
    assert early in why and f"; then vm-python restarts as agreed, {EVERY_DAY}.\n" in why
    named = text_of(house.say("ada", "window #2 today"))
    assert f"after that time. Then vm-python restarts in its other time, {EVERY_DAY}." in named


def test_the_time_of_the_machine_that_gives_it_is_named_too(house: House) -> None:
    house.lend("vm-r", "T4-1", "T4-2", "T4-3", "T4-4", until="until tomorrow 18:00")
    house.say("bob", "window vm-r nights")
    asked = text_of(house.say("ada", "request 1 on vm-python"))
    assert "Likely by 17 21:30, " in asked
    assert (
        "U2BOB's time ends 17 17:00, and cards may come back earlier; then vm-r restarts as agreed, every day 22:00-06:00"
        in asked
    )


def test_where_no_other_time_is_agreed_it_is_asked_again(house: House) -> None:
    house.lend("vm-r", "T4-1", "T4-2", "T4-3", "T4-4", until="until tomorrow 18:00")
    asked = text_of(house.say("ada", "request 1 on vm-python restart any time today"))
    assert "That is likely too early; then I ask again." in asked and "as agreed" not in asked
