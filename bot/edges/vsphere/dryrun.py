"""What would stand in the way of a step: everything at once, in words that an owner understands. Reads only.

Called by `lab`. Nothing found does not promise that vCenter accepts it; a power-on may always be refused.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from bot.domain.model import Assignment, CallKind, FixedCard, MachineId, Power, Vgpu
from bot.domain.vgpu import computes
from bot.edges.vsphere import change
from bot.edges.vsphere.client import Client
from bot.edges.vsphere.faults import translate_read
from bot.edges.vsphere.hosts import HostRow
from bot.edges.vsphere.look import fitting, is_card
from bot.edges.vsphere.machines import Vm, grouped
from bot.edges.vsphere.offered import Scene, lacks
from bot.edges.vsphere.power import NO_TOOLS, obstacle
from bot.edges.vsphere.reading import Around, Site, around, everybody
from bot.edges.vsphere.vmomi import Fault, vim
from bot.service.ports import LabStep, NeedsPerson

log = logging.getLogger(__name__)
OLDEST = 13  # hardware version: the first that knows the window for 64-bit MMIO (ESXi 6.5)

NEEDS = {
    "VirtualMachine.Config.AddRemoveDevice": (CallKind.CHANGE,),
    "VirtualMachine.Config.Resource": (CallKind.CHANGE,),
    "VirtualMachine.Interact.PowerOn": (CallKind.CHANGE, CallKind.POWER_ON),
    "VirtualMachine.Interact.PowerOff": (CallKind.CHANGE, CallKind.SHUTDOWN, CallKind.HARD_STOP),
}
"""Privilege -> the steps that need it. A change is the middle of a power cycle."""
ADVANCED = "VirtualMachine.Config.AdvancedConfig"  # to write the MMIO keys, if they are to be


def dry_run(client: Client, site: Site, step: LabStep, ours: bool = True) -> list[str]:
    """All blockers of ``step``; [] none known. ``ours``: we would make it, so that what our login lacks is one."""
    near = around(client, site, step.machine, hosts=True)
    if near is None:
        return [f"this machine is not in vCenter {site.vcenter.name} any more"]
    return _blockers(client, site, near, step, ours)


def survey(
    client: Client, site: Site, steps: Mapping[MachineId, LabStep]
) -> dict[MachineId, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Each machine of the vCenter -> what would stand in the way of its step (its login's rights left out; () it has none), and what may
    surprise later. As many round trips for hundreds of machines as for one."""
    return {
        near.vm.uuid: (
            tuple(_blockers(client, site, near, steps[near.vm.uuid], False)) if near.vm.uuid in steps else (),
            tuple(advice(near.vm)),
        )
        for near in everybody(client, site)
    }


def _blockers(client: Client, site: Site, near: Around, step: LabStep, ours: bool) -> list[str]:
    vm, host = near.vm, near.host
    found = [why] if (why := obstacle(vm)) else []
    if not vm.readable or not vm.connected or vm.power is None:
        return [*found, f"vCenter cannot read the settings of {vm.name} now"]
    if host is None:
        return [*found, f"{vm.name} is on no host now"]
    found += _host(host)
    if vm.power is Power.ON and not vm.tools and step.kind is not CallKind.HARD_STOP:
        found.append(NO_TOOLS.format(vm=vm.name))
    needs = {name for name, kinds in NEEDS.items() if step.kind in kinds}
    if change.elsewhere(vm, step):
        there = next((h.name for h in near.hosts if h.id == step.host), "another host")
        return [*found, f"{vm.name} is on {host.name} now, and what it is to get is in {there}"]
    if step.kind is CallKind.CHANGE:
        found += _groups(vm, host, step)
        if puts := change.to_put(vm, step):
            found += _machine(vm)
            found += _devices(client, site, near, step, puts)
            found += _memory(near, host)
            if change.mmio_options(vm, change.after(vm, step), host):
                needs.add(ADVANCED)
    return [*found, *(_privileges(client, vm, sorted(needs)) if ours else ())]


def advice(vm: Vm) -> list[str]:
    """What does not stand in the way, and may surprise later."""
    found = []
    if vm.hot_add:
        found.append(
            f"CPUs can be added to {vm.name} while it runs, which does not go with cards on some releases (VMware KB 89638); "
            "the bot leaves it as it is"
        )
    if vm.snapshots:
        found.append(f"{vm.name} has snapshots: going back to one brings back the devices that it had then")
    return found


def _host(host: HostRow) -> list[str]:
    if not host.connected:
        return [f"host {host.name} is not connected to vCenter"]
    return [f"host {host.name} is in maintenance"] if host.maintenance else []


def _groups(vm: Vm, host: HostRow, step: LabStep) -> list[str]:
    gpus = {card.pci for card in host.cards}
    return [
        f"card {a} of {vm.name} belongs to a device group, which the bot does not touch"
        for a in step.take_pci
        if a in vm.fixed and grouped(vm.fixed[a]) and not is_card(a, vm.fixed[a], gpus)
    ]


def _machine(vm: Vm) -> list[str]:
    found = []
    if vm.firmware and vm.firmware != "efi":
        found.append(f"{vm.name} boots with {vm.firmware.upper()}, and a card of this size needs EFI")
    if 0 < vm.generation < OLDEST:
        found.append(f"the hardware version of {vm.name} is {vm.hardware}; upgrade it to vmx-{OLDEST} or newer")
    return found


def _devices(client: Client, site: Site, near: Around, step: LabStep, puts: Sequence[Assignment]) -> list[str]:
    """What the host does not give, what cannot compute, and what another machine's settings have."""
    vm, host = near.vm, near.host
    assert host is not None  # asked before
    found = [why for one in dict.fromkeys(puts) if (why := change.meaningless(one))]
    puts = [one for one in puts if not change.meaningless(one)]
    missing = lacks(Scene(vm, host, fitting(client, site.known).old, near.hosts, change.after(vm, step)), puts)
    found += [lack.words for lack in missing]
    found += [
        f"vGPU {one.profile} is for desktops, and programs cannot compute on it; ask for a profile of series Q or C"
        for one in sorted({one for one in puts if isinstance(one, Vgpu)})
        if not computes(one.profile) and one.profile not in site.known.profiles
    ]
    fixed = [one.pci for one in puts if isinstance(one, FixedCard)]
    found += [
        f"card {a} of {host.name} is in the settings of {o.name}"
        for a in fixed
        for o in near.others
        if a in o.fixed and o.host in ("", vm.host)
    ]
    if fixed and not missing and host.connected:
        try:
            # Asked now, so that it need not be asked in the minute in which the machine is off.
            site.targets.of(client, vm)
        except NeedsPerson as error:
            found.append(str(error))
        except vim.fault.NotAuthenticated:
            raise
        except Fault as fault:
            found.append(translate_read(fault, site.vcenter.name, site.vcenter.user, f"what {host.name} offers"))
    return found


def _memory(near: Around, host: HostRow) -> list[str]:
    """What those that run have reserved leaves enough of the host's memory."""
    vm = near.vm
    reserved = sum(o.reservation_mb for o in near.others if o.power is Power.ON and o.host == host.id)
    free = host.memory_mb - reserved
    if not host.memory_mb or vm.memory_mb <= free:
        return []
    return [
        f"{vm.name} needs its {vm.memory_mb // 1024} GB of memory reserved, "
        f"and {host.name} has {max(free, 0) // 1024} GB left for that"
    ]


def _privileges(client: Client, vm: Vm, needs: Sequence[str]) -> list[str]:
    """Those that our login lacks on the machine, all in one sentence; [] none, or the server does not tell."""
    manager = client.content.authorizationManager
    if manager is None or not client.key or not needs:
        return []
    try:
        told = client.ask(lambda: manager.HasPrivilegeOnEntities([vm.ref], client.key, list(needs)))
    except vim.fault.NotAuthenticated:
        raise
    except Fault as fault:
        log.info("privileges on %s cannot be asked for: %s", vm.name, type(fault).__name__)
        return []
    lacking = [p.privId for one in told or () for p in one.privAvailability or () if not p.isGranted]
    if not lacking:
        return []
    return [f"the role of {client.user} lacks {', '.join(lacking)} on {vm.name}; an admin of vCenter gives it"]
