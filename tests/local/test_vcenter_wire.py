"""The wire alone: golden requests of two clients are understood, golden answers are written, byte for byte.

The files are in tests/data/vcenter: requests as pyVmomi 9.1.1.0 and govmomi 0.24.2 sent them (passwords replaced), answers
as reviewed against the vSphere API. Nothing here opens a socket.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyVmomi import SoapAdapter, VmomiSupport, vim, vmodl

from bot.local.vcenter import wire
from bot.local.vcenter.collector import typed
from bot.local.vcenter.inventory import gone
from bot.local.vcenter.reconfigure import invalid_state
from bot.local.vcenter.vmomi import Refusal

DATA = Path(__file__).parents[1] / "data" / "vcenter"
PC: Any = vmodl.query.PropertyCollector
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def request(name: str) -> wire.Call:
    return wire.parse_request((DATA / f"{name}.request.xml").read_bytes())


@pytest.mark.parametrize(("client", "more"), [("pyvmomi", {}), ("govmomi", {"locale": "en_US"})])
def test_login(client: str, more: dict[str, str]) -> None:
    call = request(f"{client}_login")
    assert (call.method, call.this._moId) == ("Login", "SessionManager")
    assert call.args == {"userName": "gpubot@vsphere.local", "password": "secret", **more}
    assert call.result is vim.UserSession


def test_reconfigure_of_pyvmomi_with_two_devices() -> None:
    call = request("pyvmomi_reconfigure")
    assert (call.method, call.this._moId, call.result) == ("ReconfigVM_Task", "vm-104", vim.Task)
    spec = call.args["spec"]
    assert [c.device.key for c in spec.deviceChange] == [-1, -2]
    assert [c.device.backing.id for c in spec.deviceChange] == ["0000:3b:00.0", "0000:5e:00.0"]
    assert {c.operation for c in spec.deviceChange} == {"add"}
    assert spec.deviceChange[0].device.backing.vendorId == 0x10DE
    assert spec.memoryReservationLockedToMax is True and spec.changeVersion is None


def test_reconfigure_of_govmomi_with_its_other_namespace_style() -> None:
    spec = request("govmomi_reconfigure").args["spec"]
    (change,) = spec.deviceChange
    assert isinstance(change.device, vim.vm.device.VirtualPCIPassthrough)
    assert isinstance(change.device.backing, vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo)
    assert (change.device.key, change.device.backing.deviceId) == (-1, "1eb8")
    assert spec.changeVersion == "2026-11-30T03:41:46.510717+00:00/26"


def test_retrieve_with_a_list_parameter_followed_by_another() -> None:
    call = request("pyvmomi_retrieve")
    (spec,) = call.args["specSet"]
    assert list(spec.propSet[0].pathSet) == ["name", "runtime.powerState"]
    assert spec.propSet[0].type is vim.VirtualMachine
    select = spec.objectSet[0].selectSet[0]
    assert (select.name, select.path, select.type) == ("view", "view", vim.view.ContainerView)
    assert call.args["options"].maxObjects is None


def test_fetch_is_in_no_table_and_still_understood() -> None:
    call = request("pyvmomi_fetch")
    assert (call.method, call.args) == ("Fetch", {"prop": "view"})


def test_calls_without_parameters_and_with_references() -> None:
    assert request("govmomi_wait").args == {}
    call = request("govmomi_config_target")
    assert (call.this._moId, call.args["host"]._moId) == ("envbrowser-8", "host-9")


ENVELOPE = '<E:Envelope xmlns:E="http://schemas.xmlsoap.org/soap/envelope/"><E:Body>{}</E:Body></E:Envelope>'


@pytest.mark.parametrize(
    "body",
    [
        "",
        '<NoSuchMethod xmlns="urn:vim25"><_this type="VirtualMachine">vm-1</_this></NoSuchMethod>',
        '<PowerOnVM_Task xmlns="urn:vim25"/>',
        '<PowerOnVM_Task xmlns="urn:vim25"><_this type="VirtualMachine">vm-1</_this><odd>1</odd></PowerOnVM_Task>',
        '<PowerOnVM_Task xmlns="urn:vim25"><_this type="NoSuchType">vm-1</_this></PowerOnVM_Task>',
        '<ReconfigVM_Task xmlns="urn:vim25"><_this type="VirtualMachine">vm-1</_this><spec><memoryMB>many</memoryMB>'
        "</spec></ReconfigVM_Task>",
        '<ReconfigVM_Task xmlns="urn:vim25"><_this type="VirtualMachine">vm-1</_this><spec><odd>1</odd></spec>'
        "</ReconfigVM_Task>",
        "<unclosed>",
    ],
)
def test_what_is_no_call_is_refused_as_such(body: str) -> None:
    with pytest.raises(Refusal) as refused:
        wire.parse_request(ENVELOPE.format(body).encode())
    assert isinstance(refused.value.fault, vmodl.fault.InvalidRequest)


def retrieve_result() -> bytes:
    device = vim.vm.device.VirtualPCIPassthrough(
        key=13000,
        controllerKey=100,
        unitNumber=18,
        deviceInfo=vim.Description(label="PCI device 0", summary="TU104GL [Tesla T4]"),
        backing=vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo(
            id="0000:3b:00.0",
            deviceId="1eb8",
            systemId="sys-1",
            vendorId=VmomiSupport.short(0x10DE),
            deviceName="TU104GL [Tesla T4]",
        ),
    )
    values = [
        ("name", "R & <D>"),
        ("runtime.powerState", typed("poweredOn", vim.VirtualMachine.PowerState)),
        ("runtime.bootTime", NOON),
        ("runtime.host", vim.HostSystem("host-9")),
        ("config.template", False),
        ("config.hardware.memoryMB", typed(65536, int)),
        ("config.memoryAllocation.reservation", VmomiSupport.long(65536)),
        ("config.hardware.device", vim.vm.device.VirtualDevice.Array([device])),
    ]
    props = [vmodl.DynamicProperty(name=n, val=v) for n, v in values]
    result = PC.RetrieveResult(token="t-1", objects=[PC.ObjectContent(obj=vim.VirtualMachine("vm-104"), propSet=props)])
    return wire.response("RetrievePropertiesEx", result, PC.RetrieveResult)


def task_error() -> bytes:
    refused = invalid_state("poweredOff", "poweredOn")
    info = vim.TaskInfo(
        key="task-1",
        task=vim.Task("task-1"),
        descriptionId="VirtualMachine.reconfigVM",
        state="error",
        cancelled=False,
        cancelable=False,
        error=refused.fault,
        queueTime=NOON,
        eventChainId=1,
        reason=vim.TaskReasonUser(userName="gpubot@vsphere.local"),
    )
    change = PC.Change(name="info", op="assign", val=info)
    update = PC.ObjectUpdate(kind="modify", obj=vim.Task("task-1"), changeSet=[change])
    found = PC.FilterUpdate(filter=PC.Filter("filter-1"), objectSet=[update])
    return wire.response("WaitForUpdatesEx", PC.UpdateSet(version="2", filterSet=[found]), PC.UpdateSet)


def fault() -> bytes:
    refused = gone(vim.VirtualMachine("vm-9"))
    return wire.fault(refused.fault, str(refused))


ANSWERS: dict[str, Callable[[], bytes]] = {
    "retrieve_result": retrieve_result,
    "task": lambda: wire.response("PowerOnVM_Task", vim.Task("task-7"), vim.Task),
    "nothing": lambda: wire.response("ShutdownGuest", None, type(None)),
    "fetch_references": lambda: wire.response(
        "Fetch", vim.ManagedEntity.Array([vim.VirtualMachine("vm-1"), vim.HostSystem("host-9")]), object
    ),
    "task_error": task_error,
    "fault": fault,
}


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_answers_are_written_byte_for_byte(name: str) -> None:
    assert ANSWERS[name]().decode() == (DATA / f"{name}.answer.xml").read_text()


def test_answers_come_back_through_the_clients_own_parser() -> None:
    reader = SoapAdapter.SoapResponseDeserializer(SoapAdapter.SoapStubAdapter("nowhere", version=wire.VERSION))
    back = reader.Deserialize(retrieve_result(), PC.RetrieveResult)
    told = {p.name: p.val for p in back.objects[0].propSet}
    assert told["name"] == "R & <D>" and told["runtime.bootTime"] == NOON
    assert told["config.hardware.device"][0].backing.id == "0000:3b:00.0"
    assert told["config.template"] is False and told["config.memoryAllocation.reservation"] == 65536
