"""``adopt all``: the first day of a site, in what people say and read."""

from __future__ import annotations

import pytest

from bot.domain.model import LeaseState
from tests.fakes import text_of, uuid
from tests.house import House


@pytest.fixture
def site(house: House) -> House:
    """Three cards sit in machines before the bot came, one of them in a machine that is not registered."""
    cards = house.books.cards
    house.lab.vms[uuid("vm-r")].cards = [cards["T4-1"].pci, cards["T4-2"].pci]
    house.lab.vms[uuid("vm-train")].cards = [cards["T4-3"].pci]
    house.lab.vms[uuid("vm-spare")].cards = [cards["T4-4"].pci]
    house.store.keep_look(house.lab.look())
    return house


def test_an_admin_takes_all_over_in_one_line(site: House) -> None:
    reply = site.say("dana", "adopt all")
    text = text_of(reply)
    assert reply.ok and text.startswith("3 cards are lent now to those in whose machines they sit"), text
    assert "Left as it is: T4-4; vm-spare is not known to me: machine add vm-spare owners @person" in text, text
    leases = {x.person: x for x in site.books.leases.values()}
    assert {p: x.slots for p, x in leases.items()} == {"U2BOB": ("T4-1", "T4-2"), "U3CAROL": ("T4-3",)}
    assert all(x.state is LeaseState.ACTIVE and x.end and (x.end - x.since).days == 14 for x in leases.values())
    while site.rounds.tell():
        pass
    bob = [text_of(r) for to, r in site.voice.standing.values() if to == "U2BOB"]
    assert len(bob) == 1 and "T4-1 and T4-2 in vm-r are lent to you until" in bob[0], bob
    admins = [text_of(r) for to, r in site.voice.standing.values() if to == "U4DANA"]
    assert len(admins) == 1 and "took over 3 cards" in admins[0] and "1 card is left as it is" in admins[0], admins
    assert not site.lab.calls


def test_on_one_host_machine_or_for_so_long(site: House) -> None:
    assert not site.say("dana", "adopt all on esx-77").ok
    assert "esx-01" in text_of(site.say("dana", "adopt all on esx-77"))
    assert site.say("dana", "adopt all on vm-train for 3d").ok
    assert [x.slots for x in site.books.leases.values()] == [("T4-3",)]
    assert site.say("dana", "adopt all on esx-01").ok
    assert len(site.books.leases) == 2
    again = site.say("dana", "adopt all on esx-01")
    assert again.ok is True and "None of them can be taken over" in text_of(again)


def test_an_owner_takes_over_their_own(site: House) -> None:
    assert site.say("bob", "adopt all").ok
    assert [x.person for x in site.books.leases.values()] == ["U2BOB"]
    nothing = site.say("ada", "adopt all")
    assert not nothing.ok and "I see no card in a machine of yours" in text_of(nothing)


@pytest.mark.parametrize("text", ["adopt all T4-1", "adopt all tonight now", "adopt all for 30d", "adopt all @bob"])
def test_what_cannot_be_changes_nothing(site: House, text: str) -> None:
    before = site.books
    assert not site.say("dana", text).ok
    assert site.books == before
