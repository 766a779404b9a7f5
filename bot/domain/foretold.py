"""When a card that does nothing would go back under its terms: foretold for those who wait, decided by ``idle.taking`` alone.

Asked by ``frees``. Pure. What work, an answer, or a warning that is not heard would change is not known yet: so it is likely, never sure.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.domain.inside import Verdict, Watch
from bot.domain.model import Lease
from bot.domain.policy import Policy


def take_back(watch: Watch | None, lease: Lease, now: datetime, policy: Policy) -> datetime | None:
    """From when on a quiet device of a lease may be taken back, if it stays as quiet; None: its terms or its holder do not allow it, or it
    is not known to be quiet. A restart has to be agreed for then, which the caller looks up."""
    idle, since = policy.idle, lease.active_since
    if not idle.nudge or policy.level == "watch" or not lease.terms.take_back or lease.fault or since is None:
        return None
    if watch is None or watch.since != since or watch.machine != lease.machine or _answered(watch, now):
        return None
    if watch.verdict is not Verdict.QUIET or watch.upto is None or abs(now - watch.upto) > policy.reading_stale:
        return None
    quiet = timedelta(seconds=watch.quiet_s)
    stretch = idle.stretch if watch.loading else 1.0
    long_enough = watch.upto + idle.take_back_quiet * stretch - quiet
    nudge = lease.nudge
    stands = nudge is not None and nudge.warning and not nudge.over
    warned = nudge.asked if nudge is not None and stands else max(now, watch.upto + idle.second * stretch - quiet)
    return max(now, long_enough, warned + idle.take_back_warned, since + idle.take_back_not_before)


def _answered(watch: Watch, now: datetime) -> bool:
    """Whether its holder has said that it is in use, or to be kept."""
    return watch.using is not None or (watch.keep_until is not None and watch.keep_until > now)
