"""The tables and the picture of docs/policy.md, played anew: ``python -m bench.policy`` prints the tables, and with a folder draws the pictures
into it. Half a minute. Nothing is measured, so it is the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from bot.edges.plots import Plots
from bot.service.replay import Outcome, Setup, read, replay, show

TRACE = Path(__file__).parents[1] / "tests" / "data" / "traces" / "philly_4vc.csv.gz"
SEEDS = {4: 30, 8: 16, 32: 6}  # fewer where each has more requests
LOADS = (0.5, 0.7)
DRAWN = {"policy-30min.png": Setup(8, 0.7, 16, 30.0), "policy-shipped.png": Setup(8, 0.7, 16)}


def cells(take_back: float | None) -> Iterable[str]:
    """All cards and loads with one setting: the lines of a table."""
    yield "| cards, load | policy | mean wait | of fifo-manual | median | 95 % wait less | longest | idle of held |"
    yield "|---|---|---|---|---|---|---|---|"
    for cards, seeds in SEEDS.items():
        for load in LOADS:
            outcomes = replay(read(TRACE), Setup(cards, load, seeds, take_back))
            for one in outcomes:
                yield row(f"{cards}, {load}" if one is outcomes[0] else "", one, outcomes[0])


def row(what: str, one: Outcome, base: Outcome) -> str:
    """One policy of a table."""
    waits = [f"{hours:.1f} h" for hours in (one.median_wait_h, one.p95_wait_h, one.max_wait_h)]
    ratio = f"{one.mean_wait_h / base.mean_wait_h:.2f}"
    cells = [what, f"`{one.policy}`", f"{one.mean_wait_h:.1f} h", ratio, *waits, f"{100 * one.idle_share:.1f} %"]
    return f"| {' | '.join(cells)} |"


def restarts(cards: int) -> Iterable[str]:
    """The same at load 0.7, by when machines may restart."""
    yield f"| {cards} cards | fifo-manual | gpubot | of it | clairvoyant | idle of held, gpubot |"
    yield "|---|---|---|---|---|---|"
    for windows in ("any", "1h", "4h", "demand"):
        by = {one.policy: one for one in replay(read(TRACE), Setup(cards, 0.7, SEEDS[cards], 30.0, windows))}
        base, ours, best = by["fifo-manual"], by["gpubot"], by["clairvoyant"]
        waits = [f"{one.mean_wait_h:.1f} h" for one in (base, ours)]
        ratio, idle = f"{ours.mean_wait_h / base.mean_wait_h:.2f}", f"{100 * ours.idle_share:.1f} %"
        yield f"| `{windows}` | {waits[0]} | {waits[1]} | {ratio} | {best.mean_wait_h:.1f} h | {idle} |"


def main(folder: Sequence[str]) -> None:
    """Print the tables, and draw the pictures if there is a folder for them."""
    for name, setup in DRAWN.items() if folder else ():
        picture = show.picture(replay(read(TRACE), setup), setup, TRACE.name)
        (Path(folder[0]) / name).write_bytes(Plots().compared(picture))
    for title, lines in (
        ("Taken back after 30 minutes", cells(30.0)),
        ("As shipped", cells(None)),
        ("Restarts", restarts(8)),
        ("", restarts(32)),
    ):
        print(f"\n{title}\n" if title else "", *lines, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:2])
