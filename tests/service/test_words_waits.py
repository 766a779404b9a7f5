"""A waiting time that was told and does not hold any more: to who waits, with the old and the new times, and to whoever made it longer."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from bot.domain.news import News, NewsKind
from bot.domain.promises import MOVED, Delayed
from bot.domain.waiting import Promised, Shift, ShiftWhy
from bot.service import words
from bot.service.ports import Reply
from bot.service.words.waits_moved import delayed_lines
from tests.service import words_cases as w
from tests.service.words_rules import check

LIKELY, LATEST = w.NOW + 3 * w.H, w.NOW + timedelta(days=2)
URGENT = w.request(
    13, w.CAROL, w.TRAIN, asked=w.NOW, because="the review at five", shifts=(Shift(ShiftWhy.URGENT, -24 * w.H),)
)


def moved(
    reason: str, likely: datetime | None, latest: datetime | None, was: datetime | None = LATEST, who: str = w.CAROL.id
) -> str:
    """What bob reads, who was told ``LIKELY`` and ``was``."""
    mine = w.request(promised=Promised(w.NOW, likely, latest, "behind"))
    news = News(
        NewsKind.WAIT_MOVED,
        w.BOB.id,
        request=mine,
        reason=reason,
        who=who,
        slots=("T4-4",),
        likely=LIKELY,
        until=was,
    )
    reply = words.news(news, w.books(mine, URGENT), w.NOW, w.POLICY)
    check(reply)
    return w.text(reply)


def test_who_why_the_old_and_the_new_times_and_the_place() -> None:
    assert moved("urgent", LIKELY, LATEST + w.H).startswith(
        "Your wait for 1 T4 may be longer than I said.\n"
        "Likely by today 17:40 as before, at the latest Thu 15:40 instead of Thu 14:40: carol asked urgently (the review at five), and goes first.\n"
        "You are second in line now.\n"
    )
    assert moved("longer", LIKELY + w.H, LATEST).startswith(
        "Your wait for 1 T4 is likely longer than I said.\n"
        "Likely by today 18:40 instead of today 17:40, at the latest Thu 14:40 as before: carol has T4-4 for longer now.\n"
        "You keep your place.\n"
    )


@pytest.mark.parametrize("reason", sorted(MOVED))
def test_each_cause_has_its_words_with_times_that_are_known_or_not(reason: str) -> None:
    assert "When it is your turn I do not know any more: " in moved(reason, None, None)
    assert "; at the latest I cannot say any more: " in moved(reason, LIKELY, None)
    assert "at the latest" not in moved(reason, LIKELY + w.H, None, None), "there was none"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("urgent", "you asked urgently yourself, and that goes first"),
        ("again", "another request of yours goes first"),
        ("team", "another request of yours goes first"),
    ],
)
def test_whose_own_other_request_goes_first_is_told_so(reason: str, said: str) -> None:
    assert f": {said}." in moved(reason, LIKELY, LATEST + w.H, who=w.BOB.id)


def test_no_two_causes_have_the_same_words() -> None:
    assert len({moved(reason, LIKELY, LATEST + w.H) for reason in MOVED}) == len(MOVED)
    assert "the rules of this site were changed. You keep your place." in moved("rules", LIKELY, None).replace(
        "\n", " "
    )


def test_who_waits_longer_by_it_is_named_up_to_a_few() -> None:
    def one(number: int, likely: datetime | None) -> Delayed:
        return Delayed(w.request(number, promised=Promised(w.NOW, likely, None, "own_end")), LIKELY)

    many = [one(20, LIKELY + w.H), one(21, None), *(one(n, LIKELY + w.H) for n in (22, 23, 24))]
    said = [w.text(Reply((line,))) for line in delayed_lines(many)]
    assert said[0] == "bob was told likely by today 17:40, and now waits until about today 18:40; I tell them."
    assert said[1] == "bob was told likely by today 17:40, and for how long they wait now I do not know; I tell them."
    assert len(said) == 4 and said[3] == "2 more who wait longer by it: I tell them, too."
    assert not delayed_lines(())
