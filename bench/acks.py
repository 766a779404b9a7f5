"""How long a person waits for the ack of a command, in both of Bolt's ways to give it.

Over Socket Mode on a local Slack, with the real desk and store: commands one after the other, and then by twenty people at once, all of them
writing. ``python -m bench.acks`` prints the numbers that docs/decisions names; it has no target.
"""

from __future__ import annotations

import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.commands import THREADS, our_app
from bot.edges.slack import Link
from bot.local.slack import LocalSlack, start_in_thread

ALONE, AT_ONCE, PEOPLE = 100, 200, 20


def main() -> None:
    """Measures and prints."""
    for listeners_first in (False, True):
        with (
            tempfile.TemporaryDirectory() as name,
            start_in_thread() as slack,
            our_app(Path(name), slack, listeners_first=listeners_first) as (app, _, settings),
        ):
            link = Link(app.app, settings)
            link.open()
            try:
                print("listeners first" if listeners_first else "Bolt's default")
                _told("  one after the other", [_ack(slack, n) for n in range(ALONE)])
                with ThreadPoolExecutor(PEOPLE) as people:
                    _told(f"  {PEOPLE} people at once", list(people.map(lambda n: _ack(slack, n), range(AT_ONCE))))
            finally:
                link.close()


def _ack(slack: LocalSlack, number: int) -> float:
    """Milliseconds until the ack."""
    answer = slack.drive.command(
        f"person{number % THREADS}", "#gpu", f"/gpu {'release' if number // THREADS % 2 else 'request 1'}"
    )
    if not answer["acked"]:
        raise RuntimeError(f"not acked: {answer['error']}")
    return float(answer["ms"])


def _told(title: str, took: list[float]) -> None:
    took = sorted(took)
    print(f"{title:22} p50 {statistics.median(took):6.1f} ms   p99 {took[int(len(took) * 0.99)]:6.1f} ms")


if __name__ == "__main__":
    main()
