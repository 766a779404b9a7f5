"""VMs and hosts as rows of properties, read into values that cope with whatever is unset or unknown.

Called by `look` (all of them) and by `change`, `power` and `dryrun` (one of them, with its devices). Nothing is assumed to
be there: a server may leave out required fields, and a device's backing may be of any type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.domain.model import Power, SeenCard
from bot.edges.vsphere import pci
from bot.edges.vsphere.client import Row
from bot.edges.vsphere.vmomi import DataObject, FixedBacking, PciDevice, Ref

SEEN_PATHS = (
    "name", "config.instanceUuid", "summary.config.instanceUuid", "config.template", "config.hardware.device",
    "config.hardware.memoryMB", "runtime.host", "runtime.powerState", "runtime.connectionState", "runtime.question",
    "runtime.bootTime", "guest.toolsRunningStatus", "guest.guestStateChangeSupported", "recentTask",
    "config.memoryReservationLockedToMax", "config.memoryAllocation.reservation",
)  # fmt: skip
"""What a look asks of every VM."""

FULL_PATHS = (
    *SEEN_PATHS, "config.changeVersion", "config.version", "config.firmware", "config.extraConfig", "environmentBrowser",
)  # fmt: skip
"""What a change asks of one VM."""

TASK_PATHS = ("info.state", "info.descriptionId", "info.progress", "info.reason", "info.entity")
"""What is asked of the tasks of a VM."""

HOST_PATHS = (
    "name", "runtime.connectionState", "runtime.inMaintenanceMode", "hardware.pciDevice", "hardware.memorySize",
    "config.pciPassthruInfo", "config.graphicsInfo", "config.assignableHardwareBinding",
)  # fmt: skip
"""What is asked of a host."""

POWERS = {"poweredOn": Power.ON, "poweredOff": Power.OFF, "suspended": Power.SUSPENDED}
USE_MMIO, MMIO_GB = "pciPassthru.use64bitMMIO", "pciPassthru.64bitMMIOSizeGB"


@dataclass(frozen=True)
class Vm:
    """One VM or template, as read."""

    ref: Ref  # its reference
    uuid: str  # instance UUID; "" if it cannot be read
    name: str  # its name
    host: str  # moid of its host, "" none
    power: Power | None  # None: not told
    connected: bool  # vCenter knows its state
    readable: bool  # its settings could be read
    template: bool  # cannot be powered on
    question: str  # what waits for an answer
    boot: datetime | None  # by vCenter's clock
    tools: bool  # the guest can be asked to shut down
    memory_mb: int  # its size
    fixed: dict[str, DataObject] = field(default_factory=dict)  # PCI address -> fixed passthrough device
    others: int = 0  # further PCI devices: dynamic, vGPU, network functions, unknown
    locked: bool = False  # memory reservation locked to the size
    reservation_mb: int = 0  # memory reserved
    version: str = ""  # changeVersion; "" if the server has none
    hardware: str = ""  # vmx-19
    firmware: str = ""  # efi or bios
    extra: dict[str, str] = field(default_factory=dict)  # ExtraConfig keys about passthrough
    browser: Ref = None  # its environment browser
    tasks: tuple[Ref, ...] = ()  # its recent tasks

    @property
    def mmio_gb(self) -> int:
        """The 64-bit MMIO window that is set, GB; 0 none."""
        size = self.extra.get(MMIO_GB, "")
        return int(size) if size.isdigit() and self.extra.get(USE_MMIO, "").upper() == "TRUE" else 0


def read_vm(ref: Ref, row: Row) -> Vm:
    """A row of SEEN_PATHS or FULL_PATHS."""
    devices = row.get("config.hardware.device")
    fixed, others = sort_devices(devices or ())
    host = row.get("runtime.host")
    question = row.get("runtime.question")
    return Vm(
        ref=ref,
        uuid=str(row.get("config.instanceUuid") or row.get("summary.config.instanceUuid") or ""),
        name=str(row.get("name") or ref._moId),
        host=host._moId if host is not None else "",
        power=POWERS.get(str(row.get("runtime.powerState"))),
        connected=str(row.get("runtime.connectionState", "connected")) == "connected",
        readable=devices is not None,
        template=bool(row.get("config.template")),
        question=_question(question) if question is not None else "",
        boot=utc(row.get("runtime.bootTime")),
        tools=str(row.get("guest.toolsRunningStatus")) == "guestToolsRunning"
        and row.get("guest.guestStateChangeSupported") is not False,
        memory_mb=int(row.get("config.hardware.memoryMB") or 0),
        fixed=fixed,
        others=others,
        locked=bool(row.get("config.memoryReservationLockedToMax")),
        reservation_mb=int(row.get("config.memoryAllocation.reservation") or 0),
        version=str(row.get("config.changeVersion") or ""),
        hardware=str(row.get("config.version") or ""),
        firmware=str(row.get("config.firmware") or ""),
        extra={
            o.key: str(o.value) for o in row.get("config.extraConfig") or () if str(o.key).startswith("pciPassthru.")
        },
        browser=row.get("environmentBrowser"),
        tasks=tuple(row.get("recentTask") or ()),
    )


def sort_devices(devices: Iterable[DataObject]) -> tuple[dict[str, DataObject], int]:
    """Fixed passthrough devices by PCI address, and how many other PCI devices there are. Unknown types are counted."""
    fixed: dict[str, DataObject] = {}
    others = 0
    for device in devices:
        if not isinstance(device, PciDevice):
            others += type(device).__name__.endswith("VirtualSriovEthernetCard")
        elif isinstance(device.backing, FixedBacking) and pci.HEX.fullmatch(address := pci.normal(device.backing.id)):
            if address in fixed:
                others += 1  # the same card twice: settings made by hand; the first one stands for it
            fixed.setdefault(address, device)
        else:
            others += 1
    return fixed, others


@dataclass(frozen=True)
class HostRow:
    """One host, as read."""

    id: str  # its moid
    name: str  # its name
    connected: bool  # vCenter reaches it
    maintenance: bool  # in maintenance mode
    memory_mb: int  # of the host; 0 unknown
    cards: tuple[SeenCard, ...]  # its GPUs
    bound: dict[str, str]  # PCI address -> moid of the VM that runs with it
    card_mb: dict[str, int]  # PCI address -> memory of the card, where the host tells


def read_host(ref: Ref, row: Row, more: frozenset[str] = frozenset()) -> HostRow:
    """A row of HOST_PATHS; ``more``: ids (vendor:device) that count as GPUs besides NVIDIA's."""
    active = {pci.normal(i.id): bool(i.passthruActive) for i in row.get("config.pciPassthruInfo") or () if i.id}
    graphics = [g for g in row.get("config.graphicsInfo") or () if g.pciId]
    return HostRow(
        id=ref._moId,
        name=str(row.get("name") or ref._moId),
        connected=str(row.get("runtime.connectionState", "connected")) == "connected",
        maintenance=bool(row.get("runtime.inMaintenanceMode")),
        memory_mb=int(row.get("hardware.memorySize") or 0) >> 20,
        cards=tuple(_cards(row.get("hardware.pciDevice") or (), active, more)),
        bound=_bound(row.get("config.assignableHardwareBinding") or (), graphics),
        card_mb={pci.normal(g.pciId): int(g.memorySizeInKB) >> 10 for g in graphics if g.memorySizeInKB},
    )


def _cards(devices: Iterable[DataObject], active: dict[str, bool], more: frozenset[str]) -> Iterable[SeenCard]:
    for device in devices:
        ids = pci.ids(device.vendorId, device.deviceId)
        if device.id and (pci.is_gpu(device.vendorId, device.classId) or ids in more):
            address = pci.normal(device.id)
            yield SeenCard(pci=address, ids=ids, name=str(device.deviceName or ids), active=active.get(address, False))


def _bound(bindings: Iterable[DataObject], graphics: Iterable[DataObject]) -> dict[str, str]:
    """The format of an instance id is not documented; it contains the address, as does the graphics list."""
    bound = {pci.normal(g.pciId): g.vm[0]._moId for g in graphics if g.vm}
    for binding in bindings:
        match = re.search(pci.HEX, str(binding.instanceId or ""))
        if match and binding.vm is not None:
            bound[match.group(0).lower()] = binding.vm._moId
    return bound


def _question(question: DataObject) -> str:
    texts = [str(m.message) for m in question.message or () if m.message]
    return (str(question.text or "") or " ".join(texts) or "a question").strip()


def utc(value: Any) -> datetime | None:
    """An instant as the API carries it, aware; None for anything else."""
    if not isinstance(value, datetime):
        return None
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
