"""The stand-in Slack as one aiohttp application.

Started by `python -m bot.local.slack`, by `gpubot local slack` and by tests (`start_in_thread`). It wires the workspace,
Socket Mode, the Web API, the reply addresses, the drive and the page; the rules are in the other files. It listens on
loopback and ends with its process.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.local.clock import Clock
from bot.local.slack.acts import Acts
from bot.local.slack.faults import Faults
from bot.local.slack.link import Link
from bot.local.slack.model import (
    BOT_USER_ID,
    DEFAULT_SCOPES,
    GPU_CHANNEL_ID,
    Json,
    Workspace,
    default_people,
)
from bot.local.slack.rates import Rates

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PAGE = Path(__file__).parent / "page"
JOURNAL = 5_000  # calls remembered
CLOCK_LOOK_S = 0.5  # how often the clock file's stat is looked at


@dataclass(frozen=True)
class Setup:
    """How a stand-in Slack is to be."""

    bot_token: str = field(default="xoxb-local", repr=False)
    app_token: str = field(default="xapp-local", repr=False)
    zones: tuple[tuple[str, str], ...] = ()  # (name of a person, IANA zone); Europe/Berlin otherwise
    scopes: frozenset[str] = DEFAULT_SCOPES  # granted to the bot token
    commands: tuple[str, ...] = ("/gpu",)  # declared slash commands; empty: any
    should_escape: bool = True  # commands get ids for names
    rates: bool = False  # rate limits are enforced, not only counted
    vcenter_drive: str | None = None  # base address of the stand-in vCenter's drive

    @staticmethod
    def random_tokens() -> tuple[str, str]:
        """A bot token and an app token that nobody knows yet."""
        return "xoxb-" + secrets.token_hex(12), "xapp-1-" + secrets.token_hex(12)


class Slack:
    """One workspace being served."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.offset = 0.0  # seconds added to the real clock, to age triggers and response_urls
        self.faults = Faults()
        self.rates = Rates(setup.rates)
        self.space = Workspace(default_people(dict(setup.zones)), setup.scopes)
        self.virtual = Clock()  # what the people's watches show
        self.link = Link(self.faults)
        self.acts = Acts(self.space, self.link, self.now, commands=setup.commands, should_escape=setup.should_escape)
        self.counts: Counter[str] = Counter()  # calls by method
        self.journal: deque[Json] = deque(maxlen=JOURNAL)
        self.subscribers: set[tuple[str | None, asyncio.Queue[Json]]] = set()
        self.streams: set[asyncio.Task[Any]] = set()  # handlers that write until their reader leaves
        self.space.listeners.append(self._fan_out)
        self.space.watch = self.virtual.unix
        self.link.on_change = lambda n: self.space.tell({"type": "link", "connections": n})

    def now(self) -> float:
        """Slack's clock: unix seconds, real."""
        return time.time() + self.offset

    def _fan_out(self, event: Json, only: frozenset[str] | None) -> None:
        for person, queue in self.subscribers:
            if person is None or only is None or person in only:
                queue.put_nowait(event)

    @contextlib.contextmanager
    def streaming(self) -> Iterator[None]:
        """Around an endless handler, so that it ends with the server even if its reader left unnoticed."""
        task = asyncio.current_task()
        assert task is not None
        self.streams.add(task)
        try:
            yield
        finally:
            self.streams.discard(task)

    async def stop_streams(self) -> None:
        """Ends all endless handlers."""
        tasks = list(self.streams)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def keep_watch(self) -> None:
        """Tells the page when the clock file was replaced."""
        rate = self.virtual.rate()
        while True:
            await asyncio.sleep(CLOCK_LOOK_S)
            if (fresh := self.virtual.rate()) != rate:
                rate = fresh
                self.space.tell({"type": "clock", "now": self.virtual.unix(), "speed": rate.speed})

    # -- what the page needs at its start -------------------------------------------------------------------------------

    def state(self, person: str | None) -> Json:
        """People, places, what `person` sees (None: everything), and the open modal."""
        space = self.space
        if person is None:
            messages = [m for box in space.messages.values() for m in box.values()]
        else:
            messages = list(space.visible(person))
        stack = space.stacks.get(person or "", [])
        home = space.views.get(space.homes.get(person or "", ""))
        return {
            "bot": {"id": BOT_USER_ID, "name": space.people[BOT_USER_ID].name, "connections": len(self.link.connections)},
            "channel": GPU_CHANNEL_ID, "commands": list(self.setup.commands), "person": person,
            "people": [space.person_card(p) for p in space.people.values()],
            "places": [space.place_card(p) for p in space.places.values() if person is None or person in p.members],
            "messages": [m.to_drive() for m in sorted(messages, key=lambda m: float(m.ts))],
            "view": space.views[stack[-1]].to_api() if stack else None, "home": home.to_api() if home else None,
            "vcenter": self.setup.vcenter_drive is not None, "now": self.virtual.unix(),
            "speed": self.virtual.rate().speed,
        }  # fmt: skip


@web.middleware
async def _own_hosts(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuses names that are not this machine's: a foreign page may have pointed its own name here."""
    if request.host.rsplit(":", 1)[0] not in ("127.0.0.1", "localhost"):
        return web.Response(status=421, text="this Slack is for 127.0.0.1 and localhost")
    return await handler(request)


def make_app(slack: Slack) -> web.Application:
    """The application with all routes."""
    from bot.local.slack.drive import drive_routes  # late: drive knows Slack
    from bot.local.slack.files import file_routes
    from bot.local.slack.gate import Gate
    from bot.local.slack.panel import panel_routes

    app = web.Application(client_max_size=8 * 1024 * 1024, middlewares=[_own_hosts])
    gate = Gate(slack)
    app.router.add_route("*", "/api/{method}", gate.api)
    app.router.add_get("/link/", slack.link.serve)
    app.router.add_post("/hooks/{path:.+}", gate.hook)
    app.add_routes(drive_routes(slack))
    app.add_routes(panel_routes(slack))
    app.add_routes(file_routes(slack.space))

    async def index(_: web.Request) -> web.FileResponse:
        return web.FileResponse(PAGE / "index.html", headers={
            "Content-Security-Policy": "default-src 'self'; img-src * data:; style-src 'self'; script-src 'self'; "
                                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"})  # fmt: skip

    async def health(_: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    app.router.add_get("/", index)
    app.router.add_get("/healthz", health)
    app.router.add_static("/page/", PAGE)
    return app


@dataclass(frozen=True)
class Running:
    """A stand-in Slack that is being served."""

    slack: Slack
    url: str  # http://127.0.0.1:port

    @property
    def api_url(self) -> str:
        """Base for a WebClient, with the slash at its end."""
        return self.url + "/api/"

    def line(self) -> str:
        """The one line that is printed when ready."""
        setup = self.slack.setup
        return (f"url={self.url} api_url={self.api_url} bot_token={setup.bot_token} app_token={setup.app_token} "
                f"channel={GPU_CHANNEL_ID} page={self.url}/")  # fmt: skip


@contextlib.asynccontextmanager
async def serving(setup: Setup, port: int = 0) -> AsyncIterator[Running]:
    """Serves on loopback until the block ends."""
    slack = Slack(setup)
    runner = web.AppRunner(make_app(slack), shutdown_timeout=0.5, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    bound = runner.addresses[0][1]
    slack.acts.base = f"http://127.0.0.1:{bound}"
    watch = asyncio.create_task(slack.keep_watch())
    try:
        yield Running(slack, slack.acts.base)
    finally:
        watch.cancel()
        slack.faults.clear()
        await slack.stop_streams()
        await slack.link.close()
        await runner.cleanup()
