"""News about questions that people ask each other through the bot, and those of the morning: to the holder, and what became of them to who asked.

A question says who asks, why, how long they have waited, and that nothing happens without an answer. It goes to the holder (or to owners of the
machine, if they left), never to the channel.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.domain.asked import Inquiry
from bot.domain.hours import DAY, local, next_working_start, wall
from bot.domain.model import Lease, LeaseState, Request, RequestState
from bot.domain.policy import Policy
from bot.domain.queue import place
from bot.domain.spoken import instant_words
from bot.service.ports import Button, LineOf, Name, Reply, When
from bot.service.words.common import (
    MINE,
    Part,
    because,
    button,
    command,
    count_of,
    head,
    listed,
    ln,
    place_word,
    say,
    slots_of,
    wanted,
    why_tail,
)
from bot.service.words.kinds import kind_words, kinds_there, typed
from bot.service.words.news_idle import cards_typed
from bot.service.words.telling import Telling

IN_LINE = (RequestState.QUEUED, RequestState.OFFERED)


# ---- to the holder -------------------------------------------------------------------------------------------------


def asked(t: Telling) -> Reply:
    """Somebody asks whether they can have sooner what the reader has."""
    asking = asking_of(t)
    names: Part = listed(Name(x.by) for x in asking[:3]) if asking else t.other
    more = f" and {len(asking) - 3} more" if len(asking) > 3 else ""
    one = len(asking) < 2
    return say(
        head(names, more, f" {'asks' if one else 'ask'} whether {'they can have' if one else 'one of them can have'} ", t.cards, f" in {t.vm} sooner."),
        *(waits_line(x.by, t.books.requests.get(x.number or 0), x.because) for x in asking[:3]),
        None if asking else waits_line(t.item.who, t.item.request, t.item.said),
        ln(_stays(t), ", also without an answer. I tell ", names, more, " what you answer."),
        _another_time(t),
        buttons=_answers(t),
    )  # fmt: skip


def asking_of(t: Telling) -> list[Inquiry]:
    """Those who ask in this message, in their order."""
    lease = t.lease
    return [x for x in lease.inquiries if x.key == t.item.key and x.shown] if lease is not None and t.item.key else []


def waits_line(person: str, request: Request | None, why: str) -> LineOf | None:
    """Who waits since when, and why they ask; None: nobody is known."""
    if not person:
        return None
    since: Part = " is not in line for one"
    if request is not None and request.state in IN_LINE:
        since = [f" has been waiting for {wanted(request)} since ", When(request.asked), f" (#{request.number})"]
    return ln(Name(person), since, why_tail(why))


def _stays(t: Telling) -> list[Part]:
    """``It is yours until fri 18:00``."""
    they = "They are" if t.many else "It is"
    yours = "yours" if t.to_holder else "lent"
    end: Part = [" until ", When(t.lease.end)] if t.lease is not None and t.lease.end is not None else ""
    return [f"{they} {yours}", end]


def _another_time(t: Telling) -> LineOf | None:
    if t.lease is None or not t.slots:
        return None
    line = f"keep{cards_typed(t.lease.slots, t.slots, t.lease.label)} until TIME because TEXT"
    return ln("Another time, or a reason: ", command(t.policy, line), ".")


def _answers(t: Telling, using: str = "I need it until the end") -> list[Button | None]:
    """Give back, keep for a while, in use: each about these cards alone."""
    if t.lease is None or not t.slots or t.public:
        return [MINE]
    what = cards_typed(t.lease.slots, t.slots, t.lease.label)
    at = keep_until(t.lease, t.now, t.zone, t.policy)
    using = (
        "I am using it" if at is not None and at == t.lease.end else using
    )  # that it is kept until the end is the other one
    keep = f"until {instant_words(at, t.zone, t.now)}" if at is not None else "2 h"
    them = "them" if t.many else "it"
    return [
        button(f"Give {them} back when nothing runs", f"release{what} when done"),
        button(f"Keep {them} {keep}", f"keep{what} {keep.replace(' h', 'h')}"),
        button(using.replace("it", them) if t.many else using, f"using{what}"),
    ]


def keep_until(lease: Lease, now: datetime, zone: str, policy: Policy) -> datetime | None:
    """A time until which somebody may want to keep a card without giving a reason: the next working morning, or the end of today's work, or its
    own end where that is sooner; None: none of them is some hours away."""
    tomorrow = wall(local(now, zone).date() + DAY, policy.working_start, zone)
    evening = wall(local(now, zone).date(), policy.working_end, zone)
    times = (next_working_start(tomorrow, zone, policy), evening)
    if lease.end is not None and lease.end <= times[0]:
        times = (lease.end, evening)
    allowed = (at for at in times if timedelta(hours=1) <= at - now <= policy.idle.kept_without_reason)
    return next(allowed, None)


def asked_over(t: Telling) -> Reply:
    """What somebody asked is answered, or over: an edit of their question."""
    one, them, they = not t.many, "them" if t.many else "it", "They" if t.many else "It"
    until: Part = [" until ", When(t.item.until)] if t.item.until is not None else ""
    mine = "yours" if t.to_holder else "lent"
    match t.item.reason:
        case "newer":
            what = cards_typed(t.lease.slots, t.slots, t.lease.label) if t.lease is not None and t.slots else ""
            return say(
                head("What ", t.other, " asked about ", t.cards, " still waits; a newer question stands below."),
                ln(
                    "To answer it: ",
                    command(t.policy, f"release{what}"),
                    " or ",
                    command(t.policy, f"keep{what} 4h"),
                    ".",
                )
                if what
                else None,
                buttons=_holders(t),
            )
        case "kept":
            first = head(
                "I told ", t.other, " that ", t.holder, f" {'keep' if t.to_holder else 'keeps'} ", t.cards, until, "."
            )
        case "using":
            first = head("I told ", t.other, " that ", t.cards, f" {'is' if one else 'are'} in use.")
        case "longer":
            first = head("I told ", t.other, " that ", t.cards, f" {'is' if one else 'are'} {mine}", until, ".")
        case "given":
            first = head(t.cards, f" {'is' if one else 'are'} given back, thank you: I told ", t.other, ".")
        case "moot":
            first = head(t.other, " does not need ", t.cards, " any more.")
            return say(first, ln("There is nothing to answer."), buttons=_holders(t))
        case _:
            first = head(t.cards, f" {'goes' if one else 'go'} back, so there is nothing to answer to ", t.other, ".")
    return say(first, ln(f"Changed your mind? {they} can go back at any time.") if t.item.reason in ("kept", "using", "longer") else None,
               ln(f"No more questions about {them}.") if t.item.reason == "given" else None, buttons=_holders(t))  # fmt: skip


def _holders(t: Telling) -> tuple[Button | None, ...]:
    return (MINE,) if not t.public else ()


# ---- to who asked --------------------------------------------------------------------------------------------------


def ask_answered(t: Telling) -> Reply:
    """What the holder answered to the reader who asked, or what became of the card."""
    one, they = not t.many, "They are" if t.many else "It is"
    until: Part = [" until ", When(t.item.until)] if t.item.until is not None else ""
    is_ = "is" if one else "are"
    end: Part = [f"{they} due ", When(t.lease.end), "."] if t.lease is not None and t.lease.end is not None else ""
    match t.item.reason:
        case "kept":
            first = head(t.other, " keeps ", t.cards, until, ".")
        case "using":
            first = head(t.other, " is using ", t.cards, ".")
        case "longer":
            first = (
                head(t.other, " made ", t.cards, " longer:", until, ".")
                if until
                else head(t.cards, f" {is_} lent for longer.")
            )
            end = ""
        case "given":
            first = head(t.other, " gave ", t.cards, " back.")
        case "due":
            first = head(t.cards, f" {'goes' if one else 'go'} back: the time is over.")
        case "taken":
            first = head(t.cards, f" {'goes' if one else 'go'} back.")
        case _:
            first = head(t.cards, f" {is_} not lent as before any more, so nobody can answer what you asked.")
    back = t.lease is not None and (t.lease.state is LeaseState.RETURNING or t.item.reason in ("given", "due", "taken"))
    return say(
        first,
        because(t.item.said, "The reason: "),
        ln(end) if end and not back else None,
        ln(f"{'They come' if t.many else 'It comes'} out in a restart of {t.vm}, then whoever is first in line is next.") if back else None,
        _your_place(t),
        buttons=(_why(t), MINE) if not t.public else (),
    )  # fmt: skip


def _your_place(t: Telling) -> LineOf | None:
    """Where the reader stands, who alone gets something by being in line."""
    request = t.books.requests.get(t.item.request.number) if t.item.request is not None else None
    if request is not None and request.state in IN_LINE:
        at = place(t.books, request)
        return ln(f"You are {place_word(at)} (#{request.number}).") if at else None
    if t.item.request is not None or t.public:
        return None
    return ln("You are not in line: ", command(t.policy, "request 1"), " gets you one when it is your turn.")


def _why(t: Telling) -> Button | None:
    request = t.item.request
    return (
        button("Why do I wait?", f"why #{request.number}")
        if request is not None
        else button("Ask for one", "request 1")
    )


# ---- the morning ---------------------------------------------------------------------------------------------------


def morning(t: Telling) -> Reply:
    """At the beginning of the day: is it still needed? Somebody waits."""
    since = t.lease.active_since if t.lease is not None else None
    for_one = f" for a {kind_words(t.lease.kind)}" if t.lease is not None and t.lease.kind.isalnum() else ""
    have: Part = (
        ["You have ", "them" if t.many else "it", " since ", When(since), ". "]
        if since is not None and t.to_holder
        else ""
    )
    return say(
        head("Good morning. ", "Do you" if t.to_holder or t.public else "Does anybody", " still need ", t.cards, f" in {t.vm}?"),
        ln(t.other, " has been waiting", for_one, _since(t.item.request), ".") if t.other_known else None,
        ln(have, _seen(t)),
        ln(_stays(t), ". Without an answer nothing changes, and I ask no more today."),
        buttons=_answers(t, "I am using it"),
    )  # fmt: skip


def _since(request: Request | None) -> Part:
    return [" since ", When(request.asked)] if request is not None else ""


def _seen(t: Telling) -> str:
    """What is seen of the machine: this is not asked while something runs there."""
    word = t.item.inside
    if word is None or not word.inside:
        return f"What runs in {t.vm} I do not see."
    people = len({x.user for x in word.logins})
    there = f"; {count_of(people, 'person', 'people')} logged in" if people else ""
    return f"{t.vm} reports that nothing runs there just now{there}."


def morning_over(t: Telling) -> Reply:
    """That question is answered, or over: an edit of it."""
    one, is_ = not t.many, "are" if t.many else "is"
    until: Part = [" until ", When(t.item.until)] if t.item.until is not None else ""
    match t.item.reason:
        case "newer":
            first = head("My question about ", t.cards, " waits: a newer one stands below.")
        case "nobody":
            first = head(t.cards, f" {'stays' if one else 'stay'} with ", t.holder, ": nobody waits any more.")
        case "busy":
            first = head(t.cards, f" in {t.vm} {is_} at work, sorry for asking.")
        case "kept":
            first = head("Thank you: ", t.cards, f" {'stays' if one else 'stay'} with ", t.holder, until, ".")
        case "using" | "longer":
            first = head("Thank you: ", t.cards, f" {is_} in use.")
        case "given":
            first = head(t.cards, f" {is_} given back, thank you.")
        case _:
            first = head("My question about ", t.cards, " is over.")
    return say(first, ln("There is nothing to answer here.") if t.item.reason in ("newer", "nobody", "busy") else None, buttons=_holders(t))  # fmt: skip


# ---- something is free ---------------------------------------------------------------------------------------------


def free_now(t: Telling) -> Reply:
    """To who wanted to hear it: something of a kind is free, and nobody waits for it."""
    kind, n = t.item.reason or "card", len(t.item.slots)
    known = kinds_there(t.books.cards.values())
    word = typed(kind, known) if kind in known else ""
    return say(
        head(f"{n or 'A'} {kind_words(kind, n or 1)} {'are' if n > 1 else 'is'} free, and nobody waits."),
        ln(slots_of(t.item.slots), ". ", *_first_come(t)) if n else ln(*_first_come(t)),
        buttons=(button(f"Request 1 {kind_words(kind)}", f"request 1 {word}".strip()), MINE) if not t.public else (),
    )


def _first_come(t: Telling) -> list[Part]:
    """That it is said once, and kept for nobody."""
    since: Part = [" on ", When(t.item.until)] if t.item.until is not None else ""
    return ["You wanted to hear it", since, "; I say it this once, and keep nothing for you: who asks first has it."]
