"""Readings on their way to the bot, oldest first, bounded; those that wait longer than one try are kept in a file as well.

Filled by ``loop``, emptied by ``post``. When it is full the oldest reading goes, but for one that carries the word of a person or a check.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger("gpubot-agent.spool")

MOST = 240
"""Readings that wait at most: four hours of one a minute. The bot does not use older ones for more than a clock that is reset."""
OCTETS_MOST = 2 * 1024 * 1024  # of the file


@dataclass(eq=False)
class Item:
    """One reading."""

    body: dict[str, Any]
    made: float  # by the agent's clock
    refused: bool = False  # the bot will never take it
    mistakes: int = 0  # of the agent's own with it


class Spool:
    """Safe for threads."""

    def __init__(self, folder: Path, boot_id: str, now: Callable[[], float]) -> None:
        self._path = folder / "spool.jsonl"
        self._now = now
        self._warned = False
        self._filed = False  # the file holds something
        self.condition = threading.Condition()
        self._items: list[Item] = []
        self._load(boot_id)

    def add(self, body: dict[str, Any]) -> Item:
        """At the end."""
        item = Item(body, self._now())
        with self.condition:
            self._items.append(item)
            if len(self._items) > MOST:
                plain = [old for old in self._items[:-1] if not old.body.get("done") and not old.body.get("check")]
                self._items.remove((plain or self._items)[0])
            if self._filed:
                self._write()
            self.condition.notify_all()
        return item

    def first(self) -> Item | None:
        """The oldest; it stays."""
        with self.condition:
            return self._items[0] if self._items else None

    def remove(self, item: Item) -> None:
        """It is there, or will never be."""
        with self.condition:
            if item in self._items:
                self._items.remove(item)
            if self._filed and not self._items:
                self._write()
            self.condition.notify_all()

    def keep(self) -> None:
        """What waits is written down: the bot is away, and the agent may be restarted meanwhile."""
        with self.condition:
            if self._items or self._filed:
                self._write()

    def waits_held(self, item: Item) -> bool:
        """Whether it is still on its way; for who holds the condition."""
        return item in self._items

    def _write(self) -> None:
        lines = [json.dumps({"made": item.made, "body": item.body}) for item in self._items]
        while sum(map(len, lines)) + len(lines) > OCTETS_MOST:
            del lines[0]
        try:
            if lines:
                temporary = self._path.with_suffix(".new")
                temporary.touch(mode=0o600)
                temporary.write_text("\n".join(lines) + "\n", "utf-8")
                temporary.replace(self._path)
            else:
                self._path.unlink()
            self._filed = bool(lines)
        except FileNotFoundError:
            self._filed = False
        except OSError as error:
            if not self._warned:
                self._warned = True
                log.warning("%s cannot be written (%s): what waits is in memory alone", self._path, error.strerror)

    def _load(self, boot_id: str) -> None:
        """What an earlier run of this boot left. Of an earlier boot nobody knows how old it is: it is dropped."""
        try:
            lines = self._path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return
        self._filed = True
        for line in lines[-MOST:]:
            try:
                kept = json.loads(line)
                body, made = kept["body"], float(kept["made"])
                if body["boot_id"] == boot_id and made <= self._now():
                    self._items.append(Item(body, made))
            except (ValueError, TypeError, KeyError):
                continue  # a line that was cut short
        if len(lines) != len(self._items):
            log.info("%d reading(s) of an earlier boot are dropped", len(lines) - len(self._items))
        if not self._items:
            self._write()
