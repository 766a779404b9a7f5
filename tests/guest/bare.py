"""A Python that has nothing but its standard library, for tests of what runs in guests.

Either an interpreter of this machine, run without any package and without this machine's environment, or a small Debian tree of
`make tools` that is entered with chroot, with the same network and a /proc of its own.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

ENTER = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
"""In a mount namespace of its own, so that nothing stays mounted."""


@dataclass(frozen=True)
class Bare:
    """One of them, with a folder for the test."""

    place: Path  # an interpreter, or a tree
    folder: Path  # as this machine sees it
    version: str

    @property
    def inside(self) -> Path:
        """The folder as the interpreter sees it."""
        return Path("/") / self.folder.relative_to(self.place) if self.place.is_dir() else self.folder

    def command(self, *words: str, **environ: str) -> list[str]:
        """What starts the interpreter with these words, and nothing in its environment but `environ`."""
        clean = ["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", *(f"{name}={value}" for name, value in environ.items())]
        flags = ["-I", "-S", "-W", "error"]
        if not self.place.is_dir():
            return [*clean, str(self.place), *flags, *words]
        enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, str(self.place)]
        return [*enter, *clean, "python3", *flags, *words]

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""
        return subprocess.run(self.command(*words, **environ), capture_output=True, text=True, check=False, timeout=60)
