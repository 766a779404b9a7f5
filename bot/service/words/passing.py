"""What somebody keeps to who was given cards past others that wait for more. Said with the offer, the turn, and by ``why``."""

from __future__ import annotations

from bot.domain.model import Books, PersonId
from bot.domain.waiting import Passing
from bot.service.ports import LineOf, Name, When
from bot.service.words.common import Part, ln


def passing_line(books: Books, passing: Passing | None, reader: PersonId = "") -> LineOf | None:
    """``This goes past carol, who waits for 4 from …: so it ends … at the latest``; None: it goes past nobody."""
    if passing is None:
        return None
    other = books.requests.get(passing.over)
    who: Part = "somebody" if other is None else "your own request" if other.person == reader else Name(other.person)
    many = f" for {other.count} cards" if other is not None and other.count > 1 else ""
    waits = f"{'which' if who == 'your own request' else 'who'} waits{many}"
    out: list[Part] = [", and is out again ", When(passing.back_by), ", whatever runs there."]
    return ln("This goes past ", who, ", ", waits, ": so it ends ", When(passing.ends_by), " at the latest", out)
