"""The Web API methods about pins and reactions. Called like those in `methods.py`."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.local.slack.methods import Call, Method, find_message, place_of
from bot.local.slack.model import BOT_USER_ID, Json, Message, Place, SlackError

PINS = 100  # in one channel


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


MARK_METHODS: dict[str, tuple[Method, tuple[str, ...]]] = {
    # method: (function, scopes of which one is needed)
    "pins.add": (pin_add, ("pins:write",)),
    "pins.remove": (pin_remove, ("pins:write",)),
    "pins.list": (pin_list, ("pins:read",)),
    "reactions.add": (react, ("reactions:write",)),
    "reactions.remove": (unreact, ("reactions:write",)),
}
