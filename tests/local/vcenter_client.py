"""A stand-in vCenter for a test, with real pyVmomi clients on it. Verification of certificates is on (127.0.0.2)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from pyVim.connect import Disconnect, SmartConnect
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl

from bot.local.clock import Clock, Rate, write_clock
from bot.local.vcenter.privileges import OF_FIELD, RESET, SETTINGS
from bot.local.vcenter.settings import ADMIN_USER, PERSON_USER, Settings
from bot.local.vcenter.start import Running, start_in_thread

CARD_1, CARD_2, CARD_3, CARD_4 = "0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0", "0000:af:00.0"
PCI: Any = vim.vm.device.VirtualPCIPassthrough
ADMIN, PERSON = ADMIN_USER, PERSON_USER
QUICK: dict[str, Any] = {"boot_s": 0.15, "shutdown_s": 0.15, "task_latency_s": 0.02}


class Rig:
    """One running stand-in, the bot's login, and the control side."""

    def __init__(self, running: Running, si: Any) -> None:
        self.running, self.si = running, si
        self.world = running.world
        self.http = httpx.Client(base_url=running.drive_url + "/_drive", timeout=10)

    @property
    def content(self) -> Any:
        return self.si.RetrieveContent()

    def view(self, kind: Any) -> list[Any]:
        view = self.content.viewManager.CreateContainerView(self.content.rootFolder, [kind], True)
        try:
            return list(view.view)
        finally:
            view.DestroyView()

    def vm(self, name: str, si: Any = None) -> Any:
        """The VM as the bot's login sees it, or as ``si`` does."""
        moid = self.world.inventory.vm(name).moid
        return vim.VirtualMachine(moid, (si or self.si)._stub)

    @property
    def host(self) -> Any:
        return self.view(vim.HostSystem)[0]

    def drive(self, method: str, path: str, /, expect: int = 200, **body: Any) -> Any:
        answer = self.http.request(method, "/" + path, json=body)
        assert answer.status_code == expect, answer.text
        return answer.json()

    def post(self, path: str, /, expect: int = 200, **body: Any) -> Any:
        return self.drive("POST", path, expect=expect, **body)

    def state(self, name: str) -> Any:
        return next(v for v in self.drive("GET", "state")["vms"] if v["name"] == name)

    def card(self, pci: str) -> Any:
        return next(c for c in self.drive("GET", "state")["cards"] if c["pci"] == pci)

    def journal(self, *verbs: str) -> list[tuple[str, str, str | None]]:
        """(user, verb, vm) of the lines with these verbs."""
        lines = self.drive("GET", "journal")["entries"]
        return [(x["user"], x["verb"], x["vm"]) for x in lines if not verbs or x["verb"] in verbs]

    def backing(self, pci: str, **other: Any) -> Any:
        """The backing of a card from QueryConfigTarget, with fields replaced."""
        target = self.view(vim.ClusterComputeResource)[0].environmentBrowser.QueryConfigTarget(None)
        found = next(p for p in target.pciPassthrough if p.pciDevice.id == pci)
        device = found.pciDevice
        fields = {
            "id": device.id,
            "deviceId": format(device.deviceId & 0xFFFF, "x"),
            "systemId": found.systemId,
            "vendorId": device.vendorId,
            "deviceName": device.deviceName,
        }
        return PCI.DeviceBackingInfo(**{**fields, **other})

    def add(self, pci: str, key: int = -1, **other: Any) -> Any:
        """One added device for a ConfigSpec."""
        device = PCI(key=key, backing=self.backing(pci, **other))
        return vim.vm.device.VirtualDeviceSpec(operation="add", device=device)

    def devices(self, name: str) -> list[Any]:
        return [d for d in self.vm(name).config.hardware.device if isinstance(d, PCI)]

    def cards(self, name: str) -> list[str]:
        return [d.backing.id for d in self.devices(name)]

    def reconfigure(self, name: str, **fields: Any) -> None:
        WaitForTask(self.vm(name).ReconfigVM_Task(vim.vm.ConfigSpec(**fields)))

    def give(self, name: str, *cards: str) -> None:
        """Put cards on a VM by the book."""
        changes = [self.add(pci, -n - 1) for n, pci in enumerate(cards)]
        self.reconfigure(name, deviceChange=changes, memoryReservationLockedToMax=True)

    def on(self, name: str) -> None:
        WaitForTask(self.vm(name).PowerOnVM_Task())

    def off(self, name: str) -> None:
        WaitForTask(self.vm(name).PowerOffVM_Task())

    def up(self, name: str) -> None:
        """On, with Tools."""
        self.on(name)
        until(lambda: self.state(name)["tools"] == "guestToolsRunning")

    def power(self, name: str) -> str:
        return str(self.vm(name).runtime.powerState)


class Still:
    """Virtual time that stands still until it is moved: seconds after 2026-01-01 00:00 UTC."""

    ZERO = 1_767_225_600.0

    def __init__(self, folder: Path) -> None:
        self.path = folder / "clock.json"
        self.at(0)
        self.clock = Clock(self.path)

    def at(self, seconds: float) -> None:
        write_clock(self.path, Rate(time.time(), self.ZERO + seconds, 0))


def until(true: Callable[[], Any], seconds: float = 8.0) -> Any:
    """Ask until it is true; fails at the deadline."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "did not come true in time"
        time.sleep(0.02)
    return found


def login(running: Running, user: str | None = None) -> Any:
    """A client of its own, certificate verified."""
    name = user or running.user
    return SmartConnect(
        host=running.host, port=running.port, user=name, pwd=running.users[name], sslContext=running.context()
    )


def leave(si: Any) -> None:
    """Log out and close the sockets, also of a session that is gone."""
    with contextlib.suppress(vmodl.MethodFault, OSError):
        Disconnect(si)
    si._stub.DropConnections()


@contextlib.contextmanager
def rig(clock: Clock | None = None, **settings: Any) -> Iterator[Rig]:
    """A stand-in for one test: quick guests, quick tasks. Nothing in it may have gone wrong by its own mistake."""
    with start_in_thread(Settings(**{**QUICK, **settings}), clock=clock) as running:
        # The settings that tests want to change are more than the bot's own role.
        running.server.api.privileges.grants[running.user] = {*OF_FIELD.values(), SETTINGS, RESET}
        si = login(running)
        one = Rig(running, si)
        try:
            yield one
        finally:
            one.http.close()
            leave(si)
        assert running.server.mistakes == []
