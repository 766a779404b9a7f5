"""Answers about the line: asked, accepted, passed, left, and the question when a machine may restart.

Called by commands, with the books as they are after what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bot.domain.hours import skipped_hour
from bot.domain.lifecycle import comes_on
from bot.domain.model import Agreement, Lease, Length, Machine, Request, RequestState, Turn
from bot.domain.queue import place, waiters
from bot.domain.sight import Sight
from bot.domain.slots import kinds as all_kinds
from bot.service.ports import Bold, Button, Code, LineOf, Name, Reply, When
from bot.service.words import evidence
from bot.service.words.board import free_cards
from bot.service.words.common import (
    MINE,
    Part,
    Scene,
    both_words,
    button,
    card_s,
    clock_words,
    command,
    ended_work,
    head,
    it_is,
    it_them,
    it_they,
    ln,
    name_of,
    next_words,
    now_words,
    off_now,
    on_machine,
    place_word,
    say,
    slots_of,
    soonest_words,
    span_of,
    tidy,
    today_lasts,
    until_words,
    usable,
    usual_words,
    wanted,
    window_button,
    window_words,
)
from bot.service.words.hindrances import hindrances
from bot.service.words.kinds import counted, kinds_there, size_words, typed
from bot.service.words.levels import BY_HAND, ask_whom, i_say_so, may_restart, next_night, who_restarts
from bot.service.words.news_line import offer_buttons
from bot.service.words.order import ahead, moved_line, wishes_lines
from bot.service.words.passing import passing_line
from bot.service.words.shares import lent_lines
from bot.service.words.waits import far_off, open_line, promise_line, too_early, too_late_line, worst_line
from bot.service.words.waits_moved import delayed_lines

if TYPE_CHECKING:
    from bot.domain.promises import Delayed, Promise

EVENING = 18
"""Hour from which "only after 18:00" is no answer any more."""

NIGHT = 22
"""Hour at which "after 18:00" ends: a card that is likely to come later needs another answer."""


# ---- asked ---------------------------------------------------------------------------------------------------------


def requested(scene: Scene, request: Request, delayed: Sequence[Delayed] = ()) -> Reply:
    """The answer to ``request``: place, likely and latest with the fact, the restart, the terms, and the question.

    Also for a request that was said again and changed (its time of asking is older). ``delayed``: who likely waits longer by that.
    """
    machine = scene.books.machines.get(request.machine)
    promise = scene.promises.get(request.number)
    passing = promise.passing if promise is not None else None
    agreed = agreed_for(scene, request)
    ended = ended_work(scene, agreed, soon=promise is not None and promise.cause == "free_now")
    return say(
        _asked_head(scene, request, machine, promise),
        promise_line(promise, request.person, scene.books, request),
        worst_line(promise) if far_off(promise, scene.now) else None,
        open_line(promise, request),
        *delayed_lines(delayed),
        _fewer_now_line(scene, request),
        moved_line(scene, request),
        *wishes_lines(scene, request),
        _kind_line(scene, request),
        too_late_line(scene, request, promise),
        *_restart_lines(scene, request, machine, promise),
        clock_change(scene, request.terms.length.until, *ends_of(agreed)),
        terms_line(scene, machine, firm=passing is not None),
        passing_line(scene.books, passing, request.machine, scene.policy, request.person),
        *hindrances(scene, request.machine, str(request.number)),
        *standing_still(scene),
        _asks(scene, request, machine, agreed, promise),
        ended,
        evidence.open_there(scene, agreed),
        buttons=(
            window_button("When nothing runs", machine, "when done", label=str(request.number)) if ended else None,
            _fewer_now(scene, request),
            *asked_buttons(scene, request, machine, agreed, promise),
        ),
    )


def _fewer_now_line(scene: Scene, request: Request) -> LineOf | None:
    """Fewer cards are there at once for whoever is first in line."""
    free = _free_for(scene, request)
    if not free:
        return None
    says = command(scene.policy, _fewer_says(scene, request, free))
    free_now = Bold(f"{free} {'is' if free == 1 else 'are'} free now:")
    when = {"watch": BY_HAND, "hands": "in its next restart, by an admin's hand"}.get(
        scene.policy.level, f"as soon as {_vm(scene, request)} restarts"
    )
    return ln(
        free_now,
        " ",
        says,
        f" changes #{request.number} to {counted(free, request.kind)}, taken {when}; your place stays.",
    )


def _kind_line(scene: Scene, request: Request) -> LineOf | None:
    """What a vGPU is, by its host's own name; and that its host has free vGPUs at once, for whoever waits for a whole card."""
    if size_words(request.kind):
        return ln(
            f"{'It is a part' if request.count == 1 else 'They are parts'} of a card that others share: {size_words(request.kind)} of its memory, ",
            Code(tidy(request.kind, 40)),
            " to its host.",
        )
    if request.state is not RequestState.QUEUED or _free_now(scene, request, request.kind) >= request.count:
        return None
    near = Sight(scene.books, scene.seen, {}).machine(request.machine)
    here = [c for c in scene.books.cards.values() if near and (c.vcenter, c.host) == (near.vcenter, near.host)]
    parts = [k for k in kinds_there(here) if size_words(k) and _free_now(scene, request, k) >= request.count]
    if not parts:
        return None
    word = typed(parts[0], all_kinds(scene.books))
    says = f"request {request.count} {word}{on_machine(scene.books.machines.get(request.machine))}"
    is_ = "is" if request.count == 1 else "are"
    return ln(
        Bold(f"{counted(request.count, parts[0])} {is_} free now"),
        ", if that is enough: ",
        command(scene.policy, says),
        ".",
    )


def _free_now(scene: Scene, request: Request, kind: str) -> int:
    return free_cards(scene.books, scene.seen, scene.now, kind, request.machine)


def _fewer_now(scene: Scene, request: Request) -> Button | None:
    free = _free_for(scene, request)
    return button(f"Only {free}, now", _fewer_says(scene, request, free)) if free else None


def _fewer_says(scene: Scene, request: Request, free: int) -> str:
    return f"request {free} {request.kind}{on_machine(scene.books.machines.get(request.machine))}"


def _free_for(scene: Scene, request: Request) -> int:
    """How many cards are free now for the first in line who waits for more; 0 otherwise."""
    waits = request.state is RequestState.QUEUED and request.rest is None and not ahead(request, scene.now)
    if not waits or request.partly or place(scene.books, request) != 1:
        return 0
    free = free_cards(scene.books, scene.seen, scene.now, request.kind, request.machine)
    return free if free < request.count else 0


def _asked_head(scene: Scene, request: Request, machine: Machine | None, promise: Promise | None) -> LineOf:
    vm, ref = name_of(machine), f"#{request.number}"
    if request.state is RequestState.LEASED:
        return head(f"It is your turn already: {wanted(request)} for {vm} ({ref}).")
    if request.state is RequestState.OFFERED:
        are = "is" if request.count == 1 else "are"
        return head(f"{wanted(request)} for {vm} {are} offered to you ({ref}). May {vm} restart?")
    at = place(scene.books, request)
    changed = "Changed. " if request.asked < scene.now else ""
    if request.start is not None and ahead(request, scene.now):
        return head(
            f"{changed}{wanted(request)} for {vm} {'is' if request.count == 1 else 'are'} booked from ",
            When(request.start),
            f" (#{request.number}).",
        )
    if at == 1 and promise is not None and promise.cause == "free_now":
        return head(f"{changed}{_free_words(scene, request)}, with {vm} ({ref}).")
    return head(f"{changed}You are {place_word(max(at, 1))} for {wanted(request)} on {vm} ({ref}).")


def _free_words(scene: Scene, request: Request) -> str:
    """``4 T4 are free, and you are first in line for 1``: how many there are, not how many of them are asked for."""
    free = free_cards(scene.books, scene.seen, scene.now, request.kind, request.machine)
    if request.partly and 0 < free < request.count:
        is_ = "is" if free == 1 else "are"
        return f"{free} of {wanted(request)} {is_} free, and you are {place_word(1)}"
    if free > request.count:
        return f"{counted(free, request.kind)} are free, and you are {place_word(1)} for {request.count}"
    return f"{wanted(request)} {'is' if request.count == 1 else 'are'} free, and you are {place_word(1)}"


def _restart_lines(scene: Scene, request: Request, machine: Machine | None, promise: Promise | None) -> list[LineOf]:
    vm, them = name_of(machine), "it" if request.count == 1 else "they"
    seen = Sight(scene.books, scene.seen, {}).machine(request.machine)
    after = " after that" if ahead(request, scene.now) and request.terms.length == Length() else ""
    end: list[Part] = [
        "yours ",
        until_words(request.terms.length, scene.policy),
        after,
        _later(scene, request, promise),
    ]
    come = "comes" if request.count == 1 else "come"
    if is_off(scene, request):
        return [
            ln(
                f"{vm} is off, so nothing restarts: the {card_s(request.count, request.kind)} {'goes' if request.count == 1 else 'go'} in, {'is' if request.count == 1 else 'are'} ",
                end,
                f", and {vm} is left off.",
            )
        ]
    free = promise is not None and promise.cause == "free_now"
    when = f"{vm} restarts" if free else f"When {them} {come}, {vm} restarts"
    is_ = "it is" if request.count == 1 else "they are"
    if scene.policy.level == "watch":
        return [
            ln(
                f"Once {'it is' if request.count == 1 else 'they are'} in, {is_} ",
                end,
                f". Until then {vm} works as it is.",
            )
        ]
    takes = usual_words(machine, scene.policy)
    meanwhile = f"Until then {vm} works as it is."
    if comes_on(scene.books.moves.values(), request.machine):
        meanwhile = f"The restart that is under way now goes on without {'it' if request.count == 1 else 'them'}."
        when = when.replace(" restarts", " restarts again")
    lines = [ln(f"{when} once ({takes}) and {is_} ", end, ". ", meanwhile)]
    if scene.seen is not None and seen is None:
        lines.append(ln(f"I cannot see {vm} in vCenter now; before I do, nothing happens."))
    return lines


def _later(scene: Scene, request: Request, promise: Promise | None) -> list[Part]:
    """What counts when the time until which they are wanted has passed before they come, if that may be."""
    until = request.terms.length.until
    if promise is None or until is None or (promise.latest is not None and promise.latest < until):
        return []
    they = "it comes" if request.count == 1 else "they come"
    return [f" or, if {they} only after that, ", until_words(Length(), scene.policy)]


def ends_of(agreement: Agreement | None) -> tuple[datetime, ...]:
    """From when to when a time lasts that was named."""
    named = agreement is not None and agreement.window is not None and not agreement.now
    return (agreement.window.start, agreement.window.end) if named and agreement and agreement.window else ()


def clock_change(scene: Scene, *said: datetime | None) -> LineOf | None:
    """A time at which the clocks go forward may have been said as an hour that does not exist."""
    zone = scene.zone or scene.policy.zone
    gap = next((g for at in said if at is not None and (g := skipped_hour(at, zone)) is not None), None)
    return ln(f"The clocks go forward then: {gap[0]} to {gap[1]} does not exist.") if gap is not None else None


def terms_line(scene: Scene, machine: Machine | None, firm: bool = False) -> LineOf:
    """The terms in one line; where questions about quiet cards are on, that one may be taken back.

    :param firm: it goes past somebody who waits: when its machine restarts at the latest is said apart
    """
    idle = scene.policy.idle
    quiet = span_of(max(idle.take_back_quiet, idle.second + idle.take_back_warned))
    sooner = (
        f" What is quiet for {quiet} while somebody waits goes back after a warning, in a restart time that you agreed to."
        if idle.nudge
        else ""
    )
    vm, late, night = name_of(machine), span_of(scene.policy.stuck_return), next_night(scene.policy)
    if firm:
        return ln("Terms: back at the end, for certain.", sooner)
    return ln(
        f"Terms: back at the end if somebody waits. For that {vm} restarts when you say",
        f"; if not within {late}, {night}." if night else ".",
        sooner,
    )


def standing_still(scene: Scene) -> list[LineOf]:
    """Why nothing happens at all just now, if that is so."""
    lines = []
    if scene.books.paused:
        lines.append(ln(Bold("Paused:"), " nothing restarts until an admin resumes. Your place counts all the same."))
    if (who := who_restarts(scene.policy)) is not None:
        lines.append(who)
    if scene.seen is None:
        lines.append(ln("I have not seen vCenter yet, so this is from my books alone."))
    return lines


def agreed_for(scene: Scene, request: Request) -> Agreement | None:
    """The restart time that serves a request: one for it alone before one for anything, newest first."""
    label = str(request.number)
    found = usable(scene.books, request.machine, label, scene.now, scene.policy)
    found = [a for a in found if a.label == label or not request.ask_first]  # as the planner reads it
    return max(found, key=lambda a: (a.label == label, a.number), default=None)


def _asks(
    scene: Scene, request: Request, machine: Machine | None, agreed: Agreement | None, promise: Promise | None
) -> LineOf:
    vm = name_of(machine)
    if is_off(scene, request):
        watches = scene.policy.level == "watch"
        return ln(ask_whom(scene.policy), ".") if watches else ln("There is nothing to do for you.")
    if scene.policy.level == "watch":
        return ln("What you say about restarts is kept, and used when I may restart something.")
    if agreed is not None:
        return ln(
            Bold(f"Agreed: {vm} may restart"),
            " ",
            agreed_when(scene, agreed, promise, str(request.number)),
            ". ",
            too_early(scene.books, agreed, promise) or _before(agreed, promise),
        )
    if request.ask_first:
        return ln(
            Bold(f"I ask you before {vm} restarts."),
            f" You then have {span_of(scene.policy.accept_by)} of your working hours to answer.",
        )
    if offered_next(request, promise):
        return ln(
            Bold(
                f"As soon as {it_is(request.count)} held for you, I ask you in a direct message when {vm} may restart."
            ),
            f" You then have {span_of(scene.policy.accept_by)} of your working hours to answer.",
        )
    return ln(Bold(f"{may_restart(scene.policy, vm)} when it is your turn?"), " Without an answer I ask again then.")


def offered_next(request: Request, promise: Promise | None) -> bool:
    """Whether the next round makes an offer: that is then the one question, and nothing is asked before it."""
    free = promise is not None and promise.cause == "free_now"
    return free and request.state is RequestState.QUEUED and request.rest is None


def agreed_when(scene: Scene, agreed: Agreement, promise: Promise | None = None, label: str = "") -> list[Part]:
    """When a machine may restart; "now" counts from when the card is there: promised for later, or with somebody still.

    A time to come and "when nothing runs" are told together, whichever of them ``agreed`` is. ``label``: the number that it is told of.
    """
    if scene.policy.level == "watch":
        return [BY_HAND] if agreed.now else [window_words(agreed), ", by an admin's hand"]
    waits = promise is not None and promise.cause != "free_now"
    coming = any(h.label == agreed.label and h.turn is Turn.NEXT for h in scene.books.holds)
    request = scene.books.requests.get(int(agreed.label)) if agreed.label.isdecimal() else None
    count = request.count if request is not None else 1
    lease = scene.books.leases.get(agreed.label)
    kind = request.kind if request is not None else lease.kind if lease is not None else ""
    words = now_words(agreed, scene.policy, count if waits or coming else 0, kind)
    machine = scene.books.machines.get(agreed.machine)
    others = _beside(scene, agreed, label or agreed.label)
    return both_words(agreed, others, scene.now, machine, scene.policy, words)


def _beside(scene: Scene, agreed: Agreement, label: str) -> list[Agreement]:
    """What else lets its machine restart for a number, soonest first; who wants to be asked first gave only what is for that number."""
    request = scene.books.requests.get(int(label)) if label.isdecimal() else None
    waits = request is not None and request.state in (RequestState.QUEUED, RequestState.OFFERED)
    own = request is not None and waits and request.ask_first
    found = usable(scene.books, agreed.machine, label or None, scene.now, scene.policy)
    return [a for a in found if a.number != agreed.number and (a.label == label or not own)]


def _before(agreed: Agreement, promise: Promise | None) -> str:
    late = agreed.now and promise is not None and promise.cause != "free_now"
    return "I say so before, and ask again outside your working hours." if late else "I say so before."


def is_off(scene: Scene, request: Request) -> bool:
    """Whether the request's machine is known to be off, and not by us: one that we switched off comes on again before it takes anything new."""
    return off_now(scene.books, scene.seen, request.machine)


def asked_buttons(
    scene: Scene, request: Request, machine: Machine | None, agreed: Agreement | None, promise: Promise | None
) -> tuple[Button, ...]:
    """The answers that a request leaves open."""
    if request.state is RequestState.OFFERED:
        return offer_buttons(request, machine, scene.now, scene.zone or scene.policy.zone, scene.policy)
    leave = button("Leave the line", f"release #{request.number}")
    if agreed is not None or is_off(scene, request) or request.state is RequestState.LEASED:
        return (button("Why do I wait?", f"why #{request.number}"), leave)
    if offered_next(request, promise):
        return (leave,)
    if request.ask_first:
        return (
            button("Why do I wait?", f"why #{request.number}"),
            *restart_buttons(scene, machine, promise, str(request.number))[:1],
            leave,
        )
    return restart_buttons(scene, machine, promise, str(request.number))


def restart_buttons(
    scene: Scene, machine: Machine | None, promise: Promise | None, label: str = ""
) -> tuple[Button, ...]:
    """Three answers to "may I restart it when it is your turn?" that fit the time when the card is likely to come.

    :param label: the number that they are for; "" the machine, whatever it restarts for
    """
    night, ask = clock_words(scene.policy), window_button("Ask me first", machine, "ask", label=label)
    if promise is not None and promise.cause == "free_now":
        return (
            window_button("Yes, restart now", machine, "now", "primary", label=label),
            window_button(f"Tonight {night}", machine, "tonight", label=label),
            ask,
        )
    if not scene.zone:
        return (
            window_button("Yes, any time today", machine, "today", "primary", label=label),
            window_button(f"Tonight {night}", machine, "tonight", label=label),
            ask,
        )
    zone = ZoneInfo(scene.zone)
    here = scene.now.astimezone(zone)
    likely = promise.likely if promise is not None else None
    comes = "they come" if promise is not None and len(promise.slots) > 1 else "it comes"
    lasts = today_lasts(machine, scene.now, scene.zone, scene.policy)
    if (likely is not None and likely.astimezone(zone).date() > here.date()) or not lasts:
        # Named times of today would be over before the card comes.
        return (
            window_button(f"Yes, as soon as {comes}", machine, "now", "primary", label=label),
            window_button(f"Any night {night}", machine, "nights", label=label),
            ask,
        )
    late = (
        window_button(f"Only after {EVENING}:00", machine, f"today {EVENING}:00-{NIGHT}:00", label=label)
        if here.hour < EVENING and (likely is None or likely.astimezone(zone).hour < NIGHT)
        else window_button(f"Tonight {night}", machine, "tonight", label=label)
    )
    return (window_button("Yes, any time today", machine, "today", "primary", label=label), late, ask)


# ---- answers to offers -----------------------------------------------------------------------------------------------


def accepted(scene: Scene, taken: Lease | Request, lost: bool = False, past: int | None = None) -> Reply:
    """The answer to ``accept``: the card is reserved, or why it is not.

    :param lost: it was offered, and is not there any more; else nothing was offered just now
    :param past: whom it would have gone past, if it is there still
    """
    if isinstance(taken, Request):
        return _offer_lost(scene, taken, past) if lost else _first_again(scene, taken)
    machine = scene.books.machines.get(taken.machine)
    vm = name_of(machine)
    agreed = next(iter(usable(scene.books, taken.machine, taken.label, scene.now, scene.policy)), None)
    many = len(taken.slots) > 1
    return say(
        head(slots_of(taken.slots), f" {'are' if many else 'is'} yours as soon as {vm} has restarted."),
        ln(
            f"{vm} restarts ",
            _restarts_when(scene, agreed, taken.label),
            f", and is off for {usual_words(machine, scene.policy)}.",
        )
        if agreed is not None
        else None,
        ended_work(scene, agreed),
        evidence.open_there(scene, agreed),
        ln(i_say_so(scene.policy, f'I say so {before(scene, agreed)} before; one "not now" leaves it on.')),
        ln("Then yours ", until_words(taken.terms.length, scene.policy, taken.end), "."),
        passing_line(scene.books, taken.passing, taken.machine, scene.policy, taken.person),
        *lent_lines(scene.books, taken),
        *hindrances(scene, taken.machine, taken.label),
        *standing_still(scene),
        buttons=(
            window_button("When nothing runs", machine, "when done", label=taken.label)
            if ended_work(scene, agreed)
            else None,
            MINE,
            button(f"I do not need {it_them(len(taken.slots))} any more", f"release #{taken.label}"),
        ),
    )


def _restarts_when(scene: Scene, agreed: Agreement, label: str) -> list[Part]:
    if agreed.pattern is not None:
        machine = scene.books.machines.get(agreed.machine)
        found = [agreed, *_beside(scene, agreed, label)]
        words = next_words(agreed, machine, scene.now, scene.policy)
        return soonest_words(found, scene.now, machine, scene.policy, words)
    return agreed_when(scene, agreed, label=label)


def _offer_lost(scene: Scene, request: Request, past: int | None) -> Reply:
    """Accepted, and its card went out of the pool meanwhile, or it would not be back in time any more."""
    other = scene.books.requests.get(past) if past is not None else None
    who: Part = Name(other.person) if other is not None else "somebody"
    return say(
        head(f"You are in line again for {wanted(request)} on {_vm(scene, request)} (#{request.number})."),
        ln("It would not be back in time any more for ", who, ", who is before you. Your place is the old one.")
        if past is not None
        else ln("What was offered was taken out of the pool just now. Your place is the old one."),
        promise_line(scene.promises.get(request.number), request.person, scene.books, request),
        _agreed_line(scene, request),
        buttons=_waits_buttons(request),
    )


def _first_again(scene: Scene, request: Request) -> Reply:
    """Accepted while nothing is offered: a time that was named holds for when it is the turn, and a rest is over."""
    at, promise = place(scene.books, request), scene.promises.get(request.number)
    agreed = agreed_for(scene, request)
    free = at == 1 and promise is not None and promise.cause == "free_now"
    if free:
        first = head(f"{_free_words(scene, request)}, with {_vm(scene, request)} (#{request.number}).")
        kept = f"I keep {it_them(request.count)} for you in a few seconds"
        then = ln(f"{kept}." if agreed is not None else f"{kept}, and ask when {_vm(scene, request)} may restart.")
    else:
        first = head(
            f"You are {place_word(max(at, 1))} for {wanted(request)} on {_vm(scene, request)} (#{request.number})."
        )
        then = ln("What comes up next and fits is yours.")
    return say(
        first,
        _agreed_line(scene, request),
        promise_line(promise, request.person, scene.books, request),
        then,
        *hindrances(scene, request.machine, str(request.number)),
        *standing_still(scene),
        buttons=_waits_buttons(request),
    )


def _vm(scene: Scene, request: Request) -> str:
    return name_of(scene.books.machines.get(request.machine))


def _agreed_line(scene: Scene, request: Request) -> LineOf | None:
    agreed = agreed_for(scene, request)
    if agreed is None:
        return None
    when = agreed_when(scene, agreed, scene.promises.get(request.number), str(request.number))
    return ln(Bold(f"Agreed: {_vm(scene, request)} may restart"), " ", when, ".")


def _waits_buttons(request: Request) -> tuple[Button, ...]:
    return (
        button("Why do I wait?", f"why #{request.number}"),
        button("Leave the line", f"release #{request.number}"),
    )


def before(scene: Scene, agreed: Agreement | None) -> str:
    """How long before a restart it is announced."""
    return span_of(scene.policy.last_call_now if agreed is not None and agreed.now else scene.policy.last_call)


def passed(scene: Scene, request: Request) -> Reply:
    """The answer to ``pass``."""
    until: list[Part] = (
        [", at the latest ", When(request.rest.until)]
        if request.rest is not None and request.rest.until is not None
        else []
    )
    n = request.count
    return say(
        head(f"Passed. You keep your place for {wanted(request)}."),
        ln(f"The next in line is asked. I ask you again when another {card_s(1, request.kind)} comes up", until, ".")
        if _others(scene, request)
        else ln(f"Nobody else is in line. I ask you again when another {card_s(1, request.kind)} comes up", until, "."),
        ln(f"Changed your mind? While nobody took {it_them(n)}, {it_they(n)} can still be yours."),
        buttons=(
            button(f"Take {it_them(n)} after all", f"accept #{request.number} now"),
            button("Leave the line", f"release #{request.number}"),
        ),
    )


def _others(scene: Scene, request: Request) -> bool:
    """Whether somebody else is in line for the same kind and would be asked."""
    return any(r.number != request.number for r in waiters(scene.books, request.kind, request.machine, scene.now))
