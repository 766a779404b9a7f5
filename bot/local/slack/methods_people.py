"""The Web API methods about conversations and users. Called like those in `methods.py`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from bot.local.slack.methods import Call, Method, place_of
from bot.local.slack.model import BOT_USER_ID, Json, Place, SlackError

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
    """dnd.info: do-not-disturb of one person, by people's watches. What is said of a snooze only the person themself may read."""
    person = call.space.people.get(str(call.args.get("user") or BOT_USER_ID))
    if person is None:
        raise SlackError("user_not_found")
    now = call.space.watch()
    until = person.dnd_until if person.dnd_until is not None else now + 1800
    if not person.dnd or until <= now:
        return {"dnd_enabled": False, "next_dnd_start_ts": 1, "next_dnd_end_ts": 1}
    return {"dnd_enabled": True, "next_dnd_start_ts": int(now) - 1800, "next_dnd_end_ts": int(until)}


PEOPLE_METHODS: dict[str, tuple[Method, tuple[str, ...]]] = {
    # method: (function, scopes of which one is needed)
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
}
