"""Every refusal has a sentence that says what would work, whatever facts it brings along."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain import errors
from bot.domain.errors import Refusal
from bot.service import words
from bot.service.ports import Name, Reply
from bot.service.words.refusals import SENTENCES
from tests.service import words_cases as w
from tests.service.words_rules import check

ALL = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Refusal) and c is not Refusal]
FACTS = (
    "word", "nearest", "text", "hint", "most", "count", "kind", "kinds", "machine", "machines", "what", "owners", "command",
    "number", "limit", "have", "known", "choices", "state", "why", "who", "when", "slot", "admins",
    "works", "end", "line",
)  # fmt: skip


def refused(refusal: Refusal) -> Reply:
    """The answer, which is never ok."""
    reply = words.refusal(refusal, w.POLICY)
    assert not reply.ok
    return reply


def test_none_is_without_a_sentence() -> None:
    assert set(SENTENCES) == set(ALL)


@pytest.mark.parametrize("kind", ALL)
def test_each_works_without_any_fact(kind: type[Refusal]) -> None:
    check(refused(kind()))


value = st.one_of(
    st.none(),
    st.text(max_size=300),
    st.integers(-5, 10**12),
    st.datetimes().map(lambda at: at.replace(tzinfo=w.NOW.tzinfo)),
    st.lists(st.text(max_size=60), max_size=9).map(tuple),
)


@given(st.sampled_from(ALL), st.dictionaries(st.sampled_from(FACTS), value))
def test_no_fact_breaks_an_answer(kind: type[Refusal], facts: dict[str, object]) -> None:
    reply = refused(kind(**facts))  # type: ignore[arg-type]
    said = w.text(reply)
    assert said.split("\n")[0].strip() and len(said) <= 3000 and len(reply.buttons) <= 3
    assert all(0 < len(b.label) <= 75 for b in reply.buttons)
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("refusal", "says", "types"),
    [
        (errors.UnknownVerb(word="relase", nearest="release"), "Did you mean release?", ["help"]),
        (errors.UnknownVerb(word="reqest", nearest="request"), "Did you mean request?", ["request", "help"]),
        (errors.UnknownVerb(word="xyzzy", nearest=None), 'I do not know "xyzzy".', ["help"]),
        (errors.Unclear(text="fri 25:00", hint="fri 18:00"), "What works: fri 18:00.", ["help"]),
        (errors.BadCount(text="1.5", most=4), "from 1 to 4", ["request 1"]),
        (errors.TooMany(count=99, most=4, kind="T4"), "I have 4", ["request 1", "request 4 T4"]),
        (errors.TooMany(count=1, most=0, kind="card"), "no card to lend yet", []),
        (errors.UnknownKind(kind="H100", kinds=("T4",)), "I have: T4.", ["request 1 T4"]),
        (errors.UnknownMachine(machine="vm-x", machines=("vm-r",)), "Yours: vm-r.", ["mine"]),
        (errors.NotYours(what="vm-r", owners=(w.BOB.id,)), "It belongs to bob", ["mine"]),
        (
            errors.WhichMachine(machines=("vm-r", "vm-train"), command="request 1"),
            "For which of your 2 machines?",
            ["request 1 on vm-r", "request 1 on vm-train"],
        ),
        (errors.NoMachine(), "machine add NAME", ["queue", "help"]),
        (errors.Already(number=12, count=2, kind="T4"), "You are in line for 2 T4 already: #12.", ["why #12", "release #12"]),
        (
            errors.Already(number=12, count=3, kind="T4", offered=True),
            "#12 is offered to you now: 3 T4. Nothing was changed.",
            ["accept #12 now", "pass #12", "release #12"],
        ),
        (errors.Already(what="T4-1"), "That is so already: T4-1.", []),
        (errors.OverCap(limit=2, have=2, what="requests in line"), "the limit is 2 requests in line a person", ["mine", "queue"]),
        (errors.UnknownThing(what="person", text="@ada", known=()), "after their first word to me in Slack: /gpu status from them", []),
        (errors.UnknownThing(what="lease", text="#99", known=("#12",)), 'I know no card "#99".', ["mine", "queue"]),
        (
            errors.WhichThing(what="card or place in line", choices=("#7", "#12"), command="release"),
            "Which card or place in line do you mean?",
            ["release #7", "release #12"],
        ),
        (errors.InThePast(text="14:00", hint="tomorrow 14:00"), "such as tomorrow 14:00", []),
        (errors.TooLong(limit="14 days in all", text="30 days"), "30 days is too long: the limit is 14 days in all.", ["mine"]),
        (
            errors.TooLong(limit="7 days in all", text="", works="extend #3 until fri 4 dec 18:00"),
            "What works: /gpu extend #3 until fri 4 dec 18:00.",
            ["extend #3 until fri 4 dec 18:00", "mine"],
        ),
        (
            errors.NoLonger(number="3", end=w.NOW, who=w.BOB.id, why="it was made longer once already"),
            "As it stands it is yours until today 14:40.\nbob waits for one.",
            ["mine", "queue"],
        ),
        (
            errors.NoLonger(number="3", end=w.NOW, who=w.BOB.id, count=3, why="it was made longer once already"),
            "\nbob waits for 3 cards.",
            ["mine", "queue"],
        ),
        (
            errors.TooLong(limit="today 16:48", text="", who=w.BOB.id, number="#6", works="", late=w.BOB.id, when=w.NOW),
            "bob comes next (#6).\nbob was told likely by today 14:40, and would wait longer, so I offer no longer time.",
            ["mine"],
        ),
        (errors.NoLonger(number="3", end=w.NOW, who="", why="the limit is 14 days"), "ask for a card again", ["mine", "request"]),
        (errors.NotLater(number="3", end=w.NOW), "#3 is yours until today 14:40 already; that is not later.", ["mine"]),
        (errors.TooLate(state="queued", number="12", why="nothing is offered"), "As it stands now: it is in line.", ["why #12", "mine"]),
        (
            errors.TooLate(state="used", number=3, why="it is over"),
            "Too late: it is over.\nNothing was changed.",
            ["mine"],
        ),
        (
            errors.NotPossible(what="accept", why="say when: accept now, accept tonight, …"),
            "accept tonight, …\n",
            ["mine", "help"],
        ),
        (errors.Promised(who=w.BOB.id, when=w.NOW, slot="T4-2"), "was promised to bob today 14:40", ["request", "why T4-2"]),
        (errors.AdminsOnly(admins=(w.DANA.id,)), "Ask dana.", ["help"]),
        (errors.ReasonWanted(command="drain T4-1 because …"), "/gpu drain T4-1 because …", []),
        (errors.NotPossible(what="extend", why="you have no card"), "you have no card", ["mine", "help"]),
    ],
)  # fmt: skip
def test_each_says_what_is_wrong_and_what_would_work(refusal: Refusal, says: str, types: list[str]) -> None:
    reply = refused(refusal)
    check(reply)
    assert says in w.text(reply)
    assert [b.says for b in reply.buttons] == types


def test_what_somebody_typed_is_shown_but_never_acts() -> None:
    reply = refused(errors.UnknownVerb(word="<!channel>", nearest="x; rm *"))
    assert [b.says for b in reply.buttons] == ["help"]
    which = refused(errors.WhichMachine(machines=("vm <!here>", "vm-r"), command="request 1"))
    assert [b.says for b in which.buttons] == ["request 1 on vm-r"]


def test_owners_are_named_without_a_ping() -> None:
    reply = refused(errors.NotYours(what="vm-r", owners=tuple(f"U{i}" for i in range(9))))
    names = [s for line in reply.lines for s in line if isinstance(s, Name)]
    assert len(names) == 4 and "5 others" in w.text(reply)


def test_a_time_is_shown_as_a_time() -> None:
    reply = refused(errors.TooLong(limit=w.NOW + timedelta(days=1), text="9 days"))
    assert "tomorrow 14:40" in w.text(reply)
