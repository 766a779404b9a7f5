"""undrain CARD / HOST: put a card, or all of a host, back into the pool"""

from __future__ import annotations

from bot.domain import hosts, pool
from bot.domain.errors import Unclear
from bot.domain.grammar import RefKind
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply
from bot.service.whole import hosts_named

WORDS = ("undrain",)
ADMIN = True
WRITES = True
RANK = 26

EXAMPLES = (
    ("undrain T4-2", "it may be lent again"),
    ("undrain esx-01", "all cards of that host, but those that were taken out for a cause of their own"),
)

HINT = "undrain T4-2, undrain esx-01"
TAKES = Takes(refs=frozenset({RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """Whoever took it out."""
    heard, whole = hosts_named(ctx, ctx.hear())
    ctx.clear(heard, HINT, TAKES)
    cards = ctx.cards(heard)
    if not cards and not whole:
        raise Unclear(text=ctx.text, hint=HINT)
    back = [card for host in whole for card in hosts.undrain(ctx.draft, host, ctx.person.id)]
    back += [pool.undrain(ctx.draft, ctx.draft.cards[card.name], ctx.person.id) for card in cards]
    return words.undrained(ctx.scene(), list({card.name: card for card in back}.values()))
