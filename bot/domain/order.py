"""The order of the line: by what a place is shifted, and what somebody used lately of hours for which others waited.

A place in line is the time of asking plus a few shifts, each bounded by a setting and frozen when it was asked for; so nobody waits for ever,
and nothing moves a place but what somebody says. ``queue`` asks for the shifts, ``decide`` has the accounts settled once a round. Nothing
here gives a hold or sorts a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from math import fsum
from typing import TYPE_CHECKING

from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_LEASE, OPEN_REQUEST
from bot.domain.model import (
    Books,
    Card,
    Lease,
    LeaseState,
    MachineId,
    Mode,
    Person,
    PersonId,
    Request,
    RequestState,
    SlotId,
    Turn,
)
from bot.domain.near import host_of
from bot.domain.policy import Policy
from bot.domain.slots import Places, has_kind, in_pool, kinds_of, parts, size_of
from bot.domain.spoken import lasting_words
from bot.domain.waiting import Account, Shift, ShiftWhy, Team

if TYPE_CHECKING:
    from bot.domain.queue import Wanted

STEP = timedelta(minutes=5)
"""So far apart are the charges of one account: the books are not written each round."""

BLIND = timedelta(minutes=15)
"""A longer stretch without a charge is not charged: the bot was away, or nobody waited meanwhile."""

TINY = 1e-6
"""Of a minute: what sums of fractions are wrong by at most."""

LEAST = 1 / 60
"""Hours of devices: less than that of long ago is nothing."""


def team_of(policy: Policy, person: Person) -> Team | None:
    """The team of somebody, by id or user name; None: they are in none."""
    names = {person.id, (person.user_name or person.name).lower()}
    return next((team for team in policy.teams if names & team.members), None)


def team_named(policy: Policy, name: str) -> Team | None:
    """A team by its name; None: the settings have no such team (any more)."""
    return next((team for team in policy.teams if team.name == name), None)


def regroup(draft: Draft, people: Mapping[PersonId, Person], policy: Policy) -> None:
    """A team was renamed in the settings, or taken out of them: what its people have, want and used counts to the team that they are in now.

    Whoever was moved from one team to another that are both there keeps what they have in the first one until it is over.
    """
    there = {"", *(team.name for team in policy.teams)}
    found: list[Lease | Request | Account] = [
        *(x for x in draft.leases.values() if x.team not in there and x.state in OPEN_LEASE),
        *(r for r in draft.requests.values() if r.team not in there and r.state in OPEN_REQUEST),
        *(a for a in draft.accounts.values() if a.team not in there),
    ]
    for value in found:
        person = people.get(value.person)
        team = team_of(policy, person) if person is not None else None
        if team is not None or (
            person is not None and person.name != person.id
        ):  # by an id alone no user name is known
            draft.put(replace(value, team=team.name if team is not None else ""))


def waits(request: Request, now: datetime) -> bool:
    """Whether one in line would take something now: it does not rest, and a booking's time has come."""
    return request.rest is None and (request.start is None or request.start <= now)


# ---- what moves a place -------------------------------------------------------------------------------------------


def shifts(draft: Draft, person: Person, wanted: Wanted, policy: Policy) -> tuple[Shift, ...]:
    """What moves the place of a request that is asked for now, by the state of the books before it.

    :param wanted: with its kind
    """
    found = [*said(wanted, policy)]
    team = team_of(policy, person)
    if team is not None and wanted.kind and _within(draft, team, wanted.kind, wanted.count):
        found.append(Shift(ShiftWhy.TEAM, -policy.team_head_start, team.name))
    used = _use(draft, person, policy)
    if used is not None:
        found.append(used)
    return tuple(found)


def said(wanted: Wanted, policy: Policy) -> tuple[Shift, ...]:
    """The shifts that somebody asks for by a word."""
    urgent = (Shift(ShiftWhy.URGENT, -policy.urgent_head_start),) if wanted.urgent else ()
    spare = (Shift(ShiftWhy.SPARE, policy.spare_handicap),) if wanted.spare else ()
    return urgent + spare


def urgent_again(books: Books | Draft, person: PersonId, policy: Policy, now: datetime) -> datetime | None:
    """When somebody may ask urgently again; None: now."""
    account = books.accounts.get(person)
    if account is None or account.urgent is None:
        return None
    again = account.urgent + policy.urgent_every
    return again if again > now else None


def note_urgent(draft: Draft, person: PersonId) -> None:
    """Somebody asks urgently now: they may not again for a while."""
    account = draft.accounts.get(person) or Account(person)
    draft.put(replace(account, urgent=draft.now))


def _within(draft: Draft, team: Team, kind: str, count: int) -> bool:
    """Whether so many more devices of a kind are within what a team is guaranteed: with what its people have and wait for."""
    have = sum(len(x.slots) for x in draft.leases.values() if (x.team, x.kind) == (team.name, kind) and x.state in HAS)
    waits = sum(r.count for r in _in_line(draft) if (r.team, r.kind) == (team.name, kind))
    return have + waits + count <= team.guaranteed


HAS = OPEN_LEASE - {LeaseState.RETURNING}
"""Leases whose devices their holder keeps."""


def _in_line(places: Places) -> Iterable[Request]:
    waiting = (RequestState.QUEUED, RequestState.OFFERED)
    return (r for r in places.requests.values() if r.state in waiting)


def _use(draft: Draft, person: Person, policy: Policy) -> Shift | None:
    """The handicap for having used more than an even share lately; None: they did not."""
    used, even = used_lately(draft, person, policy), even_share(draft, person, policy)
    by = handicap(used, even, policy)
    return Shift(ShiftWhy.USE, by, lasting_words(_more(used, even))) if by else None


def handicap(used: float, even: float, policy: Policy) -> timedelta:
    """By how much a place is later for hours that were used lately, against an even share: an hour for an hour, in whole minutes. Asked by
    the replay of traces, too."""
    return min(_more(used, even), policy.use_handicap)


def _more(used: float, even: float) -> timedelta:
    return max(timedelta(minutes=int((used - even) * 60 + TINY)), timedelta(0))


def used_lately(draft: Draft, person: Person, policy: Policy) -> float:
    """Hours of devices that somebody used lately while others waited, by the weight of their team."""
    return _weighted(draft, person.id, team_of(policy, person), policy)


def even_share(draft: Draft, person: Person, policy: Policy) -> float:
    """The mean of the same over all who used any or wait, the person among them."""
    used = {id for id, account in draft.accounts.items() if lately(account, draft.now, policy) >= LEAST}
    who = used | {r.person for r in _in_line(draft)} | {person.id}
    return fsum(_of(draft, id, person, policy) for id in who) / len(who)  # the same in whatever order


def _of(draft: Draft, id: PersonId, asker: Person, policy: Policy) -> float:
    """Of another than the asker the team is that of the last charge: only ids are known of them here."""
    if id == asker.id:
        return used_lately(draft, asker, policy)
    account = draft.accounts.get(id)
    return _weighted(draft, id, team_named(policy, account.team) if account else None, policy)


def _weighted(draft: Draft, id: PersonId, team: Team | None, policy: Policy) -> float:
    account = draft.accounts.get(id)
    hours = lately(account, draft.now, policy) if account is not None else 0.0
    return hours / (team.weight if team is not None else 1.0) if hours >= LEAST else 0.0


# ---- what was used -------------------------------------------------------------------------------------------------


def lately(account: Account, now: datetime, policy: Policy) -> float:
    """Hours of devices of an account, decayed to now: halved each ``use_half_life``."""
    if account.at is None:
        return 0.0
    age = max(now - account.at, timedelta(0))
    return account.hours * kept(age, policy)


def kept(age: timedelta, policy: Policy) -> float:
    """How much still counts of what was used so long ago."""
    return float(0.5 ** (age / policy.use_half_life))


def settle(draft: Draft, policy: Policy) -> None:
    """Charge the accounts: hours of devices at work for somebody while others really wait for what they are of.

    An account is written when its hours begin to count and then each 5 min; who has nothing that others wait for costs nothing.
    Call it only in a round that could look.
    """
    due = _due(draft)
    if not due or not any(r.state is RequestState.QUEUED for r in draft.requests.values()):
        return
    demand = _Demand(draft)
    for person, leases in due.items():
        wanted = [(lease, since) for lease in leases if (since := demand.since(person, lease.kind, lease.machine))]
        if wanted:
            _charge(draft, person, wanted, policy)


def _due(draft: Draft) -> dict[PersonId, list[Lease]]:
    """Who has devices at work and was not charged in the last minutes."""
    found: dict[PersonId, list[Lease]] = {}
    for lease in draft.leases.values():
        if lease.state is not LeaseState.ACTIVE:
            continue
        account = draft.accounts.get(lease.person)
        if account is None or account.at is None or draft.now - account.at >= STEP:
            found.setdefault(lease.person, []).append(lease)
    return found


def _charge(draft: Draft, person: PersonId, wanted: list[tuple[Lease, datetime]], policy: Policy) -> None:
    """Bring one account to now. After a stretch in which nothing was charged it only begins."""
    account = draft.accounts.get(person) or Account(person)
    hours = lately(account, draft.now, policy)
    if account.at is not None and draft.now - account.at <= BLIND:
        for lease, since in wanted:
            begins = max(account.at, since, lease.active_since or since)
            hours += len(lease.slots) * max(draft.now - begins, timedelta(0)) / timedelta(hours=1)
    draft.put(replace(account, hours=hours, at=draft.now, team=wanted[0][0].team))


@dataclass
class _Bucket:
    """Those who really wait for one kind on one host."""

    total: int = 0  # devices
    of: dict[PersonId, int] = field(default_factory=dict)  # the same by person
    first: dict[PersonId, datetime] = field(default_factory=dict)  # since when the first two of them wait

    def add(self, request: Request) -> None:
        self.total += request.count
        self.of[request.person] = self.of.get(request.person, 0) + request.count
        since, first = max(request.asked, request.start or request.asked), self.first
        known = first.get(request.person)
        if known is None and len(first) == 2 and since >= max(first.values()):
            return  # as nearly all: of one's own and the first of others, no more is ever asked
        first[request.person] = since if known is None else min(since, known)
        if len(first) > 2:
            del first[max(first, key=lambda person: first[person])]

    def others(self, person: PersonId) -> int:
        return self.total - self.of.get(person, 0)

    def since(self, person: PersonId) -> datetime:
        return min(at for who, at in self.first.items() if who != person)


class _Demand:
    """Who waits for what, and how much lies free, by kind and host: one pass over the books. Lives for one round."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._buckets: dict[str, dict[str, _Bucket]] = {}  # by kind, by host ("" not known: it may be any)
        self._free: dict[tuple[str, str], int] = {}
        self._cards: dict[str, list[Card]] = {}
        for card in draft.cards.values():
            self._cards.setdefault(f"{card.vcenter}:{card.host}", []).append(card)
        for r in draft.requests.values():
            if waits(r, draft.now) and r.state is RequestState.QUEUED:
                hosts = self._buckets.setdefault(r.kind, {})
                hosts.setdefault(host_of(draft, r.machine), _Bucket()).add(r)

    def since(self, person: PersonId, kind: str, machine: MachineId) -> datetime | None:
        """Since when others than a person want more of what a kind is of than lies free, on the host of a machine; None: they do not."""
        host = host_of(self._draft, machine)
        found = [at for k in self._rivals(kind, host) if (at := self._short(person, k, host)) is not None]
        return min(found, default=None)

    def _rivals(self, kind: str, host: str) -> frozenset[str]:
        return frozenset({kind, *(k for c in self._on(host) if has_kind(c, kind) for k in kinds_of(c))})

    def _short(self, person: PersonId, kind: str, host: str) -> datetime | None:
        of = self._buckets.get(kind, {})
        buckets = [b for h in ("", host) if (b := of.get(h)) is not None] if host else [*of.values()]
        others = [b for b in buckets if b.others(person)]
        if sum(b.others(person) for b in others) <= self._lies_free(kind, host):
            return None
        return min(b.since(person) for b in others)

    def _lies_free(self, kind: str, host: str) -> int:
        key = kind, host
        if key not in self._free:
            slots = (slot for card in self._on(host) for slot in _good(self._draft, card, kind))
            self._free[key] = sum(1 for _ in slots) if self._buckets.get(kind) else 0
        return self._free[key]

    def _on(self, host: str) -> Iterable[Card]:
        return self._cards.get(host, []) if host else self._draft.cards.values()


def _good(draft: Draft, card: Card, kind: str) -> Iterable[SlotId]:
    """The free slots for a kind of one card that may be lent, as it is booked now."""
    if not in_pool(card):
        return ()
    if card.mode is Mode.VGPU and size_of(draft, card) not in (None, kind):
        return ()
    had = {hold.slot for hold in draft.on(card.name) if hold.turn is Turn.HAS}
    return (slot for slot in parts(card, kind) if slot not in had)
