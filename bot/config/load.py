"""Reading the settings: the file, the environment over it, and all mistakes at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.config.environment import Environment, from_environment, misspelt
from bot.config.form import in_quotes, nobody_asked, said_twice, secrets_in
from bot.config.keys import PATHS, Where, tables
from bot.config.lacking import lacking, lacking_besides
from bot.config.mistakes import SettingsError, example
from bot.config.policy import read_idle, read_policy
from bot.config.sections import Prometheus, Site, Slack, Store, VCenter, Vgpu, Web
from bot.config.sentences import sentences
from bot.config.teams import read_teams
from bot.config.values import read_kinds
from bot.domain.policy import IdlePolicy, Policy

FILE = "gpubot.toml"


class Settings(BaseSettings):
    """All settings, checked. Made by :func:`load` alone."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=False)

    site: Site = Site()
    slack: Slack = Slack()
    vcenter: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")], VCenter] = {}  # by name
    kinds: Annotated[dict[str, str], AfterValidator(read_kinds)] = {"10de:1eb8": "T4"}  # PCI ids -> what people ask for
    sharing: Annotated[dict[str, Any], AfterValidator(read_teams)] = Field(default={}, alias="teams")  # by name
    quiet: Annotated[dict[str, Any], AfterValidator(read_idle)] = Field(default={}, alias="idle")  # as written
    numbers: Annotated[dict[str, Any], AfterValidator(read_policy)] = Field(default={}, alias="policy")  # as written
    store: Store = Store()
    web: Web = Web()
    prometheus: Prometheus = Prometheus()
    vgpu: Vgpu = Vgpu()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment over the file (which ``load`` hands in), and nothing else."""
        return Environment(settings_cls), init_settings

    def policy(self) -> Policy:
        """The rules' numbers, frozen."""
        days, start, end = self.site.hours
        placed = {
            "zone": self.site.zone,
            "working_days": days,
            "working_start": start,
            "working_end": end,
            "night_start": self.site.night[0],
            "night_end": self.site.night[1],
            "blackout": tuple(one.in_zone(self.site.zone) for one in self.site.blackout),
            "command": self.slack.command,
            "level": self.site.level,
            "admins": self.site.admins,
            "kinds": self.kinds,
            "idle": IdlePolicy(**self.quiet),
            "vgpu_profiles": frozenset(self.vgpu.profiles),
            "vgpu_counts": dict(self.vgpu.counts),
            "teams": tuple(self.sharing.values()),
        }
        return Policy(**{**placed, **self.numbers})

    def missing_for_run(self) -> list[str]:
        """What ``gpubot run`` needs and is not there, or is not served; a sentence each. Other commands do without."""
        return list(lacking(self).values())


class _Given(Settings):
    """Settings from what is handed in alone: tried again without the mistakes, to see what else is wrong."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: Any,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Nothing of the environment: it was put in."""
        return (init_settings,)


def load(path: str | Path | None = None, *, run: bool = False) -> Settings:
    """Read and check everything.

    :param path: the file; None: ``gpubot.toml`` here if there is one, else defaults and environment alone
    :param run: also what ``gpubot run`` needs, secrets among it
    :raises SettingsError: with all mistakes
    """
    settings, _, mistakes = _looked_into(path, run)
    if mistakes or settings is None:
        raise SettingsError(dict.fromkeys(mistakes))
    return settings


def examine(path: str | Path | None = None) -> tuple[Settings | None, list[str], frozenset[Where]]:
    """For who looks into everything: what can be used of the settings, all mistakes (those that keep a bot from running among them), and
    where the settings are not as they were written.

    What is wrong is left out, as if it had not been written; of a vCenter that lacks something nothing is used. None: nothing can be read.
    """
    try:
        settings, left_out, mistakes = _looked_into(path, True)
    except SettingsError as error:
        return None, error.mistakes, frozenset()
    if settings is None:
        return None, list(dict.fromkeys(mistakes)), left_out
    wrong = {where[1] for where in left_out if where[0] == "vcenter" and len(where) > 1}
    good = {name: one for name, one in settings.vcenter.items() if name not in wrong}
    return settings.model_copy(update={"vcenter": good}), list(dict.fromkeys(mistakes)), left_out


def named_by(path: str | Path, section: str, key: str) -> str:
    """What says a setting of settings that load, in words: the environment, the file, or neither."""
    if (said := from_environment(os.environ).get((section, key))) is not None:
        return f"named by {said[0]} in the environment"
    part = _read(Path(path)).get(section)
    if isinstance(part, dict) and key in part:
        return f"named by [{section}] {key} of {Path(path).resolve()}"
    return f"the usual one of {Path(path).resolve()}, which has no [{section}] {key}"


def _looked_into(path: str | Path | None, run: bool) -> tuple[Settings | None, frozenset[Where], list[str]]:
    """The settings without what is wrong in them; where that was; all mistakes.

    :raises SettingsError: the file cannot be read at all
    """
    file = Path(path) if path is not None else Path(FILE)
    if path is None and not file.exists():
        raw: dict[str, Any] = {}
    else:
        raw = _read(file)
    said, stood = from_environment(os.environ), _keys(raw)
    mistakes = misspelt(os.environ) + nobody_asked(raw, said)
    mistakes += secrets_in(raw) + in_quotes(raw) + said_twice(raw, said)
    bad = stood - _keys(raw)
    merged = _at_home(raw, file.resolve().parent)
    settings: Settings | None = None
    dropped: frozenset[Where] = frozenset()
    try:
        settings = Settings(**merged)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            mistakes += sentences(detail, said, merged)
    if run:
        if settings is None:
            settings, dropped = _without_mistakes(merged, said)
        mistakes += lacking_besides(settings, bad | dropped) if settings is not None else []
    return settings, bad | dropped, mistakes


def _keys(raw: Mapping[str, Any]) -> frozenset[Where]:
    """Where something stands in the sections that have fixed keys."""
    return frozenset((*name.split("."), key) for name, part in tables(raw) for key in part)


def _without_mistakes(
    merged: Mapping[str, Any], said: Mapping[Where, tuple[str, str]]
) -> tuple[Settings | None, frozenset[Where]]:
    """The settings without what is wrong in them, and where that was; None: nothing is left that could be read."""
    given: dict[str, Any] = deepcopy(dict(merged))
    dropped: set[Where] = set()
    for where, (_, value) in said.items():
        _put(given, where, value)
    while True:
        before = deepcopy(given)
        try:
            return _Given(**given), frozenset(dropped)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_input=False):
                where = tuple(str(part) for part in detail["loc"])
                where = where[: (2 if where[-1] == "[key]" else 3) if where[0] == "vcenter" else 2]
                dropped.add(where)
                if detail["type"] != "missing":
                    _drop(given, where)
                elif where[1] in given.get("vcenter", {}):  # only a vCenter has keys that must be there
                    _put(given, where, "x")
        if given == before:
            return None, frozenset(dropped)


def _put(given: dict[str, Any], where: Where, value: object) -> None:
    """Set a value, where the sections above it are sections."""
    here: Any = given
    for part in where[:-1]:
        here = here.setdefault(part, {}) if isinstance(here, dict) else None
    if isinstance(here, dict):
        here[where[-1]] = value


def _drop(given: dict[str, Any], where: Where) -> None:
    """Take away what stands there. A section that is wrong as a whole goes as a whole."""
    here: Any = given
    for part in where[:-1]:
        if not isinstance(here, dict) or not isinstance(here.get(part), dict):
            break
        here = here[part]
    else:
        here.pop(where[-1], None)
        return
    given.pop(where[0], None)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(
            [f"there is no {file}; write one as README shows it, or name yours with --settings"]
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            [f"{file} cannot be read: {getattr(error, 'strerror', None) or 'it is no UTF-8 text'}"]
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            [f"{file} is no TOML: {error}; texts stand in quotes, like: {example('site', 'zone')}"]
        ) from None


def _at_home(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A copy in which relative paths are meant from the file's folder."""
    merged = deepcopy(raw)
    for _, part in tables(merged):
        for key in PATHS & part.keys():
            if isinstance(part[key], str) and part[key]:
                part[key] = str(folder / Path(part[key]).expanduser())
    store = merged.setdefault("store", {})
    if isinstance(store, dict):
        url = store.setdefault("url", Store.model_fields["url"].default)
        if isinstance(url, str) and url.startswith("sqlite:///") and not url.startswith("sqlite:////"):
            store["url"] = "sqlite:///" + str(folder / url.removeprefix("sqlite:///"))
    return merged
