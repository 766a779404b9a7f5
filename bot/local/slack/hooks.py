"""response_url: five posts in half an hour, and what each may replace.

Called by the server for `POST /hooks/...`. A hook of a command has no original: `replace_original` posts anew there, and
`delete_original` deletes nothing. A hook of a click may replace or delete the message that was clicked, ephemeral or not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.local.slack.acts import Acts
from bot.local.slack.methods import content
from bot.local.slack.model import HOOK_LIFE_S, HOOK_USES, Hook, Json, Message, SlackError


def respond(acts: Acts, path: str, body: Any) -> None:
    """Does what a post to a response_url says.

    Raises SlackError: `no_hook`, `used_url`, `expired_url` (the address is dead), or a fault of the content.
    """
    space, now = acts.space, acts.clock()
    hook = space.hooks.get(path)
    if hook is None:
        raise SlackError("no_hook")
    if now - hook.born > HOOK_LIFE_S:
        raise SlackError("expired_url")
    if hook.uses >= HOOK_USES:
        raise SlackError("used_url")
    if not isinstance(body, dict):
        raise SlackError("invalid_payload")
    space.hooks[path] = replace(hook, uses=hook.uses + 1)
    original = _original(acts, hook)
    if _flag(body, "delete_original"):
        if original is not None:
            space.drop(original)
        return
    if _flag(body, "replace_original") and original is not None:
        text, blocks = content(body)
        space.edit(replace(original, text=text, blocks=blocks, origin="response_url"), now)
        return
    acts.answer(body, hook.person, hook.channel, "response_url")


def _original(acts: Acts, hook: Hook) -> Message | None:
    if hook.kind != "action" or hook.original is None:
        return None
    return acts.space.messages[hook.channel].get(hook.original)


def _flag(body: Json, key: str) -> bool:
    return body.get(key) in (True, "true")
