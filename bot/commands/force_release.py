"""force release #n / CARD because …: end somebody's time; its machine's owner still says when it restarts"""

from __future__ import annotations

from bot.domain import leases
from bot.domain.errors import ReasonWanted, Unclear
from bot.domain.grammar import Heard, RefKind
from bot.domain.model import Lease
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("force release", "force")
ADMIN = True
WRITES = True
RANK = 27

EXAMPLES = (
    ("force release #12 because the demo needs it", "the reason is public"),
    ("force release T4-1 because its owner is away", "by its card"),
)

HINT = "force release #12 because the demo needs it"
TAKES = Takes(refs=frozenset({RefKind.LABEL, RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """The reason is public."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    if not heard.refs:
        raise Unclear(text=ctx.text, hint=HINT)
    lease = _meant(ctx, heard)
    if not heard.because:
        raise ReasonWanted(command=f"force release #{lease.label}")
    return words.forced(ctx.scene(), leases.force(ctx.draft, lease, ctx.person.id, heard.because), heard.because)


def _meant(ctx: Context, heard: Heard) -> Lease:
    lease = ctx.lease_meant(heard, ())
    if lease is None:
        raise Unclear(text=ctx.text, hint=HINT)
    return lease
