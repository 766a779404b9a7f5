"""Inward: what people type, press and write becomes one line of text for the desk; its Reply goes back where they said it.

One slash listener, one button listener, one for direct messages, one for mentions: the desk does the rest. Listeners only ask the desk
and answer; they never wait for vCenter, and never post unasked. Every listener is guarded: whatever goes wrong is logged with a
reference and answered in plain words.
"""

from __future__ import annotations

import logging
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from slack_bolt import App, Args, BoltResponse

from bot.edges.slack.blocks import message
from bot.edges.slack.client import SlackSettings, make_client
from bot.edges.slack.people import SlackPeople
from bot.service.ports import Ask, Reply

log = logging.getLogger(__name__)

THREADS = 24
"""Listeners that may run at once; Bolt's own default of 5 lets slow ones starve the sixth person."""

REMEMBERED = 2000
"""Event ids kept to recognise a repeated delivery."""

SORRY = "Something of mine broke, and nothing was changed. Please try again in a minute; for an admin: reference {}."

MENTION = re.compile(r"^\s*<@[UW][A-Z0-9]+(\|[^>]*)?>\s*")


class SlackApp:
    """The Bolt app with its listeners. Thread-safe; one for a process."""

    def __init__(self, settings: SlackSettings, people: SlackPeople, desk: Callable[[Ask], Reply]) -> None:
        """``desk``: answers one line; it does not raise."""
        self._people, self._desk = people, desk
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self.executor = ThreadPoolExecutor(THREADS, thread_name_prefix="listener")
        self.app = App(
            client=make_client(settings),
            token_verification_enabled=False,  # wiring asks auth.test itself and says what to do if it fails
            signing_secret="unused-in-socket-mode",
            request_verification_enabled=False,  # Socket Mode payloads come over our own connection
            ssl_check_enabled=False,
            listener_executor=self.executor,
            raise_error_for_unhandled_request=False,
            logger=logging.getLogger("gpubot.bolt"),
        )
        self.app.command(settings.command)(_guarded(self._command))
        self.app.action(re.compile(r"^say:\d+$"))(_guarded(self._click))
        self.app.event("message")(_guarded(self._message))
        self.app.event("app_mention")(_guarded(self._mention))
        self.app.event("app_home_opened")(_guarded(self._home))
        self.app.error(_sorry)

    def close(self) -> None:
        """End the listeners' threads."""
        self.executor.shutdown(wait=False, cancel_futures=True)

    def _rendered(self, reply: Reply) -> dict[str, Any]:
        return message(reply, self._people.name_of)

    def _ask(self, person: str, text: str, place: str) -> Reply | None:
        """What the desk says; None for bots and for people of other workspaces."""
        if not person or not self._people.may_speak(person):
            return None
        return self._desk(Ask(person, text, place))

    # ---- listeners

    def _command(self, args: Args) -> None:
        command = args.command or {}
        reply = self._ask(command["user_id"], command.get("text") or "", command.get("channel_id", ""))
        if reply is None:
            args.ack(text="I can only answer members of this workspace.", response_type="ephemeral")
            return
        args.ack(response_type="ephemeral", **self._rendered(reply))

    def _click(self, args: Args) -> None:
        args.ack()
        body, action = args.body, args.action or {}
        place = (body.get("channel") or {}).get("id", "")
        reply = self._ask(body["user"]["id"], action.get("value") or "", place)
        if reply is None:
            return
        # Only a message that nobody else sees may be replaced by the answer; the desk edits the shared ones itself.
        ephemeral = bool((body.get("container") or {}).get("is_ephemeral"))
        args.respond(response_type="ephemeral", replace_original=ephemeral, **self._rendered(reply))

    def _message(self, args: Args) -> None:
        event = args.event or {}
        if (
            event.get("channel_type") != "im"
            or event.get("bot_id")
            or event.get("subtype")
            or not self._first(args.body)
        ):
            return
        reply = self._ask(event.get("user", ""), event.get("text") or "", "dm")
        if reply is not None:
            args.client.chat_postMessage(channel=event["channel"], unfurl_links=False, **self._rendered(reply))

    def _mention(self, args: Args) -> None:
        event = args.event or {}
        if event.get("bot_id") or not self._first(args.body):
            return
        text = MENTION.sub("", event.get("text") or "")
        reply = self._ask(event.get("user", ""), text, event["channel"])
        if reply is not None:
            place = {"channel": event["channel"], "user": event["user"], "thread_ts": event.get("thread_ts")}
            args.client.chat_postEphemeral(**place, **self._rendered(reply))

    def _home(self, args: Args) -> None:
        """Opened: nothing is shown there yet."""

    def _first(self, body: dict[str, Any]) -> bool:
        """Whether an event is delivered for the first time (Slack repeats those whose answer it missed)."""
        event_id = body.get("event_id", "")
        with self._lock:
            if event_id in self._seen:
                return False
            self._seen[event_id] = None
            while len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)
        return True


def _guarded(listener: Callable[[Args], None]) -> Callable[[Args], None]:
    """A listener that answers whatever goes wrong. Bolt loses an ack if an exception follows it within 10 ms."""

    def guarded(args: Args) -> None:
        try:
            listener(args)
        except Exception as error:  # noqa: BLE001 - the door of people: logged with its cause, answered in words
            text = SORRY.format(_log(error))
            if args.command is not None:
                args.ack(text=text, response_type="ephemeral")
            elif args.body.get("response_url"):
                _answer_late(args, text)

    return guarded


def _answer_late(args: Args, text: str) -> None:
    """Tell somebody who pressed a button; if Slack cannot be reached either, the log has it."""
    try:
        args.respond(text=text, response_type="ephemeral", replace_original=False)
    except OSError as error:
        log.warning("the answer to a click could not be sent: %s", error)


def _log(error: Exception) -> str:
    reference = secrets.token_hex(3)
    log.exception("listener failed, reference %s", reference, exc_info=error)
    return reference


def _sorry(error: Exception) -> BoltResponse:
    """What Bolt calls if something goes wrong outside our listeners."""
    return BoltResponse(status=200, body={"response_type": "ephemeral", "text": SORRY.format(_log(error))})
