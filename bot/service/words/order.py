"""The order of the line in words: why a place is what it is, and what a request says of times, numbers and its turn.

Called by answers, lists and ``why``. It speaks of what ``bot.domain.order`` reckoned, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bot.domain.model import Request
from bot.domain.order import urgent_again
from bot.domain.waiting import Shift, ShiftWhy
from bot.service.ports import Bold, LineOf, When
from bot.service.words.common import Part, Scene, card_s, command, ln, said, span_of


def order_lines(scene: Scene, request: Request, mine: bool = True) -> list[LineOf]:
    """Why a place is what it is, term by term: the time of asking, what moves it, and the sum. One line if nothing moves it. ``mine``: the reader's own."""
    if not request.shifts:
        return [ln("The place is that of the time of asking, ", When(request.asked), ".")]
    terms = [ln(_capital(_term(scene, request, shift, mine)), ".") for shift in request.shifts]
    together: Part = "earlier" if request.arrival < request.asked else "later"
    moved = request.arrival - request.asked
    total: Part = f"Together {span_of(abs(moved))} {together}: the" if len(terms) > 1 and moved else "The"
    return [
        ln("Asked ", When(request.asked), "."),
        *terms,
        ln(total, " place is that of somebody who asked ", When(request.arrival), "."),
    ]


def moved_line(scene: Scene, request: Request) -> LineOf | None:
    """The same in one line, for an answer; None: nothing moves the place."""
    return ln(Bold("Your place:"), " ", moved_words(scene, request), ".") if request.shifts else None


def moved_words(scene: Scene, request: Request, mine: bool = True) -> list[Part]:
    """``urgent, 24 h earlier; spare, 24 h later``: what moves a place. ``mine``: the reader's own, who also reads when the next urgent one is."""
    terms: list[Part] = []
    for shift in request.shifts:
        terms += ["; " if terms else None, _term(scene, request, shift, mine, again=mine)]
    return terms


def _term(scene: Scene, request: Request, shift: Shift, mine: bool = True, again: bool = True) -> list[Part]:
    """One term: what it is, by how much, and what it was reckoned from. ``again``: with when their next urgent one is."""
    by = span_of(abs(shift.by))
    match shift.why:
        case ShiftWhy.URGENT:
            at = urgent_again(scene.books, request.person, scene.policy, scene.now) if again else None
            return [f"urgent, {by} earlier", [" (the next urgent one from ", When(at), ")"] if at is not None else None]
        case ShiftWhy.TEAM:
            return ["the team ", said(shift.fact, 40), f" has less than its own part, {by} earlier"]
        case ShiftWhy.SPARE:
            return [f"spare, {by} later"]
        case ShiftWhy.USE:
            most = ", the most that counts" if abs(shift.by) == scene.policy.use_handicap else ""
            more = f"{shift.fact} more than an even share lately, while others waited"
            return [f"you used {more}, so you stand {by} later{most}" if mine else f"used {more}, so {by} later{most}"]


def _capital(parts: list[Part]) -> list[Part]:
    first, *rest = parts
    return [first[:1].upper() + first[1:] if isinstance(first, str) else first, *rest]


def wishes_lines(scene: Scene, request: Request) -> list[LineOf]:
    """What was said of its time, its number and its end, as it was understood."""
    one, many = card_s(1, request.kind), request.count > 1
    lines: list[LineOf] = []
    if ahead(request, scene.now) and request.start is not None:
        cards = card_s(2, request.kind)
        lines.append(
            ln(
                "Before ",
                When(request.start),
                f" it is not your turn: others may have the {cards} if they are surely back by then.",
            )
        )
    if request.before is not None:
        lines.append(_before_line(scene, request, request.before))
    if request.partly and many:
        lines.append(
            ln(f"Partly: when it is your turn you get what is there, 1 {one} or more; the rest is not waited for.")
        )
    if request.terms.spare:
        lines.append(ln("Spare: yours only while nobody else wants it; as soon as somebody waits, its time ends."))
    return lines


def _before_line(scene: Scene, request: Request, before: datetime) -> LineOf:
    """What becomes of it at the time before which it is wanted: it leaves the line, but what is kept for somebody by then comes."""
    many, promise = request.count > 1, scene.promises.get(request.number)
    late = promise is not None and promise.likely is not None and promise.likely >= before
    if late and promise is not None and promise.cause == "free_now":
        kept = "they are kept for you and come" if many else "it is kept for you and comes"
        why: list[Part] = [f" {kept} with the restart, also after ", When(before), ". Not wanted then? Say "]
        return ln(Bold("That is likely too early:"), why, command(scene.policy, f"release #{request.number}"), ".")
    them = "they are" if many else "it is"
    first: Part = [Bold("That is likely too early:"), f" if {them}"] if late else f"If {them}"
    return ln(first, " not kept for you by ", When(before), ", you leave the line, and I say so.")


def ahead(request: Request, now: datetime) -> bool:
    """Whether it is booked for a time to come."""
    return request.start is not None and request.start > now


def tags(request: Request, now: datetime) -> list[Part]:
    """The same in a few words, to put behind a request in a list."""
    return [
        ", or fewer" if request.partly and request.count > 1 else None,
        ", urgent" if request.urgent else None,
        ", spare" if request.terms.spare else None,
        [", booked from ", When(request.start)] if ahead(request, now) and request.start is not None else None,
        [", only before ", When(request.before)] if request.before is not None else None,
    ]


def rule_line(waiting: Iterable[Request]) -> LineOf:
    """By which rule a line is ordered, as far as it matters to those who are in it."""
    found = list(waiting)
    moved = sorted({_MOVES[s.why] for r in found for s in r.shifts})
    first = f"In the order of asking, moved by {_listed(moved)}" if moved else "First come, first served"
    some = any(r.partly and r.count > 1 for r in found)
    together = "all cards of a request together" + (", but where fewer will do" if some else "")
    return ln(f"{first}; {together}.")


_MOVES = {
    ShiftWhy.URGENT: "urgent requests",
    ShiftWhy.SPARE: "spare requests",
    ShiftWhy.TEAM: "what teams have of their own",
    ShiftWhy.USE: "hours used lately",
}


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
