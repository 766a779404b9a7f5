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

EXAMPLES = (
    ("machine owners vm-r @ada", "one owner instead of those before"),
    ("machine owners vm-r @bob @ada", "two owners"),
)

HINT = "machine owners vm-r @bob @ada"


def run(ctx: Context) -> Reply:
    """Replace the owners."""
    name, owners = ctx.name_and_people()
    if not name or not owners:
        raise Unclear(text=ctx.text, hint=HINT)
    machine = pool.set_owners(ctx.draft, ctx.machine_named(name), owners, ctx.person.id)
    return words.machine_owners(ctx.scene(), machine)
