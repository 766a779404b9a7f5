"""The outbox and the board: everything is said at least once, in order, and nobody's failure is another's."""

import logging
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from bot.domain.draft import Changes
from bot.domain.news import ADMINS, CHANNEL
from bot.service.ports import (
    Bold,
    Code,
    Gone,
    Name,
    Ping,
    Post,
    Reply,
    Said,
    Span,
    TryLater,
    Unreachable,
    VoiceError,
    When,
)
from tests.house import House


def write(house: House, to: str, text: str, key: str = "", once: str = "") -> None:
    """Put a message into the outbox."""
    with house.store.transaction() as transaction:
        transaction.record(Changes(), [Post(0, to, Reply(((text,),)), key=key, once=once)])


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[House]:
    """A house with nothing to tell, and no board (there is no card yet)."""
    house = House(tmp_path)
    yield house
    house.close()


def drain(house: House) -> int:
    """Tell without the board."""
    return house.rounds._teller.tell()


# ---- the outbox


def test_a_message_goes_out_once(quiet: House) -> None:
    write(quiet, "U2BOB", "hello")
    assert drain(quiet) == 1
    assert drain(quiet) == 0
    assert quiet.voice.said_to("U2BOB") == ["hello"]
    assert quiet.store.pending() == 0


def test_messages_to_one_person_keep_their_order(quiet: House) -> None:
    for text in "abc":
        write(quiet, "U2BOB", text)
    drain(quiet)
    assert quiet.voice.said_to("U2BOB") == ["a", "b", "c"]


def test_a_message_with_a_key_edits_the_one_that_stands(quiet: House) -> None:
    for text in ("one", "two", "three"):
        write(quiet, "U2BOB", text, key="k")
        drain(quiet)
    assert quiet.voice.said_to("U2BOB") == ["three"]
    assert len(quiet.voice.posts) == 1


def test_a_message_that_was_deleted_is_posted_anew_and_edited_from_then_on(quiet: House) -> None:
    write(quiet, "U2BOB", "one", key="k")
    drain(quiet)
    quiet.voice.standing.clear()
    write(quiet, "U2BOB", "two", key="k")
    assert drain(quiet) == 1
    write(quiet, "U2BOB", "three", key="k")
    drain(quiet)
    assert quiet.voice.said_to("U2BOB") == ["three"]
    assert len(quiet.voice.posts) == 2


def test_who_is_rate_limited_waits_real_seconds_and_holds_nobody_up(quiet: House) -> None:
    quiet.voice.errors["U2BOB"] = [TryLater("slow down", timedelta(seconds=30))]
    write(quiet, "U2BOB", "first")
    write(quiet, "U2BOB", "second")
    write(quiet, "U1ADA", "hello")
    assert drain(quiet) == 1
    assert quiet.voice.said_to("U1ADA") == ["hello"]
    quiet.clock.at += timedelta(days=1)  # a fast virtual clock does not shorten Slack's seconds
    assert drain(quiet) == 0
    assert quiet.store.pending() == 2
    quiet.clock.seconds += 30
    assert drain(quiet) == 2
    assert quiet.voice.said_to("U2BOB") == ["first", "second"]


def test_a_clock_that_stands_still_does_not_keep_a_message_for_ever(quiet: House) -> None:
    quiet.voice.errors["U2BOB"] = [TryLater("slow down", timedelta(seconds=30))]
    write(quiet, "U2BOB", "hello")
    drain(quiet)
    quiet.clock.seconds += 30
    assert drain(quiet) == 1


@pytest.mark.parametrize("error", [VoiceError("who knows"), RuntimeError("a bug in an edge")], ids=["voice", "strange"])
def test_an_unknown_failure_is_logged_and_tried_again_with_growing_pauses(
    quiet: House, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    quiet.voice.deaf["U2BOB"] = error  # type: ignore[assignment]
    write(quiet, "U2BOB", "hello")
    write(quiet, "U1ADA", "hello")
    pauses = []
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            drain(quiet)
            start = quiet.clock.seconds
            tries = quiet.store.unsent(quiet.clock.now())[0].tries
            while quiet.store.unsent(quiet.clock.now())[0].tries == tries:
                quiet.clock.seconds += 1
                drain(quiet)
            pauses.append(quiet.clock.seconds - start)
    assert str(error) in caplog.text
    assert pauses == sorted(pauses) and pauses[-1] > pauses[0]
    assert quiet.voice.said_to("U1ADA") == ["hello"]
    del quiet.voice.deaf["U2BOB"]
    quiet.clock.seconds += 600
    assert drain(quiet) == 1


def test_who_cannot_be_reached_is_given_up_and_told_to_the_admins_once_a_day(quiet: House) -> None:
    quiet.voice.deaf["U2BOB"] = Unreachable("the account is closed")
    write(quiet, "U2BOB", "your card is here")
    write(quiet, "U2BOB", "and another thing")
    while drain(quiet):
        pass
    assert quiet.store.pending() == 0
    (told,) = quiet.voice.said_to("U4DANA")
    assert "U2BOB" in told and "closed" in told and "your card is here" in told


def spans() -> list[Span]:
    """One of each kind that a message can be made of."""
    made: dict[object, Span] = {
        str: "plain",
        When: When(datetime(2026, 1, 5, 12, tzinfo=UTC)),
        Name: Name("U1ADA"),
        Ping: Ping("U1ADA"),
        Bold: Bold("bold"),
        Code: Code("code"),
        Said: Said("said"),
    }
    return [made[kind] for kind in get_args(Span)]


@pytest.mark.parametrize("span", spans(), ids=lambda s: type(s).__name__)
def test_whatever_was_to_be_said_the_admins_hear_that_it_was_not(quiet: House, span: Span) -> None:
    quiet.voice.deaf["U2BOB"] = Unreachable("the account is closed")
    with quiet.store.transaction() as transaction:
        transaction.record(Changes(), [Post(0, "U2BOB", Reply(((span, " it is"),)))])
    write(quiet, "U1ADA", "hello")
    while drain(quiet):
        pass
    (told,) = quiet.voice.said_to("U4DANA")
    assert "U2BOB" in told and "closed" in told and " it is" in told
    assert quiet.voice.said_to("U1ADA") == ["hello"]


def test_one_that_fails_in_any_way_stops_no_other(quiet: House, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet.voice.deaf["U2BOB"] = Unreachable("the account is closed")
    write(quiet, "U2BOB", "first")
    write(quiet, "U1ADA", "hello")
    real = quiet.store.given_up

    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(quiet.store, "given_up", fails)
    assert drain(quiet) == 1
    assert quiet.voice.said_to("U1ADA") == ["hello"]
    monkeypatch.setattr(quiet.store, "given_up", real)
    quiet.clock.seconds += 10
    while drain(quiet):
        pass
    assert quiet.store.pending() == 0 and len(quiet.voice.said_to("U4DANA")) == 1


def test_one_that_waits_goes_out_although_the_clock_is_set_back(quiet: House) -> None:
    quiet.voice.errors["U2BOB"] = [TryLater("slow down", timedelta(seconds=5))]
    write(quiet, "U2BOB", "first")
    assert drain(quiet) == 0
    quiet.clock.at -= timedelta(hours=6)
    quiet.clock.seconds += 6
    assert drain(quiet) == 1


def test_an_admin_who_cannot_be_reached_is_no_endless_loop(quiet: House, caplog: pytest.LogCaptureFixture) -> None:
    quiet.voice.deaf["U4DANA"] = Unreachable("the account is closed")
    write(quiet, ADMINS, "look at this")
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            drain(quiet)
    assert quiet.store.pending() == 0
    assert "account is closed" in caplog.text


def test_admins_each_get_their_own_message_with_its_own_fate(quiet: House) -> None:
    import dataclasses

    quiet.people.by_id["U1ADA"] = dataclasses.replace(quiet.people.by_id["U1ADA"], admin=True)
    quiet.voice.errors["U1ADA"] = [TryLater("slow down", timedelta(seconds=5))]
    write(quiet, ADMINS, "one", key="k", once="the cause")
    drain(quiet)
    drain(quiet)
    assert quiet.voice.said_to("U4DANA") == ["one"]
    assert quiet.voice.said_to("U1ADA") == []
    quiet.clock.seconds += 5
    drain(quiet)
    assert quiet.voice.said_to("U1ADA") == ["one"]
    write(quiet, ADMINS, "two", key="k")
    drain(quiet)
    drain(quiet)
    assert quiet.voice.said_to("U4DANA") == quiet.voice.said_to("U1ADA") == ["two"], "edited for each"


def test_without_admins_it_is_logged(quiet: House, caplog: pytest.LogCaptureFixture) -> None:
    del quiet.people.by_id["U4DANA"]
    write(quiet, ADMINS, "look at this")
    with caplog.at_level(logging.ERROR):
        drain(quiet)
    assert "no admins" in caplog.text
    assert quiet.store.pending() == 0


def test_what_was_not_sent_is_sent_by_the_next_run(quiet: House) -> None:
    write(quiet, "U2BOB", "hello")
    quiet.restart("run-2")
    drain(quiet)
    assert quiet.voice.said_to("U2BOB") == ["hello"]


def test_the_voice_has_a_thread_of_its_own(quiet: House) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=quiet.rounds.run_voice, args=(stop,))
    thread.start()
    try:
        write(quiet, "U2BOB", "hello")
        quiet.rounds.poke()
        deadline = time.monotonic() + 10
        while not quiet.voice.said_to("U2BOB") and time.monotonic() < deadline:
            time.sleep(0.01)
        assert quiet.voice.said_to("U2BOB") == ["hello"]
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()


# ---- the board


def boards(house: House) -> list[str]:
    """The boards that stand in the channel."""
    return [text for text in house.voice.said_to(CHANNEL) if "cards in" in text]


def test_the_board_is_posted_once_pinned_once_and_edited(house: House) -> None:
    house.rounds.tell()
    assert len(boards(house)) == 1 and len(house.voice.pins) == 1
    house.say("dana", "drain T4-2 because loud")
    house.clock.forward(seconds=10)
    house.rounds.tell()
    (board,) = boards(house)
    assert "loud" in board
    assert len(house.voice.pins) == 1
    assert len([to for to, _ in house.voice.posts if to == CHANNEL]) == 1


def test_there_is_no_board_before_there_is_a_card(quiet: House) -> None:
    quiet.rounds.tell()
    assert quiet.voice.posts == []


def test_the_board_is_edited_at_most_once_in_ten_real_seconds(house: House) -> None:
    house.rounds.tell()
    for n in range(1, 5):
        house.say("dana", f"drain T4-{n} because loud")
        house.clock.seconds += 2
        house.rounds.tell()
    assert house.voice.edits == []
    house.clock.seconds += 2
    house.rounds.tell()
    assert len(house.voice.edits) == 1
    assert boards(house)[0].count("loud") == 4, "and then it says all of it"


def test_a_board_that_is_equal_is_not_edited(house: House) -> None:
    house.rounds.tell()
    for _ in range(5):
        house.clock.seconds += 60
        house.rounds.tell()
    assert house.voice.edits == []


def test_a_board_that_was_deleted_is_posted_and_pinned_again(house: House) -> None:
    house.rounds.tell()
    house.voice.standing.clear()
    house.say("dana", "drain T4-2 because loud")
    house.clock.seconds += 10
    house.rounds.tell()
    assert len(boards(house)) == 1
    assert len(house.voice.pins) == 2


def test_the_board_is_found_again_after_a_restart(house: House) -> None:
    house.rounds.tell()
    house.restart("run-2")
    house.say("dana", "drain T4-2 because loud")
    house.rounds.tell()
    assert len(boards(house)) == 1
    assert len([to for to, _ in house.voice.posts if to == CHANNEL]) == 1


def test_a_board_that_cannot_be_pinned_is_logged_and_stands(house: House, caplog: pytest.LogCaptureFixture) -> None:
    def refuses(_: object) -> None:
        raise VoiceError("not_allowed")

    house.voice.pin = refuses  # type: ignore[method-assign,assignment]
    with caplog.at_level(logging.ERROR):
        house.rounds.tell()
    assert "pinning the board failed" in caplog.text
    assert len(boards(house)) == 1
    assert house.store.pending() == 0


def test_gone_while_posting_is_no_reason_to_stop(quiet: House) -> None:
    quiet.voice.errors["U2BOB"] = [Gone("odd")]
    write(quiet, "U2BOB", "hello")
    write(quiet, "U1ADA", "hello")
    drain(quiet)
    assert quiet.voice.said_to("U1ADA") == ["hello"]


def test_the_outbox_is_tidied_up_each_ten_minutes(quiet: House) -> None:
    write(quiet, "U2BOB", "old")
    drain(quiet)
    asked: list[object] = []
    tidy = quiet.store.tidy
    quiet.store.tidy = lambda now: (asked.append(now), tidy(now))[1]  # type: ignore[method-assign, func-returns-value]
    for minutes, times in ((0, 1), (5, 1), (5, 2), (60 * 24 * 31, 3)):
        quiet.clock.forward(minutes=minutes)
        quiet.rounds.round()
        assert len(asked) == times
    with quiet.store._gate.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM outbox WHERE body LIKE '%old%'").scalar_one() == 0


def test_much_that_is_to_be_tidied_up_is_no_long_round(quiet: House) -> None:
    """Some pieces a round, and the next ones in the next."""
    asked: list[object] = []
    quiet.store.tidy = lambda now: (asked.append(now), len(asked) == 12)[1]  # type: ignore[method-assign, func-returns-value]
    for times in (5, 10, 12, 12):
        quiet.rounds.round()
        assert len(asked) == times
