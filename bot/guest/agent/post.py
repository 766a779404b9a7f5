"""The way to the bot: a thread that sends what waits in the spool, oldest first, and hands the orders of the answer on.

It never gives up and never hurries: after a failure it waits longer each time, by chance a little more or less, so that a thousand guests do
not come at once when the bot is back. A reading that the bot refuses is dropped alone.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import random
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from bot.guest.agent.clock import Clock, stamp
from bot.guest.agent.settings import Settings, TokenError, read_token
from bot.guest.agent.spool import Item, Spool
from bot.guest.agent.standing import AWAY, NO_TOKEN, REFUSED, STANDING_FILE, TAKEN, Standing
from bot.guest.agent.state import write

log = logging.getLogger("gpubot-agent.post")

TIMEOUT_S = 10.0  # real seconds for each step of a connection
FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 300.0
DENIED_WAIT_S = 300.0  # the token is wrong: a person has to come
ASKED_WAIT_MOST_S = 900.0  # of what the bot asks for
GAP_S = 0.1  # real seconds between two of those that waited
ANSWER_MOST = 64 * 1024
ANSWER_S = 30.0  # real seconds for a whole answer, however it trickles
MISTAKES_MOST = 3  # of our own about one reading, before it is dropped
TRANSIENT = frozenset({408, 425, 429})


@dataclass(frozen=True)
class _Outcome:
    """What became of one try."""

    over: bool  # the reading need not be sent again
    orders: tuple[str, ...] = ()
    wait_s: float | None = None  # until the next try; None: the usual back-off


class Post(threading.Thread):
    """Sends until ``stop``. ``obey`` gets each order (in this thread)."""

    def __init__(self, settings: Settings, spool: Spool, clock: Clock, obey: Callable[[str], None]) -> None:
        super().__init__(name="post", daemon=True)
        self._settings, self._spool, self._clock, self._obey = settings, spool, clock, obey
        self._address = urlsplit(settings.url)
        self._stopping = threading.Event()
        self._tls: ssl.SSLContext | None = None
        self._failures = 0
        self._told = ""  # the trouble that was last logged: each is said once
        self._taken_once = False
        self.standing = Standing()

    def stop(self, wait_s: float) -> None:
        """No further try."""
        self._stopping.set()
        with self._spool.condition:
            self._spool.condition.notify_all()
        if self.is_alive():
            self.join(wait_s)

    def run(self) -> None:
        while not self._stopping.is_set():
            item = self._spool.first()
            if item is None:
                with self._spool.condition:
                    if self._spool.first() is None and not self._stopping.is_set():
                        self._spool.condition.wait()
                continue
            outcome = self._once(item)
            if outcome.over:
                self._spool.remove(item)
                if self._spool.first() is not None:
                    self._stopping.wait(GAP_S)
                continue
            self._spool.keep()
            self._clock.wait(self._stopping, self._pause(outcome.wait_s))

    def _once(self, item: Item) -> _Outcome:
        """One try with what comes of it. A mistake of our own does not end the thread, nor come back for ever with the same reading."""
        try:
            outcome = self._try(item)
            for order in outcome.orders:
                self._obey(order)
            return outcome
        except Exception:
            item.mistakes += 1
            item.refused = item.mistakes >= MISTAKES_MOST
            log.exception(
                "a mistake of the agent with reading %s; it is %s",
                item.body.get("seq"),
                "dropped" if item.refused else "tried again",
            )
            return _Outcome(over=item.refused)

    def _pause(self, asked: float | None) -> float:
        """Seconds to the next try, by chance between half and all of what they may be."""
        self._failures += 1
        longest: float = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 10))
        if asked is not None:
            return asked * (1.0 + random.random() * 0.25)
        return longest * (0.5 + random.random() * 0.5)

    def _try(self, item: Item) -> _Outcome:
        try:
            token = read_token(self._settings.token_file)
        except TokenError as error:
            self._say(str(error), NO_TOKEN)
            return _Outcome(over=False, wait_s=60.0)
        body = {**item.body, "age_s": round(max(0.0, self._clock.now() - item.made), 1)}
        try:
            status, retry_after, answer = self._send(token, json.dumps(body, separators=(",", ":")).encode())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._say(
                f"the bot at {self._address.netloc} cannot be reached: {_words(error)}; what is measured waits here"
            )
            return _Outcome(over=False)
        return self._judge(item, status, retry_after, answer)

    def _send(self, token: str, body: bytes) -> tuple[int, str, bytes]:
        host, port = self._address.hostname or "", self._address.port
        sock: socket.socket = socket.create_connection(
            (host, port or (443 if self._address.scheme == "https" else 80)), TIMEOUT_S
        )
        late = threading.Event()
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._address.scheme == "https":
                if self._tls is None:
                    self._tls = ssl.create_default_context(cafile=self._settings.ca_file or None)
                sock = self._tls.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
            with _cut_after(sock, ANSWER_S, late):
                return self._speak(sock, token, body)
        except (OSError, http.client.HTTPException, ValueError):
            if late.is_set():
                raise OSError(f"no whole answer within {ANSWER_S:.0f} s") from None
            raise
        finally:
            sock.close()

    def _speak(self, sock: socket.socket, token: str, body: bytes) -> tuple[int, str, bytes]:
        if isinstance(sock, ssl.SSLSocket):
            sock.do_handshake()
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port)
        connection.sock = sock
        if self._address.scheme == "https":
            connection.default_port = 443  # what the header Host leaves out
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "User-Agent": "gpubot-agent",
        }
        connection.request("POST", self._address.path, body, headers)
        with connection.getresponse() as answered:
            return answered.status, answered.getheader("Retry-After", ""), answered.read(ANSWER_MOST)

    def _judge(self, item: Item, status: int, retry_after: str, answer: bytes) -> _Outcome:
        orders = _orders(answer) if status == 200 else None
        if orders is not None:
            if not self._taken_once:
                log.info("the bot took the first reading")
            elif self._told:
                log.info("the bot takes readings again")
            self._failures, self._told, self._taken_once = 0, "", True
            self._stands(Standing(TAKEN, stamp()))
            return _Outcome(over=True, orders=orders)
        if status in (401, 403):
            self._say(
                f"the bot does not know the token in {self._settings.token_file} (answer {status}): an admin makes a new one with"
                " `machine token NAME` in Slack; put it into that file, the agent reads it by itself",
                REFUSED,
            )
            return _Outcome(over=False, wait_s=DENIED_WAIT_S)
        if status in TRANSIENT or status >= 500:
            wait = min(float(retry_after), ASKED_WAIT_MOST_S) if retry_after.isdecimal() else None
            if status not in TRANSIENT or self._failures:
                self._say(f"the bot cannot take readings just now (answer {status}); they wait here")
            return _Outcome(over=False, wait_s=wait)
        if status == 404 or status < 400:  # a redirection, or a page of somebody else's
            self._say(
                f"at {self._address.geturl()} nobody takes readings (answer {status}): look at url in the settings"
            )
            return _Outcome(over=False, wait_s=60.0)
        log.error(
            "the bot refused reading %s and it is dropped (answer %d): %s", item.body.get("seq"), status, _words(answer)
        )
        self._failures, item.refused = 0, True
        return _Outcome(over=True)

    def _say(self, trouble: str, how: str = AWAY) -> None:
        """Each trouble once, until it is over or another one."""
        if trouble != self._told:
            self._told = trouble
            log.warning("%s", trouble)
            self._stands(Standing(how, self.standing.since if how == self.standing.how else stamp(), trouble))

    def _stands(self, standing: Standing) -> None:
        """Tells who waits for it, and the file that ``gpu`` shows; without the folder there is no ``gpu`` either, and that was said."""
        with contextlib.suppress(OSError):
            write(self._settings.run_dir / STANDING_FILE, json.dumps(asdict(standing)), 0o644)
        with self._spool.condition:
            self.standing = standing
            self._spool.condition.notify_all()


@contextlib.contextmanager
def _cut_after(sock: socket.socket, seconds: float, late: threading.Event) -> Iterator[None]:
    """Cuts a connection if what is done with it is not over by then, and sets ``late``: time limits of each step do not add up to an end.

    :raises OSError: it was cut
    """

    def cut() -> None:
        late.set()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # of the connection itself: TLS would first say good-bye

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
        if late.is_set():  # what was read ends where it was cut
            raise OSError("cut")
    finally:
        timer.cancel()


def _orders(answer: bytes) -> tuple[str, ...] | None:
    """The orders of an answer; None if it is no answer of the bot."""
    try:
        said: Any = json.loads(answer)
    except (ValueError, RecursionError):  # the second: nested deeper than anything that the bot says
        return None
    orders = said.get("orders") if isinstance(said, dict) else None
    return tuple(order for order in orders if isinstance(order, str))[:16] if isinstance(orders, list) else None


def _words(what: Exception | bytes) -> str:
    """Short, on one line, without control characters."""
    if isinstance(what, ssl.SSLCertVerificationError):
        text = f"its certificate is not trusted ({what.verify_message}); name the signer's file as ca_file"
    elif isinstance(what, socket.timeout):
        text = f"no answer within {TIMEOUT_S:.0f} s"
    elif isinstance(what, bytes):
        text = what.decode("utf-8", "replace")
    else:
        text = getattr(what, "strerror", None) or str(what) or type(what).__name__
    return "".join(c if c.isprintable() else " " for c in text)[:300]
