"""Settings that the environment says: which variable is which, and which are misspelt. Used by ``load``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import PydanticBaseSettingsSource

from bot.config.keys import PREFIX, SECTIONS, Where, keys_of
from bot.config.policy import NUMBERS
from bot.config.values import nearest


def from_environment(environ: Mapping[str, str]) -> dict[Where, tuple[str, str]]:
    """Settings of the environment: where each belongs -> (its name there, its value).

    ``GPUBOT_SITE_ZONE``, ``GPUBOT_VCENTER_LAB_HOST``; two underscores between the parts are as good. Names that begin with
    no section of ours (``GPUBOT_CLOCK``) are somebody else's.
    """
    found: dict[Where, tuple[str, str]] = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX):
            continue
        section, _, rest = name[len(PREFIX) :].lower().replace("__", "_").partition("_")
        if section not in (*SECTIONS, *NUMBERS, "vcenter") or not rest:
            continue
        where: Where = (section, rest)
        if section == "vcenter":
            key = next((k for k in sorted(keys_of(section), key=len, reverse=True) if rest.endswith("_" + k)), None)
            if key is not None:
                where = (section, rest[: -len(key) - 1].replace("_", "-"), key)
        found[where] = (name, value)
    return found


def misspelt(environ: Mapping[str, str]) -> list[str]:
    """Variables whose section is nearly one of ours, and whose key is one there. Others (``GPUBOT_SERVICE_HOST``) are somebody else's."""
    found = []
    ours = (*SECTIONS, *NUMBERS, "vcenter")
    for name in environ:
        section, _, rest = name.removeprefix(PREFIX).lower().replace("__", "_").partition("_")
        near = nearest(section, ours) if name.startswith(PREFIX) and section not in ours else None
        if near is None:
            continue
        keys = keys_of(near)
        key = (
            rest
            if rest in keys or (near == "vcenter" and any(rest.endswith("_" + k) for k in keys))
            else nearest(rest, keys)
        )
        if key is not None:
            found.append(f"{name} (environment) is no setting; write: {f'{PREFIX}{near}_{key}'.upper()}")
    return found


class Environment(PydanticBaseSettingsSource):
    """The environment as a source of pydantic-settings, by :func:`from_environment`."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Not asked: all values come by :meth:`__call__`."""
        raise NotImplementedError

    def __call__(self) -> dict[str, Any]:
        """The values, nested."""
        nested: dict[str, Any] = {}
        for where, (_, value) in from_environment(os.environ).items():
            here = nested
            for part in where[:-1]:
                here = here.setdefault(part, {})
            here[where[-1]] = value
        return nested
