"""One machine read anew for a change, with its host and its neighbours, in one round trip where the last look knows them.

Called by `act` and `dryrun`. Reads only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from bot.edges.vsphere.client import Client, Paths, Row, Start
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.hosts import HOST_PATHS, NOTHING, HostRow, Known, read_host
from bot.edges.vsphere.look import Memory, fitting
from bot.edges.vsphere.machines import FULL_PATHS, Vm, read_vm
from bot.edges.vsphere.offers import Targets
from bot.edges.vsphere.refusals import Refusals
from bot.edges.vsphere.vmomi import Ref, vim, vmodl
from bot.service.ports import Again

OTHERS_PATHS = (
    "name", "config.instanceUuid", "config.hardware.device", "runtime.host", "runtime.powerState",
    "config.memoryAllocation.reservation",
)  # fmt: skip
"""What a change asks of all machines: whose settings name a card, and what they have reserved."""


@dataclass(frozen=True)
class Site:
    """What every act on one vCenter needs."""

    vcenter: VCenter
    memory: Memory
    targets: Targets
    real: Callable[[], float]
    refusals: Refusals
    known: Known = NOTHING  # what the settings say of cards


@dataclass(frozen=True)
class Around:
    """A machine and what is around it."""

    vm: Vm  # itself, with references that can be called
    host: HostRow | None = None  # the host that it is on; None: on none
    hosts: tuple[HostRow, ...] = ()  # all of them, if they were asked for
    others: tuple[Vm, ...] = ()  # all other machines


def around(client: Client, site: Site, uuid: str, hosts: bool = False) -> Around | None:
    """The machine with its host and the other machines; ``hosts``: with all hosts. None: it is gone. Raises faults."""
    moid, host = site.memory.place(uuid)
    if moid:
        try:
            found = _around(client, site, vim.VirtualMachine(moid), host, hosts)
        except vmodl.fault.ManagedObjectNotFound:
            found = None  # registered anew under another id, perhaps, or its host is gone
        if found is not None and _is(found.vm, uuid):
            return found
    vm = find(client, site, uuid)
    return _around(client, site, vim.VirtualMachine(vm.ref._moId), vm.host, hosts) if vm is not None else None


def _around(client: Client, site: Site, ref: Ref, host: str, hosts: bool) -> Around | None:
    known = fitting(client, site.known)
    machine: Paths = [(vim.VirtualMachine, FULL_PATHS)]
    others: Paths = [(vim.VirtualMachine, OTHERS_PATHS)]
    wanted: list[tuple[Start, Paths]] = [(client.single(ref), machine), (client.everything(vim.VirtualMachine), others)]
    if hosts:
        wanted.append((client.everything(vim.HostSystem), [(vim.HostSystem, HOST_PATHS)]))
    elif host:
        wanted.append((client.single(vim.HostSystem(host)), [(vim.HostSystem, HOST_PATHS)]))
    rows: list[tuple[Any, Row]] = client.read(*wanted)
    vms = [read_vm(r, row, known.more) for r, row in rows if isinstance(r, vim.VirtualMachine)]
    vm = next((v for v in vms if v.ref._moId == ref._moId), None)
    if vm is None:
        return None
    seen = tuple(read_host(r, row, known) for r, row in rows if isinstance(r, vim.HostSystem))
    on = next((h for h in seen if h.id == vm.host), None)
    if on is None and vm.host:  # it moved since the last look, or was never looked at
        on = host_of(client, vm, site.known)
    return Around(_alive(client, vm), on, seen if hosts else (), tuple(v for v in vms if v is not vm))


def everybody(client: Client, site: Site) -> Iterator[Around]:
    """Each machine with all hosts and the other machines, all out of one read. Raises faults."""
    known = fitting(client, site.known)
    machines: Paths = [(vim.VirtualMachine, FULL_PATHS)]
    hosts: Paths = [(vim.HostSystem, HOST_PATHS)]
    rows: list[tuple[Any, Row]] = client.read(
        (client.everything(vim.VirtualMachine), machines), (client.everything(vim.HostSystem), hosts)
    )
    vms = [read_vm(r, row, known.more) for r, row in rows if isinstance(r, vim.VirtualMachine)]
    seen = tuple(read_host(r, row, known) for r, row in rows if isinstance(r, vim.HostSystem))
    by_id = {host.id: host for host in seen}
    for vm in vms:
        yield Around(_alive(client, vm), by_id.get(vm.host), seen, tuple(v for v in vms if v is not vm))


def host_of(client: Client, vm: Vm, known: Known = NOTHING) -> HostRow:
    """The host that a VM is on. Raises Again if it is on none."""
    if not vm.host:
        raise Again(f"{vm.name} is on no host now", timedelta(seconds=60))
    ref = vim.HostSystem(vm.host)
    return read_host(ref, client.one(ref, HOST_PATHS), fitting(client, known))


def find(client: Client, site: Site, uuid: str) -> Vm | None:
    """A machine by its instance UUID: where it was last seen, else where vCenter's index has it; None: gone."""
    moid, _ = site.memory.place(uuid)
    if moid:
        ref = vim.VirtualMachine(moid)
        try:
            vm = read_vm(ref, client.one(ref, FULL_PATHS), site.known.more)
        except vmodl.fault.ManagedObjectNotFound:
            pass  # registered anew under another id, perhaps
        else:
            if _is(vm, uuid):
                return _alive(client, vm)
    found = client.ask(lambda: client.content.searchIndex.FindByUuid(None, uuid, True, True))
    if found is None:
        return None
    ref = vim.VirtualMachine(found._moId)
    vm = read_vm(ref, client.one(ref, FULL_PATHS), site.known.more)
    return _alive(client, vm) if vm.uuid == uuid else None


def _is(vm: Vm, uuid: str) -> bool:
    return vm.uuid == uuid or (not vm.uuid and not vm.readable)


def _alive(client: Client, vm: Vm) -> Vm:
    """With references that can be called."""
    browser = vim.EnvironmentBrowser(vm.browser._moId, client.stub) if vm.browser is not None else None
    return replace(vm, ref=vim.VirtualMachine(vm.ref._moId, client.stub), browser=browser)
