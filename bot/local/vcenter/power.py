"""The rules of power-on: in which order it is checked, and what each refusal looks like. Decides; changes nothing.

Called by ``world`` inside the inventory's lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.local.vcenter.hardware import CARD_MB
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.reconfigure import PCI, invalid_state, wrong_ids
from bot.local.vcenter.vmomi import DataObject, Refusal, support, vim, vmodl

OVERHEAD_MB = 1024  # memory that a running VM costs beyond its reservation


@dataclass(frozen=True)
class HostFacts:
    """What power-on looks at besides the VM."""

    host: Node  # the host
    memory_mb: int  # memory that VMs may reserve in all
    reserved_mb: int  # reserved by VMs that are on
    active: frozenset[str]  # PCI ids whose passthrough is in effect
    bound: Mapping[str, str]  # PCI id -> moid of the VM it is bound to
    system_id: str  # of the host


def check_host(host: Node) -> None:
    """Refuse if vCenter cannot reach the host."""
    state = host.props["runtime"].connectionState
    if state == "disconnected":
        raise Refusal(
            vmodl.fault.HostNotConnected(), "Unable to communicate with the remote host, since it is disconnected."
        )
    if state == "notResponding":
        raise Refusal(
            vmodl.fault.HostNotReachable(), "Unable to communicate with the remote host: it does not respond."
        )


def cards_of(vm: Node) -> list[DataObject]:
    """The passthrough devices in a VM's configuration."""
    config = vm.props["config"]
    return [d for d in config.hardware.device if isinstance(d, PCI)] if config is not None else []


def admit(vm: Node, facts: HostFacts) -> list[str]:
    """The PCI ids to bind if ``vm`` may start, else a Refusal. Order: state, host, memory, MMIO, ids, exclusivity."""
    config, state = vm.props["config"], vm.props["runtime"].powerState
    if config is None:
        raise Refusal(vim.fault.InvalidState(), "The virtual machine is inaccessible.")
    if config.template:
        raise Refusal(vmodl.fault.NotSupported(), "The operation is not supported on the object: it is a template.")
    if state == "poweredOn":
        raise invalid_state("poweredOn", state)
    check_host(facts.host)
    if facts.host.props["runtime"].inMaintenanceMode:
        raise Refusal(vim.fault.InvalidHostState(host=facts.host.ref), "The host is in maintenance mode.")
    devices = cards_of(vm)
    _memory(config, devices, facts)
    _mmio(config, devices)
    ids = [d.backing.id for d in devices]
    for device in devices:
        if why := wrong_ids(device.backing, facts.system_id):
            raise _stopped(why)
        if device.backing.id not in facts.active:
            raise _stopped(f"Device {device.backing.id} is not a passthrough device.")
    for pci in ids:
        if facts.bound.get(pci, vm.moid) != vm.moid:
            raise _stopped(f"Device {pci} is already in use.")
    return ids


def _memory(config: DataObject, devices: list[DataObject], facts: HostFacts) -> None:
    size, reserved = int(config.hardware.memoryMB), int(config.memoryAllocation.reservation or 0)
    if devices and reserved < size:
        why = f"Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize({size})."
        raise _stopped(why, "MonitorLoop")
    free = facts.memory_mb - facts.reserved_mb
    if reserved + OVERHEAD_MB > free:
        fault = vim.fault.InsufficientMemoryResourcesFault(
            unreserved=support.long(max(free, 0) << 20), requested=support.long((reserved + OVERHEAD_MB) << 20)
        )
        raise Refusal(fault, "The host does not have sufficient memory resources to satisfy the reservation.")


def mmio_needed_gb(cards: int) -> int:
    """64-bit MMIO window for so many cards: their memory, up to a power of two, then one power more."""
    total = cards * CARD_MB // 1024
    size = 1
    while size < total:
        size *= 2
    return size * 2


def _mmio(config: DataObject, devices: list[DataObject]) -> None:
    if not devices:
        return
    if config.firmware != "efi":
        raise _stopped("The firmware could not allocate memory-mapped I/O: a BIOS guest cannot map this device.")
    if len(devices) < 2:
        return  # one T4 sits at the limit and starts without the keys
    extra = {o.key: str(o.value) for o in config.extraConfig}
    size = extra.get("pciPassthru.64bitMMIOSizeGB", "0")
    window = int(size) if size.isdigit() and extra.get("pciPassthru.use64bitMMIO", "").upper() == "TRUE" else 0
    if window < mmio_needed_gb(len(devices)):
        raise _stopped(f"PCI passthrough devices need {mmio_needed_gb(len(devices))} GB of MMIO, {window} GB are set.")


def _stopped(why: str, module: str = "DevicePowerOn") -> Refusal:
    lines = (f"Module '{module}' power on failed.", "Failed to start the virtual machine.")
    chain = [vmodl.LocalizableMessage(key="msg.vmx.poweron", message=text) for text in (why, *lines)]
    return Refusal(vim.fault.GenericVmConfigFault(reason=why, faultMessage=chain), f"{why} {lines[0]}")
