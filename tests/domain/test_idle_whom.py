"""Whom a take-back serves: a quiet card goes back only as far as somebody who waits has their turn by it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import leases, pool, queue
from bot.domain.draft import Draft
from bot.domain.idle import taking
from bot.domain.leases.common import Round
from bot.domain.model import Lease, LeaseState, Length
from bot.domain.sight import Sight
from tests.domain.modes_world import HALF, POOL, ModesWorld, labelled, shared
from tests.domain.world import PCI, World

EIGHT, SIXTEEN = "grid_t4-8q", "grid_t4-16q"


def needed(world: World, **quiet: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """What would be taken of the quiet devices of some leases (``l1=("T4-1",)``), and for whom, by lease."""
    draft = Draft(world.books, world.now)
    ctx = Round(Sight(draft, world.look(), world.readings()), world.people, world.policy)
    ready = {name.removeprefix("l"): slots for name, slots in quiet.items()}
    before = draft.changes()
    found = taking._needed(draft, ctx, ready)
    assert draft.changes() == before, "trying writes nothing"
    return found


def lent(*slots: str) -> World:
    """ada has these cards on vm-python, and all others are carol's."""
    world = World()
    world.give("vm-python", slots, "3d")
    rest = tuple(s for s in ("T4-1", "T4-2", "T4-3", "T4-4") if s not in slots)
    if rest:
        world.give("vm-train", rest, "3d")
    return world


BOTH = ("T4-1", "T4-2")


@pytest.mark.parametrize(("wants", "taken"), [(1, ("T4-1",)), (2, BOTH), (3, None), (4, None)])
def test_as_many_as_one_who_waits_needs_or_none(wants: int, taken: tuple[str, ...] | None) -> None:
    world = lent(*BOTH)
    world.request("bob", "vm-r", wants, "any time today")
    assert needed(world, l1=BOTH) == (({"1": taken}, {"1": "bob"}) if taken else ({}, {}))


def test_one_of_two_is_enough_if_the_other_lies_free_or_is_on_its_way_back() -> None:
    world = lent(*BOTH)
    world.request("bob", "vm-r", 2, "any time today")
    assert needed(world, l1=("T4-1",)) == ({}, {})
    world.release("carol", "2", ("T4-3",))
    assert needed(world, l1=BOTH) == ({"1": ("T4-1",)}, {"1": "bob"})
    assert needed(world, l1=("T4-2",)) == ({"1": ("T4-2",)}, {"1": "bob"})


def test_nothing_is_taken_of_which_enough_comes_back_anyway() -> None:
    world = lent(*BOTH)
    world.request("bob", "vm-r", 1, "any time today")
    world.release("carol", "2", ("T4-3",))
    assert needed(world, l1=BOTH) == ({}, {})


def test_two_quiet_halves_of_two_leases_serve_one_who_wants_two() -> None:
    world = World()
    world.give("vm-python", ("T4-1",), "3d")
    world.give("vm-python-2", ("T4-2",), "3d")
    world.give("vm-train", ("T4-3", "T4-4"), "3d")
    world.request("bob", "vm-r", 2, "any time today")
    assert needed(world, l1=("T4-1",)) == ({}, {}) == needed(world, l2=("T4-2",))
    assert needed(world, l1=("T4-1",), l2=("T4-2",)) == ({"1": ("T4-1",), "2": ("T4-2",)}, {"1": "bob", "2": "bob"})


def test_the_holders_own_request_takes_nothing_from_them_but_for_who_is_behind_it() -> None:
    world = lent(*BOTH)
    world.request("ada", "vm-python-2", 1, "any time today")
    assert needed(world, l1=BOTH) == ({}, {})
    world.request("bob", "vm-r", 1, "any time today")
    assert needed(world, l1=("T4-1",)) == ({}, {}), "it would be ada's own again"
    assert needed(world, l1=BOTH) == ({"1": BOTH}, {"1": "bob"})


@pytest.mark.parametrize("hindered", ["unknown", "maintenance", "set aside", "rests"])
def test_nothing_is_taken_for_somebody_who_could_not_have_it(hindered: str) -> None:
    world = lent(*BOTH)
    number = world.request("bob", "vm-r", 1, "any time today").number
    if hindered == "unknown":
        world.vms["vm-r"].unknown = True
    elif hindered == "maintenance":
        world.maintenance = True
    elif hindered == "set aside":
        world.do(lambda d: pool.drain(d, d.cards["T4-1"], "dana", "hot"))
        assert needed(world, l1=BOTH)[0] == {"1": ("T4-2",)}
        world.do(lambda d: pool.drain(d, d.cards["T4-2"], "dana", "hot"))
    else:
        world.do(lambda d: queue.withdraw(d, d.requests[number], "bob"))
    assert needed(world, l1=BOTH) == ({}, {})


# ---- parts of cards


def halves(*holders: tuple[str, str, str], cards: int = 1) -> ModesWorld:
    """Each a person, a machine and the half that they have."""
    world = ModesWorld(shared(*PCI[:cards]))
    for who, vm, _ in holders:
        world.put(vm, HALF)
        del who
    world.round()
    for who, vm, slot in holders:
        person, machine = world.people[who], world.books.machines[f"uuid-{vm}"]
        lease: Lease = world.do(
            lambda d, p=person, m=machine, s=slot: leases.adopt(
                d, m, (s,), p, Length(), by=p.id, policy=world.policy, kind=EIGHT
            )  # type: ignore[misc]
        )
        assert lease.kind == EIGHT
    world.round()
    return world


def asks(world: World, who: str, vm: str, kind: str, count: int = 1) -> None:
    wish = world.wish("any time today")
    wanted = queue.Wanted(count, kind, f"uuid-{vm}", Length(), "", wish)
    world.do(lambda d: queue.request(d, world.people[who], wanted, world.policy))


def test_one_quiet_half_serves_nobody_who_wants_the_whole_card() -> None:
    world = halves(("ada", "vm-python", "T4-1.1"), ("carol", "vm-train", "T4-1.2"))
    asks(world, "bob", "vm-r", SIXTEEN)
    (first,) = world.lease("1").slots
    (second,) = world.lease("2").slots
    assert needed(world, l1=(first,)) == ({}, {})
    assert needed(world, l1=(first,), l2=(second,)) == ({"1": (first,), "2": (second,)}, {"1": "bob", "2": "bob"})
    world.release("carol", "2")
    assert needed(world, l1=(first,)) == ({"1": (first,)}, {"1": "bob"}), "the other half is on its way back"


def test_one_quiet_half_serves_who_wants_a_half() -> None:
    world = halves(("ada", "vm-python", "T4-1.1"), ("carol", "vm-train", "T4-1.2"))
    asks(world, "bob", "vm-r", EIGHT)
    (first,) = world.lease("1").slots
    assert needed(world, l1=(first,)) == ({"1": (first,)}, {"1": "bob"})


def test_a_dynamic_card_that_is_quiet_serves_who_wants_one() -> None:
    world = ModesWorld(labelled(*PCI[:1]))
    world.put("vm-python", POOL)
    world.round()
    person, machine = world.people["ada"], world.books.machines["uuid-vm-python"]
    world.do(lambda d: leases.adopt(d, machine, ("T4-1",), person, Length(), by="ada", policy=world.policy))
    world.round()
    world.request("bob", "vm-r", 1, "any time today")
    assert world.lease("1").state is LeaseState.ACTIVE
    assert needed(world, l1=("T4-1",)) == ({"1": ("T4-1",)}, {"1": "bob"})


def test_who_waits_on_another_host_takes_nothing_here() -> None:
    world = lent(*BOTH)
    world.request("bob", "vm-r", 1, "any time today")
    there = replace(world.books.machines["uuid-vm-r"], host="host-2")
    world.books = replace(world.books, machines={**world.books.machines, there.uuid: there})
    look = world.look()
    assert look is not None
    moved = tuple(replace(m, host="host-2") if m.uuid == there.uuid else m for m in look.machines)
    world.look = lambda: replace(look, machines=moved)  # type: ignore[method-assign]
    assert needed(world, l1=BOTH) == ({}, {})
