"""Values for books that shelves are made of, in every mixture, and what each shelf has to say of them."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st

from bot.domain.clockback import Last
from bot.domain.draft import Draft
from bot.domain.model import (
    Agreement,
    AgreementKind,
    AgreementState,
    Books,
    Card,
    Lease,
    LeaseState,
    Machine,
    Move,
    MoveState,
    Request,
    RequestState,
    Terms,
)
from bot.domain.near import host_of, near
from bot.domain.planner.plain import Plain
from bot.domain.queue import line
from bot.domain.shelves import (
    WAITING,
    AgreementsFor,
    AgreementsOf,
    CardsOn,
    LeasesOf,
    LeasesTo,
    Line,
    MovesOf,
    Shelf,
    agreements_for,
    agreements_of,
    cards_on,
    leases_of,
    leases_to,
    moves_of,
)
from bot.domain.waiting import Shift, ShiftWhy
from tests.domain.world import MONDAY_10

HOUR = timedelta(hours=1)
HOSTS, MACHINES, PEOPLE = ("", "a", "b"), ("m1", "m2"), ("ada", "bob")
LABELS = ("", "1", "10", "2", "3b")
SHELVES: tuple[type[Shelf], ...] = (
    MovesOf,
    LeasesOf,
    LeasesTo,
    AgreementsOf,
    AgreementsFor,
    CardsOn,
    Line,
    Plain,
    Last,
)

numbers, machines, hosts = st.integers(1, 3), st.sampled_from(MACHINES), st.sampled_from(HOSTS)
cards = st.builds(
    Card,
    st.sampled_from(("T4-1", "T4-2", "T4-3")),
    st.just("lab"),
    st.sampled_from(("a", "b")),
    st.just(""),
    st.just("pci"),
    st.just("T4"),
)
BEGUN = (Machine("m1", "x", "lab", ("ada",), host="a"), Machine("m2", "y", "lab", ("ada",), host="b"))
"""What is there before anything is drawn."""

vms = st.builds(Machine, machines, st.sampled_from(("x", "y")), st.just("lab"), st.just(("ada",)), host=hosts)
requests = st.builds(
    Request,
    numbers,
    st.sampled_from(PEOPLE),
    st.sampled_from(("T4", "A2")),
    st.integers(1, 2),
    machines,
    st.integers(0, 1).map(lambda n: MONDAY_10 - n * HOUR),
    state=st.sampled_from((RequestState.QUEUED, RequestState.QUEUED, *RequestState)),
    shifts=st.sampled_from(((), (Shift(ShiftWhy.URGENT, -2 * HOUR),))),
)
leases = st.builds(
    Lease,
    st.sampled_from(LABELS[1:]),
    numbers,
    st.sampled_from(PEOPLE),
    machines,
    st.just("T4"),
    st.just(("T4-1",)),
    st.sampled_from(list(LeaseState)),
    st.just(Terms()),
    st.just(MONDAY_10),
    st.just(MONDAY_10),
)
moves = st.builds(
    Move, numbers, machines, st.sampled_from(list(MoveState)), st.just(()), st.just(MONDAY_10), st.just(MONDAY_10)
)
agreements = st.builds(
    Agreement,
    numbers,
    machines,
    st.sampled_from(PEOPLE),
    st.just(AgreementKind.NAMED),
    st.just(MONDAY_10),
    label=st.sampled_from(LABELS),
    state=st.sampled_from(list(AgreementState)),
)
values = st.one_of(cards, vms, requests, requests, leases, moves, agreements)


def agree(books: Books | Draft) -> None:
    """Every shelf says what a walk says."""
    for uuid in MACHINES:
        assert moves_of(books, uuid) == tuple(m for m in books.moves.values() if m.machine == uuid)
        assert leases_of(books, uuid) == tuple(x for x in books.leases.values() if x.machine == uuid)
        assert agreements_of(books, uuid) == tuple(a for a in books.agreements.values() if a.machine == uuid)
    for person in PEOPLE:
        assert leases_to(books, person) == tuple(x for x in books.leases.values() if x.person == person)
    for label in LABELS:
        assert agreements_for(books, label) == tuple(a for a in books.agreements.values() if a.label == label)
    for host in HOSTS[1:]:
        mine = tuple(c for c in books.cards.values() if (c.vcenter, c.host) == ("lab", host))
        assert cards_on(books, "lab", host) == mine
    waiting = sorted((r for r in books.requests.values() if r.state in WAITING), key=lambda r: (r.arrival, r.number))
    assert line(books) == waiting
    for host in HOSTS:
        at = f"lab:{host}" if host else ""
        assert books.kept(Line).on(at) == [r for r in waiting if host_of(books, r.machine) in ("", at)]
    for uuid in MACHINES:
        here, at = near(books, uuid), host_of(books, uuid)
        if here is not None:
            assert line(here) == list(here.requests.values()) == books.kept(Line).on(at)
            assert {f"{c.vcenter}:{c.host}" for c in here.cards.values()} <= {at}
        else:
            assert not at or len({(c.vcenter, c.host) for c in books.cards.values()}) < 2
    plain, anew = books.kept(Plain).fresh(), Plain(books)
    assert {group: mine for group, mine in plain.groups.items() if mine} == anew.groups and plain.others == anew.others
    last, now = books.kept(Last).at, Last(books).at
    assert now is None or (last is not None and last >= now)
