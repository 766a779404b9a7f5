"""At the level `watch` no answer, no board and no message promises a restart, or a time for one: an admin does it by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from bot.domain.model import LeaseState
from bot.domain.news import News, NewsKind
from bot.domain.promises import Promises
from bot.service import words
from bot.service.ports import Reply
from tests.service import words_cases as w
from tests.service.words_rules import check

WATCH = replace(w.POLICY, level="watch")
NOW = w.agreement(label="12", now=True)
PROMISED = re.compile(
    r"restarts? (once|now|between|today|tonight)|restarts? as soon|I say so|can be there by|[Ll]ikely by|May I restart|in a few seconds|I may put"
)
ASKED = w.request(asked=w.NOW)
GONE = replace(w.RETURNING, machine=w.R.uuid)


def scene(*things: object) -> words.Scene:
    return replace(w.scene(*things), policy=WATCH, promises={})


SAID: dict[str, Callable[[], Reply]] = {
    "requested": lambda: words.requested(scene(ASKED, NOW), ASKED),
    "requested without a time": lambda: words.requested(scene(ASKED), ASKED),
    "accepted": lambda: words.accepted(scene(w.RESERVED, NOW), w.RESERVED),
    "agreed": lambda: words.agreed(scene(w.RESERVED, NOW), NOW),
    "windows": lambda: words.windows(scene(w.RESERVED, NOW), w.R),
    "started": lambda: words.started(scene(), w.R),
    "released": lambda: words.released(
        scene(GONE, w.agreement(label="7b", now=True)), w.ADA.id, [GONE], []
    ),
    "machine added": lambda: words.machine_added(scene(), w.R),
    "leased": lambda: words.news(
        News(NewsKind.LEASED, w.BOB.id, lease=w.RESERVED, machine=w.R, agreement=NOW, slots=("T4-3",), until=w.NOW),
        w.books(w.RESERVED, NOW), w.NOW, WATCH,
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", SAID)
def test_no_restart_and_no_time_is_promised(which: str) -> None:
    reply = SAID[which]()
    said = w.text(reply)
    check(reply)
    assert not PROMISED.search(said), said
    assert "by hand" in said


def test_the_board_says_by_whom() -> None:
    reply = words.board(w.books(w.RESERVED, NOW, GONE), w.seen(), w.NOW, WATCH)
    said = w.text(reply)
    assert "reserved for bob · vm-r, put in when an admin does it by hand" in said
    assert "comes out when an admin does it by hand" in said and not PROMISED.search(said)


def test_a_named_time_is_repeated_and_is_an_admins() -> None:
    named = w.agreement(label="12")
    said = w.text(words.agreed(scene(w.RESERVED, named), named))
    assert "between today 14:40 and 16:00, by an admin's hand" in said


def test_there_are_no_waiting_times() -> None:
    books = w.books(w.request(), w.lease("12", state=LeaseState.ENDED))
    found = Promises(books, w.NOW, WATCH, lambda _: w.BERLIN)
    assert len(found) == 0 and not list(found) and found.get(12) is None
    assert Promises(books, w.NOW, w.POLICY, lambda _: w.BERLIN).get(12) is not None
