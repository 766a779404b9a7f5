"""``[teams.NAME]``: who shares a part of the pool, by how much it may use, and what is its own. Read with the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from bot.config.values import nearest, read_admin, wrong
from bot.domain.waiting import Team

MEMBERS = 'members = ["ada", "bob"]'
LINES = {"members": MEMBERS, "weight": "weight = 2", "guaranteed": "guaranteed = 1"}
"""What may be written of a team, with a line that works."""

NAME = re.compile(r"[A-Za-z0-9][\w-]{0,30}")
"""What people read of a team, and type nowhere."""

ID = re.compile(r"[UW][A-Z0-9]{7,}")
"""Slack's ids; user names are of small letters."""

WEIGHT_MOST = 100.0
GUARANTEED_MOST = 1000


def read_teams(raw: dict[str, Any]) -> dict[str, Team]:
    """The teams by name. All mistakes at once, among them somebody who is in two."""
    mistakes: list[str] = []
    teams = {name: team for name, part in raw.items() if (team := _team(name, part, mistakes)) is not None}
    mistakes += _in_two(teams)
    if mistakes:
        raise wrong("", *mistakes)
    return teams


def _team(name: str, part: object, mistakes: list[str]) -> Team | None:
    """One of them as far as it can be read; None: it is no section."""
    if isinstance(part, Team):
        return part
    if name in LINES:  # [teams] with the keys of one team
        mistakes.append(f"[teams] {name} belongs to a team; write: [teams.vision] with {LINES[name]}")
        return None
    if not NAME.fullmatch(name):
        mistakes.append(f'[teams.{name}] has no good name (letters, digits, "-", "_"); write: [teams.vision]')
    if not isinstance(part, dict):
        mistakes.append(f"[teams] {name} is no section of a team; write: [teams.{name}] with {MEMBERS}")
        return None
    for key in part.keys() - LINES.keys():
        near = nearest(key, LINES)
        line = f"write: {LINES[near]}" if near else f"there are {', '.join(LINES)}"
        mistakes.append(f"[teams.{name}] {key} is no setting; {line}")
    members = _members(name, part.get("members"), mistakes)
    weight = part.get("weight", 1.0)
    if type(weight) not in (int, float) or not 0 < weight <= WEIGHT_MOST:
        what = f"is not more than 0 and at most {WEIGHT_MOST:g}"
        mistakes.append(f"[teams.{name}] weight {what} (1: as much as others); write: {LINES['weight']}")
        weight = 1.0
    own = part.get("guaranteed", 0)
    if type(own) is not int or not 0 <= own <= GUARANTEED_MOST:
        what = f"is no whole number from 0 to {GUARANTEED_MOST} (cards of each kind)"
        mistakes.append(f"[teams.{name}] guaranteed {what}; write: {LINES['guaranteed']}")
        own = 0
    return Team(name, members, float(weight), own)


def _members(name: str, value: object, mistakes: list[str]) -> frozenset[str]:
    """Ids and user names, as they are found in Slack."""
    if value is None:
        mistakes.append(f"[teams.{name}] lacks members; write: {MEMBERS}")
        return frozenset()
    if not isinstance(value, list) or not value:
        words = [w.strip().removeprefix("@") for w in value.split(",") if w.strip()] if isinstance(value, str) else []
        good = words and all(re.fullmatch(r"[\w.-]+", word) for word in words)
        line = f"members = [{', '.join(f'{chr(34)}{w}{chr(34)}' for w in words)}]" if good else MEMBERS
        mistakes.append(f"[teams.{name}] members is no list of people; write: {line}")
        return frozenset()
    found = set()
    for item in value:
        try:
            who = read_admin(item.strip() if isinstance(item, str) else "")
        except PydanticCustomError as error:
            mistakes.append(f'[teams.{name}] members: "{item}" {(error.context or {})["what"]}; write: {MEMBERS}')
            continue
        found.add(who if ID.fullmatch(who) else who.lower())
    return frozenset(found)


def _in_two(teams: Mapping[str, Team]) -> list[str]:
    """Whoever is in two teams: nobody could say which part is theirs."""
    where: dict[str, list[str]] = {}
    for team in teams.values():
        for member in sorted(team.members):
            where.setdefault(member, []).append(team.name)
    return [
        f'"{member}" is in the teams {" and ".join(names)}; take it out of [teams.{names[-1]}]'
        for member, names in where.items()
        if len(names) > 1
    ]
