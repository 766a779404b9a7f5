"""One stretch of one device: busy, quiet, unknown or fault, and which signal says so.

Called by ``clocks`` for every minute that a guest (or another source) told. It knows no lease and asks nobody. Quiet is said only if
something was measured and no available signal says busy: what is missing, late, broken or contradicting is unknown, never zero.
"""

from __future__ import annotations

from datetime import datetime

from bot.domain.inside import Minute, Verdict
from bot.domain.policy import Policy

FULL = 95.0
"""% from which a load counts as full: an artefact of the driver reads 100."""

BARE = 0.03
"""Share of a card's memory that a driver without any process holds at most: 0 to 700 MiB were seen, on large cards."""

ENERGY_ALONE = "nothing here measures its load: processes and power alone cannot tell"
GHOST = "it reads full load, but no process holds it and its memory is empty: an artefact, not work"


def judge(minute: Minute, policy: Policy, ghost_since: datetime | None = None) -> tuple[Verdict, str]:
    """What a stretch is called, and why in plain words.

    :param ghost_since: since when it has read full load without a process and without memory; None: it has not
    """
    if minute.fault:
        return Verdict.FAULT, minute.fault
    if minute.rivals:
        return Verdict.UNKNOWN, "two guests speak for this machine"
    if minute.stale:
        return Verdict.UNKNOWN, "the values are old"
    top, busy, limit = minute.top, minute.busy_s, policy.idle.quiet_below
    if top is not None and limit <= top <= 100.0:
        if top >= FULL and ghost_since is not None and is_ghost(minute) and _long(minute, policy, ghost_since):
            return Verdict.UNKNOWN, GHOST
        return Verdict.BUSY, "its busiest second"
    if top is None or not 0.0 <= top < limit:
        if busy is not None and busy > 0.0:
            return Verdict.BUSY, "seconds with work"
        if top is not None or busy is None:
            return Verdict.UNKNOWN, ENERGY_ALONE if top is None else "a value that cannot be"
    elif top == 0.0 and busy is not None and busy > 0.0:
        return Verdict.BUSY, "seconds with work"
    if busy is not None and not busy >= 0.0:
        return Verdict.UNKNOWN, "a value that cannot be"
    measured, length = minute.measured_s, (minute.end - minute.start).total_seconds()
    if length <= 0.0 or (measured is not None and not measured >= policy.idle.coverage * length):
        return Verdict.UNKNOWN, "too little of it was measured"
    return Verdict.QUIET, "no engine worked"


def is_ghost(minute: Minute) -> bool:
    """Whether it reads full load, though no process holds the device and its memory is as good as empty."""
    used, total = minute.mem_mb, minute.mem_total_mb
    return (
        minute.top is not None
        and minute.top >= FULL
        and minute.processes == 0
        and used is not None
        and total is not None
        and 0 <= used <= BARE * total
    )


def _long(minute: Minute, policy: Policy, since: datetime) -> bool:
    return minute.end - since > policy.idle.ghost
