"""The Web API of the stand-in: its rules and refusals, asked with slack_sdk and by hand."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.local.slack import LocalSlack, Setup, start_in_thread
from bot.local.slack.acts import Acts
from bot.local.slack.gate import ALL_METHODS
from tests.local.slack_app import blocks, button, web_client

ROOT = Path(__file__).parents[2]
REFEREE = json.loads((ROOT / "tests/data/slack_methods.json").read_text())["methods"]


@pytest.fixture
def slack() -> Iterator[LocalSlack]:
    every = frozenset(scope for _, scopes in ALL_METHODS.values() for scope in scopes)
    with start_in_thread(Setup(scopes=every)) as running:
        yield running


@pytest.fixture
def client(slack: LocalSlack) -> WebClient:
    return web_client(slack)


def refused(call: Any, **args: Any) -> dict[str, Any]:
    """The reply of a call that must be refused."""
    with pytest.raises(SlackApiError) as caught:
        call(**args)
    assert caught.value.response["ok"] is False
    return dict(caught.value.response.data)  # type: ignore[arg-type]


# -- wire ---------------------------------------------------------------------------------------------------------------


def raw(slack: LocalSlack, method: str, body: bytes | None, kind: str | None, query: str = "") -> dict[str, Any]:
    host, port = slack.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=5)
    headers = {"Authorization": f"Bearer {slack.bot_token}"} | ({"Content-Type": kind} if kind else {})
    connection.request("POST" if body is not None else "GET", f"/api/{method}{query}", body, headers)
    reply = connection.getresponse()
    assert reply.status == 200
    found = json.loads(reply.read())
    connection.close()
    return dict(found)


@pytest.mark.parametrize("form", ["json", "form", "query", "multipart"])
def test_arguments_come_in_every_wire_form(slack: LocalSlack, form: str) -> None:
    args: dict[str, Any] = {"channel": slack.channel, "text": "hello ä", "blocks": blocks("hello ä")}
    packed = {**args, "blocks": json.dumps(args["blocks"])}
    if form == "json":
        got = raw(slack, "chat.postMessage", json.dumps(args).encode(), "application/json; charset=utf-8")
    elif form == "form":
        got = raw(slack, "chat.postMessage", urlencode(packed).encode(), "application/x-www-form-urlencoded")
    elif form == "query":
        got = raw(slack, "chat.postMessage", None, None, "?" + urlencode(packed))
    else:
        parts = [f'--x\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in packed.items()]
        got = raw(slack, "chat.postMessage", ("".join(parts) + "--x--\r\n").encode(), "multipart/form-data; boundary=x")
    assert got["ok"] and got["message"]["text"] == "hello ä"
    assert got["message"]["blocks"][0]["text"]["text"] == "hello ä"


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        (b"{", "application/json", "invalid_json"),
        (b"[1]", "application/json", "json_not_object"),
        (b"x", "text/plain", "invalid_post_type"),
        (b"channel=C0GPU0001&blocks=%7B", "application/x-www-form-urlencoded", "invalid_blocks_format"),
    ],
)
def test_a_body_that_is_none_is_refused(slack: LocalSlack, body: bytes, kind: str, error: str) -> None:
    assert raw(slack, "chat.postMessage", body, kind)["error"] == error


@pytest.mark.parametrize(
    ("token", "method", "error"),
    [
        ("", "auth.test", "not_authed"),
        ("xoxb-other", "auth.test", "invalid_auth"),
        ("xapp-local", "auth.test", "not_allowed_token_type"),
        ("xoxb-local", "apps.connections.open", "not_allowed_token_type"),
        ("xapp-other", "apps.connections.open", "invalid_auth"),
        ("xoxb-local", "chat.unknown", "unknown_method"),
    ],
)
def test_tokens(slack: LocalSlack, token: str, method: str, error: str) -> None:
    client = WebClient(token=token or None, base_url=slack.api_url, retry_handlers=[])
    assert refused(client.api_call, api_method=method)["error"] == error


def test_every_refusal_is_one_of_slacks() -> None:
    """The names in the source against the list of a mirror of Slack's own documentation."""
    shared = {
        # of every method, not listed per method
        "not_authed", "invalid_auth", "not_allowed_token_type", "unknown_method", "invalid_json", "json_not_object",
        "invalid_post_type", "invalid_arguments", "missing_scope",
        # of response_url, which is no method
        "no_hook", "used_url", "expired_url", "invalid_payload",
        # described by Slack beside the lists
        "hash_conflict", "push_limit_reached", "msg_too_long", "user_not_in_channel", "forbidden_team",
    }  # fmt: skip
    known = {error for method in REFEREE.values() for error in method["errors"]} | shared
    used = set()
    for file in (ROOT / "bot/local/slack").glob("*.py"):
        used |= set(re.findall(r'SlackError\(\s*"([a-z_]+)"', file.read_text()))
    assert used and used <= known, used - known


def test_every_method_is_one_of_slacks_and_asks_for_its_scope() -> None:
    for method, (_, scopes) in ALL_METHODS.items():
        assert method in REFEREE, method
        theirs = set(REFEREE[method]["bot_scopes"] or ())
        assert set(scopes) <= theirs, method
        assert bool(scopes) == bool(theirs), method


@pytest.mark.parametrize("method", sorted(ALL_METHODS))
def test_required_arguments_are_asked_for(slack: LocalSlack, method: str) -> None:
    got = raw(slack, method, b"{}", "application/json")
    if REFEREE[method]["required"]:
        assert not got["ok"]
    else:
        assert got["ok"] or got["error"] in ("users_list_not_supplied", "invalid_arguments"), got


# -- scopes ---------------------------------------------------------------------------------------------------------------


def test_the_default_is_what_the_manifest_asks_for() -> None:
    manifest = (ROOT / "manifest.yml").read_text()
    scopes = manifest.split("    bot:\n")[1].split("settings:")[0]
    assert set(re.findall(r"^ +- ([a-z_]+(?::[a-z._]+)*)", scopes, re.MULTILINE)) == Setup().scopes
    assert tuple(re.findall(r"- command: (/\w+)", manifest)) == Setup().commands
    assert f"should_escape: {str(Setup().should_escape).lower()}" in manifest
    events = manifest.split("bot_events:\n")[1].split("interactivity:")[0]
    assert set(re.findall(r"- ([a-z_.]+)", events)) == Acts.__dataclass_fields__["events"].default


def test_a_scope_that_is_missing_is_named() -> None:
    with start_in_thread(Setup(scopes=frozenset({"commands", "chat:write"}))) as slack:
        got = refused(web_client(slack).pins_add, channel=slack.channel, timestamp="1.000001")
        assert (got["error"], got["needed"], got["provided"]) == ("missing_scope", "pins:write", "chat:write,commands")


# -- writing ----------------------------------------------------------------------------------------------------------------


def test_where_the_bot_may_write(slack: LocalSlack, client: WebClient) -> None:
    post = client.chat_postMessage
    assert refused(post, channel="C0GENERAL", text="x")["error"] == "not_in_channel"
    assert refused(post, channel="C0NOWHERE", text="x")["error"] == "channel_not_found"
    slack.drive.post("place", channel="secret", new=True, private=True)
    assert refused(post, channel="#secret", text="x")["error"] == "channel_not_found"
    slack.drive.post("place", channel="gpu", archived=True)
    assert refused(post, channel=slack.channel, text="x")["error"] == "is_archived"
    slack.drive.post("place", channel="gpu", archived=False)
    assert post(channel="#gpu", text="x")["channel"] == slack.channel
    slack.drive.post("app", messages_tab=False)
    dm = client.conversations_open(users="UADA000001")["channel"]["id"]
    assert refused(post, channel=dm, text="x")["error"] == "messages_tab_disabled"


def test_joining_lets_the_bot_in(client: WebClient) -> None:
    client.conversations_join(channel="C0GENERAL")
    assert client.chat_postMessage(channel="C0GENERAL", text="x")["ok"]
    assert client.conversations_join(channel="C0GENERAL")["warning"] == "already_in_channel"


def test_ids_are_such_as_slack_makes(slack: LocalSlack, client: WebClient) -> None:
    post = client.chat_postMessage(channel="UADA000001", text="x", blocks=blocks("x", button("b", "a")))
    assert re.fullmatch(r"D[A-Z0-9]{8,}", post["channel"]) and re.fullmatch(r"\d{10}\.\d{6}", post["ts"])
    assert re.fullmatch(r"C[A-Z0-9]{8}", slack.channel)
    for person in client.users_list()["members"]:
        assert re.fullmatch(r"[UW][A-Z0-9]{8,}", person["id"]), person["id"]
    assert all(block["block_id"] for block in post["message"]["blocks"])


def test_content_is_needed_and_bounded(slack: LocalSlack, client: WebClient) -> None:
    say = {"channel": slack.channel}
    for text in ("", " \n"):
        got = refused(client.api_call, api_method="chat.postMessage", json={**say, "text": text})
        assert got["error"] == "no_text"
    long = client.chat_postMessage(**say, text="x" * 40_001)
    assert len(long["message"]["text"]) == 40_000
    assert refused(client.chat_update, **say, ts=long["ts"], text="x" * 4_001)["error"] == "msg_too_long"
    assert client.chat_update(**say, ts=long["ts"], text="x" * 4_000)["ok"]
    many = [b for _ in range(5) for b in blocks("y" * 2_900)]
    assert refused(client.chat_postMessage, **say, text="t", blocks=many)["error"] == "msg_blocks_too_long"
    got = refused(client.chat_postMessage, **say, text="t", blocks=blocks("z" * 3_001))
    assert got["error"] == "invalid_blocks"
    told = "[ERROR] must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
    assert got["response_metadata"]["messages"] == [told]


def test_update_keeps_blocks_unless_told(slack: LocalSlack, client: WebClient) -> None:
    ts = client.chat_postMessage(channel=slack.channel, text="one", blocks=blocks("one"))["ts"]
    client.chat_update(channel=slack.channel, ts=ts, text="two")
    (message,) = slack.drive.messages("ada", "#gpu")
    assert message["text"] == "two" and message["blocks"][0]["text"]["text"] == "one" and message["edits"] == 1
    client.chat_update(channel=slack.channel, ts=ts, text="three", blocks=[])
    (message,) = slack.drive.messages("ada", "#gpu")
    assert message["text"] == "three" and "blocks" not in message and message["edits"] == 2
    assert message["ts"] == ts


def test_only_own_messages_that_still_exist_are_edited(slack: LocalSlack, client: WebClient) -> None:
    typed = slack.drive.type("ada", "#gpu", "mine")
    say = {"channel": slack.channel, "text": "x"}
    assert refused(client.chat_update, **say, ts=typed["ts"])["error"] == "cant_update_message"
    assert refused(client.chat_update, **say, ts="1.000001")["error"] == "message_not_found"
    ts = client.chat_postMessage(**say)["ts"]
    slack.drive.post("delete", channel="#gpu", ts=ts)
    assert refused(client.chat_update, **say, ts=ts)["error"] == "message_not_found"
    assert refused(client.chat_delete, channel=slack.channel, ts=typed["ts"])["error"] == "cant_delete_message"


def test_ephemerals_are_seen_by_one_and_never_edited(slack: LocalSlack, client: WebClient) -> None:
    ts = client.chat_postEphemeral(channel=slack.channel, user="UADA000001", text="psst")["message_ts"]
    assert [m["text"] for m in slack.drive.messages("ada", "#gpu")] == ["psst"]
    assert slack.drive.messages("bob", "#gpu") == []
    assert refused(client.chat_update, channel=slack.channel, ts=ts, text="x")["error"] == "message_not_found"
    got = refused(client.chat_postEphemeral, channel=slack.channel, user="U0STRANGER", text="x")
    assert got["error"] == "user_not_in_channel"
    assert client.conversations_history(channel=slack.channel)["messages"] == []


# -- people -----------------------------------------------------------------------------------------------------------------


def test_dms(slack: LocalSlack, client: WebClient) -> None:
    first = client.conversations_open(users="UADA000001")
    again = client.conversations_open(users=["UADA000001"])
    assert again["already_open"] and again["channel"]["id"] == first["channel"]["id"] == "DADA000001"
    assert client.conversations_info(channel="DADA000001")["channel"]["user"] == "UADA000001"
    assert refused(client.conversations_open, users="UNOBODY001")["error"] == "user_not_found"
    assert refused(client.conversations_open, users="")["error"] == "users_list_not_supplied"
    slack.drive.person("bob", deleted=True)
    assert refused(client.conversations_open, users="UBOB000001")["error"] == "user_disabled"
    assert client.users_info(user="UBOB000001")["user"]["deleted"] is True


def test_people_have_zones_and_admins(slack: LocalSlack, client: WebClient) -> None:
    ada = client.users_info(user="UADA000001")["user"]
    assert ada["tz"] == "Europe/Berlin" and ada["tz_offset"] in (3600, 7200) and ada["is_admin"] is False
    slack.drive.person("ada", tz="Asia/Tokyo")
    assert client.users_info(user="UADA000001")["user"]["tz_offset"] == 32400
    assert client.users_info(user="UDANA00001")["user"]["is_admin"] is True
    new = slack.drive.person("eve", tz="Europe/Lisbon")
    assert new["id"] == "UEVE000001" and new["id"] in client.conversations_members(channel=slack.channel)["members"]
    assert client.users_lookupByEmail(email="eve@example.com")["user"]["id"] == new["id"]
    assert refused(client.users_info, user="UNOBODY001")["error"] == "user_not_found"


def test_do_not_disturb_is_told_by_peoples_watches_and_a_snooze_is_not_told_to_others(
    slack: LocalSlack, client: WebClient
) -> None:
    bob = slack.drive.person("bob")["id"]
    assert client.dnd_info(user=bob).data == {
        "ok": True,
        "dnd_enabled": False,
        "next_dnd_start_ts": 1,
        "next_dnd_end_ts": 1,
    }
    slack.drive.person("bob", dnd=True)
    told = client.dnd_info(user=bob)
    assert told["dnd_enabled"] and told["next_dnd_start_ts"] <= time.time() < told["next_dnd_end_ts"]
    until = int(time.time()) + 7200
    slack.drive.person("bob", dnd_until=until)
    told = client.dnd_info(user=bob)
    assert (told["next_dnd_end_ts"], told.get("snooze_enabled")) == (until, None)
    slack.drive.person("bob", dnd_until=until - 7300)
    assert not client.dnd_info(user=bob)["dnd_enabled"], "it is over"
    assert refused(client.dnd_info, user="UNOBODY0001")["error"] == "user_not_found"


def test_lists_come_in_pages(slack: LocalSlack, client: WebClient) -> None:
    names = [p["name"] for page in client.users_list(limit=2) for p in page["members"]]
    assert sorted(names) == ["ada", "bob", "carol", "dana", "gpubot"]
    assert refused(client.users_list, cursor="nonsense")["error"] == "invalid_cursor"
    assert refused(client.users_list, limit=1001)["error"] == "invalid_limit"
    places = client.conversations_list(types="public_channel")["channels"]
    assert [(c["name"], c["is_member"]) for c in places] == [("gpu", True), ("general", False)]


# -- pins and reactions --------------------------------------------------------------------------------------------------------


def test_pins(slack: LocalSlack, client: WebClient) -> None:
    ts = client.chat_postMessage(channel=slack.channel, text="board")["ts"]
    at = {"channel": slack.channel, "timestamp": ts}
    client.pins_add(**at)
    assert refused(client.pins_add, **at)["error"] == "already_pinned"
    assert [i["message"]["ts"] for i in client.pins_list(channel=slack.channel)["items"]] == [ts]
    client.pins_remove(**at)
    assert refused(client.pins_remove, **at)["error"] == "no_pin"
    assert refused(client.pins_add, channel=slack.channel, timestamp="x")["error"] == "bad_timestamp"
    assert refused(client.pins_add, channel=slack.channel, timestamp="1.000001")["error"] == "message_not_found"
    client.pins_add(**at)
    client.chat_delete(channel=slack.channel, ts=ts)
    assert client.pins_list(channel=slack.channel)["items"] == []


def test_reactions(slack: LocalSlack, client: WebClient) -> None:
    ts = client.chat_postMessage(channel=slack.channel, text="x")["ts"]
    at = {"channel": slack.channel, "timestamp": ts, "name": "eyes"}
    client.reactions_add(**at)
    assert refused(client.reactions_add, **at)["error"] == "already_reacted"
    assert slack.drive.messages("ada", "#gpu")[0]["reactions"] == [
        {"name": "eyes", "users": ["U0GPUBOT01"], "count": 1}
    ]
    client.reactions_remove(**at)
    assert refused(client.reactions_remove, **at)["error"] == "no_reaction"


# -- views without a click --------------------------------------------------------------------------------------------------


def test_views_want_a_live_trigger(client: WebClient) -> None:
    view = {"type": "modal", "title": {"type": "plain_text", "text": "t"}, "blocks": blocks("x")}
    assert refused(client.views_open, trigger_id="1.2.3", view=view)["error"] == "invalid_trigger_id"
    bad = {**view, "title": {"type": "plain_text", "text": "t" * 25}}
    assert refused(client.views_open, trigger_id="1.2.3", view=bad)["error"] == "invalid_arguments"
    assert refused(client.views_update, view_id="V0NOTHING", view=view)["error"] == "not_found"


def test_home_is_published_with_a_hash(slack: LocalSlack, client: WebClient) -> None:
    view = {"type": "home", "blocks": blocks("home")}
    first = client.views_publish(user_id="UADA000001", view=view)["view"]
    second = client.views_publish(user_id="UADA000001", view=view, hash=first["hash"])["view"]
    assert second["id"] == first["id"] and second["hash"] != first["hash"]
    args = {"user_id": "UADA000001", "view": view}
    assert refused(client.views_publish, **args, hash=first["hash"])["error"] == "hash_conflict"
    slack.drive.post("app", home_tab=False)
    assert refused(client.views_publish, **args)["error"] == "not_enabled"
