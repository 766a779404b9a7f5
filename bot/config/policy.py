"""``[policy]`` and ``[idle]``: every number of the rules by its name, in human units."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import time, timedelta
from typing import Any, get_type_hints

from pydantic_core import PydanticCustomError

from bot.config.values import WORKDAYS, nearest, read_days, read_duration, read_durations, read_time, read_zone, wrong
from bot.domain.policy import IdlePolicy, Policy

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


@dataclass(frozen=True)
class Numbers:
    """A section whose keys are the fields of a dataclass of the rules' numbers."""

    section: str  # as it stands in the file, without brackets
    default: Policy | IdlePolicy  # what holds where nothing is written
    apart: Mapping[str, str]  # fields that have a section of their own -> the line to write there

    def names(self) -> tuple[str, ...]:
        """What may be written."""
        return tuple(f.name for f in fields(self.default) if f.name not in self.apart)

    def example(self, name: str) -> str:
        """A line that works: the default."""
        value = getattr(self.default, name)
        return f"{name} = {in_units(False if value is None else value)}"

    def read(self, raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The fields in human units, and all mistakes."""
        hints = get_type_hints(type(self.default))
        found: dict[str, Any] = {}
        mistakes = []
        for name, value in raw.items():
            if name in self.apart:
                mistakes.append(f"[{self.section}] {name} has a section of its own; write: {self.apart[name]}")
                continue
            if name not in hints:
                near = nearest(name, self.names())
                kept = isinstance(value, bool) and near is not None and isinstance(getattr(self.default, near), bool)
                example = f"{near} = {in_units(value)}" if kept else self.example(near) if near else ""
                line = f"write: {example}" if near else f"there are {', '.join(self.names())}"
                mistakes.append(f"[{self.section}] {name} is no setting; {line}")
                continue
            try:
                found[name] = _readers(hints[name], name)(value)
            except PydanticCustomError as error:
                said = error.context or {}
                line = f'{name} = "{said["instead"]}"' if said["instead"] else self.example(name)
                mistakes.append(f"[{self.section}] {name} {said['what']}; write: {line}")
        return found, mistakes


POLICY = Numbers(
    "policy",
    Policy(),
    {
        "kinds": '[kinds] with "10de:1eb8" = "T4"',
        "idle": "[idle] with nudge = true",
        "blackout": '[site] with blackout = ["fri 16:00-18:00"]',
        "vgpu_counts": '[vgpu.counts] with "grid_t4-8q" = 2',
        "admins": '[site] with admins = ["U0123456789"]',
        "teams": '[teams.vision] with members = ["ada", "bob"]',
        "vgpu_profiles": '[vgpu] with profiles = ["grid_t4-8q"]',
    },
)
IDLE = Numbers("idle", IdlePolicy(), {})
NUMBERS = {numbers.section: numbers for numbers in (POLICY, IDLE)}
"""The sections of numbers."""


def read_policy(raw: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``Policy`` in human units. All mistakes at once."""
    found, mistakes = POLICY.read(raw)
    mistakes += _contrary(found)
    if mistakes:
        raise wrong("", *mistakes)
    return found


def read_idle(raw: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``IdlePolicy`` in human units. All mistakes at once."""
    found, mistakes = IDLE.read(raw)
    mistakes += _idle_contrary(IdlePolicy(**found))
    if mistakes:
        raise wrong("", *mistakes)
    return found


def _contrary(found: Mapping[str, Any]) -> list[str]:
    """Numbers that make no sense together."""
    p, usual = Policy(**found), Policy()
    pairs = (("longest", "longest_in_all"), ("last_call_now", "now_within"), ("seen_in_guest", "power_on_wait"))
    return [
        f"[policy] {a} is longer than {b}; write: {a} = {in_units(min(getattr(usual, a), getattr(p, b)))}"
        for a, b in pairs
        if getattr(p, a) > getattr(p, b)
    ]


READING = timedelta(seconds=60)
"""How often a guest speaks. A time that is not three of these long would be decided by one or two readings."""


def _idle_contrary(idle: IdlePolicy) -> list[str]:
    """Numbers of quiet cards that make no sense together, each with the line to write. All lines together are accepted: each is of
    the numbers as they are with the lines before it."""
    usual, least, found = IdlePolicy(), 3 * READING, []

    def mend(name: str, value: timedelta, what: str) -> None:
        nonlocal idle
        changed: dict[str, Any] = {name: value}
        idle = replace(idle, **changed)
        found.append(f"[idle] {name} {what}; write: {name} = {in_units(value)}")

    short = f"is shorter than three readings of a guest ({in_units(least)}), which decide nothing"
    if idle.first < least:
        mend("first", usual.first if not least < idle.second <= usual.first else least, short)
    for name in ("never_opened", "withdraw_within"):
        if getattr(idle, name) < least:
            mend(name, getattr(usual, name), short)
    if idle.second <= idle.first:
        mend("second", 2 * idle.first, "is not later than first")
    if idle.take_back_quiet < least:
        mend("take_back_quiet", max(usual.take_back_quiet, idle.second), short)
    if idle.take_back_quiet < idle.second:
        mend(
            "take_back_quiet",
            idle.second,
            "is shorter than second, which is the warning of it: it would be due before anybody is warned",
        )
    pairs = (
        ("withdraw_busy", "withdraw_within"),
        ("take_back_gap", "take_back_quiet"),
        ("blind_holder", "blind_admins"),
    )
    for a, b in pairs:
        if getattr(idle, a) > getattr(idle, b):
            mend(a, min(getattr(usual, a), getattr(idle, b)), f"is longer than {b}")
    return found


RANGES: dict[str, tuple[float, float, str]] = {
    "quiet_below": (0.0, 50.0, "percent of an engine"),
    "stretch": (1.0, 10.0, "a factor"),
    "loading_above": (0.0, 64.0, "a share of a core"),
    "coverage": (0.0, 1.0, "a share of the time"),
    "pool_share": (0.0, 1.0, "a share of the pool"),
}
"""Fields that are no whole numbers: from (of the shares more than that), up to, and what they are."""


def _readers(hint: Any, name: str) -> Callable[[Any], Any]:
    if name == "zone":
        return lambda v: read_zone(str(v))
    if name == "level":
        return read_level
    if name == "command":
        return lambda v: read_match(v, r"/[a-z0-9_-]{1,31}", "is no slash command")
    if name == "weekly_post":
        return read_weekly
    if name in RANGES:
        return lambda v: read_number(v, *RANGES[name])
    kinds: dict[Any, Callable[[Any], Any]] = {
        timedelta: read_duration,
        time: read_time,
        int: read_count,
        bool: read_flag,
        bool | None: read_flag,
        frozenset[int]: read_days,
        tuple[timedelta, ...]: read_durations,
    }
    return kinds[hint]


FLAGS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def read_flag(value: object) -> bool:
    """True or false; from the environment also as a word."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in FLAGS:
        return FLAGS[value.strip().lower()]
    raise wrong("is neither true nor false")


def read_number(value: object, least: float, most: float, what: str) -> float:
    """A number in a range; more than ``least`` where that is 0."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise wrong(f"is no number ({what})") from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(f"is no number ({what})")
    number = float(value)
    if not (least <= number <= most and (least > 0 or number > 0)):
        raise wrong(f"is not {'more than 0' if least == 0 else f'at least {least:g}'} and at most {most:g} ({what})")
    return number


def read_match(value: object, pattern: str, what: str) -> str:
    """A text of a given form."""
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise wrong(what)
    return value


def read_weekly(value: object) -> tuple[int, time] | None:
    """``"mon 09:30"``; ``"off"`` or false: never."""
    if value is False or (isinstance(value, str) and value.strip().lower() in ("off", "never", "no", "false")):
        return None
    day, _, at = str(value).strip().lower().partition(" ")
    if day[:3] not in WORKDAYS or not at.strip():
        raise wrong('is no day with a time (write it like "mon 09:30", or "off")', instead="mon 09:30")
    return WORKDAYS.index(day[:3]), read_time(at)


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
        case (int() as day, time() as at):
            return f'"{WORKDAYS[day]} {at:%H:%M}"'
        case tuple():
            return "[" + ", ".join(in_units(v) for v in value) + "]"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"'
        case _:
            return str(value)
