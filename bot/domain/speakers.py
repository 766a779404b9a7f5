"""Who is believed, when a guest's agent and an exporter, or two guests, speak for one machine. Asked by the telemetry edge before a reading is
kept, by the store, and by whatever goes by a guest's word."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.domain.model import Reading

OUTSIDE = "prometheus-"
"""How the boot ids of a source begin that sees a machine's cards alone (``Reading.inside`` is false)."""

RIVALS = timedelta(minutes=10)
"""So long after two guests were last heard for one machine nothing of what they say is believed; and after so long a silence of the one that
is listened to, the other one is."""


DOUBTED = timedelta(hours=24)
"""So long after two guests were last heard neither's word lets a machine be restarted, or a card be taken: that one is silent does not
tell which of them is the machine. A new token ends it."""


def doubted(reading: Reading, now: datetime) -> bool:
    """Whether nobody knows that who speaks is the machine itself, as two spoke not long ago."""
    return reading.rivals is not None and abs(now - reading.rivals) <= DOUBTED


def two_speak(reading: Reading, now: datetime) -> bool:
    """Whether two guests speak for its machine, so that neither is believed."""
    return (
        reading.rivals is not None and abs(now - reading.rivals) <= RIVALS
    )  # both ways: the clock may have gone back since


def counts(new: Reading, last: Reading | None, stale: timedelta) -> bool:
    """Whether a reading may become the machine's latest word.

    An agent sees logins, jobs and every second, so its word is preferred as long as it is fresh; an exporter speaks for a machine
    whose agent is silent for longer than ``stale``, or that has none.
    """
    if new.inside or last is None or not last.inside:
        return True
    return abs(new.at - last.at) > stale  # both ways: the clock may have gone back since
