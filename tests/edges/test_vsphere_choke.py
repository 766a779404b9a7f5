"""The choke point, field by field: nothing leaves it but cards, their memory lock and their MMIO window.

The lists here are written out once more on purpose: what is added to the driver's must be added to the test's, by somebody who thinks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from bot.domain.model import DynamicCard, FixedCard, Vgpu
from bot.edges.vsphere import change
from bot.edges.vsphere.machines import read_vm
from bot.edges.vsphere.offers import Offer
from bot.edges.vsphere.vmomi import PciDevice, support, vim

A = "0000:3b:00.0"
OFFER = Offer(
    {A: vim.vm.PciPassthroughInfo(name=A, pciDevice=vim.host.PciDevice(id=A, deviceId=0x1EB8, vendorId=0x10DE), systemId="s")}
)  # fmt: skip
Spec = vim.vm.device.VirtualDeviceSpec


def device(one: Any, key: int = -1) -> Any:
    return PciDevice(key=key, backing=change.backing(one, OFFER))


def full() -> Any:
    """A spec with everything that the bot ever sends."""
    return vim.vm.ConfigSpec(
        changeVersion="v7",
        deviceChange=[
            Spec(operation="add", device=device(FixedCard(A), -1)),
            Spec(operation="add", device=device(DynamicCard("10de:1eb8", "t4"), -2)),
            Spec(operation="add", device=device(Vgpu("grid_t4-8q"), -3)),
            Spec(operation="remove", device=device(FixedCard(A), 13000)),
        ],
        memoryReservationLockedToMax=True,
        memoryAllocation=vim.ResourceAllocationInfo(reservation=support.long(0)),
        extraConfig=[
            vim.option.OptionValue(key="pciPassthru.use64bitMMIO", value="TRUE"),
            vim.option.OptionValue(key="pciPassthru.64bitMMIOSizeGB", value="128"),
        ],
    )


@dataclass(frozen=True)
class Place:
    """A part of the spec, and the fields of it that may be set."""

    find: Callable[[Any], Any]
    may: set[str]


PLACES = {
    "spec": Place(
        lambda s: s,
        {"changeVersion", "deviceChange", "memoryReservationLockedToMax", "memoryAllocation", "extraConfig"},
    ),
    "memory": Place(lambda s: s.memoryAllocation, {"reservation"}),
    "option": Place(lambda s: s.extraConfig[0], {"key", "value"}),
    "add": Place(lambda s: s.deviceChange[0], {"operation", "device"}),
    "remove": Place(lambda s: s.deviceChange[3], {"operation", "device"}),
    "new-device": Place(lambda s: s.deviceChange[0].device, {"key", "backing"}),
    "old-device": Place(
        lambda s: s.deviceChange[3].device,
        {"key", "backing", "deviceInfo", "connectable", "slotInfo", "controllerKey", "unitNumber", "numaNode"},
    ),
    "fixed": Place(
        lambda s: s.deviceChange[0].device.backing, {"id", "deviceId", "systemId", "vendorId", "deviceName"}
    ),
    "dynamic": Place(lambda s: s.deviceChange[1].device.backing, {"deviceName", "allowedDevice", "customLabel"}),
    "allowed": Place(lambda s: s.deviceChange[1].device.backing.allowedDevice[0], {"vendorId", "deviceId"}),
    "vgpu": Place(lambda s: s.deviceChange[2].device.backing, {"vgpu"}),
}

FOREIGN = [
    (name, info.name)
    for name, place in PLACES.items()
    for info in place.find(full())._GetPropertyList()
    if info.name not in place.may
]


def test_what_the_bot_sends_passes() -> None:
    change.guard(full())


def test_there_are_many_fields_to_refuse() -> None:
    assert len(FOREIGN) > 120 and {name for name, _ in FOREIGN} == set(PLACES)


@pytest.mark.parametrize(("place", "field"), FOREIGN, ids=lambda x: str(x))
def test_every_other_field_of_every_part_is_refused(place: str, field: str) -> None:
    """By pyVmomi's own list of fields, whatever their types are."""
    spec = full()
    object.__setattr__(PLACES[place].find(spec), field, "set")
    with pytest.raises(change.ForeignFieldError):
        change.guard(spec)


def test_every_type_that_a_field_may_hold_is_on_these_lists() -> None:
    """Of the types of devices and backings that pyVmomi knows, only these three pass."""
    for name in dir(PciDevice):
        kind = getattr(PciDevice, name)
        if isinstance(kind, type) and issubclass(kind, vim.vm.device.VirtualDevice.BackingInfo):
            passes = kind in change.BACKING_FIELDS
            spec = vim.vm.ConfigSpec(
                deviceChange=[Spec(operation="remove", device=PciDevice(key=13000, backing=kind()))]
            )
            if not passes:
                with pytest.raises(change.ForeignFieldError, match="only cards and vGPUs"):
                    change.guard(spec)
    assert len(change.BACKING_FIELDS) == 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("isolation.tools.copy.disable", "FALSE"),
        ("pciPassthru0.id", "x"),
        ("pciPassthru.use64bitMMIO", "FALSE"),
        ("pciPassthru.use64bitMMIO", ""),
        ("pciPassthru.64bitMMIOSizeGB", "x"),
        ("pciPassthru.64bitMMIOSizeGB", ""),
        ("pciPassthru.64bitMMIOSizeGB ", "64"),
    ],
)
def test_no_other_key_and_no_other_value_of_extra_config(key: str, value: str) -> None:
    with pytest.raises(change.ForeignFieldError, match="does not change"):
        change.guard(vim.vm.ConfigSpec(extraConfig=[vim.option.OptionValue(key=key, value=value)]))


def odd_changes() -> list[Any]:
    kinds = vim.vm.device
    fixed, group = FixedCard(A), kinds.VirtualDevice.DeviceGroupInfo(groupInstanceKey=1, sequenceId=0)
    of_group, child = device(fixed, 13000), type("Child", (PciDevice,), {})
    of_group.deviceGroupInfo = group
    return [
        Spec(operation="remove", device=kinds.VirtualDisk(key=2000, capacityInKB=support.long(1))),
        Spec(operation="add", device=kinds.VirtualE1000(key=-1)),
        Spec(operation="edit", device=device(fixed, 13000)),
        Spec(operation="add", device=device(fixed, 13000)),
        Spec(operation="add", device=device(Vgpu("grid_t4-8q"), 0)),
        Spec(operation="remove", device=device(fixed, -1)),
        Spec(device=device(fixed, 13000)),
        Spec(operation="remove", device=PciDevice(key=13000)),
        Spec(operation="remove", device=PciDevice(key=13000, backing=kinds.VirtualDevice.BackingInfo())),
        Spec(operation="remove", device=of_group),
        Spec(operation="remove", device=child(key=13000, backing=change.backing(fixed, OFFER))),
    ]


@pytest.mark.parametrize("number", range(len(odd_changes())))
def test_every_other_change_of_a_device_is_refused(number: int) -> None:
    with pytest.raises(change.ForeignFieldError):
        change.guard(vim.vm.ConfigSpec(deviceChange=[odd_changes()[number]]))


def test_the_choke_point_stands_before_the_only_call() -> None:
    """Nothing leaves `send` that `guard` refuses, and nothing else calls ReconfigVM_Task."""

    class Spy:
        def send(self, call: Any) -> Any:
            raise AssertionError("sent")

    spy: Any = Spy()
    vm = read_vm(vim.VirtualMachine("vm-1"), {})
    with pytest.raises(change.ForeignFieldError):
        change.send(spy, vm, vim.vm.ConfigSpec(name="other"))
    with pytest.raises(AssertionError, match="sent"):
        change.send(spy, vm, full())


def test_changing_calls_are_made_in_one_place_each(repo: Any) -> None:
    """No other call that changes anything stands anywhere in the driver."""
    wanted = {"ReconfigVM_Task(": ["change.py"], "PowerOnVM_Task": ["power.py"], "PowerOffVM_Task": ["power.py"]}
    texts = {path.name: path.read_text("utf-8") for path in (repo / "bot" / "edges" / "vsphere").glob("*.py")}
    for call, files in wanted.items():
        assert sorted(name for name, text in texts.items() if f".{call}" in text) == files, call
    for word in ("TerminateVM", "ResetVM", "Suspend", "Destroy_Task", "UpdatePassthruConfig", "UpdateGraphicsConfig",
                 "RelocateVM", "MigrateVM", "CloneVM", "AnswerVM", "CancelTask", "RebootGuest", "PowerOnMultiVM"):  # fmt: skip
        assert not [name for name, text in texts.items() if f".{word}" in text], word
