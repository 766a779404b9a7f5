"""The processes of the guest, from /proc: whose they are, what they use, and what they are called. Called by ``machine``.

Cheap: one stat and one short file for each process; what is longer is read of the few that matter. It judges nothing.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

TICKS = float(os.sysconf("SC_CLK_TCK"))
INTERPRETERS = ("python", "pypy", "perl", "ruby", "node", "java", "julia", "Rscript", "bash", "sh", "dash", "zsh")
NAME_MOST = 60  # characters of a name that are told


@dataclass(frozen=True)
class Process:
    """A process as its ``stat`` has it."""

    pid: int
    uid: int
    comm: str
    parent: int
    session: int
    tty: int  # 0: none
    own: float  # seconds of processor that it used
    children: float  # seconds that its finished children used
    started: float  # seconds after the boot

    @property
    def key(self) -> tuple[int, float]:
        """Tells it from a later one with the same number."""
        return (self.pid, self.started)

    @property
    def used(self) -> float:
        """Seconds of processor, with those of its finished children; but for a shell at a terminal, whose children are others' work."""
        return self.own if self.tty and self.session == self.pid else self.own + self.children


def processes() -> dict[int, Process]:
    """All that can be seen, kernel threads left out."""
    found: dict[int, Process] = {}
    try:
        with os.scandir("/proc") as entries:
            for entry in entries:
                if entry.name.isdigit():
                    process = read(int(entry.name))
                    if process is not None:
                        found[process.pid] = process
    except OSError:
        pass  # no /proc: nothing can be seen
    return found


def read(pid: int) -> Process | None:
    """One process; None: gone, hidden, or a thread of the kernel."""
    path = f"/proc/{pid}/stat"
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        uid = os.fstat(descriptor).st_uid
        text = os.read(descriptor, 1024)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    head, _, tail = text.rpartition(b")")
    parts = tail.split()
    if len(parts) < 21:
        return None
    parent = int(parts[1])
    if pid == 2 or parent == 2:
        return None
    return Process(
        pid=pid,
        uid=uid,
        comm=head.partition(b"(")[2].decode("utf-8", "replace"),
        parent=parent,
        session=int(parts[3]),
        tty=int(parts[4]),
        own=(int(parts[11]) + int(parts[12])) / TICKS,
        children=(int(parts[13]) + int(parts[14])) / TICKS,
        started=int(parts[19]) / TICKS,
    )


def hidden() -> bool:
    """Whether the processes of others cannot be seen (/proc mounted with hidepid)."""
    return os.geteuid() != 0 and not os.path.exists("/proc/1/stat")


def read_octets(pid: int) -> int | None:
    """Octets that it read from anywhere so far; None: may not be known (another user's, without the privilege)."""
    try:
        with open(f"/proc/{pid}/io", "rb") as file:
            for line in file:
                if line.startswith(b"rchar:"):
                    return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return None


def machine_octets() -> int | None:
    """Octets that the whole machine has read from disks and got from the network so far; None: not known."""
    try:
        with open("/proc/diskstats", encoding="ascii") as file:
            disks = [line.split() for line in file]
        with open("/proc/net/dev", encoding="ascii") as file:
            lines = file.readlines()[2:]
        # Sectors of 512 octets. A partition is read through its disk, so the most of all is at least the truth of one disk.
        read = max(
            (int(parts[5]) * 512 for parts in disks if len(parts) > 5 and not parts[2].startswith(("loop", "ram"))),
            default=0,
        )
        got = sum(
            int(line.split(":")[1].split()[0]) for line in lines if ":" in line and line.split(":")[0].strip() != "lo"
        )
    except (OSError, ValueError, IndexError):
        return None
    return read + got


def name_of(pid: int, comm: str) -> str:
    """What it is, as a person would say: the program, and of an interpreter the script. No other arguments: they may hold secrets."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = [word.decode("utf-8", "replace") for word in file.read(4096).split(b"\0")]
    except OSError:
        words = []
    return called(words, comm)[:NAME_MOST]


def called(words: list[str], comm: str) -> str:
    """The name out of a command line; the kernel's name for it if there is none."""
    while words and not words[-1]:
        words = words[:-1]
    if not words or not words[0]:
        return comm
    program = (
        os.path.basename(words[0].split(" ")[0].lstrip("-")) or comm
    )  # a daemon may have rewritten all of its line into one word
    if program == "R" or program == "exec":
        script = next((word[7:] for word in words[1:] if word.startswith("--file=")), "")
        return f"{program} {os.path.basename(script)}" if script else program
    if not program.startswith(INTERPRETERS):
        return program
    for at, word in enumerate(words[1:], start=1):
        if word == "-m" and at + 1 < len(words):
            return f"{program} -m {words[at + 1]}"
        if word in ("-c", "-e", "-"):
            return program
        if not word.startswith("-"):
            return f"{program} {os.path.basename(word)}"
    return program


class Users:
    """Names of users, remembered: a look-up may go over the network."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def name(self, uid: int) -> str:
        """Of a number; the number itself if nobody has it."""
        if uid not in self._names:
            try:
                self._names[uid] = pwd.getpwuid(uid).pw_name
            except KeyError:
                self._names[uid] = str(uid)
        return self._names[uid]


def cgroup(pid: int) -> str:
    """The control groups of a process, as text; "" gone."""
    try:
        with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return ""
