"""drain CARD because …: take a card out of the pool; if it is lent, when it comes off"""

from __future__ import annotations

from bot.domain import pool
from bot.domain.errors import ReasonWanted, Unclear
from bot.domain.grammar import RefKind
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("drain",)
ADMIN = True
WRITES = True
RANK = 25

EXAMPLES = (
    ("drain T4-2 because its fan is loud", "lent to nobody from now on; the reason is public"),
    ("drain T4-1 T4-2 because the host is moved", "two at once"),
)

HINT = "drain T4-2 because its fan is loud"
TAKES = Takes(refs=frozenset({RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """Set it aside; the reason is public."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    cards = ctx.cards(heard)
    if not cards:
        raise Unclear(text=ctx.text, hint=HINT)
    if not heard.because:
        raise ReasonWanted(command=f"drain {cards[0].name}")
    drained = [pool.drain(ctx.draft, card, ctx.person.id, heard.because) for card in cards]
    return words.drained(ctx.scene(), drained)
