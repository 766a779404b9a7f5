"""Promised waiting times: when a request is served, likely and at the latest, and the one fact behind it.

Asked by answers, ``why`` and the board. It plays the line forward over the ends of the open leases, twice: as it will likely go, and as
it goes at worst. Whoever asks for many promises of one moment takes :class:`Promises`, which plays each line once. *At the latest* includes work that runs on, holders who extend once, keep silent or say "not now", and people ahead
who answer late; it assumes that machines shut down when asked, that nothing breaks, that the one who asks answers when asked, and has agreed to a
restart beforehand if the turn comes outside their working hours (else the next one may go first).

First come, first served without passing has no anomalies: if nobody ahead is served later than their worst time, nor keeps the
devices longer, nobody behind is served later than theirs. So the worst is played with each one's own worst.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from bot.domain import blackouts, hours, windows
from bot.domain.carrying import carries
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
    RequestState,
    SlotId,
    Turn,
)
from bot.domain.near import host_of, near
from bot.domain.outcoming import out_by
from bot.domain.planner import end_of
from bot.domain.policy import Policy
from bot.domain.queue import WAITING, line
from bot.domain.sight import Sight
from bot.domain.slots import Places, card_name, has_kind, kind_of, open_of, rivals

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


@dataclass(frozen=True)
class Promise:
    """When a request is served: likely and at the latest, with the one fact behind it."""

    likely: datetime | None  # None: not known
    latest: datetime | None  # None: not known
    cause: str  # free_now, own_end, over_time, returning, when_done, moving, reserved, behind, aside, none
    who: PersonId = ""  # whose card decides it
    at: datetime | None = None  # the time that decides it
    slots: tuple[SlotId, ...] = ()  # the slots counted on; of "aside" the cards that rest


@dataclass(frozen=True)
class _Free:
    """When a slot is expected to be free."""

    likely: datetime
    latest: datetime
    slot: SlotId
    cause: str
    who: PersonId = ""
    at: datetime | None = None


def _by_time(free: _Free) -> tuple[datetime, datetime, SlotId]:
    return free.likely, free.latest, free.slot


def promise(
    books: Open,
    request: Request,
    now: datetime,
    policy: Policy,
    zone_of: Callable[[PersonId], str],
    sight: Sight | None = None,
) -> Promise:
    """Play the line forward to a request.

    :param sight: the last look, if there is one: a device that somebody put on a machine without a lease is not counted on
    """
    return _Play(books, now, policy, zone_of, sight).promise(request)


class Promises(Mapping[int, Promise]):
    """The promises of everybody in line, by number of the request; each is made when it is asked for.

    The books are looked at then, so they must not change meanwhile: give it frozen ones. At the level `watch` nobody restarts anything
    by the clock, so there are none.
    """

    def __init__(
        self,
        books: Open,
        now: datetime,
        policy: Policy,
        zone_of: Callable[[PersonId], str],
        sight: Sight | None = None,
    ) -> None:
        """See :func:`promise`."""
        self._books, self._play = books, _Play(books, now, policy, zone_of, sight)
        self._made: dict[int, Promise] = {}
        self._watches = policy.level == "watch"

    def __getitem__(self, number: int) -> Promise:
        """Raises KeyError for what does not wait, and for all at the level `watch`."""
        if self._watches:
            raise KeyError(number)
        if number not in self._made:
            request = self._books.requests[number]
            if request.state not in WAITING:
                raise KeyError(number)
            self._made[number] = self._play.promise(request)
        return self._made[number]

    def __iter__(self) -> Iterator[int]:
        """In the order of the line."""
        return (request.number for request in (() if self._watches else line(self._books)))

    def __len__(self) -> int:
        """How many wait."""
        return 0 if self._watches else len(line(self._books))


@dataclass
class _Line:
    """The line of one kind, and what is free after its first n were served, as far as it was played."""

    requests: list[Request]  # in order
    likely: list[list[_Free]]  # [n]: by time, after the first n
    worst: list[list[datetime]]  # the same at worst
    keys: list[tuple[datetime, int]] = field(init=False)  # of the requests

    def __post_init__(self) -> None:
        self.keys = [_key(request) for request in self.requests]


def _key(request: Request) -> tuple[datetime, int]:
    return request.asked, request.number


class _Play:
    """One playing of the lines. Lives for one moment of the books."""

    def __init__(
        self, books: Open, now: datetime, policy: Policy, zone_of: Callable[[PersonId], str], sight: Sight | None
    ) -> None:
        self.books, self.now, self.policy, self.zone_of, self.sight = books, now, policy, zone_of, sight
        self.takes: dict[SlotId, str] = {h.slot: h.label for h in books.holds if h.turn is Turn.HAS}
        self.nexts: dict[SlotId, str] = {h.slot: h.label for h in books.holds if h.turn is Turn.NEXT}
        self._all = line(books)
        self._lines: dict[tuple[str, str], _Line] = {}  # by kind, and host
        self._near: dict[str, Places] = {}  # what concerns each host

    def promise(self, request: Request) -> Promise:
        """See :func:`promise`."""
        mine = {h.slot for h in self.books.holds if h.label == str(request.number)}
        if mine:  # offered: these are kept for it
            frees = [f for f in self._frees(request, str(request.number)) if f.slot in mine]
            likely, worst = sorted(frees, key=_by_time), sorted(f.latest for f in frees)
        else:
            likely, worst = self._after_those_ahead(request)
        if len(likely) < request.count or len(worst) < request.count:
            there = self._there(request.machine).cards.values()
            broken = tuple(sorted(c.name for c in there if c.aside and has_kind(c, request.kind)))
            return Promise(None, None, "aside" if broken else "none", slots=broken)
        counted = likely[: request.count]
        last = max(counted, key=lambda f: f.likely)
        soon = max(self.now, last.likely)
        found = self._likely(request, soon)
        latest: datetime | None = max(found, self._latest(request, max(self.now, worst[request.count - 1])))
        if not mine and self._other_sizes(request):
            latest = None  # who gets a card in which size decides it: that cannot be promised
        return Promise(found, latest, last.cause, last.who, last.at, tuple(f.slot for f in counted))

    def _other_sizes(self, request: Request) -> bool:
        """Whether others want, or have, the same cards in another size."""
        there = self._there(request.machine)
        others = rivals(there, request.kind) - {request.kind}
        wanted = (r.kind for r in self._all if r.number in there.requests)
        return bool(others) and not others.isdisjoint((*wanted, *(kind_of(self.books, h.label) for h in there.holds)))

    # ---- the line

    def _after_those_ahead(self, request: Request) -> tuple[list[_Free], list[datetime]]:
        """What is free, likely and at worst, when everybody was served who goes before: those who asked before, and all to whom
        something is offered."""
        played = self._line(request)
        at = bisect_left(played.keys, _key(request))
        for other in played.requests[len(played.likely) - 1 : at]:
            played.likely.append(self._serve_likely(played.likely[-1], other))
            played.worst.append(self._serve_worst(played.worst[-1], other))
        likely, worst = played.likely[at], played.worst[at]
        for other in played.requests[at:]:
            if other.state is RequestState.OFFERED and other.number != request.number:
                likely, worst = self._serve_likely(likely, other), self._serve_worst(worst, other)
        return likely, worst

    def _there(self, machine: MachineId) -> Places:
        """What concerns the host of a machine: it can have no other cards."""
        host = host_of(self.books, machine)
        if host not in self._near:
            self._near[host] = near(self.books, machine) or self.books
        return self._near[host]

    def _line(self, request: Request) -> _Line:
        key = request.kind, host_of(self.books, request.machine)
        if key not in self._lines:
            frees = self._frees(request)
            likely, worst = sorted(frees, key=_by_time), sorted(f.latest for f in frees)
            there = self._there(request.machine).requests
            mine = [r for r in self._all if r.kind == request.kind and r.number in there]
            self._lines[key] = _Line(mine, [likely], [worst])
        return self._lines[key]

    def _frees(self, request: Request, label: str = "") -> list[_Free]:
        """When each card that a request could have is expected to be free for a label ("": for those in line)."""
        there, kind = self._there(request.machine), request.kind
        found = [f for slot in open_of(there, kind) if (f := self.free(slot, label)) is not None]
        other = () if found else self._other_size(there, kind)
        return found or [f for slot in other if (f := self.free(slot, label)) is not None]

    def _other_size(self, there: Places, kind: str) -> list[SlotId]:
        """Of vGPU cards that are all booked in other sizes: the parts that are lent now; a card is free for this size with its last one."""
        cards = [c for c in there.cards.values() if has_kind(c, kind) and c.aside is None]
        last: list[SlotId] = []
        for card in cards:
            lent = [(f.latest, h.slot) for h in self.books.on(card.name) if (f := self.free(h.slot, "")) is not None]
            last += [max(lent)[1]] if lent else []
        return last

    def _serve_likely(self, free: list[_Free], other: Request) -> list[_Free]:
        """The slots after somebody ahead has taken theirs, all together; free again when their time is over."""
        if other.rest is not None:
            return free
        if len(free) < other.count:
            until = self._passed_from(other)
            held = (
                f if f.likely >= until else _Free(until, max(f.latest, until), f.slot, "behind", other.person)
                for f in free
            )
            return sorted(held, key=_by_time)
        taken, rest = free[: other.count], free[other.count :]
        start = max(self.now, *(f.likely for f in taken)) + self._usual(other.machine)
        end = self._end(other, start)
        out = self._out(other.machine, end)
        again = [_Free(out, out, f.slot, "behind", other.person, end) for f in taken]
        return sorted(rest + again, key=_by_time)

    def _serve_worst(self, free: list[datetime], other: Request) -> list[datetime]:
        """The same at worst: one who rests now may come back to the old place. Nobody passes, so nothing is free for those behind before it was this one's turn."""
        if len(free) < other.count:
            return sorted(max(f, self._passed_from(other)) for f in free)
        turn = max(self.now, free[other.count - 1])
        answered = hours.add_working(turn + ROUND, self.policy.accept_by, self.zone_of(other.person), self.policy)
        back = self._back(other.terms.length, self._starts(answered), other.person)
        return sorted([max(turn, f) for f in free[other.count :]] + [back] * other.count)

    def _passed_from(self, other: Request) -> datetime:
        """From when on somebody ahead who cannot be served holds up nobody any more."""
        found = other.hindrance
        passes = found.passes if found is not None else self.now + self.policy.reserved_free
        return self.now if other.rest is not None else max(self.now, passes + ROUND)

    def _end(self, other: Request, start: datetime) -> datetime:
        return end_of(other.terms.length, start, self.zone_of(other.person), self.policy)

    # ---- the slots

    def free(self, slot: SlotId, wanted: str) -> _Free | None:
        """When a device is expected back for a label; None: out of the pool, or taken by a stranger."""
        card = self.books.cards[card_name(slot)]
        if card.aside is not None or card.doubted:
            return None
        label, after = self.takes.get(slot), self.nexts.get(slot)
        if label == wanted and label is not None and label not in self.books.leases:  # offered to whoever asks
            return _Free(self.now, self.now, slot, "free_now")
        if label is None:
            elsewhere = self.sight is not None and self.sight.settings(slot)
            return None if elsewhere else _Free(self.now, self.now, slot, "free_now")
        free = self._of(label, slot)
        if free is None or after is None or after == wanted:
            return free
        return self._after(free, after)

    def _after(self, free: _Free, label: str) -> _Free:
        """Somebody is next for the slot."""
        lease = self.books.leases.get(label)
        if lease is None:  # an offer: whoever has it stands in the line
            return free
        starts = free.likely + self._usual(lease.machine)
        end = end_of(lease.terms.length, starts, self.zone_of(lease.person), self.policy)
        worst = self._back(lease.terms.length, self._starts(free.latest), lease.person)
        return _Free(self._out(lease.machine, end), worst, free.slot, "behind", lease.person, end)

    def _of(self, label: str, slot: SlotId) -> _Free | None:
        """When the slot that a label has is expected back."""
        lease = self.books.leases.get(label)
        if lease is None or lease.state not in OPEN_LEASE:  # an offer: whoever has it stands in the line
            person = self.books.requests[int(label)].person if label.isdigit() else ""
            return _Free(self.now, self.now, slot, "reserved", person)
        if lease.fault:
            return None
        if lease.state is LeaseState.RETURNING:
            return self._returning(lease, slot)
        zone = self.zone_of(lease.person)
        if lease.state is LeaseState.ACTIVE and lease.end is not None:
            cause = "own_end" if lease.end > self.now else "over_time"
            ended = max(lease.end, self.now)
            likely = self._out(lease.machine, ended, lease.label)
            longer = ended + (timedelta(0) if lease.extended else self.policy.extend_waiting)
            return _Free(likely, self._night(self._quiet(longer), zone), slot, cause, lease.person, lease.end)
        end = end_of(lease.terms.length, self.now + self._usual(lease.machine), zone, self.policy)
        cause = "moving" if lease.state is LeaseState.MOVING else "reserved"
        start = self.now if lease.state is LeaseState.MOVING else lease.free_since or self.now
        worst = self._back(lease.terms.length, self._starts(start), lease.person)
        return _Free(self._out(lease.machine, end), worst, slot, cause, lease.person, end)

    def _usual(self, uuid: MachineId) -> timedelta:
        """How long a restart of a machine usually takes."""
        machine = self.books.machines.get(uuid)
        return windows.usual(machine, self.policy) if machine else self.policy.usual_first

    def _out(self, uuid: MachineId, end: datetime, label: str = "") -> datetime:
        """When what a machine has is likely out of it after an end: in the next time that is agreed for it, else as soon as it was announced;
        no restart begins unannounced, and one takes its time."""
        usual, mine = self._usual(uuid), self._agreed(uuid, label) if label else []
        found = windows.next_window([a for a in mine if not a.now], uuid, end, usual, self.policy)
        begins = max(end + self.policy.last_call, found[1].start if found is not None else end)
        return (blackouts.first(self.policy, begins, usual) or begins) + usual

    def _returning(self, lease: Lease, slot: SlotId) -> _Free:
        """It is on its way back: in a window that is agreed, at worst in the night that the terms give."""
        machine = self.books.machines.get(lease.machine)
        usual = windows.usual(machine, self.policy) if machine else self.policy.usual_first
        mine = self._agreed(lease.machine, lease.label)
        firm = [a.window.end for a in mine if a.firm and a.window is not None]
        zone = self.zone_of(lease.person)
        worst = max(firm) if firm else self._night(max(self.now, lease.counts_from + self.policy.stuck_return), zone)
        found = windows.next_window(mine, lease.machine, self.now, usual, self.policy)
        if found is None:
            at = max(self.now, lease.counts_from + self.policy.stuck_return)
            night = windows.usable_night(at, zone, self.policy, usual)
            waits = any(a.when_done for a in mine)  # until nothing runs: nobody knows when that is
            cause, by = ("when_done", worst) if waits else ("returning", None)
            return _Free(night.start, worst, slot, cause, lease.person, by)
        likely = max(self.now + self._announces(lease.machine, found[0]), found[1].start) + usual
        by = out_by(self.books, lease, mine, self.now, self.policy)
        return _Free(likely, max(worst, likely), slot, "returning", lease.person, by or likely)

    def _announces(self, machine: MachineId, agreement: Agreement) -> timedelta:
        """How long before a restart it is announced; none is due any more once that was done, or it was begun."""
        moves = (m for m in self.books.moves.values() if m.machine == machine and m.state in OPEN_MOVE)
        if any((m.announced is not None and m.announced <= self.now) or m.shutdown_at is not None for m in moves):
            return timedelta(0)
        return self.policy.last_call_now if agreement.now else self.policy.last_call

    def _agreed(self, machine: MachineId, label: str) -> list[Agreement]:
        """The open agreements that may serve a label."""
        return [
            a
            for a in self.books.agreements.values()
            if a.machine == machine and a.state is AgreementState.OPEN and (a.firm or carries(self.books, a, label))
        ]

    # ---- the worst

    def _starts(self, has: datetime) -> datetime:
        """When the clock of one who has a device starts at worst: not put on for a day, repaired for an hour, left off."""
        p = self.policy
        return has + p.reserved_free + p.late_off + p.repair + p.power_on_wait

    def _back(self, length: Length, start: datetime, person: PersonId) -> datetime:
        """When a device that is taken at ``start`` is back at worst."""
        zone = self.zone_of(person)
        return self._night(self._quiet(end_of(length, start, zone, self.policy) + self.policy.extend_waiting), zone)

    def _quiet(self, end: datetime) -> datetime:
        """After an end: work runs on, then the holder keeps silent."""
        return end + self.policy.running_work + self.policy.stuck_return

    def _night(self, at: datetime, zone: str) -> datetime:
        """The end of the night that the terms give then; one that a clock change cut short is not used."""
        p = self.policy
        night = windows.usable_night(at + p.last_call + 2 * ROUND, zone, p, timedelta(hours=1))
        return night.end

    # ---- its own restart

    def _likely(self, request: Request, free: datetime) -> datetime:
        """A free device is put on in the machine's next agreed restart, or at once when its person is asked."""
        machine = self.books.machines.get(request.machine)
        usual = windows.usual(machine, self.policy) if machine else self.policy.usual_first
        mine = [a for a in self._agreed(request.machine, str(request.number)) if not a.now and not a.when_done]
        found = windows.next_window(mine, request.machine, free, usual, self.policy)
        later = found is not None and not self._asks_at_once(request)
        announced = max(free, self.now) + self.policy.last_call
        begins = max(announced, found[1].start) if found is not None and later else free
        return (blackouts.first(self.policy, begins, usual) or begins) + usual

    def _asks_at_once(self, request: Request) -> bool:
        """Whether a "now" or "when done" of it may come sooner than a window by the clock."""
        return any(a.now or a.when_done for a in self._agreed(request.machine, str(request.number)))

    def _latest(self, request: Request, free: datetime) -> datetime:
        """At worst it is asked when its device is free, in its person's working hours, or takes the next standing window."""
        p = self.policy
        machine = self.books.machines.get(request.machine)
        usual = windows.usual(machine, p) if machine else p.usual_first
        takes = ROUND + p.last_call + p.guest_shutdown + usual + p.seen_in_guest
        asked = hours.add_working(free + ROUND, p.accept_by, self.zone_of(request.person), p)
        asked = (blackouts.first(p, asked, takes) or asked) + takes
        mine = self._agreed(request.machine, str(request.number))
        for agreement in mine:
            found = windows.next_window([agreement], request.machine, free, usual, p)
            if found is not None and not agreement.now:
                asked = max(asked, (blackouts.first(p, max(found[1].start, free), takes) or free) + takes)
        return asked


__all__ = ["Promise", "Promises", "promise"]
