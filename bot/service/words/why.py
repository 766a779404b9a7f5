"""Answers to ``why``: what is asked about, and what else of the reader waits. What is said of each is in the files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.model import (
    Card,
    Lease,
    LeaseState,
    Person,
    Request,
    RequestState,
    SlotId,
)
from bot.domain.queue import line
from bot.service.ports import Code, LineOf, Name, Reply
from bot.service.words.board import (
    request_button,
    stand_tail,
)
from bot.service.words.common import (
    QUEUE,
    Part,
    Scene,
    command,
    head,
    label_ref,
    listed,
    ln,
    machine_word,
    say,
    slots_of,
    wanted,
)
from bot.service.words.order import rule_line
from bot.service.words.why_card import of_card
from bot.service.words.why_lease import OPEN, lent
from bot.service.words.why_place import in_line


def why(
    scene: Scene,
    person: Person,
    thing: Request | Lease | Card | None,
    card: SlotId = "",
    beside: Sequence[Request | Lease] = (),
) -> Reply:
    """The answer to ``why``: about a place in line, a card that somebody has, or any card.

    :param card: which card of a lease was asked about; "" all of it
    :param beside: what else is the reader's, if nothing was named: of what waits it is said where its reasons are
    """
    told = _why(scene, person, thing, card)
    return replace(told, lines=(*told.lines, *_beside(scene, beside)))


def _beside(scene: Scene, things: Sequence[Request | Lease]) -> list[LineOf]:
    """What else of the reader waits, and how to ask about it."""
    waits = [x for x in things if isinstance(x, Request) or x.state is not LeaseState.ACTIVE]
    lines: list[LineOf] = []
    for thing in waits[:BESIDE_SHOWN]:
        ref, vm = (
            label_ref(str(thing.number) if isinstance(thing, Request) else thing.label),
            machine_word(scene.books, thing.machine),
        )
        if isinstance(thing, Request):
            held = thing.hindrance is not None and thing.state is RequestState.QUEUED
            tail: Part = (
                [": nothing can be given to it just now"] if held else stand_tail(thing, scene.now, scene.promises)
            )
            what: list[Part] = [f"{wanted(thing)} for {vm}", tail]
        else:
            what = [slots_of(thing.slots), _WAITS[thing.state].format(vm=vm)]
        lines.append(ln("Yours, too: ", Code(ref), " ", what, ". Why: ", command(scene.policy, f"why {ref}"), "."))
    if len(waits) > BESIDE_SHOWN:
        lines.append(ln(f"… and {len(waits) - BESIDE_SHOWN} more of yours: ", command(scene.policy, "mine"), "."))
    return lines


BESIDE_SHOWN = 3
"""What else waits of somebody who asks ``why`` is told one by one up to so many."""

_WAITS = {
    LeaseState.RESERVED: ", not put into {vm} yet",
    LeaseState.MOVING: ", on the way into {vm}",
    LeaseState.RETURNING: ", on the way back from {vm}",
}


def _why(scene: Scene, person: Person, thing: Request | Lease | Card | None, card: SlotId) -> Reply:
    if isinstance(thing, Request):
        lease = next((x for x in scene.books.leases.values() if x.request == thing.number and x.state in OPEN), None)
        return in_line(scene, person.id, thing) if lease is None else lent(scene, person.id, lease)
    if isinstance(thing, Lease):
        return lent(scene, person.id, thing, card)
    if isinstance(thing, Card):
        return of_card(scene, thing, person.id)
    waiting = line(scene.books)
    order = (
        ln("In line: ", listed(Name(p) for p in dict.fromkeys(r.person for r in waiting[:4])), ".")
        if waiting
        else ln("Nobody waits.")
    )
    return say(
        head("You wait for nothing and have no card."),
        rule_line(waiting),
        ln("Past whoever waits for several goes only who is surely back before their turn."),
        order,
        buttons=(request_button(scene.books, scene.seen, scene.now), QUEUE),
    )
