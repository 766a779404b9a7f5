"""What somebody reads who has cards past others: until when, and that the night after is certain, in whatever message comes first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.model import Lease, LeaseState, RequestState
from bot.domain.news import News, NewsKind
from bot.domain.waiting import Passing
from bot.service import words
from tests.service import words_cases as w
from tests.service.words_rules import check

FOUR = w.request(10, w.CAROL, w.TRAIN, 4, asked=w.NOW - w.H)
ASKED = w.request(state=RequestState.LEASED, asked=w.NOW)
PASSING = Passing(10, w.NOW + 20 * w.H, w.NOW + 26 * w.H)
GOES_PAST = "This goes past carol, who waits for 4 cards: so it ends tomorrow 10:40 at the latest, and vm-r restarts then, by tomorrow 16:40, even if something runs"


def told(kind: NewsKind, lease: Lease, *others: object) -> str:
    reply = words.news(
        News(kind, w.BOB.id, lease=lease, machine=w.R, until=w.NOW + w.H), w.books(ASKED, lease, *others), w.NOW, w.POLICY
    )  # fmt: skip
    check(reply)
    return w.text(reply)


@pytest.mark.parametrize(
    ("kind", "lease"),
    [
        (NewsKind.LAST_CALL, w.RESERVED),
        (NewsKind.ACTIVE, w.ACTIVE),
        (NewsKind.ACTIVE_UNSEEN, w.ACTIVE),
        (NewsKind.ACTIVE_OFF, w.ACTIVE),
        (NewsKind.HANDED_ON, w.ACTIVE),
    ],
)
def test_until_when_is_said_also_if_the_turn_was_never_told_by_itself(kind: NewsKind, lease: Lease) -> None:
    mine = replace(lease, passing=PASSING, since=w.NOW)
    assert GOES_PAST in told(kind, mine, FOUR), told(kind, mine, FOUR)
    assert "goes past" not in told(kind, mine), "nobody waits any more"


@pytest.mark.parametrize(("kind", "state"), [(NewsKind.RETURNING, LeaseState.RETURNING), (NewsKind.REMIND, LeaseState.ACTIVE)])  # fmt: skip
def test_nobody_is_promised_a_day_who_gives_way_in_the_first_night(kind: NewsKind, state: LeaseState) -> None:
    mine = replace(w.ACTIVE, passing=PASSING, since=w.NOW, state=state)
    day, night = "until 24 h after the end", "then, since somebody has waited for it from before it was lent"

    def said(*others: object) -> str:
        news = News(kind, w.BOB.id, lease=mine, machine=w.R, until=None if kind is NewsKind.RETURNING else w.NOW + w.H)
        return w.text(words.news(news, w.books(ASKED, mine, *others), w.NOW, w.POLICY))

    assert night in said(FOUR) and day not in said(FOUR), said(FOUR)
    assert day in said() and night not in said()


def test_who_gives_it_back_reads_when_the_night_comes() -> None:
    mine = replace(
        w.ACTIVE, passing=PASSING, since=w.NOW, state=LeaseState.RETURNING, ended_by=w.BOB.id, end=w.NOW + w.H
    )
    said = w.text(words.released(w.scene(ASKED, mine, FOUR), w.BOB.id, [mine], []))
    assert (
        "If it is not out by today 15:40 (somebody has waited for it from before it was lent), I use its next night"
        in said
    ), said
    assert "If it is not out after 24 h and somebody waits, I use its next night (22-06)" in w.text(
        words.released(w.scene(ASKED, mine), w.BOB.id, [mine], [])
    )


@pytest.mark.parametrize("kind", [NewsKind.LAST_CALL, NewsKind.ACTIVE, NewsKind.ACTIVE_UNSEEN, NewsKind.ACTIVE_OFF])
def test_what_is_over_a_share_or_spare_is_said_in_whatever_message_comes_first(kind: NewsKind) -> None:
    lease = w.RESERVED if kind is NewsKind.LAST_CALL else w.ACTIVE
    spare = replace(lease, terms=replace(lease.terms, spare=True))
    assert "you have more than your share of the cards" in told(kind, spare), told(kind, spare)
    asked = replace(ASKED, terms=replace(ASKED.terms, spare=True))
    assert "Spare, as you asked" in told(kind, spare, asked)
    assert "share" not in told(kind, lease) and "Spare" not in told(kind, lease)


def test_fewer_than_were_wanted_are_said_with_the_restart_that_brings_them() -> None:
    assert "You wanted 4 T4, or fewer: 1 is there" in told(NewsKind.LAST_CALL, w.RESERVED, replace(ASKED, wanted=4))


def test_why_of_what_is_over_a_share_says_so_to_its_holder_alone() -> None:
    spare = replace(w.ACTIVE, terms=replace(w.ACTIVE.terms, spare=True))
    scene = w.scene(ASKED, spare)
    assert "you have more than your share" in w.text(words.why(scene, w.BOB, spare))
    assert "share" not in w.text(words.why(scene, w.CAROL, spare))


LIFTED = "Nobody waits any more whom #7 went past: it can be made longer as usual, /gpu extend #7."


def test_who_went_past_others_that_wait_no_more_reads_so_wherever_they_look() -> None:
    """Also in the reminder, which comes anyway; nobody is written to for it alone."""
    mine = replace(w.ACTIVE, passing=PASSING, since=w.NOW)
    lifted = LIFTED.replace("#7", f"#{mine.label}")
    for others, is_said in (((), True), ((FOUR,), False)):
        scene = w.scene(ASKED, mine, *others)
        for reply in (
            words.mine(scene, w.BOB.id),
            words.status(scene, w.BOB.id),
            words.why(scene, w.BOB, mine, "", []),
        ):
            check(reply)
            assert (lifted in w.text(reply)) is is_said, w.text(reply)
        assert (lifted in told(NewsKind.REMIND, mine, *others)) is is_said
    scene = w.scene(ASKED, mine)
    assert lifted not in w.text(words.why(scene, w.CAROL, mine, "", [])), "nobody else's affair"
    assert "any more" not in w.text(words.mine(w.scene(ASKED, w.ACTIVE), w.BOB.id)), "it went past nobody"
    over = replace(mine, over_time=True)
    assert "any more" not in w.text(words.mine(w.scene(ASKED, over), w.BOB.id))
