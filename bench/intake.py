"""What the intake of readings costs, and whether commands notice it.

First: readings through the whole of it (token, checks, committed to SQLite with ``synchronous=FULL``) against an empty handler of FastAPI on
the same server, both asked by another process over as many connections, in turns; the medians count. Then: a thousand machines that say one
reading a minute each, spread evenly over a minute, while people give commands over Socket Mode on a local Slack, all of it in one process.

``python -m bench.intake`` prints readings a second and their slowest, the ratio, the bytes of a kept minute, and how long commands wait for their
answer with and without the thousand machines; it ends with 1 if the slowest of a hundred takes 300 ms or more.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from bench.commands import THREADS, our_app
from bot.edges.slack import Link
from bot.edges.store import SqlStore, open_store
from bot.edges.telemetry import push
from bot.edges.web import Server, build
from bot.local.slack import LocalSlack, start_in_thread

MACHINES = 1000
LINES = 32  # connections at once
EACH = 100  # requests of a connection in one turn
TURNS = 3  # of both, one after the other
MINUTE_S = 60.0
ALONE = 2 * 60  # commands without the machines
PAUSE_S = 0.25  # between two commands
ROUND_S = 2.0  # between two looks at the readings, as of a bot with a restart under way
MOST_MS = 300.0

CARD = {
    "name": "Tesla T4", "pci": "0000:0b:00.0", "can": ["util", "memory", "processes", "energy", "power"], "measured_s": 59.0,
    "busy_s": 10.5, "util_max": 97, "util_mean": 40.5, "encode_max": 0, "decode_max": 0, "active_max": None, "energy_j": 2100.5,
    "power_w": 35.2, "mem_used_mb": 9800, "mem_total_mb": 15360, "mem_reserved_mb": 450, "persistence": True, "virtual": "passthrough",
    "licence": None, "mig": False, "ecc": True, "xid": None, "fault": None,
    "processes": [{"pid": 4242, "user": "ada", "name": "python", "mem_mb": 9000, "cpu": 0.9, "reads": False, "graphics": False}],
}  # fmt: skip


def reading(machine: int, seq: int) -> bytes:
    """What an agent with one card says: about 1.2 kB."""

    def made(kind: int) -> str:
        return f"0a1b2c3d-0000-4000-{8000 + kind}-{machine:012x}"

    now = datetime.now(UTC).isoformat()
    said = {
        "schema": 1, "boot_id": made(1), "seq": seq, "taken": now, "interval_s": 60, "state": "running", "agent": "1.0.0",
        "agent_id": made(2), "age_s": 0.0, "allows": ["last call"], "load1": 0.5, "cpus": 16, "driver": "550.90.07", "no_driver": None,
        "logins": [{"user": "ada", "since": now, "idle_s": 12}], "done": None, "check": None,
        "jobs": [{"pid": 4242, "user": "ada", "name": "python train.py", "since": now, "gpu": True}],
        "cards": [{"uuid": f"GPU-{made(3)}", "line": f"GPU 0: Tesla T4 (UUID: GPU-{made(3)})", **CARD}],
    }  # fmt: skip
    return json.dumps(said).encode()


def token(machine: int) -> str:
    """A machine's token."""
    return f"token-of-machine-{machine}"


def furnished(store: SqlStore) -> None:
    """Every machine gets its token."""
    now = datetime.now(UTC)
    for n in range(MACHINES):
        store.set_token(f"4212a1b2-c3d4-4000-8000-{n:012x}", push.digest_of(token(n)), now)


@contextmanager
def served(store: SqlStore) -> Iterator[Server]:
    """The server with the intake, and with a handler that does nothing."""
    empty = APIRouter()

    @empty.post("/empty")
    async def nothing() -> JSONResponse:
        return JSONResponse({"orders": []})

    intake = push.router(store, lambda: datetime.now(UTC), lambda: None)
    server = Server(build([intake, empty], lambda: (True, {}), lambda _: (True, {})))
    server.start()
    try:
        yield server
    finally:
        server.stop()


# ---- who sends, in another process


@dataclass(frozen=True)
class Sent:
    """What a turn gave."""

    rate: float  # answers a second
    p50: float  # milliseconds
    p99: float  # milliseconds
    bad: int  # answers other than 200


async def _ask(line: tuple[asyncio.StreamReader, asyncio.StreamWriter], path: str, token: str, body: bytes) -> int:
    """One request on an open connection; its status."""
    reader, writer = line
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = next(int(x.split(b":")[1]) for x in answer.split(b"\r\n") if x.lower().startswith(b"content-length"))
    await reader.readexactly(length)
    return int(answer.split(b" ", 2)[1])


async def _crowd(port: int, path: str, first_seq: int) -> list[tuple[float, int]]:
    """All connections at once, each as fast as it is answered."""

    async def one(number: int) -> list[tuple[float, int]]:
        line, took = await asyncio.open_connection("127.0.0.1", port), []
        for n in range(EACH):
            machine = (number + n * LINES) % MACHINES
            body = reading(machine, first_seq + n)
            before = time.perf_counter()
            status = await _ask(line, path, token(machine), body)
            took.append((time.perf_counter() - before, status))
        line[1].close()
        return took

    return [one_took for took in await asyncio.gather(*(one(n) for n in range(LINES))) for one_took in took]


async def _minute(port: int, seq: int) -> list[tuple[float, int]]:
    """Each machine once, spread evenly, on a connection of its own."""

    async def one(machine: int) -> tuple[float, int]:
        await asyncio.sleep(machine * MINUTE_S / MACHINES)
        before = time.perf_counter()
        line = await asyncio.open_connection("127.0.0.1", port)
        status = await _ask(line, "/v1/readings", token(machine), reading(machine, seq))
        line[1].close()
        return time.perf_counter() - before, status

    return await asyncio.gather(*(one(n) for n in range(MACHINES)))


def _send(kind: str, port: int, path: str, seq: int, told: Any) -> None:
    before = time.perf_counter()
    took = asyncio.run(_crowd(port, path, seq) if kind == "crowd" else _minute(port, seq))
    told.put((time.perf_counter() - before, took))


def sent(kind: str, port: int, path: str = "/v1/readings", seq: int = 1) -> Callable[[], Sent]:
    """Begins to send from another process; the call that is returned waits for its end."""
    spawn = multiprocessing.get_context("spawn")
    told = spawn.Queue()
    sender = spawn.Process(target=_send, args=(kind, port, path, seq, told))
    sender.start()

    def ended() -> Sent:
        seconds, took = told.get()
        sender.join()
        times = sorted(s * 1000 for s, _ in took)
        bad = sum(status != 200 for _, status in took)
        return Sent(len(took) / seconds, statistics.median(times), times[int(len(times) * 0.99)], bad)

    return ended


# ---- the measurements


def ratio(folder: Path) -> None:
    """The whole intake against an empty handler."""
    file = folder / "gpubot.db"
    with closing(open_store(f"sqlite:///{file}")) as store:
        furnished(store)
        with served(store) as server:
            sent("crowd", server.port, seq=1)()
            before = _pages(file)
            pairs = []
            for n in range(TURNS):
                full = sent("crowd", server.port, seq=1 + (n + 1) * EACH)()
                pairs.append((full, sent("crowd", server.port, "/empty")()))
            kept = (_pages(file) - before) / (TURNS * LINES * EACH)
    full, empty = (Sent(*(statistics.median(getattr(p[i], k) for p in pairs) for k in ("rate", "p50", "p99")), max(p[i].bad for p in pairs)) for i in (0, 1))  # fmt: skip
    for title, got in (("intake", full), ("empty", empty)):
        print(
            f"{title:8} {got.rate:7.0f} readings/s   p50 {got.p50:6.1f} ms   p99 {got.p99:6.1f} ms   not taken {got.bad}"
        )
    print(
        f"readings/s: {full.rate / empty.rate:.2f} of an empty handler; {kept:.0f} bytes of the file for a minute of one card"
    )


def _pages(file: Path) -> int:
    """Bytes of the database, whatever is still in its log."""
    with closing(sqlite3.connect(file)) as base:
        pages, size = (base.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
        return int(pages) * int(size)


def together(folder: Path, slack: LocalSlack) -> bool:
    """Commands with and without the thousand machines. Returns whether the target is met."""
    stores: list[SqlStore] = []
    with our_app(folder, slack, opened=stores.append) as (app, _, settings), served(stores[0]) as server:
        furnished(stores[0])
        link, over = Link(app.app, settings), threading.Event()
        link.open()
        rounds = threading.Thread(target=_rounds, args=(stores[0], over))
        try:
            _commands(slack, lambda done: done < 2 * THREADS)
            alone = _commands(slack, lambda done: done < ALONE)
            sent("crowd", server.port)()  # who has spoken before costs less than who is new
            rounds.start()
            ended, end = sent("minute", server.port, seq=EACH + 1), time.monotonic() + MINUTE_S
            among = _commands(slack, lambda _: time.monotonic() < end)
            pushes = ended()
        finally:
            over.set()
            if rounds.ident is not None:
                rounds.join()
            link.close()
    print(f"{MACHINES} machines a minute: p50 {pushes.p50:.1f} ms   p99 {pushes.p99:.1f} ms   not taken {pushes.bad}")
    _told("commands alone", alone)
    _told("commands among them", among)
    good = _p99(among) < MOST_MS and pushes.bad == 0
    print(
        f"answers to commands, p99: {_p99(among) / _p99(alone):.2f} times those without (below {MOST_MS:.0f} ms: {'met' if good else 'MISSED'})"
    )
    return good


def _rounds(store: SqlStore, over: threading.Event) -> None:
    """What a round reads of the guests."""
    last = 0
    while not over.wait(ROUND_S):
        store.readings()
        minutes = store.minutes(last)
        last = minutes[-1].id if minutes else last


def _commands(slack: LocalSlack, more: Callable[[int], bool]) -> list[float]:
    """Milliseconds until each answer."""
    took: list[float] = []
    while more(len(took)):
        text = "release" if len(took) // THREADS % 2 else "request 1"
        answer = slack.drive.command(f"person{len(took) % THREADS}", "#gpu", f"/gpu {text}")
        if not answer["acked"]:
            raise RuntimeError(f"not acked: {answer['error']}")
        took.append(float(answer["ms"]))
        time.sleep(PAUSE_S)
    return sorted(took)


def _p99(took: Sequence[float]) -> float:
    return took[int(len(took) * 0.99)]


def _told(title: str, took: Sequence[float]) -> None:
    print(f"{title:22} p50 {statistics.median(took):6.1f} ms   p99 {_p99(took):6.1f} ms   ({len(took)})")


def main() -> int:
    """Measures, prints, and says whether the target is met."""
    with tempfile.TemporaryDirectory() as name:
        ratio(Path(name))
    with tempfile.TemporaryDirectory() as name, start_in_thread() as slack:
        return 0 if together(Path(name), slack) else 1


if __name__ == "__main__":
    sys.exit(main())
