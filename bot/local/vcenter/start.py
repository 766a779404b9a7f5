"""Puts the parts together and runs them: ``start`` for tests (a context manager), ``serve`` for the command line."""

from __future__ import annotations

import contextlib
import errno
import json
import signal
import socketserver
import ssl
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

from bot.local.clock import Clock
from bot.local.vcenter.api import Api
from bot.local.vcenter.drive import Drive
from bot.local.vcenter.replay import Recording
from bot.local.vcenter.server import SoapServer
from bot.local.vcenter.settings import Settings
from bot.local.vcenter.world import World

NAMES = ("127.0.0.1", "127.0.0.2", "localhost")


@dataclass(frozen=True)
class Running:
    """A stand-in vCenter that serves."""

    host: str  # address it is to be called by
    port: int  # of the API (https)
    user: str  # the bot's login
    password: str  # its password
    ca_file: Path  # PEM; trusts the server's certificate, unless a bad one was asked for
    drive_url: str  # http://127.0.0.1:PORT, where /_drive/... is; empty: there is none
    users: dict[str, str]  # all logins -> passwords
    world: World  # the inside, for tests in the same process
    server: SoapServer  # the API's server

    @property
    def url(self) -> str:
        """The API's address."""
        return f"https://{self.host}:{self.port}/sdk"

    def context(self) -> ssl.SSLContext:
        """A client's TLS context that verifies against ``ca_file``."""
        return ssl.create_default_context(cafile=str(self.ca_file))


def tls(kind: str, ca_file: Path) -> ssl.SSLContext:
    """The server's TLS context; writes the CA that clients are to trust to ``ca_file``.

    ``kind``: good; self-signed (by a CA that is not in the file); wrong-host; expired. ValueError for another.
    """
    if kind not in ("good", "self-signed", "wrong-host", "expired"):
        raise ValueError(f"certificate kind {kind!r}")
    authority = trustme.CA()
    signer = trustme.CA() if kind == "self-signed" else authority
    names = ("vcenter.invalid",) if kind == "wrong-host" else NAMES
    until = datetime.now(UTC) - timedelta(days=1) if kind == "expired" else None
    since = datetime.now(UTC) - timedelta(days=30) if kind == "expired" else None
    certificate = signer.issue_cert(*names, not_before=since, not_after=until)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    authority.cert_pem.write_to_path(str(ca_file))
    return context


@contextlib.contextmanager
def start_in_thread(
    settings: Settings | None = None,
    *,
    ports: tuple[int, int] = (0, 0),
    ca_file: Path | None = None,
    clock: Clock | None = None,
    recording: Recording | None = None,
) -> Iterator[Running]:
    """Serve until the block ends. ``ports``: API and drive, 0 for a free one; ``ca_file``: default in a temporary folder.
    ``recording``: a site to be shown instead, read-only, without a drive.

    It serves on 127.0.0.1 and, where the system has that address, on 127.0.0.2, which is the one that it names: clients
    that leave loopback names unverified verify there.
    """
    settings = settings or Settings()
    if recording is not None:
        settings = recording.settings(settings)
    with contextlib.ExitStack() as stack:
        if ca_file is None:
            ca_file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vcenter-ca-"))) / "ca.pem"
        world = World(settings, clock or Clock())
        api = Api(world, recording)
        servers = _bind(ports[0], tls(settings.certificate, ca_file), api)
        for each in servers:
            stack.callback(each.close)
        server, host = servers[0], str(servers[-1].server_address[0])
        serving: list[socketserver.BaseServer] = [*servers]
        drive = Drive(("127.0.0.1", ports[1]), world, server) if recording is None else None
        if drive is not None:
            stack.callback(drive.close)
            serving.append(drive)
        stack.callback(world.stop)
        world.start()
        for one in serving:
            threading.Thread(target=one.serve_forever, args=(0.05,), name=type(one).__name__, daemon=True).start()
        yield Running(
            host=host,
            port=server.port,
            user=settings.bot_user,
            password=settings.users[settings.bot_user],
            ca_file=ca_file,
            drive_url=f"http://127.0.0.1:{drive.port}" if drive is not None else "",
            users=dict(settings.users),
            world=world,
            server=server,
        )


def _bind(port: int, context: ssl.SSLContext, api: Api) -> list[SoapServer]:
    """Servers of one port on 127.0.0.1 and, if the system has it, 127.0.0.2."""
    for _ in range(20):
        first = SoapServer(("127.0.0.1", port), context, api)
        try:
            return [first, SoapServer(("127.0.0.2", first.port), context, api, first)]
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                return [first]  # a system with one loopback address
            first.server_close()
            if port:
                raise
    raise OSError(errno.EADDRINUSE, "no port is free on both loopback addresses")


def serve(settings: Settings, ports: tuple[int, int], ca_file: Path, recording: Recording | None = None) -> None:
    """Serve until SIGTERM or SIGINT; prints one line of JSON when ready. ``recording``: a site to be shown instead."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    ca_file.parent.mkdir(parents=True, exist_ok=True)
    with start_in_thread(settings, ports=ports, ca_file=ca_file, recording=recording) as running:
        print(json.dumps(ready_line(running)), flush=True)
        stop.wait()


def ready_line(running: Running) -> dict[str, object]:
    """What the one line says."""
    return {
        "url": running.url,
        "host": running.host,
        "port": running.port,
        "user": running.user,
        "password": running.password,
        "users": running.users,
        "ca_file": str(running.ca_file.resolve()),
        "drive": running.drive_url,
    }


def with_passwords(settings: Settings, given: dict[str, str]) -> Settings:
    """``settings`` with these passwords in place of the random ones; ValueError for an unknown login."""
    if unknown := sorted(set(given) - set(settings.users)):
        raise ValueError(f"unknown login: {', '.join(unknown)}")
    return replace(settings, users={**settings.users, **given})
