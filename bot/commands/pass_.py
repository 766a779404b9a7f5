"""pass [#n]: not this one; you keep your place"""

from __future__ import annotations

from bot.domain import planner
from bot.domain.errors import NotPossible
from bot.domain.grammar import RefKind
from bot.domain.model import RequestState
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("pass", "skip", "no thanks")
ADMIN = False
WRITES = True
RANK = 10

EXAMPLES = (
    ("pass", "what is offered to you now"),
    ("pass #12", "what is offered for #12"),
)

HINT = "pass, pass #12"
TAKES = Takes(refs=frozenset({RefKind.LABEL}))


def run(ctx: Context) -> Reply:
    """Let an offer go to the next one."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    labels = ctx.labels(heard)
    offered = [request for request in ctx.own_requests() if request.state is RequestState.OFFERED]
    if not labels and not offered:
        raise NotPossible(what="pass", why="nothing is offered to you now")
    request = ctx.request_of(labels[0]) if labels else ctx.only(offered, "offer")
    passed = planner.pass_(ctx.draft, ctx.sight(), request, ctx.person, ctx.policy)
    return words.passed(ctx.scene(), passed)
