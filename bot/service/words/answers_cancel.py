"""The answer to ``cancel`` where nothing waits: what could be meant, and how that is said. Nothing is given up by a guess."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.leases import keep_offered
from bot.domain.model import Lease, LeaseState, Move, MoveState
from bot.service.ports import Button, LineOf, Reply
from bot.service.words.common import (
    MINE,
    Scene,
    button,
    command,
    head,
    label_ref,
    ln,
    machine_word,
    no,
    slots_of,
    typeable,
)

SHOWN = 4
"""Things that are named; who has more looks at ``mine``."""


def nothing_waits(scene: Scene, held: Sequence[Lease], ahead: Sequence[Move]) -> Reply:
    """``held``: cards that could be meant; ``ahead``: restarts that could be."""
    held = [x for x in held if x.state is not LeaseState.RETURNING or keep_offered(scene.books, x, scene.now)]
    meant = [*(_back(scene, lease) for lease in held[:SHOWN]), *(_off(scene, move) for move in ahead[:SHOWN])]
    return no(
        head("I cancelled nothing: nothing of yours waits in line. What do you mean?" if meant else _NOTHING),
        *(line for line, _ in meant),
        buttons=(*(press for _, press in meant[:2]), MINE),
    )


_NOTHING = "There is nothing to cancel: nothing of yours waits in line, and no restart of your machines is ahead."


def _back(scene: Scene, lease: Lease) -> tuple[LineOf, Button]:
    """A card that is there, on its way, or on its way back."""
    ref, vm, many = label_ref(lease.label), machine_word(scene.books, lease.machine), len(lease.slots) > 1
    if lease.state is LeaseState.RETURNING:
        says, does = f"keep {ref}", "keeps"
        label = f"Keep {ref}"
    else:
        says, does = f"release {ref}", "gives" if lease.state is LeaseState.ACTIVE else "gives up"
        label = f"Give {ref} back"
    tail = {"keeps": " after all.", "gives": " back.", "gives up": f", on {'their' if many else 'its'} way."}[does]
    return ln(command(scene.policy, says), f" {does} ", slots_of(lease.slots), f" in {vm}{tail}"), button(label, says)


def _off(scene: Scene, move: Move) -> tuple[LineOf, Button]:
    """A restart that is ahead, or under way."""
    vm, machine = machine_word(scene.books, move.machine), scene.books.machines.get(move.machine)
    says = f"notnow{typeable(machine)}" if move.state is MoveState.PLANNED else f"stop m{move.number}"
    return ln(command(scene.policy, says), f": {vm} does not restart this time."), button(
        f"No restart of {vm} now", says
    )
