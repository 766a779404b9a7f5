"""Words that a request understands and cannot serve yet are refused, never passed over in silence."""

from __future__ import annotations

import pytest

from tests.fakes import text_of
from tests.house import House


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("request 2 partly", "together"),
        ("request 1 urgent because a deadline", "first come"),
        ("request 1 spare", "first come"),
        ("request 1 from thu 14:00", "booking ahead"),
        ("request 1 before 17:00", "booking ahead"),
        ("request 1 before fri 17:00 because of a talk", "booking ahead"),
    ],
)
def test_what_is_not_possible_yet_is_said(house: House, text: str, says: str) -> None:
    reply = house.say("bob", text)
    assert not reply.ok and says in text_of(reply)
    assert not house.books.requests


@pytest.mark.parametrize("text", ["request 1 restart from 20:00", "request 1 because from today I need it"])
def test_the_same_words_are_fine_elsewhere(house: House, text: str) -> None:
    assert house.say("bob", text).ok and len(house.books.requests) == 1
