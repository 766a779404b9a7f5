"""What stands in the way of a restart, and who can mend it: found before it, told in one message, edited when it changes or is gone.

``plan`` calls it for each planned move, ``questions`` when a move is over; answers ask it what the last look shows. It begins and stops
nothing. Most of it comes from the dry run, in the driver's words; those say by their wording who can do something about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Any

from bot.domain.draft import Draft
from bot.domain.lifecycle import On, step
from bot.domain.model import Machine, Move, Power, SeenMachine
from bot.domain.news import ADMINS, News, NewsKind


class Mender(StrEnum):
    """Who can do something about it."""

    OWNER = "owner"  # whoever works in the machine
    ADMIN = "admin"  # whoever runs the hosts
    NOBODY = "nobody"  # it goes by itself


MENDED_BY: tuple[tuple[str, Mender], ...] = (
    (r"\bis suspended\b|\btools\b|waits for an answer|\bsnapshot", Mender.OWNER),
    (r"\btask\b.*\bruns\b|\bis busy\b|\bis being\b", Mender.NOBODY),
)
"""By what a blocker's words say, the first that fits; all others are an admin's: hosts, cards, privileges, a machine's hardware."""


def mender(why: str) -> Mender:
    """Who can mend a blocker."""
    return next((who for words, who in MENDED_BY if re.search(words, why, re.IGNORECASE)), Mender.ADMIN)


def lasting(seen: SeenMachine) -> tuple[str, ...]:
    """What only a person changes, as the look shows it."""
    found = []
    if seen.template:
        found.append(f"{seen.name} is a template now")
    if seen.power is Power.SUSPENDED:
        found.append(f"{seen.name} is suspended: resume it and shut it down, or start it")
    if seen.question:
        found.append(f"vCenter waits for an answer about {seen.name}: {seen.question}")
    return tuple(found)


SAME = tuple(re.compile(words) for words in (r"\bis a template\b", r"\bis suspended\b", r"\bwaits for an answer\b"))
"""What a look and a dry run both find, each in its own words."""


def together(seen: Iterable[str], tried: Iterable[str]) -> tuple[str, ...]:
    """What a look and a dry run found, each thing once."""
    first = tuple(dict.fromkeys(seen))
    known = [same for same in SAME if any(same.search(why) for why in first)]
    return tuple(dict.fromkeys((*first, *(why for why in tried if not any(same.search(why) for same in known)))))


def tell(draft: Draft, machine: Machine, move: Move, found: tuple[str, ...]) -> Move:
    """Owners and admins hear of all of it at once, and each of them who can mend it. What was told before only edits the message."""
    if found == move.blockers and move.blocked_shown:
        return move
    new = not set(found) <= set(move.blocked_known)
    if new and move.blocked_shown:
        move = over(draft, move, "there is more, see below")
    key = draft.now if new or move.blocked_key is None else move.blocked_key
    known = tuple(dict.fromkeys((*move.blocked_known, *found)))
    fields: dict[str, Any] = {"blocked_key": key, "blocked_shown": True, "blocked_known": known}
    move = step(draft, move, On.BLOCKED, why="; ".join(found), blockers=found, **fields)
    for to in (*machine.owners, ADMINS):
        news = News(NewsKind.BLOCKED, to, key=_key(move), move=move, machine=machine, reason="; ".join(found))
        draft.tell(news)
    return move


def over(draft: Draft, move: Move, why: str = "") -> Move:
    """What was told to be in the way is not, or the restart is over: the message says so."""
    if not move.blocked_shown:
        return move
    move = replace(move, blocked_shown=False)
    draft.put(move)
    machine = draft.machines.get(move.machine)
    for to in (*(machine.owners if machine is not None else ()), ADMINS):
        draft.tell(News(NewsKind.UNBLOCKED, to, key=_key(move), move=move, machine=machine, reason=why))
    return move


def _key(move: Move) -> str:
    return f"blocked:{move.number}:{move.blocked_key.isoformat() if move.blocked_key else ''}"


def named(found: Iterable[str]) -> dict[str, Mender]:
    """Blockers with who can mend each."""
    return {why: mender(why) for why in found}
