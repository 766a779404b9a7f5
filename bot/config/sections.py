"""The sections of ``gpubot.toml``, each with its defaults. Read by ``load``, used by wiring and cli."""

from __future__ import annotations

from datetime import time
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from bot.config.mistakes import SettingsError, example
from bot.config.values import (
    is_loopback,
    read_admin,
    read_channel,
    read_file,
    read_host,
    read_hours,
    read_span,
    read_store,
    read_url,
    read_words,
    read_zone,
    wrong,
)


class _Section(BaseModel):
    """A section: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True, hide_input_in_errors=True)


Word = Annotated[str, Field(min_length=1)]
Existing = Annotated[Path, AfterValidator(read_file)]


class Site(_Section):
    """Where and when people work, and how far the bot goes."""

    zone: Annotated[str, AfterValidator(read_zone)] = "Europe/Berlin"  # the site's time zone
    admins: Annotated[
        tuple[Annotated[Word, AfterValidator(read_admin)], ...], BeforeValidator(read_words)
    ] = ()  # ids, user names
    night: Annotated[tuple[time, time], BeforeValidator(read_span)] = (time(22), time(6))  # "tonight", owner's zone
    hours: Annotated[tuple[frozenset[int], time, time], BeforeValidator(read_hours)] = (
        frozenset({0, 1, 2, 3, 4}),
        time(9),
        time(18),
    )  # working hours, in people's own zone
    level: Literal["watch", "hands", "act"] = "act"  # watch: touches nothing; hands: an admin does the clicks; act


class Slack(_Section):
    """How Slack is reached."""

    command: Annotated[str, Field(pattern=r"^/[a-z0-9_-]{1,31}$")] = "/gpu"  # the slash command
    channel: Annotated[str, AfterValidator(read_channel)] | None = None  # id of the team channel
    mode: Literal["socket", "http"] = "socket"  # who calls whom
    api_url: Annotated[str, AfterValidator(read_url)] = "https://slack.com/api/"  # the local Slack in demos
    adapter: Literal["websocket_client", "builtin"] = "websocket_client"  # of Socket Mode
    bot_token_file: Existing | None = None  # file with the bot's token, instead of the environment
    app_token_file: Existing | None = None  # file with the app's token
    signing_secret_file: Existing | None = None  # file with the signing secret (mode http)
    bot_token: SecretStr | None = None  # environment alone
    app_token: SecretStr | None = None  # environment alone
    signing_secret: SecretStr | None = None  # environment alone

    def secret(self, name: Literal["bot_token", "app_token", "signing_secret"]) -> SecretStr | None:
        """From the environment, else from its file; None if there is none.

        :raises SettingsError: the file cannot be read or is empty
        """
        given: SecretStr | None = getattr(self, name)
        return given if given is not None else from_file(getattr(self, f"{name}_file"), f"[slack] {name}_file")


class VCenter(_Section):
    """One vCenter."""

    host: Annotated[str, AfterValidator(read_host)]  # name or address
    port: Annotated[int, Field(ge=1, le=65535)] = 443  # of its API
    user: Word  # login
    password_file: Existing | None = None  # file with the password, instead of the environment
    ca_file: Existing | None = None  # PEM file of the authority that signed its certificate; none: the system's
    password: SecretStr | None = None  # environment alone

    def secret(self, name: str) -> SecretStr | None:
        """The password; ``name`` is the vCenter's, for the message. None if there is none. Raises SettingsError."""
        return self.password or from_file(self.password_file, f"[vcenter.{name}] password_file")


class Store(_Section):
    """The database."""

    url: Annotated[str, AfterValidator(read_store)] = Field(
        default="sqlite:///gpubot.db", repr=False
    )  # may have a password


class Web(_Section):
    """The web server."""

    bind: Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:]+\]|[^\s:\[\]]+):\d{1,5}$")] = "127.0.0.1:8321"  # host:port
    cert_file: Existing | None = None  # PEM, with its chain: HTTPS
    key_file: Existing | None = None  # PEM, its key

    @property
    def host(self) -> str:
        """The address without the port."""
        return self.bind.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port; 0 takes a free one."""
        return int(self.bind.rpartition(":")[2])

    @model_validator(mode="after")
    def _together(self) -> Web:
        if (self.cert_file is None) != (self.key_file is None):
            has, lacks = ("cert_file", "key_file") if self.cert_file else ("key_file", "cert_file")
            raise wrong("", f"[web] has {has} but no {lacks}; write: {example('web', lacks)}")
        if self.cert_file is None and not is_loopback(self.host):
            said = f"[web] bind {self.bind} is plain HTTP for other machines; add cert_file and key_file, or write: "
            raise wrong("", said + f'bind = "127.0.0.1:{self.port}"')
        if self.port > 65535:
            raise wrong("", f"[web] bind has no such port; write: {example('web', 'bind')}")
        return self


def from_file(path: Path | None, setting: str) -> SecretStr | None:
    """The first line of a secret's file; None without a file."""
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            [f"{setting} names {path}, which cannot be read; give this user the right to read it"]
        ) from error
    if not text or "\n" in text:
        raise SettingsError([f"{setting} names {path}, which must have one line: the secret"])
    return SecretStr(text)
