"""HTTPS around ``wire`` and ``api``: cookies, the versions page, calls that are held. One thread a connection."""

from __future__ import annotations

import http.server
import logging
import select
import socket
import ssl
from http.cookies import CookieError, SimpleCookie
from typing import Any

from bot.local.vcenter import wire
from bot.local.vcenter.api import MUTATING, Api
from bot.local.vcenter.holds import Counts, Hold, Reach
from bot.local.vcenter.listening import Listening
from bot.local.vcenter.sessions import Session
from bot.local.vcenter.vmomi import Refusal, vmodl

COOKIE = "vmware_soap_session"
MAX_BODY = 8 << 20  # bytes of a request
VERSIONS = ("8.0.3.0", "8.0.2.0", "8.0.1.0", "8.0.0.1", "7.0.3.0", "7.0.2.0", "7.0.1.0", "7.0", "6.7", "6.5")


class Dropped(Exception):
    """Close this connection without an answer."""


class SoapServer(Listening):
    """Serves one ``Api``."""

    def __init__(
        self, address: tuple[str, int], context: ssl.SSLContext, api: Api, twin: SoapServer | None = None
    ) -> None:
        """Bound at once; port 0 takes a free one. ``twin``: the same vCenter on another address."""
        super().__init__(address, Handler)
        self.api, self.context = api, context
        self.counts: Counts = twin.counts if twin else Counts()
        self.hold: Hold = twin.hold if twin else Hold()
        self.reach: Reach = twin.reach if twin else Reach()
        self.mistakes: list[Exception] = twin.mistakes if twin else []  # errors of our own: must stay empty

    def wrap(self, raw: socket.socket) -> socket.socket:
        """TLS without shaking hands: that is done in the connection's own thread."""
        return self.context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)

    def close(self) -> None:
        """Let go of what is held, then stop."""
        self.hold.stop()
        self.reach.set("drop")
        super().close()


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: SoapServer

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the counts and the journal say more."""

    def handle(self) -> None:
        """Shake hands, then serve calls until the client leaves."""
        try:
            self.connection.settimeout(30)
            self.connection.do_handshake()
            self.connection.settimeout(None)
            super().handle()
        except (OSError, Dropped, ValueError):
            self.close_connection = True  # the client left, spoke no TLS, or is to be dropped

    def finish(self) -> None:
        """Flush what is left; a dropped connection has nobody to flush to."""
        try:
            super().finish()
        except (OSError, ValueError):
            pass

    def do_GET(self) -> None:
        """The list of API versions."""
        if not self.path.endswith("vimServiceVersions.xml"):
            self._send(404, b"")
            return
        if self._away():
            return
        first, *prior = VERSIONS
        older = "".join(f"<version>{v}</version>" for v in prior)
        text = (
            '<?xml version="1.0" encoding="UTF-8" ?><namespaces version="1.0"><namespace><name>urn:vim25</name>'
            f"<version>{first}</version><priorVersions>{older}</priorVersions></namespace></namespaces>"
        )
        self._send(200, text.encode())

    def do_POST(self) -> None:
        """One call."""
        raw = self._body()
        if self._away():
            return
        session = self.server.api.sessions.find(self._cookie())
        user = session.user if session is not None else "-"
        try:
            call = wire.parse_request(raw)
            self.server.counts.add(user, call.method)
            status, body, fresh = self._held(call, session)
        except Refusal as refusal:
            status, body, fresh = 500, wire.fault(refusal.fault, str(refusal)), None
        self._send(status, body, fresh)

    def _away(self) -> bool:
        """Fail as ordered; True if that was an answer. A silence that ends drops the connection: the call is lost."""
        how = self.server.reach.how
        if how == "503":
            self._send(503, b"Service Unavailable")
        elif how != "up":
            self.server.reach.silence(self._gone)
            raise Dropped
        return how != "up"

    def _held(self, call: wire.Call, session: Session | None) -> tuple[int, bytes, Session | None]:
        bot = session is not None and session.user == self.server.api.world.settings.bot_user
        when = self.server.hold.count() if bot and call.method in MUTATING else None
        end = "go"
        if when == "before":
            end = self.server.hold.wait(call.method, call.this._moId, self._gone)
            if end == "drop":
                raise Dropped
        answer = self._execute(call, session)
        if when == "after":
            end = self.server.hold.wait(call.method, call.this._moId, self._gone)
        if end != "go":
            raise Dropped
        return answer

    def _execute(self, call: wire.Call, session: Session | None) -> tuple[int, bytes, Session | None]:
        api = self.server.api
        with api.inventory.lock:
            try:
                value, kind, fresh = api.call(call, session)
                return 200, wire.response(call.method, value, kind), fresh
            except Refusal as refusal:
                return 500, wire.fault(refusal.fault, str(refusal)), None
            except Exception as error:
                logging.getLogger(__name__).exception("%s failed", call.method)
                self.server.mistakes.append(error)
                return 500, wire.fault(vmodl.fault.SystemError(reason=repr(error)), repr(error)), None

    def _gone(self) -> bool:
        """Has the client closed the connection? It sends nothing while it waits, so readable means closed."""
        try:
            if not select.select([self.connection], [], [], 0)[0]:
                return False
            return not self.connection.recv(1)
        except (OSError, ValueError):
            return True

    def _body(self) -> bytes:
        if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        size = int(self.headers.get("Content-Length") or 0)
        if size > MAX_BODY:
            raise Dropped
        return self.rfile.read(size)

    def _cookie(self) -> str | None:
        try:
            cookies = SimpleCookie(self.headers.get("Cookie") or "")
        except CookieError:
            return None
        return cookies[COOKIE].value if COOKIE in cookies else None

    def _send(self, status: int, body: bytes, fresh: Session | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/xml; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if fresh is not None:
            self.send_header("Set-Cookie", f'{COOKIE}="{fresh.key}"; Path=/; HttpOnly; Secure; SameSite=Strict')
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
