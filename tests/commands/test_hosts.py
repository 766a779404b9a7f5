"""Whole hosts in what admins say: drained, shown so, and back."""

from __future__ import annotations

import pytest

from tests.fakes import text_of
from tests.house import House


def host_of(house: House) -> str:
    return next(iter(house.books.cards.values())).host_name


def test_a_host_is_drained_and_back_by_its_name(house: House) -> None:
    name = host_of(house)
    reply = house.say("dana", f"drain {name.upper()} because it gets new memory")
    text = text_of(reply)
    assert reply.ok and f"All of {name}, also cards that I see there later" in text and "it gets new memory" in text, (
        text
    )
    assert all(c.aside is not None and c.aside.host == name for c in house.books.cards.values())
    assert f"resting with all of {name}: it gets new memory" in text_of(house.say("bob", "status"))
    assert reply.buttons[0].says == f"undrain {name}"
    refused = house.say("dana", "undrain T4-1")
    assert not refused.ok and f"undrain {name}" in text_of(refused)
    assert house.say("dana", f"undrain {name}").ok
    assert not any(c.aside for c in house.books.cards.values())


def test_a_card_that_rests_for_its_own_cause_is_named_when_its_host_is_back(house: House) -> None:
    name = host_of(house)
    assert house.say("dana", "drain T4-2 because its fan is loud").ok
    assert house.say("dana", f"drain {name} because it gets new memory").ok
    text = text_of(house.say("dana", f"undrain {name}"))
    assert "T4-1, T4-3 and T4-4 are back" in text and "its fan is loud" in text, text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("drain {host}", "because"),
        ("undrain {host}", "already"),
        ("drain {host}x because loud", "{host}x"),
        ("undrain nowhere-01", "nowhere-01"),
        ("drain {host} T4-99 because loud", "T4-1"),
    ],
)
def test_what_cannot_be_changes_nothing(house: House, text: str, says: str) -> None:
    name, before = host_of(house), house.books
    reply = house.say("dana", text.format(host=name))
    assert not reply.ok and says.format(host=name).lower() in text_of(reply).lower(), text_of(reply)
    assert house.books == before


def test_admins_alone(house: House) -> None:
    assert not house.say("bob", f"drain {host_of(house)} because I want it").ok
