"""Why somebody waits although enough is there, in a few words: to put behind a line of the board, of ``queue``, of ``mine``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from bot.domain.model import Request
from bot.domain.planner import Left
from bot.domain.rules import Rule
from bot.service.ports import Name
from bot.service.words.common import Part
from bot.service.words.order import ahead

Whose = Mapping[int, Request]
"""The requests by number."""


def short_words(requests: Whose, request: Request, left: Left | None, now: datetime) -> list[Part]:
    """What stands in its way; [] too little is there, which the line says by its times, or it is its turn. Before the time of a booking nobody knows
    what will be: whether a share binds it, or who is before it, is found when its time comes."""
    if left is None or left.rule is None or request.rest is not None or ahead(request, now):
        return []
    return SHORT[left.rule](requests, request, left) if left.rule in SHORT else []


def _passing(requests: Whose, request: Request, left: Left) -> list[Part]:
    other = requests.get(left.past.number) if left.past is not None else None
    if other is None or other.person == request.person:
        return [", would not be back in time for who is before"]
    return [", would not be back in time for ", Name(other.person)]


def _hours(requests: Whose, _: Request, left: Left) -> list[Part]:
    other = requests.get(left.other)
    return [", outside working hours", [": ", Name(other.person), " goes first"] if other is not None else None]


SHORT: Mapping[Rule, Callable[[Whose, Request, Left], list[Part]]] = {
    Rule.CAP: lambda _, __, left: [
        f", more than a person's {left.share.most} while others wait" if left.share else None
    ],
    Rule.TEAM_CAP: lambda _, __, left: [
        f", more than a team's {left.share.team_most} while others wait" if left.share else None
    ],
    Rule.PASSING: _passing,
    Rule.HOURS: _hours,
}
"""Those that stand in somebody's way although enough is there."""
