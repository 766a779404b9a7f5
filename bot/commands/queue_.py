"""queue: who is in line, in which order, and until when"""

from __future__ import annotations

from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply

WORDS = ("queue", "line")
ADMIN = False
WRITES = False
RANK = 8

EXAMPLES = (("queue", "everybody in line"),)


def run(ctx: Context) -> Reply:
    """Everybody in line."""
    return words.queue(ctx.scene())
