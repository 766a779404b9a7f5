"""A vCenter, a Slack and bots as processes, for the tests of this folder; what a test may do to them and see of them.

The stand-ins are started once and used by many cases: :meth:`Yard.keep` remembers the database and the time of a scene that was set,
:meth:`Yard.again` brings both back, with the cards in the machines where they were. Each case then starts bots of its own.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from click.testing import Result
from typer.testing import CliRunner

from bot.cli import app
from bot.domain.model import Books
from bot.edges.store import open_store
from bot.local.demo.clockwork import Clockwork
from bot.local.demo.processes import ZONE, Child, DemoError, Rig, http_get
from bot.local.demo.setting_up import set_up
from bot.local.demo.stage import Stage

START = datetime(2026, 11, 30, 14, 0, tzinfo=ZoneInfo(ZONE)).astimezone(UTC)
"""A Monday afternoon: people are at work, and nothing ends soon."""

FAST = 90.0
"""Virtual seconds a real second while a move goes on: two rounds a real second are one in forty-five seconds."""

SLOW = 1.0
"""Virtual seconds a real second while a bot is killed and started: next to nothing passes."""

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Kept:
    """A scene: what :meth:`Yard.again` brings back."""

    database: Path  # a copy
    at: datetime  # virtual
    cards: dict[str, list[str]]  # VM -> PCI addresses in its settings


class Gate:
    """A port in front of a server's: open, it passes on what comes; shut, nobody answers and what was open is cut."""

    def __init__(self, host: str, port: int) -> None:
        """In front of ``host``:``port``; shut."""
        self.to = (host, port)
        self._listener: socket.socket | None = None
        self._pairs: list[socket.socket] = []
        self._lock = threading.Lock()
        with socket.socket() as probe:
            probe.bind((host, 0))
            self.at: tuple[str, int] = probe.getsockname()

    def open(self) -> None:
        """From now on it answers."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(self.at)
        listener.listen(50)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def shut(self) -> None:
        """From now on nobody answers."""
        with self._lock:
            ends = [*self._pairs, *([self._listener] if self._listener else [])]
            self._pairs, self._listener = [], None
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return  # shut
            try:
                far = socket.create_connection(self.to, 10)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._pairs += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Everything from one to the other, then the end."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@dataclass
class Yard:
    """The stand-ins, the clock, and the bots of one test."""

    rig: Rig
    clock: Clockwork
    stage: Stage
    vcenter: Gate  # bots reach the vCenter through it
    slack: Gate  # bots reach Slack's Web API through it (their socket goes straight)
    kept: list[Kept] = field(default_factory=list)

    # ---- bots

    def start(self, name: str = "bot", *more: str) -> Child:
        """A bot on the rig's settings, up and with a good round behind it; ``more``: further options."""
        bot = self.spawn(name, *more)
        self.rig.wait_healthy()
        self.settle()
        return bot

    def spawn(self, name: str = "bot", *more: str, settings: Path | None = None) -> Child:
        """A bot process, not waited for."""
        at = str(settings or self.rig.settings)
        self.rig.spawn(name, ["-m", "bot.cli", "run", "--settings", at, *more], ready_line=False)
        return self.rig.child(name)

    def kill(self, bot: Child) -> None:
        """As the machine's power cut: no goodbye."""
        bot.process.send_signal(signal.SIGKILL)
        bot.process.wait(10)
        self.stop(bot)  # closes what led to it

    def stop(self, bot: Child) -> None:
        """Ended in order."""
        bot.stop()
        self.rig.children.remove(bot)

    # ---- time

    def pace(self, speed: float) -> None:
        """From now on so many virtual seconds a real second."""
        now = self.clock.now()
        self.clock.speed = speed
        self.clock.set(now)

    def settle(self) -> None:
        """Wait until a round that began now is over, and all is told; setting the clock wakes one."""
        self.pace(self.clock.speed)
        self.clock.settle()

    def run(self, until: Callable[[], Any], within: float = 40.0, speed: float = FAST) -> Any:
        """Let time run until something holds, at most so many real seconds; returns what it was, or the last answer."""
        self.pace(speed)
        try:
            return wait(until, within)
        finally:
            self.pace(SLOW)

    # ---- what is there

    def books(self) -> Books:
        """The books as they stand in the database."""
        store = open_store(f"sqlite:///{self.rig.folder / 'gpubot.db'}", now=self.clock.now)
        with contextlib.closing(store):
            return store.read()

    def journal(self, since: int = 0) -> list[dict[str, Any]]:
        """What happened in the vCenter after a line."""
        return list(self.stage.vcenter("GET", f"journal?since={since}")["entries"])

    def line(self) -> int:
        """The number of the journal's last line."""
        entries = self.journal()
        return int(entries[-1]["seq"]) if entries else 0

    def log(self, name: str = "bot") -> str:
        """A process's log."""
        return (self.rig.folder / f"{name}.log").read_text(errors="replace")

    def said(self, who: str, channel: str, since: float) -> list[str]:
        """What somebody sees of the bot's messages that were posted or edited after a real moment (unix), plain, oldest first."""
        found = self.stage.slack.messages(who, channel)
        return [self.stage.plain(m["text"]) for m in found if float(m["ts"]) >= since]

    # ---- the terminal

    def say(self, who: str, text: str) -> Result:
        """``gpubot say --as who text``; in this process, because the imports take longer than the answer."""
        return self.inside("say", "--as", who, text, "--settings", str(self.rig.settings))

    def inside(self, *words: str) -> Result:
        """``gpubot WORDS`` in this process, to its end; not for bots."""
        return CliRunner().invoke(app, words, env=self.rig.environment(), catch_exceptions=False)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """``gpubot WORDS`` in a process of its own, to its end."""
        line = [sys.executable, "-m", "bot.cli", *words]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, env=self.rig.environment(), check=False)

    # ---- scenes

    def keep(self) -> Kept:
        """Remember the scene; no bot may run."""
        source, copy = self.rig.folder / "gpubot.db", self.rig.folder / f"kept{len(self.kept)}.db"
        assert not source.with_name("gpubot.db-wal").exists(), "the bot ended without folding its log into the database"
        shutil.copy(source, copy)
        machines = self.stage.vcenter("GET", "state")["vms"]
        kept = Kept(copy, self.clock.now(), {v["name"]: v["cards"] for v in machines})
        self.kept.append(kept)
        return kept

    def again(self, kept: Kept) -> None:
        """Bring a scene back: time, machines and database; no bot may run, and none does afterwards."""
        for bot in [c for c in self.rig.children if c.name.startswith("bot")]:
            self.kill(bot)
        for gate in (self.vcenter, self.slack):
            gate.shut()
            gate.open()
        self.stage.vcenter("POST", "hold", {"n": 0})
        self.stage.slack.post("faults/clear")
        self.clock.speed = SLOW
        self.clock.set(kept.at)
        self._machines(kept)
        for old in self.rig.folder.glob("gpubot.db*"):
            old.unlink()
        shutil.copy(kept.database, self.rig.folder / "gpubot.db")

    def _machines(self, kept: Kept) -> None:
        """Every machine off, its cards as they were, on again; and booted."""
        vms = {v["name"]: v for v in self.stage.vcenter("GET", "state")["vms"] if not v["template"]}
        wait(lambda: not any(v["task"] for v in self.stage.vcenter("GET", "state")["vms"]), 10)
        for name, vm in vms.items():
            if vm["power"] != "poweredOff":
                self.stage.vcenter("POST", f"vm/{name}/power", {"do": "off"})
        for name, vm in vms.items():
            for card in set(vm["cards"]) - set(kept.cards[name]):
                self.stage.vcenter("POST", f"vm/{name}/detach", {"card": card})
        for name, vm in vms.items():
            for card in set(kept.cards[name]) - set(vm["cards"]):
                self.stage.vcenter("POST", f"vm/{name}/attach", {"card": card})
            self.stage.vcenter("POST", f"vm/{name}/power", {"do": "on"})
        self.clock.set(kept.at + MINUTE)
        wait(lambda: all(self.stage.vm(name)["tools"] == "guestToolsRunning" for name in vms), 10)


@dataclass(frozen=True)
class Scene:
    """The stand-ins of a module, and the moment to which each of its tests goes back; no bot."""

    yard: Yard
    kept: Kept


def wait(what: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Look until something holds; the last answer, also if it never did."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.03)
    return found


@contextlib.contextmanager
def yard(folder: Path) -> Iterator[Yard]:
    """A vCenter and a Slack, settings written, no bot yet."""
    rig = Rig(folder)
    gates: tuple[Gate, ...] = ()
    try:
        clock = Clockwork(rig.clock, START, SLOW)
        rig.start_vcenter()
        rig.start_slack()
        gates = _gates(rig)
        rig.write_settings()
        clock.web = rig.web
        yield Yard(rig, clock, Stage(rig, clock, lambda _: None), gates[0], gates[1])
    finally:
        rig.stop()
        for gate in gates:
            gate.shut()


def _gates(rig: Rig) -> tuple[Gate, Gate]:
    """Gates in front of the vCenter and of Slack's Web API, open, and the rig told to use them."""
    url = urlsplit(rig.slack["api_url"])
    vcenter, slack = Gate(rig.vcenter["host"], int(rig.vcenter["port"])), Gate(str(url.hostname), int(url.port or 0))
    rig.vcenter = {**rig.vcenter, "port": vcenter.at[1]}
    rig.slack = {**rig.slack, "api_url": urlunsplit(url._replace(netloc=f"{slack.at[0]}:{slack.at[1]}"))}
    vcenter.open()
    slack.open()
    return vcenter, slack


def health(web: str) -> tuple[int, str]:
    """Status and body of ``/healthz``; (0, why) without an answer."""
    try:
        return http_get(f"{web}/healthz")
    except OSError as error:
        return 0, str(error)


__all__ = ["DemoError", "Kept", "Yard", "health", "set_up", "wait", "yard"]
