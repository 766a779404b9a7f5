"""The panel of cards and machines beside the chat: hands on what the stand-in vCenter's drive says and takes.

Called by the page. It reads nothing of what passes through, so the shape of it is the vCenter's affair.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from aiohttp import ClientError, ClientSession, ClientTimeout, web

if TYPE_CHECKING:
    from bot.local.slack.server import Slack

_PATH = re.compile(r"[A-Za-z0-9_.:/ -]{1,200}")


def panel_routes(slack: Slack) -> list[web.RouteDef]:
    """Everything under /_drive/vcenter/."""
    panel = _Panel(slack)
    return [
        web.get("/_drive/vcenter/events", panel.events),
        web.get("/_drive/vcenter/{path:.+}", panel.get),
        web.post("/_drive/vcenter/{path:.+}", panel.post),
        web.delete("/_drive/vcenter/{path:.+}", panel.post),
    ]


class _Panel:
    def __init__(self, slack: Slack) -> None:
        self.slack = slack
        self.base = (slack.setup.vcenter_drive or "").rstrip("/")

    def _url(self, path: str) -> str | None:
        return f"{self.base}/_drive/{path}" if self.base and _PATH.fullmatch(path) and ".." not in path else None

    async def get(self, request: web.Request) -> web.Response:
        """A question to the drive."""
        return await self._pass(request, b"")

    async def post(self, request: web.Request) -> web.Response:
        """An act, or the end of one (DELETE)."""
        if request.content_type != "application/json":
            return web.json_response({"error": "send application/json"}, status=415)
        return await self._pass(request, await request.read())

    async def _pass(self, request: web.Request, body: bytes) -> web.Response:
        url = self._url(request.match_info["path"])
        if url is None:
            return web.json_response({"error": "no vCenter is connected"}, status=404)
        try:
            async with ClientSession(timeout=ClientTimeout(total=30), trust_env=False) as session:
                headers = {"Content-Type": "application/json"}
                async with session.request(request.method, url, params=request.query, data=body or None,
                                           headers=headers) as reply:  # fmt: skip
                    return web.Response(status=reply.status, body=await reply.read(), content_type="application/json")
        except (ClientError, TimeoutError):
            return web.json_response({"error": "the vCenter does not answer"}, status=502)

    async def events(self, request: web.Request) -> web.StreamResponse:
        """The drive's server-sent events, byte by byte."""
        if not self.base:
            return web.json_response({"error": "no vCenter is connected"}, status=404)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        try:
            with self.slack.streaming():
                await self._copy(request, response)
        except (ClientError, TimeoutError, ConnectionError):  # either side left
            if not response.prepared:
                return web.json_response({"error": "the vCenter does not answer"}, status=502)
        return response

    async def _copy(self, request: web.Request, response: web.StreamResponse) -> None:
        timeout = ClientTimeout(total=None, sock_connect=5)
        async with (
            ClientSession(timeout=timeout, trust_env=False) as session,
            session.get(f"{self.base}/_drive/events") as reply,
        ):
            reply.raise_for_status()
            await response.prepare(request)
            async for chunk in reply.content.iter_any():
                await response.write(chunk)
