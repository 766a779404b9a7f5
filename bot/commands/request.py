"""request [N] [KIND] [on MACHINE] [for 8h / until fri 18:00] [restart now / tonight / any time today / ask] [because …]: ask for a card

Said again for the same machine and kind, it changes the waiting request. Only a round gives a card.
"""

from __future__ import annotations

import re

from bot.domain import queue
from bot.domain.errors import BadCount, NotPossible, TooLong
from bot.domain.grammar import Heard, split_because
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
)

NOT_YET = {
    "partly": "not possible yet: all cards of a request come together; ask for fewer, or twice",
    "urgent": "not possible yet: the order is first come, first served",
    "spare": "not possible yet: the order is first come, first served",
}
"""Words that are understood, and what to do without them."""

AHEAD = re.compile(r"(?<!restart )\b(from|before)\b", re.IGNORECASE)
"""Words of a booking, which a restart's time may have too."""

HINT = "request 1 on vm-r until fri 18:00 restart tonight because …"
TAKES = Takes(count=True, length=True, window=True, flags=frozenset(NOT_YET))


def run(ctx: Context) -> Reply:
    """Queue it, and answer with the place, the times and the question about the restart."""
    heard = _understand(ctx, ctx.hear())
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
    )
    try:
        asked = queue.request(ctx.draft, ctx.person, wanted, ctx.policy)
    except TooLong as no:
        no.facts["said"] = heard.length_said
        raise
    return words.requested(ctx.scene(), asked)


def _understand(ctx: Context, heard: Heard) -> Heard:
    """The line with its kind as the machine's host understands it; what is left over is refused by what it was probably meant to be."""
    for flag, why in NOT_YET.items():
        if flag in heard.flags:
            raise NotPossible(what=f"request … {flag}", why=why)
    ahead = AHEAD.search(split_because(ctx.text)[0])
    if ahead and (heard.window is not None or any(word.lower() == ahead.group(1).lower() for word in heard.rest)):
        why = "booking ahead is not possible yet; a restart at that time is: request 1 restart today 14:00-18:00"
        raise NotPossible(what=f"request … {ahead.group(1)}", why=why)
    for word in heard.rest:
        if re.fullmatch(r"[-+]?\d+([.,]\d+)?", word):
            raise BadCount(text=word, most=len(ctx.draft.cards))
    heard = kinds.understood(ctx, heard)
    ctx.clear(heard, HINT, TAKES)
    return heard
