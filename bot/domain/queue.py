"""The line: who is in it, in which order, and how one gets in and out.

Called by commands (a person asks or leaves) and by the planner (the order). A request's place is the time it was asked, shifted by what
``order`` says: frozen then, and moved only by what its person says. Nothing here gives a hold; only a round does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, Protocol, TypeVar

from bot.domain import admit, hours, order, windows
from bot.domain.draft import Draft
from bot.domain.errors import Already, BadCount, NotYours, OverCap, PromisedBy, TooMany, UnknownKind
from bot.domain.lifecycle import On, step
from bot.domain.model import (
    Card,
    LeaseState,
    Length,
    Machine,
    MachineId,
    Mode,
    Person,
    PersonId,
    Request,
    RequestState,
    RestWhy,
    SlotId,
    Terms,
    Turn,
)
from bot.domain.near import Near, host_of, near
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.domain.shelves import Line, S
from bot.domain.slots import Places, all_of, card_name, has_kind, in_pool, kinds, open_of, parts, rivals
from bot.domain.times import Which, WindowWish
from bot.domain.vgpu import gigabytes
from bot.domain.waiting import Shift, ShiftWhy

T = TypeVar("T")

A_ROUND = timedelta(minutes=1)
"""More than the time between two rounds."""


@dataclass(frozen=True)
class Wanted:
    """What somebody asks for, as understood."""

    count: int  # devices
    kind: str | None  # None: the only kind
    machine: MachineId  # for which machine
    length: Length  # until when
    because: str = ""  # reason, raw
    window: WindowWish | None = None  # when the machine may restart; None: not said
    counted: bool = False  # the number was said, not filled in
    urgent: bool = False  # earlier in line, with a reason, once in a while
    spare: bool = False  # later in line, and only while nobody else wants it
    partly: bool = False  # fewer are better than none
    start: datetime | None = None  # booked: not before; None: not said
    before: datetime | None = None  # withdraws itself then; None: not said


class Requests(Protocol):
    """Books or a draft: whatever has requests and cards."""

    @property
    def requests(self) -> Mapping[int, Request]:
        """By number."""
        ...

    @property
    def cards(self) -> Mapping[SlotId, Card]:
        """By slot."""
        ...

    def kept(self, kind: type[S]) -> S:
        """The shelf of a kind (`shelves`)."""
        ...


def line(books: Requests) -> list[Request]:
    """Everybody in line, in order, resting ones included (they keep their place)."""
    return list(books.in_line) if isinstance(books, Near) else books.kept(Line).all()


def place(books: Places, request: Request) -> int:
    """Place in the line of its kind, on the host of its machine, from 1; 0 if it is not in line."""
    numbers = [r.number for r in line_of(books, request)]
    return numbers.index(request.number) + 1 if request.number in numbers else 0


def line_of(books: Places, request: Request) -> list[Request]:
    """Those who want the same as a request, itself among them, in order: its kind, of the host of its machine."""
    host = host_of(books, request.machine)
    near_it = books.kept(Line).on(host) if host else line(books)
    return [r for r in near_it if r.kind == request.kind]


def pick_kind(books: Places, wanted: str | None, count: int) -> str:
    """The kind that is meant: the named one, or the only one (with several: the one with most cards; of vGPUs alone the largest).

    :raises UnknownKind: no such kind
    :raises TooMany: more than exist
    """
    known = kinds(books)
    if wanted is not None and wanted not in known:
        raise UnknownKind(kind=wanted, kinds=tuple(known))
    if not known:
        raise TooMany(count=count, most=0, kind=wanted or "card")
    whole = {c.kind for c in books.cards.values() if c.mode is not Mode.VGPU}
    kind = wanted or max(
        known, key=lambda k: (k in whole, len(all_of(books, k)) if k in whole else gigabytes(k) or 0, k)
    )
    most = len(all_of(books, kind))
    if count > most:
        raise TooMany(count=count, most=most, kind=kind)
    return kind


def request(
    draft: Draft,
    person: Person,
    wanted: Wanted,
    policy: Policy,
    zone_of: Callable[[PersonId], str] | None = None,
) -> Request:
    """Ask for devices. Said again by the same person for the same machine and kind, it changes the waiting request.

    :param zone_of: somebody's zone; None: that of the site
    :raises Refusal: what stands in the way, and what would work
    """
    if wanted.count < 1:
        raise BadCount(text=str(wanted.count), most=len(draft.cards))
    machine = draft.machines[wanted.machine]
    if person.id not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    kind = pick_kind(draft, wanted.kind, wanted.count)
    mine = [r for r in line(draft) if r.person == person.id]  # another owner of the machine has a place of their own
    waiting = next((r for r in mine if r.machine == wanted.machine and r.kind == kind), None)
    stranded = lost_machine(mine, kind)
    admit.length(draft, wanted, policy, waiting or stranded, contended=contended(draft, kind, wanted.machine))
    admit.words(draft, person, wanted, policy, waiting or stranded)
    if waiting is not None:
        return _again(draft, person, waiting, wanted, policy, zone_of or (lambda _: policy.zone))
    if stranded is not None:
        return _elsewhere(draft, person, stranded, machine, wanted, policy)
    counted = [r for r in mine if wanted.start is not None or r.start is None or r.start <= draft.now]
    if len(counted) >= policy.queued_a_person:  # what is booked for later keeps nobody from what is free today
        raise OverCap(limit=policy.queued_a_person, have=len(counted), what="requests in line")
    lost = _lost(draft, person, machine, kind, wanted, policy)
    team = order.team_of(policy, person)
    new = Request(
        number=draft.number("number"),
        person=person.id,
        kind=kind,
        count=wanted.count,
        machine=machine.uuid,
        asked=lost.asked if lost is not None else draft.now,
        terms=Terms(length=wanted.length, spare=wanted.spare),
        because=wanted.because,
        ask_first=wanted.window is not None and wanted.window.which is Which.ASK,
        changed=draft.now,
        in_line=draft.now if lost is not None else None,
        shifts=_shifts(draft, person, replace(wanted, kind=kind), policy, lost),
        team=team.name if team is not None else "",
        partly=wanted.partly,
        start=wanted.start,
        before=wanted.before,
    )
    new = step(draft, new, On.ASKED, by=person.id, why=wanted.because, new=True)
    if wanted.window is not None:
        windows.agree(draft, machine, person, wanted.window, policy, label=str(new.number))
    return new


def _shifts(draft: Draft, person: Person, wanted: Wanted, policy: Policy, lost: Request | None) -> tuple[Shift, ...]:
    """What moves the place of a new request; of one that is asked again from its old place what moved that, and what is said now."""
    if lost is None:
        found = order.shifts(draft, person, wanted, policy)
    else:
        had = {s.why for s in lost.shifts}
        found = (*lost.shifts, *(s for s in order.said(wanted, policy) if s.why not in had))
    if wanted.urgent and not (lost is not None and lost.urgent):
        order.note_urgent(draft, person.id)
    return found


def _lost(draft: Draft, person: Person, machine: Machine, kind: str, wanted: Wanted, policy: Policy) -> Request | None:
    """The request whose device was lost: for three working days, and once, its person asks again from its place."""
    for lease in draft.leases.values():
        same = (lease.person, lease.machine, lease.kind) == (person.id, machine.uuid, kind)
        old = draft.requests.get(lease.request)
        if lease.state is not LeaseState.FAILED or not same or old is None or wanted.count > len(lease.slots):
            continue
        until = hours.add_working_days(lease.changed, policy.still_wanted, person.zone, policy)
        again = any(r.asked == old.asked and r.number != old.number for r in draft.requests.values())
        if draft.now <= until and not again:
            return old
    return None


def lost_machine(requests: Iterable[Request], kind: str | None) -> Request | None:
    """The first of some requests that rests because its machine is gone; it waits for another one to be named."""
    found = (r for r in requests if r.rest is not None and r.rest.why is RestWhy.MACHINE and kind in (None, r.kind))
    return next(found, None)


def _elsewhere(draft: Draft, person: Person, old: Request, machine: Machine, wanted: Wanted, policy: Policy) -> Request:
    """Another machine is named for a request whose machine is gone: it goes on at its old place."""
    fields: dict[str, Any] = {
        "machine": machine.uuid,
        "count": wanted.count,
        "rest": None,
        "silences": 0,
        "ask_first": False,
        "in_line": draft.now,  # of another machine's host
    }
    if wanted.length != Length():
        fields["terms"] = replace(old.terms, length=wanted.length)
    if wanted.because:
        fields["because"] = wanted.because
    fields |= _said(draft, person, old, wanted, policy, fields.get("terms", old.terms))
    moved = step(draft, old, On.CHANGED, by=person.id, why=f"for {machine.name} instead", **fields)
    if wanted.window is None:
        return moved
    windows.agree(draft, machine, person, wanted.window, policy, label=str(old.number))
    if wanted.window.which is Which.ASK:
        moved = replace(draft.requests[old.number], ask_first=True)
        draft.put(moved)
    return moved


def _again(
    draft: Draft,
    person: Person,
    old: Request,
    wanted: Wanted,
    policy: Policy,
    zone_of: Callable[[PersonId], str],
) -> Request:
    """The same asked again: `until`, `restart` and fewer cards change the waiting request at its place; nothing new, or more, is refused."""
    changed = replace(old)
    offered = old.state is not RequestState.QUEUED
    if wanted.counted and (wanted.count > old.count or (wanted.count < old.count and offered)):
        # All or nothing: a number that cannot be had leaves the rest of what was said undone, too.
        raise Already(number=old.number, count=old.count, kind=old.kind, offered=offered)
    if wanted.counted and wanted.count < old.count and old.state is RequestState.QUEUED:
        changed = wake(replace(old, count=wanted.count))
    if wanted.length != Length():
        changed = replace(changed, terms=replace(old.terms, length=wanted.length))
    if wanted.because:
        changed = replace(changed, because=wanted.because)
    if wanted.window is not None:
        changed = replace(changed, ask_first=wanted.window.which is Which.ASK)
    changed = replace(changed, **_said(draft, person, old, wanted, policy, changed.terms))
    if changed.partly != old.partly or changed.urgent != old.urgent:
        changed = wake(changed)
    if changed == old and wanted.window is None:
        raise Already(number=old.number, count=old.count, kind=old.kind)
    if (changed.terms.length, changed.start) != (old.terms.length, old.start):
        # Who asks urgently goes before others by a rule; how long, and from when, is no reason to make them wait.
        _keep_promises(draft, old, replace(changed, shifts=old.shifts), policy, zone_of)
    if wanted.window is not None:
        windows.agree(draft, draft.machines[old.machine], person, wanted.window, policy, label=str(old.number))
        changed = wake(changed)
    fields: dict[str, Any] = {
        "count": changed.count,
        "terms": changed.terms,
        "because": changed.because,
        "ask_first": changed.ask_first,
        "asked": changed.asked,
        "rest": changed.rest,
        "shifts": changed.shifts,
        "partly": changed.partly,
        "start": changed.start,
        "before": changed.before,
    }
    return step(draft, old, On.CHANGED, by=person.id, why=_what_changed(old, changed), **fields)


def _keep_promises(
    draft: Draft, old: Request, changed: Request, policy: Policy, zone_of: Callable[[PersonId], str]
) -> None:
    """Refuse a change with which somebody behind would wait longer than they were told."""
    from bot.domain.promises import Bound  # which plays the line, and so stands on this file

    first = Bound(draft, old, policy, zone_of).moved(changed)
    if first is not None and first.promised is not None:
        raise PromisedBy(number=str(old.number), who=first.person, when=first.promised.latest, what="line")


def _said(draft: Draft, person: Person, old: Request, wanted: Wanted, policy: Policy, terms: Terms) -> dict[str, Any]:
    """What the words of a line change of a request that waits: nothing that was not said. Its place moves by those words alone.

    What is booked for later and wanted sooner now has the place of who asks now: else a booking far ahead would be kept to go first any time.
    """
    had = {s.why for s in old.shifts}
    more = tuple(replace(s, said=draft.now) for s in order.said(wanted, policy) if s.why not in had)
    if any(s.why is ShiftWhy.URGENT for s in more):
        order.note_urgent(draft, person.id)
    return {
        "asked": draft.now if _sooner(draft, old, wanted) else old.asked,
        "shifts": (*old.shifts, *more),
        "terms": replace(terms, spare=terms.spare or wanted.spare),
        "partly": old.partly or wanted.partly,
        "start": wanted.start or old.start,
        "before": wanted.before or old.before,
    }


def _sooner(draft: Draft, old: Request, wanted: Wanted) -> bool:
    """Whether what is booked for later is wanted for an earlier time."""
    return wanted.start is not None and old.start is not None and draft.now < old.start and wanted.start < old.start


def _what_changed(old: Request, new: Request) -> str:
    """For the ledger: that it was asked again, and what of it moves its place or its time."""
    moved = [s.why.value for s in new.shifts if s not in old.shifts]
    partly = ["partly"] if new.partly and not old.partly else []
    times = [
        f"{word} {at:%Y-%m-%d %H:%M} UTC"
        for word, at, was in (("from", new.start, old.start), ("before", new.before, old.before))
        if at is not None and at != was
    ]
    anew = ["at the place of now"] if new.asked != old.asked else []
    return ", ".join(["asked again", *moved, *partly, *times, *anew])


def wake(request: Request) -> Request:
    """The request without its rest, if naming a window or saying so ends it (neither comes a lost machine back so, nor one that cannot be read)."""
    if request.rest is None or request.rest.why in (RestWhy.MACHINE, RestWhy.HINDERED):
        return request
    return replace(request, rest=None, silences=0)


def withdraw(draft: Draft, request: Request, by: PersonId) -> Request:
    """Leave the line; an offer's holds are free at once, its message is edited, and no restart is agreed for it any more."""
    leave(draft, request, "withdrawn")
    gone = step(draft, request, On.LEFT_LINE, by=by, rest=None, offer=None)
    windows.drop_lost(draft)
    return gone


def leave(draft: Draft, request: Request, why: str, until: datetime | None = None) -> None:
    """Take away what is kept for a request; if it was offered something, that message says why, and until when it rests."""
    draft.free(str(request.number))
    if request.offer is not None:
        tell_offer(draft, NewsKind.OFFER_OVER, request, reason=why, until=until)


def tell_offer(draft: Draft, kind: NewsKind, request: Request, **facts: Any) -> None:
    """All that concerns one offer is one message, edited."""
    made = request.offer.made if request.offer else draft.now
    key = f"offer:{request.number}:{made.isoformat()}"
    machine = draft.machines.get(request.machine)
    draft.tell(News(kind, request.person, key=key, request=request, machine=machine, **facts))


def wanting(books: Places, card: Card) -> list[Request]:
    """Those in line who could take a card, or a part of it, in order; those who rest are among them."""
    return [r for r in books.kept(Line).on(f"{card.vcenter}:{card.host}") if has_kind(card, r.kind)]


def waiters(books: Places, kind: str, machine: MachineId = "", now: datetime | None = None) -> list[Request]:
    """Those who wait for what a device of this kind is of, and would take it now: in line, not resting, and not booked for later. For a vGPU
    also those who want another size of its card.

    :param machine: only what its host has, and who waits there; "" all
    :param now: of books; a draft has its own. Without either no booking waits
    """
    return list(_remembered(_waiters, books, kind, machine, _now(books, now)))


def _waiters(books: Places, kind: str, machine: MachineId, now: datetime) -> list[Request]:
    books = near(books, machine) or books
    wanted = rivals(books, kind)
    return [r for r in line(books) if r.kind in wanted and order.waits(r, now)]


def _remembered(
    ask: Callable[[Places, str, MachineId, datetime], T], books: Places, kind: str, machine: MachineId, now: datetime
) -> T:
    """What is asked of a kind on a host, once as long as nothing is written: it is asked for each of the leases there."""
    if not isinstance(books, Draft):
        return ask(books, kind, machine, now)
    return books.remembered((ask, kind, host_of(books, machine), now), lambda: ask(books, kind, machine, now))


def contended(books: Places, kind: str, machine: MachineId = "", now: datetime | None = None) -> bool:
    """Whether somebody really waits for what a kind is of: more devices are wanted in line than lie free. ``machine``, ``now``: as in
    ``waiters``."""
    return _remembered(_contended, books, kind, machine, _now(books, now))


def _contended(books: Places, kind: str, machine: MachineId, now: datetime) -> bool:
    books = near(books, machine) or books
    had = {hold.slot for hold in books.holds if hold.turn is Turn.HAS}
    wanted = (k for k in rivals(books, kind) if _wanted(books, k, now))
    return any(_short(books, k, sum(1 for s in _good(books, k) if s not in had), now) > 0 for k in wanted)


def _now(books: Places, now: datetime | None) -> datetime:
    return now or (books.now if isinstance(books, Draft) else datetime.min.replace(tzinfo=UTC))


def shortage(books: Draft, kind: str, machine: MachineId = "") -> int:
    """How many more devices of a kind are wanted in line than lie free or are on their way back for nobody else. One who wants another
    size of the same cards wants all parts of a card. ``machine``: as in ``waiters``."""
    return _remembered(_shortage, books, kind, machine, books.now)


def _shortage(books: Places, kind: str, machine: MachineId, now: datetime) -> int:
    here = near(books, machine) or books
    lacking = _lacking(here, kind, now)
    for other in rivals(here, kind) - {kind}:
        whole = [len(parts(c, kind)) / len(parts(c, other)) for c in here.cards.values() if has_kind(c, other)]
        wanted = _wanted(here, other, now)
        lacking += ceil(max(0, _lacking(here, other, now)) * max(whole, default=0)) if wanted else 0
    return lacking


def _lacking(books: Places, kind: str, now: datetime) -> int:
    coming = 0
    for slot in _good(books, kind):
        holds = {h.turn: h.label for h in books.on(card_name(slot)) if h.slot == slot}
        lease = books.leases.get(holds.get(Turn.HAS, ""))
        back = lease is not None and lease.state is LeaseState.RETURNING and not lease.fault
        coming += Turn.HAS not in holds or (back and Turn.NEXT not in holds)
    return _short(books, kind, coming, now)


def _short(books: Places, kind: str, there: int, now: datetime) -> int:
    """How many more devices are wanted in line than are there; below 0: so many are over. What is booked for later wants none yet, but keeps what is
    there from those who wait behind it: whoever could go past it has done so in the round after they asked."""
    left, kept, short = there, 0, 0
    for r in line(books):
        if r.kind != kind or r.state is not RequestState.QUEUED or r.rest is not None:
            continue
        if not order.waits(r, now):
            kept, left = kept + min(r.count, left), max(0, left - r.count)
            continue
        if kept and (r.changed is None or now - r.changed < A_ROUND):
            kept, left = 0, left + kept
        short += max(0, r.count - left)
        left = max(0, left - r.count)
    return short or _wanted(books, kind, now) - there


def _wanted(books: Places, kind: str, now: datetime) -> int:
    mine = (r for r in line(books) if r.kind == kind and order.waits(r, now))
    return sum(r.count for r in mine if r.state is RequestState.QUEUED)


def _good(books: Places, kind: str) -> list[SlotId]:
    """The slots of a kind that may be lent as the cards are booked now."""
    return [s for s in open_of(books, kind) if in_pool(books.cards[card_name(s)])]
