"""HTTPS around ``wire`` and ``api``: cookies, the versions page, calls that are held. One thread a connection."""

from __future__ import annotations

import http.server
import json
import logging
import select
import socket
import ssl
import struct
import threading
import time
from http.cookies import CookieError, SimpleCookie
from typing import Any

from bot.local.vcenter import versions, wire
from bot.local.vcenter.api import CHANGING, MUTATING, Api
from bot.local.vcenter.holds import Counts, Hold, Reach
from bot.local.vcenter.injected import CONNECT, VERSIONS, Injection, Injections
from bot.local.vcenter.listening import Listening
from bot.local.vcenter.sessions import Session
from bot.local.vcenter.tagging import Tags
from bot.local.vcenter.vmomi import Refusal, vmodl

COOKIE = "vmware_soap_session"
MAX_BODY = 8 << 20  # bytes of a request
XML = "text/xml; charset=utf-8"
PIECE = 64  # bytes of an answer that trickles
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing says RST, not FIN
Reply = tuple[int, bytes, Session | None]  # HTTP status, body, session of a fresh login


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
        self.injections: Injections = twin.injections if twin else Injections()
        self.peers: list[SoapServer] = twin.peers if twin else []  # this server on all its addresses
        self.peers.append(self)
        self.tags: Tags = twin.tags if twin else Tags(api)
        self.mistakes: list[Exception] = twin.mistakes if twin else []  # errors of our own: must stay empty

    def wrap(self, raw: socket.socket) -> socket.socket:
        """TLS without shaking hands: that is done in the connection's own thread."""
        return self.context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)

    def restart(self, down_s: float = 0.0) -> int:
        """As when vCenter's service restarts: no session, view or filter is left, every connection is closed; tasks go on
        and are known. ``down_s``: real seconds for which HTTP 503 answers. How many sessions ended.
        """
        if down_s > 0:
            self.reach.set("503")
            again = threading.Timer(down_s, lambda: self.reach.end("503"))
            again.daemon = True
            again.start()
        for peer in self.peers:
            peer.cut()
        ended = self.api.sessions.expire()
        self.api.world.journal.add("vcenter", "vcenter restarted")
        return ended

    def cut(self) -> None:
        """Close every connection, in the middle of whatever it does."""
        with self._guard:
            left = list(self._open)
        for connection in left:
            try:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                socket.socket.shutdown(connection, socket.SHUT_RDWR)  # see ``Listening.close``
            except OSError:
                pass  # already gone

    def close(self) -> None:
        """Let go of what is held, then stop."""
        self.injections.stop()
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
            if injected := self.server.injections.due(CONNECT):
                self._suffer(injected, None)
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
        """The list of API versions; below /api/ the tags."""
        if self.path.startswith("/api/"):
            self._rest()
            return
        if not self.path.endswith("vimServiceVersions.xml"):
            self._send(404, b"")
            return
        if self._away():
            return
        first, *prior = versions.announced(self.server.api.version)
        older = "".join(f"<version>{v}</version>" for v in prior)
        text = (
            '<?xml version="1.0" encoding="UTF-8" ?><namespaces version="1.0"><namespace><name>urn:vim25</name>'
            f"<version>{first}</version><priorVersions>{older}</priorVersions></namespace></namespaces>"
        )
        injected = self.server.injections.due(VERSIONS)
        early = self._suffer(injected, None) if injected else None
        self._send(*(early or (200, text.encode(), None)), over_s=_trickle(injected))

    def do_POST(self) -> None:
        """One call."""
        if self.path.startswith("/api/"):
            self._rest()
            return
        raw = self._body()
        if self._away():
            return
        session = self.server.api.sessions.find(self._cookie())
        version, injected = self.server.api.version, None
        try:
            version = versions.spoken(version, self.headers.get("SOAPAction") or "")
            call = wire.parse_request(raw, version)
            user = session.user if session is not None else "-"
            self.server.counts.add(user, call.method)
            injected = self._due(call, user)
            reply = self._served(call, session, injected)
        except Refusal as refusal:
            reply = 500, wire.fault(refusal.fault, str(refusal), version), None
        self._send(*reply, over_s=_trickle(injected))

    def do_DELETE(self) -> None:
        """The end of a session of the REST API."""
        self._rest()

    def _rest(self) -> None:
        """One call of the REST API."""
        raw = self._body()
        if self._away():
            return
        status, value = self.server.tags.answer(self.command, self.path, self.headers, raw)
        self._send(status, b"" if value is None else json.dumps(value).encode(), kind="application/json")

    def _due(self, call: wire.Call, user: str) -> Injection | None:
        """What is to befall this call. A login counts as that of the user who tries it."""
        if call.method == "Login":
            user = str(call.args.get("userName", user))
        api = self.server.api
        return self.server.injections.due(call.method, user, call.method in CHANGING, lambda: api.names(call.this))

    def _served(self, call: wire.Call, session: Session | None, injected: Injection | None) -> Reply:
        """The reply to ``call``; Refusal for a fault that is injected. Dropped if there is none."""
        if injected is not None and injected.when == "before" and (early := self._suffer(injected, call)) is not None:
            return early
        reply = self._held(call, session, injected)
        if injected is not None and injected.when == "after" and (late := self._suffer(injected, call)) is not None:
            return late
        return reply

    def _suffer(self, injected: Injection, call: wire.Call | None) -> Reply | None:
        """Carry out what is injected: a reply in place of the call's own, None: go on. Refusal or Dropped otherwise."""
        how, server = injected.how, self.server
        gone = self._left if injected.method == CONNECT else self._gone
        if how == "delay":
            server.injections.wait(injected, injected.seconds, gone)
        elif how == "503":
            return 503, b"Service Unavailable", None
        elif how == "fault":
            raise injected.refusal(call.this if call is not None else None)
        elif how == "silent":
            server.injections.wait(injected, None, gone)
            raise Dropped
        elif how == "reset":
            self._reset()
            raise Dropped
        elif how == "drop":
            raise Dropped
        elif how == "restart":
            server.restart(injected.seconds)
            raise Dropped
        return None  # a trickle concerns the way back

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        raw = socket.socket(fileno=self.connection.detach())  # past TLS, which would say goodbye
        raw.close()

    def _away(self) -> bool:
        """Fail as ordered; True if that was an answer. A silence that ends drops the connection: the call is lost."""
        how = self.server.reach.how
        if how == "503":
            self._send(503, b"Service Unavailable")
        elif how != "up":
            self.server.reach.silence(self._gone)
            raise Dropped
        return how != "up"

    def _held(self, call: wire.Call, session: Session | None, injected: Injection | None) -> Reply:
        bot = session is not None and session.user == self.server.api.world.settings.bot_user
        when = self.server.hold.count() if bot and call.method in MUTATING else None
        end = "go"
        if when == "before":
            end = self.server.hold.wait(call.method, call.this._moId, self._gone)
            if end == "drop":
                raise Dropped
        answer = self._execute(call, session, injected)
        if when == "after":
            end = self.server.hold.wait(call.method, call.this._moId, self._gone)
        if end != "go":
            raise Dropped
        return answer

    def _execute(self, call: wire.Call, session: Session | None, injected: Injection | None) -> Reply:
        api = self.server.api
        with api.inventory.lock:
            api.world.tasks.meddled = injected if injected is not None and injected.when == "task" else None
            try:
                value, kind, fresh = api.call(call, session)
                return 200, wire.response(call.method, value, kind, call.version), fresh
            except Refusal as refusal:
                return 500, wire.fault(refusal.fault, str(refusal), call.version), None
            except Exception as error:
                logging.getLogger(__name__).exception("%s failed", call.method)
                self.server.mistakes.append(error)
                return 500, wire.fault(vmodl.fault.SystemError(reason=repr(error)), repr(error), call.version), None
            finally:
                api.world.tasks.meddled = None  # a call that made no task leaves nothing to the next

    def _gone(self) -> bool:
        """Has the client closed the connection? It sends nothing while it waits, so readable means closed."""
        try:
            if not select.select([self.connection], [], [], 0)[0]:
                return False
            return not self.connection.recv(1)
        except (OSError, ValueError):
            return True

    def _left(self) -> bool:
        """The same before TLS has shaken hands: what the client said first must stay to be read."""
        try:
            readable = bool(select.select([self.connection], [], [], 0)[0])
            return readable and not socket.socket.recv(self.connection, 1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("Transfer-Encoding") or "").lower():
            return self._take(int(self.headers.get("Content-Length") or 0))
        parts: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self._take(size, sum(map(len, parts))))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers
        return b"".join(parts)

    def _take(self, size: int, had: int = 0) -> bytes:
        """So many bytes of a body; Dropped if it is no size, if it gets too large, or if the client leaves."""
        if size < 0 or size + had > MAX_BODY:
            raise Dropped
        found = self.rfile.read(size)
        if len(found) < size:
            raise Dropped
        return found

    def _cookie(self) -> str | None:
        try:
            cookies = SimpleCookie(self.headers.get("Cookie") or "")
        except CookieError:
            return None
        return cookies[COOKIE].value if COOKIE in cookies else None

    def _send(
        self, status: int, body: bytes, fresh: Session | None = None, over_s: float = 0.0, kind: str = XML
    ) -> None:
        """Answer; ``over_s``: in pieces, within so many real seconds."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if fresh is not None:
            self.send_header("Set-Cookie", f'{COOKIE}="{fresh.key}"; Path=/; HttpOnly; Secure; SameSite=Strict')
        self.end_headers()
        if over_s > 0:
            pieces = [body[at : at + PIECE] for at in range(0, len(body), PIECE)]
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(over_s / len(pieces))
        else:
            self.wfile.write(body)
        self.wfile.flush()


def _trickle(injected: Injection | None) -> float:
    return injected.seconds if injected is not None and injected.how == "trickle" else 0.0
