"""How far the bot goes where nothing is said of it, and what whoever starts it is told to write for more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.config import load
from bot.service.setup.judge_own import level_line


@pytest.mark.parametrize(("level", "more"), [("watch", ["hands", "act"]), ("hands", ["act"]), ("act", [])])
def test_one_line_says_the_level_and_what_to_write_for_more(level: str, more: list[str], tmp_path: Path) -> None:
    line = level_line(level)
    first, _, rest = line.partition(";")
    assert first.startswith(f'level = "{level}"' if more else "") and "\n" not in line
    written = re.findall(r'level = "\w+"', rest)
    assert written == [f'level = "{one}"' for one in more]
    for one, said in zip(more, written, strict=True):
        (tmp_path / "gpubot.toml").write_text(f"[site]\n{said}\n")
        assert load(tmp_path / "gpubot.toml").policy().level == one


def test_where_nothing_is_said_it_only_watches(tmp_path: Path) -> None:
    (tmp_path / "gpubot.toml").write_text("")
    assert load(tmp_path / "gpubot.toml").policy().level == "watch"
