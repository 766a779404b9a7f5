"""Numbers, cards, kinds and people that are not: every verb refuses them as what they are, and suggests itself and no other verb."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.service.verbs import Verb
from tests.fakes import text_of
from tests.house import VERBS, House
from tests.service.words_rules import check


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One house for all rows, which change nothing in it: ada has T4-1, carol waits."""
    path: Path = tmp_path_factory.mktemp("words")
    house = House(path)
    house.furnish()
    house.lend("vm-python", "T4-1", until="until fri 18:00")
    house.say("carol", "request 1 on vm-train for 2h")
    yield house
    house.close()


VERBS_WITH_WORDS = [verb for verb in VERBS.all if verb.words[0] not in ("pause", "resume")]  # whose words are a reason
NAMED = [verb for verb in VERBS_WITH_WORDS if verb.words[0] not in ("request", "release")]
BAD = [
    "0", "-1", "1.5", "two", "1 2", "99999999999", "#-1", "T4-0", "T4-99999999999999999999", "V100", "m99999999999999999999",
    "@zoe", "<@U9NOBODY>", "<@U9NOBODY|zoe>", "x" * 300, "x" * 300 + "-1", '""', '"', "@", "#", "<@>",
]  # fmt: skip


def said(house: House, verb: Verb, words: str) -> str:
    """What is answered to a verb with words that no verb has a use for; nothing is changed by it."""
    before = house.books
    reply = house.say("dana" if verb.admin else "ada", f"{verb.words[0]} {words}")
    assert house.books == before
    if not reply.ok:
        check(reply)
    return "\n".join([text_of(reply), *(button.says for button in reply.buttons)])


@pytest.mark.parametrize("verb", NAMED, ids=lambda verb: verb.words[0])
def test_no_refusal_suggests_another_verb_than_the_one_that_was_typed(house: House, verb: Verb) -> None:
    for words in BAD:
        text = said(house, verb, words)
        assert "broke" not in text, (words, text)
        assert "number of cards I can lend" not in text and "request 1" not in text, (words, text)


NUMBERED = ["why", "history", "extend", "release", "cancel", "accept", "pass", "window", "keep", "using", "ask"]


@pytest.mark.parametrize("number", ["#0", "#99999999999", f"#{2**63}", f"#{2**63}b", f"#{'9' * 200}"])
@pytest.mark.parametrize("verb", NUMBERED)
def test_of_a_number_that_nothing_has_every_verb_says_so(house: House, verb: str, number: str) -> None:
    reply = house.say("ada", f"{verb} {number}{' now' if verb == 'window' else ''}")
    assert not reply.ok and f"There is no request {number[:30].rstrip('b')}" in text_of(reply), text_of(reply)
    check(reply)


@pytest.mark.parametrize("verb", ["stop", "done", "cancel", "notnow"])
def test_of_a_restart_that_nothing_has_every_verb_says_so(house: House, verb: str) -> None:
    reply = house.say("dana", f"{verb} m99999999999999999999")
    assert not reply.ok and 'I know no restart "m99999999999999999999"' in text_of(reply), text_of(reply)


def test_a_bare_number_is_the_history_of_it(house: House) -> None:
    assert text_of(house.say("ada", "history 1")) == text_of(house.say("ada", "history #1"))
    assert "There is no request #99999999999." in text_of(house.say("ada", "history 99999999999"))


@pytest.mark.parametrize(
    ("line", "works"),
    [
        ("watch 0", "watch, watch T4, watch off"),
        ("watch T4-1", "watch T4"),
        ("why -1", "why, why #12, why @bob, why T4-1"),
        ("release 0", "release 1"),
        ("request T4-1", "request 1 T4"),
    ],
)
def test_the_verb_that_was_typed_is_suggested(house: House, line: str, works: str) -> None:
    reply = house.say("ada", line)
    assert not reply.ok and works in text_of(reply), text_of(reply)
    assert line.split()[0] == "request" or not re.search(r"\brequest\b", text_of(reply)), text_of(reply)


def test_a_part_is_named_with_all_its_letters(house: House) -> None:
    assert "There is no request #1bb." in text_of(house.say("ada", "release #1bb"))


@pytest.mark.parametrize("name", ["@ada", "<@U1ADA>", "<@U1ADA|ada>", "@ADA,"])
def test_for_somebody_is_about_them(house: House, name: str) -> None:
    assert "I do not see T4-2 on exactly one machine" in text_of(house.say("dana", f"adopt T4-2 for {name}"))
    assert "What works: request 1 on vm-r" in text_of(house.say("bob", f"request 1 for {name}"))
