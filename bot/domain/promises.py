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
from datetime import datetime

from bot.domain import blackouts, hours, windows
from bot.domain.frees import ROUND, Free, Frees, Open, by_time
from bot.domain.lengths import end_of
from bot.domain.model import (
    MachineId,
    PersonId,
    Request,
    RequestState,
    SlotId,
)
from bot.domain.near import host_of, near
from bot.domain.policy import Policy
from bot.domain.queue import line
from bot.domain.shelves import WAITING
from bot.domain.sight import Sight
from bot.domain.slots import Places, has_kind, kind_of, open_of, rivals


@dataclass(frozen=True)
class Promise:
    """When a request is served: likely and at the latest, with the one fact behind it."""

    likely: datetime | None  # None: not known
    latest: datetime | None  # None: not known
    cause: str  # free_now, own_end, over_time, returning, when_done, moving, reserved, behind, aside, none
    who: PersonId = ""  # whose card decides it
    at: datetime | None = None  # the time that decides it
    slots: tuple[SlotId, ...] = ()  # the slots counted on; of "aside" the cards that rest


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
    likely: list[list[Free]]  # [n]: by time, after the first n
    worst: list[list[datetime]]  # the same at worst
    keys: list[tuple[datetime, int]] = field(init=False)  # of the requests

    def __post_init__(self) -> None:
        self.keys = [_key(request) for request in self.requests]


def _key(request: Request) -> tuple[datetime, int]:
    return request.place_key


class _Play(Frees):
    """One playing of the lines. Lives for one moment of the books."""

    def __init__(
        self, books: Open, now: datetime, policy: Policy, zone_of: Callable[[PersonId], str], sight: Sight | None
    ) -> None:
        super().__init__(books, now, policy, zone_of, sight)
        self._all = line(books)
        self._lines: dict[tuple[str, str], _Line] = {}  # by kind, and host
        self._near: dict[str, Places] = {}  # what concerns each host

    def promise(self, request: Request) -> Promise:
        """See :func:`promise`."""
        mine = {h.slot for h in self.books.holds if h.label == str(request.number)}
        if mine:  # offered: these are kept for it
            frees = [f for f in self._frees(request, str(request.number)) if f.slot in mine]
            likely, worst = sorted(frees, key=by_time), sorted(f.latest for f in frees)
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

    def _after_those_ahead(self, request: Request) -> tuple[list[Free], list[datetime]]:
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
            likely, worst = sorted(frees, key=by_time), sorted(f.latest for f in frees)
            there = self._there(request.machine).requests
            mine = [r for r in self._all if r.kind == request.kind and r.number in there]
            self._lines[key] = _Line(mine, [likely], [worst])
        return self._lines[key]

    def _frees(self, request: Request, label: str = "") -> list[Free]:
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

    def _serve_likely(self, free: list[Free], other: Request) -> list[Free]:
        """The slots after somebody ahead has taken theirs, all together; free again when their time is over."""
        if other.rest is not None:
            return free
        if len(free) < other.count:
            until = self._passed_from(other)
            held = (
                f if f.likely >= until else Free(until, max(f.latest, until), f.slot, "behind", other.person)
                for f in free
            )
            return sorted(held, key=by_time)
        taken, rest = free[: other.count], free[other.count :]
        start = max(self.now, *(f.likely for f in taken)) + self.usual(other.machine)
        end = self._end(other, start)
        out = self.out(other.machine, end)
        again = [Free(out, out, f.slot, "behind", other.person, end) for f in taken]
        return sorted(rest + again, key=by_time)

    def _serve_worst(self, free: list[datetime], other: Request) -> list[datetime]:
        """The same at worst: one who rests now may come back to the old place. Nobody passes, so nothing is free for those behind before it was this one's turn."""
        if len(free) < other.count:
            return sorted(max(f, self._passed_from(other)) for f in free)
        turn = max(self.now, free[other.count - 1])
        answered = hours.add_working(turn + ROUND, self.policy.accept_by, self.zone_of(other.person), self.policy)
        back = self.back(other.terms.length, self.starts(answered), other.person)
        return sorted([max(turn, f) for f in free[other.count :]] + [back] * other.count)

    def _passed_from(self, other: Request) -> datetime:
        """From when on somebody ahead who cannot be served holds up nobody any more."""
        found = other.hindrance
        passes = found.passes if found is not None else self.now + self.policy.reserved_free
        return self.now if other.rest is not None else max(self.now, passes + ROUND)

    def _end(self, other: Request, start: datetime) -> datetime:
        return end_of(other.terms.length, start, self.zone_of(other.person), self.policy)

    # ---- its own restart

    def _likely(self, request: Request, free: datetime) -> datetime:
        """A free device is put on in the machine's next agreed restart, or at once when its person is asked."""
        machine = self.books.machines.get(request.machine)
        usual = windows.usual(machine, self.policy) if machine else self.policy.usual_first
        mine = [a for a in self.agreed(request.machine, str(request.number)) if not a.now and not a.when_done]
        found = windows.next_window(mine, request.machine, free, usual, self.policy)
        later = found is not None and not self._asks_at_once(request)
        announced = max(free, self.now) + self.policy.last_call
        begins = max(announced, found[1].start) if found is not None and later else free
        return (blackouts.first(self.policy, begins, usual) or begins) + usual

    def _asks_at_once(self, request: Request) -> bool:
        """Whether a "now" or "when done" of it may come sooner than a window by the clock."""
        return any(a.now or a.when_done for a in self.agreed(request.machine, str(request.number)))

    def _latest(self, request: Request, free: datetime) -> datetime:
        """At worst it is asked when its device is free, in its person's working hours, or takes the next standing window."""
        p = self.policy
        machine = self.books.machines.get(request.machine)
        usual = windows.usual(machine, p) if machine else p.usual_first
        takes = ROUND + p.last_call + p.guest_shutdown + usual + p.seen_in_guest
        asked = hours.add_working(free + ROUND, p.accept_by, self.zone_of(request.person), p)
        asked = (blackouts.first(p, asked, takes) or asked) + takes
        mine = self.agreed(request.machine, str(request.number))
        for agreement in mine:
            found = windows.next_window([agreement], request.machine, free, usual, p)
            if found is not None and not agreement.now:
                asked = max(asked, (blackouts.first(p, max(found[1].start, free), takes) or free) + takes)
        return asked


__all__ = ["Promise", "Promises", "promise"]
