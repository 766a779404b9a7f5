"""What people read of cards whose host was restarted: nothing that is theirs still is said to be new, lost, or taken by somebody."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain.model import LeaseState
from bot.domain.news import ADMINS, News, NewsKind
from bot.service import words
from bot.service.ports import Reply
from tests.service import words_cases as w
from tests.service.words_rules import check

WORKED = w.NOW - timedelta(days=1)
GONE = replace(w.cards(4)["T4-1"], missing=2)


def told(kind: NewsKind, to: str, *there: object, **facts: object) -> str:
    """The text of one message, which keeps the rules of tone."""
    reply: Reply = words.news(News(kind, to, **facts), w.books(*there), w.NOW, w.POLICY)  # type: ignore[arg-type]
    check(reply)
    return w.text(reply)


def test_a_card_that_is_gone_was_taken_by_nobody_and_comes_out_of_what_names_it() -> None:
    lease = replace(w.lease("4", w.ADA, w.R, ("T4-1",)), state=LeaseState.RETURNING)
    for to in (w.ADA.id, ADMINS):
        text = told(NewsKind.FAILED, to, lease, GONE, lease=lease, machine=w.R, slots=("T4-1",), reason="it is gone")
        assert "somebody" not in text
        assert (
            "The settings of vm-r still name it, and it does not start so: I take it out as soon as it is off." in text
        )
    assert "Nobody took it out of vm-r." in told(
        NewsKind.FAILED, w.ADA.id, lease, GONE, lease=lease, machine=w.R, slots=("T4-1",)
    )


def test_a_card_that_somebody_took_out_is_said_so_and_nothing_is_left_to_come_out() -> None:
    lease = replace(w.lease("4", w.ADA, w.R, ("T4-1",)), state=LeaseState.FAILED)
    text = told(NewsKind.FAILED, w.ADA.id, lease, lease=lease, machine=w.R, slots=("T4-1",))
    assert "somebody or something else did" in text and "still name" not in text


def test_the_time_of_what_worked_goes_on_while_its_machine_is_off_and_is_no_new_one() -> None:
    lease = replace(w.lease("4", w.ADA, w.R, ("T4-1",)), state=LeaseState.MOVING, active_since=WORKED)
    text = told(NewsKind.WAITS_POWER_ON, w.ADA.id, lease, lease=lease, machine=w.R, until=w.NOW + timedelta(hours=12))
    assert "Your time goes on meanwhile." in text and "starts" not in text
    asked = replace(lease, state=LeaseState.RESERVED)
    text = told(NewsKind.ASK_WINDOW, w.ADA.id, asked, lease=asked, machine=w.R)
    assert "its time goes on" in text and "the turn goes on" not in text
    text = told(NewsKind.MOVED_AWAY, w.ADA.id, asked, lease=asked, machine=w.R, slots=("T4-1",))
    assert "stays lent" in text and "I touch nothing" not in text and "Moved back, vm-r gets it again" in text
