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
from bot.domain.rules import Rule
from bot.service.ports import Button, LineOf, Name, Reply, When
from bot.service.words.answers import (
    agreed_for,
    agreed_when,
    asked_buttons,
    is_off,
    restart_buttons,
    standing_still,
)
from bot.service.words.common import (
    MINE,
    QUEUE,
    Part,
    Scene,
    because,
    button,
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
from bot.service.words.order import moved_words, order_lines
from bot.service.words.passing import passing_line
from bot.service.words.waits import far_off, open_line, promise_line, too_early, too_late_line, worst_line
from bot.service.words.why_rules import Told, instead_button, rule_lines, times_line, told_of, turn_words


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
    machine, promise = scene.books.machines.get(request.machine), scene.promises.get(request.number)
    told = told_of(scene, request, reader)
    return say(
        _order(scene, request, told, at),
        *_moved_lines(scene, request, reader, at),
        because(request.because, "For: "),
        *_turn_lines(scene, request, told),
        *_times(scene, request, told),
        worst_line(promise) if request.rest is None and far_off(promise, scene.now) else None,
        open_line(promise, request) if request.rest is None else None,
        too_late_line(scene, request, promise) if mine else None,
        _several_line(request, told),
        None if _stranded(request) else _window_line(scene, request, machine),
        *standing_still(scene),
        buttons=_request_buttons(scene, request, machine, told) if mine else (QUEUE, MINE),
    )


def _turn_lines(scene: Scene, request: Request, told: Told) -> list[LineOf | None]:
    """It is its turn; or the rules for which it is not."""
    if request.state is RequestState.OFFERED and request.offer is not None:
        is_ = "is" if request.count == 1 else "are"
        whose = "your turn" if told.mine else "their turn"
        offered = f": {wanted(request)} {is_} offered, answer by "
        turn = ln("It is ", whose, offered, When(request.offer.accept_by), ".")
        return [turn, passing_line(scene.books, request.passing, request.machine, scene.policy, told.reader)]
    held = _hindered(request) if request.rest is None else None
    return [held] if held is not None else [*rule_lines(told)]


def _times(scene: Scene, request: Request, told: Told) -> list[LineOf | None]:
    """Likely and at the latest; the fact behind them where no rule told it."""
    if request.rest is not None:
        return []
    promise = scene.promises.get(request.number)
    by_rule = not told.verdict.served and promise is not None and promise.likely is not None
    if by_rule and promise is not None and promise.cause not in OF_OTHERS:
        return [times_line(scene.books, promise)]
    return [promise_line(promise, told.reader, scene.books)]


OF_OTHERS = frozenset({"behind", "share"})
"""Causes of a waiting time that no rule tells: whose time comes before it."""


def _several_line(request: Request, told: Told) -> LineOf | None:
    """What those behind may do while several are gathered: until when, and who comes before all the same."""
    waits = request.state is RequestState.QUEUED and request.rest is None and not told.verdict.served
    over = told.verdict.rules & {Rule.CAP, Rule.TEAM_CAP}  # who is over a share is passed by all
    if request.count == 1 or request.partly or over or not waits or Rule.BOOKED in told.verdict.rules:
        return None
    found = told.verdict
    whose: Part = "your" if told.mine else [Name(request.person), "'s"]
    when, by = turn_words(told.scene, request, found.expected, " (", ")"), "by then" if found.expected else "before"
    more = (
        f" or take {'the' if found.over == 1 else 'of the'} {found.over} that {'is' if found.over == 1 else 'are'} over"
    )
    past = f", only those go past who are surely back {by}{more if found.over else ''}"
    return ln("Until ", whose, f" {wanted(request)} are together", when, past, _before_all(told), ".")


def _before_all(told: Told) -> str:
    """Who comes before a request without keeping to it; "" nobody who asks now: it was asked long ago, or urgently itself."""
    policy, since = told.scene.policy, told.scene.now - told.request.arrival
    who = ["an urgent request"] if since < policy.urgent_head_start else []
    if since < policy.team_head_start and any(team.guaranteed for team in policy.teams):
        who.append("one of a team that has less than its part")
    return f"; {' or '.join(who)} comes before {'yours' if told.mine else 'it'}" if who else ""


def _order(scene: Scene, request: Request, told: Told, at: int) -> LineOf:
    """The place, and who asked before; of somebody with several requests, by their numbers."""
    mine, reader = told.mine, told.reader
    counts = told.first is not None or bool(told.verdict.rules & MORE) or request.rest is not None
    alone = "." if counts else ". Nothing else counts for the order."
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
        [
            more,
            ", ",
            own,
            " ",
            When(request.asked),
            "." if _shifted(request, *ahead[-2:]) else alone,
        ],
    )


MORE = frozenset({Rule.BOOKED, Rule.CAP, Rule.TEAM_CAP, Rule.HOURS, Rule.PASSING, Rule.SIZE})
"""Rules by which more than the order of asking counts."""


def _moved_lines(scene: Scene, request: Request, reader: PersonId, at: int) -> list[LineOf]:
    """What moves its place, term by term, and those of the two before it."""
    lines = order_lines(scene, request, request.person == reader) if request.shifts else []
    for other in line_of(scene.books, request)[: max(at - 1, 0)][-2:]:
        if other.shifts:
            whose: Part = (
                f"Your #{other.number}" if other.person == reader else [Name(other.person), f"'s #{other.number}"]
            )
            lines.append(ln(whose, ": ", moved_words(scene, other, other.person == reader), "."))
    return lines


def _shifted(*requests: Request) -> bool:
    """Whether something else than the time of asking counts for a place."""
    return any(r.shifts for r in requests)


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
        promise = scene.promises.get(request.number)
        late = too_early(scene.books, agreed, promise)
        when = agreed_when(scene, agreed, promise, str(request.number))
        return ln(f"{vm} may restart ", when, ".", [" ", late] if late else None)
    return ln(
        f"When {vm} may restart is not agreed yet; that is asked when the turn comes."
        if not is_off(scene, request)
        else f"{vm} is off, so it needs no restart."
    )


def _request_buttons(scene: Scene, request: Request, machine: Machine | None, told: Told) -> tuple[Button | None, ...]:
    if request.state is RequestState.OFFERED:
        return asked_buttons(scene, request, machine, None, None)
    leave = button("Leave the line", f"release #{request.number}")
    if agreed_for(scene, request) is not None or is_off(scene, request) or _stranded(request):
        return (instead_button(told), QUEUE, leave)
    return (
        instead_button(told),
        *restart_buttons(scene, machine, scene.promises.get(request.number), str(request.number))[:2],
        leave,
    )
