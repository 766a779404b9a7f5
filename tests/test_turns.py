"""The order of tests: tables that name what is there, the longest first, and none left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import turns


@dataclass(frozen=True)
class Item:
    """As much of a test as the order asks for."""

    nodeid: str

    @property
    def path(self) -> Path:
        """Of its file."""
        return Path(self.nodeid.partition("::")[0])


@pytest.mark.parametrize("name", [*turns.WAITING, *turns.RECKONING, *turns.TOGETHER])
def test_the_tables_name_tests_that_are_there(repo: Path, name: str) -> None:
    word = name.partition("[")[0].strip(":")
    if "/" in word:
        assert (repo / "tests" / word).exists(), name
    else:
        assert any(f"def {word}" in path.read_text("utf-8") for path in (repo / "tests").rglob("test_*.py")), name


def test_the_longest_begin_and_short_ones_wait_behind_them() -> None:
    names = [f"tests/x/test_x.py::test_{n}" for n in range(9)]
    names += ["tests/domain/test_promises.py::test_p", "tests/story/test_demo.py::test_the_story_holds[take-back]"]
    names += ["tests/domain/test_modes_histories.py::test_m", "tests/story/test_demo.py::test_the_story_holds[day]"]
    items = [Item(name) for name in names]
    ordered = [item.nodeid for item in turns.longest_first(items)]  # type: ignore[arg-type, attr-defined]
    assert sorted(ordered) == sorted(names)
    assert [n.partition("::")[2] for n in ordered[:5]] == [
        "test_the_story_holds[take-back]",
        "test_m",
        "test_the_story_holds[day]",
        "test_p",
        "test_0",
    ]


@pytest.mark.parametrize(
    ("text", "none"), [("@pytest.mark.long", False), ("marks=pytest.mark.soak", False), ("long", True)]
)
def test_a_file_is_left_out_where_long_tests_alone_are_asked_for_and_it_has_none(
    tmp_path: Path, text: str, none: bool
) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(text)
    assert [turns.has_none(file, wanted) for wanted in ("long", "long or soak")] == [none, none]
    assert (
        not turns.has_none(file, "not long and not soak")
        and not turns.has_none(file, "")
        and not turns.has_none(tmp_path, "long")
    )


def test_files_that_wait_come_first_a_room_in_turn_and_whole() -> None:
    rooms = ("domain", "edges", "edges", "story")
    names = [f"tests/{room}/test_{n}.py::test_{k}" for n, room in enumerate(rooms) for k in range(2)]
    ordered = [item.nodeid for item in turns.files_first([Item(name) for name in names])]  # type: ignore[arg-type, attr-defined]
    assert ordered == [names[i] for i in (6, 7, 2, 3, 4, 5, 0, 1)]
