"""The insides of a simulated VM: it boots, sees its cards, runs jobs, has logins, says so to the bot, and stops.

Called by the stand-in vCenter, which gives it the hardware (cards) and takes its events (Tools, off). It knows no vSphere
and no bot: what it tells goes over HTTP to the address that it was given. Times are virtual.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from bot.local.clock import Timer, Timers
from bot.local.readings import Postman

DRIVER = "550.90.07"
MIN_GAP_S = 0.1  # real seconds between regular readings at least, however fast the clock runs
CARD_NAMES = uuid.UUID("0f6f2c44-9f0e-4b0f-8a53-6a2f5a1f3d10")  # a card's own UUID is made of its PCI id


@dataclass(frozen=True)
class Habits:
    """Switches of one guest."""

    boot_s: float = 40.0  # virtual seconds to running Tools
    shutdown_s: float | None = 30.0  # virtual seconds from being told to stop until off; None: never
    interval_s: float = 60.0  # virtual seconds between readings
    driver_broken: bool = False  # the driver does not load: no card is reported
    card_fault: str | None = None  # said of each card, e.g. "xid 79"
    silent: bool = False  # the agent does not run
    hang: bool = False  # takes the order to stop and never ends
    no_tools: bool = False  # Tools never come up


@dataclass(frozen=True)
class Job:
    """One program of a person."""

    pid: int  # process id
    user: str  # who runs it
    name: str  # command line
    since: float  # virtual unix seconds
    gpu: bool  # uses the cards
    cards: int | None  # how many of the machine's cards it uses, first ones first; None: all


@dataclass(frozen=True)
class Hooks:
    """What the machine around the guest hears. Called inside the lock."""

    tools: Callable[[bool], None]  # Tools run, or not any more
    saw: Callable[[list[str]], None]  # the guest is up and sees these PCI ids
    off: Callable[[], None]  # the guest has stopped by itself
    changed: Callable[[], None]  # anything that is shown changed


class Guest:
    """One machine's operating system. All public methods take the lock of the machine around it."""

    def __init__(self, name: str, timers: Timers, hooks: Hooks, lock: threading.RLock) -> None:
        """Off, nobody logged in, no agent."""
        self.name, self.timers, self.hooks, self.lock = name, timers, hooks, lock
        self.habits = Habits()
        self.state = "off"  # off, booting, running, stopping
        self.boot_id: str | None = None
        self.hardware: list[str] = []  # PCI ids that the machine was started with
        self.faults: dict[str, str] = {}  # PCI id -> what is wrong with that card
        self.jobs: dict[int, Job] = {}
        self.logins: dict[str, float] = {}  # user -> virtual unix seconds since
        self.log: list[dict[str, str]] = []  # what people in the machine read
        self._agent: tuple[str, str] | None = None
        self._postman: Postman | None = None
        self._seq, self._pids, self._boots = 0, 4241, 0
        self._settled = self._told = 0.0
        self._busy: dict[str, float] = {}
        self._timers: list[Timer] = []

    # -- power -------------------------------------------------------------

    def boot(self, hardware: list[str]) -> None:
        """The machine was started with these PCI ids."""
        with self.lock:
            self._clear("booting")
            self.hardware = list(hardware)
            self._later(self.habits.boot_s, self._booted)
            self.hooks.changed()

    def cut(self) -> None:
        """The power is gone."""
        with self.lock:
            self._clear("off")
            self.hardware = []
            self.hooks.changed()

    def shutdown(self) -> None:
        """Told to stop (by Tools or by a person inside). Told twice is told once."""
        with self.lock:
            if self.state != "running":
                return
            self.state = "stopping"
            self._write("the system is going down for power-off")
            self._tell()
            if self.habits.shutdown_s is not None and not self.habits.hang:
                self._later(self.habits.shutdown_s, self._stopped)
            self.hooks.changed()

    def reboot(self) -> None:
        """Told to start over: the machine stays on."""
        with self.lock:
            hardware = self.hardware
            self.hooks.tools(False)
            self.boot(hardware)

    def _clear(self, state: str) -> None:
        for timer in self._timers:
            timer.cancel()
        if self._postman is not None:
            self._postman.close()
        self._timers, self._postman, self.boot_id = [], None, None
        self.jobs, self.logins, self.state = {}, {}, state

    def _booted(self) -> None:
        self.state, self._boots, self._seq = "running", self._boots + 1, 0
        self.boot_id = str(uuid.uuid4())
        self._settled = self._told = self.timers.clock.unix()
        self._busy = {}
        if not self.habits.no_tools:
            self.hooks.tools(True)
        self.hooks.saw(self.seen())
        self._hire()
        self._tick()
        self.hooks.changed()

    def _stopped(self) -> None:
        self.hooks.off()

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        boot = self._timers

        def run() -> None:
            with self.lock:
                if self._timers is boot:  # the same run of the machine
                    call()

        boot.append(self.timers.after(seconds, run))
        if len(boot) > 64:
            boot[:] = [t for t in boot if not t.off and t.due > self.timers.clock.unix() - 1]

    # -- people ------------------------------------------------------------

    def login(self, user: str) -> None:
        """``user`` logs in; ValueError if the machine is not running."""
        with self.lock:
            self._need_running()
            self.logins.setdefault(user, self.timers.clock.unix())
            self._change()

    def logout(self, user: str) -> None:
        """``user`` logs out; somebody who is not in is no error."""
        with self.lock:
            if self.logins.pop(user, None) is not None:
                self._change()

    def start_job(self, user: str, name: str, gpu: bool, cards: int | None, duration_s: float | None) -> int:
        """Start a program, for ``duration_s`` virtual seconds or until stopped; returns its pid. ValueError when off."""
        with self.lock:
            self._need_running()
            self._settle()
            self._pids += 1
            pid = self._pids
            self.jobs[pid] = Job(pid, user, name, self.timers.clock.unix(), gpu, cards)
            if duration_s is not None:
                self._later(duration_s, lambda: self._job_over(pid))
            self._change()
            return pid

    def _job_over(self, pid: int) -> None:
        self.stop_job(pid)

    def stop_job(self, pid: int | None = None) -> int:
        """End one program, or all; returns how many ended."""
        with self.lock:
            self._settle()
            pids = list(self.jobs) if pid is None else [p for p in self.jobs if p == pid]
            for one in pids:
                del self.jobs[one]
            if pids:
                self._change()
            return len(pids)

    def _need_running(self) -> None:
        if self.state != "running":
            raise ValueError(f"{self.name} is {self.state}")

    # -- switches ----------------------------------------------------------

    def configure(self, **switches: Any) -> None:
        """Change habits by name; TypeError for an unknown one. What has begun goes on as it began."""
        with self.lock:
            was, self.habits = self.habits, replace(self.habits, **switches)
            if was.silent != self.habits.silent:
                self._hire()
            self._change()

    def employ(self, url: str, token: str) -> None:
        """Install the agent: where it reports, and with which machine token."""
        with self.lock:
            self._agent = (url, token)
            self._hire()
            self._change()

    def _hire(self) -> None:
        if self._postman is not None:
            self._postman.close()
            self._postman = None
        if self._agent is not None and self.state in ("running", "stopping") and not self.habits.silent:
            self._postman = Postman(*self._agent, orders=self._orders)

    def _orders(self, orders: list[str]) -> None:
        with self.lock:
            for order in orders:
                if order == "last call":
                    self._write("wall: last call: this machine will be shut down soon")
                    self.hooks.changed()

    def _write(self, text: str) -> None:
        self.log.append({"at": _iso(self.timers.clock.unix()), "text": text})
        del self.log[:-200]

    # -- readings ----------------------------------------------------------

    def seen(self) -> list[str]:
        """PCI ids of the cards that work in the guest."""
        up = self.state in ("running", "stopping")
        return list(self.hardware) if up and not self.habits.driver_broken else []

    def _change(self) -> None:
        self._tell()
        self.hooks.changed()

    def _tick(self) -> None:
        self._tell()
        self._later(max(self.habits.interval_s, self.timers.clock.rate().speed * MIN_GAP_S), self._tick)

    def _settle(self) -> None:
        now = self.timers.clock.unix()
        for pci in self._loaded():
            self._busy[pci] = self._busy.get(pci, 0.0) + max(now - self._settled, 0.0)
        self._settled = now

    def _loaded(self) -> set[str]:
        cards = self.seen()
        return {pci for job in self.jobs.values() if job.gpu for pci in cards[: job.cards]}

    def _tell(self) -> None:
        if self.state not in ("running", "stopping"):
            return
        self._settle()
        reading = self.reading()
        self._told, self._busy = self._settled, {}
        if self._postman is not None:
            self._postman.post(reading)

    def reading(self) -> dict[str, Any]:
        """What the agent would say now (and its next number)."""
        now = self._settled
        elapsed = max(now - self._told, 0.001)
        self._seq += 1
        return {
            "schema": 1,
            "boot_id": self.boot_id,
            "seq": self._seq,
            "taken": _iso(now),
            "interval_s": max(1, round(min(elapsed, self.habits.interval_s))),
            "state": "stopping" if self.state == "stopping" else "running",
            "logins": [
                {"user": u, "since": _iso(s), "idle_s": round(max(0.0, now - s), 1)}  # nobody types here after that
                for u, s in self.logins.items()
            ],
            "jobs": [
                {"pid": j.pid, "user": j.user, "name": j.name, "since": _iso(j.since), "gpu": j.gpu}
                for j in self.jobs.values()
            ],
            "load1": round(0.1 + 1.0 * len(self.jobs), 2),
            "driver": None if self.habits.driver_broken else DRIVER,
            "cards": [self._card(pci, elapsed) for pci in self.seen()],
        }

    def _card(self, pci: str, elapsed: float) -> dict[str, Any]:
        busy = min(self._busy.get(pci, 0.0), self.habits.interval_s)
        share = min(self._busy.get(pci, 0.0) / elapsed, 1.0)
        on_it = [j for j in self.jobs.values() if j.gpu and pci in self.seen()[: j.cards]]
        fault = self.habits.card_fault or self.faults.get(pci)
        return {
            "uuid": card_uuid(pci),
            "name": "Tesla T4",
            "busy_s": round(busy, 1),
            "util_max": 97 if busy > 0 or on_it else 0,
            "util_mean": round(90.0 * share, 1),
            "mem_used_mb": 5 + 4500 * len(on_it),
            "mem_total_mb": 15360,
            "processes": [{"pid": j.pid, "user": j.user, "name": j.name.split()[0], "mem_mb": 4500} for j in on_it],
            "fault": fault,
        }

    def shown(self) -> dict[str, Any]:
        """For the drive: everything that a test or a page may want to know."""
        with self.lock:
            post = self._postman
            return {
                "state": self.state,
                "boots": self._boots,
                "logins": sorted(self.logins),
                "jobs": [asdict(j) | {"since": _iso(j.since)} for j in self.jobs.values()],
                "cards": self.seen(),
                "habits": asdict(self.habits),
                "log": list(self.log),
                "agent": None
                if self._agent is None
                else {
                    "url": self._agent[0],
                    "sent": post.sent if post else 0,
                    "refused": post.refused if post else 0,
                    "away": post.away if post else 0,
                    "last_status": post.last_status if post else None,
                },
            }


def card_uuid(pci: str) -> str:
    """The UUID that a card shows in any guest."""
    return f"GPU-{uuid.uuid5(CARD_NAMES, pci)}"


def _iso(unix: float) -> str:
    return datetime.fromtimestamp(unix, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
