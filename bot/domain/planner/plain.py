"""Who in line plainly waits, as far as the books say: whole groups of them need not be looked at one by one. Pure.

Asked by ``hindered`` once a round. It says nothing of a look, and decides nothing.
"""

from __future__ import annotations

from typing import Any, Self

from bot.domain.model import Machine, MachineId, Request, RequestState
from bot.domain.shelves import WAITING, Shelf

Group = tuple[str, str, str]
"""A kind, a vCenter, and a host."""


class Plain(Shelf):
    """Those who are queued, do not rest, are not hindered and own their machine, which is there: by what they want and where."""

    follows = (Machine, Request)
    in_order = False

    groups: dict[Group, dict[int, tuple[int, MachineId]]]  # by number: how many devices it waits for, and its machine
    others: set[int]  # the numbers of those in line of whom that is not so
    _stale: bool

    def _anew(self) -> None:
        self.groups, self.others, self._stale = {}, set(), False
        for request in self._sheet.requests.values():
            self._write(request)

    def over(self, sheet: Any) -> Self:
        """See ``Shelf``."""
        copy = object.__new__(type(self))
        copy._sheet, copy._stale = sheet, self._stale
        copy.groups, copy.others = {group: mine.copy() for group, mine in self.groups.items()}, self.others.copy()
        return copy

    def follow(self, old: Any, new: Any) -> None:
        """See ``Shelf``."""
        if isinstance(old or new, Machine):
            self._stale = self._stale or _of(old) != _of(new)
            return
        if old is not None and not self._stale:
            self.others.discard(old.number)
            machine = self._sheet.machines.get(old.machine)
            group = (old.kind, machine.vcenter, machine.host) if machine is not None else None
            if group in self.groups:
                self.groups[group].pop(old.number, None)
        if new is not None and not self._stale:
            self._write(new)

    def fresh(self) -> Self:
        """Itself, as the values are now."""
        if self._stale:
            self._anew()
        return self

    def _write(self, request: Request) -> None:
        if request.state not in WAITING:
            return
        machine = self._sheet.machines.get(request.machine)
        plain = request.state is RequestState.QUEUED and request.rest is None and request.hindrance is None
        if not plain or machine is None or machine.gone or request.person not in machine.owners:
            self.others.add(request.number)
            return
        mine = self.groups.setdefault((request.kind, machine.vcenter, machine.host), {})
        mine[request.number] = 1 if request.partly else request.count, machine.uuid


def _of(machine: Machine | None) -> Any:
    """What is asked of a machine here; None: there is none."""
    return None if machine is None else (machine.vcenter, machine.host, machine.gone, machine.owners)


__all__ = ["Group", "Plain"]
