"""letgo CARD [now / tonight / when done / TIME]: a card that sits on your machine, lent to nobody, goes back to all"""

from __future__ import annotations

from bot.domain import leases, windows
from bot.domain import strangers as rules
from bot.domain.errors import Unclear
from bot.domain.grammar import RefKind
from bot.domain.model import Length
from bot.service import strangers, words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("letgo", "let go")
ADMIN = False
WRITES = True
RANK = 18

EXAMPLES = (
    ("letgo T4-2", "its machine restarts when you say so"),
    ("letgo T4-2 tonight", "in a restart tonight"),
    ("letgo T4-2 when done", "as soon as nothing runs there"),
)

HINT = "letgo T4-2 tonight"
TAKES = Takes(window=True, refs=frozenset({RefKind.CARD, RefKind.PERSON, RefKind.NAME}))


def run(ctx: Context) -> Reply:
    """It gets a number and is given back at once: the owner's word is the consent to take it off."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    if not ctx.cards(heard):
        raise Unclear(text=ctx.text, hint=HINT)
    slots = strangers.meant(ctx, heard)
    machine = strangers.machine_with(ctx, slots)
    strangers.owner_or_admin(ctx, machine)
    person = strangers.holder_for(ctx, machine, ctx.persons(heard))
    by, kind = ctx.person.id, strangers.kind_of(ctx, machine, slots)
    lease = leases.adopt(ctx.draft, machine, slots, person, Length(), by=by, policy=ctx.policy, tell=False, kind=kind)
    if ctx.person.id in machine.owners:
        lease = leases.release(ctx.draft, lease, None, ctx.person.id, "let go")
    else:
        lease = leases.force(ctx.draft, lease, ctx.person.id, "let go", public=False)
    rules.answered(ctx.draft, machine, slots, lease)
    if heard.window is not None and ctx.person.id in machine.owners:
        windows.agree(ctx.draft, machine, ctx.person, heard.window, ctx.policy, label=lease.label)
    return words.released(ctx.scene(), ctx.person.id, [lease], [])
