"""Dynamic DirectPath I/O and vGPU on the stand-in, in process: what is offered, what is refused, where devices go at power-on."""

from __future__ import annotations

import pytest
from pyVmomi import vim

from bot.domain.vgpu import computes, count
from bot.local.vcenter.devices import cards_of, dynamic_device, vgpu_device
from bot.local.vcenter.models import MODELS
from bot.local.vcenter.placement import mixed_slot
from bot.local.vcenter.vmomi import Refusal
from tests.local.vcenter_bench import T4, Bench, cards, host, pci

POOL = host("direct", "direct", label="t4-pool")

# -- dynamic ------------------------------------------------------------------


def test_a_host_tells_labels_and_kinds_of_cards() -> None:
    bench = Bench(host(cards=(*cards("direct", "direct", label="t4-pool"), *cards("none", "none", "direct")[2:])))
    labels = {i.id: i.hardwareLabel for i in bench.config().pciPassthruInfo if i.passthruActive}
    assert labels == {pci(1): "t4-pool", pci(2): "t4-pool", pci(3): None}
    told = bench.config().assignableHardwareConfig.attributeOverride
    assert [(pci(n) in a.instanceId, a.name, a.value) for n, a in zip((1, 2), told, strict=True)] == [
        (True, "hardwareLabel", "t4-pool")
    ] * 2
    kinds = bench.target().dynamicPassthrough
    assert [(k.vendorId, k.deviceId, k.customLabel) for k in kinds] == [(*T4, "t4-pool"), (*T4, None)]


@pytest.mark.parametrize(
    ("rig", "settings", "why"),
    [
        (host("direct", hardware="vmx-15"), {}, "hardware version 17"),
        (host("direct"), {"api_version": "6.7"}, "not supported by this release"),
        (host("direct"), {"dynamic": False}, "not supported by this release"),
    ],
)
def test_dynamic_devices_need_hardware_17_and_a_release_that_knows_them(rig: object, settings: dict, why: str) -> None:  # type: ignore[type-arg]
    bench = Bench(rig, **settings)  # type: ignore[arg-type]
    with pytest.raises(Refusal, match=why) as met:
        bench.dynamic("a", "")
    assert isinstance(met.value.fault, vim.fault.InvalidDeviceBacking)
    assert len(bench.target().dynamicPassthrough) == (not settings)


def test_a_free_matching_card_is_chosen_at_power_on_and_forgotten_at_power_off() -> None:
    bench = Bench(POOL)
    bench.dynamic("a", "t4-pool")
    bench.give("b", bench.fixed("b", 1))
    assert bench.assigned("a") == [None]
    bench.on("b", "a")
    assert bench.assigned("a") == [pci(2)]
    bindings = bench.config().assignableHardwareBinding
    assert {b.instanceId: b.vm._moId for b in bindings} == {
        f"pciPassthru/{pci(1)}": bench.vm("b").moid,
        f"pciPassthru/{pci(2)}": bench.vm("a").moid,
    }
    bench.off("a")
    assert bench.assigned("a") == [None] and len(bench.config().assignableHardwareBinding) == 1


def test_what_a_client_says_of_the_assigned_card_is_not_believed() -> None:
    bench, device = Bench(POOL), dynamic_device(*T4, "t4-pool")
    device.backing.assignedId = pci(2)
    bench.give("a", device)
    assert bench.assigned("a") == [None]


def test_no_matching_card_is_told_apart_from_none_that_is_free() -> None:
    bench = Bench(host("direct", label="t4-pool"))
    for name, label in (("a", "t4-pool"), ("b", "t4-pool"), ("c", "other")):
        bench.dynamic(name, label)
    bench.dynamic("d", "", ids=(0x10DE, 0x2235))
    bench.on("a")
    fault = bench.refused("b", match="'t4-pool' is free on this host").fault
    assert isinstance(fault, vim.fault.GenericVmConfigFault) and len(fault.faultMessage) == 3
    bench.refused("c", match="'other' on this host")
    bench.refused("d", match="No matching card on this host")
    bench.off("a")
    bench.on("b")


def test_without_a_label_any_card_of_the_kind_will_do_and_choices_make_room_for_one_another() -> None:
    mixed = (*cards("direct", label="x"), *cards("none", "direct")[1:])
    bench = Bench(host(cards=mixed))
    bench.dynamic("a", "", "x")  # the first could take either card, the second only one
    bench.on("a")
    assert bench.assigned("a") == [pci(2), pci(1)]


def test_a_machine_may_mix_a_fixed_card_and_dynamic_ones() -> None:
    bench = Bench(host("direct", "direct", "direct", label="x"))
    bench.give("a", bench.fixed("a", 1), dynamic_device(*T4, "x"), dynamic_device(*T4, "x"))
    bench.on("a")
    assert bench.assigned("a") == [pci(2), pci(3)]
    assert bench.world.guest_of(bench.vm("a")).hardware == [pci(1), pci(2), pci(3)]


@pytest.mark.parametrize("choice", ["first", "last", "any"])
def test_which_card_it_is_can_be_set(choice: str) -> None:
    def run() -> list[str | None]:
        bench = Bench(host("direct", "direct", "direct", "direct"), placement=choice, seed=5)
        bench.dynamic("a", "")
        bench.on("a")
        return bench.assigned("a")

    first = run()
    assert first == run()
    assert choice == "any" or first == [pci({"first": 1, "last": 4}[choice])]


# -- vGPU: what is offered ------------------------------------------------------


def test_a_shared_card_offers_its_profiles_and_a_card_in_passthrough_none() -> None:
    bench = Bench(host("shared", "direct"), host("direct", name="esx-02", vms="x"))
    names = bench.config().sharedPassthruGpuTypes
    assert "grid_t4-8q" in names and "grid_t4-1b" in names and "grid_t4-16a" in names
    assert [c.vgpu for c in bench.config().sharedGpuCapabilities] == names
    assert [g.graphicsType for g in bench.config().graphicsInfo] == ["sharedDirect", "direct"]
    assert bench.config().graphicsInfo[0].vgpuMode == "sameSize"
    assert [p.pciDevice.id for p in bench.target().pciPassthrough] == [pci(2)]
    assert [p.vgpu for p in bench.target().sharedGpuPassthroughTypes] == names
    profile = next(p for p in bench.target().vgpuProfileInfo if p.name == "grid_t4-8q")
    assert (profile.fbSizeInGib, profile.profileSharing, profile.profileClass) == (8, "timeSliced", "quadro")
    assert profile.deviceVendorId == 0x1EB810DE
    assert [(d.maxFbSizeInGib, d.migCapable) for d in bench.target().vgpuDeviceInfo] == [(16, False)]
    assert bench.config(1).sharedPassthruGpuTypes == [] and bench.target(1).vgpuProfileInfo == []
    with pytest.raises(Refusal, match="not in the allowed list"):
        bench.vgpus("x", "grid_t4-8q")
    with pytest.raises(Refusal, match="not an available passthrough device"):
        bench.give("a", bench.fixed("a", 1))


@pytest.mark.parametrize(
    ("model", "profile", "count"),
    [
        ("T4", "grid_t4-1q", 16), ("T4", "grid_t4-4q", 4), ("T4", "grid_t4-8q", 2), ("T4", "grid_t4-16q", 1), ("T4", "grid_t4-4c", 4),
        ("A40", "nvidia_a40-1q", 32), ("A40", "nvidia_a40-2q", 24), ("A40", "nvidia_a40-8c", 6), ("A40", "nvidia_a40-1b", 32),
        ("A100", "grid_a100-4c", 10), ("A100", "grid_a100-5c", 8), ("A100", "grid_a100-40c", 1),
        ("A100D", "grid_a100d-16c", 5), ("H100", "nvidia_h100-5c", 16),
    ],
)  # fmt: skip
def test_a_card_holds_as_many_as_the_table_says_never_total_by_size(model: str, profile: str, count: int) -> None:
    names = [f"m{n}" for n in range(count + 1)]
    bench = Bench(host("shared", model=model, vms=" ".join(names)), host_memory_mb=1 << 23)
    for name in names:
        bench.vgpus(name, profile)
    bench.on(*names[:-1])
    fault = bench.refused(names[-1], match=f"vGPU '{profile}'").fault
    assert isinstance(fault, vim.fault.InsufficientGraphicsResourcesFault) and len(fault.faultMessage) == 4


def test_the_bot_counts_parts_as_the_hosts_do() -> None:
    """Two tables of one source, written apart: a mistake in one shows."""
    ours = {p.name: p for m in MODELS.values() for p in m.profiles}
    assert {n: p.count for n, p in ours.items() if p.compute} == {n: count(n, {}) for n, p in ours.items() if p.compute}
    assert all(computes(n) is p.compute for n, p in ours.items())


def test_the_refusal_may_be_a_plain_fault_or_that_of_a_cluster() -> None:
    for setting, kind in (
        ({"vgpu_fault": "GenericVmConfigFault"}, vim.fault.GenericVmConfigFault),
        ({"cluster_faults": True}, vim.fault.NoCompatibleHost),
    ):
        bench = Bench(host("shared"), **setting)  # type: ignore[arg-type]
        bench.vgpus("a", "grid_t4-16q")
        bench.vgpus("b", "grid_t4-1q")
        bench.on("a")
        fault = bench.refused("b", match="grid_t4-1q|No host is compatible").fault
        assert isinstance(fault, kind)
    assert isinstance(fault.error[0], vim.fault.InsufficientGraphicsResourcesFault)


# -- vGPU: where it sits -----------------------------------------------------------


def test_the_first_on_a_card_fixes_its_size_until_it_is_empty() -> None:
    bench = Bench(host("shared"))
    bench.vgpus("a", "grid_t4-4q")
    bench.vgpus("b", "grid_t4-4c")
    bench.vgpus("c", "grid_t4-8q")
    bench.on("a", "b")  # another series of the same size
    bench.refused("c", match="grid_t4-8q")
    bench.off("a")
    bench.refused("c", match="grid_t4-8q")
    bench.off("b")
    bench.on("c")


def test_spread_blocks_whole_cards_and_consolidation_fills_card_by_card() -> None:
    where = {}
    for policy in ("performance", "consolidation"):
        bench = Bench(host("shared", "shared", "shared", policy=policy, vms="a b c d"))
        for name in "abc":
            bench.vgpus(name, "grid_t4-4q")
        bench.vgpus("d", "grid_t4-16q")
        bench.on("a", "b", "c")
        where[policy] = [bench.on_cards(n) for n in "abc"]
        if policy == "performance":
            bench.refused("d", match="grid_t4-16q")
        else:
            bench.on("d")
    assert where == {"performance": [[1], [2], [3]], "consolidation": [[1], [1], [1]]}


def test_nothing_is_reserved_while_off_and_first_come_is_first_served() -> None:
    bench = Bench(host("shared"))
    bench.vgpus("a", "grid_t4-16q")
    bench.vgpus("b", "grid_t4-16q")
    bench.on("a")
    bench.off("a")
    bench.on("b")
    bench.refused("a", match="grid_t4-16q")


def test_a_card_tells_who_is_on_it_once_a_part_or_once_a_machine() -> None:
    for once, expected in ((False, 2), (True, 1)):
        bench = Bench(host("shared"), parts_listed_once=once)
        bench.vgpus("a", "grid_t4-8q", "grid_t4-8q")
        bench.on("a")
        assert [v._moId for v in bench.config().graphicsInfo[0].vm] == [bench.vm("a").moid] * expected
        bench.off("a")
        assert bench.config().graphicsInfo[0].vm == []


def test_mixed_sizes_take_aligned_places_and_fragment() -> None:
    assert 64 // mixed_slot(48, 8) == 4 and 64 // mixed_slot(80, 4) == 16 and 64 // mixed_slot(40, 20) == 2
    bench = Bench(host("shared", model="A40", vgpu="mixedSize", vms="a b c d e"))
    for name, profile in zip("abcde", ("4c", "16c", "8c", "24c", "8c"), strict=True):
        bench.vgpus(name, f"nvidia_a40-{profile}")
    bench.on("a", "b", "c")
    bench.refused("d", match="24c")  # 20 GB are free, and no half of the card
    bench.off("a", "c")
    bench.on("d")
    bench.refused("e", match="8c")
    with pytest.raises(ValueError, match="T4 cannot be mixedSize"):
        Bench(host("shared", vgpu="mixedSize"))


def test_mig_instances_take_slices() -> None:
    bench = Bench(host("shared", model="A100", vgpu="multiInstanceGpu", vms="a b c d e f"))
    assert all(n.count("-") == 2 for n in bench.config().sharedPassthruGpuTypes)
    assert {p.profileSharing for p in bench.target().vgpuProfileInfo} == {"mig"}
    for name, profile in zip("abcdef", ("3-20c", "2-10c", "1-5c", "1-5cme", "1-5c", "4-20c"), strict=True):
        bench.vgpus(name, f"grid_a100-{profile}")
    bench.on("a", "b", "c")
    bench.refused("e", match="1-5c")  # one slice of memory is left, where none of that size begins
    bench.off("b", "c")
    bench.refused("f", match="4-20c")  # half the card is free, but it begins where the first machine sits
    bench.off("a")
    bench.on("f", "c", "d", "e")  # all seven that compute
    bench.refused("b", match="2-10c")


@pytest.mark.parametrize(
    ("profile", "count"), [("1-5c", 7), ("1-5cme", 1), ("1-10c", 4), ("2-10c", 3), ("3-20c", 2), ("7-40c", 1)]
)
def test_mig_counts(profile: str, count: int) -> None:
    names = [f"m{n}" for n in range(count + 1)]
    bench = Bench(host("shared", model="A100", vgpu="multiInstanceGpu", vms=" ".join(names)))
    for name in names:
        bench.vgpus(name, f"grid_a100-{profile}")
    bench.on(*names[:-1])
    bench.refused(names[-1], match=profile)


# -- several ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hardware", "profiles", "why"),
    [
        ("vmx-14", ("grid_t4-16q",) * 2, "hardware version 15"),
        ("vmx-19", ("grid_t4-8q",) * 2, "hardware version 20"),
        ("vmx-19", ("grid_t4-16q",) * 2, ""),
        ("vmx-21", ("grid_t4-8q",) * 2, ""),
        ("vmx-21", ("grid_t4-2b", "grid_t4-8q"), "Q and C series"),
        ("vmx-19", ("grid_t4-16q",) * 5, "More than 4"),
        ("vmx-21", ("grid_t4-1q",) * 9, "More than 8"),
    ],
)
def test_several_vgpus_as_the_rules_allow(hardware: str, profiles: tuple[str, ...], why: str) -> None:
    bench = Bench(host("shared", "shared", hardware=hardware))
    if why:
        with pytest.raises(Refusal, match=why):
            bench.vgpus("a", *profiles)
        assert bench.words("a") == []
    else:
        bench.vgpus("a", *profiles)
        bench.on("a")
        assert bench.on_cards("a") == [1, 2]


def test_keys_are_given_by_the_server_used_again_and_removed_by_their_type() -> None:
    bench = Bench(host("shared", "direct"))
    bench.give("a", vgpu_device("grid_t4-8q"), bench.fixed("a", 2), dynamic_device(*T4))
    there = cards_of(bench.vm("a"))
    assert [(d.key, d.controllerKey, d.unitNumber) for d in there] == [(13000 + n, 100, 18 + n) for n in range(3)]
    wrong = vgpu_device("grid_t4-8q", there[1].key)
    for device in (wrong, vgpu_device("grid_t4-8q", 13999)):
        with pytest.raises(Refusal, match=r"another type|no device with key"):
            bench.take("a", device)
    bench.take("a", there[0])
    bench.give("a", vgpu_device("grid_t4-4q"))
    assert [(d.key, d.unitNumber) for d in cards_of(bench.vm("a"))] == [(13001, 19), (13002, 20), (13000, 18)]


def test_a_machine_has_sixteen_devices_at_most() -> None:
    bench = Bench(host("direct"))
    bench.dynamic("a", *[""] * 16)
    with pytest.raises(Refusal, match="More than 16"):
        bench.dynamic("a", "")


def test_memory_must_be_reserved_for_each_kind_of_device_and_big_cards_need_a_window() -> None:
    for kind in ("dynamic", "vgpu"):
        bench = Bench(host("shared", "direct"))
        device = dynamic_device(*T4) if kind == "dynamic" else vgpu_device("grid_t4-8q")
        bench.give("a", device, memoryReservationLockedToMax=None)
        bench.refused("a", match="memory reservation")
    bench = Bench(host("direct", "direct", "direct", "direct", model="A40"))
    bench.dynamic("a", *[""] * 2, ids=(0x10DE, 0x2235))
    bench.refused("a", match="need 256 GB of MMIO, 128 GB")
    bench = Bench(host("shared"))
    bench.vgpus("a", "grid_t4-8q")
    bench.vgpus("b", "grid_t4-8c")
    for name in "ab":
        bench.hands.edit(name, firmware="bios")
    bench.on("a")  # a workstation vGPU asks for no window
    bench.refused("b", match="BIOS guest")


def test_suspend_is_refused_with_passthrough_and_goes_by_profile_with_vgpu() -> None:
    bench = Bench(
        host("shared", "direct"), host("shared", name="esx-02", model="A100", vgpu="multiInstanceGpu", vms="x")
    )
    bench.give("a", bench.fixed("a", 2))
    bench.vgpus("b", "grid_t4-16q")
    bench.vgpus("c", "grid_t4-16q")
    bench.vgpus("x", "grid_a100-3-20c")
    bench.on("a", "b", "x")
    for name in ("a", "x"):
        with pytest.raises(Refusal, match="does not support suspend"):
            bench.hands.power(name, "sleep")
    bench.hands.power("b", "sleep")
    bench.on("c")  # its place was free meanwhile
    bench.refused("b", match="grid_t4-16q")


def test_a_clone_gets_the_devices_and_no_card_that_was_assigned() -> None:
    bench = Bench(host("shared", "direct", template="image"))
    bench.vgpus("a", "grid_t4-8q")
    bench.dynamic("a", "")
    bench.on("a")
    bench.hands.clone("a", "copy")
    assert bench.words("copy") == bench.words("a") == ["vgpu grid_t4-8q", "dynamic 10de:1eb8"]
    assert bench.assigned("copy") == [None] and bench.assigned("a") == [pci(2)]
    bench.hands.attach_vgpu("b", "grid_t4-8q")
    bench.hands.template("b", True)
    bench.hands.clone("b", "second")
    assert bench.words("second") == ["vgpu grid_t4-8q"]
