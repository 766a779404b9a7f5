"""What people do with their leases: give back, extend, keep, take over. Called by commands inside their transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.domain import hours, windows
from bot.domain.draft import Draft
from bot.domain.errors import (
    NoLonger,
    NotLater,
    NotPossible,
    NotYours,
    Promised,
    PromisedBy,
    ReasonWanted,
    TooLate,
    TooLong,
)
from bot.domain.leases.common import others_wait, under_way
from bot.domain.leases.ends import end, split
from bot.domain.lengths import end_of
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY, On, step
from bot.domain.model import (
    BOT,
    AgreementState,
    Books,
    CallKind,
    Lease,
    LeaseState,
    Length,
    Machine,
    Move,
    MoveState,
    Person,
    PersonId,
    Request,
    SlotId,
    Terms,
    Turn,
)
from bot.domain.news import CHANNEL, News, NewsKind
from bot.domain.order import team_of
from bot.domain.planner import expected_free
from bot.domain.planner.back import waits_for
from bot.domain.policy import Policy
from bot.domain.promises import Bound
from bot.domain.questions import window_key
from bot.domain.queue import contended, waiters
from bot.domain.spoken import instant_words, limit_words


def owns(draft: Draft, lease: Lease, by: PersonId) -> bool:
    """Whether a person may act for a lease: its holder, or an owner of its machine."""
    machine = draft.machines.get(lease.machine)
    return by == lease.person or (machine is not None and by in machine.owners)


def move_of(draft: Draft, lease: Lease) -> Move | None:
    """The move that has a wish of this lease: the open one, else the newest."""
    found = [m for m in draft.moves.values() if any(w.label == lease.label for w in m.wishes)]
    return max(found, key=lambda m: (m.state in OPEN_MOVE, m.number), default=None)


GIVEN_BACK = "given back"
"""The reason of what its holder gives back."""


def release(
    draft: Draft,
    lease: Lease,
    slots: tuple[SlotId, ...] | None,
    by: PersonId,
    reason: str = GIVEN_BACK,
    because: str = "",
) -> Lease:
    """Give back all, or some, of a lease's devices.

    :param because: why somebody else than its holder says so: public, in the channel too
    :returns: what returns: the lease, a part of it (#12b), or the ended lease if nothing had to come off
    :raises ReasonWanted: said for somebody else, without a reason
    """
    if not owns(draft, lease, by):
        raise NotYours(what=f"{' and '.join(lease.slots)} (#{lease.label})", owners=(lease.person,))
    if lease.state not in OPEN_LEASE:
        raise TooLate(state=str(lease.state), number=lease.label, why="it is over already")
    if lease.state is LeaseState.RETURNING:
        return lease
    for_other = reason == GIVEN_BACK and for_somebody(lease, by)
    if for_other and not because:
        raise ReasonWanted(command=f"release #{lease.label}", who=lease.person)
    lease = _released(draft, lease, slots, by, because or reason)
    _tell_holder(draft, lease, by, reason)
    if for_other:
        _tell_all(draft, lease, by)
    return lease


def for_somebody(lease: Lease, by: PersonId) -> bool:
    """Whether what is said of a lease is said for its holder, by a person who is not."""
    return by not in (lease.person, BOT)


def _tell_all(draft: Draft, lease: Lease, by: PersonId) -> None:
    """What is taken from somebody by another's word is public, with both names and the reason."""
    machine = draft.machines.get(lease.machine)
    draft.tell(News(NewsKind.GIVEN_FOR, CHANNEL, lease=lease, machine=machine, who=by, reason=lease.reason))


def _tell_holder(draft: Draft, lease: Lease, by: PersonId, what: str) -> None:
    """Whoever has a card hears at once what somebody else did with it."""
    if by not in (lease.person, BOT):
        draft.tell(News(NewsKind.ACTED, lease.person, lease=lease, who=by, reason=what))


def _released(draft: Draft, lease: Lease, slots: tuple[SlotId, ...] | None, by: PersonId, reason: str) -> Lease:
    """By the state it is in."""
    some = slots is not None and set(slots) < set(lease.slots)
    match lease.state:
        case LeaseState.RESERVED if lease.active_since is None:
            return _end_unused(draft, lease, On.RELEASE, by, reason)
        case LeaseState.MOVING:
            return _release_moving(draft, lease, by, reason)
        case LeaseState.RESERVED:
            return step(draft, lease, On.RELEASE_LATE, by=by, why=reason, reason=reason, ended_by=by, not_nows=0)
        case _ if some and slots is not None:
            return split(draft, lease, slots, On.RELEASE, by, reason)
    return step(draft, lease, On.RELEASE, by=by, why=reason, reason=reason, ended_by=by, not_nows=0)


def _end_unused(draft: Draft, lease: Lease, event: On, by: PersonId, reason: str) -> Lease:
    """Nothing was put on: the holds are free at once."""
    return end(draft, lease, event, reason, by=by)


def _release_moving(draft: Draft, lease: Lease, by: PersonId, reason: str) -> Lease:
    """Released while its power cycle runs: before the change the move goes on without it, after it comes off again."""
    move = move_of(draft, lease)
    early = move is not None and move.state in (MoveState.STOPPING, MoveState.CHANGING)
    if early and move is not None and lease.active_since is None and not put_asked(move, lease.label):
        return _end_unused(draft, lease, On.RELEASE_EARLY, by, reason)
    return step(draft, lease, On.RELEASE_LATE, by=by, why=reason, reason=reason, ended_by=by)


def put_asked(move: Move, label: str) -> bool:
    """Whether vCenter was asked to put this lease's devices on in this move."""
    if any(s.what == "put" and label in s.detail.split() for s in move.steps):
        return True
    call = move.call
    return call is not None and call.kind is CallKind.CHANGE and any(w.label == label for w in call.puts)


def extend(
    draft: Draft,
    lease: Lease,
    length: Length,
    person: Person,
    policy: Policy,
    zone_of: Callable[[PersonId], str] | None = None,
) -> Lease:
    """A later end. While others wait: once, at most 24 h, and never so that somebody waits longer than they were told. Said of a lease that
    returns, it means keep.

    :param zone_of: somebody's zone; None: that of the site
    :raises NotYours: said by another than its holder, also by an owner of its machine: whose time it is alone decides for how long
    :raises NotLater: the card is theirs for as long already
    :raises TooLong: with the longest that is allowed
    :raises NoLonger: nothing longer is allowed now
    :raises PromisedBy: somebody was promised it sooner, with an end that works
    """
    if person.id != lease.person:
        raise NotYours(what=f"{' and '.join(lease.slots)} (#{lease.label})", owners=(lease.person,))
    if lease.state is LeaseState.RETURNING:
        lease = keep(draft, lease, person.id, policy, zone_of, longer=True)
    longer = extended(draft, lease, length, person, policy, zone_of)
    assert longer.end is not None, "it is as wished"
    fields: dict[str, Any] = {"end": longer.end, "extended": longer.extended, "over_time": False}
    return step(draft, lease, On.EXTEND, by=person.id, why=f"until {longer.end.isoformat()}", **fields)


def extended(
    draft: Draft,
    lease: Lease,
    length: Length,
    person: Person,
    policy: Policy,
    zone_of: Callable[[PersonId], str] | None = None,
) -> Lease:
    """The lease as its holder would have it with a later end; nothing is written. Raises as ``extend``."""
    if lease.state is not LeaseState.ACTIVE or lease.end is None or lease.active_since is None:
        why = f"#{lease.label} is {lease.state}: its time starts when the card works"
        if lease.active_since is not None:
            why = f"#{lease.label} is put on anew at another address just now; its time goes on, and can be made longer when it is in"
        raise NotPossible(what="extend", why=why)
    new_end = wished_end(draft, lease, length, person, policy)
    if new_end <= lease.end:
        raise NotLater(number=lease.label, end=lease.end)
    waits = waiter(draft, lease)
    if lease.wanted_since is not None:
        why = "it is spare, and goes back as soon as nothing runs"
        who, count = (waits.person, waits.count) if waits is not None else ("", 1)
        raise NoLonger(number=lease.label, end=None, who=who, count=count, why=why)
    bound = Bound(draft, lease, policy, zone_of or (lambda _: policy.zone))
    _within(draft, lease, new_end, waits, person, policy, bound)
    longer = replace(lease, end=new_end, extended=lease.extended + bool(waits), over_time=False)
    _keep_promises(draft, lease, longer, person, policy, zone_of)
    return longer


def wished_end(draft: Draft, lease: Lease, length: Length, person: Person, policy: Policy) -> datetime:
    """The end that a length means for an active lease: from its end (or from now, if that has passed), or a time, or the next working day."""
    base = max(lease.end or draft.now, draft.now)
    if length.lasting:
        return base + length.lasting
    return length.until or hours.next_working_day_end(base, person.zone, policy)


def is_later(draft: Draft, lease: Lease, length: Length, person: Person, policy: Policy) -> bool:
    """Whether a length means a later end than the one that holds."""
    return lease.end is None or wished_end(draft, lease, length, person, policy) > lease.end


def waiter(draft: Draft, lease: Lease) -> Request | None:
    """The first who really waits for a card like those of a lease; None: nobody does."""
    waiting = waiters(draft, lease.kind, lease.machine) if contended(draft, lease.kind, lease.machine) else []
    return next((r for r in waiting if r.person != lease.person), waiting[0] if waiting else None)


def _within(
    draft: Draft,
    lease: Lease,
    new_end: datetime,
    waits: Request | None,
    person: Person,
    policy: Policy,
    bound: Bound,
) -> None:
    """Refuse an end past a limit: the longest in all; and while somebody waits also the longest then, and one day at a time, once."""
    assert lease.end is not None and lease.active_since is not None, "asked of active leases only"
    limits = [(lease.active_since + policy.longest_in_all, f"{limit_words(policy.longest_in_all)} in all")]
    if waits is not None:
        if lease.extended:
            why = "it was made longer once already"
            raise NoLonger(number=lease.label, end=lease.end, who=waits.person, count=waits.count, why=why)
        limits += [
            (lease.active_since + policy.longest, f"{limit_words(policy.longest)} in all while others wait"),
            (
                max(lease.end, draft.now) + policy.extend_waiting,
                f"{limit_words(policy.extend_waiting)} longer, once, while others wait",
            ),
        ]
    _past_others(draft, lease, new_end, waits, person, bound)
    latest, limit = min(limits)
    if new_end <= latest:
        return
    latest = latest.replace(second=0, microsecond=0)
    if latest <= lease.end:
        who, count = (waits.person, waits.count) if waits else ("", 1)
        raise NoLonger(number=lease.label, end=lease.end, who=who, count=count, why=f"the limit is {limit}")
    raise TooLong(
        limit=limit, text="", works=f"extend #{lease.label} until {instant_words(latest, person.zone, draft.now)}"
    )


def _past_others(
    draft: Draft, lease: Lease, new_end: datetime, waits: Request | None, person: Person, bound: Bound
) -> None:
    """Refuse an end past the one up to which it was given past others, as long as they wait. The longest is offered if nobody who waits, also
    who came before those since, would likely wait longer by it than they were told."""
    before = waits_for(draft, lease)
    if before is None or lease.passing is None or lease.end is None or new_end <= lease.passing.ends_by:
        return
    following = waits or before
    why = f"it was given past #{before.number}, who has to have it in time"
    latest = lease.passing.ends_by.replace(second=0, microsecond=0)
    if latest <= lease.end:
        raise NoLonger(number=lease.label, end=lease.end, who=following.person, count=following.count, why=why)
    words = instant_words(latest, person.zone, draft.now)
    late = bound.delayed(replace(lease, end=latest))
    said = late.promised.likely if late is not None and late.promised is not None else None
    raise TooLong(
        limit=f"{words}, since {why}",
        text="",
        who=following.person,
        number=f"#{following.number}",
        works=f"extend #{lease.label} until {words}" if late is None else "",
        late=late.person if late is not None else "",
        when=said,
    )


def _keep_promises(
    draft: Draft,
    lease: Lease,
    longer: Lease,
    person: Person,
    policy: Policy,
    zone_of: Callable[[PersonId], str] | None,
) -> None:
    """Refuse an end with which somebody would wait longer than they were told."""
    assert lease.end is not None and longer.end is not None, "asked of active leases only"
    bound = Bound(draft, lease, policy, zone_of or (lambda _: policy.zone))
    first = bound.moved(longer)
    if first is None or first.promised is None:
        return
    works = bound.latest(lambda end: replace(longer, end=end), max(lease.end, draft.now), longer.end)
    raise PromisedBy(
        number=lease.label,
        who=first.person,
        when=first.promised.latest,
        end=lease.end,
        works=f"extend #{lease.label} until {instant_words(works, person.zone, draft.now)}" if works else "",
    )


def keep(
    draft: Draft,
    lease: Lease,
    by: PersonId,
    policy: Policy | None = None,
    zone_of: Callable[[PersonId], str] | None = None,
    longer: bool = False,
) -> Lease:
    """Not given back after all: yes until somebody was offered the slot, or the shutdown was asked.

    :param policy: with it nobody is made to wait longer than they were told since it was given back; None: that is not looked at
    :param longer: it is made longer next. Else one whose time is over is not kept while others wait: the next round would end it again
    :raises NotPossible: it cannot be kept as it is
    :raises NotYours: said by another than its holder, or who gave it back for them
    :raises Promised: who was promised it, and when
    :raises PromisedBy: by when somebody was promised it
    """
    if not (by == lease.person or (by == lease.ended_by and owns(draft, lease, by))):
        raise NotYours(what=f"{' and '.join(lease.slots)} (#{lease.label})", owners=(lease.person,))
    if lease.state is LeaseState.ACTIVE:
        return lease
    if lease.state is not LeaseState.RETURNING:
        raise TooLate(state=str(lease.state), number=lease.label, why="it is not on its way back")
    for slot in lease.slots:
        after = draft.holder(slot, Turn.NEXT)
        if after is not None:
            _promised(draft, slot, after)
    move = move_of(draft, lease)
    if move is not None and move.state in UNDER_WAY:
        raise TooLate(state=str(move.state), number=lease.label, why="its machine is restarting for it right now")
    if lease.active_since is None:
        raise NotPossible(what="keep", why=f"#{lease.label} never worked here")
    if lease.terms.spare and lease.ended_by == BOT and others_wait(draft, lease):
        raise NotPossible(what="keep", why=f"{lease.reason}; ask for a card again, and you are in line")
    if not longer and is_over(lease, draft.now) and others_wait(draft, lease):
        works = f"extend #{lease.label} 4h" if not lease.extended else ""
        raise NotPossible(what="keep", why="its time is over, and somebody else waits", works=works)
    if not (lease.ended_by == BOT or owns(draft, lease, lease.ended_by)):
        raise NotPossible(what="keep", why=f"an admin took #{lease.label} back: {lease.reason}")
    if policy is not None:
        kept = replace(lease, state=LeaseState.ACTIVE, reason="", over_time=False)
        first = Bound(draft, lease, policy, zone_of or (lambda _: policy.zone)).moved(kept)
        if first is not None and first.promised is not None:
            raise PromisedBy(number=lease.label, who=first.person, when=first.promised.latest, what="back")
    _tell_holder(draft, lease, by, "kept")
    unagree(draft, lease)
    return step(draft, lease, On.KEEP, by=by, reason="", ended_by=BOT, over_time=False, not_nows=0)


def is_over(lease: Lease, now: datetime) -> bool:
    """Whether the time of one that worked is over."""
    return lease.end is not None and lease.end <= now


def unagree(draft: Draft, lease: Lease) -> None:
    """What was agreed for its return alone is for nothing now: its machine is not restarted for it. A night by the terms is taken back
    by the next round, which edits its announcement."""
    for agreement in sorted(draft.agreements.values(), key=lambda a: a.number):
        mine = agreement.machine == lease.machine and agreement.label == lease.label and not agreement.firm
        if mine and agreement.state is AgreementState.OPEN and agreement.made >= lease.changed:
            windows.withdraw(draft, agreement, BOT, f"#{lease.label} is kept")


def keepable(books: Books, lease: Lease) -> bool:
    """Whether ``keep`` of its holder would be heard, or ``extend`` if its time is over: nobody was promised it, no restart runs for it, no admin
    took it back, and it was not spare."""
    promised = any(h.turn is Turn.NEXT and h.slot in lease.slots for h in books.holds)
    moves = (m for m in books.moves.values() if m.state in UNDER_WAY)
    runs = any(w.label == lease.label for m in moves for w in m.wishes)
    machine = books.machines.get(lease.machine)
    its_own = lease.ended_by in (BOT, lease.person) or (machine is not None and lease.ended_by in machine.owners)
    back = lease.state is LeaseState.RETURNING and lease.active_since is not None
    if lease.terms.spare and lease.ended_by == BOT:
        return False  # somebody else waits for it
    return back and its_own and not promised and not runs


def keep_offered(books: Books, lease: Lease, now: datetime) -> bool:
    """Whether ``keep`` is worth offering: it would be heard, and still is after the next round.

    That promises the card to who waits, as soon as a time is known at which it comes out; and ends again what is over while somebody waits.
    """
    others = [r for r in waiters(books, lease.kind, lease.machine, now) if r.person != lease.person]
    known = expected_free(books, lease, now) is not None or any(r.machine == lease.machine for r in others)
    taken = (known or is_over(lease, now)) and bool(others) and contended(books, lease.kind, lease.machine, now)
    return keepable(books, lease) and not taken


def _promised(draft: Draft, slot: SlotId, after: str) -> None:
    """Say who is next for a slot."""
    lease = draft.leases.get(after)
    request = draft.requests.get(int(after)) if after.isdigit() else None
    if lease is not None and lease.state in OPEN_LEASE:
        raise Promised(who=lease.person, when=lease.since, slot=slot)
    offered = request.offer.made if request is not None and request.offer is not None else draft.now
    raise Promised(who=request.person if request else "", when=offered, slot=slot)


def force(
    draft: Draft,
    lease: Lease,
    by: PersonId,
    reason: str,
    slots: tuple[SlotId, ...] | None = None,
    public: bool = True,
) -> Lease:
    """An admin ends a lease, or takes some of its devices, with a public reason. Names no window: the machine's agreements still rule. Of one
    that is on its way back the reason is the admin's from now on, and its clock goes on.

    :param slots: these of its devices; None: all. Some can be taken only of an active lease, or one that returns and is not being restarted for
    :param public: the channel reads it; False: nobody was ever lent it
    :returns: what returns: the lease, a part of it (#12b), or the ended lease if nothing had to come off
    """
    some = slots is not None and set(slots) < set(lease.slots)
    back, since = lease.state is LeaseState.RETURNING, lease.changed
    apart = lease.state is LeaseState.ACTIVE or (back and not under_way(draft, lease.machine))
    if some and slots is not None and apart:
        lease = split(draft, lease, slots, On.FORCE, by, reason)
    elif lease.state is LeaseState.ACTIVE or (lease.state is LeaseState.RESERVED and lease.active_since is not None):
        lease = step(draft, lease, On.FORCE, by=by, why=reason, reason=reason, ended_by=by, not_nows=0)
    elif lease.state is LeaseState.RESERVED:
        lease = end(draft, lease, On.RELEASE, reason, by=by)
    elif lease.state is LeaseState.MOVING:
        lease = _release_moving(draft, lease, by, reason)
    elif back:
        lease = step(draft, lease, On.FORCE, by=by, why=reason, reason=reason, ended_by=by)
    else:
        raise TooLate(state=str(lease.state), number=lease.label, why="it is over already")
    if public and for_somebody(lease, by):
        _tell_all(draft, lease, by)
    if lease.state in OPEN_LEASE:  # one that never worked is over, and its person hears of the place in line
        lease = replace(lease, question=draft.now, changed=since if back else lease.changed)
        draft.put(lease)
        key = window_key(lease.label)
        draft.tell(News(NewsKind.RETURNING, lease.person, key=key, lease=lease, who=by, reason=reason))
    return lease


def adopt(
    draft: Draft,
    machine: Machine,
    slots: tuple[SlotId, ...],
    person: Person,
    length: Length,
    *,
    by: PersonId,
    policy: Policy,
    tell: bool = True,
    kind: str = "",
) -> Lease:
    """Make a device that sits on a machine without a lease a lease of its own: number, terms, and the clock starts now.

    :param kind: the profile of a vGPU; "": what the card is
    :param tell: its holder hears of it, if another says it; False: they hear at once of what comes next
    """
    if person.id not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    for slot in slots:
        if draft.holder(slot, Turn.HAS) is not None:
            raise NotPossible(what=slot, why=f"{slot} is lent already")
    number = draft.number("number")
    label = str(number)
    if end_of(length, draft.now, person.zone, policy) - draft.now > policy.longest_in_all:
        limit = limit_words(policy.longest_in_all)
        raise TooLong(limit=f"{limit} in all", text="", works=f"adopt {' '.join(slots)} for {limit}")
    for slot in slots:
        draft.hold(slot, Turn.HAS, label)
    lease = Lease(
        label=label,
        request=number,
        person=person.id,
        machine=machine.uuid,
        kind=kind or draft.card(slots[0]).kind,
        slots=slots,
        state=LeaseState.ACTIVE,
        terms=Terms(length=length),
        since=draft.now,
        changed=draft.now,
        active_since=draft.now,
        end=end_of(length, draft.now, person.zone, policy),
        team=team.name if (team := team_of(policy, person)) is not None else "",
    )
    if tell:
        _tell_holder(draft, lease, by, "adopted")
    return step(draft, lease, On.ADOPT, by=by, new=True, why=f"{', '.join(slots)} on {machine.name}")
