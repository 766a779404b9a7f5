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
HEAD = ("policy", "mean wait", "median", "95 % wait less", "longest", "idle of held", "at work")
BASE, OURS = "fifo-manual", "gpubot"

MEANS = {
    "fifo-manual": "first come, first served; cards come back when people give them back",
    "fifo-take-back": "the same, and a card is taken back some time after the work",
    "gpubot-nudge": "the bot's order; nothing is taken back before its end, people are asked 30 min after the work",
    "gpubot": "the bot's order; people are asked, and then a card is taken back",
    "clairvoyant": "the bot's order; a card comes back in the moment in which the work ends, which nobody can know",
    "idle of held": "share of the hours for which cards are held: after the work, until they are back",
    "at work": "share of all hours of the pool in which work ran",
}
"""What is to be known of a policy or a column whose name does not say it."""


def as_json(outcomes: Sequence[Outcome], setup: Setup) -> str:
    """A list, one object a policy; each says what was played, too: ``requests`` are those of all seeds."""
    return json.dumps([{**one.as_json(), **_played(one, setup)} for one in outcomes], indent=2)


def _played(one: Outcome, setup: Setup) -> dict[str, float]:
    return {"cards": setup.cards, "load": setup.load, "seeds": setup.seeds, "requests": one.leases}


def text(outcomes: Sequence[Outcome], setup: Setup, name: str) -> str:
    """For a person at a terminal. ``name``: of the file."""
    rows = [HEAD, *_rows(outcomes)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "  ".join(cell.ljust(width) if not column else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, wide, strict=True)))
        for row in rows
    ]  # fmt: skip
    legend = [f"{what.ljust(max(map(len, MEANS)))}  {means}" for what, means in MEANS.items()]
    said = [about(outcomes, setup, name) + ".", "", *lines, "", *legend, ""]
    return "\n".join([*said, *([careful] if (careful := caution(setup)) else []), sentence(outcomes)])


def caution(setup: Setup) -> str:
    """What the numbers do not mean; "" if the pool can keep up."""
    if setup.load <= 1:
        return ""
    return (
        f"Load {setup.load:g} is above 1: given back by hand, cards are held for more hours than there are, so waits grow without end, as long as the"
        " trace lasts. Read what policies are to each other, not the hours."
    )


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
    our_wait, base_wait = _hours([ours.mean_wait_h, base.mean_wait_h])
    return (
        f"With gpubot people wait {ratio} of what they wait first come, first served, with cards given back by hand"
        f" ({our_wait} instead of {base_wait}); {idle}."
    )


def picture(outcomes: Sequence[Outcome], setup: Setup, name: str) -> ComparedPicture:
    """The policies beside each other."""
    waits = Measure(
        "wait, hours",
        (
            Series("mean", "busy", tuple(one.mean_wait_h for one in outcomes)),
            Series("95 % wait less", "pale", tuple(one.p95_wait_h for one in outcomes)),
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


def _rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    columns = (
        [one.policy for one in outcomes],
        _hours([one.mean_wait_h for one in outcomes]),
        _hours([one.median_wait_h for one in outcomes]),
        _hours([one.p95_wait_h for one in outcomes]),
        _hours([one.max_wait_h for one in outcomes]),
        [_share(one.idle_share) for one in outcomes],
        [_share(one.useful_share) for one in outcomes],
    )
    return list(zip(*columns, strict=True))


def _hours(column: Sequence[float]) -> list[str]:
    """Those that are compared have the same digits: two where all are short."""
    digits = 2 if max(column) < 10 else 1
    return [f"{hours:.{digits}f} h" for hours in column]


def _share(share: float) -> str:
    return f"{100 * share:.1f} %"
