"""What somebody says is understood, or refused with what would work; it is never dropped without a word."""

import pytest

from tests.fakes import text_of
from tests.house import House


@pytest.mark.parametrize(
    ("line", "unclear"),
    [
        ("extend 4", "4"),
        ("keep 4", "4"),
        ("why 3", "3"),
        ("accept 2", "2"),
        ("request 1 hard", "hard"),
        ("request 1 even if busy", "even if busy"),
        ("request 1 remove", "remove"),
        ("window hard", "hard"),
        ("window vm-python even if busy", "even if busy"),
        ("window at 25", "at 25"),
        ("release partly", "partly"),
        ("extend urgent", "urgent"),
        ("release 7", "7"),
        ("release T4-1 until fri", "until fri"),
        ("release T4-1 for 8h", "for 8h"),
        ("release @bob", "@bob"),
        ("release m7", "m7"),
        ("keep all", "all"),
        ("pass tonight", "tonight"),
        ("why tonight", "tonight"),
        ("start vm-python 8h", "8h"),
        ("stop #12", "#12"),
        ("request 1 @bob", "@bob"),
        ("request 1 #12", "#12"),
        ("window ask hard", "ask hard"),
        ("request 1 restart when done even if busy", "when done even if busy"),
    ],
)
def test_a_word_of_no_use_here_is_refused(house: House, line: str, unclear: str) -> None:
    house.lend("vm-python", "T4-1")
    before = house.books
    reply = house.say("ada", line)
    assert not reply.ok and f'I do not understand "{unclear}"' in text_of(reply)
    assert "What works: " in text_of(reply)
    assert house.books == before


@pytest.mark.parametrize(
    ("line", "works"),
    [
        ("request 1 before 2h", "before in 2h"),
        ("request 1 from 3d", "from in 3d"),
        ("request 1 from vm-r", "from fri 18:00"),
    ],
)
def test_a_booking_for_no_time_is_refused_with_one(house: House, line: str, works: str) -> None:
    reply = house.say("bob", line)
    assert not reply.ok and f"What works: {works}." in text_of(reply)
    assert not house.books.requests
    assert house.say("bob", f"request 1 {works}").ok


@pytest.mark.parametrize("line", ["release from thu 14:00", "extend before 17:00", "release #1 before thu 9:00"])
def test_no_other_verb_books(house: House, line: str) -> None:
    house.lend("vm-python", "T4-1")
    house.say("ada", line)
    assert not house.books.requests and house.lease("1").state.value in ("active", "returning")


def test_an_hour_that_does_not_exist_is_named(house: House) -> None:
    assert "What works: weekdays 22:00-06:00." in text_of(house.say("bob", "window vm-r weekdays"))
    assert "the day and its hours: fri 22:00-06:00" in text_of(house.say("bob", "window vm-r fri night"))
    assert "at 18:00 (hours go from 0 to 24)" in text_of(house.say("bob", "window vm-r tonight 25:00"))


def test_a_number_that_is_more_than_there_is_gives_nothing_up(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2")
    refused = house.say("ada", "release 3")
    assert "release #3, or release #1 for all of it" in text_of(refused)
    assert house.say("ada", "release 2").ok, "as many as there are"
    house.say("bob", "request 1")
    assert not house.say("bob", "release 2").ok and house.books.requests[2].state.value == "queued"


def test_a_count_that_fits_several_things_is_asked_about_by_lines_that_are_clear_without_it(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2")
    house.say("dana", "machine add vm-spare owners @ada")
    house.say("ada", "request 1 on vm-spare")
    asked = house.say("ada", "release 1 when done")
    assert [b.says for b in asked.buttons] == ["release when done T4-2", "release when done #2"], (
        "one of two, or the one"
    )
    assert [b.says for b in house.say("ada", "release 2").buttons] == ["release #1"], "only one of them has two"


@pytest.mark.parametrize("line", ["I need a gpu tomorrow morning", "please give me a GPU", "gib mir cards"])
def test_a_sentence_about_cards_is_answered_with_how_to_ask_for_one(house: House, line: str) -> None:
    told = house.say("bob", line)
    assert "To ask for a card: /gpu request 1." in text_of(told) and "Did you mean" not in text_of(told)
    assert [b.says for b in told.buttons] == ["request 1", "help"]
    assert "Did you mean" not in text_of(house.say("bob", "I wait")) and "Did you mean" in text_of(
        house.say("bob", "relase card")
    )


@pytest.mark.parametrize(
    ("line", "unclear"),
    [
        ("letgo T4-2 for 8h", "for 8h"),
        ("adopt T4-2 3", "3"),
        ("drain T4-2 tonight because x", "tonight"),
        ("undrain T4-2 #12", "#12"),
        ("force release #12 now because x", "now"),
        ("drain because x", "because x"),
    ],
)
def test_nor_do_the_verbs_of_cards_and_admins_drop_a_word(house: House, line: str, unclear: str) -> None:
    assert f'I do not understand "{unclear}"' in text_of(house.say("dana", line))
