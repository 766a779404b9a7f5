"""What time and looks do to leases, once a round. Called by ``decide`` after the moves have been settled.

One file a state. "Clean" and "there" come from a look that began after the last call on that machine was answered; an older look
decides nothing.
"""

from __future__ import annotations

from bot.domain import hours
from bot.domain.draft import Draft
from bot.domain.leases import broken
from bot.domain.leases.active import active
from bot.domain.leases.common import Round, under_way
from bot.domain.leases.ends import end
from bot.domain.leases.moving import moving
from bot.domain.leases.reserved import reserved
from bot.domain.leases.returning import returning
from bot.domain.lifecycle import OPEN_LEASE, On
from bot.domain.model import Agreement, Card, Lease, LeaseState, Machine, Move, Request, Rest, RestWhy
from bot.domain.news import News, NewsKind
from bot.domain.shelves import place, place_of


def settle(draft: Draft, ctx: Round) -> None:
    """Take a look, the guests' words and the time into every open lease."""
    hosts = _written_on(draft) if ctx.again else None
    if hosts is not None and not hosts:
        return  # as in nearly every round: the same look says what it said
    for label in sorted(draft.leases):
        lease = draft.leases[label]
        if lease.state not in OPEN_LEASE or (ctx.again and _is_settled(draft, lease)):
            continue
        machine = draft.machines.get(lease.machine)
        if hosts is not None and place_of(machine) not in hosts:
            continue
        if machine is None or machine.gone:
            _lost(draft, ctx, lease, machine, "its machine is gone")
            continue
        match lease.state:
            case LeaseState.RESERVED if ctx.left(lease.person) and not under_way(draft, lease.machine):
                end(draft, lease, On.RELEASE, "its person left the workspace")
            case LeaseState.RESERVED if lease.person not in machine.owners:
                _lost(draft, ctx, lease, machine, "you do not own its machine any more")
            case LeaseState.RESERVED:
                reserved(draft, ctx, lease)
            case LeaseState.MOVING:
                moving(draft, ctx, lease)
            case LeaseState.ACTIVE:
                active(draft, ctx, lease)
            case _:
                returning(draft, ctx, lease)
    broken.settle(draft, ctx)


def _written_on(draft: Draft) -> frozenset[str] | None:
    """The hosts of whose machines or cards anything was written in this round; None: of one whose host is not known. A lease is decided by what is
    on its host alone, so that the same look says nothing new of one on another."""
    hosts = {place(c.vcenter, c.host) for c in map(draft.cards.__getitem__, draft.touched(Card))}
    machines = set(draft.touched(Machine))
    for noun, now, before in (
        (Request, draft.requests, draft.books.requests),
        (Lease, draft.leases, draft.books.leases),
        (Move, draft.moves, draft.books.moves),
        (Agreement, draft.agreements, draft.books.agreements),
    ):
        for key in draft.touched(noun):
            machines |= {values[key].machine for values in (now, before) if key in values}
    hosts |= {
        place_of(m) for uuid in machines for m in (draft.machines.get(uuid), draft.books.machines.get(uuid, None))
    }
    return None if "" in hosts else frozenset(hosts)


def _is_settled(draft: Draft, lease: Lease) -> bool:
    """Whether nothing more can come of the same look: it works, its time is not over, and nothing was written of it in this round."""
    works = lease.state is LeaseState.ACTIVE and not lease.terms.spare
    return works and lease.end is not None and draft.now < lease.end and draft.books.leases.get(lease.label) is lease


def _lost(draft: Draft, ctx: Round, lease: Lease, machine: Machine | None, why: str) -> None:
    """Its machine is gone, or not its person's any more. Owners hear of a machine that is gone elsewhere."""
    until = hours.add_working_days(draft.now, ctx.policy.still_wanted, ctx.zone(lease.person), ctx.policy)
    ended = end(draft, lease, On.GONE, why, rest=Rest(RestWhy.MACHINE, draft.now, until))
    if lease.active_since is not None and (machine is None or lease.person not in machine.owners):
        draft.tell(News(NewsKind.ENDED, lease.person, lease=ended, machine=machine, slots=ended.slots, reason=why))


__all__ = ["settle"]
