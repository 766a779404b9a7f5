"""Who wants to hear once that something of a kind is free and nobody waits for it: ``watch``.

Called by the verb (``want``, ``no_more``, ``free_for``) and by ``decide`` once a round, after turns were given. It gives nothing and keeps nothing:
who is told asks for it as everybody does. It is an answer to what they asked, so no budget counts it; at night, and while they are not to be
disturbed, it waits.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain import attention
from bot.domain.attention import People
from bot.domain.draft import Draft
from bot.domain.model import BOT, Books, MachineId, PersonId, SlotId, Turn
from bot.domain.news import News, NewsKind
from bot.domain.planner.spots import there
from bot.domain.policy import Policy
from bot.domain.queue import line, waiters
from bot.domain.shelves import leases_to
from bot.domain.sight import Sight
from bot.domain.slots import kinds, rivals
from bot.domain.times import night
from bot.domain.waiting import Interest


def want(draft: Draft, person: PersonId, kind: str) -> Interest:
    """Somebody wants to hear it; once a person and kind: said again, it stands since then."""
    found = Interest(person, kind, draft.now)
    stands = draft.interests.get(found.key)
    if stands is not None and stands.open:
        return stands
    draft.put(found)
    draft.log(person, "interest.begun", kind)
    return found


def no_more(draft: Draft, interest: Interest, by: PersonId, why: str = "") -> None:
    """It is told, or taken back, or has no ground any more."""
    draft.put(replace(interest, open=False))
    draft.log(by, "interest.over", interest.kind, why)


def interests_of(books: Books | Draft, person: PersonId) -> list[Interest]:
    """What somebody wants to hear, oldest first."""
    found = [x for x in books.interests.values() if x.person == person and x.open]
    return sorted(found, key=lambda x: (x.since, x.kind))


def free_for(draft: Draft, sight: Sight, person: PersonId, kind: str, policy: Policy) -> tuple[SlotId, ...]:
    """What of a kind is free for somebody's machines now while nobody else waits for it, on the host that has most; () nothing, or somebody waits.
    Of who has no machine that is seen, on any host."""
    found: list[tuple[SlotId, ...]] = [()]
    for host, machine in _hosts(draft, sight, person).items():
        if not any(r.person != person for r in waiters(draft, kind, machine)):
            slots = there(draft, sight, kind, host, policy)
            found.append(tuple(x.slot for x in slots if x.turn is Turn.HAS))
    return max(found, key=len)


def _hosts(draft: Draft, sight: Sight, person: PersonId) -> dict[tuple[str, str], MachineId]:
    """The hosts of somebody's machines, each with one that is on it; of who has none, all with cards."""
    mine = (sight.machine(m.uuid) for m in draft.machines.values() if person in m.owners and not m.gone)
    found = {(x.vcenter, x.host): x.uuid for x in mine if x is not None and x.host and not x.template}
    return found or {(c.vcenter, c.host): "" for c in draft.cards.values()}


def settle(draft: Draft, sight: Sight, people: People, policy: Policy) -> None:
    """Tell what is free by now, once; close what has no ground any more."""
    for interest in [x for x in draft.interests.values() if x.open]:
        why = _over(draft, people, interest)
        if why:
            no_more(draft, interest, BOT, why)
        elif _may_be_told(draft, people, interest.person, policy):
            slots = free_for(draft, sight, interest.person, interest.kind, policy)
            if slots:
                once = f"{interest.key}:{interest.since.isoformat()}"
                news = News(NewsKind.FREE_NOW, interest.person, once=once, slots=slots, reason=interest.kind)
                draft.tell(replace(news, until=interest.since))
                no_more(draft, interest, BOT, "told")


def _over(draft: Draft, people: People, interest: Interest) -> str:
    """Why nothing is to be told any more; "" something is."""
    if attention.left(people, interest.person):
        return "who asked has left the workspace"
    if interest.kind not in kinds(draft):
        return "there is none of that kind any more"
    wanted = rivals(draft, interest.kind)
    asked = (r.person == interest.person and r.kind in wanted and r.asked >= interest.since for r in line(draft))
    got = (x.kind in wanted and x.since >= interest.since for x in leases_to(draft, interest.person))
    return "they asked for one themselves" if any(asked) or any(got) else ""


def _may_be_told(draft: Draft, people: People, person: PersonId, policy: Policy) -> bool:
    """Whether somebody may be told now what they asked to hear."""
    known = people.get(person)
    disturbs = known is not None and known.quiet_until is not None and known.quiet_until > draft.now
    return not disturbs and night(draft.now, attention.zone_of(people, person, policy), policy).start > draft.now
