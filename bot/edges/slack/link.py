"""The Socket Mode connection: ask whether the tokens are good, connect, watch, close. Wiring starts it last and stops it first.

The adapter is a setting: ``websocket_client`` is our own line on that library (``line``); ``builtin`` is the SDK's own client, for when the
library is not to be used: it needs up to a quarter of a minute to notice a drop, and burns a core meanwhile.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

from slack_bolt import App, BoltRequest
from slack_sdk.errors import SlackApiError

from bot.edges.slack.app import THREADS
from bot.edges.slack.calls import NETWORK, PASSING
from bot.edges.slack.client import SlackSettings, is_loopback, make_client
from bot.edges.slack.line import OTHERS, Line
from bot.service.causes import cause

log = logging.getLogger(__name__)

PING = 3
"""Real seconds between pings of the builtin adapter: a drop is noticed after about five of them."""

LIMITED = frozenset({"ratelimited", "rate_limited"})

BOT_TOKEN = (
    "put the Bot User OAuth Token (xoxb-…, page OAuth & Permissions of the app) into GPUBOT_SLACK_BOT_TOKEN and restart"
)
APP_TOKEN = (
    "put an app-level token with the scope connections:write (xapp-…, page Basic Information of the app) into "
    "GPUBOT_SLACK_APP_TOKEN and restart"
)
SWITCHED_OFF = "switch Socket Mode on in the app's settings at Slack"


class LinkError(Exception):
    """No connection; one line that says why and what to do."""


class _Wire(Protocol):
    """Either adapter."""

    def open(self) -> None: ...
    def healthy(self) -> bool: ...
    def close(self) -> None: ...


class Link:
    """The Socket Mode connection of a process."""

    def __init__(self, app: App, settings: SlackSettings) -> None:
        """``settings.adapter``: ``websocket_client`` or ``builtin``."""
        self._settings = settings
        self._bot = make_client(settings)
        kind: Callable[[App, SlackSettings], _Wire] = _builtin if settings.adapter == "builtin" else _own
        self._wire = kind(app, settings)
        self._known = False  # the bot token was good once

    def open(self) -> None:
        """Connect; returns when Slack said hello.

        :raises LinkError: with what to do
        """
        if not self._known:
            _asked(self._bot, "auth.test", self._settings)
            self._known = True
            self._look_into_the_channel()
        try:
            self._wire.open()
        except LinkError:
            raise
        except Exception as error:  # whatever the libraries raise: told, and tried again
            raise LinkError(f"{_where(self._settings)}: {cause(error)}") from error

    def healthy(self) -> bool:
        """Whether the connection stands."""
        return self._wire.healthy()

    def close(self) -> None:
        """Close, and make no new one; takes a second or two at most."""
        self._wire.close()

    def _look_into_the_channel(self) -> None:
        """Say at the start what would else be found when the first message cannot be posted."""
        channel = self._settings.channel
        try:
            found = self._bot.conversations_info(channel=channel)["channel"]
        except (SlackApiError, *NETWORK) as error:
            reason = str(error.response.get("error")) if isinstance(error, SlackApiError) else cause(error)
            if reason == "channel_not_found":
                log.error("no channel %s for the bot: check [slack] channel, and /invite it if it is private", channel)
            return
        if not found.get("is_member"):
            log.error("the bot is not in the team channel %s: /invite it there, or nobody sees the board", channel)


def _where(settings: SlackSettings) -> str:
    return f"Slack cannot be reached at {urlsplit(settings.api_url).hostname}"


def _asked(client: Any, method: str, settings: SlackSettings) -> dict[str, Any]:
    """One call with a token that may be wrong. Raises LinkError."""
    try:
        return dict(client.api_call(method).data)
    except SlackApiError as error:
        name = str(error.response.get("error", ""))[:200]
        if error.response.status_code in (429, *range(500, 600)) or name in LIMITED | PASSING:
            raise LinkError(f"Slack has no time for {method} ({error.response.status_code} {name})") from error
        if name in ("link_disabled", "socket_mode_not_enabled", "forbidden_team"):
            raise LinkError(f"{SWITCHED_OFF} ({method}: {name})") from error
        what, token = (BOT_TOKEN, "bot") if method == "auth.test" else (APP_TOKEN, "app")
        raise LinkError(f"Slack does not take the {token} token ({method}: {name}): {what}") from error
    except NETWORK as error:
        raise LinkError(f"{_where(settings)} ({cause(error)})") from error


# ---- our own line


def _own(app: App, settings: SlackSettings) -> _Wire:
    """Our own line."""
    client = make_client(settings)
    client.token = settings.app_token

    def address() -> str:
        return str(_asked(client, "apps.connections.open", settings)["url"])

    return Line(address, lambda envelope: _dispatch(app, envelope), THREADS)


def _dispatch(app: App, envelope: dict[str, Any]) -> dict[str, Any] | str | bool | None:
    """The payload of the ack; None for a bare one; False: none is to be sent."""
    marks = {"x-slack-retry-num": envelope.get("retry_attempt"), "x-slack-retry-reason": envelope.get("retry_reason")}
    headers = {name: str(value) for name, value in marks.items() if value is not None}
    try:
        response = app.dispatch(
            BoltRequest(mode="socket_mode", body=envelope.get("payload") or {}, headers=dict(headers))
        )
    except Exception:
        log.exception("an envelope of type %s could not be handled", envelope.get("type"))
        return False
    if response.status != 200:
        log.warning("nothing listens to an envelope of type %s", envelope.get("type"))
        return False
    if not response.body:
        return None
    body: dict[str, Any] | str = response.body
    if isinstance(body, str) and response.headers.get("content-type", [""])[0].startswith("application/json"):
        body = json.loads(body)
    return body if isinstance(body, dict) else {"text": body}


# ---- the SDK's client


class _Sdk:
    """The SDK's builtin client as a wire."""

    def __init__(self, handler: Any, check: Callable[[], Any]) -> None:
        self._handler, self._check = handler, check
        self._open = threading.Event()
        handler.client.message_listeners.append(self._hello)

    def open(self) -> None:
        """Connect."""
        self._check()
        self._handler.connect()
        self._open.set()

    def healthy(self) -> bool:
        """Whether the connection stands."""
        return self._open.is_set() and bool(self._handler.client.is_connected())

    def close(self) -> None:
        """Close beside: its threads look for the end once a ping."""
        self._open.clear()
        self._handler.client.auto_reconnect_enabled = False
        self._handler.client.closed = True
        closing = threading.Thread(target=self._handler.close, name="slack-close", daemon=True)
        closing.start()
        closing.join(2.0)

    def _hello(self, client: Any, message: dict[str, Any], raw: str | None = None) -> None:
        """Warn if another process uses the same app: Slack gives each payload to one of them."""
        if message.get("type") != "hello":
            return
        ours = 2 if self._open.is_set() else 1  # while one connection takes over from the other there are two of us
        others = int(message.get("num_connections") or 1) - ours
        if others > 0:
            log.warning(OTHERS, others)


def _builtin(app: App, settings: SlackSettings) -> _Wire:
    from slack_bolt.adapter.socket_mode.builtin import SocketModeHandler

    client = make_client(settings)
    client.token = settings.app_token
    handler: Any = SocketModeHandler(
        app, settings.app_token, web_client=client, ping_interval=PING, concurrency=THREADS,
        logger=logging.getLogger("gpubot.socket"),
    )  # fmt: skip
    if is_loopback(settings.api_url):
        handler.client.proxy = None
    return _Sdk(handler, lambda: _asked(client, "apps.connections.open", settings))
