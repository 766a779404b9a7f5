"""How many commands a second, and how long the slowest of a hundred takes, against a floor measured in the same run.

Ours: slash commands through the real Bolt app, desk and store (SQLite in a file, ``synchronous=FULL``), each of them writing: a person gets
in line, and leaves it. The floor: a Bolt app whose listener acks and writes one row with sqlmodel, at FULL and in WAL too, writers taking
turns. Both by eight threads that call ``App.dispatch``, in turns, several times; the medians count.

``python -m bench.commands`` prints both and their ratios, and ends with 1 if a target is missed: commands/s at least 0.4 of the floor, p99
at most 4 times.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slack_bolt import App, BoltRequest
from slack_sdk import WebClient
from sqlalchemy import event
from sqlmodel import Field, Session, SQLModel, create_engine

from bot import commands
from bot.domain import pool
from bot.domain.draft import Draft
from bot.domain.model import Machine, Power, Seen, SeenCard, SeenHost, SeenMachine
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.edges.clock import FileClock
from bot.edges.slack import SlackApp, SlackPeople, SlackSettings, make_client
from bot.edges.store import SqlStore, open_store
from bot.local.slack import LocalSlack, start_in_thread
from bot.service.desk import Desk

THREADS = 8
EACH = 60  # commands of a thread in one turn; even, so that everybody has left the line at its end
TURNS = 5  # of ours and of the floor, one after the other
WARM = 6  # commands of a thread before the first turn

WRONG = ("Something of mine broke", "othing was changed", "o not know", "One moment")
"""What an answer says that changed nothing."""

LEAST_RATE, MOST_P99 = 0.4, 4.0

T4 = "10de:1eb8"
PCI = ("0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0", "0000:af:00.0")

Say = Callable[[int, int], None]
"""Thread and number of a command: says it, and raises if it is not answered as it should be."""


@dataclass(frozen=True)
class Turn:
    """What one turn gave."""

    rate: float  # commands a second
    p50: float  # milliseconds
    p99: float  # milliseconds


def turn(say: Say, each: int = EACH) -> Turn:
    """All threads say their commands at once."""
    start = threading.Barrier(THREADS + 1)

    def one(thread: int) -> list[float]:
        took = []
        start.wait()
        for number in range(each):
            before = time.perf_counter()
            say(thread, number)
            took.append((time.perf_counter() - before) * 1000)
        return took

    with ThreadPoolExecutor(THREADS) as threads:
        running = [threads.submit(one, n) for n in range(THREADS)]
        start.wait()
        before = time.perf_counter()
        took = sorted(ms for each_took in running for ms in each_took.result())
        seconds = time.perf_counter() - before
    return Turn(len(took) / seconds, statistics.median(took), took[int(len(took) * 0.99)])


def payload(person: str, text: str) -> dict[str, Any]:
    """A slash command as Slack sends it."""
    return {
        "command": "/gpu", "text": text, "user_id": person, "user_name": "x", "channel_id": "C0GPU0001", "channel_name": "gpu",
        "team_id": "T1", "team_domain": "x", "api_app_id": "A1", "is_enterprise_install": "false", "token": "x",
        "response_url": "http://127.0.0.1:9/", "trigger_id": "1.1.x",
    }  # fmt: skip


def dispatched(app: App, person: str, text: str) -> str:
    """The body of the ack."""
    response = app.dispatch(BoltRequest(mode="socket_mode", body=payload(person, text)))
    if response.status != 200:
        raise RuntimeError(f"{text!r} was not acked: {response.status}")
    return str(response.body)


# ---- ours


@contextmanager
def our_app(
    folder: Path, slack: LocalSlack, *, listeners_first: bool = True, opened: Callable[[SqlStore], None] | None = None
) -> Iterator[tuple[SlackApp, list[str], SlackSettings]]:
    """The bot from Bolt down to the file, the ids of its people, and its settings. ``opened`` is told its store."""
    with ExitStack() as stack:
        ids = [_person(slack, f"person{n}") for n in range(THREADS)]
        settings = SlackSettings(slack.bot_token, slack.app_token, slack.channel, api_url=slack.api_url)
        clock, policy = FileClock(None), Policy(level="act", kinds={T4: "T4"})
        store = open_store(f"sqlite:///{folder / 'gpubot.db'}", now=clock.now)
        stack.callback(store.close)
        people = SlackPeople(make_client(settings), settings, store.persons)
        stack.callback(people.close)
        _furnish(store, ids, policy)
        if opened is not None:
            opened(store)
        desk = Desk(store, people, clock, policy, ("T4",), lambda: None, commands.found())
        app = SlackApp(settings, people, desk.hear, listeners_first=listeners_first)
        stack.callback(app.close)
        yield app, ids, settings


@contextmanager
def ours(folder: Path, slack: LocalSlack) -> Iterator[Say]:
    """The bot's own way from a payload to its ack."""
    with our_app(folder, slack) as (app, ids, _):

        def say(thread: int, number: int) -> None:
            text = "release" if number % 2 else "request 1"
            said = dispatched(app.app, ids[thread], text)
            if any(wrong in said for wrong in WRONG):
                raise RuntimeError(f"{text!r} was answered {said}")

        yield say


def _person(slack: LocalSlack, name: str) -> str:
    """Somebody new in the workspace; their id."""
    slack.drive.person(name)
    return next(str(p["id"]) for p in slack.drive.get("state")["people"] if p["name"] == name)


def _furnish(store: SqlStore, ids: list[str], policy: Policy) -> None:
    """Four cards in one host, and a machine of each person."""
    now = datetime.now(UTC)
    cards = tuple(SeenCard(pci, T4, "Tesla T4", True) for pci in PCI)
    machines = [Machine(f"uuid-{n}", f"vm-{n}", "main", (id,)) for n, id in enumerate(ids)]
    vms = tuple(
        SeenMachine("main", m.uuid, m.name, "host-1", Power.ON, boot=now, tools=True, memory_mb=65536) for m in machines
    )
    host = SeenHost("main", "host-1", "esx-01", True, False, cards)
    seen = Seen(now, frozenset({"main"}), (host,), vms, {"main": now})
    store.keep_look(seen)
    with store.transaction() as transaction:
        draft = Draft(transaction.books(), now)
        pool.settle(draft, Sight(draft.cards, seen, {}), policy)
        for machine in machines:
            draft.put(machine)
        transaction.record(draft.changes(), ())


# ---- the floor


class Row(SQLModel, table=True):
    """What the floor writes."""

    id: int | None = Field(default=None, primary_key=True)
    person: str
    text: str


@contextmanager
def floor(folder: Path, slack: LocalSlack) -> Iterator[Say]:
    """As little as a bot can do that answers and remembers."""
    engine = create_engine(f"sqlite:///{folder / 'floor.db'}")

    @event.listens_for(engine, "connect")
    def settings(connection: Any, _: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    SQLModel.metadata.create_all(engine, tables=[SQLModel.metadata.tables["row"]])
    turns = threading.Lock()
    app = App(
        client=WebClient(token=slack.bot_token, base_url=slack.api_url), process_before_response=True,
        request_verification_enabled=False, ssl_check_enabled=False,
    )  # fmt: skip

    @app.command("/gpu")
    def listener(ack: Any, body: dict[str, Any]) -> None:
        with turns, Session(engine) as session:
            session.add(Row(person=body["user_id"], text=body["text"]))
            session.commit()
        ack(text="noted", response_type="ephemeral")

    def say(thread: int, number: int) -> None:
        if "noted" not in dispatched(app, f"U{thread}", f"request {number}"):
            raise RuntimeError("the floor did not answer")

    yield say
    engine.dispose()


# ---- the measurement


def main() -> int:
    """Measures, prints, and says whether the targets are met."""
    with (
        tempfile.TemporaryDirectory() as name,
        start_in_thread() as slack,
        ours(Path(name), slack) as our,
        floor(Path(name), slack) as low,
    ):
        for say in (our, low):
            turn(say, WARM)
        turns = [(turn(our), turn(low)) for _ in range(TURNS)]
    mine, least = (_median([pair[n] for pair in turns]) for n in (0, 1))
    for title, got in (("gpubot", mine), ("floor", least)):
        print(f"{title:8} {got.rate:7.0f} commands/s   p50 {got.p50:6.1f} ms   p99 {got.p99:6.1f} ms")
    rate, p99 = mine.rate / least.rate, mine.p99 / least.p99
    good = rate >= LEAST_RATE and p99 <= MOST_P99
    print(f"commands/s: {rate:.2f} of the floor (at least {LEAST_RATE}); p99: {p99:.2f} times (at most {MOST_P99:.0f})")
    print("the targets are met" if good else "a target is MISSED")
    return 0 if good else 1


def _median(turns: list[Turn]) -> Turn:
    return Turn(*(statistics.median(getattr(t, name) for t in turns) for name in ("rate", "p50", "p99")))


if __name__ == "__main__":
    sys.exit(main())
