"""When each device is expected to be free: likely, when it is due, and at the latest.

Asked by ``promises`` (for those who wait) and by the planner (whether somebody may go past others). It decides nothing. *At the latest*
includes work that runs on, holders who extend once, keep silent or say "not now"; it assumes that machines shut down when asked and that nothing
breaks. It is reckoned from what is written down, not from now, wherever it can be: looked at again later, it says the same. *Due* is what was
agreed. *Likely* knows besides how often loans came back early lately, and which cards do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property

from bot.domain import blackouts, early, foretold, windows
from bot.domain.caps import Caps
from bot.domain.carrying import carries
from bot.domain.draft import Draft
from bot.domain.early import Early
from bot.domain.hours import DAY, local, wall
from bot.domain.lengths import end_of
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY
from bot.domain.model import (
    Agreement,
    AgreementKind,
    AgreementState,
    Books,
    Lease,
    LeaseState,
    Length,
    MachineId,
    PersonId,
    Request,
    SlotId,
    Turn,
    Window,
)
from bot.domain.near import host_of
from bot.domain.outcoming import out_by, restart_of
from bot.domain.policy import Policy
from bot.domain.queue import contended, waiters
from bot.domain.shelves import agreements_of, moves_of
from bot.domain.sight import Sight
from bot.domain.slots import card_name
from bot.domain.waiting import Passing

ROUND = timedelta(minutes=1)
"""More than the time between two rounds: what is due is seen by then."""

TAKEN = "it did nothing, and somebody waits"
"""The reason of a lease that is taken back under its terms: work that begins before its restart brings it back to life."""


@dataclass(frozen=True)
class Free:
    """When a slot is expected to be free."""

    likely: datetime  # as it will probably go
    latest: datetime  # at worst
    slot: SlotId  # which
    cause: str  # see ``Promise.cause``
    who: PersonId = ""  # whose it is until then
    at: datetime | None = None  # the time that decides it
    agreed: datetime | None = None  # as agreed, without statistics; None: that is what is likely
    sure: bool = False  # at worst it is free by then whoever waits; else only if somebody waits until then

    @property
    def due(self) -> datetime:
        """When it is free as agreed, restart included: neither the worst nor statistics."""
        return self.agreed or self.likely


def by_time(free: Free) -> tuple[datetime, datetime, SlotId]:
    return free.likely, free.latest, free.slot


class Frees:
    """The expectations of one moment of the books, which must not change meanwhile."""

    def __init__(
        self,
        books: Books | Draft,
        now: datetime,
        policy: Policy,
        zone_of: Callable[[PersonId], str],
        sight: Sight | None,
    ) -> None:
        """``sight``: the last look, if there is one: a device that somebody put on a machine without a lease is not counted on."""
        self.books, self.now, self.policy, self.zone_of, self.sight = books, now, policy, zone_of, sight
        self.takes: dict[SlotId, str] = {h.slot: h.label for h in books.holds if h.turn is Turn.HAS}
        self.nexts: dict[SlotId, str] = {h.slot: h.label for h in books.holds if h.turn is Turn.NEXT}
        self._nights: dict[tuple[str, date], Window] = {}  # the first usable night of a day or later, by zone
        self._wanted: dict[tuple[str, str], list[Request]] = {}  # who really waits, by kind and host
        self.heeds: frozenset[str] | None = (
            None  # the labels whose promise to those they went past is counted on; None: all
        )
        self._early: dict[str, Early | None] = {}  # by kind

    # ---- the slots

    def free(self, slot: SlotId, wanted: str) -> Free | None:
        """When a device is expected back for a label; None: out of the pool, or taken by a stranger."""
        card = self.books.cards[card_name(slot)]
        if card.aside is not None or card.doubted:
            return None
        label, after = self.takes.get(slot), self.nexts.get(slot)
        if label == wanted and label is not None and self.lease_of(label) is None:  # offered to whoever asks
            return Free(self.now, self.now, slot, "free_now", sure=True)
        if label is None:
            elsewhere = self.sight is not None and self.sight.settings(slot)
            return None if elsewhere else Free(self.now, self.now, slot, "free_now", sure=True)
        free = self._of(label, slot)
        if free is None or after is None or after == wanted:
            return free
        return self._after(free, after)

    def held(self, slot: SlotId) -> Free | None:
        """When a device is back from who has it, whoever is next for it; None: out of the pool, or taken by a stranger."""
        card, label = self.books.cards[card_name(slot)], self.takes.get(slot)
        if label is None or card.aside is not None or card.doubted:
            return self.free(slot, "")
        return self._of(label, slot)

    def lease_of(self, label: str) -> Lease | None:
        """The lease that has, or will have, what is held under a label; None: it is offered. The number of a request that was given up once, and
        waits again, is that of a lease that is over."""
        lease = self.books.leases.get(label)
        return lease if lease is not None and lease.state in OPEN_LEASE else None

    def back_of(self, label: str, has: datetime) -> tuple[datetime, bool]:
        """When devices are back at worst, all of which a label has then; and whether that is so whoever waits."""
        lease = self.lease_of(label)
        request = self.books.requests.get(int(label)) if label.isdigit() else None
        keeps = self.keeps_to(label)
        if keeps is not None:
            return max(has, keeps.back_by), True
        if lease is not None:
            return self.back(lease.terms.length, self.starts(max(has, lease.since)), lease.person), False
        if request is None:
            return has, False
        by = request.offer.accept_by if request.offer is not None else has
        return self.back(request.terms.length, self.starts(max(has, by)), request.person), False

    def _after(self, free: Free, label: str) -> Free:
        """Somebody is next for the slot: it has it from when it is free."""
        lease = self.lease_of(label)
        if lease is None:
            return self._offered(label, free.slot, free)
        comes = self._comes(lease)
        starts = max([free.likely, *(f.likely for f in comes)]) + self.usual(lease.machine)
        end = self.kept_until(lease.kind, lease.terms.length, starts, lease.person)
        worst = self.back(lease.terms.length, self.starts(max([free.latest, *(f.latest for f in comes)])), lease.person)
        if (keeps := self._keeps_to(lease)) is not None:
            end, worst = min(end, keeps.ends_by), max(free.latest, keeps.back_by)
        out, sure = self.out(lease.machine, end), keeps is not None
        return Free(out, worst, free.slot, "behind", lease.person, end, sure=sure)

    def _of(self, label: str, slot: SlotId) -> Free | None:
        """When the slot that a label has is expected back."""
        lease = self.lease_of(label)
        if lease is None:
            return self._offered(label, slot)
        if lease.fault:
            return None
        if lease.state is LeaseState.RETURNING:
            return self._returning(lease, slot)
        if lease.state is LeaseState.ACTIVE and lease.end is not None:
            return self._active(lease, lease.end, slot)
        comes = self._comes(lease)
        begins = max([self.now, *(f.likely for f in comes)]) + self.usual(lease.machine)
        end = self.kept_until(lease.kind, lease.terms.length, begins, lease.person)
        cause = "moving" if lease.state is LeaseState.MOVING else "reserved"
        moves = lease.state is LeaseState.MOVING
        has = max([lease.free_since or lease.since, *(f.latest for f in comes)])
        starts = self.begun(lease.counts_from) if moves else self.starts(has)
        worst = self.back(lease.terms.length, starts, lease.person)
        if (keeps := self._keeps_to(lease)) is not None:
            end, worst = min(end, keeps.ends_by), max(self.now, keeps.back_by)
        out, sure = self.out(lease.machine, end), keeps is not None
        return Free(out, worst, slot, cause, lease.person, end, sure=sure)

    def _comes(self, lease: Lease) -> list[Free]:
        """When the devices are free that a lease is next for: its clock starts when all of them are there."""
        mine = (
            s for s in lease.slots if self.nexts.get(s) == lease.label and self.takes.get(s) not in (None, lease.label)
        )
        return [f for s in mine if (f := self._of(self.takes[s], s)) is not None]

    def _offered(self, label: str, slot: SlotId, free: Free | None = None) -> Free:
        """A slot that is offered to somebody: they take it.

        :param free: when it is free for them, if it is still on its way
        """
        request = self.books.requests.get(int(label)) if label.isdigit() else None
        if request is None:
            return Free(self.now, self.now, slot, "reserved")
        begins, latest = (free.likely, free.latest) if free is not None else (self.now, self.now)
        by = request.offer.accept_by if request.offer is not None else self.now
        starts = begins + self.usual(request.machine)
        end = self.kept_until(request.kind, request.terms.length, starts, request.person)
        worst = self.back(request.terms.length, self.starts(max(latest, by)), request.person)
        if request.passing is not None:
            end, worst = min(end, request.passing.ends_by), max(latest, request.passing.back_by)
        out, sure = self.out(request.machine, end), request.passing is not None
        return Free(out, worst, slot, "reserved", request.person, end, sure=sure)

    def usual(self, uuid: MachineId) -> timedelta:
        """How long a restart of a machine usually takes."""
        machine = self.books.machines.get(uuid)
        return windows.usual(machine, self.policy) if machine else self.policy.usual_first

    def out(self, uuid: MachineId, end: datetime, label: str = "") -> datetime:
        """When what a machine has is likely out of it after an end: in the next time that is agreed for it, else as soon as it was announced;
        no restart begins unannounced, and one takes its time."""
        return self._agreed_out(uuid, end, label) or self._begins(end + self.policy.last_call, uuid)

    def _certain(self, uuid: MachineId, end: datetime, person: PersonId, keeps: Passing) -> datetime:
        """When what went past others is out after its end by the terms: in its machine's first night, or at once if that is too late."""
        begins, usual = end + self.policy.last_call, self.usual(uuid)
        night = windows.usable_night(begins, self.zone_of(person), self.policy, usual)
        return self._begins(begins if night.end > keeps.back_by else night.start, uuid)

    def _agreed_out(self, uuid: MachineId, end: datetime, label: str) -> datetime | None:
        """The same in a time that is agreed; None: none is."""
        mine = self.agreed(uuid, label) if label else []
        found = self.next_window([a for a in mine if not a.now], uuid, end)
        return self._begins(max(end + self.policy.last_call, found[1].start), uuid) if found is not None else None

    def _begins(self, at: datetime, uuid: MachineId) -> datetime:
        """The end of a restart that begins then, or as soon as the site allows."""
        usual = self.usual(uuid)
        return (blackouts.first(self.policy, at, usual) or at) + usual

    # ---- what works

    def _active(self, lease: Lease, end: datetime, slot: SlotId) -> Free:
        """A lease that works: until its end, or sooner."""
        cause = "own_end" if end > self.now else "over_time"
        if (keeps := self._keeps_to(lease)) is not None:
            end = min(end, keeps.ends_by)
        if slot in self._given_way(lease):
            end, cause = self.now, "spare"
        due, sure = self.out(lease.machine, max(end, self.now), lease.label), keeps is not None
        if keeps is not None:
            due = min(due, self._certain(lease.machine, max(end, self.now), lease.person, keeps))
        worst = self.worst_of(lease, given_way=cause == "spare")
        found = Free(due, worst, slot, cause, lease.person, lease.end, due, sure)
        if cause != "own_end" or lease.active_since is None:
            return found
        lately = self.lately(lease.kind)
        soon = lately.end(lease.active_since, end, self.now) if lately is not None else end
        if soon < end:
            likely = self.out(lease.machine, soon, lease.label)
            found = Free(min(due, likely), found.latest, slot, "early", lease.person, lease.end, due, sure)
        quiet = foretold.take_back(self.books.watches.get(slot), lease, self.now, self.policy)
        taken = self._agreed_out(lease.machine, quiet, lease.label) if quiet is not None else None
        if taken is None or taken >= found.likely:
            return found
        return Free(taken, max(taken, found.latest), slot, "quiet", "", taken, due, sure)

    def worst_of(self, lease: Lease, given_way: bool = False) -> datetime:
        """When an active lease is back at worst: extended once, then work runs on, then silence, and the night that the terms give.

        :param given_way: of what is spare: its time is over since somebody else waits
        """
        p, end, zone = self.policy, lease.end or self.now, self.zone_of(lease.person)
        if (keeps := self._keeps_to(lease)) is not None:
            return max(self.now, keeps.back_by)
        longer = end + (timedelta(0) if lease.extended else p.extend_waiting)
        if given_way:
            longer = min(end, lease.wanted_since or self.now + ROUND)
        # Over its time for long, it returns with the next round.
        return max(self.night(self.quiet(longer), zone), self.night(self.now + ROUND + p.stuck_return, zone))

    def _keeps_to(self, lease: Lease) -> Passing | None:
        """What a lease that went past others keeps to; None: it went past nobody, or none of those waits any more."""
        from bot.domain.planner.back import waits_for  # which reckons with what is here

        if lease.passing is None or not self._heeds(lease.label):
            return None
        return lease.passing if waits_for(self.books, lease) is not None else None

    def keeps_to(self, label: str) -> Passing | None:
        """What is kept to under a label: by a lease, or by whoever is offered it; None: nothing."""
        lease = self.lease_of(label)
        request = self.books.requests.get(int(label)) if label.isdigit() else None
        if lease is not None or request is None or not self._heeds(label):
            return self._keeps_to(lease) if lease is not None else None
        return request.passing

    def _heeds(self, label: str) -> bool:
        return self.heeds is None or label in self.heeds

    def _given_way(self, lease: Lease) -> tuple[SlotId, ...]:
        """The devices of a spare lease whose time is over, since somebody else waits."""
        if not lease.terms.spare or all(r.person == lease.person for r in self._waiters(lease.kind, lease.machine)):
            return ()
        caps, request = Caps(self.sheet, self.policy, lease.kind, lease.machine), self.books.requests.get(lease.request)
        lacking = caps.lacking(lease)
        if lacking <= 0:
            return ()
        if request is None or request.terms.spare:
            return lease.slots
        beyond = caps.share(lease).beyond
        if beyond:  # with what goes back before it its holder may be within their share
            more = lacking > beyond
            beyond -= sum(len(x.slots) for x in self.books.leases.values() if self._before(x, lease, more))
        return lease.slots[-beyond:] if beyond > 0 else ()

    def _before(self, other: Lease, lease: Lease, more: bool) -> bool:
        """Whether another lease of its holder, or team, may go back before one that is over their share: what was asked for as spare, what was lent
        later, and, if ``more`` is wanted than what is spare, what is over its time."""
        mine = other.person == lease.person or (lease.team != "" and other.team == lease.team)
        if not mine or other.label == lease.label or other.state is not LeaseState.ACTIVE or other.kind != lease.kind:
            return False
        if host_of(self.books, other.machine) != host_of(self.books, lease.machine):
            return False
        if more and other.end is not None and other.end <= self.now:
            return True
        asked = self.books.requests.get(other.request)
        later = (other.since, lease.label) > (lease.since, other.label)
        return other.terms.spare and (asked is None or asked.terms.spare or later)

    @cached_property
    def sheet(self) -> Draft:
        """The books, to look at as rules do."""
        return self.books if isinstance(self.books, Draft) else Draft(self.books, self.now)

    def _waiters(self, kind: str, machine: MachineId) -> list[Request]:
        """Who really waits for a kind on the host of a machine."""
        key = kind, host_of(self.books, machine)
        if key not in self._wanted:
            wanted = contended(self.books, kind, machine, self.now)
            self._wanted[key] = waiters(self.books, kind, machine, self.now) if wanted else []
        return self._wanted[key]

    def lately(self, kind: str) -> Early | None:
        """How early loans of a kind came back lately; None: not known."""
        if kind not in self._early:
            self._early[kind] = early.lately(self.books.leases.values(), kind)
        return self._early[kind]

    def kept_until(self, kind: str, length: Length, start: datetime, person: PersonId) -> datetime:
        """Until when something that is taken at ``start`` is likely kept."""
        end, lately = end_of(length, start, self.zone_of(person), self.policy), self.lately(kind)
        return lately.end(start, end, start) if lately is not None else end

    # ---- what comes back

    def _returning(self, lease: Lease, slot: SlotId) -> Free:
        """It is on its way back: in a window that is agreed, at worst in the night that the terms give."""
        usual, mine = self.usual(lease.machine), self.agreed(lease.machine, lease.label)
        zone, worst = self.zone_of(lease.person), self.worst_back(lease)
        move = restart_of(self.books, lease)
        if move is not None and move.shutdown_at is not None:  # it comes out in the time that this one uses
            found = windows.next_window(mine, lease.machine, self.now, usual, self.policy)
        else:
            found = self.next_window(mine, lease.machine, self.now)
        if found is None:
            at = max(self.now, lease.counts_from + self.policy.stuck_return)
            night = windows.usable_night(at, zone, self.policy, usual)
            waits = any(a.when_done for a in mine)  # until nothing runs: nobody knows when that is
            cause, by = ("when_done", worst) if waits else ("returning", None)
            return Free(night.start, max(worst, night.start), slot, cause, lease.person, by)
        likely = max(self.now + self._announces(lease.machine, found[0]), found[1].start) + usual
        by = out_by(self.books, lease, mine, self.now, self.policy)
        sure = any(a.firm for a in mine) or self._keeps_to(lease) is not None
        return Free(likely, max(worst, likely), slot, "returning", lease.person, by or likely, sure=sure)

    def worst_back(self, lease: Lease) -> datetime:
        """When a lease that is on its way back is out at worst: in the night that the terms give."""
        mine = self.agreed(lease.machine, lease.label)
        firm = [a.window.end for a in mine if a.firm and a.window is not None]
        stuck = lease.counts_from + self.policy.stuck_return
        worst = max(firm) if firm else self.night(max(self.now, stuck), self.zone_of(lease.person))
        if (keeps := self._keeps_to(lease)) is not None:
            worst = max(self.now, min(worst, keeps.back_by))
        begun = any(m.state in UNDER_WAY for m in moves_of(self.books, lease.machine))
        if lease.reason == TAKEN and not begun:  # work may begin on it still
            worst = max(worst, self.worst_of(lease))
        return worst

    def _announces(self, machine: MachineId, agreement: Agreement) -> timedelta:
        """How long before a restart it is announced; none is due any more once that was done, or it was begun."""
        moves = (m for m in moves_of(self.books, machine) if m.state in OPEN_MOVE)
        if any((m.announced is not None and m.announced <= self.now) or m.shutdown_at is not None for m in moves):
            return timedelta(0)
        return self.policy.last_call_now if agreement.now else self.policy.last_call

    def agreed(self, machine: MachineId, label: str) -> list[Agreement]:
        """The open agreements that may serve a label."""
        mine = (a for a in agreements_of(self.books, machine) if a.state is AgreementState.OPEN)
        found = [a for a in mine if a.firm or carries(self.books, a, label)]
        return [a for a in found if not self._begun_without(a, label)] if found else found

    def _begun_without(self, agreement: Agreement, label: str) -> bool:
        """Whether the one restart that a time is for has begun, and has nothing to do with a label: it is used up then."""
        once = agreement.kind is not AgreementKind.STANDING
        return once and any(
            m.agreement == agreement.number and m.state in UNDER_WAY and all(w.label != label for w in m.wishes)
            for m in moves_of(self.books, agreement.machine)
        )

    def next_window(
        self, agreements: Iterable[Agreement], uuid: MachineId, at: datetime
    ) -> tuple[Agreement, Window] | None:
        """``windows.next_window`` as it may be used from then on; what was used up of a standing one is not in it."""
        usual, since = self.usual(uuid), dict[datetime, list[Agreement]]()
        for agreement in agreements:
            since.setdefault(self.usable_from(agreement, at), []).append(agreement)
        found = []
        for begins, mine in since.items():
            coming = windows.next_window(mine, uuid, begins, usual, self.policy)
            if coming is not None:
                agreement, window = coming
                used_up = begins > max(at, window.start)
                found.append((agreement, Window(begins, window.end) if used_up else window))
        return min(found, key=lambda one: max(at, one[1].start), default=None)

    def usable_from(self, agreement: Agreement, at: datetime) -> datetime:
        """From when on a time may be used for what is free then: a standing one serves one restart of its machine a day (``moves.plan``)."""
        if agreement.kind is not AgreementKind.STANDING:
            return at
        for move in moves_of(self.books, agreement.machine):
            used = self.books.agreements.get(move.agreement or 0)
            if move.shutdown_at is not None and used is not None and used.kind is AgreementKind.STANDING:
                at = max(at, move.shutdown_at + DAY)
        return at

    # ---- the worst

    def starts(self, has: datetime) -> datetime:
        """When the clock of one who has a device starts at worst: not put on for a day."""
        return self.begun(has + self.policy.reserved_free)

    def begun(self, at: datetime) -> datetime:
        """The same once the restart has begun that puts it on: repaired for an hour, left off."""
        p = self.policy
        return at + p.late_off + p.repair + p.power_on_wait

    def back(self, length: Length, start: datetime, person: PersonId) -> datetime:
        """When a device that is taken at ``start`` is back at worst."""
        zone = self.zone_of(person)
        return self.night(self.quiet(end_of(length, start, zone, self.policy) + self.policy.extend_waiting), zone)

    def quiet(self, end: datetime) -> datetime:
        """After an end: work runs on, then the holder keeps silent."""
        return end + self.policy.running_work + self.policy.stuck_return

    def night(self, at: datetime, zone: str) -> datetime:
        """The end of the night that the terms give then; one that a clock change cut short is not used."""
        at += self.policy.last_call + 2 * ROUND
        day = local(at, zone).date()
        found = self._night_of(day, zone)
        return (found if found.start >= at else self._night_of(day + DAY, zone)).end

    def _night_of(self, day: date, zone: str) -> Window:
        """The first usable night that begins on a local day or later."""
        if (zone, day) not in self._nights:
            begins = wall(day, time(0), zone)
            self._nights[zone, day] = windows.usable_night(begins, zone, self.policy, timedelta(hours=1))
        return self._nights[zone, day]
