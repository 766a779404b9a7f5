"""A dozen messages as people in Berlin read them, kept in ``tests/data/words`` so that their tone can be reviewed.

To see what changed: run with ``WORDS_WRITE=1`` and read the difference in git.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.errors import OverCap, TooMany
from bot.domain.inside import Nudge
from bot.domain.inside import Verdict as Busy
from bot.domain.model import Hold, Length, MoveState, Request, Step, Turn
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.promises import Promise
from bot.domain.rules import Instead, Rule, Verdict
from bot.domain.waiting import Shift, ShiftWhy
from bot.service import words
from bot.service.ports import Reply
from tests.service import words_cases as w
from tests.service.words_rules import check

KEPT = Path(__file__).parent.parent / "data" / "words"
RESTING = replace(w.cards()["T4-4"], aside=w.RESTED)
BUSY = (w.lease(), w.lease("8", w.CAROL, w.TRAIN, ("T4-2", "T4-3")), RESTING)
GAVE = w.lease("7", w.ADA, w.PYTHON, ("T4-3",), state=w.LeaseState.ENDED, changed=w.NOW - 10 * w.MIN)
ASKED = w.request(asked=w.NOW)
SECOND = w.request(13, w.CAROL, w.TRAIN, asked=w.NOW - timedelta(hours=1))
NO_ROOM = "vm-r needs 64 GB of memory, and 41 GB are free in esx-01"
REFUSED = (*w.STEPS[:2], Step(w.NOW - 3 * w.MIN, "start_refused", NO_ROOM))
HELP = [
    ("request [N] [KIND] [on MACHINE] [for 8h / until fri 18:00]", "ask for a card"),
    ("status", "who has what, who is in line, where you are"),
    ("why", "why you wait, and until when"),
    ("extend [4h / until tomorrow 18:00]", "keep your card longer"),
    ("release [now / when done / tonight]", "give back, or leave the line"),
    ("window [nights / tonight / now]", "when your machine may restart"),
]


def told(kind: NewsKind, to: str, *there: object, **facts: object) -> Reply:
    """A message that nobody asked for."""
    return words.news(News(kind, to, **facts), w.books(*there), w.NOW, w.POLICY)  # type: ignore[arg-type]


def board() -> Reply:
    agreed = w.agreement(5, w.PYTHON, w.ADA, label="7b")
    scene = w.scene(w.lease(), w.RETURNING, agreed, w.ACTIVE, RESTING, SECOND)
    return words.board(scene.books, scene.seen, scene.now, scene.policy, scene.promises)


def move(state: MoveState, **other: object) -> Reply:
    facts = {"steps": w.STEPS, "off_at": w.NOW - 4 * w.MIN, "on_at": w.NOW - w.MIN} | other
    return words.move_message(w.move(state, **facts), w.books(GAVE, w.MOVING, w.agreement()), w.NOW, w.POLICY)


def released() -> Reply:
    there = (w.request(), w.lease(), w.RETURNING, Hold("T4-2", Turn.NEXT, "12"))
    return words.released(w.scene(*there), w.ADA.id, [w.RETURNING], [])


QUESTION = Nudge("idle:7:1", 1, w.NOW, ("T4-2",), waits=w.BOB.id)
TWO = w.lease(
    slots=("T4-1", "T4-2"), seen_vcenter=w.NOW - 5 * w.H, seen_guest=w.NOW - 5 * w.H + 2 * w.MIN, computed=w.NOW - 4 * w.H,
    guest_lines=("GPU 0: Tesla T4 (UUID: GPU-5f3c)", "GPU 1: Tesla T4 (UUID: GPU-77aa)"),
)  # fmt: skip
CLOCKS = (
    w.watch("T4-1", verdict=Busy.BUSY, busy_since=w.NOW - 3 * w.H),
    w.watch("T4-2", quiet_s=6480.0, quarters=w.quarters("89789789110..000")),
)


def quiet(nudge: Nudge, *there: object, **facts: object) -> Reply:
    given: dict[str, object] = {
        "lease": replace(TWO, nudge=nudge), "machine": w.PYTHON, "slots": ("T4-2",), "watches": CLOCKS[1:], "who": w.BOB.id,
        "until": w.NOW + w.H, "zone": w.BERLIN, "inside": w.reading(w.device("T4-1"), w.device("T4-2")),
    }  # fmt: skip
    return told(NewsKind.NUDGE, w.ADA.id, w.request(), *CLOCKS, *there, **{**given, **facts})


FOUR = w.request(13, w.CAROL, w.TRAIN, count=4, asked=w.NOW - 3 * w.H)
LENT = (w.lease(slots=("T4-1", "T4-2")), w.lease("8", w.CAROL, w.TRAIN, ("T4-3",)))
THURSDAY = w.NOW + timedelta(days=2)


def why(request: Request, *there: object, instead: Instead | None = None, **facts: object) -> Reply:
    """The answer to bob's ``why``, when the decision says so of his request."""
    verdict = Verdict(request.number, False, **facts)  # type: ignore[arg-type]
    waits = {request.number: Promise(THURSDAY, THURSDAY + timedelta(days=4), "own_end")}
    verdicts = {request.number: verdict}
    other = {request.number: instead or Instead()}
    scene = replace(w.scene(request, *there), verdicts=verdicts, instead=other, promises=waits)
    return words.why(scene, w.BOB, request)


MESSAGES: dict[str, Callable[[], Reply]] = {
    "01-request-waits": lambda: words.requested(w.scene(ASKED, *BUSY), ASKED),
    "02-request-free": lambda: words.requested(w.scene(ASKED), ASKED),
    "03-offer": lambda: told(
        NewsKind.OFFER, w.BOB.id, w.OFFERED, request=w.OFFERED, machine=w.R, until=w.NOW + timedelta(minutes=30)
    ),
    "04-board": board,
    "05-move-under-way": lambda: move(MoveState.PROVING),
    "06-move-went-back": lambda: move(MoveState.UNDOING, reason=NO_ROOM, steps=REFUSED),
    "07-given-back": released,
    "08-why": lambda: words.why(w.scene(w.request(), SECOND, *BUSY), w.CAROL, SECOND),
    "09-last-call": lambda: told(
        NewsKind.LAST_CALL, w.BOB.id, w.RESERVED, w.agreement(), machine=w.R, until=w.NOW + timedelta(minutes=10),
        move=w.move(MoveState.PLANNED, last_call_for=w.NOW),
    ),
    "10-it-did-not-work": lambda: told(
        NewsKind.UNDONE, w.BOB.id, w.RESERVED, machine=w.R, reason=NO_ROOM,
        move=w.move(MoveState.DONE, undo=True, off_at=w.NOW - 4 * w.MIN, on_at=w.NOW, steps=(*REFUSED, Step(w.NOW, "on"))),
    ),
    "11-too-many": lambda: words.refusal(TooMany(count=99, most=4, kind="T4"), w.POLICY),
    "12-over-the-limit": lambda: words.refusal(OverCap(limit=2, have=2, what="requests in line"), w.POLICY),
    "13-help": lambda: words.helped(w.scene(), w.BOB, HELP, False),
    "14-firm-night": lambda: told(
        NewsKind.FIRM_WINDOW, w.ADA.id, w.RETURNING, lease=w.RETURNING, machine=w.PYTHON, until=w.NOW + 8 * w.H,
        reason='others wait, and "not now" was said twice',
        agreement=w.agreement(
            machine=w.PYTHON, firm=True, person=replace(w.BOB, id="bot"), window=w.Window(w.NOW + 8 * w.H, w.NOW + 15 * w.H)
        ),
    ),
    "16-quiet": lambda: quiet(QUESTION),
    "17-quiet-again-warning": lambda: quiet(replace(QUESTION, number=2, warning=True), w.standing(machine=w.PYTHON, person=w.ADA)),
    "18-quiet-nobody-waits": lambda: quiet(replace(QUESTION, waits=""), who="", until=None),
    "19-in-use": lambda: told(
        NewsKind.NUDGE_OVER, w.ADA.id, w.request(), lease=TWO, slots=("T4-2",), watches=(w.watch("T4-2", using=w.NOW),), who=w.BOB.id,
        reason="using", counts=(("asked", 31), ("wrong", 2)),
    ),
    "20-token": lambda: words.machine_token(w.scene(), w.R, "shown-once"),
    "21-why-of-a-card": lambda: words.why(w.scene(TWO, *CLOCKS), w.ADA, TWO),
    "22-evidence": lambda: told(NewsKind.NUDGE_EVIDENCE, ADMINS, counts=(("would nudge", 12), ("days", 5))),
    "23-why-not-past": lambda: why(
        w.request(asked=w.NOW - w.H, terms=w.Terms(Length(lasting=timedelta(days=3)))), FOUR, *LENT, rules=frozenset({Rule.PASSING, Rule.ORDER}),
        ahead=(13,), passed=13, start=THURSDAY, back=THURSDAY + timedelta(days=2), free=1, instead=Instead(lasting=20 * w.H),
    ),
    "24-why-over-the-share": lambda: why(
        w.request(), w.request(13, w.CAROL, w.TRAIN), w.lease("9", w.BOB, w.R, ("T4-3", "T4-4")), rules=frozenset({Rule.CAP}), most=2, has=2,
        free=1, instead=Instead(spare=True),
    ),
    "25-why-urgent-before": lambda: why(
        w.request(), w.request(13, w.CAROL, w.TRAIN, asked=w.NOW - w.H, shifts=(Shift(ShiftWhy.URGENT, -24 * w.H),)),
        w.lease(slots=("T4-1", "T4-2", "T4-3", "T4-4")), rules=frozenset({Rule.LENT}), who=(w.ADA.id,), ahead=(13,),
    ),
    "15-window-agreed": lambda: words.agreed(w.scene(w.RESERVED), w.agreement(label="12")),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_the_message_is_as_it_was_reviewed(name: str) -> None:
    reply = MESSAGES[name]()
    check(reply)
    shown = w.text(reply) + "\n"
    assert len(w.text(Reply(reply.lines))) <= 600, "longer than anybody reads"
    kept = KEPT / f"{name}.txt"
    if os.environ.get("WORDS_WRITE"):
        kept.write_text(shown, encoding="utf-8")
    assert shown == kept.read_text(encoding="utf-8")


def test_no_kept_message_is_left_over() -> None:
    assert {p.stem for p in KEPT.glob("*.txt")} == set(MESSAGES)
