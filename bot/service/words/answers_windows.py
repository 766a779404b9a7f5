"""Answers about restarts: agreed, taken back, listed, put off, stopped, started."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.leases import second_try
from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import BOT, Agreement, LeaseState, Machine, Move, MoveState, PersonId, Window
from bot.domain.moves import SaidBefore, sits
from bot.domain.occurrences import next_window
from bot.domain.policy import Policy
from bot.domain.queue import line
from bot.service.ports import Button, LineOf, Name, Reply, When
from bot.service.words import evidence
from bot.service.words.answers import agreed_when, before, clock_change, ends_of, restart_buttons, standing_still
from bot.service.words.common import (
    MINE,
    Part,
    Scene,
    button,
    card_s,
    clock_words,
    command,
    count_of,
    ended_work,
    head,
    label_ref,
    listed,
    ln,
    machine_word,
    name_of,
    no,
    off_now,
    open_agreements,
    say,
    slots_of,
    soonest_words,
    span_of,
    today_lasts,
    typeable,
    usable,
    usual,
    usual_words,
    wanted,
    when_done_words,
    window_button,
    window_words,
)
from bot.service.words.hindrances import hindrances, in_the_way
from bot.service.words.kinds import size_words
from bot.service.words.levels import BY_HAND, i_say_so, next_night, watching, who_restarts
from bot.service.words.news_line import give_buttons


def agreed(scene: Scene, agreement: Agreement) -> Reply:
    """The answer to ``window …`` with a time: what was understood, what it is for, what could stop it."""
    machine = scene.books.machines.get(agreement.machine)
    vm = name_of(machine)
    purpose, running = _purpose(scene, agreement), _running(scene, agreement.machine, vm)
    return say(
        head(f"Agreed: {vm} may restart ", _when(scene, agreement), "."),
        purpose or (None if running else ln(f"Nothing needs a restart of {vm} now, and without need there is none.")),
        running,
        clock_change(scene, *ends_of(agreement)),
        ended_work(scene, agreement),
        evidence.open_there(scene, agreement),
        *_conditions(scene, agreement, vm),
        ln(
            f"{vm} is off now: what is agreed with you is changed without a restart. The time is for when it is on again."
        )
        if off_now(scene.books, scene.seen, agreement.machine)
        else ln("It is kept, and used when I may restart something.")
        if scene.policy.level == "watch"
        else ln(
            f"It is off for {usual_words(machine, scene.policy)}. I say so {before(scene, agreement)} before; any owner can then say not now."
        ),
        _skipped(agreement),
        _too_early(scene, agreement),
        *hindrances(scene, agreement.machine, agreement.label or None),
        *standing_still(scene),
        buttons=(
            window_button("When nothing runs", machine, "when done", label=agreement.label)
            if ended_work(scene, agreement)
            else None,
            _take_back(machine, agreement),
            MINE,
        ),
    )


def _take_back(machine: Machine | None, agreement: Agreement) -> Button:
    """Takes back what was agreed just now, as far as it can be named: for a number, at times that come again, or all of the machine."""
    again = " nights" if agreement.pattern is not None else ""
    what = f" #{agreement.label}" if agreement.label else typeable(machine) + again
    return button("Take it back", f"window{what} remove")


def _when(scene: Scene, agreement: Agreement) -> list[Part]:
    """ "Now", said while the card is still to come, counts from when it is there."""
    promise = scene.promises.get(int(agreement.label)) if agreement.label.isdecimal() else None
    return agreed_when(scene, agreement, promise)


def _purpose(scene: Scene, agreement: Agreement) -> LineOf | None:
    """What the restart is for: cards to take on, cards to give away, of this label or of any."""
    for_label = {agreement.label} if agreement.label else None
    parts: list[Part] = []
    for lease in scene.books.leases.values():
        if lease.machine != agreement.machine or (for_label and lease.label not in for_label):
            continue
        if lease.state is LeaseState.RESERVED or second_try(scene.books, lease):
            parts.append([slots_of(lease.slots), " in"])
        elif lease.state is LeaseState.RETURNING:
            parts.append([slots_of(lease.slots), " out"])
    for request in line(scene.books):
        if request.machine == agreement.machine and (not for_label or str(request.number) in for_label):
            parts.append([f"{wanted(request)} in, when it is the turn of ", label_ref(str(request.number))])
    if not parts:
        return None
    joined: list[Part] = [x for p in parts[:3] for x in (p, "; ")][:-1]
    return ln("For: ", joined, ".")


def _running(scene: Scene, machine: str, vm: str) -> LineOf | None:
    """A restart of the machine has begun already, or was given up: what a time that is agreed now does about it."""
    move = next((m for m in scene.books.moves.values() if m.machine == machine and m.state in UNDER_WAY), None)
    if move is None:
        return None
    if move.state is MoveState.UNDOING and move.off_at is None:
        return ln(
            f"{vm} was asked to shut down before and is still on: if it goes off before that, it is first started again, unchanged."
        )
    if move.state is MoveState.STUCK and sits(move):
        return ln(f"{vm} is off, and a card cannot be taken out of it just now. This is for a restart after that.")
    if move.state is MoveState.STUCK:
        return ln(f"{vm} is off and does not start just now. This is for a restart after that.")
    if move.state is MoveState.STOPPING:
        return ln(f"{vm} is just shutting down, by what was agreed before; this is for a restart after that.")
    if move.state is MoveState.PROVING:
        return ln(f"{vm} was restarted just now, and what it got is still looked at; this is for a restart after that.")
    return ln(f"{vm} is just being restarted, and that goes on as it is; this is for a restart after that.")


def _conditions(scene: Scene, agreement: Agreement, vm: str) -> list[LineOf]:
    """What must be so for it to restart, and what happens if it does not shut down."""
    lines = []
    if agreement.when_done and agreement.window is None:
        lines.append(when_done_words(scene, vm))
    elif agreement.pattern is not None and not agreement.even_if_busy:
        lines.append(ln("Only if nothing runs there and nobody is logged in. If I cannot see inside, I ask instead."))
    if agreement.hard:
        lines.append(
            ln(
                f"If {vm} is not off after {span_of(scene.policy.guest_shutdown)}, it is switched off hard: open files may be lost."
            )
        )
    return lines


def _skipped(agreement: Agreement) -> LineOf | None:
    others = sorted({s.by for s in agreement.skips if s.by != agreement.person})
    if not others:
        return None
    return ln(Name(others[0]), ' has said "not now" for that time, and that stands; only they can take it back.')


def _too_early(scene: Scene, agreement: Agreement) -> LineOf | None:
    promise = scene.promises.get(int(agreement.label)) if agreement.label.isdecimal() else None
    if promise is None or promise.likely is None or agreement.window is None or agreement.now:
        return None
    if agreement.window.end > promise.likely:
        return None
    request = scene.books.requests.get(int(agreement.label))
    what = (
        f"The {card_s(request.count, request.kind)}" if request is not None and size_words(request.kind) else "A card"
    )
    late: list[Part] = [f"{what} is likely only by ", When(promise.likely), ", after that time."]
    other = scene.books.agreements.get(promise.restart)
    if other is not None:
        return ln(
            late,
            f" Then {name_of(scene.books.machines.get(other.machine))} restarts in its other time, ",
            window_words(other),
            ".",
        )
    return ln(late, " Then I ask again.")


def unagreed(scene: Scene, machine: Machine, removed: Sequence[Agreement]) -> Reply:
    """The answer to ``window … remove``: ``removed`` no longer hold."""
    vm = name_of(machine)
    left = open_agreements(scene.books, machine.uuid)
    running = any(m.machine == machine.uuid and m.state is MoveState.STOPPING for m in scene.books.moves.values())
    watched = scene.policy.level == "watch"
    again = "I only watch now: somebody has to start it" if watched else "It is started again at once, unchanged"
    return say(
        head(
            f"Taken back: {vm} no longer restarts ",
            window_words(removed[0]) if len(removed) == 1 else f"at {count_of(len(removed), 'agreed time')}",
            ".",
        ),
        ln(f"{vm} is just shutting down; that cannot be called back. {again}.") if running else None,
        ln("Still agreed: ", window_words(left[0]), f" and {len(left) - 1} more." if len(left) > 1 else ".")
        if left
        else ln("No other time is agreed."),
        ln("What it was for stays asked for, and the owners are asked for another time.")
        if _wanted(scene, machine.uuid)
        else None,
        buttons=(*give_buttons(machine, clock_words(scene.policy))[:2], MINE),
    )


def _wanted(scene: Scene, machine: str) -> bool:
    """Whether anything asks for a restart of a machine."""
    states = (LeaseState.RESERVED, LeaseState.RETURNING)
    return any(x.machine == machine and x.state in states for x in scene.books.leases.values())


def asks_first(scene: Scene, machine: Machine, person: PersonId = "") -> Reply:
    """The answer to ``window … ask``: no agreement, asked when it is the turn. ``person``: who said it; another owner's yes is enough
    for a restart, so to one of several nothing is promised but the last call."""
    vm, others = name_of(machine), [o for o in machine.owners if o != person]
    if person and others:
        calls = f"{span_of(scene.policy.last_call)} before it ({span_of(scene.policy.last_call_now)} for a restart now)"
        return say(
            head(f"You agree to no restart of {vm} beforehand."),
            ln(listed(Name(o) for o in others[:3]), " may still agree to one: one owner's yes is enough."),
            ln(f"You hear of each restart {calls}, and can say not now: that counts for all."),
            buttons=(*restart_buttons(scene, machine, None)[:2], MINE),
        )
    return say(
        head(
            f"Kept: you want to be asked before {vm} restarts."
            if watching(scene.policy)
            else f"I ask you before {vm} restarts."
        ),
        ln(
            f"When it is your turn you have {span_of(scene.policy.accept_by)} of your working hours to answer. Silence keeps your place, and the next in line is asked."
        ),
        ln("Outside your working hours somebody who can answer may go first."),
        buttons=(*restart_buttons(scene, machine, None)[:2], MINE),
    )


def windows(scene: Scene, machine: Machine) -> Reply:
    """The answer to ``window`` without a time: what is agreed."""
    vm = name_of(machine)
    found = open_agreements(scene.books, machine.uuid)
    coming = next_window(found, machine.uuid, scene.now, usual(machine, scene.policy), scene.policy)
    useful = usable(scene.books, machine.uuid, None, scene.now, scene.policy)
    if not found:
        first = head(f"No restart of {vm} is agreed.")
    elif not useful:
        first = head(f"No restart of {vm} is agreed now: what was agreed is put off, or too short by now.")
    elif coming is None:
        first = head(f"{vm} may restart ", _waited_for(useful[0]), ".")
    elif coming[1].start > scene.now:
        next_one: list[Part] = ["next between ", When(coming[1].start), " and ", When(coming[1].end)]
        first = head(f"{vm} may restart ", soonest_words(useful, scene.now, machine, scene.policy, next_one), ".")
    else:
        first = head(f"{vm} may restart now, until ", When(coming[1].end), ".")
    if found and scene.policy.level == "watch":
        first = head(f"{vm} restarts {BY_HAND}; these times are kept for when I may restart it.")
    return say(
        first,
        *[_listed(a) for a in found[:6]],
        ln(f"{vm} is off now: what is agreed with you can be changed without a restart.")
        if off_now(scene.books, scene.seen, machine.uuid)
        else None,
        ln(
            f"A restart takes {usual_words(machine, scene.policy)}, happens only to change cards",
            i_say_so(scene.policy, ", and is announced before"),
            ".",
        ),
        *hindrances(scene, machine.uuid),
        *standing_still(scene),
        buttons=_window_buttons(scene, machine, bool(found)),
    )


def _waited_for(agreement: Agreement) -> list[Part]:
    """When a machine may restart by an agreement that waits for something."""
    return ["now, as soon as the card is there"] if agreement.now else window_words(agreement)


def _listed(agreement: Agreement) -> LineOf:
    by: list[Part] = ["agreed when the lending began"] if agreement.person == BOT else ["by ", Name(agreement.person)]
    label = f", for {label_ref(agreement.label)}" if agreement.label else ""
    skips = f", {count_of(len(agreement.skips), 'time')} put off" if agreement.skips else ""
    return ln("• ", window_words(agreement), ", ", by, label, skips)


def _window_buttons(scene: Scene, machine: Machine, some: bool) -> tuple[Button, ...]:
    today = today_lasts(machine, scene.now, scene.zone or scene.policy.zone, scene.policy)
    buttons = (
        window_button("Any time today", machine, "today")
        if today
        else window_button(f"Tonight {clock_words(scene.policy)}", machine, "tonight"),
        window_button(f"Every night {clock_words(scene.policy)}", machine, "nights"),
    )
    return (
        (*buttons, button("Take all back", f"window{typeable(machine)} remove"))
        if some
        else (*buttons, window_button("Ask me first", machine, "ask"))
    )


def not_now(scene: Scene, machine: Machine, said: Sequence[Agreement] | Move | SaidBefore) -> Reply:
    """The answer to ``notnow``: the occurrence that is not used, and what comes next; that it was said already; or that it came too late."""
    if isinstance(said, Move):
        return stopped(scene, said)
    if isinstance(said, SaidBefore):
        return _said_before(scene, machine, said)
    skipped, vm = said, name_of(machine)
    mine = open_agreements(scene.books, machine.uuid)
    coming = next_window(mine, machine.uuid, scene.now, usual(machine, scene.policy), scene.policy)
    useful = usable(scene.books, machine.uuid, None, scene.now, scene.policy)
    at = [s.start for a in skipped for s in a.skips[-1:]]
    when: list[Part] = [" ", When(min(at))] if at and min(at) > scene.now else [" now"]
    counted = max(
        (
            x.not_nows
            for x in scene.books.leases.values()
            if x.machine == machine.uuid and x.state is LeaseState.RETURNING
        ),
        default=0,
    )
    return say(
        head(f"{vm} does not restart", when, "."),
        ln("The other owners are told that you said so; only you can take it back.")
        if len(machine.owners) > 1
        else None,
        ln("Next agreed time: ", soonest_words(useful, scene.now, machine, scene.policy, [When(coming[1].start)]), ".")
        if coming is not None
        else ln("Still agreed: ", _waited_for(useful[0]), ".")
        if useful
        else ln("No other time is agreed; I ask again."),
        ln('Others wait: said a second time, its next night is used, and "not now" does not move that.')
        if counted == 1 and next_night(scene.policy)
        else None,
        ln('That was the second time while others wait: its next night is used, and "not now" does not move that.')
        if counted > 1 and next_night(scene.policy)
        else None,
        buttons=(
            button("I take that back", f"notnow{typeable(machine)} undo"),
            *give_buttons(machine, clock_words(scene.policy))[:2],
        ),
    )


def _said_before(scene: Scene, machine: Machine, said: SaidBefore) -> Reply:
    """The answer to a second "not now" to the same restart: what was put off, by whom, and that nothing more is."""
    vm = name_of(machine)
    coming = next_window(
        open_agreements(scene.books, machine.uuid), machine.uuid, scene.now, usual(machine, scene.policy), scene.policy
    )
    useful = usable(scene.books, machine.uuid, None, scene.now, scene.policy)
    when = _may_restart(scene, machine, useful, coming[1] if coming is not None else None)
    at: Part = "now" if said.window.holds(scene.now) else When(said.window.start)
    return say(
        head(f"{vm} does not restart ", at, ": that is settled already, and nothing more is put off."),
        ln("Said by ", listed(Name(who) for who in said.by), "."),
        ln(
            "Next agreed time: ",
            when,
            ". ",
            command(scene.policy, f"notnow{typeable(machine)} too"),
            " puts that off as well.",
        )
        if when
        else ln("No other time is agreed; I ask again."),
        buttons=(button("I take that back", f"notnow{typeable(machine)} undo"),),
    )


def stopped(scene: Scene, move: Move) -> Reply:
    """The answer to ``stop m7``, and to ``notnow``, once the shutdown is written down."""
    vm = machine_word(scene.books, move.machine)
    watched = scene.policy.level == "watch"
    again = "I only watch now: somebody has to start it" if watched else "It is started again as soon as it is off"
    return say(
        head(f"Too late to leave {vm} on: it is shutting down. {again}."),
        ln(f"A shutdown cannot be called back. Nothing is changed: {vm} keeps its cards as they are."),
        ln("What it was for stays asked for; you are asked for another time."),
        buttons=(MINE,),
    )


def nothing_restarts(scene: Scene, machine: Machine) -> Reply:
    """The answer to ``stop`` while nothing is under way and no restart is announced: what is agreed, and how that is put off."""
    vm = name_of(machine)
    agreed = open_agreements(scene.books, machine.uuid)
    coming = next_window(agreed, machine.uuid, scene.now, usual(machine, scene.policy), scene.policy)
    useful = usable(scene.books, machine.uuid, None, scene.now, scene.policy)
    when = _may_restart(scene, machine, useful, coming[1] if coming is not None else None)
    firm = coming is not None and coming[0].firm
    return no(
        head(f"Nothing is restarting: {vm} is not being shut down, and no restart of it is announced."),
        ln(f"Agreed: {vm} may restart ", when, ". ", i_say_so(scene.policy))
        if when
        else ln("No time is agreed for it."),
        ln('"Not now" does not move that time.') if firm else None,
        ln("Nothing was changed."),
        buttons=(
            button("Not this time", f"notnow{typeable(machine)}") if coming is not None and not firm else None,
            MINE,
        ),
    )


def _may_restart(scene: Scene, machine: Machine, useful: Sequence[Agreement], coming: Window | None) -> list[Part]:
    """From when a machine may restart, by all that is agreed and holds still; nothing if nothing is."""
    if coming is not None:
        return soonest_words(useful, scene.now, machine, scene.policy, ["from ", When(coming.start)])
    return _waited_for(useful[0]) if useful else []


def seen_to(scene: Scene, move: Move) -> Reply:
    """The answer to an admin's ``done m7``."""
    vm = machine_word(scene.books, move.machine)
    return say(
        head(f"Thank you: I stop trying to {'change' if sits(move) else 'start'} {vm}."),
        ln("I go on from what I see there; what it was for stays asked for."),
        buttons=(MINE,),
    )


def started(scene: Scene, machine: Machine) -> Reply:
    """The answer to ``start``: the power-on is asked for."""
    vm = name_of(machine)
    held = [x for x in scene.books.leases.values() if x.machine == machine.uuid and x.state is LeaseState.MOVING]
    way = in_the_way(scene, machine.uuid)
    return say(
        head(_who_starts(scene.policy, vm, way=bool(way))),
        *way,
        ln(
            "With ",
            slots_of([s for x in held for s in x.slots]),
            "; the time starts when that is seen to work." if any(x.active_since is None for x in held) else ".",
        )
        if held
        else None,
        *(line for line in standing_still(scene) if line != who_restarts(scene.policy)),  # the first line says who
        buttons=(MINE,),
    )


def _who_starts(policy: Policy, vm: str, *, way: bool) -> str:
    """By whom, and when. ``way``: something is in the way of it."""
    when = "as soon as nothing is in the way any more" if way else "with the next round, in a few seconds"
    match policy.level:
        case "watch":
            return f"{vm} is started {BY_HAND}, and I ask none: please ask one, or start it in vCenter."
        case "hands":
            return f"An admin is asked to start {vm} by hand, {when}."
        case _:
            return f"{vm} is started {when}."
