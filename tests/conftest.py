"""Fixtures that every room's tests stand on: where the tree is, and an environment that says nothing about gpubot.

Rooms bring their own builders and servers in the conftest of their folder; only what all of them need belongs here.
"""

import os
from itertools import chain, groupby, zip_longest
from pathlib import Path

import pytest
from hypothesis import settings

from tests.histories import tally
from tests.needs import ASKED

# A busy machine must not fail a property by its speed, and CI must fail on the same examples each time.
settings.register_profile("gpubot", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("gpubot")

# Pictures are drawn without a screen, wherever the tests run.
os.environ["MPLBACKEND"] = "Agg"


WAITING = ("story", "guest", "edges", "local")
"""Rooms whose tests mostly wait for processes and clocks; the others only reckon."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of the waiting rooms come first, one of each room in turn: no worker is left alone with a long one at the end, and not all
    start their processes at once."""
    files = {path: list(tests) for path, tests in groupby(items, lambda item: item.path)}
    rooms = [[path for path in files if path.parent.name == room] for room in WAITING]
    first = [path for turn in zip_longest(*rooms) for path in turn if path is not None]
    items[:] = chain.from_iterable(files[path] for path in dict.fromkeys([*first, *files]))


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
