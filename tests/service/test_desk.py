"""The door of people: one line in, one answer out, and nothing half done whatever happens."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bot.domain.model import BOT
from bot.service.desk import LONGEST
from bot.service.ports import Ask, Transaction
from tests.fakes import text_of, uuid
from tests.house import House

BAD = [
    ("requst 1", "request"),  # unknown verb: the nearest is named
    ("request 0", "1 to 4"),
    ("request -1", "1 to 4"),
    ("request 1.5", "1 to 4"),
    ("request two", "1 to 4"),
    ("request 99", "4"),
    ("request 1 A100", "T4"),
    ("request 1 on vm-nowhere", "vm-nowhere"),
    ("request 1 on vm-python", "not yours"),
    ("window vm-python tonight", "not yours"),
    ("request 1 restart today 03:00-04:00", "passed"),
    ("window today 03:00-04:00", "passed"),
    ("request 1 until yesterday", "what works"),
    ("request 1 for ever", "for 8h"),
    ("request 1 because " + "x" * 4000, "at most"),
    ("request 1 because " + "x" * 600, "at most 500"),
    ("request 1 quickly", "quickly"),
    ("release", "no card"),
    ("release T4-9", "T4-1"),
    ("release #77", "#77"),
    ("release T4-1", "nobody has T4-1"),
    ("extend 4h", "no card"),
    ("keep", "no card"),
    ("accept now", "nothing is offered"),
    ("pass", "nothing is offered"),
    ("stop m3", "m3"),
    ("notnow", "no restart"),
    ("window remove", "no restart"),
    ("why @nobody", "nobody"),
    ("drain T4-1 because loud", "admin"),
    ("machine add vm-spare owners @bob", "admin"),
    ("machine token vm-r", "admin"),
    ("force release #1 because I want it", "admin"),
    ("pause", "admin"),
]


@pytest.mark.parametrize(("text", "says"), BAD, ids=lambda value: value[:40])
def test_bad_input_is_answered_and_nothing_is_recorded(house: House, text: str, says: str) -> None:
    before, lines, pending, wakes = house.books, house.store.ledger(), house.store.pending(), house.wakes
    reply = house.say("bob", text)
    assert not reply.ok
    assert says.lower() in text_of(reply).lower()
    assert len(text_of(reply)) < 1500
    assert (house.books, house.store.ledger(), house.store.pending(), house.wakes) == (before, lines, pending, wakes)


def test_a_ping_in_a_reason_is_kept_as_it_was_written_and_shown_as_what_a_person_said(house: House) -> None:
    assert house.say("bob", "request 1 because <!channel> deadline").ok
    assert [request.because for request in house.books.requests.values()] == ["<!channel> deadline"]
    shown = house.say("bob", "why")
    bare = [span for line in shown.lines for span in line if isinstance(span, str)]
    assert "<!channel>" not in "".join(bare)


def test_a_verb_is_known_in_any_case_and_with_any_blanks(house: House) -> None:
    for text in ("REQUEST 1", "  status ", "Machine   List", "\tmine\n"):
        reply = house.say("dana", text)
        assert "I do not know" not in text_of(reply), text


def test_an_empty_line_is_the_status(house: House) -> None:
    assert house.say("ada", "") == house.say("ada", "status")
    assert house.say("ada", " \n ").ok


def test_a_line_that_is_too_long_is_refused(house: House) -> None:
    reply = house.say("bob", "request 1 because " + "é" * (LONGEST * 2))
    assert not reply.ok
    assert str(LONGEST) in text_of(reply)
    assert "That line is too long: 3000 characters" in text_of(house.say("bob", "x" * 3000)), (
        "also if it is no word of ours"
    )


def test_control_characters_do_not_reach_the_books(house: House) -> None:
    assert house.say("bob", "request 1 because \x00\x1b[31mred\r\nand green").ok
    (request,) = house.books.requests.values()
    assert request.because == "[31mred and green"


def test_somebody_unknown_is_refused(house: House) -> None:
    for stranger in ("U9NOBODY", "", "B0T"):
        reply = house.desk.hear(Ask(stranger, "request 1"))
        assert not reply.ok
        assert "cannot find you" in text_of(reply)


def test_somebody_who_left_is_refused(house: House) -> None:
    house.people.leaves("bob")
    reply = house.say("bob", "request 1")
    assert not reply.ok
    assert "closed" in text_of(reply)
    assert house.books.requests == {}


def test_a_writing_verb_wakes_the_rounds_once_and_a_reading_one_does_not(house: House) -> None:
    house.wakes = 0
    for text in ("", "mine", "queue", "why", "help", "help all"):
        assert house.say("bob", text).ok
    assert house.wakes == 0
    assert house.say("bob", "request 1").ok
    assert house.wakes == 1


def test_reading_verbs_write_nothing(house: House) -> None:
    beat = house.store.changed()
    for text in ("", "status", "mine", "queue", "why", "why T4-1", "help", "help all"):
        house.say("bob", text)
    assert house.store.changed() == beat


def test_who_speaks_is_remembered_by_name(house: House) -> None:
    house.say("bob", "status")
    assert ("U2BOB", "bob") in [(person.id, person.name) for person in house.store.persons()]


def test_what_is_said_is_in_the_ledger_with_who(house: House) -> None:
    house.say("bob", "request 1 because training")
    told, said = house.store.ledger("#1")
    assert (said.who, said.why) == ("U2BOB", "training")
    assert (told.who, told.what) == (BOT, "request.promised"), "what it was told is of the bot"


def test_people_are_looked_up_before_the_writers_lock_is_taken(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []
    known: set[str] = set()
    find, inside = house.people.find, threading.Event()
    real = house.store.transaction

    @contextmanager
    def watched() -> Iterator[Any]:
        with real() as transaction:
            inside.set()
            yield transaction

    def slow(word: str) -> Any:
        if word not in known:  # a cache, as every People has one
            known.add(word)
            asked.append((word, inside.is_set()))
        return find(word)

    monkeypatch.setattr(house.store, "transaction", watched)
    monkeypatch.setattr(house.people, "find", slow)
    assert house.say("dana", "machine add vm-spare owners @bob, <@U1ADA>").ok
    assert {word for word, _ in asked} >= {"@bob", "<@U1ADA>"}
    assert not any(late for _, late in asked)


# ---- when something breaks


class _Broken(Exception):
    """An error that nobody expects."""


def test_an_unexpected_error_is_logged_with_its_reference_and_answered(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = house.store.transaction

    @contextmanager
    def breaks() -> Iterator[Any]:
        with real() as transaction:
            yield _Failing(transaction)

    monkeypatch.setattr(house.store, "transaction", breaks)
    before = house.books
    with caplog.at_level(logging.ERROR):
        reply = house.say("bob", "request 1 because secret-word")
    assert not reply.ok
    assert "nothing was changed" in text_of(reply)
    reference = text_of(reply).rsplit(": ", 1)[1].rstrip(".")
    assert f"ask {reference} from U2BOB" in caplog.text
    assert "_Broken" in caplog.text
    monkeypatch.undo()
    assert house.books == before
    assert house.say("bob", "request 1").ok, "the desk goes on"


class _Failing:
    """A transaction that writes and then breaks: what it wrote must not stay."""

    def __init__(self, real: Transaction) -> None:
        self._real = real

    def books(self) -> Any:
        return self._real.books()

    def record(self, changes: Any, posts: Any) -> None:
        self._real.record(changes, posts)
        raise _Broken("no such disk")


def test_a_token_that_could_not_be_kept_is_not_shown(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise _Broken("no such disk")

    monkeypatch.setattr(house.store, "set_token", fails)
    reply = house.say("dana", "machine token vm-r")
    assert not reply.ok
    assert "machine token" not in text_of(reply)
    assert "_Broken" in caplog.text


# ---- the same answer for everybody who asks


def test_the_answer_is_the_same_when_no_bot_looks(house: House) -> None:
    """The last look is in the store: a second process without a lab answers from it."""
    house.say("bob", "request 1")
    first = [house.say("bob", text) for text in ("", "mine", "queue", "why", "why T4-1", "machine list")]
    house.lab.away = True
    house.restart("another")
    assert [house.say("bob", text) for text in ("", "mine", "queue", "why", "why T4-1", "machine list")] == first


def test_a_machine_that_is_unknown_to_the_look_can_not_be_added_before_the_first_look(tmp_path: Any) -> None:
    house = House(tmp_path)
    try:
        reply = house.say("dana", "machine add vm-r owners @bob")
        assert not reply.ok
        assert "not seen" in text_of(reply)
        assert uuid("vm-r") not in house.books.machines
    finally:
        house.close()
