"""Foreign hands on the stand-in: at random by a seed, and what must hold whatever they do; guests that publish of themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.local.guests.reading import reading_of
from bot.local.vcenter.chaos import WEIGHTS, Chaos
from bot.local.vcenter.devices import of_kind
from bot.local.vcenter.metal import Part
from bot.local.vcenter.settings import ADMIN_USER, BOT_USER
from bot.local.vcenter.sound import impossible, in_two, named_twice
from tests.local.vcenter_bench import Bench, host, pci

SITE = (
    host("direct", "direct", "direct", label="t4-pool", template="image"),
    host("shared", "shared", "direct", name="esx-02", vms="x y z"),
    host("shared", "shared", name="esx-03", model="A100", vgpu="multiInstanceGpu", vms="m n o", policy="consolidation"),
)


def story(seed: int, acts: int, **settings: Any) -> Bench:
    bench = Bench(*SITE, seed=seed, placement="any", **settings)
    bench.dynamic("a", "t4-pool")
    bench.vgpus("x", "grid_t4-8q", "grid_t4-8q")
    bench.vgpus("m", "grid_a100-3-20c")
    chaos = Chaos(bench.hands, seed, {**WEIGHTS, "power on": 12, "attach": 6, "detach": 3, "answer": 4})
    for _ in range(acts):
        chaos.act()
        bench.go(30)
        assert impossible(bench.world) == []
    chaos.calm()
    return bench


@pytest.mark.parametrize("seed", range(12))
def test_whatever_foreign_hands_do_the_world_stays_possible(seed: int) -> None:
    bench = story(seed, 60, release_lag_s=45.0 if seed % 3 == 0 else 0.0)
    lines = bench.world.journal.since()
    assert in_two(lines) == []
    assert len({line["verb"] for line in lines}) > 8, "hardly anything was done"


def test_the_same_seed_does_the_same() -> None:
    def lines(seed: int) -> list[dict[str, Any]]:
        return [{k: v for k, v in e.items() if k != "real"} for e in story(seed, 40).world.journal.since()]

    assert lines(3) == lines(3) != lines(4)


def test_acts_may_be_chosen_and_come_by_time_until_they_are_stopped() -> None:
    bench = Bench(*SITE)
    chaos = Chaos(bench.hands, 1, {"edit": 1}, vms=("a", "x"))
    chaos.every(60)
    bench.go(601)
    chaos.stop()
    bench.go(601)
    edits = [e["vm"] for e in bench.world.journal.since()]
    assert len(edits) == 10 and set(edits) == {"a", "x"}
    with pytest.raises(ValueError, match="no act dance"):
        Chaos(bench.hands, 1, {"dance": 1})
    with pytest.raises(ValueError, match="more than 0"):
        chaos.every(0)


def test_calm_undoes_what_lies_about() -> None:
    bench = Bench(*SITE)
    bench.hands.question("a", "moved or copied?")
    bench.hands.inaccessible("b", True)
    bench.hands.orphan("c", True)
    bench.hands.host("esx-02", maintenance=True, connection="notResponding")
    Chaos(bench.hands).calm()
    bench.on("a", "b", "c", "x")


# -- the judges see what they are there for ------------------------------------------


def test_what_cannot_be_is_seen() -> None:
    bench = Bench(*SITE)
    bench.vgpus("x", "grid_t4-8q")
    bench.dynamic("a", "")
    bench.on("x", "a")
    metals = list(bench.world.metals.values())
    a, x = (bench.vm(n).moid for n in "ax")
    small = next(p for p in metals[1].profiles() if p.name == "grid_t4-1q")

    def also(change: Any, undo: Any) -> list[str]:
        change()
        found = impossible(bench.world)
        undo()
        assert impossible(bench.world) == []
        return found

    b = bench.vm("b").moid
    assert any(
        "is off and has" in t for t in also(lambda: metals[0].bound.update({pci(2): b}), lambda: metals[0].free(b))
    )
    assert any(
        "gone" in t for t in also(lambda: metals[0].bound.update({pci(2): "vm-0"}), lambda: metals[0].free("vm-0"))
    )
    parts = metals[1].parts[pci(1)]
    assert any("two sizes" in t for t in also(lambda: parts.append(Part(x, 1, small)), parts.pop))
    card = metals[1].cards[0]
    assert any(
        "not shared" in t for t in also(lambda: setattr(card, "active", True), lambda: setattr(card, "active", False))
    )
    device = of_kind(bench.vm("a"), "dynamic")[0].backing
    was = device.assignedId
    found = also(lambda: setattr(device, "assignedId", None), lambda: setattr(device, "assignedId", was))
    assert len(found) == 1 and "its dynamic device says None" in found[0]
    assert any(
        "settings say 1" in t for t in also(lambda: metals[0].bound.clear(), lambda: metals[0].bound.update({was: a}))
    )


def test_a_card_in_two_running_machines_is_seen_in_the_journal() -> None:
    def on(vm: str, host: str = "esx-01") -> dict[str, Any]:
        return {"verb": "power on", "uuid": vm, "user": "x", "details": {"cards": [pci(1), "p@x#1"], "host": host}}

    off = {"verb": "power off", "uuid": "a", "user": "x", "details": {}}
    assert in_two([on("a"), on("b", "esx-02"), off, on("b")]) == []
    assert in_two([on("a"), on("b")]) == [on("b")]


def test_a_card_that_another_machine_names_is_seen_when_we_add_it() -> None:
    bench = Bench(*SITE)
    bench.give("a", bench.fixed("a", 1))
    bench.hands.attach("b", pci(1))
    assert named_twice(bench.world.journal.since(), BOT_USER) == []
    assert [e["vm"] for e in named_twice(bench.world.journal.since(), ADMIN_USER)] == ["b"]
    bench.give("x", bench.fixed("x", 3))
    bench.give("c", bench.fixed("c", 3))  # the same address on another host
    assert named_twice(bench.world.journal.since(), BOT_USER) == []
    bench.give("d", bench.fixed("d", 1))
    assert [e["vm"] for e in named_twice(bench.world.journal.since(), BOT_USER)] == ["d"]


def test_the_journal_tells_what_a_machine_had_before_and_has_after() -> None:
    bench = Bench(*SITE)
    bench.vgpus("x", "grid_t4-8q")
    bench.hands.attach_dynamic("x", "t4-pool", user=ADMIN_USER)
    bench.hands.detach("x", "vgpu grid_t4-8q")
    told = [e["details"] for e in bench.world.journal.since() if e["verb"] == "devices"]
    dynamic = "dynamic 10de:1eb8 t4-pool"
    assert [(t["before"], t["after"]) for t in told] == [
        ([], ["vgpu grid_t4-8q"]),
        (["vgpu grid_t4-8q"], ["vgpu grid_t4-8q", dynamic]),
        (["vgpu grid_t4-8q", dynamic], [dynamic]),
    ]
    assert {t["host"] for t in told} == {"esx-02"}


# -- guests ------------------------------------------------------------------------------


def told(bench: Bench, name: str) -> list[dict[str, Any]]:
    """The cards of a reading of a running guest."""
    guest = bench.world.guest_of(bench.vm(name))
    cards: list[dict[str, Any]] = reading_of(guest._inside(bench.clock.unix(), None))["cards"]
    return cards


def test_a_guest_sees_its_vgpus_as_slices_that_are_licensed_for_a_while() -> None:
    bench = Bench(*SITE)
    bench.vgpus("x", "grid_t4-8q", "grid_t4-8q")
    bench.give("x", bench.fixed("x", 3))
    bench.vgpus("m", "grid_a100-3-20c")
    bench.world.guest_of(bench.vm("x")).condition("licence runs out", True)
    bench.on("x", "m")
    bench.go(60)
    cards = told(bench, "x")
    assert [(c["virtual"], c["name"], c["licence"]) for c in cards] == [
        ("vgpu", "GRID T4-8Q", "licensed"),
        ("vgpu", "GRID T4-8Q", "licensed"),
        ("passthrough", "Tesla T4", None),
    ]
    assert [c["mem_total_mb"] for c in cards] == [8192, 8192, 15360] and len({c["uuid"] for c in cards}) == 3
    assert [(c["name"], c["mem_total_mb"]) for c in told(bench, "m")] == [("GRID A100-3-20C", 20480)]
    bench.go(600)
    assert [c["licence"] for c in told(bench, "x")] == ["unlicensed", "unlicensed", None]
    bench.off("x")
    bench.on("x")
    bench.go(60)
    assert told(bench, "x")[0]["licence"] == "licensed", "until the next time"


def test_what_is_wrong_with_a_card_is_seen_in_its_slices_and_not_on_another_host() -> None:
    bench = Bench(*SITE)
    bench.vgpus("x", "grid_t4-8q")
    bench.give("a", bench.fixed("a", 1))
    bench.on("x", "a")
    bench.go(60)
    bench.hands.card(pci(1), "esx-02", fault="xid 79")
    assert (told(bench, "x")[0]["xid"], told(bench, "a")[0]["xid"]) == (79, None)


def test_a_guest_may_cancel_a_shutdown() -> None:
    bench = Bench(*SITE)
    bench.world.guest_of(bench.vm("a")).configure(vetoes=True)
    bench.on("a")
    bench.go(60)
    bench.world.shutdown_guest(bench.vm("a"), BOT_USER)
    bench.go(3600)
    assert bench.vm("a").props["runtime"].powerState == "poweredOn"
    assert bench.world.guest_of(bench.vm("a")).log[-1]["text"] == "the shutdown was cancelled by a session"


def info(bench: Bench, name: str) -> str:
    """What a machine's settings say of guestinfo; "": nothing."""
    extra = {o.key: str(o.value) for o in bench.vm(name).props["config"].extraConfig}
    return extra.get("guestinfo.gpubot", "")


def booted_twice(how: str) -> Bench:
    bench = Bench(*SITE)
    bench.world.guest_of(bench.vm("a")).configure(guestinfo=how)
    bench.give("a", bench.fixed("a", 1))
    for _ in range(2):
        bench.on("a")
        bench.go(300)
        bench.off("a")
    bench.on("a")
    bench.go(300)
    return bench


@pytest.mark.parametrize("how", ["fresh", "late", "stale", "oversized", "forged"])
def test_guestinfo_is_true_or_of_before_or_too_long_or_a_lie(how: str) -> None:
    bench = booted_twice(how)
    said = json.loads(info(bench, "a"))
    assert (said["boot_id"] == bench.world.guest_of(bench.vm("a")).boot_id) is (how != "stale")
    assert said["cards"] == (4 if how == "forged" else 1)
    assert (len(info(bench, "a")) > 65536) is (how == "oversized")
    bench.off("a")
    assert info(bench, "a") != "", "it survives a power-off, like any line of the settings"
    bench.hands.guestinfo("a", "gpubot", "")
    assert info(bench, "a") == ""


def test_guestinfo_may_be_cut_off_or_not_there() -> None:
    assert info(booted_twice("none"), "a") == ""
    with pytest.raises(json.JSONDecodeError):
        json.loads(info(booted_twice("malformed"), "a"))


def test_a_late_guestinfo_is_late() -> None:
    bench = Bench(*SITE)
    bench.world.guest_of(bench.vm("a")).configure(guestinfo="late")
    bench.on("a")
    bench.go(200)
    assert info(bench, "a") == ""
    bench.go(100)
    assert info(bench, "a") != ""
