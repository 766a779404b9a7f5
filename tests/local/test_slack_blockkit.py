"""The Block Kit check: what is allowed passes, each documented limit is caught with a pointer, and slack_sdk's models agree.

The limits come from Slack's reference of blocks; where slack_sdk's own models are stricter or laxer, the probe says so.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from bot.local.slack.blockkit import check_blocks, check_view, fill_ids, total_text

Node = dict[str, Any]


def plain(text: str) -> Node:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Node:
    return {"type": "mrkdwn", "text": text}


def section(text: str = "x", **more: Any) -> Node:
    return {"type": "section", "text": mrkdwn(text), **more}


def fields(*texts: str) -> Node:
    return {"type": "section", "fields": [mrkdwn(text) for text in texts]}


def header(text: str) -> Node:
    return {"type": "header", "text": plain(text)}


def context(*texts: str) -> Node:
    return {"type": "context", "elements": [mrkdwn(text) for text in texts]}


def actions(*elements: Node, **more: Any) -> Node:
    return {"type": "actions", "elements": list(elements), **more}


def button(text: str = "b", action_id: str = "a", **more: Any) -> Node:
    return {"type": "button", "text": plain(text), "action_id": action_id, **more}


def options(count: int, text: str = "t", value: str = "v") -> list[Node]:
    return [{"text": plain(text), "value": f"{value}{i}"} for i in range(count)]


def chooser(kind: str, count: int, **more: Any) -> Node:
    return {"type": kind, "action_id": "c", "options": options(count), **more}


def select(**more: Any) -> Node:
    return {"type": "static_select", "action_id": "s", "options": options(1), **more}


def image(**more: Any) -> Node:
    return {"type": "image", "image_url": "https://x.example/i.png", "alt_text": "i", **more}


def confirm(**more: str) -> Node:
    parts = {"title": "t", "text": "t", "confirm": "y", "deny": "n"} | more
    return {key: plain(value) for key, value in parts.items()}


def text_input(**more: Any) -> Node:
    element = {"type": "plain_text_input", "action_id": "i"}
    return {"type": "input", "block_id": "in", "label": plain("l"), "element": element, **more}


GOOD: dict[str, list[Node]] = {
    "section": [section("x" * 3000)],
    "ten fields": [fields(*["f" * 2000] * 10)],
    "header": [header("h" * 150)],
    "divider": [{"type": "divider"}],
    "context": [context(*["c"] * 10)],
    "25 buttons": [actions(*[button(action_id=f"a{i}") for i in range(25)])],
    "button at its limits": [actions(button("b" * 75, "a" * 255, value="v" * 2000, url="https://x.example", style="danger"))],
    "confirm": [actions(button(confirm=confirm(title="t" * 100, text="t" * 300, confirm="c" * 30, deny="d" * 30)))],
    "overflow with 5": [section(accessory=chooser("overflow", 5))],
    "select with 100": [actions(chooser("static_select", 100))],
    "option at its limits": [actions(select(options=[{"text": plain("t" * 75), "value": "v" * 150}]))],
    "radio and checkboxes with 10": [actions(chooser("radio_buttons", 10), {**chooser("checkboxes", 10), "action_id": "d"})],
    "pickers": [actions({"type": "datepicker", "action_id": "1"}, {"type": "timepicker", "action_id": "2"})],
    "image": [image(), section(accessory=image())],
    "input in a message": [text_input()],
    "50 blocks": [section()] * 50,
    "groups": [actions({"type": "static_select", "action_id": "s",
                        "option_groups": [{"label": plain("g"), "options": options(2)}]})],
    "same action_id in two blocks": [actions(button()), actions(button())],
}  # fmt: skip

# name: (blocks, pointer of the fault, whether slack_sdk's models see it too)
BAD: dict[str, tuple[list[Node], str, bool]] = {
    "empty text": ([section("")], "/blocks/0/text/text", False),
    "section 3001": ([section("x" * 3001)], "/blocks/0/text/text", True),
    "section without anything": ([{"type": "section"}], "/blocks/0", True),
    "field 2001": ([fields("f" * 2001)], "/blocks/0/fields/0/text", False),
    "11 fields": ([fields(*["f"] * 11)], "/blocks/0/fields", True),
    "header 151": ([header("h" * 151)], "/blocks/0/text/text", True),
    "mrkdwn header": ([{"type": "header", "text": mrkdwn("h")}], "/blocks/0/text/type", False),
    "empty context": ([context()], "/blocks/0/elements", False),
    "context of 11": ([context(*["c"] * 11)], "/blocks/0/elements", True),
    "empty actions": ([actions()], "/blocks/0/elements", False),
    "26 buttons": ([actions(*[button(action_id=f"a{i}") for i in range(26)])], "/blocks/0/elements", True),
    "button text 76": ([actions(button("b" * 76))], "/blocks/0/elements/0/text/text", True),
    "mrkdwn button": ([actions({**button(), "text": mrkdwn("b")})], "/blocks/0/elements/0/text/type", False),
    "button value 2001": ([actions(button(value="v" * 2001))], "/blocks/0/elements/0/value", True),
    "button url 3001": ([actions(button(url="https://x.example/" + "u" * 3000))], "/blocks/0/elements/0/url", True),
    "button style": ([actions(button(style="big"))], "/blocks/0/elements/0/style", True),
    "action_id 256": ([actions(button(action_id="a" * 256))], "/blocks/0/elements/0/action_id", True),
    "action_id twice in a block": ([actions(button(), button())], "/blocks/0/elements/1/action_id", False),
    "block_id twice": ([section(block_id="b"), section(block_id="b")], "/blocks/1/block_id", False),
    "block_id 256": ([section(block_id="b" * 256)], "/blocks/0/block_id", True),
    "overflow with 6": ([section(accessory=chooser("overflow", 6))], "/blocks/0/accessory/options", True),
    "overflow with none": ([section(accessory=chooser("overflow", 0))], "/blocks/0/accessory/options", True),
    "select with none": ([actions(chooser("static_select", 0))], "/blocks/0/elements/0/options", False),
    "select with 101": ([actions(chooser("static_select", 101))], "/blocks/0/elements/0/options", True),
    "11 radios": ([actions(chooser("radio_buttons", 11))], "/blocks/0/elements/0/options", False),
    "option text 76": ([actions(select(options=options(1, "t" * 76)))], "/blocks/0/elements/0/options/0/text/text", False),
    "option value 151": (
        [actions(select(options=options(1, value="v" * 150)))], "/blocks/0/elements/0/options/0/value", False),
    "initial option from elsewhere": (
        [actions(select(initial_option={"text": plain("z"), "value": "z"}))], "/blocks/0/elements/0", False),
    "placeholder 151": ([actions(select(placeholder=plain("p" * 151)))], "/blocks/0/elements/0/placeholder/text", True),
    "confirm title 101": (
        [actions(button(confirm=confirm(title="t" * 101)))], "/blocks/0/elements/0/confirm/title/text", True),
    "confirm text 301": (
        [actions(button(confirm=confirm(text="t" * 301)))], "/blocks/0/elements/0/confirm/text/text", True),
    "confirm button 31": (
        [actions(button(confirm=confirm(confirm="c" * 31)))], "/blocks/0/elements/0/confirm/confirm/text", True),
    "image without alt text": (
        [{"type": "image", "image_url": "https://x.example/i.png"}], "/blocks/0", True),
    "image alt 2001": ([image(alt_text="a" * 2001)], "/blocks/0/alt_text", True),
    "51 blocks": ([section()] * 51, "/blocks", False),
    "unknown block": ([{"type": "carousel"}], "/blocks/0/type", False),
    "unknown key": ([section(colour="red")], "/blocks/0", False),
    "unknown key of an element": ([actions(button(colour="red"))], "/blocks/0/elements/0", False),
    "unknown element": ([actions({"type": "slider", "action_id": "s"})], "/blocks/0/elements/0/type", False),
    "input element in actions": (
        [actions({"type": "plain_text_input", "action_id": "i"})], "/blocks/0/elements/0/type", False),
    "button as an input": ([text_input(element=button())], "/blocks/0/element/type", True),
    "initial options that are none": (
        [actions({**chooser("checkboxes", 1), "initial_options": 5})], "/blocks/0/elements/0/initial_options", True),
    "input label 2001": ([text_input(label=plain("l" * 2001))], "/blocks/0/label/text", True),
}  # fmt: skip

UNJUDGED = {"unknown block", "unknown element"}  # slack_sdk parses these to nothing


def sdk_says(blocks: list[Node]) -> bool:
    """Whether slack_sdk's models refuse."""
    try:
        for block in blocks:
            parsed = Block.parse(copy.deepcopy(block))
            if parsed is None:
                return True
            parsed.to_dict()
    except (SlackObjectFormationError, TypeError):  # TypeError: a required field is missing
        return True
    return False


@pytest.mark.parametrize("name", GOOD)
def test_what_is_allowed_passes(name: str) -> None:
    assert check_blocks(GOOD[name]) == []
    assert not sdk_says(GOOD[name])


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_is_pointed_at(name: str) -> None:
    blocks, pointer, sdk = BAD[name]
    found = check_blocks(blocks)
    assert any(told.endswith(f"[json-pointer:{pointer}]") for told in found), found
    if name not in UNJUDGED:
        assert sdk_says(blocks) is sdk, "slack_sdk judges otherwise than noted here"


def modal(**more: Any) -> Node:
    return {"type": "modal", "title": plain("t"), "blocks": [section()], **more}


@pytest.mark.parametrize(
    "view",
    [
        modal(title=plain("t" * 24), submit=plain("s" * 24), close=plain("c" * 24), private_metadata="m" * 3000),
        modal(blocks=[text_input()], submit=plain("ok")),
        modal(blocks=[section()] * 100),
        {"type": "home", "blocks": [section()] * 100},
    ],
)
def test_views_that_are_allowed(view: Node) -> None:
    assert check_view(view) == []
    View(**copy.deepcopy(view)).to_dict()


@pytest.mark.parametrize(
    ("view", "pointer"),
    [
        ({"type": "modal", "blocks": [section()]}, "/view/title"),
        (modal(title=plain("t" * 25)), "/view/title/text"),
        (modal(submit=plain("s" * 25)), "/view/submit/text"),
        (modal(title=mrkdwn("t")), "/view/title/type"),
        (modal(private_metadata="m" * 3001), "/view/private_metadata"),
        (modal(callback_id="c" * 256), "/view/callback_id"),
        (modal(blocks=[text_input()]), "/view"),
        (modal(blocks=[section()] * 101), "/view/blocks"),
        (modal(blocks=[section("")]), "/view/blocks/0/text/text"),
        (modal(blocks=None), "/view/blocks"),
        (modal(colour="red"), "/view"),
        ({"type": "home", "title": plain("t"), "blocks": [section()]}, "/view"),
        ({"type": "sheet", "blocks": []}, "/view/type"),
        ("view", "/view"),
    ],
)
def test_views_that_are_not(view: Any, pointer: str) -> None:
    assert any(told.endswith(f"[json-pointer:{pointer}]") for told in check_view(view)), check_view(view)


@pytest.mark.parametrize(
    "blocks", [None, {}, "x", [1], [None], [[]], [{}], [{"type": []}], [{"type": "section", "text": 1}]]
)
def test_nonsense_is_told_and_not_raised(blocks: Any) -> None:
    assert check_blocks(blocks)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "text", "elements", "accessory", "fields", "options", "value", "confirm", "element", "label",
                         "block_id", "action_id", "initial_options", "option_groups", "url", "style"]),
        inner | st.sampled_from(["section", "actions", "button", "static_select", "checkboxes", "input", "plain_text"]),
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@given(JSON, JSON)
def test_any_json_gets_a_verdict(blocks: Any, view: Any) -> None:
    assert isinstance(check_blocks(blocks), list)
    assert isinstance(check_blocks([blocks]), list)
    assert isinstance(check_view({"type": "modal", "blocks": [blocks], "title": view}), list)


def test_ids_are_made_up_once_and_differ() -> None:
    blocks = [section(), actions(button(), {"type": "datepicker"}), section(block_id="mine")]
    before = copy.deepcopy(blocks)
    made = fill_ids(blocks)
    assert blocks == before and made[2]["block_id"] == "mine"
    assert len({block["block_id"] for block in made}) == 3
    assert made[1]["elements"][0]["action_id"] == "a" and made[1]["elements"][1]["action_id"]
    assert fill_ids(made) == made


def test_all_text_together_is_counted() -> None:
    assert total_text([section("abc"), actions(button("de")), fields("f", "g")]) == 7
