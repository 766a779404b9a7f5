"""help [all / WORD]: what you can say, or how to say one thing"""

from __future__ import annotations

from bot.domain.errors import UnknownVerb
from bot.service import words
from bot.service.context import Context
from bot.service.ports import Reply
from bot.service.verbs import Verb

WORDS = ("help", "?", "hello", "hi")
ADMIN = False
WRITES = False
RANK = 15

EXAMPLES = (
    ("help", "the words most needed"),
    ("help all", "everything"),
    ("help window", "one word, with examples"),
)


def run(ctx: Context) -> Reply:
    """The first six; with ``all`` the rest, and for admins their own; with a word that one."""
    whole = ctx.text.lower() in ("all", "more")
    if ctx.text and not whole and ctx.whole.lower().startswith(("help", "?")):  # "hello there" names nothing
        return words.helped_with(ctx.scene(), _named(ctx))
    admin = ctx.person.id in set(ctx.people.admins())
    verbs = [verb for verb in ctx.verbs.all if (whole or verb.rank <= 6) and (admin or not verb.admin)]
    shown = [(verb.usage, verb.help) for verb in verbs if whole or not verb.admin]
    return words.helped(ctx.scene(), ctx.person, shown, whole)


def _named(ctx: Context) -> Verb:
    """The verb that the line names.

    :raises UnknownVerb: with the nearest, and the line
    """
    try:
        return ctx.verbs.find(ctx.text)[0]
    except UnknownVerb as no:
        no.facts["line"] = ctx.whole
        raise
