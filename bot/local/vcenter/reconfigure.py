"""The rules of ReconfigVM for PCI devices (fixed, dynamic, vGPU) and memory. All or nothing a spec.

Called by ``world`` inside the inventory's lock, when the task runs. Works on copies and puts them in place at the end.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass

from bot.local.vcenter.devices import PCI, kind_of, word
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.metal import Metal
from bot.local.vcenter.models import Profile
from bot.local.vcenter.vmomi import DataObject, Refusal, support, vim, vmodl

KNOWN = {
    "changeVersion",
    "deviceChange",
    "memoryReservationLockedToMax",
    "memoryAllocation",
    "extraConfig",
    "name",
    "annotation",
    "memoryMB",
    "numCPUs",
    "firmware",
    "cpuHotAddEnabled",
}  # fields of a spec that are carried out; others are refused, not swallowed
API_KEYS = ("sched.mem.", "sched.cpu.", "memsize", "numvcpus", "firmware", "displayname")  # have API fields: ignored
OFF_ONLY = ("memoryMB", "numCPUs", "firmware", "cpuHotAddEnabled")
MAX_PCI = 16  # passthrough devices a VM
DYNAMIC_FROM = 17  # hardware version that knows Dynamic DirectPath I/O
SEVERAL_FROM, FRACTIONS_FROM = 15, 20  # hardware versions that take several vGPUs: whole cards only, and any
MAX_VGPUS = {False: 4, True: 8}  # vGPUs a VM below and from FRACTIONS_FROM


@dataclass(frozen=True)
class Limits:
    """What the host allows at this moment."""

    metal: Metal  # of the VM's host
    memory_mb: int  # what a memory lock may claim
    strict: bool  # wrong ids are refused at once
    hot_fault: str  # name of the fault for a device change while on
    dynamic: bool = True  # this release knows Dynamic DirectPath I/O
    one_a_spec: bool = False  # two dynamic devices of equal kind in one spec are refused
    named: frozenset[str] = frozenset()  # cards that are refused, since other VMs' settings name them


class Change:
    """One spec on its way into one VM."""

    def __init__(self, vm: Node, spec: DataObject, limits: Limits) -> None:
        """Nothing is checked or changed yet."""
        self.vm, self.spec, self.limits = vm, spec, limits
        self.config = vm.props["config"]
        self.devices: list[DataObject] = list(self.config.hardware.device)
        self.added: list[DataObject] = []
        self.removed: list[DataObject] = []

    @property
    def power(self) -> str:
        """The VM's power state."""
        return str(self.vm.props["runtime"].powerState)

    def check(self) -> None:
        """Raise a Refusal if any part of the spec is against the rules."""
        spec, config = self.spec, self.config
        if spec.changeVersion and spec.changeVersion != config.changeVersion:
            raise Refusal(
                vim.fault.ConcurrentAccess(),
                "Cannot complete operation due to concurrent modification by another operation.",
            )
        self._fields()
        keys: set[int] = set()
        for index, change in enumerate(spec.deviceChange or ()):
            self._device(index, change, keys)
        self._memory()

    def _fields(self) -> None:
        given = {p.name for p in self.spec._GetPropertyList() if getattr(self.spec, p.name) not in (None, [])}
        if unknown := sorted(given - KNOWN - {"dynamicProperty", "dynamicType"}):
            raise Refusal(vmodl.fault.NotSupported(), f"The stand-in does not carry out: {', '.join(unknown)}")
        if self.power != "poweredOff" and given.intersection(OFF_ONLY):
            raise invalid_state("poweredOff", self.power)

    def _device(self, index: int, change: DataObject, keys: set[int]) -> None:
        device, where = change.device, f"deviceChange[{index}]"
        if not isinstance(device, PCI):
            raise _device_spec(where, index, "Only PCI passthrough devices can be changed here.")
        if self.power != "poweredOff":
            raise self._hot()
        if change.operation == "remove":
            self._remove(index, device)
        elif change.operation == "add":
            if device.key in keys:
                raise _device_spec(f"{where}.device.key", index, f"Duplicate device key {device.key}.")
            keys.add(device.key)
            self._add(index, device)
        else:
            fault = vim.fault.InvalidDeviceOperation(badOp=change.operation, property=where, deviceIndex=index)
            raise Refusal(fault, f"Invalid operation for device '{index}'.")

    def _hot(self) -> Refusal:
        kind = self.limits.hot_fault
        text = f"The attempted operation cannot be performed in the current state ({self.power})."
        if kind == "InvalidPowerState":
            return invalid_state("poweredOff", self.power)
        if kind == "DeviceHotPlugNotSupported":
            return Refusal(vim.fault.DeviceHotPlugNotSupported(property="deviceChange", deviceIndex=0), text)
        return Refusal(vim.fault.GenericVmConfigFault(reason=text), text)

    def _remove(self, index: int, device: DataObject) -> None:
        found = next((d for d in self.devices if d.key == device.key and d not in self.added), None)
        where = f"deviceChange[{index}].device.key"
        if found is None:
            raise _device_spec(
                where, index, f"Invalid configuration for device '{index}': no device with key {device.key}."
            )
        other = device.backing is not None and kind_of(found) != kind_of(device)
        if type(found) is not type(device) or other:
            raise _device_spec(
                where, index, f"Invalid configuration for device '{index}': key {device.key} is another type."
            )
        if found.deviceGroupInfo is not None:
            fault = vim.fault.InvalidDeviceOperation(badOp="remove", property=where, deviceIndex=index)
            raise Refusal(fault, f"Device '{index}' is a member of a device group, which is removed as a whole.")
        self.devices.remove(found)
        self.removed.append(found)

    def _add(self, index: int, device: DataObject) -> None:
        backing, kind = device.backing, kind_of(device)
        if kind == "fixed":
            summary = self._fixed(index, backing)
        elif kind == "dynamic":
            summary = self._dynamic(index, device)
        elif kind == "vgpu":
            summary = self._vgpu(index, backing.vgpu)
        else:
            raise _backing(index, "A device of this backing is not offered by this host.")
        if sum(isinstance(d, PCI) for d in self.devices) >= MAX_PCI:
            raise _device_spec(f"deviceChange[{index}]", index, f"More than {MAX_PCI} PCI devices.")
        made = copy.deepcopy(device)
        if kind == "dynamic":
            made.backing.assignedId = None  # the server's own word, set while the VM is on
        made.key = next(k for k in itertools.count(13000) if all(d.key != k for d in self.devices))
        made.controllerKey, made.unitNumber = 100, _unit(self.devices)
        made.deviceInfo = vim.Description(label=f"PCI device {made.key - 13000}", summary=summary)
        self.devices.append(made)
        self.added.append(made)

    def _fixed(self, index: int, backing: DataObject) -> str:
        card = self.limits.metal.card(backing.id)
        if card is None or not card.active:
            raise _backing(index, f"PCI device {backing.id} is not an available passthrough device of this host.")
        if any(kind_of(d) == "fixed" and d.backing.id == backing.id for d in self.devices):
            raise _backing(index, f"PCI device {backing.id} is already present in the virtual machine.")
        if backing.id in self.limits.named:
            raise _backing(index, f"PCI device {backing.id} is configured in another virtual machine.")
        if self.limits.strict and (why := wrong_ids(backing, self.limits.metal)):
            raise _backing(index, why)
        return card.model.chip

    def _dynamic(self, index: int, device: DataObject) -> str:
        equal = [d for d in self.added if kind_of(d) == "dynamic" and word(d) == word(device)]
        if self.limits.one_a_spec and equal:
            raise _device_spec(f"deviceChange[{index}]", index, f"Invalid configuration for device '{index}'.")
        if not self.limits.dynamic:
            raise _backing(index, "Dynamic DirectPath I/O is not supported by this release.")
        if self.hardware < DYNAMIC_FROM:
            why = f"Dynamic DirectPath I/O needs hardware version {DYNAMIC_FROM} or later"
            raise _backing(index, f"{why}, the virtual machine has {self.hardware}.")
        return "Dynamic DirectPath IO device"

    def _vgpu(self, index: int, name: str) -> str:
        metal = self.limits.metal
        profile = metal.profile(name)
        if profile is None:
            raise _backing(index, f"vGPU profile '{name}' is not in the allowed list of this host.")
        others = [metal.profile(d.backing.vgpu) for d in self.devices if kind_of(d) == "vgpu"]
        if others:
            several = [p for p in (*others, profile) if p is not None]
            if why := too_many(
                self.hardware, len(others) + 1, all(p.compute for p in several), all(map(_whole, several))
            ):
                raise _backing(index, why)
        return f"NVIDIA GRID vGPU {name}"

    @property
    def hardware(self) -> int:
        """The VM's hardware version: 19 for vmx-19."""
        return int(str(self.config.version).partition("-")[2] or 0)

    def _memory(self) -> None:
        spec, size = self.spec, self._size()
        locked = self._locked()
        asked = spec.memoryAllocation.reservation if spec.memoryAllocation is not None else None
        if asked is not None and (asked > size or (locked and asked != size)):
            text = "A specified parameter was not correct: memoryAllocation.reservation"
            raise Refusal(vmodl.fault.InvalidArgument(invalidProperty="configSpec.memoryAllocation.reservation"), text)
        if locked and size > self.limits.memory_mb:
            fault = vim.fault.InsufficientMemoryResourcesFault(
                unreserved=support.long(self.limits.memory_mb), requested=support.long(size)
            )
            raise Refusal(fault, "The host does not have sufficient memory resources to satisfy the reservation.")

    def _size(self) -> int:
        return int(self.spec.memoryMB if self.spec.memoryMB is not None else self.config.hardware.memoryMB)

    def _locked(self) -> bool:
        wanted = self.spec.memoryReservationLockedToMax
        return bool(self.config.memoryReservationLockedToMax if wanted is None else wanted)

    def apply(self, version: str) -> list[str]:
        """Put the checked spec in place; ``version`` is the new changeVersion. Returns the names of changed fields."""
        spec, config = self.spec, self.config
        before = (config.memoryReservationLockedToMax, config.memoryAllocation.reservation)
        config.hardware.device = self.devices
        config.hardware.memoryMB = self._size()
        config.memoryReservationLockedToMax = self._locked()
        if self._locked():
            config.memoryAllocation.reservation = support.long(self._size())
        elif spec.memoryAllocation is not None and spec.memoryAllocation.reservation is not None:
            config.memoryAllocation.reservation = support.long(spec.memoryAllocation.reservation)
        for name in ("annotation", "firmware", "cpuHotAddEnabled", "name"):
            if getattr(spec, name) is not None:
                setattr(config, name, getattr(spec, name))
        self.vm.props["name"] = config.name
        if spec.numCPUs is not None:
            config.hardware.numCPU = spec.numCPUs
        self._extra()
        config.changeVersion = version
        after = (config.memoryReservationLockedToMax, config.memoryAllocation.reservation)
        changed = ["memory"] if before != after else []
        changed += [n for n in (*OFF_ONLY, "annotation", "name", "extraConfig") if getattr(spec, n) not in (None, [])]
        return changed

    def _extra(self) -> None:
        values = {o.key: o for o in self.config.extraConfig}
        for option in self.spec.extraConfig or ():
            if option.key.lower().startswith(API_KEYS):
                continue  # has a field of its own: a real server ignores the key in silence
            values.pop(option.key, None)
            if option.value != "":
                values[option.key] = option
        self.config.extraConfig = list(values.values())


def _whole(profile: Profile) -> bool:
    return profile.count == 1


def too_many(hardware: int, number: int, compute: bool, whole: bool) -> str:
    """Why a VM cannot have so many vGPUs; empty if it can. ``compute``: all are Q or C series; ``whole``: each is a whole card."""
    most = MAX_VGPUS[hardware >= FRACTIONS_FROM]
    if hardware < SEVERAL_FROM:
        return f"Several vGPUs need hardware version {SEVERAL_FROM} or later, the virtual machine has {hardware}."
    if not compute:
        return "Several vGPUs in one virtual machine are supported for Q and C series alone."
    if hardware < FRACTIONS_FROM and not whole:
        return f"Several vGPUs that are parts of a card need hardware version {FRACTIONS_FROM}: it has {hardware}."
    return f"More than {most} vGPUs." if number > most else ""


def wrong_ids(backing: DataObject, metal: Metal) -> str:
    """Why the ids of a fixed ``backing`` do not fit the card; empty if they do."""
    card = metal.card(backing.id)
    if card is None:
        return f"Device {backing.id} is not a passthrough device."
    try:
        given = int(str(backing.deviceId), 16)
    except ValueError:
        given = -1
    vendor = int(backing.vendorId or 0) & 0xFFFF
    if (given, vendor, backing.systemId) != (card.pci.device, card.pci.vendor, metal.system_id):
        return (
            f"The systemId, deviceId or vendorId of device {backing.id} does not match the host's "
            f"({backing.systemId}, {backing.deviceId}, {vendor})."
        )
    return ""


def _unit(devices: list[DataObject]) -> int:
    used = {d.unitNumber for d in devices}
    return next(n for n in itertools.count(18) if n not in used)


def invalid_state(wanted: str, existing: str) -> Refusal:
    """InvalidPowerState with both states."""
    words = {"poweredOn": "Powered on", "poweredOff": "Powered off", "suspended": "Suspended"}
    text = f"The attempted operation cannot be performed in the current state ({words.get(existing, existing)})."
    return Refusal(vim.fault.InvalidPowerState(requestedState=wanted, existingState=existing), text)


def _device_spec(where: str, index: int, text: str) -> Refusal:
    return Refusal(vim.fault.InvalidDeviceSpec(property=where, deviceIndex=index), text)


def _backing(index: int, text: str) -> Refusal:
    where = f"deviceChange[{index}].device.backing"
    return Refusal(vim.fault.InvalidDeviceBacking(property=where, deviceIndex=index), text)
