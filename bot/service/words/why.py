"""Answers to ``why``: the rule, the people and the times behind a place in line, a card that somebody has, or any card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.domain import away
from bot.domain.leases import keep_offered
from bot.domain.model import (
    BOT,
    Card,
    Lease,
    LeaseState,
    Machine,
    Mode,
    MoveState,
    Person,
    PersonId,
    Request,
    RequestState,
    RestWhy,
    SlotId,
)
from bot.domain.queue import line, line_of, place, wanting
from bot.domain.slots import card_name
from bot.service.ports import Button, Code, LineOf, Name, Reply, When
from bot.service.words.answers import (
    agreed_for,
    agreed_when,
    asked_buttons,
    is_off,
    promise_line,
    restart_buttons,
    standing_still,
    too_late_line,
    worst_line,
)
from bot.service.words.answers_cards import comes_out_words
from bot.service.words.board import (
    View,
    card_words,
    goes_back,
    held_up_words,
    is_lent,
    left_off,
    request_button,
    stand_tail,
    when_on,
)
from bot.service.words.common import (
    MINE,
    QUEUE,
    Part,
    Scene,
    because,
    button,
    by_number,
    card_s,
    clock_words,
    command,
    head,
    it_them,
    label_ref,
    listed,
    ln,
    machine_word,
    name_of,
    next_words,
    place_word,
    said,
    say,
    slots_of,
    soonest_words,
    tidy,
    usable,
    wanted,
)
from bot.service.words.kinds import kind_words, kinds_there, size_words
from bot.service.words.news_line import give_buttons, put_buttons
from bot.service.words.seen_inside import inside_lines


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
        lease = next((x for x in scene.books.leases.values() if x.request == thing.number and x.state in _OPEN), None)
        return _why_request(scene, person.id, thing) if lease is None else _why_lease(scene, person.id, lease)
    if isinstance(thing, Lease):
        return _why_lease(scene, person.id, thing, card)
    if isinstance(thing, Card):
        return _why_card(scene, thing)
    waiting = line(scene.books)
    order = (
        ln("In line: ", listed(Name(p) for p in dict.fromkeys(r.person for r in waiting[:4])), ".")
        if waiting
        else ln("Nobody waits.")
    )
    return say(
        head("You wait for nothing and have no card."),
        ln("The order is first come, first served; all cards of a request together, and nobody passes."),
        order,
        buttons=(request_button(scene.books, scene.seen, scene.now), QUEUE),
    )


_OPEN = (LeaseState.RESERVED, LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING)


def _why_lease(scene: Scene, reader: PersonId, lease: Lease, card: SlotId = "") -> Reply:
    """Why somebody has a card, or why it is not there yet, or why it is gone."""
    request = scene.books.requests.get(lease.request)
    asked: LineOf | None = None
    if request is not None:
        ref = Code(label_ref(lease.label))
        asked = ln("Asked ", When(request.asked), " (", ref, "); first come, first served.")
    what_for = because(request.because, "For: ") if request is not None else None
    return say(
        *_stands(scene, reader, lease),
        *_moved_away(scene, lease),
        *inside_lines(scene, lease, reader, card),
        asked,
        what_for,
        _where(scene, lease),
        *standing_still(scene),
        buttons=_lease_buttons(scene, lease, lease.person == reader),
    )


def _moved_away(scene: Scene, lease: Lease) -> list[LineOf]:
    """That its machine is on another host than its cards, and what would help."""
    sight = View(scene.books, scene.seen, scene.now).sight
    slots = sorted(away.away(sight, lease), key=by_number) if is_lent(lease) else []
    if not slots:
        return []
    vm, one = machine_word(scene.books, lease.machine), len(slots) == 1
    host = sight.card(slots[0]).host_name
    back = command(scene.policy, f"release {label_ref(lease.label)}")
    return [
        ln(tidy(away.words(scene.books, sight, lease, slots), 200), f": {'it cannot work' if one else 'they cannot work'} there."),
        ln(
            f"{'It stays' if one else 'They stay'} lent to {vm}. What helps: an admin moves {vm} back to {host}; or give ",
            f"{it_them(len(slots))} back, and ask anew for what {vm} can have there: ", back, ".",
        ),
    ]  # fmt: skip


def _where(scene: Scene, lease: Lease) -> LineOf | None:
    """Its cards as vCenter has them: the address is what both know a card by."""
    slots = [s for s in sorted(lease.slots, key=by_number)[:4] if card_name(s) in scene.books.cards]
    if not slots:
        return None
    one, cards = len(slots) == 1, [scene.books.card(s) for s in slots]
    at: list[tuple[SlotId, str]] = [(s, c.pci) for s, c in zip(slots, cards, strict=True)]
    named: list[Part] = [Code(pci) if one else [Code(slot), " at ", Code(pci)] for slot, pci in at]
    mode = cards[0].mode
    given: Part = None
    if mode is Mode.VGPU:
        given = f" {'It is a' if one else 'They are'} {kind_words(lease.kind, len(slots))}, to {'its' if one else 'their'} host "
        given = [given, Code(lease.kind), "; on which card it is, the host chooses at each start." if one else "."]
    elif mode is Mode.DYNAMIC:
        given = [" Any card that its host calls ", Code(cards[0].label), " serves; the host chooses at each start."]
    return ln(f"In {cards[0].host_name}{' at' if one else ':'} ", listed(named), ".", given)


def _stands(scene: Scene, reader: PersonId, lease: Lease) -> list[LineOf | None]:
    """Where it stands, and what is missing."""
    mine = lease.person == reader
    who: Part = "you" if mine else Name(lease.person)
    vm = machine_word(scene.books, lease.machine)
    many = len(lease.slots) > 1
    cards = slots_of(lease.slots)
    view = View(scene.books, scene.seen, scene.now)
    off = left_off(view, lease)
    match lease.state:
        case LeaseState.RESERVED:
            first = head(cards, f" {'are' if many else 'is'} reserved for ", who, f" on {vm}, not put in yet.")
            moved = is_lent(lease) and bool(_moved_away(scene, lease))  # no restart there would help
            return [first, None if moved else _missing(scene, lease, vm), _blockers(scene, lease)]
        case LeaseState.MOVING if goes_back(scene.books, lease):
            first = head(cards, f" {'are' if many else 'is'} not put into {vm} this time.")
            stay = f"{'They stay' if many else 'It stays'} reserved for "
            return [first, ln(f"{vm} is put on again as it was. {stay}", who, ".")]
        case LeaseState.MOVING if off:
            first = head(cards, f" {'are' if many else 'is'} in {vm} for ", who, ".")
            return [first, ln(f"{vm} is off", when_on(view, lease, scene.policy), ".")]
        case LeaseState.MOVING:
            held_up = held_up_words(scene.books, lease)
            first = head(cards, f" {'are' if many else 'is'} on the way into {vm} for ", who, held_up, ".")
            if lease.active_since is not None:
                anew = "Its host was restarted, and it is put on anew at another address; the time goes on."
                return [first, ln(anew)]
            work = "they are" if many else "it is"
            its = "Their" if many else "Its"
            late = lease.bound_since + scene.policy.seen_in_guest if lease.bound_since is not None else None
            if late is None or lease.guest_without_since is not None:
                return [first, ln(f"{its} time starts when {work} seen to work.")]
            at = ln(f"{its} time starts when {work} seen to work, or, without a word from inside, ", When(late), ".")
            return [first, at]
        case LeaseState.ACTIVE if lease.over_time:
            has = f" still {'have' if mine else 'has'} "
            first = head(_capital(who), has, cards, " although the time is over: nobody waited.")
            return [first, ln(f"{'They go' if many else 'It goes'} back first as soon as somebody asks.")]
        case LeaseState.ACTIVE:
            until: Part = [" until ", When(lease.end)] if lease.end is not None else None
            first = head(_capital(who), f" {'have' if mine else 'has'} ", cards, f" in {vm}", until, ".")
            return [first, ln(f"{vm} is off now.") if off else None]
        case LeaseState.RETURNING:
            words = comes_out_words(scene, lease)
            first = head(cards, f" {'go' if many else 'goes'} back from ", who, f" ({vm}).")
            out = ln("Out ", words, ".") if words else ln(f"When {vm} restarts is not agreed yet.")
            return [first, out, because(lease.reason), _blockers(scene, lease)]
        case _:
            by: Part = (
                None
                if lease.ended_by == BOT
                else [", by ", "you" if lease.ended_by == reader else Name(lease.ended_by)]
            )
            first = head(f"{label_ref(lease.label)} is over: ", cards, " of ", who, by, ".")
            return [first, because(lease.reason), ln("Since ", When(lease.changed), ".")]


def _capital(who: Part) -> Part:
    return "You" if who == "you" else who


def _missing(scene: Scene, lease: Lease, vm: str) -> LineOf:
    agreed = usable(scene.books, lease.machine, lease.label, scene.now, scene.policy)
    if agreed:
        machine = scene.books.machines.get(lease.machine)
        when = next_words(agreed[0], machine, scene.now, scene.policy)
        when = soonest_words(agreed, scene.now, machine, scene.policy, when)
        return ln(f"Missing is a restart of {vm}, agreed ", when, ".", _stop_with(scene, lease))
    return ln(f"Missing is a time when {vm} may restart.")


def _stop_with(scene: Scene, lease: Lease) -> list[Part]:
    """The number of the restart that is announced for it, and what it is good for."""
    planned = (m for m in scene.books.moves.values() if m.machine == lease.machine and m.state is MoveState.PLANNED)
    move = next((m for m in planned if m.announced is not None), None)
    return [" To call it off: ", command(scene.policy, f"stop m{move.number}"), "."] if move is not None else []


def _blockers(scene: Scene, lease: Lease) -> LineOf | None:
    found = [
        b
        for m in scene.books.moves.values()
        if m.machine == lease.machine and m.state is MoveState.PLANNED
        for b in m.blockers
    ]
    return because("; ".join(found), "In the way: ")


def _lease_buttons(scene: Scene, lease: Lease, mine: bool) -> tuple[Button | None, ...]:
    """What is still to be said about it: a time to restart, if that is missing."""
    if not mine or lease.state not in _OPEN:
        return (QUEUE, MINE)
    machine = scene.books.machines.get(lease.machine)
    them, ref = it_them(len(lease.slots)), label_ref(lease.label)
    if lease.state is LeaseState.RETURNING and comes_out_words(scene, lease) is None:
        return give_buttons(machine, clock_words(scene.policy), lease.label)
    if lease.state is LeaseState.RETURNING:
        return (MINE, button(f"Keep {them}", f"keep {ref}") if keep_offered(scene.books, lease, scene.now) else QUEUE)
    if lease.state is LeaseState.RESERVED and not usable(
        scene.books, lease.machine, lease.label, scene.now, scene.policy
    ):
        return put_buttons(machine, lease.label, scene.now, scene.zone or scene.policy.zone, scene.policy)
    return (MINE, button(f"Give {them} back", f"release {ref}"))


def _why_card(scene: Scene, card: Card) -> Reply:
    view = View(scene.books, scene.seen, scene.now)
    since = ln("Since ", When(card.aside.since), ".") if card.aside is not None else None
    first = next(iter(wanting(scene.books, card)), None)
    free = view.word(card) in ("free", "partly in use")
    words = card_words(view, card, scene.policy)
    is_ = " is shared " if card.mode is Mode.VGPU and view.taken(card) else " is "
    if words[0] and str(words[0]).startswith("cannot "):
        is_ = " "
    return say(
        head(Code(card.name), is_, words, "."),
        since,
        *_parts(view, card),
        ln(Name(first.person), f" is first in line, for {wanted(first)}.") if free and first is not None else None,
        ln("Nobody waits for one.") if free and first is None else None,
        ln(f"It sits in {card.host_name} at ", Code(card.pci), "."),
        _given(card),
        *standing_still(scene),
        buttons=(request_button(scene.books, scene.seen, scene.now), QUEUE),
    )


def _parts(view: View, card: Card) -> list[LineOf | None]:
    """Each part of a shared card with whose it is, and what the size of one means for others."""
    size = view.size(card) if card.mode is Mode.VGPU else ""
    if not size:
        return []
    lines: list[LineOf | None] = []
    for slot in view.taken(card)[:PARTS_TOLD]:
        lease, offered = view.lease(slot), view.offered(slot)
        if lease is not None:
            lines.append(ln(Code(slot), " ", Name(lease.person), " ", Code(label_ref(lease.label))))
        elif offered is not None:
            lines.append(ln(Code(slot), " kept for ", Name(offered.person)))
    others = [k for k in kinds_there([card]) if k != size]
    if others:
        lines.append(
            ln(
                f"While anybody has a part, all its parts are of {size_words(size) or size}: it is not free for another size."
            )
        )
    return lines


PARTS_TOLD = 8
"""Parts of a card that ``why`` tells one by one."""


def _given(card: Card) -> LineOf | None:
    """How its host gives it, where that is not as a fixed card."""
    if card.mode is Mode.DYNAMIC:
        return ln(
            "Its host calls it ", Code(card.label), " and chooses at each start which card of that name a machine gets."
        )
    if card.mode is not Mode.VGPU:
        return None
    fill = "fills one card before the next" if card.consolidates else "spreads them over its cards"
    return ln(f"Its host shares it as vGPUs, and {fill}.")


# ---- a place in line -------------------------------------------------------------------------------------------------


def _why_request(scene: Scene, reader: PersonId, request: Request) -> Reply:
    """Why somebody waits: the rule, the people, the times."""
    mine = request.person == reader
    at = place(scene.books, request)
    if request.state in (RequestState.SERVED, RequestState.WITHDRAWN):
        over = "given back" if request.state is RequestState.SERVED else "taken out of the line"
        return say(
            head(f"#{request.number} is over: {over}."),
            ln("Asked ", When(request.asked), ", by ", Name(request.person), "."),
            buttons=(MINE,),
        )
    first = _order(scene, request, reader, at)
    machine = scene.books.machines.get(request.machine)
    return say(
        first,
        because(request.because, "For: "),
        _turn_line(scene, request, mine),
        promise_line(scene.promises.get(request.number), reader) if request.rest is None else None,
        worst_line(scene.promises.get(request.number)) if request.rest is None else None,
        too_late_line(scene, request, scene.promises.get(request.number)) if mine else None,
        ln(f"{request.count} {card_s(2, request.kind)} together: nobody passes while they are gathered.")
        if request.count > 1
        else None,
        None if _stranded(request) else _window_line(scene, request, machine),
        *standing_still(scene),
        buttons=_request_buttons(scene, request, machine) if mine else (QUEUE, MINE),
    )


def _order(scene: Scene, request: Request, reader: PersonId, at: int) -> LineOf:
    """The place, and who asked before; of somebody with several requests, by their numbers."""
    mine = request.person == reader
    who: Part = "You" if mine else Name(request.person)
    are = "are" if mine else "is"
    several = sum(r.person == request.person for r in line(scene.books)) > 1
    number: Part = [" with ", label_ref(str(request.number))] if several else None
    ahead = line_of(scene.books, request)[: max(at - 1, 0)]
    if not ahead:
        return head(who, f" {are} first in line", number, f" for {wanted(request)} since ", When(request.asked), ".")
    more = f" after {len(ahead) - 2} others" if len(ahead) > 2 else ""
    own: Part = label_ref(str(request.number)) if several else "you" if mine else who
    return head(
        [who, f" {are} {place_word(at)}", number, ": "],
        listed(_asked_at(r, request, reader) for r in ahead[-2:]),
        [more, ", ", own, " ", When(request.asked), ". Nothing else counts here."],
    )


def _asked_at(request: Request, behind: Request, reader: PersonId) -> list[Part]:
    """Who asked when; an earlier request of the same person by its number."""
    if request.person == behind.person:
        whose: Part = "your " if request.person == reader else "their "
        return [whose, label_ref(str(request.number)), " was asked ", When(request.asked)]
    who: Part = "you" if request.person == reader else Name(request.person)
    return [who, " asked ", When(request.asked)]


def _stranded(request: Request) -> bool:
    """Whether it waits for another machine to be named."""
    return request.rest is not None and request.rest.why is RestWhy.MACHINE


def _turn_line(scene: Scene, request: Request, mine: bool) -> LineOf | None:
    who: Part = "you" if mine else Name(request.person)
    if request.state is RequestState.OFFERED and request.offer is not None:
        return ln(
            "It is ",
            "your turn" if mine else "their turn",
            f": {wanted(request)} {'is' if request.count == 1 else 'are'} offered, answer by ",
            When(request.offer.accept_by),
            ".",
        )
    rest = request.rest
    if rest is None:
        return _hindered(request)
    until: list[Part] = [" until ", When(rest.until)] if rest.until is not None else []
    match rest.why:
        case RestWhy.PASSED:
            return ln(
                _capital(who),
                " passed the last offer, so I do not ask again",
                until,
                f" unless another {card_s(1, request.kind)} comes up. The place is kept.",
            )
        case RestWhy.SILENT:
            return ln(
                "The last offer was not answered, so I do not ask again",
                until,
                f" unless another {card_s(1, request.kind)} comes up. The place is kept.",
            )
        case RestWhy.STILL_WANTED:
            return ln(
                "Two offers were not answered, so I asked whether it is still wanted. Without an answer it leaves the line",
                [" ", When(rest.until)] if rest.until else None,
                ".",
            )
        case RestWhy.HINDERED:
            why = (
                request.hindrance.why
                if request.hindrance is not None
                else "its machine cannot be read, or its host is away"
            )
            return ln(
                "Nothing can be given to it just now: ",
                said(why, 160),
                ". So others go first. The place is kept, and its turn comes as soon as that is over.",
            )
        case RestWhy.MACHINE:
            how = command(scene.policy, f"request {request.count} on MACHINE")
            return ln("Its machine is gone or has another owner; it waits", until, " for another one: ", how, ".")
        case RestWhy.NO_WINDOW:
            return ln(
                f"{wanted(request)} {'was' if request.count == 1 else 'were'} free for a day and the machine could not restart, so the turn went on. A restart time is waited for."
            )


def _hindered(request: Request) -> LineOf | None:
    """What keeps its turn from coming at all, while nobody goes first for that yet."""
    found = request.hindrance
    if found is None:
        return None
    return ln(
        "Nothing can be given to it just now: ",
        said(found.why, 160),
        ". If that lasts, others go first from ",
        When(found.passes),
        "; the place is kept.",
    )


def _window_line(scene: Scene, request: Request, machine: Machine | None) -> LineOf | None:
    agreed = agreed_for(scene, request)
    vm = name_of(machine)
    if agreed is not None:
        when = agreed_when(scene, agreed, scene.promises.get(request.number), str(request.number))
        return ln(f"{vm} may restart ", when, ".")
    return ln(
        f"When {vm} may restart is not agreed yet; that is asked when the turn comes."
        if not is_off(scene, request)
        else f"{vm} is off, so it needs no restart."
    )


def _request_buttons(scene: Scene, request: Request, machine: Machine | None) -> tuple[Button, ...]:
    if request.state is RequestState.OFFERED:
        return asked_buttons(scene, request, machine, None, None)
    leave = button("Leave the line", f"release #{request.number}")
    if agreed_for(scene, request) is not None or is_off(scene, request) or _stranded(request):
        return (QUEUE, leave)
    return (*restart_buttons(scene, machine, scene.promises.get(request.number), str(request.number))[:2], leave)
