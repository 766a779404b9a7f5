"""Whether anything runs in the guest: people, load, and jobs, with or without a card. Called by ``loop``.

**What a job is.** A process that holds a card and is no desktop's, until for ``holder_linger_s`` neither it with its children used
``cpu_share`` of a core nor a card that it holds had a busy second (an open notebook that computes nothing is no running work; what cannot
be measured counts as work); or a person's process (user id 1000 or more; below that only inside a
container, a person's session, or under RStudio, Shiny or Jupyter) that is older than ``min_age_s`` and used ``cpu_share`` of a core over the interval, its finished
children included. It stays one until it used less for ``linger_s``: a pause for data is no end. Shells at a terminal, desktops and what
holds a session together are no jobs, nor is the agent.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from bot.guest.agent.card import BUSY_AT, Holder
from bot.guest.agent.clock import Clock, boottime, stamp
from bot.guest.agent.logins import logins
from bot.guest.agent.processes import (
    Process,
    Users,
    cgroup,
    hidden,
    machine_octets,
    name_of,
    processes,
    read,
    read_octets,
)
from bot.guest.agent.settings import Settings

FIRST_PERSON, NOBODY = 1000, 65534
NEVER = frozenset(
    ["systemd", "(sd-pam)", "sshd", "sshd-session", "login", "su", "sudo", "tmux", "tmux:", "screen", "dbus-daemon", "dbus-broker", "gpg-agent", "ssh-agent", "at-spi-bus-laun", "Xorg", "Xwayland", "gnome-shell", "gnome-session-", "kwin_x11", "kwin_wayland", "plasmashell", "xfwm4", "xfce4-session", "pipewire", "wireplumber", "pulseaudio", "tracker-miner-f", "tracker-extract", "gvfsd", "x11vnc", "Xvnc", "xrdp", "xrdp-sesman", "rserver", "gpu", "gpubot-agent", "top", "htop", "nvtop", "nvidia-smi"]
)  # fmt: skip
"""Names of the kernel's (15 characters) that hold a session together, draw a desktop, or look on."""
CONTAINERS = ("docker", "containerd", "libpod", "kubepods", "lxc", "user.slice", "machine.slice")
FRONTS = ("rserver", "rsession", "shiny-server", "jupyter", "jupyterhub")
JOBS_MOST, PROCESSES_MOST, LOGINS_MOST = 64, 64, 64
UNSEEN = "programs of others, which the agent may not see (hidepid)"
"""Named as a job where /proc hides them: nobody knows that nothing runs then."""
UNLISTED = "a program on the card"
"""Named as a job where a card works and does not tell who holds it."""
LOOK_S = 15.0
"""Seconds between two looks at what the holders of cards read."""
READS_AT, READS_SHARE = 1024 * 1024, 0.75
"""Octets a second in at least that share of the looks is "reads steadily"."""


@dataclass
class _Reads:
    """Looks at what one process read."""

    octets: int
    at: float
    looks: int = 0
    steady: int = 0


class Machine:
    """Remembers the last look: shares are differences. For one thread."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._users = Users()
        self._before: dict[tuple[int, float], float] = {}  # seconds of processor by process
        self._at = boottime()
        self._jobs: dict[tuple[int, float], float] = {}  # when each job last worked, in the agent's time
        self._held: dict[
            tuple[int, float], float
        ] = {}  # when each holder of a card last worked, or was first seen; likewise
        self._unlisted: tuple[float, float] | None = (
            None  # a card that names no holder works: since when (boot's time), and
        )
        # when it last did (the agent's time)
        self._reads: dict[tuple[int, float], _Reads] = {}
        self._cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.ours: set[int] = set()  # sessions of our own children

    def look(self, cards: list[dict[str, Any]]) -> dict[str, Any]:
        """The end of an interval, in the words of the wire; ``holders`` of the cards become ``processes``."""
        now, seen = boottime(), processes()
        elapsed = max(now - self._at, 1e-3)
        ours = {pid for pid, process in seen.items() if pid == os.getpid() or process.session in self.ours}
        shares = {pid: self._share(process, now, elapsed) for pid, process in seen.items()}
        holding: dict[int, bool] = {}  # holders of cards, and whether they work
        trees = _trees(seen)
        unlisted = any(card.get("holders") is None for card in cards)
        self._keep_unlisted(cards, now)
        for card in cards:
            self._name_holders(card, seen, shares, trees, ours, holding)
            for part in card.get("parts", ()):
                self._name_holders(part, seen, shares, trees, ours, holding)
        self._keep_holders(seen, holding, unlisted)
        jobs = self._find_jobs(seen, shares, ours, set(holding), now)
        self._before = {process.key: process.used for process in seen.values()}
        self._reads = {key: reads for key, reads in self._reads.items() if key in self._before}
        self._at = now
        return {
            "logins": self._logins(),
            "jobs": jobs,
            "load1": _load(),
            "cpus": self._cores,
        }

    def watch_reads(self, pids: set[int]) -> None:
        """A look at what the holders of cards read; called every LOOK_S. Of another user's process the kernel tells an unprivileged agent
        nothing: then what the whole machine reads from its disks and its network stands for it."""
        if not pids:
            return
        now, everything = boottime(), machine_octets()
        for pid in pids:
            process = read(pid)
            octets = None if process is None else read_octets(pid)
            octets = everything if octets is None else octets
            if process is None or octets is None:
                continue
            reads = self._reads.setdefault(process.key, _Reads(octets, now))
            if now > reads.at:
                reads.looks += 1
                reads.steady += octets - reads.octets >= READS_AT * (now - reads.at)
                reads.octets, reads.at = octets, now

    def _share(self, process: Process, now: float, elapsed: float) -> float | None:
        """Of a core, since the last look; None: it was not seen then."""
        before = self._before.get(process.key)
        if before is not None:
            return max(0.0, process.used - before) / elapsed
        age = now - process.started
        return process.used / age if 0 < age <= elapsed else None

    def _name_holders(
        self,
        card: dict[str, Any],
        seen: dict[int, Process],
        shares: dict[int, float | None],
        trees: dict[int, list[int]],
        ours: set[int],
        holding: dict[int, bool],
    ) -> None:
        works = _works(card)
        holders: list[Holder] | None = card.pop("holders", None)
        if holders is None:
            card["processes"] = None
            return
        told = []
        for holder in holders:
            if holder.pid in ours:
                continue
            process, cpu = seen.get(holder.pid), _together(holder.pid, shares, trees)
            entry: dict[str, Any] = {
                "pid": holder.pid,
                "user": "" if process is None else self._users.name(process.uid),
                "name": "" if process is None else name_of(process.pid, process.comm),
                "mem_mb": holder.mem_mb,
                "graphics": holder.graphics,
                "cpu": cpu,
            }
            if process is not None:
                reads = self._reads.get(process.key)
                if reads is not None and reads.looks:
                    entry["reads"] = reads.steady >= READS_SHARE * reads.looks
                    reads.looks = reads.steady = 0
            told.append(entry)
            if not holder.graphics:
                computes = works or cpu is None or cpu >= self._settings.job_share
                holding[holder.pid] = computes or holding.get(holder.pid, False)
        told.sort(key=lambda entry: (entry["graphics"], -(entry["mem_mb"] or 0.0), entry["pid"]))
        card["processes"] = told[:PROCESSES_MOST]

    def _keep_holders(self, seen: dict[int, Process], holding: dict[int, bool], unlisted: bool) -> None:
        """Notes when each holder last worked. While a card does not tell who holds it, whoever held one is taken to hold it still."""
        clock, held = self._clock.now(), {}
        for key, at in self._held.items():
            process = seen.get(key[0])
            if process is not None and process.key == key and (unlisted or process.pid in holding):
                held[key] = at
                holding.setdefault(process.pid, False)
        for pid, works in holding.items():
            process = seen.get(pid)
            if process is not None and (works or process.key not in held):
                held[process.key] = clock
        self._held = held

    def _keep_unlisted(self, cards: list[dict[str, Any]], now: float) -> None:
        """Notes whether a card works whose holders cannot be listed, and did so not longer ago than a holder lingers."""
        clock = self._clock.now()
        silent = [c for card in cards for c in (card.get("parts") or [card]) if c.get("holders") is None]
        if any((c.get("busy_s") or 0.0) > 0.0 or (c.get("active_max") or 0.0) >= BUSY_AT for c in silent):
            self._unlisted = (self._unlisted[0] if self._unlisted else now, clock)
        elif not silent or (self._unlisted and clock - self._unlisted[1] > self._settings.holder_linger_s):
            self._unlisted = None

    def _find_jobs(
        self, seen: dict[int, Process], shares: dict[int, float | None], ours: set[int], holding: set[int], now: float
    ) -> list[dict[str, Any]]:
        clock, found = self._clock.now(), []
        for process in seen.values():
            if process.pid in ours:
                continue
            share = shares[process.pid]
            held = self._held.get(process.key)
            if held is None or clock - held > self._settings.holder_linger_s:
                if share is not None and share >= self._settings.job_share and self._may_be(process, seen, now):
                    self._jobs[process.key] = clock
                worked = self._jobs.get(process.key)
                if worked is None or clock - worked > self._settings.job_linger_s:
                    self._jobs.pop(process.key, None)
                    continue
            found.append((share or 0.0, process))
        self._jobs = {
            key: at for key, at in self._jobs.items() if seen.get(key[0]) is not None and seen[key[0]].key == key
        }
        found.sort(key=lambda pair: (pair[1].pid not in holding, -pair[0]))
        wall = time.time() - boottime()
        unseen = {"pid": 0, "user": "", "name": UNSEEN, "since": stamp(wall), "gpu": False}
        nameless = [unseen] if hidden() else []
        if self._unlisted is not None and not any(process.pid in holding for _, process in found):
            began = stamp(wall + self._unlisted[0])
            nameless.append({"pid": 0, "user": "", "name": UNLISTED, "since": began, "gpu": True})
        return nameless + [
            {
                "pid": process.pid,
                "user": self._users.name(process.uid),
                "name": name_of(process.pid, process.comm),
                "since": stamp(wall + process.started),
                "gpu": process.pid in holding,
            }
            for _, process in found[:JOBS_MOST]
        ]

    def _may_be(self, process: Process, seen: dict[int, Process], now: float) -> bool:
        """Whether a process that works is somebody's job."""
        if (
            process.comm in NEVER
            or process.comm in self._settings.job_ignore
            or now - process.started < self._settings.job_age_s
        ):
            return False
        if (
            process.tty
            and process.session == process.pid
            and process.comm.lstrip("-") in ("bash", "sh", "dash", "zsh", "fish", "ksh", "tcsh")
        ):
            return False
        if FIRST_PERSON <= process.uid < NOBODY or process.uid > NOBODY:
            return True
        if any(word in cgroup(process.pid) for word in CONTAINERS):
            return True
        parent = process
        for _ in range(32):
            if parent.comm.startswith(FRONTS) and parent is not process:
                return True
            above = seen.get(parent.parent)
            if above is None:
                return False
            parent = above
        return False

    def _logins(self) -> list[dict[str, Any]]:
        told = []
        for login in logins()[:LOGINS_MOST]:
            entry: dict[str, Any] = {"user": login.user, "since": stamp(login.since)}
            if login.idle_s is not None:
                entry["idle_s"] = round(login.idle_s, 1)
            told.append(entry)
        return told


def _works(card: dict[str, Any]) -> bool:
    """Whether a card, or a part of one, had a busy second, or may have had. Of a card that is cut its parts tell, by the hardware counter."""
    if card.get("parts"):
        return False
    seconds, active = card.get("busy_s"), card.get("active_max")
    return seconds > 0.0 if seconds is not None else active is None or active >= BUSY_AT


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def _trees(seen: dict[int, Process]) -> dict[int, list[int]]:
    """The children of each process."""
    children: dict[int, list[int]] = {}
    for process in seen.values():
        children.setdefault(process.parent, []).append(process.pid)
    return children


def _together(pid: int, shares: dict[int, float | None], trees: dict[int, list[int]]) -> float | None:
    """Of a core, with all that it started: it is the workers who load the data. None: of itself it is not known."""
    own = shares.get(pid)
    if own is None:
        return None
    total, waiting = own, list(trees.get(pid, ()))
    while waiting:
        child = waiting.pop()
        total += shares.get(child) or 0.0
        waiting += trees.get(child, ())
    return round(total, 3)
