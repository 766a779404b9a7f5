"""Counts histories over all workers of a test run, and tells them in its last line. Called by tests/conftest.py alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

COUNT, BAD = "histories", "violations"
"""Properties that a test records."""

_TALLY: Counter[str] = Counter()


def add(report: Any) -> None:
    """What one test has played."""
    if report.when == "call":
        for name, value in report.user_properties:
            if name in (COUNT, BAD):
                _TALLY[name] += value


def tell(config: Any) -> None:
    """The last line, if any were played; of the process that talks to the terminal."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(config, "workerinput") and _TALLY[COUNT]:
        reporter.write_line(f"{_TALLY[COUNT]} histories, {_TALLY[BAD]} violations")
