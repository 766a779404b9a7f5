"""What was wanted until, or only before, a time that has passed before it was ever there: it leaves the line, and its person is told.

Called by ``decide`` once a round, before turns are given. Only what has no power cycle yet is taken out; a card that is on its way comes, with
the usual length instead. It grants nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from bot.domain.draft import Draft
from bot.domain.leases.ends import end
from bot.domain.lifecycle import On, step
from bot.domain.model import Lease, LeaseState, Length, Person, PersonId, Request
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.domain.queue import leave, line
from bot.domain.spoken import instant_words


def settle(draft: Draft, people: Mapping[PersonId, Person], policy: Policy) -> None:
    """Take out whoever waits, was offered a card or has one reserved, past the time that was named."""
    for request in line(draft):
        if request.terms.length.until is None and request.before is None:
            continue
        if passed(request.terms.length, draft.now):
            leave(draft, request, WHY)
            over = step(draft, request, On.UNTIL_PASSED, why=WHY, offer=None, rest=None)
            _tell(draft, over, people, policy)
        elif request.before is not None and request.before <= draft.now:
            leave(draft, request, WHY_BEFORE)
            over = step(draft, request, On.BEFORE_PASSED, why=WHY_BEFORE, offer=None, rest=None)
            _tell(draft, over, people, policy)
    for lease in list(draft.leases.values()):
        if lease.state is LeaseState.RESERVED and passed(lease.terms.length, draft.now):
            end(
                draft, lease, On.RELEASE, WHY
            )  # as if released: nothing was put on, and the request is not queued again
            _tell(draft, draft.requests.get(lease.request, lease), people, policy)


WHY = "the time until which it was wanted has passed"
"""For the ledger."""

WHY_BEFORE = "the time before which it was wanted has passed"
"""Likewise."""


def passed(length: Length, now: datetime) -> bool:
    """Whether a length ends at a named time that has come."""
    return length.until is not None and length.until <= now


def _tell(draft: Draft, thing: Request | Lease, people: Mapping[PersonId, Person], policy: Policy) -> None:
    person, until = people.get(thing.person), thing.terms.length.until
    if isinstance(thing, Request) and not passed(thing.terms.length, draft.now):
        until, word = thing.before, "before"
    else:
        word = "until"
    assert until is not None, "only a named time passes"
    zone = person.zone if person is not None else policy.zone
    draft.tell(
        News(
            NewsKind.LEFT_LINE,
            thing.person,
            request=thing if isinstance(thing, Request) else None,
            machine=draft.machines.get(thing.machine),
            reason=f"you wanted it {word} {instant_words(until, zone, draft.now)}, and no card was there by then",
        )
    )
