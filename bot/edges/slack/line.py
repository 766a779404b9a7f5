"""One Socket Mode line over websocket-client: open, read, ack, replace, close.

Used by ``link``. The SDK's client on the same library replaces a connection by closing it first and looking every half second whether
another one is to be opened; its watchdog runs before the first connection stands and opens a second one beside it. This one keeps the
old connection until the new one said hello, notices a drop at once, and ends quickly.

It carries envelopes and knows nothing of what is in them. Each connection is read by a thread of its own; envelopes are handled in a
pool; one keeper thread makes the connections.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import websocket

from bot.edges.slack.client import is_loopback
from bot.service.causes import cause

log = logging.getLogger(__name__)

PING_S = 5.0
"""Real seconds of silence after which the other side is asked for a sign of life."""

SILENT_S = 15.0
"""Real seconds of silence after which a connection counts as dropped."""

HELLO_S = 10.0
"""Real seconds for a connection to stand."""

FAREWELL_S = 10.0
"""Real seconds for which a replaced connection is still read: Slack closes it, and may have sent something meanwhile."""

ACK_S = 3.0
"""Real seconds for which Slack waits for an ack. One that was sent on a connection which then ended is sent again on the next: nobody can
tell whether it was read before the end, and Slack takes no notice of an ack that it has."""

STALE_S = 5.0
"""Real seconds for which Slack may count a connection of ours that has ended."""

PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Real seconds before each further try to connect; the last one repeats."""

OTHERS = (
    "%d other connection(s) of this Slack app are open: another process gets some of what people say; "
    "stop it, or give it an app of its own"
)

Envelope = dict[str, Any]
BROKEN = (websocket.WebSocketException, OSError, ValueError, AttributeError)
"""What a connection raises that ends, also if it is closed by another thread meanwhile."""


def _straight(url: str) -> dict[str, Any]:
    """For an address on this machine a socket of our own: the library would go through a proxy of the environment."""
    parts = urlsplit(url)
    if parts.scheme != "ws" or not is_loopback(url):
        return {}
    return {"socket": socket.create_connection((parts.hostname, parts.port or 80), HELLO_S)}


class Connection:
    """One web socket."""

    def __init__(self, url: str, line: Line) -> None:
        """Connects, and says nothing yet; raises what the library raises."""
        self._line = line
        self._socket = websocket.create_connection(url, timeout=HELLO_S, enable_multithread=True, **_straight(url))
        self._socket.settimeout(PING_S)
        self.hello = threading.Event()
        self.ended = threading.Event()
        self.replaced = False  # another one took over
        self._thread = threading.Thread(target=self._read, name="slack-read", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def send(self, text: str) -> None:
        """Raises what the library raises."""
        self._socket.send(text)

    def leave(self) -> None:
        """Say goodbye; what is on its way is still read, until the other side closes or is silent."""
        with contextlib.suppress(*BROKEN):
            self._socket.send_close()

    def close(self) -> None:
        """Say goodbye, and wake the reader."""
        with contextlib.suppress(*BROKEN):
            self._socket.send_close()
        raw = self._socket.sock
        if raw is not None:
            with contextlib.suppress(*BROKEN):
                raw.shutdown(socket.SHUT_RDWR)

    def join(self, patience: float) -> None:
        """Wait for the reader."""
        self._thread.join(patience)

    def _read(self) -> None:
        heard = time.monotonic()
        try:
            while True:
                try:
                    opcode, data = self._socket.recv_data(control_frame=True)
                except websocket.WebSocketTimeoutException:
                    if time.monotonic() - heard > SILENT_S:
                        log.warning("Slack has been silent for %.0f s: a new connection is made", SILENT_S)
                        return
                    self._socket.ping()
                    continue
                heard = time.monotonic()
                if opcode == websocket.ABNF.OPCODE_CLOSE:
                    return
                if opcode == websocket.ABNF.OPCODE_TEXT:
                    self._line.heard(self, data)
        except BROKEN as error:
            if not self.replaced and not self._line.closing.is_set():
                log.info("the connection to Slack ended (%s)", cause(error))
        finally:
            with contextlib.suppress(*BROKEN):
                self._socket.shutdown()  # type: ignore[no-untyped-call]
            self.ended.set()
            self._line.lost(self)


class Line:
    """The connection to Slack, whichever it is just now."""

    def __init__(self, address: Callable[[], str], handle: Callable[[Envelope], Any], threads: int) -> None:
        """``address``: a fresh one-time URL, raises in plain words; ``handle``: an envelope to the payload of its ack, False for none."""
        self._address, self._handle = address, handle
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="slack")
        self._lock = threading.Lock()  # guards the four below
        self._all: list[Connection] = []
        self._ended: deque[float] = deque(maxlen=20)  # when connections ended (steady seconds)
        self._acks: deque[tuple[float, str]] = deque(maxlen=500)  # of late: when (steady seconds), and which
        self._current: Connection | None = None
        self._wanted = threading.Event()
        self.closing = threading.Event()
        self._keeper: threading.Thread | None = None

    # ---- for link

    def open(self) -> None:
        """Connect. Returns when Slack said hello; raises what ``address`` raises, OSError or WebSocketException."""
        self._connect()
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep, name="slack-keep", daemon=True)
            self._keeper.start()

    def healthy(self) -> bool:
        """Whether a connection stands."""
        current = self._current
        return current is not None and current.hello.is_set() and not current.ended.is_set()

    def renew(self) -> None:
        """Make a new connection in place of the present one."""
        self._wanted.set()

    def close(self) -> None:
        """End all threads; envelopes that are being handled are finished beside."""
        self.closing.set()
        self._wanted.set()
        with self._lock:
            connections = list(self._all)
        for connection in connections:
            connection.close()
        for connection in connections:
            connection.join(1.0)
        if self._keeper is not None:
            self._keeper.join(1.0)
        self._pool.shutdown(wait=False, cancel_futures=True)

    # ---- for connections

    def heard(self, connection: Connection, data: bytes) -> None:
        """A message of Slack's."""
        try:
            message = json.loads(data)
        except ValueError:
            log.warning("Slack sent something that is no JSON (%d bytes)", len(data))
            return
        kind = message.get("type") if isinstance(message, dict) else None
        if kind == "hello":
            self._hello(connection, message)
        elif kind == "disconnect":
            self._disconnect(connection, message)
        elif kind and message.get("envelope_id"):
            with contextlib.suppress(RuntimeError):  # at the very end the pool takes nothing more
                self._pool.submit(self._answer, connection, message)

    def lost(self, connection: Connection) -> None:
        """A connection ended."""
        with self._lock:
            if connection in self._all:
                self._all.remove(connection)
                self._ended.append(time.monotonic())
            current = connection is self._current
        if current and not self.closing.is_set():
            self._wanted.set()

    # ---- inside

    def _hello(self, connection: Connection, message: dict[str, Any]) -> None:
        connection.hello.set()
        told = message.get("num_connections")
        with self._lock:
            ours = len(self._all) + sum(time.monotonic() - at < STALE_S for at in self._ended)
        others = told - ours if isinstance(told, int) else 0
        if others > 0:
            log.warning(OTHERS, others)

    def _disconnect(self, connection: Connection, message: dict[str, Any]) -> None:
        reason = message.get("reason")
        if reason == "link_disabled":
            log.error("Socket Mode was switched off in the app's settings at Slack: switch it on again")
        else:
            log.info("Slack asks for a new connection (%s)", reason)
        if connection is self._current or self._current is None:
            self._wanted.set()

    def _answer(self, connection: Connection, envelope: Envelope) -> None:
        payload = self._handle(envelope)
        if payload is False:
            return
        ack: dict[str, Any] = {"envelope_id": envelope["envelope_id"]}
        text = json.dumps(ack if payload is None else {**ack, "payload": payload})
        # An ack may come on another connection. One that is being replaced may be closed before it is read there: so on both. If there is no
        # other yet, the next one sends it again.
        with self._lock:
            self._acks.append((time.monotonic(), text))
            current = self._current
        for way in [connection] if current is connection else [connection, current]:
            self._sent(way, text)

    def _sent(self, connection: Connection | None, text: str) -> bool:
        """Whether it could be sent there."""
        if connection is None:
            return False
        try:
            connection.send(text)
        except BROKEN:
            return False
        return True

    def _connect(self) -> None:
        """A new connection; the old one is left to Slack to close."""
        fresh = Connection(self._address(), self)
        with self._lock:
            self._all.append(fresh)  # before its hello, which says how many there are
        fresh.start()
        if not fresh.hello.wait(HELLO_S) or self.closing.is_set():
            fresh.close()
            raise TimeoutError("Slack did not say hello")
        with self._lock:
            old, self._current = self._current, fresh
            while self._acks and time.monotonic() - self._acks[0][0] > ACK_S:
                self._acks.popleft()
            again = [text for _, text in self._acks]  # kept: this connection may end at once too
        for text in again:
            self._sent(fresh, text)
        if fresh.ended.is_set():  # between its hello and here
            self._wanted.set()
        if old is not None and not old.ended.is_set():
            old.replaced = True
            farewell = threading.Timer(FAREWELL_S, old.leave)
            farewell.daemon = True
            farewell.start()

    def _keep(self) -> None:
        """Make a new connection whenever one is wanted, for as long as it takes."""
        while True:
            self._wanted.wait()
            if self.closing.is_set():
                return
            self._wanted.clear()
            self._again()

    def _again(self) -> None:
        for tried in itertools.count():
            pause = PAUSES[min(tried, len(PAUSES) - 1)] * random.uniform(0.8, 1.2)
            if self.closing.wait(pause):
                return
            try:
                self._connect()
            except Exception as error:  # noqa: BLE001 - whatever it is: told, and tried again
                log.warning("no connection to Slack, tried again: %.300s", str(error) or cause(error))
                continue
            log.info("connected to Slack again")
            return
