"""The way in: ``POST /v1/readings`` with a machine's token, and what each is answered. Handed to the web server by wiring."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from bot.edges.telemetry.push.intake import Guests, Intake, digest_in
from bot.edges.telemetry.push.wire import ReadingIn, faults
from bot.service.ports import StoreTrouble

log = logging.getLogger("gpubot.readings")

GONE_AWAY = 499
"""Nobody reads this answer: the sender closed the connection before all was sent."""

OUTCOMES = {
    200: "taken", 401: "wrong_token", 408: "too_slow", 413: "too_large", 422: "malformed", 429: "too_often", GONE_AWAY: "broken_off", 503: "not_kept",
}  # fmt: skip
"""What became of a reading, by the status of its answer."""

BODY_MAX = 64 * 1024
"""Bytes of one reading."""

BODY_S = 20.0
"""Real seconds in which all of it must have come: who sends a byte a second holds a connection for ever else."""


def router(
    store: Guests,
    now: Callable[[], datetime],
    wake: Callable[[], None],
    count: Callable[[str], None] = lambda _outcome: None,
    body_s: float = BODY_S,
) -> APIRouter:
    """``count`` is told what became of each (see OUTCOMES); ``body_s``: real seconds in which a body must be there.

    ``POST /v1/readings``: 200 with orders, 401 bad token, 408 too slow, 413 too large, 422 malformed, 429 too often, 503 not kept.
    """
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
        digest = digest_in(request.headers.get("authorization", ""))
        machine = await intake.machine(digest) if digest is not None else None
        if digest is None or machine is None:
            return _nobody()
        if intake.wait(digest) > 0:
            return _no(429, "too often", {"retry-after": "1"})
        said = await _said(request, body_s)
        if isinstance(said, JSONResponse):
            intake.doubt(digest)
            return said
        orders = await intake.take(digest, machine, said)
        return _nobody() if orders is None else JSONResponse({"orders": orders})

    return made


async def _said(request: Request, body_s: float) -> ReadingIn | JSONResponse:
    """What was sent; or the answer to what cannot be taken."""
    try:
        async with asyncio.timeout(body_s):
            body = await _body(request)
    except TimeoutError:
        return _no(408, f"too slow: all of it within {body_s:g} s", {"connection": "close"})
    if body is None:
        return _no(413, f"too large: at most {BODY_MAX} bytes", {"connection": "close"})
    try:
        return ReadingIn.model_validate_json(body)
    except ValidationError as error:
        return _no(422, faults(error))


async def _body(request: Request) -> bytes | None:
    """The body; None if it is larger than allowed, of which no more than that is read."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_MAX:
            return None
        parts.append(part)
    return b"".join(parts)


def _nobody() -> JSONResponse:
    return _no(
        401, "no machine has this token; an admin makes one with `machine token`", {"www-authenticate": "Bearer"}
    )


def _no(status: int, detail: object, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers)
