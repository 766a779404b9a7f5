"""A part of the demo that does not come up: said within a deadline, with its log, and nothing is left running."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.local.demo import main, processes
from bot.local.demo.processes import DemoError, running

HANGS = "import sys, time\nprint('loading', file=sys.stderr, flush=True)\n{}\ntime.sleep(600)\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the place of a stand-in, found by whoever is spawned; its text is written by the test."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(processes, "START_S", 3.0)
    return "a_part_that_hangs"


@pytest.mark.parametrize(
    "does",
    ["", "print('half a line', end='', flush=True)"],
    ids=["says nothing", "says half a line"],
)
def test_a_part_that_hangs_before_it_is_ready_is_named_with_its_log(module: str, tmp_path: Path, does: str) -> None:
    (tmp_path / f"{module}.py").write_text(HANGS.format(does))
    with running(tmp_path) as rig:
        with pytest.raises(DemoError) as caught:
            rig.spawn("vcenter", ["-m", module])
        child = rig.child("vcenter")
    said = str(caught.value)
    assert said.startswith("vcenter has not said that it is ready after 3 s; the end of its log")
    assert str(tmp_path / "vcenter.log") in said and said.endswith("loading")
    assert child.process.poll() is not None


def test_a_part_that_closes_its_output_and_stays_is_named_too(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.py").write_text(HANGS.format("import os; os.close(1)"))
    with running(tmp_path) as rig, pytest.raises(DemoError, match="vcenter did not start"):
        rig.spawn("vcenter", ["-m", module])


def test_a_line_in_pieces_is_one_line(module: str, tmp_path: Path) -> None:
    pieces = "for part in ('{\"a\"', ': 1}\\n', 'more\\n'):\n    print(part, end='', flush=True)\n    time.sleep(0.1)"
    (tmp_path / f"{module}.py").write_text(HANGS.format(pieces))
    with running(tmp_path) as rig:
        assert rig.spawn("vcenter", ["-m", module]) == '{"a": 1}'


def test_the_logs_of_a_demo_that_did_not_come_up_are_kept(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LEASH", "no.such.leash")
    monkeypatch.setattr(main.tempfile, "tempdir", str(tmp_path))
    said: list[str] = []
    assert main.play(out=said.append) == 2
    assert "vcenter did not start" in said[0] and "no.such" in said[0]
    kept = Path(said[1].removeprefix("The logs are kept in ").removesuffix("."))
    assert kept.parent == tmp_path and (kept / "vcenter.log").read_text()
