"""What the rules of all lease states share: whether a look is new enough, whether a power cycle runs, and asking for a time.

Used by the files of this folder and by the moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain.carrying import carries
from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_MOVE, UNDER_WAY, On, comes_on, step
from bot.domain.model import (
    AgreementState,
    Books,
    Lease,
    LeaseState,
    MachineId,
    Move,
    MoveState,
    Outcome,
    Person,
    PersonId,
    Power,
    SlotId,
    Turn,
)
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.domain.questions import window_key
from bot.domain.queue import contended, waiters
from bot.domain.shelves import agreements_of, moves_of
from bot.domain.sight import Sight

People = Mapping[PersonId, Person]


@dataclass(frozen=True)
class Round:
    """What settling leases needs besides the draft."""

    sight: Sight
    people: People
    policy: Policy
    acting: bool = True  # level act, not paused, no clock jump: while nothing may be done, nobody is blamed for waiting
    still: timedelta = timedelta(0)  # for so long, until this round, the bot did nothing or could see nothing
    away: timedelta = timedelta(0)  # for so long, until this look, nobody looked: the bot or vCenter was away
    again: bool = False  # the same look a second time in one round: it counts once

    def left(self, person: PersonId) -> bool:
        """Whether somebody is known to have left the workspace."""
        known = self.people.get(person)
        return known is not None and not known.active

    def zone(self, person: PersonId) -> str:
        """Somebody's zone, the site's if it is not known."""
        known = self.people.get(person)
        return known.zone if known else self.policy.zone


def fresh(draft: Draft, sight: Sight, machine: MachineId) -> bool:
    """Whether the look shows the effects of all our calls on a machine: none in flight, all answered before it began."""
    if sight.seen is None:
        return False
    for move in moves_of(draft, machine):
        if move.call is None:
            continue
        if move.call.outcome is Outcome.ASKED and move.state in OPEN_MOVE:
            return False
        if move.call.answered is not None and move.call.answered > sight.seen.at:
            return False
    return True


def under_way(draft: Draft, machine: MachineId) -> bool:
    """Whether a power cycle of ours runs on a machine."""
    return any(m.state in UNDER_WAY for m in moves_of(draft, machine))


def second_try(books: Books | Draft, lease: Lease) -> bool:
    """Whether a lease waits for a second try: its move gave the shutdown up, and the machine is still on."""
    return lease.state is LeaseState.MOVING and any(
        m.state is MoveState.UNDOING and m.off_at is None for m in moves_of(books, lease.machine)
    )


def taken_off(move: Move, label: str, slot: SlotId, since: datetime | None = None) -> bool:
    """Whether a move's journal says that a device of a lease was seen to come off. Of devices that name no card that is remembered, not looked
    up: another one like it, which the machine has for itself, would be taken for it.

    :param since: no earlier than then: what came off on the way back of one restart may have been put on in a later one
    """
    return seen_to(move, "taken", label, slot, since)


def seen_to(move: Move, what: str, label: str, slot: SlotId, since: datetime | None = None) -> bool:
    """Whether a move's journal says that a device of a lease was seen to be ``put`` on, or ``taken`` off."""
    for one in move.steps:
        words = one.detail.split() if one.what == what and (since is None or one.at >= since) else []
        if (label, slot) in zip(words[::2], words[1::2], strict=False):
            return True
    return False


def all_taken_off(draft: Draft, lease: Lease) -> bool:
    """Whether everything of a returning lease came off in a move of ours since it returns."""
    moves = [m for m in moves_of(draft, lease.machine) if m.steps]
    off = [any(taken_off(m, lease.label, s, lease.changed) for m in moves) for s in lease.slots]
    return bool(off) and all(off)


def others_wait(draft: Draft, lease: Lease) -> bool:
    """Whether somebody else than its holder really waits for what a lease has: is promised it, or is in line and too few lie free."""
    for slot in lease.slots:
        after = draft.holder(slot, Turn.NEXT) or ""
        next_lease, offered = draft.leases.get(after), draft.requests.get(int(after)) if after.isdigit() else None
        promised = next_lease or offered
        if promised is not None and promised.person != lease.person:
            return True
    return contended(draft, lease.kind, lease.machine) and any(
        r.person != lease.person for r in waiters(draft, lease.kind, lease.machine)
    )


def ask_window(draft: Draft, lease: Lease, why: str) -> None:
    """Ask the owners of a lease's machine for the soonest moment that suits. One message a lease, edited."""
    lease = replace(draft.leases.get(lease.label, lease), windowed=False, question=draft.now)
    draft.put(lease)
    machine, key = draft.machines.get(lease.machine), window_key(lease.label)
    for to in machine.owners if machine else ():
        draft.tell(News(NewsKind.ASK_WINDOW, to, key=key, lease=lease, machine=machine, reason=why))


def watch_window(draft: Draft, sight: Sight, lease: Lease) -> Lease:
    """Notice when the last time that was agreed for a lease is lost, by whomever: then its owners are asked again."""
    off = sight.power(lease.machine) is Power.OFF
    if off and comes_on(moves_of(draft, lease.machine), lease.machine):
        return lease  # it is no moment to use, nor one to ask: what is agreed is asked when it is on again
    known = off or any(
        a.state is AgreementState.OPEN and (a.firm or carries(draft, a, lease.label))
        for a in agreements_of(draft, lease.machine)
    )
    if known == lease.windowed:
        return lease
    if known:
        lease = replace(lease, windowed=True)
        draft.put(lease)
        return lease
    if sight.seen is not None and not fresh(draft, sight, lease.machine):
        return lease  # what the last call did is not seen yet: it may be all that the time was agreed for
    why = "no time is agreed for it any more"
    if lease.state is LeaseState.RETURNING:
        step(draft, lease, On.ASK_AGAIN, why=why, changed=lease.changed)
    ask_window(draft, lease, why)
    return draft.leases[lease.label]


def stood_still(draft: Draft, ctx: Round, lease: Lease) -> Lease:
    """The clock of a lease's state goes on from where it stood while nothing could happen."""
    if not ctx.still or ctx.again:
        return lease
    lease = replace(lease, clock_since=min(draft.now, lease.counts_from + ctx.still))
    draft.put(lease)
    return lease
