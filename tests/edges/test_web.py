"""The web server, over real sockets: health, readiness, numbers, limits, TLS, and a clean end."""

import http.client
import json
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from fastapi import APIRouter, FastAPI, Request

from bot.edges.meter import Meter
from bot.edges.web import BODY_MAX, Server, WebError, build, is_loopback
from tests.edges.waiting import until

AT = datetime(2026, 1, 5, 12, tzinfo=UTC)


class Bot:
    """What the server asks."""

    def __init__(self) -> None:
        self.health: tuple[bool, dict[str, Any]] = (True, {"last_round": AT.isoformat(), "slack": "connected"})
        self.ready_after = AT
        self.asked: list[datetime] = []
        self.hindered = ""
        self.meter = Meter()

    def ready(self, after: datetime | None) -> tuple[bool, dict[str, Any]]:
        if after is None:
            return not self.hindered, {"waits_for": self.hindered}
        self.asked.append(after)
        done = after < self.ready_after
        return done, {} if done else {"missing": ["a good round began after this instant"]}


@pytest.fixture
def bot() -> Bot:
    return Bot()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def serves(app: FastAPI, **more: Any) -> Server:
        servers.append(Server(app, **more))
        servers[-1].start()
        return servers[-1]

    yield serves
    for server in servers:
        server.stop()


def app_of(bot: Bot, *routers: APIRouter) -> FastAPI:
    return build(routers, lambda: bot.health, bot.ready, bot.meter.text)


@pytest.fixture
def client(bot: Bot, serve: Callable[..., Server]) -> Iterator[httpx.Client]:
    echo = APIRouter()

    @echo.post("/echo")
    async def _echo(request: Request) -> int:
        return len(await request.body())

    @echo.get("/fails")
    def _fails() -> None:
        raise RuntimeError("a secret cause")

    with httpx.Client(base_url=serve(app_of(bot, echo)).url, trust_env=False) as client:
        yield client


def test_health(client: httpx.Client, bot: Bot) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"ok": True, **bot.health[1]})
    bot.health = (False, {"slack": "away"})
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (503, {"ok": False, "slack": "away"})


@pytest.mark.parametrize(
    ("after", "status"),
    [
        ("2026-01-05T11:59:59Z", 200),
        ("2026-01-05T11:59:59.999999+00:00", 200),
        ("2026-01-05T12:00:00Z", 503),
        ("2026-01-05T12:59:59+01:00", 200),
        ("2026-01-05T11:00:01-01:00", 503),
        ("20260105T115959Z", 200),
        ("2026-01-05", 422),
        ("2026-01-05T12:00:00", 422),
        ("soon", 422),
        ("", 422),
        ("9" * 100, 422),
    ],
)
def test_readiness(client: httpx.Client, bot: Bot, after: str, status: int) -> None:
    answer = client.get("/readyz", params={"after": after})
    assert answer.status_code == status
    if status == 503:
        assert answer.json() == {"ok": False, "missing": ["a good round began after this instant"]}
    if status == 422:
        assert bot.asked == []


def test_a_plus_that_was_not_quoted(client: httpx.Client, bot: Bot) -> None:
    assert client.get("/readyz?after=2026-01-05T12:59:59+01:00").status_code == 200
    assert bot.asked == [datetime(2026, 1, 5, 12, 59, 59, tzinfo=timezone(timedelta(hours=1)))]


def test_readiness_without_an_instant_is_that_of_now(client: httpx.Client, bot: Bot) -> None:
    assert client.get("/readyz").status_code == 200
    bot.hindered = "vCenter lab: nobody answers there"
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["waits_for"]) == (503, "vCenter lab: nobody answers there")
    assert bot.asked == []


def test_numbers(client: httpx.Client, bot: Bot) -> None:
    bot.meter.went_round("good", 0.2)
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'gpubot_round_seconds_count{outcome="good"} 1.0' in answer.text
    assert 'outcome="good"' not in Meter().text().decode(), "two bots in one process do not meet"


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/", "/v1/readings"])
def test_nothing_else_is_served(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_failure_tells_nothing(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = client.get("/fails")
        until(lambda: "a secret cause" in caplog.text, "the cause is logged", 5)
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "server" not in answer.headers


def test_a_body_within_the_limit(client: httpx.Client) -> None:
    assert client.post("/echo", content=b"x" * BODY_MAX).json() == BODY_MAX


def test_a_body_beyond_the_limit(client: httpx.Client) -> None:
    assert client.post("/echo", content=b"x" * (BODY_MAX + 1)).status_code == 413
    assert client.get("/healthz").status_code == 200


def test_a_body_that_does_not_tell_its_length(client: httpx.Client) -> None:
    def parts(size: int) -> Iterator[bytes]:
        yield from [b"x" * 1024] * (size // 1024)

    assert client.post("/echo", content=parts(BODY_MAX)).json() == BODY_MAX
    assert client.post("/echo", content=parts(BODY_MAX + 1024)).status_code == 413
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("host", "only_here"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.5", False),
        ("gpubot.lab", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_what_is_loopback(host: str, only_here: bool) -> None:
    assert is_loopback(host) is only_here


def test_plain_http_stays_on_this_machine(bot: Bot) -> None:
    with pytest.raises(WebError, match="cert_file and key_file"):
        Server(app_of(bot), host="0.0.0.0")


def test_a_port_that_is_taken(bot: Bot, serve: Callable[..., Server]) -> None:
    port = serve(app_of(bot)).port
    with pytest.raises(WebError, match=rf"cannot listen on 127.0.0.1:{port}: .*choose another"):
        Server(app_of(bot), port=port)


def test_tls(bot: Bot, serve: Callable[..., Server], tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    issued.private_key_pem.write_to_path(str(key))
    for blob in issued.cert_chain_pems:
        blob.write_to_path(str(cert), append=True)
    server = serve(app_of(bot), cert=cert, key=key)
    assert server.url.startswith("https://")
    trusting, doubting = ssl.create_default_context(), ssl.create_default_context()
    authority.configure_trust(trusting)
    with httpx.Client(verify=trusting, trust_env=False) as client:
        assert client.get(f"{server.url}/healthz").status_code == 200
    with httpx.Client(verify=doubting, trust_env=False) as client, pytest.raises(httpx.ConnectError):
        client.get(f"{server.url}/healthz")


@pytest.mark.parametrize("what", ["missing", "garbage"])
def test_a_certificate_that_does_not_load(bot: Bot, tmp_path: Path, what: str) -> None:
    cert = tmp_path / "cert.pem"
    if what == "garbage":
        cert.write_text("not a certificate")
    with pytest.raises(WebError, match="does not load"):
        Server(app_of(bot), cert=cert, key=cert)


def test_stops_and_frees_its_port(bot: Bot) -> None:
    server = Server(app_of(bot))
    server.start()
    lingering = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    lingering.request("GET", "/healthz")
    assert json.loads(lingering.getresponse().read())["ok"]
    server.stop()  # although a client keeps its connection open
    lingering.close()
    assert "web" not in [t.name for t in threading.enumerate()]
    with socket.create_server(("127.0.0.1", server.port)):
        pass
    again = Server(app_of(bot))
    again.stop()  # never started
