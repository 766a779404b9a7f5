"""``why`` of a place in line: the rule, the people, the times."""

from __future__ import annotations

from bot.domain.model import (
    Machine,
    PersonId,
    Request,
    RequestState,
    RestWhy,
)
from bot.domain.queue import line, line_of, place
from bot.service.ports import Button, LineOf, Name, Reply, When
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
from bot.service.words.common import (
    MINE,
    QUEUE,
    Part,
    Scene,
    because,
    button,
    card_s,
    command,
    head,
    label_ref,
    listed,
    ln,
    name_of,
    place_word,
    said,
    say,
    wanted,
)
from bot.service.words.why_lease import capital


def in_line(scene: Scene, reader: PersonId, request: Request) -> Reply:
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
                capital(who),
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
