"""What can go wrong on request: held, slow, refused and rate-limited calls, lost acks.

Called by the server around each Web API call and by the drive endpoints that arm it. A fault is armed for a number of
calls and is gone when they are spent. A held call waits inside the server until it is released or dropped, so that a test
can kill the bot in exactly that moment.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from bot.local.slack.model import Json

# Calls that change what people see; the n-th of these can be held.
MUTATING = frozenset(("chat.postMessage", "chat.update", "chat.postEphemeral", "chat.delete", "conversations.open",
                      "pins.add", "pins.remove", "views.open", "views.push", "views.update", "views.publish",
                      "reactions.add", "reactions.remove", "files.completeUploadExternal", "response_url"))  # fmt: skip


@dataclass
class Hold:
    """One call to be held, and what became of it."""

    nth: int  # counts down with each matching call; held when it reaches 0
    when: str  # before | after its execution
    methods: frozenset[str]  # which calls count
    method: str | None = None  # the held call
    args: Json = field(default_factory=dict)  # its arguments
    reached: asyncio.Event = field(default_factory=asyncio.Event)  # a call is being held
    resolved: asyncio.Event = field(default_factory=asyncio.Event)  # released or dropped
    drop: bool = False  # the caller gets no answer: its connection is cut; not executed if held before

    async def wait(self) -> bool:
        """Holds the call; whether it may go on."""
        self.reached.set()
        await self.resolved.wait()
        return not self.drop

    def to_drive(self) -> Json:
        """For the drive."""
        return {"nth": self.nth, "when": self.when, "held": self.reached.is_set() and not self.resolved.is_set(),
                "resolved": self.resolved.is_set(), "method": self.method, "args": self.args}  # fmt: skip


@dataclass
class Faults:
    """All armed faults."""

    hold: Hold | None = None
    rate_limited: dict[str, tuple[int, Any]] = field(default_factory=dict)  # method: (calls left, Retry-After in s)
    refused: dict[str, tuple[int, Any]] = field(default_factory=dict)  # method: (calls left, error name)
    slow: dict[str, tuple[int, Any]] = field(default_factory=dict)  # method: (calls left, seconds)
    broken: dict[str, tuple[int, Any]] = field(default_factory=dict)  # method: (calls left, HTTP status of 5xx)
    lose_acks: int = 0  # acks still to be ignored
    double: int = 0  # envelopes of events still to be delivered twice

    def arm_hold(self, nth: int, when: str, methods: frozenset[str]) -> Hold:
        """Arms a hold in place of an older one, which is released."""
        if self.hold is not None:
            self.hold.resolved.set()
        self.hold = Hold(nth, when, methods or MUTATING)
        return self.hold

    def claim(self, method: str, args: Json) -> Hold | None:
        """The hold, if this call is the one it waits for."""
        hold = self.hold
        if hold is None or hold.reached.is_set() or method not in hold.methods:
            return None
        hold.nth -= 1
        if hold.nth > 0:
            return None
        hold.method, hold.args = method, args
        return hold

    def spend(self, table: dict[str, tuple[int, Any]], method: str) -> Any:
        """The fault's value if it is armed for this method (or for `*`), using up one call; else None."""
        for key in (method, "*"):
            if key in table:
                left, value = table[key]
                if left <= 1:
                    del table[key]
                else:
                    table[key] = (left - 1, value)
                return value
        return None

    def clear(self) -> None:
        """Disarms everything and releases what is held."""
        if self.hold is not None:
            self.hold.resolved.set()
        self.hold = None
        self.lose_acks = self.double = 0
        for table in (self.rate_limited, self.refused, self.slow, self.broken):
            table.clear()
