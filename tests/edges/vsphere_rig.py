"""What the tests of the vSphere edge stand on: a clock, the lab on a stand-in vCenter or on vcsim, and a look inside."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import trustme

from bot.domain.model import CallKind, DynamicCard, FixedCard, Power, SeenMachine, Vgpu
from bot.edges.vsphere.client import Client
from bot.edges.vsphere.connect import VCenter, connect
from bot.edges.vsphere.lab import VSphereLab
from bot.edges.vsphere.machines import FULL_PATHS, Vm, read_vm
from bot.edges.vsphere.vmomi import vim
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.settings import CardRig, HostRig, Settings
from bot.local.vcenter.start import Running, start_in_thread
from bot.service.ports import Before, LabStep
from tests.edges.vcsim import build

CARD_1, CARD_2, CARD_3, CARD_4 = "0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0", "0000:af:00.0"
QUICK = Settings(boot_s=0.1, shutdown_s=0.1, task_latency_s=0.02)
POOL, T4 = "t4-pool", "10de:1eb8"  # the label of dynamic cards, and their ids
DYNAMIC, HALF, WHOLE = DynamicCard(T4, POOL), Vgpu("grid_t4-8q"), Vgpu("grid_t4-16q")


def host(*modes: str, name: str = "esx-01", **more: Any) -> HostRig:
    """A host with T4 at the usual addresses, each ``fixed``, ``dynamic``, ``vgpu`` or ``none``."""
    cards = [
        CardRig(
            pci, label=POOL if mode == "dynamic" else "", mode={"vgpu": "shared", "none": "none"}.get(mode, "direct")
        )
        for pci, mode in zip((CARD_1, CARD_2, CARD_3, CARD_4), modes, strict=False)
    ]
    return HostRig(name, tuple(cards), **more)


MIXED = replace(QUICK, hosts=(host("fixed", "dynamic", "dynamic", "vgpu"),))
"""One host with all three modes."""


class Clock:
    """The real time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def real(self) -> float:
        return time.monotonic()


def until(true: Callable[[], object], seconds: float = 10) -> None:
    """Poll until ``true``; AssertionError after ``seconds``."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(0.02)


@dataclass
class Bench:
    """A lab on one vCenter, and a second login that looks inside with pyVmomi."""

    vcenter: VCenter
    lab: VSphereLab
    names: tuple[str, ...]  # machines to play with
    running: Running | None = None  # the stand-in, if it is one
    _other: list[Client] = field(default_factory=list)

    @property
    def other(self) -> Client:
        """The second login."""
        if not self._other:
            self._other.append(connect(self.vcenter))
        return self._other[0]

    @property
    def inside(self) -> Running:
        """The stand-in."""
        assert self.running is not None
        return self.running

    @property
    def hands(self) -> Hands:
        """Foreign hands on the stand-in."""
        return Hands(self.inside.world)

    def seen(self, name: str) -> SeenMachine:
        """A machine in a fresh look."""
        found = [m for m in self.lab.look().machines if m.name == name]
        assert len(found) == 1, found
        return found[0]

    def uuid(self, name: str) -> str:
        """Its instance UUID."""
        return self.seen(name).uuid

    def step(self, name: str, kind: CallKind = CallKind.CHANGE, **more: Any) -> LabStep:
        """A step on a machine by name. ``put`` and ``take`` may name fixed cards by their PCI addresses alone."""
        for work in ("put", "take"):
            if work in more:
                more[work] = tuple(FixedCard(x) if isinstance(x, str) else x for x in more[work])
        seen = self.seen(name)
        more.setdefault("had", seen.unplaced)  # as whoever decides it sees it
        return LabStep(self.vcenter.name, seen.uuid, kind, **more)

    def act(self, name: str, kind: CallKind = CallKind.CHANGE, **more: Any) -> Before | None:
        """Act on a machine by name."""
        return self.lab.act(self.step(name, kind, **more))

    def clear(self) -> None:
        """The machines to play with are off and have nothing; what is so already costs a look alone."""
        for seen in self.lab.look().machines:
            if seen.name in self.names:
                if seen.power is not Power.OFF:
                    self.lab.act(LabStep(self.vcenter.name, seen.uuid, CallKind.HARD_STOP))
                if seen.cards or seen.unplaced or seen.memory_locked or seen.reservation_mb:
                    take = (*map(FixedCard, seen.cards), *seen.unplaced)
                    self.lab.act(
                        LabStep(self.vcenter.name, seen.uuid, CallKind.CHANGE, (), take, seen.unplaced, False, 0)
                    )

    def forget(self) -> None:
        """The second login is made anew when it is needed: its session has ended."""
        for client in self._other:
            client.close()
        self._other.clear()

    def on(self, name: str) -> None:
        """Started, with its Tools running."""
        self.act(name, CallKind.POWER_ON)
        until(lambda: self.seen(name).tools)

    def vm(self, name: str) -> Vm:
        """A machine as the second login reads it now."""
        rows = self.other.all(vim.VirtualMachine, FULL_PATHS)
        return next(vm for ref, row in rows if (vm := read_vm(ref, row)).name == name)

    def expire(self) -> None:
        """End the lab's sessions, as idle expiry does, but not the second login."""
        manager = self.other.content.sessionManager
        own = manager.currentSession.key
        manager.TerminateSession([s.key for s in manager.sessionList if s.key != own])

    def calls(self) -> dict[str, int]:
        """What the stand-in counted since ``reset``, of the bot's login."""
        users = self.inside.server.counts.shown()["users"]
        return dict(users.get(self.vcenter.user, {}))

    def reset(self) -> None:
        """Count from zero."""
        self.inside.server.counts.reset()

    def journal(self, *verbs: str) -> list[dict[str, Any]]:
        """The stand-in's journal, of these verbs."""
        return [e for e in self.inside.world.journal.since(0) if not verbs or e["verb"] in verbs]


@contextlib.contextmanager
def stand_in(settings: Settings = QUICK, **more: Any) -> Iterator[Bench]:
    """The lab on a stand-in vCenter. ``more``: fields of its VCenter."""
    more.setdefault("dynamic", frozenset({POOL}))
    with start_in_thread(settings) as running:
        vcenter = VCenter("lab", f"127.0.0.1:{running.port}", running.user, running.password, running.ca_file, **more)
        with _bench(vcenter, ("vm-python", "vm-r"), running) as bench:
            yield bench
            assert running.server.mistakes == []


@contextlib.contextmanager
def vcsim(folder: Path, idle: str = "30m") -> Iterator[Bench]:
    """The lab on vcsim; ``folder`` takes its certificate."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(folder / "server.pem"))
    with build.run(folder / "server.pem", "bot", "s3cret-of-the-sim", idle) as port:
        vcenter = VCenter("lab", f"127.0.0.1:{port}", "bot", "s3cret-of-the-sim", folder / "ca.pem")
        with _bench(vcenter, ("DC0_C0_RP0_VM0", "DC0_C0_RP0_VM1"), None) as bench:
            yield bench


@contextlib.contextmanager
def _bench(vcenter: VCenter, names: tuple[str, ...], running: Running | None) -> Iterator[Bench]:
    lab = VSphereLab([vcenter], Clock())
    bench = Bench(vcenter, lab, names, running)
    try:
        yield bench
    finally:
        lab.close()
        if bench._other:
            bench._other[0].close()


def other_lab(bench: Bench, **changes: Any) -> VSphereLab:
    """A second lab on the same vCenter with other settings of the connection."""
    return VSphereLab([replace(bench.vcenter, **changes)], Clock())


__all__ = [
    "CARD_1",
    "CARD_2",
    "CARD_3",
    "CARD_4",
    "DYNAMIC",
    "HALF",
    "MIXED",
    "POOL",
    "QUICK",
    "T4",
    "WHOLE",
    "Bench",
    "Clock",
    "Power",
    "host",
    "other_lab",
    "stand_in",
    "until",
    "vcsim",
]
