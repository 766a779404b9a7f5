"""Values by what rules look them up by: who is in line, and what concerns a machine, a person or a host. Pure.

Books make a shelf once, when it is first asked for. A draft takes it over and goes along with what is put, so that a rule touches what it
concerns and not all there is. Nothing here decides anything: a shelf says what a walk over all values would say, in the same order.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, ClassVar, Protocol, Self, TypeVar

from bot.domain.model import (
    Agreement,
    Card,
    Lease,
    Machine,
    MachineId,
    Move,
    PersonId,
    Request,
    RequestState,
    SlotId,
)

WAITING = frozenset({RequestState.QUEUED, RequestState.OFFERED})
"""In line: queued or offered."""

Place = tuple[datetime, int]
"""What the line is sorted by (``Request.place_key``)."""


class Sheet(Protocol):
    """Books or a draft: what a shelf is made of."""

    @property
    def cards(self) -> Mapping[SlotId, Card]:
        """By name."""
        ...

    @property
    def machines(self) -> Mapping[MachineId, Machine]:
        """By id."""
        ...

    @property
    def requests(self) -> Mapping[int, Request]:
        """By number."""
        ...

    @property
    def leases(self) -> Mapping[str, Lease]:
        """By label."""
        ...

    @property
    def moves(self) -> Mapping[int, Move]:
        """By number."""
        ...

    @property
    def agreements(self) -> Mapping[int, Agreement]:
        """By number."""
        ...


class Shelf:
    """One way to look values up."""

    follows: ClassVar[tuple[type, ...]] = ()
    """The nouns that it goes along with, those first by which others are found."""

    def __init__(self, sheet: Sheet) -> None:
        """Made of all values, as they are."""
        self._sheet = sheet
        self._anew()

    def _anew(self) -> None:
        raise NotImplementedError

    def over(self, sheet: Sheet) -> Self:
        """A copy of its own for another sheet, which says the same so far."""
        raise NotImplementedError

    def follow(self, old: Any, new: Any) -> None:
        """A value was written (``old`` None: it is new) or taken out (``new`` None) on its sheet."""
        raise NotImplementedError


S = TypeVar("S", bound=Shelf)


class Shelves(Protocol):
    """Whatever keeps shelves: books and drafts."""

    def kept(self, kind: type[S]) -> S:
        """The shelf of a kind, as the values are now."""
        ...


class _By(Shelf):
    """Values of one noun by what one field of theirs says."""

    noun: ClassVar[str]  # the field of the sheet
    by: ClassVar[attrgetter[Any]]
    key: ClassVar[attrgetter[Any]]
    _groups: dict[Any, tuple[Any, ...]]

    def _anew(self) -> None:
        by, groups = type(self).by, dict[Any, list[Any]]()
        for value in getattr(self._sheet, self.noun).values():
            group = by(value)
            if group in groups:
                groups[group].append(value)
            else:
                groups[group] = [value]
        self._groups = {group: tuple(values) for group, values in groups.items()}

    def over(self, sheet: Sheet) -> Self:
        """See ``Shelf``."""
        copy = object.__new__(type(self))
        copy._sheet, copy._groups = sheet, self._groups.copy()
        return copy

    def follow(self, old: Any, new: Any) -> None:
        """See ``Shelf``."""
        by, key = type(self).by, type(self).key
        if old is None:
            group = by(new)
            self._groups[group] = (*self._groups.get(group, ()), new)
        elif new is not None and by(old) == by(new):
            group, at = by(new), key(new)
            self._groups[group] = tuple(new if key(x) == at else x for x in self._groups[group])
        else:
            self._anew()  # it changed its group, or is gone: seldom, and its place among the others is not known here

    def of(self, group: Any) -> tuple[Any, ...]:
        """Those of which it says this, in the order of the books."""
        return self._groups.get(group, ())


class MovesOf(_By):
    """Moves by their machine."""

    follows, noun, by, key = (Move,), "moves", attrgetter("machine"), attrgetter("number")


class LeasesOf(_By):
    """Leases by their machine."""

    follows, noun, by, key = (Lease,), "leases", attrgetter("machine"), attrgetter("label")


class LeasesTo(_By):
    """Leases by who holds them."""

    follows, noun, by, key = (Lease,), "leases", attrgetter("person"), attrgetter("label")


class AgreementsOf(_By):
    """Agreements by their machine."""

    follows, noun, by, key = (Agreement,), "agreements", attrgetter("machine"), attrgetter("number")


class AgreementsFor(_By):
    """Agreements by the request or lease that they were given for; "" any change of their machine."""

    follows, noun, by, key = (Agreement,), "agreements", attrgetter("label"), attrgetter("number")


class CardsOn(_By):
    """Cards by their host."""

    follows, noun, by, key = (Card,), "cards", attrgetter("vcenter", "host"), attrgetter("name")

    @property
    def hosts(self) -> int:
        """On how many hosts there are cards."""
        return len(self._groups)


class Line(Shelf):
    """Who is in line, in order: all, and those whose machine is on one host, or may be."""

    follows = (Machine, Request)

    _all: list[Place]
    _on: dict[str, list[Place]]
    _stale = False  # machines that somebody may wait for are on other hosts: made anew when it is next asked for

    def _anew(self) -> None:
        machines, found = self._sheet.machines, dict[str, list[Place]]()
        self._all = sorted(r.place_key for r in self._sheet.requests.values() if r.state in WAITING)
        requests = self._sheet.requests
        for place in self._all:
            host = place_of(machines.get(requests[place[1]].machine))
            if host in found:
                found[host].append(place)
            else:
                found[host] = [place]
        self._on, self._stale = found, False

    def over(self, sheet: Sheet) -> Self:
        """See ``Shelf``."""
        copy = object.__new__(type(self))
        copy._sheet, copy._stale = sheet, self._stale
        copy._all, copy._on = self._all.copy(), {host: mine.copy() for host, mine in self._on.items()}
        return copy

    def follow(self, old: Any, new: Any) -> None:
        """See ``Shelf``."""
        if isinstance(old or new, Machine):
            self._stale = self._stale or place_of(old) != place_of(new)
            return
        was = old.place_key if old is not None and old.state in WAITING else None
        now = new.place_key if new is not None and new.state in WAITING else None
        moved = was is not None and now is not None and old.machine != new.machine
        if self._stale or (was == now and not moved):
            return
        for request, place, write in ((old, was, _out), (new, now, insort)):
            if place is not None:
                host = place_of(self._sheet.machines.get(request.machine))
                write(self._all, place)
                write(self._on.setdefault(host, []), place)

    def all(self) -> list[Request]:
        """Everybody, in order."""
        self._fresh()
        requests = self._sheet.requests
        return [requests[number] for _, number in self._all]

    def on(self, host: str) -> list[Request]:
        """Those whose machine is on a host (``near.host_of``), or on none that is known, in order."""
        self._fresh()
        requests, mine, anywhere = self._sheet.requests, self._on.get(host, ()), self._on.get("", ())
        places: Iterable[Place] = sorted((*mine, *anywhere)) if host and anywhere else mine
        return [requests[number] for _, number in places]

    def _fresh(self) -> None:
        if self._stale:
            self._anew()


def _out(places: list[Place], place: Place) -> None:
    del places[bisect_left(places, place)]


def place_of(machine: Machine | None) -> str:
    """The host of a machine, by vCenter and id; "" not known."""
    return f"{machine.vcenter}:{machine.host}" if machine is not None and machine.host else ""


def moves_of(books: Shelves, machine: MachineId) -> tuple[Move, ...]:
    """The moves of a machine, in the order of the books."""
    return books.kept(MovesOf).of(machine)


def leases_of(books: Shelves, machine: MachineId) -> tuple[Lease, ...]:
    """The leases of a machine, in the order of the books."""
    return books.kept(LeasesOf).of(machine)


def leases_to(books: Shelves, person: PersonId) -> tuple[Lease, ...]:
    """The leases of a person, in the order of the books."""
    return books.kept(LeasesTo).of(person)


def agreements_of(books: Shelves, machine: MachineId) -> tuple[Agreement, ...]:
    """The agreements of a machine, in the order of the books."""
    return books.kept(AgreementsOf).of(machine)


def agreements_for(books: Shelves, label: str) -> tuple[Agreement, ...]:
    """The agreements that were given for a request or lease, in the order of the books."""
    return books.kept(AgreementsFor).of(label)


def cards_on(books: Shelves, vcenter: str, host: str) -> tuple[Card, ...]:
    """The cards of a host, in the order of the books."""
    return books.kept(CardsOn).of((vcenter, host))
