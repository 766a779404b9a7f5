"""Cards that sit on a machine and are lent to nobody: on which machine, and who may say what about them.

Used by ``adopt`` and ``letgo``. Look-ups only; nothing is written here.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import strangers
from bot.domain.away import brought
from bot.domain.errors import NotPossible, NotYours, WhichThing
from bot.domain.grammar import Heard, RefKind
from bot.domain.model import Machine, Mode, Person, SlotId
from bot.domain.slots import card_name, has_kind
from bot.service.context import Context


def meant(ctx: Context, heard: Heard) -> tuple[SlotId, ...]:
    """The devices that the line names: cards, parts of cards, and of a card that is cut into parts those that are lent to nobody."""
    found = strangers.found(ctx.draft, ctx.sight())
    slots: dict[SlotId, None] = {}
    for ref, card in ((ref, ctx.cards(Heard(refs=(ref,)))[0]) for ref in heard.refs_of(RefKind.CARD)):
        if card.mode is not Mode.VGPU:
            slots[card.name] = None
        elif "." in ref.text:
            slots[f"{card.name}.{ref.text.rpartition('.')[2]}"] = None
        else:
            mine = [x.slot for x in found if card_name(x.slot) == card.name]
            slots |= dict.fromkeys(mine or [card.name])
    return tuple(slots)


def machine_with(ctx: Context, slots: Sequence[SlotId]) -> Machine:
    """The registered machine on which all these devices sit, by the last look.

    :raises NotPossible: they sit elsewhere, or nobody can say
    """
    sight = ctx.sight()
    places = {slot: sight.settings(slot) for slot in slots}
    found = {uuid for place in places.values() for uuid in place or ()}
    if any(not place for place in places.values()) or len(found) != 1:
        names = ", ".join(places)
        raise NotPossible(what=names, why=f"I do not see {names} on exactly one machine; status says what I see")
    machine = ctx.draft.machines.get(found.pop())
    if machine is None:
        raise NotPossible(
            what=slots[0], why=f"the machine in which {slots[0]} sits is not known to me: machine add NAME"
        )
    if along := [slot for slot in slots if brought(ctx.draft, sight, machine.uuid, slot)]:
        why = f"{machine.name} was moved to this host with what it was lent on another; give that back first"
        raise NotPossible(what=", ".join(along), why=why)
    return machine


def kind_of(ctx: Context, machine: Machine, slots: Sequence[SlotId]) -> str:
    """What they are lent as: one kind at a time.

    :raises NotPossible: several kinds, or one that is not lent here
    """
    sight = ctx.sight()
    kinds = {slot: strangers.kind_at(ctx.draft, sight, slot, machine.uuid) for slot in slots}
    odd = next((s for s, kind in kinds.items() if not has_kind(ctx.draft.card(s), kind)), None)
    if odd is not None:
        raise NotPossible(what=odd, why=f"it is {kinds[odd] or 'of a size that I cannot tell'}, which is not lent here")
    if len(set(kinds.values())) > 1:
        raise NotPossible(what=", ".join(slots), why="they are of different sizes: name them one at a time")
    return next(iter(kinds.values()))


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
