"""Characters that nobody sees do nothing: not in what people type, not in the names of people and machines, not in what is shown."""

from dataclasses import replace

import pytest

from bot.domain.grammar import hear, split_because
from bot.domain.model import Person
from bot.domain.visible import INVISIBLE, visible
from bot.edges.slack import blocks
from bot.service import words
from tests.fakes import text_of
from tests.house import House
from tests.service import words_cases as w

EACH = sorted(INVISIBLE)


def test_the_list_has_what_turns_text_around_and_what_has_no_width() -> None:
    for first, last in ((0x200B, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069), (0xFEFF, 0xFEFF)):
        assert {chr(code) for code in range(first, last + 1)} <= INVISIBLE
    assert visible("ünïcödé 🦥 日本 عربي") == "ünïcödé 🦥 日本 عربي"


@pytest.mark.parametrize("sign", EACH, ids=lambda sign: f"{ord(sign):04X}")
def test_what_is_typed_is_read_without_them(house: House, sign: str) -> None:
    reply = house.say("bob", f"{sign}re{sign}quest {sign}1{sign} on vm{sign}-r because {sign}it is{sign} so")
    assert reply.ok, text_of(reply)
    (request,) = house.books.requests.values()
    assert (request.count, request.because) == (1, "it is so")


def test_a_machine_is_found_by_what_is_seen_of_its_name(house: House) -> None:
    odd = replace(next(m for m in house.books.machines.values() if m.name == "vm-r"), name="vm\u200b-r\u202e")
    house.put(odd)
    reply = house.say("bob", "request 1 on vm-r")
    assert reply.ok, text_of(reply)
    assert not INVISIBLE & set(text_of(reply))
    agreed = house.say("bob", "window vm-r tonight")
    assert agreed.buttons[0].says == "window #1 remove"
    assert house.say("bob", agreed.buttons[0].says).ok


@pytest.mark.parametrize("sign", EACH, ids=lambda sign: f"{ord(sign):04X}")
def test_nothing_that_is_shown_has_them(sign: str) -> None:
    machine = replace(next(iter(w.MACHINES.values())), name=f"vm{sign}-r")
    bob = Person("UBOB", f"b{sign}ob", w.BERLIN)
    scene = w.scene()
    for reply in (words.status(scene, "UBOB"), words.machine_list(scene)):
        assert sign not in words.terminal(reply, w.BERLIN, lambda _: bob.name, w.NOW)
        assert sign not in str(blocks.message(reply, lambda _: bob.name))
    assert sign not in words.terminal(words.machine_removed(scene, machine), w.BERLIN, lambda _: "", w.NOW)


def test_the_grammar_gives_the_name_as_the_pool_spells_it() -> None:
    odd = "vm\u200b-r"
    assert hear("on vm-r", w.NOW, w.BERLIN, w.POLICY, kinds={}, machines=(odd,), cards=()).machine == odd


@pytest.mark.parametrize(
    "sign", ["\u3164", "\u2800", "\u00a0\u2003", "\u034f", "\U000e0041", "\ufe0f", "\u0301", "\uffa0\u115f", "\u200b"]
)
def test_a_reason_of_which_nothing_is_seen_is_none(sign: str) -> None:
    assert split_because(f"T4-1 48h because {sign}{sign}") == ("T4-1 48h", "")
    assert split_because(f"T4-1 48h because {sign}🦥")[1].endswith("🦥")
    assert split_because("T4-1 because 日本")[1] == "日本"
