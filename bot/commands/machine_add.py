"""machine add NAME owners @person …: register a machine, so that I may restart it"""

from __future__ import annotations

from bot.domain import pool
from bot.domain.errors import NotPossible, Unclear, UnknownMachine, WhichThing
from bot.domain.grammar import nearest
from bot.domain.model import SeenMachine
from bot.domain.visible import visible
from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply

WORDS = ("machine add", "add machine")
ADMIN = True
WRITES = True
RANK = 20

EXAMPLES = (
    ("machine add vm-r owners @bob", "with its owner"),
    ("machine add vm-r owners @bob @ada", "with two owners"),
)

HINT = "machine add vm-r owners @bob @ada"


def run(ctx: Context) -> Reply:
    """Find the machine in the last look, and write its owners down."""
    name, owners = ctx.name_and_people()
    if not name or not owners:
        raise Unclear(text=ctx.text, hint=HINT)
    machine = pool.add_machine(ctx.draft, _seen(ctx, name), owners, ctx.person.id)
    return words.machine_added(ctx.scene(), machine)


def _listed(ctx: Context, seen: SeenMachine) -> str:
    """A machine of vCenter's with whose it is, if it is registered."""
    known = ctx.draft.machines.get(seen.uuid)
    return ctx.with_owners(seen.name, known.owners) if known is not None else f"{seen.name}, not known to me"


def _seen(ctx: Context, name: str) -> SeenMachine:
    """The only machine of that name that vCenter shows."""
    if ctx.seen is None:
        raise NotPossible(what=f"machine add {name}", why="I have not seen a vCenter yet; see the log, then try again")
    there = [machine for machine in ctx.seen.machines if not machine.template]
    found = [machine for machine in there if visible(machine.name).casefold() == name.casefold()]
    if not found:
        close = nearest(name, [machine.name for machine in there])
        shown = sorted((m for m in there if not close or m.name == close), key=lambda m: m.name)
        raise UnknownMachine(machine=name, seen="vCenter", there=tuple(_listed(ctx, machine) for machine in shown))
    if len(found) > 1:
        raise WhichThing(what="machine", choices=tuple(f"{m.name} in {m.vcenter}" for m in found), command=ctx.whole)
    return found[0]
