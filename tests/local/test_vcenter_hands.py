"""Foreign hands and fate: another login, the control side, VMs that go, a host that goes. With the real pyVmomi."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyVim.task import WaitForTask
from pyVmomi import vim, vmodl

from tests.local.vcenter_client import ADMIN, CARD_1, CARD_2, PERSON, Rig, leave, login, rig, until


@pytest.fixture
def lab() -> Iterator[Rig]:
    with rig() as one:
        yield one


def test_a_second_login_acts_under_its_own_name(lab: Rig) -> None:
    other = login(lab.running, PERSON)
    try:
        WaitForTask(lab.vm("vm-r", other).PowerOnVM_Task())
    finally:
        leave(other)
    assert lab.power("vm-r") == "poweredOn"
    assert lab.journal("power on") == [(PERSON, "power on", "vm-r")]


def test_an_admin_attaches_through_the_api(lab: Rig) -> None:
    other = login(lab.running, ADMIN)
    try:
        spec = vim.vm.ConfigSpec(deviceChange=[lab.add(CARD_1)], memoryReservationLockedToMax=True)
        WaitForTask(lab.vm("vm-r", other).ReconfigVM_Task(spec))
    finally:
        leave(other)
    assert lab.cards("vm-r") == [CARD_1]
    assert lab.journal("card on") == [(ADMIN, "card on", "vm-r")]


def test_hands_on_the_control_side_renew_the_change_version(lab: Rig) -> None:
    read = lab.vm("vm-r").config.changeVersion
    lab.post("vm/vm-r/attach", card=CARD_1)
    assert lab.cards("vm-r") == [CARD_1]
    assert lab.vm("vm-r").config.memoryReservationLockedToMax
    with pytest.raises(vim.fault.ConcurrentAccess):
        lab.reconfigure("vm-r", changeVersion=read, annotation="x")
    lab.post("vm/vm-r/detach", card=CARD_1)
    assert lab.cards("vm-r") == []
    assert [u for u, _, _ in lab.journal("card on", "card off")] == [ADMIN, ADMIN]
    lab.post("vm/vm-r/detach", expect=400, card=CARD_1)
    lab.post("vm/vm-r/attach", expect=400, card="0000:00:00.0")


def test_hands_obey_the_rules(lab: Rig) -> None:
    lab.post("vm/vm-r/power", do="on")
    answer = lab.post("vm/vm-r/attach", expect=409, card=CARD_1)
    assert answer["fault"] == "InvalidPowerState"
    lab.post("vm/vm-r/power", expect=409, do="on")
    lab.post("vm/vm-r/power", expect=400, do="explode")
    lab.post("vm/nobody/power", expect=404, do="on")
    lab.post("vm/vm-r/power", do="off")


def test_a_person_inside_stops_the_machine(lab: Rig) -> None:
    lab.post("vm/vm-r/power", expect=400, do="stop")
    lab.up("vm-r")
    lab.post("vm/vm-r/power", do="stop")
    until(lambda: lab.power("vm-r") == "poweredOff")
    assert lab.journal("shutdown asked") == []
    assert lab.journal("power off") == [("guest", "power off", "vm-r")]


def test_destroyed_it_is_gone_and_its_card_is_free(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    lab.up("vm-r")
    vm = lab.vm("vm-r")
    lab.post("vm/vm-r/destroy")
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        vm.runtime.powerState  # noqa: B018 - reading it is the call
    with pytest.raises(vmodl.fault.ManagedObjectNotFound):
        vm.PowerOnVM_Task()
    assert "vm-r" not in [v.name for v in lab.view(vim.VirtualMachine)]
    assert lab.card(CARD_1)["in_config"] == [] and lab.card(CARD_1)["bound"] is None
    lab.give("vm-train", CARD_1)
    lab.on("vm-train")


def test_a_task_on_a_vm_that_goes_meanwhile_fails() -> None:
    with rig(task_latency_s=1.0) as lab:
        task = lab.vm("vm-r").PowerOnVM_Task()
        lab.post("vm/vm-r/destroy")
        until(lambda: task.info.state == "error")
        assert isinstance(task.info.error, vmodl.fault.ManagedObjectNotFound)


def test_registered_again_it_has_another_id_and_the_same_uuid(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    before = lab.vm("vm-r")
    uuid = before.config.instanceUuid
    lab.post("vm/vm-r/unregister")
    assert "vm-r" not in [v.name for v in lab.view(vim.VirtualMachine)]
    lab.post("vm/vm-r/register")
    after = lab.vm("vm-r")
    assert after._moId != before._moId
    assert after.config.instanceUuid == uuid and lab.cards("vm-r") == [CARD_1]
    lab.on("vm-r")
    lab.post("vm/vm-r/reregister", expect=400)  # only while off
    lab.post("vm/other/register", expect=404)


def test_renamed_it_is_the_same(lab: Rig) -> None:
    vm = lab.vm("vm-r")
    lab.post("vm/vm-r/rename", to="vm-stats")
    assert vm.name == "vm-stats" and vm.config.name == "vm-stats"
    lab.post("vm/vm-stats/rename", expect=400, to="vm-train")
    lab.on("vm-stats")


def test_a_clone_copies_the_devices(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    lab.post("vm/vm-r/clone", to="vm-copy")
    original, copy = lab.vm("vm-r").config, lab.vm("vm-copy").config
    assert lab.cards("vm-copy") == [CARD_1]
    assert copy.instanceUuid != original.instanceUuid and copy.uuid != original.uuid
    assert lab.card(CARD_1)["in_config"] == ["vm-r", "vm-copy"]
    lab.on("vm-copy")
    with pytest.raises(vim.fault.GenericVmConfigFault, match="already in use"):
        lab.on("vm-r")
    lab.reconfigure("vm-copy", annotation="mine")
    assert lab.vm("vm-r").config.annotation is None
    lab.post("vm/vm-r/clone", expect=400, to="vm-copy")


def test_a_template_holds_cards_in_its_settings_and_cannot_be_used(lab: Rig) -> None:
    template = lab.vm("template-gpu")
    assert template.config.template is True
    with pytest.raises(vmodl.fault.NotSupported):
        WaitForTask(template.PowerOnVM_Task())
    with pytest.raises(vmodl.fault.NotSupported):
        lab.reconfigure("template-gpu", annotation="x")
    lab.give("vm-r", CARD_1)
    lab.post("vm/vm-r/template")
    assert lab.vm("vm-r").config.template is True and lab.cards("vm-r") == [CARD_1]
    lab.post("vm/vm-r/clone", to="vm-made")
    assert lab.vm("vm-made").config.template is False
    lab.post("vm/vm-r/template", template=False)
    lab.on("vm-r")
    lab.post("vm/vm-r/template", expect=400)


def test_maintenance_forbids_starts_and_nothing_else(lab: Rig) -> None:
    lab.up("vm-train")
    lab.post("host", maintenance=True)
    assert lab.host.runtime.inMaintenanceMode is True
    with pytest.raises(vim.fault.InvalidHostState):
        lab.on("vm-r")
    lab.give("vm-r", CARD_1)
    lab.vm("vm-train").ShutdownGuest()
    until(lambda: lab.power("vm-train") == "poweredOff")
    lab.post("host", maintenance=False)
    lab.on("vm-r")


@pytest.mark.parametrize(
    ("state", "fault"),
    [("disconnected", vmodl.fault.HostNotConnected), ("notResponding", vmodl.fault.HostNotReachable)],
)
def test_a_host_out_of_reach_refuses_all(lab: Rig, state: str, fault: type[Exception]) -> None:
    lab.up("vm-train")
    lab.post("host", connection=state)
    assert lab.host.runtime.connectionState == state
    assert lab.vm("vm-train").runtime.connectionState == "disconnected"
    for call in (
        lambda: lab.on("vm-r"),
        lambda: lab.off("vm-train"),
        lambda: lab.reconfigure("vm-r", annotation="x"),
        lambda: lab.vm("vm-train").ShutdownGuest(),
        lambda: lab.backing(CARD_1),
    ):
        with pytest.raises(fault):
            call()
    lab.post("host", connection="connected")
    assert lab.vm("vm-train").runtime.connectionState == "connected"
    lab.on("vm-r")
    lab.post("host", expect=400, connection="sulking")


def test_suspended_is_a_third_state(lab: Rig) -> None:
    lab.post("vm/vm-r/power", expect=400, do="suspend")
    lab.give("vm-r", CARD_1)
    lab.up("vm-r")
    lab.post("vm/vm-r/power", do="suspend")
    assert lab.power("vm-r") == "suspended"
    with pytest.raises(vim.fault.InvalidPowerState):
        lab.vm("vm-r").ShutdownGuest()
    lab.on("vm-r")
    assert lab.power("vm-r") == "poweredOn"


def test_an_inaccessible_vm_has_no_config(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    lab.post("vm/vm-r/inaccessible")
    vm = lab.vm("vm-r")
    assert vm.config is None and vm.runtime.connectionState == "inaccessible" and vm.name == "vm-r"
    assert lab.card(CARD_1)["in_config"] == []
    with pytest.raises(vim.fault.InvalidState):
        lab.on("vm-r")
    lab.post("vm/vm-r/inaccessible", inaccessible=False)
    assert lab.cards("vm-r") == [CARD_1]
    lab.on("vm-r")


def test_a_question_blocks_the_task_until_answered(lab: Rig) -> None:
    lab.post("vm/vm-r/question", text="Was it moved or copied?")
    vm = lab.vm("vm-r")
    assert vm.runtime.question.text == "Was it moved or copied?"
    task = vm.PowerOnVM_Task()
    until(lambda: task.info.state == "running")
    lab.on("vm-train")  # longer than the task would take
    assert task.info.state == "running"
    with pytest.raises(vim.fault.NoPermission):
        vm.AnswerVM("1", "0")  # not in the bot's role
    lab.post("privileges", user=lab.running.user, grants=["VirtualMachine.Interact.AnswerQuestion"])
    with pytest.raises(vmodl.fault.InvalidArgument):
        vm.AnswerVM("7", "0")
    vm.AnswerVM("1", "0")
    until(lambda: task.info.state == "success")
    assert vm.runtime.question is None


def test_a_foreign_task_keeps_the_machine_busy(lab: Rig) -> None:
    lab.post("vm/vm-r/task", seconds=1.5)
    with pytest.raises(vim.fault.TaskInProgress) as refused:
        lab.on("vm-r")
    info = vim.Task(refused.value.task._moId, lab.si._stub).info
    assert info.reason.userName == ADMIN
    lab.post("vm/vm-r/power", expect=409, do="on")
    with pytest.raises(vmodl.fault.NotSupported):
        info.task.CancelTask()
    until(lambda: lab.state("vm-r")["task"] is None)
    lab.on("vm-r")


def test_reinstalled_the_host_has_another_system_id_and_old_backings_are_stale(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    old = lab.backing(CARD_1).systemId
    lab.post("host", reinstall=True)
    assert lab.backing(CARD_1).systemId != old
    with pytest.raises(vim.fault.GenericVmConfigFault, match="does not match"):
        lab.on("vm-r")
    lab.post("vm/vm-r/detach", card=CARD_1)
    lab.give("vm-r", CARD_1)
    lab.on("vm-r")


def test_what_is_inaccessible_cannot_be_worked_on(lab: Rig) -> None:
    lab.post("vm/vm-r/inaccessible")
    lab.post("vm/vm-r/clone", expect=400, to="vm-copy")
    lab.post("vm/vm-r/template", expect=400)
    lab.post("vm/vm-r/rename", to="vm-lost")
    lab.post("vm/vm-lost/inaccessible", inaccessible=False)
    assert lab.vm("vm-lost").config.name == "vm-lost"


def test_passthrough_asked_for_is_in_effect_after_a_reboot_of_the_host(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    lab.on("vm-r")
    lab.post(f"card/{CARD_2}", enabled=False)
    info = {i.id: i for i in lab.host.config.pciPassthruInfo}[CARD_2]
    assert (info.passthruCapable, info.passthruEnabled, info.passthruActive) == (True, False, True)
    lab.give("vm-train", CARD_2)
    lab.post("host", reboot=True)
    assert lab.power("vm-r") == "poweredOff"
    assert lab.journal("power off") == [("vcenter", "power off", "vm-r")]
    info = {i.id: i for i in lab.host.config.pciPassthruInfo}[CARD_2]
    assert (info.passthruEnabled, info.passthruActive) == (False, False)
    target = lab.vm("vm-r").environmentBrowser.QueryConfigTarget(None)
    assert CARD_2 not in [p.pciDevice.id for p in target.pciPassthrough]
    with pytest.raises(vim.fault.GenericVmConfigFault, match="not a passthrough device"):
        lab.on("vm-train")
    lab.post("vm/vm-r/attach", expect=409, card=CARD_2)  # nor can it be added any more
    assert lab.cards("vm-r") == [CARD_1]
    lab.post(f"card/{CARD_2}", enabled=True)
    lab.post("host", reboot=True)
    lab.on("vm-train")
    lab.post("card/0000:00:00.0", expect=400, enabled=True)
