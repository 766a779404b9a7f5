"""The Socket Mode connection: connect, watch, close. Wiring starts it last and stops it first.

The adapter is a setting: ``websocket_client`` notices a dropped connection in half a second, ``builtin`` bridges Slack's planned
refreshes with a shorter gap but burns a core for tens of seconds after a drop.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Protocol

from slack_bolt import App

from bot.edges.slack.client import SlackSettings, is_loopback

log = logging.getLogger(__name__)

PING = 3
"""Real seconds between pings of the builtin adapter: a drop is noticed after about five of them."""


class _Handler(Protocol):
    """Either adapter's handler."""

    client: Any

    def connect(self) -> None: ...
    def close(self) -> None: ...


class Link:
    """One Socket Mode connection for a process."""

    def __init__(self, app: App, settings: SlackSettings) -> None:
        """``settings.adapter``: ``websocket_client`` or ``builtin``."""
        self._handler = _handler(app, settings)
        self._open = threading.Event()
        client = self._handler.client
        if hasattr(client, "message_listeners"):
            client.message_listeners.append(self._hello)

    def open(self) -> None:
        """Connect; returns when Slack said hello. Raises what the SDK raises."""
        self._handler.connect()
        self._open.set()

    def healthy(self) -> bool:
        """Whether the connection stands."""
        return self._open.is_set() and bool(self._handler.client.is_connected())

    def reconnect(self) -> None:
        """Ask for a new connection; for a watchdog that found none."""
        self._handler.client.connect_to_new_endpoint(force=True)

    def close(self) -> None:
        """Close, and make no new one."""
        self._open.clear()
        self._handler.close()

    def _hello(self, client: Any, message: dict[str, Any], raw: str | None = None) -> None:
        """Warn if another process uses the same app: Slack gives each payload to one of them."""
        if message.get("type") == "hello" and int(message.get("num_connections") or 1) > 1:
            count = message["num_connections"]
            log.warning("%s connections of this Slack app are open: another process gets some of the commands", count)


def _handler(app: App, settings: SlackSettings) -> _Handler:
    """The adapter's handler; a proxy of the environment is not used for loopback."""
    handler: Any
    if settings.adapter == "builtin":
        from slack_bolt.adapter.socket_mode.builtin import SocketModeHandler as Builtin

        handler = Builtin(app, settings.app_token, ping_interval=PING)
    else:
        from slack_bolt.adapter.socket_mode.websocket_client import SocketModeHandler as Client

        handler = Client(app, settings.app_token, ping_interval=PING)
    if is_loopback(settings.api_url):
        handler.client.proxy = None
        for key in ("http_proxy_host", "http_proxy_port"):
            if hasattr(handler.client, key):
                setattr(handler.client, key, None)
    return handler  # type: ignore[no-any-return]
