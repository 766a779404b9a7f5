"""What people do with their leases: give back, extend, keep, take over. Called by commands inside their transaction."""

from __future__ import annotations

from bot.domain import hours
from bot.domain.draft import Draft
from bot.domain.errors import NotPossible, NotYours, Promised, TooLate, TooLong
from bot.domain.leases.ends import end, split
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY, On, step
from bot.domain.model import (
    BOT,
    CallKind,
    Lease,
    LeaseState,
    Length,
    Machine,
    Move,
    MoveState,
    Person,
    PersonId,
    SlotId,
    Terms,
    Turn,
)
from bot.domain.news import News, NewsKind
from bot.domain.planner import end_of
from bot.domain.policy import Policy
from bot.domain.queue import contended


def owns(draft: Draft, lease: Lease, by: PersonId) -> bool:
    """Whether a person may act for a lease: its holder, or an owner of its machine."""
    machine = draft.machines.get(lease.machine)
    return by == lease.person or (machine is not None and by in machine.owners)


def move_of(draft: Draft, lease: Lease) -> Move | None:
    """The move that has a wish of this lease: the open one, else the newest."""
    found = [m for m in draft.moves.values() if any(w.label == lease.label for w in m.wishes)]
    return max(found, key=lambda m: (m.state in OPEN_MOVE, m.number), default=None)


def release(
    draft: Draft, lease: Lease, slots: tuple[SlotId, ...] | None, by: PersonId, reason: str = "given back"
) -> Lease:
    """Give back all, or some, of a lease's devices.

    :returns: what returns: the lease, a part of it (#12b), or the ended lease if nothing had to come off
    """
    if not owns(draft, lease, by):
        raise NotYours(what=f"#{lease.label}", owners=(lease.person,))
    if lease.state not in OPEN_LEASE:
        raise TooLate(state=str(lease.state), number=lease.label, why="it is over already")
    some = slots is not None and set(slots) < set(lease.slots)
    match lease.state:
        case LeaseState.RETURNING:
            return lease
        case LeaseState.RESERVED:
            return _end_unused(draft, lease, On.RELEASE, by, reason)
        case LeaseState.MOVING:
            return _release_moving(draft, lease, by, reason)
        case _ if some and slots is not None:
            return split(draft, lease, slots, On.RELEASE, by, reason)
    return step(draft, lease, On.RELEASE, by=by, why=reason, reason=reason, ended_by=by, not_nows=0)


def _end_unused(draft: Draft, lease: Lease, event: On, by: PersonId, reason: str) -> Lease:
    """Nothing was put on: the holds are free at once."""
    return end(draft, lease, event, reason, by=by)


def _release_moving(draft: Draft, lease: Lease, by: PersonId, reason: str) -> Lease:
    """Released while its power cycle runs: before the change the move goes on without it, after it comes off again."""
    move = move_of(draft, lease)
    if move is not None and move.state in (MoveState.STOPPING, MoveState.CHANGING) and not put_asked(move, lease.label):
        return _end_unused(draft, lease, On.RELEASE_EARLY, by, reason)
    return step(draft, lease, On.RELEASE_LATE, by=by, why=reason, reason=reason, ended_by=by)


def put_asked(move: Move, label: str) -> bool:
    """Whether vCenter was asked to put this lease's devices on in this move."""
    if any(s.what == "put" and label in s.detail.split() for s in move.steps):
        return True
    call = move.call
    return call is not None and call.kind is CallKind.CHANGE and any(w.label == label for w in call.puts)


def extend(draft: Draft, lease: Lease, length: Length, person: Person, policy: Policy) -> Lease:
    """A later end. While others wait: once, and at most 24 h. Said of a lease that returns, it means keep."""
    if not owns(draft, lease, person.id):
        raise NotYours(what=f"#{lease.label}", owners=(lease.person,))
    if lease.state is LeaseState.RETURNING:
        lease = keep(draft, lease, person.id)
    if lease.state is not LeaseState.ACTIVE or lease.end is None or lease.active_since is None:
        raise NotPossible(what="extend", why=f"#{lease.label} is {lease.state}: its time starts when the card works")
    base = max(lease.end, draft.now)
    new_end = base + length.lasting if length.lasting else length.until
    if new_end is None:
        new_end = hours.next_working_day_end(base, person.zone, policy)
    if new_end <= lease.end:
        raise NotPossible(what="extend", why="that is not later than now agreed")
    if new_end - lease.active_since > policy.longest_in_all:
        raise TooLong(limit=f"{policy.longest_in_all.days} days in all", text="")
    waiting = contended(draft, lease.kind)
    if waiting and (lease.extended or new_end - base > policy.extend_waiting):
        raise TooLong(limit="24 hours, once, while others wait", text="")
    if waiting and new_end - lease.active_since > policy.longest:
        raise TooLong(limit=f"{policy.longest.days} days while others wait", text="")
    extended = lease.extended + 1 if waiting else lease.extended
    why = f"until {new_end.isoformat()}"
    return step(draft, lease, On.EXTEND, by=person.id, why=why, end=new_end, extended=extended, over_time=False)


def keep(draft: Draft, lease: Lease, by: PersonId) -> Lease:
    """Not given back after all: yes until somebody was offered the slot, or the shutdown was asked.

    :raises Promised: who was promised it, and when
    """
    if not owns(draft, lease, by):
        raise NotYours(what=f"#{lease.label}", owners=(lease.person,))
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
    if not (lease.ended_by == BOT or owns(draft, lease, lease.ended_by)):
        raise NotPossible(what="keep", why=f"an admin took #{lease.label} back: {lease.reason}")
    return step(draft, lease, On.KEEP, by=by, reason="", over_time=False, not_nows=0)


def _promised(draft: Draft, slot: SlotId, after: str) -> None:
    """Say who is next for a slot."""
    lease = draft.leases.get(after)
    request = draft.requests.get(int(after)) if after.isdigit() else None
    if lease is not None and lease.state in OPEN_LEASE:
        raise Promised(who=lease.person, when=lease.since, slot=slot)
    offered = request.offer.made if request is not None and request.offer is not None else draft.now
    raise Promised(who=request.person if request else "", when=offered, slot=slot)


def force(draft: Draft, lease: Lease, by: PersonId, reason: str) -> Lease:
    """An admin ends a lease, with a public reason. Names no window: the machine's agreements still rule."""
    if lease.state is LeaseState.ACTIVE:
        lease = step(draft, lease, On.FORCE, by=by, why=reason, reason=reason, ended_by=by, not_nows=0)
    elif lease.state is LeaseState.RESERVED:
        lease = end(draft, lease, On.RELEASE, reason, by=by)
    elif lease.state is LeaseState.MOVING:
        lease = _release_moving(draft, lease, by, reason)
    elif lease.state is not LeaseState.RETURNING:
        raise TooLate(state=str(lease.state), number=lease.label, why="it is over already")
    draft.tell(News(NewsKind.RETURNING, lease.person, lease=lease, who=by, reason=reason))
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
) -> Lease:
    """Make a device that sits on a machine without a lease a lease of its own: number, terms, and the clock starts now."""
    if person.id not in machine.owners:
        raise NotYours(what=machine.name, owners=machine.owners)
    for slot in slots:
        if draft.holder(slot, Turn.HAS) is not None:
            raise NotPossible(what="adopt", why=f"{slot} is lent already")
    number = draft.number("number")
    label = str(number)
    if end_of(length, draft.now, person.zone, policy) - draft.now > policy.longest_in_all:
        raise TooLong(limit=f"{policy.longest_in_all.days} days in all", text="")
    for slot in slots:
        draft.hold(slot, Turn.HAS, label)
    lease = Lease(
        label=label,
        request=number,
        person=person.id,
        machine=machine.uuid,
        kind=draft.cards[slots[0]].kind,
        slots=slots,
        state=LeaseState.ACTIVE,
        terms=Terms(length=length),
        since=draft.now,
        changed=draft.now,
        active_since=draft.now,
        end=end_of(length, draft.now, person.zone, policy),
    )
    return step(draft, lease, On.ADOPT, by=by, new=True, why=f"{', '.join(slots)} on {machine.name}")
