"""After a restart that did not work, an older time that is still agreed and is not used for a while is named as what it is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain.model import Agreement, MoveState, Window
from bot.domain.news import News, NewsKind
from bot.service import words
from tests.service import words_cases as w

HOUR = timedelta(hours=1)


def undone(*agreements: Agreement) -> str:
    move = w.move(MoveState.DONE, undo=True, off_at=w.NOW - 4 * w.MIN, on_at=w.NOW, reason="it was refused")
    books = w.books(w.RESERVED, move, *agreements)
    news = News(NewsKind.UNDONE, w.BOB.id, machine=w.R, move=move, lease=w.RESERVED, reason=move.reason)
    return w.text(words.news(news, books, w.NOW, w.POLICY))


def test_an_older_time_that_overlaps_is_named_with_until_when_it_is_not_used() -> None:
    older = w.agreement(number=2, made=w.NOW - HOUR, window=Window(w.NOW - HOUR, w.NOW + 5 * HOUR))
    assert "It is still agreed for between" in undone(older) and "only a time that is said anew is used" in undone(
        older
    )


@pytest.mark.parametrize(
    "other",
    [
        w.agreement(number=3, made=w.NOW - HOUR),  # the one that it used
        w.agreement(number=5, made=w.NOW + w.MIN),  # said since
        w.agreement(number=2, made=w.NOW - HOUR, window=Window(w.NOW + HOUR, w.NOW + 5 * HOUR)),  # later
    ],
)
def test_others_are_not(other: Agreement) -> None:
    assert "said anew" not in undone(other)
