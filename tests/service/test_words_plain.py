"""Plain text: times in the reader's zone, buttons as commands, nothing that steers a terminal."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.service import words
from bot.service.ports import Bold, Button, Code, Name, Ping, Reply, Said, Show, When
from bot.service.words import plain as words_plain
from bot.service.words.common import because, head, ln, said, why_tail
from tests.service import words_cases as w

AT = datetime(2026, 3, 17, 15, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "now", "zone", "expected"),
    [
        (AT, AT, "Europe/Berlin", "today 16:00"),
        (AT, AT, "America/New_York", "today 11:00"),
        (AT + timedelta(hours=9), AT, "Europe/Berlin", "tomorrow 01:00"),
        (AT + timedelta(hours=9), AT, "America/New_York", "today 20:00"),
        (AT + timedelta(days=3), AT, "Europe/Berlin", "Fri 16:00"),
        (AT + timedelta(days=7), AT, "Europe/Berlin", "Tue 24 Mar 16:00"),
        (AT + timedelta(days=12), AT, "Europe/Berlin", "Sun 29 Mar 17:00"),  # the clock has changed
        (AT - timedelta(days=1), AT, "Europe/Berlin", "Mon 16 Mar 16:00"),
        (AT + timedelta(days=365), AT, "Europe/Berlin", "Wed 17 Mar 2027 16:00"),
        (AT, None, "Europe/Berlin", "Tue 17 Mar 16:00"),
    ],
)
def test_an_instant_is_shown_in_the_readers_zone(at: datetime, now: datetime | None, zone: str, expected: str) -> None:
    assert words.terminal(Reply(((When(at),),)), zone, w.name_of, now) == expected


def test_the_other_ways_to_show_an_instant() -> None:
    reply = Reply(((When(AT, Show.TIME), " ", When(AT, Show.DAY)),))
    assert words.terminal(reply, "Europe/Berlin", w.name_of) == "16:00 Tue 17 Mar"


def test_lines_names_and_buttons() -> None:
    reply = Reply(
        ((Bold("Hello"), " ", Name(w.ADA.id), " and ", Ping(w.BOB.id)), (Code("T4-1"), ": ", Said("*so* <it> is"))),
        (Button("Give it back", "release #12"), Button("Status", "")),
    )
    assert words.terminal(reply, w.BERLIN, w.name_of, command="/cards").split("\n") == [
        "Hello ada and @bob",
        "T4-1: *so* <it> is",
        "  [Give it back] /cards release #12",
        "  [Status] /cards",
    ]
    assert words.flat(reply, w.BERLIN, w.name_of) == "Hello ada and @bob"


@given(st.text(), st.text(), st.text())
def test_no_control_character_reaches_a_terminal(said: str, name: str, label: str) -> None:
    reply = Reply((("x ", Said(said), Bold(said), Name("U1")),), (Button(label, said),))
    shown = words.terminal(reply, w.BERLIN, lambda _: name)
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} for c in shown if c != "\n")
    assert shown.count("\n") == 1


@given(st.lists(st.one_of(st.text(alphabet="ab (.),?'", max_size=12), st.just(Name("U1")), st.just(Code("c")))))
def test_a_head_says_the_same_with_blanks_outside_the_bold(parts: list[object]) -> None:
    plain, bold = ln(*parts), head(*parts)  # type: ignore[arg-type]
    shown = words.terminal(Reply((plain,)), w.BERLIN, lambda _: "N")
    assert words.terminal(Reply((bold,)), w.BERLIN, lambda _: "N") == shown
    for i, span in enumerate(bold):
        if not isinstance(span, Bold):
            continue
        assert span.text == span.text.strip() != ""
        before, after = bold[i - 1] if i else " ", bold[i + 1] if i + 1 < len(bold) else " "
        assert isinstance(before, str) and before[-1].isspace(), "bold touches what is before it"
        assert isinstance(after, str) and after[0].isspace(), "bold touches what is after it"


def test_a_head_of_a_name_keeps_what_touches_it_outside() -> None:
    assert head(Name("U1"), "'s card is (", Code("T4-1"), ") free.") == (
        Name("U1"), "'s ", Bold("card is"), " (", Code("T4-1"), ") ", Bold("free."),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("bobb", "I do not know bobb; did you mean bob? I know: ada, bob. "),
        ("xyzzy", "I do not know xyzzy. I know: ada, bob. "),
        ("", "Say who it is: --as NAME. I know: ada, bob. "),
        (" \u200b ", "Say who it is: --as NAME. I know: ada, bob. "),
        ("\x1b[31mred", "I do not know [31mred. "),
        ("z" * 99, f"I do not know {'z' * 39}…. "),
    ],
)
def test_who_is_not_known_is_told_who_is(typed: str, says: str) -> None:
    said = words_plain.not_known(typed, ["bob", "ada"])
    assert said.startswith(says) and said.endswith(
        "first word in Slack: `/gpu status` from them is enough, then this line again."
    )
    assert words_plain.not_known("x", []).count("nobody yet") == 1
    assert " and 2 more. " in words_plain.not_known("x", [f"p{i}" for i in range(12)])


def test_a_text_that_is_cut_ends_between_words_and_in_one_mark() -> None:
    long = "the cooling of this host was " + "never cleaned " * 30
    for line in (ln(why_tail(long)), because(long) or (), ln(said(long, 80), ".")):
        shown = words_plain.terminal(Reply((line,)), "UTC", str)
        assert shown.endswith((" never…", " cleaned…"))
    assert (
        words_plain.terminal(Reply((ln(said("ready?"), ". More."), ln(said("x"), ". More."))), "UTC", str)
        == "ready? More.\nx. More."
    )
    assert said("x" * 300, 80).text == "x" * 79 + "…"
    assert said("ada", 20).text == "ada" and said("ada and all of her friends", 20).text == "ada and all of her…"
