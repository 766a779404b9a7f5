"""Blackouts: stretches of time in which no shutdown is begun, whatever was agreed. The site names them in its settings.

Asked by ``occurrences`` for every window, and through it by promises, moves and words. A restart is not begun in one, nor so late before one
that the machine would usually still be off when it begins. A restart that is under way is finished: nothing here stops one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.domain.hours import DAY, local, wall
from bot.domain.model import Window
from bot.domain.policy import Policy

FARTHEST = timedelta(days=400)
"""So far ahead the next free moment is looked for. A site that has none is told so by its settings."""

WEEK = 7


def first(policy: Policy, at: datetime, takes: timedelta, latest: datetime | None = None) -> datetime | None:
    """The first moment from an instant on at which a restart may begin that takes so long. None: none until ``latest`` (inclusive)."""
    last = at + FARTHEST if latest is None else latest
    if not policy.blackout:
        return at if at <= last else None
    while at <= last:
        held = next((w for w in _near(policy, at, at + takes) if _touches(w, at, takes)), None)
        if held is None:
            return at
        at = held.end
    return None


def holding(policy: Policy, at: datetime, takes: timedelta = timedelta(0)) -> Window | None:
    """The stretch for which a restart that takes so long may not begin now, with all that follow without a gap; None: it may."""
    held = next((w for w in _near(policy, at, at + takes) if _touches(w, at, takes)), None)
    if held is None:
        return None
    free = first(policy, held.end, timedelta(0))
    return Window(held.start, free or held.end)


def _touches(window: Window, at: datetime, takes: timedelta) -> bool:
    return window.holds(at) or (at <= window.start < at + takes)


def _near(policy: Policy, since: datetime, until: datetime) -> Iterator[Window]:
    """The stretches that are not over at ``since`` and begin before ``until`` or at it."""
    for blackout in policy.blackout:
        if blackout.window is not None:
            if blackout.window.end > since and blackout.window.start <= until:
                yield blackout.window
            continue
        pattern = blackout.pattern
        if pattern is None:
            continue
        day = local(since, pattern.zone).date() - DAY
        while day <= local(until, pattern.zone).date():
            if day.weekday() in pattern.days:
                ends = day if pattern.end > pattern.start else day + DAY
                window = Window(wall(day, pattern.start, pattern.zone), wall(ends, pattern.end, pattern.zone))
                if window.start < window.end and window.end > since and window.start <= until:
                    yield window
            day += DAY


def always(policy: Policy, now: datetime, takes: timedelta) -> bool:
    """Whether no restart could ever begin: a mistake in the settings."""
    return first(policy, now, takes) is None
