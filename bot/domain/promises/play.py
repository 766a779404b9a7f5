"""Playing the line forward: when each one in it is served, likely and at worst.

Each line (a kind on a host) is played twice, in the order of its places, each as far as it is asked for. *Likely* begins with what the next round
would give, by the planner's own rule; who waits then takes what is likely free first, and has it until its end, or sooner if loans came back early
lately; who is over a share of the pool comes after those who are not. *At worst* each one is served as late, and keeps what they have for as long,
as they may.

At worst nobody goes past anybody, and yet nobody's latest is moved by those who do. First come, first served has no anomalies: if nobody ahead is
served later than their own worst, nor keeps the devices longer, nobody behind is served later than theirs. One who goes past others is surely back
before the promised start of the first of them who waits, and all who are behind that one count on nothing before it. Or takes what is over for
each of them, at worst too: so many devices that whoever waits has as many as they want by the same time without them (``planner.past`` asks for
both). So after it went, each worst play says what it said before, or less. A booking is no exception: what is over for it is given to those behind.

Who may be over a share of the pool when their turn comes, floats: they may have it between any two others, and of two orders of different lengths
either can be the later one for a third. So those behind count on none of the devices that they want, and their promise holds whenever that turn
comes (``worst``).

What no play foresees, and what moves a latest time: somebody who goes before by a rule (urgent, their team's part, an old place), an admin's word, a
card that is lost, and those ahead who pass, say nothing or sleep when it is their turn, and come back to it. Then it is told anew (``told``).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby

from bot.domain import blackouts, hours, windows
from bot.domain.draft import Draft
from bot.domain.frees import ROUND, Free, Frees, by_time
from bot.domain.model import (
    Agreement,
    Books,
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
from bot.domain.near import host_of, near
from bot.domain.planner.back import was_before
from bot.domain.planner.turns import Turns
from bot.domain.policy import Policy
from bot.domain.promises.lines import Line
from bot.domain.promises.promise import Promise
from bot.domain.promises.worst import Back
from bot.domain.queue import line, shortage
from bot.domain.sight import Sight
from bot.domain.slots import Places, card_name, has_kind, kind_of, open_of, rivals
from bot.domain.waiting import Passing


class _People(Mapping[PersonId, Person]):
    """Everybody whom the planner may ask about: of each the zone alone is known here."""

    def __init__(self, zone_of: Callable[[PersonId], str]) -> None:
        self._zone_of = zone_of

    def __getitem__(self, person: PersonId) -> Person:
        return Person(person, person, self._zone_of(person))

    def __iter__(self) -> Iterator[PersonId]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass(frozen=True)
class _NextFor:
    """Somebody who is next for devices that others have still."""

    label: str  # of the lease, or of what is offered
    person: PersonId  # whose that is
    since: datetime  # since when
    lacks: int  # devices that are to come
    has: int  # devices that are there


@dataclass(frozen=True)
class _Next:
    """What the next round would give on one host."""

    frees: Frees  # what is expected after it; those of now if it gives nothing
    given: Mapping[int, Passing | None]  # who is given something, and what they keep to; None: they go past nobody


class Play(Frees):
    """One playing of the lines. Lives for one moment of the books."""

    def __init__(
        self,
        books: Books | Draft,
        now: datetime,
        policy: Policy,
        zone_of: Callable[[PersonId], str],
        sight: Sight | None,
        careful: bool = False,
    ) -> None:
        """See ``Frees``. ``careful``: for what is told: who rests now may come back at the worst moment. Else it is taken to be in
        line all the while, which is never later: so what was told is not moved by a rest as such, but by what comes of it."""
        super().__init__(books, now, policy, zone_of, sight)
        self.careful = careful
        self._lines: dict[tuple[str, str], Line] = {}  # by kind, and host
        self._near: dict[str, Places] = {}  # what concerns each host
        self._nexts: dict[str, _Next] = {}  # what the next round gives there
        self._passers: dict[
            tuple[str, str], list[tuple[str, Request, datetime]]
        ] = {}  # who went past others, by kind and host

    def promise(self, request: Request) -> Promise:
        """What is said of a request in line now."""
        offered = request.state is RequestState.OFFERED
        counted, turn = self._offered_to(request) if offered else self._in_line(request)
        if counted is None:
            return self._unknown(request)
        if request.hindrance is not None:
            return Promise(None, None, "hindered")
        last, begins = counted[-1], self._begins_at(request)
        soon = max(last.likely, begins)
        likely, restart, waits = self._likely(request, soon)
        why = "" if offered else self._open(request) or ("ahead" if turn is None else "")
        booked = begins > max(self.now, last.likely)
        after = last.cause == "behind" and self.line_of(request).comes_after(request, last.who)
        cause = "booked" if booked else "share" if after else last.cause
        return Promise(
            likely,
            max(likely, self._latest(request, max(turn, begins))) if turn is not None and not why else None,
            cause,
            last.who,
            request.start if booked else last.at,
            tuple(f.slot for f in counted),
            why,
            self.lately(request.kind) if cause == "early" else None,
            self.next_round(request.machine).given.get(request.number),
            restart,
            waits and not booked,
            self._out_in(last) if not booked else 0,
        )

    def latest(self, request: Request) -> datetime | None:
        """Its latest time alone; None: none is promised."""
        offered = request.state is RequestState.OFFERED
        turn = self._offered_to(request)[1] if offered else self.line_of(request).worst(request)
        if turn is None or (not offered and self._open(request)):
            return None
        return self._latest(request, max(turn, self._begins_at(request)))

    def latest_reserved(self, lease: Lease, named: Sequence[Agreement]) -> datetime | None:
        """The same of one whose devices are kept for it and not put on yet, by the times that were named for it; None: nobody knows when they come."""
        comes = [self._there_for(lease, slot) for slot in lease.slots]
        known = [at for at in comes if at is not None]
        if not known or len(known) < len(comes):
            return None
        free = max(known)
        takes = self._takes(lease.machine)
        since = {a.number: max(free, a.made) for a in named}  # no time is used that was over when it was named
        found = ((self.next_window([a], lease.machine, since[a.number]), since[a.number]) for a in named)
        return max((max(w[1].start, at) + takes for w, at in found if w is not None), default=None)

    def _there_for(self, lease: Lease, slot: SlotId) -> datetime | None:
        """When a device that a lease has, or is next for, is free for it at worst; since when, if it is."""
        if self.takes.get(slot) == lease.label:
            return lease.free_since or lease.since
        found = self.free(slot, lease.label)
        return found.latest if found is not None else None

    # ---- what it counts on

    def _offered_to(self, request: Request) -> tuple[list[Free] | None, datetime | None]:
        """What is offered is kept for it."""
        label, frees = str(request.number), self.heeding(self.passed_by(request))
        mine = [f for h in self.books.holds if h.label == label and (f := frees.free(h.slot, label)) is not None]
        if len(mine) < request.count:
            return None, None
        return sorted(mine, key=by_time), max(f.latest for f in mine)

    def _in_line(self, request: Request) -> tuple[list[Free] | None, datetime | None]:
        """What it would be given in the next round, or what it counts on behind those ahead."""
        played = self.line_of(request)
        turn = played.worst(request)
        coming = self.next_round(request.machine)
        if request.number not in coming.given:
            return played.likely(request.number), turn
        slots = (h.slot for h in coming.frees.books.holds if h.label == str(request.number))
        mine = [f for slot in slots if (f := self.free(slot, "")) is not None]
        return sorted(mine, key=by_time), turn

    def _begins_at(self, request: Request) -> datetime:
        """Not before: a booking is put on in a restart that is over at its start."""
        start = request.start
        return self.now if start is None else max(self.now, start - self.usual(request.machine))

    def _open(self, request: Request) -> str:
        """Why no latest time can be promised: a word of ``promise.OPEN``; "" it can."""
        if self._other_sizes(request):
            return "size"  # who gets a card in which size decides it
        if request.arrival > self.now:
            return "later"
        if request.number not in self.line_of(request).floats:
            return ""
        return "spare" if request.terms.spare else "share"

    def _other_sizes(self, request: Request) -> bool:
        """Whether others want, or have, the same cards in another size."""
        there = self.there(request.machine)
        others = rivals(there, request.kind) - {request.kind}
        if not others:
            return False
        wanted = (r.kind for r in line(there))
        return not others.isdisjoint((*wanted, *(kind_of(self.books, h.label) for h in there.holds)))

    def _unknown(self, request: Request) -> Promise:
        """Why nothing is known."""
        cards = [c for c in self.there(request.machine).cards.values() if has_kind(c, request.kind)]
        resting = tuple(sorted(c.name for c in cards if c.aside is not None))
        leases = {label: lease for label in self.takes.values() if (lease := self.books.leases.get(label)) is not None}
        broken = tuple(sorted(s for s, x in self.takes.items() if x in leases and leases[x].fault))
        if resting or broken:
            return Promise(None, None, "aside" if resting else "broken", slots=resting or broken)
        lent = {card_name(slot) for slot in self.takes}
        strange = (
            c.name for c in cards if c.name not in lent and self.sight is not None and self.sight.settings(c.name)
        )
        found = tuple(sorted(strange))
        return Promise(None, None, "strange" if found else "none", slots=found)

    # ---- the lines

    @cached_property
    def zones(self) -> frozenset[str]:
        """Of all who have something."""
        return frozenset(self.zone_of(person) for person in {x.person for x in self.books.leases.values()})

    def line_of(self, request: Request) -> Line:
        """The line in which a request waits."""
        key = request.kind, host_of(self.books, request.machine)
        if key not in self._lines:
            self._lines[key] = Line(self, request)
        return self._lines[key]

    def there(self, machine: MachineId) -> Places:
        """What concerns the host of a machine: it can have no other cards."""
        host = host_of(self.books, machine)
        if host not in self._near:
            self._near[host] = near(self.books, machine) or self.books
        return self._near[host]

    def frees_of(self, request: Request, frees: Frees) -> list[Free]:
        """When each card that a request could have is expected to be free.

        :param frees: of the books, or of what they are after the next round
        """
        there, kind = self.there(request.machine), request.kind
        found = [f for slot in open_of(there, kind) if (f := frees.free(slot, "")) is not None]
        return found or self._other_size(there, kind, frees)

    def passed_by(self, request: Request) -> frozenset[str] | None:
        """The labels of what went past a request, and keeps to its time as long as it waits; None: nothing on its host went past anybody."""
        keeping = self._keeping(request)
        if not keeping:
            return None
        return frozenset(label for label, own, since in keeping if was_before(request, own, since))

    def _keeping(self, like: Request) -> list[tuple[str, Request, datetime]]:
        """What went past others in a line: its label, its request, and since when it has what it has."""
        key = like.kind, host_of(self.books, like.machine)
        if key not in self._passers:
            found = (self._passer(label) for label in sorted(self._labels(like)))
            self._passers[key] = [one for one in found if one is not None]
        return self._passers[key]

    def _labels(self, like: Request) -> set[str]:
        """Of all who have, or are next for, a device of a line."""
        slots = open_of(self.there(like.machine), like.kind)
        return {x for s in slots for x in (self.takes.get(s), self.nexts.get(s)) if x is not None}

    def lends_spare(self, like: Request) -> bool:
        """Whether anything of a line is lent, or offered, only while nobody else wants it; what is back by somebody's time is by that."""
        for label in self._labels(like):
            lease, request = self.lease_of(label), self.books.requests.get(int(label)) if label.isdigit() else None
            offer = request.offer if request is not None else None
            spare = lease.terms.spare if lease is not None else offer is not None and offer.spare
            if spare and self.keeps_to(label) is None:
                return True
        return False

    def _passer(self, label: str) -> tuple[str, Request, datetime] | None:
        lease = self.lease_of(label)
        if lease is not None:
            own = self.books.requests.get(lease.request) if lease.passing is not None else None
            return (label, own, lease.since) if own is not None else None
        own = self.books.requests.get(int(label)) if label.isdigit() else None
        return (label, own, own.offer.made) if own is not None and own.passing is not None and own.offer else None

    def heeding(self, labels: frozenset[str] | None) -> Play:
        """The same, in which only some of what went past others keeps to its time."""
        if labels is None:
            return self
        other = copy(self)
        other.heeds = labels
        return other

    def worst_of_line(self, like: Request) -> list[Back]:
        """When each card that a line could have is free at worst, after those had theirs who are next for one. A card that comes back sooner than
        the one for which somebody is next goes to them instead: so they count as the first in line."""
        slots = open_of(self.there(like.machine), like.kind)
        nexts = [
            x
            for label in sorted({self.nexts[s] for s in slots if s in self.nexts})
            if (x := self._next_for(label)) is not None
        ]
        if len({card_name(s) for s in slots}) < len(slots):
            return [(f.latest, f.sure, "", f.who) for f in self.frees_of(like, self)]
        labels = {x.label for x in nexts}
        base = [f for s in slots if self.takes.get(s) not in labels and (f := self.held(s)) is not None]
        if not base and not nexts:
            return [(f.latest, f.sure, "", f.who) for f in self.frees_of(like, self)]
        free = sorted(self._in_turn(like, base))
        for one in sorted(nexts, key=lambda x: (x.since, x.label)):
            taken = free[: one.lacks]
            del free[: one.lacks]
            keeps = self.keeps_to(one.label)
            if keeps is not None:  # put on in time, or given up in time: what is not there by then never is its own
                had = [(self.now, True, "", one.person)] * one.has
                for device in (*had, *taken):
                    insort(free, device if device[0] > keeps.back_by else (keeps.back_by, True, "", one.person))
                continue
            at, sure = self.back_of(one.label, max((device[0] for device in taken), default=self.now))
            own = any(who == one.person and not known for _, known, _, who in taken)
            for _ in range(one.has + len(taken)):
                insort(free, (at, sure, one.label if own else "", one.person))
        return free

    def _in_turn(self, like: Request, base: list[Free]) -> Iterator[Back]:
        """When each device is back. Of what is over its time, or spare, only so much goes back as is wanted: those first that do nothing, which are
        back soonest, then what is spare, then whoever is over their time for longest. So where what goes back before it is enough, nobody is sure
        to have what is over its time before what is spare."""
        spare = [f.latest for f in base if f.cause == "spare" and not f.sure]
        over = [f for f in base if f.cause == "over_time" and not f.sure] if spare else []
        left = shortage(self.sheet, like.kind, like.machine) - len(spare) if over else 0
        late: set[SlotId] = set()
        for _, mine in groupby(sorted(over, key=self._over_since), key=self._over_since):
            slots = [f.slot for f in mine]
            late.update(slots if left <= 0 else ())
            left -= len(slots)
        for f in base:
            yield (max(f.latest, *spare) if f.slot in late else f.latest), f.sure, "", f.who

    def _over_since(self, free: Free) -> tuple[datetime, str]:
        """Since when the lease of a device is over its time, and which one it is."""
        return free.at or self.now, self.takes.get(free.slot, "")

    def _next_for(self, label: str) -> _NextFor | None:
        """Who is next for devices: a lease, or somebody to whom they are offered."""
        lacks = sum(1 for other in self.nexts.values() if other == label)
        has = sum(1 for other in self.takes.values() if other == label)
        lease = self.lease_of(label)
        request = self.books.requests.get(int(label)) if label.isdigit() else None
        since = (
            lease.since if lease is not None else request.offer.made if request is not None and request.offer else None
        )
        person = lease.person if lease is not None else request.person if request is not None else ""
        return _NextFor(label, person, since, lacks, has) if since is not None else None

    def _other_size(self, there: Places, kind: str, frees: Frees) -> list[Free]:
        """Of vGPU cards that are all booked in other sizes: the parts that are lent now; a card is free for this size with its last one."""
        found = []
        for card in there.cards.values():
            if has_kind(card, kind) and card.aside is None:
                lent = [f for h in there.on(card.name) if (f := frees.free(h.slot, "")) is not None]
                found += [max(lent, key=lambda f: (f.latest, f.slot))] if lent else []
        return found

    # ---- the next round

    def next_round(self, machine: MachineId) -> _Next:
        """What the next round would give to those in line on the host of a machine."""
        host = host_of(self.books, machine)
        if host not in self._nexts:
            self._nexts[host] = self._next_round(machine)
        return self._nexts[host]

    def _next_round(self, machine: MachineId) -> _Next:
        there, seen = self.there(machine), self.sight.seen if self.sight is not None else None
        if self.sight is None or seen is None or not self._something_free(there):
            return _Next(self, {})
        draft = self.sheet.scratch()
        turns = Turns(draft, Sight(draft, seen, self.sight.readings), _People(self.zone_of), self.policy)
        waits = line(there)
        for request in waits:
            turns.take(draft.requests[request.number])
        given: dict[int, Passing | None] = {}
        for request in waits:
            now, lease = draft.requests[request.number], draft.leases.get(str(request.number))
            if now.state is not request.state:
                given[request.number] = now.passing or (lease.passing if lease is not None else None)
        after = Frees(draft, self.now, self.policy, self.zone_of, self.sight) if given else self
        return _Next(after, given)

    def _something_free(self, there: Places) -> bool:
        """Whether a device could be given to anybody: it lies free, or comes back for nobody yet."""
        for card in there.cards.values():
            if card.aside is not None or card.doubted:
                continue
            mine = there.on(card.name)
            free = {h.slot for h in mine if h.turn is Turn.HAS and not self._comes_back(h.label)}
            if not mine or card.mode is Mode.VGPU or len(free) < len({h.slot for h in mine if h.turn is Turn.HAS}):
                return True
        return False

    def _comes_back(self, label: str) -> bool:
        lease = self.books.leases.get(label)
        return lease is not None and lease.state is LeaseState.RETURNING

    # ---- its own restart

    def _likely(self, request: Request, free: datetime) -> tuple[datetime, int, bool]:
        """A free device is put on in the machine's next agreed restart, or at once when its person is asked. Then the agreement of that restart, 0 none;
        and whether it begins later than the device is there and was announced."""
        usual = self.usual(request.machine)
        mine = [a for a in self._for(request) if not a.now and not a.when_done]
        found = self.next_window(mine, request.machine, free)
        later = found is not None and not self._asks_at_once(request)
        announced = max(free, self.now) + self.policy.last_call
        begins = max(announced, found[1].start) if found is not None and later else free
        at = (blackouts.first(self.policy, begins, usual) or begins) + usual
        return at, found[0].number if found is not None and later else 0, later and begins > announced

    def _out_in(self, free: Free) -> int:
        """The agreed time in which a device comes out of its holder's machine, if that is later than its end would have it; 0 none."""
        lease = self.books.leases.get(self.takes.get(free.slot, ""))
        if free.cause != "own_end" or lease is None or free.at is None:
            return 0
        mine, end = [a for a in self.agreed(lease.machine, lease.label) if not a.now], max(free.at, self.now)
        found = self.next_window(mine, lease.machine, end)
        if found is None or not end + self.policy.last_call < found[1].start <= free.likely:
            return 0
        return found[0].number

    def _asks_at_once(self, request: Request) -> bool:
        """Whether a "now" or "when done" of it may come sooner than a window by the clock."""
        return any(a.now or a.when_done for a in self._for(request))

    def _for(self, request: Request) -> list[Agreement]:
        """The times that are agreed for its restart. After "ask me first" only what was named for it."""
        found = self.agreed(request.machine, str(request.number))
        return [a for a in found if a.label or not request.ask_first]

    def _latest(self, request: Request, free: datetime) -> datetime:
        """At worst it is asked when its device is free, in its person's working hours, or takes the next standing window."""
        p, usual, takes = self.policy, self.usual(request.machine), self._takes(request.machine)
        asked = hours.add_working(free + ROUND, p.accept_by, self.zone_of(request.person), p)
        if request.offer is not None and free <= self.now:
            asked = max(self.now, request.offer.accept_by)
        asked = (blackouts.first(p, asked, takes) or asked) + takes
        for agreement in () if request.offer is not None else self._for(request):
            since = self.usable_from(agreement, free)
            found = windows.next_window([agreement], request.machine, since, usual, p)
            if found is not None and not agreement.now:
                asked = max(asked, (blackouts.first(p, max(found[1].start, since), takes) or since) + takes)
        return asked

    def _takes(self, machine: MachineId) -> timedelta:
        """How long a restart takes at worst, announced before."""
        p = self.policy
        return ROUND + p.last_call + p.guest_shutdown + self.usual(machine) + p.seen_in_guest
