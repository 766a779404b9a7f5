"""Slack's rate limits, as buckets: per method, and for chat.postMessage per channel.

Called by the gate for each call. Always counted (`over`: how often a real Slack would have refused); enforced only where a
test or the set-up asks for it. Slack tolerates bursts without saying how long; here a bucket holds one minute's worth, or
four posts of a channel.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

PER_MINUTE = {1: 1, 2: 20, 3: 50, 4: 100}  # calls a minute by tier
POST_BURST = 4  # posts to one channel at once; then one a second
TIERS: dict[str, int] = {
    "apps.connections.open": 3, "bots.info": 3, "chat.delete": 3, "chat.postEphemeral": 4, "chat.update": 3,
    "conversations.history": 3, "conversations.info": 3, "conversations.join": 3, "conversations.list": 2,
    "conversations.members": 4, "conversations.open": 3, "dnd.info": 3, "files.completeUploadExternal": 4,
    "files.getUploadURLExternal": 4, "files.info": 4, "pins.add": 2, "pins.list": 2, "pins.remove": 2,
    "reactions.add": 3, "reactions.remove": 2, "team.info": 3, "users.info": 4, "users.list": 2,
    "users.lookupByEmail": 3, "views.open": 4, "views.publish": 4, "views.push": 4, "views.update": 4,
}  # fmt: skip


@dataclass
class Rates:
    """The buckets of one app in one workspace."""

    enforced: bool = False  # answer 429 above the limit
    over: Counter[str] = field(default_factory=Counter)  # calls above the limit, by method
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)  # key: (tokens left, at unix seconds)

    def wait(self, method: str, channel: str, now: float) -> int | None:
        """Takes a token; None if there was one, else the Retry-After in seconds."""
        if method == "chat.postMessage":
            key, size, per_s = f"{method} {channel}", float(POST_BURST), 1.0
        elif method in TIERS:
            key, size, per_s = method, float(PER_MINUTE[TIERS[method]]), PER_MINUTE[TIERS[method]] / 60
        else:
            return None
        left, at = self._buckets.get(key, (size, now))
        left = min(size, left + max(0.0, now - at) * per_s)
        if left < 1:
            self._buckets[key] = (left, now)
            self.over[method] += 1
            return math.ceil((1 - left) / per_s)
        self._buckets[key] = (left - 1, now)
        return None
