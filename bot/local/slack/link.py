"""Socket Mode: tickets, connections, envelopes out and acks in.

Called by apps.connections.open (a ticket), by the server for `/link/` (a connection), and by the acts of people (an
envelope to deliver). It carries payloads and knows nothing of what is in them. Each payload goes to one connection; an ack
may come back on another.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web

from bot.local.slack.faults import Faults
from bot.local.slack.model import APP_ID, Json

ACK_S = 3.0  # within which a command, a click or a submission must be acked
RETRY_PAUSES_S = (0.0, 60.0, 300.0)  # before the second to fourth delivery of an event
CLOSE_AFTER_REFRESH_S = 0.5  # how long an old connection stays open after refresh_requested
MAX_CONNECTIONS = 10


@dataclass(frozen=True)
class Outcome:
    """What became of a delivered payload."""

    error: str | None  # None: acked in time; dispatch_failed: nobody connected; operation_timeout: no ack in time
    payload: Json | str | None  # the response payload of the ack
    ms: float  # from delivery to ack, or to giving up


class Link:
    """All Socket Mode connections of the app."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.connections: list[web.WebSocketResponse] = []
        self.enabled = True  # False: Socket Mode switched off in the app's settings
        self.delivered = 0  # envelopes sent
        self._tickets: set[str] = set()
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._next = 0
        self._transports: dict[web.WebSocketResponse, asyncio.Transport | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._opened = asyncio.Event()  # set while somebody is connected
        self.on_change: Callable[[int], None] = lambda _: None  # told how many are connected

    def ticket(self) -> str:
        """A ticket for one connection."""
        made = str(uuid.uuid4())
        self._tickets.add(made)
        return made

    async def wait_connected(self, timeout_s: float) -> bool:
        """Whether a connection is there within the time."""
        try:
            await asyncio.wait_for(self._opened.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One connection, from upgrade to close."""
        ticket = request.query.get("ticket", "").rstrip("?")
        if ticket not in self._tickets or not self.enabled:
            return web.Response(status=404 if self.enabled else 403)
        self._tickets.discard(ticket)
        if len(self.connections) >= MAX_CONNECTIONS:
            return web.Response(status=429)
        ws = web.WebSocketResponse(heartbeat=10.0, max_msg_size=4 * 1024 * 1024)
        await ws.prepare(request)
        self.connections.append(ws)
        self._transports[ws] = request.transport
        self._opened.set()
        self.on_change(len(self.connections))
        try:
            await ws.send_json({
                "type": "hello", "num_connections": len(self.connections),
                "debug_info": {"host": "local", "build_number": 1, "approximate_connection_time": 18060},
                "connection_info": {"app_id": APP_ID},
            })  # fmt: skip
            async for message in ws:
                if message.type == WSMsgType.TEXT:
                    self._take(message.data)
        except ConnectionError:
            pass  # the other side went away while we spoke; the finally forgets it
        finally:
            if ws in self.connections:
                self.connections.remove(ws)
            self._transports.pop(ws, None)
            if not self.connections:
                self._opened.clear()
            self.on_change(len(self.connections))
        return ws

    def _take(self, text: str) -> None:
        """An ack; anything else is ignored, as Slack does."""
        try:
            ack = json.loads(text)
        except ValueError:
            return
        waiting = self._waiting.get(ack.get("envelope_id", "")) if isinstance(ack, dict) else None
        if waiting is None or waiting.done():
            return
        if self.faults.lose_acks > 0:
            self.faults.lose_acks -= 1
            return
        waiting.set_result(ack.get("payload"))

    async def deliver(self, kind: str, payload: Json, *, accepts: bool = True, retry: Json | None = None) -> Outcome:
        """Sends one envelope of a `kind` (slash_commands, interactive, events_api) and waits for its ack."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        alive = [ws for ws in self.connections if not ws.closed]
        if not alive:
            return Outcome("dispatch_failed", None, 0.0)
        self._next += 1
        ws = alive[self._next % len(alive)]
        envelope_id = str(uuid.uuid4())
        waiting: asyncio.Future[Any] = loop.create_future()
        self._waiting[envelope_id] = waiting
        envelope = {"envelope_id": envelope_id, "type": kind, "payload": payload, "accepts_response_payload": accepts}
        self.delivered += 1
        try:
            await ws.send_json(envelope | (retry or {}))
            reply = await asyncio.wait_for(waiting, ACK_S)
        except ConnectionError:
            return Outcome("dispatch_failed", None, (loop.time() - start) * 1000)
        except TimeoutError:
            return Outcome("operation_timeout", None, (loop.time() - start) * 1000)
        finally:
            self._waiting.pop(envelope_id, None)
        return Outcome(None, reply, (loop.time() - start) * 1000)

    def send_event(self, event: Json) -> None:
        """Delivers an Events API payload in the background, again if it is not acked."""
        task = asyncio.get_running_loop().create_task(self._event(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _event(self, event: Json) -> None:
        outcome = await self.deliver("events_api", event, accepts=False, retry=_retry(0, ""))
        if self.faults.double > 0:
            self.faults.double -= 1
            await self.deliver("events_api", event, accepts=False, retry=_retry(0, ""))
        for attempt, pause in enumerate(RETRY_PAUSES_S, start=1):
            if outcome.error is None:
                return
            await asyncio.sleep(pause)
            reason = "timeout" if outcome.error == "operation_timeout" else "connection_failed"
            outcome = await self.deliver("events_api", event, accepts=False, retry=_retry(attempt, reason))

    async def refresh(
        self, reason: str = "refresh_requested", close_after_s: float = CLOSE_AFTER_REFRESH_S, warn_s: float = 0.0
    ) -> None:
        """Asks every connection to be replaced (``warn_s`` ahead of that it warns, as Slack may), then closes it."""
        old = list(self.connections)
        if warn_s:
            for ws in old:
                await ws.send_json({"type": "disconnect", "reason": "warning", "debug_info": {"host": "local"}})
            await asyncio.sleep(warn_s)
            old = [ws for ws in old if not ws.closed]
        for ws in old:
            await ws.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "local"}})
        await asyncio.sleep(close_after_s)
        for ws in old:
            await ws.close(code=WSCloseCode.GOING_AWAY)

    def drop(self) -> None:
        """Cuts every TCP connection without a close frame."""
        for ws in list(self.connections):
            transport = self._transports.get(ws)
            if transport is not None:
                transport.abort()

    async def close(self) -> None:
        """Ends everything when the server stops."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for ws in list(self.connections):
            await ws.close(code=WSCloseCode.GOING_AWAY)


def _retry(attempt: int, reason: str) -> Json:
    return {"retry_attempt": attempt, "retry_reason": reason}


def event_id() -> str:
    """An id for an Events API payload."""
    return "Ev" + secrets.token_hex(5).upper()
