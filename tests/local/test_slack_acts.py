"""What a person does in the stand-in, and what reaches a real Bolt app: text, clicks, modals, events, reply addresses."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook import WebhookClient

from bot.local.slack import DriveError, LocalSlack, Setup, start_in_thread
from tests.local.slack_app import MODAL, Tried, blocks, button, connected

PLAIN = "plain_text"


@pytest.fixture(scope="module")
def slack() -> Iterator[LocalSlack]:
    with start_in_thread() as running:
        yield running


@pytest.fixture(scope="module")
def tried(slack: LocalSlack) -> Iterator[Tried]:
    with connected(slack) as app:
        yield app


@pytest.fixture(autouse=True)
def _fresh(tried: Tried, slack: LocalSlack) -> None:
    tried.extra.clear()
    tried.seen.clear()
    slack.drive.post("app", clock_offset=0, messages_tab=True)
    slack.drive.post("faults/clear")


def post(tried: Tried, slack: LocalSlack, text: str, *elements: dict[str, Any]) -> str:
    return str(tried.client.chat_postMessage(channel=slack.channel, text=text, blocks=blocks(text, *elements))["ts"])


def wait_seen(slack: LocalSlack, tried: Tried, kind: str) -> dict[str, Any]:
    slack.drive.wait(lambda: any(name == kind for name, _ in tried.seen), why=f"no {kind} came")
    return tried.last(kind)


# -- commands ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("/gpu", ""),
        ("/gpu   request  1 ", "request  1"),
        ("/gpu machine owners @bob", "machine owners <@UBOB000001|bob>"),
        ("/gpu owners <@UBOB000001|bob> <@UADA000001>", "owners <@UBOB000001|bob> <@UADA000001>"),
        ("/gpu why @nobody", "why @nobody"),
        ("/gpu release because a < b & c", "release because a &lt; b &amp; c"),
        ("/gpu release because <!channel>", "release because &lt;!channel&gt;"),
        ("/gpu request because @channel", "request because <!channel>"),
        ("/gpu in #gpu.", "in <#C0GPU0001|gpu>."),
        ("/gpu see https://x.example/a?b=1&c=@bob.", "see <https://x.example/a?b=1&amp;c=@bob>."),
        ("/gpu release #12", "release #12"),
        ("/gpu mail bob@example.com", "mail bob@example.com"),
    ],
)
def test_text_as_slack_hands_it_on(slack: LocalSlack, tried: Tried, typed: str, sent: str) -> None:
    assert slack.drive.command("ada", "#gpu", typed)["acked"]
    assert tried.last("command")["text"] == sent


def test_without_should_escape_names_stay_names() -> None:
    with start_in_thread(Setup(should_escape=False)) as slack, connected(slack) as tried:
        slack.drive.command("ada", "#gpu", "/gpu owners @bob & <x>")
        assert tried.last("command")["text"] == "owners @bob & <x>"


def test_an_undeclared_command_never_leaves(slack: LocalSlack, tried: Tried) -> None:
    got = slack.drive.command("ada", "#gpu", "/gpus request")
    assert got["error"] == "invalid_command" and not tried.seen


def test_a_command_in_a_dm_and_where_the_bot_is_not(slack: LocalSlack, tried: Tried) -> None:
    slack.drive.command("ada", "dm", "/gpu mine")
    assert tried.last("command")["channel_name"] == "directmessage"
    got = slack.drive.command("ada", "#general", "/gpu mine")
    assert got["message"]["channel"] == "C0GENERAL" and got["message"]["ephemeral"]


def test_an_ack_in_the_channel_is_seen_by_all(slack: LocalSlack, tried: Tried) -> None:
    tried.extra["command"] = lambda ack, _: ack(text="for all", response_type="in_channel")
    slack.drive.command("ada", "#gpu", "/gpu")
    assert slack.drive.messages("bob", "#gpu")[-1]["text"] == "for all"


def test_an_empty_ack_shows_nothing(slack: LocalSlack, tried: Tried) -> None:
    before = slack.drive.messages("ada")
    tried.extra["command"] = lambda ack, _: ack()
    got = slack.drive.command("ada", "#gpu", "/gpu")
    assert got["acked"] and got["message"] is None and slack.drive.messages("ada") == before


def test_an_ack_with_bad_blocks_is_not_shown(slack: LocalSlack, tried: Tried) -> None:
    tried.extra["command"] = lambda ack, _: ack(text="t", blocks=blocks("x", button("b" * 76, "a")))
    got = slack.drive.command("ada", "#gpu", "/gpu")
    assert got["error"] == "invalid_command_response" and got["message"] is None
    assert "/blocks/1/elements/0/text/text" in json.dumps(got["refused"])


def test_a_late_ack_is_a_timeout_for_the_person(slack: LocalSlack, tried: Tried) -> None:
    tried.extra["command"] = lambda ack, _: (time.sleep(4), ack("late"))
    got = slack.drive.command("ada", "#gpu", "/gpu")
    assert (got["acked"], got["error"]) == (False, "operation_timeout") and got["ms"] > 2900
    assert all(m["text"] != "late" for m in slack.drive.messages("ada"))


def test_without_a_bot_a_command_fails_at_once() -> None:
    with start_in_thread() as slack:
        got = slack.drive.command("ada", "#gpu", "/gpu")
        assert got["error"] == "dispatch_failed" and got["ms"] < 100


def test_what_cannot_be_done_is_the_scripts_fault(slack: LocalSlack) -> None:
    for call in (
        lambda: slack.drive.command("zoe", "#gpu", "/gpu"),
        lambda: slack.drive.command("ada", "#nowhere", "/gpu"),
        lambda: slack.drive.click("ada", "#gpu", text="No such button"),
        lambda: slack.drive.submit("ada", n="1"),
        lambda: slack.drive.close("ada"),
        lambda: slack.drive.post("command", person="ada"),
        lambda: slack.drive.person("ada", tz="Mars/Olympus"),
    ):
        with pytest.raises(DriveError):
            call()


# -- clicks -----------------------------------------------------------------------------------------------------------------


def test_a_click_in_an_ephemeral_has_no_message_but_can_replace_it(slack: LocalSlack, tried: Tried) -> None:
    tried.extra["command"] = lambda ack, _: ack(text="sure?", blocks=blocks("sure?", button("Yes", "other")))
    shown = slack.drive.command("ada", "#gpu", "/gpu")["message"]
    slack.drive.click("ada", "#gpu", shown["ts"], text="Yes")
    body = tried.last("action")
    assert "message" not in body and body["container"]["is_ephemeral"] is True
    WebhookClient(body["response_url"]).send(text="done", replace_original=True)
    found = [m for m in slack.drive.messages("ada", "#gpu") if m["ts"] == shown["ts"]]
    assert [(m["text"], m["edits"], m["ephemeral"]) for m in found] == [("done", 1, True)]
    WebhookClient(body["response_url"]).send(delete_original=True)
    assert all(m["ts"] != shown["ts"] for m in slack.drive.messages("ada", "#gpu"))
    with pytest.raises(DriveError):
        slack.drive.click("bob", "#gpu", shown["ts"], text="Yes")


def test_a_click_that_is_not_acked_is_told(slack: LocalSlack, tried: Tried) -> None:
    ts = post(tried, slack, "press", button("Press", "other"))
    tried.extra["action"] = lambda ack, _: time.sleep(3.2)
    assert slack.drive.click("ada", "#gpu", ts, text="Press")["error"] == "operation_timeout"


def test_each_kind_of_element_tells_its_choice(slack: LocalSlack, tried: Tried) -> None:
    def option(name: str) -> dict[str, Any]:
        return {"text": {"type": PLAIN, "text": name.upper()}, "value": name}

    options = [option("a"), option("b")]
    elements = [
        {"type": "static_select", "action_id": "other", "options": options},
        {"type": "overflow", "action_id": "o2", "options": options},
        {"type": "datepicker", "action_id": "o3"},
        {"type": "timepicker", "action_id": "o4"},
        {"type": "datetimepicker", "action_id": "o5"},
        {"type": "users_select", "action_id": "o6"},
        {"type": "radio_buttons", "action_id": "o7", "options": options},
        {"type": "checkboxes", "action_id": "o8", "options": options},
        {"type": "multi_users_select", "action_id": "o9"},
    ]
    ts = tried.client.chat_postMessage(
        channel=slack.channel, text="x", blocks=[{"type": "actions", "block_id": "row", "elements": elements}]
    )["ts"]
    choices = {
        "other": ("B", "selected_option", options[1]), "o2": ("a", "selected_option", options[0]),
        "o3": ("2026-12-01", "selected_date", "2026-12-01"), "o4": ("18:00", "selected_time", "18:00"),
        "o5": (1800000000, "selected_date_time", 1800000000), "o6": ("UBOB000001", "selected_user", "UBOB000001"),
        "o7": ("b", "selected_option", options[1]), "o8": (["a", "b"], "selected_options", options),
        "o9": (["UBOB000001"], "selected_users", ["UBOB000001"]),
    }  # fmt: skip
    for action_id, (choose, key, told) in choices.items():
        got = slack.drive.click("ada", "#gpu", ts, action_id=action_id, choose=choose)
        assert got["action"][key] == told and got["action"]["block_id"] == "row"
    slack.drive.click("ada", "#gpu", ts, action_id="other", choose="a")
    values = tried.last("action")["state"]["values"]["row"]
    assert values["o4"] == {"type": "timepicker", "selected_time": "18:00"} and "o2" not in values
    with pytest.raises(DriveError):
        slack.drive.click("ada", "#gpu", ts, action_id="other", choose="z")


def test_one_persons_choice_is_not_anothers(slack: LocalSlack, tried: Tried) -> None:
    row = {"type": "actions", "block_id": "r", "elements": [{"type": "timepicker", "action_id": "other"}]}
    ts = tried.client.chat_postMessage(channel=slack.channel, text="x", blocks=[row])["ts"]
    slack.drive.click("ada", "#gpu", ts, action_id="other", choose="10:00")
    slack.drive.click("bob", "#gpu", ts, action_id="other", choose="11:00")
    slack.drive.click("ada", "#gpu", ts, action_id="other", choose="12:00")
    assert tried.last("action")["state"]["values"]["r"]["other"]["selected_time"] == "12:00"


# -- modals -----------------------------------------------------------------------------------------------------------------


def opened(slack: LocalSlack, tried: Tried, person: str = "ada") -> dict[str, Any]:
    ts = post(tried, slack, "modal", button("Open", "open"))
    slack.drive.click(person, "#gpu", ts, text="Open")
    return dict(slack.drive.wait(lambda: slack.drive.view(person)))


def test_a_trigger_is_used_once_and_expires(slack: LocalSlack, tried: Tried) -> None:
    opened(slack, tried)
    used = tried.last("action")["trigger_id"]
    with pytest.raises(SlackApiError) as caught:
        tried.client.views_open(trigger_id=used, view=MODAL)
    assert caught.value.response["error"] == "exchanged_trigger_id"
    slack.drive.close("ada")
    ts = post(tried, slack, "late", button("Late", "other"))
    slack.drive.click("ada", "#gpu", ts, text="Late")
    slack.drive.post("app", clock_offset=3.1)
    with pytest.raises(SlackApiError) as caught:
        tried.client.views_open(trigger_id=tried.last("action")["trigger_id"], view=MODAL)
    assert caught.value.response["error"] == "expired_trigger_id"


def test_closing_is_told_when_asked_for(slack: LocalSlack, tried: Tried) -> None:
    view = opened(slack, tried)
    slack.drive.close("ada")
    assert tried.last("closed")["view"]["id"] == view["id"] and slack.drive.view("ada") is None
    with pytest.raises(SlackApiError) as caught:
        tried.client.views_update(view_id=view["id"], view=MODAL)
    assert caught.value.response["error"] == "not_found"


def test_answers_to_a_submission(slack: LocalSlack, tried: Tried) -> None:
    second = {**MODAL, "title": {"type": PLAIN, "text": "Second"}}
    opened(slack, tried)
    tried.extra["answer"] = {"response_action": "push", "view": second}
    assert slack.drive.submit("ada", n="1")["open"]["title"]["text"] == "Second"
    tried.extra["answer"] = {"response_action": "update", "view": {**second, "title": {"type": PLAIN, "text": "Third"}}}
    got = slack.drive.submit("ada", n="1")
    assert got["open"]["title"]["text"] == "Third" and got["open"]["previous_view_id"] == got["open"]["root_view_id"]
    tried.extra["answer"] = {}
    assert slack.drive.submit("ada", n="1")["open"]["title"]["text"] == "How many?"
    tried.extra["answer"] = {"response_action": "push", "view": second}
    slack.drive.submit("ada", n="1")
    tried.extra["answer"] = {"response_action": "clear"}
    assert slack.drive.submit("ada", n="1")["open"] is None


def test_a_stack_has_three_views(slack: LocalSlack, tried: Tried) -> None:
    opened(slack, tried)
    tried.extra["answer"] = {"response_action": "push", "view": MODAL}
    assert slack.drive.submit("ada", n="1")["error"] is None
    assert slack.drive.submit("ada", n="1")["error"] is None
    assert slack.drive.submit("ada", n="1")["error"] == "invalid_view_response: push_limit_reached"
    slack.drive.close("ada", all_views=True)
    assert slack.drive.view("ada") is None


def test_errors_must_name_inputs(slack: LocalSlack, tried: Tried) -> None:
    opened(slack, tried)
    tried.extra["answer"] = {"response_action": "errors", "errors": {"nothing": "here"}}
    got = slack.drive.submit("ada", n="1")
    assert got["error"] == "invalid_view_response: invalid_arguments" and got["open"] is not None
    slack.drive.close("ada")


def test_an_update_keeps_what_was_entered(slack: LocalSlack, tried: Tried) -> None:
    view = opened(slack, tried)
    slack.drive.submit("ada", n="0")  # refused by the app, kept in the form
    tried.client.views_update(view_id=view["id"], view={**MODAL, "title": {"type": PLAIN, "text": "Again"}})
    found = slack.drive.view("ada")
    assert found is not None and found["title"]["text"] == "Again"
    assert found["state"]["values"]["count"]["n"]["value"] == "0"
    slack.drive.close("ada")


def test_a_modal_is_of_one_person(slack: LocalSlack, tried: Tried) -> None:
    opened(slack, tried, "bob")
    assert slack.drive.view("ada") is None
    with pytest.raises(DriveError):
        slack.drive.submit("ada", n="1")
    assert slack.drive.submit("bob", n="1")["acked"]
    assert tried.last("submission")["user"]["id"] == "UBOB000001"


# -- events -----------------------------------------------------------------------------------------------------------------


def test_a_dm_and_a_mention_reach_the_bot_and_chatter_does_not(slack: LocalSlack, tried: Tried) -> None:
    slack.drive.type("ada", "#gpu", "just talking")
    slack.drive.type("ada", "dm", "request 1")
    event = wait_seen(slack, tried, "message")["event"]
    assert (event["text"], event["channel_type"], event["user"]) == ("request 1", "im", "UADA000001")
    typed = slack.drive.type("bob", "#gpu", "@gpubot why", thread_ts="1.000001")
    event = wait_seen(slack, tried, "mention")["event"]
    assert event["text"] == "<@U0GPUBOT01> why" and event["thread_ts"] == "1.000001" and event["ts"] == typed["ts"]
    assert [name for name, _ in tried.seen] == ["message", "mention"]


def test_home_is_told_with_its_tab(slack: LocalSlack, tried: Tried) -> None:
    slack.drive.post("home", person="ada", tab="messages")
    assert wait_seen(slack, tried, "home")["event"]["tab"] == "messages"


def test_with_the_messages_tab_off_nobody_types_to_the_bot(slack: LocalSlack) -> None:
    slack.drive.post("app", messages_tab=False)
    with pytest.raises(DriveError, match="turned off"):
        slack.drive.type("ada", "dm", "hello")


# -- reply addresses -----------------------------------------------------------------------------------------------------------


def hook_of(slack: LocalSlack, tried: Tried) -> WebhookClient:
    slack.drive.command("ada", "#gpu", "/gpu")
    return WebhookClient(tried.last("command")["response_url"])


def test_five_uses_and_no_sixth(slack: LocalSlack, tried: Tried) -> None:
    hook = hook_of(slack, tried)
    for number in range(5):
        reply = hook.send(text=f"part {number}")
        assert (reply.status_code, reply.body) == (200, "ok")
    sixth = hook.send(text="part 5")
    assert sixth.status_code == 404 and json.loads(sixth.body)["error"] == "used_url"
    texts = [m["text"] for m in slack.drive.messages("ada", "#gpu")]
    assert "part 4" in texts and "part 5" not in texts
    assert "part 4" not in [m["text"] for m in slack.drive.messages("bob", "#gpu")]


def test_half_an_hour(slack: LocalSlack, tried: Tried) -> None:
    hook = hook_of(slack, tried)
    slack.drive.post("app", clock_offset=29 * 60)
    assert hook.send(text="in time").status_code == 200
    slack.drive.post("app", clock_offset=30 * 60 + 1)
    reply = hook.send(text="late")
    assert reply.status_code == 404 and json.loads(reply.body)["error"] == "expired_url"


def test_a_commands_address_replaces_and_deletes_nothing(slack: LocalSlack, tried: Tried) -> None:
    slack.drive.command("ada", "#gpu", "/gpu one")
    before = slack.drive.messages("ada", "#gpu")
    hook = WebhookClient(tried.last("command")["response_url"])
    hook.send(text="instead", replace_original=True)
    hook.send(delete_original=True)
    after = slack.drive.messages("ada", "#gpu")
    assert after[:-1] == before and after[-1]["text"] == "instead" and after[-1]["edits"] == 0


def test_a_clicks_address_edits_only_when_told(slack: LocalSlack, tried: Tried) -> None:
    ts = post(tried, slack, "shared", button("B", "other"))
    slack.drive.click("bob", "#gpu", ts, text="B")
    hook = WebhookClient(tried.last("action")["response_url"])
    hook.send(text="beside")
    assert [m["text"] for m in slack.drive.messages("bob", "#gpu")][-2:] == ["shared", "beside"]
    assert slack.drive.messages("bob", "#gpu")[-1]["only_for"] == "UBOB000001"
    hook.send(text="instead", replace_original=True)
    assert (
        slack.drive.messages("carol", "#gpu")[-1] | {"ts": ts, "text": "instead"}
        == slack.drive.messages("carol", "#gpu")[-1]
    )
    hook.send(text="for all", response_type="in_channel", replace_original=False)
    assert slack.drive.messages("carol", "#gpu")[-1]["text"] == "for all"


def test_a_bad_reply_is_refused(slack: LocalSlack, tried: Tried) -> None:
    hook = hook_of(slack, tried)
    assert hook.send(text="t", blocks=blocks("y" * 3001)).status_code == 400
    assert json.loads(hook.send_dict({"text": ""}).body)["error"] == "no_text"
    assert WebhookClient(slack.url + "/hooks/commands/T/1/x").send(text="t").status_code == 404
