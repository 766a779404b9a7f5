"""What keeps a restart that is agreed from beginning when it was agreed: the site's blackouts, and what stands in its way.

Used by the answers to whoever agrees to a time, asks for a card or gives one back, so that they read it in the answer itself.
"""

from __future__ import annotations

from bot.domain import blackouts, blockers
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import LeaseState, MachineId, MoveState
from bot.domain.occurrences import next_beginning
from bot.domain.sight import Sight
from bot.service.ports import LineOf, When
from bot.service.words.common import Scene, ln, name_of, tidy, usable, usual


def hindrances(scene: Scene, machine: MachineId, label: str | None = None) -> list[LineOf]:
    """Lines for an answer about restarts of a machine; none if nothing hinders.

    :param label: of what the restart is for; None: of anything
    """
    return [*_blackout(scene, machine, label), *in_the_way(scene, machine)]


def _blackout(scene: Scene, machine: MachineId, label: str | None) -> list[LineOf]:
    """The stretch in which the site lets no restart begin, if it moves the one that is agreed; with the time from which it may."""
    known = scene.books.machines.get(machine)
    takes, policy = usual(known, scene.policy), scene.policy
    agreed = usable(scene.books, machine, label, scene.now, policy)
    found = next_beginning(agreed, machine, scene.now, takes, policy)
    if found is None:
        waits = bool(agreed) and not any(a.window for a in agreed)  # until nothing runs, or for its card
        at = scene.now
    else:
        agreement, window, begins = found
        waits, at = agreement.now or begins > max(scene.now, window.start), max(scene.now, window.start)
        if agreement.now:
            at = scene.now  # "now" was moved behind it
    held = blackouts.holding(policy, at, takes) if waits else None
    if held is None:
        return []
    free = blackouts.first(policy, at, takes)
    return [
        ln(
            "This site lets no restart begin between ",
            When(held.start),
            " and ",
            When(held.end),
            [f": {name_of(known)} restarts ", When(free), " at the earliest"] if free is not None else None,
            ".",
        )
    ]


def in_the_way(scene: Scene, machine: MachineId) -> list[LineOf]:
    """What stands in the way of its restart just now: as told before, and as the last look shows it."""
    moves = [m for m in scene.books.moves.values() if m.machine == machine and m.state in OPEN_MOVE]
    found = [b for m in moves if m.state is MoveState.PLANNED for b in m.blockers]
    if scene.seen is not None and _asks(scene, machine) and not any(m.state is not MoveState.PLANNED for m in moves):
        seen = Sight(scene.books, scene.seen, scene.readings).machine(machine)
        found = list(blockers.together(blockers.lasting(seen) if seen is not None else (), found))
    named = blockers.named(dict.fromkeys(found))
    if not named:
        return []
    ways = [f"{tidy(why, 160).removesuffix('.')} ({WHO[who]})" for why, who in list(named.items())[:SHOWN]]
    ways += [f"{len(named) - SHOWN} more"] if len(named) > SHOWN else []
    return [ln("In the way just now: ", "; ".join(ways), ".")]


def _asks(scene: Scene, machine: MachineId) -> bool:
    """Whether anything waits for a restart of it."""
    wanted = (LeaseState.RESERVED, LeaseState.RETURNING)
    lent = any(x.machine == machine and x.state in wanted for x in scene.books.leases.values())
    return lent or any(
        r.machine == machine and str(r.state) in ("queued", "offered") for r in scene.books.requests.values()
    )


SHOWN = 4
"""Things in the way that an answer names; more are counted."""

WHO = {
    blockers.Mender.OWNER: "an owner can mend that",
    blockers.Mender.ADMIN: "an admin can mend that",
    blockers.Mender.NOBODY: "goes by itself",
}
"""Who can mend what is in the way."""
