"""drain CARD / HOST because …: take a card, or all of a host, out of the pool; what is lent when it comes off"""

from __future__ import annotations

from bot.domain import hosts, pool
from bot.domain.errors import ReasonWanted, Unclear
from bot.domain.grammar import RefKind
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply
from bot.service.whole import hosts_named

WORDS = ("drain",)
ADMIN = True
WRITES = True
RANK = 25

EXAMPLES = (
    ("drain T4-2 because its fan is loud", "lent to nobody from now on; the reason is public"),
    ("drain T4-1 T4-2 because the host is moved", "two at once"),
    ("drain esx-01 because it gets new memory", "all cards of that host, also those that are seen later"),
)

HINT = "drain T4-2 because its fan is loud, drain esx-01 because it gets new memory"
TAKES = Takes(refs=frozenset({RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """Set it aside; the reason is public."""
    heard, whole = hosts_named(ctx, ctx.hear())
    ctx.clear(heard, HINT, TAKES)
    cards = ctx.cards(heard)
    if not cards and not whole:
        raise Unclear(text=ctx.text, hint=HINT)
    if not heard.because:
        name = hosts.cards(ctx.draft, whole[0])[0].host_name if whole else cards[0].name
        raise ReasonWanted(command=f"drain {name}")
    drained = [pool.drain(ctx.draft, card, ctx.person.id, heard.because) for card in cards]
    for host in whole:
        drained += hosts.drain(ctx.draft, host, ctx.person.id, heard.because)
    return words.drained(ctx.scene(), list({card.name: card for card in drained}.values()))
