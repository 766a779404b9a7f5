"""The demo's clock: written by this program, followed by bot, stand-ins and guests."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from bot.local.demo.processes import DemoError, http_get

STEP = timedelta(minutes=4)
"""The longest jump: shorter than what makes a guest's word stale."""

READY_S = 30.0
"""Real seconds to wait for the bot to have settled after a jump."""


GUESTS_S = 2.0
"""Real seconds to wait for the words of the guests after a jump."""


class Clockwork:
    """Sets virtual time, and waits for the bot to follow."""

    def __init__(self, file: Path, start: datetime, speed: float = 1.0) -> None:
        """``start``: virtual now; ``speed``: virtual seconds a real second."""
        self.file, self.speed = file, speed
        self._real0, self._virtual0 = time.time(), start.timestamp()
        self.web = ""  # http://127.0.0.1:PORT of the bot
        self.guests = ""  # the same of the stand-in vCenter's control side; "" nobody waits for the guests
        self.set(start)

    def now(self) -> datetime:
        """Virtual now."""
        return datetime.fromtimestamp(self._virtual0 + (time.time() - self._real0) * self.speed, UTC)

    def set(self, to: datetime) -> None:
        """Jump: the file is replaced whole."""
        self._real0, self._virtual0 = time.time(), to.timestamp()
        content = {"real0": self._real0, "virtual0": self._virtual0, "speed": self.speed}
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(content))
        os.replace(fresh, self.file)

    def settle(self) -> None:
        """Wait until a good round began after now, nothing waits to be told, and no call is in flight."""
        self.set(self.now())  # a replaced file wakes a round: without it the next one is a whole beat away
        self._rest()

    def _rest(self) -> None:
        """Wait for the round that a replaced file has woken."""
        after, end, why = self.now().isoformat(), time.monotonic() + READY_S, "no answer"
        while time.monotonic() < end:
            try:
                status, why = http_get(f"{self.web}/readyz?after={quote(after)}")
            except OSError as error:
                status, why = 0, str(error)
            if status == 200:
                return
            time.sleep(0.02)
        raise DemoError(f"the bot did not come to rest within {READY_S:.0f} s: {why}")

    def _guests_told(self) -> None:
        """Wait until no guest owes a word, so that none covers two jumps; not for long: some cannot reach the bot."""
        end = time.monotonic() + GUESTS_S
        while self.guests and json.loads(http_get(f"{self.guests}/_drive/owing")[1])["vms"] and time.monotonic() < end:
            time.sleep(0.01)

    def advance(self, amount: timedelta, step: timedelta = STEP) -> None:
        """Let time pass in jumps, each followed by the bot."""
        until = self.now() + amount
        while self.now() < until:
            self.set(min(until, self.now() + min(step, STEP)))
            self._rest()
            self._guests_told()

    def until(self, what: Callable[[], bool], within: timedelta, step: timedelta = timedelta(seconds=30)) -> bool:
        """Let time pass until something holds; whether it did."""
        end = self.now() + within
        while not what():
            if self.now() >= end:
                return False
            self.advance(min(step, end - self.now()), step)
        return True
