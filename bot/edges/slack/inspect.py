"""What Slack tells the bot's two tokens, for ``gpubot doctor``: scopes, channel, admins, and how many connections this app has.

Called by wiring. Reads only, but for one connection that is opened to hear the greeting and closed at once; a payload that Slack hands to
it in that instant is lost, as it would be to any other process with this app's token.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from concurrent.futures import CancelledError
from typing import Any

import websocket
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.edges.slack.calls import NETWORK, PASSING
from bot.edges.slack.client import SlackSettings, make_client
from bot.edges.slack.line import _straight
from bot.edges.slack.link import LIMITED
from bot.edges.slack.people import SlackPeople
from bot.service.causes import cause
from bot.service.setup.facts import SlackFacts

CALL_S = 6
"""Real seconds for one call, and for the greeting."""

SCOPES: frozenset[str] = frozenset(
    {
        "commands",
        "chat:write",
        "im:write",
        "im:history",
        "app_mentions:read",
        "users:read",
        "channels:read",
        "groups:read",
        "pins:write",
        "dnd:read",
        "files:write",
    }
)
"""What ``manifest.yml`` asks for (a test compares)."""

COMMAND = re.compile(r"^\s*-?\s*command:\s*(/\S+)", re.MULTILINE)


def command_of(manifest: str) -> str:
    """The slash command that a manifest declares; "" none."""
    match = COMMAND.search(manifest)
    return match.group(1) if match else ""


class _Away(Exception):
    """Slack does not answer; the text says how."""


def inspect(settings: SlackSettings) -> SlackFacts:
    """All of it. Raises nothing that Slack or the network may cause."""
    client = make_client(settings, timeout=CALL_S)
    try:
        answer, bot_refused = _call(client, "auth.test") if settings.bot_token else (None, "there is none")
        given = _header(answer, "x-oauth-scopes") if answer is not None else ""
        scopes = frozenset(re.findall(r"[\w:.-]+", given)) if given else None
        found, channel_refused = _channel(client, settings) if answer is not None else ({}, "")
        connections, app_refused = _connections(settings)
    except _Away as away:
        return SlackFacts(trouble=f"Slack does not answer at {settings.api_url} ({away})")
    may_ask = answer is not None and (scopes is None or "users:read" in scopes)
    return SlackFacts(
        bot_refused=bot_refused,
        app_refused=app_refused,
        scopes=scopes,
        channel_refused=channel_refused,
        member=bool(found.get("is_member")) if found else None,
        archived=bool(found.get("is_archived")),
        connections=connections,
        admins=tuple(_admins(client, settings)) if may_ask else (),
    )


def _call(client: WebClient, method: str, **arguments: Any) -> tuple[Any, str]:
    """Slack's answer, or its name for why not. Raises _Away."""
    try:
        return client.api_call(method, params=arguments), ""
    except SlackApiError as error:
        name = str(error.response.get("error", ""))[:200]
        if error.response.status_code in (429, *range(500, 600)) or name in LIMITED | PASSING:
            raise _Away(f"{method}: {error.response.status_code} {name}".strip()) from error
        return None, name or "refused"
    except NETWORK as error:
        raise _Away(cause(error)) from error


def _header(answer: Any, name: str) -> str:
    for key, value in dict(answer.headers).items():
        if key.lower() == name:
            return ",".join(value) if isinstance(value, list) else str(value)
    return ""


def _channel(client: WebClient, settings: SlackSettings) -> tuple[dict[str, Any], str]:
    if not settings.channel:
        return {}, ""
    answer, refused = _call(client, "conversations.info", channel=settings.channel)
    return (dict(answer["channel"]) if answer is not None else {}), refused


def _connections(settings: SlackSettings) -> tuple[int | None, str]:
    """Connections of this app besides the one that asks."""
    if not settings.app_token:
        return None, "there is none"
    client = make_client(settings, timeout=CALL_S)
    client.token = settings.app_token
    answer, refused = _call(client, "apps.connections.open")
    if answer is None:
        return None, refused
    url = str(answer["url"])
    try:
        wire = websocket.create_connection(url, timeout=CALL_S, **_straight(url))
    except (websocket.WebSocketException, OSError, ValueError) as error:
        raise _Away(f"its web socket: {cause(error)}") from error
    try:
        hello = json.loads(wire.recv())
        return max(0, int(hello["num_connections"]) - 1), ""
    except (websocket.WebSocketException, OSError, ValueError, KeyError, TypeError):
        return None, ""  # it greets in some other way: nothing is known
    finally:
        with contextlib.suppress(websocket.WebSocketException, OSError):
            wire.close(timeout=1)


def _admins(client: WebClient, settings: SlackSettings) -> list[str]:
    """Sentences about those who cannot answer."""
    log = logging.getLogger("bot.edges.slack.people")
    people, disabled = SlackPeople(client, settings), log.disabled
    log.disabled = True  # what it would log is told as a finding
    try:
        found = people.check_admins().result(CALL_S)
        names = [word for word in settings.admins if not re.match(r"^[UW][A-Z0-9]{6,}$", word)]
        known = len(list(people.admins())) == len(settings.admins)
        if not known:
            found += [
                f"nobody in the workspace has the user name {word!r} of [site] admins"
                for word in names
                if people._by_user_name(word) is None
            ]
        return found
    except (TimeoutError, CancelledError, RuntimeError):
        return []
    finally:
        log.disabled = disabled
        people.close()
