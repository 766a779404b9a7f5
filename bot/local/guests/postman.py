"""How a simulated guest sends its readings to the bot: plain HTTP, in order, patient while the bot is away.

Called by ``guest``. One small thread a guest that is on and has been given an address. Says nothing when the bot does
not answer: the next try follows.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

KEEP = 60  # unsent readings that are kept; older ones are lost, as an agent's small buffer would lose them
RETRY_S = 0.5  # real seconds before the first retry, doubled up to 5
TIMEOUT_S = 5.0  # real seconds for one post


class Postman:
    """Sends readings to ``url`` (``http://127.0.0.1:8080/v1/readings`` or its root) with a machine's token."""

    def __init__(
        self, url: str, token: str, orders: Callable[[list[str]], None], now: Callable[[], float] = time.monotonic
    ) -> None:
        """
        :param orders: called with what the bot orders, in this thread
        :param now: seconds, by which a reading tells how long it waited here
        """
        split = urlsplit(url)
        self._host, self._port = split.hostname or "127.0.0.1", split.port or 80
        self._path = split.path if split.path not in ("", "/") else "/v1/readings"
        self._token, self._orders, self._now = token, orders, now
        self._cond = threading.Condition()
        self._queue: deque[tuple[float, dict[str, Any]]] = deque(maxlen=KEEP)  # made when, and what
        self._closed = False
        self._ready = threading.Event()  # set by close: ends a pause at once
        self.sent, self.refused, self.away = 0, 0, 0  # readings taken, refused with 4xx, tries that met nobody
        self.last_status: int | None = None  # HTTP status of the last answer; None: none yet
        threading.Thread(target=self._run, name="guest-postman", daemon=True).start()

    def post(self, reading: dict[str, Any]) -> None:
        """Send ``reading`` after those that wait."""
        with self._cond:
            self._queue.append((self._now(), reading))
            self._cond.notify_all()

    @property
    def waiting(self) -> int:
        """Readings that the bot has not answered yet."""
        with self._cond:
            return len(self._queue)

    def close(self) -> None:
        """Send nothing more: the machine is off."""
        with self._cond:
            self._closed = True
            self._ready.set()
            self._cond.notify_all()

    def _run(self) -> None:
        pause = RETRY_S
        while (first := self._first()) is not None:
            made, reading = first
            status, orders = self._send(reading | {"age_s": round(max(0.0, self._now() - made), 3)})
            if status is None or status == 429 or status >= 500:
                self.away += 1
                self._ready.wait(pause)
                pause = min(pause * 2, 5.0)
                continue
            pause, self.last_status = RETRY_S, status
            if status == 200:
                self.sent += 1
                self._orders(orders)
            else:
                self.refused += 1
            with self._cond:  # only now nothing more follows from it
                if self._queue and self._queue[0] is first:
                    self._queue.popleft()

    def _first(self) -> tuple[float, dict[str, Any]] | None:
        with self._cond:
            while not self._queue and not self._closed:
                self._cond.wait()
            return None if self._closed else self._queue[0]

    def _send(self, reading: dict[str, Any]) -> tuple[int | None, list[str]]:
        link = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            link.request("POST", self._path, json.dumps(reading), headers)
            answer = link.getresponse()
            body = answer.read()
            return answer.status, _orders(body) if answer.status == 200 else []
        except (OSError, http.client.HTTPException):
            return None, []
        finally:
            link.close()


def _orders(body: bytes) -> list[str]:
    try:
        orders = json.loads(body)["orders"]
    except (ValueError, KeyError, TypeError):
        return []
    return [o for o in orders if isinstance(o, str)] if isinstance(orders, list) else []
