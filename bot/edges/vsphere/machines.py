"""VMs as rows of properties, read into values that cope with whatever is unset or unknown.

Called by `look` (all of them) and by `change`, `power` and `dryrun` (one of them, with its devices). Nothing is assumed to
be there: a server may leave out required fields, and a device's backing may be of any type: a fixed card, a dynamic one and a vGPU
are told apart by it, and what is none of them is counted and left alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.domain.mmio import MMIO_GB, USE_MMIO
from bot.domain.model import DynamicCard, Power, Unplaced, Vgpu
from bot.edges.vsphere import pci
from bot.edges.vsphere.client import Row
from bot.edges.vsphere.vmomi import DataObject, DynamicBacking, FixedBacking, PciDevice, Ref, VgpuBacking

SEEN_PATHS = (
    "name", "config.instanceUuid", "summary.config.instanceUuid", "config.template", "config.hardware.device",
    "config.hardware.memoryMB", "runtime.host", "runtime.powerState", "runtime.connectionState", "runtime.question",
    "runtime.bootTime", "guest.toolsRunningStatus", "guest.guestStateChangeSupported", "recentTask",
    "config.memoryReservationLockedToMax", "config.memoryAllocation.reservation", "config.version",
)  # fmt: skip
"""What a look asks of every VM."""

FULL_PATHS = (
    *SEEN_PATHS, "config.changeVersion", "config.firmware", "config.extraConfig", "environmentBrowser",
    "config.cpuHotAddEnabled", "snapshot",
)  # fmt: skip
"""What a change asks of one VM."""

TASK_PATHS = ("info.state", "info.descriptionId", "info.progress", "info.reason", "info.entity")
"""What is asked of the tasks of a VM."""

POWERS = {"poweredOn": Power.ON, "poweredOff": Power.OFF, "suspended": Power.SUSPENDED}


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
    unplaced: tuple[tuple[Unplaced, DataObject], ...] = ()  # dynamic cards and vGPUs, each with its device
    others: int = 0  # further PCI devices: network functions, device groups, unknown kinds
    locked: bool = False  # memory reservation locked to the size
    reservation_mb: int = 0  # memory reserved
    version: str = ""  # changeVersion; "" if the server has none
    hardware: str = ""  # vmx-19
    firmware: str = ""  # efi or bios
    extra: dict[str, str] = field(default_factory=dict)  # ExtraConfig keys about passthrough
    browser: Ref = None  # its environment browser
    tasks: tuple[Ref, ...] = ()  # its recent tasks
    hot_add: bool = False  # CPUs can be added while it runs
    snapshots: bool = False  # it has some

    @property
    def counted(self) -> Counter[Unplaced]:
        """Its devices that name no card, how many of each."""
        return Counter(one for one, _ in self.unplaced)

    @property
    def has_devices(self) -> bool:
        """Whether any PCI device is in its settings for which its memory must stay locked."""
        return bool(self.fixed or self.unplaced or self.others)

    @property
    def generation(self) -> int:
        """Its hardware version, 19 of ``vmx-19``; 0 not told."""
        match = re.fullmatch(r"vmx-(\d+)", self.hardware)
        return int(match[1]) if match else 0

    @property
    def mmio_gb(self) -> int:
        """The 64-bit MMIO window that is set, GB; 0 none."""
        size = self.extra.get(MMIO_GB, "")
        return int(size) if size.isdigit() and self.extra.get(USE_MMIO, "").upper() == "TRUE" else 0


def read_vm(ref: Ref, row: Row, more: frozenset[str] = frozenset()) -> Vm:
    """A row of SEEN_PATHS or FULL_PATHS; ``more``: ids that count as GPUs besides NVIDIA's."""
    devices = row.get("config.hardware.device")
    sorted_ = sort_devices(devices or (), more)
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
        fixed=sorted_.fixed,
        unplaced=tuple(sorted_.unplaced),
        others=sorted_.others,
        hot_add=bool(row.get("config.cpuHotAddEnabled")),
        snapshots=row.get("snapshot") is not None,
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


@dataclass
class Devices:
    """The PCI devices of a VM, each in the one way in which it is given."""

    fixed: dict[str, DataObject] = field(default_factory=dict)  # PCI address -> fixed passthrough device
    unplaced: list[tuple[Unplaced, DataObject]] = field(default_factory=list)  # dynamic cards and vGPUs
    others: int = 0  # what is none of these: network functions, groups, unknown kinds


def sort_devices(devices: Iterable[DataObject], more: frozenset[str] = frozenset()) -> Devices:
    """By the type of their backing; unknown types are counted. ``more``: ids that count as GPUs besides NVIDIA's."""
    found = Devices()
    for device in devices:
        if not isinstance(device, PciDevice):
            found.others += type(device).__name__.endswith("VirtualSriovEthernetCard")
        elif isinstance(device.backing, FixedBacking) and pci.HEX.fullmatch(address := pci.normal(device.backing.id)):
            if address in found.fixed:
                found.others += 1  # the same card twice: settings made by hand; the first one stands for it
            found.fixed.setdefault(address, device)
        elif grouped(device) or (unplaced := unplaced_of(device.backing, more)) is None:
            found.others += 1
        else:
            found.unplaced.append((unplaced, device))
    return found


def grouped(device: DataObject) -> bool:
    """Whether a device comes and goes only with its vendor device group."""
    return getattr(device, "deviceGroupInfo", None) is not None


def unplaced_of(backing: DataObject, more: frozenset[str] = frozenset()) -> Unplaced | None:
    """What a backing that names no card says; None: none of ours. A dynamic one that allows several kinds of devices is none of ours."""
    if isinstance(backing, VgpuBacking):
        return Vgpu(str(backing.vgpu)) if backing.vgpu else None
    if isinstance(backing, DynamicBacking):
        allowed = list(backing.allowedDevice or ())
        ids = pci.ids(allowed[0].vendorId, allowed[0].deviceId) if len(allowed) == 1 else ""
        if ids and (ids.startswith(f"{pci.NVIDIA:04x}:") or ids in more):
            return DynamicCard(ids, str(backing.customLabel or ""))
    return None


def _question(question: DataObject) -> str:
    texts = [str(m.message) for m in question.message or () if m.message]
    return (str(question.text or "") or " ".join(texts) or "a question").strip()


def utc(value: Any) -> datetime | None:
    """An instant as the API carries it, aware; None for anything else."""
    if not isinstance(value, datetime):
        return None
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
