"""The Web API methods a bot calls, one function each, over the workspace.

Called by the server with the arguments as one dict; returns the reply without `ok`, or raises SlackError with Slack's own
error name. Methods about views are in `methods_views.py`. Nothing here waits.
"""

from __future__ import annotations

import re
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
PINS = 100


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


# -- conversations -----------------------------------------------------------------------------------------------------


def open_dm(call: Call) -> Json:
    """conversations.open for one person, or for a known DM."""
    if call.args.get("channel"):
        place = place_of(call, call.args["channel"])
        if place.im_of is None:
            raise SlackError("method_not_supported_for_channel_type")
    else:
        users = call.args.get("users")
        ids = users if isinstance(users, list) else [u.strip() for u in str(users or "").split(",") if u.strip()]
        if not ids:
            raise SlackError("users_list_not_supplied")
        if len(ids) > 1:
            raise SlackError("missing_scope", needed="mpim:write", provided=",".join(sorted(call.space.scopes)))
        person = call.space.people.get(ids[0])
        if person is None:
            raise SlackError("user_not_found")
        if person.is_bot:
            raise SlackError("invalid_user_combination")
        if person.deleted:
            raise SlackError("user_disabled")
        known = "D" + person.id[1:] in call.space.places
        place = call.space.dm(person.id, call.now)
        if known:
            return {"no_op": True, "already_open": True, "channel": _opened(place, call.args)}
    return {"channel": _opened(place, call.args)}


def _opened(place: Place, args: Json) -> Json:
    return place.to_api() if args.get("return_im") else {"id": place.id}


def info(call: Call) -> Json:
    """conversations.info."""
    (channel,) = call.need("channel")
    return {"channel": place_of(call, channel).to_api()}


def members(call: Call) -> Json:
    """conversations.members, in pages."""
    (channel,) = call.need("channel")
    items, cursor = page_of(call, sorted(place_of(call, channel).members))
    return {"members": items, "response_metadata": {"next_cursor": cursor}}


def join(call: Call) -> Json:
    """conversations.join for a public channel."""
    (channel,) = call.need("channel")
    place = place_of(call, channel)
    if place.im_of is not None or place.private:
        raise SlackError("method_not_supported_for_channel_type")
    if place.archived:
        raise SlackError("is_archived")
    if BOT_USER_ID in place.members:
        return {"channel": place.to_api(), "warning": "already_in_channel",
                "response_metadata": {"warnings": ["already_in_channel"]}}  # fmt: skip
    call.space.set_place(replace(place, members=place.members | {BOT_USER_ID}))
    return {"channel": call.space.places[place.id].to_api()}


def list_places(call: Call) -> Json:
    """conversations.list, in pages, of the types asked for."""
    types = {t.strip() for t in str(call.args.get("types") or "public_channel").split(",")}
    if types - {"public_channel", "private_channel", "mpim", "im"}:
        raise SlackError("invalid_types")
    found = [
        place.to_api()
        for place in call.space.places.values()
        if _type_of(place) in types
        and not (place.archived and call.args.get("exclude_archived"))
        and not (place.private and BOT_USER_ID not in place.members)
    ]
    items, cursor = page_of(call, found)
    return {"channels": items, "response_metadata": {"next_cursor": cursor}}


def _type_of(place: Place) -> str:
    return "im" if place.im_of is not None else "private_channel" if place.private else "public_channel"


def history(call: Call) -> Json:
    """conversations.history, newest first."""
    (channel,) = call.need("channel")
    place = place_of(call, channel)
    if BOT_USER_ID not in place.members:
        raise SlackError("not_in_channel")
    kept = [m for m in call.space.messages[place.id].values() if m.only_for is None]
    newest = sorted(kept, key=lambda m: float(m.ts), reverse=True)
    items, cursor = page_of(call, [m.to_api() for m in newest])
    return {"messages": items, "has_more": bool(cursor), "pin_count": len(place.pins),
            "response_metadata": {"next_cursor": cursor}}  # fmt: skip


def page_of(call: Call, items: list[Any]) -> tuple[list[Any], str]:
    """A page of items and the cursor of the next. Raises SlackError invalid_limit, invalid_cursor."""
    try:
        limit = int(call.args.get("limit") or 100)
    except ValueError as exc:
        raise SlackError("invalid_limit") from exc
    if not 0 < limit <= 1000:
        raise SlackError("invalid_limit")
    cursor = str(call.args.get("cursor") or "")
    if cursor and not re.fullmatch(r"at:\d+", cursor):
        raise SlackError("invalid_cursor")
    start = int(cursor.removeprefix("at:")) if cursor else 0
    return items[start : start + limit], f"at:{start + limit}" if len(items) > start + limit else ""


# -- users -------------------------------------------------------------------------------------------------------------


def user_info(call: Call) -> Json:
    """users.info."""
    (user,) = call.need("user")
    person = call.space.people.get(user)
    if person is None:
        raise SlackError("user_not_found")
    return {"user": person.to_api(call.now)}


def user_list(call: Call) -> Json:
    """users.list, in pages."""
    items, cursor = page_of(call, [p.to_api(call.now) for p in call.space.people.values()])
    return {"members": items, "cache_ts": int(call.now), "response_metadata": {"next_cursor": cursor}}


def user_by_email(call: Call) -> Json:
    """users.lookupByEmail."""
    (email,) = call.need("email")
    for person in call.space.people.values():
        if not person.deleted and str(email).lower() == f"{person.name}@example.com":
            return {"user": person.to_api(call.now)}
    raise SlackError("users_not_found")


def dnd_info(call: Call) -> Json:
    """dnd.info: do-not-disturb of one person, on or off, for the hour around now."""
    person = call.space.people.get(str(call.args.get("user") or BOT_USER_ID))
    if person is None:
        raise SlackError("user_not_found")
    start, end = (int(call.now) - 1800, int(call.now) + 1800) if person.dnd else (1, 1)
    return {"dnd_enabled": person.dnd, "next_dnd_start_ts": start, "next_dnd_end_ts": end, "snooze_enabled": False}


# -- pins and reactions ------------------------------------------------------------------------------------------------


def _pinned(call: Call) -> tuple[Place, Message]:
    (channel,) = call.need("channel")
    place = place_of(call, channel)
    if BOT_USER_ID not in place.members:
        raise SlackError("not_in_channel")
    ts = call.args.get("timestamp")
    if not ts:
        raise SlackError("no_item_specified")
    if not re.fullmatch(r"\d+\.\d+", str(ts)):
        raise SlackError("bad_timestamp")
    return place, find_message(call, place, ts)


def pin_add(call: Call) -> Json:
    """pins.add."""
    place, message = _pinned(call)
    if message.ts in place.pins:
        raise SlackError("already_pinned")
    if len(place.pins) >= PINS:
        raise SlackError("too_many_pins")
    call.space.set_place(replace(place, pins=(message.ts, *place.pins)))
    return {}


def pin_remove(call: Call) -> Json:
    """pins.remove."""
    place, message = _pinned(call)
    if message.ts not in place.pins:
        raise SlackError("no_pin")
    call.space.set_place(replace(place, pins=tuple(ts for ts in place.pins if ts != message.ts)))
    return {}


def pin_list(call: Call) -> Json:
    """pins.list, newest first."""
    (channel,) = call.need("channel")
    place = place_of(call, channel)
    held = [call.space.messages[place.id][ts] for ts in place.pins]
    return {"items": [{"type": "message", "channel": place.id, "created": int(float(m.ts)), "created_by": BOT_USER_ID,
                       "message": m.to_api()} for m in held]}  # fmt: skip


def react(call: Call) -> Json:
    """reactions.add."""
    (name,) = call.need("name")
    _, message = _pinned(call)
    if (name, BOT_USER_ID) in message.reactions:
        raise SlackError("already_reacted")
    _set_reactions(call, message, (*message.reactions, (name, BOT_USER_ID)))
    return {}


def unreact(call: Call) -> Json:
    """reactions.remove."""
    (name,) = call.need("name")
    _, message = _pinned(call)
    if (name, BOT_USER_ID) not in message.reactions:
        raise SlackError("no_reaction")
    _set_reactions(call, message, tuple(r for r in message.reactions if r != (name, BOT_USER_ID)))
    return {}


def _set_reactions(call: Call, message: Message, reactions: tuple[tuple[str, str], ...]) -> None:
    changed = replace(message, reactions=reactions)
    call.space.messages[message.channel][message.ts] = changed
    call.space.tell({"type": "message_changed", "message": changed.to_drive()}, call.space.viewers(changed))


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
    "conversations.open": (open_dm, ("im:write",)),
    "conversations.info": (info, ("channels:read", "groups:read", "im:read")),
    "conversations.members": (members, ("channels:read", "groups:read", "im:read")),
    "conversations.list": (list_places, ("channels:read", "groups:read", "im:read")),
    "conversations.join": (join, ("channels:join",)),
    "conversations.history": (history, ("channels:history", "im:history")),
    "users.info": (user_info, ("users:read",)),
    "users.list": (user_list, ("users:read",)),
    "users.lookupByEmail": (user_by_email, ("users:read.email",)),
    "dnd.info": (dnd_info, ("dnd:read",)),
    "pins.add": (pin_add, ("pins:write",)),
    "pins.remove": (pin_remove, ("pins:write",)),
    "pins.list": (pin_list, ("pins:read",)),
    "reactions.add": (react, ("reactions:write",)),
    "reactions.remove": (unreact, ("reactions:write",)),
}
