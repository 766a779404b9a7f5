"""Reading the settings: the file, the environment over it, and all mistakes at once."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.config.lacking import lacking, lacking_besides
from bot.config.mistakes import SettingsError, example, in_environment, to_do
from bot.config.policy import ELSEWHERE, NUMBERS, read_idle, read_policy
from bot.config.sections import Prometheus, Site, Slack, Store, VCenter, Vgpu, Web
from bot.config.values import has_password, nearest, read_kinds
from bot.domain.policy import IdlePolicy, Policy

FILE = "gpubot.toml"
PREFIX = "GPUBOT_"

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

Where = tuple[str, ...]
"""Section and keys."""


def keys_of(section: str) -> tuple[str, ...]:
    """What may be written in a section; () anything."""
    if section in NUMBERS:
        return NUMBERS[section].names()
    if section == "vcenter":
        return tuple(VCenter.model_fields)
    return tuple(SECTIONS[section].model_fields) if section in SECTIONS else ()


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


def _misspelt(environ: Mapping[str, str]) -> list[str]:
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


def _nobody_asked(raw: Mapping[str, Any], said: Mapping[Where, object]) -> list[str]:
    """A section of exporters with nothing in it: whoever wrote it wants something."""
    if raw.get("prometheus") != {} or any(section == "prometheus" for section, *_ in said):
        return []
    lines = f"{example('prometheus', 'url')}, or {example('prometheus', 'targets')}"
    return [f"[prometheus] names nobody to ask; write: {lines} (or delete the section)"]


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


class Settings(BaseSettings):
    """All settings, checked. Made by :func:`load` alone."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, populate_by_name=False)

    site: Site = Site()
    slack: Slack = Slack()
    vcenter: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")], VCenter] = {}  # by name
    kinds: Annotated[dict[str, str], AfterValidator(read_kinds)] = {"10de:1eb8": "T4"}  # PCI ids -> what people ask for
    teams: dict[str, Any] = {}  # reserved
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
            "kinds": self.kinds,
            "idle": IdlePolicy(**self.quiet),
            "vgpu_profiles": frozenset(self.vgpu.profiles),
            "vgpu_counts": dict(self.vgpu.counts),
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
    mistakes = _misspelt(os.environ) + _nobody_asked(raw, said)
    mistakes += _secrets_in(raw) + _in_quotes(raw) + _said_twice(raw, said)
    bad = stood - _keys(raw)
    merged = _at_home(raw, file.resolve().parent)
    settings: Settings | None = None
    dropped: frozenset[Where] = frozenset()
    try:
        settings = Settings(**merged)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            mistakes += _sentences(detail, said, merged)
    if run:
        if settings is None:
            settings, dropped = _without_mistakes(merged, said)
        mistakes += lacking_besides(settings, bad | dropped) if settings is not None else []
    return settings, bad | dropped, mistakes


def _keys(raw: Mapping[str, Any]) -> frozenset[Where]:
    """Where something stands in the sections that have fixed keys."""
    return frozenset((*name.split("."), key) for name, part in _tables(raw) for key in part)


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


def _tables(raw: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The sections that have fixed keys, by their names in the file."""
    found = [(name, raw[name]) for name in SECTIONS if isinstance(raw.get(name), dict)]
    machines = raw.get("vcenter")
    if isinstance(machines, dict):
        found += [(f"vcenter.{name}", part) for name, part in machines.items() if isinstance(part, dict)]
    return found


def _secrets_in(raw: dict[str, Any]) -> list[str]:
    """Secrets that stand in the file: a mistake each, and taken out, so that nothing repeats them."""
    found = []
    for name, part in _tables(raw):
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


def _in_quotes(raw: dict[str, Any]) -> list[str]:
    """Lists, numbers, true and false that are written as one text, as the environment has them: a mistake each, and taken out."""
    found = []
    parts = _tables(raw) + [(name, raw[name]) for name in NUMBERS if isinstance(raw.get(name), dict)]
    for name, part in parts:
        for key in list(part):
            value, wanted = part[key], _wanted(name, key)
            if not isinstance(value, str) or wanted is None:
                continue
            del part[key]
            if wanted in PLAIN:
                form, what = PLAIN[wanted]
                plain = re.fullmatch(form, value.strip().lower())
                line = f"{key} = {plain[0]}" if plain else _example(name, key)
                found.append(f"[{name}] {key} is a text, not {what}; write: {line}")
            else:
                words = [word.strip().removeprefix("@") for word in value.split(",") if word.strip()]
                good = words and all(re.fullmatch(r"[\w. -]+", word) for word in words)
                line = (
                    f"{key} = [{', '.join(f'{chr(34)}{word}{chr(34)}' for word in words)}]"
                    if good
                    else _example(name, key)
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


def _example(section: str, key: str) -> str:
    return NUMBERS[section].example(key) if section in NUMBERS else example(*section.split("."), key)


def _said_twice(raw: Mapping[str, Any], said: Mapping[Where, object]) -> list[str]:
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


def _at_home(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A copy in which relative paths are meant from the file's folder."""
    merged = deepcopy(raw)
    for _, part in _tables(merged):
        for key in PATHS & part.keys():
            if isinstance(part[key], str) and part[key]:
                part[key] = str(folder / Path(part[key]).expanduser())
    store = merged.setdefault("store", {})
    if isinstance(store, dict):
        url = store.setdefault("url", Store.model_fields["url"].default)
        if isinstance(url, str) and url.startswith("sqlite:///") and not url.startswith("sqlite:////"):
            store["url"] = "sqlite:///" + str(folder / url.removeprefix("sqlite:///"))
    return merged


# ---- mistakes


def _sentences(detail: ErrorDetails, said: Mapping[Where, tuple[str, str]], merged: Mapping[str, Any]) -> list[str]:
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
    line = _example(".".join(where[:-1]), near)
    return f"{_name(where, said)} is no setting; write: {line}"
