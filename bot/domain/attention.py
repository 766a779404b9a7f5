"""People's attention: when somebody may be asked something that they did not ask for, and how one question makes room for the next.

Called by all rules that ask unasked: quiet cards (``idle``), somebody who asks a holder (``inquiries``), the morning (``morning``). It asks
nothing itself. Last calls, steps of a restart, reminders and warnings are no such questions, and are not delayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from bot.domain import hours
from bot.domain.asked import Inquiry, Morning
from bot.domain.draft import Draft
from bot.domain.model import Lease, Person, PersonId
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.domain.shelves import leases_to

TO_ANSWER = timedelta(minutes=15)
"""So long a question stands before one about other cards of the same person may edit it away. A warning does not wait for that."""

People = Mapping[PersonId, Person]


def zone_of(people: People, person: PersonId, policy: Policy) -> str:
    """Somebody's zone, the site's if it is not known."""
    known = people.get(person)
    return known.zone if known is not None else policy.zone


def left(people: People, person: PersonId) -> bool:
    """Whether somebody is known to have left the workspace."""
    known = people.get(person)
    return known is not None and not known.active


def audience(draft: Draft, people: People, lease: Lease) -> tuple[PersonId, ...]:
    """Who is asked about a lease: its holder; if they left the workspace, the other owners of the machine. Never the channel."""
    machine = draft.machines.get(lease.machine)
    if not left(people, lease.person):
        return (lease.person,)
    return tuple(o for o in (machine.owners if machine else ()) if o != lease.person and not left(people, o))


# ---- the budget ---------------------------------------------------------------------------------------------------


def awake(now: datetime, person: Person | None, zone: str, policy: Policy) -> bool:
    """Whether somebody may be asked something unasked: their working hours, and no do-not-disturb."""
    quiet_until = person.quiet_until if person is not None else None
    return (quiet_until is None or quiet_until <= now) and hours.is_working(now, zone, policy)


def spent(draft: Draft, person: PersonId, zone: str) -> int:
    """Unasked messages of the person's day so far, over all their leases, and those of who left about which they are asked."""
    today = hours.local(draft.now, zone).date()
    mine = leases_to(draft, person)
    at = [x for lease in draft.leases.values() for x in _counted(lease, person)]
    labels = {x.label for x in mine}
    at += [w.blind_told for w in draft.watches.values() if w.blind_told is not None and w.lease in labels]
    return sum(1 for x in at if hours.local(x, zone).date() == today)


def _counted(lease: Lease, person: PersonId) -> Iterator[datetime]:
    """When somebody was asked about a lease, as far as that counts."""
    if lease.nudge is not None and person in (lease.nudge.to or (lease.person,)):
        yield from lease.nudge.counted
    if lease.morning is not None and person in lease.morning.to:
        yield from lease.morning.counted
    for inquiry in lease.inquiries:
        if inquiry.told is not None and not inquiry.joined and person in inquiry.to:
            yield inquiry.told


def just_asked(draft: Draft, person: PersonId) -> datetime | None:
    """Until when a question to somebody has only just been asked, so that none edits it away unread; None: none has."""
    found = [at + TO_ANSWER for lease in leases_to(draft, person) for at in _standing(lease)]
    return max((at for at in found if at > draft.now), default=None)


def _standing(lease: Lease) -> Iterator[datetime]:
    """When the questions were asked that stand before the eyes of its holder; not a warning, which nothing edits away."""
    if lease.nudge is not None and not lease.nudge.over and lease.nudge.key and not lease.nudge.warning:
        yield lease.nudge.asked
    if lease.morning is not None and not lease.morning.over:
        yield lease.morning.asked
    yield from (x.told for x in lease.inquiries if x.shown and x.told is not None)


def free_at(draft: Draft, people: People, person: PersonId, policy: Policy) -> datetime:
    """The soonest moment, as far as is known now, at which somebody may be asked something: now, or later."""
    known, zone, at = people.get(person), zone_of(people, person, policy), draft.now
    if known is not None and known.quiet_until is not None:
        at = max(at, known.quiet_until)
    at = hours.next_working_start(at, zone, policy)
    same_day = hours.local(at, zone).date() == hours.local(draft.now, zone).date()
    if same_day and spent(draft, person, zone) >= policy.idle.asked_a_day:
        at = hours.next_working_start(hours.midnight(at, zone), zone, policy)
    busy = just_asked(draft, person)
    return hours.next_working_start(max(at, busy), zone, policy) if busy is not None else at


# ---- one question at a time ---------------------------------------------------------------------------------------


def put_away(draft: Draft, person: PersonId, key: str = "") -> None:
    """A newer question to somebody edits away what they were asked before, about whatever; it is open all the same.

    :param key: of the message that stays
    """
    for lease in leases_to(draft, person):
        if lease.morning is not None and not lease.morning.over and lease.morning.key != key:
            morning_over(draft, lease, "newer")
        shown = [x for x in draft.leases[lease.label].inquiries if x.shown and x.key != key]
        if shown:
            change(draft, lease.label, [(x, replace(x, away=True)) for x in shown])
            for one in {x.key: x for x in shown}.values():
                tell_over(draft, draft.leases[lease.label], one, "newer")


def answered(
    draft: Draft,
    lease: Lease,
    what: str,
    by: PersonId,
    slots: tuple[str, ...] | None = None,
    until: datetime | None = None,
    because: str = "",
) -> None:
    """The holder, or an owner, has said something about devices that somebody asks for: who asked is told, and the question edited.

    :param what: ``kept``, ``using`` or ``longer``
    :param slots: of which; None: of all
    """
    lease = draft.leases[lease.label]
    mine = [x for x in lease.inquiries if not x.over and (slots is None or set(x.slots) & set(slots))]
    settle(draft, lease, mine, what, by, until, because)
    lease = draft.leases[lease.label]
    if lease.morning is not None and not lease.morning.over and (slots is None or set(lease.slots) <= set(slots)):
        morning_over(draft, lease, what, until)


def settle(
    draft: Draft,
    lease: Lease,
    inquiries: list[Inquiry],
    what: str,
    by: PersonId = "",
    until: datetime | None = None,
    because: str = "",
    over: bool = False,
) -> None:
    """What became of some who asked: each of them is told in one message, which is edited when more comes of it, and so is the holder's.

    :param over: nothing more can come of it
    """
    if not inquiries:
        return
    after = [replace(x, answer=what, until=until, over=over) for x in inquiries]
    change(draft, lease.label, list(zip(inquiries, after, strict=True)))
    lease = draft.leases[lease.label]
    machine = draft.machines.get(lease.machine)
    for one in after if what != "moot" else ():
        news = News(
            NewsKind.ASK_ANSWERED,
            one.by,
            key=f"asked:{one.id}",
            lease=lease,
            machine=machine,
            slots=one.slots,
            until=until,
        )
        request = draft.requests.get(one.number or 0)
        draft.tell(replace(news, request=request, who=by or lease.person, reason=what, said=because))
    for one in {x.key: x for x in inquiries if x.told is not None}.values():
        if any(x.shown and x.key == one.key for x in lease.inquiries):
            tell(draft, lease, one.key)  # of some who asked; the others wait for an answer
        else:
            tell_over(draft, lease, replace(one, answer=what, until=until), what)


def tell(draft: Draft, lease: Lease, key: str) -> None:
    """Put all that is asked in one message to the holder, or edit it to who asks by now."""
    asking = [x for x in lease.inquiries if x.shown and x.key == key]
    first, slots = asking[0], tuple(s for s in lease.slots if any(s in x.slots for x in asking))
    machine, request = draft.machines.get(lease.machine), draft.requests.get(first.number or 0)
    news = News(NewsKind.ASKED, "", key=key, lease=lease, machine=machine, slots=slots, request=request)
    for to in first.to:
        draft.tell(replace(news, to=to, who=first.by, until=lease.end, said=first.because, zone=first.zone))


def change(draft: Draft, label: str, pairs: list[tuple[Inquiry, Inquiry]]) -> None:
    """Write what became of some inquiries of a lease."""
    lease, now = draft.leases[label], dict(pairs)
    draft.put(replace(lease, inquiries=tuple(now.get(x, x) for x in lease.inquiries)))


def tell_over(draft: Draft, lease: Lease, inquiry: Inquiry, why: str) -> None:
    """Edit the holder's message to what holds."""
    machine = draft.machines.get(lease.machine)
    news = News(NewsKind.ASKED_OVER, "", key=inquiry.key, lease=lease, machine=machine, slots=inquiry.slots)
    for to in inquiry.to:
        draft.tell(replace(news, to=to, who=inquiry.by, reason=why, until=inquiry.until))


def morning_over(draft: Draft, lease: Lease, why: str, until: datetime | None = None) -> None:
    """The question of the morning is answered, or has lost its ground: its message is edited.

    :param why: as of an inquiry; or ``newer``, ``nobody`` (waits any more) or ``busy`` (work is seen)
    """
    morning: Morning | None = lease.morning
    assert morning is not None, "asked in the morning"
    lease = replace(lease, morning=replace(morning, over=True))
    draft.put(lease)
    machine = draft.machines.get(lease.machine)
    news = News(NewsKind.MORNING_OVER, "", key=morning.key, lease=lease, machine=machine, slots=lease.slots)
    for to in morning.to:
        draft.tell(replace(news, to=to, who=morning.waits, reason=why, until=until))
