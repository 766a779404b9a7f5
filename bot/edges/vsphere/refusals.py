"""Refused starts in a row: which of them may be over soon. Called by `act`."""

from __future__ import annotations

import re
import threading

PATIENCE = {r"already in use|in use by": 5, r"not a (?:valid )?passthrough device": 1}
"""Texts of a refused start that may be over soon -> how often in a row they are met with "again"."""


class Refusals:
    """Refused starts in a row, by machine and text."""

    def __init__(self) -> None:
        """None yet."""
        self._lock = threading.Lock()
        self._met: dict[str, tuple[str, int]] = {}

    def once_more(self, uuid: str, said: str) -> bool:
        """Count one; whether a start that was refused with these words is to be asked once more."""
        limit = PATIENCE.get(next((p for p in PATIENCE if re.search(p, said, re.IGNORECASE)), ""), 0)
        with self._lock:
            before, number = self._met.get(uuid, ("", 0))
            number = number + 1 if said == before else 1
            self._met[uuid] = (said, number)
        return number <= limit

    def clear(self, uuid: str) -> None:
        """It started."""
        with self._lock:
            self._met.pop(uuid, None)
