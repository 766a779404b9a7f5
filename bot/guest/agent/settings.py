"""The settings of the agent: one small file that the machine's owner writes, and the token beside it.

All that is wrong is said at once, each with what to write. The token is read anew for each push, so it may be changed while the agent runs;
it is in no log and no ``repr``.
"""

from __future__ import annotations

import configparser
import ipaddress
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FILE = Path("/etc/gpubot-agent/agent.conf")
READINGS = "/v1/readings"  # where the bot takes them
ORDERS = ("interval short", "interval normal", "detach soon", "last call", "quick check")  # all there are

SAMPLE = """\
[agent]
# Where the bot listens. https; http only on this machine itself.
url = https://gpubot.example.org
# The machine's token, from `machine token NAME` in Slack; readable by the agent alone.
token_file = /etc/gpubot-agent/token
# A file of certificates, if the bot's is not signed by one that the system trusts.
ca_file =
# The log: DEBUG, INFO, WARNING or ERROR
log = INFO
# What it remembers over its own restart; without a word: systemd's folder, else /var/lib/gpubot-agent
state_dir =
# Its socket and what was last seen, for `gpu`; without a word: systemd's folder, else /run/gpubot-agent
run_dir =

[orders]
# What the bot may ask of this machine. Nothing else is ever obeyed.
interval = yes
last call = yes
detach soon = no
quick check = no

[done]
# Whether `gpu done` and `gpu run` in this machine may give its cards back.
enabled = no

[jobs]
# A person's process counts as a job if it is older than this and used at least that share of a core.
min_age_s = 120
cpu_share = 0.1
# It goes on counting until it used less than that for so long: a pause is no end.
linger_s = 300
# A process that holds a card counts until for so long neither it used that share nor its cards had a busy second.
holder_linger_s = 3600
# Never a job, besides shells and desktops: names, by commas
ignore =

[hooks]
# Programs in before-off.d and after-on.d below this folder, each for so many seconds at most
folder = /etc/gpubot-agent
time_limit_s = 20

[check]
# What `quick check` runs; without a word: the check that comes with the agent
command =
time_limit_s = 180
"""
"""A file with every setting, its default and its reason: ``--sample``."""


class SettingsError(Exception):
    """What is wrong with the settings, each in one line with what to do."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes


class TokenError(Exception):
    """The token cannot be used; in one line with what to do."""


@dataclass(frozen=True)
class Settings:
    """What the owner chose. Seconds and shares as their names say."""

    url: str  # of the readings: scheme, host, port and path
    token_file: Path
    ca_file: str = ""  # "" what the system trusts
    log: str = "INFO"
    state_dir: Path = Path("/var/lib/gpubot-agent")  # survives a restart of the agent
    run_dir: Path = Path("/run/gpubot-agent")  # the socket and what was last seen
    allows: frozenset[str] = frozenset()  # of ORDERS
    done: bool = False  # `gpu done` is enabled
    job_age_s: float = 120.0
    job_share: float = 0.1
    job_linger_s: float = 300.0
    holder_linger_s: float = 3600.0  # of processes that hold a card
    job_ignore: frozenset[str] = frozenset()
    hooks_dir: Path = Path("/etc/gpubot-agent")
    hook_limit_s: float = 20.0
    check: tuple[str, ...] = ()  # () the check that comes with the agent
    check_limit_s: float = 180.0
    speed: float = field(default=1.0, repr=False)  # of the agent's time, for tests and demos


def load(
    path: Path, environ: Mapping[str, str] | None = None, speed: float = 1.0, prog: str = "gpubot agent"
) -> Settings:
    """Reads the file. ``prog``: how the agent was started, for what is said. Raises SettingsError with all that is wrong."""
    environ = os.environ if environ is None else environ
    parser = configparser.ConfigParser(interpolation=None, inline_comment_prefixes=(" #", " ;"))
    try:
        parser.read_string(path.read_text("utf-8"), source=str(path))
    except OSError as error:
        raise SettingsError(
            [f"{path} cannot be read ({error.strerror}); `{prog} --sample` prints one to start from"]
        ) from None
    except (configparser.Error, UnicodeDecodeError) as error:
        raise SettingsError([f"{path} is no settings file: {str(error).splitlines()[0]}"]) from None
    reader = _Reader(path, parser)
    made = Settings(
        url=reader.url(),
        token_file=Path(reader.text("agent", "token_file", str(FILE.parent / "token"))),
        ca_file=reader.text("agent", "ca_file", ""),
        log=reader.one_of("agent", "log", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR")),
        state_dir=Path(reader.text("agent", "state_dir", _folder(environ, "STATE_DIRECTORY", "/var/lib/gpubot-agent"))),
        run_dir=Path(reader.text("agent", "run_dir", _folder(environ, "RUNTIME_DIRECTORY", "/run/gpubot-agent"))),
        allows=reader.orders(),
        done=reader.yes("done", "enabled", default=False),
        job_age_s=reader.number("jobs", "min_age_s", 120.0, 0.0, 86400.0),
        job_share=reader.number("jobs", "cpu_share", 0.1, 0.001, 64.0),
        job_linger_s=reader.number("jobs", "linger_s", 300.0, 0.0, 86400.0),
        holder_linger_s=reader.number("jobs", "holder_linger_s", 3600.0, 0.0, 86400.0),
        job_ignore=frozenset(word.strip() for word in reader.text("jobs", "ignore", "").split(",") if word.strip()),
        hooks_dir=Path(reader.text("hooks", "folder", str(FILE.parent))),
        hook_limit_s=reader.number("hooks", "time_limit_s", 20.0, 1.0, 300.0),
        check=tuple(reader.text("check", "command", "").split()),
        check_limit_s=reader.number("check", "time_limit_s", 180.0, 5.0, 1800.0),
        speed=speed,
    )
    if made.ca_file and not os.access(made.ca_file, os.R_OK):
        reader.wrong.append(f"ca_file = {made.ca_file} cannot be read")
    reader.unknown()
    if reader.wrong:
        raise SettingsError(reader.wrong)
    return made


def read_token(path: Path) -> str:
    """The token of the machine. Raises TokenError: missing, empty, or readable by others."""
    try:
        with path.open("rb") as file:
            info = os.fstat(file.fileno())
            text = file.read(1024)
    except OSError as error:
        raise TokenError(
            f"the token file {path} cannot be read ({error.strerror}); an admin makes a token with `machine token NAME` in Slack"
        ) from None
    if stat.S_IMODE(info.st_mode) & 0o077:
        raise TokenError(
            f"the token file {path} can be read by others than its owner; do: chmod 600 {path} (and make a new token if somebody may have read it)"
        )
    token = text.decode("ascii", "replace").strip()
    if not token or not token.isprintable() or " " in token or "\ufffd" in token or len(token) > 512:
        raise TokenError(
            f"the token file {path} holds no token; it is one word, as `machine token NAME` shows it in Slack"
        )
    return token


def _folder(environ: Mapping[str, str], name: str, default: str) -> str:
    """The folder that systemd made for the unit, else the default."""
    return environ.get(name, "").split(":")[0] or default


class _Reader:
    """Takes values out of the file, and notes what is wrong with them."""

    def __init__(self, path: Path, parser: configparser.ConfigParser) -> None:
        self.path, self.parser = path, parser
        self.wrong: list[str] = []
        self.asked: set[tuple[str, str]] = set()

    def text(self, section: str, key: str, default: str) -> str:
        self.asked.add((section, key))
        return self.parser.get(section, key, fallback=default).strip() or default

    def number(self, section: str, key: str, default: float, low: float, high: float) -> float:
        text = self.text(section, key, str(default))
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:  # also catches nan
            self.wrong.append(f"[{section}] {key} = {text}: a number between {low:g} and {high:g}")
            return default
        return value

    def yes(self, section: str, key: str, *, default: bool) -> bool:
        text = self.text(section, key, "yes" if default else "no").lower()
        if text not in self.parser.BOOLEAN_STATES:
            self.wrong.append(f"[{section}] {key} = {text}: yes or no")
            return default
        return self.parser.BOOLEAN_STATES[text]

    def one_of(self, section: str, key: str, default: str, words: tuple[str, ...]) -> str:
        text = self.text(section, key, default).upper()
        if text not in words:
            self.wrong.append(f"[{section}] {key} = {text}: one of {', '.join(words)}")
            return default
        return text

    def orders(self) -> frozenset[str]:
        """What may be asked; the two words of the interval are one setting."""
        allowed: set[str] = set()
        for key, default, orders in (
            ("interval", True, ORDERS[:2]),
            ("detach soon", False, ORDERS[2:3]),
            ("last call", True, ORDERS[3:4]),
            ("quick check", False, ORDERS[4:5]),
        ):
            if self.yes("orders", key, default=default):
                allowed.update(orders)
        return frozenset(allowed)

    def url(self) -> str:
        """The address of the readings; plain http is for this machine itself."""
        text = self.text("agent", "url", "")
        if not text:
            self.wrong.append("[agent] url is missing: where the bot listens, e.g. url = https://gpubot.example.org")
            return ""
        try:
            parts = urlsplit(text)
            host, _ = parts.hostname or "", parts.port
        except ValueError:
            parts, host = urlsplit(""), ""
        if parts.scheme not in ("https", "http") or not host or parts.username or parts.query or parts.fragment:
            self.wrong.append(
                "[agent] url is no address: write https://HOST or https://HOST:PORT, without user or query"
            )
        elif parts.scheme == "http" and not _loopback(host):
            self.wrong.append(
                f"[agent] url = {text}: the token would travel in the clear; write https:// (http is for this machine itself only)"
            )
        path = parts.path.rstrip("/")
        return f"{parts.scheme}://{parts.netloc}{path if path.endswith(READINGS) else path + READINGS}"

    def unknown(self) -> None:
        """Words that nobody reads are typos."""
        sections = {section for section, _ in self.asked}
        for section in self.parser.sections():
            if section not in sections:
                self.wrong.append(f"[{section}] is no section; there are {', '.join(sorted(sections))}")
                continue
            known = {key for asked, key in self.asked if asked == section}
            self.wrong += [
                f"[{section}] {key} is no setting; there are {', '.join(sorted(known))}"
                for key in self.parser.options(section)
                if key not in known
            ]


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def shown(settings: Settings) -> dict[str, Any]:
    """What the log says of them at the start (no secret is in them)."""
    return {"url": settings.url, "allows": sorted(settings.allows), "gpu done": settings.done}
