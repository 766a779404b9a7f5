"""Who is believed, when a guest's agent and an exporter both speak for one machine. Asked by the telemetry edge before a reading is kept."""

from __future__ import annotations

from datetime import timedelta

from bot.domain.model import Reading

OUTSIDE = "prometheus-"
"""How the boot ids of a source begin that sees a machine's cards alone (``Reading.inside`` is false)."""


def counts(new: Reading, last: Reading | None, stale: timedelta) -> bool:
    """Whether a reading may become the machine's latest word.

    An agent sees logins, jobs and every second, so its word is preferred as long as it is fresh; an exporter speaks for a machine
    whose agent is silent for longer than ``stale``, or that has none.
    """
    if new.inside or last is None or not last.inside:
        return True
    return abs(new.at - last.at) > stale  # both ways: the clock may have gone back since
