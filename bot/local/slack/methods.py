"""The Web API methods about messages and the app itself, one function each, over the workspace.

Called by the server with the arguments as one dict; returns the reply without `ok`, or raises SlackError with Slack's own
error name. The other `methods_*.py` are made alike. Nothing here waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bot.local.slack import blockkit
from bot.local.slack.model import (
    APP_ID,
    BOT_ID,
    BOT_USER_ID,
    TEAM_ID,
    Json,
    Message,
    Place,
    SlackError,
    Workspace,
)

POST_TEXT = 40_000  # a longer text of a new message is cut
UPDATE_TEXT = 4_000  # a longer text of an edit is refused


@dataclass(frozen=True)
class Call:
    """One call: what every method gets."""

    space: Workspace
    args: Json
    now: float  # unix seconds
    base: str  # the server's own address, no slash at the end

    def need(self, *names: str) -> tuple[Any, ...]:
        """The values of required arguments. Raises SlackError invalid_arguments naming what is missing."""
        missing = [name for name in names if self.args.get(name) in (None, "")]
        if missing:
            told = [f"[ERROR] missing required field: {name}" for name in missing]
            raise SlackError("invalid_arguments", response_metadata={"messages": told})
        return tuple(self.args[name] for name in names)


Method = Callable[[Call], Json]


# -- where -------------------------------------------------------------------------------------------------------------


def place_of(call: Call, channel: object, *, write: bool = False) -> Place:
    """The place of an id; when writing also `#name` and a user id, as chat.postMessage takes them."""
    space, place = call.space, None
    if isinstance(channel, str):
        place = space.places.get(channel)
        if place is None and write:
            if channel in space.people and channel != BOT_USER_ID:
                place = space.dm(channel, call.now)
            else:
                name = channel.removeprefix("#")
                place = next((p for p in space.places.values() if p.name and p.name == name), None)
    if place is None or (place.private and BOT_USER_ID not in place.members):
        raise SlackError("channel_not_found")
    return place


def writable(call: Call, place: Place) -> None:
    """Raises SlackError if the bot may not write there."""
    if place.archived:
        raise SlackError("is_archived")
    if place.im_of is not None:
        if not call.space.messages_tab:
            raise SlackError("messages_tab_disabled")
        if call.space.people[place.im_of].deleted:
            raise SlackError("restricted_action")
    elif BOT_USER_ID not in place.members and "chat:write.public" not in call.space.scopes:
        raise SlackError("not_in_channel")


def content(args: Json, *, most_text: int | None = None) -> tuple[str, tuple[Json, ...]]:
    """Text and checked blocks of a message. Raises SlackError no_text, invalid_blocks, msg_blocks_too_long, msg_too_long."""
    text, blocks = args.get("text"), args.get("blocks")
    if blocks:
        told = blockkit.check_blocks(blocks)
        if told:
            raise SlackError("invalid_blocks", errors=told, response_metadata={"messages": told})
        if blockkit.total_text(blocks) > blockkit.TOTAL_TEXT:
            raise SlackError("msg_blocks_too_long")
    elif not (isinstance(text, str) and text.strip()) and not args.get("attachments"):
        raise SlackError("no_text")
    text = text if isinstance(text, str) else ""
    if most_text is not None and len(text) > most_text:
        raise SlackError("msg_too_long")
    return text[:POST_TEXT], tuple(blockkit.fill_ids(blocks)) if blocks else ()


def find_message(call: Call, place: Place, ts: object) -> Message:
    """A message that is not ephemeral. Raises SlackError message_not_found."""
    found = call.space.messages[place.id].get(str(ts))
    if found is None or found.only_for is not None:
        raise SlackError("message_not_found")
    return found


# -- chat --------------------------------------------------------------------------------------------------------------


def post_message(call: Call) -> Json:
    """chat.postMessage."""
    (channel,) = call.need("channel")
    place = place_of(call, channel, write=True)
    writable(call, place)
    text, blocks = content(call.args)
    thread = call.args.get("thread_ts")
    made = Message(place.id, call.space.next_ts(call.now), BOT_USER_ID, text, blocks, origin="api",
                   thread_ts=str(thread) if thread else None)  # fmt: skip
    call.space.post(made)
    return {"channel": place.id, "ts": made.ts, "message": made.to_api()}


def post_ephemeral(call: Call) -> Json:
    """chat.postEphemeral."""
    channel, user = call.need("channel", "user")
    place = place_of(call, channel)
    writable(call, place)
    if user not in place.members:
        raise SlackError("user_not_in_channel")
    text, blocks = content(call.args)
    ts = call.space.next_ts(call.now)
    call.space.post(Message(place.id, ts, BOT_USER_ID, text, blocks, only_for=user, origin="api"))
    return {"message_ts": ts}


def update(call: Call) -> Json:
    """chat.update: blocks that are not sent stay, an empty list removes them."""
    channel, ts = call.need("channel", "ts")
    place = place_of(call, channel)
    if place.archived:
        raise SlackError("is_inactive")
    old = find_message(call, place, ts)
    if not old.by_bot:
        raise SlackError("cant_update_message")
    keep = "blocks" not in call.args or call.args["blocks"] is None
    text, blocks = content(call.args, most_text=UPDATE_TEXT)
    made = replace(old, text=text or old.text, blocks=old.blocks if keep else blocks)
    changed = call.space.edit(made, call.now)
    return {"channel": place.id, "ts": old.ts, "text": changed.text, "message": changed.to_api()}


def delete(call: Call) -> Json:
    """chat.delete."""
    channel, ts = call.need("channel", "ts")
    old = find_message(call, place_of(call, channel), ts)
    if not old.by_bot:
        raise SlackError("cant_delete_message")
    call.space.drop(old)
    return {"channel": old.channel, "ts": old.ts}


def permalink(call: Call) -> Json:
    """chat.getPermalink."""
    channel, ts = call.need("channel", "message_ts")
    found = find_message(call, place_of(call, channel), ts)
    link = f"{call.base}/archives/{found.channel}/p{found.ts.replace('.', '')}"
    return {"channel": found.channel, "permalink": link}


# -- the app itself ----------------------------------------------------------------------------------------------------


def auth_test(call: Call) -> Json:
    """auth.test."""
    return {"url": call.base + "/", "team": "local", "user": "gpubot", "team_id": TEAM_ID, "user_id": BOT_USER_ID,
            "bot_id": BOT_ID, "is_enterprise_install": False}  # fmt: skip


def bot_info(call: Call) -> Json:
    """bots.info."""
    if call.args.get("bot") not in (None, BOT_ID):
        raise SlackError("bot_not_found")
    return {"bot": {"id": BOT_ID, "deleted": False, "name": "gpubot", "app_id": APP_ID, "user_id": BOT_USER_ID}}


def team_info(call: Call) -> Json:
    """team.info."""
    return {"team": {"id": TEAM_ID, "name": "local", "domain": "local"}}


def api_test(call: Call) -> Json:
    """api.test: gives the arguments back, fails if asked to."""
    if call.args.get("error"):
        raise SlackError(str(call.args["error"]))
    return {"args": call.args}


METHODS: dict[str, tuple[Method, tuple[str, ...]]] = {
    # method: (function, scopes of which one is needed)
    "api.test": (api_test, ()),
    "auth.test": (auth_test, ()),
    "bots.info": (bot_info, ("users:read",)),
    "team.info": (team_info, ("team:read",)),
    "chat.postMessage": (post_message, ("chat:write",)),
    "chat.postEphemeral": (post_ephemeral, ("chat:write",)),
    "chat.update": (update, ("chat:write",)),
    "chat.delete": (delete, ("chat:write",)),
    "chat.getPermalink": (permalink, ()),
}
