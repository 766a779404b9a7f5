"""extend [#n] [4h / until tomorrow 18:00]: keep your card longer"""

from __future__ import annotations

import re
from dataclasses import replace

from bot.domain import leases, promises
from bot.domain.errors import NotPossible, Unclear
from bot.domain.grammar import Bare, Heard, RefKind, split_because
from bot.domain.model import LeaseState, Length
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("extend", "longer", "prolong")
ADMIN = False
WRITES = True
RANK = 4

EXAMPLES = (
    ("extend 4h", "your only card, four hours longer"),
    ("extend until tomorrow 18:00", "until then"),
    ("extend #12 2 days", "the card of #12"),
)

HINT = "extend 4h, extend #12 until tomorrow 18:00"
TAKES = Takes(length=True, refs=frozenset({RefKind.LABEL, RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """A new end, within the limits; who likely waits longer by it is named, and told."""
    said, reason = split_because(ctx.text)
    plain = f"{_BY.sub(' ', said)} because {reason}" if reason else _BY.sub(" ", said)
    heard = _longer(replace(ctx, text=plain).hear(Bare.LENGTH))
    ctx.clear(heard, HINT, TAKES)
    running = [x for x in ctx.own_leases() if x.state in (LeaseState.ACTIVE, LeaseState.RETURNING, LeaseState.MOVING)]
    lease = ctx.lease_meant(heard, running)
    if lease is None:
        waits = ctx.own_requests()
        if waits:
            why, works = f"you have no card yet; #{waits[0].number} waits for one", "request until fri 18:00"
            raise NotPossible(what="extend", why=why, works=f"{works} says until when you want it")
        raise NotPossible(what="extend", why="you have no card", works="request 1")
    was = promises.likely_of_others(ctx.draft, lease, ctx.scene().promises)
    longer = leases.extend(ctx.draft, lease, heard.length or Length(), ctx.person, ctx.policy, ctx.zone_of)
    scene = ctx.scene()
    delayed = promises.tell_delayed(ctx.draft, longer, was, scene.promises)
    return words.extended(scene, longer, lease.end, delayed)


_MORE = frozenset({"more", "another", "longer", "it"})
"""Words of ``another 2 hours`` that say what ``extend`` says already."""
_BY = re.compile(r"(?:^|(?<=\s))by\s+(?=[0-9]+(?:[.,][0-9]+)?\s?[a-z])", re.IGNORECASE)
"""That of ``by 2 hours``."""
_LESS = re.compile(r"[-–−][0-9]")


def _longer(heard: Heard) -> Heard:
    """The line without those words.

    :raises Unclear: a number of which nobody knows what it counts
    :raises NotPossible: less time, not more
    """
    less = next((word for word in heard.rest if _LESS.match(word)), "")
    if less:
        works = "release gives it back, release tonight with the restart"
        raise NotPossible(what=f"extend {less}", why="extend makes your time longer, never shorter", works=works)
    if heard.count is not None and not heard.rest:
        number, said = heard.count, heard.length_said
        hour = f"{said} {number}:00, or " if said and number <= 24 and not any(c.isdigit() for c in said) else ""
        other = f"extend #{number} 4h" if hour else f"{number}h, extend {number} min, or extend #{number} 4h"
        hint = f"extend {hour}{other}"
        raise Unclear(text=f"{said} {number}".strip(), hint=hint)
    return replace(heard, rest=tuple(word for word in heard.rest if word.lower() not in _MORE))
