"""Values by what rules look them up by: who is in line, and what concerns a machine, a person or a host. Pure.

Books make a shelf once, when it is first asked for. A draft takes it over and goes along with what is put, so that a rule touches what it
concerns and not all there is. Nothing here decides anything: a shelf says what a walk over all values would say, in the same order.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Set
from itertools import chain
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

    in_order: ClassVar[bool] = True
    """Whether it says anything in the order of the books, so that it is made anew when that is another one."""

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
    _stale = False  # made anew when it is next asked for

    def _anew(self) -> None:
        by, groups = type(self).by, dict[Any, list[Any]]()
        for value in getattr(self._sheet, self.noun).values():
            group = by(value)
            if group in groups:
                groups[group].append(value)
            else:
                groups[group] = [value]
        self._groups, self._stale = {group: tuple(values) for group, values in groups.items()}, False

    def over(self, sheet: Sheet) -> Self:
        """See ``Shelf``."""
        copy = object.__new__(type(self))
        copy._sheet, copy._stale = sheet, self._stale  # that first: another thread may be making it anew
        copy._groups = self._groups.copy()
        return copy

    def follow(self, old: Any, new: Any) -> None:
        """See ``Shelf``."""
        by, key = type(self).by, type(self).key
        if self._stale:
            return
        if old is None:
            group = by(new)
            self._groups[group] = (*self._groups.get(group, ()), new)
        elif new is None:
            group, at = by(old), key(old)
            self._groups[group] = tuple(x for x in self._groups[group] if key(x) != at)
            if not self._groups[group]:
                del self._groups[group]
        elif by(old) == by(new):
            group, at = by(new), key(new)
            self._groups[group] = tuple(new if key(x) == at else x for x in self._groups[group])
        else:
            self._stale = True  # its place among those of its new group is not known here

    def of(self, group: Any) -> tuple[Any, ...]:
        """Those of which it says this, in the order of the books."""
        if self._stale:
            self._anew()
        return self._groups.get(group, ())

    def _fresh(self) -> dict[Any, tuple[Any, ...]]:
        if self._stale:
            self._anew()
        return self._groups


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
    def hosts(self) -> Mapping[tuple[str, str], tuple[Card, ...]]:
        """All hosts on which there are cards, with these."""
        return self._fresh()


class Line(Shelf):
    """Who is in line, in order: all, and those whose machine is on one host, or may be."""

    follows = (Machine, Request)

    _all: list[Request]
    _on: dict[str, list[Request]]
    _stale = False  # machines that somebody may wait for are on other hosts

    def _anew(self) -> None:
        machines, found = self._sheet.machines, dict[str, list[Request]]()
        self._all = sorted((r for r in self._sheet.requests.values() if _waits(r)), key=_place)
        for request in self._all:
            host = place_of(machines.get(request.machine))
            if host in found:
                found[host].append(request)
            else:
                found[host] = [request]
        self._on, self._stale = found, False

    def over(self, sheet: Sheet) -> Self:
        """See ``Shelf``."""
        copy = object.__new__(type(self))
        copy._sheet, copy._stale = sheet, self._stale  # that first, too
        copy._all, copy._on = self._all.copy(), {host: mine.copy() for host, mine in self._on.items()}
        return copy

    def follow(self, old: Any, new: Any) -> None:
        """See ``Shelf``."""
        if isinstance(old or new, Machine):
            self._stale = self._stale or place_of(old) != place_of(new)
            return
        if self._stale:
            return
        was, now = old is not None and _waits(old), new is not None and _waits(new)
        if was and now and old.place_key == new.place_key and old.machine == new.machine:
            for line in self._lines(new):
                line[bisect_left(line, _place(new), key=_place)] = new
            return
        for line in self._lines(old) if was else ():
            del line[bisect_left(line, _place(old), key=_place)]
        for line in self._lines(new) if now else ():
            insort(line, new, key=_place)

    def _lines(self, request: Request) -> tuple[list[Request], list[Request]]:
        """Those in which it stands, or is to stand."""
        return self._all, self._on.setdefault(place_of(self._sheet.machines.get(request.machine)), [])

    def all(self) -> list[Request]:
        """Everybody, in order."""
        self._fresh()
        return self._all.copy()

    def on(self, host: str) -> list[Request]:
        """Those whose machine is on a host (``near.host_of``), or on none that is known, in order."""
        self._fresh()
        mine, anywhere = self._on.get(host, []), self._on.get("", []) if host else []
        return sorted((*mine, *anywhere), key=_place) if anywhere else mine.copy()

    def but_on(self, hosts: Set[str]) -> list[Request]:
        """Those whose machine is on none of these hosts, in order."""
        self._fresh()
        if not hosts:
            return self._all.copy()
        return sorted(chain.from_iterable(mine for host, mine in self._on.items() if host not in hosts), key=_place)

    def _fresh(self) -> None:
        if self._stale:
            self._anew()


_place = attrgetter("place_key")


def _waits(request: Request) -> bool:
    """As ``WAITING`` says it, for a walk over all there are."""
    return request.state is RequestState.QUEUED or request.state is RequestState.OFFERED


def place(vcenter: str, host: str) -> str:
    """A host, by its vCenter and its id there."""
    return f"{vcenter}:{host}"


def place_of(machine: Machine | None) -> str:
    """The host of a machine, by vCenter and id; "" not known."""
    return place(machine.vcenter, machine.host) if machine is not None and machine.host else ""


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
