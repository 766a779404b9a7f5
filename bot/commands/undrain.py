"""undrain CARD: put a card back into the pool"""

from __future__ import annotations

from bot.domain import pool
from bot.domain.errors import Unclear
from bot.domain.grammar import RefKind
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("undrain",)
ADMIN = True
WRITES = True
RANK = 26

EXAMPLES = (("undrain T4-2", "it may be lent again"),)

HINT = "undrain T4-2"
TAKES = Takes(refs=frozenset({RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """Whoever took it out."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    cards = ctx.cards(heard)
    if not cards:
        raise Unclear(text=ctx.text, hint=HINT)
    lent = [pool.undrain(ctx.draft, card, ctx.person.id) for card in cards]
    return words.undrained(ctx.scene(), lent)
