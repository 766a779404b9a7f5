"""machine token NAME: a new token with which its agent may report; shown once, the old one is void"""

from __future__ import annotations

import hashlib
import secrets

from bot.domain.errors import Unclear
from bot.service import words
from bot.service.context import Context, unquoted
from bot.service.ports import Reply

WORDS = ("machine token",)
ADMIN = True
WRITES = True
RANK = 23

EXAMPLES = (("machine token vm-r", "for its agent"),)

HINT = "machine token vm-r"


def run(ctx: Context) -> Reply:
    """Make it, keep its digest alone, and show it to this admin alone."""
    name = unquoted(ctx.text)
    if not name:
        raise Unclear(text=ctx.text, hint=HINT)
    machine = ctx.machine_named(name)
    token = secrets.token_urlsafe(32)
    ctx.tokens[machine.uuid] = hashlib.sha256(token.encode()).hexdigest()
    ctx.draft.log(ctx.person.id, "machine.token", machine.name)
    return words.machine_token(ctx.scene(), machine, token)
