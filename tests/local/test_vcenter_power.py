"""The rules of power, bindings and guest shutdown, each from both sides, with the real pyVmomi."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyVmomi import vim

from bot.local.vcenter.power import mmio_needed_gb
from tests.local.vcenter_client import CARD_1, CARD_2, CARD_3, CARD_4, Rig, Still, rig, until


@pytest.fixture
def lab() -> Iterator[Rig]:
    with rig() as one:
        yield one


def bound(lab: Rig) -> dict[str, str]:
    """PCI id -> name of the VM, as the host's binding list says."""
    names = {vm._moId: vm.name for vm in lab.view(vim.VirtualMachine)}
    listed = lab.host.config.assignableHardwareBinding or []
    return {b.instanceId.partition("/")[2]: names[b.vm._moId] for b in listed}


def graphics(lab: Rig) -> dict[str, list[str]]:
    return {g.pciId: [vm.name for vm in g.vm] for g in lab.host.config.graphicsInfo if g.vm}


def test_on_binds_and_boots_off_releases(lab: Rig) -> None:
    lab.give("vm-r", CARD_1, CARD_2)
    assert bound(lab) == {}
    lab.on("vm-r")
    runtime = lab.vm("vm-r").runtime
    assert runtime.powerState == "poweredOn" and runtime.bootTime is not None
    assert runtime.bootTime <= lab.si.CurrentTime()
    assert bound(lab) == {CARD_1: "vm-r", CARD_2: "vm-r"}
    assert graphics(lab) == {CARD_1: ["vm-r"], CARD_2: ["vm-r"]}
    lab.off("vm-r")
    assert bound(lab) == {} and graphics(lab) == {}
    assert lab.vm("vm-r").runtime.cleanPowerOff is False
    assert lab.journal("power on", "power off") == [
        (lab.running.user, "power on", "vm-r"),
        (lab.running.user, "power off", "vm-r"),
    ]


def test_a_repeated_power_call_carries_both_states(lab: Rig) -> None:
    with pytest.raises(vim.fault.InvalidPowerState) as refused:
        lab.off("vm-r")
    assert (refused.value.requestedState, refused.value.existingState) == ("poweredOff", "poweredOff")
    lab.on("vm-r")
    with pytest.raises(vim.fault.InvalidPowerState) as refused:
        lab.on("vm-r")
    assert (refused.value.requestedState, refused.value.existingState) == ("poweredOn", "poweredOn")


def test_a_card_needs_its_memory_reserved(lab: Rig) -> None:
    lab.reconfigure("vm-r", deviceChange=[lab.add(CARD_1)])
    with pytest.raises(vim.fault.GenericVmConfigFault, match="memory reservation") as refused:
        lab.on("vm-r")
    assert "65536" in refused.value.reason
    lab.reconfigure("vm-r", memoryAllocation=vim.ResourceAllocationInfo(reservation=65536))
    lab.on("vm-r")  # the reservation counts, locked or not


def test_without_a_card_no_reservation_is_needed(lab: Rig) -> None:
    lab.on("vm-r")
    assert lab.power("vm-r") == "poweredOn"


def test_a_card_serves_one_running_machine(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    lab.give("vm-train", CARD_1)
    lab.on("vm-r")
    with pytest.raises(vim.fault.GenericVmConfigFault, match="already in use"):
        lab.on("vm-train")
    assert bound(lab) == {CARD_1: "vm-r"}
    lab.off("vm-r")
    lab.on("vm-train")
    assert bound(lab) == {CARD_1: "vm-train"}


def test_the_host_has_only_so_much_memory() -> None:
    with rig(host_memory_mb=140 * 1024) as lab:
        for name, card in (("vm-r", CARD_1), ("vm-train", CARD_2), ("vm-python", CARD_3)):
            lab.give(name, card)
        lab.on("vm-r")
        lab.on("vm-train")
        with pytest.raises(vim.fault.InsufficientMemoryResourcesFault):
            lab.on("vm-python")
        lab.on("vm-python-2")  # reserves nothing
        lab.off("vm-r")
        lab.on("vm-python")


def set_extra(lab: Rig, **pairs: str) -> None:
    options = [vim.option.OptionValue(key=f"pciPassthru.{k.lstrip('_')}", value=v) for k, v in pairs.items()]
    lab.reconfigure("vm-r", extraConfig=options)


def test_several_cards_need_a_window_for_their_memory(lab: Rig) -> None:
    assert [mmio_needed_gb(n) for n in (1, 2, 3, 4)] == [32, 64, 128, 128]
    lab.give("vm-r", CARD_1, CARD_2, CARD_3)
    set_extra(lab, _64bitMMIOSizeGB="64")
    with pytest.raises(vim.fault.GenericVmConfigFault, match="128 GB of MMIO"):
        lab.on("vm-r")
    set_extra(lab, _64bitMMIOSizeGB="128", use64bitMMIO="FALSE")
    with pytest.raises(vim.fault.GenericVmConfigFault):
        lab.on("vm-r")
    set_extra(lab, use64bitMMIO="TRUE")
    lab.on("vm-r")


def test_one_card_starts_without_the_window_but_not_with_bios(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    set_extra(lab, _64bitMMIOSizeGB="", use64bitMMIO="")
    lab.reconfigure("vm-r", firmware="bios")
    with pytest.raises(vim.fault.GenericVmConfigFault, match="BIOS"):
        lab.on("vm-r")
    lab.reconfigure("vm-r", firmware="efi")
    lab.on("vm-r")


def test_the_order_of_checks_state_host_memory_window_ids_exclusivity(lab: Rig) -> None:
    """Everything is wrong at once; each repair brings the next refusal to light."""
    lab.give("vm-train", CARD_1)
    lab.on("vm-train")
    changes = [lab.add(CARD_1, -1, deviceId="7864"), lab.add(CARD_2, -2)]
    lab.reconfigure("vm-r", deviceChange=changes)
    set_extra(lab, _64bitMMIOSizeGB="8")
    lab.post("host", maintenance=True)

    def why() -> str:
        try:
            lab.on("vm-r")
        except vim.fault.GenericVmConfigFault as refused:
            return str(refused.reason)
        except vim.fault.InvalidHostState:
            return "host"
        return "on"

    assert why() == "host"
    lab.post("host", maintenance=False)
    assert "memory reservation" in why()
    lab.reconfigure("vm-r", memoryReservationLockedToMax=True)
    assert "MMIO" in why()
    set_extra(lab, _64bitMMIOSizeGB="128")
    assert "does not match" in why()
    wrong = next(d for d in lab.devices("vm-r") if d.backing.id == CARD_1)
    swap = vim.vm.device.VirtualDeviceSpec(operation="remove", device=wrong)
    lab.reconfigure("vm-r", deviceChange=[swap, lab.add(CARD_1)])
    assert "already in use" in why()
    lab.off("vm-train")
    assert why() == "on"


def test_release_lag_makes_a_hasty_start_fail_once(tmp_path: Path) -> None:
    still = Still(tmp_path)
    with rig(still.clock, release_lag_s=8) as lab:
        lab.give("vm-r", CARD_1)
        lab.give("vm-train", CARD_1)
        lab.on("vm-r")
        lab.off("vm-r")
        assert lab.power("vm-r") == "poweredOff" and bound(lab) == {CARD_1: "vm-r"}
        with pytest.raises(vim.fault.GenericVmConfigFault, match="already in use"):
            lab.on("vm-train")
        still.at(9)
        until(lambda: bound(lab) == {})
        lab.on("vm-train")


def test_started_again_within_the_lag_it_keeps_its_card(tmp_path: Path) -> None:
    still = Still(tmp_path)
    with rig(still.clock, release_lag_s=8, boot_s=10) as lab:
        lab.give("vm-r", CARD_1)
        lab.on("vm-r")
        lab.off("vm-r")
        lab.on("vm-r")
        still.at(11)  # past the lag of the first stop, and booted: the lag's end was before
        until(lambda: lab.journal("boot"))
        assert bound(lab) == {CARD_1: "vm-r"}


def test_shutdown_needs_tools_returns_at_once_and_takes_a_while(tmp_path: Path) -> None:
    still = Still(tmp_path)
    with rig(still.clock, boot_s=40, shutdown_s=30) as lab:
        shut_down(lab, still)


def shut_down(lab: Rig, still: Still) -> None:
    vm = lab.vm("vm-r")
    with pytest.raises(vim.fault.InvalidPowerState):
        vm.ShutdownGuest()
    lab.on("vm-r")
    assert not vm.guest.guestStateChangeSupported
    with pytest.raises(vim.fault.ToolsUnavailable):
        vm.ShutdownGuest()  # still booting
    still.at(41)
    until(lambda: vm.guest.toolsRunningStatus == "guestToolsRunning")
    assert vm.guest.guestStateChangeSupported
    assert vm.ShutdownGuest() is None
    assert vm.runtime.powerState == "poweredOn"
    vm.ShutdownGuest()  # again: no harm
    still.at(72)
    until(lambda: vm.runtime.powerState == "poweredOff")
    assert vm.runtime.cleanPowerOff is True
    assert vm.guest.toolsRunningStatus == "guestToolsNotRunning"
    user = lab.running.user
    assert lab.journal("shutdown asked", "power off") == [
        (user, "shutdown asked", "vm-r"),
        (user, "shutdown asked", "vm-r"),
        ("guest", "power off", "vm-r"),
    ]


@pytest.mark.parametrize("switch", [{"hang": True}, {"shutdown_s": None}])
def test_a_guest_that_never_stops_is_stopped_hard(lab: Rig, switch: dict[str, Any]) -> None:
    lab.post("vm/vm-r/guest", **switch)
    lab.up("vm-r")
    lab.vm("vm-r").ShutdownGuest()
    until(lambda: lab.state("vm-r")["guest"]["state"] == "stopping")
    lab.on("vm-train")  # some time passes
    assert lab.power("vm-r") == "poweredOn"
    lab.off("vm-r")
    assert lab.power("vm-r") == "poweredOff"


def test_a_guest_without_tools_cannot_be_asked(lab: Rig) -> None:
    lab.post("vm/vm-r/guest", no_tools=True)
    lab.on("vm-r")
    until(lambda: lab.state("vm-r")["guest"]["state"] == "running")
    with pytest.raises(vim.fault.ToolsUnavailable):
        lab.vm("vm-r").ShutdownGuest()


def test_reboot_keeps_it_on_with_its_cards_and_boots_anew(lab: Rig) -> None:
    lab.give("vm-r", CARD_1)
    lab.up("vm-r")
    lab.vm("vm-r").RebootGuest()
    assert lab.state("vm-r")["tools"] == "guestToolsNotRunning"
    until(lambda: lab.state("vm-r")["guest"]["boots"] == 2)
    assert lab.power("vm-r") == "poweredOn" and bound(lab) == {CARD_1: "vm-r"}
    assert lab.journal("power off") == []


def test_refused_for_good_on_order(lab: Rig) -> None:
    lab.post("fail", vm="vm-r", verb="power on", reason="not a passthrough device", times=2)
    for _ in range(2):
        with pytest.raises(vim.fault.GenericVmConfigFault, match="not a passthrough device"):
            lab.on("vm-r")
    lab.on("vm-r")
    lab.post("fail", vm="vm-train", verb="power on", reason="for ever", times=0)
    for _ in range(3):
        with pytest.raises(vim.fault.GenericVmConfigFault):
            lab.on("vm-train")
    lab.post("fail")
    lab.on("vm-train")


def test_no_card_is_ever_bound_twice_in_the_journal(lab: Rig) -> None:
    """All four cards, listed by two machines: the journal shows at most one running holder each."""
    cards = (CARD_1, CARD_2, CARD_3, CARD_4)
    lab.give("vm-r", *cards)
    lab.give("vm-train", *cards)
    for name in ("vm-r", "vm-train", "vm-r", "vm-train"):
        try:
            lab.on(name)
        except vim.fault.GenericVmConfigFault:
            lab.off("vm-r" if name == "vm-train" else "vm-train")
            lab.on(name)
    holders: dict[str, str] = {}
    for line in lab.drive("GET", "journal")["entries"]:
        if line["verb"] == "power off":
            holders = {c: vm for c, vm in holders.items() if vm != line["vm"]}
        if line["verb"] == "power on":
            assert not set(line["details"]["cards"]) & set(holders)
            holders |= dict.fromkeys(line["details"]["cards"], line["vm"])
    assert set(holders) == set(cards)
