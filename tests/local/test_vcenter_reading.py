"""PropertyCollector and views: what is selected, pages, waiting for changes, with the real pyVmomi."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from tests.local.vcenter_client import CARD_1, Rig, rig, until

PC: Any = vmodl.query.PropertyCollector
LOOK = [
    "name",
    "config.instanceUuid",
    "config.changeVersion",
    "config.version",
    "config.firmware",
    "config.template",
    "config.hardware.device",
    "config.memoryReservationLockedToMax",
    "config.memoryAllocation.reservation",
    "config.hardware.memoryMB",
    "config.cpuHotAddEnabled",
    "runtime.host",
    "runtime.powerState",
    "runtime.connectionState",
    "runtime.bootTime",
    "runtime.question",
    "guest.toolsRunningStatus",
    "guest.guestStateChangeSupported",
    "snapshot",
]


@pytest.fixture
def lab() -> Iterator[Rig]:
    with rig() as one:
        yield one


def selection(view: Any, kind: Any, paths: list[str]) -> Any:
    select = PC.TraversalSpec(name="view", type=vim.view.ContainerView, path="view", skip=False)
    return PC.FilterSpec(
        objectSet=[PC.ObjectSpec(obj=view, skip=True, selectSet=[select])],
        propSet=[PC.PropertySpec(type=kind, pathSet=paths)],
    )


def read_all(lab: Rig, kind: Any, paths: list[str], size: int | None = None) -> list[list[Any]]:
    """The pages of one look."""
    content = lab.content
    view = content.viewManager.CreateContainerView(content.rootFolder, [kind], True)
    collector, pages = content.propertyCollector, []
    answer = collector.RetrievePropertiesEx([selection(view, kind, paths)], PC.RetrieveOptions(maxObjects=size))
    while answer is not None:
        pages.append(list(answer.objects))
        answer = collector.ContinueRetrievePropertiesEx(answer.token) if answer.token else None
    return pages


def test_one_call_reads_all_machines_and_unset_properties_are_left_out(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    pages = read_all(lab, vim.VirtualMachine, LOOK)
    assert len(pages) == 1
    told = {p.val: {q.name: q.val for q in o.propSet} for o in pages[0] for p in o.propSet if p.name == "name"}
    assert set(told) == {"template-gpu", "vm-python", "vm-python-2", "vm-r", "vm-train"}
    one = told["vm-r"]
    assert one["config.version"] == "vmx-19" and one["config.firmware"] == "efi"
    assert one["config.hardware.memoryMB"] == 65536 and one["config.memoryAllocation.reservation"] == 65536
    assert [getattr(d.backing, "id", None) for d in one["config.hardware.device"]] == [None, CARD_1]
    assert one["runtime.host"]._moId == lab.host._moId
    assert set(LOOK) - set(one) == {"runtime.bootTime", "runtime.question", "snapshot"}
    assert told["template-gpu"]["config.template"] is True


def test_one_call_reads_the_host(lab: Rig) -> None:
    paths = ["name", "config.pciPassthruInfo", "hardware.pciDevice", "config.assignableHardwareBinding", "runtime"]
    ((told,),) = read_all(lab, vim.HostSystem, paths)
    props = {p.name: p.val for p in told.propSet}
    assert props["name"] == "esx-01" and "config.assignableHardwareBinding" not in props
    devices = {d.id: d for d in props["hardware.pciDevice"]}
    card = devices["0000:af:00.0"]
    assert (card.vendorId, card.deviceId, card.classId, card.bus) == (0x10DE, 0x1EB8, 0x0302, -81)
    assert devices["0000:00:00.0"].vendorId == -32634  # Intel's 0x8086 as a signed short
    assert {d.classId for d in devices.values()} > {0x0302, 0x0300, 0x0200}
    active = [i.id for i in props["config.pciPassthruInfo"] if i.passthruActive]
    assert active == ["0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0", "0000:af:00.0"]
    assert props["runtime"].connectionState == "connected"


@pytest.mark.parametrize(("extra", "pages"), [(0, 1), (295, 3)])
def test_few_round_trips_however_many_machines(extra: int, pages: int) -> None:
    with rig(extra_vms=extra) as lab:
        lab.si.RetrieveContent()
        lab.post("counts")
        content = lab.si.RetrieveContent()
        collector = content.propertyCollector
        views = [content.viewManager.CreateContainerView(content.rootFolder, [k], True) for k in (vim.VirtualMachine,)]
        begin = time.monotonic()
        answer = collector.RetrievePropertiesEx([selection(views[0], vim.VirtualMachine, LOOK)], PC.RetrieveOptions())
        found = list(answer.objects)
        while answer.token:
            answer = collector.ContinueRetrievePropertiesEx(answer.token)
            found += answer.objects
        assert time.monotonic() - begin < 10
        assert len({o.obj._moId for o in found}) == len(found) == 5 + extra
        counts = lab.drive("GET", "counts")
        assert counts["methods"].get("ContinueRetrievePropertiesEx", 0) == pages - 1
        assert counts["total"] == 3 + pages - 1
        lab.post("counts")
        assert lab.drive("GET", "counts") == {"total": 0, "methods": {}, "users": {}}


def test_pages_are_smaller_if_asked_and_a_token_works_once() -> None:
    with rig(page_size=4) as lab:
        assert [len(p) for p in read_all(lab, vim.VirtualMachine, ["name"])] == [4, 1]
        assert [len(p) for p in read_all(lab, vim.VirtualMachine, ["name"], 2)] == [2, 2, 1]
        assert [len(p) for p in read_all(lab, vim.VirtualMachine, ["name"], 50)] == [4, 1]
        content = lab.content
        view = content.viewManager.CreateContainerView(content.rootFolder, [vim.VirtualMachine], True)
        collector = content.propertyCollector
        spec = selection(view, vim.VirtualMachine, ["name"])
        token = collector.RetrievePropertiesEx([spec], PC.RetrieveOptions()).token
        assert collector.ContinueRetrievePropertiesEx(token).token is None
        with pytest.raises(vmodl.fault.InvalidArgument):
            collector.ContinueRetrievePropertiesEx(token)
        token = collector.RetrievePropertiesEx([spec], PC.RetrieveOptions()).token
        collector.CancelRetrievePropertiesEx(token)
        with pytest.raises(vmodl.fault.InvalidArgument):
            collector.ContinueRetrievePropertiesEx(token)


def test_a_later_page_tells_of_the_instant_of_the_first() -> None:
    with rig(page_size=1) as lab:
        content = lab.content
        view = content.viewManager.CreateContainerView(content.rootFolder, [vim.VirtualMachine], True)
        collector = content.propertyCollector
        spec = selection(view, vim.VirtualMachine, ["name", "runtime"])
        answer = collector.RetrievePropertiesEx([spec], PC.RetrieveOptions())
        for name in ("vm-python", "vm-python-2", "vm-r", "vm-train"):
            lab.on(name)
        states = []
        while answer.token:
            answer = collector.ContinueRetrievePropertiesEx(answer.token)
            states += [p.val.powerState for p in answer.objects[0].propSet if p.name == "runtime"]
        assert states == ["poweredOff"] * 4


def test_no_objects_is_null_and_an_unknown_property_a_fault(lab: Rig) -> None:
    assert read_all(lab, vim.Datastore, ["name"]) == []
    with pytest.raises(vmodl.query.InvalidProperty) as refused:
        read_all(lab, vim.VirtualMachine, ["config.nonsense"])
    assert refused.value.name == "config.nonsense"


def test_old_and_nested_ways_of_reading(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    spec = PC.FilterSpec(
        objectSet=[PC.ObjectSpec(obj=lab.vm("vm-r"))],
        propSet=[PC.PropertySpec(type=vim.VirtualMachine, pathSet=["config.hardware.device[13000]"])],
    )
    (told,) = lab.content.propertyCollector.RetrieveProperties([spec])
    assert told.propSet[0].val.backing.id == CARD_1
    assert lab.vm("vm-r").config.hardware.device[-1].backing.id == CARD_1
    everything = PC.FilterSpec(
        objectSet=[PC.ObjectSpec(obj=lab.vm("vm-r"))], propSet=[PC.PropertySpec(type=vim.VirtualMachine, all=True)]
    )
    (told,) = lab.content.propertyCollector.RetrieveProperties([everything])
    assert {"name", "config", "runtime", "guest"} <= {p.name for p in told.propSet}


def test_the_summary_says_the_same_as_the_rest(lab: Rig) -> None:
    lab.on("vm-r")
    summary, vm = lab.vm("vm-r").summary, lab.vm("vm-r")
    assert summary.vm._moId == vm._moId
    assert summary.runtime.powerState == "poweredOn" and summary.runtime.bootTime == vm.runtime.bootTime
    assert summary.config.instanceUuid == vm.config.instanceUuid and summary.config.memorySizeMB == 65536
    assert lab.host.summary.runtime.connectionState == "connected"
    lab.post("vm/vm-r/inaccessible")
    assert lab.vm("vm-r").summary.config is None


def test_views_look_below_their_container_and_live(lab: Rig) -> None:
    content = lab.content
    datacenter = content.rootFolder.childEntity[0]
    make = content.viewManager.CreateContainerView
    assert [v.name for v in make(content.rootFolder, [], False).view] == ["dc"]
    assert {type(v).__name__.rpartition(".")[2] for v in make(datacenter, [], False).view} == {"Folder"}
    assert [v.name for v in make(datacenter.hostFolder, [vim.HostSystem], True).view] == ["esx-01"]
    assert make(datacenter.hostFolder, [vim.HostSystem], False).view == []
    machines = make(datacenter.vmFolder, [vim.VirtualMachine], True)
    assert len(machines.view) == 5 and len(make(lab.host, [vim.VirtualMachine], True).view) == 5
    lab.post("vm/vm-r/destroy")
    assert len(machines.view) == 4
    machines.DestroyView()
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        machines.DestroyView()


def test_find_by_uuid(lab: Rig) -> None:
    config = lab.vm("vm-r").config
    index = lab.content.searchIndex
    assert index.FindByUuid(None, config.instanceUuid, True, True)._moId == lab.vm("vm-r")._moId
    assert index.FindByUuid(None, config.uuid, True, False)._moId == lab.vm("vm-r")._moId
    assert index.FindByUuid(None, config.uuid, True, True) is None


class Watch:
    """A collector of its own on some paths of all machines."""

    def __init__(self, lab: Rig, paths: list[str]) -> None:
        content = lab.content
        self.collector = content.propertyCollector.CreatePropertyCollector()
        view = content.viewManager.CreateContainerView(content.rootFolder, [vim.VirtualMachine], True)
        self.filter = self.collector.CreateFilter(selection(view, vim.VirtualMachine, paths), True)
        self.version = ""

    def news(self, seconds: int) -> list[tuple[str, str, dict[str, Any]]] | None:
        """(kind, moid, {path: value}) of the changes; None: nothing within ``seconds``."""
        answer = self.collector.WaitForUpdatesEx(self.version, PC.WaitOptions(maxWaitSeconds=seconds))
        if answer is None:
            return None
        self.version = answer.version
        updates = [u for f in answer.filterSet for u in f.objectSet]
        return [(u.kind, u.obj._moId, {c.name: c.val for c in u.changeSet}) for u in updates]


def test_waiting_tells_first_all_then_only_what_changed(lab: Rig) -> None:
    watch = Watch(lab, ["name", "runtime.powerState", "runtime.bootTime"])
    first = watch.news(1)
    assert first is not None and len(first) == 5 and {k for k, _, _ in first} == {"enter"}
    assert watch.news(0) is None
    begin = time.monotonic()
    assert watch.news(1) is None
    assert 0.9 < time.monotonic() - begin < 3
    lab.reconfigure("vm-r", annotation="changes nothing that is watched")
    assert watch.news(0) is None
    lab.on("vm-r")
    ((kind, moid, changes),) = watch.news(5) or []
    assert (kind, moid) == ("modify", lab.vm("vm-r")._moId)
    assert changes["runtime.powerState"] == "poweredOn" and set(changes) == {"runtime.powerState", "runtime.bootTime"}
    lab.off("vm-r")
    ((_, _, changes),) = watch.news(5) or []
    assert changes == {"runtime.powerState": "poweredOff", "runtime.bootTime": None}


def test_waiting_is_woken_by_a_change(lab: Rig) -> None:
    watch = Watch(lab, ["runtime.powerState"])
    watch.news(1)
    heard: list[Any] = []
    thread = threading.Thread(target=lambda: heard.append((watch.news(20), time.monotonic())))
    thread.start()
    until(lambda: lab.running.server.api.sessions.all()[0].waiting == 1)
    lab.post("vm/vm-r/power", do="on")
    done = time.monotonic()
    thread.join(10)
    assert heard[0][0][0][2] == {"runtime.powerState": "poweredOn"} and heard[0][1] - done < 1


def test_machines_that_come_and_go(lab: Rig) -> None:
    watch = Watch(lab, ["name"])
    watch.news(1)
    lab.post("vm/vm-r/clone", to="vm-new")
    ((kind, moid, changes),) = watch.news(5) or []
    assert (kind, changes) == ("enter", {"name": "vm-new"})
    lab.post("vm/vm-new/destroy")
    assert watch.news(5) == [("leave", moid, {})]


def test_a_watched_object_that_is_destroyed_leaves(lab: Rig) -> None:
    vm = lab.vm("vm-r")
    collector = lab.content.propertyCollector.CreatePropertyCollector()
    spec = PC.FilterSpec(
        objectSet=[PC.ObjectSpec(obj=vm)], propSet=[PC.PropertySpec(type=vim.VirtualMachine, pathSet=["name"])]
    )
    collector.CreateFilter(spec, True)
    version = collector.WaitForUpdatesEx("", None).version
    lab.post("vm/vm-r/destroy")
    answer = collector.WaitForUpdatesEx(version, None)
    assert answer.filterSet[0].objectSet[0].kind == "leave"
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        collector.CreateFilter(spec, True)


def test_collectors_and_filters_end(lab: Rig) -> None:
    watch = Watch(lab, ["name"])
    watch.news(1)
    watch.filter.DestroyPropertyFilter()
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        watch.filter.DestroyPropertyFilter()
    assert watch.news(0) is None
    with pytest.raises(vmodl.query.InvalidCollectorVersion):
        watch.collector.WaitForUpdatesEx("77", PC.WaitOptions(maxWaitSeconds=0))
    assert watch.collector.CheckForUpdates("") is not None
    watch.collector.DestroyPropertyCollector()
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        watch.collector.CheckForUpdates("")


def test_a_task_is_watched_to_its_end() -> None:
    with rig(task_latency_s=0.3) as lab:
        task = lab.vm("vm-r").PowerOnVM_Task()
        collector = lab.content.propertyCollector.CreatePropertyCollector()
        spec = PC.FilterSpec(
            objectSet=[PC.ObjectSpec(obj=task)],
            propSet=[PC.PropertySpec(type=vim.Task, pathSet=["info.state", "info.error", "info.progress"])],
        )
        collector.CreateFilter(spec, True)
        version, states = "", []
        while states[-1:] != ["success"]:
            answer = collector.WaitForUpdatesEx(version, PC.WaitOptions(maxWaitSeconds=5))
            version = answer.version
            changes = [c for f in answer.filterSet for u in f.objectSet for c in u.changeSet]
            states += [str(c.val) for c in changes if c.name == "info.state"]
        assert states == ["queued", "running", "success"]
        info = task.info
        assert (info.progress, info.entityName, info.reason.userName) == (100, "vm-r", lab.running.user)
        assert info.queueTime <= info.startTime <= info.completeTime


def test_twenty_clients_at_once(lab: Rig) -> None:
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for _ in range(5):
                assert len(read_all(lab, vim.VirtualMachine, LOOK)[0]) == 5
                assert lab.vm(name).name == name
        except BaseException as failure:  # noqa: BLE001 - carried to the test's own thread
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(n,)) for n in ("vm-r", "vm-train", "vm-python", "vm-python-2") * 5]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
