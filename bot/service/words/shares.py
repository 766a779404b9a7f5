"""What goes with cards that are given for less than was asked: fewer than that, or only while nobody else wants them."""

from __future__ import annotations

from bot.domain.model import Books, Lease, PersonId, Request, Turn
from bot.domain.near import near
from bot.domain.slots import all_of
from bot.service.ports import LineOf, Name
from bot.service.words.common import Part, listed, ln
from bot.service.words.kinds import kind_words

MOST_NAMED = 3
"""Holders of the other cards are named up to so many."""


def fewer_line(books: Books, request: Request | None, lease: Lease | None = None) -> LineOf | None:
    """``You wanted 4 T4, or fewer: 2 are there, because ada has the others. …``; None: all of them are given.

    :param lease: what it became, if it is lent already
    """
    if request is None or request.wanted <= request.count:
        return None
    what = kind_words(request.kind, request.wanted)
    are = "is" if request.count == 1 else "are"
    there = f"You wanted {request.wanted} {what}, or fewer: {request.count} {are} there"
    who = _has_the_others(books, request, lease.label if lease is not None else str(request.number))
    return ln(there, who, f". That is all of #{request.number}: the rest is not waited for.")


def _has_the_others(books: Books, request: Request, label: str) -> list[Part]:
    """``, because ada has the others``; [] not known, or something else is in the way: not everything else is with somebody."""
    there = near(books, request.machine) or books
    others = set(all_of(there, request.kind)) - {h.slot for h in there.holds if h.label == label}
    labels = (h.label for h in there.holds if h.turn is Turn.HAS and h.slot in others)
    found = [person for label in labels if (person := _whose(books, label))]
    if not others or len(found) < len(others):
        return []
    persons = sorted(dict.fromkeys(found), key=lambda p: (p != request.person, p))
    if len(persons) > MOST_NAMED:
        return [", because others have the rest"]
    one = len(persons) == 1 and persons[0] != request.person
    names: list[Part] = ["you yourself" if p == request.person else Name(p) for p in persons]
    return [", because ", listed(names), f" {'has' if one else 'have'} the {'other' if len(others) == 1 else 'others'}"]


def _whose(books: Books, label: str) -> PersonId:
    """Who has, or is offered, what a label holds; "" nobody is known."""
    thing = books.leases.get(label) or books.requests.get(int(label) if label.isdigit() else 0)
    return thing.person if thing is not None else ""


def spare_line(spare: bool, request: Request | None, count: int) -> LineOf | None:
    """That it goes back as soon as somebody else waits, and why; None: it does not.

    :param spare: it does
    :param request: what was asked for, if it is known
    """
    if not spare:
        return None
    if request is not None and request.terms.spare:
        return ln(
            "Spare, as you asked: as soon as somebody else waits, your time ends, and running work is waited for."
        )
    them = "what is over it goes back" if count > 1 else "it goes back"
    return ln(f"With this you have more than your share of the cards: as soon as somebody else waits, {them}.")


def lent_lines(books: Books, lease: Lease | None) -> list[LineOf | None]:
    """Both, of something that is lent."""
    if lease is None:
        return []
    request = books.requests.get(lease.request)
    return [fewer_line(books, request, lease), spare_line(lease.terms.spare, request, len(lease.slots))]
