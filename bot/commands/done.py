"""done m7: you have seen to a machine that I could not start; I go on from what I see

For a restart that waits for a person. Whatever the machine's power is now, the restart is over.
"""

from __future__ import annotations

from bot.domain import moves
from bot.domain.errors import NotPossible
from bot.domain.grammar import RefKind
from bot.domain.model import MoveState
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("done",)
ADMIN = True
WRITES = True
RANK = 30

EXAMPLES = (
    ("done", "the only restart that waits for a person"),
    ("done m7", "this one"),
)

HINT = "done m7"
TAKES = Takes(refs=frozenset({RefKind.MOVE}))


def run(ctx: Context) -> Reply:
    """The move is over; its leases go on from what is seen."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    named = ctx.moves(heard)
    stuck = [move for move in ctx.draft.moves.values() if move.state is MoveState.STUCK]
    if not named and not stuck:
        raise NotPossible(what="done", why="no machine waits for somebody")
    move = named[0] if named else ctx.only(stuck, "restart")
    over = moves.done(ctx.draft, move, ctx.person.id)
    return words.seen_to(ctx.scene(), over)
