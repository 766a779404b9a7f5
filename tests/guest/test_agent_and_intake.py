"""The real agent and the bot's real intake: web server, wire and store between them, over restarts of both."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.inside import Minute
from bot.domain.model import MachineId, Reading
from bot.edges.store import SqlStore, open_store
from bot.edges.telemetry import push
from bot.edges.web import Server, build
from tests.guest.conftest import SPEED, T4, TOKEN, Guest, Receiver, until

M1 = MachineId("machine-1")
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Bot:
    """As much of it as hears guests; its time runs at the agent's pace."""

    def __init__(self, folder: Path) -> None:
        self._begun = time.monotonic()
        self.store: SqlStore = open_store(f"sqlite:///{folder}/gpubot.db", now=self.now)
        self.store.set_token(M1, push.digest_of(TOKEN), NOW)
        self.port = 0
        self.start()

    def now(self) -> datetime:
        return NOW + timedelta(seconds=(time.monotonic() - self._begun) * SPEED)

    def start(self) -> None:
        app = build([push.router(self.store, self.now, lambda: None)], lambda: (True, {}), lambda _: (True, {}))
        self.server = Server(app, port=self.port)
        self.server.start()
        self.port = self.server.port

    @property
    def reading(self) -> Reading | None:
        return self.store.readings().get(M1)

    def minutes(self) -> list[Minute]:
        return self.store.minutes(0)


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Bot]:
    made = Bot(tmp_path)
    yield made
    made.server.stop()
    made.store.close()


@pytest.fixture
def guest(guest: Guest, bot: Bot, receiver: Receiver) -> Guest:
    """With the bot's address instead of the receiver's."""
    guest.settings["agent"]["url"] = bot.server.url
    return guest


def test_what_the_agent_says_is_kept_as_it_was(guest: Guest, bot: Bot) -> None:
    guest.fake.card(util=40, mem_used_mib=900, compute="4242:900")
    guest.start()
    until(lambda: any((m.busy_s or 0) > 20 for m in bot.minutes()), "no busy minute is kept")
    reading = bot.reading
    assert reading is not None
    (device,) = reading.devices
    assert (device.uuid, device.line) == (T4["uuid"], f"GPU 0: Tesla T4 (UUID: {T4['uuid']})")
    assert (device.util_max, device.mem_used_mb, device.virtual, device.persistence) == (40, 900, "passthrough", True)
    assert [p.pid for p in device.processes or ()] == [4242]
    assert reading.driver == "550.90.07"
    assert reading.allows == {"interval short", "interval normal", "last call"}
    assert abs(reading.late_s) < 30


def test_restarts_of_agent_and_bot_lose_nothing_and_make_no_second_speaker(guest: Guest, bot: Bot) -> None:
    guest.start()
    until(lambda: len(bot.minutes()) >= 2, "nothing is kept")
    assert guest.stop() == 0
    guest.start()
    heard = len(bot.minutes())
    until(lambda: len(bot.minutes()) >= heard + 2, "nothing is kept after a restart of the agent")
    bot.server.stop()
    kept = guest.state / "spool.jsonl"
    until(lambda: kept.exists() and kept.read_text().count("\n") >= 2, "nothing waits")
    assert guest.stop() == 0
    guest.start()
    before = len(bot.minutes())
    bot.start()
    until(lambda: len(bot.minutes()) >= before + 4, "what waited does not come")
    minutes = bot.minutes()
    assert [m.end for m in minutes] == sorted(m.end for m in minutes)
    assert any(m.at - m.end > timedelta(seconds=60) for m in minutes[before:])
    assert not any(m.rivals for m in minutes)
    assert len({m.boot_id for m in minutes}) == 1


def test_an_order_of_the_bot_is_obeyed(guest: Guest, bot: Bot) -> None:
    guest.start()
    until(lambda: bot.reading is not None, "nothing is kept")
    bot.store.order(M1, "interval short", bot.now())
    until(lambda: bot.reading is not None and bot.reading.interval_s < 25, "it goes on in its old interval")
