"""A host is restarted and shows its cards at other addresses: they keep their names and what they are lent for, machines get the new addresses,
and where nobody can tell which card is which, nothing is lost, nothing is lent, and an admin is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import leases, moves, pool, renumbered
from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import (
    CallKind,
    Card,
    LeaseState,
    Mode,
    MoveState,
    Outcome,
    Power,
    Seen,
    SeenCard,
    SeenHost,
)
from bot.domain.moves import Order
from bot.domain.news import ADMINS, NewsKind
from tests.domain.world import PCI, Act, World

LOOKS, HOUR = timedelta(minutes=1), timedelta(hours=1)
UP = tuple(f"0000:{int(p[5:7], 16) + 1:02x}:00.0" for p in PCI)


class Renumbering(World):
    """Its host can be restarted with its cards at other addresses."""

    def __init__(self) -> None:
        self.shown: tuple[str, ...] = PCI
        self.lost, self.half = False, False  # its connection to vCenter; what vCenter says is not all
        self.refuses = False  # every start
        self.elsewhere: set[str] = set()  # machines on another host
        self.broken: set[str] = set()  # addresses with which nothing starts
        self.tries = False  # what cannot be started may be tried, before two looks are had
        super().__init__()

    def look(self) -> Seen | None:
        seen = super().look()
        if seen is None:
            return None
        host = seen.hosts[0]
        bound = {pci: uuid for pci, uuid in host.bound.items() if pci in self.shown}
        cards = tuple(SeenCard(p, "10de:1eb8", "Tesla T4", True) for p in self.shown)
        hosts = (
            replace(host, cards=cards, bound=bound, connected=not self.lost),
            SeenHost("lab", "host-2", "esx-02", True, False),
        )
        machines = (replace(m, host="host-2") if m.name in self.elsewhere else m for m in seen.machines)
        seen = replace(seen, hosts=hosts, machines=tuple(machines))
        return replace(seen, complete=frozenset()) if self.half else seen

    def _carry_out(self, order: Order) -> Outcome:
        """vCenter starts nothing whose settings name what is not there."""
        vm = next(v for v in self.vms.values() if v.uuid == order.machine)
        if order.kind is CallKind.POWER_ON and (
            self.refuses or vm.cards & self.broken or (self.tries and not vm.cards <= set(self.shown))
        ):
            self.journal.append(Act(self.now, order.kind.value, vm.name))
            return Outcome.REFUSED
        if order.kind is CallKind.POWER_ON:
            assert vm.cards <= set(self.shown), f"{vm.name} cannot be started with {vm.cards}"
        return super()._carry_out(order)

    def restart_host(self, shown: tuple[str, ...]) -> None:
        """All its machines lose their power, and those with a stale address do not come back."""
        for vm in self.vms.values():
            if vm.power is Power.ON:
                self.switch(vm.name, Power.OFF)
        self.shown = shown
        for vm in self.vms.values():
            if vm.cards <= set(shown):
                self.switch(vm.name, Power.ON)


def lent(world: Renumbering) -> None:
    """T4-1 to bob in vm-r, T4-2 and T4-3 to ada in vm-python."""
    world.give("vm-r", ("T4-1",), "for 3d")
    world.give("vm-python", ("T4-2", "T4-3"), "for 3d")


def states(world: Renumbering) -> dict[str, tuple[LeaseState, tuple[str, ...]]]:
    return {x.machine.removeprefix("uuid-"): (x.state, x.slots) for x in world.books.leases.values()}


def test_all_at_new_addresses_are_the_same_cards_and_go_on() -> None:
    world = Renumbering()
    lent(world)
    ends = {x.label: (x.active_since, x.end) for x in world.books.leases.values()}
    world.restart_host(UP)
    world.pass_time(LOOKS)
    assert {c.name: c.pci for c in world.books.cards.values()} == dict(
        zip(("T4-1", "T4-2", "T4-3", "T4-4"), UP, strict=True)
    )
    world.pass_time(2 * LOOKS)
    assert world.vms["vm-r"].cards == {UP[0]} and world.vms["vm-python"].cards == {UP[1], UP[2]}
    for vm in ("vm-r", "vm-python"):
        world.switch(vm, Power.ON)
    world.pass_time(5 * LOOKS)
    assert states(world) == {"vm-r": (LeaseState.ACTIVE, ("T4-1",)), "vm-python": (LeaseState.ACTIVE, ("T4-2", "T4-3"))}
    assert {x.label: (x.active_since, x.end) for x in world.books.leases.values()} == ends, "its time went on"
    assert [n.to for n in world.told(NewsKind.RENUMBERED) if n.lease is None] == [ADMINS]
    assert {n.to for n in world.told(NewsKind.RENUMBERED) if n.lease is not None} == {"ada", "bob"}
    assert not world.told(NewsKind.FAILED) and not any(c.was or c.aside for c in world.books.cards.values())


def test_nobody_names_new_addresses_and_takes_none_for_lost_at_the_first_look() -> None:
    world = Renumbering()
    lent(world)
    world.restart_host(UP)
    world.round()
    assert len(world.books.cards) == 4 and not any(c.aside for c in world.books.cards.values())


SHIFTED = (*PCI[1:], "0000:d8:00.0")


@pytest.mark.parametrize(
    "shown",
    [SHIFTED, (*PCI[1:], "0000:d8:00.0", "0000:d9:00.0"), UP[:3], (*UP, "0000:d8:00.0")],
    ids=["overlapping", "one in, one moved", "one fewer", "one more"],
)
def test_what_cannot_be_told_is_asked_and_nothing_is_lost_or_lent(shown: tuple[str, ...]) -> None:
    world = Renumbering()
    lent(world)
    before = states(world)
    world.restart_host(shown)
    world.request("carol", "vm-train", 1, None, "for 2h")
    world.pass_time(HOUR / 2)
    assert states(world) | {"vm-train": None} == before | {"vm-train": None}
    known = {c.pci for c in world.books.cards.values()}
    assert known == set(PCI), "none was named"
    asked = [n for n in world.told(NewsKind.WHICH_CARD) if n.to == ADMINS]
    assert len(asked) == 1 and "0000:3b:00.0" in asked[0].reason
    assert "bob" in {n.to for n in world.told(NewsKind.WHICH_CARD)}
    lost = {c.pci for c in world.books.cards.values()} - set(shown)
    for lease in world.books.leases.values():
        if lease.machine == "uuid-vm-train" and lease.state in OPEN_LEASE:
            assert not {world.card(s).pci for s in lease.slots} & lost


def told_by_dana(says: Callable[[Draft, renumbered.Riddle], object]) -> Renumbering:
    """Addresses that overlap: nobody can tell which card is which, and an admin says it."""
    world = Renumbering()
    lent(world)
    world.restart_host(SHIFTED)
    world.pass_time(3 * LOOKS)
    host = ("lab", "host-1")
    world.do(lambda d: [says(d, r) for r in renumbered.open_riddles(d, world.look(), host, world.policy)])
    return world


def test_an_admin_says_that_they_are_the_same_and_it_heals() -> None:
    world = told_by_dana(lambda d, r: renumbered.follow(d, r.pairs, "dana"))
    world.pass_time(3 * LOOKS)
    assert world.card("T4-1").pci == "0000:d8:00.0" and world.vms["vm-r"].cards == {"0000:d8:00.0"}
    world.switch("vm-r", Power.ON)
    world.pass_time(5 * LOOKS)
    assert states(world)["vm-r"] == (LeaseState.ACTIVE, ("T4-1",))


def test_an_admin_says_that_they_are_others_and_what_is_gone_is_lost() -> None:
    world = told_by_dana(lambda d, r: renumbered.others(d, r, "dana"))
    world.pass_time(5 * LOOKS)
    assert world.card("T4-5").pci == "0000:d8:00.0" and len(world.told(NewsKind.FAILED, "bob")) == 1
    assert states(world)["vm-r"][0] is LeaseState.ENDED and world.vms["vm-r"].cards == set(), "else it would not start"
    world.switch("vm-r", Power.ON)
    assert not any(m.state is MoveState.STUCK for m in world.books.moves.values())


def test_what_was_given_back_comes_out_by_its_old_address() -> None:
    world = Renumbering()
    lent(world)
    label = next(x.label for x in world.books.leases.values() if x.machine == "uuid-vm-r")
    world.release("bob", label)
    world.restart_host(UP)
    world.pass_time(5 * LOOKS)
    assert world.vms["vm-r"].cards == set() and states(world)["vm-r"][0] is LeaseState.ENDED


def test_a_machine_that_an_admin_put_right_by_hand_just_goes_on() -> None:
    world = Renumbering()
    lent(world)
    world.restart_host(UP)
    world.vms["vm-r"].cards = {UP[0]}
    world.switch("vm-r", Power.ON)
    world.pass_time(5 * LOOKS)
    assert states(world)["vm-r"] == (LeaseState.ACTIVE, ("T4-1",))
    assert "bob" not in {n.to for n in world.told(NewsKind.RENUMBERED)}


def test_a_card_that_was_gone_before_is_no_part_of_it() -> None:
    world = Renumbering()
    world.give("vm-r", ("T4-1",), "for 3d")
    world.shown = PCI[:3]
    world.pass_time(5 * LOOKS)
    world.restart_host(UP[:3])
    world.pass_time(5 * LOOKS)
    assert [world.card(f"T4-{n}").pci for n in (1, 2, 3)] == list(UP[:3]) and len(world.books.cards) == 4


@pytest.mark.parametrize("wants", ["gives one back", "gives all back", "gets one"])
def test_a_machine_that_is_off_through_us_meanwhile_is_put_right_and_comes_on(wants: str) -> None:
    """Its start is asked or was refused when its host is restarted: with the addresses that its settings name it would never come on."""
    world = Renumbering()
    lent(world)
    world.refuses = True
    if wants == "gets one":
        world.request("ada", "vm-python", 1, "now", "for 1d")
    else:
        label = next(x.label for x in world.books.leases.values() if x.machine == "uuid-vm-python")
        world.release("ada", label, ("T4-2",) if wants == "gives one back" else None, "now")
    world.until(lambda: "power_on" in world.acts("vm-python"), 15 * LOOKS)
    world.pass_time(LOOKS)
    before = world.move("vm-python").state
    assert before in (MoveState.STUCK, MoveState.UNDOING, MoveState.STARTING), world.describe()
    world.shown, world.refuses, world.tries = UP, False, True
    if world.vms["vm-r"].power is Power.ON:
        world.switch("vm-r", Power.OFF)
    world.pass_time(15 * LOOKS)
    vm = world.vms["vm-python"]
    assert vm.power is Power.ON and vm.cards <= set(UP), world.describe()
    assert not any(c.was for c in world.books.cards.values()), world.describe()


def test_what_was_told_of_a_machine_that_did_not_start_says_that_it_is_put_right() -> None:
    world = Renumbering()
    lent(world)
    world.refuses = True
    world.release(
        "ada", next(x.label for x in world.books.leases.values() if x.machine == "uuid-vm-python"), ("T4-2",), "now"
    )
    world.until(lambda: world.told(NewsKind.STUCK), 15 * LOOKS)
    key = world.told(NewsKind.STUCK)[0].key
    world.shown, world.refuses, world.tries = UP, False, True
    world.switch("vm-r", Power.OFF)
    world.until(lambda: world.told(NewsKind.MACHINE_BACK), 15 * LOOKS)
    assert {n.key for n in world.told(NewsKind.MACHINE_BACK)} == {key}


def test_an_old_address_that_was_left_beside_the_new_one_by_hand_comes_off() -> None:
    world = Renumbering()
    lent(world)
    world.restart_host(UP)
    world.vms["vm-r"].cards = {UP[0], PCI[0]}
    world.pass_time(3 * LOOKS)
    world.tries = True
    world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "bob"))
    world.pass_time(10 * LOOKS)
    assert world.vms["vm-r"].cards == {UP[0]} and world.vms["vm-r"].power is Power.ON, world.describe()
    assert states(world)["vm-r"] == (LeaseState.ACTIVE, ("T4-1",))
    assert len([m for m in world.books.moves.values() if m.machine == "uuid-vm-r"]) <= 2


@pytest.mark.parametrize("how", ["lost", "half"])
def test_nothing_is_new_while_nobody_knows_what_is_missing(how: str) -> None:
    """A host that is restarted is first not connected; a look may lack a page: what is seen then are not other cards."""
    world = Renumbering()
    lent(world)
    setattr(world, how, True)
    world.restart_host(UP)
    world.pass_time(2 * LOOKS)
    assert len(world.books.cards) == 4
    setattr(world, how, False)
    world.pass_time(5 * LOOKS)
    assert [c.pci for _, c in sorted(world.books.cards.items())] == list(UP)
    assert not world.told(NewsKind.FAILED) and {s for s, _ in states(world).values()} <= OPEN_LEASE


def test_a_card_that_is_given_in_another_way_may_be_another_one() -> None:
    card = Card("T4-1", "lab", "host-1", "esx-01", PCI[0], "T4")
    for mode, sure in ((Mode.FIXED, True), (Mode.VGPU, False)):
        seen = SeenCard(UP[0], "10de:1eb8", "Tesla T4", True, mode)
        assert renumbered.Riddle("T4", "esx-01", (card,), (seen,), False).sure is sure


def label_of(world: Renumbering, vm: str) -> str:
    return next(x.label for x in world.books.leases.values() if x.machine == f"uuid-{vm}")


@pytest.mark.parametrize("when", ["reserved", "put on"])
def test_what_worked_stays_lent_when_its_machine_is_moved_before_it_is_put_on_anew(when: str) -> None:
    """It is as one that works, not as one that was just reserved: nobody took it from whoever has it."""
    world = Renumbering()
    lent(world)
    ends = world.lease(label_of(world, "vm-r")).end
    world.restart_host(UP)
    if when == "reserved":
        world.elsewhere = {"vm-r"}  # at once
        world.pass_time(LOOKS)
    world.pass_time(2 * LOOKS)
    world.elsewhere = {"vm-r"}
    world.pass_time(HOUR)
    assert states(world)["vm-r"][0] in OPEN_LEASE, "nothing is lost"
    assert {n.to for n in world.told(NewsKind.MOVED_AWAY)} == {"bob", ADMINS} and not world.told(NewsKind.FAILED)
    world.elsewhere = set()
    world.pass_time(3 * LOOKS)
    assert world.vms["vm-r"].cards == {UP[0]}, world.describe()
    world.switch("vm-r", Power.ON)
    world.pass_time(5 * LOOKS)
    assert states(world)["vm-r"] == (LeaseState.ACTIVE, ("T4-1",)) and world.lease(label_of(world, "vm-r")).end == ends


@pytest.mark.parametrize("how", ["given back", "taken back", "time over"])
def test_what_is_to_be_put_on_anew_and_is_not_wanted_any_more_comes_out_by_its_old_address(how: str) -> None:
    world = Renumbering()
    lent(world)
    label = label_of(world, "vm-r")
    world.restart_host(UP)
    world.do(lambda d: pool.pause(d, "dana", ""))
    world.pass_time(3 * LOOKS)
    assert world.lease(label).state is LeaseState.RESERVED
    if how == "given back":
        world.release("bob", label)
    elif how == "taken back":
        world.do(lambda d: leases.force(d, d.leases[label], "dana", "dust"))
    else:
        world.pass_time(timedelta(days=4), HOUR)
    world.do(lambda d: pool.resume(d, "dana"))
    world.pass_time(5 * LOOKS)
    assert world.lease(label).state is LeaseState.ENDED and world.vms["vm-r"].cards == set(), world.describe()
    assert len(world.told(NewsKind.ENDED, "bob")) == 1


def test_whoever_has_one_of_several_that_cannot_be_told_apart_reads_of_their_own() -> None:
    world = Renumbering()
    lent(world)
    world.restart_host((*UP[:3], PCI[3]))
    world.pass_time(3 * LOOKS)
    told = world.told(NewsKind.WHICH_CARD)
    assert {(n.to, n.slots) for n in told if n.lease is not None} == {("bob", ("T4-1",)), ("ada", ("T4-2", "T4-3"))}
    assert [n.slots for n in told if n.to == ADMINS] == [("T4-1", "T4-2", "T4-3")]


def test_a_card_that_is_gone_while_its_machine_is_off_through_us_comes_out_and_the_machine_comes_on() -> None:
    """Its other card was coming off: the one that stays is not there any more, so with it the machine would never come on."""
    world = Renumbering()
    lent(world)
    world.refuses = True
    world.release("ada", label_of(world, "vm-python"), ("T4-2",), "now")
    world.until(lambda: "power_on" in world.acts("vm-python"), 15 * LOOKS)
    world.shown, world.refuses, world.tries = (*PCI[:2], PCI[3]), False, True
    world.pass_time(15 * LOOKS)
    vm = world.vms["vm-python"]
    assert vm.power is Power.ON and vm.cards == set(), world.describe()
    assert [n.slots for n in world.told(NewsKind.FAILED, "ada")] == [("T4-3",)]


def test_what_worked_and_is_refused_at_its_new_address_comes_off_again_and_the_machine_comes_on() -> None:
    """Of what worked, only the lease stays: a machine that is off through us is not left off for its card."""
    world = Renumbering()
    lent(world)
    world.restart_host(UP)
    world.pass_time(3 * LOOKS)
    assert world.lease(label_of(world, "vm-r")).state is LeaseState.MOVING
    world.broken = {UP[0]}
    world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "bob"))
    world.pass_time(10 * LOOKS)
    assert world.vms["vm-r"].power is Power.ON and world.vms["vm-r"].cards == set(), world.describe()
    assert world.acts("vm-r").count("power_on") == 2 and world.lease(label_of(world, "vm-r")).state in OPEN_LEASE


def test_what_is_given_back_just_before_it_is_put_on_anew_comes_out_by_its_old_address() -> None:
    world = Renumbering()
    lent(world)
    label = label_of(world, "vm-r")
    world.restart_host(UP)
    world.until(lambda: world.lease(label).state is LeaseState.MOVING, 5 * LOOKS)
    assert world.move("vm-r").call is None and world.vms["vm-r"].cards == {PCI[0]}, "nothing is asked yet"
    world.release("bob", label)
    world.pass_time(5 * LOOKS)
    assert world.lease(label).state is LeaseState.ENDED and world.vms["vm-r"].cards == set(), world.describe()
