"""One line, a kind on a host, as far as it was played: who floats, who comes after others by a share, and what each one in it counts on.

Used by ``play``, which knows the books. Each walk goes down the line once, and no farther than it was asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from bot.domain.caps import Caps
from bot.domain.frees import Free, Frees
from bot.domain.model import PersonId, Request, RequestState
from bot.domain.promises.likely import Likely
from bot.domain.promises.worst import Worst
from bot.domain.queue import line
from bot.domain.rules import Rule

if TYPE_CHECKING:
    from bot.domain.promises.play import Play


class Line:
    """The line of one kind on a host, as far as it was played. Each walk serves one after the other, and keeps for each what it found."""

    def __init__(self, play: Play, like: Request) -> None:
        """``like``: any one of it."""
        self._play, self._like = play, like
        self._queued = [
            r for r in line(play.there(like.machine)) if r.kind == like.kind and r.state is RequestState.QUEUED
        ]
        self._shares = Shares(play, like, self._queued)
        self._likely: dict[int, list[Free] | None] = {}
        self._worst: dict[
            tuple[frozenset[str] | None, int], datetime | None
        ] = {}  # by whose limits are heeded, and number
        self._rests = {r.number for r in self._queued if r.rest is not None and play.careful}
        self._worst_walks: dict[frozenset[str] | None, Iterator[tuple[int, datetime | None]]] = {}

    @property
    def floats(self) -> Set[int]:
        """Who may be over a share of the pool when it is their turn."""
        return self._shares.floats

    def comes_after(self, request: Request, person: PersonId) -> bool:
        """Whether a request is served after somebody who is behind it in line, since it is over a share of the pool now."""
        theirs = [r.place_key > request.place_key for r in self._queued if r.person == person]
        return request.number in self._shares.over and bool(theirs) and all(theirs)

    @cached_property
    def _likely_walk(self) -> Iterator[tuple[int, list[Free] | None]]:
        coming = self._play.next_round(self._like.machine)
        waits = [r for r in self._queued if r.number not in coming.given]
        waits.sort(key=lambda r: r.number in self._shares.over)
        return _walk_likely(self._play, waits, self._play.frees_of(self._like, coming.frees))

    def likely(self, number: int) -> list[Free] | None:
        """What a request counts on, by time; None: there is too little."""
        while number not in self._likely:
            found, counted = next(self._likely_walk)
            self._likely[found] = counted
        return self._likely[number]

    def worst(self, request: Request) -> datetime | None:
        """When it is its turn at worst; None: there is too little. What went past others is back by its time as long as those wait: so only they
        count on that."""
        heeds = self._play.passed_by(request)
        if heeds not in self._worst_walks:
            play = self._play.heeding(heeds)
            self._worst_walks[heeds] = _walk_worst(
                play, self._queued, self._like, self.floats | self._rests, self._shares.beyond
            )
        while (heeds, request.number) not in self._worst:
            found, turn = next(self._worst_walks[heeds])
            self._worst[heeds, found] = turn
        return self._worst[heeds, request.number]


def _walk_likely(frees: Frees, waits: list[Request], free: list[Free]) -> Iterator[tuple[int, list[Free] | None]]:
    state = Likely(frees, free)
    for request in waits:
        yield request.number, state.counted(request)
        if request.rest is None:
            state.serve(request)


def _walk_worst(
    play: Play, waits: list[Request], like: Request, floats: Set[int], beyond: Set[int]
) -> Iterator[tuple[int, datetime | None]]:
    state = Worst(play, play.worst_of_line(like), play.zones, play.lends_spare(like))
    for request in waits:
        yield request.number, state.turn(request)
        if request.number in beyond:
            state.lend_spare()
        if request.number in floats:
            state.float(request)
        else:
            state.serve(request)


class Shares:
    """Who of a line is over a share of the pool: now, or maybe when it is their turn."""

    def __init__(self, play: Play, like: Request, queued: list[Request]) -> None:
        self.over: set[int] = set()  # now, and others wait
        self.floats: set[int] = set()  # maybe
        self.beyond: set[int] = set()  # maybe with all they want: what is over it is spare then
        caps = Caps(play.sheet, play.policy, like.kind, like.machine)
        mine, teams = Counter[PersonId](), Counter[str]()
        for request in queued:
            share, needs = caps.share(request), 1 if request.partly else request.count
            team = teams[request.team] if request.team else 0
            if request.terms.spare:  # of what is spare nobody has a share
                share = replace(share, most=0)
            over = share.over(needs)
            if (Rule.CAP in over and caps.others(request)) or (Rule.TEAM_CAP in over and caps.other_teams(request)):
                self.over.add(request.number)
            if replace(share, has=share.has + mine[request.person], team_has=share.team_has + team).over(needs):
                self.floats.add(request.number)
            if replace(share, has=share.has + mine[request.person], team_has=share.team_has + team).over(request.count):
                self.beyond.add(request.number)
            mine[request.person] += request.count
            teams[request.team] += request.count
