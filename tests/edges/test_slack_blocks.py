"""Replies as Block Kit: whatever is in them, Slack takes it, nobody is pinged by accident, and nothing of weight is lost silently."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.edges.slack import blocks, calls
from bot.edges.slack.hearing import typed
from bot.local.slack.blockkit import check_blocks, total_text
from bot.service.ports import Bold, Button, Code, LineOf, Name, Ping, Reply, Said, Show, When

HOSTILE = ["<!channel>", "<@U1ADA>", "<@U2BOB|bob>", "<https://e.vil|click>", "&amp;", "&", "*b*", "_i_", "~s~", "`c`", "> quote",
           "a\nb", "train_model.py", ":tada:", "é" * 50, "👩‍🚀", "\x00", " "]  # fmt: skip
text = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(HOSTILE), max_size=8).map("".join),
    st.sampled_from(["x" * 4000, "<" * 3000, "&" * 2999]),
)
times = st.integers(1_500_000_000, 2_200_000_000).map(lambda at: datetime.fromtimestamp(at, UTC))
person = st.one_of(st.sampled_from(["U1ADA", "U2BOB", "W3CAROL", "bot"]), text)
span = st.one_of(
    text, st.builds(Bold, text), st.builds(Code, text), st.builds(Said, text), st.builds(When, times, st.sampled_from(Show)),
    st.builds(Name, person), st.builds(Ping, person),
)  # fmt: skip
line = st.lists(span, max_size=6).map(tuple)
button = st.builds(Button, text, text, st.sampled_from(["", "primary", "danger", "odd"]), text)
reply = st.builds(Reply, st.lists(line, max_size=12).map(tuple), st.lists(button, max_size=4).map(tuple), st.booleans())

MARK = re.compile(r"<@[UW][A-Z0-9]+>|<!date\^\d+\^[^|<>]+\|[^<>|]+>")
ENTITY = re.compile(r"&(?:amp|lt|gt);")


def name_of(id: str) -> str:
    """Names are as hostile as people make them."""
    return {"U1ADA": "ada", "U2BOB": "<!here> *bob*", "bot": "gpubot"}.get(id, id)


def texts(made: dict[str, object]) -> list[str]:
    """The text and each text object of a message."""
    found = [str(made["text"])]
    found += re.findall(r'"text": ("(?:[^"\\]|\\.)*")', json.dumps(made["blocks"], ensure_ascii=True))
    return [found[0], *(json.loads(quoted) for quoted in found[1:])]


def assert_inert(shown: str) -> None:
    """No control character but in a mark of our own and in an entity, and none of these cut in two."""
    rest = ENTITY.sub("", MARK.sub("", shown))
    assert not set(rest) & set("<>&"), rest[:200]


@settings(max_examples=100, deadline=None)
@given(reply)
def test_slack_takes_any_reply(made: Reply) -> None:
    message = blocks.message(made, name_of)
    assert check_blocks(message["blocks"]) == []
    assert total_text(message["blocks"]) <= 13_000
    assert len(message["blocks"]) <= 50
    assert 0 < len(message["text"]) <= 4000 and message["text"].strip()
    for shown in texts(message):
        assert_inert(shown)
        pings = set(re.findall(r"<@([UW][A-Z0-9]+)>", shown))
        assert pings <= {s.person for spans in made.lines for s in spans if isinstance(s, Ping)}


@settings(max_examples=100, deadline=None)
@given(st.lists(span, max_size=12).map(tuple))
def test_a_line_is_cut_between_marks_and_not_inside(spans: LineOf) -> None:
    shown = blocks.line(spans, name_of)
    assert len(shown) <= blocks.SECTION + 1
    assert_inert(shown)


@given(text)
def test_what_a_person_wrote_has_no_markup(wrote: str) -> None:
    shown = blocks.mrkdwn(Said(wrote), name_of)
    assert not set("*`~") & set(shown)
    assert not re.search(r"(?<![^\W_])_|_(?![^\W_])", shown)


def test_words_that_have_signs_inside_stay_as_they_are() -> None:
    assert blocks.mrkdwn(Said("train_model.py at 3*4"), name_of) == "train_model.py at 3∗4"
    assert blocks.mrkdwn(Code("m`7"), name_of) == "`m'7`"
    assert blocks.mrkdwn(Said("<@U1ADA|x> and <@U9NEW>"), name_of) == "@ada and @U9NEW"
    assert blocks.mrkdwn(Ping("nobody<!channel>"), name_of) == "nobody&lt;!channel&gt;"
    assert blocks.line(("> not a quotation",), name_of).startswith("\u200b&gt;")


def test_times_are_tokens_for_the_readers_zone_with_words_for_others() -> None:
    at = datetime(2026, 3, 16, 15, 0, tzinfo=UTC)
    assert blocks.mrkdwn(When(at, Show.TIME), name_of) == f"<!date^{int(at.timestamp())}^{{time}}|15:00 UTC>"


def test_too_many_lines_are_cut_at_a_line_end_and_counted() -> None:
    lines = tuple(((f"line {n} " + "x" * 90,)) for n in range(200))
    message = blocks.message(Reply(lines), name_of)
    assert check_blocks(message["blocks"]) == []
    shown = [part for block in message["blocks"] for part in block["text"]["text"].split("\n")]
    kept = sum(part.startswith("line") for part in shown)
    assert shown[-1] == f"… and {200 - kept} more lines"
    assert message["text"].endswith("more lines")


def test_the_text_says_what_the_blocks_say() -> None:
    message = blocks.message(Reply(((Bold("First"),), ("second & third",))), name_of)
    assert message["text"] == message["blocks"][0]["text"]["text"] == "*First*\nsecond &amp; third"


def test_labels_that_are_too_long_or_empty() -> None:
    made = blocks.message(Reply((("x",),), (Button("&" * 100, "y", "danger", "sure?"), Button("", ""))), name_of)
    first, second = made["blocks"][1]["elements"]
    assert len(first["text"]["text"]) <= 75 and first["style"] == "danger" and first["confirm"]
    assert second["text"]["text"] == "…" and "value" not in second


# ---- the way in


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("request 1 because a &amp; b &lt;c&gt;", "request 1 because a & b <c>"),
        ("why <@U2BOB|bob> and <@W3CAROL>", "why <@U2BOB> and <@W3CAROL>"),
        ("<@UBOT> status", "status"),
        ("could you <@UBOT|gpubot> status", "could you  status"),
        ("on <http://vm-r.example.com|vm-r.example.com>", "on vm-r.example.com"),
        ("see <https://x.example/a?b=1&amp;c=2>", "see https://x.example/a?b=1&c=2"),
        ("write <mailto:ada@x.example|ada@x.example> <mailto:b@x.example>", "write ada@x.example b@x.example"),
        ("in <#C123|gpu> <#C124>", "in #gpu #C124"),
        ("<!channel> <!subteam^S1|@team> <!here|here>", "@channel @team here"),
        ("&amp;lt; stays one step", "&lt; stays one step"),
        ("half \ud83d a pair", "half ? a pair"),
        ("  ", ""),
        ("a < b > c", "a < b > c"),
    ],
)
def test_what_was_typed_is_read(sent: str, read: str) -> None:
    assert typed(sent, "UBOT") == read


@given(st.text(max_size=200))
def test_any_text_can_be_read_and_kept(sent: str) -> None:
    typed(sent).encode("utf-8")


def test_retry_after_is_read_in_any_case_and_has_a_stand_in() -> None:
    assert calls._after({"retry-after": "3"}) == timedelta(seconds=3)
    assert calls._after({"Retry-After": "2.5"}) == timedelta(seconds=2.5)
    assert calls._after({"Retry-After": "soon"}) == calls._after({}) == calls.LIMITED
