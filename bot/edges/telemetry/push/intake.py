"""Who speaks, how often, and what is kept of it. Called by the router; it must not judge a reading.

A guest is not trusted: its token names its machine, its words are about that machine alone, and it can say only so much.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from fastapi.concurrency import run_in_threadpool

from bot.domain.model import MachineId, Reading
from bot.domain.speakers import two_speak
from bot.edges.telemetry.push.told import to_reading
from bot.edges.telemetry.push.wire import ReadingIn
from bot.service.ports import Heard, StoreTrouble

BURST, A_SECOND = 60.0, 20.0
"""Readings that a machine may send at once, and that it may send a real second in the long run. Far above one a minute: in a
demo the minutes fly."""


AT_ONCE = 64
"""Readings that are kept in one transaction at most: whoever wants to write meanwhile does not wait long."""


class Guests(Protocol):
    """What the intake needs of the store (a part of ``service.ports.Store``)."""

    def machine_of_token(self, digest: str) -> MachineId | None:
        """Whose token it is."""
        ...

    def hear(self, words: Sequence[tuple[str, Reading]]) -> list[Heard | None]:
        """Keep readings in one transaction; None: the token is not of that machine any more."""
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


def digest_in(authorization: str) -> str | None:
    """The digest of the token in a header; None: there is none."""
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    return digest_of(token) if scheme.lower() == "bearer" and 0 < len(token) <= 512 else None


@dataclass(frozen=True)
class _Word:
    """A reading that waits to be kept."""

    digest: str
    reading: Reading
    heard: asyncio.Future[Heard | None]


class Intake:
    """Takes readings. All of it belongs to the event loop of the web server; the store is asked on other threads.

    What comes while a transaction is being committed is kept together in the next one: a disk that takes 10 ms a commit does not
    make a thousand machines wait for ten seconds, nor commands between them.
    """

    def __init__(self, store: Guests, now: Callable[[], datetime], wake: Callable[[], None]) -> None:
        """``wake``: called after a reading that changes something a round would act on."""
        self._store, self._now, self._wake = store, now, wake
        self._buckets: dict[str, Bucket] = {}  # by token: one that is void takes nothing from the one that replaced it
        self._answers: dict[MachineId, _Answer] = {}
        self._known: dict[str, MachineId] = {}  # tokens that were good; asked again where the reading is kept
        self._waiting: deque[_Word] = deque()
        self._keeping: asyncio.Task[None] | None = None

    async def machine(self, digest: str) -> MachineId | None:
        """Whose word it is; None: nobody's. Whether that still holds is asked again in :meth:`take`."""
        if digest not in self._known:
            machine = await run_in_threadpool(self._store.machine_of_token, digest)
            if machine is None:
                return None
            self._known[digest] = machine
        return self._known[digest]

    def wait(self, digest: str) -> float:
        """0.0, or the real seconds for which a machine has said too much with this token, which is good."""
        return self._buckets.setdefault(digest, Bucket()).take()

    def doubt(self, digest: str) -> None:
        """Nothing was kept of what came with this token: whether it is still good is asked again the next time."""
        self._known.pop(digest, None)

    async def take(self, digest: str, machine: MachineId, said: ReadingIn) -> list[str] | None:
        """Keep a reading; the orders for the guest. None: the token is not good any more.

        :raises StoreTrouble: it cannot be kept now
        """
        word = _Word(digest, to_reading(machine, said, self._now()), asyncio.get_running_loop().create_future())
        self._waiting.append(word)
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep())
        heard = await word.heard
        if heard is None:
            self.doubt(digest)
            self._buckets.pop(digest, None)
            return None
        if heard.now is not None and matters(heard.before, heard.now):
            self._wake()
        return self._answer(machine, said, heard.orders)

    def _answer(self, machine: MachineId, said: ReadingIn, orders: Sequence[str]) -> list[str]:
        last, same = self._answers.get(machine), (said.boot_id, said.seq)
        if last is not None and (last.boot_id, last.seq) == same:
            orders = tuple(dict.fromkeys((*last.orders, *orders)))
        self._answers[machine] = _Answer(*same, tuple(orders))
        return list(orders)

    async def _keep(self) -> None:
        """Keeps what waits, until nothing does."""
        try:
            while self._waiting:
                await self._keep_these([self._waiting.popleft() for _ in range(min(len(self._waiting), AT_ONCE))])
        finally:
            self._keeping = None

    async def _keep_these(self, words: Sequence[_Word]) -> None:
        asked = run_in_threadpool(self._store.hear, [(word.digest, word.reading) for word in words])
        (heard,) = await asyncio.gather(asked, return_exceptions=True)
        if isinstance(heard, BaseException):
            if len(words) > 1 and not isinstance(heard, StoreTrouble):
                for word in words:  # one of them is to blame: the others are kept
                    await self._keep_these([word])
                return
            for word in words:
                if not word.heard.done():
                    word.heard.set_exception(heard)
            return
        for word, one in zip(words, heard, strict=True):
            if not word.heard.done():  # else its sender went away
                word.heard.set_result(one)


def matters(before: Reading | None, now: Reading) -> bool:
    """Whether a round might act otherwise because of it."""
    if before is None:
        return True
    return any(a != b for a, b in zip(_facts(before), _facts(now), strict=True))


def _facts(r: Reading) -> tuple[object, ...]:
    said = (r.done_at, r.check_at, two_speak(r, r.at))
    return (r.boot_id, r.cards, bool(r.jobs) or r.computes, bool(r.logins), r.faults, r.stopping, r.no_driver, *said)
