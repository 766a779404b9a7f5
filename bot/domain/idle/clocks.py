"""The clocks of one lent device: how long it has been quiet, and how much of that was seen.

Called by ``settle`` for every minute, once each, in the order of arrival. The quiet clock grows only by stretches both ends of which are
quiet; what is unknown freezes it, work resets it, late data may reset it and never adds. It decides nothing about people.

A fold of a minute is the one thing here that is done for every device every minute: it writes one new value, without
``dataclasses.replace``, which is ten times as slow.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from bot.domain.idle.verdict import is_ghost, judge
from bot.domain.inside import Minute, Quarter, Verdict, Watch
from bot.domain.policy import Policy

QUARTER = timedelta(minutes=15)
QUARTERS_KEPT = 32
"""Eight hours of quarters: a working day, for the bar line of a question."""

AWAY = "I was away myself, and look for some minutes first"

ANEW: dict[str, Any] = {"loading": False, "rung": 0, "asked_at": None}
"""What is forgotten with a quiet stretch."""

QUIET, BUSY, UNKNOWN, FAULT = Verdict.QUIET, Verdict.BUSY, Verdict.UNKNOWN, Verdict.FAULT


def fold(watch: Watch, minute: Minute, policy: Policy, back: datetime | None = None) -> Watch:
    """The clocks after one more minute.

    :param back: when the bot itself came back from an outage, if it did: for a stale limit after that nothing is called quiet
    """
    start, end, upto = minute.start, minute.end, watch.upto
    if end <= watch.since:
        return watch  # of the time before this lease
    verdict, why = judge(minute, policy, watch.ghost_since)
    if (upto is not None and end <= upto) or minute.at - end > policy.reading_stale:
        return _late(watch, minute, policy) if verdict is BUSY else watch
    if verdict is QUIET:
        if back is not None and minute.at < back + policy.reading_stale:
            verdict, why = UNKNOWN, AWAY
        elif watch.verdict is QUIET and watch.quiet_since is not None and upto is not None and not watch.ghost_since:
            return _still_quiet(watch, minute, policy, upto, why)
    new: dict[str, Any] = {"upto": end, "verdict": verdict, "why": why}
    if watch.first_seen is None:
        new["first_seen"] = max(start, watch.since)
    if verdict is QUIET:
        _quiet(new, watch, minute, policy)
    elif verdict is BUSY:
        _busy(new, watch, minute, policy)
    else:
        _unknown(new, watch, minute, verdict)
    if is_ghost(minute):
        new["ghost_since"] = watch.ghost_since or start
    elif watch.ghost_since is not None:
        new["ghost_since"] = None
    return changed(watch, new)


def missed(watch: Watch, now: datetime, policy: Policy) -> Watch:
    """The clocks after a silence: longer than the stale limit, nothing is known since the last word. The same value if nothing changes."""
    if watch.upto is None or now - watch.upto <= policy.reading_stale:
        return watch
    return unseen(watch, watch.upto, "no word from inside")


def unseen(watch: Watch, since: datetime, why: str) -> Watch:
    """The clocks of a device of which nothing is known since an instant: silence, or its guest speaks and does not list it."""
    if watch.verdict is UNKNOWN and watch.blind_since is not None and watch.why == why:
        return watch
    new: dict[str, Any] = {
        "verdict": UNKNOWN,
        "why": why,
        "blind_since": watch.blind_since or since,
        "busy_since": None,
    }
    if watch.quiet_since is not None:
        new["unknown_since"] = watch.unknown_since or since
    return changed(watch, new)


def quiet_for(watch: Watch, policy: Policy) -> timedelta | None:
    """How long it is known to be quiet, by what was measured; None: it is not, or too little of the stretch was measured."""
    if watch.quiet_since is None or watch.upto is None:
        return None
    whole = (watch.upto - watch.quiet_since).total_seconds()
    if watch.quiet_s < policy.idle.coverage * whole:
        return None
    return timedelta(seconds=watch.quiet_s)


def unknown_for(watch: Watch, now: datetime) -> timedelta:
    """The longest stretch of its quiet time about which nothing is known, the present one included."""
    longest = timedelta(seconds=watch.unknown_s)
    since = watch.unknown_since if watch.unknown_since is not None else watch.upto
    return max(longest, now - since) if since is not None else longest


def busy_within(watch: Watch, now: datetime, policy: Policy) -> timedelta:
    """Seconds of work of late, as a question is withdrawn by."""
    since = now - policy.idle.withdraw_within
    return timedelta(seconds=sum(seconds for at, seconds in watch.recent if at > since))


def changed(watch: Watch, fields: dict[str, Any]) -> Watch:
    """The same with some fields changed, as ``dataclasses.replace`` makes it."""
    new = object.__new__(Watch)
    values = new.__dict__
    values.update(watch.__dict__)
    values.update(fields)
    return new


# ---- by verdict ---------------------------------------------------------------------------------------------------


def _still_quiet(watch: Watch, minute: Minute, policy: Policy, upto: datetime, why: str) -> Watch:
    """Quiet, as it was: what almost every fold is."""
    start, end = minute.start, minute.end
    stretch = end - upto
    covered = _covered(minute)
    new: dict[str, Any] = {"upto": end, "why": why, "measured_s": watch.measured_s + covered}
    if stretch <= policy.reading_stale:
        new["quiet_s"] = watch.quiet_s + min(covered, stretch.total_seconds())
    if start > upto:
        new["unknown_s"] = max(watch.unknown_s, (start - upto).total_seconds())
    if not watch.opened and _opened(minute):
        new["opened"] = True
    if not watch.loading and _loads(minute, policy):
        new["loading"] = True
    new["quarters"] = _quarters(watch, minute, covered)
    return changed(watch, new)


def _quiet(new: dict[str, Any], watch: Watch, minute: Minute, policy: Policy) -> None:
    """The first quiet one after something else: the clock begins at the edge, or goes on where it was frozen."""
    start, upto = minute.start, watch.upto
    if watch.quiet_since is None:
        new |= {"quiet_since": max(start, watch.since, upto or start), "quiet_s": 0.0, "unknown_s": 0.0, **ANEW}
    else:
        since = watch.unknown_since or upto
        if since is not None and start > since:
            new["unknown_s"] = max(watch.unknown_s, (start - since).total_seconds())
    _known(new, watch, minute)
    new |= {"unknown_since": None, "busy_since": None}
    new["loading"] = _loads(minute, policy) or (watch.loading and watch.quiet_since is not None)
    new["opened"] = watch.opened or _opened(minute)


def _busy(new: dict[str, Any], watch: Watch, minute: Minute, policy: Policy) -> None:
    """Work: the quiet clock is reset."""
    seconds = _busy_seconds(minute)
    without_break = (
        watch.verdict is BUSY and watch.upto is not None and minute.start - watch.upto <= policy.reading_stale
    )
    _known(new, watch, minute)
    new |= {
        "quiet_since": None,
        "quiet_s": 0.0,
        "unknown_s": 0.0,
        "unknown_since": None,
        "busy_since": watch.busy_since if without_break and watch.busy_since is not None else minute.start,
        "busy_s": watch.busy_s + seconds,
        "last_busy": minute.end,
        "recent": _recent(watch, minute, seconds, policy),
        "opened": True,
        **ANEW,
    }


def _unknown(new: dict[str, Any], watch: Watch, minute: Minute, verdict: Verdict) -> None:
    """Neither: the quiet clock stands still."""
    since = watch.upto or minute.start
    if watch.quiet_since is not None:
        new["unknown_since"] = watch.unknown_since or since
    new["busy_since"] = None
    if verdict is FAULT:
        new |= {"fault": minute.fault, "blind_since": None}
    else:
        new["blind_since"] = watch.blind_since or max(since, watch.since)


def _late(watch: Watch, minute: Minute, policy: Policy) -> Watch:
    """Work that is heard of late, or besides: it resets the quiet clock if it lies in it, and adds to nothing."""
    end = minute.end
    new: dict[str, Any] = {"recent": _recent(watch, minute, _busy_seconds(minute), policy), "opened": True}
    if watch.last_busy is None or end > watch.last_busy:
        new["last_busy"] = end
    if watch.quiet_since is not None and end > watch.quiet_since:
        new |= {"quiet_since": max(end, watch.upto or end), "quiet_s": 0.0, "unknown_s": 0.0, **ANEW}
        if watch.unknown_since is not None:
            new["unknown_since"] = max(watch.unknown_since, end)
    return changed(watch, new)


def _known(new: dict[str, Any], watch: Watch, minute: Minute) -> None:
    """What every measured minute says."""
    covered = _covered(minute)
    new |= {"measured_s": watch.measured_s + covered, "quarters": _quarters(watch, minute, covered)}
    new |= {"blind_since": None, "fault": ""}


# ---- parts --------------------------------------------------------------------------------------------------------


def _covered(minute: Minute) -> float:
    """Seconds of it that were measured."""
    length = (minute.end - minute.start).total_seconds()
    measured = minute.measured_s
    return measured if measured is not None and 0.0 <= measured <= length else length


def _busy_seconds(minute: Minute) -> float:
    """Seconds with work; where only a maximum is known, all of it may have been."""
    covered = _covered(minute)
    return min(minute.busy_s, covered) if minute.busy_s is not None and minute.busy_s > 0.0 else covered


def _opened(minute: Minute) -> bool:
    """Whether a process holds it, or that cannot be known."""
    return minute.processes is None or minute.processes > 0


def _loads(minute: Minute, policy: Policy) -> bool:
    """Whether its processes use the processor or read steadily: data are loaded, something is compiled."""
    return minute.reads or (minute.cpu is not None and minute.cpu > policy.idle.loading_above)


def _recent(watch: Watch, minute: Minute, seconds: float, policy: Policy) -> tuple[tuple[datetime, float], ...]:
    since = max(minute.end, watch.upto or minute.end) - policy.idle.withdraw_within
    return tuple(sorted(x for x in (*watch.recent, (minute.end, seconds)) if x[0] > since))


def _quarters(watch: Watch, minute: Minute, covered: float) -> tuple[Quarter, ...]:
    """The last hours with this minute in its quarter. A broken value shows nothing."""
    top, kept = minute.top, watch.quarters
    if top is not None and not 0.0 <= top <= 100.0:
        top = None
    busy = minute.busy_s
    busy = min(busy, covered) if busy is not None and busy > 0.0 else 0.0
    start = minute.start
    if kept:
        last = kept[-1]
        into = start - last.start
        if into < QUARTER:  # also an earlier one that comes along
            if last.top is not None and (top is None or last.top > top):
                top = last.top
            both = object.__new__(Quarter)
            both.__dict__.update(
                start=last.start, top=top, measured_s=last.measured_s + covered, busy_s=last.busy_s + busy
            )
            return (*kept[:-1], both)
    begin = start.replace(minute=start.minute // 15 * 15, second=0, microsecond=0)
    return (*kept[-QUARTERS_KEPT + 1 :], Quarter(begin, top, covered, busy))
