"""At the level `watch` no answer, no board and no message promises a restart, or a time for one: an admin does it by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from bot.domain.model import LeaseState, MoveState
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.domain.promises import Promises
from bot.service import words
from bot.service.ports import Reply
from tests.service import words_cases as w
from tests.service.test_words_answers import EVERY, WORLDS
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


# ---- every sentence


ACTS = re.compile(
    r"\bI (use|restart|switch|start|shut|put|take|try|go on|move)\b(?! (it |them )?(out of|nothing))|\bMay I\b|announced before|I say so|"
    r"can be there by|[Ll]ikely by|in a few seconds"
)
"""What the bot would do itself, or say before it is done."""

NOT_SO = re.compile(
    r"I only watch[^.]*\.|when I may restart (it|something)|I (do|did) not [^.]*\.|I take you out of the line|I take that back|I take the new way over|I take (it|them) for broken|I go on with the new time|I go on from what I see|I take them for the same|is told in a few seconds"
)
"""The same words, where it says that it does not, or means its books alone."""

WHO = re.compile(r"\bby hand\b|\badmin's hand\b|\bonly watch\b")


def every_reply(policy: Policy) -> Iterator[tuple[str, Reply]]:
    """All answers in all worlds and all news, as they are shown at a level."""
    for name, world in WORLDS.items():
        at = replace(world, policy=policy, promises={} if policy.level == "watch" else world.promises)
        for answer, made in EVERY.items():
            yield f"{answer} in {name}", words.at_level(made(at), policy)
    books = w.books(w.RETURNING, w.RESERVED, w.request(), w.agreement(), w.standing(4))
    for item in w.every_news():
        if item.kind is NewsKind.BY_HAND:
            continue  # asks an admin, and says so; its own tests
        yield f"{item.kind} to {item.to}", words.news(item, books, w.NOW, policy)


@pytest.mark.parametrize("level", ["watch", "hands"])
def test_nothing_is_announced_that_the_bot_will_not_do_and_who_restarts_is_said(level: str) -> None:
    policy, wrong = replace(w.POLICY, level=level), set()
    for which, reply in every_reply(policy):
        said = w.text(replace(reply, buttons=()))
        acts = ACTS.search(NOT_SO.sub("", said)) if level == "watch" else BY_ITSELF.search(said)
        speaks = re.search(r"\brestarts?\b(?! times?\b)", said) and not which.startswith(
            "ask_over"
        )  # closes what said it
        if acts or (speaks and not WHO.search(said)):
            wrong.add(f"{which}: {said}\n   {acts}")
    assert not wrong, "\n".join(sorted(wrong))


BY_ITSELF = re.compile(r"\bI (use|restart|switch|start)\b|\bMay I\b")
"""At `hands`: what an admin does."""


def test_at_act_nothing_is_added() -> None:
    for _, reply in every_reply(w.POLICY):
        assert words.at_level(reply, w.POLICY) is reply


PRESSED = re.compile(r"^(Yes, )?[Rr]estart |^Start |^Try |hard$")
"""A button that has the bot do it."""


@pytest.mark.parametrize("level", ["watch", "hands", "act"])
def test_no_button_promises_what_the_bot_does_not_do(level: str) -> None:
    """At `hands` a start is asked of an admin, and a hard stop, and both are done."""
    policy = replace(w.POLICY, level=level)
    labels = {b.label.replace("vm-r", "VM") for _, reply in every_reply(policy) for b in reply.buttons}
    promises = {x for x in labels if PRESSED.search(x)}
    if level == "act":
        assert {"Restart now", "Start VM", "Try again now"} <= promises
    else:
        assert not {x for x in promises if "estart" in x or x.startswith("Try again")}, promises
        assert bool(promises) is (level == "hands"), promises
        assert "It may be restarted now" in labels


@pytest.mark.parametrize("level", ["watch", "hands", "act"])
def test_what_closes_a_question_does_not_say_again_who_restarts(level: str) -> None:
    policy = replace(w.POLICY, level=level)
    news = News(NewsKind.ASK_OVER, w.BOB.id, lease=w.RESERVED, machine=w.R, agreement=w.agreement(), slots=("T4-3",))
    said = w.text(words.news(news, w.books(w.RESERVED, w.agreement()), w.NOW, policy))
    assert said.startswith("This question is settled: vm-r may restart ") and "\n" not in said


def test_whose_turn_it_is_reads_that_nobody_is_asked_and_whom_to_ask() -> None:
    """And the admin that somebody waits: else each believes that the other acts."""
    named = replace(WATCH, admins=("U0DANA123", "erin"))
    leased = News(NewsKind.LEASED, w.BOB.id, lease=w.RESERVED, machine=w.R, slots=("T4-3",))
    for policy, whom in ((named, "please ask U0DANA123 or erin yourself"), (WATCH, "please ask an admin yourself")):
        reply = words.news(leased, w.books(w.RESERVED), w.NOW, policy)
        check(reply)
        said = w.text(reply)
        assert "unless an admin does it by hand, and I ask none" in said and "nothing to do for you" not in said
        assert whom in said
    told = News(NewsKind.BY_HAND, ADMINS, move=w.move(MoveState.PLANNED), machine=w.R)
    said = w.text(words.news(told, w.books(w.MOVING), w.NOW, WATCH))
    assert "nothing happens unless you do it by hand. bob waits for it." in said


@pytest.mark.parametrize(
    ("level", "when"),
    [
        ("watch", "changes #12 to 2 T4, taken when an admin does it by hand"),
        ("hands", "changes #12 to 2 T4, taken in its next restart, by an admin's hand"),
        ("act", "changes #12 to 2 T4, taken as soon as vm-r restarts"),
    ],
)
def test_fewer_at_once_come_by_whoever_restarts(level: str, when: str) -> None:
    policy, asked = replace(w.POLICY, level=level), w.request(count=4, asked=w.NOW)
    busy = w.lease("7", slots=("T4-1", "T4-2"), state=LeaseState.ACTIVE, machine=w.PYTHON)
    at = replace(w.scene(asked, busy), policy=policy, promises={})
    reply = words.at_level(words.requested(at, asked), policy)
    assert when in w.text(reply)
    assert [b.label for b in reply.buttons if b.label.startswith("Only 2")] == [
        "Only 2, now" if level == "act" else "Only 2"
    ]


@pytest.mark.parametrize(
    ("level", "says"),
    [
        (
            "act",
            "until 24 h after the end: then, while somebody waits, I use its next night (22-06) and say so before.",
        ),
        (
            "hands",
            "until 24 h after the end: then, while somebody waits, its next night (22-06) is used, by an admin's hand.",
        ),
        ("watch", "Without an answer just that happens. Nothing restarts unasked."),
    ],
)
def test_a_reminder_names_the_night_of_the_terms(level: str, says: str) -> None:
    """It is the one restart that comes without a word of its owners."""
    policy = replace(w.POLICY, level=level)
    item = News(NewsKind.REMIND, w.ADA.id, lease=w.ACTIVE, machine=w.PYTHON, who=w.BOB.id)
    reply = words.news(item, w.books(w.ACTIVE), w.NOW, policy)
    check(reply)
    assert says in w.text(reply)
    back = News(NewsKind.RETURNING, w.ADA.id, lease=w.RETURNING, machine=w.PYTHON)
    asks = News(NewsKind.ASK_WINDOW, w.ADA.id, lease=w.RETURNING, machine=w.PYTHON)
    for item in (back, asks):
        said = w.text(words.news(item, w.books(w.RETURNING), w.NOW, policy))
        assert "Nothing restarts unasked. " not in said or level == "watch"
        assert ("next night (22-06)" in said) is (level != "watch")
