"""The answer to ``using``: I was wrong, I ask no more, and that is counted."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.model import Lease, PersonId, SlotId
from bot.domain.queue import waiters
from bot.service.ports import LineOf, Name, Reply, When
from bot.service.words.common import (
    MINE,
    Scene,
    because,
    head,
    it_is,
    it_them,
    listed,
    ln,
    say,
    slots_of,
)
from bot.service.words.news_idle import rate_line, reasons


def used(
    scene: Scene,
    asked: Sequence[tuple[Lease, tuple[SlotId, ...]]],
    person: PersonId,
    reason: str = "",
    rate: tuple[int, int] = (0, 0),
) -> Reply:
    """The answer to ``using``.

    :param asked: each lease with those of its cards that the answer is about
    :param reason: what was said behind ``because``
    :param rate: questions of this month, and how many of them were false alarms
    """
    slots = [s for _, some in asked for s in some]
    holders = list(dict.fromkeys(x.person for x, _ in asked))
    own = holders == [person]
    wrong = any(x.nudge is not None and x.nudge.wrong and set(some) & set(x.nudge.slots) for x, some in asked)
    n = len(slots)
    thanks = "Thank you, then I was wrong: I" if wrong else "Thank you: I"
    known = reason or next((w.because for s in slots if (w := scene.books.watches.get(s)) is not None), "")
    whose = f"while you have {it_them(n)}" if own else f"while {'they are' if n > 1 else 'it is'} lent"
    return say(
        head(f"{thanks} do not ask about ", slots_of(slots), f" again {whose}."),
        None if own else ln(listed(Name(p) for p in holders), " is told." if len(holders) == 1 else " are told."),
        _ends(asked, own),
        _seen_by_others(scene, asked, slots, bool(known)),
        because(known, "Reason, as who waits may read it: "),
        rate_line((("asked", rate[0]), ("wrong", rate[1]))) if wrong and rate[0] else None,
        ln("If you like: what did I miss? Who waits may read it.") if own and not known and len(asked) == 1 else None,
        buttons=reasons(asked[0][0].slots, asked[0][1], asked[0][0].label)
        if own and not known and len(asked) == 1
        else (MINE,),
    )


def _ends(asked: Sequence[tuple[Lease, tuple[SlotId, ...]]], own: bool) -> LineOf | None:
    ends = sorted({x.end for x, _ in asked if x.end is not None})
    n = sum(len(some) for _, some in asked)
    if len(ends) != 1:
        return None
    return ln(f"{'They stay' if n > 1 else 'It stays'}{' yours' if own else ''} until ", When(ends[0]), ", as before.")


def _seen_by_others(
    scene: Scene, asked: Sequence[tuple[Lease, tuple[SlotId, ...]]], slots: Sequence[SlotId], reasoned: bool
) -> LineOf | None:
    holders = {x.person for x, _ in asked}
    wanted = [
        r for x, _ in asked for r in waiters(scene.books, x.kind, x.machine, scene.now) if r.person not in holders
    ]
    waits = min(wanted, key=lambda r: (r.asked, r.number), default=None)
    n = len(slots)
    if waits is None:
        return None
    why = " and the reason" if reasoned else "; why only if a reason is given"
    return ln(Name(waits.person), f" waits, and sees that {it_is(n)} in use{why}.")
