"""start MACHINE: put a machine on that we left off"""

from __future__ import annotations

from bot.domain import blockers, moves
from bot.domain.errors import NotPossible
from bot.domain.model import Machine, MoveState, Power
from bot.domain.renumbered import unsure_of
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("start", "power on")
ADMIN = False
WRITES = True
RANK = 12

EXAMPLES = (("start vm-r", "with its card, if it has one"),)

HINT = "start vm-r"
TAKES = Takes(machine_alone=True)


def run(ctx: Context) -> Reply:
    """Ask for the power-on; the next round makes it. An admin may ask for one that could not be started."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    admin = ctx.person.id in set(ctx.people.admins())
    named = ctx.machine_named(heard.machine) if admin and heard.machine else None
    machine = named or ctx.own_machine(heard.machine)
    if ctx.seen is not None and ctx.sight().power(machine.uuid) is Power.ON:
        raise NotPossible(what="start", why=f"{machine.name} is on already")
    _can_be(ctx, machine)
    moves.start(ctx.draft, machine, ctx.person.id, admin=admin)
    return words.started(ctx.scene(), machine)


def _can_be(ctx: Context, machine: Machine) -> None:
    """Refuse what would be promised in vain: vCenter starts nothing that is a template, suspended, or waits for an answer. One that could not
    be started before is tried all the same.

    :raises NotPossible: it is one of these, or the last look does not show it
    """
    stuck = any(m.machine == machine.uuid and m.state is MoveState.STUCK for m in ctx.draft.moves.values())
    if ctx.seen is None:
        return
    seen = ctx.sight().machine(machine.uuid)
    if seen is not None and (unsure := unsure_of(ctx.draft.cards.values(), ctx.seen, seen, ctx.policy.kinds)):
        riddle, card = unsure
        asked = "that is settled in a few seconds" if riddle.sure else "an admin is asked which card is which"
        where = f"{riddle.host} was restarted, and {card.name} is not at {card.pci} any more"
        raise NotPossible(what="start", why=f"{where}; {asked}")
    if stuck:
        return
    if seen is None or seen.unknown:
        raise NotPossible(what="start", why=f"I cannot see {machine.name} in vCenter now")
    if found := blockers.lasting(seen):
        raise NotPossible(what="start", why="; ".join(found))
