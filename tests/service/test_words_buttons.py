"""A button outlives what it is about: each that changes anything names its thing, so that an old one can be answered from the books."""

from __future__ import annotations

from bot.domain.grammar import Bare, Heard, RefKind, hear
from bot.domain.news import News
from bot.service import words
from bot.service.ports import Button
from tests.service import words_cases as w
from tests.service.words_rules import NO_WORDS, VERBS

THINGS = frozenset({RefKind.LABEL, RefKind.CARD, RefKind.MOVE})
"""What can be over."""

OF_A_NUMBER = frozenset({"release", "accept", "pass", "keep", "using", "extend", "force release"})
"""Verbs that are about one number or card, and never about whatever there is."""


def heard(button: Button) -> tuple[str, bool, Heard]:
    """The verb, whether it changes anything, and what the line points at."""
    verb, rest = VERBS.find(button.says)
    bare = {"window": Bare.ONLY_WINDOW, "extend": Bare.LENGTH, "adopt": Bare.LENGTH}.get(verb.words[0], Bare.WINDOW)
    names = [m.name for m in w.MACHINES.values()]
    line = hear(
        rest, w.NOW, w.BERLIN, w.POLICY, kinds={"t4": "T4"}, machines=names, cards=tuple(w.cards(40)), bare=bare
    )
    return verb.words[0], verb.writes, line


def binds(button: Button, item: News) -> bool:
    """Whether the line names what the button is about, as exactly as the news knows it."""
    verb, writes, line = heard(button)
    if not writes or verb in NO_WORDS or verb in ("request", "help"):
        return True  # it asks for what it says, whatever was before
    if verb in OF_A_NUMBER:
        return bool(line.refs_of(*THINGS))
    if verb == "window" and line.window is None and not line.flags:
        return line.machine is not None  # it only asks what is agreed
    if verb == "window" and (item.request is not None or item.lease is not None):
        return bool(line.refs_of(RefKind.LABEL))
    return bool(line.refs_of(*THINGS)) or line.machine is not None


def test_every_button_of_the_news_names_its_thing() -> None:
    there = (w.lease(), w.RETURNING, w.ACTIVE, w.request(14, w.CAROL, w.TRAIN), w.OFFERED, w.agreement(), w.standing())
    books, bound = w.books(*there), set()
    for item in w.every_news():
        if item.request is None and item.lease is None and item.move is None and item.machine is None:
            continue  # nothing is known of it: no rule tells it so
        for button in words.news(item, books, w.NOW, w.POLICY).buttons:
            assert binds(button, item), f"{item.kind} to {item.to}: [{button.label}] {button.says}"
            bound.add(heard(button)[0])
    assert {"release", "accept", "pass", "extend", "window"} <= bound


def test_without_a_number_there_is_no_button_that_needs_one() -> None:
    for item in w.every_news():
        for button in words.news(item, w.books(), w.NOW, w.POLICY).buttons:
            verb, _, line = heard(button)
            assert verb not in OF_A_NUMBER or line.refs_of(*THINGS), f"{item.kind}: [{button.label}] {button.says}"
