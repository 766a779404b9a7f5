"""`gpubot drill` as a process of its own whose terminal is closed, or which is killed: what it leaves, and what the next one says."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, OPEN_REQUEST
from bot.domain.model import LeaseState, Power
from tests.fakes import uuid
from tests.house import House

SETTINGS = """
[site]
admins = ["dana"]
level = "act"
[store]
url = "sqlite:///gpubot.db"
"""


@dataclass
class Place:
    """A house whose rounds go on while a drill runs beside it, on the same database and clock."""

    house: House
    begun: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GPUBOT_")}
        return {**kept, "GPUBOT_CLOCK": str(self.house.path / "clock.json")}

    def line(self, *words: str) -> list[str]:
        settings = str(self.house.path / "gpubot.toml")
        return [sys.executable, "-m", "bot.cli", "drill", "vm-train", *words, "--settings", settings]

    def start(self, out: int) -> subprocess.Popen[bytes]:
        """A drill in a session of its own, as one at a terminal is; what it says goes to ``out``."""
        begun = subprocess.Popen(
            self.line("--yes"), env=self.env(), stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
        self.begun.append(begun)
        return begun

    def go_on(self, until: Callable[[], bool]) -> None:
        """Rounds, a quarter of a minute each."""
        end = time.monotonic() + 60
        while not until():
            assert time.monotonic() < end, "it did not come to that"
            self.tick()
            if until():
                return  # at once: a drill that sees it first goes on, and what was looked for is over
            self.house.store.changed()
            time.sleep(0.02)

    def tick(self) -> None:
        self.house.forward(0.25, 0.25)
        now = self.house.clock.now().timestamp()
        half = self.house.path / "clock.half"
        half.write_text(json.dumps({"real0": 0, "virtual0": now, "speed": 0}))
        half.replace(self.house.path / "clock.json")

    def in_use(self) -> bool:
        return any(x.state is LeaseState.ACTIVE for x in self.house.books.leases.values())

    def as_before(self) -> bool:
        """Neither in the books nor in vCenter is anything left."""
        books, vm = self.house.books, self.house.lab.vms[uuid("vm-train")]
        open_ = [x.request for x in books.leases.values() if x.state in OPEN_LEASE]
        open_ += [m.number for m in books.moves.values() if m.state in OPEN_MOVE]
        open_ += [r.number for r in books.requests.values() if r.state in OPEN_REQUEST]
        return not open_ and not vm.cards and vm.power is Power.ON and uuid("vm-train") not in books.machines


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    house = House(tmp_path)
    house.furnish({"vm-python": "ada", "vm-r": "bob"})
    dana = house.people.find("dana")
    assert dana is not None
    house.store.person_seen(dana)
    house.round()
    (tmp_path / "gpubot.toml").write_text(SETTINGS)
    assert house.store.claim("run-1", datetime.now(UTC), timedelta(minutes=5))
    made = Place(house)
    made.tick()
    yield made
    for process in made.begun:
        process.kill()
        process.wait()
    house.close()


def test_a_terminal_that_is_closed_ends_it_with_all_given_back(place: Place) -> None:
    ours, theirs = pty.openpty()
    drill = place.start(theirs)
    os.close(theirs)
    place.go_on(place.in_use)
    os.close(ours)  # the terminal is gone: what is said from now on fails
    for _ in range(2):  # the kernel tells it, and the shell does
        os.kill(drill.pid, signal.SIGHUP)
    place.go_on(lambda: drill.poll() is not None)
    assert drill.returncode == 1
    assert place.as_before()


def test_the_next_one_offers_to_give_back_what_one_left_that_was_killed(place: Place) -> None:
    drill = place.start(subprocess.DEVNULL)
    place.go_on(place.in_use)
    drill.send_signal(signal.SIGSTOP)  # alive, and silent for as long as one likes
    second = subprocess.run(
        place.line("--yes"), env=place.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30
    )
    assert second.returncode == 2 and "A drill of vm-train runs in another terminal now" in second.stdout
    assert place.in_use(), "it did not give back the first one's card"
    drill.kill()
    drill.wait()
    asked = subprocess.run(
        place.line(), env=place.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30
    )
    assert (asked.returncode, asked.stderr) == (2, "")  # nobody is there to agree: that is a no
    assert not list(place.house.path.glob("*.drill")), "its mark went with it, and the next one's at its end"
    assert re.search(
        r"An earlier drill of vm-train did not come to its end: its #1 has T4-\d\.\nGive it back", asked.stdout
    )
    assert "gpubot say --as dana 'release #1 now'" in asked.stdout and "machine remove vm-train" in asked.stdout
    assert place.in_use()
