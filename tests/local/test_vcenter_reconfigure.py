"""The rules of ReconfigVM, each from both sides, with the real pyVmomi."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from tests.local.vcenter_client import CARD_1, CARD_2, CARD_3, PCI, Rig, rig


@pytest.fixture
def lab() -> Iterator[Rig]:
    with rig() as one:
        yield one


def remove(device: Any) -> Any:
    return vim.vm.device.VirtualDeviceSpec(operation="remove", device=device)


def test_a_card_goes_on_with_final_key_controller_and_unit_and_comes_off(lab: Rig) -> None:
    lab.give("vm-r", CARD_1, CARD_2)
    first, second = lab.devices("vm-r")
    assert [first.key, second.key] == [13000, 13001]
    assert [first.controllerKey, second.controllerKey] == [100, 100]
    assert first.unitNumber >= 18 and second.unitNumber >= 18 and first.unitNumber != second.unitNumber
    assert first.backing.deviceId == "1eb8" and first.backing.vendorId == 0x10DE
    lab.reconfigure("vm-r", deviceChange=[remove(first)])
    assert lab.cards("vm-r") == [CARD_2]
    lab.give("vm-r", CARD_3)
    assert {d.backing.id: d.key for d in lab.devices("vm-r")} == {CARD_2: 13001, CARD_3: 13000}  # keys are recycled
    assert lab.journal("card on", "card off") == [
        (lab.running.user, "card on", "vm-r"),
        (lab.running.user, "card on", "vm-r"),
        (lab.running.user, "card off", "vm-r"),
        (lab.running.user, "card on", "vm-r"),
    ]


@pytest.mark.parametrize("fault", ["InvalidPowerState", "DeviceHotPlugNotSupported", "GenericVmConfigFault"])
def test_no_device_change_while_on_or_suspended(fault: str) -> None:
    with rig(hot_fault=fault) as lab:
        lab.give("vm-r", CARD_1)
        lab.up("vm-r")
        with pytest.raises(getattr(vim.fault, fault)):
            lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_2)])
        with pytest.raises(getattr(vim.fault, fault)):
            lab.reconfigure("vm-r", deviceChange=[remove(lab.devices("vm-r")[0])])
        lab.post("vm/vm-r/power", do="suspend")
        with pytest.raises(getattr(vim.fault, fault)):
            lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_2)])
        assert lab.cards("vm-r") == [CARD_1]
        lab.off("vm-r")
        lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_2)])
        assert lab.cards("vm-r") == [CARD_1, CARD_2]


def test_change_version_of_the_last_read_is_applied_an_older_one_is_not(lab: Rig) -> None:
    read = lab.vm("vm-r").config.changeVersion
    lab.reconfigure("vm-r", changeVersion=read, annotation="one")
    with pytest.raises(vim.fault.ConcurrentAccess):
        lab.reconfigure("vm-r", changeVersion=read, deviceChange=[lab.add(CARD_1)])
    assert lab.cards("vm-r") == []
    now = lab.vm("vm-r").config.changeVersion
    assert now != read
    lab.reconfigure("vm-r", changeVersion=now, deviceChange=[lab.add(CARD_1)])
    assert lab.cards("vm-r") == [CARD_1]
    lab.reconfigure("vm-r", annotation="no version: not checked")
    assert lab.vm("vm-r").config.annotation == "no version: not checked"


def test_power_on_and_off_leave_the_change_version(lab: Rig) -> None:
    read = lab.vm("vm-r").config.changeVersion
    lab.on("vm-r")
    lab.off("vm-r")
    assert lab.vm("vm-r").config.changeVersion == read


def test_a_spec_is_all_or_nothing(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    before = lab.vm("vm-r").config.changeVersion
    with pytest.raises(vim.fault.InvalidDeviceBacking) as refused:
        lab.reconfigure(
            "vm-r",
            deviceChange=[remove(lab.devices("vm-r")[0]), lab.add(CARD_2, -1), lab.add(CARD_3, -2, id="0000:99:00.0")],
            annotation="lost",
        )
    assert refused.value.deviceIndex == 2
    assert lab.cards("vm-r") == [CARD_1]
    assert lab.vm("vm-r").config.annotation is None
    assert lab.vm("vm-r").config.changeVersion == before


def test_remove_and_add_in_one_spec(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    lab.reconfigure("vm-r", deviceChange=[remove(lab.devices("vm-r")[0]), lab.add(CARD_2)])
    assert lab.cards("vm-r") == [CARD_2]


def test_new_devices_need_keys_of_their_own(lab: Rig) -> None:
    with pytest.raises(vim.fault.InvalidDeviceSpec) as refused:
        lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_1, -1), lab.add(CARD_2, -1)])
    assert refused.value.deviceIndex == 1
    assert lab.cards("vm-r") == []
    lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_1, -1), lab.add(CARD_2, -2)])
    assert lab.cards("vm-r") == [CARD_1, CARD_2]


def test_remove_needs_an_existing_key_of_its_type(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    with pytest.raises(vim.fault.InvalidDeviceSpec, match="no device with key 13007"):
        lab.reconfigure("vm-r", deviceChange=[remove(PCI(key=13007, backing=lab.backing(CARD_1)))])
    with pytest.raises(vim.fault.InvalidDeviceSpec, match="another type"):
        lab.reconfigure("vm-r", deviceChange=[remove(PCI(key=100, backing=lab.backing(CARD_1)))])
    lab.reconfigure("vm-r", deviceChange=[remove(PCI(key=13000))])  # the key says it all
    assert lab.cards("vm-r") == []


def test_edit_and_other_devices_are_refused(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    edit = vim.vm.device.VirtualDeviceSpec(operation="edit", device=lab.devices("vm-r")[0])
    with pytest.raises(vim.fault.InvalidDeviceOperation):
        lab.reconfigure("vm-r", deviceChange=[edit])
    nic = vim.vm.device.VirtualDeviceSpec(operation="add", device=vim.vm.device.VirtualE1000(key=-1))
    with pytest.raises(vim.fault.InvalidDeviceSpec):
        lab.reconfigure("vm-r", deviceChange=[nic])


@pytest.mark.parametrize("wrong", [{"deviceId": "7864"}, {"systemId": "elsewhere"}, {"vendorId": 0x10DF}])
def test_wrong_ids_pass_the_reconfigure_and_fail_at_power_on(lab: Rig, wrong: dict[str, Any]) -> None:
    lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_1, **wrong)], memoryReservationLockedToMax=True)
    assert lab.cards("vm-r") == [CARD_1]
    with pytest.raises(vim.fault.GenericVmConfigFault, match="does not match") as refused:
        lab.on("vm-r")
    assert "does not match" in refused.value.reason
    assert [m.message for m in refused.value.faultMessage][-1] == "Failed to start the virtual machine."
    lab.reconfigure("vm-r", deviceChange=[remove(lab.devices("vm-r")[0])])
    lab.give("vm-r", CARD_1)
    lab.on("vm-r")


@pytest.mark.parametrize("good", ["1eb8", "1EB8", "0x1eb8"])
def test_the_device_id_is_hex_in_any_dress(lab: Rig, good: str) -> None:
    lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_1, deviceId=good)], memoryReservationLockedToMax=True)
    lab.on("vm-r")


def test_strict_refuses_wrong_ids_at_once() -> None:
    with rig(strict_backing=True) as lab:
        with pytest.raises(vim.fault.InvalidDeviceBacking):
            lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_1, deviceId="7864")])
        lab.give("vm-r", CARD_1)


@pytest.mark.parametrize("pci", ["0000:19:00.0", "0000:99:00.0", "00000:059:00.0", ""])
def test_only_active_passthrough_devices_of_the_host(lab: Rig, pci: str) -> None:
    with pytest.raises(vim.fault.InvalidDeviceBacking):
        lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_1, id=pci)])


def test_a_card_is_on_a_machine_once_but_may_be_listed_by_two(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    with pytest.raises(vim.fault.InvalidDeviceBacking, match="already present"):
        lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_1)])
    lab.give("vm-train", CARD_1)
    assert lab.card(CARD_1)["in_config"] == ["vm-r", "vm-train"]


def test_a_vgpu_that_no_card_offers_and_backings_of_no_kind_are_refused(lab: Rig) -> None:
    for backing in (
        PCI.VmiopBackingInfo(vgpu="grid_t4-8q"),
        PCI.DvxBackingInfo(deviceClass="com.example.accelerator", configParams=[]),
        vim.vm.device.VirtualDevice.DeviceBackingInfo(deviceName=""),  # what a dynamic one becomes on an old API
    ):
        change = vim.vm.device.VirtualDeviceSpec(operation="add", device=PCI(key=-1, backing=backing))
        with pytest.raises(vim.fault.InvalidDeviceBacking):
            lab.reconfigure("vm-r", deviceChange=[change])


def memory(lab: Rig) -> tuple[bool, int]:
    config = lab.vm("vm-r").config
    return config.memoryReservationLockedToMax, config.memoryAllocation.reservation


def allocation(mb: int) -> Any:
    return vim.ResourceAllocationInfo(reservation=mb)


def test_the_lock_makes_the_reservation_follow_the_size(lab: Rig) -> None:
    assert memory(lab) == (False, 0)
    lab.reconfigure("vm-r", memoryReservationLockedToMax=True)
    assert memory(lab) == (True, 65536)
    lab.reconfigure("vm-r", memoryMB=32768)
    assert memory(lab) == (True, 32768)


def test_a_locked_reservation_cannot_be_edited_but_unlocked_in_one_spec_it_can(lab: Rig) -> None:
    lab.reconfigure("vm-r", memoryReservationLockedToMax=True)
    with pytest.raises(vmodl.fault.InvalidArgument) as refused:
        lab.reconfigure("vm-r", memoryAllocation=allocation(0))
    assert "memoryAllocation.reservation" in refused.value.invalidProperty
    assert memory(lab) == (True, 65536)
    lab.reconfigure("vm-r", memoryReservationLockedToMax=False, memoryAllocation=allocation(1024))
    assert memory(lab) == (False, 1024)
    with pytest.raises(vmodl.fault.InvalidArgument):
        lab.reconfigure("vm-r", memoryAllocation=allocation(65537))


def test_the_lock_is_refused_if_the_host_has_not_that_much() -> None:
    with rig(host_memory_mb=48 * 1024) as lab:
        with pytest.raises(vim.fault.InsufficientMemoryResourcesFault):
            lab.reconfigure("vm-r", memoryReservationLockedToMax=True)
        assert memory(lab) == (False, 0)
        lab.reconfigure("vm-r", memoryMB=32768, memoryReservationLockedToMax=True)
        assert memory(lab) == (True, 32768)


def extra(lab: Rig) -> dict[str, str]:
    return {o.key: o.value for o in lab.vm("vm-r").config.extraConfig}


def test_extra_config_is_kept_deleted_and_ignored_where_a_field_exists(lab: Rig) -> None:
    def option(key: str, value: str) -> Any:
        return vim.option.OptionValue(key=key, value=value)

    lab.reconfigure("vm-r", extraConfig=[option("guestinfo.gpu", "seen"), option("sched.mem.pin", "TRUE")])
    assert extra(lab)["guestinfo.gpu"] == "seen"
    assert "sched.mem.pin" not in extra(lab) and memory(lab) == (False, 0)
    lab.reconfigure("vm-r", extraConfig=[option("guestinfo.gpu", "")])
    assert "guestinfo.gpu" not in extra(lab)


def test_a_field_that_is_not_carried_out_is_refused_not_swallowed(lab: Rig) -> None:
    with pytest.raises(vmodl.fault.NotSupported, match="nestedHVEnabled"):
        lab.reconfigure("vm-r", nestedHVEnabled=True)


def test_size_changes_only_while_off(lab: Rig) -> None:
    lab.on("vm-r")
    with pytest.raises(vim.fault.InvalidPowerState):
        lab.reconfigure("vm-r", memoryMB=1024)
    lab.off("vm-r")
    lab.reconfigure("vm-r", memoryMB=1024)


def test_one_task_a_machine_and_the_fault_names_the_running_one() -> None:
    with rig(task_latency_s=1.0) as lab:
        first = lab.vm("vm-r").PowerOnVM_Task()
        with pytest.raises(vim.fault.TaskInProgress) as refused:
            lab.vm("vm-r").ReconfigVM_Task(vim.vm.ConfigSpec(annotation="x"))
        assert refused.value.task._moId == first._moId
        lab.on("vm-train")  # another machine is free
        assert lab.vm("vm-r").runtime.powerState == "poweredOn"


def test_conflicts_and_refusals_on_order(lab: Rig) -> None:
    read = lab.vm("vm-r").config.changeVersion
    lab.post("conflict", vm="vm-r", n=1)
    with pytest.raises(vim.fault.ConcurrentAccess):
        lab.reconfigure("vm-r", changeVersion=read, deviceChange=[lab.add(CARD_1)])
    now = lab.vm("vm-r").config.changeVersion
    lab.post("fail", vm="vm-r", verb="reconfigure", reason="no more interrupt vectors")
    with pytest.raises(vim.fault.GenericVmConfigFault, match="no more interrupt vectors"):
        lab.reconfigure("vm-r", changeVersion=now, deviceChange=[lab.add(CARD_1)])
    assert lab.cards("vm-r") == []
    lab.reconfigure("vm-r", changeVersion=now, deviceChange=[lab.add(CARD_1)])
    assert lab.cards("vm-r") == [CARD_1]
