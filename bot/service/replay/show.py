"""What ``gpubot replay`` says: a table, one sentence of what it means, JSON, and what is drawn. Called by the command alone."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bot.service.ports import ComparedPicture, Measure, Series
from bot.service.replay import Outcome, Setup

WHEN = {
    "any": "restarts at any time",
    "1h": "restarts at whole hours",
    "4h": "restarts each 4 hours",
    "demand": "restarts when owners agree",
}
HEAD = ("policy", "mean wait", "median", "95 of 100", "longest", "idle of held", "at work")
BASE, OURS = "fifo-manual", "gpubot"


def as_json(outcomes: Sequence[Outcome]) -> str:
    """A list, one object a policy."""
    return json.dumps([one.as_json() for one in outcomes], indent=2)


def text(outcomes: Sequence[Outcome], setup: Setup, name: str) -> str:
    """For a person at a terminal. ``name``: of the file."""
    rows = [HEAD, *(_row(one) for one in outcomes)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "  ".join(cell.ljust(width) if not column else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, wide, strict=True)))
        for row in rows
    ]  # fmt: skip
    return "\n".join([f"{about(outcomes, setup, name)}.", "", *lines, "", sentence(outcomes)])


def about(outcomes: Sequence[Outcome], setup: Setup, name: str) -> str:
    """What was played, in a line."""
    cards = f"{setup.cards} card{'s' if setup.cards > 1 else ''}"
    seeds = f"{setup.seeds} seed{'s' if setup.seeds > 1 else ''}"
    back = "taken back as shipped" if setup.take_back is None else f"taken back {setup.take_back:g} min after work"
    asked = f"{outcomes[0].leases} request{'s' if outcomes[0].leases > 1 else ''} of {name}"
    return f"{cards}, load {setup.load:g}, {seeds}: {asked}; {WHEN[setup.windows]}; {back}"


def sentence(outcomes: Sequence[Outcome]) -> str:
    """What it means."""
    found = {one.policy: one for one in outcomes}
    base, ours = found[BASE], found[OURS]
    idle = (
        f"{_share(ours.idle_share)} of the hours for which cards are held are idle instead of {_share(base.idle_share)}"
    )
    if base.mean_wait_h == 0:
        return f"Nobody waits, also where cards are given back by hand; with gpubot {idle}."
    ratio = f"{ours.mean_wait_h / base.mean_wait_h:.2f}"
    return (
        f"With gpubot people wait {ratio} of what they wait first come, first served, with cards given back by hand"
        f" ({_hours(ours.mean_wait_h)} instead of {_hours(base.mean_wait_h)}); {idle}."
    )


def picture(outcomes: Sequence[Outcome], setup: Setup, name: str) -> ComparedPicture:
    """The policies beside each other."""
    waits = Measure(
        "wait, hours",
        (
            Series("mean", "busy", tuple(one.mean_wait_h for one in outcomes)),
            Series("95 of 100 wait no longer", "pale", tuple(one.p95_wait_h for one in outcomes)),
        ),
    )
    idle = Measure(
        "idle, % of held hours",
        (Series("idle", "quiet", tuple(100 * one.idle_share for one in outcomes)),),
    )
    what, how = about(outcomes, setup, shorten(name)).split(": ", 1)
    return ComparedPicture(f"Waiting for a card: {what}", how, tuple(one.policy for one in outcomes), (waits, idle))


def shorten(name: str) -> str:
    """A file's name as there is room for it in a picture."""
    return name if len(name) <= 28 else f"{name[:27]}…"


def _row(one: Outcome) -> tuple[str, ...]:
    waits = (one.mean_wait_h, one.median_wait_h, one.p95_wait_h, one.max_wait_h)
    return (one.policy, *map(_hours, waits), _share(one.idle_share), _share(one.useful_share))


def _hours(hours: float) -> str:
    return f"{hours:.2f} h" if hours < 10 else f"{hours:.1f} h"


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"
