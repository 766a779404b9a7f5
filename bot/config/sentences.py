"""What pydantic finds about a value, as a sentence with the line to write instead. Used by ``load``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import ErrorDetails

from bot.config.keys import NAMES, PREFIX, SECRETS, Where, example_in, keys_of
from bot.config.mistakes import example, in_environment, to_do
from bot.config.teams import MEMBERS
from bot.config.values import nearest

FORMS = {
    "string_type": "is no text, which stands in quotes",
    "string_too_short": "is empty",
    "tuple_type": "is no list, which stands in brackets",
    "path_type": "is no name of a file, which stands in quotes",
    "int_type": "is no whole number",
    "int_parsing": "is no whole number",
    "int_from_float": "is no whole number",
    "greater_than_equal": "is too small",
    "less_than_equal": "is too large",
}
"""What pydantic finds about a value's form, in our words."""


def sentences(detail: ErrorDetails, said: Mapping[Where, tuple[str, str]], merged: Mapping[str, Any]) -> list[str]:
    """One finding of pydantic in our words. ``merged``: as the file has it."""
    where = tuple(str(part) for part in detail["loc"])
    context = detail.get("ctx", {})
    if detail["type"] == "mistake" and context["more"]:
        return list(context["more"])
    kind = detail["type"]
    if kind == "extra_forbidden":
        return [_unknown(where, said)]
    setting = where[: 3 if where[0] == "vcenter" else 2]
    name = _name(setting, said)
    if where[0] == "vcenter" and where[:2] in said:
        setting = where[:2]
        return [f"{said[setting][0]} (environment) is no setting; write: {PREFIX}VCENTER_LAB_HOST"]
    if kind == "missing":
        return [f"[{'.'.join(where[:-1])}] lacks {where[-1]}; write: {example(*where)}"]
    if where[0] == "vcenter" and len(where) <= 2:
        named = where[1] if len(where) == 2 and where[1] not in keys_of("vcenter") else "lab"
        what = f"[vcenter] {where[1]}" if len(where) == 2 else "[vcenter]"
        return [f"{what} is no section of a vCenter; write: [vcenter.{named}] with {example('vcenter', named, 'host')}"]
    if where == ("teams",):
        return [f"[teams] is no section; write: [teams.vision] with {MEMBERS}"]
    if len(where) == 1:
        line = f" with {keys_of(where[0])[0]} = …" if keys_of(where[0]) else ""
        return [f"[{where[0]}] is no section; write: [{where[0]}]{line}"]
    if where[-1] == "[key]":
        return [f'[vcenter.{where[1]}] has no good name (small letters, digits, "-"); write: [vcenter.lab]']
    instead = ""
    if kind == "mistake":
        what, instead = str(context["what"]), str(context["instead"])
        if context["absent"]:
            return [f"{name} {what}: {to_do(*setting)}"]
    elif kind == "literal_error":
        what = f"is none of {str(context['expected']).replace(chr(39), chr(34))}"
        instead = nearest(_written(setting, said, merged), re.findall(r"'([^']+)'", str(context["expected"]))) or ""
    elif kind == "string_pattern_mismatch":
        what = "does not look right"
    else:
        what = FORMS.get(kind, f"does not fit ({detail['msg'].lower()})")
    line = f'{setting[-1]} = "{instead}"' if instead else example(*setting)
    if line and setting in said:
        line = in_environment(said[setting][0], line)
    return [f"{name} {what}" + (f"; write: {line}" if line else "")]


def _written(where: Where, said: Mapping[Where, tuple[str, str]], merged: Mapping[str, Any]) -> str:
    """What somebody wrote for a setting, to find what was meant."""
    if where in said:
        return said[where][1]
    here: Any = merged
    for part in where:
        here = here.get(part) if isinstance(here, dict) else None
    return str(here)


def _name(where: Where, said: Mapping[Where, tuple[str, str]]) -> str:
    """How the person who wrote it calls it."""
    if where in said:
        return f"{said[where][0]} (environment)"
    return f"[{'.'.join(where[:-1])}] {where[-1]}"


def _unknown(where: Where, said: Mapping[Where, tuple[str, str]]) -> str:
    """A key that nobody knows, and the one that was probably meant."""
    if len(where) == 1:
        home = next(
            (name for name in ("site", "slack", "policy", "idle", "web", "prometheus") if where[0] in keys_of(name)),
            None,
        )
        if home is not None:
            return f"{where[0]} stands in no section; write: [{home}] in a line above it"
        near = nearest(where[0], NAMES)
        return f"[{where[0]}] is no section; " + (f"write: [{near}]" if near else f"there are {', '.join(NAMES)}")
    known = [k for k in keys_of(where[0]) if k not in SECRETS]
    near = nearest(where[-1], known)
    if near is None:
        return f"{_name(where, said)} is no setting; there are {', '.join(known)}"
    if where in said:
        right = (PREFIX + "_".join((*where[:-1], near))).upper().replace("-", "_")
        return f"{said[where][0]} (environment) is no setting; write: {right}"
    line = example_in(".".join(where[:-1]), near)
    return f"{_name(where, said)} is no setting; write: {line}"
