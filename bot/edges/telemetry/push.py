"""The intake of readings: guests say what they see, and get the orders that wait for them.

``POST /v1/readings`` with a machine's token. Wiring hands the router to the web server. A guest is not trusted: its words
are bounded, its clock is not used, and it can say something about its own machine alone. It must not judge a reading.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Literal, Protocol

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect

from bot.domain.model import Job, Login, MachineId, Reading
from bot.service.ports import StoreTrouble

log = logging.getLogger("gpubot.readings")

GONE_AWAY = 499
"""Nobody reads this answer: the sender closed the connection before all was sent."""

OUTCOMES = {
    200: "taken", 401: "wrong_token", 413: "too_large", 422: "malformed", 429: "too_often", GONE_AWAY: "broken_off", 503: "not_kept",
}  # fmt: skip
"""What became of a reading, by the status of its answer."""

BODY_MAX = 64 * 1024
"""Bytes of one reading."""

BURST, A_SECOND = 60.0, 20.0
"""Readings that a machine may send at once, and that it may send a real second in the long run. Far above one a minute: in a
demo the minutes fly."""

NAME_MAX = 80
"""Characters kept of a name that a guest tells."""

Word = Annotated[str, Field(max_length=500)]


class _Part(BaseModel):
    """A part of a reading: types as they are named, unknown fields ignored (a newer agent may tell more)."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False, frozen=True)


class LoginIn(_Part):
    """Somebody logged in."""

    user: Word
    since: AwareDatetime
    idle_s: Annotated[float, Field(ge=0)] | None = None


class JobIn(_Part):
    """Something that runs."""

    pid: Annotated[int, Field(ge=0)]
    user: Word
    name: Word
    since: AwareDatetime
    gpu: bool


class ProcessIn(_Part):
    """A process on a card."""

    pid: Annotated[int, Field(ge=0)]
    user: Word
    name: Word
    mem_mb: Annotated[float, Field(ge=0)] | None = None


class CardIn(_Part):
    """A card that the guest sees."""

    uuid: Word
    name: Word
    busy_s: Annotated[float, Field(ge=0)] | None = None
    util_max: Annotated[float, Field(ge=0, le=100)] | None = None
    util_mean: Annotated[float, Field(ge=0, le=100)] | None = None
    mem_used_mb: Annotated[float, Field(ge=0)] | None = None
    mem_total_mb: Annotated[float, Field(ge=0)] | None = None
    processes: Annotated[tuple[ProcessIn, ...], Field(max_length=256)] = ()
    fault: Word | None = None


class ReadingIn(_Part):
    """One reading, as it is sent (schema 1)."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    boot_id: Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{1,64}$")]
    seq: Annotated[int, Field(ge=0, le=2**31 - 1)]
    taken: AwareDatetime
    interval_s: Annotated[float, Field(gt=0, le=86400)]
    state: Literal["running", "stopping"] = "running"
    logins: Annotated[tuple[LoginIn, ...], Field(max_length=256)] = ()
    jobs: Annotated[tuple[JobIn, ...], Field(max_length=512)] = ()
    load1: Annotated[float, Field(ge=0)] | None = None
    driver: Word | None = None
    cards: Annotated[tuple[CardIn, ...], Field(max_length=64)] = ()


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
class _Bucket:
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
        self._buckets: dict[MachineId, _Bucket] = {}
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
            return self._buckets.setdefault(machine, _Bucket()).take()

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


def router(
    store: Guests,
    now: Callable[[], datetime],
    wake: Callable[[], None],
    count: Callable[[str], None] = lambda _outcome: None,
) -> APIRouter:
    """``count`` is told what became of each (see OUTCOMES). ``POST /v1/readings``: 200 with orders, 401 bad token, 413 too large, 422 malformed, 429 too often, 503 not kept."""
    intake = Intake(store, now, wake)
    made = APIRouter()

    @made.post("/v1/readings")
    async def readings(request: Request) -> JSONResponse:
        try:
            answered = await answer(request)
        except ClientDisconnect:
            answered = _no(GONE_AWAY, "the sender went away")
        except StoreTrouble as trouble:
            log.error("a reading could not be kept: %s", trouble)
            answered = _no(503, "it cannot be kept just now; send it again", {"retry-after": "30"})
        count(OUTCOMES[answered.status_code])
        return answered

    async def answer(request: Request) -> JSONResponse:
        machine = await run_in_threadpool(intake.machine, request.headers.get("authorization", ""))
        if machine is None:
            return _no(
                401,
                "no machine has this token; an admin makes one with `machine token`",
                {"www-authenticate": "Bearer"},
            )
        wait = intake.wait(machine)
        if wait > 0:
            return _no(429, "too often", {"retry-after": "1"})
        body = await _body(request)
        if body is None:
            return _no(413, f"too large: at most {BODY_MAX} bytes", {"connection": "close"})
        try:
            said = ReadingIn.model_validate_json(body)
        except ValidationError as error:
            return _no(422, faults(error))
        return JSONResponse({"orders": await run_in_threadpool(intake.take, machine, said)})

    return made


async def _body(request: Request) -> bytes | None:
    """The body; None if it is larger than allowed, of which no more than that is read."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_MAX:
            return None
        parts.append(part)
    return b"".join(parts)


def _no(status: int, detail: object, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers)


def faults(error: ValidationError) -> list[dict[str, str]]:
    """What is wrong and where, without repeating what was sent."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return [{"where": ".".join(str(p) for p in f["loc"]) or "body", "what": f["msg"]} for f in found[:20]]


def to_reading(machine: MachineId, said: ReadingIn, now: datetime) -> Reading:
    """The reading in our terms: received now; the guest's times as ages by its own clock, so that it may be wrong."""

    def since(at: datetime) -> datetime:
        age = min(max(said.taken - at, timedelta()), timedelta(days=3650))
        return now - age

    return Reading(
        machine=machine,
        at=now,
        boot_id=said.boot_id,
        seq=said.seq,
        stopping=said.state == "stopping",
        cards=len(said.cards),
        faults=tuple(f"{clean(c.name)}: {clean(c.fault)}" for c in said.cards if c.fault),
        logins=tuple(Login(clean(x.user), since(x.since), _pressed(x, now)) for x in said.logins),
        jobs=tuple(Job(clean(x.user), clean(x.name), since(x.since), x.gpu) for x in said.jobs),
    )


def _pressed(login: LoginIn, now: datetime) -> datetime | None:
    """When a key was last pressed in a session; None: not said."""
    return now - timedelta(seconds=min(login.idle_s, 3650 * 86400.0)) if login.idle_s is not None else None


def clean(text: str) -> str:
    """One short line without control characters."""
    line = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text)
    line = " ".join(line.split())
    return line if len(line) <= NAME_MAX else line[: NAME_MAX - 1] + "…"


def matters(before: Reading | None, after: Reading) -> bool:
    """Whether a round might act otherwise because of it."""
    if before is None:
        return True
    return any(a != b for a, b in zip(_facts(before), _facts(after), strict=True))


def _facts(r: Reading) -> tuple[object, ...]:
    return (r.boot_id, r.cards, bool(r.jobs), bool(r.logins), r.faults, r.stopping)
