"""The database's file removed, moved or replaced under the bot that runs: it says so, ends, and nothing is lost or made anew in silence."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.local.demo.processes import Child, http_get
from tests.story.rig import Kept, Yard, health, set_up, wait, yard


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Yard, Kept]]:
    with yard(tmp_path_factory.mktemp("database")) as made:
        bot = made.start()
        set_up(made.stage)
        made.settle()
        made.stop(bot)
        yield made, made.keep()


@pytest.fixture
def place(scene: tuple[Yard, Kept]) -> Yard:
    scene[0].again(scene[1])
    return scene[0]


def file_of(place: Yard) -> Path:
    return place.rig.folder / "gpubot.db"


def remove(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    """An admin brings a copy of this morning back, with the bot running."""
    shutil.copy(file.with_name("kept0.db"), file.with_name("morning.db"))
    file.with_name("morning.db").replace(file)


def lose(place: Yard, way: Callable[[Path], None]) -> Child:
    """A bot that has been told something, and then the file is lost. Returns it when it has ended."""
    bot = place.start()
    assert "first" in place.stage.quietly("bob", "request 4 on vm-r")
    since = time.time()
    way(file_of(place))
    assert "I have stopped" in place.stage.quietly("bob", "release all"), place.log()
    assert wait(lambda: health(place.rig.web)[0] == 503), health(place.rig.web)
    assert "the database file" in health(place.rig.web)[1]
    status, said = http_get(f"{place.rig.web}/readyz")
    assert status == 503 and "the database file" in said
    assert "gpubot_database_up 0.0" in http_get(f"{place.rig.web}/metrics")[1]
    assert wait(lambda: any("I have stopped" in text for text in place.said("dana", "dm", since))), place.log()
    assert bot.process.wait(30) == 4, place.log()
    errors = [line for line in place.log().splitlines() if "this process ends" in line]
    assert len(errors) == 1 and "gpubot db restore" in errors[0] and "Traceback" not in place.log(), place.log()
    return bot


@pytest.mark.long
def test_a_file_that_is_removed(place: Yard) -> None:
    lose(place, remove)
    copies = list(place.rig.folder.glob("gpubot.db.rescued-*"))
    assert len(copies) == 1 and not file_of(place).exists()
    again = place.command("run", "--settings", str(place.rig.settings))
    assert again.returncode == 2 and str(copies[0]) in again.stderr and "Traceback" not in again.stderr, again
    assert not file_of(place).exists(), "nothing is made anew in silence"
    said = place.say("bob", "mine")
    assert said.exit_code == 2 and str(copies[0]) in said.stderr
    restored = place.command("db", "restore", str(copies[0]), "--settings", str(place.rig.settings))
    assert restored.returncode == 0, restored
    assert [r.count for r in place.books().requests.values()] == [4]
    bot = place.start()
    assert "4" in place.stage.quietly("bob", "mine")
    place.stop(bot)


def test_a_file_that_is_replaced(place: Yard) -> None:
    """The next start goes on with the one that stands there, and our log is not played into it."""
    lose(place, replace)
    assert place.books().requests == {}
    assert not file_of(place).with_name("gpubot.db-wal").exists()
    bot = place.start()
    assert wait(lambda: health(place.rig.web)[0] == 200), place.log()
    assert re.search("first|free", place.stage.quietly("bob", "request 1 on vm-r"))
    place.stop(bot)
    copies = list(place.rig.folder.glob("gpubot.db.rescued-*"))
    assert len(copies) == 1, "what was said to the one that was replaced is kept too"
