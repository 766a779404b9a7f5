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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from bot import commands
from bot.config import Settings, SettingsError, examine
from bot.domain.model import Person
from bot.domain.policy import Policy
from bot.domain.visible import visible
from bot.edges.beats import Beats, Watch
from bot.edges.clock import FileClock
from bot.edges.here import port_taken, synchronized
from bot.edges.meter import Meter
from bot.edges.slack import Link, LinkError, SlackApp, SlackPeople, SlackSettings, SlackVoice, make_client
from bot.edges.slack.inspect import SCOPES, command_of
from bot.edges.slack.inspect import inspect as look_into_slack
from bot.edges.store import SqlStore, StoreError, open_store
from bot.edges.store.inspect import inspect as look_into_store
from bot.edges.store.inspect import passwords_in
from bot.edges.telemetry import push
from bot.edges.telemetry.prometheus import PrometheusSettings, PrometheusSource
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.inspect import Questions, discover
from bot.edges.vsphere.inspect import inspect as look_into_vcenter
from bot.edges.vsphere.lab import ReadOnly, VSphereLab
from bot.edges.vsphere.record import record
from bot.edges.web import Server, WebError, build
from bot.service import words
from bot.service.counting import CountedLab, counted_desk, counted_round, facts_of
from bot.service.desk import Desk
from bot.service.known import KnownPeople
from bot.service.ports import Ask, Lab, LabError, Reply, StoreTrouble, VoiceError, When
from bot.service.rounds import Rounds
from bot.service.setup import doctor, first, judge_vcenter, role
from bot.service.setup.doctor import Eyes
from bot.service.setup.drill import Wanted as Drilled
from bot.service.setup.drill import Ways, drill
from bot.service.setup.facts import DatabaseFacts, VCenterFacts, Wanted
from bot.service.setup.findings import Finding, Report
from bot.service.words.plain import not_known, zone_line

log = logging.getLogger("gpubot")

CLAIM_TTL = timedelta(seconds=60)
"""Real time without a heartbeat after which another process may be the bot of a database."""

CHANGED_S = 0.5
"""Real seconds between two looks at whether another process wrote into the database."""

LINK_DEAD_S = 90.0
"""Real seconds without a Slack connection after which the process ends, so that its supervisor starts it anew."""


CONNECT_S = 10.0
"""Real seconds in which a vCenter has to take a login, where somebody sits and waits for what is found."""

GOOD_OLD_S = 60.0
"""Real seconds since the last good round after which the bot is not ready any more."""

LOST_S = 10.0
"""Real seconds for which a bot whose database file is gone still answers what happened, before it ends."""

NO_SLACK, NO_DATABASE = 3, 4
"""Exit codes of a bot that ran: Slack could not be reached for LINK_DEAD_S; the database file was lost. (2: it could not start.)"""


class CannotStart(Exception):
    """The bot cannot start; the text says why and what to do."""


# ---- settings into plain values -----------------------------------------------------------------------------------


def policy_of(settings: Settings) -> Policy:
    """The rules' numbers, with the kinds."""
    return replace(settings.policy(), kinds=dict(settings.kinds))


def complete(settings: Settings) -> None:
    """Raises CannotStart with all that ``gpubot run`` needs and is not there."""
    if missing := settings.missing_for_run():
        raise CannotStart(cannot(missing))


def cannot(mistakes: Iterable[str]) -> str:
    """All that is in the way of a start, a line each."""
    return "gpubot cannot start:\n" + "\n".join(f"- {line}" for line in mistakes)


def amiss() -> list[str]:
    """What is wrong with the environment besides the settings, told with them."""
    try:
        clock_of()
    except CannotStart as error:
        return [str(error)]
    return []


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
        disturb=settings.policy().idle.nudge,
    )


def vcenters_of(settings: Settings) -> list[VCenter]:
    """The vCenters."""
    found = []
    for name, section in settings.vcenter.items():
        password = section.secret(name)
        host = f"[{section.host}]" if ":" in section.host else section.host
        ca_file = Path(section.ca_file) if section.ca_file else None
        word = password.get_secret_value() if password else ""
        found.append(
            VCenter(
                name,
                f"{host}:{section.port}",
                section.user,
                word,
                ca_file,
                dynamic=frozenset(section.dynamic),
                moves=section.moves,
                attribute=section.attribute.strip(),
            )
        )
    return found


def prometheus_of(settings: Settings, policy: Policy) -> PrometheusSettings | None:
    """Whose exporters are asked; None: nobody's."""
    p = settings.prometheus
    if not p.asked:
        return None
    token, password = p.secret("token"), p.secret("password")
    return PrometheusSettings(
        url=p.url or "",
        targets=p.targets,
        interval=p.interval,
        scrape=p.scrape,
        label=p.label or "",
        machines=p.machines,
        token=token.get_secret_value() if token else "",
        user=p.user or "",
        password=password.get_secret_value() if password else "",
        ca_file=p.ca_file,
        stale=policy.reading_stale,
    )


def clock_of() -> FileClock:
    """The clock, by ``GPUBOT_CLOCK``. Raises CannotStart: books that were written in one time must not be read in another."""
    clock = FileClock(os.environ.get("GPUBOT_CLOCK") or None)
    if why := clock.unusable():
        raise CannotStart(
            f"GPUBOT_CLOCK names {clock.path}, and {why}: write it as docs/architecture.md shows, or leave GPUBOT_CLOCK out"
        )
    return clock


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
        found = people.find(visible(person))
        if found is None:
            raise CannotStart(not_known(person, [p.name for p in store.persons()]))
        desk = Desk(store, people, clock, policy_of(settings), kinds_of(settings), lambda: None, commands.found())
        return desk.hear(Ask(found.id, text, "terminal"))
    finally:
        store.close()


def halt(settings: Settings, user: str, reason: str) -> Reply:
    """The emergency stop from the terminal, with the bot running or not. Raises CannotStart, also if it was not kept."""
    clock = clock_of()
    store = _open(settings, clock)
    try:
        people = KnownPeople(store, settings.site.admins, settings.site.zone)
        desk = Desk(store, people, clock, policy_of(settings), kinds_of(settings), lambda: None, commands.found())
        return desk.halt(user, reason)
    except StoreTrouble as trouble:
        raise CannotStart(f"It is not paused: {trouble}") from trouble
    finally:
        store.close()


def plain(settings: Settings, person: str, reply: Reply) -> str:
    """A reply as text for the terminal, times in the person's zone; ``person``: "" nobody is named: in the first admin's, which is told."""
    clock = clock_of()
    store = _open(settings, clock)
    try:
        people = KnownPeople(store, settings.site.admins, settings.site.zone)
        found = people.find(visible(person)) if person else _first_admin(people)
        zone = found.zone if found else settings.site.zone
        text = words.terminal(reply, zone, lambda id: people.person(id).name, clock.now(), settings.slack.command)
        timed = any(isinstance(span, When) for line in reply.lines for span in line)
        return f"{text}\n{zone_line(zone)}" if timed and not person else text
    finally:
        store.close()


def _first_admin(people: KnownPeople) -> Person | None:
    """In whose zone, and for a drill in whose name, the terminal speaks where nobody is named; None: none is known yet."""
    return next((people.person(id) for id in people.admins()), None)


def drill_of(
    settings: Settings,
    machine: str,
    person: str,
    kind: str,
    *,
    yes: bool,
    out: Callable[[str], None],
    ask: Callable[[str], bool],
) -> int:
    """``gpubot drill``: see ``service.setup.drill``. ``person``: "" the first admin that is known. Returns the exit code. Raises CannotStart."""
    clock = clock_of()
    store = _open(settings, clock)
    try:
        people = KnownPeople(store, settings.site.admins, settings.site.zone)
        found = people.find(visible(person)) if person else _first_admin(people)
        if found is None and not person:
            raise CannotStart(
                "no admin is known yet: one whom [site] admins names says `status` to the bot in Slack first"
            )
        if found is None:
            raise CannotStart(not_known(person, [p.name for p in store.persons()]))
        if found.id not in set(people.admins()):
            raise CannotStart(f"{found.name} is no admin of gpubot: a drill is an admin's ([site] admins)")
        desk = Desk(store, people, clock, policy_of(settings), kinds_of(settings), lambda: None, commands.found())
        ways = Ways(
            books=store.read,
            seen=store.last_look,
            readings=store.readings,
            say=lambda line: desk.hear(Ask(found.id, line, "terminal")),
            plain=lambda reply: words.terminal(
                reply, found.zone, lambda id: people.person(id).name, clock.now(), settings.slack.command
            ),
            running=lambda: store.claimed(clock.wall(), CLAIM_TTL),
            now=clock.now,
            sleep=time.sleep,
            out=out,
            ask=ask,
        )
        with _as_ctrl_c(signal.SIGTERM):
            return drill(ways, Drilled(machine, found, kind, found.zone), policy_of(settings), yes)
    finally:
        store.close()


@contextmanager
def _as_ctrl_c(number: signal.Signals) -> Iterator[None]:
    """A signal that would end the process without a word is told as Ctrl-C is."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(number, interrupt)
    try:
        yield
    finally:
        signal.signal(number, before)


def _open(settings: Settings, clock: FileClock) -> SqlStore:
    try:
        return open_store(settings.store.url, now=clock.now)
    except StoreError as error:
        raise CannotStart(str(error)) from error


# ---- looking into everything --------------------------------------------------------------------------------------


def look_into(path: Path) -> Report:
    """What ``gpubot doctor`` finds. ``path``: of the settings. Raises nothing: whatever is wrong is in the report."""
    settings, mistakes, left_out = examine(path)
    try:
        clock = clock_of()
    except CannotStart as error:
        mistakes, clock = [*mistakes, str(error)], FileClock(None)
    eyes = Eyes(now=clock.now, wall=clock.wall)
    if settings is None:
        return doctor.examine(eyes, None, mistakes, clock.real)
    found = _known_secrets(settings)
    vcenters = {
        name: _site_eye(settings, name, clock, found) for name in settings.vcenter if f"vcenter.{name}" in found
    }

    def base() -> DatabaseFacts:
        facts = look_into_store(settings.store.url, clock.wall())
        return replace(facts, sources=frozenset(settings.prometheus.targets))

    # In place of what was left out stands what is usual, and nobody meant that: nothing is said of it.
    usual = {where[:n] for where in left_out for n in (1, 2)}
    slack = _may_ask_slack(found) and ("slack", "api_url") not in usual
    web = settings.web if settings.web.port and ("web",) not in usual else None
    eyes = replace(
        eyes,
        database=None if ("store",) in usual else base,
        slack=(lambda: look_into_slack(replace(slack_of(settings), disturb=False))) if slack else None,
        vcenters=vcenters,
        port=partial(port_taken, web.host, web.port) if web is not None else None,
        bind=settings.web.bind,
        secrets=frozenset(found.values()) | passwords_in(settings.store.url),
    )
    wanted = wanted_of(settings, path)
    if not any("vcenter" in line for line in mistakes):
        wanted = replace(wanted, vcenters=frozenset(settings.vcenter))
    return doctor.examine(eyes, wanted, mistakes, clock.real)


def wanted_of(settings: Settings, path: Path) -> Wanted:
    """What the settings want to be true, and a manifest that lies beside them."""
    policy = settings.policy()
    beside = path.resolve().parent / "manifest.yml"
    labels = {name: tuple(getattr(one, "dynamic", ())) for name, one in settings.vcenter.items()}
    return Wanted(
        level=policy.level,
        channel=settings.slack.channel or "",
        command=settings.slack.command,
        scopes=SCOPES,
        kinds=dict(settings.kinds),
        dynamic={name: found for name, found in labels.items() if found},
        vgpu=policy.vgpu_profiles,
        stale=policy.reading_stale,
        manifest_command=command_of(_text_of(beside)),
        synchronized=synchronized(),
    )


def _text_of(file: Path) -> str:
    """What stands in it; "" it is not there, or cannot be read: whoever uploads it to Slack will see that."""
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def record_site(path: Path, folder: Path) -> list[str]:
    """Write what ``gpubot doctor --record`` sends into an empty folder; a line a vCenter about what came of it.

    :raises CannotStart: the folder, or there is no vCenter
    """
    settings, _, _ = examine(path)
    if settings is None or not settings.vcenter:
        raise CannotStart("there is no vCenter in the settings to be recorded")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise CannotStart(f"the folder {folder} is not empty: name a new one")
        return [
            _record_one(settings, name, folder if len(settings.vcenter) == 1 else folder / name)
            for name in settings.vcenter
        ]
    except OSError as error:
        raise CannotStart(f"{folder} cannot be written: {error.strerror or error}") from error


def _record_one(settings: Settings, name: str, folder: Path) -> str:
    try:
        (vcenter,) = vcenters_of(settings.model_copy(update={"vcenter": {name: settings.vcenter[name]}}))
        made = record(replace(vcenter, connect_s=CONNECT_S), clock_of(), (*role.ACT, *role.TOO_MUCH))
    except (LabError, SettingsError) as error:
        return f"vCenter {name} was not recorded: {error}"
    folder.mkdir(exist_ok=True)
    for file, text in made.files.items():
        (folder / file).write_text(text, "utf-8")
    return (
        f"Recorded vCenter {name} into {folder}: {_many(made.machines, 'machine')} and {_many(made.hosts, 'host')}, without names, addresses and notes. "
        "Look through it before you send it; docs/letting-in.md says what is in it."
    )


def _many(n: int, word: str) -> str:
    return f"{n} {word}{'s' if n != 1 else ''}"


def first_look(entry: first.Entry, password: str, ca_file: Path | None) -> tuple[str, str, list[Finding]]:
    """What ``gpubot init`` writes: the settings, the lines about machines, and what is wrong with the vCenter; both texts are empty if it
    cannot be looked into."""
    host = f"[{entry.host}]" if ":" in entry.host else entry.host
    vcenter = VCenter(
        entry.name, f"{host}:{entry.port}", entry.user, password, ca_file, connect_s=CONNECT_S, answer_s=2 * CONNECT_S
    )
    clock = FileClock(None)
    facts, people = discover(vcenter, clock)
    kinds = {card.ids: card.name for host in (facts.seen.hosts if facts.seen else ()) for card in host.cards}
    found = judge_vcenter.vcenter(facts, Wanted("watch", "", "/gpu", SCOPES, kinds), clock.wall())
    found = [replace(f, what=f.what.replace(password, "…")) for f in found]
    if facts.phase or facts.seen is None:
        return "", "", found
    return first.toml(entry, facts), first.machines(entry, facts.seen, people, facts.blockers, "/gpu"), found


def _known_secrets(settings: Settings) -> dict[str, str]:
    """Where each secret belongs -> itself. One that is missing or cannot be read is told with the settings, and left out."""
    found: dict[str, str] = {}
    asks: dict[str, Callable[[], Any]] = {
        "slack.bot": lambda: settings.slack.secret("bot_token"),
        "slack.app": lambda: settings.slack.secret("app_token"),
        "slack.signing": lambda: settings.slack.secret("signing_secret"),
        "prometheus.token": lambda: settings.prometheus.secret("token"),
        "prometheus.password": lambda: settings.prometheus.secret("password"),
    }
    asks |= {f"vcenter.{name}": partial(one.secret, name) for name, one in settings.vcenter.items()}
    for where, ask in asks.items():
        try:
            secret = ask()
        except SettingsError:
            continue
        if secret is not None:
            found[where] = secret.get_secret_value()
    return found


def _may_ask_slack(found: Mapping[str, str]) -> bool:
    """Whether there are two tokens that look like some."""
    return found.get("slack.bot", "").startswith("xoxb-") and found.get("slack.app", "").startswith("xapp-")


def _site_eye(
    settings: Settings, name: str, clock: FileClock, secrets: Mapping[str, str]
) -> Callable[[DatabaseFacts], VCenterFacts]:
    """How one vCenter is looked at."""
    one = settings.model_copy(update={"vcenter": {name: settings.vcenter[name]}})

    def look(base: DatabaseFacts) -> VCenterFacts:
        (vcenter,) = vcenters_of(one)
        machines = tuple(m for m in base.machines if m.vcenter == name)
        profiles = tuple(settings.policy().vgpu_profiles)
        wanted = (*role.ACT, *(role.NOTE if vcenter.attribute else ()))
        asked = Questions(machines, wanted, role.TOO_MUCH, tuple(settings.kinds), profiles)
        return look_into_vcenter(replace(vcenter, connect_s=CONNECT_S, answer_s=2 * CONNECT_S), clock, asked)

    return look


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
    meter: Meter
    voice: SlackVoice
    people: SlackPeople
    vcenters: tuple[str, ...]
    run: str

    def troubles(self) -> dict[str, str]:
        """vCenter -> why its last look failed."""
        return dict(getattr(self.lab, "troubles", {}))

    def health(self) -> tuple[bool, dict[str, Any]]:
        """For ``/healthz``: False if this process should be started anew. What else is wrong is named beside."""
        lost, connected = self.store.lost(), self.link.healthy()
        return connected and lost is None, {
            "slack": "connected" if connected else "not connected",
            "vcenter": self.troubles() or "answers",
            "database": str(lost) if lost is not None else "in place",
            "rounds": self.rounds.trouble or "go on",
        }

    def ready(self, after: datetime | None) -> tuple[bool, dict[str, Any]]:
        """For ``/readyz``: whether it can do its work now; with ``after``, whether it has caught up with that instant."""
        waits_for = self.rounds.unready(after) if after is not None else "; ".join(self._hindrances())
        return not waits_for, {"waits_for": waits_for} if waits_for else {}

    def _hindrances(self) -> list[str]:
        """Why it cannot do all its work now."""
        lost, ago = self.store.lost(), self.rounds.good_ago()
        found = [str(lost)] if lost is not None else []
        if self.rounds.trouble and lost is None:
            found.append(self.rounds.trouble)
        if not self.link.healthy():
            found.append("Slack is not connected")
        found += [why if name in why else f"vCenter {name}: {why}" for name, why in sorted(self.troubles().items())]
        if not self.rounds.trouble and (ago is None or ago > GOOD_OLD_S):
            found.append("no good round yet" if ago is None else f"no good round for {ago:.0f} s")
        return found

    def numbers(self) -> bytes:
        """For ``/metrics``."""
        troubles = self.troubles()
        self.meter.stands(
            facts_of(
                self.store,
                self.clock.now(),
                slack=self.link.healthy(),
                vcenters={name: name not in troubles for name in self.vcenters},
                good_ago=self.rounds.good_ago(),
                works=self.store.lost() is None and not self.rounds.trouble,
            )
        )
        return self.meter.text()


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
            stack.callback(_resign, store, run_id)
        bot = _assemble(settings, slack, vcenters, _Made(store, clock, policy, run_id, single), stack)
        log.info("run %s: level %s, %s", run_id, policy.level, ", ".join(v.name for v in vcenters))
        return _until_stopped(bot, stop, stack)


@dataclass(frozen=True)
class _Made:
    """What is made first and handed to all."""

    store: SqlStore
    clock: FileClock
    policy: Policy
    run: str
    single: bool


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
    voice = SlackVoice(client, slack.channel, people.name_of, unreached=people.doubt)
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
    app = SlackApp(slack, people, counted_desk(desk.answered, verbs, meter, clock.real))
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
    voice = threading.Thread(target=bot.rounds.run_voice, args=(quiet,), name="voice", daemon=True)
    voice.start()
    stack.callback(voice.join, 5)
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
