"""Who likely waits longer by what somebody else says: written down anew and told at once, and said to who says it.

Called by commands that make somebody's time longer: ``likely_of_others`` before it is written, ``tell_delayed`` after it. No latest time that was told moves by that
(``bound``), so what is told anew is the likely one alone. It refuses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from bot.domain.draft import Draft
from bot.domain.model import BOT, Lease, Request
from bot.domain.near import near
from bot.domain.news import News, NewsKind
from bot.domain.promises.promise import Promise, shown
from bot.domain.promises.told import promised_words
from bot.domain.queue import line
from bot.domain.shelves import WAITING
from bot.domain.waiting import Promised

LONGER = "longer"
"""The word of ``told.MOVED`` for it."""


@dataclass(frozen=True)
class Delayed:
    """One who likely waits longer."""

    request: Request  # whose; with what they are told now
    said: datetime  # by when they were told that it is likely

    @property
    def likely(self) -> datetime | None:
        """By when it is now; None: not known any more."""
        return self.request.promised.likely if self.request.promised is not None else None


def likely_of_others(draft: Draft, wish: Lease | Request, promises: Mapping[int, Promise]) -> dict[int, datetime]:
    """By when it is likely for each who was told a time and waits for what somebody's wish is about, by number; their own left out.

    :param wish: what is to be made longer, as it is
    :param promises: of the same moment
    """
    found = ((r.number, shown(promises[r.number])[0]) for r, _ in _told(draft, wish) if r.number in promises)
    return {number: at for number, at in found if at is not None}


def tell_delayed(
    draft: Draft, wish: Lease | Request, was: Mapping[int, datetime], promises: Mapping[int, Promise]
) -> tuple[Delayed, ...]:
    """Tell those for whom it is likely later now than it was, and than they were told.

    :param wish: what was made longer
    :param was: what ``likely_of_others`` said before
    :param promises: as they are by now
    :return: those who are told, in the order of the line
    """
    found = []
    for request, said in list(_told(draft, wish)):
        promise, before = promises.get(request.number), was.get(request.number)
        if promise is None or before is None or said.likely is None:
            continue
        now = shown(promise)[0]
        if now is None or now > max(before, said.likely):
            found.append(Delayed(_tell(draft, wish, request, said, promise), said.likely))
    return tuple(found)


def _told(draft: Draft, wish: Lease | Request) -> Iterator[tuple[Request, Promised]]:
    """Who was told a likely time and waits in the same line."""
    for request in line(near(draft, wish.machine) or draft):
        said = request.promised
        waits = request.state in WAITING and request.rest is None
        if waits and request.kind == wish.kind and request.person != wish.person and said and said.likely is not None:
            yield request, said


def _tell(draft: Draft, wish: Lease | Request, request: Request, said: Promised, promise: Promise) -> Request:
    now = replace(said, at=draft.now, likely=shown(promise)[0], because=promise.cause)
    request = replace(request, promised=now)
    draft.put(request)
    why = f"{promised_words(now.likely, now.latest, now.because)}; {LONGER}"
    draft.log(BOT, "request.promised", f"#{request.number}", why)
    slots = wish.slots if isinstance(wish, Lease) else ()
    news = News(NewsKind.WAIT_MOVED, request.person, key=f"wait:{request.number}", request=request, reason=LONGER)
    draft.tell(replace(news, who=wish.person, slots=slots, until=said.latest, likely=said.likely))
    return request
