"""When each device is expected to be free: likely, when it is due, and at the latest.

Asked by ``promises`` (for those who wait) and by the planner (whether somebody may go past others). It decides nothing. *At the latest*
includes work that runs on, holders who extend once, keep silent or say "not now"; it assumes that machines shut down when asked and that nothing breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from bot.domain import blackouts, windows
from bot.domain.carrying import carries
from bot.domain.lengths import end_of
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE
from bot.domain.model import (
    Agreement,
    AgreementState,
    Card,
    Hold,
    Lease,
    LeaseState,
    Length,
    Machine,
    MachineId,
    Move,
    PersonId,
    Request,
    SlotId,
    Turn,
)
from bot.domain.outcoming import out_by
from bot.domain.policy import Policy
from bot.domain.shelves import S
from bot.domain.sight import Sight
from bot.domain.slots import card_name

ROUND = timedelta(minutes=1)
"""More than the time between two rounds: what is due is seen by then."""


class Open(Protocol):
    """Books or a draft."""

    @property
    def cards(self) -> Mapping[SlotId, Card]: ...
    @property
    def machines(self) -> Mapping[MachineId, Machine]: ...
    @property
    def requests(self) -> Mapping[int, Request]: ...
    @property
    def leases(self) -> Mapping[str, Lease]: ...
    @property
    def moves(self) -> Mapping[int, Move]: ...
    @property
    def agreements(self) -> Mapping[int, Agreement]: ...
    @property
    def holds(self) -> frozenset[Hold] | set[Hold]: ...
    def on(self, card: SlotId) -> tuple[Hold, ...]: ...
    def kept(self, kind: type[S]) -> S: ...


@dataclass(frozen=True)
class Free:
    """When a slot is expected to be free."""

    likely: datetime
    latest: datetime
    slot: SlotId
    cause: str
    who: PersonId = ""
    at: datetime | None = None


def by_time(free: Free) -> tuple[datetime, datetime, SlotId]:
    return free.likely, free.latest, free.slot


class Frees:
    """The expectations of one moment of the books, which must not change meanwhile."""

    def __init__(
        self, books: Open, now: datetime, policy: Policy, zone_of: Callable[[PersonId], str], sight: Sight | None
    ) -> None:
        """``sight``: the last look, if there is one: a device that somebody put on a machine without a lease is not counted on."""
        self.books, self.now, self.policy, self.zone_of, self.sight = books, now, policy, zone_of, sight
        self.takes: dict[SlotId, str] = {h.slot: h.label for h in books.holds if h.turn is Turn.HAS}
        self.nexts: dict[SlotId, str] = {h.slot: h.label for h in books.holds if h.turn is Turn.NEXT}

    # ---- the slots

    def free(self, slot: SlotId, wanted: str) -> Free | None:
        """When a device is expected back for a label; None: out of the pool, or taken by a stranger."""
        card = self.books.cards[card_name(slot)]
        if card.aside is not None or card.doubted:
            return None
        label, after = self.takes.get(slot), self.nexts.get(slot)
        if label == wanted and label is not None and label not in self.books.leases:  # offered to whoever asks
            return Free(self.now, self.now, slot, "free_now")
        if label is None:
            elsewhere = self.sight is not None and self.sight.settings(slot)
            return None if elsewhere else Free(self.now, self.now, slot, "free_now")
        free = self._of(label, slot)
        if free is None or after is None or after == wanted:
            return free
        return self._after(free, after)

    def _after(self, free: Free, label: str) -> Free:
        """Somebody is next for the slot."""
        lease = self.books.leases.get(label)
        if lease is None:  # an offer: whoever has it stands in the line
            return free
        starts = free.likely + self.usual(lease.machine)
        end = end_of(lease.terms.length, starts, self.zone_of(lease.person), self.policy)
        worst = self.back(lease.terms.length, self.starts(free.latest), lease.person)
        return Free(self.out(lease.machine, end), worst, free.slot, "behind", lease.person, end)

    def _of(self, label: str, slot: SlotId) -> Free | None:
        """When the slot that a label has is expected back."""
        lease = self.books.leases.get(label)
        if lease is None or lease.state not in OPEN_LEASE:  # an offer: whoever has it stands in the line
            person = self.books.requests[int(label)].person if label.isdigit() else ""
            return Free(self.now, self.now, slot, "reserved", person)
        if lease.fault:
            return None
        if lease.state is LeaseState.RETURNING:
            return self._returning(lease, slot)
        zone = self.zone_of(lease.person)
        if lease.state is LeaseState.ACTIVE and lease.end is not None:
            cause = "own_end" if lease.end > self.now else "over_time"
            ended = max(lease.end, self.now)
            likely = self.out(lease.machine, ended, lease.label)
            longer = ended + (timedelta(0) if lease.extended else self.policy.extend_waiting)
            return Free(likely, self.night(self.quiet(longer), zone), slot, cause, lease.person, lease.end)
        end = end_of(lease.terms.length, self.now + self.usual(lease.machine), zone, self.policy)
        cause = "moving" if lease.state is LeaseState.MOVING else "reserved"
        start = self.now if lease.state is LeaseState.MOVING else lease.free_since or self.now
        worst = self.back(lease.terms.length, self.starts(start), lease.person)
        return Free(self.out(lease.machine, end), worst, slot, cause, lease.person, end)

    def usual(self, uuid: MachineId) -> timedelta:
        """How long a restart of a machine usually takes."""
        machine = self.books.machines.get(uuid)
        return windows.usual(machine, self.policy) if machine else self.policy.usual_first

    def out(self, uuid: MachineId, end: datetime, label: str = "") -> datetime:
        """When what a machine has is likely out of it after an end: in the next time that is agreed for it, else as soon as it was announced;
        no restart begins unannounced, and one takes its time."""
        usual, mine = self.usual(uuid), self.agreed(uuid, label) if label else []
        found = windows.next_window([a for a in mine if not a.now], uuid, end, usual, self.policy)
        begins = max(end + self.policy.last_call, found[1].start if found is not None else end)
        return (blackouts.first(self.policy, begins, usual) or begins) + usual

    def _returning(self, lease: Lease, slot: SlotId) -> Free:
        """It is on its way back: in a window that is agreed, at worst in the night that the terms give."""
        machine = self.books.machines.get(lease.machine)
        usual = windows.usual(machine, self.policy) if machine else self.policy.usual_first
        mine = self.agreed(lease.machine, lease.label)
        firm = [a.window.end for a in mine if a.firm and a.window is not None]
        zone = self.zone_of(lease.person)
        worst = max(firm) if firm else self.night(max(self.now, lease.counts_from + self.policy.stuck_return), zone)
        found = windows.next_window(mine, lease.machine, self.now, usual, self.policy)
        if found is None:
            at = max(self.now, lease.counts_from + self.policy.stuck_return)
            night = windows.usable_night(at, zone, self.policy, usual)
            waits = any(a.when_done for a in mine)  # until nothing runs: nobody knows when that is
            cause, by = ("when_done", worst) if waits else ("returning", None)
            return Free(night.start, worst, slot, cause, lease.person, by)
        likely = max(self.now + self._announces(lease.machine, found[0]), found[1].start) + usual
        by = out_by(self.books, lease, mine, self.now, self.policy)
        return Free(likely, max(worst, likely), slot, "returning", lease.person, by or likely)

    def _announces(self, machine: MachineId, agreement: Agreement) -> timedelta:
        """How long before a restart it is announced; none is due any more once that was done, or it was begun."""
        moves = (m for m in self.books.moves.values() if m.machine == machine and m.state in OPEN_MOVE)
        if any((m.announced is not None and m.announced <= self.now) or m.shutdown_at is not None for m in moves):
            return timedelta(0)
        return self.policy.last_call_now if agreement.now else self.policy.last_call

    def agreed(self, machine: MachineId, label: str) -> list[Agreement]:
        """The open agreements that may serve a label."""
        return [
            a
            for a in self.books.agreements.values()
            if a.machine == machine and a.state is AgreementState.OPEN and (a.firm or carries(self.books, a, label))
        ]

    # ---- the worst

    def starts(self, has: datetime) -> datetime:
        """When the clock of one who has a device starts at worst: not put on for a day, repaired for an hour, left off."""
        p = self.policy
        return has + p.reserved_free + p.late_off + p.repair + p.power_on_wait

    def back(self, length: Length, start: datetime, person: PersonId) -> datetime:
        """When a device that is taken at ``start`` is back at worst."""
        zone = self.zone_of(person)
        return self.night(self.quiet(end_of(length, start, zone, self.policy) + self.policy.extend_waiting), zone)

    def quiet(self, end: datetime) -> datetime:
        """After an end: work runs on, then the holder keeps silent."""
        return end + self.policy.running_work + self.policy.stuck_return

    def night(self, at: datetime, zone: str) -> datetime:
        """The end of the night that the terms give then; one that a clock change cut short is not used."""
        p = self.policy
        night = windows.usable_night(at + p.last_call + 2 * ROUND, zone, p, timedelta(hours=1))
        return night.end
