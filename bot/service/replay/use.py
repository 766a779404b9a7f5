"""What people of a replay used of hours for which others waited, and how much later that puts their next request.

The rule is the product's (``order``), which charges a step at a time; here accounts go from event to event. Asked by ``play``.
"""

from __future__ import annotations

import math
from collections import Counter
from datetime import timedelta

from bot.domain import order
from bot.domain.policy import Policy


class Use:
    """The accounts of one play. Hours of cards."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._rate = math.log(2) * timedelta(hours=1) / policy.use_half_life  # of decay, an hour
        self._used: dict[str, float] = {}
        self._at = 0.0
        self._has: Counter[str] = Counter()  # cards at work
        self._wants: Counter[str] = Counter()  # cards that are waited for

    def until(self, now: float, free: int) -> None:
        """Bring all accounts to now. So many cards lay free since the last time."""
        if now <= self._at:
            return
        wanted = self._wants.total()
        if self._used or wanted > free:
            left = order.kept(timedelta(seconds=now - self._at), self._policy)
            for user in self._used:
                self._used[user] *= left
            if wanted > free:
                self._charge(free, wanted, (1 - left) / self._rate)
        self._at = now

    def _charge(self, free: int, wanted: int, hours: float) -> None:
        """So many hours go by; decayed as they do."""
        for user, cards in self._has.items():
            if cards and wanted - self._wants[user] > free:
                self._used[user] = self._used.get(user, 0.0) + cards * hours

    def waits(self, user: str, cards: int) -> None:
        """So many more are waited for; fewer, if negative."""
        self._wants[user] += cards

    def has(self, user: str, cards: int) -> None:
        """So many more are at work; fewer, if negative."""
        self._has[user] += cards

    def handicap(self, user: str) -> float:
        """By how many seconds a request of somebody is put later that is made now."""
        hours = {u: used for u, used in self._used.items() if used >= order.LEAST}
        who = {*hours, *(u for u, cards in self._wants.items() if cards > 0), user}
        by = order.handicap(hours.get(user, 0.0), sum(hours.values()) / len(who), self._policy)
        return by.total_seconds()
