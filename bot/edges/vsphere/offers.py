"""What each host offers to machines (QueryConfigTarget), kept for a while. Called by `look`, `act` and `dryrun`. Reads only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bot.edges.vsphere import pci
from bot.edges.vsphere.client import PROFILES_SINCE, Client
from bot.edges.vsphere.hosts import HostRow
from bot.edges.vsphere.machines import Vm
from bot.edges.vsphere.vmomi import DataObject, Ref, vim
from bot.service.ports import NeedsPerson

TARGET_S = 600.0  # how long a host's answer is kept; thrown away at once when it proves stale


@dataclass(frozen=True)
class Offer:
    """One host's answer."""

    passed: Mapping[str, DataObject] = field(default_factory=dict)  # PCI address -> info with pciDevice and systemId
    makes: Mapping[str, str] = field(default_factory=dict)  # vGPU profile -> ids of the cards that it is made of


class Targets:
    """What hosts offer, by their moids."""

    def __init__(self, real: Callable[[], float]) -> None:
        """``real``: real seconds, monotonic."""
        self._real = real
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, Offer]] = {}
        self._browsers: dict[str, str] = {}  # moid of a cluster -> moid of its environment browser

    def of(self, client: Client, vm: Vm) -> Offer:
        """What the host of ``vm`` offers. Raises faults, NeedsPerson if it cannot be asked."""
        if (kept := self._fresh(vm.host)) is not None:
            return kept
        if vm.browser is None or not vm.host:
            raise NeedsPerson(f"vCenter does not say which devices the host of {vm.name} offers")
        return self._ask(client, vm.host, vm.browser)

    def makes(self, client: Client, host: HostRow) -> Mapping[str, str]:
        """Of which cards a host's vGPU profiles are made; {} where its API does not tell. Raises faults."""
        if (kept := self._fresh(host.id)) is not None:
            return kept.makes
        if host.parent is None or not host.connected or not client.speaks(PROFILES_SINCE):
            return {}
        moid = self._browsers.get(host.parent._moId)
        if moid is None:
            browser = client.one(host.parent, ("environmentBrowser",)).get("environmentBrowser")
            if browser is None:
                return {}
            moid = self._browsers[host.parent._moId] = browser._moId
        return self._ask(client, host.id, vim.EnvironmentBrowser(moid, client.stub)).makes

    def drop(self, host: str) -> None:
        """Ask again next time."""
        with self._lock:
            self._kept.pop(host, None)

    def _fresh(self, host: str) -> Offer | None:
        with self._lock:
            kept = self._kept.get(host)
        return kept[1] if kept is not None and self._real() < kept[0] + TARGET_S else None

    def _ask(self, client: Client, host: str, browser: Ref) -> Offer:
        target = client.ask(lambda: browser.QueryConfigTarget(vim.HostSystem(host, client.stub)))
        offer = read_target(target) if target is not None else Offer()
        with self._lock:
            self._kept[host] = (self._real(), offer)
        return offer


def read_target(target: DataObject) -> Offer:
    """A ConfigTarget; what is unset in it is left out."""
    passed = {
        pci.normal(i.pciDevice.id): i for i in target.pciPassthrough or () if i.pciDevice is not None and i.pciDevice.id
    }
    makes = {
        str(name): pci.ids(number & 0xFFFF, number >> 16)  # the vendor in the low half, the device above it
        for i in getattr(target, "vgpuProfileInfo", None) or ()
        if (name := i.profileName or i.name) and (number := int(i.deviceVendorId or 0))
    }
    return Offer(passed, makes)
