"""How much of the pool somebody may have while others really wait: a person a share of it, a team all but a few devices.

Asked by the planner when turns are given, and by the leases when more than a share goes back. While nobody else waits there is no cap; what
is given over it then is spare. It gives and takes nothing.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from math import ceil

from bot.domain.draft import Draft
from bot.domain.model import Lease, LeaseState, PersonId, Request, RequestState
from bot.domain.near import near
from bot.domain.order import waits
from bot.domain.policy import Policy
from bot.domain.queue import line, shortage, waiters
from bot.domain.rules import Rule
from bot.domain.slots import all_of


@dataclass(frozen=True)
class Share:
    """What somebody may have of a kind while others wait, and has."""

    most: int  # devices that the person may have
    has: int  # and has, or is offered
    team_most: int  # the same of the team; without one no bound
    team_has: int  # 0 without a team

    @property
    def beyond(self) -> int:
        """How many devices of what they have are over a share."""
        return max(0, self.has - self.most, self.team_has - self.team_most)

    def over(self, count: int) -> frozenset[Rule]:
        """The caps that so many more devices would be over."""
        mine = {Rule.CAP} if self.has + count > self.most else set()
        return frozenset(mine | ({Rule.TEAM_CAP} if self.team_has + count > self.team_most else set()))


class Caps:
    """The shares of one line, a kind on a host, and who really waits in it. Lives for one moment of the books, or one round (``gave``)."""

    def __init__(self, draft: Draft, policy: Policy, kind: str, machine: str) -> None:
        """``machine``: any one of the host."""
        self._draft, self._kind = draft, kind
        there = near(draft, machine) or draft
        whole = len(all_of(there, kind))  # those that rest, too: a share does not change by that
        self.most = max(1, ceil(policy.pool_share * whole))
        self._team_most = max(1, whole - policy.team_leaves)
        self._has, self._team_has = Counter[PersonId](), Counter[str]()
        for hold in there.holds:
            whose = _holder(draft, hold.label)
            if whose is not None and whose.kind == kind:
                self._add(whose, 1)
        self._line = [r for r in line(there) if r.kind == kind]
        self._wanted: tuple[Counter[PersonId], Counter[str]] | None = None

    def _add(self, whose: Lease | Request, count: int) -> None:
        self._has[whose.person] += count
        if whose.team:
            self._team_has[whose.team] += count

    def within(self, request: Request, count: int) -> bool:
        """Whether so many more devices are within the shares of who asks: nearly always they are, and nothing more need be reckoned."""
        team = request.team
        if self._has[request.person] + count > self.most:
            return False
        return not team or self._team_has[team] + count <= self._team_most

    def share(self, whose: Lease | Request) -> Share:
        """What the person of a request, or of a lease, may have and has."""
        team = whose.team
        return Share(
            self.most,
            self._has[whose.person],
            self._team_most if team else sys.maxsize,
            self._team_has[team] if team else 0,
        )

    def others(self, whose: Lease | Request) -> int:
        """How many devices other persons really wait for."""
        wanted, _ = self._really_wanted()
        return sum(wanted.values()) - wanted[whose.person]

    def lacking(self, lease: Lease) -> int:
        """How many devices other persons really wait for, besides those that lie free or come back: by so much what is spare goes back."""
        waiting = waiters(self._draft, self._kind, lease.machine)
        wanted = sum(r.count for r in waiting if r.kind == self._kind and r.state is RequestState.QUEUED)
        return shortage(self._draft, self._kind, lease.machine) - wanted + self.others(lease)

    def other_teams(self, whose: Lease | Request) -> int:
        """The same of people who are not in the same team."""
        wanted, by_team = self._really_wanted()
        return sum(wanted.values()) - by_team[whose.team]

    def _really_wanted(self) -> tuple[Counter[PersonId], Counter[str]]:
        """How many devices are really waited for, by person and by team: those who do not rest, want more than what is spare, and would be
        within their share; for who is over it nobody else keeps to theirs."""
        if self._wanted is None:
            wanted, by_team = Counter[PersonId](), Counter[str]()
            for request in self._line:
                count, person, team = 1 if request.partly else request.count, request.person, request.team
                if self._has.get(person, 0) + wanted.get(person, 0) + count > self.most:
                    continue
                if team and self._team_has.get(team, 0) + by_team.get(team, 0) + count > self._team_most:
                    continue
                if self._asks(request):
                    wanted[person] += count
                    if team:
                        by_team[team] += count
            self._wanted = wanted, by_team
        return self._wanted

    def _asks(self, request: Request) -> bool:
        still = self._draft.requests[request.number]
        return still.state is RequestState.QUEUED and not still.terms.spare and waits(still, self._draft.now)

    def gave(self, request: Request, count: int) -> None:
        """Somebody was given, or offered, so many devices: they have them, and wait no more."""
        self._add(request, count)
        self._wanted = None


def _holder(draft: Draft, label: str) -> Lease | Request | None:
    """Whose a hold is: what was given back is nobody's any more."""
    lease = draft.leases.get(label)
    if lease is not None:
        return lease if lease.state is not LeaseState.RETURNING else None
    return draft.requests.get(int(label)) if label.isdigit() else None
