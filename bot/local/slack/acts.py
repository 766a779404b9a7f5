"""What a person does: says a command, clicks, fills in a modal, types a message, opens the app's Home.

Called by the drive endpoints, which the page and tests share. Each act builds Slack's payload, delivers it over Socket
Mode, waits for the ack as the person's client does, and shows what the ack says. A failed act is told to the person as
Slack tells it: `dispatch_failed`, `operation_timeout`, `invalid_command_response`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bot.local.slack import blockkit, payloads
from bot.local.slack.inputs import STATEFUL, action_of, fill, is_empty, state_of
from bot.local.slack.link import Link, Outcome
from bot.local.slack.methods import content
from bot.local.slack.methods_views import change_view, checked_view, make_view, push_onto
from bot.local.slack.model import BOT_USER_ID, Hook, Json, Message, Person, Place, SlackError, View, Workspace


class ActError(Exception):
    """An act that cannot be done: no such person, message, button or input. A fault of the script, not of the bot."""


@dataclass
class Acts:
    """The acts of people over one workspace and one link."""

    space: Workspace
    link: Link
    clock: Callable[[], float]  # unix seconds, real
    base: str = ""  # the server's address, for response_urls
    commands: tuple[str, ...] = ("/gpu",)  # declared slash commands; empty: any word is taken
    should_escape: bool = True  # whether commands get ids for names
    events: frozenset[str] = frozenset(("message.im", "app_mention", "app_home_opened"))  # subscribed

    # -- finding ------------------------------------------------------------------------------------------------------

    def who(self, name: str) -> Person:
        """A person by name or id. Raises ActError."""
        try:
            return self.space.person(name)
        except SlackError as exc:
            raise ActError(f"nobody is called {name!r}") from exc

    def where(self, person: Person, channel: str) -> Place:
        """A place by id or name; `dm` is the person's conversation with the bot. Raises ActError."""
        if channel in ("dm", "@gpubot", "gpubot"):
            return self.space.dm(person.id, self.clock())
        name = channel.removeprefix("#")
        for place in self.space.places.values():
            if place.id == channel or (place.name and place.name == name):
                if person.id not in place.members:
                    raise ActError(f"{person.name} is not in {channel}")
                return place
        raise ActError(f"no channel {channel!r}")

    def notice(self, person: Person, place: str | None, text: str) -> None:
        """A line that Slack itself shows to one person."""
        self.space.tell(
            {"type": "notice", "person": person.id, "channel": place, "text": text, "shown": self.space.watch()},
            frozenset({person.id}),
        )

    # -- commands and typing ------------------------------------------------------------------------------------------

    async def say(self, name: str, channel: str, text: str, thread_ts: str | None = None) -> Json:
        """What the composer does: a command if it starts with a slash, else a message."""
        if text.startswith("/") and thread_ts is None:
            return await self.command(name, channel, text)
        return self.type(name, channel, text, thread_ts)

    async def command(self, name: str, channel: str, text: str) -> Json:
        """Says a slash command and waits for the ack.

        Returns `{acked, error, ms, response, message}`: `response` is the ack's payload, `message` what it showed.
        """
        person = self.who(name)
        place = self.where(person, channel)
        word, _, rest = text.strip().partition(" ")
        if self.commands and word not in self.commands:
            self.notice(person, place.id, f"{word} is not a valid command.")
            return {"acked": False, "error": "invalid_command", "ms": 0.0, "response": None, "message": None}
        now = self.clock()
        rest = rest.strip()
        sent = payloads.escaped(self.space, rest, names=True) if self.should_escape else rest
        hook = self.space.new_hook(Hook("command", person.id, place.id, None, False, now))
        trigger = self.space.new_trigger(person.id, now)
        body = payloads.command(person, place, word, sent, (self.base + hook, trigger))
        outcome = await self.link.deliver("slash_commands", body)
        error, shown = outcome.error, None
        if error is None and outcome.payload not in (None, "", {}):
            try:
                shown = self._show_ack(person, place, outcome.payload)
            except SlackError as exc:
                error = "invalid_command_response"
                self.notice(person, place.id, f"{word} failed with the error “{error}” ({exc.error}).")
                return _result(outcome, error) | {"message": None, "refused": exc.extra}
        if error is not None:
            self.notice(person, place.id, f"{word} failed with the error “{error}”.")
        return _result(outcome, error) | {"message": shown.to_drive() if shown else None}

    def _show_ack(self, person: Person, place: Place, payload: Any) -> Message:
        args: Json = {"text": payload} if isinstance(payload, str) else payload
        return self.answer(args, person.id, place.id, "ack")

    def answer(self, args: Json, person: str, channel: str, origin: str) -> Message:
        """Shows an ack's or a response_url's message. Raises SlackError for what Slack would not show."""
        kind = args.get("response_type", "ephemeral")
        if kind not in ("ephemeral", "in_channel"):
            raise SlackError("invalid_arguments")
        text, blocks = content(args)
        only = person if kind == "ephemeral" else None
        ts = self.space.next_ts(self.clock())
        return self.space.post(Message(channel, ts, BOT_USER_ID, text, blocks, only_for=only, origin=origin))

    def type(self, name: str, channel: str, text: str, thread_ts: str | None = None) -> Json:
        """Types a message; the bot hears of it if it is subscribed and allowed to."""
        person = self.who(name)
        place = self.where(person, channel)
        if place.im_of is not None and not self.space.messages_tab:
            raise ActError("sending messages to this app has been turned off")
        if place.archived:
            raise ActError("the channel is archived")
        now = self.clock()
        made = Message(place.id, self.space.next_ts(now), person.id, payloads.escaped(self.space, text),
                       thread_ts=thread_ts)  # fmt: skip
        self.space.post(made)
        kind = "im" if place.im_of is not None else "channel"
        if place.im_of is not None and "message.im" in self.events:
            self.link.send_event(payloads.event(payloads.message_event(made, kind), now))
        if place.im_of is None and BOT_USER_ID in place.members:
            if f"<@{BOT_USER_ID}" in made.text and "app_mention" in self.events:
                self.link.send_event(payloads.event(payloads.mention_event(made), now))
            if "message.channels" in self.events:
                self.link.send_event(payloads.event(payloads.message_event(made, kind), now))
        return {"message": made.to_drive()}

    # -- clicks -------------------------------------------------------------------------------------------------------

    async def click(self, name: str, ask: Json) -> Json:
        """Uses a button or another element.

        `ask`: `channel` and `ts` of a message, or `view_id` (`view_id: "top"` is the open modal, `"home"` the Home tab);
        `action_id`, or `text` or `value` of the button; `choose` for what takes a choice. Returns
        `{acked, error, ms, action}`.
        """
        person = self.who(name)
        if ask.get("view_id"):
            return await self._click_view(person, self._view(person, str(ask["view_id"])), ask)
        place = self.where(person, str(ask.get("channel", "#gpu")))
        message = self._message(person, place, str(ask.get("ts", "last")), ask)
        block, element = find_element(list(message.blocks), ask)
        now = self.clock()
        if element["type"] in STATEFUL:
            message = self._keep(message, person.id, block["block_id"], element, ask.get("choose"))
        action = self._action(element, block, ask)
        hook = Hook("action", person.id, place.id, message.ts, message.only_for is not None, now)
        urls = (self.base + self.space.new_hook(hook), self.space.new_trigger(person.id, now))
        body = payloads.message_click(person, place, message, action, urls)
        outcome = await self.link.deliver("interactive", body)
        if outcome.error is not None:
            self.notice(person, place.id, f"That did not work ({outcome.error}). Try again.")
        return _result(outcome, outcome.error) | {"action": action}

    async def _click_view(self, person: Person, view: View, ask: Json) -> Json:
        block, element = find_element(view.body["blocks"], ask)
        if element["type"] in STATEFUL:
            entry = _entry(element, ask.get("choose"))
            view = replace(view, values=_with(view.values, block["block_id"], element["action_id"], entry))
            self.space.views[view.id] = view
        action = self._action(element, block, ask)
        body = payloads.view_click(person, view, action, self.space.new_trigger(person.id, self.clock(), view.id))
        outcome = await self.link.deliver("interactive", body)
        if outcome.error is not None:
            self.notice(person, None, f"That did not work ({outcome.error}). Try again.")
        return _result(outcome, outcome.error) | {"action": action}

    def _action(self, element: Json, block: Json, ask: Json) -> Json:
        try:
            made = action_of(element, ask.get("choose"))
        except KeyError as exc:
            raise ActError(str(exc.args[0])) from exc
        return payloads.with_action(made, block["block_id"], self.space.next_ts(self.clock()))

    def _keep(self, message: Message, person: str, block_id: str, element: Json, choose: Any) -> Message:
        """Remembers a choice in a message, for state.values of this person."""
        entry = _entry(element, choose)
        mine = _with(message.values.get(person, {}), block_id, element["action_id"], entry)
        changed = replace(message, values={**message.values, person: mine})
        self.space.messages[message.channel][message.ts] = changed
        return changed

    def _message(self, person: Person, place: Place, ts: str, ask: Json) -> Message:
        """The message of a ts; `last` is the newest that the person sees and that has the element."""
        seen = [m for m in self.space.visible(person.id) if m.channel == place.id]
        if ts != "last":
            found = next((m for m in seen if m.ts == ts), None)
            if found is None:
                raise ActError(f"{person.name} sees no message {ts} there")
            return found
        for message in reversed(seen):
            try:
                find_element(list(message.blocks), ask)
            except ActError:
                continue
            return message
        raise ActError(f"{person.name} sees no message with that element in {place.name or 'the DM'}")

    # -- modals and Home ----------------------------------------------------------------------------------------------

    def _view(self, person: Person, view_id: str) -> View:
        stack = self.space.stacks.get(person.id, [])
        if view_id == "top" and stack:
            view_id = stack[-1]
        if view_id == "home":
            view_id = self.space.homes.get(person.id, "")
        view = self.space.views.get(view_id)
        if view is None or view.person != person.id:
            raise ActError(f"{person.name} has no such view open")
        return view

    async def submit(self, name: str, plain: Json, view_id: str = "top") -> Json:
        """Fills in and submits the topmost modal.

        Returns `{acked, error, ms, response, errors, open}`: `errors` by block_id, from Slack for empty required inputs
        (then nothing was sent) or from the bot; `open`: the view that is open afterwards, or None.
        """
        person = self.who(name)
        view = self._view(person, view_id)
        try:
            view = replace(view, values=fill(view.body["blocks"], view.values, plain))
        except KeyError as exc:
            raise ActError(str(exc.args[0])) from exc
        self.space.views[view.id] = view
        missing = _missing(view)
        if missing:
            return {"acked": False, "error": "required", "ms": 0.0, "response": None, "errors": missing,
                    "open": view.to_api()}  # fmt: skip
        trigger = self.space.new_trigger(person.id, self.clock(), view.id)
        outcome = await self.link.deliver("interactive", payloads.submission(person, view, trigger))
        error, errors = outcome.error, {}
        if error is None:
            try:
                errors = self._after_submit(person, view, outcome.payload)
            except SlackError as exc:
                error = "invalid_view_response: " + exc.error
        if error is not None:
            self.notice(person, None, f"We had some trouble connecting ({error}). Try again?")
        stack = self.space.stacks.get(person.id, [])
        top = self.space.views[stack[-1]].to_api() if stack else None
        return _result(outcome, error) | {"errors": errors, "open": top}

    def _after_submit(self, person: Person, view: View, payload: Any) -> Json:
        """Does what the ack says; returns errors by block_id."""
        answer: Json = payload if isinstance(payload, dict) else {}
        kind = answer.get("response_action")
        if kind is None:
            if view.id in self.space.stacks.get(person.id, []):
                self.space.close_views(person.id, 1)
        elif kind == "clear":
            self.space.close_views(person.id)
        elif kind == "errors":
            return self._errors(view, answer.get("errors"))
        elif kind == "update":
            body = checked_view(answer.get("view"), "modal")
            if view.id in self.space.views:
                change_view(self.space, view, body)
            else:
                self.space.show_view(make_view(self.space, person.id, body, None), "view_opened")
        elif kind == "push":
            push_onto(self.space, person.id, checked_view(answer.get("view"), "modal"))
        else:
            raise SlackError("invalid_arguments")
        return {}

    def _errors(self, view: View, errors: Any) -> Json:
        inputs = {b["block_id"] for b in view.body["blocks"] if b["type"] == "input"}
        if not isinstance(errors, dict) or not errors or set(errors) - inputs:
            raise SlackError("invalid_arguments")
        event = {"type": "view_errors", "view_id": view.id, "errors": errors}
        self.space.tell(event, frozenset({view.person}))
        return errors

    async def close(self, name: str, *, all_views: bool = False) -> Json:
        """Closes the topmost view, or all; the bot is told if it asked to be."""
        person = self.who(name)
        closed = self.space.close_views(person.id, None if all_views else 1)
        if not closed:
            raise ActError(f"{person.name} has no view open")
        outcome = Outcome(None, None, 0.0)
        for view in closed:
            if view.body.get("notify_on_close"):
                outcome = await self.link.deliver("interactive", payloads.closed(person, view, all_views))
        return _result(outcome, outcome.error)

    def open_home(self, name: str, tab: str) -> Json:
        """Opens the app's DM at `home` or `messages`."""
        person = self.who(name)
        now = self.clock()
        dm = self.space.dm(person.id, now)
        view = self.space.views.get(self.space.homes.get(person.id, ""))
        if "app_home_opened" in self.events:
            inner = payloads.home_event(person, dm.id, tab, view, self.space.next_ts(now))
            self.link.send_event(payloads.event(inner, now))
        return {"view": view.to_api() if view else None, "channel": dm.id}


def find_element(blocks: list[Json], ask: Json) -> tuple[Json, Json]:
    """The block and the element asked for. Raises ActError."""
    for block in blocks:
        if ask.get("block_id") not in (None, block.get("block_id")):
            continue
        for element in blockkit.elements_of(block):
            if _is_asked(element, ask):
                return block, element
    wanted = {key: ask[key] for key in ("action_id", "text", "value", "block_id") if key in ask}
    raise ActError(f"no element {wanted}")


def _entry(element: Json, choose: Any) -> Json:
    """The state of an element after a choice. Raises ActError."""
    try:
        return state_of(element, choose)
    except KeyError as exc:
        raise ActError(str(exc.args[0])) from exc


def _with(values: Json, block_id: str, action_id: str, entry: Json) -> Json:
    """state.values with one entry replaced."""
    return {**values, block_id: {**values.get(block_id, {}), action_id: entry}}


def _is_asked(element: Json, ask: Json) -> bool:
    if element.get("type") == "image":
        return False
    if "action_id" in ask:
        return bool(element.get("action_id") == ask["action_id"])
    if "text" in ask:
        return bool(element.get("text", {}).get("text") == ask["text"])
    return "value" in ask and bool(element.get("value") == ask["value"])


def _missing(view: View) -> Json:
    """Required inputs with nothing in them, as Slack's client words it."""
    found: Json = {}
    for block in view.body["blocks"]:
        if block["type"] == "input" and not block.get("optional"):
            entry = view.values.get(block["block_id"], {}).get(block["element"]["action_id"], {})
            if is_empty(entry):
                found[block["block_id"]] = "Please complete this required field."
    return found


def _result(outcome: Outcome, error: str | None) -> Json:
    return {"acked": outcome.error is None, "error": error, "ms": round(outcome.ms, 1), "response": outcome.payload}
