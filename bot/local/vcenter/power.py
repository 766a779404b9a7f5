"""The rules of power-on: in which order it is checked, what each refusal looks like, and what is bound. Decides; changes nothing.

Called by ``world`` inside the inventory's lock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bot.local.vcenter.devices import PCI, cards_of, kind_of
from bot.local.vcenter.hardware import CARD_MB
from bot.local.vcenter.inventory import Node
from bot.local.vcenter.metal import Card, Metal, Part
from bot.local.vcenter.placement import Order, choose, fits, place
from bot.local.vcenter.reconfigure import invalid_state, wrong_ids
from bot.local.vcenter.vmomi import DataObject, Refusal, support, vim, vmodl

__all__ = ["OVERHEAD_MB", "PCI", "Binding", "HostFacts", "admit", "cards_of", "check_host", "mmio_needed_gb"]

OVERHEAD_MB = 1024  # memory that a running VM costs beyond its reservation
PCI_ID = re.compile(r"\b[0-9a-f]{4}:([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])\b")
C_WINDOW_GB = 64  # MMIO that a vGPU of the C series needs


@dataclass(frozen=True)
class HostFacts:
    """What power-on looks at besides the VM."""

    host: Node  # the host
    metal: Metal  # its hardware
    reserved_mb: int  # reserved by VMs that are on
    order: Order  # in which the host tries its cards for dynamic devices
    vgpu_fault: str = "InsufficientGraphicsResourcesFault"  # or GenericVmConfigFault: no room for a vGPU


@dataclass(frozen=True)
class Binding:
    """What a VM gets when it starts."""

    fixed: tuple[str, ...] = ()  # PCI ids, in the order of its devices
    dynamic: dict[int, str] = field(default_factory=dict)  # device key -> PCI id
    parts: dict[str, list[Part]] | None = None  # all vGPUs of the host, its own among them; None: it has none


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


def check_vm(vm: Node) -> None:
    """Refuse if the VM cannot be worked on: inaccessible, orphaned, a template."""
    config, runtime = vm.props["config"], vm.props["runtime"]
    if config is None:
        raise Refusal(vim.fault.InvalidState(), "The virtual machine is inaccessible.")
    if runtime.connectionState == "orphaned":
        raise Refusal(vim.fault.InvalidState(), "The virtual machine is orphaned: its host does not know it.")
    if config.template:
        raise Refusal(vmodl.fault.NotSupported(), "The operation is not supported on the object: it is a template.")


def by_host(refusal: Refusal) -> bool:
    """Whether a refusal is about what the host can give: in a cluster it comes as NoCompatibleHost."""
    fault = refusal.fault
    return isinstance(fault, (vim.fault.GenericVmConfigFault, vim.fault.InsufficientResourcesFault))


def in_decimal(refusal: Refusal) -> Refusal:
    """The same, with cards named in decimal as in .vmx files: ``59:0.0`` for ``0000:3b:00.0``."""

    def plain(text: str) -> str:
        return PCI_ID.sub(lambda m: f"{int(m[1], 16)}:{int(m[2], 16)}.{m[3]}", text)

    fault = refusal.fault
    for message in fault.faultMessage or ():
        message.message = plain(message.message)
    if getattr(fault, "reason", None):
        fault.reason = plain(fault.reason)
    return Refusal(fault, plain(fault.msg))


def no_host(host: Node, refusal: Refusal) -> Refusal:
    """NoCompatibleHost with the cause below, as a cluster puts it."""
    return Refusal(
        vim.fault.NoCompatibleHost(host=[host.ref], error=[refusal.fault]),
        "No host is compatible with the virtual machine.",
    )


def admit(vm: Node, facts: HostFacts) -> Binding:
    """What to bind if ``vm`` may start, else a Refusal.

    Order: state, host, memory, MMIO, ids, exclusivity, a matching card for dynamic devices, room for vGPUs.
    """
    check_vm(vm)
    config, state = vm.props["config"], vm.props["runtime"].powerState
    if state == "poweredOn":
        raise invalid_state("poweredOn", state)
    check_host(facts.host)
    if facts.host.props["runtime"].inMaintenanceMode:
        raise Refusal(vim.fault.InvalidHostState(host=facts.host.ref), "The host is in maintenance mode.")
    devices = cards_of(vm)
    _memory(config, devices, facts)
    _mmio(config, devices, facts.metal)
    fixed = _fixed(vm, devices, facts.metal)
    dynamic = _dynamic(vm, devices, fixed, facts)
    return Binding(tuple(fixed), {k: c.pci.id for k, c in dynamic.items()}, _vgpus(vm, devices, facts))


def _fixed(vm: Node, devices: list[DataObject], metal: Metal) -> list[str]:
    mine = [d.backing for d in devices if kind_of(d) == "fixed"]
    for backing in mine:
        if why := wrong_ids(backing, metal):
            raise _stopped(why)
        if backing.id not in metal.active():
            raise _stopped(f"Device {backing.id} is not a passthrough device.")
    for backing in mine:
        if metal.bound.get(backing.id, vm.moid) != vm.moid:
            raise _stopped(f"Device {backing.id} is already in use.")
    return [backing.id for backing in mine]


def _dynamic(vm: Node, devices: list[DataObject], fixed: list[str], facts: HostFacts) -> dict[int, Card]:
    mine = [d for d in devices if kind_of(d) == "dynamic"]
    chosen = choose(facts.metal, vm.moid, mine, fixed, facts.order)
    if chosen is None:
        none = [d for d in mine if not any(c.active and fits(c, d.backing) for c in facts.metal.cards)]
        label = (none or mine)[0].backing.customLabel
        named = f" with hardware label '{label}'" if label else ""
        why = "on this host" if none else "is free on this host"
        raise _stopped(f"No matching card{named} {why} for Dynamic DirectPath I/O.")
    return chosen


def _vgpus(vm: Node, devices: list[DataObject], facts: HostFacts) -> dict[str, list[Part]] | None:
    wanted = [(d.key, str(d.backing.vgpu)) for d in devices if kind_of(d) == "vgpu"]
    if not wanted:
        return None
    placed = place(facts.metal, vm.moid, wanted)
    if isinstance(placed, str):
        why = f"Could not initialize plugin 'libnvidia-vgx.so' for vGPU '{placed}'."
        full = f"No graphics device is available for vGPU '{placed}'."
        raise _stopped(why, fault=facts.vgpu_fault, more=(full,))
    return placed


def _memory(config: DataObject, devices: list[DataObject], facts: HostFacts) -> None:
    size, reserved = int(config.hardware.memoryMB), int(config.memoryAllocation.reservation or 0)
    if devices and reserved < size:
        why = f"Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize({size})."
        raise _stopped(why, "MonitorLoop")
    free = facts.metal.memory_mb - facts.reserved_mb
    if reserved + OVERHEAD_MB > free:
        fault = vim.fault.InsufficientMemoryResourcesFault(
            unreserved=support.long(max(free, 0) << 20), requested=support.long((reserved + OVERHEAD_MB) << 20)
        )
        raise Refusal(fault, "The host does not have sufficient memory resources to satisfy the reservation.")


def mmio_needed_gb(cards: int, each_gb: int = CARD_MB // 1024) -> int:
    """64-bit MMIO window for so many equal cards: their memory, up to a power of two, then one power more."""
    size = 1
    while size < cards * each_gb:
        size *= 2
    return size * 2


def _mmio(config: DataObject, devices: list[DataObject], metal: Metal) -> None:
    kinds = [kind_of(d) for d in devices]
    whole = [g for d in devices if (g := _whole_gb(d, metal))]
    c_series = any(
        k == "vgpu" and str(d.backing.vgpu).endswith(("c", "cme")) for k, d in zip(kinds, devices, strict=True)
    )
    if not whole and not c_series:
        return  # workstation vGPUs ask for nothing
    if config.firmware != "efi":
        raise _stopped("The firmware could not allocate memory-mapped I/O: a BIOS guest cannot map this device.")
    needed = mmio_needed_gb(1, sum(whole)) if sum(whole) > CARD_MB // 1024 else 0  # one T4 sits at the limit and starts
    needed = max(needed, C_WINDOW_GB if c_series else 0)
    extra = {o.key: str(o.value) for o in config.extraConfig}
    size = extra.get("pciPassthru.64bitMMIOSizeGB", "0")
    window = int(size) if size.isdigit() and extra.get("pciPassthru.use64bitMMIO", "").upper() == "TRUE" else 0
    if window < needed:
        raise _stopped(f"PCI passthrough devices need {needed} GB of MMIO, {window} GB are set.")


def _whole_gb(device: DataObject, metal: Metal) -> int:
    """Memory of the card that a fixed or dynamic device maps; 0 for what maps none. A card that is not there: as a T4."""
    kind = kind_of(device)
    if kind == "fixed":
        card = metal.card(device.backing.id)
        return card.model.gb if card is not None else CARD_MB // 1024
    if kind == "dynamic":
        return max((c.model.gb for c in metal.cards if fits(c, device.backing)), default=CARD_MB // 1024)
    return 0


def _stopped(
    why: str, module: str = "DevicePowerOn", fault: str = "GenericVmConfigFault", more: tuple[str, ...] = ()
) -> Refusal:
    lines = (*more, f"Module '{module}' power on failed.", "Failed to start the virtual machine.")
    chain = [vmodl.LocalizableMessage(key="msg.vmx.poweron", message=text) for text in (why, *lines)]
    made = getattr(vim.fault, fault)(faultMessage=chain)
    if hasattr(made, "reason"):
        made.reason = why
    return Refusal(made, f"{why} {lines[0]}")
