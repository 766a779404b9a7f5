"""The last card, asked for by two people at two terminals while two bots look after one database: it goes to one of them, without an error.

Nobody stands before anybody else by a lock of ours: the bots' claim on the database is switched off, as by ``gpubot run --beside``. Four
processes keep their imports, store, desk and rounds, and meet at a barrier each time. Why it works is shown by what happens when
transactions begin plainly.
"""

from __future__ import annotations

import logging
import multiprocessing
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import RequestState, Turn
from bot.edges.store.store import open_store
from bot.local.demo.processes import free_port
from bot.service.desk import Desk
from bot.service.rounds import Rounds
from tests.fakes import text_of
from tests.house import VERBS, House
from tests.story.rig import set_up, wait, yard

spawn = multiprocessing.get_context("spawn")

PATIENCE = 60.0
"""Real seconds for the others to come to the barrier."""

SPEAKERS = {"bob": "vm-r", "carol": "vm-train"}
"""Who asks, and for which machine."""


class Resident(House):
    """A house in a process of its own, on a database that it shares. ``plain``: transactions that begin as the driver likes."""

    def __init__(self, path: Path, run: str, plain: bool) -> None:
        """The database was furnished before."""
        self.plain = plain
        super().__init__(path, run=run)

    def _open(self, run: str) -> None:
        self.store = open_store(f"sqlite:///{self.path / 'gpubot.db'}", now=self.clock.now, plain=self.plain)
        self.desk = Desk(self.store, self.people, self.clock, self.policy, ("T4",), self._wake, VERBS)
        self.rounds = Rounds(
            self.store, self.lab, self.voice, self.people, self.clock, self.policy, run, self._wake, claim=None
        )


class Errors(logging.Handler):
    """Keeps the first line of what is logged as an error, with its exception."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """One more."""
        told = record.args if isinstance(record.args, tuple) else ()
        errors = [record.exc_info[1] if record.exc_info else None, *(x for x in told if isinstance(x, Exception))]
        cause = next((f": {type(error).__name__}" for error in errors if error is not None), "")
        self.found.append(f"{record.getMessage().split(' ')[0]}{cause}")


@dataclass(frozen=True)
class Part:
    """What a process does, and where it meets the others."""

    path: Path  # of the database's folder
    name: str  # of a speaker or a bot
    plain: bool  # see Resident
    rounds: int  # how often
    barrier: Any  # of all processes and the referee
    told: Any  # queue of (name, errors)


def speaker(part: Part) -> None:
    """Asks for a card; when the bots have gone round, lets it go or leaves the line."""
    _resident(part, lambda house: (
        lambda: _say(house, part.name, f"request 1 on {SPEAKERS[part.name]} restart now"),
        lambda: None,
        lambda: _say(house, part.name, "release all"),
    ))  # fmt: skip


def bot(part: Part) -> None:
    """Goes round while the others speak, and when they have."""
    _resident(part, lambda house: (house.rounds.round, house.rounds.round, house.rounds.round))


def _say(house: House, name: str, text: str) -> None:
    reply = house.say(name, text)
    if not reply.ok:
        logging.getLogger(__name__).error("%s", f"refused:{text_of(reply)[:80]}")


def _resident(part: Part, acts: Callable[[House], tuple[Callable[[], object], ...]]) -> None:
    errors = Errors()
    logging.getLogger().addHandler(errors)
    house = Resident(part.path, f"run-{part.name}", part.plain)
    for _ in range(part.rounds):
        errors.found.clear()
        for act in acts(house):
            part.barrier.wait(PATIENCE)
            act()
            part.barrier.wait(PATIENCE)  # all have acted: the referee looks
        part.told.put((part.name, list(errors.found)))
    house.close()


def race(path: Path, rounds: int, *, plain: bool = False) -> Counter[str]:
    """Play it so often; what went wrong, counted: errors by their exception, and holds that are not one."""
    house = House(path)
    house.furnish()
    for card in ("T4-2", "T4-3", "T4-4"):
        house.say("dana", f"drain {card} because it is kept as a spare")
    for name in SPEAKERS:
        house.say(name, "status")  # everybody was met before
    barrier, told = spawn.Barrier(5), spawn.Queue()
    parts = [(speaker, name) for name in SPEAKERS] + [(bot, "bot-1"), (bot, "bot-2")]
    processes = [spawn.Process(target=do, args=(Part(path, name, plain, rounds, barrier, told),)) for do, name in parts]
    for process in processes:
        process.start()
    wrong: Counter[str] = Counter()
    try:
        for _ in range(rounds):
            wrong.update(_referee(house, barrier))
            for _ in processes:
                wrong.update(told.get(timeout=PATIENCE)[1])
        for process in processes:
            process.join(PATIENCE)
            assert process.exitcode == 0
    finally:
        barrier.abort()
        for process in processes:
            process.join(5)
            process.kill()
        house.close()
        told.close()
    return wrong


def _referee(house: House, barrier: Any) -> list[str]:
    """Let one round go; what the books say that they should not."""
    found = []
    for phase in ("speak", "turn", "let go"):
        barrier.wait(PATIENCE)
        barrier.wait(PATIENCE)
        books = house.books
        held = sorted(h.label for h in books.holds if h.slot == "T4-1" and h.turn is Turn.HAS)
        if phase == "turn":
            waits = [r for r in books.requests.values() if r.state is RequestState.QUEUED]
            leases = [x for x in books.leases.values() if x.state in OPEN_LEASE]
            if len(books.holds) != 1 or len(held) != 1:
                found.append(f"{len(books.holds)} holds")
            if (len(waits), len(leases)) != (1, 1):
                found.append(f"{len(leases)} leases, {len(waits)} in line")
    house.round()  # what the last words left behind
    return found


def test_the_last_card_goes_to_one(tmp_path: Path) -> None:
    assert race(tmp_path, 40) == Counter()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_last_card_goes_to_one_200_times(tmp_path: Path) -> None:
    assert race(tmp_path, 200) == Counter()


def test_plain_transactions_would_fail(tmp_path: Path) -> None:
    """Why every writing transaction begins IMMEDIATE: begun plainly, some meet a lock that no waiting resolves, or a constraint."""
    wrong = race(tmp_path, 15, plain=True)
    assert {"Busy", "Conflict"} & {what.rpartition(": ")[2] for what in wrong}, wrong


@pytest.mark.long
def test_two_bots_and_two_terminals_as_programs(tmp_path: Path) -> None:
    """The same with nothing of ours in between: ``gpubot run --beside`` twice, ``gpubot say`` twice at once."""
    with yard(tmp_path) as place:
        first = place.start("bot", "--beside")
        set_up(place.stage)
        for who in SPEAKERS:
            place.stage.quietly(who, "mine")
        for card in ("T4-2", "T4-3", "T4-4"):
            place.stage.quietly("dana", f"drain {card} because it is kept as a spare")
        second = place.rig.spawn("beside", _beside(place.rig.folder), ready_line=False)
        assert second == "" and wait(lambda: "level act" in place.log("beside")), place.log("beside")
        texts = [("--as", who, f"request 1 on {vm} restart tonight") for who, vm in SPEAKERS.items()]
        line = [sys.executable, "-m", "bot.cli", "say", "--settings", str(place.rig.settings)]
        both = [subprocess.Popen([*line, *text], env=place.rig.environment()) for text in texts]
        assert [terminal.wait(60) for terminal in both] == [0, 0]
        assert wait(lambda: place.books().holds), place.log()
        place.settle()
        assert [h.slot for h in place.books().holds] == ["T4-1"]
        for log in (place.log(), place.log("beside")):
            assert "Traceback" not in log, log
        place.kill(first)


def _beside(folder: Path) -> list[str]:
    """A second bot's arguments: the same database, a port of its own."""
    text = (folder / "gpubot.toml").read_text()
    settings = folder / "beside.toml"
    settings.write_text(re.sub(r'bind = "127.0.0.1:\d+"', f'bind = "127.0.0.1:{free_port()}"', text))
    return ["-m", "bot.cli", "run", "--settings", str(settings), "--beside"]
