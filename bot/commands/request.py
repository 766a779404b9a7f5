"""request [N] [KIND] [on MACHINE] [for 8h / until fri 18:00] [from thu 14:00] [before 17:00] [restart now / tonight / ask] [partly] [urgent / spare] [because …]: ask for a card

`from` books it for then, `before` leaves the line then. `partly`: fewer are better than none. `urgent`: earlier in line, with a reason, once in a
while; `spare`: later, and only while nobody else wants it. Said again for the same machine and kind, it changes the waiting request, at its
place; but what is booked and wanted sooner has the place of now. Only a round gives a card.
"""

from __future__ import annotations

import re

from bot.domain import promises, queue
from bot.domain.errors import BadCount, NotThen, ReasonWanted, TooLong
from bot.domain.grammar import Heard
from bot.domain.model import Length
from bot.domain.queue import Wanted
from bot.service import kinds, words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("request", "ask for", "need", "want", "get")
ADMIN = False
WRITES = True
RANK = 1

EXAMPLES = (
    ("request 1", "one card, for your only machine"),
    ("request 2 T4 on vm-r until fri 18:00", "two, until then"),
    ("request 1 8gb", "a part of a card, where vGPUs of 8 GB are offered"),
    ("request 1 for 8h restart any time today", "your machine may restart for it today"),
    ("request 1 restart ask because my paper", "you are asked before it restarts; the reason is public"),
    ("request 1 from thu 14:00 until 18:00", "booked for then"),
    ("request 1 before 17:00", "if none is kept for you by then, you leave the line"),
    ("request 2 partly", "one is better than none"),
    ("request 1 urgent because a deadline", "earlier in line, once in a while; the reason is public"),
    ("request 2 spare", "only while nobody else wants them"),
)

HINT = "request 1 on vm-r until fri 18:00 restart tonight because …"
TAKES = Takes(count=True, length=True, window=True, flags=frozenset({"partly", "urgent", "spare"}))


def run(ctx: Context) -> Reply:
    """Queue it, and answer with the place, the times and the question about the restart."""
    heard = _understand(ctx, ctx.hear(books=True))
    machine = kinds.machine_for(ctx, heard)  # what is impossible is refused before any question
    kind = kinds.kind_for(ctx, heard, machine)
    # A request whose machine is gone goes on for the one that is named now, and for as many cards as before.
    stranded = queue.lost_machine(ctx.own_requests(), heard.kind)
    wanted = Wanted(
        heard.count if heard.count is not None else stranded.count if stranded is not None else 1,
        kind,
        machine.uuid,
        heard.length or Length(),
        heard.because,
        heard.window,
        counted=heard.count is not None,
        urgent="urgent" in heard.flags,
        spare="spare" in heard.flags,
        partly="partly" in heard.flags,
        start=heard.start,
        before=heard.before,
    )
    old = next((r for r in ctx.own_requests() if (r.kind, r.machine) == (kind, machine.uuid)), None)
    was = promises.likely_of_others(ctx.draft, old, ctx.scene().promises) if old is not None else {}
    try:
        asked = queue.request(ctx.draft, ctx.person, wanted, ctx.policy, ctx.zone_of)
    except TooLong as no:
        no.facts["said"] = heard.length_said
        raise
    except NotThen as no:
        said = {"from": heard.start_said, "before": heard.before_said, "until": heard.length_said}
        no.facts["said"] = said[str(no.facts["word"])]
        raise
    except ReasonWanted as no:
        no.facts["command"] = ctx.whole
        raise
    scene = ctx.promised(asked)
    return words.requested(scene, asked, promises.tell_delayed(ctx.draft, asked, was, scene.promises) if was else ())


def _understand(ctx: Context, heard: Heard) -> Heard:
    """The line with its kind as the machine's host understands it; what is left over is refused by what it was probably meant to be."""
    for word in heard.rest:
        if re.fullmatch(r"[-+]?\d+([.,]\d+)?", word):
            raise BadCount(text=word, most=len(ctx.draft.cards))
    heard = kinds.understood(ctx, heard)
    ctx.clear(heard, HINT, TAKES)
    return heard
