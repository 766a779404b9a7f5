"""Builds the rig: one datacenter, one cluster of hosts as the settings say; by default an R740 with four T4, four VMs, a template.

Called once by ``world``. Only values and their places; no rules.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.local.vcenter.inventory import Inventory, Node
from bot.local.vcenter.metal import Metal, metal_of
from bot.local.vcenter.settings import HostRig, Settings
from bot.local.vcenter.vmomi import DataObject, Ref, support, vim, vmodl

HOST, VM_FOLDER = "host-9", "group-v3"
NAMESPACE = uuid.UUID("6f0f9a60-6cde-4bb5-9a0c-2c1c0a7e5a11")  # instance UUIDs are made of names: the same each run
MMIO = {"pciPassthru.use64bitMMIO": "TRUE", "pciPassthru.64bitMMIOSizeGB": "128"}  # room for four T4


@dataclass(frozen=True)
class Shape:
    """What differs between VMs when they are made."""

    name: str  # as people see it
    memory_mb: int = 65536  # guest memory
    template: bool = False  # a template cannot be started
    instance_uuid: str = ""  # empty: made of the name
    host: str = HOST  # moid of its host
    hardware: str = "vmx-19"  # hardware version


def content() -> DataObject:
    """``ServiceInstance.content``."""
    about = vim.AboutInfo(
        name="VMware vCenter Server",
        fullName="VMware vCenter Server 8.0.3 (stand-in)",
        vendor="VMware, Inc.",
        version="8.0.3",
        build="24022515",
        osType="linux-x64",
        productLineId="vpx",
        apiType="VirtualCenter",
        apiVersion="8.0.3.0",
        instanceUuid=str(uuid.uuid5(NAMESPACE, "vcenter")),
    )
    return vim.ServiceInstanceContent(
        rootFolder=vim.Folder("group-d1"),
        propertyCollector=vmodl.query.PropertyCollector("propertyCollector"),
        viewManager=vim.view.ViewManager("ViewManager"),
        about=about,
        sessionManager=vim.SessionManager("SessionManager"),
        authorizationManager=vim.AuthorizationManager("AuthorizationManager"),
        taskManager=vim.TaskManager("TaskManager"),
        searchIndex=vim.SearchIndex("SearchIndex"),
    )


def host_moid(number: int) -> str:
    """Of the host at a place in the settings, from 0."""
    return f"host-{9 + 10 * number}"


def build(inventory: Inventory, settings: Settings, now: datetime) -> list[Metal]:
    """Fill ``inventory``, and make the hosts' hardware; ``now`` (virtual) stamps what was made. ValueError for a rig that cannot be."""
    names = [n for h in settings.hosts for n in (h.name, h.template, *h.vms) if n]
    if not settings.hosts or len(names) != len(set(names)):
        raise ValueError("a rig has hosts, and no two hosts or VMs of one name")
    inventory.add(vim.ServiceInstance, "ServiceInstance", content=content())
    inventory.add(vmodl.query.PropertyCollector, "propertyCollector", filter=[])
    inventory.add(vim.view.ViewManager, "ViewManager", viewList=[])
    inventory.add(vim.SessionManager, "SessionManager")
    inventory.add(vim.AuthorizationManager, "AuthorizationManager")
    inventory.add(vim.TaskManager, "TaskManager", recentTask=[], maxCollector=0)
    inventory.add(vim.SearchIndex, "SearchIndex")
    _containers(inventory)
    parents = _compute(inventory, settings)
    metals = []
    for number, host in enumerate(settings.hosts):
        moid = host_moid(number)
        metals.append(metal_of(host, moid, settings.host_memory_mb, NAMESPACE))
        _host(inventory, host, (metals[-1], parents[number]), now)
        if host.template:
            add_vm(inventory, Shape(host.template, template=True, host=moid, hardware=host.hardware), now)
        for name in host.vms:
            add_vm(inventory, Shape(name, host=moid, hardware=host.hardware), now)
    for number in range(1, settings.extra_vms + 1):
        add_vm(inventory, Shape(f"vm-extra-{number:03d}", memory_mb=8192), now)
    return metals


def _containers(inventory: Inventory) -> None:
    datacenter, root = vim.Datacenter("datacenter-2"), vim.Folder("group-d1")
    inventory.add(vim.Folder, "group-d1", name="Datacenters", childEntity=[datacenter], childType=["Datacenter"])
    inventory.add(
        vim.Datacenter,
        "datacenter-2",
        name="dc",
        parent=root,
        vmFolder=vim.Folder(VM_FOLDER),
        hostFolder=vim.Folder("group-h4"),
        datastoreFolder=vim.Folder("group-s5"),
        networkFolder=vim.Folder("group-n6"),
    )
    inventory.add(vim.Folder, VM_FOLDER, name="vm", parent=datacenter, childEntity=[])
    inventory.add(vim.Folder, "group-h4", name="host", parent=datacenter, childEntity=[])
    inventory.add(vim.Folder, "group-s5", name="datastore", parent=datacenter, childEntity=[])
    inventory.add(vim.Folder, "group-n6", name="network", parent=datacenter, childEntity=[])


def _compute(inventory: Inventory, settings: Settings) -> list[Ref]:
    """The clusters, and what stands for a host that is in none; the parent of each host, in their order."""
    parents: dict[str, Ref] = {}
    for number, host in enumerate(settings.hosts):
        word = host.cluster or host.name
        if word not in parents:
            kind = vim.ClusterComputeResource if host.cluster else vim.ComputeResource
            pool, browser = f"resgroup-{10 + 10 * number}", f"envbrowser-{8 + 10 * number}"
            parent = parents[word] = kind(f"domain-{'c' if host.cluster else 's'}{8 + 10 * number}")
            inventory.add(vim.EnvironmentBrowser, browser)
            inventory.add(
                kind,
                parent._moId,
                name=word,
                parent=vim.Folder("group-h4"),
                host=[],
                resourcePool=vim.ResourcePool(pool),
                environmentBrowser=vim.EnvironmentBrowser(browser),
                datastore=[],
                network=[],
            )
            inventory.add(vim.ResourcePool, pool, name="Resources", parent=parent, owner=parent, vm=[], resourcePool=[])
        inventory.node(parents[word]).props["host"].append(vim.HostSystem(host_moid(number)))
    inventory.nodes["group-h4"].props["childEntity"] = list(parents.values())
    return [parents[h.cluster or h.name] for h in settings.hosts]


def _host(inventory: Inventory, rig: HostRig, place: tuple[Metal, Ref], now: datetime) -> None:
    metal, parent = place
    host = vim.HostSystem(metal.moid)
    memory = support.long(metal.memory_mb << 20)
    info = vim.host.SystemInfo(vendor="Dell Inc.", model="PowerEdge R740", uuid=str(uuid.uuid5(NAMESPACE, rig.name)))
    made = inventory.add(
        vim.HostSystem,
        metal.moid,
        name=rig.name,
        parent=parent,
        vm=[],
        config=vim.host.ConfigInfo(host=host),
        hardware=vim.host.HardwareInfo(
            systemInfo=info,
            memorySize=memory,
            numaInfo=vim.host.NumaInfo(type="NUMA", numNodes=2, numaNode=[_numa(node) for node in (0, 1)]),
        ),
        capability=vim.host.Capability(deviceRebindWithoutRebootSupported=rig.rebind),
        runtime=vim.host.RuntimeInfo(
            connectionState="connected", powerState="poweredOn", inMaintenanceMode=False, bootTime=now
        ),
    )
    metal.render(made)
    made.props["summary"] = lambda: vim.host.Summary(host=host, runtime=made.props["runtime"], overallStatus="green")


def _numa(node: int) -> DataObject:
    cpus = [support.short(n) for n in range(16 * node, 16 * node + 16)]
    return vim.host.NumaNode(typeId=support.byte(node), cpuID=cpus, pciId=[])


def vm_config(shape: Shape, now: datetime) -> DataObject:
    """``vm.config`` of a fresh clone of the image: EFI, vmx-19, 64-bit MMIO keys set, no card, memory not locked."""
    name = shape.name
    bus = vim.vm.device.VirtualPCIController(
        key=100, busNumber=0, deviceInfo=vim.Description(label="PCI controller 0", summary="PCI controller 0")
    )
    return vim.vm.ConfigInfo(
        changeVersion=f"{now.isoformat()}/0",
        modified=now,
        name=name,
        guestFullName="Ubuntu Linux (64-bit)",
        guestId="ubuntu64Guest",
        alternateGuestName="",
        version=shape.hardware,
        uuid=str(uuid.uuid5(NAMESPACE, "bios/" + name)),
        instanceUuid=shape.instance_uuid or str(uuid.uuid5(NAMESPACE, "instance/" + name)),
        template=shape.template,
        firmware="efi",
        cpuHotAddEnabled=False,
        memoryHotAddEnabled=False,
        files=vim.vm.FileInfo(vmPathName=f"[ds-01] {name}/{name}.vmx"),
        flags=vim.vm.FlagInfo(),
        defaultPowerOps=vim.vm.DefaultPowerOpInfo(),
        hardware=vim.vm.VirtualHardware(numCPU=16, memoryMB=shape.memory_mb, device=[bus]),
        memoryReservationLockedToMax=False,
        memoryAllocation=vim.ResourceAllocationInfo(reservation=support.long(0)),
        extraConfig=[vim.option.OptionValue(key=k, value=v) for k, v in MMIO.items()],
    )


def add_vm(inventory: Inventory, shape: Shape, now: datetime, config: DataObject = None) -> Node:
    """Register a VM that is off; ``config`` replaces the fresh one (clone, re-registration)."""
    moid, home = f"vm-{100 + inventory.number()}", home_of(inventory, shape.host)
    node = inventory.add(
        vim.VirtualMachine,
        moid,
        name=shape.name,
        parent=vim.Folder(VM_FOLDER),
        resourcePool=None if shape.template else home["resourcePool"],
        environmentBrowser=home["environmentBrowser"],
        config=config or vm_config(shape, now),
        runtime=vim.vm.RuntimeInfo(
            host=vim.HostSystem(shape.host),
            connectionState="connected",
            powerState="poweredOff",
            cleanPowerOff=True,
            toolsInstallerMounted=False,
            numMksConnections=0,
            faultToleranceState="notConfigured",
            consolidationNeeded=False,
            suspendInterval=support.long(0),
        ),
        guest=vim.vm.GuestInfo(),
        snapshot=None,
        datastore=[],
        network=[],
    )
    node.props["summary"] = lambda: summary(node)
    tools_off(node)
    members(inventory)
    return node


def home_of(inventory: Inventory, host: str) -> dict[str, Any]:
    """What a host's VMs have of its cluster: ``resourcePool`` and ``environmentBrowser`` among its properties."""
    return inventory.node(inventory.nodes[host].props["parent"]).props


def summary(vm: Node) -> DataObject:
    """``vm.summary``: what other properties say, once more; some clients read only this."""
    config, guest = vm.props["config"], vm.props["guest"]
    state = vim.vm.Summary.GuestSummary(
        toolsStatus=guest.toolsStatus, toolsRunningStatus=guest.toolsRunningStatus, hostName=guest.hostName
    )
    told = vim.vm.Summary(vm=vm.ref, runtime=vm.props["runtime"], guest=state, overallStatus="green")
    if config is not None:
        told.config = vim.vm.Summary.ConfigSummary(
            name=vm.name,
            template=config.template,
            vmPathName=config.files.vmPathName,
            memorySizeMB=config.hardware.memoryMB,
            memoryReservation=int(config.memoryAllocation.reservation or 0),
            numCpu=config.hardware.numCPU,
            uuid=config.uuid,
            instanceUuid=config.instanceUuid,
            guestId=config.guestId,
            guestFullName=config.guestFullName,
        )
    return told


def drop_vm(inventory: Inventory, node: Node) -> None:
    """Take a VM out of the inventory and out of its containers."""
    inventory.remove(node.moid)
    members(inventory)


def members(inventory: Inventory) -> None:
    """Let folder, pool and hosts list the VMs that are in them now."""
    vms = inventory.of(vim.VirtualMachine)
    inside: dict[str, list[Ref]] = {n.moid: [] for n in inventory.of((vim.HostSystem, vim.ResourcePool))}
    for vm in vms:
        host = vm.props["runtime"].host._moId
        for moid in (host, home_of(inventory, host)["resourcePool"]._moId):
            inside[moid].append(vm.ref)
    for moid, refs in inside.items():
        inventory.nodes[moid].props["vm"] = refs
    inventory.nodes[VM_FOLDER].props["childEntity"] = [vm.ref for vm in vms]
    inventory.touch(inventory.nodes[VM_FOLDER], *(inventory.nodes[moid] for moid in inside))


def tools_off(node: Node) -> None:
    """``vm.guest`` of a VM whose Tools do not run."""
    guest = node.props["guest"]
    guest.toolsRunningStatus, guest.toolsStatus, guest.guestState = (
        "guestToolsNotRunning",
        "toolsNotRunning",
        "notRunning",
    )
    guest.toolsVersionStatus2 = "guestToolsCurrent"
    guest.guestStateChangeSupported = guest.guestOperationsReady = False
    guest.hostName = guest.ipAddress = None


def tools_on(node: Node) -> None:
    """``vm.guest`` of a VM whose Tools run."""
    guest = node.props["guest"]
    guest.toolsRunningStatus, guest.toolsStatus, guest.guestState = "guestToolsRunning", "toolsOk", "running"
    guest.guestStateChangeSupported = guest.guestOperationsReady = True
    guest.hostName = node.name
