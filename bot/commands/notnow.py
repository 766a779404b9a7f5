"""notnow [MACHINE / m7] [too / undo]: no restart this time; the next time that was agreed stands"""

from __future__ import annotations

from bot.domain import moves, windows
from bot.domain.errors import NotPossible, NotYours
from bot.domain.grammar import Heard, RefKind
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import Machine, Move
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("notnow", "not now", "later")
ADMIN = False
WRITES = True
RANK = 11

EXAMPLES = (
    ("notnow", "the restart that is next"),
    ("notnow vm-r", "of this machine"),
    ("notnow m7", "this one, and no other that came after it"),
    ("notnow vm-r too", "nor the next one after that which you put off"),
    ("notnow vm-r undo", "it may restart after all"),
)

HINT = "notnow, notnow vm-r, notnow vm-r too, notnow vm-r undo"
TAKES = Takes(refs=frozenset({RefKind.MOVE}), machine_alone=True)


def run(ctx: Context) -> Reply:
    """Skip the occurrence that is open or next."""
    heard = ctx.hear()
    words_left = [word.lower() for word in heard.rest]
    back, too = words_left == ["undo"], words_left == ["too"]
    if not back and not too:
        ctx.clear(heard, HINT, TAKES)
    machine, move = _meant(ctx, heard)
    if back:
        windows.take_back_not_now(ctx.draft, machine, ctx.person.id)
        return words.windows(ctx.scene(), machine)
    said = moves.not_now(ctx.draft, machine, ctx.person.id, ctx.policy, move, too=too)
    return words.not_now(ctx.scene(), machine, said)


def _meant(ctx: Context, heard: Heard) -> tuple[Machine, Move | None]:
    """The machine that is named; of a restart that is named its machine, as long as it is not over, and that restart: what stands in an old
    message is not said of a later one."""
    for move in ctx.moves(heard):
        machine = ctx.draft.machines.get(move.machine)
        if machine is None or (heard.machine is not None and ctx.machine_named(heard.machine).uuid != machine.uuid):
            raise NotPossible(what="notnow", why=f"m{move.number} is not a restart of that machine")
        if ctx.person.id not in machine.owners:
            raise NotYours(what=machine.name, owners=machine.owners)
        return machine, move
    return ctx.own_machine(heard.machine, among=() if heard.machine else _moving(ctx)), None


def _moving(ctx: Context) -> list[Machine]:
    """Own machines with a restart ahead: these are meant if none is named."""
    ahead = {move.machine for move in ctx.draft.moves.values() if move.state in OPEN_MOVE}
    return [machine for machine in ctx.own_machines() if machine.uuid in ahead]
