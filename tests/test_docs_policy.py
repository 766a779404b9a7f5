"""docs/policy.md says what a replay says: a cell of each table is played again, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.policy import DRAWN, SEEDS, row
from bot.config import load
from bot.domain.policy import Policy
from bot.service.replay import Setup, read, replay, show
from bot.service.replay.policies import compared

CARDS, LOAD = 8, 0.5
NUMBER = re.compile(r"\d+\.\d+")


@pytest.fixture(scope="module")
def page(repo: Path) -> str:
    return (repo / "docs" / "policy.md").read_text("utf-8")


@pytest.mark.parametrize(("take_back", "table"), [(30.0, 0), (None, 1)], ids=["30 minutes", "as shipped"])
def test_a_cell_of_each_table_is_what_is_played(repo: Path, page: str, take_back: float | None, table: int) -> None:
    """Another machine may round a logarithm otherwise; a changed rule makes more of a difference."""
    rows = read(repo / "tests" / "data" / "traces" / "philly_4vc.csv.gz")
    outcomes = replay(rows, Setup(CARDS, LOAD, SEEDS[CARDS], take_back))
    lines = page.splitlines()
    at = [number for number, line in enumerate(lines) if line.startswith(f"| {CARDS}, {LOAD} |")][table]
    for line, one in zip(lines[at:], outcomes, strict=False):
        assert f"`{one.policy}`" in line
        told, played = (
            [float(n) for n in NUMBER.findall(text.split("`")[2])] for text in (line, row("", one, outcomes[0]))
        )
        assert told == pytest.approx(played, rel=0.02, abs=0.11), one.policy


def test_what_it_shows_is_there(repo: Path, page: str) -> None:
    assert set(re.findall(r"\]\((policy-[^)]*)\)", page)) == set(DRAWN)
    assert all((repo / "docs" / name).read_bytes().startswith(b"\x89PNG") for name in DRAWN)
    assert all(f"`{kind}`" in page for kind in show.WHEN)
    assert all(f"{what.ljust(14)}  {means}\n" in page for what, means in show.MEANS.items())
    assert {one for one in show.MEANS if f"| `{one}` |" in page} == {one.name for one in compared(Policy().idle, None)}


def test_the_setting_that_it_names_for_asking_alone_can_be_set(page: str, tmp_path: Path) -> None:
    said = page.partition("Asking alone")[2].partition("\n- ")[0]
    lines = re.findall(r"`(\w+ = [^`]+)`", said)
    assert [line.split()[0] for line in lines] == ["nudge", "first", "second", "take_back_quiet"]
    file = tmp_path / "gpubot.toml"
    file.write_text("\n".join(["[idle]", *lines]), "utf-8")
    policy = load(file).policy()
    assert policy.idle.nudge and policy.idle.second > policy.longest_in_all, (
        "nothing is lent so long: the warning never comes"
    )
