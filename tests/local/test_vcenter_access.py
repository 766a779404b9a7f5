"""Privileges object by object, custom attributes, notes, search, and a clock of vCenter's own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl

from bot.local.vcenter.privileges import BOT, KNOWN
from bot.service.setup import role
from tests.local.vcenter_client import ADMIN, CARD_1, PERSON, Rig, leave, login, rig

DEVICE, ON = "VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Interact.PowerOn"
FIELDS, SET = "Global.ManageCustomFields", "Global.SetCustomField"


@pytest.fixture(scope="module")
def shared() -> Iterator[Rig]:
    with rig() as one:
        yield one


@pytest.fixture
def lab(shared: Rig) -> Iterator[Rig]:
    """The one server, with the roles as they are by themselves."""
    shared.post("privileges", user=shared.running.user)
    for name in ("vm-r", "vm-python"):
        shared.post("privileges", user=shared.running.user, vm=name)
    yield shared


@pytest.fixture(scope="module")
def admin(shared: Rig) -> Iterator[Any]:
    si = login(shared.running, ADMIN)
    yield si
    leave(si)


def granted(lab: Rig, entity: Any, *ids: str, user: str = "") -> list[bool]:
    """As both questions answer it."""
    manager = lab.content.authorizationManager
    of_user = manager.HasUserPrivilegeOnEntities([entity], user or lab.running.user, list(ids))
    marks = [m.isGranted for m in of_user[0].privAvailability]
    if not user:
        key = lab.content.sessionManager.currentSession.key
        own = manager.HasPrivilegeOnEntities([entity], key, list(ids))
        assert (
            [m.isGranted for m in own[0].privAvailability]
            == marks
            == list(manager.HasPrivilegeOnEntity(entity, key, list(ids)))
        )
    return marks


def test_one_privilege_missing_on_one_machine(lab: Rig) -> None:
    user = lab.running.user
    lab.post("privileges", user=user, vm="vm-r", lacks=[DEVICE])
    assert granted(lab, lab.vm("vm-r"), DEVICE, ON) == [False, True]
    assert granted(lab, lab.vm("vm-python"), DEVICE, ON) == [True, True]
    with pytest.raises(vim.fault.NoPermission) as refused:
        lab.give("vm-r", CARD_1)
    assert refused.value.privilegeId == DEVICE
    (missing,) = refused.value.missingPrivileges
    assert (missing.entity._moId, list(missing.privilegeIds)) == (lab.vm("vm-r")._moId, [DEVICE])
    lab.reconfigure("vm-python", memoryReservationLockedToMax=False)  # the other one as before


def test_hosts_are_only_looked_at_and_the_admin_may_everything(lab: Rig) -> None:
    assert granted(lab, lab.host, "System.Read", "Host.Config.Maintenance", ON) == [True, False, False]
    assert granted(lab, lab.host, "Host.Config.Maintenance", user=ADMIN) == [True]
    assert granted(lab, lab.host, ON, user=PERSON) == [False]
    assert granted(lab, lab.vm("vm-r"), ON, user="VSPHERE.LOCAL\\gpubot") == [True]  # as vCenter writes logins
    with pytest.raises(vim.fault.NotFound):
        granted(lab, lab.host, ON, user="nobody@vsphere.local")


def test_the_role_is_what_the_doctor_asks_for_and_no_more() -> None:
    assert {*role.READ, *role.ACT} == BOT


def test_all_privileges_of_a_login(lab: Rig) -> None:
    fetch = lab.content.authorizationManager.FetchUserPrivilegeOnEntities
    of = {e.entity._moId: set(e.privileges) for e in fetch([lab.vm("vm-r"), lab.host], lab.running.user)}
    assert {DEVICE, ON, "System.Read"} < of[lab.vm("vm-r")._moId]
    assert of[lab.host._moId] == {"System.Anonymous", "System.View", "System.Read"}
    assert [p.privId for p in lab.content.authorizationManager.privilegeList] == KNOWN
    with pytest.raises(vim.fault.NotFound):
        fetch([lab.host], "nobody")


def test_what_may_not_be_read_is_missing_and_what_may_not_be_seen_is_not_there(lab: Rig) -> None:
    user, vm = lab.running.user, lab.vm("vm-r")
    pc: Any = vmodl.query.PropertyCollector
    spec = pc.FilterSpec(
        objectSet=[pc.ObjectSpec(obj=vm)],
        propSet=[pc.PropertySpec(type=vim.VirtualMachine, all=False, pathSet=["name", "runtime.powerState"])],
    )
    lab.post("privileges", user=user, vm="vm-r", lacks=["System.Read"])
    (found,) = lab.content.propertyCollector.RetrieveContents([spec])
    assert not found.propSet and [m.path for m in found.missingSet] == ["name", "runtime.powerState"]
    assert isinstance(found.missingSet[0].fault, vim.fault.NoPermission)
    with pytest.raises(vim.fault.NoPermission):
        vm.runtime  # noqa: B018
    before = len(lab.view(vim.VirtualMachine))
    lab.post("privileges", user=user, vm="vm-r", lacks=["System.View"])
    assert len(lab.view(vim.VirtualMachine)) == before - 1


def test_custom_attributes(lab: Rig, admin: Any) -> None:
    mine, theirs = lab.content.customFieldsManager, admin.content.customFieldsManager
    with pytest.raises(vim.fault.NoPermission) as refused:
        mine.AddCustomFieldDef("gpubot", vim.VirtualMachine)
    assert refused.value.privilegeId == FIELDS
    made = theirs.AddCustomFieldDef("gpubot", vim.VirtualMachine)
    with pytest.raises(vim.fault.DuplicateName):
        theirs.AddCustomFieldDef("gpubot", vim.VirtualMachine)
    vm = lab.vm("vm-r")
    with pytest.raises(vim.fault.NoPermission) as refused:
        vm.setCustomValue("gpubot", "ada until 18:00")
    assert refused.value.privilegeId == SET
    lab.post("privileges", user=lab.running.user, grants=[SET, FIELDS])
    vm.setCustomValue("gpubot", "ada until 18:00")
    assert (
        [(f.key, f.name) for f in vm.availableField] == [(made.key, "gpubot")] == [(f.key, f.name) for f in mine.field]
    )
    assert [(v.key, v.value) for v in vm.customValue] == [(made.key, "ada until 18:00")]
    mine.SetField(vm, made.key, "bob")
    assert [v.value for v in vm.value] == ["bob"]
    assert (lab.running.user, "custom value", "vm-r") in lab.journal("custom value")
    assert not lab.host.availableField and not lab.vm("vm-python").customValue
    for wrong in (lambda: mine.SetField(lab.host, made.key, "x"), lambda: vm.setCustomValue("other", "x")):
        with pytest.raises(vmodl.fault.InvalidArgument):
            wrong()
    mine.RenameCustomFieldDef(made.key, "gpu holder")
    assert vm.availableField[0].name == "gpu holder"
    mine.RemoveCustomFieldDef(made.key)
    assert not vm.customValue and not vm.availableField


def test_notes_and_other_fields_need_their_own_privilege(lab: Rig, admin: Any) -> None:
    spec = vim.vm.ConfigSpec(annotation="owner: ada@example.com")
    with pytest.raises(vim.fault.NoPermission) as refused:
        lab.vm("vm-r").ReconfigVM_Task(spec)
    assert refused.value.privilegeId == "VirtualMachine.Config.Annotation"
    WaitForTask(lab.vm("vm-r", admin).ReconfigVM_Task(spec))
    assert lab.vm("vm-r").config.annotation == "owner: ada@example.com"


def test_search(lab: Rig) -> None:
    index, vm = lab.content.searchIndex, lab.vm("vm-r")
    assert index.FindByInventoryPath(f"{vm.parent.parent.name}/vm/vm-r")._moId == vm._moId
    assert index.FindByInventoryPath("nowhere/vm/vm-r") is None
    assert index.FindChild(vm.parent, "vm-r")._moId == vm._moId
    assert [found._moId for found in index.FindAllByUuid(None, vm.config.instanceUuid, True, True)] == [vm._moId]
    assert index.FindByUuid(None, lab.host.hardware.systemInfo.uuid, False)._moId == lab.host._moId


def test_vcenter_s_clock_is_ahead(lab: Rig) -> None:
    lab.post("skew", seconds=3600)
    ahead = lab.si.CurrentTime() - lab.world.clock.now()
    lab.post("skew", seconds=0)
    assert timedelta(minutes=59) < ahead < timedelta(minutes=61)
