"""Fixtures that every room's tests stand on: where the tree is, and an environment that says nothing about gpubot.

Rooms bring their own builders and servers in the conftest of their folder; only what all of them need belongs here.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import turns
from tests.histories import tally
from tests.needs import ASKED

# A busy machine must not fail a property by its speed, and CI must fail on the same examples each time.
settings.register_profile("gpubot", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("gpubot")

# Pictures are drawn without a screen, wherever the tests run.
os.environ["MPLBACKEND"] = "Agg"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Long tests are looked for where there are some."""
    return True if turns.has_none(collection_path, config.getoption("markexpr")) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first."""
    long = any(item.get_closest_marker(name) is not None for item in items for name in ("long", "soak"))
    items[:] = turns.longest_first(items) if long else turns.files_first(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> turns.OneByOne | None:
    """How tests are given out in ``make test-long``."""
    return turns.OneByOne(config, log) if config.getoption("dist") == "loadgroup" else None


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings or secrets of whoever runs it; only what tests/needs.py asks about stays."""
    for name in list(os.environ):
        if name.startswith(("GPUBOT_", "SLACK_")) and name not in ASKED:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def repo() -> Path:
    """The top of the tree."""
    return Path(__file__).resolve().parents[1]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Histories are counted over all workers."""
    tally.add(report)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Their count is the last line of a run."""
    tally.tell(config)
