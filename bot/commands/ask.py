"""ask @holder [about #n / CARD] [because …]: ask who has a card whether you can have it sooner; you read what they answer

They are asked once, in their working hours, and nothing is taken from them: without an answer all stays as it is. Without a person:
``ask T4-1``, ``ask #12``. A reason is read by who has the card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain import attention, inquiries
from bot.domain.errors import NotPossible, TooLate, Unclear, UnknownThing, WhichThing
from bot.domain.grammar import Heard, RefKind
from bot.domain.model import Lease, LeaseState, Person, PersonId, Request, SlotId
from bot.domain.slots import kinds_of, rivals
from bot.service.context import Context, Takes, name_of
from bot.service.ports import Reply
from bot.service.words.answers_ask import asked, whom

WORDS = ("ask", "ask about")
ADMIN = False
WRITES = True
RANK = 12

EXAMPLES = (
    ("ask @ada", "whether you can have her card sooner"),
    ("ask T4-1", "whoever has this one"),
    ("ask @ada about #12 because the demo is at three", "about this one; she reads why"),
)

HINT = "ask @ada, ask T4-1, ask #12 because the demo is at three"
TAKES = Takes(refs=frozenset({RefKind.LABEL, RefKind.CARD, RefKind.PERSON, RefKind.NAME}))


def run(ctx: Context) -> Reply:
    """One question to the holder of one thing."""
    heard = ctx.hear()
    if ctx.text.lower().startswith("me "):  # ask me first
        raise Unclear(text=ctx.whole, hint=f"window {ctx.whole}; or to ask a holder: {HINT}")
    heard = _with_names(ctx, replace(heard, rest=tuple(word for word in heard.rest if word.lower() != "about")))
    ctx.clear(heard, HINT, TAKES)
    if heard.machine is not None:
        raise Unclear(text=f"on {heard.machine}", hint=HINT)
    if not heard.refs:
        return whom(ctx.scene(), _held(ctx, None, ctx.person.id), ctx.person.id)
    lease, slots = _meant(ctx, heard)
    people = {id: ctx.people.person(id) for id in {lease.person, *ctx.draft.machines[lease.machine].owners}}
    one, at = inquiries.ask(ctx.draft, lease, slots, ctx.person.id, heard.because, people, ctx.policy)
    to = one.to or attention.audience(ctx.draft, people, lease)
    return asked(ctx.scene(), lease, one, at, to)


def _with_names(ctx: Context, heard: Heard) -> Heard:
    """The line with a bare name read as a person; one that nobody is called is refused, with those who have a card.

    :raises UnknownThing: nobody is called that
    """
    heard = ctx.called(heard)
    if len(heard.rest) != 1 or heard.refs_of(RefKind.PERSON, RefKind.NAME):
        return heard
    holders = dict.fromkeys(x.person for x in _held(ctx, None, ctx.person.id))
    known = tuple(f"@{ctx.people.person(x).name}" for x in holders)
    raise UnknownThing(what="person", text=heard.rest[0], known=known)


def _meant(ctx: Context, heard: Heard) -> tuple[Lease, tuple[SlotId, ...]]:
    """The one lease that is asked about, and which of its devices."""
    people = ctx.persons(heard)
    if len(people) > 1:
        raise Unclear(text=ctx.text, hint=f"one at a time: ask @{people[0].name}")
    named = _named(ctx, heard)
    if len(named) > 1:
        raise WhichThing(what="card", choices=tuple(_typed(*x) for x in named), command="ask")
    if named:
        lease, slots = named[0]
        if people and lease.person != people[0].id:
            owner = ctx.people.person(lease.person).name
            why = f"{' and '.join(slots)} is with {owner}, not with {people[0].name}"
            raise NotPossible(what=f"ask {people[0].name}", why=why, works=f"ask {_typed(lease, slots)}")
        return _working(lease), slots
    return _of(ctx, people[0])


def _named(ctx: Context, heard: Heard) -> list[tuple[Lease, tuple[SlotId, ...]]]:
    """What the line names by number or card, by lease, each once."""
    found: dict[str, tuple[Lease, list[SlotId]]] = {}
    for label in ctx.labels(heard):
        thing = ctx.numbered(label)
        if isinstance(thing, Request):
            who = ctx.people.person(thing.person).name
            raise NotPossible(
                what=f"ask #{label}", why=f"{who} waits with #{label} and has no card", works=f"why #{label}"
            )
        found[thing.label] = thing, list(thing.slots)
    for slot in ctx.devices(heard):
        lease = ctx.lease_on(slot)
        if lease is None:
            raise _nobody_has(ctx, slot)
        slots = found.setdefault(lease.label, (lease, []))[1]
        slots += [slot] if slot not in slots else []
    return [(lease, tuple(slots)) for lease, slots in found.values()]


def _nobody_has(ctx: Context, slot: SlotId) -> NotPossible:
    """No to a card that is lent to nobody: that it rests, or how it is asked for."""
    card = ctx.draft.card(slot)
    if card.aside is not None or card.doubted or not ctx.sight().clean(slot):
        return NotPossible(
            what=f"ask {slot}", why=f"{slot} is lent to nobody, and is not free either", works=f"why {slot}"
        )
    kind = next(iter(kinds_of(card)), "")
    return NotPossible(what=f"ask {slot}", why=f"nobody has {slot}", works=f"request 1 {kind}".strip())


def _working(lease: Lease) -> Lease:
    """What works, so that it can be given back.

    :raises TooLate: it goes back already, or is not there yet
    """
    if lease.state is LeaseState.RETURNING:
        raise TooLate(state=str(lease.state), number=lease.label, why="it goes back already")
    if lease.state is not LeaseState.ACTIVE:
        raise TooLate(state=str(lease.state), number=lease.label, why="it is only on its way to who is to have it")
    return lease


def _of(ctx: Context, person: Person) -> tuple[Lease, tuple[SlotId, ...]]:
    """What somebody has: of several what the person who asks waits for.

    :raises NotPossible: they have nothing; with who has
    :raises WhichThing: several things
    """
    if person.id == ctx.person.id:
        mine = [x for x in ctx.own_leases() if x.state is LeaseState.ACTIVE]
        works = f"release {name_of(mine[0])}" if mine else "request 1"
        raise NotPossible(what=f"ask {person.name}", why="that is you", works=works)
    theirs = [x for x in ctx.open_leases() if x.person == person.id]
    held = _held(ctx, person.id)
    if not held:
        if theirs:
            _working(theirs[0])
        others = _held(ctx, None, ctx.person.id)
        works = f"ask {_typed(others[0], others[0].slots)}" if others else "request 1"
        raise NotPossible(what=f"ask {person.name}", why=f"{person.name} has no card", works=works)
    if len(held) > 1:
        raise WhichThing(what="card", choices=tuple(_typed(x, x.slots) for x in held), command="ask")
    return held[0], held[0].slots


def _held(ctx: Context, person: PersonId | None, but: PersonId = "") -> list[Lease]:
    """What somebody (None: whoever but one) has that works: what would serve the person who asks, where anything does."""
    found = [x for x in ctx.open_leases() if x.state is LeaseState.ACTIVE and x.person != but]
    found = [x for x in found if person in (None, x.person)]
    wanted = {kind for r in ctx.own_requests() for kind in rivals(ctx.draft, r.kind)}
    return [x for x in found if x.kind in wanted] or found


def _typed(lease: Lease, slots: Sequence[SlotId]) -> str:
    """As it is typed: its number, or the one card."""
    return slots[0] if len(slots) == 1 else name_of(lease)
