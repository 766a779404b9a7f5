"""Broken cards: named where they are known, told once a machine and cause, and nobody else's card is called broken."""

from __future__ import annotations

from datetime import timedelta

from bot.domain.broken import broken
from bot.domain.inside import Device
from bot.domain.model import Card, LeaseState, Reading
from bot.domain.news import ADMINS, NewsKind
from tests.domain.idle_builders import NUDGING
from tests.domain.world import MONDAY_10, World

MIN, H = timedelta(minutes=1), timedelta(hours=1)


def heard(world: World) -> list[tuple[str, tuple[str, ...], str]]:
    """Who was told of which broken cards, and why, by either kind of message."""
    return [(n.to, n.slots, n.reason) for k in (NewsKind.CARD_BROKEN, NewsKind.GUEST_FAULT) for n in world.told(k)]


def lent() -> World:
    """Two leases of two cards each on one machine, whose cards were never alone: which is which is not learnt."""
    world = World(policy=NUDGING)
    world.give("vm-python", ("T4-1", "T4-2"), "3d")
    world.give("vm-python", ("T4-3", "T4-4"), "3d")
    world.vms["vm-python"].does = {"": "held"}
    world.pass_time(3 * MIN)
    return world


def test_four_broken_cards_of_one_machine_are_one_message_a_cause() -> None:
    world = lent()
    world.vms["vm-python"].does = {"": "fault"}
    world.vms["vm-python"].faults = ("Tesla T4: xid 79",) * 4
    world.pass_time(3 * H, MIN)
    assert heard(world) == [
        (ADMINS, ("T4-1", "T4-2", "T4-3", "T4-4"), "xid 79"),
        ("ada", ("T4-1", "T4-2", "T4-3", "T4-4"), "xid 79"),
    ]
    assert all(x.fault == "xid 79" and x.state is LeaseState.ACTIVE for x in world.books.leases.values())


def test_only_the_lease_whose_card_is_broken_is_told() -> None:
    world = World(policy=NUDGING)
    vm = world.vms["vm-python"]
    vm.does = {"": "held"}
    first = world.give("vm-python", ("T4-1",), "3d")
    world.pass_time(2 * MIN)
    second = world.give("vm-python", ("T4-2",), "3d")
    world.pass_time(2 * MIN)
    assert world.card("T4-1").uuid and world.card("T4-2").uuid, "each was alone when it came"
    vm.does, vm.faults = {"": "held", world.card("T4-2").pci: "fault"}, ("Tesla T4: xid 79",)
    world.pass_time(H, MIN)
    assert heard(world) == [(ADMINS, ("T4-2",), "xid 79"), ("ada", ("T4-2",), "xid 79")]
    assert (world.lease(first.label).fault, world.lease(second.label).fault) == ("", "xid 79")
    vm.does, vm.faults = {"": "fault"}, ("Tesla T4: xid 79",) * 2
    world.pass_time(H, MIN)
    assert heard(world)[2:] == [(ADMINS, ("T4-1",), "xid 79"), ("ada", ("T4-1",), "xid 79")], "the new one alone"


def test_a_card_that_cannot_be_told_from_others_is_a_card_of_the_machine() -> None:
    world = lent()
    vm = world.vms["vm-python"]
    vm.does, vm.faults = {"": "held", world.card("T4-2").pci: "fault"}, ("Tesla T4: xid 79",)
    world.pass_time(H, MIN)
    assert heard(world) == [(ADMINS, (), "xid 79")]
    assert all(x.fault for x in world.books.leases.values()), "each of them may be it, so each rests once out"


def test_a_card_that_fell_off_the_bus_is_the_one_that_is_missing() -> None:
    cards = {n: Card(n, "lab", "host-1", "esx-01", n, "T4", uuid=f"GPU-{n}") for n in ("T4-1", "T4-2")}
    left = Device("GPU-T4-1", "Tesla T4")
    word = Reading("uuid", MONDAY_10, "boot", 1, False, 2, ("Tesla T4: lost",), devices=(left,))
    assert broken(cards, tuple(cards), word).named == {"T4-2": "Tesla T4: lost"}
    foreign = Reading("uuid", MONDAY_10, "boot", 1, False, 3, ("Tesla T4: lost",), devices=(left,))
    assert not broken(cards, tuple(cards), foreign).named, "a card that is not in the books may be it"


def test_a_card_that_comes_is_not_sent_back_for_another_one_that_is_broken() -> None:
    world = World(policy=NUDGING)
    vm = world.vms["vm-python"]
    vm.does = {"": "held"}
    first = world.give("vm-python", ("T4-1",), "3d")
    world.pass_time(2 * MIN)
    vm.does, vm.faults = {"": "held", world.card("T4-1").pci: "fault"}, ("Tesla T4: xid 79",)
    label = str(world.request("ada", "vm-python", 1, "now").number)
    world.until(lambda: label in world.books.leases and world.lease(label).state is LeaseState.ACTIVE, 15 * MIN)
    assert world.lease(label).fault == "" and world.lease(first.label).fault == "xid 79"
