"""docs/reliability.md tells what comes of a bot that dies at each call and of each fault: its table is what real runs give.

A sample for `make test-long`, the whole of it in `make soak`. When words or rules change: `.venv/bin/python -m tests.histories.table docs/reliability.md`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.histories.table import ALL, FAULTS, SAMPLE, STEPS, Fault, row, rows_of

REST = [one for one in ALL if one not in SAMPLE]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Each run is full of refusals."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_the_page_has_a_row_for_each_step_and_fault(repo: Path) -> None:
    page = rows_of((repo / "docs" / "reliability.md").read_text())
    wanted = {(f"{step}. {STEPS[step - 1]}", fault.name) for step, fault in ALL}
    assert set(page) - {("killed at", "and then"), ("---", "---")} == wanted
    assert {fault for _, fault in SAMPLE} == set(FAULTS) and {step for step, _ in SAMPLE} == set(range(1, 7))


def test_no_row_of_the_page_ends_with_a_machine_off(repo: Path) -> None:
    """What the bot switched off, it switches on again; the rows are of real runs."""
    rows = rows_of((repo / "docs" / "reliability.md").read_text())
    ends = [line.split(" | ")[-1] for (where, _), line in rows.items() if where[:1].isdigit()]
    assert len(ends) == len(ALL) and [end for end in ends if " off" in end] == []


def same(repo: Path, step: int, fault: Fault) -> None:
    """The row of the page is what comes of it, and nothing is violated."""
    line, found = row(step, fault)
    assert found == []
    page = rows_of((repo / "docs" / "reliability.md").read_text())
    assert page[f"{step}. {STEPS[step - 1]}", fault.name] == line


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("step", "fault"), SAMPLE, ids=[f"{s}-{f.name}" for s, f in SAMPLE])
def test_killed_at_a_step_and_a_fault(repo: Path, step: int, fault: Fault) -> None:
    same(repo, step, fault)


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("step", "fault"), REST, ids=[f"{s}-{f.name}" for s, f in REST])
def test_killed_at_every_step_and_every_fault(repo: Path, step: int, fault: Fault) -> None:
    same(repo, step, fault)
