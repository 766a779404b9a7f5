"""Rigs of several hosts, what becomes of cards when a host is rebooted, renumbered or installed anew, states, lags; in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyVmomi import vim, vmodl

from bot.local.vcenter.devices import cards_of, dynamic_device, fixed_device, vgpu_device
from bot.local.vcenter.settings import DRS_USER, CardRig, HostRig, hosts_of
from bot.local.vcenter.vmomi import Refusal
from tests.local.vcenter_bench import T4, Bench, host, pci

TWO = (host("direct", "direct"), host("direct", "shared", name="esx-02", vms="x y"))


def test_the_founding_rig_is_the_default() -> None:
    world = Bench(HostRig()).world
    assert [h.name for h in world.inventory.of(vim.HostSystem)] == ["esx-01"]
    names = [n.name for n in world.inventory.of(vim.VirtualMachine)]
    assert names == ["template-gpu", "vm-python", "vm-python-2", "vm-r", "vm-train"]
    assert [(c.pci.id[5:7], c.model.name, c.active) for c in world.metal.cards] == [
        (bus, "T4", True) for bus in ("3b", "5e", "86", "af")
    ]


@pytest.mark.parametrize(
    "hosts",
    [(), (HostRig(), HostRig("esx-02")), (HostRig(), HostRig(vms=("x",), template="")), (host("direct", model="T5"),),
     (host("sideways"),), (host("shared", vgpu="multiInstanceGpu"),)],
)  # fmt: skip
def test_rigs_that_cannot_be(hosts: tuple[HostRig, ...]) -> None:
    with pytest.raises(ValueError, match=r"two hosts|no such card|cannot be"):
        Bench(*hosts)


def test_two_hosts_with_equal_addresses_have_nothing_in_common() -> None:
    bench = Bench(*TWO)
    assert {bench.target(n).pciPassthrough[0].pciDevice.id for n in (0, 1)} == {pci(1)}
    assert len({bench.target(n).pciPassthrough[0].systemId for n in (0, 1)}) == 2
    bench.give("a", bench.fixed("a", 1))
    bench.give("x", bench.fixed("x", 1))
    bench.on("a", "x")
    for number, name in ((0, "a"), (1, "x")):
        assert [b.vm._moId for b in bench.config(number).assignableHardwareBinding] == [bench.vm(name).moid]
    inside = [bench.world.guest_of(bench.vm(n)).kinds[pci(1)].serial for n in "ax"]
    assert len(set(inside)) == 2, "two cards, one UUID"
    hosts = bench.world.inventory.of(vim.HostSystem)
    assert [[v._moId for v in h.props["vm"]] for h in hosts] == [
        [bench.vm(n).moid for n in names] for names in ("abcd", "xy")
    ]


def test_the_system_id_of_another_host_passes_the_change_and_not_the_power_on() -> None:
    bench = Bench(*TWO)
    card = bench.fixed("a", 1)
    bench.give("x", fixed_device(pci(1), card.backing.vendorId, 0x1EB8, card.backing.systemId, "T4"))
    bench.refused("x", match="systemId")
    strict = Bench(*TWO, strict_backing=True)
    with pytest.raises(Refusal, match="systemId"):
        strict.give("x", strict.fixed("a", 1))


def test_memory_is_counted_a_host() -> None:
    bench = Bench(
        *(host("direct", "direct", name=n, vms=v) for n, v in (("esx-01", "a b"), ("esx-02", "x"))),
        host_memory_mb=70000,
    )
    for name in "abx":
        bench.give(name, bench.fixed(name, 2 if name == "b" else 1))
    bench.on("a", "x")
    fault = bench.refused("b", match="memory resources").fault
    assert isinstance(fault, vim.fault.InsufficientMemoryResourcesFault)


# -- reboots -------------------------------------------------------------------


def test_a_mode_that_is_asked_for_comes_with_the_next_reboot() -> None:
    bench = Bench(host("direct", "shared"))
    bench.vgpus("a", "grid_t4-8q")
    bench.give("b", bench.fixed("b", 1))
    bench.hands.card(pci(2), mode="direct")
    bench.hands.card(pci(1), mode="shared")
    info = bench.config().pciPassthruInfo
    assert [(i.passthruCapable, i.passthruEnabled, i.passthruActive) for i in info[-2:]] == [
        (True, False, True),
        (True, True, False),
    ]
    bench.on("a", "b")  # as before
    bench.hands.host(reboot=True)
    assert [i.passthruActive for i in bench.config().pciPassthruInfo[-2:]] == [False, True]
    assert [g.graphicsType for g in bench.config().graphicsInfo] == ["sharedDirect", "direct"]
    assert bench.vm("a").props["runtime"].powerState == "poweredOff"
    bench.refused("b", match="not a passthrough device")
    bench.on("a")
    assert bench.on_cards("a") == [1]


def test_a_shared_card_that_is_enabled_for_passthrough_offers_nothing_after_the_reboot() -> None:
    bench = Bench(host("shared"))
    bench.vgpus("a", "grid_t4-8q")
    bench.hands.card(pci(1), enabled=True)
    assert bench.config().sharedPassthruGpuTypes != []
    bench.hands.host(reboot=True)
    assert bench.config().sharedPassthruGpuTypes == []
    bench.refused("a", match="grid_t4-8q")


def test_a_host_that_can_rebind_changes_at_once_what_nobody_has() -> None:
    bench = Bench(host("direct", "direct", rebind=True))
    bench.give("a", bench.fixed("a", 1))
    bench.on("a")
    for number in (1, 2):
        bench.hands.card(pci(number), mode="shared")
    assert [g.graphicsType for g in bench.config().graphicsInfo] == ["direct", "sharedDirect"]


def test_addresses_that_moved_leave_settings_stale() -> None:
    bench = Bench(host("direct", "direct", label="t4-pool"))
    bench.give("a", bench.fixed("a", 1))
    bench.dynamic("b", "t4-pool")
    bench.on("a", "b")
    bench.hands.card(pci(1), fault="xid 79")
    bench.hands.host(renumber=True)
    assert [d.id for d in bench.world.host.props["hardware"].pciDevice[-2:]] == [
        "0000:3c:00.0",
        "0000:5f:00.0",
    ]
    bench.refused("a", match=f"{pci(1)} is not a passthrough device")
    bench.on("b")
    assert bench.assigned("b") == ["0000:3c:00.0"], "a dynamic device is not bound to an address"
    assert bench.world.metal.faults == {"0000:3c:00.0": "xid 79"}, "what is broken moves with the card"


def test_after_a_card_was_put_in_an_old_address_may_be_another_card() -> None:
    bench = Bench(host("direct", "direct"))
    bench.give("a", bench.fixed("a", 1))
    before = bench.world.metal.card(pci(1))
    with pytest.raises(ValueError, match="no address twice"):
        bench.hands.host(renumber={pci(1): pci(2)})
    bench.hands.host(renumber={pci(1): pci(2), pci(2): pci(3)}, new={"pci": pci(1)})
    assert bench.world.metal.card(pci(2)) is before
    assert len({c.serial for c in bench.world.metal.cards}) == 3
    bench.on("a")  # it starts, with a card that nobody gave it


def test_a_host_that_is_installed_anew_has_another_system_id() -> None:
    bench = Bench(*TWO)
    bench.give("x", bench.fixed("x", 1))
    before = [bench.target(n).pciPassthrough[0].systemId for n in (0, 1)]
    bench.hands.host("esx-02", reinstall=True)
    after = [bench.target(n).pciPassthrough[0].systemId for n in (0, 1)]
    assert after[0] == before[0] and after[1] != before[1]
    bench.refused("x", match="systemId")


def test_a_crash_drops_the_machines_of_its_host_alone() -> None:
    bench = Bench(*TWO)
    bench.give("a", bench.fixed("a", 1))
    bench.vgpus("x", "grid_t4-8q")
    bench.on("a", "b", "x")
    bench.hands.host("esx-01", crash=True)
    power = {n: bench.vm(n).props["runtime"].powerState for n in "abx"}
    assert power == {"a": "poweredOff", "b": "poweredOff", "x": "poweredOn"}
    assert bench.world.bound == {} and bench.config().assignableHardwareBinding == []


# -- states ----------------------------------------------------------------------


def test_a_host_that_is_away_takes_no_change_and_the_other_does() -> None:
    bench = Bench(*TWO)
    for state, fault in (
        ("disconnected", vmodl.fault.HostNotConnected),
        ("notResponding", vmodl.fault.HostNotReachable),
    ):
        bench.hands.host("esx-02", connection=state)
        for call in (lambda: bench.give("x", bench.fixed("x", 1)), lambda: bench.on("x"), lambda: bench.target(1)):
            with pytest.raises(Refusal) as met:
                call()
            assert isinstance(met.value.fault, fault)
        assert bench.vm("x").props["runtime"].connectionState == "disconnected"
        assert bench.vm("a").props["runtime"].connectionState == "connected"
    bench.on("a")


def test_maintenance_puts_off_what_is_on_and_starts_nothing() -> None:
    bench = Bench(*TWO)
    bench.on("x", "a")
    bench.hands.host("esx-02", maintenance=True, evacuate=True)
    last = [(e["user"], e["vm"]) for e in bench.world.journal.since() if e["verb"] == "power off"]
    assert last == [(DRS_USER, "x")]
    bench.refused("x", match="maintenance")


def test_a_host_that_is_away_cannot_be_emptied_and_nothing_of_it_is_done() -> None:
    bench = Bench(*TWO)
    bench.on("x")
    bench.hands.host("esx-02", connection="notResponding")
    with pytest.raises(Refusal, match="does not respond"):
        bench.hands.host("esx-02", maintenance=True, evacuate=True)
    assert bench.world.host_named("esx-02").props["runtime"].inMaintenanceMode is False


def test_an_orphaned_machine_is_refused_until_it_is_known_again() -> None:
    bench = Bench(host("direct"))
    bench.hands.orphan("a", True)
    bench.refused("a", match="orphaned")
    with pytest.raises(Refusal, match="orphaned"):
        bench.give("a", bench.fixed("a", 1))
    bench.hands.host(connection="disconnected")
    bench.hands.host(connection="connected")
    assert bench.vm("a").props["runtime"].connectionState == "orphaned"
    bench.hands.orphan("a", False)
    bench.on("a")


def test_snapshots_and_devices_that_are_none_of_ours() -> None:
    bench = Bench(host("direct"))
    for kind, number in (("dvx", 1), ("sriov", 0), ("group", 2)):
        version = bench.vm("a").props["config"].changeVersion
        bench.hands.foreign("a", kind)
        assert bench.vm("a").props["config"].changeVersion != version
        assert len(cards_of(bench.vm("a"))) == number + (1 if kind == "group" else 0 if kind == "dvx" else 1)
    bench.give("a", bench.fixed("a", 1))
    with pytest.raises(Refusal, match="device group"):
        bench.take("a", cards_of(bench.vm("a"))[1])
    bench.hands.snapshot("a")
    assert bench.vm("a").props["snapshot"].rootSnapshotList[0].name == "before"
    bench.on("a")
    assert bench.world.guest_of(bench.vm("a")).hardware == [pci(1)]
    with pytest.raises(ValueError, match="not off"):
        bench.hands.snapshot("a")


def test_a_machine_that_was_destroyed_while_suspended_holds_nothing() -> None:
    bench = Bench(host("direct", "shared"))
    bench.give("a", bench.fixed("a", 1))
    bench.on("a")
    bench.hands.power("a", "suspend")
    bench.hands.destroy("a")
    assert bench.world.bound == {}


def test_an_unreadable_machine_that_goes_off_forgets_its_card() -> None:
    bench = Bench(host("direct"))
    bench.dynamic("a", "")
    bench.on("a")
    bench.hands.inaccessible("a", True)
    bench.hands.power("a", "off")
    bench.hands.inaccessible("a", False)
    assert bench.assigned("a") == [None]


def test_a_machine_that_was_moved_to_another_host_keeps_what_its_settings_say() -> None:
    bench = Bench(*TWO)
    bench.give("a", bench.fixed("a", 1))
    bench.hands.migrate("a", "esx-02")
    hosts = bench.world.inventory.of(vim.HostSystem)
    assert [bench.vm("a").ref in h.props["vm"] for h in hosts] == [False, True]
    assert bench.words("a") == [pci(1)]
    bench.refused("a", match="systemId")
    bench.on("b")
    with pytest.raises(ValueError, match="not off"):
        bench.hands.migrate("b", "esx-02")


def test_power_on_is_checked_in_the_order_of_a_real_one() -> None:
    """Everything is wrong at once, and is mended from the first check to the last."""
    bench = Bench(host("shared", "direct", "direct"), host_memory_mb=70000)
    for name in "bc":
        bench.give(
            name, bench.fixed(name, 2) if name == "b" else vgpu_device("grid_t4-16q"), memoryReservationLockedToMax=None
        )
    spec = {"memoryMB": 1024, "memoryReservationLockedToMax": True}
    for name in "bc":
        bench.hands.edit(name, **spec)
    bench.on("b", "c")
    a, devices = bench.vm("a"), [bench.fixed("a", 2), dynamic_device(*T4, "none"), vgpu_device("grid_t4-16q")]
    devices[0].backing.systemId = "another"
    bench.give("a", *devices, memoryReservationLockedToMax=None)
    bench.hands.edit("a", firmware="bios")
    bench.hands.template("a", True)
    bench.hands.host(connection="disconnected", maintenance=True)

    def mend(**fields: Any) -> None:
        bench.hands.edit("a", **fields)

    bench.refused("a", match="template")
    bench.hands.template("a", False)
    bench.refused("a", match="disconnected")
    bench.hands.host(connection="connected")
    bench.refused("a", match="maintenance")
    bench.hands.host(maintenance=False)
    bench.refused("a", match="memory reservation")
    mend(memoryReservationLockedToMax=True)
    bench.refused("a", match="does not have sufficient memory")
    mend(memoryMB=1024)
    bench.refused("a", match="BIOS guest")
    mend(firmware="efi", extraConfig=[vim.option.OptionValue(key="pciPassthru.use64bitMMIO", value="")])
    bench.refused("a", match="GB of MMIO")
    mend(extraConfig=[vim.option.OptionValue(key="pciPassthru.use64bitMMIO", value="TRUE")])
    bench.refused("a", match="systemId")
    cards_of(a)[0].backing.systemId = bench.world.system_id
    bench.refused("a", match="already in use")
    bench.off("b")
    bench.refused("a", match="label 'none'")
    bench.hands.card(pci(3), label="none")
    bench.refused("a", match="grid_t4-16q")
    bench.off("c")
    bench.on("a")


# -- lags and tasks ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["fixed", "dynamic", "vgpu"])
def test_a_card_is_released_some_seconds_after_power_off(kind: str) -> None:
    bench = Bench(host("shared" if kind == "vgpu" else "direct"), release_lag_s=5.0)
    for name in "ab":
        if kind == "vgpu":
            bench.vgpus(name, "grid_t4-16q")
        elif kind == "dynamic":
            bench.dynamic(name, "")
        else:
            bench.give(name, bench.fixed(name, 1))
    bench.on("a")
    bench.off("a")
    bench.refused("b", match="use|free|available")
    bench.go(5)
    bench.on("b")


def test_a_lag_of_before_is_not_that_of_the_last_power_off() -> None:
    bench = Bench(host("direct"), release_lag_s=10.0)
    for name in "ab":
        bench.give(name, bench.fixed(name, 1))
    bench.on("a")
    bench.off("a")
    bench.go(6)
    bench.on("a")
    bench.off("a")
    bench.go(6)
    bench.refused("b", match="in use")
    bench.go(4)
    bench.on("b")


@pytest.mark.parametrize("kind", ["dynamic", "vgpu"])
def test_what_a_machine_still_has_of_before_is_free_to_it(kind: str) -> None:
    for slept in (True, False):
        bench = Bench(host("shared" if kind == "vgpu" else "direct"), release_lag_s=10.0)
        if kind == "vgpu":
            bench.vgpus("a", "grid_t4-16q")
        else:
            bench.dynamic("a", "")
        bench.on("a")
        bench.hands.power("a", "suspend" if slept else "off")
        bench.on("a")


def test_a_host_tells_of_bindings_late() -> None:
    bench = Bench(host("direct", "shared"), binding_lag_s=3.0)
    bench.give("a", bench.fixed("a", 1))
    bench.vgpus("b", "grid_t4-8q")
    bench.on("a", "b")
    assert bench.config().assignableHardwareBinding == [] and bench.config().graphicsInfo[1].vm == []
    bench.go(3)
    assert len(bench.config().assignableHardwareBinding) == 1 and len(bench.config().graphicsInfo[1].vm) == 1


def test_power_may_renew_the_change_version() -> None:
    for renews in (False, True):
        bench = Bench(host("direct"), power_renews=renews)
        before = bench.vm("a").props["config"].changeVersion
        bench.on("a")
        assert (bench.vm("a").props["config"].changeVersion != before) is renews


def test_a_task_without_latency_is_done_when_it_is_asked_for() -> None:
    bench = Bench(host("direct"))
    assert bench.info(bench.world.power_on_task(bench.vm("a"), "x")).state == "success"
    failed = bench.info(bench.world.power_on_task(bench.vm("a"), "x"))
    assert failed.state == "error" and isinstance(failed.error, vim.fault.InvalidPowerState)
    assert failed.error.existingState == failed.error.requestedState == "poweredOn"


def test_a_task_with_latency_goes_with_time() -> None:
    bench = Bench(host("direct"), task_latency_s=10.0)
    task = bench.world.power_on_task(bench.vm("a"), "x")
    assert bench.info(task).state == "queued"
    bench.go(6)
    assert bench.info(task).state == "running"
    with pytest.raises(Refusal) as met:
        bench.world.power_off_task(bench.vm("a"), "x")
    assert met.value.fault.task._moId == task._moId
    bench.go(4)
    assert bench.info(task).state == "success" and not bench.world.tasks.busy


def test_a_question_blocks_a_task_until_it_is_answered_or_the_task_cancelled() -> None:
    bench = Bench(host("direct"), tasks_cancelable=True)
    tasks = bench.world.tasks
    for name in "ab":
        bench.hands.question(name, "moved or copied?")
    first, second = (bench.world.power_on_task(bench.vm(n), "x") for n in "ab")
    bench.go(100)
    assert {bench.info(t).state for t in (first, second)} == {"running"}
    bench.hands.question("a", None)
    tasks.cancel(bench.world.inventory.node(second))
    bench.go(2)
    assert bench.info(first).state == "success"
    assert isinstance(bench.info(second).error, vmodl.fault.RequestCanceled)
    assert bench.vm("b").props["runtime"].powerState == "poweredOff"
    with pytest.raises(Refusal, match="has ended"):
        tasks.cancel(bench.world.inventory.node(first))
    never = Bench(host("direct"), task_latency_s=1.0)
    with pytest.raises(Refusal, match="cannot be cancelled"):
        never.world.tasks.cancel(never.world.inventory.node(never.world.power_on_task(never.vm("a"), "x")))


def test_a_foreign_task_keeps_a_machine_busy_for_its_time() -> None:
    bench = Bench(host("direct"))
    running = bench.hands.long_task("a", 900)
    for _ in range(2):
        with pytest.raises(Refusal) as met:
            bench.world.reconfigure_task(bench.vm("a"), vim.vm.ConfigSpec(annotation="x"), "x")
        assert met.value.fault.task._moId == running._moId
        bench.go(400)
    bench.go(100)
    assert (
        bench.info(bench.world.reconfigure_task(bench.vm("a"), vim.vm.ConfigSpec(annotation="x"), "x")).state
        == "success"
    )


def test_jitter_is_drawn_by_the_seed() -> None:
    def took(seed: int) -> list[float]:
        bench = Bench(host("direct"), task_latency_s=10.0, task_jitter=0.5, seed=seed)
        out = []
        for name in "abcd":
            task, begun = bench.world.power_on_task(bench.vm(name), "x"), bench.clock.unix()
            bench.go(16)
            out.append(bench.info(task).completeTime.timestamp() - begun)
        return out

    times = took(1)
    assert times == took(1) != took(2) and all(5 <= t <= 15 for t in times) and len(set(times)) > 1


def test_functions_of_a_card_are_listed_and_are_no_cards() -> None:
    bench = Bench(host(cards=(CardRig(pci(1), "RTX6000"),)))
    mine = [d for d in bench.world.host.props["hardware"].pciDevice if d.id.startswith("0000:3b")]
    assert [(d.id[-1], d.classId & 0xFFFF) for d in mine] == [
        ("0", 0x0300),
        ("1", 0x0403),
        ("2", 0x0C03),
        ("3", 0x0C80),
    ]
    told = {i.id: i.dependentDevice for i in bench.config().pciPassthruInfo if i.id.startswith("0000:3b")}
    assert set(told.values()) == {pci(1)} and len(told) == 4
    assert [p.pciDevice.id for p in bench.target().pciPassthrough] == [pci(1)]


# -- what is uncertain of a real one is a setting ------------------------------------


def test_a_busy_card_may_not_be_offered() -> None:
    for listed in (True, False):
        bench = Bench(host("direct", "direct"), busy_listed=listed)
        bench.give("a", bench.fixed("a", 1))
        bench.on("a")
        assert len(bench.target().pciPassthrough) == (2 if listed else 1)


def test_a_card_may_be_refused_to_a_second_machine() -> None:
    bench = Bench(*TWO, listed_twice=False)
    bench.give("a", bench.fixed("a", 1))
    bench.give("x", bench.fixed("x", 1))
    with pytest.raises(Refusal, match="configured in another"):
        bench.give("b", bench.fixed("b", 1))


def test_equal_dynamic_devices_may_have_to_come_one_at_a_time() -> None:
    bench = Bench(host("direct", "direct", label="x"), one_a_spec=True)
    with pytest.raises(Refusal) as met:
        bench.dynamic("a", "x", "x")
    assert isinstance(met.value.fault, vim.fault.InvalidDeviceSpec) and bench.words("a") == []
    bench.dynamic("a", "x", "")
    bench.dynamic("a", "x")
    assert len(bench.words("a")) == 3


def test_refusals_may_name_cards_in_decimal() -> None:
    bench = Bench(host("direct"), decimal_ids=True, cluster_faults=True)
    for name in "ab":
        bench.give(name, bench.fixed(name, 1))
    bench.on("a")
    fault = bench.refused("b", match="No host is compatible").fault.error[0]
    assert fault.reason == fault.faultMessage[0].message == "Device 59:0.0 is already in use."


def test_a_card_that_cannot_be_passed_through() -> None:
    bench = Bench(host(cards=(CardRig(pci(1), mode="none", capable=False),)))
    assert bench.config().pciPassthruInfo[-1].passthruCapable is False
    with pytest.raises(ValueError, match="not capable"):
        bench.hands.card(pci(1), mode="direct")


def test_behaviour_changes_while_it_runs() -> None:
    bench = Bench(host("direct"))
    bench.hands.settings(release_lag_s=5, task_latency_s=2.0, power_renews=True)
    bench.give("a", bench.fixed("a", 1))
    task = bench.world.power_on_task(bench.vm("a"), "x")
    assert bench.info(task).state == "queued"
    bench.go(2)
    bench.world.power_off(bench.vm("a"), "x")
    assert pci(1) in bench.world.bound
    for wrong in ({"hosts": ()}, {"seed": 4}, {"release_lag_s": "long"}, {"decimal_ids": 1}, {"colour": 1}):
        with pytest.raises(ValueError, match="while it runs"):
            bench.hands.settings(**wrong)


def test_a_rig_is_read_from_plain_words() -> None:
    raw = [
        {"name": "esx-07", "cards": [{"pci": pci(1), "model": "A40", "mode": "shared"}], "vms": ["a"], "template": ""}
    ]
    assert hosts_of(raw) == (HostRig("esx-07", (CardRig(pci(1), "A40", "shared"),), vms=("a",), template=""),)
    card = {"pci": pci(1)}
    odd: tuple[object, ...] = (
        [{"name": 5}], [{"vms": "abc"}], [{"vms": [5]}], [{"memory_mb": "1"}], [{"rebind": 1}], [{"cards": 5}], [{"cards": [5]}],
        [{"cards": [{"pci": 5}]}], [{"cards": [{**card, "label": None}]}], [{"cards": [{**card, "capable": "yes"}]}], 5, None,
    )  # fmt: skip
    for wrong in ({}, [{"cards": [{}]}], [{"colour": "green"}], ["esx"], *odd):
        with pytest.raises(ValueError, match=r"no rig|dictionary update"):
            hosts_of(wrong)


@pytest.mark.parametrize(
    "words",
    ["--port 70000", "--drive-port -1", "--page-size 0", "--extra-vms -1", "--boot nan", "--idle inf", "--api x"],
)
def test_a_command_line_that_cannot_be_is_refused_in_one_line(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    from bot.local.vcenter.__main__ import main

    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2 or "API version" in str(ended.value.code)
    assert "Traceback" not in capsys.readouterr().err


def test_a_rig_of_an_unknown_model_is_refused_in_one_line(tmp_path: Path) -> None:
    from bot.local.vcenter.__main__ import main

    file = tmp_path / "rig.json"
    file.write_text(json.dumps([{"cards": [{"pci": pci(1), "model": "T9"}]}]))
    with pytest.raises(SystemExit, match="T9"):
        main(["--rig", str(file)])
