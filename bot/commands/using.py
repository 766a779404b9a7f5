"""using [CARD / #n] [because …]: a card that seems to do nothing is in use: I ask no more about it

The answer counts as a false alarm of mine. A reason is public: who waits may read it.
"""

from __future__ import annotations

from bot.domain import idle
from bot.domain.grammar import RefKind
from bot.service import quiet
from bot.service.context import Context, Takes
from bot.service.ports import Reply
from bot.service.words.answers_using import used

WORDS = ("using", "using it", "i am using it", "in use")
ADMIN = False
WRITES = True
RANK = 15

EXAMPLES = (
    ("using", "the card that I asked about"),
    ("using T4-2", "this one"),
    ("using T4-2 because it loads data", "and what I missed; the reason is public"),
)

HINT = "using, using T4-2, using T4-2 because it loads data"
TAKES = Takes(refs=frozenset({RefKind.LABEL, RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """Silence the questions about the cards that are named, or that were asked about."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    asked = quiet.meant(ctx, heard, "using")
    for lease, slots in asked:
        idle.using(ctx.draft, lease, slots, ctx.person.id, heard.because)
        quiet.tell_holder(ctx, lease, slots, "using")
    scene = ctx.scene()
    now = [(scene.books.leases[lease.label], slots) for lease, slots in asked]
    return used(scene, now, ctx.person.id, heard.because, idle.rate(scene.books.numbers, ctx.now))
