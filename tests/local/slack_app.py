"""A small Bolt app with which the stand-in Slack is tried: nothing of the bot, only slack_bolt and slack_sdk."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from slack_bolt import App, BoltRequest
from slack_bolt.adapter.socket_mode import SocketModeHandler as BuiltinHandler
from slack_bolt.adapter.socket_mode.websocket_client import SocketModeHandler as WebsocketHandler
from slack_sdk import WebClient

from bot.local.slack import LocalSlack

HANDLERS: dict[str, Callable[..., Any]] = {"builtin": BuiltinHandler, "websocket_client": WebsocketHandler}


@dataclass
class Tried:
    """The app, and what reached it."""

    app: App
    client: WebClient
    handler: Any = None
    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # (kind, payload)
    extra: dict[str, Any] = field(default_factory=dict)  # what a test wants a listener to do

    def last(self, kind: str) -> dict[str, Any]:
        """The newest payload of a kind."""
        return next(body for name, body in reversed(self.seen) if name == kind)


def web_client(slack: LocalSlack, token: str | None = None) -> WebClient:
    """A client that retries nothing, so that a refusal is seen as it is."""
    return WebClient(token=token or slack.bot_token, base_url=slack.api_url, retry_handlers=[], timeout=10)


MODAL = {
    "type": "modal",
    "callback_id": "ask",
    "title": {"type": "plain_text", "text": "How many?"},
    "submit": {"type": "plain_text", "text": "Ask"},
    "notify_on_close": True,
    "blocks": [
        {
            "type": "input",
            "block_id": "count",
            "label": {"type": "plain_text", "text": "Cards"},
            "element": {"type": "plain_text_input", "action_id": "n"},
        },
        {
            "type": "input",
            "block_id": "kind",
            "optional": True,
            "label": {"type": "plain_text", "text": "Kind"},
            "element": {
                "type": "static_select",
                "action_id": "k",
                "options": [
                    {"text": {"type": "plain_text", "text": "T4"}, "value": "t4"},
                    {"text": {"type": "plain_text", "text": "A100"}, "value": "a100"},
                ],
            },
        },
    ],
}


def button(text: str, action_id: str, value: str = "1", **more: Any) -> dict[str, Any]:
    """A button element."""
    label = {"type": "plain_text", "text": text}
    return {"type": "button", "text": label, "action_id": action_id, "value": value, **more}


def blocks(text: str, *elements: dict[str, Any]) -> list[dict[str, Any]]:
    """A section and, if there are elements, a row of them."""
    made: list[dict[str, Any]] = [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]
    return [*made, {"type": "actions", "elements": list(elements)}] if elements else made


def make_app(slack: LocalSlack) -> Tried:
    """The app, not yet connected."""
    client = web_client(slack)
    tried = Tried(App(client=client, token=slack.bot_token, listener_executor=ThreadPoolExecutor(16)), client)
    _listen(tried)
    return tried


def _listen(tried: Tried) -> None:
    app = tried.app

    @app.command("/gpu")
    def command(ack: Any, body: dict[str, Any]) -> None:
        tried.seen.append(("command", body))
        do = tried.extra.get("command")
        if do is not None:
            do(ack, body)
        else:
            ack(f"you said {body['text']}")

    @app.action("open")
    def open_modal(ack: Any, body: dict[str, Any], client: WebClient) -> None:
        tried.seen.append(("action", body))
        ack()
        client.views_open(trigger_id=body["trigger_id"], view=tried.extra.get("view", MODAL))

    @app.action("edit")
    def edit(ack: Any, body: dict[str, Any], client: WebClient) -> None:
        tried.seen.append(("action", body))
        ack()
        client.chat_update(
            channel=body["channel"]["id"], ts=body["message"]["ts"], text="edited", blocks=blocks("edited")
        )

    @app.action(re.compile(r"^(other|o\d)$"))
    def other(ack: Any, body: dict[str, Any]) -> None:
        tried.seen.append(("action", body))
        do = tried.extra.get("action")
        if do is not None:
            do(ack, body)
        else:
            ack()

    @app.view("ask")
    def submitted(ack: Any, body: dict[str, Any]) -> None:
        tried.seen.append(("submission", body))
        if body["view"]["state"]["values"]["count"]["n"]["value"] == "0":
            ack(response_action="errors", errors={"count": "At least one."})
        else:
            ack(**tried.extra.get("answer", {}))

    @app.view_closed("ask")
    def closed(ack: Any, body: dict[str, Any]) -> None:
        tried.seen.append(("closed", body))
        ack()

    @app.event("message")
    def message(body: dict[str, Any], request: BoltRequest) -> None:
        marks = [request.headers.get(name, [""])[0] for name in ("x-slack-retry-num", "x-slack-retry-reason")]
        tried.seen.append(("message", {**body, "retry": marks}))

    @app.event("app_mention")
    def mention(body: dict[str, Any]) -> None:
        tried.seen.append(("mention", body))

    @app.event("app_home_opened")
    def home(body: dict[str, Any]) -> None:
        tried.seen.append(("home", body))


def _wake(client: Any) -> None:
    """Ends the line of a websocket-client from below: closing it may leave its reader asleep in select() for 10 s."""
    client.auto_reconnect_enabled = False
    session = getattr(client, "current_session", None)
    raw = getattr(getattr(session, "sock", None), "sock", None)
    if raw is None or not hasattr(session, "keep_running"):
        return
    with contextlib.suppress(OSError):  # it may have ended by itself
        raw.shutdown(socket.SHUT_RDWR)
    end = time.monotonic() + 2
    while session.keep_running and time.monotonic() < end:
        time.sleep(0.01)


@contextlib.contextmanager
def connected(slack: LocalSlack, adapter: str = "websocket_client") -> Iterator[Tried]:
    """The app, connected over Socket Mode until the block ends."""
    tried = make_app(slack)
    app_client = web_client(slack, slack.app_token)
    tried.handler = HANDLERS[adapter](tried.app, slack.app_token, web_client=app_client, ping_interval=1)
    tried.handler.connect()
    try:
        slack.drive.wait_connected()
        yield tried
    finally:
        _wake(tried.handler.client)
        tried.handler.close()
        tried.app._listener_runner.listener_executor.shutdown(wait=True)
        for thread in threading.enumerate():
            if thread.name.startswith("slack-"):
                thread.join(5)
