"""help [all]: what you can say"""

from __future__ import annotations

from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply

WORDS = ("help", "?", "hello", "hi")
ADMIN = False
WRITES = False
RANK = 15


def run(ctx: Context) -> Reply:
    """The first six; with ``all`` the rest, and for admins their own."""
    whole = ctx.text.strip().lower() in ("all", "more")
    admin = ctx.person.id in set(ctx.people.admins())
    verbs = [verb for verb in ctx.verbs.all if (whole or verb.rank <= 6) and (admin or not verb.admin)]
    shown = [(verb.usage, verb.help) for verb in verbs if whole or not verb.admin]
    return words.helped(ctx.scene(), ctx.person, shown, whole)
