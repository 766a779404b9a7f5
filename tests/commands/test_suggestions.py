"""What a button suggests after a refusal keeps the other words of what was said, and works."""

import pytest

from tests.fakes import text_of
from tests.house import House


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("request 2 T4x on vm-r for 8h", ["request 2 T4 on vm-r for 8h"]),
        ("request 2 t4X restart tonight because T4x it is", ["request 2 T4 restart tonight because T4x it is"]),
        ("request 9 on vm-r for 8h", ["request 1 on vm-r for 8h", "request 4 on vm-r for 8h"]),
        ("request 9x T4 until fri 18:00", ["request 1 T4 until fri 18:00", "request 4 T4 until fri 18:00"]),
        ("request 1.5 on vm-r restart now", ["request 1 on vm-r restart now"]),
        ("request two on vm-r", ["request 1 on vm-r"]),
        ("request 2 on vm-x for 8h because x", ["request 2 on vm-r for 8h because x", "mine"]),
        ("reqest 2 on vm-r for 8h", ["request 2 on vm-r for 8h", "help"]),
        ("request 1 on vm-r for 30d restart tonight", ["request 1 on vm-r for 14 days restart tonight", "mine"]),
        ("request 1 on vm-r for 400d because y", ["request 1 on vm-r for 14 days because y", "mine"]),
        ("request 1 until 9:00 on vm-r", ["request 1 until tomorrow 09:00 on vm-r"]),
    ],
)
def test_a_suggestion_keeps_the_other_words(house: House, line: str, says: list[str]) -> None:
    reply = house.say("bob", line)
    assert not reply.ok
    assert [button.says for button in reply.buttons] == says, text_of(reply)
    assert house.say("bob", says[0]).ok


def test_a_menu_keeps_a_long_reason_whole(house: House) -> None:
    house.say("dana", "machine add vm-spare owners @bob")
    reason = "the reviewers asked for one more experiment " * 5
    reply = house.say("bob", f"request 1 because {reason}")
    assert house.say("bob", reply.buttons[0].says).ok
    assert house.books.requests[1].because == reason.strip()


def test_a_guess_offers_nothing_that_gives_up(house: House) -> None:
    assert [button.says for button in house.say("bob", "relase all now").buttons] == ["help"]
