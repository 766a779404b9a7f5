"""Logging in to a vCenter: TCP, TLS, version, login, each under one deadline and named in the error.

Called by `session` alone. The TLS context is our own in every phase: pyVmomi's ``SmartConnect`` switches verification off
for loopback names, has no time limit on its first request and does not keep a pinned certificate. Secrets are in no text.
"""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bot.edges.vsphere.client import Client
from bot.edges.vsphere.stub import Stub, Transport
from bot.edges.vsphere.vmomi import Fault, support, vim
from bot.service.ports import Again

POOL = 64  # kept connections: a look, its neighbours, and each machine that moves
MAX_VERSIONS = 1 << 20  # bytes of the list of versions; the real one has a few hundred


@dataclass(frozen=True)
class VCenter:
    """One vCenter and how to reach it. Plain values, from settings."""

    name: str  # the [vcenter.NAME]
    host: str  # name or address, optionally with ":port"
    user: str  # login
    password: str = field(repr=False)  # of the login
    ca_file: Path | None = None  # PEM file of the authority that signed its certificate; None: the system's
    connect_s: float = 20.0  # seconds from the first packet to the end of the login
    answer_s: float = 60.0  # seconds of silence after which a call is given up; more than a long poll (30)
    task_s: float = 120.0  # seconds to wait for a task of ours
    foreign_s: float = 20.0  # seconds to wait for somebody else's task
    dynamic: frozenset[str] = frozenset()  # labels of the cards that are given by Dynamic DirectPath I/O
    moves: int = 40  # calls that change something, under way at once
    attribute: str = ""  # the custom attribute in which machines say who has what; "" none

    def endpoint(self) -> tuple[str, int]:
        """Host and port; 443 if none is named."""
        if match := re.fullmatch(r"\[?([0-9A-Fa-f:]+:[0-9A-Fa-f:]*)\]?", self.host):
            return match.group(1), 443  # a bare IPv6 address
        match = re.fullmatch(r"\[?(.*?)\]?(?::(\d+))?", self.host)
        assert match is not None  # the pattern takes every text
        return match.group(1), int(match.group(2) or 443)


class Phase(StrEnum):
    """How far a connection got."""

    TCP = "TCP"  # name and port
    TLS = "TLS"  # certificate
    VERSION = "version"  # the list of API versions
    LOGIN = "login"  # user and password


class NoConnection(Again):
    """No session with a vCenter; ``phase`` says how far it got."""

    def __init__(self, vcenter: VCenter, phase: Phase, why: str, lasting: bool = False) -> None:
        """``lasting``: a person has to change something; asking again soon would only lock the login."""
        host, port = vcenter.endpoint()
        super().__init__(
            f"vCenter {vcenter.name} ({host}:{port}), {phase}: {why}", timedelta(seconds=60 if lasting else 15)
        )
        self.phase = phase
        self.lasting = lasting
        self._made_of = (vcenter, phase, why, lasting)

    def anew(self) -> NoConnection:
        """The same words as a fresh exception, for another caller."""
        return NoConnection(*self._made_of)


def connect(vcenter: VCenter) -> Client:
    """A logged-in client. Raises NoConnection within ``connect_s``, whatever the other side does."""
    way = _Way(vcenter)
    thread = threading.Thread(target=way.go, name=f"login-{vcenter.name}", daemon=True)
    thread.start()
    thread.join(vcenter.connect_s)
    # Sockets have time limits of their own, but looking up a name has none, and a slow trickle of bytes resets theirs.
    return way.outcome()


class _Way:
    """One attempt, in a thread that may be left behind."""

    def __init__(self, vcenter: VCenter) -> None:
        self.vcenter = vcenter
        self.phase = Phase.TCP
        self._lock = threading.Lock()
        self._left = False
        self._client: Client | None = None
        self._error: Exception | None = None

    def outcome(self) -> Client:
        """What came of it by now."""
        with self._lock:
            self._left = True
            if self._client is not None:
                return self._client
            if isinstance(self._error, NoConnection):
                raise self._error
            if self._error is not None:
                raise self._fail(f"{type(self._error).__name__}: {self._error}") from self._error
            raise self._fail(f"no answer within {self.vcenter.connect_s:g} s")

    def go(self) -> None:
        """All phases."""
        client, error = None, None
        try:
            client = self._phases()
        except (NoConnection, Fault, *Transport, ValueError) as met:
            error = met
        with self._lock:
            left, self._client, self._error = self._left, client, error
        if left and client is not None:
            client.close()  # nobody waits for it any more

    def _phases(self) -> Client:
        host, port = self.vcenter.endpoint()
        context = self._context()
        plain = self._tcp(host, port)
        self.phase = Phase.TLS
        with self._tls(context, plain, host) as secure:
            self.phase = Phase.VERSION
            version = self._version(secure, host, port)
        self.phase = Phase.LOGIN
        return self._login((host, port), context, version)

    def _fail(self, why: str, lasting: bool = False) -> NoConnection:
        return NoConnection(self.vcenter, self.phase, why, lasting)

    def _context(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.vcenter.ca_file)
        except OSError as error:  # SSLError is one
            self.phase = Phase.TLS
            raise self._fail(
                f"ca_file {self.vcenter.ca_file} cannot be used ({_reason(error)})", lasting=True
            ) from error

    def _tcp(self, host: str, port: int) -> socket.socket:
        try:
            return socket.create_connection((host, port), timeout=self.vcenter.connect_s)
        except (socket.gaierror, UnicodeError) as error:  # UnicodeError: no name can be like that
            raise self._fail(f"the name is not known ({_reason(error)})") from error
        except OSError as error:
            raise self._fail(f"nobody answers there ({_reason(error)})") from error

    def _tls(self, context: ssl.SSLContext, plain: socket.socket, host: str) -> ssl.SSLSocket:
        try:
            return context.wrap_socket(plain, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            plain.close()
            raise self._fail(
                f"its certificate is not accepted ({error.verify_message}); ca_file must hold the authority that signed it, "
                f"and host must be a name in it",
                lasting=True,
            ) from error
        except OSError as error:
            plain.close()
            raise self._fail(f"no TLS there ({_reason(error)})") from error

    def _version(self, secure: ssl.SSLSocket, host: str, port: int) -> str:
        connection = HTTPSConnection(host, port, timeout=self.vcenter.connect_s)
        connection.sock = secure
        try:
            connection.request("GET", "/sdk/vimServiceVersions.xml", headers={"Connection": "close"})
            with connection.getresponse() as answer:
                body = answer.read(MAX_VERSIONS)
        except (OSError, HTTPException) as error:
            raise self._fail(f"the list of API versions did not come ({_reason(error)})") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise self._fail(f"the list of API versions is refused (HTTP {answer.status}): is this a vCenter?")
        return choose_version(body, self._fail)

    def _login(self, endpoint: tuple[str, int], context: ssl.SSLContext, version: str) -> Client:
        host, port = endpoint
        stub = Stub(
            host=host, port=port, path="/sdk", version=version, sslContext=context, poolSize=POOL,
            httpConnectionTimeout=self.vcenter.answer_s,
        )  # fmt: skip
        instance = vim.ServiceInstance("ServiceInstance", stub)
        try:
            content, key = self._enter(instance)
            return Client(self.vcenter.user, stub, instance, content, key)
        except NoConnection:
            stub.DropConnections()
            raise

    def _enter(self, instance: Any) -> tuple[Any, str]:
        """The service content, and the key of the session."""
        try:
            content = instance.RetrieveContent()
            if content is None or content.sessionManager is None:
                raise self._fail("it answers, but not as a vCenter does")
            session = content.sessionManager.Login(userName=self.vcenter.user, password=self.vcenter.password)
        except vim.fault.InvalidLogin as error:
            raise self._fail(f"user {self.vcenter.user} or its password is wrong", lasting=True) from error
        except vim.fault.NoPermission as error:
            raise self._fail(f"user {self.vcenter.user} may not log in", lasting=True) from error
        except Fault as error:
            raise self._fail(f"refused ({error.msg})") from error
        except Transport as error:
            raise self._fail(f"no answer ({_reason(error)})") from error
        return content, str(getattr(session, "key", None) or "")


def choose_version(body: bytes, fail: Callable[[str], Exception]) -> str:
    """pyVmomi's name of the newest API version that both sides know, from the server's list (XML)."""
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError as error:
        raise fail("the list of API versions is no XML: is this a vCenter?") from error
    offered = [
        text
        for space in root.findall("namespace")
        if space.findtext("name") == "urn:vim25"
        for text in (space.findtext("version"), *(v.text for v in space.findall("priorVersions/version")))
    ]
    for version in support.GetServiceVersions("vim25"):
        if version.startswith("vim.version.") and support.versionIdMap[version] in offered:  # newest first
            return str(version)
    raise fail(f"no API version in common (it offers {', '.join(t for t in offered if t) or 'none'})")


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    text = getattr(error, "strerror", None) or str(error)
    return text or type(error).__name__
