"""No to what was said of a thing that is there, or was: numbers, cards, times and ends.

Each takes whatever facts there are: a missing one never breaks the answer.
"""

from __future__ import annotations

from bot.domain.policy import Policy
from bot.service.ports import Code, Name, Reply
from bot.service.words.common import (
    MINE,
    QUEUE,
    REQUEST,
    button,
    command,
    head,
    ln,
    no,
    said,
    tidy,
    why_tail,
)
from bot.service.words.refusals.asking import not_understood, of_no_use
from bot.service.words.refusals.facts import NOTHING, Facts, choice, codes, plainer, typable


def unknown_thing(f: Facts, policy: Policy) -> Reply:
    """No such request, card or restart."""
    if f.text("what") == "person":
        return _unknown_person(f, policy)
    what, text, known = plainer(f.text("what", "thing")), f.text("text"), f.many("known")
    if what == "number":
        return no(
            head(*(["There is no request ", said(text, 40), "."] if text else ["There is no such request."])),
            ln("Yours: ", codes(known, last=" and "), ".") if known else None,
            NOTHING,
            buttons=(MINE, QUEUE),
        )
    return no(
        head(f"I know no {what} ", ['"', said(text, 40), '"'] if text else "like that", "."),
        ln("There is ", codes(known), ".") if known else None,
        NOTHING,
        buttons=(MINE, QUEUE),
    )


def _unknown_person(f: Facts, policy: Policy) -> Reply:
    """Somebody whom nothing tells yet: at the terminal Slack is not asked, so only those are found who have said something."""
    text, known = f.text("text"), f.many("known")
    return no(
        head("I know no person ", ['"', said(text, 40), '"'] if text else "like that", "."),
        ln("Who has a card: ", codes(known, last=" and "), ".") if known else None,
        ln(
            "Somebody is known after their first word to me in Slack: ",
            command(policy, "status"),
            " from them is enough, then this line again.",
        ),
        ln("Said in Slack it works at once, if you pick the name that Slack offers behind the @."),
        NOTHING,
    )


def over(f: Facts, policy: Policy) -> Reply:
    """A number that was, and is over: by what, and when."""
    number, what, who = f.text("number", "that"), f.text("what"), f.text("who")
    why, when = f.text("why"), f.when("when")
    return no(
        head(number, " is over", [": ", why] if why else "", [", ", *when] if when else "", "."),
        ln("It was ", tidy(what), [" of ", Name(who)] if who else "", ".") if what else None,
        NOTHING,
        buttons=(button("Why?", f"why {number}") if number.startswith("#") else None, MINE, QUEUE),
    )


def which_thing(f: Facts, policy: Policy) -> Reply:
    """Several things fit."""
    choices, repeat = f.many("choices"), f.raw("command")
    return no(
        head(f"Which {plainer(f.text('what', 'one'))} do you mean?"),
        ln("There is ", codes(choices), ".") if choices else None,
        ln("Say it behind the command. Nothing was changed yet."),
        buttons=[choice(repeat, c) for c in choices],
    )


def in_the_past(f: Facts, policy: Policy) -> Reply:
    """A time that has passed."""
    if of_no_use(f):
        return not_understood(f.text("text"), f.text("works_here"), policy)
    text, later = f.when("text"), f.text("hint", "tomorrow 18:00")
    says = f.again(
        f.raw("text"), _until(f.raw("text"), later), f.again(f.raw("text").removeprefix("until "), later, "")
    )
    return no(
        head(text, " has passed already.") if text else head("That time has passed already."),
        ln("What works: a later time, such as ", Code(later), "."),
        NOTHING,
        buttons=(button(later, says) if says else None,),
    )


def _until(text: str, later: str) -> str:
    """A later time, with `until` before it if that was said."""
    lead = next((word for word in ("until ", "till ") if text.startswith(word) and not later.startswith(word)), "")
    return lead + later


def too_long(f: Facts, policy: Policy) -> Reply:
    """Longer than a limit allows."""
    if of_no_use(f):
        return not_understood(f.text("text"), f.text("works_here"), policy)
    text, limit = f.text("text"), f.when("limit")
    said_, instead = f.raw("said"), f.typed("instead")
    works = f.again(said_, instead, f.again(said_.removeprefix("until "), instead, f.typed("works")))
    next_ = f" ({f.text('number')})" if f.text("number") else ""
    return no(
        head(f"{text} is too long" if text else "That is too long", [": the limit is ", limit] if limit else None, "."),
        ln(Name(f.text("who")), f" comes next{next_}.") if f.text("who") else None,
        ln(
            Name(f.text("late")),
            " was told likely by ",
            f.when("when"),
            ", and would wait longer, so I offer no longer time.",
        )
        if f.text("late")
        else ln("What works: ", command(policy, works), ".")
        if works
        else ln("What works: a shorter time."),
        NOTHING,
        buttons=(
            button(tidy(works, 60), works) if works and "TEXT" not in works else None,
            MINE,
        ),  # TEXT is to be typed
    )


def no_longer(f: Facts, policy: Policy) -> Reply:
    """No later end is allowed at all."""
    end, who, ref = f.when("end"), f.text("who"), _label(f)
    count = f.number("count") or 1
    many = "one" if count == 1 else f"{count} cards"
    return no(
        head(f"{ref or 'That card'} cannot be made longer now", why_tail(f.text("why"))),
        ln("As it stands it is yours until ", end, ".") if end else None,
        ln(
            Name(who),
            f" waits for {many}. When nobody waits any more, ",
            command(policy, f"extend {ref}"),
            " works again.",
        )
        if who
        else ln("What works: ask for a card again when it has gone back."),
        NOTHING,
        buttons=(MINE, QUEUE if who else REQUEST),
    )


def not_later(f: Facts, policy: Policy) -> Reply:
    """It is theirs for as long already."""
    end, ref = f.when("end"), _label(f)
    return no(
        head(f"{ref or 'That card'} is yours until ", end, " already; that is not later.")
        if end
        else head(f"{ref or 'That card'} is yours for as long already."),
        ln("What works: a later time, or to give it back earlier: ", command(policy, f"release {ref}"), "."),
        NOTHING,
        buttons=(MINE,),
    )


def _label(f: Facts) -> str:
    """The number, as it is typed; "" if there is none."""
    number = f.text("number")
    return f"#{number}" if typable(number) else ""


def too_wordy(f: Facts, policy: Policy) -> Reply:
    """More text than is read."""
    what, length, limit = f.text("what") or "line", f.text("length"), f.text("limit")
    return no(
        head(f"That {what} is too long", [f": {length} characters"] if length else None, "."),
        ln(f"A {what} may have at most {limit} characters; the rest can be said in the channel.") if limit else None,
        NOTHING,
        buttons=(),
    )


def too_late(f: Facts, policy: Policy) -> Reply:
    """What holds now is different."""
    # A plain number counts restart times, which nobody types; what can be typed comes as text.
    number, state, why = f.typed("number"), f.text("state"), f.text("why")
    ref = f"#{number}" if number.rstrip("abcdefghijklmnopqrstuvwxyz").isdecimal() else number
    now = STANDS.get(state, "")
    return no(
        head("Too late", [" for ", ref] if ref else None, why_tail(why)),
        ln(f"As it stands now: {now}.") if now else None,
        NOTHING,
        buttons=(button("Why?", f"why {ref}") if ref.startswith("#") else None, MINE),
    )


STANDS = {
    "queued": "it is in line",
    "offered": "it is offered to you",
    "leased": "its card is reserved or yours",
    "served": "its card is given back",
    "withdrawn": "it has left the line",
    "reserved": "the card is reserved",
    "moving": "the card is on its way",
    "active": "the card is in use",
    "returning": "the card is given back",
    "ended": "the card is back",
    "failed": "the card was lost",
    "planned": "the restart is planned",
    "stopping": "the machine is shutting down",
    "changing": "the machine is off and its cards are being changed; it is started again",
    "starting": "the machine is starting",
    "proving": "the machine is on again",
    "undoing": "it is being put back as it was",
    "stuck": "the machine is off and it needs a person",
    "done": "it is done",
    "dropped": "it was called off",
}
"""States for people."""


def promised_by(f: Facts, policy: Policy) -> Reply:
    """A longer time would make somebody wait longer than they were told."""
    who, when, works, end = f.text("who"), f.when("when"), f.text("works"), f.when("end")
    return no(
        head(
            Name(who) if who else "Somebody",
            " was promised one",
            [" by ", when] if when else None,
            ", and that would be later then.",
        ),
        ln("What works: ", command(policy, works), ".") if works else None,
        ln("Yours stays until ", end, ".") if end else ln(STAYS.get(f.text("what"), "")),
        NOTHING,
        buttons=(button("Until then", works) if works else None, MINE),
    )


STAYS = {"line": "Your request waits as it was.", "back": "So it goes back as agreed."}
"""What holds where somebody would wait longer."""


def promised(f: Facts, policy: Policy) -> Reply:
    """The card was promised to somebody."""
    who, when, slot = f.text("who"), f.when("when"), f.text("slot")
    return no(
        head(
            ["Card ", Code(slot)] if slot else "That card",
            " was promised to ",
            Name(who) if who else "somebody else",
            [" ", when] if when else None,
            ".",
        ),
        ln("So it goes back as agreed. What works: ask for another one."),
        NOTHING,
        buttons=(REQUEST, button("Why?", f"why {slot}") if typable(slot) else None),
    )
