"""Who has what, for one person: bare ``/gpu``, ``mine`` and ``queue``."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.interests import interests_of
from bot.domain.model import (
    Books,
    Lease,
    LeaseState,
    Machine,
    PersonId,
)
from bot.domain.queue import line
from bot.service.ports import Bold, Button, Code, LineOf, Name, Reply, When
from bot.service.words.answers_watch import interest_line
from bot.service.words.board import (
    View,
    as_of_line,
    back_words,
    card_lines,
    comes_out_tail,
    goes_back,
    held_up_words,
    left_off,
    line_lines,
    moved_tail,
    on_the_way,
    paused_line,
    request_button,
    restart_tail,
    stand_tail,
    starts_by,
    summary,
    when_on,
)
from bot.service.words.common import (
    HELP,
    MINE,
    QUEUE,
    WHY,
    Part,
    Scene,
    button,
    command,
    count_of,
    head,
    kind_before,
    label_ref,
    listed,
    ln,
    machine_word,
    name_of,
    place_word,
    said,
    say,
    slots_of,
    until_words,
    wanted,
)
from bot.service.words.order import ahead, rule_line
from bot.service.words.passing import lifted_line
from bot.service.words.seen_inside import doing_tail
from bot.service.words.why_short import short_words


def status(scene: Scene, person: PersonId) -> Reply:
    """Bare ``/gpu``: the board, my cards and my place in one answer."""
    view = View(scene.books, scene.seen, scene.now)
    own = _own_lines(scene, view, person)
    return say(
        head(_you(scene, person), " ", summary(view), "."),
        paused_line(scene.books),
        *card_lines(view, scene.policy),
        *line_lines(scene.books, scene.now, scene.promises, scene.left),
        ln(Bold("You")) if own else None,
        *own,
        as_of_line(view),
        buttons=(
            request_button(scene.books, scene.seen, scene.now),
            *_own_buttons(scene, person),
            QUEUE,
            HELP,
        ),
    )


def mine(scene: Scene, person: PersonId) -> Reply:
    """My cards, my place in line, my machines."""
    view = View(scene.books, scene.seen, scene.now)
    own = _own_lines(scene, view, person)
    owned = sorted((m for m in scene.books.machines.values() if person in m.owners), key=lambda m: m.name)
    machines, gone = [m for m in owned if not m.gone], [m for m in owned if m.gone]
    theirs: Part = listed(name_of(m) for m in machines[:6])
    return say(
        head(_you(scene, person)),
        *own,
        ln("Your machines: ", theirs, f" and {len(machines) - 6} more." if len(machines) > 6 else ".")
        if machines
        else ln(
            "No machine of yours is known to me; an admin can add it: ", command(scene.policy, "machine add NAME"), "."
        ),
        _gone_line(scene, gone),
        interest_line(scene, interests_of(scene.books, person)),
        buttons=(
            *_own_buttons(scene, person),
            request_button(scene.books, scene.seen, scene.now),
            QUEUE,
        ),
    )


def _gone_line(scene: Scene, gone: Sequence[Machine]) -> LineOf | None:
    """Machines that vCenter has no more, until an admin forgets them."""
    if not gone:
        return None
    return ln(
        listed(name_of(m) for m in gone[:4]),
        f" {'is' if len(gone) == 1 else 'are'} gone from vCenter. An admin can have {'it' if len(gone) == 1 else 'them'} forgotten: ",
        command(scene.policy, f"machine remove {name_of(gone[0])}"),
        ".",
    )


def _you(scene: Scene, person: PersonId) -> list[Part]:
    have = sum(len(x.slots) for x in _leases(scene.books, person) if _has(scene.books, x))
    places = [i for i, r in enumerate(line(scene.books), 1) if r.person == person]
    cards = f"You have {count_of(have, 'card')}" if have else "You have no card"
    return [f"{cards} and are {place_word(places[0])}." if places else f"{cards}."]


def _has(books: Books, lease: Lease) -> bool:
    """Whether its cards work, or are on the way."""
    on_its_way = lease.state is LeaseState.MOVING and not goes_back(books, lease)
    return lease.state is LeaseState.ACTIVE or on_its_way


def _leases(books: Books, person: PersonId) -> list[Lease]:
    open_ = (LeaseState.RESERVED, LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING)
    return sorted(
        (x for x in books.leases.values() if x.person == person and x.state in open_),
        key=lambda x: (x.request, x.label),
    )


def _own_lines(scene: Scene, view: View, person: PersonId) -> list[LineOf]:
    lines = []
    for lease in _leases(scene.books, person)[:6]:
        ref, vm = Code(label_ref(lease.label)), machine_word(scene.books, lease.machine)
        lines.append(
            ln(
                ref,
                " ",
                kind_before(lease.kind, lease.slots),
                slots_of(lease.slots),
                f" for {vm}"
                if lease.state is LeaseState.RESERVED
                or (lease.state is LeaseState.MOVING and goes_back(scene.books, lease))
                else f" in {vm}",
                _mine(scene, view, lease),
            )
        )
        if lifted := lifted_line(scene.books, lease, scene.policy, person):
            lines.append(lifted)
    for request in [r for r in line(scene.books) if r.person == person][:4]:
        vm = machine_word(scene.books, request.machine)
        lines.append(
            ln(
                Code(f"#{request.number}"),
                f" {wanted(request)} for {vm}, asked ",
                When(request.asked),
                stand_tail(request, scene.now, scene.promises),
                short_words(scene.books.requests, request, scene.left.get(request.number), scene.now),
            )
        )
    return lines


def _mine(scene: Scene, view: View, lease: Lease) -> list[Part]:
    match lease.state:
        case LeaseState.ACTIVE if lease.over_time:
            return [": your time is over, nobody waits, it stays for now"]
        case LeaseState.RESERVED if off := next((x for s in lease.slots if (x := moved_tail(view, lease, s))), ""):
            return [", yours ", until_words(lease.terms.length, scene.policy, lease.end), off]
        case LeaseState.ACTIVE:
            doing = doing_tail(scene, lease)
            moved = next((tail for s in lease.slots if (tail := moved_tail(view, lease, s))), "")
            return [", yours ", until_words(lease.terms.length, scene.policy, lease.end), moved or doing]
        case LeaseState.RETURNING:
            told = lease.reason if lease.ended_by != lease.person and lease.reason != "given back" else ""
            why: list[Part] = [": ", said(told, 160)] if told else []
            return [
                ", ",
                back_words(scene.books, lease),
                why,
                comes_out_tail(scene.books, scene.seen, lease, scene.now, scene.policy, len(lease.slots)),
            ]
        case LeaseState.MOVING if goes_back(scene.books, lease):
            return [f": not put in this time, {machine_word(scene.books, lease.machine)} is put on again as it was"]
        case LeaseState.MOVING if left_off(view, lease):
            return [", which is off", when_on(view, lease, scene.policy)]
        case LeaseState.MOVING:
            return [", on its way to you", held_up_words(scene.books, lease), starts_by(lease, scene.policy)]
        case _:
            return [", reserved for you", restart_tail(scene.books, lease, scene.now, scene.policy)]


def _own_buttons(scene: Scene, person: PersonId) -> list[Button]:
    held = [x for x in _leases(scene.books, person) if x.state is LeaseState.ACTIVE]
    waits = [r for r in line(scene.books) if r.person == person]
    out: list[Button] = []
    if waits:
        out.append(button("Why do I wait?", f"why #{waits[0].number}"))
    if held:
        out.append(
            button(
                f"Give {held[0].slots[0] if len(held[0].slots) == 1 else label_ref(held[0].label)} back",
                f"release #{held[0].label}",
            )
        )
    return out


def queue(scene: Scene) -> Reply:
    """Who is in line."""
    waiting, coming = line(scene.books), on_the_way(scene.books)
    request = request_button(scene.books, scene.seen, scene.now)
    if not waiting:
        return say(head("Nobody is in line", ["; ", coming] if coming else None, "."), buttons=(request, MINE))
    first = waiting[0]
    later = sum(ahead(r, scene.now) for r in waiting)
    some = f", {later} of them booked for later" if len(waiting) > 1 else ", booked for later"
    booked = some if later else ""
    return say(
        head(
            f"{count_of(len(waiting), 'request')} in line{booked}, first: ",
            Name(first.person),
            f" for {wanted(first)}.",
        ),
        *line_lines(scene.books, scene.now, scene.promises, scene.left)[1:],
        ln("In no line any more: ", coming, ".") if coming else None,
        rule_line(waiting),
        buttons=(WHY, MINE, request),
    )
