"""Inward: what people type, press and write becomes one line of text for the desk; its Reply goes back where they said it.

One slash listener, one button listener, one for direct messages, one for mentions: the desk does the rest. A command is answered with its
ack, everything else by a post of its own, off the listeners' threads (``answers``). A listener waits for the desk for a short while; if the
desk takes longer, the ack goes out first and the answer follows. Every listener is guarded: whatever goes wrong is logged with a
reference and answered in plain words.
"""

from __future__ import annotations

import logging
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from slack_bolt import Ack, App, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.authorize import Authorize
from slack_sdk import WebClient

from bot.edges.slack import calls
from bot.edges.slack.answers import Answers
from bot.edges.slack.blocks import message
from bot.edges.slack.client import SlackSettings, make_client
from bot.edges.slack.hearing import typed
from bot.edges.slack.people import SlackPeople
from bot.edges.slack.pictures import SlackPictures
from bot.service.ports import Ask, Gone, Reply, Unreachable

log = logging.getLogger(__name__)

THREADS = 24
"""People whose lines the desk may be busy with at once; Bolt's own default of 5 lets slow ones starve the sixth person."""

PATIENCE = 2.0
"""Real seconds that an ack waits for the desk's answer. Slack gives up after three, network included."""

DOUBLE_S = 1.0
"""Real seconds in which one person presses one button of one message a second time and means the first: a double click. Not every line says the
same twice (`extend 4h`)."""

REMEMBERED = 2000
"""Ids of events, and of commands, kept to recognise a repeated delivery."""

SORRY = "Something of mine broke, and nothing was changed. Please try again in a minute; for an admin: reference {}."
WAIT = "One moment: many people are asking at once. The answer follows here."
STRANGER = "I can only answer members of this workspace."
OLD = "That button does nothing any more. Type the command, or ask for `help`."
PICTURE = "A picture of it comes into our direct messages."
OTHER_WORD = "I listen to {} here."

Body = dict[str, Any]


class SlackApp:
    """The Bolt app with its listeners. Thread-safe; one for a process."""

    def __init__(
        self,
        settings: SlackSettings,
        people: SlackPeople,
        desk: Callable[[Ask], Reply],
        *,
        pictures: SlackPictures | None = None,
        listeners_first: bool = True,
    ) -> None:
        """``desk``: answers one line; it does not raise. ``pictures``: follow answers that have one; None: there are none.
        ``listeners_first``: the ack leaves when the listener ends, instead of Bolt's looking for it every 10 ms (measured in bench/acks.py)."""
        self._people, self._desk, self._command_word = people, desk, settings.command
        self._count, self._pictures = settings.count, pictures
        self._client = make_client(settings)
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._commands: OrderedDict[str, Future[Reply]] = OrderedDict()  # by trigger_id
        self._pressed: dict[tuple[str, ...], float] = {}  # which button by whom -> when, in real seconds
        self._lock = threading.Lock()
        self.executor = ThreadPoolExecutor(THREADS, thread_name_prefix="desk")
        self.answers = Answers()
        self.app = App(
            client=WebClient(base_url=self._client.base_url),  # Bolt makes clients of it that nothing here uses
            authorize=_OneWorkspace(settings.bot_token),  # Bolt's own way asks Slack before the first ack
            process_before_response=listeners_first,
            signing_secret="unused-in-socket-mode",
            request_verification_enabled=False,  # Socket Mode payloads come over our own connection
            ssl_check_enabled=False,
            listener_executor=ThreadPoolExecutor(THREADS, thread_name_prefix="listener"),
            logger=logging.getLogger("gpubot.bolt"),
        )
        self._listen()
        self.app.error(_sorry)

    def _listen(self) -> None:
        anything = re.compile("")
        self.app.command(self._command_word)(_guarded(self._command))
        self.app.command(anything)(_guarded(self._other_command))
        self.app.action(re.compile(r"^say:\d+$"))(_guarded(self._click))
        self.app.action(anything)(_guarded(self._old_click))
        self.app.event("message")(_guarded(self._message))
        self.app.event("app_mention")(_guarded(self._mention))
        self.app.event("app_home_opened")(_guarded(self._nothing))

    def close(self) -> None:
        """Send the answers that can be sent soon, and end the threads."""
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.app.listener_runner.listener_executor.shutdown(wait=False, cancel_futures=True)
        self.answers.close()

    # ---- the desk

    def _ask(self, person: str, text: str, place: str) -> Future[Reply]:
        """Ask the desk beside, and wait for its answer for a short while."""
        return self._soon(self.executor.submit(self._answer, person, text, place))

    def _soon(self, asked: Future[Reply]) -> Future[Reply]:
        """The same, waited for."""
        try:
            asked.result(PATIENCE)
        except TimeoutError:
            log.warning("the desk takes longer than %.0f s: the ack goes out first", PATIENCE)
        return asked

    def _answer(self, person: str, text: str, place: str) -> Reply:
        """What the desk says, or why it cannot be asked."""
        try:
            if not self._people.may_speak(person):
                return Reply(((STRANGER,),), ok=False)
            return self._desk(Ask(person, text, place))
        except Exception as error:  # noqa: BLE001 - the door of people: logged with its cause, answered in words
            return Reply(((SORRY.format(_log(error)),),), ok=False)

    def _rendered(self, reply: Reply) -> Body:
        """An answer that one person sees where others talk: its picture is elsewhere."""
        if reply.picture is not None and self._pictures is not None:
            reply = replace(reply, lines=(*reply.lines, (PICTURE,)))
        return message(reply, self._people.name_of)

    # ---- listeners

    def _command(self, ack: Ack, body: Body) -> None:
        asked = self._commanded(body)
        if asked.done():
            reply = asked.result()
            ack(response_type="ephemeral", **self._rendered(reply))
            self._picture(body["user_id"], body["user_id"], reply)
            return
        ack(response_type="ephemeral", text=WAIT)
        _when_done(asked, partial(self._later, body, replace=False))

    def _commanded(self, body: Body) -> Future[Reply]:
        """The desk is asked once, however often a command is delivered: whoever missed the ack gets the same answer."""
        once = str(body.get("trigger_id") or secrets.token_hex(8))
        person, text, place = body["user_id"], typed(body.get("text") or ""), body.get("channel_id", "")
        with self._lock:
            if once not in self._commands:
                self._commands[once] = self.executor.submit(self._answer, person, text, place)
                _forget(self._commands)
            asked = self._commands[once]
        return self._soon(asked)

    def _other_command(self, ack: Ack, body: Body) -> None:
        """A slash command that the manifest has and the settings do not."""
        ack(response_type="ephemeral", text=OTHER_WORD.format(self._command_word))

    def _click(self, ack: Ack, body: Body) -> None:
        action = (body.get("actions") or [{}])[0]
        if self._twice(body, action):
            ack()
            return
        place = (body.get("channel") or {}).get("id", "")
        asked = self._ask(body["user"]["id"], str(action.get("value") or ""), place)
        ack()
        # Only a message that nobody else sees may be replaced by the answer; the desk edits the shared ones itself.
        ephemeral = bool((body.get("container") or {}).get("is_ephemeral"))
        _when_done(asked, partial(self._later, body, replace=ephemeral))

    def _twice(self, body: Body, action: Body) -> bool:
        """Whether the same button of a message was pressed by the same person a moment ago."""
        container, now = body.get("container") or {}, time.monotonic()
        if not container.get("message_ts"):
            return False
        where = (container.get("channel_id"), container["message_ts"], action.get("action_id"), action.get("value"))
        key = tuple(str(part) for part in (body["user"]["id"], *where))
        with self._lock:
            self._pressed = {k: at for k, at in self._pressed.items() if now - at < DOUBLE_S}
            again = key in self._pressed
            self._pressed.setdefault(key, now)
        return again

    def _old_click(self, ack: Ack, body: Body) -> None:
        """A button of an earlier version, or one that opens an address."""
        ack()
        if not (body.get("actions") or [{}])[0].get("url"):
            self._later(body, Reply(((OLD,),), ok=False), replace=False)

    def _message(self, ack: Ack, body: Body) -> None:
        event = body.get("event") or {}
        if event.get("channel_type") != "im" or event.get("bot_id") or event.get("subtype") or not event.get("user"):
            return
        if not self._first(body):
            return
        asked = self._ask(event["user"], typed(event.get("text") or "", _bot(body)), "dm")
        where = {"channel": event["channel"], "thread_ts": event.get("thread_ts")}
        _when_done(asked, partial(self._post, event["user"], where))

    def _mention(self, ack: Ack, body: Body) -> None:
        event = body.get("event") or {}
        if event.get("bot_id") or not event.get("user") or not self._first(body):
            return
        asked = self._ask(event["user"], typed(event.get("text") or "", _bot(body)), event["channel"])
        where = {"channel": event["channel"], "user": event["user"], "thread_ts": event.get("thread_ts")}
        _when_done(asked, partial(self._post_ephemeral, where))

    def _nothing(self, ack: Ack, body: Body) -> None:
        """Heard, and nothing to do: Bolt acks events itself."""

    def _first(self, body: Body) -> bool:
        """Whether an event is delivered for the first time (Slack repeats those whose answer it missed)."""
        event_id = body.get("event_id")
        if not event_id:
            return True
        with self._lock:
            if event_id in self._seen:
                return False
            self._seen[event_id] = None
            _forget(self._seen)
        return True

    # ---- answers that do not go with an ack; all of these only hand over

    def _later(self, body: Body, reply: Reply, *, replace: bool) -> None:
        """To a response_url; if there is none, or it is dead, as a direct message."""
        person = str((body.get("user") or {}).get("id") or body.get("user_id") or "")
        url = body.get("response_url")
        answer = {"response_type": "ephemeral", "replace_original": replace, **self._rendered(reply)}

        def send() -> None:
            if not url:
                self._send_dm(person, reply)
                return
            try:
                calls.respond(url, answer, self._count)
            except Gone as dead:
                log.info("an answer goes as a direct message: %s", dead)
                self._send_dm(person, reply)

        self.answers.send(person, "an answer", send)
        self._picture(person, person, reply)

    def _post(self, person: str, where: Body, reply: Reply) -> None:
        """Into the direct conversation in which it was asked."""
        arguments = {**where, "unfurl_links": False, **message(reply, self._people.name_of)}
        self.answers.send(where["channel"], "an answer", partial(_speak, self._client, "chat.postMessage", arguments))
        self._picture(where["channel"], person, reply)

    def _post_ephemeral(self, where: Body, reply: Reply) -> None:
        """Where the bot was named, for that person alone; if that cannot be, as a direct message."""
        arguments = {**where, **self._rendered(reply)}

        def send() -> None:
            try:
                _speak(self._client, "chat.postEphemeral", arguments)
            except Unreachable as error:
                log.info("an answer goes as a direct message: %s", error)
                self._send_dm(where["user"], reply)

        self.answers.send(where["user"], "an answer", send)
        self._picture(where["user"], where["user"], reply)

    def _picture(self, lane: str, person: str, reply: Reply) -> None:
        """Behind an answer that has one, into the direct conversation of who asked."""
        if reply.picture is not None and self._pictures is not None:
            self.answers.send(lane, "a picture", partial(self._pictures.to_person, person, reply.picture))

    def _send_dm(self, person: str, reply: Reply) -> None:
        """Raises VoiceError."""
        opened = calls.call(self._client, "conversations.open", users=person)
        said = message(reply, self._people.name_of)
        _speak(self._client, "chat.postMessage", {"channel": opened["channel"]["id"], **said})


def _forget(remembered: OrderedDict[str, Any]) -> None:
    """The oldest, if it is too many."""
    while len(remembered) > REMEMBERED:
        remembered.popitem(last=False)


class _OneWorkspace(Authorize):
    """The bot is in one workspace and knows its token: nothing to ask Slack about while somebody waits."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, *, enterprise_id: str | None, team_id: str | None, **_: Any) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=self._token)


def _speak(client: WebClient, method: str, arguments: Body) -> None:
    calls.speak(client, method, **arguments)


def _bot(body: Body) -> str:
    """The bot's own user id, as an event says it."""
    told = body.get("authorizations") or [{}]
    return str(told[0].get("user_id") or "") if told[0].get("is_bot", True) else ""


def _guarded(listener: Callable[[Ack, Body], None]) -> Callable[[Ack, Body], None]:
    """A listener that acks whatever goes wrong. Bolt loses an ack if an exception follows it within 10 ms."""

    def guarded(ack: Ack, body: Body) -> None:
        try:
            listener(ack, body)
        except Exception as error:  # noqa: BLE001 - the door of people: logged with its cause, answered in words
            text = SORRY.format(_log(error))
            if "command" in body:
                ack(text=text, response_type="ephemeral")
            else:
                ack()

    return guarded


def _when_done(asked: Future[Reply], then: Callable[[Reply], None]) -> None:
    """Hand on an answer when it is there; nothing if the bot ends before."""
    asked.add_done_callback(lambda done: None if done.cancelled() else then(done.result()))


def _log(error: Exception) -> str:
    reference = secrets.token_hex(3)
    log.error("listener failed, reference %s", reference, exc_info=error)
    return reference


def _sorry(error: Exception) -> BoltResponse:
    """What Bolt calls if something goes wrong outside our listeners."""
    return BoltResponse(status=200, body={"response_type": "ephemeral", "text": SORRY.format(_log(error))})
