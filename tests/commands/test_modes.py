"""What people say of vGPUs and cards of another host: parts are named, sizes are asked for in many words, and what cannot be is answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from bot.domain.draft import Changes
from bot.domain.model import (
    Hold,
    Lease,
    LeaseState,
    Mode,
    Power,
    RequestState,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    Terms,
    Turn,
    Vgpu,
)
from bot.domain.policy import Policy
from bot.service.ports import Reply
from tests.fakes import PCI, T4, FakeLab, text_of, uuid
from tests.house import House

OFFERED = ("grid_t4-16q", "grid_t4-8q", "grid_t4-4q", "grid_t4-8a", "grid_t4-2b", "grid_t4-3q")
"""What the host offers: also what cannot compute, and a size that no table knows."""


class TwoHosts(FakeLab):
    """esx-01 with three whole cards and a labelled one, and esx-02 with two cards that it shares; vm-train is on esx-02."""

    profiles = OFFERED
    here = ("vm-train",)
    running: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    def look(self) -> Seen:
        """Both hosts."""
        seen = super().look()
        first = replace(
            seen.hosts[0],
            cards=(*seen.hosts[0].cards[:3], SeenCard(PCI[3], T4, "Tesla T4", True, Mode.DYNAMIC, "t4-pool")),
        )
        shared = tuple(SeenCard(pci, T4, "Tesla T4", True, Mode.VGPU, "", self.profiles) for pci in PCI[:2])
        second = SeenHost("lab", "host-2", "esx-02", True, False, shared, {}, dict(self.running))
        moved = tuple(replace(m, host="host-2") if m.name in self.here else m for m in seen.machines)
        third = SeenMachine("lab", uuid("vm-lost"), "vm-lost", "host-3", Power.ON)
        return replace(seen, hosts=(first, second), machines=(*moved, third))


class ModesHouse(House):
    """Its lab has two hosts; carol owns vm-train on the one with vGPUs."""

    def __init__(self, path: Path, profiles: tuple[str, ...] = OFFERED, policy: Policy | None = None) -> None:
        super().__init__(path, policy)
        self.store.close()
        self.rounds.close()
        self.lab = TwoHosts(self.clock)
        self.lab.profiles = profiles
        self._open("run-1")
        self.furnish()

    def lends(self, *slots: str, kind: str = "grid_t4-8q") -> str:
        """Parts that carol has in vm-train; its number."""
        self.say("carol", f"request {len(slots)} {kind}")
        request = max(self.books.requests.values(), key=lambda r: r.number)
        lease_ = _lease_of(self, request.number, slots, kind)
        with self.store.transaction() as transaction:
            transaction.books()
            holds = tuple(Hold(s, Turn.HAS, lease_.label) for s in slots)
            done = replace(request, state=RequestState.LEASED)
            transaction.record(Changes(puts=(done, lease_), holds=holds), ())
        return f"#{request.number}"


def _lease_of(house: House, number: int, slots: tuple[str, ...], kind: str) -> Lease:
    now = house.clock.now()
    return Lease(
        str(number), number, "U3CAROL", uuid("vm-train"), kind, slots, LeaseState.ACTIVE, Terms(), now, now,
        active_since=now, end=now.replace(hour=17),
    )  # fmt: skip


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ModesHouse]:
    """Six cards in two hosts."""
    house = ModesHouse(tmp_path)
    yield house
    house.close()


def says(house: House, who: str, text: str) -> str:
    """What somebody is answered."""
    return text_of(house.say(who, text))


def labels(reply: Reply) -> list[str]:
    return [b.says for b in reply.buttons]


# ---- asking -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["8gb", "8GB", "8g", "t4-8q", "grid_t4-8q", "GRID_T4-8Q"])
def test_a_size_is_asked_for_in_many_words(house: ModesHouse, word: str) -> None:
    answer = says(house, "carol", f"request 1 {word} for 2h")
    assert "4 vGPUs of 8 GB are free, and you are first in line for 1, with vm-train" in answer
    assert answer.count("grid_t4-8q") == 1


def test_the_board_shows_both_hosts(house: ModesHouse) -> None:
    board = says(house, "ada", "status")
    assert "6 cards in 2 hosts: 6 free" in board
    assert "T4-5 free: 1 vGPU of 16 GB, 2 of 8 GB or 4 of 4 GB" in board


def test_without_a_kind_a_host_with_whole_cards_gives_those(house: ModesHouse) -> None:
    assert "4 T4 are free" in says(house, "ada", "request 1")


def test_without_a_kind_a_host_of_many_sizes_asks(house: ModesHouse) -> None:
    reply = house.say("carol", "request 1 for 2h because fits")
    assert not reply.ok and "Which vGPU do you mean?" in text_of(reply)
    assert labels(reply) == [f"request 1 for 2h {size} because fits" for size in ("16gb", "8gb", "4gb")]
    assert house.say("carol", labels(reply)[1]).ok
    house.clock.forward(minutes=1)
    assert "Changed" in says(house, "carol", "request 1 until tomorrow 18:00"), "then that one is meant"


def test_without_a_kind_a_host_of_one_size_gives_that(tmp_path: Path) -> None:
    house = ModesHouse(tmp_path, profiles=("grid_t4-8q", "grid_t4-8a"))
    assert "4 vGPUs of 8 GB are free" in says(house, "carol", "request 1")
    house.close()


REFUSED = [
    ("ada", "request 1 8gb", "vm-python is on esx-01, which has no vGPUs of 8 GB. | There it can have: T4.", "request 1 T4"),
    ("carol", "request 1 T4", "vm-train is on esx-02, which shares its T4 as vGPUs and gives none whole. | 8gb (vGPU of 8 GB, grid_t4-8q)", "request 1 16gb"),
    ("carol", "request 5 8gb", "5 vGPUs of 8 GB are more than there are: I have 4.", "request 4 8gb"),
    ("ada", "request 5", "5 T4 are more than there are: I have 4.", "request 4"),
    ("carol", "request 1 8a", "I do not understand", ""),
    ("carol", "request 1 grid_t4-8a", "programs cannot compute on it", "request 1 16gb"),
    ("carol", "request 1 t4-2b", "programs cannot compute on it", "request 1 16gb"),
    ("carol", "request 1 grid_t4-3q", "nobody knows how many of it a card holds", "request 1 16gb"),
    ("carol", "request 1 grid_t4-12q", 'I have no card of the kind "grid_t4-12q".', "request 1 16gb"),
    ("carol", "request 1 grid_t4-8qq", 'I have no card of the kind "grid_t4-8qq".', "request 1 8gb"),
    ("carol", "request 1 12gb", 'I have no card of the kind "12gb".', "request 1 16gb"),
    ("carol", "request T4-5", "cards are asked for by kind, not by name", "mine"),
    ("ada", "request T4-1", "say request 1 T4", "mine"),
]  # fmt: skip


@pytest.mark.parametrize(("who", "line", "answer", "button"), REFUSED, ids=[line for _, line, _, _ in REFUSED])
def test_what_cannot_be_is_answered_with_what_would(
    house: ModesHouse, who: str, line: str, answer: str, button: str
) -> None:
    reply = house.say(who, line)
    text = text_of(reply)
    assert not reply.ok and all(part in text for part in answer.split(" | ")), text
    assert not button or button in labels(reply), labels(reply)
    assert not house.books.requests, "nothing was written"
    if button.startswith("request"):
        assert house.say(who, button).ok, "what is proposed works"


def test_the_other_machine_of_its_owner_is_named(house: ModesHouse) -> None:
    assert house.say("dana", "machine owners vm-r @bob @carol").ok
    text = says(house, "carol", "request 1 8gb on vm-r")
    assert "vm-r is on esx-01, which has no vGPUs of 8 GB." in text and "Of yours, vm-train could have one." in text
    assert house.say("carol", "request 1 T4 on vm-r").ok


def test_a_machine_on_a_host_without_cards_is_told_so(house: ModesHouse) -> None:
    assert house.say("dana", "machine add vm-lost owners @bob").ok
    text = says(house, "bob", "request 1 on vm-lost")
    assert (
        "vm-lost is on its host, which has no card that I lend." in text and "Of yours, vm-r could have a card." in text
    )


def test_a_size_that_means_two_profiles_is_asked_back(tmp_path: Path) -> None:
    house = ModesHouse(tmp_path, profiles=("grid_t4-8q", "grid_t4-8c", "grid_t4-4c"))
    reply = house.say("carol", "request 1 8gb for 2h because a fit")
    assert "Which vGPU of 8 GB do you mean?" in text_of(reply)
    assert labels(reply) == [f"request 1 for 2h grid_t4-8{s} because a fit" for s in "cq"]
    assert house.say("carol", labels(reply)[0]).ok
    assert "vGPUs of 4 GB are free" in says(house, "carol", "request 1 4gb"), "that one is clear"
    house.close()


def test_a_model_of_which_every_card_is_shared(tmp_path: Path) -> None:
    house = ModesHouse(tmp_path)
    for card in house.books.cards.values():
        if card.mode is not Mode.VGPU:
            house.put(replace(card, kind="P4"))
    text = says(house, "carol", "request 1 T4")
    assert 'I lend no "T4": every T4 that I lend is shared as vGPUs.' in text
    house.close()


# ---- parts by name ------------------------------------------------------------------------------------------------


def test_a_part_is_given_back_by_its_name(house: ModesHouse) -> None:
    house.lends("T4-5.1", "T4-6.1")
    answer = says(house, "carol", "release T4-5.1")
    assert "T4-5.1" in answer and "T4-6.1" not in answer.split(".\n")[0]
    assert {x.slots for x in house.books.leases.values()} == {("T4-5.1",), ("T4-6.1",)}


def test_a_shared_card_by_its_name_means_ones_own_parts(house: ModesHouse) -> None:
    house.lends("T4-5.1", "T4-6.1")
    assert house.say("carol", "release t4-5").ok
    assert {x.state for x in house.books.leases.values() if x.slots == ("T4-5.1",)} == {LeaseState.RETURNING}


@pytest.mark.parametrize("line", ["keep T4-5.1 2h", "using T4-5.1", "using T4-5"])
def test_answers_about_a_part(house: ModesHouse, line: str) -> None:
    house.lends("T4-5.1")
    reply = house.say("carol", line)
    assert reply.ok and "T4-5.1" in text_of(reply), text_of(reply)


def test_somebody_elses_part_and_one_that_is_not(house: ModesHouse) -> None:
    number = house.lends("T4-5.1")
    assert "not yours" in says(house, "ada", "release T4-5.1")
    assert "nobody has T4-5.2" in says(house, "ada", "release T4-5.2")
    assert "nobody has T4-6" in says(house, "ada", "release T4-6")
    assert "I know no part of a card" in says(house, "ada", "release T4-5.9")
    assert "There is T4-1." in says(house, "ada", "release T4-1.1"), "that one is given whole"
    assert number in says(house, "ada", "why T4-5.1")


def test_a_part_stands_for_its_card_where_cards_rest(house: ModesHouse) -> None:
    house.lends("T4-5.1")
    answer = says(house, "dana", "drain T4-5.1 because its fan is loud")
    assert "T4-5" in answer and "U3CAROL" in answer, "who has it is named"
    assert house.books.cards["T4-5"].aside is not None
    assert "rests when they are out" in says(house, "ada", "status")
    house.say("carol", "request 1 8gb on vm-train for 2h")
    back = says(house, "dana", "undrain T4-5")
    assert "may be lent again when it is given back" in back and "U3CAROL is first in line, for 1 vGPU of 8 GB" in back
    assert "Nobody waits for one" in says(house, "dana", "why T4-1"), "nobody on that host"


def test_force_release_of_one_part(house: ModesHouse) -> None:
    house.lends("T4-5.1", "T4-5.2")
    assert house.say("dana", "force release T4-5.2 because the class begins").ok
    states = {x.slots: x.state for x in house.books.leases.values()}
    assert states == {("T4-5.1",): LeaseState.ACTIVE, ("T4-5.2",): LeaseState.RETURNING}


def test_why_of_a_shared_card(house: ModesHouse) -> None:
    house.lends("T4-5.1")
    text = says(house, "bob", "why T4-5")
    assert "T4-5 is shared as 8 GB vGPUs: 1 of 2 in use: T4-5.1 U3CAROL · vm-train" in text and "· 1 free" in text
    assert "it is not free for another size" in text


def test_a_part_that_a_stranger_runs_with_is_not_offered(house: ModesHouse) -> None:
    house.lab.running = {PCI[0]: (uuid("vm-lost"),)}
    found = house.lab.look()
    lost = tuple(
        replace(m, host="host-2", unplaced=(Vgpu("grid_t4-16q"),)) if m.name == "vm-lost" else m for m in found.machines
    )
    house.store.keep_look(replace(found, machines=lost))
    assert "2 vGPUs of 8 GB are free" in says(house, "carol", "request 1 8gb")


class TwoCenters(TwoHosts):
    """Its second host is called as the first, in another vCenter."""

    def look(self) -> Seen:
        seen = super().look()
        one, other = seen.hosts
        machines = tuple(replace(m, vcenter="far") if m.host == other.id else m for m in seen.machines)
        there = replace(other, vcenter="far", name=one.name)
        return replace(seen, hosts=(one, there), machines=machines, complete=seen.complete | {"far"})


def test_of_two_hosts_of_one_name_each_can_be_meant(tmp_path: Path) -> None:
    house = ModesHouse(tmp_path)
    house.rounds.close()
    house.store.close()
    house.lab = TwoCenters(house.clock)
    house._open("run-2")
    house.round()
    try:
        assert "8 cards in 3 hosts" in says(house, "ada", "status"), "one of them is seen no more"
        asked = house.say("dana", "drain esx-01 because it moves")
        assert labels(asked) == ["drain lab/esx-01 because it moves", "drain far/esx-01 because it moves"]
        assert house.say("dana", labels(asked)[1]).ok
        assert {c.vcenter for c in house.books.cards.values() if c.aside is not None} == {"far"}
        assert house.say("dana", "undrain FAR/esx-01").ok
        assert not any(c.aside for c in house.books.cards.values())
        assert "far/esx-01" in labels(house.say("dana", "adopt all on esx-01"))[1]
    finally:
        house.close()
