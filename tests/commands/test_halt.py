"""The emergency stop: `gpubot pause` bare, at the terminal, in no person's name; and `pause` bare in Slack."""

import getpass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.config import examine
from bot.service.ports import Show, When
from bot.service.words.common import ln, say
from bot.wiring import terminal
from tests.fakes import text_of
from tests.house import House


@pytest.fixture
def settings(house: House) -> Path:
    """A settings file for the house's database."""
    file = house.path / "gpubot.toml"
    file.write_text(f'[site]\nadmins = ["dana"]\n[store]\nurl = "sqlite:///{house.path / "gpubot.db"}"\n')
    return file


@pytest.mark.parametrize("words", [[], ["the", "rack", "smokes"], ["the rack smokes"]])
def test_bare_it_stops_all_and_says_who_was_at_the_terminal(house: House, settings: Path, words: list[str]) -> None:
    done = CliRunner().invoke(app, ["pause", *words, "-s", str(settings)], catch_exceptions=False)
    assert done.exit_code == 0 and "Paused." in done.stdout, done.output
    assert house.books.paused.startswith("bot ")
    board = text_of(house.say("ada", "status"))
    assert f"said at the terminal by {getpass.getuser()}" in board and "bot (" not in board
    assert ("the rack smokes" in board) is bool(words)
    assert "Nothing restarts until an admin resumes" in board
    assert house.say("dana", "resume").ok and house.books.paused == ""


def test_its_times_are_those_of_the_first_admin_as_a_drills_are_and_the_zone_is_named(house: House) -> None:
    assert house.say("dana", "status").ok  # known by now, with her zone
    file = house.path / "utc.toml"
    file.write_text(f'[site]\nzone = "UTC"\nadmins = ["dana"]\n[store]\nurl = "sqlite:///{house.path / "gpubot.db"}"\n')
    settings, _, _ = examine(file)
    assert settings is not None
    said = terminal.plain(
        settings, "", say(ln("Off since ", When(datetime(2026, 11, 30, 16, 5, tzinfo=UTC), Show.TIME), "."))
    )
    assert said == "Off since 17:05.\nTimes are those of Europe/Berlin."
    assert "Times" not in terminal.plain(settings, "", say(ln("Paused.")))


def test_half_a_character_does_not_keep_it_from_being_paused(house: House, settings: Path) -> None:
    done = CliRunner().invoke(app, ["pause", "\udcff", "smoke", "-s", str(settings)], catch_exceptions=False)
    assert done.exit_code == 0 and "Paused." in done.stdout and house.books.paused
    assert house.say("dana", "resume\ud800").ok


def test_an_admin_may_say_it_without_a_reason(house: House, settings: Path) -> None:
    assert house.say("dana", "pause").ok
    assert house.books.paused and house.say("dana", "resume").ok
    done = CliRunner().invoke(app, ["pause", "--as", "dana", "-s", str(settings)], catch_exceptions=False)
    assert done.exit_code == 0 and house.books.paused == house.people.find("dana").id
