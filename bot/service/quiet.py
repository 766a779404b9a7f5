"""What an answer to a question about quiet cards is about: found in the line, or in the question that stands. Used by ``using`` and ``keep``.

What the answer does is a rule of ``domain.idle``; here it is only said who is told.
"""

from __future__ import annotations

from datetime import datetime

from bot.domain import idle
from bot.domain.errors import NotPossible, NotYours, TooLate
from bot.domain.grammar import Heard, RefKind
from bot.domain.leases.acts import owns
from bot.domain.model import Lease, LeaseState, Request, SlotId
from bot.domain.news import News, NewsKind
from bot.service.context import Context

Asked = tuple[Lease, tuple[SlotId, ...]]
"""A lease, and which of its cards."""


def named(ctx: Context, heard: Heard, what: str) -> list[Asked]:
    """The working cards that the line names, by lease, each once.

    :param what: the verb, for the refusals
    :raises NotPossible: nobody has the card
    :raises TooLate: the card is not there yet, or on its way back
    :raises NotYours: somebody else's
    """
    found: dict[str, tuple[Lease, list[SlotId]]] = {}
    for label in ctx.labels(heard):
        thing = ctx.numbered(label)
        if isinstance(thing, Request):
            raise TooLate(state=str(thing.state), number=label, why="it has no card yet")
        found[thing.label] = (thing, list(asked_of(ctx, thing)))
    for slot in ctx.devices(heard):
        lease = ctx.lease_on(slot)
        if lease is None:
            raise NotPossible(what=f"{what} {slot}", why=f"nobody has {slot}")
        slots = found.setdefault(lease.label, (lease, []))[1]
        if slot not in slots:
            slots.append(slot)
    for lease, _ in found.values():
        answerable(ctx, lease)
    return [(lease, tuple(slots)) for lease, slots in found.values()]


def meant(ctx: Context, heard: Heard, what: str) -> list[Asked]:
    """The same; and if the line names nothing, what was asked about last, else the only cards there are.

    :raises NotPossible: the person has no card that works
    :raises WhichThing: several could be meant
    """
    if heard.refs_of(RefKind.LABEL, RefKind.CARD):
        return named(ctx, heard, what)
    working = [x for x in ctx.own_leases() if x.state is LeaseState.ACTIVE]
    if not working:
        raise NotPossible(what=what, why="you have no card that works now")
    asked = [x for x in working if x.nudge is not None and not x.nudge.over]
    lease = ctx.only(asked or working, "card")
    return [(lease, asked_of(ctx, lease))]


def asked_of(ctx: Context, lease: Lease) -> tuple[SlotId, ...]:
    """Which cards of a lease an answer is about that names none: those asked about, else those that are quiet, else all."""
    if lease.nudge is not None and not lease.nudge.over:
        return tuple(s for s in lease.nudge.slots if s in lease.slots) or lease.slots
    return tuple(idle.quiet_slots(ctx.draft, lease, ctx.now, ctx.policy)) or lease.slots


def answerable(ctx: Context, lease: Lease) -> None:
    """Refuse an answer for a lease that is somebody else's, or has no card that works.

    :raises NotYours: said by neither its holder, nor an owner of its machine, nor an admin
    :raises TooLate: its card does not work yet, or goes back
    """
    if not owns(ctx.draft, lease, ctx.person.id) and ctx.person.id not in set(ctx.people.admins()):
        raise NotYours(what=f"{' and '.join(lease.slots)} (#{lease.label})", owners=(lease.person,))
    if lease.state is not LeaseState.ACTIVE:
        back = lease.state is LeaseState.RETURNING
        why = f"it goes back already; keep #{lease.label} takes that back" if back else "its card does not work yet"
        raise TooLate(state=str(lease.state), number=lease.label, why=why)


def tell_holder(
    ctx: Context, lease: Lease, slots: tuple[SlotId, ...], what: str, until: datetime | None = None
) -> None:
    """Whoever has a card hears at once what somebody else answered about it.

    :param what: ``using`` or ``kept quiet``
    """
    if ctx.person.id != lease.person:
        ctx.draft.tell(
            News(NewsKind.ACTED, lease.person, lease=lease, slots=slots, who=ctx.person.id, reason=what, until=until)
        )
