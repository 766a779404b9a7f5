"""Cards that looks contradict: gone from their host, set aside and healed by three looks that agree; and those that broke, which stay out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain import hosts, pool, quarantine
from bot.domain.draft import Draft
from bot.domain.errors import Already, NotPossible
from bot.domain.model import AsideWhy, Books, Card, LeaseState, Mode, Power, Seen, SeenCard, SeenHost, SeenMachine, Vgpu
from bot.domain.news import ADMINS, NewsKind
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from tests.domain.world import MONDAY_10, PCI, World

MIN = timedelta(minutes=1)


class Host(World):
    """A world whose host does not list every card, or lists one at another address."""

    def __init__(self) -> None:
        self.listed = {pci: pci for pci in PCI}  # address of then -> of now; left out: not there
        super().__init__()

    def look(self) -> Seen | None:
        seen = super().look()
        if seen is None:
            return None
        cards = tuple(SeenCard(at, "10de:1eb8", "Tesla T4", True) for at in self.listed.values())
        return replace(seen, hosts=tuple(replace(h, cards=cards) for h in seen.hosts))


NEW = "0000:d8:00.0"


# ---- devices gone


def test_a_card_that_its_host_lists_no_more_is_lost_and_one_that_comes_later_is_a_new_one() -> None:
    world = Host()
    lease = world.give("vm-python", ("T4-1",))
    del world.listed[PCI[0]]
    world.round()
    assert world.lease(lease.label).state is LeaseState.ACTIVE, "one look is not enough"
    assert world.card("T4-1").aside is None
    world.round()
    assert world.lease(lease.label).state is LeaseState.RETURNING, "its machine still names it, and would not start so"
    aside = world.card("T4-1").aside
    assert aside is not None and aside.heals and "does not show it any more (it was at 0000:3b:00.0)" in aside.reason
    world.listed[NEW] = NEW
    world.round()
    assert world.books.cards["T4-5"].pci == NEW and world.books.cards["T4-5"].aside is None
    world.pass_time(10 * MIN, MIN)
    assert len(world.told(NewsKind.CARD_ASIDE, ADMINS)) == 1 and len(world.told(NewsKind.FAILED, "ada")) == 1
    assert "does not show it" in world.told(NewsKind.FAILED, "ada")[0].reason
    assert not world.told(NewsKind.STRANGER), "what is left in its settings is nothing that somebody has"


def test_some_of_several_gone_from_the_host_the_rest_runs_on() -> None:
    world = Host()
    lease = world.give("vm-python", ("T4-1", "T4-2"))
    del world.listed[PCI[1]]
    world.round()
    world.round()
    assert world.lease(lease.label).state is LeaseState.ACTIVE and world.lease(lease.label).slots == ("T4-1",)
    assert world.lease(f"{lease.label}b").state is LeaseState.RETURNING and world.card("T4-1").aside is None


def test_for_a_card_that_is_gone_no_night_is_made_certain_whoever_waits() -> None:
    world = Host()
    lease = world.give("vm-python", ("T4-1",))
    for slot in ("T4-2", "T4-3", "T4-4"):
        world.give("vm-train", (slot,))
    world.request("bob", "vm-r", 1, None)
    del world.listed[PCI[0]]
    world.pass_time(timedelta(hours=27), 30 * MIN)
    assert world.lease(lease.label).state is LeaseState.RETURNING and not world.told(NewsKind.FIRM_WINDOW)


def test_a_card_gone_from_its_host_for_one_look_says_nothing() -> None:
    world = Host()
    lease = world.give("vm-python", ("T4-1",))
    for _ in range(4):
        del world.listed[PCI[0]]
        world.round()
        world.listed[PCI[0]] = PCI[0]
        world.round()
    assert world.lease(lease.label).state is LeaseState.ACTIVE and world.card("T4-1").aside is None


def test_a_host_that_cannot_be_seen_says_nothing_of_its_cards() -> None:
    world = Host()
    lease = world.give("vm-python", ("T4-1",))
    del world.listed[PCI[0]]
    world.connected = False
    world.pass_time(30 * MIN, MIN)
    assert world.lease(lease.label).state is LeaseState.ACTIVE and world.card("T4-1").missing == 0


def test_a_reserved_card_that_is_gone_is_changed_for_an_equal_one() -> None:
    world = Host()
    number = world.request("bob", "vm-r", 1, "tonight").number
    world.round()
    slot = world.lease(number).slots[0]
    del world.listed[world.card(slot).pci]
    world.round()
    world.round()
    assert world.lease(number).state is LeaseState.RESERVED and world.lease(number).slots != (slot,)


def test_a_card_that_is_back_comes_back_by_itself() -> None:
    world = Host()
    del world.listed[PCI[3]]
    world.pass_time(MIN)
    assert world.card("T4-4").aside is not None
    world.listed[PCI[3]] = PCI[3]
    world.round()
    world.round()
    assert world.card("T4-4").aside is not None
    world.round()
    assert world.card("T4-4").aside is None
    (back,) = world.told(NewsKind.CARD_BACK)
    assert back.key == world.told(NewsKind.CARD_ASIDE)[0].key, "an edit of the message that it is out"


def test_one_look_without_its_device_fails_no_lease_however_often_a_round_asks() -> None:
    """A round settles leases twice; the same look counts once."""
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.vms["vm-python"].cards.clear()
    world.round()
    assert world.lease(lease.label).state is LeaseState.ACTIVE
    world.round()
    assert world.lease(lease.label).state is LeaseState.FAILED


# ---- set aside, healed, broken


def test_taken_off_by_hand_heals_when_three_looks_agree() -> None:
    world = World()
    world.give("vm-python", ("T4-1",))
    world.vms["vm-python"].cards.clear()
    world.round()
    world.round()
    assert world.card("T4-1").aside is not None
    for _ in range(2):
        world.round()
        assert world.card("T4-1").aside is not None
    world.round()
    assert world.card("T4-1").aside is None and len(world.told(NewsKind.CARD_BACK, ADMINS)) == 1


def test_while_it_sits_where_nobody_lent_it_it_does_not_heal_and_adopted_it_does() -> None:
    world = World()
    world.give("vm-python", ("T4-1",))
    world.vms["vm-python"].cards.clear()
    world.vms["vm-r"].cards.add(world.card("T4-1").pci)
    world.pass_time(5 * MIN)
    assert world.card("T4-1").aside is not None and world.told(NewsKind.STRANGER, "bob")
    world.give("vm-r", ("T4-1",))
    world.pass_time(MIN)
    assert world.card("T4-1").aside is None


def test_what_broke_stays_out_until_an_admin_puts_it_back() -> None:
    world = World()
    world.do(lambda d: pool.set_aside(d, d.cards["T4-1"], AsideWhy.QUARANTINED, "xid 79"))
    world.pass_time(timedelta(hours=1), 5 * MIN)
    assert world.card("T4-1").aside is not None
    world.do(lambda d: pool.undrain(d, d.cards["T4-1"], "dana"))
    assert world.card("T4-1").aside is None


def test_that_it_broke_is_not_forgotten_for_a_look_and_takes_its_place() -> None:
    world = World()
    put = lambda why, heals: world.do(  # noqa: E731
        lambda d: pool.set_aside(d, d.cards["T4-1"], AsideWhy.QUARANTINED, why, heals=heals)
    )
    put("gone", True)
    put("xid 79", False)
    put("gone", True)
    aside = world.card("T4-1").aside
    assert aside is not None and aside.reason == "xid 79" and not aside.heals
    world.pass_time(5 * MIN)
    assert world.card("T4-1").aside == aside


FIXED = Card("T4-1", "lab", "host-1", "esx-01", PCI[0], "T4", ids="10de:1eb8")
LOOKS = {  # what a look shows -> whether it agrees, for a card that nobody has
    "clean": True,
    "in a machine": False,
    "not listed": False,
    "off": False,
    "away": None,
    "maintenance": None,
    "half": None,
}


def sight_of(card: Card, shows: str) -> Sight:
    seen = SeenCard(
        card.pci, "10de:1eb8", "Tesla T4", shows != "off", card.mode, card.label, tuple(p for p, _ in card.profiles)
    )
    host = SeenHost(
        "lab", "host-1", "esx-01", shows != "away", shows == "maintenance", () if shows == "not listed" else (seen,)
    )
    taken = shows == "in a machine"
    machine = SeenMachine(
        "lab", "uuid-x", "vm-x", "host-1", Power.ON, (card.pci,) if taken and card.mode is Mode.FIXED else (),
        unplaced=(Vgpu(card.profiles[0][0]),) if taken and card.profiles else (),
    )  # fmt: skip
    books = Books(cards={card.name: card})
    return Sight(
        books, Seen(MONDAY_10, frozenset() if shows == "half" else frozenset({"lab"}), (host,), (machine,)), {}
    )


CARDS = (
    FIXED,
    replace(FIXED, mode=Mode.VGPU, profiles=(("grid_t4-8q", 2),)),
    replace(FIXED, mode=Mode.DYNAMIC, label="p"),
)


CASES = [(card, shows) for card in CARDS for shows in LOOKS if (card.mode, shows) != (Mode.DYNAMIC, "in a machine")]


@pytest.mark.parametrize(("card", "shows"), CASES, ids=lambda x: x if isinstance(x, str) else str(x.mode))
def test_what_a_look_says_of_a_card_that_nobody_has(card: Card, shows: str) -> None:
    draft = Draft(Books(cards={card.name: card}), MONDAY_10)
    assert quarantine.agrees(draft, sight_of(card, shows), card) is LOOKS[shows]


@settings(max_examples=150, deadline=None)
@given(shows=st.lists(st.sampled_from(sorted(LOOKS)), max_size=12), card=st.sampled_from(CARDS[:2]))
def test_it_heals_exactly_with_the_third_agreeing_look_in_a_row_and_the_unknown_counts_for_nothing(
    shows: list[str], card: Card
) -> None:
    books = Books(cards={card.name: card})
    draft = Draft(books, MONDAY_10)
    pool.set_aside(draft, card, AsideWhy.QUARANTINED, "gone", heals=True)
    run = 0
    for what in shows:
        quarantine.heal(draft, sight_of(card, what), draft.cards[card.name])
        says = LOOKS[what]
        run = run if says is None else run + 1 if says else 0
        if run == quarantine.LOOKS_TO_HEAL:
            assert draft.cards[card.name].aside is None
            return
        assert draft.cards[card.name].aside is not None


# ---- hosts


HOST = ("lab", "host-1")


def test_a_drained_host_takes_all_its_cards_also_later_ones_and_what_is_lent_stays() -> None:
    world = Host()
    lease = world.give("vm-python", ("T4-1",))
    world.do(lambda d: hosts.drain(d, HOST, "dana", "new memory"))
    world.listed["new"] = NEW
    world.round()
    assert all(c.aside is not None and c.aside.host == "esx-01" for c in world.books.cards.values())
    assert world.lease(lease.label).state is LeaseState.ACTIVE and "T4-5" in world.books.cards
    number = world.request("bob", "vm-r", 1, "now").number
    world.pass_time(10 * MIN, MIN)
    assert str(number) not in world.books.leases
    world.release("ada", lease.label, None, "now")
    world.until(lambda: world.lease(lease.label).state is LeaseState.ENDED, 20 * MIN)
    world.pass_time(2 * MIN)
    assert str(number) not in world.books.leases, "it came off, and rests"
    world.do(lambda d: hosts.undrain(d, HOST, "dana"))
    world.round()
    assert str(number) in world.books.leases


def test_what_was_said_of_one_card_holds_again_when_its_host_is_back() -> None:
    world = World()
    world.do(lambda d: pool.drain(d, d.cards["T4-1"], "dana", "loud fan"))
    world.do(lambda d: hosts.drain(d, HOST, "dana", "new memory"))
    world.do(lambda d: pool.set_aside(d, d.cards["T4-2"], AsideWhy.QUARANTINED, "xid 79"))
    world.do(lambda d: pool.drain(d, d.cards["T4-3"], "dana", "slow"))
    assert {c.aside.reason for c in world.books.cards.values() if c.aside} == {"new memory"}
    world.do(lambda d: hosts.undrain(d, HOST, "dana"))
    reasons = {c.name: c.aside.reason if c.aside else "" for c in world.books.cards.values()}
    assert reasons == {"T4-1": "loud fan", "T4-2": "xid 79", "T4-3": "slow", "T4-4": ""}
    assert not any(c.under for c in world.books.cards.values())


def test_what_heals_heals_under_a_drained_host_too() -> None:
    world = World()
    world.do(lambda d: pool.set_aside(d, d.cards["T4-2"], AsideWhy.QUARANTINED, "gone", heals=True))
    world.do(lambda d: hosts.drain(d, HOST, "dana", "new memory"))
    world.pass_time(MIN)
    card = world.card("T4-2")
    assert card.under is None and card.aside is not None and card.aside.host


def test_refusals_of_whole_hosts() -> None:
    world = World()
    with pytest.raises(Already):
        world.do(lambda d: hosts.undrain(d, HOST, "dana"))
    world.do(lambda d: hosts.drain(d, HOST, "dana", "new memory"))
    with pytest.raises(Already):
        world.do(lambda d: hosts.drain(d, HOST, "dana", "again"))
    with pytest.raises(NotPossible) as refused:
        world.do(lambda d: pool.undrain(d, d.cards["T4-1"], "dana"))
    assert refused.value.facts["works"] == "undrain esx-01"


@pytest.mark.parametrize(
    ("word", "found"), [("esx-01", 1), ("ESX-01", 1), ("esx-01.lab.example", 1), ("esx", 0), ("esx-02", 0), ("", 0)]
)
def test_hosts_by_the_names_that_people_type(word: str, found: int) -> None:
    card = replace(FIXED, host_name="esx-01.lab.example")
    assert len(hosts.named(Draft(Books(cards={"T4-1": card}), MONDAY_10), word)) == found


def test_policy_has_no_blackout_unless_the_site_says_so() -> None:
    assert Policy().blackout == ()
