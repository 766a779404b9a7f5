"""The one file that knows every room: it makes the edges, plugs them into the two doors, starts them and stops them.

Called by ``cli`` alone, which imports it late. Two ways in: :func:`run` is the bot; :func:`say` is one line from the terminal. No rule and
no sentence of the product lives here, besides what an operator reads when the bot cannot start.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot import commands
from bot.config import Settings
from bot.domain import queue
from bot.domain.errors import Refusal
from bot.domain.policy import Policy
from bot.edges.beats import Beats, Watch
from bot.edges.clock import FileClock
from bot.edges.meter import Meter
from bot.edges.slack import Link, LinkError, SlackApp, SlackPeople, SlackSettings, SlackVoice, make_client
from bot.edges.store import SqlStore, StoreError, open_store
from bot.edges.telemetry import push
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.lab import ReadOnly, VSphereLab
from bot.edges.web import Server, WebError, build
from bot.service import words
from bot.service.desk import Desk
from bot.service.known import KnownPeople
from bot.service.ports import Ask, Lab, Reply
from bot.service.rounds import Rounds
from bot.service.verbs import Verbs

log = logging.getLogger("gpubot")

CLAIM_TTL = timedelta(seconds=60)
"""Real time without a heartbeat after which another process may be the bot of a database."""

CHANGED_S = 0.5
"""Real seconds between two looks at whether another process wrote into the database."""

LINK_DEAD_S = 90.0
"""Real seconds without a Slack connection after which the process ends, so that its supervisor starts it anew."""


class CannotStart(Exception):
    """The bot cannot start; the text says why and what to do."""


# ---- settings into plain values -----------------------------------------------------------------------------------


def policy_of(settings: Settings) -> Policy:
    """The rules' numbers, with the kinds."""
    return replace(settings.policy(), kinds=dict(settings.kinds))


def complete(settings: Settings) -> None:
    """Raises CannotStart with all that ``gpubot run`` needs and is not there."""
    missing = settings.missing_for_run()
    if settings.slack.mode == "http":
        missing.append('[slack] mode = "http" is not served by this version; write: mode = "socket"')
    if settings.site.level == "hands":
        missing.append('[site] level = "hands" is not served by this version; write: level = "watch" or level = "act"')
    if missing:
        raise CannotStart("gpubot cannot start:\n" + "\n".join(f"- {line}" for line in missing))


def slack_of(settings: Settings) -> SlackSettings:
    """What the Slack edge needs."""
    bot, app = settings.slack.secret("bot_token"), settings.slack.secret("app_token")
    return SlackSettings(
        bot_token=bot.get_secret_value() if bot else "",
        app_token=app.get_secret_value() if app else "",
        channel=settings.slack.channel or "",
        command=settings.slack.command,
        api_url=settings.slack.api_url,
        adapter=settings.slack.adapter,
        admins=tuple(settings.site.admins),
        zone=settings.site.zone,
    )


def vcenters_of(settings: Settings) -> list[VCenter]:
    """The vCenters."""
    found = []
    for name, section in settings.vcenter.items():
        password = section.secret(name)
        host = f"[{section.host}]" if ":" in section.host else section.host
        ca_file = Path(section.ca_file) if section.ca_file else None
        word = password.get_secret_value() if password else ""
        found.append(VCenter(name, f"{host}:{section.port}", section.user, word, ca_file))
    return found


def clock_of() -> FileClock:
    """The clock, by ``GPUBOT_CLOCK``."""
    return FileClock(os.environ.get("GPUBOT_CLOCK") or None)


def kinds_of(settings: Settings) -> tuple[str, ...]:
    """The kinds that people may ask for."""
    return tuple(dict.fromkeys(settings.kinds.values()))


# ---- one line from the terminal -----------------------------------------------------------------------------------


def say(settings: Settings, person: str, text: str) -> Reply:
    """What the desk answers somebody, with the bot running or not. Raises CannotStart."""
    clock = clock_of()
    store = _open(settings, clock)
    try:
        people = KnownPeople(store, settings.site.admins, settings.site.zone)
        found = people.find(person)
        if found is None:
            known = ", ".join(sorted(p.name for p in store.persons())) or "nobody yet"
            raise CannotStart(
                f"I do not know {person}; I know: {known}. Somebody is known after their first word in Slack."
            )
        desk = Desk(store, people, clock, policy_of(settings), kinds_of(settings), lambda: None, commands.found())
        return desk.hear(Ask(found.id, text, "terminal"))
    finally:
        store.close()


def plain(settings: Settings, person: str, reply: Reply) -> str:
    """A reply as text for the terminal, times in the person's zone."""
    clock = clock_of()
    store = _open(settings, clock)
    try:
        people = KnownPeople(store, settings.site.admins, settings.site.zone)
        found = people.find(person)
        zone = found.zone if found else settings.site.zone
        return words.terminal(reply, zone, lambda id: people.person(id).name, clock.now(), settings.slack.command)
    finally:
        store.close()


def _open(settings: Settings, clock: FileClock) -> SqlStore:
    try:
        return open_store(settings.store.url, now=clock.now)
    except StoreError as error:
        raise CannotStart(str(error)) from error


# ---- the bot ------------------------------------------------------------------------------------------------------


@dataclass
class Bot:
    """The running bot's parts that others ask about."""

    store: SqlStore
    clock: FileClock
    lab: Lab
    rounds: Rounds
    beats: Beats
    link: Link
    counted: Counted
    run: str

    def health(self) -> tuple[bool, dict[str, Any]]:
        """Whether rounds go on and Slack is connected, for ``/healthz``."""
        troubles = dict(getattr(self.lab, "troubles", {}))
        connected = self.link.healthy()
        return connected, {"slack": "connected" if connected else "not connected", "vcenter": troubles or "answers"}

    def ready(self, after: datetime) -> tuple[bool, dict[str, Any]]:
        """For ``/readyz``."""
        waits_for = self.rounds.unready(after)
        return not waits_for, {"waits_for": waits_for} if waits_for else {}


def run(settings: Settings, *, single: bool = True) -> int:
    """Be the bot until SIGTERM or SIGINT. Returns the exit code.

    :param single: refuse to run beside another bot on the same database (a test switches it off)
    :raises CannotStart: settings, database, port or Slack's tokens
    """
    complete(settings)
    slack, vcenters = slack_of(settings), vcenters_of(settings)
    clock, policy, run_id = clock_of(), policy_of(settings), secrets.token_hex(4)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as stack:
        store = _open(settings, clock)
        stack.callback(store.close)
        if single:
            _claim(store, clock, run_id)
            stack.callback(store.resign, run_id)
        bot = _assemble(settings, slack, vcenters, _Made(store, clock, policy, run_id, single), stack)
        log.info("run %s: level %s, %s", run_id, policy.level, ", ".join(v.name for v in vcenters))
        return _until_stopped(bot, stop, stack)


class Counted:
    """Counts what happens, for ``/metrics``: nothing about a person."""

    def __init__(self, meter: Meter, store: SqlStore, real: Callable[[], float]) -> None:
        """``real``: steady seconds."""
        self._meter, self._store, self._real = meter, store, real

    def hearing(self, hear: Callable[[Ask], Reply], verbs: Verbs) -> Callable[[Ask], Reply]:
        """The desk, counted by verb."""

        def heard(ask: Ask) -> Reply:
            began = self._real()
            reply = hear(ask)
            try:
                verb = verbs.find(ask.text)[0].words[0]
            except Refusal:
                verb = "?"
            self._meter.commands.labels(verb or "status").inc()
            self._meter.command_seconds.observe(self._real() - began)
            return reply

        return heard

    def rounds(self, round_: Callable[[], object]) -> Callable[[], object]:
        """The round, counted and timed."""

        def one() -> object:
            began = self._real()
            result = round_()
            self._meter.rounds.labels("ended").inc()
            self._meter.round_seconds.observe(self._real() - began)
            return result

        return one

    def text(self) -> bytes:
        """All numbers; those of the books are read now."""
        books = self._store.read()
        self._meter.outbox.set(self._store.pending())
        self._meter.waiting.set(len(queue.line(books)))
        held = {h.slot for h in books.holds}
        states = Counter("aside" if c.aside else "lent" if c.name in held else "free" for c in books.cards.values())
        for state in ("aside", "lent", "free"):
            self._meter.cards.labels(state).set(states[state])
        return self._meter.text()


@dataclass(frozen=True)
class _Made:
    """What is made first and handed to all."""

    store: SqlStore
    clock: FileClock
    policy: Policy
    run: str
    single: bool


def _claim(store: SqlStore, clock: FileClock, run_id: str) -> None:
    if not store.claim(run_id, clock.wall(), CLAIM_TTL):
        raise CannotStart(
            "another gpubot runs on this database: stop that one first, or give this one a [store] url of its own"
        )


def _assemble(settings: Settings, slack: SlackSettings, vcenters: list[VCenter], made: _Made, stack: ExitStack) -> Bot:
    """Make every part, plug them together, and start all but Slack."""
    store, clock, policy = made.store, made.clock, made.policy
    lab: Lab = VSphereLab(vcenters, clock, settings.kinds)
    stack.callback(lab.close)
    if policy.level != "act":
        lab = ReadOnly(lab)
    client = make_client(slack)
    people = SlackPeople(client, slack, store.persons)
    stack.callback(people.close)
    voice = SlackVoice(client, slack.channel, people.name_of)
    wake = _Later()
    rounds = Rounds(
        store, lab, voice, people, clock, policy, made.run, wake,
        claim=(lambda: store.claim(made.run, clock.wall(), CLAIM_TTL)) if made.single else None,
        jump=clock.jump,
    )  # fmt: skip
    stack.callback(rounds.close)
    verbs = commands.found()
    desk = Desk(store, people, clock, policy, kinds_of(settings), rounds.poke, verbs)
    counted = Counted(Meter(), store, clock.real)
    app = SlackApp(slack, people, counted.hearing(desk.hear, verbs))
    stack.callback(app.close)
    watches = (Watch("clock", clock.generation), Watch("writes", store.changed, CHANGED_S))
    beats = Beats(counted.rounds(rounds.round), rounds.every, speed=lambda: clock.speed, watches=watches)
    wake.to = beats.wake
    link = Link(app.app, slack)
    bot = Bot(store, clock, lab, rounds, beats, link, counted, made.run)
    _serve(settings, bot, stack)
    _start(bot, stack)
    return bot


class _Later:
    """A call that is plugged in after its caller was made."""

    def __init__(self) -> None:
        self.to: Callable[[], None] = lambda: None

    def __call__(self) -> None:
        self.to()


def _serve(settings: Settings, bot: Bot, stack: ExitStack) -> None:
    """The web server: health, readiness, numbers, readings."""
    routers = [push.router(bot.store, bot.clock.now, bot.rounds.poke)]
    app = build(routers, bot.health, bot.ready, bot.counted.text)
    web = settings.web
    cert = Path(web.cert_file) if web.cert_file else None
    key = Path(web.key_file) if web.key_file else None
    try:
        server = Server(app, web.host, web.port, cert, key)
        server.start()
    except WebError as error:
        raise CannotStart(str(error)) from error
    stack.callback(server.stop)


def _start(bot: Bot, stack: ExitStack) -> None:
    """Rounds and voice."""
    quiet = threading.Event()
    voice = threading.Thread(target=bot.rounds.run_voice, args=(quiet,), name="voice", daemon=True)
    voice.start()
    stack.callback(voice.join, 5)
    stack.callback(quiet.set)
    bot.beats.start()
    stack.callback(bot.beats.stop)


def _until_stopped(bot: Bot, stop: threading.Event, stack: ExitStack) -> int:
    """Connect to Slack, then watch over the connection. Without Slack the rounds go on; it is tried again with growing pauses."""
    pause = 1.0
    while not stop.is_set():
        try:
            bot.link.open()
            break
        except LinkError as error:
            log.error("%s (tried again in %.0f s; all else goes on)", error, pause)
            stop.wait(pause)
            pause = min(60.0, pause * 2)
    stack.callback(bot.link.close)
    alive = time.monotonic()
    while not stop.wait(1.0):
        if bot.link.healthy():
            alive = time.monotonic()
        elif time.monotonic() - alive > LINK_DEAD_S:
            log.error("no connection to Slack for %.0f s: this process ends, so that it is started anew", LINK_DEAD_S)
            return 3
    log.info("run %s ends", bot.run)
    return 0
