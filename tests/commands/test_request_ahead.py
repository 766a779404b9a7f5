"""request … from, before, partly, urgent, spare: what is recorded and answered, and what is refused with a line that works."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.model import LeaseState, Request, RequestState
from bot.domain.policy import Policy
from bot.domain.waiting import Account, ShiftWhy, Team
from bot.service.ports import Reply
from tests.fakes import text_of
from tests.house import House

ALL = ("T4-1", "T4-2", "T4-3", "T4-4")


def only(house: House) -> Request:
    (request,) = house.books.requests.values()
    return request


def utc(day: int, hour: int, minute: int = 0) -> datetime:
    """Of March 2026; the house begins on Monday 16 at 09:00 UTC, 10:00 in Berlin."""
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def refused(house: House, text: str, name: str = "bob") -> Reply:
    """A refusal that changes nothing."""
    before = house.books
    reply = house.say(name, text)
    assert not reply.ok and "Nothing was changed" in text_of(reply), text_of(reply)
    assert house.books == before
    return reply


# ---- booking ahead ------------------------------------------------------------------------------------------------


def test_a_booking_is_kept_and_echoed(house: House) -> None:
    reply = house.say("bob", "request 2 from thu 14:00 until fri 18:00")
    assert reply.ok
    asked = only(house)
    assert (asked.start, asked.terms.length.until, asked.count) == (utc(19, 13), utc(20, 17), 2)
    assert asked.state is RequestState.QUEUED and asked.asked == house.clock.now()
    head = text_of(reply).splitlines()[0]
    assert head == "2 T4 for vm-r are booked from 19 13:00 (#1)."
    assert "until 20 17:00" in text_of(reply)


def test_until_a_time_of_day_is_that_of_the_booking(house: House) -> None:
    assert house.say("bob", "request 1 from thu 14:00 until 18:00").ok
    assert only(house).terms.length.until == utc(19, 17)


def test_the_usual_length_of_a_booking_counts_from_when_it_comes(house: House) -> None:
    assert "until 18:00 of the next working day after that" in text_of(house.say("bob", "request 1 from thu"))


def test_a_restart_named_with_a_booking_is_of_its_day(house: House) -> None:
    reply = house.say("bob", "request 1 from thu 14:00 restart tonight")
    (agreed,) = house.books.agreements.values()
    assert agreed.window is not None and (agreed.window.start, agreed.window.end) == (utc(19, 21), utc(20, 5))
    assert "between 19 21:00 and 20 05:00" in text_of(reply)


@pytest.mark.parametrize(
    ("text", "why", "works"),
    [
        ("request 1 from 9:00", "from 9:00 has passed already", "from tomorrow 09:00"),
        ("request 1 from 2026-04-10", "at most 14 days ahead can be booked", "request 1 from mon 30 mar 11:00"),
        (
            "request 1 from fri 14:00 until fri 13:00 because x",
            "it would be over before it begins, fri 20 mar 14:00",
            "request 1 from fri 14:00 until mon 23 mar 18:00 because x",
        ),
        (
            "request 1 from fri until thu 2026-03-19 18:00 because x",
            "it would be over before it begins, fri 20 mar 09:00",
            "request 1 from fri until mon 23 mar 18:00 because x",
        ),
        (
            "request 1 from fri before thu",
            "it would leave the line before it begins, fri 20 mar 09:00",
            "request 1 from fri before sat 21 mar 09:00",
        ),
        ("request 1 before 9:00", "before 9:00 has passed already", "before tomorrow 09:00"),
    ],
)
def test_times_that_cannot_be_are_refused_with_some_that_can(house: House, text: str, why: str, works: str) -> None:
    reply = refused(house, text)
    assert why in text_of(reply) and works in text_of(reply)
    (again,) = [b.says for b in reply.buttons if b.says.startswith("request")]
    assert house.say("bob", again).ok, again


def test_a_booking_counts_among_those_in_line(house: House) -> None:
    house.say("dana", "machine add vm-spare owners @bob")
    house.say("dana", "machine add vm-notebook owners @bob")
    assert house.say("bob", "request 1 on vm-r from thu").ok and house.say("bob", "request 1 on vm-spare from fri").ok
    assert not house.say("bob", "request 1 on vm-notebook from mon").ok


def test_a_booking_that_is_said_again_changes_its_time_and_keeps_its_place(house: House) -> None:
    house.say("bob", "request 1 from thu 14:00")
    asked = only(house).asked
    house.clock.forward(minutes=30)
    reply = house.say("bob", "request from fri 10:00")
    assert reply.ok and text_of(reply).startswith("Changed. ")
    assert (only(house).start, only(house).asked) == (utc(20, 9), asked)


# ---- leaving the line ---------------------------------------------------------------------------------------------


def test_before_leaves_the_line_by_itself_and_says_so(house: House) -> None:
    house.lend("vm-python", *ALL)
    reply = house.say("bob", "request 1 before 11:00")
    assert "That is likely too early: if it is not kept for you by 16 10:00, you leave the line" in text_of(reply)
    house.forward(61, step=20)
    request = house.books.requests[2]
    assert (request.before, request.state) == (utc(16, 10), RequestState.WITHDRAWN)
    told = [text_of(r) for to, r in house.voice.posts if to == "U2BOB" and "out of the line" in text_of(r)]
    assert len(told) == 1 and "you wanted it before today 11:00, and no card was there by then" in told[0]


def test_before_a_time_by_which_it_is_likely_there_is_said_without_a_warning(house: House) -> None:
    assert "\nIf it is not kept for you by 16 16:00, you leave the line" in text_of(
        house.say("bob", "request 1 before 17:00")
    )


def test_before_says_that_what_is_kept_comes_after_it_too(house: House) -> None:
    text = text_of(house.say("bob", "request 1 before 17:00 restart tonight"))
    assert (
        "too early: it is kept for you and comes with the restart, also after 16 16:00." in text
        and "leave the line" not in text
    )
    house.round()
    house.clock.forward(hours=9)
    house.round()
    assert house.lease("1").state is LeaseState.RESERVED, "as was said"


# ---- partly, spare ------------------------------------------------------------------------------------------------


def test_partly_and_spare_are_kept_and_echoed(house: House) -> None:
    reply = house.say("bob", "request 2 partly spare")
    asked = only(house)
    assert asked.partly and asked.terms.spare and [s.why for s in asked.shifts] == [ShiftWhy.SPARE]
    assert "1 card or more" in text_of(reply) and "only while nobody else wants it" in text_of(reply)
    assert "Your place: spare, 24 h later." in text_of(reply)


def test_partly_is_said_of_one_card_without_a_word_about_it(house: House) -> None:
    reply = house.say("bob", "request 1 partly")
    assert reply.ok and only(house).partly and "artly" not in text_of(reply)


def test_partly_says_what_is_there_now(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3")
    text = text_of(house.say("bob", "request 3 partly"))
    assert text.startswith("1 of 3 T4 is free, and you are first in line, with vm-r (#2).")
    assert "takes it" not in text, "it is what partly does anyway"


def test_a_booking_is_told_of_no_card_that_is_free_now(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3")
    assert "free now" not in text_of(house.say("bob", "request 2 from thu 14:00"))


def test_partly_may_be_said_later(house: House) -> None:
    house.lend("vm-python", *ALL)
    assert house.say("bob", "request 2").ok
    place = house.books.requests[2].place_key
    assert house.say("bob", "request partly").ok
    assert house.books.requests[2].partly and house.books.requests[2].place_key == place


# ---- urgent -------------------------------------------------------------------------------------------------------


def test_urgent_needs_a_reason(house: House) -> None:
    reply = refused(house, "request 2 urgent")
    assert "This needs a reason" in text_of(reply) and "request 2 urgent because …" in text_of(reply)
    assert not house.say("bob", "request 1 urgent because").ok, "an empty one is none"


def test_urgent_says_by_how_much_and_when_it_is_possible_again(house: House) -> None:
    reply = house.say("bob", "request 1 urgent because a deadline")
    assert reply.ok and "Your place: urgent, 24 h earlier (the next urgent one from 30 09:00)." in text_of(reply)
    assert only(house).urgent and only(house).because == "a deadline"


def test_a_second_urgent_is_refused_with_what_works_instead(house: House) -> None:
    house.say("bob", "request 1 urgent because a deadline")
    house.say("bob", "release #1")
    reply = refused(house, "request 1 T4 urgent until fri 18:00 because it is urgent again")
    assert "Urgent works once in 14 d a person, for you again from 30 09:00." in text_of(reply)
    (as_usual,) = [b.says for b in reply.buttons if b.says.startswith("request")]
    assert as_usual == "request 1 T4 until fri 18:00 because it is urgent again"
    assert house.say("bob", as_usual).ok


def test_a_refused_request_uses_nothing_up(house: House) -> None:
    assert not house.say("bob", "request 99 urgent because a deadline").ok
    assert not house.books.accounts


def test_urgent_and_spare_are_refused_together(house: House) -> None:
    reply = refused(house, "request 1 urgent spare because both")
    assert [b.says for b in reply.buttons] == ["request 1 urgent because both", "request 1 spare because both"]


# ---- where somebody looks for it ----------------------------------------------------------------------------------


def test_lists_name_what_is_particular_about_a_request(house: House) -> None:
    house.lend("vm-python", *ALL)
    house.say("bob", "request 2 partly spare from thu 14:00 before fri 9:00")
    house.say("carol", "request 1 urgent because a deadline")
    for text in ("queue", "status"):
        lines = [line for line in text_of(house.say("ada", text)).splitlines() if "vm-r" in line or "vm-train" in line]
        shown = "\n".join(lines)
        assert "2 T4 for vm-r, or fewer, spare, booked from 19 13:00, only before 20 08:00" in shown, text
        assert ", urgent" in shown, text
    assert "or fewer, spare, booked from 19 13:00" in text_of(house.say("bob", "mine"))


def test_the_rule_of_the_line_is_named_as_it_is(house: House) -> None:
    house.lend("vm-python", *ALL)
    house.say("bob", "request 1")
    assert "First come, first served; all cards of a request together." in text_of(house.say("bob", "queue"))
    house.say("carol", "request 1 urgent because a deadline")
    assert "In the order of asking, moved by urgent requests; all cards" in text_of(house.say("bob", "queue"))


def test_hours_used_lately_are_named_with_what_they_cost(house: House) -> None:
    house.lend("vm-python", *ALL)
    house.put(Account("U2BOB", 18.0, house.clock.now()), Account("U3CAROL", 0.0, house.clock.now()))
    house.say("carol", "request 1")
    reply = house.say("bob", "request 1")
    assert (
        "Your place: you used 9 h more than an even share lately, while others waited, so you stand 9 h later."
        in text_of(reply)
    ), text_of(reply)
    bob = max(house.books.requests.values(), key=lambda r: r.number)
    assert bob.arrival - bob.asked == timedelta(hours=9)


def test_a_team_of_the_settings_is_found_by_user_name(tmp_path: Path) -> None:
    team = Team("vision", frozenset({"bob"}), guaranteed=1)
    house = House(tmp_path, Policy(level="act", teams=(team,)))
    house.furnish()
    house.lend("vm-python", *ALL)
    reply = house.say("bob", "request 1")
    assert "Your place: the team vision has less than its own part, 7 days earlier." in text_of(reply)
    assert house.books.requests[2].team == "vision"
    assert "team" not in text_of(house.say("carol", "request 1"))
    house.close()


# ---- limits that were lowered meanwhile ---------------------------------------------------------------------------


def limit(house: House, **numbers: object) -> None:
    """The settings are changed, and the bot is started anew."""
    house.policy = replace(house.policy, **numbers)  # type: ignore[arg-type]
    house.restart("run-2")


def test_what_was_booked_farther_ahead_than_now_allowed_stays_and_can_be_said_again(house: House) -> None:
    assert house.say("bob", "request 1 from sat 28 mar 14:00").ok
    limit(house, book_ahead=timedelta(days=3))
    house.round()
    reply = house.say("bob", "request 1 from sat 28 mar 14:00 partly")
    assert reply.ok and only(house).partly and only(house).start == utc(28, 13), text_of(reply)
    assert house.say("bob", "request from fri 27 mar 14:00").ok, "nearer than it was"
    assert "at most 3 days ahead can be booked" in text_of(refused(house, "request from sat 28 mar 14:00"))


def test_what_was_asked_for_longer_than_now_allowed_stays_and_can_be_said_again(house: House) -> None:
    house.lend("vm-python", *ALL)
    assert house.say("bob", "request 1 for 6d").ok
    limit(house, longest=timedelta(days=2), longest_in_all=timedelta(days=4))
    reply = house.say("bob", "request 1 for 6d partly")
    assert reply.ok and house.books.requests[2].partly, text_of(reply)
    assert "the limit is 4 days" in text_of(refused(house, "request 1 for 7d"))
