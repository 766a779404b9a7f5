"""Changing the fixed cards of a VM that is off: decide from a fresh read, one ConfigSpec, read back.

Called by `lab`. `send` is the one place from which a ConfigSpec leaves the bot, and it refuses every field that is not on
the list of `guard`. Backings come from QueryConfigTarget and nowhere else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.edges.vsphere import pci
from bot.edges.vsphere.client import Client
from bot.edges.vsphere.machines import MMIO_GB, USE_MMIO, HostRow, Vm
from bot.edges.vsphere.vmomi import DataObject, FixedBacking, PciDevice, Ref, support, vim
from bot.service.ports import LabStep, NeedsPerson

TARGET_S = 600.0  # how long a host's answer to QueryConfigTarget is kept; thrown away at once when it proves stale
SMALL_GB = 16  # memory of cards up to which the 64-bit MMIO keys are left alone

SPEC_FIELDS = frozenset(
    {"changeVersion", "deviceChange", "memoryReservationLockedToMax", "memoryAllocation", "extraConfig"}
)
EXTRA_KEYS = frozenset({USE_MMIO, MMIO_GB})


class ForeignFieldError(NeedsPerson):
    """A ConfigSpec that would change more than cards, their memory lock and their MMIO window."""


@dataclass(frozen=True)
class Plan:
    """What is to be sent; made by `decide`."""

    spec: DataObject  # the ConfigSpec
    order: tuple[str, ...]  # PCI address of each device change, by index


class Targets:
    """What each host offers for passthrough (QueryConfigTarget), kept for a while."""

    def __init__(self, real: Callable[[], float]) -> None:
        """``real``: real seconds, monotonic."""
        self._real = real
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, dict[str, DataObject]]] = {}

    def of(self, client: Client, vm: Vm) -> dict[str, DataObject]:
        """PCI address -> PciPassthroughInfo (``pciDevice``, ``systemId``) of the VM's host."""
        with self._lock:
            kept = self._kept.get(vm.host)
        if kept is not None and self._real() < kept[0] + TARGET_S:
            return kept[1]
        if vm.browser is None or not vm.host:
            raise NeedsPerson(f"vCenter does not say which devices the host of {vm.name} offers")
        host = vim.HostSystem(vm.host, client.stub)
        target = client.ask(lambda: vm.browser.QueryConfigTarget(host))
        infos = (target.pciPassthrough if target is not None else None) or ()
        offered = {pci.normal(i.pciDevice.id): i for i in infos if i.pciDevice is not None and i.pciDevice.id}
        with self._lock:
            self._kept[vm.host] = (self._real(), offered)
        return offered

    def drop(self, host: str) -> None:
        """Ask again next time."""
        with self._lock:
            self._kept.pop(host, None)


def backing(info: DataObject) -> DataObject:
    """The backing of a fixed device, from a PciPassthroughInfo. The only maker of backings."""
    device = info.pciDevice
    return FixedBacking(
        id=device.id,
        deviceId=format(pci.unsigned(device.deviceId), "x"),  # hex of 16 bits, no 0x; never stripped of zeros by hand
        systemId=info.systemId,
        vendorId=device.vendorId,  # signed, as it came
        deviceName=device.deviceName or "",
    )


def settled(vm: Vm, step: LabStep) -> bool:
    """Whether the effect of ``step`` is there already, so that nothing is to be sent."""
    devices = not (set(step.take_pci) & vm.fixed.keys()) and set(step.put_pci) <= vm.fixed.keys()
    return devices and _memory(vm, step) == (None, None)


def _memory(vm: Vm, step: LabStep) -> tuple[bool | None, int | None]:
    """(lock, reservation) to be sent; None: as it is."""
    left = (vm.fixed.keys() | set(step.put_pci)) - set(step.take_pci)
    if left or vm.others:  # never unlocked while any device of the kind remains
        wanted = bool(step.put_pci) or step.lock_memory is True
        return (True, None) if wanted and not vm.locked else (None, None)
    if step.lock_memory is not False:
        return (True, None) if step.lock_memory and not vm.locked else (None, None)
    if step.reservation_mb is not None and (vm.locked or vm.reservation_mb != step.reservation_mb):
        return (False if vm.locked else None), step.reservation_mb
    return (False if vm.locked else None), None


def decide(vm: Vm, step: LabStep, offered: Mapping[str, DataObject], host: HostRow | None) -> Plan:
    """The spec that makes ``step`` true of ``vm``. ``offered`` and ``host`` are needed if something is put on."""
    takes = [a for a in step.take_pci if a in vm.fixed]
    puts = [a for a in step.put_pci if a not in vm.fixed]
    changes = [vim.vm.device.VirtualDeviceSpec(operation="remove", device=vm.fixed[address]) for address in takes]
    for number, address in enumerate(puts, start=1):
        device = PciDevice(key=-number, backing=backing(offered[address]))  # distinct keys, or all are refused as one
        changes.append(vim.vm.device.VirtualDeviceSpec(operation="add", device=device))
    spec = vim.vm.ConfigSpec(deviceChange=changes)
    if vm.version:
        spec.changeVersion = vm.version
    lock, reservation = _memory(vm, step)
    if puts:
        lock = True
    if lock is not None:
        spec.memoryReservationLockedToMax = lock
    if reservation is not None:
        spec.memoryAllocation = vim.ResourceAllocationInfo(reservation=support.long(reservation))
    if puts and host is not None:
        left = (vm.fixed.keys() | set(step.put_pci)) - set(step.take_pci)
        spec.extraConfig = mmio_options(vm, left, host)
    return Plan(spec, (*takes, *puts))


def mmio_options(vm: Vm, cards: set[str], host: HostRow) -> list[DataObject]:
    """ExtraConfig for a wide enough 64-bit MMIO window; nothing if it is, or if the cards' memory is not known."""
    if not all(card in host.card_mb for card in cards):
        return []
    total = -(-sum(host.card_mb[card] for card in cards) // 1024)
    need = mmio_gb(total)
    if total <= SMALL_GB or vm.mmio_gb >= need:
        return []
    values = {USE_MMIO: "TRUE", MMIO_GB: str(need)}
    return [vim.option.OptionValue(key=key, value=value) for key, value in values.items()]


def mmio_gb(total: int) -> int:
    """Window for cards of ``total`` GB together: rounded up to a power of two, and one power higher."""
    return 2 * (1 << max(0, total - 1).bit_length())


def guard(spec: DataObject) -> None:
    """The choke point: raise ForeignFieldError for anything but cards, memory lock, reservation and MMIO keys."""
    for name in _given(spec):
        if name not in SPEC_FIELDS:
            raise ForeignFieldError(f"the bot does not change {name} of a machine")
    for change in spec.deviceChange or ():
        _guard_device(change)
    if spec.memoryAllocation is not None:
        for name in _given(spec.memoryAllocation) - {"reservation"}:
            raise ForeignFieldError(f"the bot does not change memoryAllocation.{name} of a machine")
    for option in spec.extraConfig or ():
        if option.key not in EXTRA_KEYS:
            raise ForeignFieldError(f"the bot does not change {option.key} of a machine")


def _guard_device(change: DataObject) -> None:
    device = change.device
    if extra := _given(change) - {"operation", "device"}:
        raise ForeignFieldError(f"the bot does not use {', '.join(sorted(extra))} of a device change")
    if type(device) is not PciDevice or not isinstance(device.backing, FixedBacking):
        raise ForeignFieldError(f"the bot changes only fixed passthrough devices, not {type(device).__name__}")
    if getattr(device, "deviceGroupInfo", None) is not None:
        raise ForeignFieldError("the bot does not touch a device of a vendor device group")
    if change.operation not in ("add", "remove"):
        raise ForeignFieldError(f"the bot does not {change.operation} a device")
    if (change.operation == "add") != (device.key < 0):
        raise ForeignFieldError("a new device has a negative key, one that is taken off has the server's")


def _given(value: DataObject) -> set[str]:
    """Names of the fields that are set."""
    return {p.name for p in value._GetPropertyList() if getattr(value, p.name) not in (None, [])}


def send(client: Client, vm: Vm, spec: DataObject) -> Ref:
    """The only caller of ReconfigVM_Task. Returns the task."""
    guard(spec)
    return client.send(lambda: vm.ref.ReconfigVM_Task(spec))


def unmade(vm: Vm, step: LabStep) -> str:
    """What a read back does not show of ``step``, in words; "" all is there."""
    still, absent = set(step.take_pci) & vm.fixed.keys(), set(step.put_pci) - vm.fixed.keys()
    parts = [f"{a} is still in its settings" for a in sorted(still)] + [f"{a} is not in them" for a in sorted(absent)]
    if step.put_pci and not absent and not vm.locked and vm.reservation_mb < vm.memory_mb:
        parts.append("its memory is not locked")
    return ", ".join(parts)
