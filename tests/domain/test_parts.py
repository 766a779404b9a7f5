"""Cards that are given by kind, where it is easy to go wrong: what came off before, sizes that wait for each other, seats that change."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain import leases, quarantine, slots
from bot.domain.draft import Draft
from bot.domain.idle.identity import pair
from bot.domain.leases.common import Round
from bot.domain.model import LeaseState, MoveState, Power, RequestState, SeenCard, Turn
from bot.domain.sight import Sight
from tests.domain.modes_world import IDS, WHOLE, ModesWorld, shared
from tests.domain.test_modes import EIGHT, HOUR, MIN, SIXTEEN, active, ask, place, served
from tests.domain.world import PCI, device


def test_what_came_off_on_the_way_back_of_an_earlier_restart_is_not_given_back_by_that() -> None:
    world = ModesWorld(shared(PCI[0]))
    label = str(ask(world, "ada", "vm-python").number)
    world.until(lambda: world.move("vm-python").state is MoveState.CHANGING if world.books.moves else False, HOUR)
    world.asked["vm-r"], world.placed["vm-r"] = (
        [WHOLE],
        [(WHOLE, PCI[0])],
    )  # no room when it is started: taken off again
    world.until(lambda: world.books.moves[1].state is MoveState.DONE, HOUR)
    world.asked["vm-r"], world.placed["vm-r"] = [], []
    world.now += timedelta(seconds=1)  # what is agreed after it is in line again is for that
    world.agree("ada", "vm-python", "now", label)
    world.until(lambda: active(world, label), 2 * HOUR)
    world.do(lambda d: leases.release(d, d.leases[label], None, "ada"))
    world.round()
    assert world.lease(label).state is LeaseState.RETURNING and place(world, "vm-python"), "it is still there"
    world.agree("ada", "vm-python", "now", label)
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, HOUR)
    assert not place(world, "vm-python")


def test_who_has_a_turn_for_a_part_takes_no_empty_card_for_which_another_waits_whole() -> None:
    world = ModesWorld(shared(*PCI[:2]), consolidates=True)
    world.policy = replace(world.policy, pool_share=1.0)
    world.request("bob", "vm-r", 2, "now", "for 30h", EIGHT)
    world.until(lambda: active(world, "1"), HOUR)
    world.request("ada", "vm-python", 2, "now", "for 2h", EIGHT)
    world.until(lambda: active(world, "2"), HOUR)
    world.do(lambda d: leases.release(d, d.leases["1"], None, "bob"))
    world.agree("bob", "vm-r", "at 18:00", "1")
    carol = ask(world, "carol", "vm-train", SIXTEEN).number
    world.round()
    half = world.request("ada", "vm-python-2", 1, "at 18:00", "", EIGHT).number
    world.round()
    assert {h.label for h in world.books.holds if h.turn is Turn.NEXT} == {str(half)}
    world.do(lambda d: leases.release(d, d.leases["2"], None, "ada"))
    world.agree("ada", "vm-python", "now", "2")
    world.until(lambda: world.lease("2").state is LeaseState.ENDED, HOUR)
    world.pass_time(20 * MIN)
    assert active(world, carol), "she asked before"


def restarted(world: ModesWorld, vm: str, *prefers: str) -> None:
    """Its owner restarts it, and the host places it anew."""
    world.prefers = list(prefers)
    world.switch(vm, Power.OFF)
    world.switch(vm, Power.ON)
    world.round()


def test_a_part_that_runs_where_another_size_is_kept_changes_the_cards_of_both() -> None:
    world = ModesWorld(shared(*PCI[:2]))
    world.prefers = [PCI[0], PCI[1]]
    half = served(world, "ada", "vm-python", EIGHT, 2)
    world.do(lambda d: leases.release(d, d.leases[half], ("T4-2.1",), "ada"))
    world.agree("ada", "vm-python", "now")
    world.until(lambda: world.lease(half).slots == ("T4-1.1",) and len(place(world, "vm-python")) == 1, HOUR)
    quarter = str(ask(world, "carol", "vm-train", "grid_t4-4q", 2, "at 18:00").number)
    world.until(lambda: quarter in world.books.leases, HOUR)
    assert set(world.lease(quarter).slots) == {"T4-2.1", "T4-2.2"}
    restarted(world, "vm-python", PCI[1], PCI[0])
    assert place(world, "vm-python") == [PCI[1]]
    assert {slots.card_name(s) for s in world.lease(half).slots} == {"T4-2"}
    assert set(world.lease(quarter).slots) == {"T4-1.1", "T4-1.2"}, "it has a card of its own, as before"


def test_a_part_that_is_lent_and_not_there_is_no_agreement() -> None:
    world = ModesWorld(shared(PCI[0]))
    label = served(world, "ada", "vm-python")
    world.pass_time(30 * MIN)
    card = world.books.cards["T4-1"]
    sight = Sight(world.books, world.look(), {})
    assert quarantine.agrees(Draft(world.books, world.now), sight, card)
    world.asked["vm-python"], world.placed["vm-python"] = [], []
    sight = Sight(world.books, world.look(), {})
    assert world.lease(label).slots == ("T4-1.1",)
    assert quarantine.agrees(Draft(world.books, world.now), sight, card) is False


def test_a_whole_card_and_a_part_on_one_machine_are_told_apart_in_its_guest() -> None:
    world = ModesWorld((SeenCard(PCI[0], IDS, "Tesla T4", True), *shared(PCI[1])))
    served(world, "ada", "vm-python", "T4")
    served(world, "ada", "vm-python", EIGHT)
    world.pass_time(10 * MIN)
    lent = tuple(s for x in world.books.leases.values() for s in x.slots)
    assert sorted(lent) == ["T4-1", "T4-2.1"]
    part, whole = replace(device(PCI[1], "quiet"), uuid="GPU-part", virtual="vgpu"), device(PCI[0], "busy")
    draft, by_place = (
        Draft(world.books, world.now),
        {("lab", "host-1", pci): f"T4-{n}" for n, pci in enumerate(PCI[:2], 1)},
    )
    lent_now = Round(Sight(draft, world.look(), world.readings()), world.people, world.policy)
    for seen in ((part, whole), (whole, part)):
        pairs = pair(draft, lent_now, "uuid-vm-python", lent, seen, by_place)
        assert pairs == {whole.uuid: "T4-1", part.uuid: "T4-2.1"}, "whatever the order"


def test_outside_working_hours_nobody_is_gone_past_for_one_whose_card_is_kept_for_another() -> None:
    world = ModesWorld(shared(*PCI[:2]))
    served(world, "ada", "vm-python", EIGHT, 2)  # a half of each
    world.people["bob"] = replace(world.people["bob"], zone="Pacific/Auckland")  # at night there
    ask(world, "carol", "vm-train", SIXTEEN)
    bob = world.request("bob", "vm-r", 1, None, "", EIGHT).number
    ask(world, "ada", "vm-python-2", EIGHT, 2)
    world.round()
    assert world.req(bob).state is RequestState.OFFERED, "the two halves are not both for ada"
