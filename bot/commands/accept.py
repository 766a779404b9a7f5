"""accept [#n] [now / tonight / TIME]: yes to an offer, with the time of the restart"""

from __future__ import annotations

from bot.domain import planner
from bot.domain.errors import NotPossible
from bot.domain.grammar import RefKind
from bot.domain.model import Request, RequestState
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("accept", "yes", "take")
ADMIN = False
WRITES = True
RANK = 9

EXAMPLES = (
    ("accept now", "it may restart at once"),
    ("accept #12 tonight", "the offer for #12, with a restart tonight"),
    ("accept when done", "as soon as nothing runs there"),
    ("accept at 18:00 hard", "switched off hard if it does not shut down"),
)

HINT = "accept now, accept #12 tonight"
TAKES = Takes(window=True, refs=frozenset({RefKind.LABEL}))


def run(ctx: Context) -> Reply:
    """Take what is offered."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    request = _meant(ctx, ctx.labels(heard), heard.window is not None)
    there = all(ctx.draft.card(hold.slot).aside is None for hold in ctx.draft.held(str(request.number)))
    past = request.passing.over if request.passing is not None and there else None
    taken = planner.accept(ctx.draft, ctx.sight(), request, ctx.person, heard.window, ctx.policy)
    scene = ctx.promised(taken) if isinstance(taken, Request) else ctx.scene()
    return words.accepted(scene, taken, lost=request.state is RequestState.OFFERED, past=past)


def _meant(ctx: Context, labels: tuple[str, ...], timed: bool) -> Request:
    """The request of the number; else the one that is offered; else the one that rests; with a time, else the one that waits."""
    if labels:
        return ctx.request_of(labels[0])
    own = ctx.own_requests()
    offered = [request for request in own if request.state is RequestState.OFFERED]
    resting = [request for request in own if request.rest is not None]
    for found in (offered, resting, own if timed else []):
        if found:
            return ctx.only(found, "offer")
    raise NotPossible(what="accept", why="nothing is offered to you now")
