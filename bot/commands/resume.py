"""resume: act again"""

from __future__ import annotations

from bot.domain import pool
from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply

WORDS = ("resume", "unpause")
ADMIN = True
WRITES = True
RANK = 29

EXAMPLES = (("resume", "from the next round on"),)


def run(ctx: Context) -> Reply:
    """From the next round on."""
    pool.resume(ctx.draft, ctx.person.id)
    return words.resumed(ctx.scene())
