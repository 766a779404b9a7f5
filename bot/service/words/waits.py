"""Waiting times for people: likely, at the latest, and the one fact behind them.

Called by the answers and ``why``. The times are shown exactly as they are written down (``promises.shown``).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot.domain.hours import next_working_day_end
from bot.domain.model import Agreement, Books, PersonId, Request
from bot.domain.promises import shown
from bot.domain.queue import line_of
from bot.domain.spoken import instant_words
from bot.service.ports import Bold, LineOf, Name, When
from bot.service.words.common import Part, Scene, command, listed, ln, name_of, on_machine, slots_of, window_words

if TYPE_CHECKING:
    from bot.domain.promises import Promise

RESTING_SHOWN = 4
"""Cards that rest and are named as the reason of a waiting time."""

LONG_WAIT = timedelta(days=2)
"""A latest time beyond it comes with its reason."""


def promise_line(
    promise: Promise | None, reader: PersonId, books: Books | None = None, request: Request | None = None
) -> LineOf | None:
    """``Likely by …, at the latest …: the fact.``

    :param books: to say which agreed time is waited for besides, and who is before
    :param request: what it is promised to, where its place, or for when it is booked, stands in the line before
    """
    if promise is None:
        return None
    fact: list[Part] = [*cause_words(promise, reader, books), as_agreed(books, promise)]
    likely, by = shown(promise)
    if likely is None:
        return ln("When it is your turn I do not know, because ", fact, ".")
    latest: list[Part] = [", at the latest ", When(by)] if by is not None else []
    if promise.cause == "free_now" and promise.past:
        they = "It" if len(promise.slots) == 1 else "They"
        return ln(f"{they} can be there by ", When(likely), ": ", fact, ".", _past_no_more(promise, by, books, request))
    if promise.cause == "free_now":
        they = "It" if len(promise.slots) == 1 else "They"
        return ln(
            _for_all_before(promise, books, request), f"{they} can be there by ", When(likely), latest, ": ", fact, "."
        )
    if promise.cause == "booked" and likely == promise.at:
        booked: list[Part] = ["Booked for ", When(likely), ", likely"] if request is None else ["Likely"]
        return ln(booked, " there then", latest, ".")
    return ln("Likely by ", When(likely), latest, ": ", fact, ".")


def _for_all_before(promise: Promise, books: Books | None, request: Request | None) -> str:
    """That what is free is enough for those before, too, the reader's own requests among them; "" nobody is."""
    found = line_of(books, request) if books is not None and request is not None else []
    before = found[: next((i for i, r in enumerate(found) if request is not None and r.number == request.number), 0)]
    if request is None or not before:
        return ""
    own = sum(r.person == request.person for r in before)
    they = "who is before you" if own < len(before) else f"your {'request' if own == 1 else 'requests'} before it"
    has = len(promise.slots)
    if request.partly and 0 < has < request.count:
        after = "those before you" if own < len(before) else they
        return (
            f"{has} of the {request.count} you want {'is' if has == 1 else 'are'} free after {after}; you take fewer. "
        )
    return f"Enough are free, also for {they}. "


def _past_no_more(promise: Promise, by: datetime | None, books: Books | None, request: Request | None) -> list[Part]:
    """What becomes of one who could go past somebody, and cannot be served in time for that; [] nobody knows."""
    if by is None:
        return []
    vm = name_of(books.machines.get(request.machine)) if books is not None and request is not None else "your machine"
    other = books.requests.get(promise.past) if books is not None else None
    who: Part = f"#{promise.past}"
    if other is not None and request is not None:
        who = (
            f"your #{other.number}" if other.person == request.person else [Name(other.person), f"'s (#{other.number})"]
        )
    return [
        f" If {vm} cannot have {'it' if len(promise.slots) == 1 else 'them'} now, your turn comes after ",
        who,
        ", at the latest ",
        When(by),
        ".",
    ]


def _whose(other: Request, reader: PersonId) -> Part:
    """Somebody's request, or the reader's own, in a few words."""
    return f"your #{other.number}" if other.person == reader else [Name(other.person), f" (#{other.number})"]


def as_agreed(books: Books | None, promise: Promise | None) -> list[Part]:
    """``; then vm-python restarts as agreed, every day 16:00-17:00``: what else is waited for until the likely time; [] nothing."""
    if books is None or promise is None:
        return []
    own = promise.restart if promise.waits else 0
    agreed = [a for n in dict.fromkeys((promise.out, own)) if (a := books.agreements.get(n)) is not None]
    if len({a.machine for a in agreed}) == 1:
        agreed = agreed[-1:]  # the one restart does both
    words = [[name_of(books.machines.get(a.machine)), " restarts as agreed, ", window_words(a)] for a in agreed]
    return ["; then ", listed(words, ", and then ")] if words else []


def too_early(books: Books, agreed: Agreement, promise: Promise | None) -> list[Part]:
    """A named time that is over before a card is likely is no use, and is said to be so, with the time that is used then; [] it may be of use."""
    if agreed.window is None or agreed.now or promise is None or promise.likely is None:
        return []
    if agreed.window.end > promise.likely:
        return []
    other = books.agreements.get(promise.restart)
    if other is None:
        return ["That is likely too early; then I ask again."]
    if promise.waits:  # and is named with the likely time
        return ["That is likely too early; then the other time is used that is agreed."]
    vm = name_of(books.machines.get(other.machine))
    return [f"That is likely too early; then {vm} restarts in its other time, ", window_words(other), "."]


def open_line(promise: Promise | None, request: Request) -> LineOf | None:
    """Why there is no latest time although there is a likely one."""
    match promise.open if promise is not None else "":
        case "size":
            return ln("At the latest I cannot say: others want the same cards in another size.")
        case "share" if promise is not None and promise.cause == "booked":
            return ln(
                "At the latest I cannot say: whether others who wait then go first is known only when its time comes."
            )
        case "share":
            return ln("At the latest I cannot say: while others wait, who is within their share goes first.")
        case "spare":
            return ln("At the latest I cannot say: it is spare, so others who wait go first.")
        case "ahead":
            return ln("At the latest I cannot say: too many before you wait for their share, or rest, and come later.")
        case "later":
            return ln(
                "At the latest I cannot say before ",
                When(request.arrival),
                ": who asks until then may come before you.",
            )
    return None


def far_off(promise: Promise | None, now: datetime) -> bool:
    """Whether the latest time is so far away that it is asked why."""
    return promise is not None and promise.latest is not None and promise.latest - now > LONG_WAIT


def worst_line(promise: Promise | None) -> LineOf | None:
    """Why the latest time is so much later than the likely one."""
    if promise is None or promise.likely is None or promise.latest is None:
        return None
    if promise.cause == "free_now" and not promise.past:
        return None
    return ln('The latest allows for extensions, running work, open questions and "not now".')


def too_late_line(scene: Scene, request: Request, promise: Promise | None) -> LineOf | None:
    """A card that is likely to come only when its time is over is no use; that is said at once, with what to say instead."""
    until = request.terms.length.until
    if until is None or promise is None or promise.likely is None or promise.likely < until:
        return None
    return ln(
        Bold("That is likely too late:"),
        " you want it until ",
        When(until),
        f". Without {'one' if request.count == 1 else 'them'} by then you leave the line. Longer: ",
        command(
            scene.policy,
            f"request{on_machine(scene.books.machines.get(request.machine))} until {_later(scene, promise.likely)}",
        ),
        ".",
    )


def _later(scene: Scene, likely: datetime) -> str:
    """A time after a card is likely, as it is typed: the end of the next working day."""
    zone = scene.zone or scene.policy.zone
    return instant_words(next_working_day_end(likely, zone, scene.policy), zone, scene.now)


def cause_words(promise: Promise, reader: PersonId, books: Books | None = None) -> list[Part]:
    """The one fact behind a waiting time. ``books``: to name whom it goes past."""
    you = promise.who == reader and bool(promise.who)
    who: Part = "you" if you else Name(promise.who) if promise.who else "somebody"
    owner: list[Part] = ["your"] if you else [who, "'s"]
    at: list[Part] = [" ", When(promise.at)] if promise.at is not None else []
    match promise.cause:
        case "free_now" if promise.past:
            other = books.requests.get(promise.past) if books is not None else None
            past: Part = _whose(other, reader) if other is not None else f"#{promise.past}"
            return ["you go past ", past, ", and are back in time"]
        case "free_now":
            return ["only the restart is missing"]
        case "own_end":
            return [owner, " time ends", at or " by then", ", and cards may come back earlier"]
        case "early":
            lately = promise.early
            counted = (
                f", but {lately.early} of the last {lately.of} loans came back earlier" if lately is not None else ""
            )
            return [owner, " time ends", at, counted]
        case "quiet":
            return ["a card does nothing just now; if it stays so, it goes back", [" by", at] if at else None]
        case "spare":
            return [who, f" {'have' if you else 'has'} it only while nobody else waits"]
        case "over_time":
            return [owner, " time is over, and a restart of the machine is still to come"]
        case "returning" | "when_done":
            back: list[Part] = ["what you gave back comes next"] if you else [who, " gave back what you wait for"]
            if promise.cause == "when_done":
                return [*back, ", out as soon as nothing runs there, at the latest", at]
            return [*back, [", out by", at] if at else ", and no restart is agreed yet"]
        case "moving":
            return ["one is just on its way to ", who, ", whose time then ends" if at else "", at]
        case "reserved":
            return ["one is kept for ", who, [" until", at] if at else None]
        case "share":
            first = f" go{'' if you else 'es'} first, since this is over a share while others wait"
            return [who, first, [", and then has theirs until about", at] if at else None]
        case "behind":
            return [
                who,
                " is before you" if not you else " come first with your earlier request",
                [", whose time then lasts until about", at] if at else None,
            ]
        case "booked":
            return ["it is booked for", at]
    return _unknown_words(promise)


def _unknown_words(promise: Promise) -> list[Part]:
    """Why nothing is known."""
    one = len(promise.slots) == 1
    named: list[Part] = [": ", slots_of(promise.slots)] if 0 < len(promise.slots) <= RESTING_SHOWN else []
    match promise.cause:
        case "aside":
            return ["a card rests" if one else "too many cards rest", " just now", named]
        case "strange":
            return [
                "a card sits" if one else "cards sit",
                " in a machine that did not borrow it" if one else " where nobody borrowed them",
                named,
            ]
        case "broken":
            return ["a card is broken and comes out" if one else "cards are broken and come out", named]
        case "hindered":
            return ["nothing can be given to its machine just now"]
        case "none":
            return ["I see too few cards that I may lend"]
    return ["I have too little to go by"]
