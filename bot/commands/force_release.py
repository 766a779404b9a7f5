"""force release #n / CARD because …: end somebody's time; the machine's agreements still say when it restarts"""

from __future__ import annotations

from bot.domain import leases, queue
from bot.domain.errors import NotPossible, ReasonWanted, Unclear
from bot.domain.grammar import Heard
from bot.domain.model import Lease, Request
from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply

WORDS = ("force release", "force")
ADMIN = True
WRITES = True
RANK = 27

HINT = "force release #12 because the demo needs it"


def run(ctx: Context) -> Reply:
    """The reason is public."""
    heard = ctx.hear()
    if not heard.refs or heard.rest:
        raise Unclear(text=ctx.text, hint=HINT)
    thing = _meant(ctx, heard)
    if not heard.because:
        number = thing.label if isinstance(thing, Lease) else thing.number
        raise ReasonWanted(command=f"force release #{number} because …")
    if isinstance(thing, Request):
        left = queue.withdraw(ctx.draft, thing, ctx.person.id)
        return words.forced(ctx.scene(), left, heard.because)
    return words.forced(ctx.scene(), leases.force(ctx.draft, thing, ctx.person.id, heard.because), heard.because)


def _meant(ctx: Context, heard: Heard) -> Request | Lease:
    for label in ctx.labels(heard):
        return ctx.numbered(label)
    for card in ctx.cards(heard):
        lease = ctx.lease_on(card)
        if lease is None:
            raise NotPossible(what=f"force release {card.name}", why="nobody has it")
        return lease
    raise Unclear(text=ctx.text, hint=HINT)
