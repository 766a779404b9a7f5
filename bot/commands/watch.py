"""watch [KIND / off]: tell me once when a card of this kind is free and nobody waits for it

It is said once and keeps nothing for you. ``watch off`` takes it back; ``mine`` shows it. It ends by itself when you ask for one.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain import interests
from bot.domain.errors import NotPossible, Unclear, UnknownKind, WhichThing
from bot.domain.grammar import Heard
from bot.domain.slots import kinds, rivals
from bot.service import kinds as which
from bot.service.context import Context, Takes
from bot.service.ports import Reply
from bot.service.words.answers_watch import free_already, watched, watches_no_more
from bot.service.words.kinds import typed

WORDS = ("watch", "notify", "tell me when")
ADMIN = False
WRITES = True
RANK = 13

EXAMPLES = (
    ("watch", "the only kind, or that of your machine's host"),
    ("watch T4", "this kind"),
    ("watch off", "not any more"),
)

HINT = "watch, watch T4, watch off"
TAKES = Takes()

OFF = frozenset({"off", "stop", "remove", "no", "nothing"})
"""Words that take it back."""

ABOUT = frozenset({"for", "is", "are", "free", "when", "one", "of"})
"""Words of ``tell me when a T4 is free`` that say what this verb says already."""


def run(ctx: Context) -> Reply:
    """Remember, or forget, that somebody wants to hear it."""
    said = " ".join(word for word in ctx.text.split() if word.lower() not in ABOUT)
    heard = replace(ctx, text=said).hear()
    off = bool(OFF & ({word.lower() for word in heard.rest} | heard.flags))
    heard = replace(heard, rest=tuple(w for w in heard.rest if w.lower() not in OFF), flags=heard.flags - OFF)
    if not off or heard.rest:
        heard = which.understood(ctx, heard, asks="watch")
    ctx.clear(heard, HINT, TAKES)
    if heard.machine is not None:
        raise Unclear(text=f"on {heard.machine}", hint=f"{HINT}: of the hosts of all your machines")
    return _off(ctx, heard) if off else _on(ctx, heard)


def _on(ctx: Context, heard: Heard) -> Reply:
    kind = _kind(ctx, heard)
    for request in ctx.own_requests():
        if request.kind in rivals(ctx.draft, kind):
            why = f"you are in line with #{request.number}, and hear when it is your turn"
            raise NotPossible(what=f"watch {kind}", why=why, works=f"why #{request.number}")
    free = interests.free_for(ctx.draft, ctx.sight(), ctx.person.id, kind, ctx.policy)
    if free:
        return free_already(ctx.scene(), kind, free)
    interest = interests.want(ctx.draft, ctx.person.id, kind)
    again = interest.since < ctx.now
    return watched(ctx.scene(), interest, again)


def _off(ctx: Context, heard: Heard) -> Reply:
    mine = interests.interests_of(ctx.draft, ctx.person.id)
    over = [x for x in mine if heard.kind in (None, x.kind)]
    for interest in over:
        interests.no_more(ctx.draft, interest, ctx.person.id, "taken back")
    return watches_no_more(ctx.scene(), over, [x for x in mine if x not in over])


def _kind(ctx: Context, heard: Heard) -> str:
    """The kind that is meant: the one that was said; else the only one, of the hosts of one's own machines if any is seen.

    :raises WhichThing: several
    """
    if heard.kind is not None:
        return _known(ctx, heard, heard.kind)
    near = [card for m in ctx.own_machines() for card in which.near_of(ctx, m) or ()]
    found = which.kinds_of(near) or kinds(ctx.draft)
    if len(found) > 1:
        raise WhichThing(what="kind", choices=tuple(typed(k, found) for k in found), command="watch")
    return _known(ctx, heard, found[0] if found else "card")


def _known(ctx: Context, heard: Heard, kind: str) -> str:
    """A kind that is lent, on the host of a machine of theirs where these are seen.

    :raises UnknownKind: nobody has it
    :raises NotHere: no machine of theirs could
    """
    there = kinds(ctx.draft)
    if kind not in there:
        raise UnknownKind(kind=kind, kinds=tuple(there))
    mine = ctx.own_machines()
    near = [which.near_of(ctx, machine) for machine in mine]
    if mine and all(cards is not None and kind not in which.kinds_of(cards) for cards in near):
        which.kind_for(ctx, replace(heard, kind=kind), mine[0])
    return kind
