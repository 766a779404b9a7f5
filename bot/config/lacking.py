"""What ``gpubot run`` needs besides settings that can be read: secrets, channel, admins, a vCenter; and what is not served yet.

Called by ``load``, so that it is told in one go with what is wrong in the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from bot.config.mistakes import SettingsError, example

if TYPE_CHECKING:
    from bot.config.keys import Where
    from bot.config.load import Settings


def lacking(settings: Settings) -> dict[Where, str]:
    """A sentence each, by where it belongs."""
    return {
        **_slack(settings),
        **_site(settings),
        **_vcenters(settings),
        **_prometheus(settings),
        **_not_served(settings),
    }


def lacking_besides(settings: Settings, bad: Iterable[Where]) -> list[str]:
    """The same without what is told already, because what stands there is wrong."""
    told = [tuple(part.removesuffix("_file") for part in where) for where in bad]
    return [
        sentence
        for where, sentence in lacking(settings).items()
        if not any(where[: len(one)] == one[: len(where)] for one in told)
    ]


def _slack(settings: Settings) -> dict[Where, str]:
    s, found = settings.slack, dict[tuple[str, ...], str]()
    needed = {
        "bot_token": ("xoxb-", True),
        "app_token": ("xapp-", s.mode == "socket"),
        "signing_secret": ("", s.mode == "http"),
    }
    for name, (start, wanted) in needed.items():
        words, line = f"Slack's {name.replace('_', ' ')}", example("slack", name)
        try:
            secret: SecretStr | None = s.secret(name)  # type: ignore[arg-type]  # the names of the table are those three
        except SettingsError as error:
            found["slack", name] = "; ".join(error.mistakes)
            continue
        if wanted and secret is None:
            found["slack", name] = f"{words} is missing; set {line}"
        elif wanted and secret is not None and not secret.get_secret_value().startswith(start):
            found["slack", name] = f"{words} does not begin with {start}; set {line}"
    if s.channel is None:
        found["slack", "channel"] = f"[slack] lacks the team's channel; write: {example('slack', 'channel')}"
    return found


def _site(settings: Settings) -> dict[Where, str]:
    if settings.site.admins:
        return {}
    return {("site", "admins"): f"[site] names no admins; write: {example('site', 'admins')}"}


def _vcenters(settings: Settings) -> dict[Where, str]:
    if not settings.vcenter:
        line = f"[vcenter.lab] with {example('vcenter', 'lab', 'host')}, user, password_file"
        return {("vcenter",): f"there is no vCenter; write: {line}"}
    found: dict[Where, str] = {}
    for name, one in settings.vcenter.items():
        try:
            secret = one.secret(name)
        except SettingsError as error:
            found["vcenter", name, "password"] = "; ".join(error.mistakes)
            continue
        if secret is None:
            variable = f"GPUBOT_VCENTER_{name.upper().replace('-', '_')}_PASSWORD"
            line = example("vcenter", name, "password_file")
            found["vcenter", name, "password"] = f"[vcenter.{name}] has no password; write: {line} (or set {variable})"
    return found


def _prometheus(settings: Settings) -> dict[Where, str]:
    found: dict[Where, str] = {}
    names: tuple[Literal["password", "token"], ...] = ("password", "token")
    for name in names:
        try:
            settings.prometheus.secret(name)
        except SettingsError as error:
            found["prometheus", name] = "; ".join(error.mistakes)
    return found


def _not_served(settings: Settings) -> dict[Where, str]:
    found: dict[Where, str] = {}
    if settings.slack.mode == "http":
        found["slack", "mode"] = '[slack] mode = "http" is not served by this version; write: mode = "socket"'
    return found
