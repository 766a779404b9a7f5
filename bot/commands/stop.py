"""stop m7: call a restart off that is announced or under way, as long as the machine is not off yet"""

from __future__ import annotations

from bot.domain import moves
from bot.domain.errors import NotPossible
from bot.domain.grammar import RefKind
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import Move, MoveState
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("stop", "abort")
ADMIN = False
WRITES = True
RANK = 13

EXAMPLES = (
    ("stop", "the only restart of your machines"),
    ("stop m7", "this one"),
)

HINT = "stop m7"
TAKES = Takes(refs=frozenset({RefKind.MOVE}))


def run(ctx: Context) -> Reply:
    """As "not now" while it is announced; as the agreement taken back while the guest stops."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    named = ctx.moves(heard)
    move = named[0] if named else _only(ctx, heard.machine)
    machine = ctx.draft.machines[move.machine]
    if move.state is not MoveState.PLANNED or ctx.person.id not in machine.owners:
        stopped = moves.stop(ctx.draft, move, ctx.person.id, ctx.policy)
        return words.stopped(ctx.scene(), stopped)
    if move.announced is None:
        return words.nothing_restarts(ctx.scene(), machine)
    said = moves.not_now(ctx.draft, machine, ctx.person.id, ctx.policy, move)
    return words.not_now(ctx.scene(), machine, said)


def _only(ctx: Context, name: str | None) -> Move:
    """The move of the named machine, or the only one of the person's machines."""
    mine = {ctx.own_machine(name).uuid} if name else {machine.uuid for machine in ctx.own_machines()}
    found = [move for move in ctx.draft.moves.values() if move.machine in mine and move.state in OPEN_MOVE]
    if not found:
        raise NotPossible(what="stop", why="no restart of a machine of yours is on its way")
    return ctx.only(found, "restart")
