"""How the file is written, before any value is looked at: secrets in it, texts for numbers and lists, what is said twice. Used by ``load``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bot.config.keys import PREFIX, SECRETS, Where, example_in, keys_of, tables
from bot.config.mistakes import example
from bot.config.policy import ELSEWHERE, NUMBERS
from bot.config.values import has_password


def secrets_in(raw: dict[str, Any]) -> list[str]:
    """Secrets that stand in the file: a mistake each, and taken out, so that nothing repeats them."""
    found = []
    for name, part in tables(raw):
        for key in sorted(SECRETS & part.keys()):
            del part[key]
            section, _, one = name.partition(".")
            file = example(*((section, one) if one else (section,)), f"{key}_file")
            variable = f"{PREFIX}{name}_{key}".upper().replace(".", "_").replace("-", "_")
            found.append(
                f"[{name}] {key} is a secret and must not stand in the file; write: {file} (or set {variable})"
            )
    store = raw.get("store")
    if isinstance(store, dict) and isinstance(store.get("url"), str) and has_password(store["url"]):
        del store["url"]
        found.append(
            f"[store] url has a password, which must not stand in the file; delete it, and set {PREFIX}STORE_URL"
        )
    return found


def in_quotes(raw: dict[str, Any]) -> list[str]:
    """Lists, numbers, true and false that are written as one text, as the environment has them: a mistake each, and taken out."""
    found = []
    parts = tables(raw) + [(name, raw[name]) for name in NUMBERS if isinstance(raw.get(name), dict)]
    for name, part in parts:
        for key in list(part):
            value, wanted = part[key], _wanted(name, key)
            if not isinstance(value, str) or wanted is None:
                continue
            del part[key]
            if wanted in PLAIN:
                form, what = PLAIN[wanted]
                plain = re.fullmatch(form, value.strip().lower())
                line = f"{key} = {plain[0]}" if plain else example_in(name, key)
                found.append(f"[{name}] {key} is a text, not {what}; write: {line}")
            else:
                words = [word.strip().removeprefix("@") for word in value.split(",") if word.strip()]
                good = words and all(re.fullmatch(r"[\w. -]+", word) for word in words)
                line = (
                    f"{key} = [{', '.join(f'{chr(34)}{word}{chr(34)}' for word in words)}]"
                    if good
                    else example_in(name, key)
                )
                found.append(f"[{name}] {key} is one text, not a list; write: {line}")
    return found


PLAIN: dict[type, tuple[str, str]] = {
    int: (r"\d+", "a whole number"),
    float: (r"\d+(\.\d+)?", "a number"),
    bool: (r"true|false", "true or false"),
}
"""What stands in the file without quotes: its form, and what it is."""


def _wanted(section: str, key: str) -> type | None:
    """Whether a setting is a list of names or one of PLAIN; None: something else (durations may share a text), or no setting."""
    general = (section.partition(".")[0], key)
    if general in (("site", "admins"), ("vcenter", "dynamic"), ("vgpu", "profiles")):
        return list
    if general in (("vcenter", "port"), ("vcenter", "moves")):
        return int
    if section not in NUMBERS or key not in keys_of(section):
        return None
    default = getattr(NUMBERS[section].default, key)
    plain = bool if default is None else type(default)  # what may be left open is a yes or a no
    return plain if plain in PLAIN else None


def said_twice(raw: Mapping[str, Any], said: Mapping[Where, object]) -> list[str]:
    """Numbers of the policy that have another place and stand in both."""
    policy = raw.get("policy") if isinstance(raw.get("policy"), dict) else {}
    names = {*(policy or {}), *(w[1] for w in said if w[0] == "policy")}
    found = []
    for name in sorted(names & ELSEWHERE.keys()):
        section, key = ELSEWHERE[name]
        part = raw.get(section)
        if (isinstance(part, dict) and key in part) or (section, key) in said:
            found.append(f"[policy] {name} is said by [{section}] {key} already; delete one of them")
    return found


def nobody_asked(raw: Mapping[str, Any], said: Mapping[Where, object]) -> list[str]:
    """A section of exporters with nothing in it: whoever wrote it wants something."""
    if raw.get("prometheus") != {} or any(section == "prometheus" for section, *_ in said):
        return []
    lines = f"{example('prometheus', 'url')}, or {example('prometheus', 'targets')}"
    return [f"[prometheus] names nobody to ask; write: {lines} (or delete the section)"]
