"""A database that cannot be written, or is gone: what people are told, what goes out, what a round does, and what is counted."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from bot.domain.draft import Changes
from bot.domain.model import Books
from bot.edges.meter import Meter
from bot.edges.store import SqlStore
from bot.service.counting import CountedLab, counted_desk, counted_round, facts_of
from bot.service.ports import Again, Ask, Post, Reply
from tests.fakes import text_of
from tests.house import VERBS, House


@contextmanager
def read_only(store: SqlStore) -> Iterator[None]:
    """As on a file system that was remounted after an error: SQLite itself refuses to write."""

    def checked_out(raw: Any, *_: object) -> None:
        raw.execute("PRAGMA query_only = ON")

    engine = store._gate.engine
    event.listen(engine, "checkout", checked_out)
    try:
        yield
    finally:
        event.remove(engine, "checkout", checked_out)

        def writable(raw: Any, *_: object) -> None:
            raw.execute("PRAGMA query_only = OFF")

        event.listen(engine, "checkout", writable)


def test_who_asks_is_told_that_nothing_was_changed_and_what_an_admin_can_do(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    before = house.books
    with read_only(house.store):
        reply = house.say("bob", "request 1")
        status = house.say("bob", "status")
    assert not reply.ok and status.ok, "what needs no writing is answered"
    said = text_of(reply)
    assert said.startswith("Nothing was changed: my database cannot be written")
    assert "For an admin: give this user the right" in said and "reference" not in said
    assert house.books == before
    assert "Traceback" not in caplog.text and "cannot be written" in caplog.text
    assert house.say("bob", "request 1").ok, "it goes on when it can be written again"


def test_who_asks_is_told_that_the_file_is_gone(house: House) -> None:
    (house.path / "gpubot.db").unlink()
    for line in ("request 1", "status", "why"):
        reply = house.say("bob", line)
        assert not reply.ok
        said = text_of(reply)
        assert said.startswith("I have stopped: my database file was removed or moved, and nothing that was said since")
        assert "admin" in said and str(house.path) not in said


def test_a_round_does_nothing_and_says_why(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.say("bob", "request 1 on vm-r restart now")
    claimed: list[object] = []

    def claim() -> bool:
        claimed.append(None)
        with house.store.transaction():
            return True

    house.rounds._claim = claim
    house.round()
    assert house.rounds.trouble == "" and house.rounds.good_ago() == 0.0
    looks = house.lab.looks
    (house.path / "gpubot.db").unlink()
    with caplog.at_level(logging.ERROR):
        house.rounds.round()
    assert house.lab.looks == looks and "was removed or moved" in house.rounds.trouble
    assert "another bot" not in caplog.text and "Traceback" not in caplog.text and claimed


def test_a_message_that_cannot_be_noted_is_not_sent_again_and_again(house: House) -> None:
    with house.store.transaction() as transaction:
        transaction.record(
            Changes(), [Post(0, who, Reply(((text,),))) for who, text in (("U1ADA", "a"), ("U2BOB", "b"))]
        )
    teller = house.rounds._teller
    with read_only(house.store):
        for _ in range(5):
            house.clock.forward(minutes=5)
            with pytest.raises(Exception, match="cannot be written"):
                teller.tell()
    assert (house.voice.said_to("U1ADA"), house.voice.said_to("U2BOB")) == (["a"], []), "once, and nothing after it"
    teller.tell()
    assert (house.voice.said_to("U1ADA"), house.voice.said_to("U2BOB")) == (["a"], ["b"])
    assert house.store.pending() == 0


def test_a_call_is_not_made_when_the_books_are_gone(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """It was written down, and then the file went: nothing is asked of vCenter any more."""
    house.say("bob", "request 1 on vm-r restart now")
    begin = house.rounds._performer.start
    begun: list[int] = []

    def late(books: Books) -> int:
        if any(move.call is not None for move in books.moves.values()):
            (house.path / "gpubot.db").unlink(missing_ok=True)
        begun.append(begin(books))
        return begun[-1]

    house.rounds._performer.start = late  # type: ignore[method-assign]
    for _ in range(10):
        house.clock.forward(minutes=1)
        house.rounds.round()
        house.settle()
    assert any(begun) and house.lab.calls == []
    assert "was removed or moved" in caplog.text and "Traceback" not in caplog.text


# ---- what is counted


def counts(meter: Meter, name: str) -> dict[tuple[str, ...], float]:
    """Label values to the number of observations."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in meter.registry.collect()
        for sample in family.samples
        if sample.name == name
    }


def test_lines_are_counted_by_verb_and_never_by_what_was_typed(house: House) -> None:
    meter = Meter()
    hear = counted_desk(house.desk.answered, VERBS, meter, house.clock.real)
    for text in ("request 1", "request 99", "my-secret-word", ""):
        hear(Ask("U2BOB", text))
    with read_only(house.store):
        hear(Ask("U1ADA", "request 1 on vm-python"))
    found = counts(meter, "gpubot_command_seconds_count")
    assert found == {
        ("request", "done"): 1, ("request", "refused"): 1, ("unknown", "refused"): 1, ("status", "done"): 1, ("request", "not_kept"): 1,
    }  # fmt: skip


def test_calls_to_vcenter_are_counted_by_kind_and_outcome(house: House) -> None:
    meter = Meter()
    lab = CountedLab(house.lab, meter, house.clock.real)
    lab.look()
    house.lab.away = True
    with pytest.raises(Again):
        lab.look()
    found = counts(meter, "gpubot_vcenter_call_seconds_count")
    assert found[("look", "ok")] == 1 and found[("look", "again")] == 1


@pytest.mark.parametrize(("trouble", "outcome"), [("", "good"), ("another bot has this database", "idle")])
def test_rounds_are_counted(trouble: str, outcome: str) -> None:
    meter = Meter()
    counted_round(lambda: None, lambda: trouble, meter, lambda: 0.0)()
    assert counts(meter, "gpubot_round_seconds_count") == {(outcome,): 1}


def test_a_round_that_fails_is_counted() -> None:
    meter = Meter()

    def fails() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        counted_round(fails, lambda: "", meter, lambda: 0.0)()
    assert counts(meter, "gpubot_round_seconds_count") == {("failed",): 1}


def facts(house: House) -> Callable[[], Any]:
    return lambda: facts_of(
        house.store, house.clock.now(), slack=True, vcenters={"lab": True}, good_ago=1.0, works=True
    )


def test_how_things_stand(house: House) -> None:
    house.lend("vm-python", "T4-1")
    house.say("dana", "drain T4-2 because it is loud")
    house.say("bob", "request 2 on vm-r")
    found = facts(house)()
    assert found.store and found.waiting == 1 and found.outbox == house.store.pending()
    assert {state: n for state, n in found.cards.items() if n} == {"in_use": 1, "resting": 1, "free": 2}
    (Path(house.path) / "gpubot.db").unlink()
    assert not facts(house)().store
