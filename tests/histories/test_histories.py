"""Random histories of the whole bot on the stand-in vCenter: 2,000 on its model, 60 over TLS; `make soak HISTORIES=20000` for more.

Real desk, rounds, performer and store; people, foreign hands, faults, crashes and time in any order. After each step and at rest `judge` asks of the
vCenter's journal and of the books what must hold. A failure shows the shortest history that hypothesis finds, and its seed is the chunk's number.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.histories import tally
from tests.histories.play import History
from tests.histories.runs import many, play_direct, play_over_tls

HISTORIES = int(os.environ.get("HISTORIES") or 2000)
"""How many on the model; one for each 33 goes over TLS."""

CHUNK, TLS_CHUNK = 50, 10

Record = Callable[[str, object], None]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Refusals and crashes are what histories are made of: none of them is worth a line."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def count(record: Record, play: Callable[..., int], number: int, seed: int) -> None:
    """Play so many, and record how many there were. In some of them the bot has to have done something."""
    played: list[int] = []
    changes = 0

    def noted(*history: Any) -> None:
        nonlocal changes
        changes += play(*history)

    try:
        many(noted, number, seed, played)
        assert changes, "the bot changed nothing in any of them"
    except BaseException:
        record(tally.BAD, 1)
        raise
    finally:
        record(tally.COUNT, min(number, len(played)))


def test_a_few_histories(record_property: Record) -> None:
    """For every day."""
    count(record_property, play_direct, 6, 0)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(1, HISTORIES // CHUNK + 1))
def test_histories_on_the_model(record_property: Record, seed: int) -> None:
    count(record_property, play_direct, CHUNK, seed)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(1, max(1, HISTORIES * 3 // 1000) + 1))
def test_histories_over_tls(record_property: Record, seed: int) -> None:
    count(record_property, play_over_tls, TLS_CHUNK, seed)


def test_a_step_that_nobody_knows_is_no_history() -> None:
    with pytest.raises(ValueError, match="no such steps: wiat"):
        History.play(SimpleNamespace(acts={"wait": None}), [("wait", 0, 0), ("wiat", 0, 0)])  # type: ignore[arg-type]
