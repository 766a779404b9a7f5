"""Random small pools for the properties of the planner: one or two hosts, whole cards or vGPUs, people and teams, leases in all states, and a line
with every way in which one can ask. Each is the books and the look of one moment, by a seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from bot.domain.draft import Draft
from bot.domain.model import (
    Agreement,
    AgreementKind,
    Aside,
    AsideWhy,
    Books,
    Card,
    Hold,
    Lease,
    LeaseState,
    Length,
    Machine,
    Mode,
    Offer,
    Pattern,
    Person,
    Power,
    Request,
    RequestState,
    Rest,
    RestWhy,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    SlotId,
    Terms,
    Turn,
    Unplaced,
    Vgpu,
    Window,
)
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.domain.slots import parts
from bot.domain.waiting import Shift, ShiftWhy, Team
from tests.domain.world import MONDAY_10, ZONE

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
IDS, WHOLE, HALF = "10de:1eb8", "grid_t4-16q", "grid_t4-8q"
PEOPLE = ("ada", "bob", "carol", "dave", "erin")
LENGTHS = (None, 1, 2, 8, 24, 30, 72, 120)
TEAMS = (Team("vision", frozenset({"ada", "bob"})), Team("speech", frozenset({"carol"}), guaranteed=1))


@dataclass
class Pool:
    """One moment."""

    books: Books
    seen: Seen
    people: dict[str, Person]
    policy: Policy
    now: datetime

    def draft(self) -> Draft:
        return Draft(self.books, self.now)

    def sight(self, draft: Draft) -> Sight:
        return Sight(draft, self.seen, {})

    def zone(self, person: str) -> str:
        return self.people[person].zone


def pool(seed: int, *, vgpu: bool = True) -> Pool:
    """The pool of a seed. ``vgpu``: some have vGPU cards; else all are whole."""
    return _Made(Random(seed), vgpu).pool()


@dataclass
class _Made:
    chance: Random
    vgpu: bool
    cards: dict[SlotId, Card] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    requests: dict[int, Request] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    agreements: dict[int, Agreement] = field(default_factory=dict)
    holds: set[Hold] = field(default_factory=set)
    devices: dict[str, list[str]] = field(default_factory=dict)  # machine -> PCI addresses, or profiles
    hosts: list[SeenHost] = field(default_factory=list)
    number: int = 0

    def pool(self) -> Pool:
        chance = self.chance
        self.calm = chance.random() < 0.3  # everybody waits once, in turn, and what is lent is due at one time
        self.now = MONDAY_10 + chance.choice((0, 1, 5, 9, 13, 30, 57, 90, 110)) * HOUR
        teams = chance.choice(((), (), TEAMS))
        self.policy = Policy(level="act", pool_share=chance.choice((0.5, 1.0, 1.0)), teams=teams)
        zones = (ZONE, ZONE, ZONE, "America/New_York")
        self.people = {p: Person(p, p, chance.choice(zones)) for p in PEOPLE}
        for n in range(chance.choice((1, 1, 2))):
            self.host(n)
        machines = tuple(self.machine(m) for m in self.machines.values())
        books = Books(
            self.cards,
            self.machines,
            self.requests,
            self.leases,
            frozenset(self.holds),
            agreements=self.agreements,
            numbers={"number": self.number, "agreement": len(self.agreements)},
        )
        seen = Seen(self.now, frozenset({"lab"}), tuple(self.hosts), machines, {"lab": self.now})
        return Pool(books, seen, self.people, self.policy, self.now)

    def machine(self, m: Machine) -> SeenMachine:
        mine = self.devices.get(m.uuid, [])
        fixed = tuple(sorted(d for d in mine if ":" in d))
        unplaced: tuple[Unplaced, ...] = tuple(Vgpu(d) for d in mine if ":" not in d)
        power = Power.ON if mine or self.chance.random() < 0.85 else Power.OFF
        return SeenMachine("lab", m.uuid, m.name, m.host, power, fixed, unplaced=unplaced)

    def host(self, n: int) -> None:
        chance, host = self.chance, f"host-{n}"
        mode = Mode.VGPU if self.vgpu and chance.random() < 0.35 else Mode.FIXED
        profiles = ((WHOLE, 1), (HALF, 2)) if mode is Mode.VGPU else ()
        mine = [
            Card(
                f"T4-{4 * n + k}",
                "lab",
                host,
                host,
                f"0000:{16 * n + k:02x}:00.0",
                "T4",
                mode,
                ids=IDS,
                profiles=profiles,
            )
            for k in range(1, chance.choice((2, 3, 4, 4, 4)) + 1)
        ]
        for k in range(5):
            owners = (PEOPLE[k] if self.calm else chance.choice(PEOPLE),)
            self.machines[f"uuid-{n}-{k}"] = Machine(f"uuid-{n}-{k}", f"vm-{n}-{k}", "lab", owners, host=host)
        bound: dict[str, str] = {}
        sharing: dict[str, tuple[str, ...]] = {}
        for card in mine:
            if chance.random() < 0.08:
                card = replace(card, aside=Aside(AsideWhy.DRAINED, "a test", "dana", self.now))
            self.cards[card.name] = card
            kind = chance.choice((WHOLE, HALF)) if mode is Mode.VGPU else "T4"
            for slot in parts(card, kind):
                if card.aside is None and chance.random() < 0.6:
                    self.lend(n, slot, card, kind, bound, sharing)
        self.line(n, (WHOLE, HALF) if mode is Mode.VGPU else ("T4",))
        names = (WHOLE, HALF) if mode is Mode.VGPU else ()
        shown = tuple(SeenCard(c.pci, IDS, "Tesla T4", True, mode, "", names) for c in mine)
        self.hosts.append(SeenHost("lab", host, host, True, False, shown, bound, sharing))

    def any_machine(self, n: int) -> Machine:
        return self.machines[f"uuid-{n}-{self.chance.randrange(5)}"]

    def length(self) -> Length:
        hours = self.chance.choice(LENGTHS)
        return Length() if hours is None else Length(lasting=hours * HOUR)

    def lend(
        self, n: int, slot: SlotId, card: Card, kind: str, bound: dict[str, str], sharing: dict[str, tuple[str, ...]]
    ) -> None:
        """A lease of one device, in some state; or it is offered."""
        chance, m = self.chance, self.any_machine(n)
        self.number += 1
        number, who, now = self.number, m.owners[0], self.now
        asked = now - chance.choice((2, 20, 60)) * HOUR
        terms = Terms(length=self.length(), spare=chance.random() < 0.1)
        request = Request(number, who, kind, 1, m.uuid, asked, RequestState.LEASED, terms, team=self.team(who))
        if chance.random() < 0.12:
            offer = Offer(now - 5 * MIN, now + 25 * MIN, None)
            self.requests[number] = replace(request, state=RequestState.OFFERED, offer=offer)
            self.holds.add(Hold(slot, Turn.HAS, str(number)))
            return
        self.requests[number] = request
        states = (
            (LeaseState.ACTIVE,) * 6 + (LeaseState.RETURNING,) * 3 + (LeaseState.RESERVED,) * 2 + (LeaseState.MOVING,)
        )
        state, since = chance.choice(states), now - chance.choice((1, 10, 40)) * HOUR
        lease = Lease(str(number), number, who, m.uuid, kind, (slot,), state, terms, since, since, team=self.team(who))
        if state in (LeaseState.ACTIVE, LeaseState.RETURNING):
            end = now + (30 if self.calm else chance.choice((-3, 1, 5, 20, 45, 100))) * HOUR
            lease = replace(lease, active_since=since, end=end, extended=chance.choice((0, 0, 1)))
        self.leases[lease.label] = lease
        self.holds.add(Hold(slot, Turn.HAS, lease.label))
        if state is LeaseState.RESERVED or state is LeaseState.MOVING:
            return
        self.devices.setdefault(m.uuid, []).append(kind if card.mode is Mode.VGPU else card.pci)
        if card.mode is Mode.VGPU:
            sharing[card.pci] = (*sharing.get(card.pci, ()), m.uuid)
        else:
            bound[card.pci] = m.uuid
        if state is LeaseState.RETURNING and chance.random() < 0.6:
            self.agree(m, label=lease.label)

    def agree(self, m: Machine, label: str = "") -> None:
        """A time for a restart: tonight, soon, or every night."""
        chance, number = self.chance, len(self.agreements) + 1
        made = Agreement(number, m.uuid, m.owners[0], AgreementKind.NAMED, self.now - MIN, label=label)
        start = self.now + chance.choice((0, 2, 12)) * HOUR
        if chance.random() < 0.5:
            made = replace(made, window=Window(start, start + 4 * HOUR))
        else:
            nights = Pattern(frozenset(range(7)), self.policy.night_start, self.policy.night_end, ZONE)
            busy = chance.random() < 0.3
            made = replace(made, kind=AgreementKind.STANDING, pattern=nights, even_if_busy=busy, label="")
        self.agreements[number] = made

    def team(self, who: str) -> str:
        return next((t.name for t in self.policy.teams if who in t.members), "")

    def line(self, n: int, kinds: tuple[str, ...]) -> None:
        """Who waits for what this host has."""
        chance, odd = self.chance, 0.0 if self.calm else 1.0
        for k in range(chance.randrange(1, 6 if self.calm else 8)):
            m = self.machines[f"uuid-{n}-{k}"] if self.calm else self.any_machine(n)
            self.number += 1
            number, who = self.number, m.owners[0]
            asked = self.now - chance.choice((1, 3, 10, 40)) * HOUR - chance.randrange(50) * MIN
            spare, urgent = chance.random() < 0.1 * odd, chance.random() < 0.1
            more: dict[str, Any] = {"partly": chance.random() < 0.2, "team": self.team(who), "ask_first": False}
            if urgent:
                more["shifts"] = (Shift(ShiftWhy.URGENT, -self.policy.urgent_head_start),)
            if chance.random() < 0.15 * odd:
                more["start"] = self.now + chance.choice((-1, 2, 30, 100)) * HOUR
            if chance.random() < 0.1 * odd:
                more["rest"] = Rest(RestWhy.PASSED, self.now - HOUR, self.now + 3 * HOUR)
            count, kind = chance.choice((1, 1, 1, 2, 2, 3, 4)), chance.choice(kinds)
            terms = Terms(length=self.length(), spare=spare)
            self.requests[number] = Request(number, who, kind, count, m.uuid, asked, terms=terms, **more)
            if self.calm or chance.random() < 0.6:
                self.agree(m, label=str(number))
