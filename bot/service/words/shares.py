"""What goes with cards that are given for less than was asked: fewer than that, or only while nobody else wants them."""

from __future__ import annotations

from bot.domain.model import Books, Lease, Request
from bot.service.ports import LineOf
from bot.service.words.common import ln
from bot.service.words.kinds import kind_words


def fewer_line(request: Request | None) -> LineOf | None:
    """``You wanted 4 T4, or fewer: 2 are there now, and that is all of it.``; None: all of them are given."""
    if request is None or request.wanted <= request.count:
        return None
    what = kind_words(request.kind, request.wanted)
    are = "is" if request.count == 1 else "are"
    return ln(f"You wanted {request.wanted} {what}, or fewer: {request.count} {are} there, and that is all of it.")


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
    return [fewer_line(request), spare_line(lease.terms.spare, request, len(lease.slots))]
