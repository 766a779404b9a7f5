"""keep of a card that works: no question for a while, with a reason that is public."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.commands.quiet_house import ADA, QuietHouse
from tests.fakes import text_of
from tests.service.words_rules import check

H = timedelta(hours=1)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[QuietHouse]:
    house = QuietHouse(tmp_path)
    yield house
    house.close()


def test_the_button_of_the_question_keeps_it_two_hours_and_offers_longer(house: QuietHouse) -> None:
    question = house.asked("T4-1")
    reply = house.say("ada", question.buttons[1].says)
    check(reply)
    assert house.books.watches["T4-1"].keep_until == house.clock.now() + 2 * H
    assert "I do not ask about T4-1 before" in text_of(reply) and "because TEXT" in text_of(reply)
    assert [b.says for b in reply.buttons][:2] == ["keep T4-1 4h", "keep T4-1 until tomorrow 09:00"]
    house.round()
    assert "I do not ask before" in text_of(house.question()), "the question is edited"
    posts = len(house.voice.posts)
    house.pass_time(115)
    assert not [r for to, r in house.voice.posts[posts:] if to == ADA and "done nothing" in text_of(r)]


def test_two_hours_are_meant_if_no_time_is_said(house: QuietHouse) -> None:
    house.asked("T4-1")
    assert house.say("ada", "keep").ok
    assert house.books.watches["T4-1"].keep_until == house.clock.now() + 2 * H


def test_a_reason_is_public(house: QuietHouse) -> None:
    house.asked("T4-1")
    reply = house.say("ada", "keep T4-1 until fri 18:00 because the demo is on friday")
    check(reply)
    assert reply.ok and "the demo is on friday" in text_of(reply) and "because TEXT" not in text_of(reply)
    assert "the demo is on friday" in text_of(house.say("bob", "why T4-1"))


def test_it_makes_no_time_longer_and_says_what_does(house: QuietHouse) -> None:
    lease = house.lend("vm-python", "T4-1", until="until today 17:00")
    reply = house.say("ada", "keep T4-1 until today 19:00")
    assert reply.ok and "extend makes its time longer" in text_of(reply)
    assert house.lease("1").end == lease.end
    assert [b.says for b in reply.buttons if b.says.startswith("extend")] == ["extend #1 until today 19:00"]


def test_more_than_a_day_needs_a_reason_and_nothing_is_lost(house: QuietHouse) -> None:
    house.lend("vm-python", "T4-1")
    before = house.books
    reply = house.say("ada", "keep T4-1 30h")
    assert not reply.ok and "without a reason" in text_of(reply) and "keep T4-1 30h because" in text_of(reply)
    assert not any("TEXT" in b.says for b in reply.buttons), "a reason is typed, not pressed"
    assert house.books == before
    assert house.say("ada", "keep T4-1 30h because the demo").ok


NO = [
    ("bob", "keep T4-1 2h", "is not yours"),
    ("bob", "keep", "no card of yours"),
    ("ada", "keep T4-3 2h", "nobody has T4-3"),
    ("ada", "keep T4-1 until yesterday", "yesterday"),
    ("ada", "keep T4-1 until today 06:00", "06:00"),
    ("ada", "keep T4-1 restart tonight", "tonight"),
    ("ada", "keep T4-1 perhaps", "perhaps"),
]


@pytest.mark.parametrize(("who", "line", "says"), NO, ids=[line for _, line, _ in NO])
def test_what_cannot_be_kept_is_refused_and_changes_nothing(house: QuietHouse, who: str, line: str, says: str) -> None:
    house.lend("vm-python", "T4-1")
    before = house.books
    reply = house.say(who, line)
    assert not reply.ok and says in text_of(reply), text_of(reply)
    assert house.books == before


def test_of_what_goes_back_and_what_was_asked_about_it_is_asked_which(house: QuietHouse) -> None:
    house.asked("T4-1", "T4-2")
    house.say("ada", "release T4-1")
    reply = house.say("ada", "keep")
    assert not reply.ok and {b.says for b in reply.buttons} == {"keep #1", "keep #1b"}


def test_of_several_that_are_named_none_is_passed_over(house: QuietHouse) -> None:
    house.lend("vm-python", "T4-1")
    house.lend("vm-python", "T4-2")
    assert house.say("ada", "keep T4-1 T4-2 3h because both").ok
    assert {w.because for w in house.books.watches.values()} == {"both"}
    house.say("ada", "release T4-1")
    reply = house.say("ada", "keep T4-1 T4-2")
    assert not reply.ok and "#1 or #2" in text_of(reply)
    house.say("ada", "release T4-2")
    reply = house.say("ada", "keep T4-1 T4-2")
    assert not reply.ok and "#1 or #2" in text_of(reply)


def test_where_questions_are_off_it_says_so(tmp_path: Path) -> None:
    house = QuietHouse(tmp_path, nudge=False)
    house.lend("vm-python", "T4-1")
    assert "are off here" in text_of(house.say("ada", "keep T4-1 2h"))
    house.close()
