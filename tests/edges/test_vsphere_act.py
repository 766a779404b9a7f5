"""Acting on a machine: what is sent, what is not, and what becomes of every way in which it can go wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.model import CallKind, FixedCard, Power
from bot.edges.vsphere.vmomi import vim
from bot.local.vcenter.planned import Planned
from bot.service.ports import Again, Before, LabError, LabStep, NeedsPerson
from tests.edges.vsphere_rig import CARD_1, CARD_2, CARD_3, CARD_4, QUICK, Bench, other_lab, stand_in, until

CHANGING = {"ReconfigVM_Task", "PowerOnVM_Task", "PowerOffVM_Task", "ShutdownGuest"}


@pytest.fixture
def bench() -> Iterator[Bench]:
    with stand_in(foreign_s=0.5, task_s=10) as bench:
        yield bench


def sent(bench: Bench) -> dict[str, int]:
    """Changing calls since the count was reset."""
    return {method: n for method, n in bench.calls().items() if method in CHANGING}


# ---- nothing to do ------------------------------------------------------------------------------------------------


def test_an_effect_that_is_there_already_sends_nothing(bench: Bench) -> None:
    bench.act("vm-python", put=(CARD_1,))
    bench.reset()
    assert bench.act("vm-python", put=(CARD_1,)) is None, "what was before is not known any more"
    assert bench.act("vm-python", take=(CARD_2,)) == Before(65536, True)
    assert bench.act("vm-python") == Before(65536, True)
    bench.act("vm-python", CallKind.SHUTDOWN)
    bench.act("vm-python", CallKind.HARD_STOP)
    assert sent(bench) == {} and "QueryConfigTarget" not in bench.calls()
    bench.act("vm-python", CallKind.POWER_ON)
    bench.reset()
    bench.act("vm-python", CallKind.POWER_ON)
    bench.act("vm-python", put=(CARD_1,))
    assert sent(bench) == {}, "also of a machine that runs"


def test_only_what_is_missing_is_sent(bench: Bench) -> None:
    bench.act("vm-python", put=(CARD_1,))
    bench.act("vm-python", put=(CARD_1, CARD_2), take=(CARD_3,))
    assert [(e["verb"], e["details"]["card"]) for e in bench.journal("card on", "card off")] == [
        ("card on", CARD_1),
        ("card on", CARD_2),
    ]


# ---- memory -------------------------------------------------------------------------------------------------------


def test_the_memory_lock_comes_with_the_first_card_and_goes_with_the_last(bench: Bench) -> None:
    assert bench.act("vm-python", put=(CARD_1,)) == Before(reservation_mb=0, locked=False)
    assert bench.vm("vm-python").locked and bench.vm("vm-python").reservation_mb == 65536
    bench.act("vm-python", put=(CARD_2,))
    bench.act("vm-python", take=(CARD_1,), lock_memory=False, reservation_mb=1024)
    assert bench.vm("vm-python").locked, "a card remains"
    bench.act("vm-python", take=(CARD_2,), lock_memory=False, reservation_mb=1024)
    vm = bench.vm("vm-python")
    assert (vm.locked, vm.reservation_mb, vm.fixed) == (False, 1024, {})


def test_a_lock_that_was_there_before_stays(bench: Bench) -> None:
    bench.hands.attach("vm-r", CARD_1)
    bench.hands.detach("vm-r", CARD_1)
    assert bench.act("vm-r", put=(CARD_2,)) == Before(reservation_mb=65536, locked=True)
    bench.act("vm-r", take=(CARD_2,), lock_memory=True, reservation_mb=65536)
    assert bench.vm("vm-r").locked
    bench.act("vm-r", put=(CARD_2,))
    bench.act("vm-r", take=(CARD_2,))
    assert bench.vm("vm-r").locked, "nothing said of it: left as it is"


def test_the_lock_is_undone_also_when_a_hand_has_taken_the_card(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1,))
    bench.hands.detach("vm-r", CARD_1)
    bench.act("vm-r", take=(CARD_1,), lock_memory=False, reservation_mb=0)
    assert not bench.vm("vm-r").locked and bench.vm("vm-r").reservation_mb == 0


def test_the_lock_stays_while_a_device_remains_that_is_not_ours(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1,))
    world = bench.inside.world
    pci = vim.vm.device.VirtualPCIPassthrough
    for backing in (pci.VmiopBackingInfo(vgpu="grid_t4-8q"), vim.vm.device.VirtualDevice.BackingInfo()):
        bench.act("vm-r", put=(CARD_1,))
        with world.lock:
            devices = world.inventory.vm("vm-r").props["config"].hardware.device
            devices.append(pci(key=13007, backing=backing))
        bench.act("vm-r", take=(CARD_1,), lock_memory=False, reservation_mb=0)
        vm = bench.vm("vm-r")
        assert vm.fixed == {} and vm.has_devices and vm.locked
        with world.lock:
            world.inventory.vm("vm-r").props["config"].hardware.device.pop()


# ---- the window for memory-mapped I/O -----------------------------------------------------------------------------


def test_several_cards_get_a_wide_enough_mmio_window(bench: Bench) -> None:
    world = bench.inside.world
    with world.lock:
        world.inventory.vm("vm-r").props["config"].extraConfig = []
    bench.act("vm-r", put=(CARD_1,))
    assert bench.vm("vm-r").extra == {}, "one small card starts without"
    bench.act("vm-r", put=(CARD_1, CARD_2, CARD_3, CARD_4))
    assert bench.vm("vm-r").mmio_gb == 128
    bench.act("vm-r", CallKind.POWER_ON)


def test_a_window_that_is_wide_enough_is_left_alone(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1, CARD_2))
    assert bench.vm("vm-r").mmio_gb == 128
    assert "extraConfig" not in bench.journal("config")[-1]["details"]["fields"]


# ---- what the host offers -----------------------------------------------------------------------------------------


def test_the_host_is_asked_once_and_only_before_an_add(bench: Bench) -> None:
    bench.reset()
    bench.act("vm-r", put=(CARD_1,))
    bench.act("vm-python", put=(CARD_2,))
    bench.act("vm-python", put=(CARD_3,), take=(CARD_2,))
    bench.act("vm-python", take=(CARD_3,))
    assert bench.calls()["QueryConfigTarget"] == 1


def test_ids_that_went_stale_are_fetched_anew() -> None:
    with stand_in(replace(QUICK, strict_backing=True)) as strict:
        strict.act("vm-r", put=(CARD_1,))
        strict.inside.world.system_id = "another installation"
        strict.reset()
        strict.act("vm-python", put=(CARD_2,))
        assert strict.calls()["QueryConfigTarget"] == 1
        assert strict.vm("vm-python").fixed[CARD_2].backing.systemId == "another installation"


def test_ids_that_prove_stale_at_power_on_are_told_and_fetched_anew(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1,))
    bench.inside.world.system_id = "another installation"
    with pytest.raises(NeedsPerson, match="put it on again") as met:
        bench.act("vm-r", CallKind.POWER_ON)
    assert met.value.card == CARD_1
    bench.act("vm-r", take=(CARD_1,))
    bench.act("vm-r", put=(CARD_1,))
    bench.act("vm-r", CallKind.POWER_ON)


def test_a_card_that_the_host_does_not_have_needs_a_person(bench: Bench) -> None:
    with pytest.raises(NeedsPerson, match=r"no card 0000:99:00\.0") as met:
        bench.act("vm-r", put=("0000:99:00.0",))
    assert met.value.card == "0000:99:00.0"


def test_a_card_whose_passthrough_is_not_in_effect_needs_a_person(bench: Bench) -> None:
    bench.hands.card(CARD_3, enabled=False)
    bench.hands.host(reboot=True)
    bench.reset()
    with pytest.raises(NeedsPerson, match="not active") as met:
        bench.act("vm-r", put=(CARD_3,))
    assert met.value.card == CARD_3 and sent(bench) == {}


def test_a_card_in_another_machines_settings_is_not_put_on(bench: Bench) -> None:
    bench.hands.attach("vm-train", CARD_1)
    bench.reset()
    with pytest.raises(Again, match="vm-train"):
        bench.act("vm-r", put=(CARD_1,))
    assert sent(bench) == {}


def test_nothing_is_done_on_a_host_in_maintenance_or_away(bench: Bench) -> None:
    step = bench.step("vm-r", put=(CARD_1,))
    bench.hands.host(maintenance=True)
    with pytest.raises(Again, match="maintenance"):
        bench.lab.act(step)
    with pytest.raises(Again, match="maintenance"):
        bench.act("vm-r", CallKind.POWER_ON)
    bench.hands.host(maintenance=False, connection="disconnected")
    for wanted in (step, replace(step, kind=CallKind.POWER_ON, put=())):
        with pytest.raises(Again):
            bench.lab.act(wanted)


# ---- foreign hands ------------------------------------------------------------------------------------------------


def test_a_concurrent_change_is_read_anew_and_tried_again(bench: Bench) -> None:
    bench.inside.world.conflicts["vm-r"] = 2
    assert bench.act("vm-r", put=(CARD_1,)) == Before(0, False)
    assert set(bench.vm("vm-r").fixed) == {CARD_1}


def test_endless_concurrent_changes_end_in_again(bench: Bench) -> None:
    bench.inside.world.conflicts["vm-r"] = 99
    bench.reset()
    with pytest.raises(Again, match="somebody else changed vm-r"):
        bench.act("vm-r", put=(CARD_1,))
    assert 2 <= sent(bench)["ReconfigVM_Task"] <= 5
    assert bench.vm("vm-r").fixed == {}


def test_a_short_foreign_task_is_waited_for(bench: Bench) -> None:
    bench.hands.long_task("vm-r", 0.2)
    bench.act("vm-r", put=(CARD_1,))
    bench.hands.long_task("vm-r", 0.2)
    bench.act("vm-r", CallKind.POWER_ON)


def test_a_long_foreign_task_is_named_and_not_waited_for(bench: Bench) -> None:
    bench.hands.long_task("vm-r", 30)
    start = time.monotonic()
    with pytest.raises(Again, match=r"busy: a move to another datastore by admin@vsphere\.local"):
        bench.act("vm-r", put=(CARD_1,))
    assert time.monotonic() - start < 5


def test_a_task_of_ours_that_does_not_end_is_told() -> None:
    with stand_in(replace(QUICK, task_latency_s=3), task_s=0.4) as slow:
        with pytest.raises(Again, match="vm-r"):
            slow.act("vm-r", put=(CARD_1,))
        until(lambda: set(slow.vm("vm-r").fixed) == {CARD_1})
        assert slow.act("vm-r", put=(CARD_1,)) is None


def test_cards_are_only_changed_while_the_machine_is_off(bench: Bench) -> None:
    bench.hands.power("vm-r", "on")
    bench.reset()
    with pytest.raises(Again, match="not off"):
        bench.act("vm-r", put=(CARD_1,))
    assert sent(bench) == {}


@pytest.mark.parametrize("fault", ["InvalidPowerState", "DeviceHotPlugNotSupported", "GenericVmConfigFault"])
def test_a_machine_that_is_started_during_the_change_wins(fault: str) -> None:
    """Three candidates for what a real vCenter answers: all mean the same."""
    with stand_in(replace(QUICK, hot_fault=fault, task_latency_s=0.4)) as race:
        step = race.step("vm-r", put=(CARD_1,))
        met: list[Exception] = []

        def act() -> None:
            try:
                race.lab.act(step)
            except LabError as error:
                met.append(error)

        thread = threading.Thread(target=act)
        thread.start()
        until(lambda: race.inside.server.counts.shown()["methods"].get("ReconfigVM_Task"))
        world = race.inside.world
        with world.lock:
            world.power_on(world.inventory.vm("vm-r"), "user@vsphere.local")
        thread.join(20)
        assert len(met) == 1 and isinstance(met[0], Again) and "off" in str(met[0]), met
        assert race.vm("vm-r").fixed == {}


def test_suspended_templates_and_questions_need_a_person(bench: Bench) -> None:
    bench.hands.question("vm-r", "Did you move it?")
    with pytest.raises(NeedsPerson, match="Did you move it"):
        bench.act("vm-r", CallKind.POWER_ON)
    bench.hands.question("vm-r", None)
    bench.hands.power("vm-r", "on")
    bench.hands.power("vm-r", "suspend")
    for kind in (CallKind.CHANGE, CallKind.POWER_ON, CallKind.SHUTDOWN):
        with pytest.raises(NeedsPerson, match="suspended"):
            bench.act("vm-r", kind, put=(CARD_1,) if kind is CallKind.CHANGE else ())
    with pytest.raises(NeedsPerson, match="template"):
        bench.act("template-gpu", put=(CARD_1,))


# ---- gone, renamed, registered anew -------------------------------------------------------------------------------


def test_a_machine_that_was_deleted_is_gone_for_every_call(bench: Bench) -> None:
    uuid = bench.uuid("vm-r")
    bench.hands.destroy("vm-r")
    for kind in CallKind:
        with pytest.raises(NeedsPerson, match="not in vCenter lab any more"):
            bench.lab.act(LabStep("lab", uuid, kind, put=(FixedCard(CARD_1),) if kind is CallKind.CHANGE else ()))


def test_a_machine_is_found_by_its_id_wherever_it_is_by_now(bench: Bench) -> None:
    step = bench.step("vm-r", put=(CARD_1,))
    bench.hands.reregister("vm-r")
    bench.hands.rename("vm-r", "vm-r-new")
    bench.lab.act(step)
    assert set(bench.vm("vm-r-new").fixed) == {CARD_1}


def test_a_machine_that_a_new_process_never_looked_at_is_found(bench: Bench) -> None:
    step = bench.step("vm-r", put=(CARD_1,))
    lab = other_lab(bench)
    lab.act(step)
    lab.close()
    assert set(bench.vm("vm-r").fixed) == {CARD_1}


# ---- refused ------------------------------------------------------------------------------------------------------


def fail(bench: Bench, verb: str, reason: str, times: int = 0, fault: str = "GenericVmConfigFault") -> None:
    """The stand-in refuses ``verb`` of vm-r; ``times`` 0: until the end."""
    bench.inside.world.refusals.append(Planned("vm-r", verb, reason, times, fault))


def test_a_refused_start_names_the_card_that_the_text_names(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1, CARD_2))
    fail(bench, "power on", "PCIPassthru 094:00.0: device reset failed.")
    with pytest.raises(NeedsPerson, match="device reset failed") as met:
        bench.act("vm-r", CallKind.POWER_ON)
    assert met.value.card == CARD_2, "94 in decimal is 5e"
    assert bench.seen("vm-r").power is Power.OFF


def test_a_refused_start_without_a_card_in_its_text_blames_none(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1, CARD_2))
    fail(bench, "power on", "The host is tired.")
    with pytest.raises(NeedsPerson, match="The host is tired") as met:
        bench.act("vm-r", CallKind.POWER_ON)
    assert met.value.card == ""


def test_memory_that_does_not_fit_needs_a_person_and_blames_no_card() -> None:
    with stand_in(replace(QUICK, host_memory_mb=100 * 1024)) as small:
        small.act("vm-python", put=(CARD_1,))
        small.act("vm-python", CallKind.POWER_ON)
        small.act("vm-r", put=(CARD_2,))
        with pytest.raises(NeedsPerson, match="not enough free memory") as met:
            small.act("vm-r", CallKind.POWER_ON)
        assert met.value.card == ""


def test_a_card_that_is_being_let_go_is_waited_for() -> None:
    with stand_in(replace(QUICK, release_lag_s=1.0)) as slow:
        slow.act("vm-python", put=(CARD_1,))
        slow.act("vm-python", CallKind.POWER_ON)
        slow.act("vm-python", CallKind.HARD_STOP)
        slow.act("vm-python", take=(CARD_1,))
        slow.act("vm-r", put=(CARD_1,))
        with pytest.raises(Again, match="vm-python"):
            slow.act("vm-r", CallKind.POWER_ON)
        until(lambda: dict(slow.lab.look().hosts[0].bound) == {})
        slow.act("vm-r", CallKind.POWER_ON)


def test_a_card_with_which_another_machine_runs_needs_a_person_and_is_not_to_blame(bench: Bench) -> None:
    bench.act("vm-python", put=(CARD_1,))
    bench.hands.clone("vm-python", "copy")
    bench.act("vm-python", CallKind.POWER_ON)
    with pytest.raises(NeedsPerson, match="vm-python runs with card") as met:
        bench.act("copy", CallKind.POWER_ON)
    assert met.value.card == ""


def test_a_card_that_vanishes_for_a_moment_is_asked_for_once_more(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1,))
    fail(bench, "power on", f"Device {CARD_1} is not a passthrough device.", times=2)
    with pytest.raises(Again, match="once more"):
        bench.act("vm-r", CallKind.POWER_ON)
    with pytest.raises(NeedsPerson, match="does not offer that card") as met:
        bench.act("vm-r", CallKind.POWER_ON)
    assert met.value.card == CARD_1
    bench.act("vm-r", CallKind.POWER_ON)


def test_a_refused_change_leaves_everything_as_it_was(bench: Bench) -> None:
    fail(bench, "reconfigure", "The configuration is not right.")
    with pytest.raises(NeedsPerson, match="configuration is not right"):
        bench.act("vm-r", put=(CARD_1,))
    vm = bench.vm("vm-r")
    assert vm.fixed == {} and not vm.locked


@pytest.mark.parametrize(
    ("fault", "error"),
    [("ResourceInUse", Again), ("Timedout", Again), ("InvalidState", Again), ("VmConfigFault", NeedsPerson)],
)
def test_faults_are_sorted_into_again_and_a_person(bench: Bench, fault: str, error: type[Exception]) -> None:
    fail(bench, "reconfigure", "because", times=1, fault=fault)
    with pytest.raises(error):
        bench.act("vm-r", put=(CARD_1,))


# ---- shutting down ------------------------------------------------------------------------------------------------


def test_a_guest_whose_tools_are_not_up_yet_is_asked_later() -> None:
    with stand_in(replace(QUICK, boot_s=60)) as slow:
        slow.act("vm-r", CallKind.POWER_ON)
        slow.reset()
        with pytest.raises(Again, match="Tools do not run in vm-r"):
            slow.act("vm-r", CallKind.SHUTDOWN)
        assert sent(slow) == {}


def test_a_guest_without_tools_needs_a_person() -> None:
    with stand_in(replace(QUICK, boot_s=60)) as slow:
        slow.act("vm-r", CallKind.POWER_ON)
        world = slow.inside.world
        with world.lock:
            world.inventory.vm("vm-r").props["runtime"].bootTime -= timedelta(hours=1)
        with pytest.raises(NeedsPerson, match="hard stop"):
            slow.act("vm-r", CallKind.SHUTDOWN)
        slow.act("vm-r", CallKind.HARD_STOP)
        assert slow.seen("vm-r").power is Power.OFF


def test_a_shutdown_returns_at_once_and_is_seen_later() -> None:
    with stand_in(replace(QUICK, shutdown_s=0.7)) as slow:
        slow.on("vm-r")
        slow.act("vm-r", CallKind.SHUTDOWN)
        assert slow.seen("vm-r").power is Power.ON
        until(lambda: slow.seen("vm-r").power is Power.OFF)


# ---- lost replies -------------------------------------------------------------------------------------------------


@pytest.fixture
def brittle() -> Iterator[Bench]:
    """A client that gives a silent server up after a second."""
    with stand_in(answer_s=1.0, task_s=10) as bench:
        yield bench


def held(bench: Bench, when: str, drop_after: bool = False) -> threading.Thread | None:
    """Hold the next changing call; with ``drop_after`` its connection is cut as soon as it is held."""
    hold = bench.inside.server.hold
    hold.arm(1, when)
    if not drop_after:
        return None

    def cut() -> None:
        until(lambda: hold.shown()["held"] is not None)
        hold.release(drop=True)

    thread = threading.Thread(target=cut)
    thread.start()
    return thread


def test_waiting_goes_on_when_a_long_poll_is_lost() -> None:
    with stand_in(replace(QUICK, task_latency_s=1.6), answer_s=0.6, task_s=10) as bench:
        step = bench.step("vm-r", put=(CARD_1,))
        bench.reset()
        assert bench.lab.act(step) == Before(0, False)
        assert bench.calls()["WaitForUpdatesEx"] >= 2 and bench.calls()["ReconfigVM_Task"] == 1


@pytest.mark.parametrize("drop", [True, False], ids=["cut", "silent"])
def test_a_change_whose_reply_is_lost_is_found_done(brittle: Bench, drop: bool) -> None:
    step = brittle.step("vm-r", put=(CARD_1,))
    thread = held(brittle, "after", drop)
    before: Before | None = None
    try:
        before = brittle.lab.act(step)
    except Again:  # the task was still to come when it was looked at
        until(lambda: set(brittle.vm("vm-r").fixed) == {CARD_1})
        brittle.lab.act(step)
    else:
        assert before == Before(0, False)
    if thread:
        thread.join(10)
    assert len(brittle.journal("card on")) == 1, "not sent twice"
    assert not brittle.vm("vm-r").fixed.keys() ^ {CARD_1}


@pytest.mark.parametrize("kind", [CallKind.CHANGE, CallKind.POWER_ON])
def test_a_call_that_never_arrived_is_asked_again_later_not_at_once(brittle: Bench, kind: CallKind) -> None:
    step = brittle.step("vm-r", kind, put=(CARD_1,) if kind is CallKind.CHANGE else ())
    brittle.reset()
    thread = held(brittle, "before", drop_after=True)
    with pytest.raises(Again, match="did not answer"):
        brittle.lab.act(step)
    assert thread is not None
    thread.join(10)
    assert sum(sent(brittle).values()) == 1, "a changing call is sent once"
    assert brittle.vm("vm-r").fixed == {} and brittle.seen("vm-r").power is Power.OFF
    brittle.lab.act(step)


def test_a_lost_reply_to_a_shutdown_is_again_and_harmless(brittle: Bench) -> None:
    brittle.on("vm-r")
    thread = held(brittle, "after", drop_after=True)
    with pytest.raises(Again, match="did not answer"):
        brittle.act("vm-r", CallKind.SHUTDOWN)
    assert thread is not None
    thread.join(10)
    until(lambda: brittle.seen("vm-r").power is Power.OFF)
    brittle.act("vm-r", CallKind.SHUTDOWN)


# ---- sessions and threads -----------------------------------------------------------------------------------------


def test_a_session_that_ends_while_a_task_runs_costs_nothing() -> None:
    with stand_in(replace(QUICK, task_latency_s=0.6)) as slow:
        step = slow.step("vm-r", put=(CARD_1,))
        done: list[Before | None] = []
        thread = threading.Thread(target=lambda: done.append(slow.lab.act(step)))
        slow.reset()
        thread.start()
        until(lambda: slow.calls().get("ReconfigVM_Task"))
        slow.inside.server.api.sessions.expire(slow.vcenter.user)
        thread.join(20)
        assert done == [Before(0, False)], "what was before is known, although the call was looked for anew"
        assert len(slow.journal("card on")) == 1


def test_two_machines_are_changed_side_by_side(bench: Bench) -> None:
    steps = [bench.step("vm-r", put=(CARD_1,)), bench.step("vm-python", put=(CARD_2,))]
    done: list[Before | None] = []
    threads = [threading.Thread(target=lambda step=step: done.append(bench.lab.act(step))) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert done == [Before(0, False)] * 2
    assert set(bench.vm("vm-r").fixed) == {CARD_1} and set(bench.vm("vm-python").fixed) == {CARD_2}


def test_two_threads_on_one_machine_take_turns(bench: Bench) -> None:
    steps = [bench.step("vm-r", put=(CARD_1,)), bench.step("vm-r", put=(CARD_2,))]
    errors: list[Exception] = []

    def act(step: LabStep) -> None:
        try:
            bench.lab.act(step)
        except LabError as error:
            errors.append(error)

    threads = [threading.Thread(target=act, args=(step,)) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == [] and set(bench.vm("vm-r").fixed) == {CARD_1, CARD_2}


# ---- dry run ------------------------------------------------------------------------------------------------------


def test_a_change_that_nothing_stands_in_the_way_of(bench: Bench) -> None:
    assert bench.lab.dry_run(bench.step("vm-r", put=(CARD_1, CARD_2))) == []
    bench.on("vm-r")
    assert bench.lab.dry_run(bench.step("vm-r", put=(CARD_1, CARD_2))) == []
    assert bench.lab.dry_run(bench.step("vm-r", take=(CARD_4,))) == []


def test_all_blockers_are_told_at_once(bench: Bench) -> None:
    world = bench.inside.world
    bench.hands.attach("vm-train", CARD_1)
    bench.hands.card(CARD_3, enabled=False)
    bench.hands.host(reboot=True)
    with world.lock:
        config = world.inventory.vm("vm-r").props["config"]
        config.firmware, config.version, config.hardware.memoryMB = "bios", "vmx-11", 500 * 1024
    bench.hands.question("vm-r", "Which one?")
    found = bench.lab.dry_run(bench.step("vm-r", put=(CARD_1, CARD_3, "0000:99:00.0")))
    for words in ("Which one?", "EFI", "vmx-11", "in the settings of vm-train", "not active", "0000:99:00.0", "500 GB"):
        assert sum(words in line for line in found) == 1, (words, found)
    assert len(found) == 7
    bench.reset()
    bench.lab.dry_run(bench.step("vm-r", put=(CARD_1,)))
    assert sent(bench) == {}


def test_the_host_and_the_guest_may_stand_in_the_way(bench: Bench) -> None:
    step = bench.step("vm-r", put=(CARD_1,))
    bench.hands.power("vm-r", "on")
    world = bench.inside.world
    until(lambda: bench.seen("vm-r").tools)
    with world.lock:
        world.inventory.vm("vm-r").props["guest"].toolsRunningStatus = "guestToolsNotRunning"
    assert ["Tools" in line for line in bench.lab.dry_run(step)] == [True]
    bench.hands.host(maintenance=True)
    assert any("maintenance" in line for line in bench.lab.dry_run(step))
    bench.hands.host(maintenance=False, connection="disconnected")
    assert bench.lab.dry_run(step) != []
    bench.hands.host(connection="connected")
    bench.hands.power("vm-r", "off")
    bench.hands.power("vm-r", "on")
    bench.hands.power("vm-r", "suspend")
    assert any("suspended" in line for line in bench.lab.dry_run(step))
    assert any("template" in line for line in bench.lab.dry_run(bench.step("template-gpu", put=(CARD_1,))))


def test_memory_that_others_have_reserved_stands_in_the_way() -> None:
    with stand_in(replace(QUICK, host_memory_mb=100 * 1024)) as small:
        assert small.lab.dry_run(small.step("vm-r", put=(CARD_2,))) == []
        small.act("vm-python", put=(CARD_1,))
        small.act("vm-python", CallKind.POWER_ON)
        (told,) = small.lab.dry_run(small.step("vm-r", put=(CARD_2,)))
        assert "64 GB" in told and "36 GB" in told and "esx-01" in told


def test_a_device_of_a_group_stands_in_the_way_and_is_not_touched(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1,))
    world = bench.inside.world
    group = vim.vm.device.VirtualDevice.DeviceGroupInfo(groupInstanceKey=1, sequenceId=0)
    with world.lock:
        world.inventory.vm("vm-r").props["config"].hardware.device[-1].deviceGroupInfo = group
    assert any("device group" in line for line in bench.lab.dry_run(bench.step("vm-r", take=(CARD_1,))))
    with pytest.raises(NeedsPerson, match="device group"):
        bench.act("vm-r", take=(CARD_1,))
    assert set(bench.vm("vm-r").fixed) == {CARD_1}
