"""adopt CARD [@person] [until TIME]: a card that sits on your machine already becomes yours, with a number"""

from __future__ import annotations

from bot.domain import leases
from bot.domain.errors import Unclear
from bot.domain.grammar import Bare, RefKind
from bot.domain.model import Length
from bot.service import strangers, words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("adopt", "claim")
ADMIN = False
WRITES = True
RANK = 17

EXAMPLES = (
    ("adopt T4-2", "the card in your machine is yours, with the usual end"),
    ("adopt T4-2 until fri 18:00", "until then"),
    ("adopt T4-2 @bob", "for another owner of the machine"),
)

HINT = "adopt T4-2, adopt T4-2 @bob until fri 18:00"
TAKES = Takes(length=True, refs=frozenset({RefKind.CARD, RefKind.PERSON, RefKind.NAME}))


def run(ctx: Context) -> Reply:
    """Said by an owner of the machine, or by an admin."""
    heard = ctx.hear(Bare.LENGTH)
    ctx.clear(heard, HINT, TAKES)
    cards = ctx.cards(heard)
    if not cards:
        raise Unclear(text=ctx.text, hint=HINT)
    machine = strangers.machine_with(ctx, cards)
    strangers.owner_or_admin(ctx, machine)
    person = strangers.holder_for(ctx, machine, ctx.persons(heard))
    slots = tuple(card.name for card in cards)
    lease = leases.adopt(
        ctx.draft, machine, slots, person, heard.length or Length(), by=ctx.person.id, policy=ctx.policy
    )
    return words.adopted(ctx.scene(), lease)
