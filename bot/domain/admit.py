"""What may be asked for: the limits of a length, and what goes with `urgent`, `spare`, `from` and `before`.

Called by ``queue.request`` before it writes anything. Each refusal brings what would work; none changes the books.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot.domain import order
from bot.domain.draft import Draft
from bot.domain.errors import Already, Contrary, NotThen, ReasonWanted, TooLong, UrgentSoon
from bot.domain.hours import next_working_day_end
from bot.domain.model import Length, Person, Request, RequestState
from bot.domain.policy import Policy
from bot.domain.spoken import instant_words, lasting_words, limit_words

if TYPE_CHECKING:
    from bot.domain.queue import Wanted


def length(draft: Draft, wanted: Wanted, policy: Policy, old: Request | None = None, *, contended: bool) -> None:
    """How long a card may be had; a booking's time counts from its start.

    :param old: the request that waits already, if it is asked for again
    :raises TooLong: longer than a limit allows
    """
    start = wanted.start or (old.start if old is not None else None)
    if old is not None and wanted.length == old.terms.length and not _sooner(start, old.start):
        return  # as it was admitted: a limit that came later takes nothing back
    begins = max(draft.now, start or draft.now)
    until = wanted.length.until
    takes = wanted.length.lasting or (until - begins if until is not None else timedelta(0))
    limit, when = policy.longest_in_all, ""
    if contended and takes <= limit:
        limit, when = policy.longest, " while others wait"
    if takes > limit:
        words = limit_words(limit)
        raise TooLong(limit=f"{words}{when}", text=limit_words(takes), instead=f"for {words}")


def _sooner(start: datetime | None, was: datetime | None) -> bool:
    """Whether a booking would begin sooner than it does, and so be longer."""
    return was is not None and (start is None or start < was)


def words(draft: Draft, person: Person, wanted: Wanted, policy: Policy, old: Request | None = None) -> None:
    """What goes with the words that move a place, or name a time.

    :param old: the request that waits already, if it is asked for again
    :raises Contrary: urgent and spare together
    :raises ReasonWanted: urgent without a reason
    :raises UrgentSoon: urgent too soon again
    :raises Already: it is offered now: there is nothing left to wait for
    :raises NotThen: a time that cannot be
    """
    spare = wanted.spare or (old is not None and old.terms.spare)
    urgent = wanted.urgent or (old is not None and old.urgent)
    if spare and urgent and (wanted.spare or wanted.urgent):
        raise Contrary(one="urgent", other="spare")
    if old is not None and old.state is RequestState.OFFERED and (wanted.start or wanted.urgent):
        raise Already(number=old.number, count=old.count, kind=old.kind, offered=True)
    if wanted.urgent and not (old is not None and old.urgent):
        if not (wanted.because or (old is not None and old.because)):
            raise ReasonWanted(command="request 1 urgent because …")
        again = order.urgent_again(draft, person.id, policy, draft.now)
        if again is not None:
            raise UrgentSoon(again=again, every=lasting_words(policy.urgent_every))
    _times(draft, person, wanted, policy, old)


def _times(draft: Draft, person: Person, wanted: Wanted, policy: Policy, old: Request | None) -> None:
    """A start, an end of waiting and an end that fit each other; of a request that waits already those it has."""
    start = wanted.start or (old.start if old is not None else None)
    before = wanted.before or (old.before if old is not None else None)
    lasts = wanted.length if wanted.length != Length() or old is None else old.terms.length

    def shown(at: datetime) -> str:
        return instant_words(at, person.zone, draft.now)

    if wanted.start is not None and wanted.start <= draft.now:
        raise NotThen(word="from", why="that is not ahead", instead=f"from {shown(draft.now + policy.now_within)}")
    booked = old.start if old is not None else None  # however far ahead: a limit that came later takes nothing back
    if wanted.start is not None and wanted.start > max(draft.now + policy.book_ahead, booked or draft.now):
        limit = limit_words(policy.book_ahead)
        latest = shown((draft.now + policy.book_ahead).replace(minute=0, second=0, microsecond=0))
        raise NotThen(word="from", why=f"at most {limit} ahead can be booked", instead=f"from {latest}")
    if wanted.before is not None and wanted.before <= draft.now:
        later = shown(draft.now + policy.now_within)
        raise NotThen(word="before", why="that has passed already", instead=f"before {later}")
    if start is None or not (wanted.start or wanted.before or wanted.length != Length()):
        return
    if lasts.until is not None and lasts.until <= start:
        why = f"it would be over before it begins, {shown(start)}"
        later = shown(next_working_day_end(start, person.zone, policy))
        raise NotThen(word="until", why=why, instead=f"until {later}")
    if before is not None and before <= start:
        why = f"it would leave the line before it begins, {shown(start)}"
        raise NotThen(word="before", why=why, instead=f"before {shown(start + policy.running_work)}")
