"""Who speaks, how often, and what is kept of it. Called by the router; it must not judge a reading.

A guest is not trusted: its token names its machine, its words are about that machine alone, and it can say only so much.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from bot.domain.model import MachineId, Reading
from bot.edges.telemetry.push.told import to_reading
from bot.edges.telemetry.push.wire import ReadingIn

BURST, A_SECOND = 60.0, 20.0
"""Readings that a machine may send at once, and that it may send a real second in the long run. Far above one a minute: in a
demo the minutes fly."""


class Guests(Protocol):
    """What the intake needs of the store (a part of ``service.ports.Store``)."""

    def machine_of_token(self, digest: str) -> MachineId | None:
        """Whose token it is."""
        ...

    def take_reading(self, reading: Reading) -> bool:
        """Keep it; False if it is not new."""
        ...

    def readings(self) -> Mapping[MachineId, Reading]:
        """The latest of each machine."""
        ...

    def take_orders(self, machine: MachineId, now: datetime) -> list[str]:
        """What waits for it."""
        ...


@dataclass
class Bucket:
    """How many readings a machine may send now."""

    left: float = BURST
    at: float = field(default_factory=time.monotonic)

    def take(self) -> float:
        """0.0: go on; else the real seconds to wait."""
        now = time.monotonic()
        self.left = min(BURST, self.left + (now - self.at) * A_SECOND)
        self.at = now
        if self.left < 1:
            return (1 - self.left) / A_SECOND
        self.left -= 1
        return 0.0


@dataclass(frozen=True)
class _Answer:
    """What a reading was answered, in case the answer was lost and it is sent again."""

    boot_id: str
    seq: int
    orders: tuple[str, ...]


def digest_of(token: str) -> str:
    """What the store keeps of a token: the hex SHA-256. Found by look-up of the digest, so no comparison tells by its time."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class Intake:
    """Takes readings; safe for threads."""

    def __init__(self, store: Guests, now: Callable[[], datetime], wake: Callable[[], None]) -> None:
        """``wake``: called after a reading that changes something a round would act on."""
        self._store, self._now, self._wake = store, now, wake
        self._lock = threading.Lock()  # guards the two below
        self._buckets: dict[MachineId, Bucket] = {}
        self._answers: dict[MachineId, _Answer] = {}

    def machine(self, authorization: str) -> MachineId | None:
        """Whose word it is, by the header; None: nobody's."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not 0 < len(token) <= 512:
            return None
        return self._store.machine_of_token(digest_of(token))

    def wait(self, machine: MachineId) -> float:
        """0.0, or the real seconds for which this machine has said too much."""
        with self._lock:
            return self._buckets.setdefault(machine, Bucket()).take()

    def take(self, machine: MachineId, said: ReadingIn) -> list[str]:
        """Keep a reading; the orders for the guest."""
        now = self._now()
        before = self._store.readings().get(machine)
        reading = to_reading(machine, said, now)
        if self._store.take_reading(reading) and matters(before, reading):
            self._wake()
        orders = self._store.take_orders(machine, now)
        with self._lock:
            last = self._answers.get(machine)
            if last is not None and (last.boot_id, last.seq) == (said.boot_id, said.seq):
                orders = list(dict.fromkeys((*last.orders, *orders)))
            self._answers[machine] = _Answer(said.boot_id, said.seq, tuple(orders))
        return orders


def matters(before: Reading | None, after: Reading) -> bool:
    """Whether a round might act otherwise because of it."""
    if before is None or after.done_at is not None or after.check is not None:
        return True
    return any(a != b for a, b in zip(_facts(before), _facts(after), strict=True))


def _facts(r: Reading) -> tuple[object, ...]:
    return (r.boot_id, r.cards, bool(r.jobs), bool(r.logins), r.faults, r.stopping, r.no_driver)
