"""``gpubot run``: every part is made, plugged together, started, watched over and stopped. Called by ``cli``."""

from __future__ import annotations

import logging
import secrets
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from bot import commands
from bot.config import Settings
from bot.domain.policy import Policy
from bot.edges.beats import Beats, Watch
from bot.edges.clock import FileClock
from bot.edges.meter import Meter
from bot.edges.plots import Plots
from bot.edges.slack import Link, LinkError, SlackApp, SlackPeople, SlackSettings, SlackVoice, make_client
from bot.edges.store import SqlStore, StoreError, open_store
from bot.edges.telemetry import push
from bot.edges.telemetry.prometheus import PrometheusSettings, PrometheusSource
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.lab import ReadOnly, VSphereLab
from bot.edges.web import Server, WebError, build
from bot.service import words
from bot.service.counting import CountedLab, counted_desk, counted_round
from bot.service.desk import Desk
from bot.service.ports import Lab, StoreTrouble, VoiceError
from bot.service.rounds import Rounds
from bot.service.setup.judge_own import level_line
from bot.wiring.ground import CLAIM_TTL, CannotStart, cannot, clock_of, kinds_of, policy_of, refuse_renamed
from bot.wiring.health import Bot
from bot.wiring.values import prometheus_of, slack_of, vcenters_of

log = logging.getLogger("gpubot")

CHANGED_S = 0.5
"""Real seconds between two looks at whether another process wrote into the database."""

LINK_DEAD_S = 90.0
"""Real seconds without a Slack connection after which the process ends, so that its supervisor starts it anew."""

LOST_S = 10.0
"""Real seconds for which a bot whose database file is gone still answers what happened, before it ends."""

NO_SLACK, NO_DATABASE = 3, 4
"""Exit codes of a bot that ran: Slack could not be reached for LINK_DEAD_S; the database file was lost. (2: it could not start.)"""


def complete(settings: Settings) -> None:
    """Raises CannotStart with all that ``gpubot run`` needs and is not there."""
    if missing := settings.missing_for_run():
        raise CannotStart(cannot(missing))


def run(settings: Settings, *, single: bool = True) -> int:
    """Be the bot until SIGTERM, SIGINT or SIGHUP. Returns the exit code.

    :param single: refuse to run beside another bot on the same database (a test switches it off)
    :raises CannotStart: settings, database, port or Slack's tokens
    """
    complete(settings)
    slack, vcenters = slack_of(settings), vcenters_of(settings)
    clock, policy, run_id = clock_of(), policy_of(settings), secrets.token_hex(4)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, lambda *_: stop.set())
    with ExitStack() as stack:
        store = _open(settings, clock)
        stack.callback(store.close)
        _same_vcenters(store, vcenters)
        if single:
            _claim(store, clock, run_id)
            stack.callback(_resign, store, run_id)
        bot = _assemble(settings, slack, vcenters, _Made(store, clock, policy, run_id, single), stack)
        log.info("run %s: level %s, %s", run_id, policy.level, ", ".join(v.name for v in vcenters))
        if less := level_line(policy.level):
            log.warning("%s", less)
        return _until_stopped(bot, stop, stack)


@dataclass(frozen=True)
class _Made:
    """What is made first and handed to all."""

    store: SqlStore
    clock: FileClock
    policy: Policy
    run: str
    single: bool


def _open(settings: Settings, clock: FileClock) -> SqlStore:
    """The database, made if it is not there yet."""
    try:
        return open_store(settings.store.url, now=clock.now)
    except StoreError as error:
        raise CannotStart(str(error)) from error


def _same_vcenters(store: SqlStore, vcenters: list[VCenter]) -> None:
    """Raises CannotStart: one of them has another name in the books."""
    try:
        books = store.read()
    except StoreError as error:
        raise CannotStart(str(error)) from error
    refuse_renamed(books, [vcenter.name for vcenter in vcenters])


def _claim(store: SqlStore, clock: FileClock, run_id: str) -> None:
    try:
        mine = store.claim(run_id, clock.wall(), CLAIM_TTL)
    except StoreError as error:
        raise CannotStart(str(error)) from error
    if not mine:
        raise CannotStart(
            "another gpubot runs on this database: stop that one first, or give this one a [store] url of its own"
        )


def _resign(store: SqlStore, run_id: str) -> None:
    try:
        store.resign(run_id)
    except StoreTrouble as trouble:  # whoever comes next waits for the heartbeat to be old, or sees that we are gone
        log.error("the right to be the bot of this database could not be given back: %s", trouble)


def _assemble(settings: Settings, slack: SlackSettings, vcenters: list[VCenter], made: _Made, stack: ExitStack) -> Bot:
    """Make every part, plug them together, and start all but Slack."""
    store, clock, policy, meter = made.store, made.clock, made.policy, Meter()
    slack = replace(slack, count=lambda method, outcome, seconds: meter.called("slack", method, outcome, seconds))
    lab: Lab = VSphereLab(vcenters, clock, settings.kinds, profiles=settings.vgpu.profiles, acts=policy.level == "act")
    stack.callback(lab.close)
    if policy.level != "act":
        lab = ReadOnly(lab, policy.level)
    lab = CountedLab(lab, meter, clock.real)
    client = make_client(slack)
    people = SlackPeople(client, slack, store.persons, now=clock.now)
    stack.callback(people.close)
    voice = SlackVoice(client, slack.channel, people.name_of, unreached=people.doubt, plots=Plots())
    stack.callback(voice.close)
    wake = _Later()
    rounds = Rounds(
        store, lab, voice, people, clock, policy, made.run, wake,
        claim=(lambda: store.claim(made.run, clock.wall(), CLAIM_TTL)) if made.single else None,
        jump=clock.jump, workers=sum(v.moves for v in vcenters),
        noted=frozenset(v.name for v in vcenters if v.attribute),
    )  # fmt: skip
    stack.callback(rounds.close)
    verbs = commands.found()
    desk = Desk(store, people, clock, policy, kinds_of(settings), rounds.poke, verbs)
    app = SlackApp(slack, people, counted_desk(desk.answered, verbs, meter, clock.real), pictures=voice.pictures)
    stack.callback(app.close)
    watches = (Watch("clock", clock.generation), Watch("writes", store.changed, CHANGED_S))
    counted = counted_round(rounds.round, lambda: rounds.trouble, meter, clock.real)
    beats = Beats(counted, rounds.every, speed=lambda: clock.speed, watches=watches)
    wake.to = beats.wake
    link = Link(app.app, slack)
    names = tuple(v.name for v in vcenters)
    bot = Bot(store, clock, lab, rounds, beats, link, meter, voice, people, names, made.run)
    _serve(settings, bot, stack)
    _ask_exporters(prometheus_of(settings, policy), bot, stack)
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
    routers = [push.router(bot.store, bot.clock.now, bot.rounds.poke, bot.meter.read)]
    app = build(routers, bot.health, bot.ready, bot.numbers)
    web = settings.web
    cert = Path(web.cert_file) if web.cert_file else None
    key = Path(web.key_file) if web.key_file else None
    try:
        server = Server(app, web.host, web.port, cert, key)
        server.start()
    except WebError as error:
        raise CannotStart(str(error)) from error
    stack.callback(server.stop)


def _ask_exporters(how: PrometheusSettings | None, bot: Bot, stack: ExitStack) -> None:
    """The second source of readings, if the settings name one."""
    if how is None:
        return

    def count(what: str, outcome: str, seconds: float) -> None:
        bot.meter.called("prometheus", what, outcome, seconds)

    try:
        source = PrometheusSource(how, bot.store, bot.clock.now, bot.rounds.poke, count)
    except OSError as error:  # of the authority's file: no certificate in it (ssl.SSLError), or not readable
        raise CannotStart(f"[prometheus] ca_file cannot be used: {error}") from error
    source.start()
    stack.callback(source.stop)


def _start(bot: Bot, stack: ExitStack) -> None:
    """Rounds and voice."""
    quiet = threading.Event()
    for name, run_until in (("voice", bot.rounds.run_voice), ("weekly", bot.rounds.run_weekly)):
        thread = threading.Thread(target=run_until, args=(quiet,), name=name, daemon=True)
        thread.start()
        stack.callback(thread.join, 5)
    stack.callback(quiet.set)
    bot.beats.start()
    stack.callback(bot.beats.stop)


def _until_stopped(bot: Bot, stop: threading.Event, stack: ExitStack) -> int:
    """Connect to Slack, then watch over the connection and the database. Without Slack the rounds go on; it is tried again with growing pauses."""
    _connect(bot, stop)
    stack.callback(bot.link.close)
    bot.people.check_admins()  # beside: whom the settings name and Slack does not know is in the log
    alive = time.monotonic()
    while not stop.wait(1.0):
        if bot.store.lost() is not None:
            return _without_database(bot, stop)
        if bot.link.healthy():
            alive = time.monotonic()
        elif time.monotonic() - alive > LINK_DEAD_S:
            log.error("no connection to Slack for %.0f s: this process ends, so that it is started anew", LINK_DEAD_S)
            return NO_SLACK
    log.info("run %s ends", bot.run)
    return 0


def _connect(bot: Bot, stop: threading.Event) -> None:
    """Returns when Slack is connected, or when there is no use in it any more."""
    pause = 1.0
    while not stop.is_set() and bot.store.lost() is None:
        try:
            bot.link.open()
            return
        except LinkError as error:
            log.error("%s (tried again in %.0f s; all else goes on)", error, pause)
        end = time.monotonic() + pause
        while time.monotonic() < end and not stop.wait(min(1.0, pause)) and bot.store.lost() is None:
            pass
        pause = min(60.0, pause * 2)


def _without_database(bot: Bot, stop: threading.Event) -> int:
    """The database file is gone: keep a copy of what was in it, say so, answer for a moment what happened, and end."""
    lost = bot.store.lost()
    assert lost is not None
    copy = bot.store.rescue()
    if copy is not None:
        what = f"all that was in it is in {copy}: `gpubot db restore {copy}` when this process has ended, and start it again"
    else:
        what = "bring it back, or a copy with `gpubot db restore`, and start it again"
    log.error("%s. Nothing more is done or kept, and this process ends in %.0f s; %s", lost, LOST_S, what)
    reply = words.store_lost(lost, copy.name if copy is not None else "")
    try:
        for admin in sorted(bot.people.admins()):
            bot.voice.post(admin, reply)
    except (VoiceError, StoreTrouble) as error:
        log.error("the admins could not be told: %s", error)
    stop.wait(LOST_S)
    return NO_DATABASE
