"""keep [#n / CARD] [until TIME]: keep a card that is to go back, if nobody was promised it"""

from __future__ import annotations

from bot.domain import leases
from bot.domain.errors import NotPossible, NotYours
from bot.domain.grammar import Bare, RefKind
from bot.domain.model import LeaseState
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("keep",)
ADMIN = False
WRITES = True
RANK = 14

EXAMPLES = (
    ("keep", "your only card that is on its way back"),
    ("keep T4-1", "this one"),
    ("keep #12 until fri 18:00", "and longer"),
)

HINT = "keep, keep T4-1, keep #12 until fri 18:00"
TAKES = Takes(length=True, refs=frozenset({RefKind.LABEL, RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """Take a return back; with a time, longer as well."""
    heard = ctx.hear(Bare.LENGTH)
    ctx.clear(heard, HINT, TAKES)
    lease = ctx.lease_meant(heard, [x for x in ctx.own_leases() if x.state is LeaseState.RETURNING])
    if lease is None:
        raise NotPossible(what="keep", why="no card of yours is on its way back")
    if lease.state is LeaseState.RETURNING:
        lease = leases.keep(ctx.draft, lease, ctx.person.id)
    elif lease.person != ctx.person.id:
        raise NotYours(what=f"{' and '.join(lease.slots)} (#{lease.label})", owners=(lease.person,))
    elif heard.length is None:
        raise NotPossible(
            what="keep", why="that card is yours and is not on its way back; extend makes its time longer"
        )
    if heard.length is not None and leases.is_later(ctx.draft, lease, heard.length, ctx.person, ctx.policy):
        lease = leases.extend(ctx.draft, lease, heard.length, ctx.person, ctx.policy)
    return words.kept(ctx.scene(), lease, ctx.person.id)
