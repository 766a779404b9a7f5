"""What the rules of all lease states share: whether a look is new enough, whether a power cycle runs, and asking for a time.

Used by the files of this folder and by the moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_MOVE, UNDER_WAY, On, step
from bot.domain.model import AgreementState, Lease, LeaseState, MachineId, Outcome, Person, PersonId, Power
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.domain.questions import window_key
from bot.domain.sight import Sight

People = Mapping[PersonId, Person]


@dataclass(frozen=True)
class Round:
    """What settling leases needs besides the draft."""

    sight: Sight
    people: People
    policy: Policy
    acting: bool = True  # level act, not paused, no clock jump: while nothing may be done, nobody is blamed for waiting

    def zone(self, person: PersonId) -> str:
        """Somebody's zone, the site's if it is not known."""
        known = self.people.get(person)
        return known.zone if known else self.policy.zone


def fresh(draft: Draft, sight: Sight, machine: MachineId) -> bool:
    """Whether the look shows the effects of all our calls on a machine: none in flight, all answered before it began."""
    if sight.seen is None:
        return False
    for move in draft.moves.values():
        if move.machine != machine or move.call is None:
            continue
        if move.call.outcome is Outcome.ASKED and move.state in OPEN_MOVE:
            return False
        if move.call.answered is not None and move.call.answered > sight.seen.at:
            return False
    return True


def under_way(draft: Draft, machine: MachineId) -> bool:
    """Whether a power cycle of ours runs on a machine."""
    return any(m.machine == machine and m.state in UNDER_WAY for m in draft.moves.values())


def ask_window(draft: Draft, lease: Lease, why: str) -> None:
    """Ask the owners of a lease's machine for the soonest moment that suits. One message a lease, edited."""
    lease = replace(draft.leases.get(lease.label, lease), windowed=False, question=draft.now)
    draft.put(lease)
    machine, key = draft.machines.get(lease.machine), window_key(lease.label)
    for to in machine.owners if machine else ():
        draft.tell(News(NewsKind.ASK_WINDOW, to, key=key, lease=lease, machine=machine, reason=why))


def watch_window(draft: Draft, sight: Sight, lease: Lease) -> Lease:
    """Notice when the last time that was agreed for a lease is lost, by whomever: then its owners are asked again."""
    known = sight.power(lease.machine) is Power.OFF or any(
        a.machine == lease.machine and a.state is AgreementState.OPEN and (a.firm or a.label in ("", lease.label))
        for a in draft.agreements.values()
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
