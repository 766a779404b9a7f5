"""The clocks of one lent device: how long it has been quiet, and how much of that was seen.

Called by ``settle`` for every minute, once each, in the order of arrival. The quiet clock grows only by stretches both ends of which are
quiet; what is unknown freezes it, work resets it, late data may reset it and never adds. It decides nothing about people.

A fold of a minute is the one thing here that is done for every device every minute: it writes one new value, without
``dataclasses.replace``, which is ten times as slow.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from bot.domain.idle.verdict import is_ghost, weigh
from bot.domain.inside import Minute, Quarter, Verdict, Watch
from bot.domain.policy import Policy

QUARTER = timedelta(minutes=15)
QUARTERS_KEPT = 32
"""Eight hours of quarters: a working day, for the bar line of a question."""

AWAY = "I was away myself, and look for some minutes first"

ANEW: dict[str, Any] = {"loading": False, "asked": ()}
"""What is forgotten with a quiet stretch."""

QUIET, BUSY, UNKNOWN, FAULT = Verdict.QUIET, Verdict.BUSY, Verdict.UNKNOWN, Verdict.FAULT


def fold(watch: Watch, minute: Minute, policy: Policy, back: datetime | None = None) -> Watch:
    """The clocks after one more minute.

    :param back: when the bot itself came back from an outage, if it did: for a stale limit after that nothing is called quiet
    """
    start, end, upto = minute.start, minute.end, watch.upto
    if end <= watch.since:
        return watch  # of the time before this lease
    length = (end - start).total_seconds()
    verdict, why = weigh(minute, policy.idle, length, watch.ghost_since)
    at = minute.at
    if (upto is not None and end <= upto) or (at != end and at - end > policy.reading_stale):
        return _late(watch, minute, why, policy) if verdict is BUSY else watch
    if verdict is QUIET:
        if back is not None and at < back + policy.reading_stale:
            verdict, why = UNKNOWN, AWAY
        elif watch.verdict is QUIET and upto is not None and watch.ghost_since is None:
            return _still_quiet(watch, minute, policy, upto, length)
    values = watch.__dict__.copy()
    values["upto"], values["verdict"], values["why"] = end, verdict, why
    if watch.first_seen is None:
        values["first_seen"] = max(start, watch.since)
    if verdict is BUSY:
        _busy(values, watch, minute, policy, length)
    elif verdict is QUIET:
        _quiet(values, watch, minute, policy, length)
    else:
        _unknown(values, watch, minute, verdict)
    if minute.processes == 0 and is_ghost(minute):
        values["ghost_since"] = watch.ghost_since or start
    elif watch.ghost_since is not None:
        values["ghost_since"] = None
    return _made(values)


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
    return timedelta(seconds=sum(seconds for at, seconds, _ in watch.recent if at > since))


def changed(watch: Watch, fields: dict[str, Any]) -> Watch:
    """The same with some fields changed, as ``dataclasses.replace`` makes it."""
    values = watch.__dict__.copy()
    values.update(fields)
    return _made(values)


def _made(values: dict[str, Any]) -> Watch:
    """A value of all its fields. The class is frozen, so not even this file can change one that exists."""
    new = _new(Watch)
    _set(new, "__dict__", values)
    return new


_set = object.__setattr__


# ---- by verdict ---------------------------------------------------------------------------------------------------


def _still_quiet(watch: Watch, minute: Minute, policy: Policy, upto: datetime, length: float) -> Watch:
    """Quiet, as it was: what almost every fold is. The bar of a quarter is written when the quarter is over, or another height is seen."""
    start, measured, top, kept = minute.start, minute.measured_s, minute.top, watch.quarters
    covered = measured if measured is not None and measured <= length else length
    values = watch.__dict__.copy()
    values["upto"] = minute.end
    if start == upto:
        values["quiet_s"] += covered
    else:
        stretch = minute.end - upto
        if stretch <= policy.reading_stale:
            values["quiet_s"] += min(covered, stretch.total_seconds())
        if start > upto:
            values["unknown_s"] = max(watch.unknown_s, (start - upto).total_seconds())
    if not watch.opened:
        values["opened"] = _opened(minute)
    if not watch.loading and (minute.reads or minute.cpu is not None):
        values["loading"] = _loads(minute, policy)
    height = kept[-1].top if kept else None
    if height is not None and (top is None or top <= height) and start - kept[-1].start < QUARTER:
        values["pending_s"] += covered
    else:
        _bar(values, watch, minute, covered, 0.0)
    return _made(values)


def _quiet(values: dict[str, Any], watch: Watch, minute: Minute, policy: Policy, length: float) -> None:
    """The first quiet one after something else: the clock begins at the edge, or goes on where it was frozen."""
    start, upto = minute.start, watch.upto
    if watch.quiet_since is None:
        edge = max(start, watch.since, upto or start)
        values.update(quiet_since=edge, quiet_s=0.0, unknown_s=0.0, **ANEW)
    else:
        since = watch.unknown_since or upto
        if since is not None and start > since:
            values["unknown_s"] = max(watch.unknown_s, (start - since).total_seconds())
    _bar(values, watch, minute, _covered(minute, length), 0.0)
    values.update(unknown_since=None, busy_since=None, blind_since=None, fault="")
    values["opened"] = watch.opened or _opened(minute)
    values["loading"] = values["loading"] or _loads(minute, policy)


def _busy(values: dict[str, Any], watch: Watch, minute: Minute, policy: Policy, length: float) -> None:
    """Work: the quiet clock is reset."""
    covered = _covered(minute, length)
    seconds = _busy_seconds(minute, covered)
    _bar(values, watch, minute, covered, seconds)
    values["last_busy"] = minute.end
    values["recent"] = _recent(watch.recent, (minute.end, seconds, values["why"]), policy)
    upto = watch.upto
    start = minute.start
    if watch.verdict is not BUSY or upto is None or (start != upto and start - upto > policy.reading_stale):
        values.update(busy_since=start, opened=True, blind_since=None, fault="")
        values.update(quiet_since=None, quiet_s=0.0, unknown_s=0.0, unknown_since=None, **ANEW)


def _unknown(values: dict[str, Any], watch: Watch, minute: Minute, verdict: Verdict) -> None:
    """Neither: the quiet clock stands still."""
    since = watch.upto or minute.start
    if watch.quiet_since is not None:
        values["unknown_since"] = watch.unknown_since or since
    values["busy_since"] = None
    if verdict is FAULT:
        values |= {"fault": minute.fault, "blind_since": None}
    else:
        values["blind_since"] = watch.blind_since or max(since, watch.since)


def _late(watch: Watch, minute: Minute, why: str, policy: Policy) -> Watch:
    """Work that is heard of late, or besides: it resets the quiet clock if it lies in it, and adds to nothing."""
    end, length = minute.end, _covered(minute, (minute.end - minute.start).total_seconds())
    work = end, _busy_seconds(minute, length), why
    new: dict[str, Any] = {"recent": _recent(watch.recent, work, policy), "opened": True}
    if watch.last_busy is None or end > watch.last_busy:
        new["last_busy"] = end
    if watch.quiet_since is not None and end > watch.quiet_since:
        new |= {"quiet_since": max(end, watch.upto or end), "quiet_s": 0.0, "unknown_s": 0.0, **ANEW}
        if watch.unknown_since is not None:
            new["unknown_since"] = max(watch.unknown_since, end)
    return changed(watch, new)


# ---- parts --------------------------------------------------------------------------------------------------------


def _covered(minute: Minute, length: float) -> float:
    """Seconds of it that were measured."""
    measured = minute.measured_s
    return measured if measured is not None and 0.0 <= measured <= length else max(length, 0.0)


def _busy_seconds(minute: Minute, covered: float) -> float:
    """Seconds with work; where only a maximum is known, all of it may have been."""
    busy = minute.busy_s
    return busy if busy is not None and 0.0 < busy < covered else covered


def _opened(minute: Minute) -> bool:
    """Whether a process holds it, or that cannot be known."""
    return minute.processes is None or minute.processes > 0


def _loads(minute: Minute, policy: Policy) -> bool:
    """Whether its processes use the processor or read steadily: data are loaded, something is compiled."""
    return minute.reads or (minute.cpu is not None and minute.cpu > policy.idle.loading_above)


Work = tuple[datetime, float, str]
"""A busy minute: its end, its seconds of work, and which signal said so."""

Recent = tuple[Work, ...]


def _recent(kept: Recent, work: Work, policy: Policy) -> Recent:
    """Work of the last minutes, oldest first."""
    end = work[0]
    if kept:
        if end <= kept[-1][0]:  # heard of late, or of another part of the same card
            return tuple(sorted({*kept, work}))
        since = end - policy.idle.withdraw_within
        if kept[0][0] <= since:
            first, last = 1, len(kept)
            while first < last and kept[first][0] <= since:
                first += 1
            kept = kept[first:]
    return kept + (work,)  # noqa: RUF005 - half as long as with a star


def _bar(values: dict[str, Any], watch: Watch, minute: Minute, covered: float, seconds: float) -> None:
    """Put a minute into the quarters, and what was measured before."""
    kept = watch.quarters
    if watch.pending_s:
        kept = whole(watch).quarters
        values["pending_s"] = 0.0
    values["quarters"] = _quarters(kept, minute, covered, seconds)


def whole(watch: Watch) -> Watch:
    """The same, with all that was measured in its quarters: for whoever shows them."""
    if not watch.pending_s or not watch.quarters:
        return watch
    last = watch.quarters[-1]
    last = Quarter(last.start, last.top, last.measured_s + watch.pending_s, last.busy_s)
    return changed(watch, {"quarters": (*watch.quarters[:-1], last), "pending_s": 0.0})


def _quarters(kept: tuple[Quarter, ...], minute: Minute, covered: float, seconds: float) -> tuple[Quarter, ...]:
    """The last hours with this minute in its quarter. A broken value shows nothing."""
    top, start = minute.top, minute.start
    if top is not None and not 0.0 <= top <= 100.0:
        top = None
    if kept:
        last = kept[-1]
        begin = last.start
        if start - begin < QUARTER:  # also an earlier one that comes along
            was = last.top
            if was is not None and (top is None or was > top):
                top = was
            more = _new(Quarter)
            _set_start(more, begin)
            _set_top(more, top)
            _set_measured(more, last.measured_s + covered)
            _set_busy(more, last.busy_s + seconds)
            return kept[:-1] + (more,)  # noqa: RUF005 - half as long as with a star
    begin = start.replace(minute=start.minute // 15 * 15, second=0, microsecond=0)
    return (*kept[-QUARTERS_KEPT + 1 :], Quarter(begin, top, covered, seconds))


# A frozen value is filled through the doors of its slots: a third of what its own constructor takes.
_new = object.__new__
_set_start, _set_top, _set_measured, _set_busy = (
    getattr(Quarter, name).__set__ for name in ("start", "top", "measured_s", "busy_s")
)
