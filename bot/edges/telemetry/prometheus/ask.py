"""One bounded HTTP request: to an exporter, or to a Prometheus server. The home of httpx.

Called by ``source``. Bodies, times and redirects are limited here; whoever is asked is not trusted. What is logged names no credential.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from pathlib import Path

import httpx

PAGE_MAX, ANSWER_MAX = 2 * 1024 * 1024, 32 * 1024 * 1024
"""Bytes of an exporter's page, and of a server's answer."""

CONNECT_S, READ_S, WHOLE_S = 3.0, 5.0, 10.0
"""Real seconds to connect, between two parts of a body, and for all of it: whoever trickles is cut off."""


class NoAnswer(Exception):
    """There is no answer that can be used; the text says why. ``outcome`` is for counting."""

    def __init__(self, outcome: str, why: str) -> None:
        """``outcome``: ``no_answer``, ``refused``, ``too_large`` or ``malformed``."""
        super().__init__(why)
        self.outcome = outcome


class Asker:
    """Asks; safe for threads."""

    def __init__(self, ca_file: Path | None = None, real: Callable[[], float] = time.monotonic) -> None:
        """``ca_file``: PEM of the authority to trust; None: the system's."""
        trusted = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        self._real = real
        self._client = httpx.Client(
            verify=trusted,
            follow_redirects=False,
            trust_env=False,  # a proxy of the environment is for other things, and would see the credentials
            timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
            headers={"accept-encoding": "identity"},  # so that a small body cannot unfold into a large one
        )

    def get(
        self, url: str, most: int, params: dict[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> bytes:
        """The body of a 200, at most ``most`` bytes.

        :raises NoAnswer: anything else
        """
        end = self._real() + WHOLE_S
        try:
            with self._client.stream("GET", url, params=params, headers=headers) as answer:
                if answer.status_code != 200:
                    more = ", and redirects are not followed" if answer.is_redirect else ""
                    raise NoAnswer("refused", f"answered {answer.status_code}{more}")
                if answer.headers.get("content-encoding", "identity") != "identity":
                    raise NoAnswer("malformed", "answered in a packed form that was not asked for")
                return self._body(answer, most, end)
        except httpx.HTTPError as error:
            raise NoAnswer("no_answer", f"gave no answer ({type(error).__name__})") from None
        except (httpx.InvalidURL, UnicodeError):
            raise NoAnswer("no_answer", "has no address that can be asked") from None

    def _body(self, answer: httpx.Response, most: int, end: float) -> bytes:
        parts, size = [], 0
        for part in answer.iter_raw():
            size += len(part)
            if size > most:
                raise NoAnswer("too_large", f"answered more than {most} bytes")
            if self._real() > end:
                raise NoAnswer("no_answer", f"took more than {WHOLE_S:.0f} s")
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()
