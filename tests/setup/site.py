"""A whole site on stand-ins that has nothing wrong with it, and what the doctor says of it; a test plants faults and takes them away."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.domain.draft import Changes
from bot.domain.model import Machine, Reading
from bot.edges.store import SqlStore, open_store
from bot.local.slack import LocalSlack
from bot.local.slack import start_in_thread as start_slack
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.settings import HostRig, Settings
from bot.local.vcenter.start import Running
from bot.local.vcenter.start import start_in_thread as start_vcenter
from bot.service.setup.findings import Finding, Report
from bot.wiring.looking import look_into

CARD, OTHER = "0000:3b:00.0", "0000:5e:00.0"
OURS = ("vm-r", "vm-train")
RUNNING = OURS[:1]
PASSWORD = "the-password-of-the-site"
BOT_TOKEN, APP_TOKEN = "xoxb-local", "xapp-local"

TOML = """
[site]
zone = "Europe/Berlin"
admins = ["dana"]
level = "{level}"

[slack]
command = "{command}"
channel = "{channel}"
api_url = "{api_url}"
bot_token_file = "bot.token"
app_token_file = "app.token"

[vcenter.lab]
host = "{host}"
port = {port}
user = "{user}"
password_file = "vcenter.password"
ca_file = "ca.pem"
{vcenter}

[kinds]
{kinds}

[store]
url = "{store}"

[web]
bind = "127.0.0.1:{web}"
{more}
"""


@dataclass
class Site:
    """The stand-ins, a database and settings."""

    folder: Path
    slack: LocalSlack
    vcenter: Running
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def hands(self) -> Hands:
        """Foreign hands on the vCenter."""
        return Hands(self.vcenter.world)

    @property
    def database(self) -> Path:
        """The file."""
        return self.folder / "gpubot.db"

    def write(self, **changes: Any) -> None:
        """Write settings, right but for ``changes``."""
        values = {
            "level": "act",
            "command": "/gpu",
            "channel": self.slack.channel,
            "api_url": self.slack.api_url,
            "host": "127.0.0.1",
            "port": self.vcenter.port,
            "user": self.vcenter.user,
            "vcenter": "",
            "kinds": '"10de:1eb8" = "T4"',
            "store": "sqlite:///gpubot.db",
            "more": "",
        }
        (self.folder / "gpubot.toml").write_text(TOML.format(**{**values, **self.values, **changes}), "utf-8")
        secrets = {
            "bot.token": BOT_TOKEN,
            "app.token": APP_TOKEN,
            "vcenter.password": self.vcenter.password,
            "ca.pem": self.vcenter.ca_file.read_text(),
        }
        for name, text in secrets.items():
            (self.folder / name).write_text(text, "utf-8")

    def look(self) -> Report:
        """What the doctor says now."""
        return look_into(self.folder / "gpubot.toml")

    def codes(self) -> list[str]:
        """What it finds now, by name."""
        return [f.code for f in self.look().findings]

    def found(self, code: str) -> Finding:
        """The one finding of that name, which is the only one."""
        findings = self.look().findings
        assert [f.code for f in findings] == [code], findings
        return findings[0]

    @contextlib.contextmanager
    def store(self) -> Iterator[SqlStore]:
        """The database, to write into."""
        store = open_store(f"sqlite:///{self.database}")
        try:
            yield store
        finally:
            store.close()

    @contextlib.contextmanager
    def raw(self) -> Iterator[sqlite3.Connection]:
        """The same without any rule."""
        with contextlib.closing(sqlite3.connect(self.database)) as base:
            yield base
            base.commit()

    def machine(self, name: str) -> Machine:
        """A machine of the vCenter, as it would be registered."""
        vm = self.vcenter.world.inventory.vm(name)
        return Machine(self.vcenter.world.uuid_of(vm), name, "lab", ("U0ADA",))

    def start(self, name: str) -> None:
        """On, with its Tools running."""
        self.hands.power(name, "on")
        vm = self.vcenter.world.inventory.vm(name)
        end = time.monotonic() + 10
        while vm.props["guest"].toolsRunningStatus != "guestToolsRunning":
            assert time.monotonic() < end, "its Tools never came"
            time.sleep(0.01)

    def furnish(self) -> None:
        """Two machines, registered, one of them on; heard a moment ago."""
        with self.store() as store:
            machines = [self.machine(name) for name in OURS]
            with store.transaction() as transaction:
                transaction.record(Changes(puts=tuple(machines)), ())
            for number, machine in enumerate(machines):
                digest = hashlib.sha256(machine.name.encode()).hexdigest()
                store.set_token(machine.uuid, digest, datetime.now(UTC))
                self.heard(store, machine, number)

    def heard(self, store: SqlStore, machine: Machine, seq: int, ago: timedelta = timedelta()) -> None:
        """A word of its guest."""
        store.take_reading(
            Reading(machine.uuid, datetime.now(UTC) - ago, f"boot-{time.monotonic_ns()}", seq + 1, False, 0)
        )


@contextlib.contextmanager
def whole(folder: Path, port: int, hosts: tuple[HostRig, ...] = (HostRig(),), **settings: Any) -> Iterator[Site]:
    """A site with nothing wrong. ``port``: a free one, for the web server; ``settings``: what its file says otherwise."""
    quick = Settings(boot_s=0.01, shutdown_s=0.05, task_latency_s=0.01, hosts=hosts)
    with start_slack() as slack, start_vcenter(quick) as vcenter:
        site = Site(folder, slack, vcenter, {"web": port, **settings})
        site.write()
        site.furnish()
        for name in RUNNING:
            site.start(name)
        yield site


@contextlib.contextmanager
def plain_environment() -> Iterator[None]:
    """No settings of this process's environment, and nothing in the log."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("GPUBOT_")}
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        os.environ.update(kept)


def as_somebody_else(look: Callable[[], str]) -> str:
    """What ``look`` says in a process without root's rights, which no mode of a file holds back."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        os.write(writing, look().encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    os.waitpid(child, 0)
    return text
