"""watch: what is remembered, shown and taken back; and the message when something is free."""

from __future__ import annotations

import pytest

from tests.fakes import text_of, uuid
from tests.house import House
from tests.service.words_rules import check

BOB = "U2BOB"


@pytest.fixture
def full(house: House) -> House:
    """All cards are lent."""
    house.lend("vm-python", "T4-1", "T4-2", until="until fri 18:00")
    house.lend("vm-train", "T4-3", "T4-4", until="until fri 18:00")
    house.round()
    return house


def test_it_is_told_once_with_a_button(full: House) -> None:
    reply = full.say("bob", "watch")
    assert reply.ok and text_of(reply).startswith("I tell you once when a T4 is free and nobody waits for it.")
    check(reply)
    full.say("ada", "release #1 now")
    full.forward(6)
    (told,) = [r for to, r in full.voice.posts if to == BOB and "nobody waits" in text_of(r)]
    check(told)
    assert "2 T4 are free" in text_of(told) and told.buttons[0].says == "request 1 T4"
    assert "I tell you once" not in text_of(full.say("bob", "mine"))
    assert full.say("bob", told.buttons[0].says).ok


def test_again_it_stands_already_and_mine_shows_it_and_off_takes_it_back(full: House) -> None:
    full.say("bob", "watch T4")
    full.clock.forward(hours=1)
    again = full.say("bob", "watch")
    assert again.ok and text_of(again).startswith("I watch for a T4 for you already, since 16 09:00")
    check(again)
    mine = full.say("bob", "mine")
    assert "I tell you once when nobody waits and there is free: a T4" in text_of(mine)
    check(mine)
    off = full.say("bob", "watch off")
    assert off.ok and text_of(off).startswith("I watch no more for a T4.")
    check(off)
    assert "I tell you once" not in text_of(full.say("bob", "mine"))
    nothing = full.say("bob", "watch off")
    assert nothing.ok and text_of(nothing).startswith("I watch for nothing for you.")
    check(nothing)


def test_others_who_wait_are_told_of(full: House) -> None:
    full.say("carol", "request 1")
    answer = text_of(full.say("bob", "watch"))
    assert "1 person waits for T4 now, and comes first." in answer
    full.say("ada", "request 1 on vm-python from thu 14:00")
    booked = "and comes first; 1 request is booked for later, and does not count before."
    assert booked in text_of(full.say("bob", "watch"))
    queue = text_of(full.say("bob", "queue"))
    assert queue.startswith("2 requests in line, 1 of them booked for later, first: ") and "booked from" in queue


def test_what_is_free_now_needs_no_watch(house: House) -> None:
    house.round()
    reply = house.say("bob", "watch")
    assert reply.ok and "4 T4 are free now" in text_of(reply) and not house.books.interests
    assert reply.buttons[0].says == "request 1"
    check(reply)


def test_who_is_in_line_hears_anyway(full: House) -> None:
    full.say("bob", "request 1")
    reply = full.say("bob", "watch")
    assert not reply.ok and "why #3" in text_of(reply) and not full.books.interests
    check(reply)


REFUSED = [
    ("watch A100", ['kind "A100"', "T4"]),
    ("watch 2", ["do not understand", "watch T4"]),
    ("watch tonight", ["do not understand", "watch T4"]),
    ("watch T4 on vm-r", ["do not understand"]),
    ("watch @ada", ["do not understand", "watch T4"]),
    ("watch off A100", ['kind "A100"']),
]


@pytest.mark.parametrize(("line", "words"), REFUSED, ids=[line for line, _ in REFUSED])
def test_what_cannot_be_watched_has_an_answer_with_what_works(full: House, line: str, words: list[str]) -> None:
    reply = full.say("bob", line)
    assert not reply.ok and not full.books.interests
    for word in words:
        assert word in text_of(reply), text_of(reply)
    check(reply)


@pytest.mark.parametrize("line", ["watch for a T4", "notify me", "tell me when a T4 is free", "watch gpu"])
def test_other_words_for_it(full: House, line: str) -> None:
    assert full.say("bob", line).ok and [x.kind for x in full.books.interests.values()] == ["T4"]


def test_the_books_of_another_process_have_it(full: House) -> None:
    full.say("bob", "watch")
    full.restart("run-2")
    assert [x.person for x in full.books.interests.values()] == [BOB]
    full.lab.vms[uuid("vm-python")].gone = True
    full.round(3)
    assert any("free, and nobody waits" in text_of(r) for to, r in full.voice.posts if to == BOB)
