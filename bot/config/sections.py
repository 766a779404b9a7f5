"""The sections of ``gpubot.toml``, each with its defaults. Read by ``load``, used by wiring and cli."""

from __future__ import annotations

import re
from datetime import time, timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from bot.config.blackouts import Stretch, read_blackouts
from bot.config.mistakes import SettingsError, example
from bot.config.values import (
    is_loopback,
    read_address,
    read_admin,
    read_attribute,
    read_channel,
    read_counts,
    read_duration,
    read_file,
    read_host,
    read_hours,
    read_span,
    read_store,
    read_url,
    read_whole,
    read_words,
    read_zone,
    wrong,
)


class _Section(BaseModel):
    """A section: unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True, hide_input_in_errors=True)


SCRAPES = (timedelta(seconds=5), timedelta(seconds=60))
"""Between two samples: oftener burdens guests, less often misses most of what happens."""

INTERVAL_MAX = timedelta(minutes=5)
"""Of one reading: a longer one would be old before the next."""

PAGES = re.compile(r"/(api(/v1(/.*)?)?|graph|query)/?$")
"""What people copy behind the address of a Prometheus server."""

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
    blackout: Annotated[tuple[Stretch, ...], BeforeValidator(read_blackouts)] = ()  # no shutdown is begun in these
    level: Literal["watch", "hands", "act"] = "watch"  # touches nothing; hands: an admin does the clicks; act


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
    port: Annotated[int, BeforeValidator(read_whole), Field(ge=1, le=65535)] = 443  # of its API
    user: Word  # login
    password_file: Existing | None = None  # file with the password, instead of the environment
    ca_file: Existing | None = None  # PEM file of the authority that signed its certificate; none: the system's
    dynamic: Annotated[
        tuple[Word, ...], BeforeValidator(read_words)
    ] = ()  # labels of cards given by Dynamic DirectPath
    moves: Annotated[int, BeforeValidator(read_whole), Field(ge=1, le=1000)] = (
        40  # calls that change something, under way at once
    )
    attribute: Annotated[str, Field(max_length=80), AfterValidator(read_attribute)] = (
        ""  # custom attribute of machines that says who has what; "" none
    )
    password: SecretStr | None = None  # environment alone

    def secret(self, name: str) -> SecretStr | None:
        """The password; ``name`` is the vCenter's, for the message. None if there is none. Raises SettingsError."""
        return self.password or from_file(self.password_file, f"[vcenter.{name}] password_file")


class Vgpu(_Section):
    """Which vGPUs may be asked for, and how many of each a card holds."""

    profiles: Annotated[
        tuple[Word, ...], BeforeValidator(read_words)
    ] = ()  # as hosts list them; none: all that compute
    counts: Annotated[dict[str, int], BeforeValidator(read_counts)] = {}  # profile -> parts a card, over the table


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


class Prometheus(_Section):
    """Exporters in guests as a second source of readings; without ``url`` and ``targets`` there is none."""

    url: Annotated[str, AfterValidator(read_address)] | None = None  # of a Prometheus server that scrapes them
    targets: dict[Word, Annotated[str, AfterValidator(read_address)]] = {}  # or: machine -> page of its exporter
    interval: Annotated[timedelta, BeforeValidator(read_duration)] = timedelta(seconds=60)  # that one reading covers
    scrape: Annotated[timedelta, BeforeValidator(read_duration)] = timedelta(seconds=15)  # between two samples
    label: Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")] | None = None  # that names the machine (url)
    machines: dict[Word, Word] = {}  # machine -> the value of that label, where it is not its name (url)
    user: Word | None = None  # login at the server, with a password
    password_file: Existing | None = None  # its password, instead of the environment
    token_file: Existing | None = None  # or a bearer token for the server
    ca_file: Existing | None = None  # PEM file of the authority that signed the certificates; none: the system's
    password: SecretStr | None = None  # environment alone
    token: SecretStr | None = None  # environment alone

    @property
    def asked(self) -> bool:
        """Whether there is anything to ask."""
        return self.url is not None or bool(self.targets)

    def secret(self, name: Literal["password", "token"]) -> SecretStr | None:
        """From the environment, else from its file; None if there is none. Raises SettingsError."""
        given: SecretStr | None = getattr(self, name)
        return given if given is not None else from_file(getattr(self, f"{name}_file"), f"[prometheus] {name}_file")

    @model_validator(mode="after")
    def _together(self) -> Prometheus:
        found = [*self._whom(), *self._when(), *self._who()]
        if found:
            raise wrong("", *(f"[prometheus] {line}" for line in found))
        return self

    def _whom(self) -> list[str]:
        if self.url is not None and self.targets:
            return ["has url and targets: one of them is asked; delete the other"]
        if not self.asked and self.model_fields_set:
            return [
                f"names nobody to ask; write: {example('prometheus', 'url')}, or {example('prometheus', 'targets')}"
            ]
        parts = urlsplit(self.url or "")
        page = PAGES.search(parts.path)
        if page or parts.query:
            base = f"{parts.scheme}://{parts.netloc}{PAGES.sub('', parts.path)}"
            what = f"ends in {page[0].rstrip('/')}" if page else "has a ? in it"
            return [f'url {what}, which I add by myself to the address of the server; write: url = "{base}"']
        beside = [k for k in ("label", "machines", "user", "password_file", "token_file") if getattr(self, k)]
        if self.targets and beside:
            return [f"{k} is for a server (url), and not used with targets; delete it" for k in beside]
        return []

    def _when(self) -> list[str]:
        found, scrape = [], self.scrape
        if not SCRAPES[0] <= scrape <= SCRAPES[1]:
            scrape = timedelta(seconds=15)  # as the line has it, with which the interval's must fit
            found.append(f"scrape is not from 5 s to 60 s; write: {example('prometheus', 'scrape')}")
        least = int(2 * scrape.total_seconds())
        if self.interval < 2 * scrape:
            found.append(f'interval holds fewer than two scrapes, which decide nothing; write: interval = "{least} s"')
        if self.interval > INTERVAL_MAX:
            found.append(
                f'interval is longer than 5 min, after which a word is old; write: interval = "{max(least, 60)} s"'
            )
        return found

    def _who(self) -> list[str]:
        token, login = self.token_file or self.token, self.password_file or self.password
        found = []
        if token and self.user:
            found.append("has a token and a user: one of them is sent; delete the other")
        if self.user and not login:
            line = example("prometheus", "password_file")
            found.append(f"has user and no password; write: {line} (or set {example('prometheus', 'password')})")
        if login and not self.user:
            found.append(f"has a password and no user; write: {example('prometheus', 'user')}")
        parts = urlsplit(self.url or "")
        if (token or login) and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            found.append(
                f"url is plain HTTP to another machine, and a secret would be sent; write: {example('prometheus', 'url')}"
            )
        return found


def from_file(path: Path | None, setting: str) -> SecretStr | None:
    """The first line of a secret's file; None without a file."""
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise SettingsError([f"{setting} names {path}, which is no UTF-8 text"]) from error
    except OSError as error:
        raise SettingsError(
            [f"{setting} names {path}, which cannot be read; give this user the right to read it"]
        ) from error
    if not text or "\n" in text:
        raise SettingsError([f"{setting} names {path}, which must have one line: the secret"])
    return SecretStr(text)
