"""One bounded HTTP request: to an exporter, or to a Prometheus server. The home of httpx.

Called by ``source``. Bodies, times and redirects are limited here; whoever is asked is not trusted. What is logged names no credential.
"""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import httpx

PAGE_MAX, ANSWER_MAX = 2 * 1024 * 1024, 32 * 1024 * 1024
"""Bytes of an exporter's page, and of a server's answer."""

CONNECT_S, READ_S, WHOLE_S = 3.0, 5.0, 10.0
"""Real seconds to connect, between two parts of an answer, and for all of it: whoever trickles is cut off."""


class NoAnswer(Exception):
    """There is no answer that can be used; the text says why. ``outcome`` is for counting."""

    def __init__(self, outcome: str, why: str) -> None:
        """``outcome``: ``no_answer``, ``refused``, ``too_large`` or ``malformed``."""
        super().__init__(why)
        self.outcome = outcome


class _Deadline:
    """Ends the connection of one request when its time is over: time-outs of httpx begin anew with each byte, also of headers."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._socket: socket.socket | None = None  # our own handle of the connection
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            if self._socket is not None:
                self._socket.close()
                self._socket = None

    def trace(self, event: str, told: dict[str, Any]) -> None:
        """Called by httpx at each step of the request."""
        if event == "connection.connect_tcp.complete":
            with self._lock:
                self._socket = told["return_value"].get_extra_info("socket").dup()
            if self.over:
                self._end()

    def _end(self) -> None:
        with self._lock:
            self.over = True
            if self._socket is not None:
                try:
                    self._socket.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it is over already


class Asker:
    """Asks; safe for threads."""

    def __init__(self, ca_file: Path | None = None, whole_s: float = WHOLE_S) -> None:
        """``ca_file``: PEM of the authority to trust; None: the system's. ``whole_s``: real seconds for all of an answer."""
        trusted = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        self._whole_s = whole_s
        self._client = httpx.Client(
            verify=trusted,
            follow_redirects=False,
            trust_env=False,  # a proxy of the environment is for other things, and would see the credentials
            timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
            limits=httpx.Limits(
                max_keepalive_connections=0
            ),  # one connection, one request: its end is that of the other
            headers={"accept-encoding": "identity"},  # so that a small body cannot unfold into a large one
        )

    def get(
        self, url: str, most: int, params: dict[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> bytes:
        """The body of a 200, at most ``most`` bytes.

        :raises NoAnswer: anything else
        """
        with _Deadline(self._whole_s) as deadline:
            try:
                body = self._asked(url, most, deadline, params, headers)
            except NoAnswer:
                if not deadline.over:
                    raise
            if deadline.over:  # what came by then may look like all of it
                raise NoAnswer("no_answer", f"took more than {self._whole_s:g} s")
            return body

    def _asked(
        self,
        url: str,
        most: int,
        deadline: _Deadline,
        params: dict[str, str] | None,
        headers: dict[str, str] | None,
    ) -> bytes:
        more: dict[str, Any] = {"trace": deadline.trace}
        try:
            with self._client.stream("GET", url, params=params, headers=headers, extensions=more) as answer:
                if answer.status_code != 200:
                    why = ", and redirects are not followed" if answer.is_redirect else ""
                    raise NoAnswer("refused", f"answered {answer.status_code}{why}")
                if answer.headers.get("content-encoding", "identity") != "identity":
                    raise NoAnswer("malformed", "answered in a packed form that was not asked for")
                return _body(answer, most)
        except httpx.HTTPError as error:
            raise NoAnswer("no_answer", f"gave no answer ({type(error).__name__})") from None
        except (httpx.InvalidURL, UnicodeError):
            raise NoAnswer("no_answer", "has no address that can be asked") from None

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()


def _body(answer: httpx.Response, most: int) -> bytes:
    parts, size = [], 0
    for part in answer.iter_raw():
        size += len(part)
        if size > most:
            raise NoAnswer("too_large", f"answered more than {most} bytes")
        parts.append(part)
    return b"".join(parts)
