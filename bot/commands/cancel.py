"""cancel [#n / all]: leave the line; a card that you have stays yours

What waits is withdrawn: a place in line, an offer, a card that is reserved and not put in yet. Giving back is ``release``, a restart
``notnow`` or ``stop``; with nothing that waits, it asks which of these is meant.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain import leases, queue
from bot.domain.grammar import Heard, RefKind
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import Lease, LeaseState, Move, Request
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply
from bot.service.words.answers_cancel import nothing_waits

WORDS = ("cancel", "leave")
ADMIN = False
WRITES = True
RANK = 16

EXAMPLES = (
    ("cancel", "your only place in line"),
    ("cancel #12", "this one"),
    ("cancel all", "every place of yours"),
)

HINT = "cancel, cancel #12, cancel all"
TAKES = Takes(refs=frozenset({RefKind.ALL, RefKind.LABEL, RefKind.CARD, RefKind.MOVE}))

LINE = frozenset({"line", "queue", "request", "requests", "place", "offer"})
"""Words for what this verb is about anyway: `leave the line`, `cancel my request`."""

Thing = Request | Lease


def run(ctx: Context) -> Reply:
    """Withdraw what waits; ask what is meant where nothing does."""
    heard = ctx.hear()
    heard = replace(heard, rest=tuple(word for word in heard.rest if word.lower() not in LINE))
    ctx.clear(heard, HINT, TAKES)
    named = _named(ctx, heard)
    waiting = [thing for thing in named if _waits(thing)]
    if not waiting or heard.refs_of(RefKind.MOVE):
        return nothing_waits(ctx.scene(), [x for x in named if isinstance(x, Lease)], _moves(ctx, heard))
    if not heard.refs:
        waiting = [ctx.only(waiting, "place in line")]
    left = [queue.withdraw(ctx.draft, thing, ctx.person.id) for thing in waiting if isinstance(thing, Request)]
    over = [leases.release(ctx.draft, x, None, ctx.person.id) for x in waiting if isinstance(x, Lease)]
    return words.released(ctx.scene(), ctx.person.id, over, left)


def _waits(thing: Thing) -> bool:
    """Whether it is not there yet: no card of it works or is being put in."""
    return isinstance(thing, Request) or thing.state is LeaseState.RESERVED


def _named(ctx: Context, heard: Heard) -> list[Thing]:
    """What the line names of the person's own, each once; without a name all of it."""
    found: list[Thing] = [ctx.numbered(label) for label in ctx.labels(heard)]
    found += [lease for slot in ctx.devices(heard) if (lease := ctx.lease_on(slot)) is not None]
    for thing in found:
        ctx.own(thing)
    if heard.refs_of(RefKind.LABEL, RefKind.CARD):
        return list(dict.fromkeys(found))
    machine = ctx.own_machine(heard.machine).uuid if heard.machine is not None else None
    mine: list[Thing] = [*ctx.own_requests(), *ctx.own_leases()]
    return [thing for thing in mine if machine is None or thing.machine == machine]


def _moves(ctx: Context, heard: Heard) -> list[Move]:
    """The restarts of the person's machines that are named, or all that are ahead: perhaps one of these is meant."""
    mine = {machine.uuid for machine in ctx.own_machines()}
    named = ctx.moves(heard)
    found = named or tuple(move for move in ctx.draft.moves.values() if move.state in OPEN_MOVE)
    return [move for move in found if move.machine in mine]
