"""Values as people write them: durations, times, days, addresses. Each reader takes what the file or the environment gives.

Called by the sections. A reader raises ``wrong(...)`` with what is wrong in words; it must not know where the value stood.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from datetime import time, timedelta
from ipaddress import IPv6Address
from pathlib import Path
from urllib.parse import SplitResult, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic_core import PydanticCustomError

WORKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LONGEST = timedelta(days=3660)
KIND_LINE = '"10de:1eb8" = "T4"'


def wrong(what: str, *more: str, instead: str = "", absent: bool = False) -> PydanticCustomError:
    """A mistake in one value.

    :param more: whole sentences that stand for themselves
    :param instead: the value that was probably meant; "" an example is shown
    :param absent: the value is right, and the file that it names is not there
    """
    return PydanticCustomError(
        "mistake", "{what}", {"what": what, "more": list(more), "instead": instead, "absent": absent}
    )


UNITS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
}
UNITS |= {"week": 604800, "w": 604800} | {f"{u}s": n for u, n in UNITS.items() if len(u) > 1}


def read_duration(value: object) -> timedelta:
    """``"30 min"``, ``"4h"``, ``"1h 30min"``, ``"7 days"``. A number without a unit is refused."""
    if isinstance(value, timedelta):
        return value
    parts = re.findall(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)", value.lower()) if isinstance(value, str) else []
    whole = "".join(f"{n}{u}" for n, u in parts)
    if not parts or whole != re.sub(r"\s+", "", str(value).lower()) or any(u not in UNITS for _, u in parts):
        raise wrong('is no duration (write it like "30 min", "4 h" or "7 d")')
    length = timedelta(seconds=sum(float(n) * UNITS[u] for n, u in parts))
    if not timedelta() < length <= LONGEST:
        raise wrong("must be more than nothing and at most ten years")
    return length


def read_durations(value: object) -> tuple[timedelta, ...]:
    """A list of durations, or one text with commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not items:
        raise wrong('is no list of durations (write it like ["24 h", "1 h"])')
    return tuple(read_duration(i.strip() if isinstance(i, str) else i) for i in items)


def read_time(value: object) -> time:
    """``"22:00"``; TOML's own times too."""
    if isinstance(value, time):
        return value
    try:
        found = re.fullmatch(r"\s*(\d{1,2}):(\d{2})\s*", str(value))
        if found:
            return time(int(found[1]), int(found[2]))
    except ValueError:
        pass  # 25:00
    raise wrong('is no time of day (write it like "22:00")')


def read_span(value: object) -> tuple[time, time]:
    """``"22:00-06:00"``."""
    start, dash, end = str(value).partition("-")
    if not dash:
        raise wrong('is no span of time (write it like "22:00-06:00")')
    span = (read_time(start), read_time(end))
    if span[0] == span[1]:
        raise wrong("begins and ends at the same time")
    return span


def read_days(value: object) -> frozenset[int]:
    """``"mon-fri"``, ``"mon,wed,fri"``, or numbers, Monday 0."""
    if isinstance(value, list | tuple | set | frozenset):
        days = frozenset(value)
        if days and all(type(d) is int and 0 <= d <= 6 for d in days):
            return days
        value = ",".join(str(d) for d in value)
    found: set[int] = set()
    for part in str(value).lower().split(","):
        first, dash, last = (p.strip()[:3] for p in part.partition("-"))
        if first not in WORKDAYS or (dash and last not in WORKDAYS):
            raise wrong('names no days (write it like "mon-fri")')
        a = WORKDAYS.index(first)
        b = WORKDAYS.index(last) if dash else a
        found |= {d % 7 for d in range(a, (b if b >= a else b + 7) + 1)}
    return frozenset(found)


def read_hours(value: object) -> tuple[frozenset[int], time, time]:
    """``"mon-fri 09:00-18:00"``."""
    days, _, span = str(value).strip().rpartition(" ")
    if not days:
        raise wrong('is no working time (write it like "mon-fri 09:00-18:00")')
    start, end = read_span(span)
    if end <= start:
        raise wrong("ends before it begins; working time does not cross midnight")
    return read_days(days), start, end


def read_zone(value: str) -> str:
    """An IANA name."""
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise wrong("is no time zone", instead=nearest(value, available_timezones()) or "") from None
    return value


def read_words(value: object) -> object:
    """A list; one text with commas (from the environment) as well."""
    return [w.strip() for w in value.split(",") if w.strip()] if isinstance(value, str) else value


def read_admin(value: str) -> str:
    """A Slack id or a user name, as it is."""
    if not re.fullmatch(r"[^\s@<>,#]+", value):
        raise wrong("names nobody; it takes Slack ids and user names, each in quotes of its own, without @")
    return value


def read_channel(value: str) -> str:
    """A channel's id; a name cannot be used with all of Slack's calls."""
    if not re.fullmatch(r"[CG][A-Z0-9]{2,}", value):
        raise wrong("is no id of a channel, which begins with C or G and stands at the end of the channel's details")
    return value


def read_host(value: str) -> str:
    """A name or an address, without anything around it."""
    if not is_host(value):
        raise wrong("is no name of a host (no https://, port or path)")
    return value


def is_host(value: str) -> bool:
    """Whether it is a name that can be looked up, or an address."""
    return _is_name(value) or _is_address(value)


def _is_name(value: str) -> bool:
    """Parts of 1 to 63 characters, 253 together: no other one can be looked up."""
    parts = value.removesuffix(".").split(".")
    return len(value) <= 253 and all(re.fullmatch(r"[A-Za-z0-9_-]{1,63}", part) for part in parts)


def _is_address(value: str) -> bool:
    """Of version 6, in brackets or not. (Of version 4 it is a name by its form.)"""
    try:
        return IPv6Address(re.sub(r"^\[(.*)\]$", r"\1", value)).scope_id is None
    except ValueError:
        return False


def _parts(value: str) -> SplitResult:
    """The parts of an address of a web service, which names a host that can be looked up and nobody's password."""
    try:
        parts = urlsplit(value)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise wrong("is no address of a web service") from None
    if parts.scheme not in ("http", "https") or not is_host(host) or port == 0 or re.search(r"\s", value):
        raise wrong("is no address of a web service (it begins with http:// or https://)")
    if parts.username is not None or parts.password is not None:
        raise wrong("has a user or a password in it, which must not stand in the file")
    return parts


def read_url(value: str) -> str:
    """Where Slack's Web API is. No name and password in it: it is told where Slack does not answer."""
    parts = _parts(value)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise wrong("is plain HTTP to another machine; use https")
    return value if value.endswith("/") else value + "/"


def read_address(value: str) -> str:
    """Where an exporter, or a Prometheus server, is. Plain HTTP is usual there; no name and password in it."""
    if _parts(value).fragment:
        raise wrong("has a # in it, which no server is sent")
    return value


SERVER = re.compile(
    r"[\w+]+://(?:[^:/@]*(?::(?P<password>[^@]*))?@)?(?:\[[^\[\]/?]*\]|[^\[\]:/?@]*)(?::(?P<port>\d{1,5}))?(?:[/?]|$)"
)
"""The address of a database up to its name. A password may have any character but @ in it, as SQLAlchemy reads it."""


def read_store(value: str) -> str:
    """The kind of database is one of ours."""
    if not re.match(r"sqlite:///.|postgresql(\+psycopg)?://", value):
        meant = "postgresql://USER@HOST/DATABASE" if value.lower().startswith(("postgres", "pg")) else ""
        raise wrong("is no address of a SQLite or PostgreSQL database", instead=meant)
    place = SERVER.match(value)
    if place is None or int(place["port"] or 0) > 65535:
        raise wrong("has something wrong with its host or its port")
    return value


def has_password(url: str) -> bool:
    """Whether the address of a database has one in it: before the host (any characters but @), or behind the question mark."""
    place = SERVER.match(url)
    return bool(place and place["password"]) or re.search(r"[?&](ssl)?password=.", url) is not None


def read_file(value: Path) -> Path:
    """There, and readable."""
    try:
        there, file = value.exists(), value.is_file()
    except OSError as error:  # a folder above it is closed, or the name is none
        raise wrong(f"names {value}, which cannot be reached ({error.strerror})", absent=True) from error
    if not there:
        raise wrong(f"names {value}, which is not there", absent=True)
    if not file:
        raise wrong(f"names {value}, which is no file", absent=True)
    if not os.access(value, os.R_OK):
        raise wrong(f"names {value}, which this user may not read; give it the right to", absent=True)
    return value


def read_kinds(value: dict[str, str]) -> dict[str, str]:
    """PCI ids, lower hex."""
    bad = [k for k in value if not re.fullmatch(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{4}", k)]
    odd = [v for v in value.values() if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,30}", v)]
    if bad or odd:
        what = [f'[kinds] "{k}" is no PCI id (vendor:device)' for k in bad] + [
            f'[kinds] "{v}" is no name of a kind' for v in odd
        ]
        raise wrong("", *(f"{w}; write: {KIND_LINE}" for w in what))
    return {k.lower(): v for k, v in value.items()}


def read_counts(value: object) -> object:
    """Parts a card, 1 to 64 of each profile; one text as in the file (from the environment) as well."""
    line = 'counts = {"grid_t4-8q" = 2}'
    if isinstance(value, str):
        pairs = [
            re.fullmatch(r'\s*"?([^"=]+?)"?\s*[=:]\s*(\d{1,3})\s*', part) for part in value.strip(" {}").split(",")
        ]
        value = {pair[1]: int(pair[2]) for pair in pairs if pair is not None} if all(pairs) else value
    if not isinstance(value, dict):
        raise wrong(f"is no table of profiles (write it like {line.removeprefix('counts = ')})")
    bad = [k for k, n in value.items() if not str(k).strip() or type(n) is not int or not 1 <= n <= 64]
    if bad:
        raise wrong("", *(f'[vgpu] "{name}" is not 1 to 64 parts of a card; write: {line}' for name in bad))
    return value


def read_whole(value: object) -> object:
    """A whole number is neither true nor false."""
    if isinstance(value, bool):
        raise wrong("is no whole number")
    return value


def read_attribute(value: str) -> str:
    """The name of a custom attribute, on one line."""
    if not value.isprintable():
        raise wrong("is no name: there is something in it that cannot be printed")
    return value


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    return host in ("localhost", "::1") or re.fullmatch(r"127\.\d+\.\d+\.\d+", host) is not None


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The word that was probably meant."""
    by_lower = {w.lower(): w for w in sorted(words)}
    found = difflib.get_close_matches(word.lower(), by_lower, 1, 0.6)
    return by_lower[found[0]] if found else None
