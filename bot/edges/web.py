"""The web server: health, readiness, numbers, and the routers that wiring hands in. FastAPI and uvicorn live here.

Wiring builds the app with :func:`build` and serves it with :class:`Server`, on a thread, on loopback unless there is a
certificate. It asks everything through callables; it must not know who answers.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import APIRouter, FastAPI, HTTPException, Query
from fastapi.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("gpubot.web")

BODY_MAX = 1024 * 1024
"""Bytes of a request's body that any route may be sent; routes have smaller limits of their own."""

START_S, STOP_S = 10.0, 5.0
"""Real seconds for the server to come up, and for open requests to end."""

Facts = Mapping[str, Any]
"""What is answered as JSON."""


class WebError(Exception):
    """The server cannot be had as asked; the text says why and what to do."""


class TooLarge(Exception):
    """A body beyond the limit."""


def build(
    routers: Sequence[APIRouter],
    health: Callable[[], tuple[bool, Facts]],
    ready: Callable[[datetime | None], tuple[bool, Facts]],
    metrics: Callable[[], bytes] | None = None,
) -> FastAPI:
    """The app.

    :param routers: of other edges: readings, Slack's HTTP mode
    :param health: False if the process should be started anew; and the facts (Slack, vCenter, database)
    :param ready: whether the bot can do all its work now; with an instant, whether a good round began after it, the outbox is
        empty and no call is in flight; else what is missing
    :param metrics: the numbers in Prometheus's text format
    """
    app = FastAPI(title="gpubot", docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/healthz")
    def healthz() -> JSONResponse:
        well, facts = health()
        return JSONResponse({"ok": well, **facts}, 200 if well else 503)

    @app.get("/readyz")
    def readyz(after: Annotated[str | None, Query(max_length=64)] = None) -> JSONResponse:
        done, facts = ready(None if after is None else _instant(after))
        return JSONResponse({"ok": done, **facts}, 200 if done else 503)

    if metrics is not None:

        @app.get("/metrics")
        def numbers() -> Response:
            return Response(metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")

    for router in routers:
        app.include_router(router)
    app.add_middleware(BodyLimit, most=BODY_MAX)
    return app


def _instant(text: str) -> datetime:
    """ISO with a zone; a `+` that was sent unquoted has come as a space."""
    try:
        at = datetime.fromisoformat(text.strip().replace(" ", "+") if "T" in text else text)
    except ValueError as error:
        raise HTTPException(422, "after= is no time; write it like 2026-01-01T12:00:00Z") from error
    if at.tzinfo is None:
        raise HTTPException(422, "after= has no zone; write it like 2026-01-01T12:00:00Z")
    return at


class BodyLimit:
    """Ends a request whose body is larger than allowed with 413, whether it says its length or not."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        """``most`` in bytes."""
        self.app, self.most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.most:
            await self._refuse(scope, receive, send)
            return
        seen, begun = 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.most:
                raise TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, counted, noted)
        except TooLarge:
            if begun:
                raise
            await self._refuse(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = JSONResponse({"detail": f"too large: at most {self.most} bytes"}, 413, {"connection": "close"})
        await answer(scope, receive, send)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Server:
    """Serves an app from a thread, from ``start`` to ``stop``."""

    def __init__(
        self, app: FastAPI, host: str = "127.0.0.1", port: int = 0, cert: Path | None = None, key: Path | None = None
    ):
        """
        :param port: 0 takes a free one
        :param cert: PEM file with the certificate and its chain; with ``key`` the server speaks HTTPS alone
        :raises WebError: plain HTTP beyond loopback, a port that is taken, or a certificate that does not load
        """
        if cert is None and not is_loopback(host):
            raise WebError(f"plain HTTP on {host} is refused: set cert_file and key_file in [web], or bind 127.0.0.1")
        self._socket = _listen(host, port)
        bound = self._socket.getsockname()
        self.host, self.port = host, int(bound[1])
        self.url = f"{'https' if cert else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"
        try:
            config = uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=int(STOP_S),
                ssl_certfile=cert,
                ssl_keyfile=key,
            )
            config.load()
        except (OSError, ssl.SSLError) as error:
            self._socket.close()
            raise WebError(f"the certificate {cert} does not load with its key: {error}") from error
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except Exception:  # told here; `start` sees that it did not come up
            log.exception("the web server failed")

    def start(self) -> None:
        """Serve; returns when it answers.

        :raises WebError: it does not come up
        """
        self._thread.start()
        end = time.monotonic() + START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise WebError(f"the web server on {self.url} does not come up; see the log")
            time.sleep(0.005)

    def stop(self) -> None:
        """End open requests and close the port."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(STOP_S + 2)
            if self._thread.is_alive():
                self._server.force_exit = True
                self._thread.join(STOP_S)
        self._socket.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
        taken.listen(128)
    except OSError as error:
        taken.close()
        raise WebError(f"cannot listen on {host}:{port}: {error.strerror}; choose another [web] bind") from error
    return taken
