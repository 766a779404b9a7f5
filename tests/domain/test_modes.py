"""Cards that are given by kind: dynamic ones and vGPUs, through ``decide`` in a world whose host places them when a machine starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain import pool, queue, slots, strangers
from bot.domain.draft import Draft
from bot.domain.errors import TooMany, UnknownKind
from bot.domain.model import (
    Card,
    LeaseState,
    Length,
    Mode,
    MoveState,
    Power,
    Request,
    RequestState,
    SeenCard,
    SeenHost,
)
from bot.domain.news import NewsKind
from bot.domain.policy import Policy
from bot.domain.promises import promise
from tests.domain.modes_world import HALF, IDS, POOL, SIZES, WHOLE, ModesWorld, labelled, shared
from tests.domain.world import PCI

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)
EIGHT, SIXTEEN = HALF.profile, WHOLE.profile


def ask(world: ModesWorld, who: str, vm: str, kind: str | None = EIGHT, count: int = 1, window: str = "now") -> Request:
    wanted = queue.Wanted(count, kind, f"uuid-{vm}", Length(), "", world.wish(window))
    return world.do(lambda d: queue.request(d, world.people[who], wanted, world.policy))


def active(world: ModesWorld, *labels: object) -> bool:
    return all(str(x) in world.books.leases and world.lease(str(x)).state is LeaseState.ACTIVE for x in labels)


def served(world: ModesWorld, who: str, vm: str, kind: str | None = EIGHT, count: int = 1) -> str:
    """Ask, and wait until it works."""
    label = str(ask(world, who, vm, kind, count).number)
    world.until(lambda: active(world, label), HOUR)
    return label


def place(world: ModesWorld, vm: str) -> list[str]:
    return [pci for _, pci in world.placed.get(vm, [])]


def card_at(world: ModesWorld, pci: str) -> str:
    return next(c.name for c in world.books.cards.values() if c.pci == pci)


# ---- what can be asked for


def test_cards_are_named_by_model_and_asked_for_by_profile() -> None:
    world = ModesWorld((*shared(PCI[0]), *labelled(PCI[1])))
    assert [(c.name, c.mode) for c in world.books.cards.values()] == [("T4-1", Mode.VGPU), ("T4-2", Mode.DYNAMIC)]
    assert slots.kinds(world.books) == ["T4", "grid_t4-16q", "grid_t4-4q", "grid_t4-8q"], (
        "B and A series compute nothing"
    )
    assert slots.all_of(world.books, EIGHT) == ["T4-1.1", "T4-1.2"] and slots.all_of(world.books, "T4") == ["T4-2"]


def test_a_site_may_choose_profiles_and_write_its_own_counts() -> None:
    policy = Policy(level="act", vgpu_profiles=frozenset({EIGHT, "grid_t4-8a"}), vgpu_counts={EIGHT: 1})
    world = ModesWorld(policy=policy)
    assert dict(world.books.cards["T4-1"].profiles) == {EIGHT: 1}, "of 8a no table knows how many"


def test_more_than_exist_and_unknown_profiles_are_refused() -> None:
    world = ModesWorld(shared(PCI[0]))
    with pytest.raises(TooMany) as refused:
        ask(world, "ada", "vm-python", EIGHT, 3)
    assert refused.value.facts["most"] == 2
    with pytest.raises(UnknownKind):
        ask(world, "ada", "vm-python", "grid_t4-8a")
    with pytest.raises(UnknownKind):
        ask(world, "ada", "vm-python", "T4")


def test_without_a_kind_whole_cards_are_meant_and_else_the_largest_part() -> None:
    assert queue.pick_kind(ModesWorld().books, None, 1) == SIXTEEN
    assert queue.pick_kind(ModesWorld((*shared(*PCI[:3]), *labelled(PCI[3]))).books, None, 1) == "T4"


# ---- the way there and back


def test_a_vgpu_goes_on_and_comes_off() -> None:
    world = ModesWorld()
    label = served(world, "ada", "vm-python")
    assert world.asked["vm-python"] == [HALF] and world.vms["vm-python"].power is Power.ON
    assert world.lease(label).seen_vcenter is not None
    world.release("ada", label, window="now")
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, HOUR)
    assert world.asked["vm-python"] == [] and not world.books.holds


def test_a_dynamic_card_goes_on_and_comes_off_and_has_the_name_of_where_it_runs() -> None:
    world = ModesWorld(labelled(*PCI))
    label = served(world, "ada", "vm-python", "T4", 2)
    assert world.asked["vm-python"] == [POOL, POOL]
    assert sorted(world.lease(label).slots) == sorted(card_at(world, p) for p in place(world, "vm-python"))
    assert "T4-4" in world.lease(label).slots, "the host took the last cards"
    world.release("ada", label, ("T4-4",), "now")
    world.until(lambda: world.asked["vm-python"] == [POOL], HOUR)
    world.pass_time(5 * MIN)
    assert active(world, label) and len(world.lease(label).slots) == 1


def test_a_dynamic_lease_follows_its_card_over_the_owners_own_restart() -> None:
    world = ModesWorld(labelled(*PCI))
    ada, bob = served(world, "ada", "vm-python", "T4"), served(world, "bob", "vm-r", "T4")
    assert (world.lease(ada).slots, world.lease(bob).slots) == (("T4-4",), ("T4-3",))
    for vm in ("vm-python", "vm-r"):
        world.switch(vm, Power.OFF)
    world.pass_time(MIN)
    for vm in ("vm-r", "vm-python"):  # in the other order: each gets the other's card
        world.switch(vm, Power.ON)
    world.pass_time(5 * MIN)
    assert (world.lease(ada).slots, world.lease(bob).slots) == (("T4-3",), ("T4-4",))
    assert active(world, ada, bob) and not world.told(NewsKind.FAILED)


def test_a_host_that_lists_no_bindings_is_believed_by_the_settings() -> None:
    world = ModesWorld(labelled(*PCI))
    world.tells_bindings = False
    label = served(world, "ada", "vm-python", "T4")
    assert world.lease(label).slots == ("T4-1",)


# ---- one size a card


def test_parts_of_one_size_share_a_card_and_another_size_takes_another_card() -> None:
    world = ModesWorld(shared(*PCI[:2]), consolidates=True)
    first, second = served(world, "ada", "vm-python"), served(world, "bob", "vm-r")
    assert len({slots.card_name(s) for x in (first, second) for s in world.lease(x).slots}) == 1
    third = served(world, "carol", "vm-train", SIXTEEN)
    assert slots.card_name(world.lease(third).slots[0]) != slots.card_name(world.lease(first).slots[0])


def test_spread_halves_block_a_whole_card_although_half_of_each_is_free() -> None:
    world = ModesWorld(shared(*PCI[:2]))
    served(world, "ada", "vm-python")
    served(world, "bob", "vm-r")
    whole = ask(world, "carol", "vm-train", SIXTEEN)
    world.pass_time(30 * MIN)
    assert world.req(whole.number).state is RequestState.QUEUED
    half = ask(world, "ada", "vm-python-2")
    world.until(lambda: active(world, half.number), HOUR)


def test_a_card_takes_another_size_when_its_last_part_is_back() -> None:
    world = ModesWorld(shared(PCI[0]))
    label = served(world, "ada", "vm-python")
    whole = ask(world, "carol", "vm-train", SIXTEEN, window="any time today")
    world.pass_time(5 * MIN)
    assert world.req(whole.number).state is RequestState.QUEUED
    world.release("ada", label, window="now")
    world.until(lambda: active(world, whole.number), 2 * HOUR)


# ---- hosts decide


def test_no_room_at_power_on_takes_the_part_off_again_and_the_place_is_kept() -> None:
    world = ModesWorld(shared(PCI[0]))
    request = ask(world, "ada", "vm-python")
    world.until(lambda: world.move("vm-python").state is MoveState.CHANGING if world.books.moves else False, HOUR)
    world.asked["vm-r"], world.placed["vm-r"] = [WHOLE], [(WHOLE, PCI[0])]  # somebody starts a whole card elsewhere
    world.until(lambda: world.books.moves[1].state is MoveState.DONE, HOUR)
    assert world.asked["vm-python"] == [] and world.vms["vm-python"].power is Power.ON
    lease = world.lease(request.number)
    assert lease.state is LeaseState.RESERVED or world.req(request.number).state is RequestState.QUEUED
    world.asked["vm-r"], world.placed["vm-r"] = [], []
    world.now += timedelta(seconds=1)  # what is agreed after it is in line again is for that
    world.agree("ada", "vm-python", "now", str(request.number))
    world.until(lambda: active(world, request.number), 2 * HOUR)


def test_a_lease_follows_the_card_that_the_host_chose() -> None:
    world = ModesWorld(shared(*PCI[:2]), consolidates=False)
    world.prefers = [PCI[1], PCI[0]]
    label = served(world, "ada", "vm-python")
    assert slots.card_name(world.lease(label).slots[0]) == card_at(world, PCI[1])


# ---- strangers


def test_a_strangers_vgpu_takes_its_part_and_sizes_its_card() -> None:
    world = ModesWorld(shared(PCI[0]))
    world.put("vm-r", HALF)
    world.pass_time(MIN)
    (stranger,) = {n.slots for n in world.told(NewsKind.STRANGER, "bob")}
    assert slots.card_name(stranger[0]) == "T4-1"
    whole = ask(world, "ada", "vm-python", SIXTEEN)
    world.pass_time(10 * MIN)
    assert world.req(whole.number).state is RequestState.QUEUED, "its card runs halves"
    world.do(lambda d: queue.withdraw(d, d.requests[whole.number], "ada"))
    half = ask(world, "ada", "vm-python")
    world.until(lambda: active(world, half.number), HOUR)
    another = ask(world, "carol", "vm-train")
    world.pass_time(10 * MIN)
    assert world.req(another.number).state is RequestState.QUEUED, "both halves are taken"


@pytest.mark.parametrize("off", [False, True], ids=["running", "off"])
def test_a_strangers_dynamic_card_is_granted_to_nobody(off: bool) -> None:
    world = ModesWorld(labelled(*PCI[:2]))
    world.put("vm-r", POOL)
    if off:
        world.switch("vm-r", Power.OFF)
    first, second = ask(world, "ada", "vm-python", "T4"), ask(world, "carol", "vm-train", "T4")
    world.pass_time(30 * MIN)
    assert active(world, first.number) and not active(world, second.number)
    world.put("vm-r")
    world.until(lambda: active(world, second.number), 2 * HOUR)


def test_a_dynamic_device_without_label_may_take_any_card_and_counts() -> None:
    world = ModesWorld(labelled(PCI[0]))
    world.put("vm-r", type(POOL)(IDS, ""))
    request = ask(world, "ada", "vm-python", "T4")
    world.pass_time(20 * MIN)
    assert world.req(request.number).state is RequestState.QUEUED


def test_a_fixed_device_of_a_stranger_blocks_the_dynamic_card_that_it_names() -> None:
    world = ModesWorld(labelled(PCI[0]))
    world.vms["vm-r"].cards = {PCI[0]}
    request = ask(world, "ada", "vm-python", "T4")
    world.pass_time(20 * MIN)
    assert world.req(request.number).state is RequestState.QUEUED


def test_a_stranger_without_the_label_may_have_any_card_and_is_not_taken_over() -> None:
    fixed = SeenCard(PCI[0], IDS, "Tesla T4", True)
    world = ModesWorld((fixed, *labelled(*PCI[1:])))
    world.asked["vm-train"], world.placed["vm-train"] = [type(POOL)(IDS, "")], [(type(POOL)(IDS, ""), PCI[0])]
    world.pass_time(MIN)
    (one,) = strangers.found(Draft(world.books, world.now), world.sight())
    assert (one.slot, bool(one.why)) == (card_at(world, PCI[0]), True), "it runs on that card, and on no other"
    assert not world.sight().clean(one.slot) and all(world.sight().clean(f"T4-{n}") for n in (2, 3, 4))


def test_parts_of_two_sizes_in_one_strangers_machine_are_nobodys_size() -> None:
    world = ModesWorld(shared(*PCI[:2]))
    quarter = type(HALF)("grid_t4-4q")
    world.asked["vm-r"] = [HALF, quarter]
    world.placed["vm-r"] = [(HALF, PCI[0]), (quarter, PCI[1])]
    request = ask(world, "ada", "vm-python")
    world.pass_time(10 * MIN)
    assert world.req(request.number).state is RequestState.QUEUED, "which card is cut in halves nobody can tell"


def test_a_strangers_two_halves_are_seated_where_they_run() -> None:
    world = ModesWorld(shared(*PCI[:2]))
    world.put("vm-r", HALF, HALF)
    world.pass_time(MIN)
    found = strangers.found(Draft(world.books, world.now), world.sight())
    assert sorted(x.slot for x in found) == ["T4-1.1", "T4-2.1"] and {x.kind for x in found} == {EIGHT}


# ---- hands on vCenter


def test_a_part_taken_off_by_hand_ends_what_returns_and_fails_what_works() -> None:
    world = ModesWorld(shared(PCI[0]))
    label = served(world, "ada", "vm-python", EIGHT, 2)
    world.release("ada", label, (world.lease(label).slots[0],))
    world.pass_time(MIN)
    world.put("vm-python", HALF)
    world.pass_time(MIN)
    assert world.lease(f"{label}b").state is LeaseState.ENDED, "of two equal parts it is the returning one that is off"
    assert active(world, label)
    world.put("vm-python")
    world.pass_time(2 * MIN)
    assert world.lease(label).state is LeaseState.FAILED


def test_a_part_put_on_by_hand_is_gone_on_with() -> None:
    world = ModesWorld(shared(PCI[0]))
    request = ask(world, "ada", "vm-python", window="tonight")
    world.pass_time(MIN)
    assert world.lease(request.number).state is LeaseState.RESERVED
    world.put("vm-python", HALF)
    world.until(lambda: active(world, request.number), HOUR)


def test_another_mode_waits_until_nobody_has_the_card() -> None:
    world = ModesWorld(labelled(PCI[0]))
    label = served(world, "ada", "vm-python", "T4")
    world.rig = shared(PCI[0])
    world.pass_time(MIN)
    assert world.card("T4-1").mode is Mode.DYNAMIC and world.told(NewsKind.CARD_CHANGED)
    world.release("ada", label, window="now")
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, HOUR)
    world.pass_time(MIN)
    assert world.card("T4-1").mode is Mode.VGPU and dict(world.card("T4-1").profiles)[EIGHT] == 2


def test_a_card_that_cannot_be_given_is_granted_to_nobody() -> None:
    old = SeenCard(PCI[0], IDS, "Tesla T4", True, Mode.DYNAMIC, "pool")
    world = ModesWorld((old,))
    world.rig = (SeenCard(PCI[0], IDS, "Tesla T4", False, Mode.DYNAMIC, "pool", trouble="needs vCenter 7.0"),)
    request = ask(world, "ada", "vm-python", "T4")
    world.pass_time(10 * MIN)
    assert world.req(request.number).state is RequestState.QUEUED


# ---- handed on


def test_equal_parts_are_handed_on_without_a_power_cycle() -> None:
    world = ModesWorld(shared(PCI[0]))
    label = served(world, "ada", "vm-python", EIGHT, 2)
    world.vms["vm-python"].owners = ("ada",)
    world.release("ada", label)
    again = ask(world, "ada", "vm-python", EIGHT, 2)
    before = list(world.acts("vm-python"))
    world.until(lambda: active(world, again.number), HOUR)
    assert world.acts("vm-python") == before


def test_drained_and_quarantined_cards_give_no_parts() -> None:
    world = ModesWorld(shared(*PCI[:2]))
    world.do(lambda d: pool.drain(d, d.cards["T4-1"], "dana", "new fan"))
    label = served(world, "ada", "vm-python")
    assert slots.card_name(world.lease(label).slots[0]) == "T4-2"


# ---- who waits for whom


def test_one_who_wants_a_whole_card_is_not_passed_for_ever() -> None:
    world = ModesWorld(shared(*PCI[:2]))
    first = served(world, "ada", "vm-python")
    served(world, "bob", "vm-r")
    whole = ask(world, "carol", "vm-train", SIXTEEN, window="any time today")
    third = ask(world, "ada", "vm-python-2")
    world.until(lambda: active(world, third.number), HOUR)
    kept = {card_at(world, PCI[0]), card_at(world, PCI[1])} - {slots.card_name(world.lease(third.number).slots[0])}
    fourth = world.do(lambda d: queue.request(d, world.people["bob"], half_for("vm-r"), world.policy))
    world.pass_time(30 * MIN)
    assert world.req(fourth.number).state is RequestState.QUEUED, "the only free half is on the card kept for carol"
    holder = next(x for x in (first, "2") if slots.card_name(world.lease(x).slots[0]) in kept)
    world.release(world.lease(holder).person, holder, window="now")
    world.until(lambda: active(world, whole.number), 2 * HOUR)


def half_for(vm: str) -> queue.Wanted:
    return queue.Wanted(1, EIGHT, f"uuid-{vm}", Length(), "")


def test_who_waits_for_another_size_waits_for_the_card() -> None:
    world = ModesWorld(shared(PCI[0]))
    label = served(world, "ada", "vm-python")
    assert not queue.contended(world.books, EIGHT)
    ask(world, "carol", "vm-train", SIXTEEN)
    assert queue.contended(world.books, EIGHT) and queue.contended(world.books, SIXTEEN)
    assert not queue.contended(world.books, "T4")
    assert queue.shortage(Draft(world.books, world.now), EIGHT) == 1, "the other half is free"
    world.pass_time(2 * HOUR)
    end = world.lease(label).end
    assert end is not None
    world.now = end + MIN
    world.round()
    assert world.lease(label).state is LeaseState.RETURNING, "somebody waits, so it does not run on"


def test_no_latest_time_is_promised_while_sizes_compete() -> None:
    world = ModesWorld(shared(PCI[0]))
    served(world, "ada", "vm-python")
    half = ask(world, "bob", "vm-r", EIGHT, 2)
    whole = ask(world, "carol", "vm-train", SIXTEEN)
    for request in (half, whole):
        promised = promise(world.books, world.req(request.number), world.now, world.policy, lambda _: "Europe/Berlin")
        assert promised.likely is not None and promised.latest is None


@pytest.mark.parametrize("to", [Mode.FIXED, Mode.VGPU])
def test_a_reserved_card_that_loses_its_label_is_changed_taken_as_it_is_or_given_up(to: Mode) -> None:
    """A restart for a start that could only fail is never made."""
    world = ModesWorld(labelled(*PCI))
    label = str(ask(world, "ada", "vm-python", "T4", 3, "tonight").number)
    world.round()
    sizes = SIZES if to is Mode.VGPU else ()
    for one in (1, 2) if to is Mode.VGPU else (1,):
        lost = world.card(world.lease(label).slots[0]).pci
        world.rig = tuple(replace(c, mode=to, label="", profiles=sizes) if c.pci == lost else c for c in world.rig)
        world.round()
        if to is Mode.VGPU and one == 1:
            assert lost not in {world.card(s).pci for s in world.lease(label).slots}, "an equal one was free"
    world.pass_time(14 * HOUR, 15 * MIN)
    if to is Mode.FIXED:
        assert active(world, label) and world.vms["vm-python"].cards == {lost} and len(place(world, "vm-python")) == 2
        assert world.acts("vm-python").count("shutdown") == 1 and not world.told(NewsKind.CARD_CHANGED)
    else:
        assert world.lease(label).state is LeaseState.ENDED and "shutdown" not in world.acts("vm-python")


def test_a_cards_size_is_kept_when_its_host_does_not_tell_it() -> None:
    card = Card("T4-1", "lab", "host-1", "esx-01", "0000:3b:00.0", "T4")
    host = SeenHost("lab", "host-1", "esx-01", True, False)
    for told, kept in ((16 << 10, 16 << 10), (0, 16 << 10)):
        card = pool.as_seen(card, host, SeenCard(card.pci, "10de:1eb8", "Tesla T4", True, memory_mb=told), Policy())
        assert card.memory_mb == kept
