"""Why a place is what it is, in words: the terms add up, and every one of them is named."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.model import Books, Request, RequestState
from bot.domain.policy import Policy
from bot.domain.waiting import Account, Shift, ShiftWhy
from bot.service.ports import LineOf, When
from bot.service.words import order
from bot.service.words.common import Scene, span_of
from tests.service import words_cases as w
from tests.service.words_rules import FORBIDDEN

H = timedelta(hours=1)
ASKED = datetime(2026, 3, 16, 9, 30, tzinfo=UTC)
POLICY = Policy()

URGENT = Shift(ShiftWhy.URGENT, -24 * H)
TEAM = Shift(ShiftWhy.TEAM, -timedelta(days=7), "vision")
SPARE = Shift(ShiftWhy.SPARE, 24 * H)
USE = Shift(ShiftWhy.USE, 9 * H, "9 h")


def scene(**more: object) -> Scene:
    return Scene(Books(**more), ASKED + H, POLICY)  # type: ignore[arg-type]


def asked(*shifts: Shift, **more: object) -> Request:
    return Request(12, w.BOB.id, "T4", 2, "uuid-vm-r", ASKED, shifts=shifts, **more)  # type: ignore[arg-type]


def plain(lines: list[LineOf]) -> list[str]:
    return [
        "".join(f"{s.at:%d %H:%M}" if isinstance(s, When) else s if isinstance(s, str) else s.text for s in line)
        for line in lines
    ]  # type: ignore[union-attr]


def test_without_anything_that_moves_it_the_place_is_the_time_of_asking() -> None:
    assert plain(order.order_lines(scene(), asked())) == ["The place is that of the time of asking, 16 09:30."]
    assert order.moved_line(scene(), asked()) is None


def test_each_term_is_a_line_and_the_last_is_their_sum() -> None:
    later = Account(w.BOB.id, urgent=ASKED)
    assert plain(order.order_lines(scene(accounts={w.BOB.id: later}), asked(URGENT, USE))) == [
        "Asked 16 09:30.",
        "Urgent, 24 h earlier (the next urgent one from 30 09:30).",
        "You used 9 h more than an even share lately, while others waited, so you stand 9 h later.",
        "Together 15 h earlier: the place is that of somebody who asked 15 18:30.",
    ]
    assert plain(order.order_lines(scene(), asked(TEAM)))[1:] == [
        "The team vision has less than its own part, 7 days earlier.",
        "The place is that of somebody who asked 09 09:30.",
    ]


def test_what_is_above_the_most_that_counts_is_said() -> None:
    capped = Shift(ShiftWhy.USE, POLICY.use_handicap, "1 d 16 h")
    (line,) = plain([order.moved_line(scene(), asked(capped)) or ()])
    assert line == (
        "Your place: you used 1 d 16 h more than an even share lately, while others waited, so you stand 12 h later, the most that counts."
    )
    (_, line, _) = plain(order.order_lines(scene(), asked(USE), mine=False))
    assert line == "Used 9 h more than an even share lately, while others waited, so 9 h later."


def test_terms_that_cancel_each_other_leave_the_place() -> None:
    both = plain(order.order_lines(scene(), asked(URGENT, SPARE)))
    assert both[-1] == "The place is that of somebody who asked 16 09:30."


SPANS = re.compile(r"(?:(\d+) days?)? ?(?:(\d+) h)?(?: (\d\d))?(?:(\d+) min)?")


def read(text: str) -> timedelta:
    """A span of time as it is shown."""
    found = SPANS.fullmatch(text)
    assert found is not None, text
    days, hours, beside, minutes = (int(g or 0) for g in found.groups())
    return timedelta(days=days, hours=hours, minutes=beside + minutes)


minutes = st.integers(1, 12 * 60).map(lambda n: timedelta(minutes=n))


@given(st.lists(st.sampled_from([URGENT, TEAM, SPARE]), unique=True), minutes)
def test_the_numbers_that_are_read_add_up(said: list[Shift], use: timedelta) -> None:
    request = asked(*said, Shift(ShiftWhy.USE, use, "x"))
    lines = plain(order.order_lines(scene(), request))
    total = timedelta()
    for line in lines[1:-1]:
        shown = re.findall(r"([\d][^,;]*?) (earlier|later)", line)
        assert len(shown) == 1, line
        total += read(shown[0][0]) * (-1 if shown[0][1] == "earlier" else 1)
    assert request.asked + total == request.arrival
    assert lines[-1].endswith(f"{request.arrival:%d %H:%M}.")
    if len(said) > 0 and total:
        assert f"Together {span_of(abs(total))} " in lines[-1]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"start": ASKED + 5 * H}, "Before 16 14:30 it is not your turn: others may have"),
        ({"before": ASKED + 5 * H}, "If they are not kept for you by 16 14:30, you leave the line, and I say so."),
        ({"partly": True}, "you get what is there, 1 card or more"),
        ({"start": ASKED}, ""),  # its time has come
    ],
)
def test_what_was_said_of_a_request_is_echoed(more: dict[str, object], says: str) -> None:
    lines = plain(order.wishes_lines(scene(), asked(**more)))
    assert (says in lines[0]) if says else lines == []


def test_no_word_of_the_code_is_read_by_people() -> None:
    everything = asked(
        URGENT, TEAM, SPARE, USE, partly=True, start=ASKED + 5 * H, before=ASKED + 9 * H, state=RequestState.QUEUED
    )
    everything = replace(everything, terms=replace(everything.terms, spare=True))
    found = [
        *order.order_lines(scene(), everything),
        *order.wishes_lines(scene(), everything),
        order.rule_line([everything]),
    ]
    text = "\n".join(plain(found)).lower()
    assert not FORBIDDEN.search(text)
    assert not re.search(r"\b(shift|arrival|shadow|backfill|handicap|head start)", text)
