"""Cards that sit on a machine and are lent to nobody: on which machine, and who may say what about them.

Used by ``adopt`` and ``letgo``. Look-ups only; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.errors import NotPossible, NotYours, WhichThing
from bot.domain.model import Card, Machine, Person
from bot.domain.sight import Sight
from bot.service.context import Context


def machine_with(ctx: Context, cards: Sequence[Card]) -> Machine:
    """The registered machine on which all these cards sit, by the last look.

    :raises NotPossible: they sit elsewhere, or nobody can say
    """
    sight = Sight(ctx.draft, ctx.seen, ctx.readings)
    places = {card.name: sight.settings(card.name) for card in cards}
    found = {uuid for place in places.values() for uuid in place or ()}
    if any(not place for place in places.values()) or len(found) != 1:
        names = ", ".join(places)
        raise NotPossible(what=names, why=f"I do not see {names} on exactly one machine; status says what I see")
    machine = ctx.draft.machines.get(found.pop())
    if machine is None:
        raise NotPossible(
            what=cards[0].name, why=f"the machine in which {cards[0].name} sits is not known to me: machine add NAME"
        )
    return machine


def owner_or_admin(ctx: Context, machine: Machine) -> None:
    """Refuse all others.

    :raises NotYours: neither an owner of the machine nor an admin
    """
    if ctx.person.id not in machine.owners and ctx.person.id not in set(ctx.people.admins()):
        raise NotYours(what=machine.name, owners=machine.owners)


def holder_for(ctx: Context, machine: Machine, named: Sequence[Person]) -> Person:
    """Who gets a card that sits on a machine: who was named, who says it, or the only owner.

    :raises WhichThing: several owners, and none was named
    :raises NoAnswer: who was named cannot answer
    """
    if named:
        return ctx.answering(named[0])
    if ctx.person.id in machine.owners:
        return ctx.person
    if len(machine.owners) > 1:
        choices = tuple(f"@{ctx.people.person(owner).name}" for owner in machine.owners)
        raise WhichThing(what="owner", choices=choices, command=f"{ctx.whole} for")
    return ctx.people.person(machine.owners[0])
