"""Somebody asks a holder whether they can have sooner what is lent to them: asked once, at a time when it may be, and answered to who asked.

Called by the verb ``ask`` (``ask``) and by ``decide`` once a round (``settle``: what waited for the morning goes out, and what became of all
that is open is told). Answers in words (``keep``, ``using``) come by ``attention.answered``. It takes nothing from anybody.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bot.domain import attention, idle
from bot.domain.asked import Inquiry
from bot.domain.attention import People, left
from bot.domain.draft import Draft
from bot.domain.errors import AskedAlready, NotPossible
from bot.domain.leases import owns
from bot.domain.leases.ends import TIME_OVER
from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import BOT, Lease, LeaseState, PersonId, Request, RequestState, SlotId
from bot.domain.near import meet
from bot.domain.policy import Policy
from bot.domain.queue import line
from bot.domain.shelves import leases_to
from bot.domain.slots import rivals

GOING = frozenset({LeaseState.RETURNING, LeaseState.ENDED, LeaseState.FAILED})
"""Its devices are on their way back, or gone."""


def ask(
    draft: Draft,
    lease: Lease,
    slots: tuple[SlotId, ...],
    by: PersonId,
    because: str,
    people: People,
    policy: Policy,
) -> tuple[Inquiry, datetime]:
    """Ask the holder of a lease that works; now, or as soon as they may be asked.

    :returns: what was written down, and when the holder is told: now, or later
    :raises NotPossible: it is one's own, or nobody is left who could answer
    :raises AskedAlready: the same person asked the same holder not long ago
    """
    assert lease.state is LeaseState.ACTIVE, "what does not work, or goes back, nobody is asked about"
    if by == lease.person:
        works = f"release #{lease.label}"
        raise NotPossible(what=f"ask #{lease.label}", why="you have it yourself", works=works)
    if not attention.audience(draft, people, lease):
        why = "who has it has left the workspace, and its machine has no other owner; an admin can take it back"
        raise NotPossible(what=f"ask #{lease.label}", why=why)
    last = _last(draft, lease.person, by)
    if last is not None and not _in_vain(people, last[1]) and draft.now < last[1].at + policy.ask_holder_every:
        before, one = last
        again = one.at + policy.ask_holder_every
        raise AskedAlready(
            who=lease.person,
            slots=one.slots,
            when=one.at,
            again=again,
            answer=one.answer,
            until=one.until,
            end=before.end,
        )
    request = request_of(draft, lease, by)
    number = request.number if request is not None else None
    one = Inquiry(draft.number("asks"), by, draft.now, slots, because, number, end=lease.end)
    kept = (x for x in lease.inquiries if not _forgotten(x, draft.now, policy))
    heard = (replace(x, away=True) if _in_vain(people, x) else x for x in kept)
    draft.put(replace(lease, inquiries=(*heard, one)))
    draft.log(by, "lease.asked_for", f"#{lease.label}", because)
    at = _free_at(draft, people, lease, policy)
    if at <= draft.now:
        one = _put(draft, people, lease.label, one, policy)
    return one, max(at, draft.now)


def request_of(draft: Draft, lease: Lease, person: PersonId) -> Request | None:
    """What somebody waits for that a device of a lease would serve: the first of it in line."""
    wanted = rivals(draft, lease.kind)
    mine = (r for r in line(draft) if r.person == person and r.kind in wanted)
    return next((r for r in mine if meet(draft, r.machine, lease.machine)), None)


def _last(draft: Draft, holder: PersonId, by: PersonId) -> tuple[Lease, Inquiry] | None:
    """When a person last asked a holder, about whatever."""
    mine = [(lease, x) for lease in leases_to(draft, holder) for x in lease.inquiries if x.by == by]
    return max(mine, key=lambda pair: (pair[1].at, pair[1].id), default=None)


def _in_vain(people: People, inquiry: Inquiry) -> bool:
    """Whether nobody who was told of it is there any more."""
    return bool(inquiry.to) and not inquiry.answer and all(left(people, person) for person in inquiry.to)


def _forgotten(inquiry: Inquiry, now: datetime, policy: Policy) -> bool:
    """Whether nothing asks about it any more: not what comes of it, nor how long ago it was, nor the budget of a day."""
    long = max(policy.ask_holder_every, idle.COUNTED_FOR)
    return inquiry.over and now - max(inquiry.at, inquiry.told or inquiry.at) > long


# ---- putting it to the holder -------------------------------------------------------------------------------------


def _free_at(draft: Draft, people: People, lease: Lease, policy: Policy) -> datetime:
    """When the holder may be told. To a question about the same that stands a name is added at once: that disturbs nobody."""
    if _standing(draft.leases[lease.label]) is not None:
        return draft.now
    return max(attention.free_at(draft, people, to, policy) for to in attention.audience(draft, people, lease))


def _standing(lease: Lease) -> Inquiry | None:
    """A question about a lease that stands before its holder's eyes."""
    return next((x for x in lease.inquiries if x.shown), None)


def _put(draft: Draft, people: People, label: str, one: Inquiry, policy: Policy) -> Inquiry:
    """Tell the holder. What they were asked before is edited away, a warning excepted."""
    lease = draft.leases[label]
    stands = _standing(lease)
    if stands is not None:
        told = replace(one, key=stands.key, told=draft.now, joined=True, to=stands.to, zone=stands.zone)
    else:
        to = attention.audience(draft, people, lease)
        key, zone = f"ask:{one.id}", attention.zone_of(people, to[0], policy)
        told = replace(one, key=key, told=draft.now, to=to, zone=zone)
        idle.nudges_away(draft, lease.person)
        attention.put_away(draft, lease.person, key)
    attention.change(draft, label, [(one, told)])
    attention.tell(draft, draft.leases[label], told.key)
    return told


# ---- what becomes of it -------------------------------------------------------------------------------------------


def settle(draft: Draft, people: People, policy: Policy, asks: bool = True) -> None:
    """What waited is told, and what became of what is open.

    :param asks: False: nothing is asked in this round, the clock of the host jumped
    """
    for label in [x.label for x in draft.leases.values() if any(not i.over for i in x.inquiries)]:
        for one in [x for x in draft.leases[label].inquiries if not x.over]:
            _became(draft, label, one, policy)
        for one in [x for x in draft.leases[label].inquiries if not x.over and x.told is None and not x.answer]:
            lease = draft.leases[label]
            if not attention.audience(draft, people, lease):
                attention.settle(draft, lease, [one], "lost", over=True)
            elif asks and _free_at(draft, people, lease, policy) <= draft.now:
                _put(draft, people, label, one, policy)


def _became(draft: Draft, label: str, one: Inquiry, policy: Policy) -> None:
    """Whether the devices that somebody asked for go back, or stay longer; or whether they are not wanted any more."""
    lease = draft.leases[label]
    request = draft.requests.get(one.number or 0)
    here = [s for s in one.slots if s in lease.slots]
    if lease.state in GOING or not here:
        went = lease if lease.state in GOING and here else _part_with(draft, lease, one.slots)
        what, by = _why(draft, went) if went is not None else ("lost", "")
        attention.settle(draft, lease, [one], what, by, over=True)
    elif one.number is not None and (
        request is None or request.state not in (RequestState.QUEUED, RequestState.OFFERED)
    ):
        attention.settle(draft, lease, [one], "moot", over=True)
    elif not one.answer and one.end is not None and lease.end is not None and lease.end > one.end:
        attention.settle(draft, lease, [one], "longer", lease.person, lease.end)


def _part_with(draft: Draft, lease: Lease, slots: tuple[SlotId, ...]) -> Lease | None:
    """The newest part of a lease that has, or had, these devices."""
    parts = [x for x in draft.leases.values() if x.request == lease.request and x.label != lease.label]
    mine = [x for x in parts if set(x.slots) & set(slots)]
    return max(mine, key=lambda x: (x.changed, x.label), default=None)


def _why(draft: Draft, lease: Lease) -> tuple[str, PersonId]:
    """How it came that a lease goes back: a word of ``ANSWERS``, and by whom."""
    if lease.state is LeaseState.FAILED:
        return "lost", ""
    if lease.ended_by == BOT:
        return ("due" if lease.reason == TIME_OVER else "taken" if lease.state in OPEN_LEASE else "lost"), ""
    return ("given" if owns(draft, lease, lease.ended_by) else "taken"), lease.ended_by
