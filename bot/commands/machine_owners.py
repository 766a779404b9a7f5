"""machine owners NAME @person …: who may ask for it and agree to its restarts"""

from __future__ import annotations

from bot.domain import pool
from bot.domain.errors import Unclear
from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply

WORDS = ("machine owners", "machine owner")
ADMIN = True
WRITES = True
RANK = 22

HINT = "machine owners vm-r @bob @ada"


def run(ctx: Context) -> Reply:
    """Replace the owners."""
    name, *people = ctx.text.split() or [""]
    if not name or not people:
        raise Unclear(text=ctx.text, hint=HINT)
    machine = ctx.machine_named(name)
    machine = pool.set_owners(
        ctx.draft, machine, tuple(ctx.person_named(word.rstrip(",")).id for word in people), ctx.person.id
    )
    return words.machine_owners(ctx.scene(), machine)
