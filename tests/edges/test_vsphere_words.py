"""The pure parts of the vSphere edge: addresses, backings, specs, and what a fault means. The choke point has a file of its own."""

from __future__ import annotations

from http.client import RemoteDisconnected
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain import mmio
from bot.domain.model import CallKind, FixedCard
from bot.edges.vsphere import change, pci
from bot.edges.vsphere.client import LostReplyError
from bot.edges.vsphere.faults import About, real_text, translate
from bot.edges.vsphere.machines import Vm, read_vm
from bot.edges.vsphere.offers import Offer
from bot.edges.vsphere.tasks import StillRunningError
from bot.edges.vsphere.vmomi import FixedBacking, PciDevice, vim, vmodl
from bot.service.ports import Again, LabStep, NeedsPerson

ABOUT = About("lab", "bot@vsphere.local", "vm-r", CallKind.CHANGE, ("0000:3b:00.0", "0000:5e:00.0"), ("0000:5e:00.0",))
START = About("lab", "bot@vsphere.local", "vm-r", CallKind.POWER_ON, ("0000:3b:00.0", "0000:61:00.0"))

# ---- addresses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:3b:00.0", "0000:3b:00.0"),
        ("0000:3B:00.0", "0000:3b:00.0"),
        ("00000:059:00.0", "0000:3b:00.0"),
        ("00000:101:00.0", "0000:65:00.0"),
        ("", ""),
        (None, ""),
        ("Nonsense", "nonsense"),
    ],
)
def test_an_address_has_one_form(text: str | None, address: str) -> None:
    assert pci.normal(text) == address


@given(st.integers(0, 255), st.integers(0, 31), st.integers(0, 7))
def test_every_way_of_writing_an_address_is_found_in_a_text(bus: int, slot: int, function: int) -> None:
    address = pci.address(0, bus, slot, function)
    for text in (
        address,
        f"Device {address.upper()} failed.",
        f"PCIPassthru 00000:{bus:03d}:{slot:02d}.{function}: no",
        f"Device {bus}:{slot}.{function} is odd",
        f"Module DevicePowerOn: {bus:03d}:{slot:02d}.{function}",
    ):
        assert address in pci.found_in(text), text
        assert pci.blamed(text, {address}) == address
        assert pci.blamed(text, {"0000:ff:1f.7"} - {address}) == ""


def test_two_cards_in_a_text_blame_none() -> None:
    both = {"0000:3b:00.0", "0000:5e:00.0"}
    assert pci.blamed("0000:3b:00.0 and 0000:5e:00.0", both) == ""
    assert pci.blamed("nothing at 12:30.5 o'clock", both) == ""


def test_ids_are_unsigned_hex() -> None:
    assert pci.ids(-32634, 0x1EB8) == "8086:1eb8"
    assert pci.ids(None, None) == "0000:0000"
    assert pci.is_gpu(0x10DE, 0x0302) and not pci.is_gpu(0x10DE, 0x0403) and not pci.is_gpu(None, None)


# ---- backings and specs -------------------------------------------------------------------------------------------


def offer(address: str, device: int = 0x1EB8, vendor: int = 0x10DE) -> Any:
    card = vim.host.PciDevice(id=address, deviceId=device, vendorId=vendor, deviceName="TU104GL [Tesla T4]")
    return vim.vm.PciPassthroughInfo(name=address, pciDevice=card, systemId="5f-sys")


@pytest.mark.parametrize(
    ("device", "text"),
    [(0x1EB8, "1eb8"), (7864, "1eb8"), (0x20B5 - 0x10000, "20b5"), (-1, "ffff"), (0, "0"), (0x100, "100")],
)
def test_a_device_id_is_hex_of_sixteen_bits(device: int, text: str) -> None:
    made = change.backing(FixedCard(A), Offer({A: offer(A, device)}))
    assert made.deviceId == text
    assert (made.id, made.systemId, made.vendorId) == ("0000:3b:00.0", "5f-sys", 0x10DE)


def test_the_signed_vendor_is_passed_on_unchanged() -> None:
    assert change.backing(FixedCard(A), Offer({A: offer(A, vendor=-32634)})).vendorId == -32634


def vm(*cards: str, **more: Any) -> Vm:
    devices = [
        PciDevice(
            key=13000 + n, backing=FixedBacking(id=c, deviceId="1eb8", systemId="s", vendorId=0x10DE, deviceName="")
        )
        for n, c in enumerate(cards)
    ]
    row = {"config.hardware.device": devices, "config.changeVersion": "v7", "config.hardware.memoryMB": 65536, **more}
    return read_vm(vim.VirtualMachine("vm-1"), row)


def step(put: tuple[str, ...] = (), take: tuple[str, ...] = (), **more: Any) -> LabStep:
    return LabStep("lab", "uuid", CallKind.CHANGE, tuple(map(FixedCard, put)), tuple(map(FixedCard, take)), **more)


A, B, C = "0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0"
OFFERED = Offer({a: offer(a) for a in (A, B, C)})


def test_new_devices_have_distinct_negative_keys_and_old_ones_the_servers() -> None:
    plan = change.decide(vm(A), step(put=(B, C), take=(A,)), OFFERED, None)
    keys = [c.device.key for c in plan.spec.deviceChange]
    assert keys == [13000, -1, -2] and plan.order == (A, B, C)
    assert [c.operation for c in plan.spec.deviceChange] == ["remove", "add", "add"]
    assert plan.spec.changeVersion == "v7" and plan.spec.memoryReservationLockedToMax is True
    assert plan.spec.memoryAllocation is None
    change.guard(plan.spec)


def test_without_a_change_version_of_the_server_none_is_sent() -> None:
    assert change.decide(vm(**{"config.changeVersion": None}), step(put=(A,)), OFFERED, None).spec.changeVersion is None


def test_memory_is_given_back_in_one_spec_and_only_with_the_last_device() -> None:
    locked = {"config.memoryReservationLockedToMax": True, "config.memoryAllocation.reservation": 65536}
    spec = change.decide(vm(A, **locked), step(take=(A,), lock_memory=False, reservation_mb=0), Offer(), None).spec
    assert spec.memoryReservationLockedToMax is False and spec.memoryAllocation.reservation == 0
    change.guard(spec)
    spec = change.decide(vm(A, B, **locked), step(take=(A,), lock_memory=False, reservation_mb=0), Offer(), None).spec
    assert spec.memoryReservationLockedToMax is None and spec.memoryAllocation is None
    spec = change.decide(vm(A, **locked), step(take=(A,), lock_memory=False), Offer(), None).spec
    assert spec.memoryReservationLockedToMax is False and spec.memoryAllocation is None
    spec = change.decide(vm(A, **locked), step(take=(A,)), Offer(), None).spec
    assert spec.memoryReservationLockedToMax is None


@pytest.mark.parametrize(("total", "gb"), [(16, 32), (32, 64), (48, 128), (64, 128), (1, 2), (17, 64)])
def test_the_mmio_window_is_a_power_of_two_above_the_cards_memory(total: int, gb: int) -> None:
    assert mmio.window(total) == gb


def test_settled_means_that_nothing_would_be_sent() -> None:
    locked = {"config.memoryReservationLockedToMax": True}
    assert change.settled(vm(A, **locked), step(put=(A,), take=(B,)))
    assert not change.settled(vm(A), step(put=(A,))), "the lock is missing"
    assert not change.settled(vm(A, **locked), step(put=(A, B)))
    assert not change.settled(vm(A, **locked), step(take=(A,)))
    assert not change.settled(vm(**locked), step(lock_memory=False))
    assert change.settled(vm(), step(lock_memory=False, reservation_mb=0))


# ---- faults -------------------------------------------------------------------------------------------------------


def messages(*texts: str) -> list[Any]:
    return [vmodl.LocalizableMessage(key="k", message=text) for text in texts]


def config_fault(*texts: str, reason: str = "x") -> Any:
    return vim.fault.GenericVmConfigFault(reason=reason, faultMessage=messages(*texts), msg="A general problem.")


def test_not_authenticated_is_told_apart_from_no_permission() -> None:
    told = translate(vim.fault.NotAuthenticated(object=vim.Folder("f"), privilegeId="System.View"), ABOUT)
    assert isinstance(told, NeedsPerson) and "freshly logged in" in str(told)
    lacks = vim.fault.NoPermission.EntityPrivileges(
        entity=vim.VirtualMachine("vm-1"),
        privilegeIds=["VirtualMachine.Config.AddRemoveDevice", "VirtualMachine.Config.Resource"],
    )
    told = translate(
        vim.fault.NoPermission(object=vim.VirtualMachine("vm-1"), privilegeId="first", missingPrivileges=[lacks]), ABOUT
    )
    assert isinstance(told, NeedsPerson)
    for word in (
        "bot@vsphere.local",
        "vm-r",
        "VirtualMachine.Config.AddRemoveDevice",
        "VirtualMachine.Config.Resource",
    ):
        assert word in str(told)
    told = translate(
        vim.fault.NoPermission(object=vim.VirtualMachine("v"), privilegeId="VirtualMachine.Interact.PowerOn"), ABOUT
    )
    assert "VirtualMachine.Interact.PowerOn" in str(told)
    assert "does not say which" in str(translate(vim.fault.NoPermission(), ABOUT))


def test_the_real_text_is_taken_from_wherever_it_is() -> None:
    assert "systemId" in real_text(
        config_fault("The systemId does not match.", "Module 'DevicePowerOn' power on failed.")
    )
    assert "deep cause" in real_text(vim.fault.GenericVmConfigFault(reason="r", faultCause=config_fault("deep cause")))
    per_host = vim.fault.NoCompatibleHost(
        error=[vim.fault.InsufficientGraphicsResourcesFault(msg="no room on esx-01"), config_fault("esx-02 is full")],
        msg="none",
    )
    text = real_text(per_host)
    assert "no room on esx-01" in text and "esx-02 is full" in text
    assert real_text(vim.fault.VmConfigFault()) == "VmConfigFault"
    assert len(real_text(config_fault("long " * 1000))) == 500
    assert real_text(config_fault("the same", reason="the same")).count("the same") == 1


@pytest.mark.parametrize(
    ("text", "words", "card"),
    [
        ("The systemId, deviceId or vendorId of device 97:0.0 does not match.", "put it on again", "0000:61:00.0"),
        ("Device 0000:61:00.0 is not a passthrough device.", "does not offer", "0000:61:00.0"),
        (
            "Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize(65536).",
            "not reserved in full",
            "",
        ),
        ("PCIPassthru 00000:097:00.0: failed to map MMIO.", "memory-mapped I/O", ""),
        ("Too many pages for 097:00.0", "above 4 GB", ""),
        ("Out of interrupt vectors.", "interrupt vectors", ""),
        ("Device 0000:61:00.0 is already in use.", "already in use", ""),
        ("Something new about 0000:61:00.0.", "Something new", "0000:61:00.0"),
        ("Something new about 0000:99:00.0.", "Something new", ""),
    ],
)
def test_a_refused_start_is_told_with_its_cause(text: str, words: str, card: str) -> None:
    told = translate(config_fault(text, reason=text), START)
    assert isinstance(told, NeedsPerson) and words in str(told) and text in str(told)
    assert told.card == card


def test_the_index_of_the_device_names_the_card() -> None:
    told = translate(vim.fault.InvalidDeviceBacking(property="p", deviceIndex=0, msg="Invalid backing."), ABOUT)
    assert isinstance(told, NeedsPerson) and told.card == "0000:5e:00.0" and "0000:5e:00.0" in str(told)
    told = translate(vim.fault.InvalidDeviceSpec(property="p", deviceIndex=7, msg="Invalid."), ABOUT)
    assert isinstance(told, NeedsPerson) and told.card == ""


@pytest.mark.parametrize(
    "fault",
    [
        vim.fault.ConcurrentAccess(),
        vim.fault.TaskInProgress(),
        vim.fault.InvalidPowerState(requestedState="poweredOff", existingState="poweredOn"),
        vim.fault.DeviceHotPlugNotSupported(property="p", deviceIndex=0),
        vmodl.fault.HostNotConnected(),
        vmodl.fault.HostNotReachable(),
        vmodl.fault.HostCommunication(),
        vim.fault.InvalidHostState(),
        vim.fault.Timedout(),
        vmodl.fault.ManagedObjectNotFound(obj=vim.HostSystem("host-1")),
        StillRunningError("a change of its settings (40 %)"),
        LostReplyError("timed out"),
        RemoteDisconnected("gone"),
        TimeoutError(),
    ],
    ids=lambda f: type(f).__name__,
)
def test_what_may_be_better_later(fault: Exception) -> None:
    told = translate(fault, ABOUT)
    assert isinstance(told, Again) and told.after.total_seconds() > 0 and len(str(told)) > 10


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (vmodl.fault.ManagedObjectNotFound(obj=vim.VirtualMachine("vm-1")), "any more"),
        (vim.fault.QuestionPending(text="Moved or copied?"), "Moved or copied?"),
        (vim.fault.InsufficientMemoryResourcesFault(msg="too little"), "memory"),
        (vmodl.fault.NotSupported(msg="not here"), "not here"),
        (vmodl.fault.SystemError(reason="odd"), "odd"),
    ],
)
def test_what_needs_a_person(fault: Exception, words: str) -> None:
    told = translate(fault, ABOUT)
    assert isinstance(told, NeedsPerson) and words in str(told)
