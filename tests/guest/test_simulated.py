"""The simulated guests of the demo say what the real agent says: the same fields, in the same places."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from bot.edges.telemetry.push import wire
from bot.local.guests.activities import Job
from bot.local.guests.cards import Span
from bot.local.guests.conditions import CONDITIONS, ORDERS, Habits
from bot.local.guests.reading import Inside, reading_of
from tests.guest.conftest import Fake, Guest, Receiver

PCI = "0000:3b:00.0"


def simulated(**habits: Any) -> dict[str, Any]:
    """A reading with one of everything."""
    jobs = (Job(7, "ada", "python train.py", 0.0, True, (PCI,), "training"),)
    return reading_of(
        Inside(
            name="vm-python",
            agent_id="5e1f0000-0000-4000-8000-000000000001",
            boot_id="5e1f0000-0000-4000-8000-000000000002",
            seq=3,
            stopping=False,
            habits=Habits(**habits),
            logins={"ada": 5.0},
            cards=[PCI],
            span=Span(60.0, 120.0, jobs),
            done=("ada", 118.0),
            check=(0, "a card computes", 119.0),
        )
    )


def keys(reading: dict[str, Any]) -> dict[str, set[str]]:
    """The fields in each place of a reading; a place that is empty is left out."""
    lists = {"cards": reading["cards"], "logins": reading["logins"], "jobs": reading["jobs"]}
    lists["processes"] = [p for card in reading["cards"] for p in card["processes"] or ()]
    lists |= {part: [reading[part]] for part in ("done", "check") if reading[part]}
    return {"": set(reading)} | {name: set().union(*found) for name, found in lists.items() if found}


@pytest.fixture
def real(guest: Guest, fake: Fake, receiver: Receiver) -> Iterator[dict[str, Any]]:
    """A reading of the real agent whose card is held by a process."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    fake.card(util=97, mem_used_mib=9000, compute=f"{busy.pid}:9000", energy_mj=1_000_000)
    guest.start()
    try:
        yield receiver.wait(lambda r: any("reads" in p for c in r["cards"] for p in c["processes"] or ()))
    finally:
        busy.kill()
        busy.wait()


def test_the_real_agent_and_the_simulated_one_send_the_same_fields(real: dict[str, Any]) -> None:
    theirs, ours = keys(real), keys(simulated())
    assert {"", "cards", "processes"} <= set(theirs)
    assert {place: ours[place] for place in theirs} == theirs


KNOWN: dict[str, type[BaseModel]] = {
    "": wire.ReadingIn, "cards": wire.CardIn, "processes": wire.ProcessIn, "jobs": wire.JobIn, "logins": wire.LoginIn,
    "done": wire.DoneIn, "check": wire.CheckIn,
}  # fmt: skip
"""How the bot reads each part."""


@pytest.mark.parametrize("habits", [{}, *(c.on for c in CONDITIONS.values())], ids=["well", *CONDITIONS])
def test_the_bot_knows_every_field_and_takes_every_reading(habits: dict[str, Any]) -> None:
    said = simulated(**habits)
    taken = wire.ReadingIn.model_validate_json(json.dumps(said))
    for place, found in keys(said).items():
        names = {field.alias or name for name, field in KNOWN[place].model_fields.items()}
        assert found <= names, place
    assert taken.seq == 3 and set(taken.allows or ()) == set(ORDERS)
