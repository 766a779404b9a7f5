"""What the agent remembers over its own restart: which boot, how far it has counted, who it is, and which hooks have run.

Called by ``loop``. A folder that cannot be written costs little, and is said once: the count begins at the seconds since the boot, so it never
goes back within a boot.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
import uuid
from pathlib import Path
from typing import Any

from bot.guest.agent.clock import boottime

log = logging.getLogger("gpubot-agent.state")

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class State:
    """The file ``state.json``; for one thread."""

    def __init__(self, folder: Path, boot_id: str = "") -> None:
        self._path = folder / "state.json"
        self._warned = False
        self.boot_id = boot_id or kernels_boot_id()
        kept = _kept(self._path)
        self.agent_id = str(kept.get("agent_id") or uuid.uuid4())
        same = kept.get("boot_id") == self.boot_id
        self._seq = int(kept.get("seq", 0)) if same else 0
        self._ran: list[str] = [str(name) for name in kept.get("ran", [])] if same else []
        self._save()

    def number(self) -> int:
        """The next number of a reading of this boot; written down before it is used."""
        self._seq = max(self._seq + 1, int(boottime()))
        self._save()
        return self._seq

    def first_time(self, hooks: str) -> bool:
        """Whether these hooks have not run in this boot; they count as run from here on."""
        if hooks in self._ran:
            return False
        self._ran.append(hooks)
        self._save()
        return True

    def _save(self) -> None:
        kept = {"agent_id": self.agent_id, "boot_id": self.boot_id, "seq": self._seq, "ran": self._ran}
        try:
            write(self._path, json.dumps(kept), 0o600)
        except OSError as error:
            if not self._warned:
                self._warned = True
                log.warning("%s cannot be written (%s): hooks may run twice in a boot", self._path, error.strerror)


def kernels_boot_id() -> str:
    """A UUID that the kernel makes at each boot; "" where it does not."""
    try:
        return BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def write(path: Path, text: str, mode: int) -> None:
    """Replaces a file whole, so that nobody reads half of one. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, mode)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


def _kept(path: Path) -> dict[str, Any]:
    """What is in the file; nothing of one that is missing or broken."""
    try:
        kept = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if (
        not isinstance(kept, dict)
        or not isinstance(kept.get("seq", 0), int)
        or not isinstance(kept.get("ran", []), list)
    ):
        return {}
    return kept
