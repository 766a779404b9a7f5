"""Cards that sit on machines and are lent to nobody: asked about, taken over one by one or all at once, let go; never taken off or given away."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain import leases, pool, strangers, windows
from bot.domain.model import Card, LeaseState, Length, Power, RequestState, Vgpu
from bot.domain.news import ADMINS, NewsKind
from bot.domain.strangers import Bulk
from tests.domain.modes_world import HALF, POOL, WHOLE, ModesWorld, labelled, shared
from tests.domain.world import PCI, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def sits(world: World, vm: str, *slots: str) -> None:
    world.vms[vm].cards |= {world.card(s).pci for s in slots}


def take_over(world: World, days: int = 14) -> Bulk:
    sight = world.sight()
    return world.do(
        lambda d: strangers.take_over(
            d, strangers.found(d, sight), Length(days * DAY), lambda p: world.people[p], by="dana", policy=world.policy
        )
    )


# ---- asked, and left as they are


def test_a_stranger_is_asked_about_once_a_week_and_neither_given_nor_taken() -> None:
    world = World()
    sits(world, "vm-r", "T4-1", "T4-2", "T4-3", "T4-4")
    number = world.request("carol", "vm-train", 1, "now").number
    world.pass_time(3 * DAY, 30 * MIN)
    assert len(world.told(NewsKind.STRANGER, "bob")) == 4, "each once"
    world.pass_time(5 * DAY, 30 * MIN)
    assert len(world.told(NewsKind.STRANGER, "bob")) == 8, "and again in another week"
    assert world.req(number).state is RequestState.QUEUED and len(world.vms["vm-r"].cards) == 4
    assert not world.acts("vm-r") and not world.acts("vm-train")


def test_the_question_is_edited_when_it_is_answered() -> None:
    world = World()
    sits(world, "vm-r", "T4-1")
    world.pass_time(MIN)
    (asked,) = world.told(NewsKind.STRANGER, "bob")
    take_over(world)
    (over,) = world.told(NewsKind.STRANGER_OVER, "bob")
    assert over.key == asked.key and over.lease is not None and over.lease.person == "bob"


# ---- all at once


def test_all_are_taken_over_at_once_quietly() -> None:
    world = World()
    sits(world, "vm-r", "T4-1", "T4-2")
    sits(world, "vm-train", "T4-3")
    before = len(world.news)
    bulk = take_over(world)
    assert [(x.person, x.slots) for x in bulk.adopted] == [("bob", ("T4-1", "T4-2")), ("carol", ("T4-3",))]
    assert all(x.state is LeaseState.ACTIVE and x.end == world.now + 14 * DAY for x in bulk.adopted)
    told = [(n.kind, n.to) for n in world.news[before:]]
    assert sorted(told) == sorted(
        [(NewsKind.TAKEN_OVER, "bob"), (NewsKind.TAKEN_OVER, "carol"), (NewsKind.TAKEN_OVER, ADMINS)]
    )
    world.pass_time(HOUR, MIN)
    assert not world.told(NewsKind.STRANGER) and not world.acts("vm-r")
    assert not bulk.refused and take_over(world).adopted == ()


def test_nobody_is_asked_about_quiet_cards_that_were_taken_over_and_none_is_taken_back() -> None:
    from dataclasses import replace

    from bot.domain.policy import IdlePolicy, Policy

    world = World(policy=Policy(level="act", idle=IdlePolicy(nudge=True)))
    sits(world, "vm-r", "T4-1", "T4-2", "T4-3", "T4-4")
    world.vms["vm-r"].does = {"": "held"}
    bulk = take_over(world)
    assert not any(x.terms.take_back for x in bulk.adopted)
    world.request("carol", "vm-train", 1, "now")
    world.pass_time(5 * HOUR, MIN)
    assert not world.told(NewsKind.NUDGE)
    world.do(lambda d: d.put(replace(d.leases[bulk.adopted[0].label], quiet=False)))
    world.pass_time(5 * MIN, MIN)
    assert world.told(NewsKind.NUDGE), "else they would have been"


def test_of_several_owners_the_first_has_them() -> None:
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("carol", "bob"), "dana"))
    sits(world, "vm-r", "T4-1")
    bulk = take_over(world)
    assert bulk.adopted[0].person == "carol" and bulk.shared == ("uuid-vm-r",)


def test_each_that_cannot_be_taken_over_is_left_with_its_reason() -> None:
    world = World()
    sits(world, "vm-r", "T4-1")
    sits(world, "vm-train", "T4-1")
    sits(world, "vm-python", "T4-2")
    world.switch("vm-train", Power.OFF)
    world.do(lambda d: pool.remove_machine(d, d.machines["uuid-vm-python"], "dana"))
    sits(world, "vm-python-2", "T4-3")
    world.people["ada"] = type(world.people["ada"])("ada", "ada", "Europe/Berlin", active=False)
    bulk = take_over(world)
    why = {x.slot: x.why for x in bulk.refused}
    assert not bulk.adopted and set(why) == {"T4-1", "T4-2", "T4-3"}
    assert "in the settings of vm-r and vm-train" in why["T4-1"]
    assert "vm-python is not known to me: machine add vm-python" in why["T4-2"]
    assert "cannot answer any more" in why["T4-3"]
    assert not world.told(NewsKind.TAKEN_OVER)


def test_what_a_look_cannot_tell_is_not_taken_over() -> None:
    world = World()
    sits(world, "vm-r", "T4-1")
    world.connected = False
    assert take_over(world) == Bulk((), (), ())


def test_parts_of_vgpu_cards_are_taken_over_as_the_profile_that_their_machine_asks_for() -> None:
    world = ModesWorld(shared(*PCI[:3]))
    world.put("vm-r", HALF, HALF)
    world.put("vm-train", WHOLE)
    bulk = take_over(world)
    made = {x.machine: (x.kind, len(x.slots)) for x in bulk.adopted}
    assert made == {"uuid-vm-r": (HALF.profile, 2), "uuid-vm-train": (WHOLE.profile, 1)}, world.describe()
    world.pass_time(5 * MIN)
    assert all(world.lease(x.label).state is LeaseState.ACTIVE for x in bulk.adopted)


def test_a_profile_that_is_not_lent_is_left() -> None:
    world = ModesWorld(shared(PCI[0]))
    world.put("vm-r", Vgpu("grid_t4-1b"))
    bulk = take_over(world)
    assert not bulk.adopted and "grid_t4-1b, which is not lent here" in bulk.refused[0].why


def test_a_dynamic_card_is_taken_over_and_let_go() -> None:
    world = ModesWorld(labelled(*PCI[:2]))
    world.put("vm-r", POOL)
    (lease,) = take_over(world).adopted
    assert world.card(lease.slots[0]).label == "pool"
    world.release("bob", lease.label, None, "now")
    world.until(lambda: world.lease(lease.label).state is LeaseState.ENDED, HOUR)
    assert world.asked["vm-r"] == []


# ---- let go


def let_go(world: World, who: str, vm: str, slots: tuple[str, ...], window: str | None, kind: str = "") -> str:
    """As the verb does it."""
    machine, wish = f"uuid-{vm}", world.wish(window)

    def act(d):  # type: ignore[no-untyped-def]
        lease = leases.adopt(
            d,
            d.machines[machine],
            slots,
            world.people[who],
            Length(),
            by=who,
            policy=world.policy,
            tell=False,
            kind=kind,
        )
        lease = leases.release(d, lease, None, who, "let go")
        if wish is not None:
            windows.agree(d, d.machines[machine], world.people[who], wish, world.policy, lease.label)
        return lease.label

    return str(world.do(act))


def test_letgo_without_a_time_restarts_nothing_and_asks() -> None:
    world = World()
    sits(world, "vm-r", "T4-1")
    label = let_go(world, "bob", "vm-r", ("T4-1",), None)
    world.pass_time(HOUR, MIN)
    assert world.lease(label).state is LeaseState.RETURNING and "shutdown" not in world.acts("vm-r")
    assert not world.told(NewsKind.STRANGER)


def test_letgo_comes_out_in_the_agreed_window_and_the_machine_is_on_again() -> None:
    world = World()
    sits(world, "vm-r", "T4-1")
    label = let_go(world, "bob", "vm-r", ("T4-1",), "now")
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, HOUR)
    world.pass_time(5 * MIN)
    assert world.vms["vm-r"].cards == set() and world.vms["vm-r"].power is Power.ON
    assert world.acts("vm-r").count("shutdown") == 1 and world.card("T4-1").aside is None


def test_letgo_of_a_half_leaves_the_other() -> None:
    world = ModesWorld(shared(PCI[0]))
    world.put("vm-r", HALF, HALF)
    world.round()
    slot = strangers.found(world_draft(world), world.sight())[0].slot
    label = let_go(world, "bob", "vm-r", (slot,), "now", HALF.profile)
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, HOUR)
    world.pass_time(5 * MIN)
    assert world.asked["vm-r"] == [HALF] and world.vms["vm-r"].power is Power.ON


def world_draft(world: World):  # type: ignore[no-untyped-def]
    from bot.domain.draft import Draft

    return Draft(world.books, world.now)


@pytest.mark.parametrize("slot", ["T4-1"])
def test_cards_know_their_kind(slot: str) -> None:
    world = World()
    sits(world, "vm-r", slot)
    (one,) = strangers.found(world_draft(world), world.sight())
    card: Card = world.card(slot)
    assert (one.slot, one.machine, one.kind, one.why) == (slot, "uuid-vm-r", card.kind, "")
