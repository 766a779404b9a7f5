"""[teams]: what may be written, and every mistake in one go with the line that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config.load import load
from bot.config.mistakes import SettingsError
from bot.domain.waiting import Team


def read(folder: Path, text: str) -> tuple[Team, ...]:
    file = folder / "gpubot.toml"
    file.write_text(text, encoding="utf-8")
    return load(file).policy().teams


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(SettingsError) as error:
        read(folder, text)
    return error.value.mistakes


def test_without_the_section_there_are_no_teams(tmp_path: Path) -> None:
    assert read(tmp_path, "") == ()


def test_user_names_are_found_in_any_case_and_ids_are_kept(tmp_path: Path) -> None:
    (team,) = read(tmp_path, '[teams.vision]\nmembers = ["Ada", "ada", "U0123456789"]')
    assert team == Team("vision", frozenset({"ada", "U0123456789"}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[teams.vision]", '[teams.vision] lacks members; write: members = ["ada", "bob"]'),
        (
            "[teams.vision]\nmembers = []",
            '[teams.vision] members is no list of people; write: members = ["ada", "bob"]',
        ),
        (
            "[teams.vision]\nmembers = 'carol, @bob'",
            '[teams.vision] members is no list of people; write: members = ["carol", "bob"]',
        ),
        (
            "[teams.vision]\nmembers = ['@ada']",
            '[teams.vision] members: "@ada" names nobody; it takes Slack ids and user names, each in quotes of its own, '
            'without @; write: members = ["ada", "bob"]',
        ),
        ("[teams.vision]\nmembers = [5]", '[teams.vision] members: "5" names nobody'),
        (
            "[teams.vision]\nmembers = ['ada']\nwieght = 2",
            "[teams.vision] wieght is no setting; write: weight = 2",
        ),
        (
            "[teams.vision]\nmembers = ['ada']\ncolour = 2",
            "[teams.vision] colour is no setting; there are members, weight, guaranteed",
        ),
        (
            "[teams.vision]\nmembers = ['ada']\nweight = 0",
            "[teams.vision] weight is not more than 0 and at most 100 (1: as much as others); write: weight = 2",
        ),
        ("[teams.vision]\nmembers = ['ada']\nweight = true", "[teams.vision] weight is not more than 0"),
        ("[teams.vision]\nmembers = ['ada']\nweight = '2'", "[teams.vision] weight is not more than 0"),
        (
            "[teams.vision]\nmembers = ['ada']\nguaranteed = 1.5",
            "[teams.vision] guaranteed is no whole number from 0 to 1000 (cards of each kind); write: guaranteed = 1",
        ),
        ("[teams.vision]\nmembers = ['ada']\nguaranteed = -1", "[teams.vision] guaranteed is no whole number"),
        (
            "[teams]\nmembers = ['ada']",
            '[teams] members belongs to a team; write: [teams.vision] with members = ["ada", "bob"]',
        ),
        (
            "[teams]\nvision = ['ada']",
            '[teams] vision is no section of a team; write: [teams.vision] with members = ["ada", "bob"]',
        ),
        (
            "[teams.'a team']\nmembers = ['ada']",
            '[teams.a team] has no good name (letters, digits, "-", "_"); write: [teams.vision]',
        ),
        ("teams = 3", '[teams] is no section; write: [teams.vision] with members = ["ada", "bob"]'),
    ],
)
def test_a_mistake_comes_with_the_line_that_works(tmp_path: Path, text: str, says: str) -> None:
    (found,) = mistakes(tmp_path, text)
    assert found.startswith(says), found


def test_somebody_in_two_teams_is_a_mistake(tmp_path: Path) -> None:
    text = "[teams.vision]\nmembers = ['ada', 'bob']\n[teams.text]\nmembers = ['carol', 'Bob']"
    assert mistakes(tmp_path, text) == ['"bob" is in the teams vision and text; take it out of [teams.text]']


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = (
        "[site]\nlevel = 'fast'\n[teams.vision]\nweight = 0\n[teams.text]\nmembers = ['ada']\nguaranteed = 'x'\n"
        "[teams.sound]\nmembers = ['ada']\nfoo = 1"
    )
    found = mistakes(tmp_path, text)
    assert len(found) == 6
    starts = (
        "[site] level",
        "[teams.vision] lacks",
        "[teams.vision] weight",
        "[teams.text] guaranteed",
        "[teams.sound] foo",
    )
    assert all(any(one.startswith(start) for one in found) for start in starts)
    assert '"ada" is in the teams text and sound; take it out of [teams.sound]' in found
