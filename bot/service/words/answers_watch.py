"""The answers to ``watch``: what is said when, that it stands already, or that there is nothing to wait for."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.queue import line, waiters
from bot.domain.waiting import Interest
from bot.service.ports import Button, LineOf, Reply, When
from bot.service.words.common import MINE, REQUEST, Part, Scene, button, command, head, listed, ln, say, slots_of
from bot.service.words.kinds import kind_words, kinds_there, typed
from bot.service.words.order import ahead


def watched(scene: Scene, interest: Interest, again: bool) -> Reply:
    """It is remembered, or was already."""
    kind = kind_words(interest.kind)
    return say(
        head(f"I watch for a {kind} for you already, since ", When(interest.since), ".")
        if again
        else head(f"I tell you once when a {kind} is free and nobody waits for it."),
        _who_waits(scene, interest),
        ln("It is kept for nobody: who asks first has it. In line you have a place: ", command(scene.policy, _request(scene, interest.kind)), "."),
        ln("Not any more: ", command(scene.policy, f"watch off{_typed(scene, interest.kind)}"), "."),
        buttons=(_ask_for(scene, interest.kind), _off(scene, interest.kind), MINE),
    )  # fmt: skip


def _who_waits(scene: Scene, interest: Interest) -> LineOf | None:
    """How many are before whoever only watches."""
    waits, kind = waiters(scene.books, interest.kind, now=scene.now), kind_words(interest.kind)
    n = len({r.person for r in waits})
    later = sum(r.kind == interest.kind and ahead(r, scene.now) for r in line(scene.books))
    are = "request is booked for later, and does" if later == 1 else "requests are booked for later, and do"
    who = (
        f"{n} people wait for {kind} now, and come first"
        if n > 1
        else f"1 person waits for {kind} now, and comes first"
    )
    said = [who] * bool(n) + [f"{later} {are} not count before"] * bool(later)
    return ln("; ".join(said), ".") if said else None


def free_already(scene: Scene, kind: str, slots: Sequence[str]) -> Reply:
    """There is nothing to wait for."""
    n = len(slots)
    return say(
        head(f"{n} {kind_words(kind, n)} {'is' if n == 1 else 'are'} free now, and nobody else waits: ", slots_of(slots), "."),
        ln("So there is nothing to watch for: ", command(scene.policy, _request(scene, kind)), " gets you one."),
        buttons=(_ask_for(scene, kind), MINE),
    )  # fmt: skip


def watches_no_more(scene: Scene, over: Sequence[Interest], left: Sequence[Interest]) -> Reply:
    """What was watched for is not any more."""
    still: LineOf | None = ln("Still: ", listed(f"a {kind_words(x.kind)}" for x in left), ".") if left else None
    if not over:
        return say(
            head("I watch for nothing for you." if not left else "I do not watch for that for you."),
            still,
            ln("To begin: ", command(scene.policy, "watch"), ".") if not left else None,
            buttons=(MINE, REQUEST),
        )
    what: Part = listed(f"a {kind_words(x.kind)}" for x in over)
    return say(head("I watch no more for ", what, "."), still, buttons=(MINE, REQUEST))


def interest_line(scene: Scene, interests: Sequence[Interest]) -> LineOf | None:
    """What somebody wants to hear, for ``mine``."""
    if not interests:
        return None
    what: Part = listed([f"a {kind_words(x.kind)} (since ", When(x.since), ")"] for x in interests)
    return ln("I tell you once when nobody waits and there is free: ", what, ".")


def _typed(scene: Scene, kind: str) -> str:
    """The kind as it is typed, with a blank before it; "" there is no other."""
    known = kinds_there(scene.books.cards.values())
    return f" {typed(kind, known)}" if len(known) > 1 else ""


def _request(scene: Scene, kind: str) -> str:
    return f"request 1{_typed(scene, kind)}"


def _ask_for(scene: Scene, kind: str) -> Button:
    return button(f"Request 1 {kind_words(kind)}", _request(scene, kind))


def _off(scene: Scene, kind: str) -> Button:
    return button("Not any more", f"watch off{_typed(scene, kind)}")
