"""Who does not want to be disturbed, from ``dnd.info`` through a cache. Used by ``people`` alone.

Thread-safe, and nobody ever waits for it: an answer is what is known by now, and Slack is asked beside. What Slack does not tell is "not
known", said once in the log. Slack tells the next stretch (also the one of tonight), so an answer stays right for longer than it is fresh.
A snooze that somebody set for themselves is told to others as such a stretch.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import UTC, datetime

from slack_sdk import WebClient

from bot.domain.model import PersonId
from bot.edges.slack import calls
from bot.service.ports import TryLater, VoiceError

log = logging.getLogger(__name__)

FRESH = 180.0
"""Real seconds for which an answer is believed without asking again, and longer where many are known: see :func:`fresh`."""

EACH = 1.5
"""Real seconds between two questions in the long run: Slack takes fifty a minute."""

LATER = 3600.0
"""Real seconds before Slack is asked again after a no that a repetition does not mend (the scope is missing)."""


@dataclass(frozen=True)
class _Stretch:
    """When somebody is not to be disturbed next, as last told."""

    start: datetime | None  # None: no stretch is known
    end: datetime | None
    asked_again: float  # monotonic: not before


class Disturb:
    """Remembers who is not to be disturbed."""

    def __init__(
        self,
        client: WebClient,
        pool: Executor,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``now`` is the clock that Slack's stretches are compared with; ``clock`` counts real seconds."""
        self._client, self._pool, self._now, self._clock = client, pool, now, clock
        self._known: dict[PersonId, _Stretch] = {}
        self._asking: set[PersonId] = set()
        self._not_before = 0.0  # Slack said "too many", or no for all (monotonic)
        self._said = ""  # the trouble that was logged
        self._lock = threading.Lock()

    def until(self, id: PersonId) -> datetime | None:
        """Until when somebody is not to be disturbed now; None: they are, or it is not known. Waits for nothing."""
        with self._lock:
            known = self._known.get(id)
            due = known is None or self._clock() >= known.asked_again
            ask = due and id not in self._asking and self._clock() >= self._not_before
            if ask:
                self._asking.add(id)
        if ask:
            self._ask(id)
        if known is None or known.start is None or known.end is None:
            return None
        return known.end if known.start <= self._now() < known.end else None

    def _ask(self, id: PersonId) -> None:
        try:
            self._pool.submit(self._answered, id)
        except RuntimeError:  # at the very end
            with self._lock:
                self._asking.discard(id)

    def _answered(self, id: PersonId) -> None:
        try:
            told = self._told(id)
        finally:
            with self._lock:
                self._asking.discard(id)
        with self._lock:
            if told is not None:
                self._known[id] = told

    def _told(self, id: PersonId) -> _Stretch | None:
        """What Slack says; None: it does not, and what was known holds on."""
        try:
            with self._lock:
                if self._clock() < self._not_before:
                    return None  # it said so to one who was asked about before
            answer = calls.call(self._client, "dnd.info", user=id)
        except TryLater as later:
            self._trouble(str(later), later.after.total_seconds())
            return None
        except VoiceError as error:
            if "user_not_" in str(error):  # of this one alone
                return _Stretch(None, None, self._clock() + LATER)
            self._trouble(str(error), LATER)
            return _Stretch(None, None, self._clock() + FRESH)
        with self._lock:
            self._said = ""
            until = self._clock() + fresh(len(self._known) + 1)
        start, end = _instant(answer.get("next_dnd_start_ts")), _instant(answer.get("next_dnd_end_ts"))
        if answer.get("dnd_enabled") is not True or start is None or end is None or end <= start:
            return _Stretch(None, None, until)
        return _Stretch(start, end, until)

    def _trouble(self, what: str, seconds: float) -> None:
        with self._lock:
            self._not_before = self._clock() + seconds
            new, self._said = self._said != what, what
        if new:
            log.warning("do-not-disturb is not known: %s", what)


def fresh(people: int) -> float:
    """Real seconds for which an answer is believed, if so many are asked about again and again."""
    return max(FRESH, people * EACH)


def _instant(value: object) -> datetime | None:
    """A time stamp of Slack's; None: there is none that makes sense."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, OSError, ValueError):
        return None
