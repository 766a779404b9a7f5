"""using: "I am using it" is taken, counted and public, and asks no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain import idle
from tests.commands.quiet_house import ADA, QuietHouse
from tests.fakes import text_of
from tests.service.words_rules import check


@pytest.fixture
def house(tmp_path: Path) -> Iterator[QuietHouse]:
    house = QuietHouse(tmp_path)
    yield house
    house.close()


def test_the_question_comes_with_its_evidence_and_is_answered_by_its_button(house: QuietHouse) -> None:
    question = house.asked("T4-1", "T4-2")
    said = text_of(question)
    assert said.startswith("Cards T4-1 and T4-2 in vm-python have done nothing since")
    assert "U2BOB has been waiting for a T4 since" in said
    reply = house.say("ada", question.buttons[2].says)
    check(reply)
    assert "then I was wrong: I do not ask about T4-1 and T4-2 again" in text_of(reply)
    assert "This counts as a false alarm: my only question this month." in text_of(reply)
    house.round()
    assert text_of(house.question()).startswith("Thank you, U1ADA, then I was wrong. I will not ask about T4-1"), (
        "the question is edited"
    )
    posts = len(house.voice.posts)
    house.pass_time(130)
    assert [text_of(r) for to, r in house.voice.posts[posts:] if to == ADA and "done nothing" in text_of(r)] == []


def test_a_reason_is_taken_and_shown_to_who_waits(house: QuietHouse) -> None:
    house.asked("T4-1")
    reply = house.say("ada", "using because it loads data")
    assert reply.ok and "it loads data" in text_of(reply) and [b.says for b in reply.buttons] == ["mine"]
    assert "U2BOB waits, and sees that it is in use and the reason." in text_of(reply), "which is read there, too"
    assert house.books.watches["T4-1"].because == "it loads data"
    assert "it loads data" in text_of(house.say("bob", "why T4-1"))


def test_of_two_quiet_cards_one_may_be_in_use(house: QuietHouse) -> None:
    house.asked("T4-1", "T4-2")
    assert house.say("ada", "using T4-2").ok
    watches = house.books.watches
    assert watches["T4-2"].using is not None and watches["T4-1"].using is None


def test_a_reason_afterwards_counts_no_second_false_alarm(house: QuietHouse) -> None:
    house.asked("T4-1")
    first = house.say("ada", "using T4-1")
    said = text_of(first)
    assert "U2BOB waits, and sees that it is in use; why only if a reason is given." in said
    assert "what did I miss? Who waits may read it." in said and "It stays yours until" in said
    assert [b.says for b in first.buttons] == [
        "using T4-1 because it loads data",
        "using T4-1 because it serves or waits",
        "using T4-1 because I work on it by hand",
    ]
    house.round()
    edited = house.question()
    assert "?" not in text_of(edited) and not edited.buttons and len(text_of(edited).splitlines()) == 2
    assert house.say("ada", first.buttons[0].says).ok
    assert idle.rate(house.books.numbers, house.clock.now()) == (1, 1)
    lines = [line.what for line in house.store.ledger(about="#1")]
    assert (lines.count("idle.asked"), lines.count("idle.false_alarm")) == (1, 1), "reports count these"


def test_a_card_that_was_not_asked_about_is_silenced_and_no_false_alarm(house: QuietHouse) -> None:
    house.lend("vm-python", "T4-1")
    reply = house.say("ada", "using T4-1")
    assert reply.ok and "wrong" not in text_of(reply) and "false alarm" not in text_of(reply)
    assert idle.rate(house.books.numbers, house.clock.now()) == (0, 0)


def test_who_was_not_asked_is_not_told_that_i_was_wrong(tmp_path: Path) -> None:
    house = QuietHouse(tmp_path, nudge=False)
    house.lend("vm-python", "T4-1")
    house.round()
    house.say("bob", "request 4")
    house.pass_time(66)
    assert house.books.numbers.get("would nudge", 0) == 1, "it would have been asked about"
    reply = house.say("ada", "using T4-1")
    assert reply.ok and "wrong" not in text_of(reply) and "false alarm" not in text_of(reply)
    house.close()


NO = [
    ("bob", "using T4-1", "is not yours"),
    ("bob", "using #1", "is not yours"),
    ("bob", "using", "no card that works"),
    ("ada", "using T4-9", "T4-9"),
    ("ada", "using T4-3", "nobody has T4-3"),
    ("ada", "using #99", "#99"),
    ("ada", "using T4-1 for 3h", "3h"),
    ("ada", "using perhaps", "perhaps"),
    ("ada", "using T4-1 because " + "x" * 501, "501"),
]


@pytest.mark.parametrize(("who", "line", "says"), NO, ids=[line[:20] for _, line, _ in NO])
def test_what_is_no_answer_is_refused_and_changes_nothing(house: QuietHouse, who: str, line: str, says: str) -> None:
    house.lend("vm-python", "T4-1")
    before = house.books
    reply = house.say(who, line)
    assert not reply.ok and says in text_of(reply), text_of(reply)
    assert house.books == before


def test_a_card_on_its_way_back_is_kept_instead(house: QuietHouse) -> None:
    house.lend("vm-python", "T4-1")
    house.say("ada", "release T4-1")
    reply = house.say("ada", "using T4-1")
    assert not reply.ok and "keep #1" in text_of(reply)


def test_an_admin_may_answer_and_the_holder_is_told(house: QuietHouse) -> None:
    house.asked("T4-1")
    reply = house.say("dana", "using T4-1 because ada is at a conference")
    check(reply)
    assert reply.ok and "U1ADA is told" in text_of(reply)
    house.rounds.tell()
    assert any(to == ADA and "U4DANA said that it is in use" in text_of(r) for to, r in house.voice.posts)


def test_work_that_begins_withdraws_the_question(house: QuietHouse) -> None:
    house.asked("T4-1")
    house.pass_time(5, busy=("T4-1",))
    assert "busy again, sorry for asking" in text_of(house.question())


def test_the_nudge_gives_one_card_back_when_the_other_is_done(house: QuietHouse) -> None:
    house.lend("vm-python", "T4-1", "T4-2")
    house.round()
    house.say("bob", "request 4")
    house.pass_time(3, busy=("T4-1", "T4-2"))
    house.pass_time(63, busy=("T4-1",))
    question = house.question()
    assert text_of(question).startswith("Card T4-2 in vm-python has done nothing since")
    assert "Your other card T4-1 is at work." in text_of(question)
    assert question.buttons[0].says == "release T4-2 when done"
    reply = house.say("ada", question.buttons[0].says)
    assert reply.ok and "T4-2 is given back" in text_of(reply) and house.lease("1").slots == ("T4-1",)
    house.round()
    assert "T4-2 is given back, thank you" in text_of(house.question())


def test_the_last_of_two_answers_is_what_is_said(house: QuietHouse) -> None:
    house.lend("vm-python", "T4-1")
    assert house.say("ada", "using T4-1").ok and house.say("ada", "keep T4-1 4h because of the demo").ok
    said = text_of(house.say("ada", "why T4-1"))
    assert "You asked to keep it until" in said and "in use" not in said
    assert house.say("ada", "using T4-1").ok
    said = text_of(house.say("ada", "why T4-1"))
    assert "in use" in said and "keep it until" not in said
    assert house.say("ada", "keep T4-1 4h").ok and house.say("ada", "release T4-1").ok
    assert "keep it until" not in text_of(house.say("ada", "why T4-1"))
