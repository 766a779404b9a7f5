"""The journal: every change of state, in order, with the user who made it. Tests assert over it; nothing reads it to decide."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from bot.local.clock import Clock


@dataclass(frozen=True)
class Entry:
    """One change."""

    seq: int  # from 1, without gaps
    virtual: str  # virtual time, ISO 8601 UTC
    real: str  # real time, ISO 8601 UTC
    user: str  # login that made it; "guest" or "vcenter" for what nobody asked for
    verb: str  # card on, card off, power on, power off, boot, shutdown asked, guest saw cards, config, ...
    vm: str | None  # name of the VM at that moment; None: not about one
    uuid: str | None  # its instance UUID
    details: dict[str, Any] = field(default_factory=dict)  # JSON values, by verb


class Journal:
    """Append only; safe for many threads."""

    def __init__(self, clock: Clock) -> None:
        """``clock`` gives the virtual times."""
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: list[Entry] = []

    def add(self, user: str, verb: str, vm: tuple[str, str] | None = None, **details: Any) -> Entry:
        """Write one line; ``vm`` is (name, instance UUID)."""
        name, uuid = vm if vm is not None else (None, None)
        with self._lock:
            entry = Entry(
                len(self._entries) + 1,
                self._clock.now().isoformat(),
                datetime.fromtimestamp(time.time(), UTC).isoformat(),
                user,
                verb,
                name,
                uuid,
                details,
            )
            self._entries.append(entry)
            return entry

    def since(self, seq: int = 0) -> list[dict[str, Any]]:
        """The lines after number ``seq``, as JSON objects."""
        with self._lock:
            return [asdict(entry) for entry in self._entries[seq:]]
