"""Commands on a path where no database is: none is made silently, and what to do is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from bot.cli import app
from bot.edges.store import open_store


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of this process's environment."""
    for name in ("GPUBOT_STORE_URL", "GPUBOT_SETTINGS", "GPUBOT_CLOCK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "gpubot.toml"
    file.write_text('[store]\nurl = "sqlite:///books.db"\n')
    return file


def gpubot(settings: Path, *words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--settings", str(settings)], catch_exceptions=False)


LINES = {
    "say": ("say", "--as", "dana", "status"),
    "pause": ("pause", "the", "rack", "smokes"),
    "pause as": ("pause", "--as", "dana"),
    "drill": ("drill", "vm-train", "--yes"),
    "backup": ("db", "backup"),
}


@pytest.mark.parametrize("there", ["nothing", "an empty file"])
@pytest.mark.parametrize("name", LINES)
def test_none_is_made_and_what_was_looked_for_is_named(settings: Path, name: str, there: str) -> None:
    database, copy = settings.with_name("books.db"), settings.with_name("copy.db")
    if there == "an empty file":
        database.touch()
    words = (*LINES[name], str(copy)) if name == "backup" else LINES[name]
    told = gpubot(settings, *words)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith("It is not paused: ") is name.startswith("pause")
    for part in (str(database), f"named by [store] url of {settings}", "`gpubot run` makes it", "`gpubot db upgrade`"):
        assert part in told.stderr
    left = sorted(path.name for path in settings.parent.iterdir() if path.stat().st_size)
    assert left == ["gpubot.toml"], "nothing was made or written"


def test_the_environment_and_what_is_usual_are_named_as_well(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text("")
    told = gpubot(settings, "pause")
    assert f"{settings.parent}/gpubot.db (the usual one of {settings}, which has no [store] url)" in told.stderr
    monkeypatch.setenv("GPUBOT_STORE_URL", f"sqlite:///{settings.parent}/other.db")
    told = gpubot(settings, "pause")
    assert f"{settings.parent}/other.db (named by GPUBOT_STORE_URL in the environment)" in told.stderr


def test_a_database_that_was_there_is_not_begun_anew(settings: Path) -> None:
    settings.with_name("books.db-wal").write_bytes(b"pages")
    for words in (*LINES.values(), ("db", "upgrade")):
        told = gpubot(settings, *words, *([str(settings.with_name("copy.db"))] if words[-1] == "backup" else []))
        assert told.exit_code == 2 and "was removed or moved" in told.stderr
        assert "makes it" not in told.stderr


def test_upgrade_makes_one_and_names_it_and_a_copy_may_come_into_an_empty_place(settings: Path) -> None:
    database, copy = settings.with_name("books.db"), settings.with_name("copy.db")
    for _ in range(2):
        made = gpubot(settings, "db", "upgrade")
        assert (made.exit_code, made.stdout) == (0, f"The database {database} is up to date.\n")
    assert gpubot(settings, "db", "backup", str(copy)).exit_code == 0
    assert "Paused." in gpubot(settings, "pause").stdout
    for path in settings.parent.glob("books.db*"):
        path.unlink()
    back = gpubot(settings, "db", "restore", str(copy))
    assert back.exit_code == 0 and "before is in" not in back.stdout
    store = open_store(f"sqlite:///{database}", make=False)
    assert store.read().paused == ""
    store.close()


def test_the_database_itself_is_no_copy_to_bring_back(settings: Path) -> None:
    gpubot(settings, "db", "upgrade")
    told = gpubot(settings, "db", "restore", str(settings.with_name("books.db")))
    assert told.exit_code == 2 and "is the database itself" in told.stderr


def test_settings_that_are_wrong_do_not_let_a_pause_look_done(settings: Path) -> None:
    settings.write_text("[store\n")
    told = gpubot(settings, "pause")
    assert told.exit_code == 2 and told.stderr.startswith("It is not paused: ")
