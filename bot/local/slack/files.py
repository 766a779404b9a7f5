"""Files of the bot: an address to upload to, the bytes, and the message that shares them. As Slack has it in three steps.

The methods are called by the gate as those in `methods.py`; the routes take the bytes and show them to the page. A file that was just
shared knows no `shares` yet, as on Slack, where that comes later.
"""

from __future__ import annotations

import re
import secrets
import struct
from dataclasses import dataclass, replace

from aiohttp import web

from bot.local.slack.methods import Call, Method, place_of, writable
from bot.local.slack.model import BOT_USER_ID, Json, Message, SlackError, Workspace

CHANNEL = re.compile(r"[CGDZ][A-Z0-9]{8,}")  # names and people's ids are refused
COMMENT = 4_000  # characters of a comment that stay
TYPES = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "csv": "text/csv", "txt": "text/plain"}


@dataclass(frozen=True)
class File:
    """One file, from asking for an address on."""

    id: str  # F...
    name: str  # as the bot calls it
    length: int  # bytes that were announced
    ticket: str  # in the address to which the bytes go
    created: int  # unix seconds
    title: str = ""  # shown above it
    body: bytes | None = None  # what came; None: nothing yet
    done: bool = False  # completed
    channels: tuple[str, ...] = ()  # places in which it is shared

    @property
    def kind(self) -> str:
        """By its name."""
        return self.name.rpartition(".")[2].lower()

    def to_api(self, base: str) -> Json:
        """The file object."""
        where = f"{base}/files/{self.id}/{self.ticket}/{self.name}"
        return self._size() | {"id": self.id, "created": self.created, "timestamp": self.created, "name": self.name,
                "title": self.title or self.name, "mimetype": TYPES.get(self.kind, "application/octet-stream"),
                "filetype": self.kind, "pretty_type": self.kind.upper(), "user": BOT_USER_ID, "size": len(self.body or b""),
                "mode": "hosted", "is_external": False, "is_public": False, "url_private": where,
                "url_private_download": where, "channels": list(self.channels)}  # fmt: skip

    def _size(self) -> Json:
        """Width and height of a PNG, as its head has them; nothing of anything else."""
        head = (self.body or b"")[:24]
        if not head.startswith(b"\x89PNG\r\n\x1a\n") or len(head) < 24:
            return {}
        width, height = struct.unpack(">II", head[16:24])
        return {"original_w": width, "original_h": height}


def get_url(call: Call) -> Json:
    """files.getUploadURLExternal."""
    name, length = call.need("filename", "length")
    if not str(length).isdigit() or int(length) < 1:
        raise SlackError("invalid_arguments", response_metadata={"messages": ["[ERROR] length is no number of bytes"]})
    file_id = "F" + "".join(secrets.choice("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(10))
    made = File(file_id, re.sub(r"[^\w.-]", "_", str(name)), int(length), secrets.token_urlsafe(18), int(call.now))
    call.space.files[file_id] = made
    return {"upload_url": f"{call.base}/upload/v1/{made.ticket}", "file_id": file_id}


def complete(call: Call) -> Json:
    """files.completeUploadExternal: with a place it is shared there, in a message of the bot."""
    (asked,) = call.need("files")
    if not isinstance(asked, list) or not asked or not all(isinstance(one, dict) for one in asked):
        raise SlackError("invalid_arguments", response_metadata={"messages": ["[ERROR] files is no list of objects"]})
    places = []
    for id in filter(None, [call.args.get("channel_id"), *str(call.args.get("channels") or "").split(",")]):
        if not CHANNEL.fullmatch(str(id)):
            raise SlackError("invalid_channel")
        places.append(place_of(call, id))
        writable(call, places[-1])
    files = [_uploaded(call.space, one) for one in asked]
    for file in files:
        call.space.files[file.id] = replace(file, done=True, channels=tuple(dict.fromkeys(p.id for p in places)))
    done = [call.space.files[file.id].to_api(call.base) for file in files]
    thread = call.args.get("thread_ts")
    for place in places:
        comment = str(call.args.get("initial_comment") or "")[:COMMENT]
        call.space.post(
            Message(place.id, call.space.next_ts(call.now), BOT_USER_ID, comment, origin="api", files=tuple(done),
                    thread_ts=str(thread) if thread else None)
        )  # fmt: skip
    return {"files": done}


def _uploaded(space: Workspace, one: Json) -> File:
    """A file whose bytes are there, with its title."""
    found = space.files.get(str(one.get("id")))
    if found is None or found.done:
        raise SlackError("file_not_found")
    if found.body is None:
        raise SlackError("file_update_failed")
    return replace(found, title=str(one.get("title") or ""))


def info(call: Call) -> Json:
    """files.info: by then it is known where it is shared."""
    (id,) = call.need("file")
    found = call.space.files.get(str(id))
    if found is None or not found.done:
        raise SlackError("file_not_found")
    return {"file": found.to_api(call.base), "comments": []}


FILE_METHODS: dict[str, tuple[Method, tuple[str, ...]]] = {
    # method: (function, scopes of which one is needed)
    "files.getUploadURLExternal": (get_url, ("files:write",)),
    "files.completeUploadExternal": (complete, ("files:write",)),
    "files.info": (info, ("files:read",)),
}


# -- the bytes ---------------------------------------------------------------------------------------------------------


def file_routes(space: Workspace) -> list[web.RouteDef]:
    """Where bytes go, and where the page gets them."""

    async def take(request: web.Request) -> web.Response:
        found = next((f for f in space.files.values() if f.ticket == request.match_info["ticket"]), None)
        if found is None or found.done:
            return web.Response(status=404, text="no such upload")
        body = await _bytes(request)
        if len(body) != found.length:
            return web.Response(status=400, text=f"{len(body)} bytes came, {found.length} were announced")
        space.files[found.id] = replace(found, body=body)
        return web.Response(text=f"OK - {len(body)}")

    async def show(request: web.Request) -> web.Response:
        found = space.files.get(request.match_info["id"])
        if found is None or found.ticket != request.match_info["ticket"] or found.body is None:
            return web.Response(status=404)
        kind = TYPES.get(found.kind, "application/octet-stream")
        return web.Response(body=found.body, content_type=kind, headers={"X-Content-Type-Options": "nosniff"})

    return [web.post("/upload/v1/{ticket}", take), web.get("/files/{id}/{ticket}/{name}", show)]


async def _bytes(request: web.Request) -> bytes:
    """As a raw body, whatever it is called, or as the part of a form that is a file."""
    if request.content_type == "multipart/form-data":
        parts = (await request.post()).values()
        return next((part.file.read() for part in parts if isinstance(part, web.FileField)), b"")
    return await request.read()
