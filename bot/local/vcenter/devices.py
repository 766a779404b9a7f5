"""What the PCI devices of a VM are: fixed cards, dynamic ones, vGPUs and what is none of ours. Pure; called by every rule.

``word`` is how the journal and the control side name a device: ``0000:3b:00.0``, ``dynamic 10de:1eb8 t4-pool``, ``vgpu grid_t4-8q``.
"""

from __future__ import annotations

from typing import Any

from bot.local.vcenter.inventory import Node
from bot.local.vcenter.vmomi import DataObject, vim

PCI: Any = vim.vm.device.VirtualPCIPassthrough
OVERLAPS: Any = vim.vm.device.VirtualSriovEthernetCard  # a passthrough device that is no PCI one to the API


def kind_of(device: DataObject) -> str:
    """fixed, dynamic, vgpu, or other."""
    backing = device.backing if isinstance(device, PCI) else None
    if isinstance(backing, PCI.DynamicBackingInfo):
        return "dynamic"
    if isinstance(backing, PCI.VmiopBackingInfo):
        return "vgpu"
    return "fixed" if isinstance(backing, PCI.DeviceBackingInfo) else "other"


def cards_of(vm: Node) -> list[DataObject]:
    """The passthrough devices in a VM's configuration, of whatever backing."""
    config = vm.props["config"]
    return [d for d in config.hardware.device if isinstance(d, PCI)] if config is not None else []


def forget_assigned(vm: Node) -> None:
    """A VM that is off has no card of its dynamic devices, whether its settings can be read or not."""
    config = vm.props["config"] or vm.memo.get("config")
    for device in config.hardware.device if config is not None else ():
        if kind_of(device) == "dynamic":
            device.backing.assignedId = None


def of_kind(vm: Node, kind: str) -> list[DataObject]:
    """Those of one kind."""
    return [d for d in cards_of(vm) if kind_of(d) == kind]


def word(device: DataObject) -> str:
    """A device in one word or three."""
    backing, kind = device.backing, kind_of(device)
    if kind == "fixed":
        return str(backing.id)
    if kind == "vgpu":
        return f"vgpu {backing.vgpu}"
    if kind == "dynamic":
        ids = ",".join(f"{pair[0]:04x}:{pair[1]:04x}" for pair in allowed(backing)) or "any"
        return f"dynamic {ids} {backing.customLabel or ''}".rstrip()
    return f"other {type(backing).__name__.rpartition('.')[2]}"


def words(vm: Node) -> list[str]:
    """All devices of a VM, in the order of its list."""
    return [word(d) for d in cards_of(vm)]


def allowed(backing: DataObject) -> tuple[tuple[int, int], ...]:
    """(vendor, device) pairs that a dynamic backing takes, unsigned."""
    return tuple((int(a.vendorId) & 0xFFFF, int(a.deviceId) & 0xFFFF) for a in backing.allowedDevice or ())


def fixed_device(pci: str, vendor: int, device: int, system_id: str, name: str, key: int = -1) -> DataObject:
    """A fixed card for a ConfigSpec; ``vendor`` as the wire carries it (signed), ``device`` unsigned."""
    backing = PCI.DeviceBackingInfo(
        id=pci, deviceId=f"{device:x}", systemId=system_id, vendorId=vendor, deviceName=name
    )
    return PCI(key=key, backing=backing)


def dynamic_device(vendor: int, device: int, label: str = "", key: int = -1) -> DataObject:
    """A dynamic card for a ConfigSpec; ids unsigned; no label: any."""
    one = PCI.AllowedDevice(vendorId=vendor, deviceId=device)
    return PCI(key=key, backing=PCI.DynamicBackingInfo(deviceName="", allowedDevice=[one], customLabel=label or None))


def vgpu_device(profile: str, key: int = -1) -> DataObject:
    """A vGPU for a ConfigSpec."""
    return PCI(key=key, backing=PCI.VmiopBackingInfo(vgpu=profile))
