"""force release #n / CARD because …: take back all of a number, or one card; its machine's owner still says when it restarts"""

from __future__ import annotations

from bot.domain import leases
from bot.domain.errors import NotPossible, ReasonWanted, Unclear
from bot.domain.grammar import Heard, RefKind
from bot.domain.model import Lease, LeaseState, SlotId
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("force release", "force")
ADMIN = True
WRITES = True
RANK = 27

EXAMPLES = (
    ("force release #12 because the demo needs it", "all its cards; the reason is public"),
    ("force release T4-1 because its owner is away", "this card alone"),
)

HINT = "force release #12 because the demo needs it, force release T4-1 because its owner is away"
TAKES = Takes(refs=frozenset({RefKind.LABEL, RefKind.CARD}))


def run(ctx: Context) -> Reply:
    """A number is all that it has, a card is that card alone. The reason is public."""
    heard = ctx.hear()
    ctx.clear(heard, HINT, TAKES)
    if not heard.refs:
        raise Unclear(text=ctx.text, hint=HINT)
    cards = ctx.devices(heard)
    named = " ".join((*(f"#{label}" for label in ctx.labels(heard)), *cards))
    lease = _meant(ctx, heard, named)
    slots = tuple(slot for slot in cards if slot in lease.slots) or None
    _in_parts(lease, slots, named)
    if not heard.because:
        raise ReasonWanted(command=f"force release {named}")
    forced = leases.force(ctx.draft, lease, ctx.person.id, heard.because, slots)
    return words.forced(ctx.scene(), forced, heard.because)


def _meant(ctx: Context, heard: Heard, named: str) -> Lease:
    """The one lease that is named, by its number or by cards of it."""
    lease = ctx.lease_meant(heard, ())
    others = [label for label in ctx.labels(heard) if ctx.numbered(label) != lease]
    others += [slot for slot in ctx.devices(heard) if ctx.lease_on(slot) != lease]
    if lease is None:
        raise Unclear(text=ctx.text, hint=HINT)
    if others or (ctx.labels(heard) and ctx.cards(heard)):  # one answer says what becomes of one thing
        raise NotPossible(what=f"force release {named}", why="say it once for each number, or for cards of one number")
    return lease


def _in_parts(lease: Lease, slots: tuple[SlotId, ...] | None, named: str) -> None:
    """Refuse some of the cards of what does not work yet."""
    if slots is None or set(slots) == set(lease.slots):
        return
    if lease.state in (LeaseState.RESERVED, LeaseState.MOVING):
        why = f"its cards come together and do not work yet; force release #{lease.label} because … takes all of them"
        raise NotPossible(what=f"force release {named}", why=why)
