"""Fixed cards, dynamic cards and vGPUs: how a look tells them, what is sent for them, what is refused and what would work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bot.domain.model import CallKind, DynamicCard, FixedCard, Mode, SeenCard, SeenHost, Vgpu
from bot.edges.vsphere.lab import VSphereLab
from bot.edges.vsphere.vmomi import PciDevice
from bot.local.vcenter.planned import Planned
from bot.local.vcenter.settings import CardRig, HostRig
from bot.service.ports import Again, Before, NeedsPerson
from tests.edges.vsphere_rig import (
    CARD_1,
    CARD_2,
    CARD_3,
    CARD_4,
    DYNAMIC,
    HALF,
    MIXED,
    POOL,
    QUICK,
    T4,
    WHOLE,
    Bench,
    Clock,
    host,
    stand_in,
    until,
)


@pytest.fixture
def bench() -> Iterator[Bench]:
    with stand_in(MIXED, foreign_s=0.5, task_s=10) as bench:
        yield bench


def the_host(bench: Bench, name: str = "esx-01") -> SeenHost:
    return next(h for h in bench.lab.look().hosts if h.name == name)


def cards(bench: Bench, name: str = "esx-01") -> dict[str, SeenCard]:
    return {c.pci: c for c in the_host(bench, name).cards}


# ---- looking ------------------------------------------------------------------------------------------------------


def test_the_mode_of_a_card_is_what_its_hosts_settings_and_the_sites_say(bench: Bench) -> None:
    seen = cards(bench)
    assert [seen[a].mode for a in (CARD_1, CARD_2, CARD_3, CARD_4)] == [
        Mode.FIXED,
        Mode.DYNAMIC,
        Mode.DYNAMIC,
        Mode.VGPU,
    ]
    assert all(c.active and not c.trouble and c.ids == T4 for c in seen.values())
    assert seen[CARD_2].label == POOL and seen[CARD_1].label == ""
    assert set(seen[CARD_4].profiles) >= {"grid_t4-1q", "grid_t4-8q", "grid_t4-16q", "grid_t4-2b"}
    assert seen[CARD_1].profiles == () == seen[CARD_2].profiles
    assert not the_host(bench).consolidates


def test_a_label_that_the_settings_do_not_name_is_no_pool() -> None:
    with stand_in(MIXED, dynamic=frozenset({"another"})) as other:
        assert {c.mode for c in cards(other).values()} == {Mode.FIXED, Mode.VGPU}


def test_who_runs_with_what_is_seen(bench: Bench) -> None:
    bench.act("vm-r", put=(CARD_1, DYNAMIC, HALF))
    bench.act("vm-python", put=(HALF,))
    assert bench.seen("vm-r").cards == (CARD_1,) and set(bench.seen("vm-r").unplaced) == {DYNAMIC, HALF}
    assert bench.seen("vm-r").foreign == 0 and bench.seen("vm-r").hardware == 19
    seen = the_host(bench)
    assert dict(seen.bound) == {} and dict(seen.sharing) == {CARD_4: ()}
    bench.act("vm-r", CallKind.POWER_ON)
    bench.act("vm-python", CallKind.POWER_ON)
    seen, r, python = the_host(bench), bench.uuid("vm-r"), bench.uuid("vm-python")
    assert seen.bound.keys() == {CARD_1, CARD_2} and set(seen.bound.values()) == {r}
    assert sorted(seen.sharing[CARD_4]) == sorted([r, python])
    world = bench.inside.world
    with world.lock:  # also where no list of the host says which card the dynamic device got
        world.host.props["config"].assignableHardwareBinding = []
        for one in world.host.props["config"].graphicsInfo:
            one.vm = []
    assert the_host(bench).bound.keys() == {CARD_1, CARD_2}


def test_two_parts_of_one_card_in_one_machine_count_twice() -> None:
    with stand_in(replace(QUICK, hosts=(host("vgpu", hardware="vmx-20"),))) as bench:
        bench.act("vm-r", put=(HALF, HALF))
        bench.act("vm-r", CallKind.POWER_ON)
        assert the_host(bench).sharing[CARD_1] == (bench.uuid("vm-r"),) * 2


def test_placement_and_troubles_of_cards_are_told() -> None:
    rig = host("vgpu", "none", "fixed", "dynamic", policy="consolidation")
    odd = HostRig("esx-02", (CardRig(CARD_1, "A100", "shared", vgpu="multiInstanceGpu"), CardRig(CARD_2, "A40", "shared")),
                  vms=(), template="")  # fmt: skip
    with stand_in(replace(QUICK, hosts=(rig, odd))) as bench:
        assert the_host(bench).consolidates and not the_host(bench, "esx-02").consolidates
        bench.hands.card(CARD_3, enabled=False)
        seen = cards(bench)
        assert not seen[CARD_2].active and seen[CARD_2].trouble == "passthrough is not switched on for it"
        bench.hands.card(CARD_2, mode="direct")
        assert "before the host restarts" in cards(bench)[CARD_2].trouble
        other = cards(bench, "esx-02")
        assert not other[CARD_1].active and "MIG" in other[CARD_1].trouble
        assert other[CARD_2].active and "nvidia_a40-8q" in other[CARD_2].profiles
        assert not any("t4" in p or "a100" in p for p in other[CARD_2].profiles), "each card has its own"
        world = bench.inside.world
        with world.lock:
            world.host.props["config"].sharedPassthruGpuTypes = []
        lost = cards(bench)[CARD_1]
        assert lost.mode is Mode.VGPU and not lost.active and "ECC" in lost.trouble


@pytest.mark.parametrize("api", ["7.0.3.0", "6.7", "7.0.1.0"])
def test_older_servers_are_asked_for_nothing_that_they_lack(api: str) -> None:
    with stand_in(replace(MIXED, api_version=api, dynamic=api != "6.7")) as old:
        old.lab.look()
        old.reset()
        assert old.lab.look().complete == {"lab"}
        assert old.calls() == {"CurrentTime": 1, "RetrievePropertiesEx": 1}, "no refusal of a property had to teach it"
        trouble = {c.trouble for c in cards(old).values() if c.mode is not Mode.VGPU}
        if api == "6.7":
            assert len(trouble) == 1 and "needs version 7.0" in trouble.pop() and not cards(old)[CARD_1].active
        elif api == "7.0.3.0":
            assert trouble == {""} and cards(old)[CARD_2].mode is Mode.DYNAMIC


def test_an_old_server_without_dynamic_labels_in_the_settings_gives_cards_by_address() -> None:
    with stand_in(replace(MIXED, api_version="6.7", dynamic=False), dynamic=frozenset()) as old:
        assert cards(old)[CARD_1].active and cards(old)[CARD_1].mode is Mode.FIXED
        old.act("vm-r", put=(CARD_1,))
        with pytest.raises(NeedsPerson, match=r"needs version 7\.0 of vCenter's API"):
            old.act("vm-r", put=(DYNAMIC,))
        assert any("7.0" in line for line in old.lab.dry_run(old.step("vm-r", put=(DYNAMIC,))))


# ---- changing -----------------------------------------------------------------------------------------------------


def backings(bench: Bench, name: str) -> list[object]:
    world = bench.inside.world
    with world.lock:
        devices = world.inventory.vm(name).props["config"].hardware.device
        return [d.backing for d in devices if isinstance(d, PciDevice)]


def test_all_three_modes_in_one_spec(bench: Bench) -> None:
    assert bench.act("vm-r", put=(CARD_1, DYNAMIC, DYNAMIC, HALF)) == Before(0, False)
    assert bench.calls().get("ReconfigVM_Task") == 1
    vm = bench.vm("vm-r")
    assert vm.fixed.keys() == {CARD_1} and vm.counted == {DYNAMIC: 2, HALF: 1} and vm.locked
    keys = [d.key for d in (*vm.fixed.values(), *(d for _, d in vm.unplaced))]
    assert len(set(keys)) == 4 and min(keys) >= 13000
    for backing in backings(bench, "vm-r"):
        if isinstance(backing, PciDevice.DynamicBackingInfo):
            (allowed,) = backing.allowedDevice
            assert (allowed.vendorId, allowed.deviceId, backing.customLabel) == (0x10DE, 0x1EB8, POOL)
            assert backing.assignedId is None and allowed.subVendorId is None
    bench.act("vm-r", take=(DYNAMIC, HALF), put=())
    vm = bench.vm("vm-r")
    assert vm.counted == {DYNAMIC: 1} and vm.locked, "one of two equal ones"
    bench.act("vm-r", take=(CARD_1, DYNAMIC), lock_memory=False, reservation_mb=0)
    assert not bench.vm("vm-r").has_devices and not bench.vm("vm-r").locked


def test_one_comes_as_another_goes(bench: Bench) -> None:
    bench.act("vm-r", put=(HALF,))
    bench.act("vm-r", put=(DYNAMIC,), take=(HALF,))
    assert bench.vm("vm-r").counted == {DYNAMIC: 1}


def test_what_is_there_already_is_not_sent_again(bench: Bench) -> None:
    step = bench.step("vm-r", put=(DYNAMIC, HALF))
    bench.lab.act(step)
    bench.reset()
    assert bench.lab.act(step) is None
    back = bench.step("vm-r", take=(DYNAMIC,))
    bench.lab.act(back)
    bench.reset()
    bench.lab.act(back)
    assert "ReconfigVM_Task" not in bench.calls()
    assert bench.vm("vm-r").counted == {HALF: 1}


def test_devices_that_somebody_else_changed_are_looked_at_again(bench: Bench) -> None:
    step = bench.step("vm-r", put=(DYNAMIC,))
    bench.hands.attach_vgpu("vm-r", "grid_t4-8q")
    bench.reset()
    with pytest.raises(Again, match="changed by somebody else"):
        bench.lab.act(step)
    assert "ReconfigVM_Task" not in bench.calls()
    bench.act("vm-r", put=(DYNAMIC,))
    take = bench.step("vm-r", take=(HALF,))
    bench.hands.detach("vm-r", f"dynamic {T4} {POOL}")
    with pytest.raises(Again, match="changed by somebody else"):
        bench.lab.act(take)


def test_a_fixed_card_is_changed_whatever_else_the_machine_has(bench: Bench) -> None:
    step = bench.step("vm-r", put=(CARD_1,))
    bench.hands.attach_vgpu("vm-r", "grid_t4-8q")
    bench.lab.act(step)
    assert bench.vm("vm-r").fixed.keys() == {CARD_1}


def test_a_compute_vgpu_gets_its_window(bench: Bench) -> None:
    world = bench.inside.world
    with world.lock:
        world.inventory.vm("vm-r").props["config"].extraConfig = []
    bench.act("vm-r", put=(HALF,))
    assert bench.vm("vm-r").mmio_gb == 0
    bench.act("vm-r", take=(HALF,))
    bench.act("vm-r", put=(Vgpu("grid_t4-8c"),))
    assert bench.vm("vm-r").mmio_gb == 64
    bench.act("vm-r", CallKind.POWER_ON)


def test_two_dynamic_cards_get_a_wide_enough_window(bench: Bench) -> None:
    world = bench.inside.world
    with world.lock:
        world.inventory.vm("vm-r").props["config"].extraConfig = []
    bench.act("vm-r", put=(DYNAMIC, DYNAMIC))
    assert bench.vm("vm-r").mmio_gb == 64
    bench.act("vm-r", CallKind.POWER_ON)


# ---- equal devices that are refused together ----------------------------------------------------------------------


class Fussy:
    """The stand-in refuses equal dynamic devices in one spec, and from a given task on every other."""

    def __init__(self, bench: Bench, sour_after: int = 99) -> None:
        self.world, self.tasks, self.sour = bench.inside.world, 0, sour_after
        self.real = self.world.reconfigure
        self.world.reconfigure = self  # type: ignore[method-assign]

    def __call__(self, vm: object, spec: object, user: str) -> None:
        changes = getattr(spec, "deviceChange", None) or ()
        new = [
            c for c in changes if c.operation == "add" and isinstance(c.device.backing, PciDevice.DynamicBackingInfo)
        ]
        self.tasks += bool(new)
        if len(new) > 1 or (new and self.tasks > self.sour):
            fault = Planned("x", "reconfigure", "Invalid configuration for device '1'.", fault="InvalidDeviceSpec")
            raise fault.refusal()
        self.real(vm, spec, user)  # type: ignore[arg-type]


def test_equal_devices_that_are_refused_together_come_one_after_the_other(bench: Bench) -> None:
    Fussy(bench)
    step = bench.step("vm-r", put=(HALF, DYNAMIC, DYNAMIC))
    assert bench.lab.act(step) == Before(0, False)
    assert bench.vm("vm-r").counted == {DYNAMIC: 2, HALF: 1} and bench.vm("vm-r").locked
    bench.reset()
    bench.lab.act(step)
    assert "ReconfigVM_Task" not in bench.calls()


def test_if_one_of_them_is_refused_none_stays(bench: Bench) -> None:
    Fussy(bench, sour_after=2)  # together, the first alone, and no more
    with pytest.raises(NeedsPerson, match="Invalid configuration"):
        bench.act("vm-r", put=(HALF, DYNAMIC, DYNAMIC))
    vm = bench.vm("vm-r")
    assert not vm.has_devices and not vm.locked and vm.reservation_mb == 0


# ---- refused, and what would work ---------------------------------------------------------------------------------


WRONG_WAY = [
    (Vgpu("grid_t4-8q"), ("fixed", "fixed"), "passed through by address"),
    (Vgpu("grid_t4-8q"), ("dynamic", "fixed"), "given by label and passed through by address"),
    (FixedCard(CARD_1), ("vgpu", "fixed"), "ask for one of its parts"),
    (FixedCard(CARD_1), ("dynamic", "fixed"), "given by its label"),
    (DynamicCard(T4, POOL), ("fixed", "vgpu"), "no card labelled t4-pool"),
    (DynamicCard(T4, "elsewhere"), ("dynamic", "fixed"), "no card labelled elsewhere"),
    (DynamicCard("10de:20b5", POOL), ("dynamic", "fixed"), "no card labelled"),
    (Vgpu("nvidia_a40-8q"), ("vgpu", "fixed"), "it offers"),
    (DynamicCard(T4, ""), ("dynamic", "fixed"), "needs its ids and a label"),
    (Vgpu(""), ("vgpu", "fixed"), "needs the name of its profile"),
    (FixedCard("nonsense"), ("fixed", "fixed"), "is no address of a card"),
]


def test_the_wrong_way_is_refused_with_what_would_work() -> None:
    """A vGPU name for a passthrough card and the reverse, each before anything is sent."""
    for modes in dict.fromkeys(modes for _, modes, _ in WRONG_WAY):
        with stand_in(replace(QUICK, hosts=(host(*modes),))) as bench:
            bench.reset()
            for one, _, words in (row for row in WRONG_WAY if row[1] == modes):
                with pytest.raises(NeedsPerson, match=words):
                    bench.act("vm-r", put=(one,))
                told = bench.lab.dry_run(bench.step("vm-r", put=(one,)))
                assert sum(words in line for line in told) == 1 == len(told), (one, told)
            assert "ReconfigVM_Task" not in bench.calls()


def test_a_card_on_another_host_is_refused_with_where_it_would_work() -> None:
    rigs = (
        HostRig("esx-01", (CardRig(CARD_1),), vms=("vm-a",), template=""),
        HostRig("esx-02", (CardRig(CARD_2), CardRig(CARD_3, label=POOL), CardRig(CARD_4, mode="shared")), vms=("vm-b",), template=""),
    )  # fmt: skip
    with stand_in(replace(QUICK, hosts=rigs)) as bench:
        for one in (FixedCard(CARD_2), DYNAMIC, HALF):
            with pytest.raises(NeedsPerson, match="esx-01"):
                bench.act("vm-a", put=(one,))
            (told,) = bench.lab.dry_run(bench.step("vm-a", put=(one,)))
            assert "esx-01" in told and "there is one on esx-02, for machines there" in told
            bench.act("vm-b", put=(one,))
        assert not bench.vm("vm-a").has_devices


def test_equal_addresses_on_two_hosts_are_two_cards() -> None:
    rigs = (HostRig(vms=("vm-a",), template=""), HostRig("esx-02", vms=("vm-b",), template=""))
    with stand_in(replace(QUICK, hosts=rigs)) as bench:
        bench.act("vm-a", put=(CARD_1,))
        assert bench.lab.dry_run(bench.step("vm-b", put=(CARD_1,))) == []
        bench.act("vm-b", put=(CARD_1,))
        ids = {n: bench.vm(n).fixed[CARD_1].backing.systemId for n in ("vm-a", "vm-b")}
        assert len(set(ids.values())) == 2, "each with its own host's ids"
        for name in ids:
            bench.act(name, CallKind.POWER_ON)


def test_a_machine_of_an_old_hardware_version_gets_no_dynamic_card() -> None:
    with stand_in(replace(QUICK, hosts=(host("dynamic", "vgpu", hardware="vmx-15"),))) as bench:
        with pytest.raises(NeedsPerson, match="needs vmx-17; upgrade it while it is off"):
            bench.act("vm-r", put=(DYNAMIC,))
        assert ["vmx-17" in line for line in bench.lab.dry_run(bench.step("vm-r", put=(DYNAMIC,)))] == [True]
        bench.act("vm-r", put=(HALF,))


def test_several_parts_in_one_machine_need_a_newer_hardware_version(bench: Bench) -> None:
    bench.act("vm-r", put=(HALF,))
    for put in ((HALF,), (Vgpu("grid_t4-4q"),)):
        with pytest.raises(NeedsPerson, match=r"would have 2 vGPUs.*vmx-20"):
            bench.act("vm-r", put=put)
        assert ["vmx-20" in line for line in bench.lab.dry_run(bench.step("vm-r", put=put))] == [True]


# ---- power-on -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["InsufficientGraphicsResourcesFault", "GenericVmConfigFault"])
@pytest.mark.parametrize("cluster", [False, True])
def test_no_room_for_a_vgpu_is_told_and_blames_no_card(fault: str, cluster: bool) -> None:
    with stand_in(replace(MIXED, vgpu_fault=fault, cluster_faults=cluster)) as bench:
        bench.act("vm-python", put=(WHOLE,))
        bench.act("vm-python", CallKind.POWER_ON)
        bench.act("vm-r", put=(HALF,))
        with pytest.raises(NeedsPerson, match="cut into another size until its last part is given back") as met:
            bench.act("vm-r", CallKind.POWER_ON)
        assert met.value.card == "" and "vm-r" in str(met.value)
        bench.act("vm-python", CallKind.HARD_STOP)
        bench.act("vm-r", CallKind.POWER_ON)


@pytest.mark.parametrize("cluster", [False, True])
def test_no_free_card_with_the_label_is_told_and_blames_no_card(cluster: bool) -> None:
    with stand_in(replace(MIXED, cluster_faults=cluster)) as bench:
        bench.act("vm-python", put=(DYNAMIC, DYNAMIC))
        bench.act("vm-r", put=(DYNAMIC,))
        bench.act("vm-python", CallKind.POWER_ON)
        with pytest.raises(NeedsPerson, match="no card with its label is free now") as met:
            bench.act("vm-r", CallKind.POWER_ON)
        assert met.value.card == ""


def test_a_text_that_names_a_card_blames_it_also_if_the_settings_name_none(bench: Bench) -> None:
    bench.act("vm-r", put=(DYNAMIC,))
    bench.inside.world.refusals.append(Planned("vm-r", "power on", "PCIPassthru 094:00.0: device reset failed."))
    with pytest.raises(NeedsPerson, match=r"because of card 0000:5e:00\.0.*94:00\.0 is 0000:5e:00\.0") as met:
        bench.act("vm-r", CallKind.POWER_ON)
    assert met.value.card == CARD_2


def test_cards_at_new_addresses_are_told(bench: Bench) -> None:
    """Somebody put hardware into the host: the settings name an address at which no card is any more."""
    bench.act("vm-r", put=(CARD_1,))
    bench.hands.host(renumber=True)
    with pytest.raises(NeedsPerson, match=r"has none there any more; its cards are at 0000:3c:00\.0") as met:
        bench.act("vm-r", CallKind.POWER_ON)
    assert met.value.card == CARD_1
    assert bench.seen("vm-r").cards == (CARD_1,), "what its settings say is still seen"
    with pytest.raises(NeedsPerson, match="has no card 0000:3b"):
        bench.act("vm-python", put=(CARD_1,))
    bench.act("vm-r", take=(CARD_1,))
    bench.act("vm-r", put=("0000:3c:00.0",))
    bench.act("vm-r", CallKind.POWER_ON)


# ---- the dry run --------------------------------------------------------------------------------------------------


def test_all_that_stands_in_the_way_of_each_mode_is_told_at_once() -> None:
    """Host, firmware, hardware version, memory, the profile, its series, the label, the guest, privileges: in one list."""
    rigs = (host("fixed", "vgpu", hardware="vmx-11"), HostRig("esx-02", (CardRig(CARD_1),), vms=("vm-b",), template=""))
    with stand_in(replace(QUICK, hosts=rigs)) as bench:
        world = bench.inside.world
        bench.hands.power("vm-r", "on")
        until(lambda: bench.seen("vm-r").tools)
        with world.lock:
            config = world.inventory.vm("vm-r").props["config"]
            config.firmware, config.hardware.memoryMB, config.cpuHotAddEnabled = "bios", 500 * 1024, True
            config.extraConfig = []
            world.inventory.vm("vm-r").props["guest"].toolsRunningStatus = "guestToolsNotRunning"
        bench.hands.question("vm-r", "Which one?")
        bench.hands.host(maintenance=True)
        puts = (CARD_1, CARD_4, DYNAMIC, Vgpu("grid_t4-2b"), Vgpu("nvidia_a40-8q"))
        found = bench.lab.dry_run(bench.step("vm-r", put=puts))
        for words in ("Which one?", "maintenance", "Tools", "EFI", "vmx-13", "vmx-17", "500 GB", f"no card {CARD_4}",
                      "cannot compute", "no vGPU nvidia_a40-8q", "vmx-20"):  # fmt: skip
            assert sum(words in line for line in found) == 1, (words, found)
        assert len(found) == 11
        assert all(line[-1] not in ".;" and "Info" not in line for line in found)
        bench.hands.snapshot("vm-python")
        steps = {one.machine: one for one in (bench.step("vm-r", put=puts), bench.step("vm-python"))}
        (r, python), site = steps, bench.step("vm-r").vcenter
        surveyed = bench.lab.survey(site, steps)
        assert list(surveyed[r][0]) == found  # the same for all machines at once
        assert any("CPUs can be added" in line for line in surveyed[r][1])
        assert any("snapshots" in line for line in surveyed[python][1])


def test_a_profile_for_desktops_is_taken_if_the_site_names_it(bench: Bench) -> None:
    step = bench.step("vm-r", put=(Vgpu("grid_t4-2b"),))
    assert len(bench.lab.dry_run(step)) == 1
    lab = VSphereLab([bench.vcenter], Clock(), profiles=["grid_t4-2b"])
    assert lab.dry_run(step) == []
    lab.close()


def test_an_assignment_is_exactly_one_of_three() -> None:
    """By type: what names a card, what allows one, and what is a part cannot be mixed up in one value."""
    assert {type(one).__name__ for one in (FixedCard("a"), DynamicCard("b", "c"), Vgpu("d"))} == {
        "FixedCard",
        "DynamicCard",
        "Vgpu",
    }
    assert not {*FixedCard.__match_args__} & {*DynamicCard.__match_args__} & {*Vgpu.__match_args__}


def test_a_vgpu_of_a_card_that_waits_to_be_asked_is_seen_until_it_is_gone(bench: Bench) -> None:
    bench.act("vm-r", put=(HALF,))
    bench.act("vm-r", CallKind.POWER_ON)
    bench.act("vm-r", CallKind.HARD_STOP)
    until(lambda: the_host(bench).sharing[CARD_4] == ())
    bench.act("vm-r", take=(HALF,), lock_memory=False, reservation_mb=0)
    assert bench.seen("vm-r").unplaced == ()
