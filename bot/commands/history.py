"""history [#n / CARD]: what happened, in order: asked, told, lent, given back"""

from __future__ import annotations

import re
from dataclasses import replace

from bot.domain.errors import UnknownThing
from bot.domain.grammar import Heard, RefKind
from bot.service.context import Context, Takes
from bot.service.ports import Past, Reply
from bot.service.words.answers_history import history_card, history_mine, history_of

WORDS = ("history", "story")
ADMIN = False
WRITES = False
RANK = 13

EXAMPLES = (
    ("history", "your last five requests"),
    ("history #12", "this one, from asking to giving back"),
    ("history T4-1", "who had this card last"),
    ("history #12 all", "all of a long one"),
)

HINT = "history, history #12, history T4-1"
TAKES = Takes(refs=frozenset({RefKind.LABEL, RefKind.CARD, RefKind.ALL}))
_BARE = re.compile(r"(?<!\S)[0-9]+[a-z]{0,3}(?!\S)", re.IGNORECASE)
"""A number without its sign: there is nothing else here that it could count."""
LARGEST = 2**31 - 1
"""The largest number that a database keeps for a request."""
LAST, ALL = 5, 50
"""Requests, or holders of a card, that are shown; and if all are wanted."""


def run(ctx: Context) -> Reply:
    """Of a number, of a card, or of oneself. What is over for long comes from the store."""
    heard = replace(ctx, text=_BARE.sub(r"#\g<0>", ctx.text)).hear()
    ctx.clear(heard, HINT, TAKES)
    most = ALL if heard.refs_of(RefKind.ALL) else LAST
    for number in _numbers(ctx, heard):
        return _of_number(ctx, number, whole=most == ALL)
    for card in ctx.cards(heard):
        found = ctx.archive.of_card(card.name, most + 1)
        return history_card(ctx.scene(), card, found.leases[:most], ctx.person, more=len(found.leases) > most)
    return history_mine(ctx.scene(), ctx.archive.of_person(ctx.person.id, most))


def _numbers(ctx: Context, heard: Heard) -> list[int]:
    """The numbers that are meant: ``#12``, a part of it (``#12b``), or ``12``."""
    return [int(label.rstrip("abcdefghijklmnopqrstuvwxyz")) for label in ctx.labels(heard)]


def _of_number(ctx: Context, number: int, whole: bool) -> Reply:
    """Its story.

    :raises UnknownThing: nothing ever had the number
    """
    past = ctx.archive.of_number(number) if number <= LARGEST else Past()
    if not past.requests and not past.leases:
        raise UnknownThing(what="number", text=f"#{number}", known=())
    return history_of(ctx.scene(), past, number, ctx.person, private=_private(ctx, past), whole=whole)


def _private(ctx: Context, past: Past) -> bool:
    """Whether who asks may read of questions about quiet cards: its person, an owner of its machine, an admin."""
    machines = {r.machine for r in past.requests} | {x.machine for x in past.leases}
    owners = {o for id in machines if (m := ctx.draft.machines.get(id)) is not None for o in m.owners}
    holders = {r.person for r in past.requests} | {x.person for x in past.leases}
    return ctx.person.id in owners | holders | set(ctx.people.admins())
