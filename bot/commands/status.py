"""status: who has what, who is in line, where you are"""

from __future__ import annotations

from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply

WORDS = ("status", "", "board", "who")
ADMIN = False
WRITES = False
RANK = 2

EXAMPLES = (("status", "the board, your cards and your place"),)


def run(ctx: Context) -> Reply:
    """The board, my cards and my place in one answer."""
    return words.status(ctx.scene(), ctx.person.id)
