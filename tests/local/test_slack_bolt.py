"""The stand-in Slack against a real Bolt app over a real socket, with both Socket Mode clients."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from slack_sdk.errors import SlackApiError

from bot.local.slack import LocalSlack, start_in_thread
from tests.local.slack_app import HANDLERS, Tried, blocks, button, connected


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    with start_in_thread() as running:
        yield running


@pytest.fixture(scope="module", params=list(HANDLERS))
def tried(slack: LocalSlack, request: pytest.FixtureRequest) -> Iterator[Tried]:
    with connected(slack, request.param) as app:
        yield app


@pytest.fixture(autouse=True)
def _fresh(tried: Tried) -> None:
    tried.extra.clear()


def test_command_is_acked_with_text_that_only_its_person_sees(slack: LocalSlack, tried: Tried) -> None:
    got = slack.drive.command("ada", "#gpu", "/gpu request 1")
    assert got["acked"] and got["error"] is None
    assert got["message"]["text"] == "you said request 1"
    body = tried.last("command")
    assert body["user_id"] == "UADA000001" and body["channel_id"] == slack.channel and body["command"] == "/gpu"
    assert got["message"]["ts"] in [m["ts"] for m in slack.drive.messages("ada", "#gpu")]
    assert got["message"]["ts"] not in [m["ts"] for m in slack.drive.messages("bob", "#gpu")]


def test_twenty_people_at_once(slack: LocalSlack, tried: Tried) -> None:
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda n: slack.drive.command("ada", "#gpu", f"/gpu {n}"), range(20)))
    assert all(got["acked"] for got in found)
    assert [got["message"]["text"] for got in found] == [f"you said {n}" for n in range(20)]
    assert len({got["message"]["ts"] for got in found}) == 20


def test_posts_to_the_channel_and_to_a_dm(slack: LocalSlack, tried: Tried) -> None:
    posted = tried.client.chat_postMessage(channel=slack.channel, text="the board", blocks=blocks("*board*"))
    assert posted["channel"] == slack.channel
    dm = tried.client.conversations_open(users="UBOB000001")["channel"]["id"]
    tried.client.chat_postMessage(channel=dm, text="only for bob")
    assert slack.drive.messages("bob", "dm")[-1]["text"] == "only for bob"
    assert all(m["text"] != "only for bob" for m in slack.drive.messages("ada"))
    assert slack.drive.wait_message("carol", "#gpu", "the board")["ts"] == posted["ts"]


def test_click_edits_the_message(slack: LocalSlack, tried: Tried) -> None:
    tried.client.chat_postMessage(
        channel=slack.channel, text="edit me", blocks=blocks("edit me", button("Edit", "edit"))
    )
    got = slack.drive.click("bob", "#gpu", text="Edit")
    assert got["acked"] and got["action"]["value"] == "1"
    message = slack.drive.wait_message("ada", "#gpu", "edited")
    assert message["edits"] == 1 and "edited" in message
    body = tried.last("action")
    assert body["message"]["ts"] == message["ts"] and body["container"]["is_ephemeral"] is False


def test_modal_opens_refuses_and_is_submitted(slack: LocalSlack, tried: Tried) -> None:
    tried.client.chat_postMessage(channel=slack.channel, text="modal", blocks=blocks("modal", button("Open", "open")))
    slack.drive.click("ada", "#gpu", action_id="open")
    view = slack.drive.wait(lambda: slack.drive.view("ada"))
    assert view["title"]["text"] == "How many?" and slack.drive.view("bob") is None
    assert slack.drive.submit("ada")["errors"] == {"count": "Please complete this required field."}
    assert slack.drive.submit("ada", n="0")["errors"] == {"count": "At least one."}
    done = slack.drive.submit("ada", n="2", k="T4")
    assert done["acked"] and done["open"] is None and slack.drive.view("ada") is None
    values = tried.last("submission")["view"]["state"]["values"]
    assert values["count"]["n"] == {"type": "plain_text_input", "value": "2"}
    assert values["kind"]["k"]["selected_option"]["value"] == "t4"


def test_a_refusal_has_slacks_name(slack: LocalSlack, tried: Tried) -> None:
    with pytest.raises(SlackApiError) as caught:
        tried.client.chat_postMessage(channel="C0GENERAL", text="hello")
    assert caught.value.response["error"] == "not_in_channel"
