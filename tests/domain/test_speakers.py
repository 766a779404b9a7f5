"""An agent and an exporter that speak for one machine, and what an exporter cannot tell."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.model import Reading
from bot.domain.occurrences import works
from bot.domain.policy import Policy
from bot.domain.speakers import counts

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
STALE = timedelta(minutes=5)
AGENT = Reading("uuid-1", NOW, "boot-1", 1, False, 1)
EXPORTER = replace(AGENT, boot_id="prometheus-0-1", inside=False)


@pytest.mark.parametrize(
    ("new", "last", "ago", "expected"),
    [
        (EXPORTER, None, timedelta(), True),
        (EXPORTER, EXPORTER, timedelta(seconds=60), True),
        (EXPORTER, AGENT, timedelta(seconds=60), False),
        (EXPORTER, AGENT, STALE, False),
        (EXPORTER, AGENT, STALE + timedelta(seconds=1), True),
        (EXPORTER, AGENT, -timedelta(hours=1), True),  # the bot's clock went back
        (AGENT, EXPORTER, timedelta(), True),
        (AGENT, AGENT, timedelta(seconds=60), True),
    ],
)
def test_an_agent_is_preferred_as_long_as_it_speaks(
    new: Reading, last: Reading | None, ago: timedelta, expected: bool
) -> None:
    last = replace(last, at=NOW - ago) if last is not None else None
    assert counts(new, last, STALE) is expected


def test_an_exporter_cannot_say_that_nothing_runs() -> None:
    """A standing window must not be used because an exporter sees no job: it never sees one."""
    assert works(AGENT, NOW, Policy()) == (False, "nothing runs")
    assert works(EXPORTER, NOW, Policy()) == (None, "its cards are seen, but not what runs in it")
