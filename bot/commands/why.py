"""why [#n / @person / CARD]: why you wait, and until when"""

from __future__ import annotations

from bot.domain.errors import Over, UnknownThing
from bot.domain.grammar import Heard, RefKind
from bot.domain.model import Card, Lease, LeaseState, Mode, Person, Request
from bot.service import words
from bot.service.context import Context, Takes
from bot.service.ports import Reply

WORDS = ("why",)
ADMIN = False
WRITES = False
RANK = 3

EXAMPLES = (
    ("why", "your own request or card"),
    ("why #12", "this one"),
    ("why @bob", "what bob waits for or has"),
    ("why T4-1", "this card"),
)

HINT = "why, why #12, why @bob, why T4-1"
TAKES = Takes(refs=frozenset({RefKind.LABEL, RefKind.CARD, RefKind.PERSON, RefKind.NAME}))


def run(ctx: Context) -> Reply:
    """The rule, the people, the times, about one thing."""
    heard = ctx.called(ctx.hear())
    ctx.clear(heard, HINT, TAKES)
    named = next(iter(ctx.devices(heard)), "")
    meant, bare = _meant(ctx, heard), not heard.refs
    own: list[Request | Lease] = [*ctx.own_requests(), *ctx.own_leases()] if bare else []
    return words.why(ctx.scene(), ctx.person, meant, named, [x for x in own if x is not meant])


def _meant(ctx: Context, heard: Heard) -> Request | Lease | Card | None:
    """What is asked about; None: nothing, for who asks has nothing and waits for nothing."""
    for label in ctx.labels(heard):
        return _numbered(ctx, label)
    for ref, card in zip(heard.refs_of(RefKind.CARD), ctx.cards(heard), strict=False):
        shared = card.mode is Mode.VGPU and "." not in ref.text  # told as a whole: who has which part
        return card if shared else ctx.lease_on(ctx.devices(heard)[0]) or card
    for person in ctx.persons(heard):
        return _theirs(ctx, person)
    waits = sorted(ctx.own_leases(), key=lambda lease: lease.state is LeaseState.ACTIVE)  # what works needs no reason
    own: list[Request | Lease] = [*ctx.own_requests(), *waits]
    return own[0] if own else None


def _numbered(ctx: Context, label: str) -> Request | Lease:
    """Whatever has the number, also if it is over."""
    try:
        return ctx.numbered(label)
    except Over:
        over = ctx.over(label)
        assert over is not None, "it was there a moment ago"
        return over


def _theirs(ctx: Context, person: Person) -> Request | Lease:
    """What somebody else waits for, or has."""
    things: list[Request | Lease] = [
        *(r for r in ctx.waiting() if r.person == person.id),
        *(x for x in ctx.open_leases() if x.person == person.id),
    ]
    if not things:
        raise UnknownThing(what="request or card of that person", text=person.name, known=())
    return things[0]
