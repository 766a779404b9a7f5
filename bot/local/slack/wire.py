"""Arguments in and replies out of the Web API: three wire forms, tokens, and Slack's way of saying no.

Called by the server for /api/ and /hooks/. Arguments come as JSON, as a form whose values may be JSON strings, or as a
query; all end as one dict. A refusal is `{"ok": false, "error": name}` with status 200.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from bot.local.slack.model import Json, SlackError

# Arguments that are lists or objects: in forms and queries they travel as JSON text.
STRUCTURED = frozenset(("blocks", "attachments", "view", "metadata", "files", "unfurls", "profile"))
FLAGS = frozenset(("return_im", "prevent_creation", "exclude_archived", "include_locale", "include_num_members", "mrkdwn",
                   "link_names", "reply_broadcast", "as_user", "unfurl_links", "unfurl_media"))  # fmt: skip


async def arguments(request: web.Request) -> Json:
    """All arguments of a call: query first, then body. Raises SlackError invalid_json, invalid_form_data."""
    found: Json = dict(request.query)
    kind = request.content_type
    if request.method == "POST" and request.can_read_body:
        if kind == "application/json":
            try:
                body = json.loads(await request.text())
            except ValueError as exc:
                raise SlackError("invalid_json") from exc
            if not isinstance(body, dict):
                raise SlackError("json_not_object")
            found |= body
        elif kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
            found |= {key: value for key, value in (await request.post()).items() if isinstance(value, str)}
        else:
            raise SlackError("invalid_post_type")
    return {key: _shape(key, value) for key, value in found.items()}


def _shape(key: str, value: Any) -> Any:
    if isinstance(value, str) and key in STRUCTURED:
        try:
            return json.loads(value)
        except ValueError as exc:
            named = {"blocks": "invalid_blocks_format", "attachments": "invalid_attachments"}
            raise SlackError(named.get(key, "invalid_arguments"),
                             response_metadata={"messages": [f"[ERROR] {key} is not JSON"]}) from exc  # fmt: skip
    if isinstance(value, str) and key in FLAGS:
        return value.lower() in ("1", "true")
    return value


def token_of(request: web.Request, args: Json) -> str:
    """The token, from the header or the argument; empty if there is none."""
    header = request.headers.get("Authorization", "")
    if header.startswith("Bearer "):
        return header.removeprefix("Bearer ").strip()
    return str(args.pop("token", ""))


def refusal(error: SlackError) -> web.Response:
    """`ok: false` with Slack's name."""
    return web.json_response({"ok": False, "error": error.error, **error.extra})
