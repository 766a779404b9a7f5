"""Two hosts with cards of one kind: a machine has those of its own alone, so who waits on one host stands in nobody's way on the other."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain import queue
from bot.domain.model import LeaseState, RequestState, Seen, SeenHost, SeenMachine
from bot.domain.near import meet, near
from bot.domain.promises import promise
from bot.domain.sight import Sight
from tests.domain.modes_world import HALF, WHOLE, ModesWorld, shared
from tests.domain.world import PCI, ZONE, Vm, World

MIN = timedelta(minutes=1)


class TwoHosts(World):
    """T4-1 and T4-2 are in esx-01, T4-3 and T4-4 in esx-02, on which vm-train is alone."""

    def seen_machine(self, vm: Vm) -> SeenMachine:
        seen = super().seen_machine(vm)
        return replace(seen, host="host-2") if vm.name == "vm-train" else seen

    def look(self) -> Seen | None:
        seen = super().look()
        if seen is None:
            return None
        one = seen.hosts[0]
        hosts = tuple(
            SeenHost(one.vcenter, f"host-{n}", f"esx-0{n}", True, False, tuple(c for c in one.cards if c.pci in pcis),
                     {p: uuid for p, uuid in one.bound.items() if p in pcis})
            for n, pcis in ((1, PCI[:2]), (2, PCI[2:]))
        )  # fmt: skip
        return replace(seen, hosts=hosts)


def full() -> TwoHosts:
    """Both cards of esx-01 are lent to ada, and bob waits for one there; esx-02 is free."""
    world = TwoHosts()
    world.round()
    world.give("vm-python", ("T4-1", "T4-2"))
    world.request("bob", "vm-r")
    world.round()
    return world


def test_machines_are_known_by_their_hosts() -> None:
    world = full()
    assert {m.name: m.host for m in world.books.machines.values()}["vm-train"] == "host-2"
    assert not meet(world.books, "uuid-vm-r", "uuid-vm-train") and meet(world.books, "uuid-vm-r", "uuid-vm-python")
    here = near(world.books, "uuid-vm-train")
    assert here is not None and set(here.cards) == {"T4-3", "T4-4"} and not here.requests
    assert near(World().books, "uuid-vm-r") is None, "one host alone"


def test_who_waits_on_one_host_stands_in_nobodys_way_on_the_other() -> None:
    world = full()
    carol = world.request("carol", "vm-train", window="now")
    world.round()
    assert next(r for r in world.books.requests.values() if r.person == "bob").state is RequestState.QUEUED
    assert world.req(carol.number).state is RequestState.LEASED, "it is free there, and nobody asked before"
    world.pass_time(10 * MIN)
    assert set(world.lease(carol.number).slots) <= {"T4-3", "T4-4"}
    assert world.lease(carol.number).state is LeaseState.ACTIVE


def test_places_and_times_are_those_of_the_host() -> None:
    world = full()
    bob = next(r for r in world.books.requests.values() if r.person == "bob")
    carol = world.request("carol", "vm-train", count=2)
    assert (queue.place(world.books, bob), queue.place(world.books, carol)) == (1, 1)
    sight = Sight(world.books, world.look(), {})

    def told(number: int) -> str:
        request = world.books.requests[number]
        return promise(world.books, request, world.now, world.policy, lambda _: "Europe/Berlin", sight).cause

    assert (told(bob.number), told(carol.number)) == ("own_end", "free_now")


def test_who_waits_on_the_other_host_ends_nobodys_time_and_limits_nobody() -> None:
    world = full()
    train = world.give("vm-train", ("T4-3",))
    for machine, waits in (("uuid-vm-python", True), ("uuid-vm-train", False), ("", False)):
        assert queue.contended(world.books, "T4", machine) is waits, "one is free in esx-02, but not for bob"
        assert bool(queue.waiters(world.books, "T4", machine)) is (machine != "uuid-vm-train")
    world.pass_time(timedelta(days=3), step=60 * MIN)
    assert world.lease(train.label).state is LeaseState.ACTIVE and world.lease(train.label).over_time


class TwoSharing(ModesWorld):
    """Cards of the same PCI addresses in two hosts, all of them shared: T4-1 and T4-2 in esx-01, T4-3 and T4-4 in esx-02 with vm-train."""

    def seen_machine(self, vm: Vm) -> SeenMachine:
        seen = super().seen_machine(vm)
        return replace(seen, host="host-2") if vm.name == "vm-train" else seen

    def look(self) -> Seen | None:
        seen = super().look()
        if seen is None:
            return None
        one = seen.hosts[0]
        runs = self.vms["vm-train"].uuid
        there = {p: tuple(u for u in on if u == runs) for p, on in one.sharing.items()}
        here = {p: tuple(u for u in on if u != runs) for p, on in one.sharing.items()}
        other = replace(one, id="host-2", name="esx-02", sharing=there)
        return replace(seen, hosts=(replace(one, sharing=here), other))


def test_who_waits_for_a_whole_card_keeps_no_card_of_the_other_host_whole() -> None:
    world = TwoSharing(shared(*PCI[:2]))
    assert {c.name: c.host for c in world.books.cards.values()}["T4-3"] == "host-2"
    ada = world.request("ada", "vm-python", count=2, kind=HALF.profile, window="now")
    world.pass_time(10 * MIN)
    assert world.lease(ada.number).slots == ("T4-1.1", "T4-2.1"), "a half of each"
    world.request("bob", "vm-r", count=2, kind=WHOLE.profile)
    world.round()
    carol = world.request("carol", "vm-train", count=4, kind=HALF.profile, window="now")
    world.round()
    assert world.req(carol.number).state is RequestState.LEASED, "bob waits for cards of esx-01"


def test_another_size_on_the_other_host_takes_no_latest_time_away() -> None:
    world = TwoSharing(shared(*PCI[:2]))
    world.round()
    bob = world.request("bob", "vm-r", kind=WHOLE.profile)
    world.request("carol", "vm-train", kind=HALF.profile)
    sight = Sight(world.books, world.look(), {})
    assert promise(world.books, bob, world.now, world.policy, lambda _: ZONE, sight).latest is not None
    world.request("ada", "vm-python", kind=HALF.profile)
    assert promise(world.books, bob, world.now, world.policy, lambda _: ZONE, sight).latest is None, "on its own host"


def test_a_machine_is_on_its_host_from_the_moment_it_is_added() -> None:
    world = TwoSharing(shared(*PCI[:2]))
    assert {m.name: m.host for m in world.books.machines.values()} == {
        "vm-python": "host-1",
        "vm-python-2": "host-1",
        "vm-r": "host-1",
        "vm-train": "host-2",
    }
