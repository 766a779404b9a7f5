"""``why`` of a card that somebody has, or had: where it stands, and what is missing."""

from __future__ import annotations

from bot.domain import away
from bot.domain.leases import keep_offered
from bot.domain.model import (
    BOT,
    Lease,
    LeaseState,
    Mode,
    MoveState,
    PersonId,
    SlotId,
)
from bot.domain.slots import card_name
from bot.service.ports import Button, Code, LineOf, Name, Reply, When
from bot.service.words.answers import (
    standing_still,
)
from bot.service.words.answers_cards import comes_out_words
from bot.service.words.board import (
    View,
    goes_back,
    held_up_words,
    is_lent,
    left_off,
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
    clock_words,
    command,
    head,
    it_them,
    label_ref,
    listed,
    ln,
    machine_word,
    next_words,
    say,
    slots_of,
    soonest_words,
    tidy,
    usable,
)
from bot.service.words.kinds import kind_words
from bot.service.words.news_line import give_buttons, put_buttons
from bot.service.words.passing import kept_line, lifted_line
from bot.service.words.seen_inside import inside_lines
from bot.service.words.shares import spare_line

OPEN = (LeaseState.RESERVED, LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING)


def lent(scene: Scene, reader: PersonId, lease: Lease, card: SlotId = "") -> Reply:
    """Why somebody has a card, or why it is not there yet, or why it is gone."""
    request = scene.books.requests.get(lease.request)
    asked: LineOf | None = None
    if request is not None:
        ref = Code(label_ref(lease.label))
        asked = ln("Asked ", When(request.asked), " (", ref, ").")
    what_for = because(request.because, "For: ") if request is not None else None
    spare = (
        lease.terms.spare and lease.person == reader and lease.state in OPEN and lease.state is not LeaseState.RETURNING
    )
    return say(
        *_stands(scene, reader, lease),
        *_moved_away(scene, lease),
        *inside_lines(scene, lease, reader, card),
        asked,
        kept_line(scene.books, lease, scene.policy, reader),
        lifted_line(scene.books, lease, scene.policy, reader),
        spare_line(spare, request, len(lease.slots)),
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
            first = head(capital(who), has, cards, " although the time is over: nobody waited.")
            return [first, ln(f"{'They go' if many else 'It goes'} back first as soon as somebody asks.")]
        case LeaseState.ACTIVE:
            until: Part = [" until ", When(lease.end)] if lease.end is not None else None
            first = head(capital(who), f" {'have' if mine else 'has'} ", cards, f" in {vm}", until, ".")
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


def capital(who: Part) -> Part:
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
    if not mine or lease.state not in OPEN:
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
