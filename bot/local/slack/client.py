"""The stand-in Slack from Python: a drive with plain calls, and a server in a thread of its own.

Called by tests and by the demo's stories. Plain blocking code on the standard library; proxies of the environment are not
used.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from bot.local.slack.model import GPU_CHANNEL_ID, Json
from bot.local.slack.server import Running, Setup, serving


class DriveError(Exception):
    """The drive refused: the script asks for something that is not there."""


@dataclass(frozen=True)
class Drive:
    """What a person does and sees, as methods; see `drive.py` for the answers."""

    url: str  # http://127.0.0.1:port
    timeout_s: float = 40.0  # of one call

    def call(self, method: str, path: str, ask: Json) -> Any:
        """One call. Raises DriveError with the drive's words."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=self.timeout_s)
        with contextlib.closing(connection):
            if method == "GET":
                given = {k: v for k, v in ask.items() if v is not None}
                connection.request("GET", f"/_drive/{path}?{urlencode(given)}")
            else:
                connection.request("POST", f"/_drive/{path}", json.dumps(ask), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            body = reply.read()
        answer = json.loads(body) if body else None
        if reply.status != 200:
            raise DriveError(answer.get("error", "") if isinstance(answer, dict) else str(reply.status))
        return answer

    def command(self, person: str, channel: str, text: str) -> Json:
        """Says `/gpu ...`."""
        return dict(self.call("POST", "command", {"person": person, "channel": channel, "text": text}))

    def type(self, person: str, channel: str, text: str, thread_ts: str | None = None) -> Json:
        """Types a message."""
        ask = {"person": person, "channel": channel, "text": text, "thread_ts": thread_ts}
        return dict(self.call("POST", "type", ask)["message"])

    def click(self, person: str, channel: str = "#gpu", ts: str = "last", **element: Any) -> Json:
        """Uses an element: `action_id=`, `text=` or `value=`; `choose=`; `view_id=` for a modal."""
        return dict(self.call("POST", "click", {"person": person, "channel": channel, "ts": ts, **element}))

    def submit(self, person: str, **values: Any) -> Json:
        """Fills in and submits the open modal; values by action_id or block_id."""
        return dict(self.call("POST", "submit", {"person": person, "values": values}))

    def close(self, person: str, *, all_views: bool = False) -> Json:
        """Closes the open modal."""
        return dict(self.call("POST", "close", {"person": person, "all": all_views}))

    def view(self, person: str) -> Json | None:
        """The open modal."""
        found = self.call("GET", "view", {"person": person})
        return None if found is None else dict(found)

    def messages(self, person: str | None = None, channel: str | None = None) -> list[Json]:
        """What a person sees there, oldest first; no person: everything."""
        return list(self.call("GET", "messages", {"person": person, "channel": channel}))

    def person(self, name: str, **changes: Any) -> Json:
        """Changes or adds a person: tz, is_admin, deleted, dnd, dnd_until (unix seconds by people's watches)."""
        return dict(self.call("POST", "person", {"name": name, **changes}))

    def post(self, path: str, **ask: Any) -> Json:
        """Any other act, as in `drive.py`."""
        return dict(self.call("POST", path, ask))

    def get(self, path: str, **ask: Any) -> Any:
        """Any other question."""
        return self.call("GET", path, ask)

    def wait(self, what: Callable[[], Any], timeout_s: float = 20.0, why: str = "") -> Any:
        """Polls until `what()` is true and returns it. Raises TimeoutError."""
        end = time.monotonic() + timeout_s
        while not (found := what()):
            if time.monotonic() > end:
                raise TimeoutError(why or "the stand-in Slack did not get there")
            time.sleep(0.02)
        return found

    def wait_message(self, person: str, channel: str, part: str, timeout_s: float = 20.0) -> Json:
        """Waits until the person sees a message whose text or blocks hold `part`; the newest such."""

        def look() -> Json | None:
            for message in reversed(self.messages(person, channel)):
                if part in message["text"] or part in json.dumps(message.get("blocks", []), ensure_ascii=False):
                    return message
            return None

        return dict(self.wait(look, timeout_s, f"{person} never saw {part!r} in {channel}"))

    def wait_connected(self, timeout_s: float = 20.0) -> None:
        """Waits until a bot is connected. Raises TimeoutError."""
        if not self.post("socket", act="wait", timeout=timeout_s)["connected"]:
            raise TimeoutError("no bot connected")


@dataclass(frozen=True)
class LocalSlack:
    """A stand-in Slack in a thread of this process."""

    url: str  # http://127.0.0.1:port
    api_url: str  # base for a WebClient
    bot_token: str = field(repr=False)
    app_token: str = field(repr=False)
    channel: str  # id of #gpu
    drive: Drive


@contextlib.contextmanager
def start_in_thread(setup: Setup | None = None, port: int = 0) -> Iterator[LocalSlack]:
    """Serves in a thread with an event loop of its own; ends with the block."""
    setup = setup or Setup()
    ready: list[Running | BaseException] = []
    up = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with serving(setup, port) as running:
            ready.append(running)
            up.set()
            await stop.wait()

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(serve())
        except Exception as exc:  # noqa: BLE001  handed to the caller, whose thread it belongs to
            ready.append(exc)
            up.set()
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    thread = threading.Thread(target=run, name="local-slack", daemon=True)
    thread.start()
    up.wait(10)
    first = ready[0] if ready else RuntimeError("the stand-in Slack did not start")
    if isinstance(first, BaseException):
        raise first
    try:
        yield LocalSlack(first.url, first.api_url, setup.bot_token, setup.app_token, GPU_CHANNEL_ID, Drive(first.url))
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
