"""renumber HOST / CARD ADDRESS: which card is which, when a host shows its cards at other addresses

A card keeps its name and whom it is lent to; `renumber HOST new` says that these are other cards.
"""

from __future__ import annotations

import re

from bot.domain import hosts, renumbered
from bot.domain.errors import NotPossible, Unclear
from bot.domain.grammar import RefKind
from bot.domain.model import Card
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply
from bot.service.whole import hosts_named

WORDS = ("renumber",)
ADMIN = True
WRITES = True
RANK = 31

EXAMPLES = (
    ("renumber esx-01", "the cards that are missing there are those at new addresses, in order"),
    ("renumber T4-1 0000:d8:00.0", "that card is there now"),
    ("renumber esx-01 new", "they are other cards, and those that are missing are gone"),
)

HINT = "renumber esx-01, renumber T4-1 0000:d8:00.0, renumber esx-01 new"
TAKES = Takes(refs=frozenset({RefKind.CARD}))
ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)


def run(ctx: Context) -> Reply:
    """What the last look shows decides what can be said."""
    address = ADDRESS.search(ctx.text)
    if address is not None:
        return _one(ctx, address.group().lower())
    text = re.sub(r"(?<!\S)new(?!\S)", "", ctx.text, count=1, flags=re.IGNORECASE)
    found = [host for word in text.split() for host in hosts.named(ctx.draft, word)]
    if len(found) > 1:
        _, found = hosts_named(ctx, ctx.hear())  # asks which
    if len(found) != 1 or len(text.split()) != 1:
        raise Unclear(text=ctx.text, hint=HINT)
    riddles = renumbered.open_riddles(ctx.draft, ctx.seen, found[0], ctx.policy)
    if text != ctx.text:
        for riddle in riddles:
            renumbered.others(ctx.draft, riddle, ctx.person.id)
        return words.numbered(ctx.scene(), [c for r in riddles for c in r.lost], gone=True)
    odd = next((r for r in riddles if not r.pairs), None)
    if odd is not None:
        why = f"{len(odd.lost)} are missing and {len(odd.new)} are new, so each is to be said"
        raise NotPossible(what="renumber", why=why, works=f"renumber {odd.lost[0].name} {odd.new[0].pci}")
    fresh = [c for r in riddles for c in renumbered.follow(ctx.draft, r.pairs, ctx.person.id)]
    return words.numbered(ctx.scene(), fresh, gone=False)


def _one(ctx: Context, address: str) -> Reply:
    """One card, at an address at which nobody knows one."""
    card = _card(ctx, address)
    riddles = renumbered.open_riddles(ctx.draft, ctx.seen, hosts.host_of(card), ctx.policy)
    mine = next((r for r in riddles if card.name in {c.name for c in r.lost}), None)
    if mine is None:
        raise NotPossible(what="renumber", why=f"{card.name} is where I know it, at {card.pci}")
    seen = next((c for c in mine.new if c.pci == address), None)
    if seen is None:
        there = ", ".join(c.pci for c in mine.new)
        raise NotPossible(what="renumber", why=f"{mine.host} shows no new {mine.kind} at {address}; new are {there}")
    fresh = renumbered.follow(ctx.draft, [(card, seen)], ctx.person.id)
    return words.numbered(ctx.scene(), fresh, gone=False)


def _card(ctx: Context, address: str) -> Card:
    names = {c.name.casefold(): c for c in ctx.draft.cards.values()}
    found = [names[w.casefold()] for w in ctx.text.split() if w.casefold() in names]
    if len(found) != 1 or len(ctx.text.split()) != 2:
        raise Unclear(text=ctx.text, hint=HINT)
    return found[0]
