"""Where a card is that nobody has: each change once in the ledger, and nothing on half a view."""

from datetime import timedelta

from bot.domain.model import Power
from bot.domain.standing import AWAY, ELSEWHERE, POOL, UNUSABLE
from tests.domain.modes_world import HALF, ModesWorld, labelled, shared
from tests.domain.world import PCI, World

MINUTE = timedelta(minutes=1)


def told(world: World, card: str = "T4-1") -> list[str]:
    """What the ledger says of where a card is."""
    words = ("card.in_pool", "card.elsewhere", "card.unusable", "card.host_away")
    return [line.what for line in world.lines if line.about == card and line.what in words]


def test_a_card_that_is_put_into_a_machine_by_hand_is_elsewhere_until_it_comes_out() -> None:
    world = World()
    world.pass_time(MINUTE)
    assert world.books.cards["T4-1"].stands == POOL and told(world) == []
    world.vms["vm-r"].cards.add(PCI[0])
    world.pass_time(5 * MINUTE)
    assert world.books.cards["T4-1"].stands == ELSEWHERE and told(world) == ["card.elsewhere"]
    world.vms["vm-r"].cards.clear()
    world.pass_time(5 * MINUTE)
    assert world.books.cards["T4-1"].stands == POOL and told(world) == ["card.elsewhere", "card.in_pool"]
    assert told(world, "T4-2") == []


def test_what_is_lent_is_not_elsewhere_and_a_restart_for_it_writes_nothing() -> None:
    world = World()
    world.request("bob", "vm-r", window="now")
    world.pass_time(timedelta(minutes=20))
    lease = world.books.leases["1"]
    assert lease.state.value == "active" and all(told(world, slot) == [] for slot in world.books.cards)
    world.vms["vm-r"].power = Power.OFF
    world.pass_time(5 * MINUTE)
    assert all(told(world, slot) == [] for slot in world.books.cards)


def test_a_host_in_maintenance_keeps_its_cards_from_everybody_and_one_that_cannot_be_seen_says_nothing() -> None:
    world = World()
    world.looking = False
    world.pass_time(5 * MINUTE)
    world.looking, world.maintenance = True, True
    world.pass_time(2 * MINUTE)
    assert {c.stands for c in world.books.cards.values()} == {AWAY} and told(world) == ["card.host_away"]
    world.maintenance, world.connected = False, False
    world.pass_time(2 * MINUTE)
    assert told(world) == ["card.host_away"]
    world.connected = True
    world.pass_time(2 * MINUTE)
    assert told(world) == ["card.host_away", "card.in_pool"]


def test_a_setting_that_cannot_be_read_leaves_a_card_where_it_was() -> None:
    world = World()
    world.vms["vm-r"].cards.add(PCI[0])
    world.pass_time(MINUTE)
    world.vms["vm-r"].unknown = True
    world.pass_time(MINUTE)
    world.connected = False
    world.pass_time(MINUTE)
    world.connected = True
    world.vms["vm-r"].unknown = False
    world.pass_time(MINUTE)
    assert world.books.cards["T4-1"].stands == ELSEWHERE


def test_a_card_that_its_host_gives_in_another_way_now_cannot_be_had() -> None:
    world = ModesWorld(labelled(*PCI))
    world.pass_time(MINUTE)
    assert {c.stands for c in world.books.cards.values()} == {POOL}
    world.rig = tuple(c if c.pci != PCI[0] else type(c)(**{**vars(c), "active": False}) for c in world.rig)
    world.pass_time(MINUTE)
    assert world.books.cards["T4-1"].stands == UNUSABLE and told(world) == ["card.unusable"]


def test_of_a_shared_card_a_part_that_was_not_lent_makes_it_elsewhere() -> None:
    world = ModesWorld(shared(*PCI))
    world.pass_time(MINUTE)
    world.put("vm-train", HALF)
    world.pass_time(MINUTE)
    assert sorted(c.stands for c in world.books.cards.values()) == [POOL, POOL, POOL, ELSEWHERE]
