"""What would stand in the way of a step: everything at once, in words that an owner understands. Reads only.

Called by `lab`. Nothing found does not promise that vCenter accepts it; a power-on may always be refused.
"""

from __future__ import annotations

import re

from bot.domain.model import CallKind, Power
from bot.edges.vsphere.act import Site, find, host_of
from bot.edges.vsphere.client import Client
from bot.edges.vsphere.look import is_card
from bot.edges.vsphere.machines import HostRow, Vm, read_vm
from bot.edges.vsphere.power import NO_TOOLS, obstacle
from bot.edges.vsphere.vmomi import vim
from bot.service.ports import Again, LabStep

OLDEST = 13  # hardware version: the first that knows the window for 64-bit MMIO (ESXi 6.5)
OTHERS_PATHS = (
    "name", "config.instanceUuid", "config.hardware.device", "runtime.host", "runtime.powerState",
    "config.memoryAllocation.reservation",
)  # fmt: skip


def dry_run(client: Client, site: Site, step: LabStep) -> list[str]:
    """All blockers of ``step``; [] none known."""
    vm = find(client, site.memory, step.machine)
    if vm is None:
        return [f"this machine is not in vCenter {site.vcenter.name} any more"]
    found = [why] if (why := obstacle(vm)) else []
    if not vm.readable or not vm.connected or vm.power is None:
        return [*found, f"vCenter cannot read the settings of {vm.name} now"]
    try:
        host = host_of(client, vm, site.more)
    except Again as error:
        return [*found, str(error)]
    found += _host(host)
    if vm.power is Power.ON and not vm.tools and step.kind is not CallKind.HARD_STOP:
        found.append(NO_TOOLS.format(vm=vm.name))
    if step.kind is CallKind.CHANGE:
        gpus = {card.pci for card in host.cards}
        found += [
            f"card {a} of {vm.name} belongs to a device group, which the bot does not touch"
            for a in step.take_pci
            if a in vm.fixed
            and getattr(vm.fixed[a], "deviceGroupInfo", None) is not None
            and not is_card(a, vm.fixed[a], gpus)
        ]
        if puts := [a for a in step.put_pci if a not in vm.fixed]:
            found += _machine(vm) + _cards(vm, host, puts) + _others(client, vm, host, puts)
    return found


def _host(host: HostRow) -> list[str]:
    if not host.connected:
        return [f"host {host.name} is not connected to vCenter"]
    return [f"host {host.name} is in maintenance"] if host.maintenance else []


def _machine(vm: Vm) -> list[str]:
    found = []
    if vm.firmware and vm.firmware != "efi":
        found.append(f"{vm.name} boots with {vm.firmware.upper()}, and a card of this size needs EFI")
    match = re.fullmatch(r"vmx-(\d+)", vm.hardware)
    if match and int(match.group(1)) < OLDEST:
        found.append(f"the hardware version of {vm.name} is {vm.hardware}; upgrade it to vmx-{OLDEST} or newer")
    return found


def _cards(vm: Vm, host: HostRow, puts: list[str]) -> list[str]:
    listed = {card.pci: card for card in host.cards}
    return [
        f"card {a} is not on {host.name}, where {vm.name} is"
        if a not in listed
        else f"passthrough of card {a} is not active on {host.name}"
        for a in puts
        if a not in listed or not listed[a].active
    ]


def _others(client: Client, vm: Vm, host: HostRow, puts: list[str]) -> list[str]:
    """Other machines: a card in their settings, and the memory that those that run have reserved."""
    others = [read_vm(ref, row) for ref, row in client.all(vim.VirtualMachine, OTHERS_PATHS)]
    others = [o for o in others if o.ref._moId != vm.ref._moId]
    found = [f"card {a} is in the settings of {o.name}" for a in puts for o in others if a in o.fixed]
    reserved = sum(o.reservation_mb for o in others if o.power is Power.ON and o.host == host.id)
    free = host.memory_mb - reserved
    if host.memory_mb and vm.memory_mb > free:
        found.append(
            f"{vm.name} needs its {vm.memory_mb // 1024} GB of memory reserved, "
            f"and {host.name} has {max(free, 0) // 1024} GB left for that"
        )
    return found
