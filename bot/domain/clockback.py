"""The clock of the bot's host went back: what was written down lies in the future, and is brought to now.

Called by ``decide``, first of all. A stamp of something that has happened can lie in the future only if the clock was set back since. Every
rule that asks "how long ago?" or "was that before this look?" would wait for the old time to come again, while a machine is off. So
all such stamps, of whatever process, become now, in their order; what hangs on one by a length (a pause, an
answer that is awaited, a restart agreed for "now") comes along. A time that was told as a time of day stays: the end of a loan, 18:00.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Self

from bot.domain.agreements import in_use, objections
from bot.domain.draft import Draft
from bot.domain.inside import Watch
from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import (
    Agreement,
    AgreementState,
    Call,
    Card,
    Entity,
    Lease,
    Machine,
    Move,
    NotNow,
    Request,
    Skip,
    Step,
    Window,
)
from bot.domain.policy import Policy
from bot.domain.shelves import Shelf
from bot.domain.waiting import Account, Interest

At = Callable[[datetime], datetime]
"""Where a stamp goes: itself, if it lies not in the future."""

TICK = timedelta(microseconds=1)
"""So far apart are stamps that lay in the future, as near to now as can be: their order is all that is known of them."""

STAMPS: dict[type, tuple[str, ...]] = {
    Card: (),
    Machine: (),
    Request: ("asked", "question", "told", "changed", "served", "in_line"),
    Lease: (
        "since", "changed", "active_since", "free_since", "clock_since", "bound_since", "guest_without_since", "question",
        "seen_vcenter", "seen_guest", "computed", "proven", "done_heard", "wanted_since",
    ),
    Move: (
        "opened", "changed", "last_call", "shutdown_at", "off_at", "on_at", "blocked_since", "blind_since",
        "lost_stop",
    ),
    Agreement: ("made",),
    Account: ("at", "urgent"),
    Interest: ("since",),
    Watch: (
        "since", "first_seen", "upto", "quiet_since", "unknown_since", "busy_since", "last_busy", "ghost_since", "using", "blind_since", "blind_told",
        "asked",
    ),
}  # fmt: skip
"""The fields of each noun that say when something happened. A test asks that none is forgotten."""

TOLD: dict[type, tuple[str, ...]] = {
    Card: ("shared_since",),
    Machine: ("owed_on", "restored"),
    Request: ("start", "before"),
    Lease: ("end",),
    Move: ("last_call_for", "called_off_for", "announced", "barred", "blocked_key"),
    Agreement: (),
    Account: (),
    Interest: (),
    Watch: ("keep_until",),
}
"""Those that may lie in the future: they were told as times of day, or begin windows, or are names alone."""


def settle(draft: Draft, policy: Policy) -> timedelta:
    """Bring what lies in the future to now. Returns by how much the farthest stamp lay ahead; zero: none did."""
    last = (draft if draft.writes else draft.books).kept(Last).at
    if last is None or last <= draft.now:
        return timedelta()  # as nearly always
    values = [v for kind in STAMPS for v in _values(draft, kind)]
    future = sorted(
        {at for value in values for at in _stamps(draft.agreements, value) if at is not None and at > draft.now}
    )
    if not future:
        return timedelta()
    where = {at: draft.now - TICK * (len(future) - 1 - i) for i, at in enumerate(future)}

    def to(at: datetime) -> datetime:
        return where.get(at, at)

    ahead = future[-1] - draft.now
    moved = [(value, _moved(draft, value, to)) for value in values]  # all before any is written: one asks about another
    for before, after in moved:
        if after is not before:
            draft.put(after)
    _object_again(draft, policy)
    if ahead > policy.clock_jump:
        for move in list(draft.moves.values()):
            if move.state in UNDER_WAY:
                draft.put(replace(move, steps=(*move.steps, Step(draft.now, CLOCK))))
    return ahead


class Last(Shelf):
    """The last stamp of any value that stood in the books since this was made: no earlier than any that stands there now."""

    follows = tuple(STAMPS)
    in_order = False

    at: datetime | None  # None: there is no stamp at all

    def _anew(self) -> None:
        last: datetime | None = None
        for kind in STAMPS:
            glance = GLANCES.get(kind)
            for value in _table(self._sheet, kind).values():
                if last is None or glance is None or glance(value, last):
                    last = _later(last, value)
        self.at = last

    def over(self, sheet: Any) -> Self:
        """See ``Shelf``."""
        copy = object.__new__(type(self))
        copy._sheet, copy.at = sheet, self.at
        return copy

    def follow(self, old: Any, new: Any) -> None:
        """See ``Shelf``."""
        if new is None:
            return
        glance = GLANCES.get(type(new))
        if self.at is None or glance is None or glance(new, self.at):
            self.at = _later(self.at, new)


def _later(last: datetime | None, value: Entity) -> datetime | None:
    """The last of these."""
    return max((at for at in (last, *_latest(value)) if at is not None), default=None)


def _latest(value: Entity) -> Iterable[datetime | None]:
    """Stamps of it, of which one is no earlier than any: of a move also the start of its window, whichever agreement that is of."""
    match value:
        case Watch():
            return _last_of(value)
        case Move():
            return (*_stamps({}, value), value.window.start if value.window is not None else None)
        case _:
            return _stamps({}, value)


CLOCK = "clock_back"
"""The word of a move's journal for it: how long it took is not known."""


def _object_again(draft: Draft, policy: Policy) -> None:
    """What comes next by the new time may be another occurrence: a "not now" that holds then holds for it."""
    for agreement in list(draft.agreements.values()):
        if agreement.state is not AgreementState.OPEN or agreement.firm or in_use(draft, agreement):
            continue
        if agreement.machine in draft.machines:
            more = [skip for skip in objections(draft, agreement, policy) if skip not in agreement.skips]
            if more:
                draft.put(replace(agreement, skips=(*agreement.skips, *more)))


def _table(sheet: Any, kind: type) -> Mapping[Any, Any]:
    """The values of a noun."""
    tables: dict[type, Mapping[Any, Any]] = {
        Card: sheet.cards,
        Machine: sheet.machines,
        Request: sheet.requests,
        Lease: sheet.leases,
        Move: sheet.moves,
        Agreement: sheet.agreements,
        Watch: sheet.watches,
        Account: sheet.accounts,
        Interest: sheet.interests,
    }
    return tables[kind]


def _values(draft: Draft, kind: type) -> list[Any]:
    glance, now, values = GLANCES.get(kind), draft.now, list(_table(draft, kind).values())
    if kind is Machine:
        values = [m for m in values if m.not_nows]
    return [v for v in values if glance is None or glance(v, now)]


def _watch_ahead(watch: Watch, now: datetime) -> bool:
    """Whether any stamp of clocks lies in the future."""
    return _any_after(_last_of(watch), now)


def _last_of(watch: Watch) -> tuple[datetime | None, ...]:
    """Stamps of clocks: all others are older than one of these."""
    return (watch.since, watch.upto, watch.using, watch.blind_since, watch.blind_told, *watch.asked[-1:])


def _any_after(stamps: Iterable[datetime | None], now: datetime) -> bool:
    known = [at for at in stamps if at is not None]
    return bool(known) and max(known) > now


def _request_ahead(r: Request, now: datetime) -> bool:
    """Whether any stamp of a request lies in the future."""
    return (
        r.asked > now
        or (r.changed is not None and r.changed > now)
        or (r.told is not None and r.told > now)
        or (r.promised is not None and r.promised.at > now)
        or (r.question is not None and r.question > now)
        or (r.served is not None and r.served > now)
        or (r.in_line is not None and r.in_line > now)
        or (r.rest is not None and r.rest.since > now)
        or (r.hindrance is not None and r.hindrance.since > now)
        or (r.offer is not None and r.offer.made > now)
        or any(s.said is not None and s.said > now for s in r.shifts)
    )


def _card_ahead(card: Card, now: datetime) -> bool:
    """Whether any stamp of a card lies in the future."""
    return any(aside is not None and aside.since > now for aside in (card.aside, card.under))


_OF_A_LEASE = attrgetter(*STAMPS[Lease])


def _lease_ahead(lease: Lease, now: datetime) -> bool:
    """Whether any stamp of a lease may lie in the future."""
    if lease.nudge is not None or lease.morning is not None or lease.inquiries:
        return True
    return _any_after(_OF_A_LEASE(lease), now)


def _machine_ahead(machine: Machine, now: datetime) -> bool:
    """Whether any stamp of a machine lies in the future."""
    return any(no.said is not None and no.said > now for no in machine.not_nows) if machine.not_nows else False


def _agreement_ahead(agreement: Agreement, now: datetime) -> bool:
    """Whether any stamp of an agreement may lie in the future: its window counts as one only if it began when it was said, or later by itself."""
    window = agreement.window
    if agreement.made > now:
        return True
    return window is not None and window.start > now and (agreement.now or agreement.when_done)


GLANCES: dict[type, Callable[[Any, datetime], bool]] = {
    Watch: _watch_ahead,
    Request: _request_ahead,
    Lease: _lease_ahead,
    Machine: _machine_ahead,
    Agreement: _agreement_ahead,
    Card: _card_ahead,
}
"""Of these there are many: nearly always a glance is enough, which finds every stamp that lies in the future."""


def _stamps(agreements: Mapping[int, Agreement], value: Entity) -> Iterator[datetime | None]:
    """When things happened, as a value tells it. ``agreements``: those of the books, of which a move uses one."""
    for name in STAMPS[type(value)]:
        at = getattr(value, name)
        if isinstance(at, tuple):
            yield from at
        else:
            yield at
    match value:
        case Card():
            yield value.aside.since if value.aside is not None else None
            yield value.under.since if value.under is not None else None
        case Request():
            yield value.offer.made if value.offer is not None else None
            yield value.rest.since if value.rest is not None else None
            yield value.hindrance.since if value.hindrance is not None else None
            yield value.promised.at if value.promised is not None else None
            yield from (s.said for s in value.shifts)
        case Move():
            if value.call is not None:
                yield from (value.call.asked, value.call.answered)
            yield from (step.at for step in value.steps)
            yield from (step.since for step in value.steps)
            yield _begun(agreements.get(value.agreement or 0), value.window)
        case Machine():
            yield from (no.said for no in value.not_nows)
        case Agreement():
            yield _begun(value, value.window)
        case Lease():
            if value.nudge is not None:
                yield from (value.nudge.asked, value.nudge.written, *value.nudge.counted)
            if value.morning is not None:
                yield from (value.morning.asked, *value.morning.counted)
            yield from (at for inquiry in value.inquiries for at in (inquiry.at, inquiry.told))
        case Watch():
            yield from (at for at, _, _ in value.recent)
            yield from (quarter.start for quarter in value.quarters)
        case _:
            pass


def _begun(agreement: Agreement | None, window: Window | None) -> datetime | None:
    """The start of a window that began when it was said, or when work ended; None: it begins at a time of day."""
    if agreement is None or window is None:
        return None
    now = agreement.now and not agreement.after_blackout
    counted = now or agreement.when_done or window.start <= agreement.made
    return window.start if counted else None


def _moved(draft: Draft, value: Any, to: At) -> Any:
    """The value with its stamps where they go; the same value if none goes anywhere."""
    if all(at is None or to(at) == at for at in _stamps(draft.agreements, value)):
        return value
    found: dict[str, Any] = {
        name: tuple(map(to, at)) if isinstance(at, tuple) else to(at)
        for name in STAMPS[type(value)]
        if (at := getattr(value, name)) is not None
    }
    match value:
        case Card():
            for name, aside in (("aside", value.aside), ("under", value.under)):
                if aside is not None:
                    found[name] = replace(aside, since=to(aside.since))
        case Request():
            if (offer := value.offer) is not None:
                found["offer"] = replace(offer, made=to(offer.made), accept_by=_along(offer.accept_by, offer.made, to))
            if (rest := value.rest) is not None:
                until = _along(rest.until, rest.since, to) if rest.until is not None else None
                found["rest"] = replace(rest, since=to(rest.since), until=until)
            if (hindrance := value.hindrance) is not None:
                passes = _along(hindrance.passes, hindrance.since, to)
                found["hindrance"] = replace(hindrance, since=to(hindrance.since), passes=passes)
            if (promised := value.promised) is not None:
                found["promised"] = replace(promised, at=to(promised.at))
            found["shifts"] = tuple(replace(s, said=to(s.said)) if s.said is not None else s for s in value.shifts)
        case Move():
            found |= _of_move(value, draft.agreements.get(value.agreement or 0), to)
        case Machine():
            found["not_nows"] = tuple(_not_now(no, to) for no in value.not_nows)
        case Agreement() if value.window is not None:
            found["window"] = window = _window(value, value.window, to)
            starts = {value.window.start: window.start}
            found["skips"] = tuple(Skip(starts.get(s.start, s.start), s.by) for s in value.skips)
        case Lease():
            found |= _of_lease(value, to)
        case Watch():
            # What was measured at times that come again is forgotten: an empty bar says less than a wrong one.
            found["recent"] = tuple((to(at), seconds, why) for at, seconds, why in value.recent)
            found["quarters"] = tuple(q for q in value.quarters if to(q.start) == q.start)
        case _:
            pass
    return replace(value, **found)


def _of_lease(lease: Lease, to: At) -> dict[str, Any]:
    """When its holder was asked something."""
    found: dict[str, Any] = {}
    if (nudge := lease.nudge) is not None:
        counted = tuple(to(at) for at in nudge.counted)
        written = to(nudge.written) if nudge.written is not None else None
        found["nudge"] = replace(nudge, asked=to(nudge.asked), counted=counted, written=written)
    if (morning := lease.morning) is not None:
        counted = tuple(to(at) for at in morning.counted)
        found["morning"] = replace(morning, asked=to(morning.asked), counted=counted)
    found["inquiries"] = tuple(
        replace(x, at=to(x.at), told=to(x.told) if x.told is not None else None) for x in lease.inquiries
    )
    return found


def _of_move(move: Move, agreement: Agreement | None, to: At) -> dict[str, Any]:
    """What of a move goes along besides its own stamps."""
    found: dict[str, Any] = {
        "steps": tuple(replace(s, at=to(s.at), since=to(s.since) if s.since else None) for s in move.steps)
    }
    if move.call is not None:
        found["call"] = _call(move.call, to)
    if agreement is not None and move.window is not None:
        found["window"] = _window(agreement, move.window, to)
    return found


def _not_now(no: NotNow, to: At) -> NotNow:
    """A no to what was about to happen goes along with that; one to a time of day stays there."""
    if no.said is None:
        return no
    window = no.window
    if window.start <= no.said:
        window = Window(_along(window.start, no.said, to), _along(window.end, no.said, to))
    return replace(no, said=to(no.said), window=window)


def _call(call: Call, to: At) -> Call:
    answered = to(call.answered) if call.answered is not None else None
    again = call.again_at
    if again is not None:
        again = _along(again, call.answered or call.asked, to)
    return replace(call, asked=to(call.asked), answered=answered, again_at=again)


def _window(agreement: Agreement, window: Window, to: At) -> Window:
    """A window that began when it was said begins now; a "now" keeps its length, "today" its end."""
    if _begun(agreement, window) is None:
        return window
    start = to(window.start)
    keeps_length = agreement.now or agreement.when_done
    return Window(start, _along(window.end, window.start, to) if keeps_length else window.end)


def _along(at: datetime, stamp: datetime, to: At) -> datetime:
    """A moment that was counted from a stamp, counted from where the stamp goes."""
    return at + (to(stamp) - stamp)
