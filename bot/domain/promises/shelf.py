"""Whose promise is to be kept, and when something was last written that may move one: looked up by line and person, not searched for in all books.

Kept by the books and gone along with by drafts (``shelves``); asked by ``told`` once a round. It decides nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from bot.domain.lifecycle import OPEN_LEASE, OPEN_REQUEST
from bot.domain.model import BOT, Agreement, Lease, Machine, PersonId, Request
from bot.domain.shelves import Shelf, place_of

Line = tuple[str, str]
"""A line: a kind, and a host."""


class Told(Shelf):
    """See the module."""

    follows = (Machine, Agreement, Lease, Request)
    in_order = False

    _by_line: dict[Line, frozenset[int]]
    _by_person: dict[PersonId, frozenset[int]]
    _moved: dict[Line, datetime]  # when something was last written of a line
    _said: dict[PersonId, datetime]  # when a time for a machine of theirs was last named, or said no to
    _stale: bool

    def _anew(self) -> None:
        self._moved, self._said, self._stale = {}, {}, False
        lines, persons = dict[Line, set[int]](), dict[PersonId, set[int]]()
        for request in self._sheet.requests.values():
            line = self._written(request)
            if counts(request):
                lines.setdefault(line, set()).add(request.number)
                persons.setdefault(request.person, set()).add(request.number)
        self._by_line = {key: frozenset(mine) for key, mine in lines.items()}
        self._by_person = {key: frozenset(mine) for key, mine in persons.items()}
        for lease in self._sheet.leases.values():
            self._lease(lease)
        for agreement in self._sheet.agreements.values():
            self._agreement(agreement)
        for machine in self._sheet.machines.values():
            self._machine(machine)

    def over(self, sheet: Any) -> Self:
        """See ``Shelf``."""
        copy = object.__new__(type(self))
        copy._sheet, copy._stale = sheet, self._stale
        copy._by_line, copy._by_person = self._by_line.copy(), self._by_person.copy()
        copy._moved, copy._said = self._moved.copy(), self._said.copy()
        return copy

    def follow(self, old: Any, new: Any) -> None:
        """See ``Shelf``."""
        match old or new:
            case Machine():
                self._stale = self._stale or place_of(old) != place_of(new)
                if new is not None:
                    self._machine(new)
            case Request():
                self._request(old, new)
            case Lease() if new is not None:
                self._lease(new)
            case Agreement() if new is not None:
                self._agreement(new)
            case _:
                pass

    # ---- asked

    def moved(self, since: datetime) -> set[Line]:
        """The lines with promises in which something was written since then."""
        self._fresh()
        return {line for line in self._by_line if (at := self._moved.get(line)) is not None and at >= since}

    def of(self, line: Line) -> frozenset[int]:
        """The numbers of those whose promise is to be kept in a line."""
        self._fresh()
        return self._by_line.get(line, frozenset())

    def all(self) -> frozenset[int]:
        """The numbers of all whose promise is to be kept."""
        self._fresh()
        return frozenset().union(*self._by_line.values())

    def said(self, since: datetime) -> frozenset[int]:
        """The numbers of those whose persons, or co-owners, said something since then about a time to restart."""
        self._fresh()
        who = (person for person in self._by_person if (at := self._said.get(person)) is not None and at >= since)
        return frozenset(number for person in who for number in self._by_person[person])

    def _fresh(self) -> None:
        if self._stale:
            self._anew()

    # ---- kept

    def _request(self, old: Request | None, new: Request | None) -> None:
        for request, puts in ((old, False), (new, True)):
            if request is None:
                continue
            line = self._written(request) if puts else (request.kind, self._host(request.machine))
            if counts(request):
                _write(self._by_line, line, request.number, puts)
                _write(self._by_person, request.person, request.number, puts)

    def _written(self, request: Request) -> Line:
        line = request.kind, self._host(request.machine)
        if request.changed is not None and request.state in OPEN_REQUEST:
            _later(self._moved, line, request.changed)
        return line

    def _lease(self, lease: Lease) -> None:
        if lease.state in OPEN_LEASE:
            _later(self._moved, (lease.kind, self._host(lease.machine)), lease.changed)

    def _agreement(self, agreement: Agreement) -> None:
        if agreement.person != BOT:
            self._word(self._sheet.machines.get(agreement.machine), agreement.made)

    def _machine(self, machine: Machine) -> None:
        at = max((no.said for no in machine.not_nows if no.said is not None), default=None)
        if at is not None:
            self._word(machine, at)

    def _word(self, machine: Machine | None, at: datetime) -> None:
        for owner in machine.owners if machine is not None else ():
            _later(self._said, owner, at)

    def _host(self, machine: str) -> str:
        return place_of(self._sheet.machines.get(machine))


def counts(request: Request) -> bool:
    """Whether its promise is to be kept still."""
    return request.promised is not None and request.served is None and request.state in OPEN_REQUEST


def _write(groups: dict[Any, frozenset[int]], key: Any, number: int, puts: bool) -> None:
    mine = groups.get(key, frozenset())
    mine = mine | {number} if puts else mine - {number}
    if mine:
        groups[key] = mine
    else:
        groups.pop(key, None)


def _later(times: dict[Any, datetime], key: Any, at: datetime) -> None:
    if key not in times or times[key] < at:
        times[key] = at
