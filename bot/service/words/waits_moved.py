"""That a waiting time which was told does not hold any more: to who waits, and to whoever makes others wait longer.

Called by the news, and by the answers to ``extend`` and ``keep``. What moved it was found by ``promises``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bot.domain.promises import Delayed
from bot.domain.queue import line_of, place
from bot.domain.waiting import Promised
from bot.service.ports import LineOf, Name, Reply, When
from bot.service.words.common import Part, button, head, ln, place_word, said, say, wanted
from bot.service.words.telling import Telling

NAMED = 3
"""So many who wait longer by somebody's word are named."""

GOES_FIRST = frozenset({"urgent", "team", "again"})
"""Words of ``promises.MOVED`` by which somebody comes before: the place is another then."""


def delayed_lines(delayed: Sequence[Delayed]) -> list[LineOf]:
    """``bob was told likely by 15:35, and now waits until about 15:50; I tell them.``: what a longer time costs those who wait for it."""
    lines = []
    for one in delayed[:NAMED]:
        now: list[Part] = [", and now waits until about ", When(one.likely)] if one.likely is not None else []
        now = now or [", and for how long they wait now I do not know"]
        lines.append(ln(Name(one.request.person), " was told likely by ", When(one.said), now, "; I tell them."))
    more = len(delayed) - NAMED
    if more > 0:
        lines.append(ln(f"{more} more who {'waits' if more == 1 else 'wait'} longer by it: I tell them, too."))
    return lines


def moved(t: Telling) -> Reply:
    """The times that were told do not hold any more: the new ones, the old ones, and what moved them."""
    what = wanted(t.request) if t.request is not None else t.cards
    if t.public:
        return say(head(t.holder, "'s wait for ", what, " may be longer than I said."), ln(_moved_by(t), "."))
    now = t.request.promised if t.request is not None else None
    may = "is likely" if t.item.reason == "longer" else "may be"
    return say(
        head("Your wait for ", what, f" {may} longer than I said."),
        ln(_times(now, t.item.likely, t.item.until), ": ", _moved_by(t), "."),
        ln(_place_now(t)),
        buttons=(button("Why?", f"why{t.ref}"), button("Leave the line", f"release{t.ref}")) if t.ref else (),
    )


def _times(now: Promised | None, likely: datetime | None, latest: datetime | None) -> list[Part]:
    """``Likely by … as before, at the latest … instead of …``: as it is now, and as it was told."""
    if now is None or now.likely is None:
        return ["When it is your turn I do not know any more"]
    new: list[Part] = ["Likely by ", When(now.likely), _against(now.likely, likely)]
    if now.latest is not None:
        return [*new, ", at the latest ", When(now.latest), _against(now.latest, latest)]
    return [*new, "; at the latest I cannot say any more"] if latest is not None else new


def _against(now: datetime, told: datetime | None) -> list[Part]:
    if told is None:
        return []
    return [" as before"] if told == now else [" instead of ", When(told)]


def _place_now(t: Telling) -> str:
    """Where they stand: somebody may have come before."""
    at = place(t.books, t.request) if t.request is not None and t.item.reason in GOES_FIRST else 0
    return f"You are {place_word(at)} now." if at else "You keep your place."


def _urgently(t: Telling) -> list[Part]:
    """Who asked urgently, with the reason, which is public."""
    if _own(t):
        return ["you asked urgently yourself, and that goes first"]
    who: Part = t.other if t.other_known else "somebody"
    theirs = (r for r in line_of(t.books, t.request) if r.person == t.item.who and r.urgent) if t.request else iter(())
    why = next((r.because for r in theirs if r.because), "")
    return [who, " asked urgently", [" (", said(why, 80), ")"] if why else None, ", and goes first"]


def _own(t: Telling) -> bool:
    """Whether what came before is the reader's own, by another request."""
    return t.item.who == t.item.to and not t.public


def _moved_by(t: Telling) -> list[Part]:
    """What moved it: a word of ``promises.MOVED``."""
    who: Part = t.other if t.other_known else "somebody"
    cards: Part = t.cards if t.slots else "one"
    match t.item.reason:
        case "urgent":
            return _urgently(t)
        case "team" | "again" if _own(t):
            return ["another request of yours goes first"]
        case "team":
            return [who, " goes first: their team has less than its part"]
        case "again":
            return [who, " is in line again, at an earlier place"]
        case "back":
            return ["what was kept did not come in time"]
        case "drained":
            return [who, " took ", cards, " out of the pool"]
        case "aside":
            return [cards, f" {'rest' if t.many else 'rests'}"]
        case "strange":
            return [cards, " sit where nobody borrowed them" if t.many else " sits in a machine that did not borrow it"]
        case "broken":
            return [cards, f" {'are' if t.many else 'is'} broken and {'come' if t.many else 'comes'} out"]
        case "none":
            return ["I see too few cards that I may lend"]
        case "hindered":
            return [f"nothing can be given to {t.vm} just now"]
        case "own":
            return (
                ["what you have yourself is still out"] if not t.public else ["what they have themselves is still out"]
            )
        case "first":
            return [who, " went first, for somebody earlier in line could not be asked"]
        case "away":
            return ["for a while I could do nothing: I or vCenter was away, or I was paused"]
        case "rules":
            return ["the rules of this site were changed"]
        case "longer" if not t.slots:
            return [who, ", who is before you, changed what they ask for"]
        case "longer":
            return [who, " has ", cards, " for longer now"]
    return [who, " has theirs for longer than I could foresee"]
