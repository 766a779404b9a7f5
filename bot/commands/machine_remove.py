"""machine remove NAME: forget a machine; its cards must be given back before"""

from __future__ import annotations

from bot.domain import pool
from bot.domain.errors import Unclear
from bot.service import words
from bot.service.context import Context, unquoted
from bot.service.ports import Reply

WORDS = ("machine remove", "machine delete", "remove machine")
ADMIN = True
WRITES = True
RANK = 21

EXAMPLES = (("machine remove vm-r", "I do not touch it any more"),)

HINT = "machine remove vm-r"


def run(ctx: Context) -> Reply:
    """Take it out of the books."""
    name = unquoted(ctx.text)
    if not name:
        raise Unclear(text=ctx.text, hint=HINT)
    machine = ctx.machine_named(name)
    pool.remove_machine(ctx.draft, machine, ctx.person.id)
    return words.machine_removed(ctx.scene(), machine)
