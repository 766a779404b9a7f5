"""What one in line would be given now if they asked otherwise: for a shorter time, for fewer, or as spare. Found by trying turns on copies.

Called by ``asked`` for ``why``. What is found is what the next round gives to the changed request; it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from bot.domain.draft import Draft
from bot.domain.lengths import end_of
from bot.domain.model import Length, Request
from bot.domain.near import near
from bot.domain.planner.spots import People
from bot.domain.planner.turns import Turns
from bot.domain.policy import Policy
from bot.domain.queue import line
from bot.domain.rules import Instead, Rule, Verdict
from bot.domain.sight import Sight

HOUR = timedelta(hours=1)


def instead(draft: Draft, sight: Sight, people: People, policy: Policy, found: Verdict) -> Instead:
    """The least change of a request by which it would be given something now, of those that its rules suggest; nothing: none would do."""
    if found.served or found.fact or found.rules & {Rule.RESTS, Rule.BOOKED}:
        return Instead()
    trial = _Trial(draft, sight, people, policy, draft.requests[found.number])
    tries: list[Iterator[Instead]] = []
    if Rule.PASSING in found.rules:
        tries.append(trial.shorter())
    if trial.request.count > 1:
        tries.append(trial.fewer())
    if found.rules & {Rule.CAP, Rule.TEAM_CAP}:
        tries.append(trial.spare())
    return next((works for one in tries for works in one), Instead())


class _Trial:
    """Turns tried for changes of one request."""

    def __init__(self, draft: Draft, sight: Sight, people: People, policy: Policy, request: Request) -> None:
        self.draft, self.sight, self.people, self.policy, self.request = draft, sight, people, policy, request
        self._books = draft.as_books()
        self._before = [r for r in line(near(draft, request.machine) or draft) if r.place_key < request.place_key]

    def given(self, changed: Request) -> int:
        """How many devices it would be given, or offered."""
        copy = Draft(self._books, self.draft.now)
        turns = Turns(copy, self.sight, self.people, self.policy)
        for other in self._before:
            turns.take(other)
        copy.put(changed)
        turns.take(changed)
        return len(copy.held(str(changed.number)))

    def shorter(self) -> Iterator[Instead]:
        """The most whole hours with which it would be back in time."""
        most = self._hours()
        low, high = 0, most  # with `low` it is given, with `high` it is not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.given(self._lasting(middle)) else (low, middle)
        if low:
            yield Instead(lasting=low * HOUR)

    def fewer(self) -> Iterator[Instead]:
        """As many as are there."""
        count = self.given(replace(self.request, partly=True)) if not self.request.partly else 0
        if 0 < count < self.request.count:
            yield Instead(count=count, partly=True)

    def spare(self) -> Iterator[Instead]:
        """Only while nobody else wants it."""
        if not self.request.terms.spare and self.given(self._as_spare()):
            yield Instead(spare=True)

    def _hours(self) -> int:
        """How many whole hours it is wanted for, at most."""
        person = self.people.get(self.request.person)
        zone, now = person.zone if person else self.policy.zone, self.draft.now
        return int((end_of(self.request.terms.length, now, zone, self.policy) - now) / HOUR) + 1

    def _lasting(self, number: int) -> Request:
        return replace(self.request, terms=replace(self.request.terms, length=Length(lasting=number * HOUR)))

    def _as_spare(self) -> Request:
        return replace(self.request, terms=replace(self.request.terms, spare=True))
