"""mine: your cards, your place in line, your machines"""

from __future__ import annotations

from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply

WORDS = ("mine", "my cards", "me")
ADMIN = False
WRITES = False
RANK = 7

EXAMPLES = (("mine", "what you have, and what you wait for"),)


def run(ctx: Context) -> Reply:
    """What the person has, waits for, and has agreed to."""
    return words.mine(ctx.scene(), ctx.person.id)
