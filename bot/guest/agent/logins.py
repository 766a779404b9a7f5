"""Who is logged in, and since when no key was pressed. Called by ``machine``.

From utmp where there is one, and from systemd's list of sessions (newer systems have no utmp). Idle is the age of the terminal's last input;
a desktop has no terminal, so of it that is not known.
"""

from __future__ import annotations

import os
import struct
import time
from dataclasses import dataclass

UTMP = "/run/utmp"
SESSIONS = "/run/systemd/sessions"
_ENTRY = struct.Struct("hi32s4s32s256shhiii16s20s")  # struct utmp of Linux on 64-bit machines
_USER_PROCESS = 7


@dataclass(frozen=True)
class Login:
    """A session of a person."""

    user: str
    since: float  # Unix seconds by the guest's clock
    idle_s: float | None  # since the last key; None: not known
    tty: str = ""


def logins(utmp: str = UTMP, sessions: str = SESSIONS, now: float | None = None) -> list[Login]:
    """All that are there, one a terminal."""
    now = time.time() if now is None else now
    found = _from_utmp(utmp, now)
    terminals = {login.tty for login in found}
    found += [login for login in _from_systemd(sessions, now) if not login.tty or login.tty not in terminals]
    return found


def stamps(utmp: str = UTMP, sessions: str = SESSIONS) -> tuple[int, ...]:
    """Differs when somebody came or left: cheap enough to be asked every few seconds."""
    made = []
    for path in (utmp, sessions):
        try:
            made.append(os.stat(path).st_mtime_ns)
        except OSError:
            made.append(0)
    return tuple(made)


def _from_utmp(path: str, now: float) -> list[Login]:
    try:
        with open(path, "rb") as file:
            data = file.read(512 * _ENTRY.size)
    except OSError:
        return []
    found = []
    for at in range(0, len(data) - _ENTRY.size + 1, _ENTRY.size):
        kind, pid, line, _, user, _, _, _, _, seconds, _, _, _ = _ENTRY.unpack_from(data, at)
        tty, name = _text(line), _text(user)
        # An entry of a session that died without a word stays: its process tells.
        if kind == _USER_PROCESS and name and (pid <= 0 or os.path.exists(f"/proc/{pid}")):
            found.append(Login(name, float(seconds), _idle(tty, now), tty))
    return found


def _from_systemd(folder: str, now: float) -> list[Login]:
    try:
        names = sorted(name for name in os.listdir(folder) if not name.endswith(".ref"))[:256]
    except OSError:
        return []
    found = []
    for name in names:
        values = _assignments(os.path.join(folder, name))
        if values.get("CLASS", "user") != "user" or values.get("STATE") == "closing" or not values.get("USER"):
            continue
        realtime = values.get("REALTIME", "")
        since = int(realtime) / 1e6 if realtime.isdecimal() else now
        tty = values.get("TTY", "")
        found.append(Login(values["USER"], since, _idle(tty, now), tty))
    return found


def _assignments(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(16384).splitlines()
    except OSError:
        return {}
    return {key: value for key, sign, value in (line.partition("=") for line in lines) if sign}


def _idle(tty: str, now: float) -> float | None:
    """Seconds since the terminal was last read from."""
    if not tty or tty.startswith(":"):
        return None
    try:
        return max(0.0, now - os.stat(os.path.join("/dev", tty)).st_atime)
    except OSError:
        return None


def _text(octets: bytes) -> str:
    return octets.split(b"\0", 1)[0].decode("utf-8", "replace")
