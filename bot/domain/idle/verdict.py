"""One stretch of one device: busy, quiet, unknown or fault, and which signal says so.

Called by ``clocks`` for every minute that a guest (or another source) told. It knows no lease and asks nobody. Quiet is said only if
something was measured and no available signal says busy: what is missing, late, broken or contradicting is unknown, never zero.
"""

from __future__ import annotations

from datetime import datetime

from bot.domain.inside import Minute, Verdict
from bot.domain.policy import IdlePolicy, Policy

FULL = 95.0
"""% from which a load counts as full: an artefact of the driver reads 100."""

BARE = 0.03
"""Share of a card's memory that a driver without any process holds at most: 0 to 700 MiB were seen, on large cards."""

ENERGY_ALONE = "nothing here measures its load: processes and power alone cannot tell"
GHOST = "it reads full load, but no process holds it and its memory is empty: an artefact, not work"


Found = tuple[Verdict, str]

QUIET: Found = (Verdict.QUIET, "no engine worked")
BUSY: Found = (Verdict.BUSY, "one of its engines worked")
BUSY_BY: dict[str, Found] = {
    "compute": (Verdict.BUSY, "its computing engines worked"),
    "encoder": (Verdict.BUSY, "its encoder worked"),
    "decoder": (Verdict.BUSY, "its decoder worked"),
    "counter": (Verdict.BUSY, "its hardware counter showed work"),
}
"""By which engine did most."""

WORKED: Found = (Verdict.BUSY, "seconds with work were told")
RIVALS: Found = (Verdict.UNKNOWN, "two guests speak for this machine")
STALE: Found = (Verdict.UNKNOWN, "the values are old")
ARTEFACT: Found = (Verdict.UNKNOWN, GHOST)
UNMEASURED: Found = (Verdict.UNKNOWN, ENERGY_ALONE)
WRONG: Found = (Verdict.UNKNOWN, "a value that cannot be")
LITTLE: Found = (Verdict.UNKNOWN, "too little of it was measured")


def judge(minute: Minute, policy: Policy, ghost_since: datetime | None = None) -> Found:
    """What a stretch is called, and why in plain words.

    :param ghost_since: since when it has read full load without a process and without memory; None: it has not
    """
    return weigh(minute, policy.idle, (minute.end - minute.start).total_seconds(), ghost_since)


def weigh(minute: Minute, idle: IdlePolicy, length: float, ghost_since: datetime | None) -> Found:
    """The same, of a stretch whose length in seconds is known: done for every device every minute."""
    if minute.fault:
        return Verdict.FAULT, minute.fault
    if minute.rivals:
        return RIVALS
    if minute.stale:
        return STALE
    top, busy, measured = minute.top, minute.busy_s, minute.measured_s
    if top is None:
        if busy is None:
            return UNMEASURED
        if busy > 0.0:
            return WORKED
    elif 0.0 <= top < idle.quiet_below:
        if (
            busy and busy > 0.0 and top == 0.0
        ):  # a desktop flickers at 1 or 2 %: that is no work; at 0 % nothing flickers
            return WORKED
    elif idle.quiet_below <= top <= 100.0:
        if ghost_since is not None and minute.end - ghost_since > idle.ghost and is_ghost(minute):
            return ARTEFACT
        return BUSY_BY.get(minute.engine, BUSY)
    else:
        return WORKED if busy is not None and busy > 0.0 else WRONG
    if busy is not None and not busy >= 0.0:
        return WRONG
    if length <= 0.0 or (measured is not None and not measured >= idle.coverage * length):
        return LITTLE
    return QUIET


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
