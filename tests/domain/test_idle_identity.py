"""Which card of the books a guest's device is, how a card came from its last holder, what cannot be seen, and what guests say of the end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain import leases
from bot.domain.inside import Check, Device
from bot.domain.model import LeaseState, Power, Reading
from bot.domain.news import ADMINS, NewsKind
from bot.domain.policy import Policy
from tests.domain.idle_builders import MIN, NUDGING
from tests.domain.test_idle_taking import contended_world, run
from tests.domain.world import World, device

H = timedelta(hours=1)


class Told(World):
    """A world whose guests may say of a device, or of themselves, what a test says."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.fields: dict[str, dict[str, Any]] = {}  # PCI address -> fields of the device
        self.words: dict[str, dict[str, Any]] = {}  # machine -> fields of the reading
        super().__init__(*args, **kwargs)

    def devices(self, vm: Any) -> tuple[Device, ...]:
        return tuple(replace(d, **self.fields.get(d.pci, {})) for d in super().devices(vm))

    def readings(self) -> dict[str, Reading]:
        return {k: replace(r, **self.words.get(k, {})) for k, r in super().readings().items()}


def told(slots: tuple[str, ...] = ("T4-1",), does: str = "held") -> Told:
    world = Told(policy=NUDGING)
    world.give("vm-python", slots, "3d")
    world.vms["vm-python"].does = {"": does}
    return world


# ---- identity -----------------------------------------------------------------------------------------------------


def test_a_card_that_is_alone_is_learnt_and_kept() -> None:
    world = told()
    run(world, 2 * MIN)
    uuid = device(world.card("T4-1").pci, "quiet").uuid
    assert world.card("T4-1").uuid == uuid == world.books.watches["T4-1"].uuid
    world.release("ada", "1", None, "now")
    world.until(lambda: world.lease("1").state is LeaseState.ENDED, H)
    assert world.card("T4-1").uuid == uuid


def test_several_unknown_are_paired_by_order_and_not_learnt() -> None:
    world = told(("T4-1", "T4-2"))
    world.vms["vm-python"].does = {"": "busy", world.card("T4-2").pci: "held"}
    run(world, 5 * MIN)
    assert world.card("T4-1").uuid == world.card("T4-2").uuid == ""
    assert world.books.watches["T4-1"].busy_since is not None and world.books.watches["T4-2"].quiet_since is not None


def test_a_known_card_is_found_among_others_whatever_the_order() -> None:
    world = told()
    run(world, 2 * MIN)
    pci = world.card("T4-1").pci
    world.fields[world.card("T4-2").pci] = {"uuid": "GPU-0000"}
    world.give("vm-python", ("T4-2",), "3d")
    world.vms["vm-python"].does = {"": "held", pci: "busy"}
    run(world, 2 * MIN)
    assert world.card("T4-2").uuid == "GPU-0000", "one unknown card, one unknown device"
    assert world.books.watches["T4-1"].busy_since is not None and world.books.watches["T4-2"].busy_since is None


def test_another_uuid_than_the_known_one_is_told_to_the_admins_and_not_believed() -> None:
    world = told()
    run(world, 2 * MIN)
    world.fields[world.card("T4-1").pci] = {"uuid": "GPU-other"}
    run(world, 2 * H)
    other = world.told(NewsKind.OTHER_CARD)
    assert [n.to for n in other] == [ADMINS] and other[0].slots == ("T4-1",) and "GPU-other" in other[0].reason
    assert world.card("T4-1").uuid != "GPU-other" and not world.told(NewsKind.NUDGE)
    assert world.books.watches["T4-1"].why == "the guest does not list it"


@pytest.mark.parametrize("power", [Power.ON, Power.OFF])
def test_a_word_of_before_a_restart_that_names_a_card_of_before_is_no_other_card(power: Power) -> None:
    """The bot was away while a card came out: the guest's last word still names it, and is not old yet."""
    world = told()
    run(world, 2 * MIN)
    world.give("vm-python", ("T4-2",), "3d")
    run(world, 2 * MIN)
    vm, before = world.vms["vm-python"], world.readings()["uuid-vm-python"]
    assert {d.uuid for d in before.devices} == {world.card("T4-1").uuid, world.card("T4-2").uuid}
    vm.cards, vm.power, vm.boot = {world.card("T4-2").pci}, power, world.now + timedelta(seconds=20)
    world.words["uuid-vm-python"] = {"devices": before.devices, "at": before.at, "boot_id": before.boot_id}
    vm.boot_takes = timedelta()
    run(world, 1 * MIN)
    assert not world.told(NewsKind.OTHER_CARD)


@pytest.mark.parametrize("fields", [{"virtual": "vgpu"}, {"uuid": "MIG-1"}])
def test_vgpu_and_mig_belong_to_the_machine_and_are_not_learnt(fields: dict[str, Any]) -> None:
    world = Told(policy=NUDGING)
    world.give("vm-python", ("T4-1",), "3d")
    world.vms["vm-python"].does = {"": "held"}
    world.fields[world.card("T4-1").pci] = fields
    run(world, 5 * MIN)
    assert world.card("T4-1").uuid == "" and world.books.watches["T4-1"].quiet_since is not None


def test_fewer_devices_than_unknown_cards_say_nothing_of_any() -> None:
    world = told(("T4-1", "T4-2"))
    world.vms["vm-python"].does = {"": "held", world.card("T4-2").pci: "hidden"}
    run(world, 2 * H)
    assert all(w.quiet_since is None for w in world.books.watches.values())


# ---- how it was left ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"ecc": False}, "ECC is off"),
        ({"mig": True}, "MIG is on"),
        ({"mem_used_mb": 5000.0}, "no process holds it"),
    ],
)
def test_the_next_lease_sees_what_the_last_holder_left(fields: dict[str, Any], word: str) -> None:
    world = told(does="quiet")
    run(world, 2 * MIN)
    assert (world.card("T4-1").ecc, world.card("T4-1").mig) == (True, False)
    world.fields[world.card("T4-1").pci] = fields
    world.request("bob", "vm-r", 4, "any time today")
    world.vms["vm-r"].does = {"": "quiet"}
    world.release("ada", "1", None, "now")
    world.until(lambda: "2" in world.books.leases and world.lease("2").state is LeaseState.ACTIVE, 2 * H)
    run(world, 2 * MIN)
    left = world.told(NewsKind.LEFT_SO)
    assert [(n.to, n.slots, n.who) for n in left] == [(ADMINS, ("T4-1",), "ada")] and word in left[0].reason
    assert world.lease("2").left and word in world.lease("2").left[0]
    run(world, 30 * MIN)
    assert len(world.told(NewsKind.LEFT_SO)) == 1


def test_how_it_should_be_is_the_policys_word_if_it_has_one() -> None:
    world = Told(policy=replace(NUDGING, idle=replace(NUDGING.idle, expect_ecc=False)))
    world.give("vm-python", ("T4-1",), "3d")
    world.vms["vm-python"].does = {"": "quiet"}
    run(world, 2 * MIN)
    assert "should be off" in world.told(NewsKind.LEFT_SO)[0].reason


# ---- since the move -----------------------------------------------------------------------------------------------


def test_a_lease_shows_seen_by_vcenter_seen_in_the_guest_and_computed() -> None:
    world = Told(policy=NUDGING)
    world.vms["vm-r"].does = {"": "quiet"}
    world.request("bob", "vm-r", 1, "now")
    world.until(lambda: world.books.leases.get("1") is not None and world.lease("1").state is LeaseState.ACTIVE, H)
    run(world, 2 * MIN)
    lease = world.lease("1")
    assert lease.seen_vcenter is not None and lease.seen_guest is not None and lease.computed is None
    assert lease.seen_vcenter <= lease.seen_guest
    assert lease.guest_lines and "Tesla T4" in lease.guest_lines[0]
    world.vms["vm-r"].does = {"": "burst"}
    run(world, 2 * MIN)
    assert world.lease("1").computed is not None


@pytest.mark.parametrize(("code", "known"), [(0, True), (10, False), (1, False)])
def test_a_check_that_computed_on_the_card_counts(code: int, known: bool) -> None:
    world = told(does="quiet")
    world.words["uuid-vm-python"] = {"check": Check(code, "said"), "check_at": world.now - H}
    run(world, 2 * MIN)
    assert world.lease("1").proven is None, "of before the lease"
    world.words["uuid-vm-python"]["check_at"] = world.now
    run(world, 2 * MIN)
    assert (world.lease("1").proven is not None) is known
    assert world.lease("1").computed is None, "a check is nobody's work"


def test_done_said_in_the_guest_gives_back_when_the_work_ends() -> None:
    world = told(does="busy")
    run(world, 10 * MIN)
    vm = world.vms["vm-python"]
    vm.free_since = world.now
    vm.done_at = world.now
    run(world, 2 * MIN)
    lease = world.lease("1")
    assert lease.state is LeaseState.RETURNING and lease.ended_by == "ada" and lease.done_heard == vm.done_at
    agreed = [a for a in world.books.agreements.values() if a.label == "1"]
    assert len(agreed) == 1 and agreed[0].when_done
    assert [n.to for n in world.told(NewsKind.DONE_INSIDE)] == ["ada"]
    world.until(lambda: world.lease("1").state is LeaseState.ENDED, H)
    assert len(world.told(NewsKind.DONE_INSIDE)) == 1


def test_done_of_before_the_lease_or_of_somebody_elses_machine_is_nothing() -> None:
    world = told()
    vm = world.vms["vm-python"]
    vm.done_at = world.now - H
    run(world, 2 * MIN)
    assert world.lease("1").state is LeaseState.ACTIVE
    machines = {k: replace(m, owners=("carol",)) if m.name == vm.name else m for k, m in world.books.machines.items()}
    world.books = replace(world.books, machines=machines)
    vm.done_at = world.now
    run(world, 2 * MIN)
    assert world.lease("1").state is LeaseState.ACTIVE and world.lease("1").done_heard == vm.done_at


def test_done_is_heard_once_and_kept_after_all_stays_kept() -> None:
    world = told()
    run(world, 2 * MIN)
    world.vms["vm-python"].done_at = world.now
    world.vms["vm-python"].jobs = ()
    world.vms["vm-python"].free_since = None
    run(world, MIN)
    world.do(lambda d: leases.keep(d, d.leases["1"], "ada"))
    run(world, 30 * MIN)
    assert world.lease("1").state is LeaseState.ACTIVE


def test_done_that_is_said_while_it_goes_back_already_does_not_undo_a_keep_of_later() -> None:
    world = told()
    vm = world.vms["vm-python"]
    vm.free_since = None
    run(world, 2 * MIN)
    world.do(lambda d: leases.release(d, d.leases["1"], None, "ada"))
    run(world, MIN)
    vm.done_at = world.now
    run(world, 2 * MIN)
    assert world.lease("1").state is LeaseState.RETURNING and world.lease("1").done_heard == vm.done_at
    vm.done_at = world.now  # on its way when it is kept
    world.do(lambda d: leases.keep(d, d.leases["1"], "ada"))
    run(world, 5 * MIN)
    assert world.lease("1").state is LeaseState.ACTIVE and not world.told(NewsKind.DONE_INSIDE)


def test_done_gives_nothing_back_where_several_hold_cards() -> None:
    world = told()
    vm = world.vms["vm-python"]
    run(world, 2 * MIN)
    other = replace(world.lease("1"), label="9", person="bob", slots=())
    world.books = replace(world.books, leases={**world.books.leases, "9": other})
    vm.done_at = world.now
    run(world, MIN)
    assert world.lease("1").state is LeaseState.ACTIVE and not world.told(NewsKind.DONE_INSIDE)


def test_done_that_lies_ahead_by_a_clock_that_was_set_back_is_not_heard_again() -> None:
    world = told()
    vm = world.vms["vm-python"]
    run(world, 10 * MIN)
    vm.done_at = world.now
    vm.jobs, vm.free_since = (), None
    world.round()
    world.do(lambda d: leases.keep(d, d.leases["1"], "ada"))
    world.now -= 3 * MIN  # less than what makes its word old
    world.round()
    assert world.lease("1").done_heard == world.now < vm.done_at
    assert world.lease("1").state is LeaseState.ACTIVE and len(world.told(NewsKind.DONE_INSIDE)) == 1


# ---- blind, and broken --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["silent", "nothing", "hidden"])
def test_row_09_a_stopped_agent_buys_no_immunity(how: str) -> None:
    """The holder hears it once after an hour, the admins after a day."""
    world = told(does="busy")
    run(world, 30 * MIN)
    if how == "silent":
        world.vms["vm-python"].agent = False
    else:
        world.vms["vm-python"].does = {"": how}
    run(world, 58 * MIN)
    assert not world.told(NewsKind.CANNOT_SEE)
    run(world, 10 * MIN)
    assert [n.to for n in world.told(NewsKind.CANNOT_SEE)] == ["ada"]
    run(world, 26 * H)
    assert [n.to for n in world.told(NewsKind.CANNOT_SEE)] == ["ada", ADMINS]
    assert not world.told(NewsKind.NUDGE)


def test_no_agent_ever_is_seen_too() -> None:
    world = World(policy=NUDGING)
    world.vms["vm-python"].agent = False
    world.give("vm-python", ("T4-1",), "3d")
    run(world, 70 * MIN)
    assert [n.to for n in world.told(NewsKind.CANNOT_SEE)] == ["ada"]


def test_a_machine_that_is_off_is_not_blind() -> None:
    world = told()
    run(world, 10 * MIN)
    world.switch("vm-python", Power.OFF)
    run(world, 3 * H)
    assert not world.told(NewsKind.CANNOT_SEE)


def test_at_night_the_holder_is_left_in_peace() -> None:
    world = told(does="busy")
    run(world, 7.8 * H)
    world.vms["vm-python"].agent = False
    run(world, 3 * H)
    assert not world.told(NewsKind.CANNOT_SEE, "ada")
    run(world, 14 * H)
    assert len(world.told(NewsKind.CANNOT_SEE, "ada")) == 1


def test_nobody_is_told_that_an_agent_is_missing_while_questions_are_off() -> None:
    world = World(policy=Policy(level="act"))
    world.vms["vm-python"].agent = False
    world.give("vm-python", ("T4-1",), "3d")
    run(world, 26 * H)
    assert not world.told(NewsKind.CANNOT_SEE)


def test_an_outage_of_the_bot_makes_nobody_blind() -> None:
    world = told(does="busy")
    run(world, 30 * MIN)
    world.now += 3 * H
    run(world, 30 * MIN)
    assert not world.told(NewsKind.CANNOT_SEE)


def test_row_10_a_broken_card_is_the_admins_matter_once_a_cause() -> None:
    world = told(does="fault")
    run(world, 3 * H)
    assert [(n.to, n.slots, n.reason) for n in world.told(NewsKind.CARD_BROKEN)] == [
        (ADMINS, ("T4-1",), "xid 79"),
        ("ada", ("T4-1",), "xid 79"),
    ]
    assert not world.told(NewsKind.GUEST_FAULT), "the same is not told twice"
    assert not world.told(NewsKind.NUDGE) and not world.told(NewsKind.CANNOT_SEE)


def test_row_48_a_vgpu_without_licence_and_a_driver_mismatch_are_told_once() -> None:
    world = told(does="quiet")
    world.fields[world.card("T4-1").pci] = {"virtual": "vgpu", "licence": "Unlicensed (Restricted)"}
    run(world, 30 * MIN)
    world.words["uuid-vm-python"] = {"no_driver": "mismatch"}
    run(world, 30 * MIN)
    found = [("licence" in n.reason, n.to) for n in world.told(NewsKind.GUEST_FAULT)]
    assert found == [(True, ADMINS), (False, ADMINS), (False, "ada")], "only who owns the guest can restart it"


@pytest.mark.parametrize("gone", ["not loaded", "no library"])
def test_a_driver_that_is_gone_is_told_to_owners_and_admins_once_a_boot(gone: str) -> None:
    world = told(("T4-1", "T4-2"), does="quiet")
    run(world, 10 * MIN)
    world.words["uuid-vm-python"] = {"no_driver": gone, "devices": ()}
    run(world, MIN)
    assert [n.to for n in world.told(NewsKind.GUEST_FAULT)] == [ADMINS, "ada"], "at once"
    assert world.told(NewsKind.GUEST_FAULT)[0].slots == ("T4-1", "T4-2")
    run(world, 3 * H)
    assert len(world.told(NewsKind.GUEST_FAULT)) == 2


def test_a_driver_that_was_never_there_or_still_loads_is_no_news_of_a_fault() -> None:
    world = told(does="quiet")
    world.words["uuid-vm-python"] = {"no_driver": "not loaded", "devices": ()}
    run(world, 20 * MIN)
    assert not world.told(NewsKind.GUEST_FAULT)
    world = told(does="quiet")
    run(world, 10 * MIN)
    world.vms["vm-python"].boot, world.vms["vm-python"].boots = world.now, 1
    world.words["uuid-vm-python"] = {"no_driver": "not loaded", "devices": ()}
    run(world, 4 * MIN)
    assert not world.told(NewsKind.GUEST_FAULT)
    run(world, 4 * MIN)
    assert [n.to for n in world.told(NewsKind.GUEST_FAULT)] == [ADMINS, "ada"]


@pytest.mark.parametrize(
    ("no_driver", "doubted"), [("mismatch", False), ("not loaded", False), ("no library", False), ("", True)]
)
def test_a_guest_without_a_driver_does_not_say_that_a_card_is_missing(no_driver: str, doubted: bool) -> None:
    world = told(does="quiet")
    run(world, 5 * MIN)
    world.vms["vm-python"].sees = 0
    world.words["uuid-vm-python"] = {"no_driver": no_driver, "devices": ()}
    run(world, 40 * MIN)
    assert world.card("T4-1").doubted is doubted and bool(world.told(NewsKind.DIFFERENCE)) is doubted


def test_two_speakers_are_told_and_neither_is_believed() -> None:
    world, _ = contended_world()
    world.agree("ada", "vm-python", "nights")
    world.vms["vm-python"].rivals = True
    run(world, 4 * H)
    assert {n.to for n in world.told(NewsKind.TWO_SPEAKERS)} == {"ada", ADMINS}
    assert len(world.told(NewsKind.TWO_SPEAKERS)) == 2 and not world.told(NewsKind.NUDGE)


@pytest.mark.parametrize("how", ["rivals", "outside"])
def test_a_standing_window_is_not_used_where_nobody_can_see_inside(how: str) -> None:
    world = told(does="quiet")
    vm = world.vms["vm-python"]
    world.agree("ada", "vm-python", "nights")
    world.release("ada", "1")
    vm.rivals, vm.inside = how == "rivals", how != "outside"
    run(world, 20 * H)
    assert "shutdown" not in world.acts("vm-python")
    skipped = world.told(NewsKind.STANDING_SKIPPED)
    assert skipped and ("two guests" in skipped[0].reason) is (how == "rivals")
