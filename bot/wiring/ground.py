"""What every way in stands on: the clock, the rules, the database, and what keeps a command from beginning.

Used by the other files of this room and by ``cli``. It must not import an edge that a line at the terminal does without (Slack, vCenter).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import timedelta

from bot.config import Settings
from bot.domain.model import Books
from bot.domain.policy import Policy
from bot.edges.clock import FileClock
from bot.edges.store import SqlStore, open_store

CLAIM_TTL = timedelta(seconds=60)
"""Real time without a heartbeat after which another process may be the bot of a database."""


class CannotStart(Exception):
    """It cannot begin; the text says why and what to do."""


def cannot(mistakes: Iterable[str]) -> str:
    """All that is in the way of a start, a line each."""
    return "gpubot cannot start:\n" + "\n".join(f"- {line}" for line in mistakes)


def amiss() -> list[str]:
    """What is wrong with the environment besides the settings, told with them."""
    try:
        clock_of()
    except CannotStart as error:
        return [str(error)]
    return []


def clock_of() -> FileClock:
    """The clock, by ``GPUBOT_CLOCK``. Raises CannotStart: books that were written in one time must not be read in another."""
    clock = FileClock(os.environ.get("GPUBOT_CLOCK") or None)
    if why := clock.unusable():
        raise CannotStart(
            f"GPUBOT_CLOCK names {clock.path}, and {why}: write it as docs/architecture.md shows, or leave GPUBOT_CLOCK out"
        )
    return clock


def refuse_renamed(books: Books, names: Collection[str]) -> None:
    """A section ``[vcenter.NAME]`` that is renamed would have each card a second time, and its machines moved away from the first.

    :param names: the vCenters of the settings
    :raises CannotStart: machines are registered in one that is not among them, and there is one of which the books know nothing
    """
    lost = sorted({m.vcenter for m in books.machines.values()} - {*names})
    new = sorted({*names} - {m.vcenter for m in books.machines.values()} - {c.vcenter for c in books.cards.values()})
    if not lost or not new:
        return
    there = sorted(m.name for m in books.machines.values() if m.vcenter == lost[0])
    shown = ", ".join([*there[:NAMED], *([f"{len(there) - NAMED} more"] if len(there) > NAMED else [])])
    raise CannotStart(
        f"my books have machines ({shown}) in a vCenter {lost[0]}, which the settings do not name, and nothing of {new[0]}, "
        f"which they do. If that is the same one, write [vcenter.{lost[0]}] as before: by another name each card would be there a second "
        f"time. If it is another one, keep [vcenter.{lost[0]}] beside it until `machine remove` was said of these machines"
    )


NAMED = 5
"""Machines that are named; the others are counted."""


def policy_of(settings: Settings) -> Policy:
    """The rules' numbers, with the kinds."""
    return replace(settings.policy(), kinds=dict(settings.kinds))


def kinds_of(settings: Settings) -> tuple[str, ...]:
    """The kinds that people may ask for."""
    return tuple(dict.fromkeys(settings.kinds.values()))


def books_of(settings: Settings, clock: FileClock) -> SqlStore:
    """The database that is there, for who must not make one. Raises StoreError."""
    return open_store(settings.store.url, now=clock.now, make=False)
