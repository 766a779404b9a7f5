"""The fake NVML built with the system's compiler, a receiver that speaks HTTP, and the real agent between the two as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.needs import need

TOKEN = "a-token-of-the-tests"
SPEED = 50.0  # of the agent's time: a minute takes 1.2 s
PATIENCE = 30.0  # real seconds for whatever is waited for


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory, repo: Path) -> Path:
    """The folder that holds our ``libnvidia-ml.so.1``."""
    gcc, folder = need("gcc"), tmp_path_factory.mktemp("nvml")
    library = folder / "libnvidia-ml.so.1"
    flags = ["-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-Wall", "-Wextra", "-Werror", "-O1"]
    subprocess.run([gcc, *flags, "-o", library, repo / "tests/guest/fake_nvml.c", "-lpthread"], check=True)
    return folder


T4 = {
    "uuid": "GPU-11111111-2222-3333-4444-555555555555",
    "name": "Tesla T4",
    "pci": "00000000:02:00.0",
    "virtual": 1,
    "util": 0,
    "encoder": 0,
    "decoder": 0,
    "energy_mj": 1_000_000,
    "power_mw": 12_000,
    "persistence": 1,
    "ecc": 1,
    "mem_total_mib": 15360,
    "mem_reserved_mib": 450,
    "mem_used_mib": 0,
    "compute": "",
    "graphics": "",
}
"""An idle card, passed through."""


class Fake:
    """What the fake NVML answers; may be changed while an agent asks."""

    def __init__(self, folder: Path, library: Path) -> None:
        self.file, self.log, self.hang = folder / "nvml.state", folder / "nvml.log", folder / "hang"
        self.library = library
        self.set(cards=[T4])

    def set(self, cards: list[dict[str, Any]], **general: Any) -> None:
        """The whole state anew: cards with their keys (a MIG device as ``mig.0.uuid``), and general keys."""
        values: dict[str, Any] = {"driver": "550.90.07", "count": len(cards), **general}
        values.update({f"gpu.{n}.{key}": value for n, card in enumerate(cards) for key, value in card.items()})
        fresh = self.file.with_suffix(".new")
        fresh.write_text("".join(f"{key}={value}\n" for key, value in values.items() if value is not None))
        fresh.replace(self.file)

    def card(self, **changes: Any) -> None:
        """One T4, but for these (None takes a key away: not supported)."""
        self.set([{**T4, **changes}])

    def calls(self) -> list[str]:
        """What was asked of init and shutdown so far."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def environment(self) -> dict[str, str]:
        return {
            "LD_LIBRARY_PATH": str(self.library),
            "FAKE_NVML": str(self.file),
            "FAKE_NVML_LOG": str(self.log),
            "FAKE_NVML_HANG": str(self.hang),
        }


@pytest.fixture
def fake(tmp_path: Path, fake_library: Path) -> Fake:
    return Fake(tmp_path, fake_library)


@dataclass
class Answer:
    """What the receiver says."""

    status: int = 200
    orders: tuple[str, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    text: str | None = None  # instead of the orders


class Receiver:
    """Takes readings as the bot does; keeps them all, and answers as it is told."""

    def __init__(self) -> None:
        self.readings: list[dict[str, Any]] = []  # those that were answered with 200
        self.all: list[tuple[int, dict[str, Any]]] = []  # every try, with its answer
        self.tokens: list[str] = []
        self.answer: Callable[[dict[str, Any]], Answer] = lambda _: Answer()
        self._news = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = receiver._take(self.path, self.headers["Authorization"], body)
                orders = json.dumps({"orders": list(answer.orders)})
                text = (orders if answer.text is None else answer.text).encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.port = self._server.server_port

    def _take(self, path: str, authorization: str, body: dict[str, Any]) -> Answer:
        answer = self.answer(body) if path == "/v1/readings" else Answer(404)
        with self._news:
            self.tokens.append(authorization)
            self.all.append((answer.status, body))
            if answer.status == 200 and answer.text is None:
                self.readings.append(body)
            self._news.notify_all()
        return answer

    def order(self, *words: str) -> None:
        """In the answer to the next reading, once."""
        waiting = list(words)

        def answer(_: dict[str, Any]) -> Answer:
            told, waiting[:] = tuple(waiting), []
            return Answer(orders=told)

        self.answer = answer

    def wait(self, right: Callable[[dict[str, Any]], bool], since: int = 0) -> dict[str, Any]:
        """The first reading (from number ``since`` on) that is as wanted."""
        with self._news:

            def found() -> dict[str, Any] | None:
                return next((body for body in self.readings[since:] if right(body)), None)

            body = self._news.wait_for(found, PATIENCE)
            assert body, f"no such reading among {len(self.readings) - since}; the last: {self.readings[-1:]}"
            return body

    def fresh(self, right: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """A reading that began after now: the second from here on, or a later one that is as wanted."""
        return self.wait(right, len(self.readings) + 1)

    def wait_all(self, right: Callable[[list[tuple[int, dict[str, Any]]]], bool]) -> None:
        """Until the tries are as wanted."""
        with self._news:
            assert self._news.wait_for(lambda: right(self.all), PATIENCE), [(s, b["seq"]) for s, b in self.all]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


class Guest:
    """A machine with an agent in it, as far as a test needs one: its folders, its settings, its process."""

    def __init__(self, folder: Path, fake: Fake, receiver: Receiver) -> None:
        self.folder, self.fake, self.receiver = folder, fake, receiver
        self.state, self.run, self.hooks = folder / "state", folder / "run", folder / "etc"
        self.token = folder / "token"
        self.token.write_text(TOKEN + "\n")
        self.token.chmod(0o600)
        self.hooks.mkdir()
        self.settings: dict[str, dict[str, Any]] = {
            "agent": {
                "url": f"http://127.0.0.1:{receiver.port}",
                "token_file": self.token,
                "state_dir": self.state,
                "run_dir": self.run,
            },
            "hooks": {"folder": self.hooks, "time_limit_s": 5},
            "jobs": {"min_age_s": 0},
        }
        self.env: dict[str, str] = {}
        self.log = folder / "agent.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, speed: float = SPEED) -> Guest:
        """The agent, with the settings as they are now."""
        path = self.folder / "agent.conf"
        path.write_text(
            "".join(
                f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
                for section, values in self.settings.items()
            )
        )
        command = [sys.executable, "-m", "bot.guest.agent.main", "--settings", str(path), "--speed", str(speed)]
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **self.fake.environment(), **self.env}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=environ, stdout=log, stderr=log, cwd=Path(__file__).parents[2], stdin=subprocess.DEVNULL
            )
        return self

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def ended(self) -> int:
        """Its exit code, once it ends by itself."""
        assert self.process is not None
        return self.process.wait(PATIENCE)

    def logged(self) -> str:
        return self.log.read_text()

    def wait_logged(self, words: str) -> str:
        """The log, once it says that."""
        return until(lambda: words in self.logged() and self.logged(), f"{words!r} is not in the log")

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def until(found: Callable[[], Any], words: str) -> Any:
    """Asks again and again, for a bounded time, until there is something."""
    end = time.monotonic() + PATIENCE
    pause = threading.Event()
    while time.monotonic() < end:
        got = found()
        if got:
            return got
        pause.wait(0.02)
    pytest.fail(words)


@pytest.fixture
def guest(tmp_path: Path, fake: Fake, receiver: Receiver) -> Iterator[Guest]:
    made = Guest(tmp_path, fake, receiver)
    yield made
    made.kill()


def card(reading: dict[str, Any]) -> dict[str, Any]:
    """The one card of a reading."""
    (one,) = reading["cards"]
    return one
