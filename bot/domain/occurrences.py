"""When agreements hold: the calendar of windows, without changing anything.

Used through ``windows``, by planner, moves and words. A named window was fixed when it was agreed; a standing one is local wall time of a
named zone and may cross midnight. On a clock-change night an end that does not exist is the next existing minute and an ambiguous
one is the first; an occurrence that becomes empty, or shorter than the machine's usual restart, is skipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta

from bot.domain import blackouts
from bot.domain.hours import DAY, local, wall
from bot.domain.model import Agreement, AgreementKind, AgreementState, Machine, MachineId, Pattern, Reading, Window
from bot.domain.policy import Policy
from bot.domain.speakers import doubted, two_speak
from bot.domain.times import night

LOOK_AHEAD = 15
"""Days in which a weekly window comes again at least once, also if one occurrence is too short by a clock change."""

NIGHTS_TRIED = 60
"""Nights that are looked at for one that the site's blackouts leave."""


def usual(machine: Machine, policy: Policy) -> timedelta:
    """How long a restart of the machine takes: the slowest of its last ten; the policy's guess before the first."""
    return timedelta(seconds=max(machine.durations_s[-10:])) if machine.durations_s else policy.usual_first


def occurrence(agreement: Agreement, now: datetime, policy: Policy, usual: timedelta) -> Window | None:
    """The current or next occurrence that may be used: not skipped, not too short, not blacked out, and not over.

    A current one may have too little left for another restart; ``open_window`` and ``next_window`` look at that.
    """
    found = _coming(agreement, now, usual, policy)
    return found[0] if found else None


def coming(agreement: Agreement, now: datetime, policy: Policy | None = None) -> Window | None:
    """The current or next occurrence however short it is: not skipped, and not over. It begins where a blackout lets it."""
    for window in _coming(agreement, now, timedelta(0), policy):
        begins = window.start if policy is None else blackouts.first(policy, max(now, window.start), timedelta(0))
        if begins is not None and begins < window.end:
            return Window(max(window.start, begins) if begins > now else window.start, window.end)
    return None


def begin_by(agreement: Agreement, window: Window, usual: timedelta, policy: Policy) -> datetime:
    """Until when (inclusive) a restart may begin in a window: the usual duration to spare; "now" within 30 min."""
    latest = window.end - usual
    return min(latest, window.start + policy.now_within) if agreement.now else latest


def begin_at(agreement: Agreement, window: Window, now: datetime, usual: timedelta, policy: Policy) -> datetime | None:
    """The first moment from now on at which a restart may begin in a window, blackouts of the site left out; None: there is none."""
    return blackouts.first(policy, max(now, window.start), usual, begin_by(agreement, window, usual, policy))


def held_back(agreement: Agreement, window: Window, now: datetime, usual: timedelta, policy: Policy) -> bool:
    """Whether nothing but blackouts of the site keeps a restart from beginning in a window from now on."""
    free = replace(policy, blackout=())
    return (
        begin_at(agreement, window, now, usual, policy) is None
        and begin_at(agreement, window, now, usual, free) is not None
    )


def open_window(
    agreements: Iterable[Agreement], machine: MachineId, now: datetime, usual: timedelta, policy: Policy
) -> tuple[Agreement, Window] | None:
    """The agreement that allows a restart to begin now, and its window.

    Of several: those that hold although something runs come first, then those with a hard stop, then the one that is open longest.
    """
    found = next_beginning(agreements, machine, now, usual, policy)
    return found[:2] if found and found[2] <= now else None


def next_window(
    agreements: Iterable[Agreement], machine: MachineId, now: datetime, usual: timedelta, policy: Policy
) -> tuple[Agreement, Window] | None:
    """The soonest occurrence in which a restart may still begin, also the current one, and its agreement. What a blackout takes of its
    beginning is not in it."""
    found = next_beginning(agreements, machine, now, usual, policy)
    if found is None:
        return None
    agreement, window, begins = found
    return agreement, (window if begins <= max(now, window.start) else Window(begins, window.end))


def next_beginning(
    agreements: Iterable[Agreement], machine: MachineId, now: datetime, usual: timedelta, policy: Policy
) -> tuple[Agreement, Window, datetime] | None:
    """The same with the window as it was agreed, and the first moment at which the restart may begin."""
    found = [
        (agreement, *begins)
        for agreement in agreements
        if agreement.machine == machine and (begins := _beginnable(agreement, now, usual, policy))
    ]
    return min(found, key=lambda one: (one[2], *_rank(one[0], one[1])), default=None)


def _rank(agreement: Agreement, window: Window) -> tuple[bool, bool, float, int]:
    gives_way = agreement.kind is AgreementKind.STANDING and not agreement.even_if_busy
    return gives_way, not agreement.hard, -window.end.timestamp(), agreement.number


def _beginnable(
    agreement: Agreement, now: datetime, usual: timedelta, policy: Policy
) -> tuple[Window, datetime] | None:
    for window in _coming(agreement, now, usual, policy):
        begins = begin_at(agreement, window, now, usual, policy)
        if begins is not None:
            return window, begins
    return None


def _coming(agreement: Agreement, now: datetime, usual: timedelta, policy: Policy | None) -> list[Window]:
    """Up to two usable occurrences that are not over, in order: a current one may have too little left."""
    if agreement.state is not AgreementState.OPEN:
        return []
    skipped = {skip.start for skip in agreement.skips}
    if agreement.pattern is None:
        fixed = [agreement.window] if agreement.window else []
        return [window for window in fixed if window.end > now and _fits(window, usual, skipped, policy)]
    found: list[Window] = []
    today = local(now, agreement.pattern.zone).date()
    dark = NIGHTS_TRIED if policy is not None and policy.blackout else 0
    for ahead in range(-1, LOOK_AHEAD + 7 * len(skipped) + dark):
        day = today + ahead * DAY
        if day.weekday() not in agreement.pattern.days:
            continue
        window = pattern_window(agreement.pattern, day)
        if window.end > now and _fits(window, usual, skipped, policy):
            found.append(window)
        if len(found) == 2:
            break
    return found


def _fits(window: Window, usual: timedelta, skipped: set[datetime], policy: Policy | None) -> bool:
    long = window.end - window.start >= max(usual, timedelta(microseconds=1)) and window.start not in skipped
    return long and (policy is None or blackouts.first(policy, window.start, usual, window.end - usual) is not None)


def pattern_window(pattern: Pattern, day: date) -> Window:
    """The stretch of a pattern that begins on a local day. Empty (end not after start) if a clock change takes it away."""
    ends = day if pattern.end > pattern.start else day + DAY
    return Window(wall(day, pattern.start, pattern.zone), wall(ends, pattern.end, pattern.zone))


def next_night(at: datetime, zone: str, policy: Policy) -> Window:
    """The site's first night in a zone that begins at an instant or later; UTC."""
    window = night(at, zone, policy)
    return window if window.start >= at else night(window.end, zone, policy)


def usable_night(at: datetime, zone: str, policy: Policy, takes: timedelta) -> Window:
    """The site's first night from an instant on in which a restart can begin: no clock change makes it too short, no blackout covers it."""
    night = next_night(at, zone, policy)
    for _ in range(NIGHTS_TRIED):
        if _fits(night, takes, set(), policy):
            return night
        night = next_night(night.end, zone, policy)
    return night


def rebase_now(agreement: Agreement, at: datetime, policy: Policy, takes: timedelta = timedelta(0)) -> Agreement:
    """The same "now", begun at another instant: for a receiver, when its device is clean, or when a blackout of the site is over.

    Anything else, and a "now" to which somebody said "not now", comes back as it is.
    """
    skipped = any(agreement.window and skip.start == agreement.window.start for skip in agreement.skips)
    if not agreement.now or skipped or agreement.state is not AgreementState.OPEN:
        return agreement
    window = now_window(at, policy, takes)
    return replace(agreement, window=window, after_blackout=window.start > at)


def now_window(at: datetime, policy: Policy, takes: timedelta = timedelta(0)) -> Window:
    """The window of a "now" that begins at an instant: begin within 30 min, take 45. In a blackout it begins when that is over."""
    begins = blackouts.first(policy, at, takes) or at
    return Window(begins, begins + policy.now_within + policy.now_lasts)


def works(reading: Reading | None, now: datetime, policy: Policy, cards: int = 0) -> tuple[bool | None, str]:
    """Whether somebody works in a guest, and who or what, in words. None: it cannot be seen from here.

    Jobs, logins and a card that computes count; a machine that only serves its own desktop has none of them. What is left out of a word is
    not known: it never says that nothing runs.

    :param cards: how many vCenter shows in the running machine: who sees fewer may be another one (a clone), or blind
    """
    if reading is None:
        return None, "no word from inside"
    silent = now - reading.at
    if silent < -policy.reading_stale:  # the clock went back since
        return None, "no word from inside"
    if silent > policy.reading_stale:
        return None, f"no word from inside for {max(1, int(silent.total_seconds() // 60))} min"
    if reading.stopping:
        return None, "the guest is going down"
    if not reading.inside:
        return None, "its cards are seen, but not what runs in it"
    if not reading.tells_work and not reading.computes:
        return None, "its agent does not tell what runs in it"
    if two_speak(reading, now):
        return None, "two guests speak for it"
    if doubted(reading, now):
        return None, "two guests spoke for it within a day"
    if reading.cards < cards:
        return None, f"its guest sees {reading.cards} of {cards} cards"
    parts = [f"{job.name} ({job.user})" for job in reading.jobs[:2]]
    parts += [f"{len(reading.jobs) - 2} more"] if len(reading.jobs) > 2 else []
    parts += ["its card computes"] if reading.computes and not any(job.gpu for job in reading.jobs) else []
    users = sorted({login.user for login in reading.logins})
    parts += [f"logged in: {', '.join(users[:3])}{' and others' if len(users) > 3 else ''}"] if users else []
    return bool(parts), "; ".join(parts) or "nothing runs"
