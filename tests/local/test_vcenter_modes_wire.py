"""Dynamic devices, vGPUs, foreign devices and several hosts as a real client sees them, and the control side's paths for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl

from bot.local.vcenter.sound import impossible
from tests.local.vcenter_bench import T4, host, pci
from tests.local.vcenter_client import PCI, Rig, rig, until

HOSTS = (
    host("direct", "direct", label="t4-pool"),
    host("shared", "shared", name="esx-02", vms="x y z"),
)


@pytest.fixture(scope="module")
def server() -> Iterator[Rig]:
    with rig(hosts=HOSTS, host_memory_mb=1 << 20) as one:
        yield one


@pytest.fixture
def lab(server: Rig) -> Iterator[Rig]:
    """All machines off and without devices afterwards."""
    yield server
    assert impossible(server.world) == []
    for vm in server.drive("GET", "state")["vms"]:
        if vm["power"] != "poweredOff":
            server.post(f"vm/{vm['name']}/power", do="off")
        server.post(f"vm/{vm['name']}/snapshot", taken=False)
        server.world.inventory.vm(vm["name"]).props["config"].hardware.device = []


def add(lab: Rig, name: str, *backings: Any) -> None:
    changes = [
        vim.vm.device.VirtualDeviceSpec(operation="add", device=PCI(key=-n, backing=b))
        for n, b in enumerate(backings, start=1)
    ]
    lab.reconfigure(name, deviceChange=changes, memoryReservationLockedToMax=True)


def browser(lab: Rig) -> Any:
    return lab.view(vim.ClusterComputeResource)[0].environmentBrowser


def test_a_dynamic_device_comes_back_as_it_was_sent_and_says_its_card_while_on(lab: Rig) -> None:
    kind = browser(lab).QueryConfigTarget(lab.host).dynamicPassthrough[0]
    assert (kind.vendorId, kind.deviceId, kind.customLabel) == (*T4, "t4-pool")
    allowed = PCI.AllowedDevice(vendorId=kind.vendorId, deviceId=kind.deviceId)
    add(lab, "a", PCI.DynamicBackingInfo(deviceName="", allowedDevice=[allowed], customLabel="t4-pool"))
    (read,) = lab.devices("a")
    assert isinstance(read.backing, PCI.DynamicBackingInfo) and read.backing.assignedId is None
    assert [(d.vendorId, d.deviceId) for d in read.backing.allowedDevice] == [T4]
    lab.on("a")
    assert lab.devices("a")[0].backing.assignedId == pci(1)
    (binding,) = lab.host.config.assignableHardwareBinding
    assert pci(1) in binding.instanceId and binding.vm == lab.vm("a")
    assert lab.host.config.pciPassthruInfo[-1].hardwareLabel == "t4-pool"
    lab.off("a")
    assert lab.devices("a")[0].backing.assignedId is None


def test_a_vgpu_is_offered_taken_placed_and_refused(lab: Rig) -> None:
    second = lab.view(vim.HostSystem)[1]
    target = browser(lab).QueryConfigTarget(second)
    assert "grid_t4-8q" in [t.vgpu for t in target.sharedGpuPassthroughTypes] == second.config.sharedPassthruGpuTypes
    assert {p.profileSharing for p in target.vgpuProfileInfo} == {"timeSliced"} and target.dynamicPassthrough == []
    assert second.config.sharedGpuCapabilities[0].suspendSupported is True
    assert second.config.graphicsConfig.sharedPassthruAssignmentPolicy == "performance"
    for name, profile in (("x", "grid_t4-8q"), ("y", "grid_t4-8q"), ("z", "grid_t4-16q")):
        add(lab, name, PCI.VmiopBackingInfo(vgpu=profile))
    lab.on("x")
    lab.on("y")
    assert lab.devices("x")[0].backing.vgpu == "grid_t4-8q"
    assert [[v.name for v in g.vm] for g in second.config.graphicsInfo] == [["x"], ["y"]]
    with pytest.raises(vim.fault.InsufficientGraphicsResourcesFault) as met:
        lab.on("z")
    assert len(met.value.faultMessage) == 4 and "grid_t4-16q" in met.value.msg
    with pytest.raises(vim.fault.InvalidDeviceBacking):
        add(lab, "a", PCI.VmiopBackingInfo(vgpu="grid_t4-8q"))
    shown = {(c["host"], c["pci"]): c for c in lab.drive("GET", "state")["cards"]}
    assert shown["esx-02", pci(1)]["parts"] == [{"vm": "x", "profile": "grid_t4-8q"}]
    assert shown["esx-02", pci(1)]["mode"] == "shared" and shown["esx-01", pci(1)]["label"] == "t4-pool"


def test_the_control_side_puts_on_and_takes_off_each_kind(lab: Rig) -> None:
    lab.post("vm/a/attach", dynamic="t4-pool")
    lab.post("vm/a/attach", card=pci(2))
    lab.post("vm/x/attach", profile="grid_t4-4q")
    for name, words in (("a", ["dynamic 10de:1eb8 t4-pool", pci(2)]), ("x", ["vgpu grid_t4-4q"])):
        assert lab.state(name)["cards"] == words
        for word in words:
            lab.post(f"vm/{name}/detach", card=word)
    assert lab.cards("a") == lab.cards("x") == [] and lab.state("x")["host"] == "esx-02"
    assert lab.post("vm/x/attach", profile="grid_t4-3q", expect=409)["fault"] == "InvalidDeviceBacking"


def test_devices_of_others_snapshots_and_edits_are_read_by_a_client(lab: Rig) -> None:
    for kind in ("dvx", "sriov", "group"):
        lab.post("vm/b/foreign", kind=kind)
    lab.post("vm/b/foreign", kind="gold", expect=400)
    devices = lab.vm("b").config.hardware.device
    assert [type(d.backing).__name__.rpartition(".")[2] for d in devices if isinstance(d, PCI)] == [
        "DvxBackingInfo"
    ] * 3
    assert sum(isinstance(d, vim.vm.device.VirtualSriovEthernetCard) for d in devices) == 1
    assert [d.deviceGroupInfo.sequenceId for d in devices if d.deviceGroupInfo] == [1, 2]
    lab.post("vm/b/snapshot")
    assert lab.vm("b").snapshot.rootSnapshotList[0].vm == lab.vm("b")
    before = lab.vm("b").config.changeVersion
    lab.post("vm/b/edit", annotation="of ada")
    assert lab.vm("b").config.changeVersion != before and lab.vm("b").config.annotation == "of ada"
    lab.post("vm/b/orphan")
    assert lab.vm("b").runtime.connectionState == "orphaned"
    lab.post("vm/b/orphan", orphaned=False)
    lab.post("vm/b/guestinfo", key="note", value="x")
    assert {o.key: o.value for o in lab.vm("b").config.extraConfig}["guestinfo.note"] == "x"


def test_a_guest_takes_its_vgpu_for_a_slice(lab: Rig) -> None:
    lab.post("vm/x/attach", profile="grid_t4-8q")
    lab.up("x")
    assert until(lambda: lab.state("x")["guest"]["cards"]) == [f"grid_t4-8q@{pci(1)}#13000"]


def test_a_mode_changes_with_a_reboot_and_addresses_too(lab: Rig) -> None:
    second = lab.view(vim.HostSystem)[1]
    lab.post(f"card/{pci(2)}", host="esx-02", mode="direct", label="x")
    assert [g.graphicsType for g in second.config.graphicsInfo] == ["sharedDirect", "sharedDirect"]
    lab.post("host", host="esx-02", renumber={pci(2): pci(3)})
    assert [(g.pciId, g.graphicsType) for g in second.config.graphicsInfo] == [
        (pci(1), "sharedDirect"),
        (pci(3), "direct"),
    ]
    assert lab.host.config.graphicsInfo[1].pciId == pci(2), "the other host is another"
    lab.post(f"card/{pci(3)}", host="esx-02", mode="shared")
    lab.post("host", host="esx-02", renumber={pci(3): pci(2)})
    lab.post("host", expect=400, host="esx-02", renumber={pci(5): pci(1)})
    lab.post("host", expect=400, host="esx-09", reboot=True)


def test_behaviour_is_switched_on_and_off(lab: Rig) -> None:
    lab.post("settings", decimal_ids=True)
    for name in "ab":
        lab.post(f"vm/{name}/attach", card=pci(1))
    lab.on("a")
    with pytest.raises(vim.fault.GenericVmConfigFault, match=r"Device 59:0\.0 is already in use"):
        lab.on("b")
    lab.post("settings", decimal_ids=False)
    lab.post("settings", expect=400, idle_s=3)


def test_chaos_is_switched_on_and_off(lab: Rig) -> None:
    begun = len(lab.journal())
    lab.post("chaos", seed=1, every_s=0.01, acts={"edit": 1, "question": 1}, vms=["b", "c"])
    until(lambda: {"config", "question"} <= {verb for _, verb, _ in lab.journal()[begun:]})
    lab.drive("DELETE", "chaos")
    assert {vm for _, _, vm in lab.journal()[begun:] if vm} <= {"b", "c"}
    assert lab.state("b")["question"] is lab.state("c")["question"] is None
    lab.post("chaos", expect=400, acts={"dance": 1})


def test_a_task_is_refused_cancelling(lab: Rig) -> None:
    task = lab.vm("c").PowerOnVM_Task()
    with pytest.raises(vmodl.fault.NotSupported):
        task.CancelTask()
    WaitForTask(task)


def test_hosts_of_several_clusters_and_one_that_stands_alone() -> None:
    hosts = (host("direct", cluster="one"), host("direct", name="esx-02", vms="x", cluster="two"),
             host("shared", name="esx-03", vms="y", cluster=""), host("direct", name="esx-04", vms="z", cluster="one"))  # fmt: skip
    with rig(hosts=hosts) as lab:
        parents = {p.name: p for p in lab.view(vim.ComputeResource)}
        told = {name: [h.name for h in p.host] for name, p in parents.items()}
        assert told == {"one": ["esx-01", "esx-04"], "two": ["esx-02"], "esx-03": ["esx-03"]}
        assert [isinstance(p, vim.ClusterComputeResource) for p in parents.values()] == [True, True, False]
        assert {h.name: h.parent.name for h in lab.view(vim.HostSystem)}["esx-03"] == "esx-03"
        assert lab.vm("y").resourcePool.owner.name == "esx-03" and [v.name for v in parents["two"].resourcePool.vm] == [
            "x"
        ]
        alone = parents["esx-03"].environmentBrowser
        assert "grid_t4-8q" in [t.vgpu for t in alone.QueryConfigTarget(None).sharedGpuPassthroughTypes]
        with pytest.raises(vmodl.fault.InvalidArgument):
            alone.QueryConfigTarget(parents["one"].host[0])
        assert lab.vm("y").environmentBrowser.QueryConfigTarget(parents["esx-03"].host[0]).pciPassthrough == []
        lab.post("vm/x/migrate", host="esx-04")
        assert lab.vm("x").runtime.host.name == "esx-04" and lab.vm("x").resourcePool.owner.name == "one"
