"""The three processes of the demo: started in order, told apart by their log files, stopped by this program alone."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

START_S = 30.0
"""Real seconds a process may take to say that it is ready."""

ZONE = "Europe/Berlin"

VGPU = """[vgpu]
profiles = ["grid_t4-8q"]

"""
"""Halves of a T4 alone are lent: `8gb` then means one thing."""

LEASH = "bot.local.demo.leash"

NEEDED = ("aiohttp", "trustme", "pyVmomi", "slack_bolt", "websocket", "sqlmodel", "alembic", "apscheduler", "fastapi",
          "uvicorn", "pydantic_settings", "prometheus_client")  # fmt: skip
"""What bot and stand-ins import: asked for before anything is started, so that a missing one is said in one line."""


class DemoError(Exception):
    """The demo cannot go on; the text says why and where to look."""


@dataclass
class Child:
    """A process of ours with its log."""

    name: str  # vcenter, slack, bot
    process: subprocess.Popen[str]
    log: Path  # standard error (and output, after the first line)

    def ask(self) -> None:
        """Ask it to end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Ask it to end; kill it after five seconds."""
        self.ask()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def first_line(self, patience: float) -> str | None:
        """Its first line of output, whole; "" if its output ends before; None if it takes more real seconds than that."""
        assert self.process.stdout is not None
        pipe, end, said = self.process.stdout.fileno(), time.monotonic() + patience, b""
        # not readline: it would wait for the rest of half a line without end
        while b"\n" not in said:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            more = os.read(pipe, 1 << 16)
            if not more:
                return ""
            said += more
        return said.decode(errors="replace").splitlines()[0]

    def tail(self, lines: int = 15) -> str:
        """The end of its log, for an error message."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


@dataclass
class Rig:
    """Everything that runs, and how to speak to it."""

    folder: Path  # settings, database, logs
    vcenter: dict[str, Any] = field(default_factory=dict)  # its ready line
    slack: dict[str, str] = field(default_factory=dict)  # its ready line
    web: str = ""  # http://127.0.0.1:PORT of the bot
    children: list[Child] = field(default_factory=list)

    @property
    def clock(self) -> Path:
        """The clock file that all follow."""
        return self.folder / "clock.json"

    @property
    def settings(self) -> Path:
        """The bot's settings."""
        return self.folder / "gpubot.toml"

    def environment(self) -> dict[str, str]:
        """What the children get: the clock, the tokens, and no proxies."""
        env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        env["GPUBOT_CLOCK"] = str(self.clock)
        if self.slack:
            env["GPUBOT_SLACK_BOT_TOKEN"] = self.slack["bot_token"]
            env["GPUBOT_SLACK_APP_TOKEN"] = self.slack["app_token"]
        return env

    def spawn(self, name: str, arguments: list[str], *, ready_line: bool = True) -> str:
        """Start a module (``-m``, its name, its arguments) on this program's own Python; returns its first line of output.

        It ends with this process, also if that is killed.
        """
        log = self.folder / f"{name}.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", LEASH, *arguments[1:]],
                stdin=subprocess.PIPE,  # the leash: at its end when we are gone
                stdout=subprocess.PIPE if ready_line else errors,
                stderr=errors,
                text=True,
                env=self.environment(),
                start_new_session=True,  # Ctrl-C reaches us first; we stop them
            )
        child = Child(name, process, log)
        self.children.append(child)
        if not ready_line:
            return ""
        line = child.first_line(START_S)
        if line is None:
            raise DemoError(
                f"{name} has not said that it is ready after {START_S:g} s; the end of its log ({log}):\n{child.tail()}"
            )
        if not line:
            raise DemoError(f"{name} did not start; the end of its log ({log}):\n{child.tail()}")
        return line

    def child(self, name: str) -> Child:
        """The newest process of that name."""
        return next(c for c in reversed(self.children) if c.name == name)

    def start_vcenter(self, shared: bool = False) -> None:
        """The stand-in vCenter. ``shared``: with a second host whose card is shared as vGPUs."""
        more = ["--shared-host"] if shared else []
        line = self.spawn("vcenter", ["-m", "bot.local.vcenter", "--ca-out", str(self.folder / "ca.pem"), *more])
        self.vcenter = json.loads(line)
        password = self.folder / "vcenter.password"
        password.write_text(str(self.vcenter["password"]))
        password.chmod(0o600)

    def start_slack(self, port: int = 0) -> None:
        """The stand-in Slack, with the panel of the vCenter."""
        arguments = ["--port", str(port), "--vcenter-drive", str(self.vcenter["drive"]), "--random-tokens"]
        line = self.spawn("slack", ["-m", "bot.local.slack", *arguments])
        self.slack = dict(part.partition("=")[::2] for part in shlex.split(line) if "=" in part)

    def write_settings(self, nudge: bool = False, shared: bool = False, policy: str = "") -> None:
        """The bot's settings, as an operator would write them.

        :param nudge: whether it asks about quiet cards
        :param shared: whether there are vGPUs, which then are lent as halves
        :param policy: lines of ``[policy]``; "" the defaults
        """
        port = free_port()
        self.web = f"http://127.0.0.1:{port}"
        v = self.vcenter
        self.settings.write_text(
            f"""# Written by the demo; every line may be changed.
[site]
zone = "{ZONE}"
admins = ["dana"]
level = "act"

[slack]
command = "/gpu"
channel = "{self.slack["channel"]}"
api_url = "{self.slack["api_url"]}"

[vcenter.lab]
host = "{v["host"]}"
port = {v["port"]}
user = "{v["user"]}"
password_file = "{self.folder / "vcenter.password"}"
ca_file = "{self.folder / "ca.pem"}"

[kinds]
"10de:1eb8" = "T4"

{VGPU if shared else ""}{f"[policy]{chr(10)}{policy}{chr(10)}" if policy else ""}[idle]
nudge = {"true" if nudge else "false"}

[store]
url = "sqlite:///{self.folder / "gpubot.db"}"

[web]
bind = "127.0.0.1:{port}"
"""
        )

    def start_bot(self) -> None:
        """The bot, as in production."""
        self.spawn("bot", ["-m", "bot.cli", "run", "--settings", str(self.settings)], ready_line=False)

    def wait_healthy(self) -> None:
        """Wait for the bot's health check."""
        end = time.monotonic() + START_S
        while True:
            bot = self.child("bot")
            if bot.process.poll() is not None:
                raise DemoError(f"the bot ended at its start; the end of its log ({bot.log}):\n{bot.tail()}")
            with contextlib.suppress(OSError):
                if http_get(f"{self.web}/healthz")[0] == 200:
                    return
            if time.monotonic() > end:
                raise DemoError(
                    f"the bot is not healthy after {START_S:g} s; the end of its log ({bot.log}):\n{bot.tail()}"
                )
            time.sleep(0.05)

    def stop(self) -> None:
        """End all that was started, last one first."""
        for child in reversed(self.children):
            child.ask()
        for child in reversed(self.children):
            child.stop()
        self.children.clear()


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def http_get(url: str) -> tuple[int, str]:
    """A plain GET on loopback: status and body."""
    return http_call("GET", url)


def http_call(method: str, url: str, body: dict[str, Any] | None = None) -> tuple[int, str]:
    """One call on loopback: status and body. Raises OSError."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=20)
    with contextlib.closing(connection):
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def check(folder: Path, port: int) -> None:
    """Raises DemoError for what can be seen to be missing before anything is started, with what to do."""
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        raise DemoError(
            f"this Python ({sys.executable}) lacks {', '.join(lacking)}: `make demo` installs them, or `pip install -e .`"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DemoError(
            f"cannot write into {folder} ({error.strerror}): name another with --folder, or leave it out"
        ) from error
    try:
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was left a moment ago is free
            s.bind(("127.0.0.1", port))
    except OSError as error:
        raise DemoError(
            f"port {port} cannot be used ({error.strerror}): name another with --port, or leave it out for a free one"
        ) from error


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Rig]:
    """A rig in a folder that is there; what it started is stopped at the end, however that comes."""
    rig = Rig(folder)
    try:
        yield rig
    finally:
        rig.stop()
