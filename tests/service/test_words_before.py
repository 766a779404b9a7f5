"""A waiting time of who is not alone in line: for whom enough is free, whom it goes past, and what is booked for later."""

from __future__ import annotations

from bot.domain.model import Request
from bot.domain.promises import Promise
from bot.domain.waiting import Passing
from bot.service.ports import Reply
from bot.service.words import waits
from bot.service.words.board import stand_tail
from bot.service.words.common import ln
from tests.service import words_cases as w


def free(*before: Request, past: int = 0, count: int = 1, **more: object) -> str:
    """What bob reads whose request is free now, behind others."""
    request = w.request(asked=w.NOW, count=count, **more)
    passing = Passing(past, w.NOW + w.H, w.NOW + 2 * w.H) if past else None
    promise = Promise(w.NOW, w.NOW + w.H, "free_now", slots=("T4-3",), passing=passing)
    line = waits.promise_line(promise, w.BOB.id, w.books(request, *before), request)
    assert line is not None
    return w.text(Reply((line,)))


MINE, HERS = w.request(9), w.request(13, w.CAROL, w.TRAIN)


def test_enough_for_who_is_before_names_the_readers_own_as_their_own() -> None:
    assert free().startswith("It can be there by")
    assert free(HERS).startswith("Enough are free, also for who is before you. It can be there by")
    assert free(MINE).startswith("Enough are free, also for your request before it.")
    assert free(MINE, w.request(8)).startswith("Enough are free, also for your requests before it.")
    assert free(MINE, HERS).startswith("Enough are free, also for who is before you.")
    some = free(MINE, count=3, partly=True)
    assert some.startswith("1 of the 3 you want is free after your request before it; you take fewer.")


def test_who_goes_past_somebody_reads_whom_and_why_the_latest_is_so_late() -> None:
    assert free(HERS, past=13) == (
        "It can be there by today 14:40: you go past carol (#13), and are back in time."
        " If vm-r cannot have it now, your turn comes after carol's (#13), at the latest today 15:40."
    )
    own = free(MINE, past=9)
    assert "you go past your #9, and are back in time." in own and "comes after your #9, at the latest" in own


def test_what_is_booked_is_likely_there_then_or_later_by_its_restart() -> None:
    then = w.NOW + 5 * w.H
    line = waits.promise_line(Promise(then, None, "booked", at=then), w.BOB.id)
    assert line is not None and w.text(Reply((line,))) == "Booked for today 19:40, likely there then."
    told = waits.promise_line(Promise(then, None, "booked", at=then), w.BOB.id, w.books(), w.request(start=then))
    assert told is not None and w.text(Reply((told,))) == "Likely there then."
    later = waits.promise_line(Promise(then + w.H, None, "booked", at=then), w.BOB.id)
    assert later is not None and w.text(Reply((later,))) == "Likely by today 20:40: it is booked for today 19:40."
    booked = w.request(start=then)
    assert "likely" not in w.text(Reply((ln(stand_tail(booked, w.NOW, {12: Promise(then, None, "booked", at=then)})),)))
