"""machine list: registered machines with their owners and when each was heard, and those that I see besides"""

from __future__ import annotations

from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply

WORDS = ("machine list", "machines", "machine")
ADMIN = True
WRITES = False
RANK = 24

EXAMPLES = (("machine list", "all of them"),)


def run(ctx: Context) -> Reply:
    """All machines."""
    return words.machine_list(ctx.scene())
