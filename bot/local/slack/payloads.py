"""The payloads that Slack sends to an app: commands, clicks, submissions, closed views, events.

Called by `acts.py` alone. Pure: workspace in, JSON out.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

from bot.local.slack.link import event_id
from bot.local.slack.model import APP_ID, BOT_USER_ID, TEAM_ID, Json, Message, Person, Place, View, Workspace

VERIFICATION_TOKEN = "local-verification-token"

# In typed text, from left to right: a mention that the client already made, an address, @name, #channel, a sign of markup.
_TYPED = re.compile(
    r"(?P<token><(?:@[UW][A-Z0-9]{7,}|#[CG][A-Z0-9]{7,})(?:\|[^<>]*)?>)"
    r"|(?P<url>(?<!\w)https?://[^\s<>|]*[^\s<>|.,;:!?)'\"])"
    r"|(?<![\w@.])@(?P<name>[A-Za-z0-9](?:[\w.-]*\w)?)"
    r"|(?<![\w#&])#(?P<place>[a-z0-9][a-z0-9_-]*)"
    r"|(?P<sign>[&<>])"
)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escaped(space: Workspace, text: str, *, names: bool = False) -> str:
    """Typed text as Slack hands it on: `&<>` as entities, addresses in `<>`, `@bob` and `#gpu` as ids (`names`: with `|bob`)."""

    def one(found: re.Match[str]) -> str:
        if found["token"]:
            return found[0]
        if found["url"]:
            return f"<{entities(found[0])}>"
        if found["sign"]:
            return _ENTITIES[found[0]]
        return _mention(space, found[0], names) if found["name"] else _place(space, found[0], names)

    return _TYPED.sub(one, text)


def entities(text: str) -> str:
    """`&<>` as entities and nothing else."""
    return re.sub("[&<>]", lambda found: _ENTITIES[found[0]], text)


def _mention(space: Workspace, typed: str, names: bool) -> str:
    name = typed[1:].lower()
    if name in ("channel", "here", "everyone"):
        return f"<!{name}>"
    person = next((p for p in space.people.values() if p.name == name), None)
    return f"<@{person.id}{'|' + person.name if names else ''}>" if person else typed


def _place(space: Workspace, typed: str, names: bool) -> str:
    place = next((p for p in space.places.values() if p.name and p.name == typed[1:]), None)
    return f"<#{place.id}{'|' + place.name if names else ''}>" if place else typed


def command(person: Person, place: Place, word: str, text: str, urls: tuple[str, str]) -> Json:
    """A slash command. `urls`: (response_url, trigger_id)."""
    return {
        "token": VERIFICATION_TOKEN, "team_id": TEAM_ID, "team_domain": "local", "channel_id": place.id,
        "channel_name": place.name or "directmessage", "user_id": person.id, "user_name": person.name, "command": word,
        "text": text, "api_app_id": APP_ID, "is_enterprise_install": "false", "response_url": urls[0],
        "trigger_id": urls[1],
    }  # fmt: skip


def _from(person: Person, kind: str) -> Json:
    return {
        "type": kind, "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": TEAM_ID},
        "api_app_id": APP_ID, "token": VERIFICATION_TOKEN, "team": {"id": TEAM_ID, "domain": "local"},
        "enterprise": None, "is_enterprise_install": False,
    }  # fmt: skip


def message_click(person: Person, place: Place, message: Message, action: Json, urls: tuple[str, str]) -> Json:
    """A click in a message; an ephemeral one is not sent along."""
    ephemeral = message.only_for is not None
    body = _from(person, "block_actions") | {
        "container": {"type": "message", "message_ts": message.ts, "channel_id": place.id, "is_ephemeral": ephemeral},
        "trigger_id": urls[1], "channel": {"id": place.id, "name": place.name or "directmessage"},
        "state": {"values": message.values.get(person.id, {})}, "response_url": urls[0], "actions": [action],
    }  # fmt: skip
    return body if ephemeral else body | {"message": message.to_api()}


def view_click(person: Person, view: View, action: Json, trigger_id: str) -> Json:
    """A click in a modal or Home tab: no channel, no response_url."""
    return _from(person, "block_actions") | {
        "container": {"type": "view", "view_id": view.id}, "trigger_id": trigger_id, "view": view.to_api(),
        "actions": [action],
    }  # fmt: skip


def submission(person: Person, view: View, trigger_id: str) -> Json:
    """A submitted modal."""
    return _from(person, "view_submission") | {"trigger_id": trigger_id, "view": view.to_api(), "response_urls": []}


def closed(person: Person, view: View, is_cleared: bool) -> Json:
    """A closed modal that asked to be told."""
    return _from(person, "view_closed") | {"view": view.to_api(), "is_cleared": is_cleared}


def event(inner: Json, now: float) -> Json:
    """An Events API payload around an event."""
    return {
        "token": VERIFICATION_TOKEN, "team_id": TEAM_ID, "api_app_id": APP_ID, "event": inner, "type": "event_callback",
        "event_id": event_id(), "event_time": int(now), "is_ext_shared_channel": False,
        "authorizations": [{"enterprise_id": None, "team_id": TEAM_ID, "user_id": BOT_USER_ID, "is_bot": True,
                            "is_enterprise_install": False}],
        "event_context": secrets.token_urlsafe(12),
    }  # fmt: skip


def message_event(message: Message, channel_type: str) -> Json:
    """A message that somebody typed (message.im, message.channels)."""
    body: Json = {"client_msg_id": secrets.token_hex(16), "type": "message", "text": message.text, "user": message.user,
                  "ts": message.ts, "team": TEAM_ID, "channel": message.channel, "event_ts": message.ts,
                  "channel_type": channel_type}  # fmt: skip
    return body | ({"thread_ts": message.thread_ts} if message.thread_ts else {})


def mention_event(message: Message) -> Json:
    """A message that names the bot (app_mention)."""
    body: Json = {"type": "app_mention", "user": message.user, "text": message.text, "ts": message.ts, "team": TEAM_ID,
                  "channel": message.channel, "event_ts": message.ts}  # fmt: skip
    return body | ({"thread_ts": message.thread_ts} if message.thread_ts else {})


def home_event(person: Person, dm: str, tab: str, view: View | None, ts: str) -> Json:
    """The app's DM was opened at a tab (app_home_opened)."""
    body: Json = {"type": "app_home_opened", "user": person.id, "channel": dm, "tab": tab, "event_ts": ts}
    return body | ({"view": view.to_api()} if view is not None and tab == "home" else {})


def with_action(element_action: Json, block_id: str, action_ts: str) -> Json:
    """One entry of `actions`."""
    made: dict[str, Any] = {"block_id": block_id, "action_ts": action_ts}
    return element_action | made
