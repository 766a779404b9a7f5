"""``[policy]``: every number of the rules by its name, in human units."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import time, timedelta
from typing import Any, get_type_hints

from pydantic_core import PydanticCustomError

from bot.config.values import WORKDAYS, nearest, read_days, read_duration, read_durations, read_time, read_zone, wrong
from bot.domain.policy import Policy

ELSEWHERE = {
    "zone": ("site", "zone"),
    "working_days": ("site", "hours"),
    "working_start": ("site", "hours"),
    "working_end": ("site", "hours"),
    "night_start": ("site", "night"),
    "night_end": ("site", "night"),
    "command": ("slack", "command"),
    "level": ("site", "level"),
}
"""Fields of the policy that have a better place, which is named if both are written."""


def read_policy(raw: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``Policy`` in human units. All mistakes at once."""
    hints = get_type_hints(Policy)
    found: dict[str, Any] = {}
    mistakes = []
    for name, value in raw.items():
        if name == "kinds":
            mistakes.append('[policy] kinds has a section of its own; write: [kinds] with "10de:1eb8" = "T4"')
            continue
        if name not in hints:
            near = nearest(name, hints)
            line = (
                f"write: {example_of_policy(near)}"
                if near
                else f"there are {', '.join(n for n in hints if n != 'kinds')}"
            )
            mistakes.append(f"[policy] {name} is no setting; {line}")
            continue
        try:
            found[name] = _readers(hints[name], name)(value)
        except PydanticCustomError as error:
            said = error.context or {}
            line = f'{name} = "{said["instead"]}"' if said["instead"] else example_of_policy(name)
            mistakes.append(f"[policy] {name} {said['what']}; write: {line}")
    mistakes += _contrary(found)
    if mistakes:
        raise wrong("", *mistakes)
    return found


def _contrary(found: Mapping[str, Any]) -> list[str]:
    """Numbers that make no sense together."""
    p = Policy(**found)
    pairs = (("longest", "longest_in_all"), ("last_call_now", "now_within"), ("seen_in_guest", "power_on_wait"))
    return [
        f"[policy] {a} is longer than {b}; write: {a} = {in_units(getattr(Policy(), a))}"
        for a, b in pairs
        if getattr(p, a) > getattr(p, b)
    ]


def _readers(hint: Any, name: str) -> Callable[[Any], Any]:
    if name == "zone":
        return lambda v: read_zone(str(v))
    if name == "level":
        return read_level
    if name == "command":
        return lambda v: read_match(v, r"/[a-z0-9_-]{1,31}", "is no slash command")
    kinds: dict[Any, Callable[[Any], Any]] = {
        timedelta: read_duration,
        time: read_time,
        int: read_count,
        frozenset[int]: read_days,
        tuple[timedelta, ...]: read_durations,
    }
    return kinds[hint]


def read_match(value: object, pattern: str, what: str) -> str:
    """A text of a given form."""
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise wrong(what)
    return value


LEVELS = ("watch", "hands", "act")
"""How far the bot may go, the careful one first."""


def read_level(value: object) -> str:
    """One of the levels; the one that was probably meant is proposed, else the one that touches nothing."""
    if value not in LEVELS:
        raise wrong(f"is none of {', '.join(LEVELS)}", instead=nearest(str(value), LEVELS) or LEVELS[0])
    return str(value)


def read_count(value: object) -> int:
    """A whole number, at least 1."""
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    if type(value) is not int or not 1 <= value <= 1000:
        raise wrong("is no whole number from 1 to 1000")
    return value


def in_units(value: object) -> str:
    """A policy's value as it is written in the file."""
    match value:
        case timedelta():
            seconds = int(value.total_seconds())
            unit, size = next((u, n) for u, n in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)) if seconds % n == 0)
            return f'"{seconds // size} {unit}"' if unit != "d" or seconds > 86400 else '"24 h"'
        case time():
            return f'"{value:%H:%M}"'
        case frozenset():
            return "[" + ", ".join(f'"{WORKDAYS[d]}"' for d in sorted(value)) + "]"
        case tuple():
            return "[" + ", ".join(in_units(v) for v in value) + "]"
        case str():
            return f'"{value}"'
        case _:
            return str(value)


def example_of_policy(name: str) -> str:
    """A line of ``[policy]`` that works: the default; of the level the careful one."""
    if name == "level":
        return f'level = "{LEVELS[0]}"'
    return f"{name} = {in_units(getattr(Policy(), name))}"
