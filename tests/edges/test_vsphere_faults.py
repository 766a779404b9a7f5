"""Faults that other tools met in the field, by their numbers in docs/field-faults.md: what this driver does with each.

One stand-in for all that can share it. Rows that are about the guest's own time, or about moves as a whole, are in tests/service.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.model import CallKind, DynamicCard, FixedCard, Power, Vgpu
from bot.edges.vsphere import change
from bot.edges.vsphere.machines import sort_devices
from bot.edges.vsphere.offers import Offer
from bot.edges.vsphere.vmomi import FixedBacking, PciDevice, vim
from bot.local.vcenter.injected import Injection
from bot.local.vcenter.planned import Planned
from bot.service.ports import Again, Before, LabError, LabStep, NeedsPerson
from tests.edges.vsphere_rig import (
    CARD_1,
    CARD_2,
    CARD_3,
    DYNAMIC,
    HALF,
    MIXED,
    POOL,
    T4,
    Bench,
    host,
    other_lab,
    stand_in,
    until,
)

RIG = replace(MIXED, hosts=(host("fixed", "fixed", "dynamic", "vgpu"),))
CHANGING = ("ReconfigVM_Task", "PowerOnVM_Task", "PowerOffVM_Task", "ShutdownGuest")


@pytest.fixture(scope="module")
def shared() -> Iterator[Bench]:
    with stand_in(RIG, foreign_s=0.3, task_s=5, answer_s=1.0) as bench:
        yield bench


@pytest.fixture
def bench(shared: Bench) -> Iterator[Bench]:
    """vm-r and vm-python off and without devices, nothing planned."""
    yield shared
    world = shared.inside.world
    shared.inside.server.injections.clear()
    world.refusals.clear()
    world.conflicts.clear()
    vars(world).pop("reconfigure", None)  # what a test has put over it
    shared.clear()


def sent(bench: Bench) -> dict[str, int]:
    return {method: n for method, n in bench.calls().items() if method in CHANGING}


def plan(bench: Bench, how: str, method: str, **more: Any) -> int:
    """The wire fails for the bot alone."""
    return bench.inside.server.injections.add(Injection(how, method=method, user=bench.vcenter.user, **more))


def refuse(bench: Bench, verb: str, reason: str, **more: Any) -> None:
    bench.inside.world.refusals.append(Planned("vm-r", verb, reason, **more))


def edited(bench: Bench, edit: Callable[[Any], None]) -> None:
    """The stand-in changes what it is told before it does it, as a server with a mistake would."""
    world = bench.inside.world
    real = world.reconfigure

    def wrong(vm: Any, spec: Any, user: str) -> None:
        edit(spec)
        real(vm, spec, user)

    world.reconfigure = wrong  # type: ignore[method-assign]


# ---- backings, specs, read back -----------------------------------------------------------------------------------


def test_fault_01_device_ids_are_hex(bench: Bench) -> None:
    assert format(7864, "x") == "1eb8"
    bench.act("vm-r", put=(CARD_1,))
    assert bench.vm("vm-r").fixed[CARD_1].backing.deviceId == "1eb8"
    bench.act("vm-r", CallKind.POWER_ON)


def test_fault_02_all_four_values_are_the_hosts_own_and_decimal_addresses_are_read(bench: Bench) -> None:
    for vendor in (0x10DE, -32634):
        card = vim.host.PciDevice(id=CARD_1, deviceId=0x1EB8, vendorId=vendor, deviceName="x")
        info = vim.vm.PciPassthroughInfo(name=CARD_1, pciDevice=card, systemId="of the host")
        made = change.backing(FixedCard(CARD_1), Offer({CARD_1: info}))
        assert (made.id, made.systemId, made.vendorId, made.deviceName) == (CARD_1, "of the host", vendor, "x")
    bench.act("vm-r", put=(CARD_1, CARD_2))
    refuse(bench, "power on", "The systemId, deviceId or vendorId of device 59:0.0 does not match the host's.")
    with pytest.raises(NeedsPerson, match=r"59:0\.0 is 0000:3b:00\.0") as met:
        bench.act("vm-r", CallKind.POWER_ON)
    assert met.value.card == CARD_1


def test_fault_03_a_card_that_does_not_start_is_taken_off_and_put_on_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.act("vm-r", put=(CARD_1,))
    world = bench.inside.world
    with world.lock:
        (device,) = [d for d in world.inventory.vm("vm-r").props["config"].hardware.device if isinstance(d, PciDevice)]
        right, device.backing.systemId = device.backing.systemId, "of another installation"
    with pytest.raises(NeedsPerson, match="take the card off and put it on again"):
        bench.act("vm-r", CallKind.POWER_ON)
    (line,) = [r.getMessage() for r in caplog.records if "its host offers" in r.getMessage()]
    assert "of another installation" in line and str(right) in line, "both sides are in the log"
    bench.act("vm-r", take=(CARD_1,))
    bench.act("vm-r", put=(CARD_1,))
    bench.act("vm-r", CallKind.POWER_ON)


def test_fault_04_one_function_makes_backings(repo: Any) -> None:
    made = [
        path.name
        for path in (repo / "bot").rglob("*.py")
        if "local" not in path.parts
        for line in path.read_text("utf-8").splitlines()
        if any(f"{kind}(" in line for kind in ("FixedBacking", "DynamicBacking", "VgpuBacking", "DeviceBackingInfo"))
    ]
    assert made == ["change.py"] * 3


def test_fault_05_a_dynamic_card_needs_a_new_enough_api() -> None:
    with stand_in(replace(RIG, api_version="6.7", dynamic=False), dynamic=frozenset()) as old:
        with pytest.raises(NeedsPerson, match=r"needs version 7\.0"):
            old.act("vm-r", put=(DYNAMIC,))
        assert sent(old) == {}, "pyVmomi would send it as an empty device, in silence"


def test_fault_06_new_devices_have_keys_of_their_own_and_come_all_or_none(bench: Bench) -> None:
    keys: list[int] = []
    edited(bench, lambda spec: keys.extend(c.device.key for c in spec.deviceChange))
    bench.act("vm-r", put=(CARD_1, CARD_2, DYNAMIC, HALF))
    assert len(set(keys)) == 4 and max(keys) < 0
    assert bench.vm("vm-r").fixed.keys() == {CARD_1, CARD_2}
    refuse(bench, "reconfigure", "Duplicate device key.", fault="InvalidDeviceSpec", times=2)
    with pytest.raises(NeedsPerson, match="Duplicate"):
        bench.act("vm-r", put=(), take=(CARD_1, CARD_2))
        bench.act("vm-r", put=(), take=(CARD_1, CARD_2))
    assert bench.vm("vm-r").fixed.keys() == {CARD_1, CARD_2}


def test_fault_07_a_success_without_its_device_is_no_success(bench: Bench) -> None:
    edited(bench, lambda spec: setattr(spec, "deviceChange", []))
    for one, words in ((CARD_1, f"{CARD_1} is not in them"), (HALF, "vGPU grid_t4-8q is not in them")):
        with pytest.raises(Again, match=f"says that vm-r is changed, but {words}"):
            bench.act("vm-r", put=(one,))
    assert bench.vm("vm-r").locked


def test_fault_08_no_empty_reference_is_sent_for_a_machine_on_no_host(bench: Bench) -> None:
    step, world = bench.step("vm-r", put=(CARD_1,)), bench.inside.world
    runtime = world.inventory.vm("vm-r").props["runtime"]
    with world.lock:
        there, runtime.host = runtime.host, None
    try:
        bench.lab.look()
        with pytest.raises(Again, match="on no host now"):
            bench.lab.act(step)
        assert "vm-r is on no host now" in bench.lab.dry_run(step)
    finally:
        with world.lock:
            runtime.host = there
        bench.lab.look()


def test_fault_17_a_start_without_a_full_reservation_is_named(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1,))
    bench.hands.edit("vm-r", memoryReservationLockedToMax=False)
    bench.hands.edit("vm-r", memoryAllocation=vim.ResourceAllocationInfo(reservation=0))
    with pytest.raises(NeedsPerson, match="memory is not reserved in full") as met:
        bench.act("vm-r", CallKind.POWER_ON)
    assert met.value.card == ""
    bench.act("vm-r", put=(CARD_1,))
    assert bench.vm("vm-r").locked, "set with each card, also with one that is there"


@pytest.mark.parametrize("rest", [CARD_2, DYNAMIC, HALF], ids=str)
def test_fault_18_the_lock_never_goes_while_a_device_remains(bench: Bench, rest: Any) -> None:
    bench.act("vm-r", put=(CARD_1, rest))
    bench.act("vm-r", take=(CARD_1,), lock_memory=False, reservation_mb=0)
    assert bench.vm("vm-r").locked and bench.vm("vm-r").reservation_mb == 65536


def test_fault_19_an_inherited_lock_is_cleared_in_the_same_spec(bench: Bench) -> None:
    bench.hands.edit("vm-r", memoryReservationLockedToMax=True)
    bench.act("vm-r", put=(HALF,))
    bench.reset()
    bench.act("vm-r", take=(HALF,), lock_memory=False, reservation_mb=2048)
    vm = bench.vm("vm-r")
    assert sent(bench) == {"ReconfigVM_Task": 1} and (vm.locked, vm.reservation_mb) == (False, 2048)


def test_fault_20_the_reservation_is_set_by_its_own_field_and_read_back(bench: Bench) -> None:
    seen: list[Any] = []

    def ignored(spec: Any) -> None:
        seen.append((spec.memoryReservationLockedToMax, [o.key for o in spec.extraConfig or ()]))
        spec.memoryReservationLockedToMax = None

    edited(bench, ignored)
    with pytest.raises(Again, match="memory is not locked"):
        bench.act("vm-r", put=(CARD_1,))
    assert seen[0][0] is True and not any("sched" in key for _, keys in seen for key in keys)


def test_fault_21_too_many_pages_names_the_bios_and_no_card(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1,))
    refuse(bench, "power on", "PCIPassthru: 059:00.0: too many pages to map.")
    with pytest.raises(NeedsPerson, match=r"above 4 GB.*in the host's BIOS") as met:
        bench.act("vm-r", CallKind.POWER_ON)
    assert met.value.card == ""


# ---- power --------------------------------------------------------------------------------------------------------


def test_fault_27_a_shutdown_is_over_when_it_is_seen_and_not_when_the_call_returns(bench: Bench) -> None:
    bench.on("vm-r")
    guest = bench.inside.world.guest_of(bench.inside.world.inventory.vm("vm-r"))
    habits, guest.habits = guest.habits, replace(guest.habits, shutdown_s=0.4)
    bench.act("vm-r", CallKind.SHUTDOWN)
    assert bench.seen("vm-r").power is Power.ON
    with pytest.raises(Again, match="not off"):
        bench.act("vm-r", put=(CARD_1,))
    until(lambda: bench.seen("vm-r").power is Power.OFF)
    guest.habits = habits
    bench.act("vm-r", put=(CARD_1,))


@pytest.mark.parametrize("kind", [CallKind.POWER_ON, CallKind.HARD_STOP, CallKind.SHUTDOWN])
def test_fault_30_a_state_that_came_by_itself_is_success(bench: Bench, kind: CallKind) -> None:
    """The machine is in the wanted state before our call arrives."""
    step = bench.step("vm-r", kind)
    if kind is not CallKind.POWER_ON:
        bench.on("vm-r")
    error = meanwhile(bench, step, lambda: bench.hands.power("vm-r", "on" if kind is CallKind.POWER_ON else "off"))
    assert error is None
    assert bench.seen("vm-r").power is (Power.ON if kind is CallKind.POWER_ON else Power.OFF)


def test_fault_31_the_machine_is_looked_at_before_a_failure_is_told(bench: Bench) -> None:
    for kind, method in ((CallKind.POWER_ON, "PowerOnVM_Task"), (CallKind.HARD_STOP, "PowerOffVM_Task")):
        step = bench.step("vm-r", kind)
        plan(bench, "fault", method, when="after", fault="SystemError", text="something broke", fields={"reason": "x"})
        plan(
            bench, "delay", "RetrievePropertiesEx", skip=1, seconds=0.2
        )  # the look after it comes when its task is through
        bench.lab.act(step)
        assert bench.seen("vm-r").power is (Power.ON if kind is CallKind.POWER_ON else Power.OFF)
    plan(bench, "fault", "ReconfigVM_Task", when="after", fault="Timedout", text="too slow")
    step = bench.step("vm-r", put=(CARD_1,))
    try:
        bench.lab.act(step)
    except Again:  # its task was not through yet when it was looked at
        until(lambda: bench.vm("vm-r").fixed)
        bench.lab.act(step)
    assert bench.vm("vm-r").fixed.keys() == {CARD_1}


# ---- other hands --------------------------------------------------------------------------------------------------


def meanwhile(bench: Bench, step: LabStep, hand: Callable[[], object]) -> LabError | None:
    """``hand`` acts after the driver has read the machine, and before its changing call is carried out."""
    met: list[LabError] = []

    def act() -> None:
        try:
            bench.lab.act(step)
        except LabError as error:
            met.append(error)

    hold = bench.inside.server.hold
    hold.arm(1, "before")
    thread = threading.Thread(target=act)
    thread.start()
    try:
        until(lambda: hold.shown()["held"] is not None)
        hand()
    finally:
        hold.release(drop=False)
        thread.join(20)
    return met[0] if met else None


STEPS: dict[str, dict[str, Any]] = {
    "put": {"put": (CARD_1,)},
    "put-dynamic": {"put": (DYNAMIC,)},
    "put-vgpu": {"put": (HALF,)},
    "take": {"take": (CARD_2,)},
    "both": {"put": (CARD_1, HALF), "take": (CARD_2,)},
    "memory": {"take": (CARD_2,), "lock_memory": False, "reservation_mb": 0},
}


@pytest.mark.parametrize("name", STEPS)
def test_fault_34_a_conflict_at_any_change_is_read_anew_and_decided_anew(bench: Bench, name: str) -> None:
    if "take" in STEPS[name]:
        bench.act("vm-r", put=(CARD_2,))
    step = bench.step("vm-r", **STEPS[name])
    bench.reset()
    assert meanwhile(bench, step, lambda: bench.hands.edit("vm-r")) is None
    assert sent(bench) == {"ReconfigVM_Task": 2}, "the first was refused, since it was decided on what was before"
    bench.reset()
    bench.lab.act(step)
    assert sent(bench) == {}, "it is as it should be"


def test_fault_35_a_task_of_others_is_waited_for_a_while(bench: Bench) -> None:
    bench.hands.long_task("vm-r", 0.1)
    bench.act("vm-r", put=(CARD_1,))
    assert bench.vm("vm-r").fixed.keys() == {CARD_1}
    plan(bench, "fault", "PowerOnVM_Task", fault="TaskInProgress", text="Another task is already in progress.")
    with pytest.raises(Again, match="busy: a task that vCenter does not name"):
        bench.act("vm-r", CallKind.POWER_ON)


def test_fault_36_two_changes_of_one_machine_take_turns(bench: Bench) -> None:
    steps = [bench.step("vm-r", put=(CARD_1,)), bench.step("vm-r", put=(CARD_2,))]
    done: list[object] = []
    threads = [threading.Thread(target=lambda step=step: done.append(bench.lab.act(step))) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(done) == 2 and bench.vm("vm-r").fixed.keys() == {CARD_1, CARD_2}


def test_fault_37_a_stale_version_is_met_a_few_times_and_then_told(bench: Bench) -> None:
    bench.inside.world.conflicts["vm-r"] = 99
    bench.reset()
    with pytest.raises(Again, match="somebody else changed vm-r at the same moment"):
        bench.act("vm-r", put=(DYNAMIC,))
    assert 2 <= sent(bench)["ReconfigVM_Task"] <= 5 and not bench.vm("vm-r").has_devices


def test_fault_38_a_long_task_of_others_is_named_and_not_waited_for() -> None:
    with stand_in(RIG, foreign_s=0.2) as bench:
        bench.hands.long_task("vm-r", 3600)
        begun = time.monotonic()
        with pytest.raises(Again, match=r"busy: a move to another datastore by admin@vsphere\.local") as met:
            bench.act("vm-r", put=(CARD_1,))
        assert time.monotonic() - begun < 3 and met.value.after <= timedelta(minutes=1)
        assert "datastore" in bench.seen("vm-r").busy_task


HANDS: dict[str, tuple[Callable[[Bench], object], str]] = {
    "started": (lambda b: b.hands.power("vm-r", "on"), "not off"),
    "template": (lambda b: b.hands.template("vm-r", True), "is a template"),
    "asked": (
        lambda b: b.hands.question("vm-r", "Moved or copied?"),
        "waits for an answer in vCenter: Moved or copied?",
    ),
    "renamed": (lambda b: b.hands.rename("vm-r", "vm-r2"), ""),
    "registered anew": (lambda b: b.hands.reregister("vm-r"), ""),
    "unregistered": (lambda b: b.hands.unregister("vm-r"), "not in vCenter lab any more"),
    "another vGPU": (lambda b: b.hands.attach_vgpu("vm-r", "grid_t4-4q"), "changed by somebody else"),
    "card taken by another": (lambda b: b.hands.attach("vm-python", CARD_1), ""),
}


@pytest.mark.parametrize("name", HANDS)
def test_whatever_a_hand_does_in_mid_step_is_told_and_nothing_is_half_done(name: str) -> None:
    hand, words = HANDS[name]
    with stand_in(RIG, task_s=5) as bench:
        step = bench.step("vm-r", put=(CARD_1, HALF))
        error = meanwhile(bench, step, lambda: hand(bench))
        if words:
            assert error is not None and words in str(error), error
        else:
            assert error is None or isinstance(error, LabError)
        found = [m for m in bench.lab.look().machines if m.uuid == step.machine]
        if found:
            has = (set(found[0].cards), len(found[0].unplaced))
            assert has in [(set(), 0), ({CARD_1}, 1), (set(), 1 if name == "another vGPU" else 0)], has


def test_a_device_that_is_half_taken_off_by_hand_in_mid_move(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1, CARD_2, HALF))
    step = bench.step("vm-r", take=(CARD_1, CARD_2, HALF), lock_memory=False, reservation_mb=0)
    assert meanwhile(bench, step, lambda: bench.hands.detach("vm-r", CARD_1)) is None
    vm = bench.vm("vm-r")
    assert not vm.has_devices and not vm.locked


def test_a_suspended_machine_is_not_changed_and_not_started(bench: Bench) -> None:
    bench.on("vm-r")
    steps = [bench.step("vm-r", put=(HALF,)), bench.step("vm-r", CallKind.POWER_ON)]
    bench.hands.power("vm-r", "suspend")
    for step in steps:
        with pytest.raises(NeedsPerson, match="suspended"):
            bench.lab.act(step)
    bench.hands.power("vm-r", "on")


# ---- the wire -----------------------------------------------------------------------------------------------------


WAY = ["RetrievePropertiesEx", "QueryConfigTarget", "ReconfigVM_Task", "CreateFilter", "WaitForUpdatesEx"]


@pytest.mark.parametrize("method", WAY)
@pytest.mark.parametrize("when", ["before", "after"])
def test_fault_39_a_login_that_ends_between_two_calls_costs_nothing(bench: Bench, method: str, when: str) -> None:
    step = bench.step("vm-r", put=(CARD_1,))
    before = len(bench.journal("card on"))
    lab = other_lab(bench)
    try:
        number = plan(bench, "restart", method, when=when)
        try:
            lab.act(step)
        except Again:  # the reply to the change itself was lost
            assert method == "ReconfigVM_Task"
            lab.act(step)
        assert bench.inside.server.injections.shown()["past"][-1]["number"] == number
    finally:
        lab.close()
    bench.forget()
    assert bench.vm("vm-r").fixed.keys() == {CARD_1} and len(bench.journal("card on")) == before + 1, "once"


def test_fault_40_not_authenticated_for_want_of_rights_makes_no_loop(bench: Bench) -> None:
    step = bench.step("vm-r", put=(CARD_1,))
    plan(bench, "fault", "ReconfigVM_Task", fault="NotAuthenticated", text="not authenticated", count=0)
    bench.reset()
    with pytest.raises(
        NeedsPerson, match=r"does not let gpubot@vsphere\.local do this on vm-r, even freshly logged in"
    ):
        bench.lab.act(step)
    assert sent(bench) == {"ReconfigVM_Task": 2}, "once, and once more after a new login"


def test_fault_43_a_wait_that_is_met_with_silence_goes_on_elsewhere(bench: Bench) -> None:
    step = bench.step("vm-r", put=(CARD_1,))
    plan(bench, "silent", "WaitForUpdatesEx")
    begun = time.monotonic()
    assert bench.lab.act(step) == Before(0, False)
    assert 0.9 < time.monotonic() - begun < 4, "the socket's own patience, and no longer"


@pytest.mark.parametrize("how", ["503", "reset", "drop"])
def test_fault_44_an_error_of_http_while_waiting_is_no_end(bench: Bench, how: str) -> None:
    before = len(bench.journal("card on"))
    plan(bench, how, "WaitForUpdatesEx", count=2)
    assert bench.act("vm-r", put=(CARD_1,)) == Before(0, False)
    assert len(bench.journal("card on")) == before + 1


@pytest.mark.parametrize("how", ["drop", "503", "reset", "silent"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_changing_call_whose_reply_is_lost_is_looked_for_and_not_sent_twice(
    bench: Bench, how: str, when: str
) -> None:
    if (how, when) == ("silent", "after"):
        return  # what is silent carries nothing out
    before = len(bench.journal("card on"))
    step = bench.step("vm-r", put=(CARD_1,))
    plan(bench, how, "ReconfigVM_Task", when=when)
    try:
        assert bench.lab.act(step) == Before(0, False)
    except Again as again:
        assert "did not answer" in str(again)
        if when == "after":
            until(lambda: bench.vm("vm-r").fixed)
        bench.lab.act(step)
    assert bench.vm("vm-r").fixed.keys() == {CARD_1} and len(bench.journal("card on")) == before + 1


def test_a_vcenter_that_restarts_in_mid_task_is_asked_again(bench: Bench) -> None:
    step = bench.step("vm-r", put=(HALF,))
    plan(bench, "restart", "WaitForUpdatesEx", when="before", seconds=0.2)
    try:
        bench.lab.act(step)
    except Again as again:  # it was not up again yet
        assert "vCenter lab" in str(again)
        until(lambda: bench.lab.look().complete == {"lab"})
        bench.lab.act(step)
    bench.forget()
    assert bench.vm("vm-r").counted == {HALF: 1}


def test_fault_47_a_dead_vcenter_is_left_at_the_deadline(bench: Bench) -> None:
    plan_all = bench.inside.server.injections.add(Injection("silent", method="connect", count=0))
    lab = other_lab(bench, connect_s=0.3)
    begun = time.monotonic()
    assert lab.look().complete == frozenset()
    assert time.monotonic() - begun < 2 and "no answer within 0.3 s" in lab.troubles["lab"]
    bench.inside.server.injections.clear(plan_all)
    lab.close()


# ---- what others put there ----------------------------------------------------------------------------------------


def test_fault_50_a_vgpu_in_any_machine_breaks_nothing(bench: Bench) -> None:
    bench.hands.attach_vgpu("vm-python", "grid_t4-8q")
    bench.hands.foreign("vm-python", "dvx")
    assert bench.seen("vm-python").unplaced == (HALF,) and bench.seen("vm-python").foreign == 1
    bench.act("vm-r", put=(CARD_1,))
    assert bench.lab.dry_run(bench.step("vm-r", put=(CARD_2,))) == []
    world = bench.inside.world
    with world.lock:
        config = world.inventory.vm("vm-python").props["config"]
        config.hardware.device = [d for d in config.hardware.device if type(d.backing).__name__.find("Dvx") < 0]


def test_fault_51_a_dynamic_device_in_any_machine_breaks_nothing(bench: Bench) -> None:
    bench.hands.attach_dynamic("vm-python", POOL)
    assert bench.seen("vm-python").unplaced == (DYNAMIC,)
    bench.act("vm-r", put=(CARD_1,))
    any_kind = PciDevice(key=1, backing=PciDevice.DynamicBackingInfo(deviceName=""))
    odd = [PciDevice(key=2), any_kind, vim.vm.device.VirtualDisk(key=3), PciDevice(key=4, backing=FixedBacking())]
    found = sort_devices(odd)
    assert (found.fixed, found.unplaced, found.others) == ({}, [], 3)


def test_fault_60_all_privileges_that_lack_are_told_at_once(bench: Bench) -> None:
    step = bench.step("vm-r", put=(CARD_1,))
    privileges = bench.inside.server.api.privileges
    real = privileges.granted
    lacks = {"VirtualMachine.Config.Resource", "VirtualMachine.Interact.PowerOn"}
    privileges.granted = lambda user, privilege, on=None: privilege not in lacks and real(user, privilege, on)  # type: ignore[method-assign]
    try:
        (told,) = bench.lab.dry_run(step)
    finally:
        vars(privileges).pop("granted")
    assert (
        told
        == f"the role of {bench.vcenter.user} lacks {', '.join(sorted(lacks))} on vm-r; an admin of vCenter gives it"
    )
    assert bench.lab.dry_run(step) == []
    world = bench.inside.world
    with world.lock:
        world.inventory.vm("vm-r").props["config"].extraConfig = []
    lacks.clear()
    lacks.add("VirtualMachine.Config.AdvancedConfig")
    privileges.granted = lambda user, privilege, on=None: privilege not in lacks and real(user, privilege, on)  # type: ignore[method-assign]
    try:
        assert bench.lab.dry_run(step) == [], "one card of 16 GB starts without the keys"
        (told,) = bench.lab.dry_run(bench.step("vm-r", put=(CARD_1, CARD_2)))
    finally:
        vars(privileges).pop("granted")
    assert "VirtualMachine.Config.AdvancedConfig" in told


def test_fault_62_a_template_that_inherited_a_card_is_a_holder(bench: Bench) -> None:
    bench.act("vm-python", put=(CARD_1,))
    bench.hands.template("vm-python", True)
    try:
        with pytest.raises(Again, match="still in the settings of vm-python"):
            bench.act("vm-r", put=(CARD_1,))
        assert bench.lab.dry_run(bench.step("vm-r", put=(CARD_1,))) == [
            f"card {CARD_1} of esx-01 is in the settings of vm-python"
        ]
    finally:
        bench.hands.template("vm-python", False)


@pytest.mark.parametrize("one", [CARD_1, DYNAMIC, HALF], ids=str)
def test_fault_63_a_plan_that_changes_nothing_sends_nothing(bench: Bench, one: Any) -> None:
    step = bench.step("vm-r", put=(one,))
    bench.lab.act(step)
    bench.reset()
    bench.lab.act(step)
    bench.act("vm-r")
    bench.act("vm-r", take=(CARD_3,))
    bench.act("vm-r", CallKind.HARD_STOP)
    assert sent(bench) == {} and "QueryConfigTarget" not in bench.calls()


def test_fault_64_an_assignment_is_exactly_one_of_three_and_means_something(bench: Bench) -> None:
    empty = (
        FixedCard(""),
        FixedCard("3b:00.0"),
        DynamicCard("", POOL),
        DynamicCard(T4, ""),
        DynamicCard("T4", POOL),
        Vgpu(""),
    )
    bench.reset()
    for one in empty:
        with pytest.raises(NeedsPerson):
            bench.act("vm-r", put=(one,))
        assert len(bench.lab.dry_run(bench.step("vm-r", put=(one,)))) == 1
    assert sent(bench) == {}
    device = PciDevice(key=-1, backing=PciDevice.DvxBackingInfo(deviceClass="x", configParams=[]))
    add = vim.vm.device.VirtualDeviceSpec(operation="add", device=device)
    with pytest.raises(change.ForeignFieldError):
        change.guard(vim.vm.ConfigSpec(deviceChange=[add]))


def test_no_card_of_one_host_is_put_on_a_machine_that_is_on_another_by_then() -> None:
    second = replace(host("fixed", "vgpu", name="esx-02"), vms=(), template="")
    with stand_in(replace(RIG, hosts=(host("fixed", "vgpu"), second)), foreign_s=0.3, task_s=5) as two:
        home = next(m.host for m in two.lab.look().machines if m.name == "vm-r")
        for one in (FixedCard(CARD_1), HALF):
            step = two.step("vm-r", put=(one,), host=home, lock_memory=True)
            assert two.lab.dry_run(step) == []
            two.hands.migrate("vm-r", "esx-02")
            assert two.lab.dry_run(step) == ["vm-r is on esx-02 now, and what it is to get is in esx-01"]
            with pytest.raises(Again, match="vm-r is on another host by now than its card is in"):
                two.lab.act(step)
            two.hands.migrate("vm-r", "esx-01")
            two.lab.act(step)
            two.hands.migrate("vm-r", "esx-02")
            with pytest.raises(Again, match="another host"):  # that it has the address already is no success there
                two.lab.act(step)
            two.act("vm-r", take=(one,), lock_memory=False)  # and off again wherever it is
            assert not two.seen("vm-r").devices
            two.hands.migrate("vm-r", "esx-01")
        assert len(two.journal("card on")) == len(two.journal("card off")) == 2
