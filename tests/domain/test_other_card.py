"""Another card at an address that the books know: it is never lent as the card that was there, and that one is gone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.model import LeaseState, Power, Seen, SeenCard
from bot.domain.news import ADMINS, NewsKind
from bot.domain.policy import Policy
from tests.domain.world import PCI, World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)
T4, A100 = "10de:1eb8", "10de:20f1"
BOTH = replace(Policy(level="act"), kinds={T4: "T4", A100: "A100"})


class Swapping(World):
    """Its host can show any make at any address."""

    def __init__(self, makes: tuple[str, ...] = (T4, T4, T4, T4), policy: Policy = BOTH) -> None:
        self.makes = list(makes)
        super().__init__(policy=policy)

    def look(self) -> Seen | None:
        seen = super().look()
        if seen is None:
            return None
        cards = tuple(SeenCard(p, ids, f"make {ids}", True) for p, ids in zip(PCI, self.makes, strict=True))
        return replace(seen, hosts=(replace(seen.hosts[0], cards=cards),))


@pytest.mark.parametrize("policy", [BOTH, Policy(level="act")], ids=["a kind", "no kind"])
def test_a_free_card_that_is_replaced_is_gone_and_the_other_has_a_name_of_its_own(policy: Policy) -> None:
    world = Swapping(policy=policy)
    world.makes[0] = A100
    world.round()
    world.request("bob", "vm-r", 1, "now")
    world.pass_time(5 * MIN)
    assert world.card("T4-1").aside is not None and "another card" in world.told(NewsKind.CARD_ASIDE, ADMINS)[0].reason
    names = {c.name: c.ids for c in world.books.cards.values() if c.missing == 0}
    assert names == {"T4-2": T4, "T4-3": T4, "T4-4": T4} | ({"A100-1": A100} if policy is BOTH else {})
    world.until(lambda: world.vms["vm-r"].cards, HOUR)
    assert PCI[0] not in world.vms["vm-r"].cards
    world.makes[0] = T4
    world.pass_time(5 * MIN)
    assert world.card("T4-1").aside is None and world.card("T4-1").missing == 0, "it is back"
    assert policy is not BOTH or world.card("A100-1").aside is not None


def test_one_look_with_another_make_and_looks_without_any_change_nothing() -> None:
    world = Swapping()
    for make in ("", "0000:0000", A100, "", ""):
        world.makes[0] = make
        world.round()
    world.makes[0] = T4
    world.pass_time(MIN)
    assert set(world.books.cards) == {"T4-1", "T4-2", "T4-3", "T4-4"}
    assert not any(c.aside or c.missing or c.ids != T4 for c in world.books.cards.values())
    world.makes[0] = A100
    world.pass_time(2 * MIN)
    world.makes[0] = ""
    world.pass_time(5 * MIN)
    assert world.card("T4-1").aside is not None and world.card("A100-1").aside is None, "which it is was known"


def test_the_holder_and_the_admins_hear_that_a_lent_card_was_replaced() -> None:
    world = Swapping()
    lease = world.give("vm-r", ("T4-1",), "3d")
    world.switch("vm-r", Power.OFF)
    world.makes[0] = A100
    world.pass_time(5 * MIN)
    assert world.lease(lease.label).state not in (LeaseState.ACTIVE, LeaseState.MOVING, LeaseState.RESERVED)
    assert {n.to for n in world.told(NewsKind.FAILED) if "another card" in n.reason} == {"bob", ADMINS}
    assert not world.told(NewsKind.CARD_CHANGED) and not world.told(NewsKind.SHARED_SETTING)
    assert not world.told(NewsKind.STRANGER), "his machine names what he was lent"
    assert not world.vms["vm-r"].cards, "it does not start with that, so it came off"
    world.request("carol", "vm-train", 1, "now", kind="A100")
    world.until(lambda: world.vms["vm-train"].cards == {PCI[0]}, HOUR)


def test_a_machine_that_an_admin_gives_the_other_card_does_not_have_the_old_one() -> None:
    world = Swapping(policy=Policy(level="act"))
    world.makes[0] = A100
    world.pass_time(2 * MIN)
    world.switch("vm-train", Power.OFF)
    world.vms["vm-train"].cards.add(PCI[0])
    world.switch("vm-train", Power.ON)
    world.pass_time(5 * MIN)
    assert not world.told(NewsKind.SHARED_SETTING) and not world.told(NewsKind.STRANGER)


def test_two_makes_that_change_places_are_asked_about_and_lent_to_nobody() -> None:
    world = Swapping((T4, A100, T4, A100))
    world.makes = [A100, T4, T4, A100]
    world.round()
    world.request("bob", "vm-r", 2, "now")
    world.request("carol", "vm-train", 2, "now", kind="A100")
    world.pass_time(HOUR)
    assert not world.vms["vm-r"].cards and not world.vms["vm-train"].cards
    asked = {n.slots for n in world.told(NewsKind.WHICH_CARD) if n.to == ADMINS}
    assert asked == {("T4-1",), ("A100-1",)}


def test_a_card_that_is_replaced_while_its_machine_is_off_for_it_is_not_put_on() -> None:
    world = Swapping()
    world.vms["vm-r"].stop_takes = timedelta(seconds=10)  # one look is all that there is
    world.request("bob", "vm-r", 1, "now")
    world.until(lambda: "shutdown" in world.acts("vm-r"), HOUR)
    assert not world.vms["vm-r"].cards
    world.makes = [A100, A100, A100, A100]
    world.until(lambda: "power_on" in world.acts("vm-r"), HOUR)
    assert "change" not in world.acts("vm-r") and not world.vms["vm-r"].cards
