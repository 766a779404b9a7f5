"""What messages talk about: the books as they are after the change, all of them."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta

from bot.domain.draft import Draft
from bot.domain.model import Books
from bot.domain.waiting import Account, Interest
from bot.service.recording import books_of
from tests.service import words_cases as w

BEFORE = frozenset({"said", "delivered"})
"""What a draft does not change: told and delivered is beside it."""


def test_the_books_after_a_change_have_all_that_was_changed() -> None:
    before = replace(w.books(w.lease(), w.request(), w.agreement(), w.move(), w.watch()), numbers={"number": 7})
    draft = Draft(before, w.NOW)
    assert books_of(draft) == before
    later = w.NOW + timedelta(hours=1)
    draft.put(replace(w.watch(), using=later))
    draft.put(replace(w.lease(), end=later))
    draft.put(replace(w.request(), told=later))
    draft.put(replace(w.agreement(), label="12"))
    draft.put(replace(w.move(), reason="why"))
    draft.put(replace(w.PYTHON, gone=True))
    draft.put(Account("UADA", 2.0))
    draft.put(Interest("UADA", "T4", later))
    draft.put(replace(w.cards()["T4-4"], aside=w.RESTED))
    draft.number("number")
    draft.free("7")
    draft.paused = "UDANA because"
    after = books_of(draft)
    same = {f.name for f in fields(Books) if getattr(after, f.name) == getattr(before, f.name)}
    assert same == BEFORE
