"""`gpubot report`: sums as a table and in words, from the database or a copy, and nothing is written."""

from __future__ import annotations

import csv
import io
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from bot.cli import app
from bot.domain.draft import Changes
from bot.domain.model import Card, Lease, LeaseState, Line, Machine, Person, Terms
from bot.edges.store import StoreError, open_store
from bot.edges.store.schema import backup

H = timedelta(hours=1)
NOW = datetime.now(UTC)
MONDAY = (NOW - timedelta(days=NOW.weekday() + 7)).replace(hour=0, minute=0, second=0, microsecond=0)
"""Of the last whole week, in UTC."""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of this process's environment."""
    for name in ("GPUBOT_STORE_URL", "GPUBOT_SETTINGS", "GPUBOT_CLOCK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Path]:
    """A card that ada had for the first ten hours of last week."""
    file = tmp_path / "gpubot.toml"
    file.write_text('[site]\nzone = "UTC"\n[store]\nurl = "sqlite:///books.db"\n')
    store = open_store(f"sqlite:///{tmp_path}/books.db")
    card, machine = (
        Card("T4-1", "lab", "host-1", "esx-01", "0000:3b:00.0", "T4"),
        Machine("vm-1", "vm-1", "lab", ("U1",)),
    )
    lease = Lease(
        "1", 1, "U1", "vm-1", "T4", ("T4-1",), LeaseState.ENDED, Terms(), MONDAY, MONDAY + 10 * H, active_since=MONDAY, team="vision"
    )  # fmt: skip
    with store.transaction() as tx:
        line = Line(MONDAY, "bot", "card.seen", "T4-1")
        tx.record(Changes(puts=(card, machine, lease), lines=(line,)), ())
    store.person_seen(Person("U1", "ada", "UTC"))
    store.close()
    yield file


def gpubot(settings: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["report", *words, "--settings", str(settings)], catch_exceptions=False)


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_adds_up_and_names_people(settings: Path) -> None:
    told = gpubot(settings, "--csv", "-", "--week")
    assert told.exit_code == 0, told.stderr
    rows = table(told.stdout)
    assert list(rows[0]) == ["day", "kind", "what", "team", "person", "hours"]
    assert sum(float(row["hours"]) for row in rows) == 168
    assert [r for r in rows if r["person"]] == [
        {
            "day": f"{MONDAY:%Y-%m-%d}",
            "kind": "T4",
            "what": "unknown",
            "team": "vision",
            "person": "ada",
            "hours": "10.000",
        }
    ]


def test_a_file_and_a_picture_are_written(settings: Path, tmp_path: Path) -> None:
    told = gpubot(settings, "--csv", str(tmp_path / "week.csv"), "--week", "--plot", str(tmp_path / "week.png"))
    assert told.stdout == f"8 rows in {tmp_path}/week.csv.\n"
    assert len(table((tmp_path / "week.csv").read_text())) == 8
    assert (tmp_path / "week.png").read_bytes().startswith(b"\x89PNG")


def test_without_a_table_it_is_in_words(settings: Path) -> None:
    text = gpubot(settings, "--from", f"{MONDAY:%Y-%m-%d}", "--to", f"{MONDAY:%Y-%m-%d}").stdout
    assert ": 1 card was lent 42 % of its hours.\n24 h of cards: 10 h lent and 14 h free.\n" in text
    assert "By person, of what was measured: ada 10 h (not measured).\n" in text and text.endswith(
        "Times are those of UTC.\n"
    )
    assert "[" not in text and "You " not in text


def test_of_a_copy_with_the_bot_writing_and_nothing_is_changed(settings: Path, tmp_path: Path) -> None:
    copy = backup(f"sqlite:///{tmp_path}/books.db", tmp_path / "copy.db")
    before = copy.read_bytes()
    with closing(sqlite3.connect(tmp_path / "books.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        live, of_copy = (
            gpubot(settings, "--csv", "-", "--week"),
            gpubot(settings, "--csv", "-", "--week", "--copy", str(copy)),
        )
        writer.execute("ROLLBACK")
    assert live.stdout == of_copy.stdout and len(table(live.stdout)) == 8
    assert copy.read_bytes() == before


def test_a_store_that_only_reads_refuses_to_write(settings: Path, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/books.db", only_reads=True)
    with pytest.raises(StoreError):
        store.person_seen(Person("U2", "bob", "UTC"))
    store.close()
    with pytest.raises(StoreError):
        open_store(f"sqlite:///{tmp_path}/none.db", only_reads=True)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--week", "--month"), "One of --week, --month"),
        (("--from", "9.11."), "--from is 9.11., which is no day; write it like --from 2026-11-09"),
        (("--from", "2026-11-09", "--to", "2026-11-08"), "--to 2026-11-08 is before --from 2026-11-09"),
        (("--from", "2020-01-01", "--to", "2026-01-01"), "is longer than 400 days"),
        (("--from", "9999-12-31", "--to", "9999-12-31"), "--from is 9999-12-31: a day from 2000-01-01 to 2999-12-31"),
        (("--from", "0001-01-01"), "--from is 0001-01-01: a day from 2000-01-01"),
        (("--plot", "none/week.png"), "--plot is none/week.png: a file FILE.png in a folder that is there"),
        (("--plot", "week.pdf"), "--plot is week.pdf: a file FILE.png"),
        (("--copy", "gone.db"), "--copy names gone.db, and there is no such file"),
    ],
)
def test_days_that_cannot_be_are_refused_in_one_line(settings: Path, words: tuple[str, ...], said: str) -> None:
    told = gpubot(settings, *words)
    assert (told.exit_code, told.stdout) == (2, "") and said in told.stderr and len(told.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_written_is_said(settings: Path, tmp_path: Path) -> None:
    told = gpubot(settings, "--csv", str(tmp_path / "none" / "week.csv"), "--week")
    assert told.exit_code == 2 and "week.csv cannot be written: No such file or directory" in told.stderr


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    file = tmp_path / "gpubot.toml"
    file.write_text('[site]\nzone = "UTC"\n[store]\nurl = "sqlite:///books.db"\n')
    open_store(f"sqlite:///{tmp_path}/books.db").close()
    told = gpubot(file, "--plot", str(tmp_path / "week.png"))
    assert told.exit_code == 0 and "There is nothing to draw" in told.stderr and not (tmp_path / "week.png").exists()


def test_no_name_is_a_formula_for_a_spreadsheet(settings: Path) -> None:
    store = open_store(f"sqlite:///{settings.parent}/books.db")
    names = ['=HYPERLINK("http://x","ada")', "+1", "-1", "@ada", "\uff1d1", 'a, "b"', "🦊 fox", "'quoted"]
    told = []
    for name in names:
        store.person_seen(Person("U1", name, "UTC"))
        (row,) = (r for r in table(gpubot(settings, "--csv", "-", "--week").stdout) if r["person"])
        told.append(row["person"])
    store.close()
    assert told == [*(f"'{name}" for name in names[:5]), *names[5:]]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize(
    "words", [["--version"], ["report", "--csv", "-", "--settings"]], ids=["at once", "at the end"]
)
def test_a_full_disk_and_a_reader_that_left_are_no_error_of_ours(settings: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "bot.cli", *words, *([str(settings)] if len(words) > 1 else [])]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "Nothing more can be written: No space left on device\n")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
