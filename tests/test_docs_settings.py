"""docs/settings.md: every section and every key that may be written, with the defaults that the code has."""

import re
import tomllib
from pathlib import Path

import pytest

from bot.config.keys import NAMES, PREFIX, SECRETS, SECTIONS, keys_of
from bot.config.load import load
from bot.config.policy import ELSEWHERE
from bot.config.teams import LINES
from bot.domain.policy import Policy
from bot.domain.waiting import Team

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "settings.md").read_text("utf-8")
BLOCKS = {
    name.partition(".")[0]: body for name, body in re.findall(r"```toml\n\[([a-z.]+)\]\n(.*?)```", PAGE, re.DOTALL)
}


def keys(section: str) -> set[str]:
    """All that the page shows of a section, those without a default among them."""
    return set(tomllib.loads(re.sub(r"^# ", "", BLOCKS[section], flags=re.MULTILINE)))


def test_every_section_is_there() -> None:
    assert set(BLOCKS) | {"idle"} == set(NAMES)
    assert "`[teams]`" in PAGE and "`[idle]`" in PAGE


@pytest.mark.parametrize("section", [*SECTIONS, "vcenter"])
def test_every_key_is_there(section: str) -> None:
    assert keys(section) == set(keys_of(section)) - SECRETS


def test_every_number_of_the_rules_is_there_or_named_with_its_better_place() -> None:
    assert keys("policy") == set(keys_of("policy")) - set(ELSEWHERE)
    better = PAGE.partition("```toml\n[policy]")[2].partition("```\n")[2]
    assert all(f"`{name}`" in better and f"`{key}`" in better for name, (_, key) in ELSEWHERE.items())


def test_what_is_shown_as_default_is_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plain = load()
    # An empty section of exporters is one that names nobody, so its two empty tables are compared as they stand.
    shown = [name for name in BLOCKS if name not in ("vcenter", "prometheus", "teams")]
    Path("gpubot.toml").write_text("".join(f"[{name}]\n{BLOCKS[name]}\n" for name in shown))
    assert load() == plain.model_copy(update={"numbers": load().numbers})
    assert load().policy() == Policy()
    Path("gpubot.toml").write_text(f'[prometheus]\nurl = "http://127.0.0.1:1"\n{BLOCKS["prometheus"]}')
    assert load().prometheus == plain.prometheus.model_copy(update={"url": "http://127.0.0.1:1"})


def test_a_team_is_shown_with_all_its_keys_and_their_defaults(tmp_path: Path) -> None:
    assert keys("teams") == set(LINES)
    file = tmp_path / "gpubot.toml"
    file.write_text(f"[teams.vision]\n{BLOCKS['teams']}")
    assert load(file).policy().teams == (Team("vision", frozenset({"ada", "U0123456789"})),)


def test_every_secret_of_the_environment_is_named() -> None:
    for section in (*SECTIONS, "vcenter"):
        for key in SECRETS & set(keys_of(section)):
            name = "vcenter_lab" if section == "vcenter" else section
            assert f"`{PREFIX}{name}_{key}`".upper() in PAGE, key
