"""What may stand where in the settings: sections, keys, and which of them are secrets or paths. Used by the other files of this room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from bot.config.mistakes import example
from bot.config.policy import NUMBERS
from bot.config.sections import Prometheus, Site, Slack, Store, VCenter, Vgpu, Web

PREFIX = "GPUBOT_"
"""Of the variables that are settings."""

SECRETS = frozenset({"bot_token", "app_token", "signing_secret", "password", "token"})
"""Keys that must not stand in the file."""

PATHS = frozenset(
    {
        "bot_token_file",
        "app_token_file",
        "signing_secret_file",
        "password_file",
        "token_file",
        "ca_file",
        "cert_file",
        "key_file",
    }
)
"""Keys whose relative paths are meant from the file's own folder."""

SECTIONS: dict[str, type[BaseModel]] = {
    "site": Site,
    "slack": Slack,
    "store": Store,
    "web": Web,
    "prometheus": Prometheus,
    "vgpu": Vgpu,
}
"""Sections with fixed keys."""

NAMES = ("site", "slack", "vcenter", "kinds", "teams", "policy", "idle", "store", "web", "prometheus", "vgpu")
"""All sections."""

Where = tuple[str, ...]
"""Section and keys."""


def keys_of(section: str) -> tuple[str, ...]:
    """What may be written in a section; () anything."""
    if section in NUMBERS:
        return NUMBERS[section].names()
    if section == "vcenter":
        return tuple(VCenter.model_fields)
    return tuple(SECTIONS[section].model_fields) if section in SECTIONS else ()


def tables(raw: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The sections that have fixed keys, by their names in the file."""
    found = [(name, raw[name]) for name in SECTIONS if isinstance(raw.get(name), dict)]
    machines = raw.get("vcenter")
    if isinstance(machines, dict):
        found += [(f"vcenter.{name}", part) for name, part in machines.items() if isinstance(part, dict)]
    return found


def example_in(section: str, key: str) -> str:
    return NUMBERS[section].example(key) if section in NUMBERS else example(*section.split("."), key)
