"""The way in for the bot's calls: arguments, token, armed faults, rates, then the method; all of it in the journal.

Called by the server for `/api/...` and `/hooks/...`. The methods themselves are elsewhere and know nothing of faults.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from aiohttp import web

from bot.local.slack import wire
from bot.local.slack.files import FILE_METHODS
from bot.local.slack.hooks import respond
from bot.local.slack.methods import METHODS, Call
from bot.local.slack.methods_marks import MARK_METHODS
from bot.local.slack.methods_people import PEOPLE_METHODS
from bot.local.slack.methods_views import VIEW_METHODS
from bot.local.slack.model import APP_ID, Json, SlackError

if TYPE_CHECKING:
    from bot.local.slack.server import Slack

ALL_METHODS = {**METHODS, **PEOPLE_METHODS, **MARK_METHODS, **VIEW_METHODS, **FILE_METHODS}
HOOK = "response_url"  # the name of a post to a response_url in faults, counts and journal
GONE = frozenset(("no_hook", "used_url", "expired_url"))  # refusals of a response_url that is dead


class Gate:
    """The two kinds of calls."""

    def __init__(self, slack: Slack) -> None:
        self.slack = slack
        self.faults = slack.faults

    async def api(self, request: web.Request) -> web.StreamResponse:
        """One Web API call."""
        method = request.match_info["method"]
        entry = self._note(method)
        try:
            args = await wire.arguments(request)
            token = wire.token_of(request, args)
            entry["args"] = args
            if method not in ALL_METHODS and method != "apps.connections.open":
                raise SlackError("unknown_method", req_method=method)
            return await self._through(request, entry, lambda: self._said(method, token, args, entry))
        except SlackError as exc:
            entry["reply"] = {"ok": False, "error": exc.error, **exc.extra}
            return wire.refusal(exc)

    async def hook(self, request: web.Request) -> web.StreamResponse:
        """A post to a response_url."""
        entry = self._note(HOOK)
        try:
            entry["args"] = json.loads(await request.text())
            return await self._through(request, entry, lambda: self._respond(request.match_info["path"], entry))
        except ValueError:
            entry["reply"] = "invalid_payload"
            return web.Response(status=400, text="invalid_payload")
        except SlackError as exc:
            entry["reply"] = exc.error
            status = 404 if exc.error in GONE else 400
            return web.json_response({"ok": False, "error": exc.error, **exc.extra}, status=status)

    def _note(self, method: str) -> Json:
        """A line of the journal, still without arguments and reply."""
        entry: Json = {"method": method, "at": self.slack.now(), "args": {}, "reply": None}
        self.slack.journal.append(entry)
        self.slack.counts[method] += 1
        return entry

    async def _through(self, request: web.Request, entry: Json, run: Callable[[], web.Response]) -> web.StreamResponse:
        """Runs a call unless a fault is armed for it."""
        method, faults = entry["method"], self.faults
        if (pause := faults.spend(faults.slow, method)) is not None:
            await asyncio.sleep(pause)
        if (wait_s := self._limit(entry)) is not None:
            entry["reply"] = {"ok": False, "error": "ratelimited"}
            return web.json_response(entry["reply"], status=429, headers={"Retry-After": str(wait_s)})
        if (status := faults.spend(faults.broken, method)) is not None:
            entry["reply"] = {"status": status}
            return web.Response(status=status, text="upstream is away")
        if (name := faults.spend(faults.refused, method)) is not None:
            raise SlackError(name)
        hold = faults.claim(method, entry["args"])
        if hold is not None and hold.when == "before" and not await hold.wait():
            return _cut(request, entry)
        reply = run()
        if hold is not None and hold.when == "after" and not await hold.wait():
            return _cut(request, entry)
        return reply

    def _limit(self, entry: Json) -> int | None:
        """The seconds of Retry-After, if this call is one too many."""
        armed = self.faults.spend(self.faults.rate_limited, entry["method"])
        channel = str(entry["args"].get("channel", "")) if isinstance(entry["args"], dict) else ""
        counted = self.slack.rates.wait(entry["method"], channel, self.slack.now())
        return int(armed) if armed is not None else counted if self.slack.rates.enforced else None

    def _said(self, method: str, token: str, args: Json, entry: Json) -> web.Response:
        """The answer, with what the token may do in its head, as Slack has it."""
        reply = self._run(method, token, args, entry)
        given = self.slack.space.scopes if token == self.slack.setup.bot_token else ("connections:write",)
        return web.json_response(reply, headers={"X-OAuth-Scopes": ",".join(sorted(given))})

    def _run(self, method: str, token: str, args: Json, entry: Json) -> Json:
        entry["reply"] = self._reply(method, token, args)
        return dict(entry["reply"])

    def _reply(self, method: str, token: str, args: Json) -> Json:
        setup, space, base = self.slack.setup, self.slack.space, self.slack.acts.base
        if method == "apps.connections.open":
            if token != setup.app_token:
                raise SlackError("not_allowed_token_type" if token == setup.bot_token else "invalid_auth")
            if not self.slack.link.enabled:
                raise SlackError("forbidden_team")
            address = base.replace("http://", "ws://", 1)
            return {"ok": True, "url": f"{address}/link/?ticket={self.slack.link.ticket()}&app_id={APP_ID}"}
        if not token:
            raise SlackError("not_authed")
        if token != setup.bot_token:
            raise SlackError("not_allowed_token_type" if token == setup.app_token else "invalid_auth")
        function, scopes = ALL_METHODS[method]
        if scopes and not space.scopes & set(scopes):
            raise SlackError("missing_scope", needed=scopes[0], provided=",".join(sorted(space.scopes)))
        return {"ok": True, **function(Call(space, args, self.slack.now(), base))}

    def _respond(self, path: str, entry: Json) -> web.Response:
        respond(self.slack.acts, path, entry["args"])
        entry["reply"] = "ok"
        return web.Response(text="ok")


def _cut(request: web.Request, entry: Json) -> web.StreamResponse:
    """Ends a call without an answer."""
    entry["reply"] = entry["reply"] or {"dropped": True}
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=503)
