"""extend [#n] [4h / until tomorrow 18:00]: keep your card longer"""

from __future__ import annotations

from bot.domain import leases
from bot.domain.errors import NotPossible
from bot.domain.grammar import Bare, RefKind
from bot.domain.model import LeaseState, Length
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("extend", "longer", "prolong")
ADMIN = False
WRITES = True
RANK = 4

EXAMPLES = (
    ("extend 4h", "your only card, four hours longer"),
    ("extend until tomorrow 18:00", "until then"),
    ("extend #12 2 days", "the card of #12"),
)

HINT = "extend 4h, extend #12 until tomorrow 18:00"
TAKES = Takes(length=True, refs=frozenset({RefKind.LABEL, RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """A new end, within the limits."""
    heard = ctx.hear(Bare.LENGTH)
    ctx.clear(heard, HINT, TAKES)
    running = [x for x in ctx.own_leases() if x.state in (LeaseState.ACTIVE, LeaseState.RETURNING, LeaseState.MOVING)]
    lease = ctx.lease_meant(heard, running)
    if lease is None:
        raise NotPossible(what="extend", why="you have no card")
    longer = leases.extend(ctx.draft, lease, heard.length or Length(), ctx.person, ctx.policy)
    return words.extended(ctx.scene(), longer, lease.end)
