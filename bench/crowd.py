"""Books with many in line, and the look that goes with them: the same each time. Used by ``bench.queue`` and by the tests that count calls.

Each host has as many fixed cards, nearly all lent, some of them over their time or on their way back. Who waits has a machine of their own,
spread evenly over the hosts, and asks in every way that there is: more than one card, booked, urgent, spare, partly, with a window or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random

from bot.domain.model import (
    Agreement,
    AgreementKind,
    Books,
    Card,
    Hold,
    Lease,
    LeaseState,
    Length,
    Machine,
    Person,
    PersonId,
    Power,
    Request,
    RequestState,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    Terms,
    Turn,
    Window,
)
from bot.domain.policy import Policy
from bot.domain.waiting import Account, Shift, ShiftWhy, Team

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
"""A Monday, 10:00 in Berlin."""

IDS, HOUR = "10de:1eb8", timedelta(hours=1)


@dataclass
class Crowd:
    """What a round is given."""

    books: Books
    seen: Seen
    people: Mapping[PersonId, Person]
    policy: Policy = field(
        default_factory=lambda: Policy(
            level="act",
            teams=(
                Team("red", frozenset(f"p{n}" for n in range(0, 500, 3)), guaranteed=40),
                Team("blue", frozenset(f"p{n}" for n in range(1, 500, 3)), weight=2.0),
            ),
        )
    )

    @property
    def waiting(self) -> list[Request]:
        """Who is in line, in no order."""
        return [r for r in self.books.requests.values() if r.state is RequestState.QUEUED]


def crowd(waiting: int, hosts: int = 64, cards: int = 4) -> Crowd:
    """So many in line, for so many cards on each of the hosts."""
    chance, made = Random(1), _Making(cards)
    for h in range(hosts):
        made.host(h)
    for n in range(waiting):
        made.request(n, n % hosts, chance)
    names = {r.person for r in made.requests.values()}
    accounts = {p: Account(p, float(n % 20), NOW - HOUR) for n, p in enumerate(sorted(names)) if n % 4 == 0}
    books = Books(
        made.cards,
        made.machines,
        made.requests,
        made.leases,
        frozenset(made.holds),
        agreements=made.agreements,
        numbers={"number": made.number, "agreement": len(made.agreements)},
        accounts=accounts,
    )
    seen = Seen(NOW, frozenset({"lab"}), tuple(made.seen_hosts), tuple(made.seen_machines), {"lab": NOW})
    return Crowd(books, seen, {p: Person(p, p, "Europe/Berlin") for p in names})


@dataclass
class _Making:
    a_host: int
    number: int = 0
    cards: dict[str, Card] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    requests: dict[int, Request] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    holds: set[Hold] = field(default_factory=set)
    agreements: dict[int, Agreement] = field(default_factory=dict)
    seen_hosts: list[SeenHost] = field(default_factory=list)
    seen_machines: list[SeenMachine] = field(default_factory=list)

    def host(self, h: int) -> None:
        """A host with its cards, and what is lent of them."""
        host, bound = f"host-{h}", dict[str, str]()
        for i in range(self.a_host):
            name = f"T4-{h * self.a_host + i + 1}"
            card = Card(name, "lab", host, host, f"0000:{i:02x}:00.0", "T4", ids=IDS, memory_mb=15360)
            self.cards[name] = card
            if name[-2:] not in ("13", "57"):  # two in a hundred lie free
                bound[card.pci] = self._lent(card)
        shown = tuple(
            SeenCard(c.pci, IDS, "Tesla T4", True, memory_mb=15360) for c in self.cards.values() if c.host == host
        )
        self.seen_hosts.append(SeenHost("lab", host, host, True, False, shown, bound))

    def _lent(self, card: Card) -> str:
        self.number += 1
        n, person = self.number, f"p{self.number % 100}"
        uuid, label, since = f"lent-{n}", str(n), NOW - timedelta(hours=5 + n % 7)
        self.machines[uuid] = Machine(uuid, uuid, "lab", (person,), host=card.host, durations_s=(300, 400))
        state = LeaseState.RETURNING if n % 20 == 7 else LeaseState.ACTIVE
        end = NOW + timedelta(hours=(n % 40) - 2)
        lease = Lease(label, n, person, uuid, "T4", (card.name,), state, Terms(), since, since, since, end)
        lease = replace(lease, seen_vcenter=since, over_time=n % 40 < 2)
        self.leases[label] = lease
        self.requests[n] = Request(n, person, "T4", 1, uuid, since, RequestState.LEASED, changed=since)
        self.holds.add(Hold(card.name, Turn.HAS, label))
        self.seen_machines.append(SeenMachine("lab", uuid, uuid, card.host, Power.ON, (card.pci,), tools=True))
        if state is LeaseState.RETURNING:
            self._agreed(uuid, person, NOW + 3 * HOUR, label)
        return uuid

    def request(self, n: int, h: int, chance: Random) -> None:
        """Somebody in line, whose machine is on a host."""
        self.number += 1
        number, person, uuid, host = self.number, f"p{n % 500}", f"waits-{n}", f"host-{h}"
        asked = NOW - timedelta(seconds=chance.randrange(10**6))
        length = Length(lasting=timedelta(hours=chance.choice((1, 4, 8, 24))))
        self.machines[uuid] = Machine(uuid, uuid, "lab", (person,), host=host)
        self.seen_machines.append(SeenMachine("lab", uuid, uuid, host, Power.ON, tools=True))
        most = max(1, self.a_host)
        self.requests[number] = Request(
            number,
            person,
            "T4",
            min(most, chance.choice((1, 1, 1, 2, 4))),
            uuid,
            asked,
            terms=Terms(length, spare=n % 10 == 3),
            changed=asked,
            shifts=_shifts(n),
            team=("red", "blue", "")[n % 500 % 3],
            partly=n % 10 == 4,
            start=NOW + timedelta(hours=5 + n % 90) if n % 20 == 5 else None,
        )
        if n % 3 == 0:
            self._agreed(uuid, person, NOW + timedelta(hours=12 + n % 48), str(number))

    def _agreed(self, uuid: str, person: str, start: datetime, label: str) -> None:
        number = len(self.agreements) + 1
        window = Window(start, start + 2 * HOUR)
        made = NOW - HOUR
        self.agreements[number] = Agreement(number, uuid, person, AgreementKind.NAMED, made, window=window, label=label)


def _shifts(n: int) -> tuple[Shift, ...]:
    shifts = {
        1: Shift(ShiftWhy.URGENT, -24 * HOUR),
        3: Shift(ShiftWhy.SPARE, 24 * HOUR),
        7: Shift(ShiftWhy.USE, 5 * HOUR, "5 h"),
        9: Shift(ShiftWhy.TEAM, -7 * 24 * HOUR, "red"),
    }
    one = shifts.get(n % 20)
    return (one,) if one is not None else ()
