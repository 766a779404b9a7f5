"""A round over many cards: its work grows with the pool, not with the square of it, whatever the mode of the cards."""

from __future__ import annotations

import cProfile
import pstats
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from bot.domain.decide import decide
from bot.domain.draft import Draft
from bot.domain.model import (
    Books,
    Card,
    DynamicCard,
    Hold,
    Lease,
    LeaseState,
    Machine,
    Mode,
    Person,
    Power,
    Request,
    RequestState,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    SlotId,
    Terms,
    Turn,
    Unplaced,
    Vgpu,
)
from bot.domain.policy import Policy
from bot.domain.slots import card_name
from tests.domain.world import MONDAY_10

IDS, HALF, HOUR = "10de:1eb8", "grid_t4-8q", timedelta(hours=1)
CARDS_A_HOST = 6
DEVICE: dict[Mode, Unplaced] = {Mode.DYNAMIC: DynamicCard(IDS, "pool"), Mode.VGPU: Vgpu(HALF)}


def site(mode: Mode, hosts: int) -> tuple[Books, Seen]:
    """Each host: six cards, two machines that have two devices each, one of them over its time, a stranger, and one in line for more."""
    cards: dict[SlotId, Card] = {}
    machines, leases, requests = dict[str, Machine](), dict[str, Lease](), dict[int, Request]()
    holds, seen_machines, seen_hosts = set[Hold](), list[SeenMachine](), list[SeenHost]()
    kind, number = HALF if mode is Mode.VGPU else "T4", 0
    for h in range(hosts):
        host, bound, sharing = f"host-{h}", dict[str, str](), dict[str, tuple[str, ...]]()
        mine = [
            Card(f"T4-{h * CARDS_A_HOST + n}", "lab", host, host, f"0000:{n:02x}:00.0", "T4", mode, ids=IDS)
            for n in range(1, 7)
        ]
        if mode is Mode.DYNAMIC:
            mine = [replace(c, label="pool") for c in mine]
        if mode is Mode.VGPU:
            mine = [replace(c, profiles=(("grid_t4-16q", 1), (HALF, 2))) for c in mine]
        cards |= {c.name: c for c in mine}
        for n in range(2):
            number += 1
            uuid, two = f"uuid-{h}-{n}", mine[2 * n : 2 * n + 2]
            slots = (f"{two[0].name}.1", f"{two[0].name}.2") if mode is Mode.VGPU else tuple(c.name for c in two)
            if mode is Mode.VGPU:
                sharing[two[0].pci] = (uuid, uuid)
            else:
                bound |= {c.pci: uuid for c in two}
            machines[uuid] = Machine(uuid, f"vm-{h}-{n}", "lab", ("ada",), host=host)
            since, end = MONDAY_10 - 5 * HOUR, MONDAY_10 + (2 * n - 1) * HOUR
            leases[str(number)] = Lease(
                str(number),
                number,
                "ada",
                uuid,
                kind,
                slots,
                LeaseState.ACTIVE,
                Terms(),
                since,
                since,
                since,
                end,
                over_time=n == 0,
            )
            holds |= {Hold(s, Turn.HAS, str(number)) for s in slots}
            requests[number] = Request(number, "ada", kind, 2, uuid, since, RequestState.LEASED)
            pcis = tuple(c.pci for c in two) if mode is Mode.FIXED else ()
            seen_machines.append(
                SeenMachine(
                    "lab",
                    uuid,
                    f"vm-{h}-{n}",
                    host,
                    Power.ON,
                    pcis,
                    unplaced=(DEVICE[mode],) * 2 if mode in DEVICE else (),
                )
            )
        number += 1
        requests[number] = Request(number, "bob", kind, 9, f"uuid-{h}-1", MONDAY_10 - HOUR)
        machines[f"uuid-{h}-1"] = replace(machines[f"uuid-{h}-1"], owners=("ada", "bob"))
        devices = (DEVICE[mode],) if mode in DEVICE else ()
        seen_machines.append(SeenMachine("lab", f"uuid-{h}-x", f"vm-{h}-x", host, Power.ON, unplaced=devices))
        profiles = ("grid_t4-16q", HALF) if mode is Mode.VGPU else ()
        shown = tuple(SeenCard(c.pci, IDS, "Tesla T4", True, mode, c.label, profiles) for c in mine)
        seen_hosts.append(SeenHost("lab", host, host, True, False, shown, bound, sharing))
    books = Books(cards, machines, requests, leases, frozenset(holds), numbers={"number": number})
    return books, Seen(MONDAY_10, frozenset({"lab"}), tuple(seen_hosts), tuple(seen_machines), {"lab": MONDAY_10})


def work(mode: Mode, hosts: int) -> int:
    """How many calls of functions a round takes: the same on every machine."""
    books, seen = site(mode, hosts)
    draft, people = Draft(books, MONDAY_10), {p: Person(p, p, "Europe/Berlin") for p in ("ada", "bob")}
    profile = cProfile.Profile()
    profile.runcall(decide, draft, seen, {}, people, Policy(level="act"), "run")
    assert len(draft.changes().puts) >= hosts, "a round with something to do"
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("mode", list(Mode))
def test_a_round_over_four_times_as_many_cards_is_not_sixteen_times_the_work(mode: Mode) -> None:
    assert work(mode, 32) < 7 * work(mode, 8)


@pytest.mark.parametrize("seed", range(5))
def test_holds_found_by_their_card_are_those_of_the_draft(seed: int) -> None:
    chance, slots = Random(seed), [f"T4-{card}{part}" for card in (1, 2, 11) for part in ("", ".1", ".2")]
    draft = Draft(Books(holds=frozenset({Hold("T4-1.1", Turn.HAS, "1"), Hold("T4-11", Turn.NEXT, "2")})), MONDAY_10)
    for _ in range(60):
        slot, turn, label = chance.choice(slots), chance.choice(list(Turn)), chance.choice("123")
        if chance.random() < 0.5:
            draft.free(label, chance.choice((None, (slot,))))
        elif draft.holder(slot, turn) in (None, label):
            draft.hold(slot, turn, label)
        else:
            with pytest.raises(ValueError, match="already held"):
                draft.hold(slot, turn, label)
        for card in ("T4-1", "T4-2", "T4-11"):
            assert sorted(draft.on(card), key=str) == sorted(
                (h for h in draft.holds if card_name(h.slot) == card), key=str
            )
        again = Draft(replace(draft.books, holds=frozenset(draft.holds)), MONDAY_10)
        assert all(again.holder(s, t) == draft.holder(s, t) for s in slots for t in Turn)
