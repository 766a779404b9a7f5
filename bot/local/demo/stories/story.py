"""The shape of a story."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.local.demo.stage import Stage


@dataclass(frozen=True)
class Story:
    """What is played, and what must be seen in it."""

    title: str  # one sentence
    start: datetime  # virtual time at which it begins
    play: Callable[[Stage], None]  # raises Unmet
    expectations: tuple[str, ...]  # by name, each once, in order
    nudge: bool = False  # whether the bot asks about quiet cards in it
    shared: bool = False  # whether there is a second host, whose card is shared as vGPUs
    policy: str = ""  # lines of ``[policy]`` in the settings; "" the defaults
