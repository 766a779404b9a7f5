"""Every "no", in words: what was wrong, what would work, and that nothing was changed.

Called by the desk for each :class:`Refusal`. A sentence takes whatever facts there are: a missing one never breaks the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime

from bot.domain import errors as e
from bot.domain.errors import Refusal
from bot.domain.grammar import split_because
from bot.domain.model import BOT
from bot.domain.policy import Policy
from bot.service.ports import Button, Code, LineOf, Name, Reply, When
from bot.service.words.common import (
    HELP,
    MINE,
    QUEUE,
    REQUEST,
    Part,
    button,
    command,
    head,
    listed,
    ln,
    no,
    said,
    tidy,
    why_tail,
)

SAYS_MOST = 400
"""Characters, besides a reason, that a suggested line may have."""

SAFE = "._-"
"""Signs besides letters and digits that a word in a button may have."""


class Facts:
    """What a refusal brings along, read without trust."""

    def __init__(self, refusal: Refusal) -> None:
        self._facts = refusal.facts

    def text(self, name: str, other: str = "") -> str:
        """A fact as text on one line."""
        value = self._facts.get(name)
        if value is None or isinstance(value, tuple | datetime):
            return other
        return tidy(str(value), 120) or other

    def typed(self, name: str) -> str:
        """A fact that was text from the start; "" for a number."""
        return self.text(name) if isinstance(self._facts.get(name), str) else ""

    def number(self, name: str) -> int | None:
        """A fact as a number."""
        value = self._facts.get(name)
        if isinstance(value, int):
            return value
        return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else None

    def many(self, name: str) -> list[str]:
        """A fact as several words."""
        value = self._facts.get(name)
        if isinstance(value, tuple):
            return [tidy(str(v), 40) for v in value if tidy(str(v), 40)]
        return [self.text(name)] if self.text(name) else []

    def when(self, name: str) -> list[Part]:
        """A fact as an instant, or as it is."""
        value = self._facts.get(name)
        if isinstance(value, datetime):
            return [When(value)]
        return [said(str(value), 60)] if value else []

    def raw(self, name: str) -> str:
        """A fact that is said again by a button: text in full, blanks made one."""
        value = self._facts.get(name)
        return " ".join("".join(c if c.isprintable() else " " for c in value).split()) if isinstance(value, str) else ""

    def again(self, old: str, new: str, other: str) -> str:
        """The line with some of its words changed for others (not in its reason), to be said by a button.

        :param other: said instead if the line is not known, or does not have the words
        """
        said_before, reason = split_because(self.raw("line"))
        pattern = rf"(?<!\S){re.escape(old)}(?![^\s,;])"
        changed, found = re.subn(pattern, lambda _: new, said_before.strip(), count=1, flags=re.IGNORECASE)
        if not old or not found or len(changed) > SAYS_MOST:
            return other
        return changed + (f" because {reason}" if reason else "")


def refusal(r: Refusal, policy: Policy) -> Reply:
    """The answer for a refusal; ``ok`` is False."""
    sentence = SENTENCES.get(type(r))
    if sentence is None:
        sentence = next((SENTENCES[c] for c in type(r).__mro__ if c in SENTENCES), _plain)
    return sentence(Facts(r), policy)


# ---- helpers -------------------------------------------------------------------------------------------------------


def _codes(words: Iterable[str], most: int = 6) -> list[Part]:
    known = list(words)
    shown: list[Part] = [Code(w) for w in known[:most]]
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return [*listed(shown, ", " if more else " or "), more]


def _names(ids: Iterable[str], most: int = 4) -> list[Part]:
    known = list(ids)
    return [
        *listed([Name(i) for i in known[:most]], " or "),
        f" or {len(known) - most} others" if len(known) > most else "",
    ]


def _typed(word: str) -> bool:
    return bool(word) and word[0].isalnum() and all(c.isalnum() or c in SAFE for c in word)


def _choice(command_words: str, word: str, sep: str = " ") -> Button | None:
    """The command again, with a choice made."""
    bare = word.lstrip("#")
    said_before, reason = split_because(command_words)  # the reason stays last
    says = f"{said_before.strip()}{sep}{word}" + (f" because {reason}" if reason else "")
    return button(word, says.strip()) if _typed(bare) and command_words else None


NOTHING: LineOf = ("Nothing was changed.",)


# ---- one for each ---------------------------------------------------------------------------------------------------


def _plain(f: Facts, policy: Policy) -> Reply:
    return no(
        head("That does not work."), NOTHING, ln("What I can do: ", command(policy, "help"), "."), buttons=(HELP,)
    )


HARMLESS = frozenset({"request", "status", "why", "mine", "queue", "window", "help"})
"""Verbs that a guess may offer as a button: a guess never offers to give something up."""


def unknown_verb(f: Facts, policy: Policy) -> Reply:
    """Not a word of ours."""
    near = f.text("nearest")
    return no(
        head('I do not know "', said(f.text("word", "that"), 40), '"', f". Did you mean {near}?" if near else "."),
        NOTHING,
        ln("What I can do: ", command(policy, "help"), "."),
        buttons=(_meant(f, near) if near in HARMLESS else None, HELP),
    )


def _meant(f: Facts, near: str) -> Button:
    """The line with the verb that was probably meant."""
    says = f.again(f.raw("word"), near, near)
    return button(says, says)


def unclear(f: Facts, policy: Policy) -> Reply:
    """Words that could not be read."""
    text, hint = f.text("text"), f.text("hint")
    return no(
        head('I do not understand "', said(text, 80), '".') if text else head("I do not understand that."),
        ln("What works: ", said(hint), ".") if hint else ln("What works: ", command(policy, "help"), "."),
        NOTHING,
        buttons=(HELP,),
    )


def bad_count(f: Facts, policy: Policy) -> Reply:
    """Not a number of cards that makes sense."""
    most = f.number("most")
    works = ln("A whole number", f" from 1 to {most}" if most else "", " works: ", command(policy, "request 1"), ".")
    return no(
        head('"', said(f.text("text", "that"), 40), '" is no number of cards I can lend.'),
        works,
        NOTHING,
        buttons=(button("1 card", f.again(f.raw("text"), "1", "request 1")),),
    )


def too_many(f: Facts, policy: Policy) -> Reply:
    """More than exist."""
    most, kind, count = f.number("most") or 0, f.text("kind", "card"), f.number("count")
    asked = (f"{count} {kind} is" if count == 1 else f"{count} {kind} are") if count else "That is"
    if most < 1:
        return no(
            head("I have no card to lend yet."),
            ln("An admin registers hosts and machines; the board then shows the cards."),
            NOTHING,
        )
    can = f"request {most} {kind}" if _typed(kind) and kind != "card" else f"request {most}"
    return no(
        head(f"{asked} more than there are: I have {most}."),
        ln("What works: ", command(policy, can), f", all {most} together." if most > 1 else "."),
        NOTHING,
        buttons=(
            button("1 card", _counted(f, count, 1, "request 1")),
            button(f"All {most}", _counted(f, count, most, can)) if most > 1 else None,
        ),
    )


def _counted(f: Facts, count: int | None, fewer: int, other: str) -> str:
    """The line with fewer cards, written `9` or `9x`."""
    return f.again(str(count), str(fewer), f.again(f"{count}x", str(fewer), other))


def unknown_kind(f: Facts, policy: Policy) -> Reply:
    """No such kind."""
    kinds = f.many("kinds")
    return no(
        head('I have no card of the kind "', said(f.text("kind", "that"), 40), '".'),
        ln("I have: ", _codes(kinds), ".") if kinds else ln("I have not seen a card yet."),
        NOTHING,
        buttons=[_of_kind(f, k) for k in kinds[:3] if _typed(k)],
    )


def _of_kind(f: Facts, kind: str) -> Button:
    """The line with a kind that there is."""
    says = f.again(f.raw("kind"), kind, f"request 1 {kind}")
    return button(says if len(says) <= 40 else kind, says)


def unknown_machine(f: Facts, policy: Policy) -> Reply:
    """No such machine, or not registered."""
    mine = f.many("machines")
    return no(
        head('I know no machine "', said(f.text("machine", "that"), 60), '".'),
        ln("Yours: ", _codes(mine), ".") if mine else ln("None of yours is known to me."),
        ln("An admin can add one: ", command(policy, "machine add NAME"), ". Nothing was changed."),
        buttons=(
            *[button(f"On {m}", says) for m in mine[:2] if _typed(m) and (says := f.again(f.raw("machine"), m, ""))],
            MINE,
        ),
    )


def not_yours(f: Facts, policy: Policy) -> Reply:
    """Somebody else's."""
    what, owners = f.text("what", "that"), f.many("owners")
    return no(
        head(tidy(what), " is not yours."),
        ln("It belongs to ", _names(owners), "; only they can say that.")
        if owners
        else ln("Only its owners can say that."),
        NOTHING,
        buttons=(MINE,),
    )


def which_machine(f: Facts, policy: Policy) -> Reply:
    """Several machines, none named."""
    mine, repeat = f.many("machines"), f.raw("command")
    return no(
        head(f"For which of your {len(mine)} machines?" if len(mine) > 1 else "For which machine?"),
        ln("Yours: ", _codes(mine), ".") if mine else None,
        ln("Say it with ", Code("on MACHINE"), ". Nothing was changed yet."),
        buttons=[_choice(repeat, m, " on ") for m in mine],
    )


def no_machine(f: Facts, policy: Policy) -> Reply:
    """The person owns no registered machine."""
    return no(
        head("I know no machine of yours, so I have nowhere to put a card."),
        ln("An admin can add it: ", command(policy, "machine add NAME"), ", with you as owner."),
        NOTHING,
        buttons=(QUEUE, HELP),
    )


def already(f: Facts, policy: Policy) -> Reply:
    """It is so already."""
    number, what = f.number("number"), f.text("what")
    if number is not None:
        return no(
            head(f"You are in line for {f.number('count')} {tidy(f.text('kind'), 30)} already: #{number}."),
            ln(
                "Your place stays. Said again with a time it changes the request: ",
                command(policy, "request until fri 18:00"),
                "; for another number of cards, leave the line and ask again.",
            ),
            buttons=(button("Why do I wait?", f"why #{number}"), button("Leave the line", f"release #{number}")),
        )
    return no(head(f"That is so already: {what}." if what else "That is so already."), NOTHING)


def over_cap(f: Facts, policy: Policy) -> Reply:
    """Over a limit."""
    limit, have, what = f.text("limit"), f.text("have"), f.text("what", "cards")
    first = (
        f"That is one too many: the limit is {limit} {what} a person" if limit else f"That is over the limit of {what}"
    )
    return no(
        head(first, f", and you have {have}." if have else "."),
        ln("What works: wait for one of them, leave the line with one, or give a card back."),
        ln("Nothing was changed, and only you see this."),
        buttons=(MINE, QUEUE),
    )


def unknown_thing(f: Facts, policy: Policy) -> Reply:
    """No such request, card or restart."""
    what, text, known = _plainer(f.text("what", "thing")), f.text("text"), f.many("known")
    return no(
        head(f"I know no {what} ", ['"', said(text, 40), '"'] if text else "like that", "."),
        ln("There is ", _codes(known), ".") if known else None,
        NOTHING,
        buttons=(MINE, QUEUE),
    )


def which_thing(f: Facts, policy: Policy) -> Reply:
    """Several things fit."""
    choices, repeat = f.many("choices"), f.raw("command")
    return no(
        head(f"Which {_plainer(f.text('what', 'one'))} do you mean?"),
        ln("There is ", _codes(choices), ".") if choices else None,
        ln("Say it behind the command. Nothing was changed yet."),
        buttons=[_choice(repeat, c) for c in choices],
    )


def in_the_past(f: Facts, policy: Policy) -> Reply:
    """A time that has passed."""
    text, later = f.when("text"), f.text("hint", "tomorrow 18:00")
    says = f.again(f.raw("text"), _until(f.raw("text"), later), "")
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
    text, limit = f.text("text"), f.when("limit")
    works = f.again(f.raw("said"), f.typed("instead"), f.typed("works"))
    return no(
        head(f"{text} is too long" if text else "That is too long", [": the limit is ", limit] if limit else None, "."),
        ln("What works: ", command(policy, works), ".") if works else ln("What works: a shorter time."),
        NOTHING,
        buttons=(button(tidy(works, 60), works) if works else None, MINE),
    )


def no_longer(f: Facts, policy: Policy) -> Reply:
    """No later end is allowed at all."""
    end, who, ref = f.when("end"), f.text("who"), _label(f)
    return no(
        head(f"{ref or 'That card'} cannot be made longer now", why_tail(f.text("why"))),
        ln("As it stands it is yours until ", end, ".") if end else None,
        ln(Name(who), " waits for one. When nobody waits any more, ", command(policy, f"extend {ref}"), " works again.")
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
    return f"#{number}" if _typed(number) else ""


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
    "stuck": "the machine does not start; it needs a person",
    "done": "it is done",
    "dropped": "it was called off",
}
"""States for people."""


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
        buttons=(REQUEST, button("Why?", f"why {slot}") if _typed(slot) else None),
    )


def admins_only(f: Facts, policy: Policy) -> Reply:
    """Only admins may."""
    admins = f.many("admins")
    return no(
        head("Only an admin can do that."),
        ln("Ask ", _names(admins), ".") if admins else ln("No admin is set; it is a setting of the bot."),
        NOTHING,
        buttons=(HELP,),
    )


def reason_wanted(f: Facts, policy: Policy) -> Reply:
    """A public reason is needed."""
    repeat = f.text("command", "force release #12")
    example = repeat if "because" in repeat else f"{repeat} because …"
    return no(
        head("This needs a reason; everybody can read it."),
        ln("Say it last: ", command(policy, example)),
        NOTHING,
    )


def not_possible(f: Facts, policy: Policy) -> Reply:
    """The state does not allow it."""
    what, why = f.text("what"), f.text("why")
    return no(
        head(
            f"That does not work now ({_plainer(what)})" if what and what != "this" else "That does not work now",
            why_tail(why),
        ),
        NOTHING,
        buttons=(MINE, HELP),
    )


def _plainer(what: str) -> str:
    """The code's words for things, as people say them."""
    words = {
        "lease": "card",
        "slot": "card",
        "agreement": "restart time",
        "move": "restart",
        "leases": "cards",
        "moves": "restarts",
    }
    return " ".join(words.get(w, w) for w in what.split())


def paused(f: Facts, policy: Policy) -> Reply:
    """All acting is paused: who did it and why, and what an owner can do all the same."""
    vm, who = f.text("machine", "the machine"), f.text("who")
    return no(
        head(
            Name(who) if who and who != BOT else "An admin",
            " has paused all restarts and starts",
            why_tail(f.text("why")),
        ),
        ln(f"So I do not start {vm}; if I switched it off, I start it as soon as an admin resumes."),
        ln(f"Start {vm} in vCenter if you need it sooner: I see that and leave it on. Nothing was changed."),
        buttons=(MINE,),
    )


SENTENCES: dict[type[Refusal], Callable[[Facts, Policy], Reply]] = {
    e.UnknownVerb: unknown_verb,
    e.Unclear: unclear,
    e.BadCount: bad_count,
    e.TooMany: too_many,
    e.UnknownKind: unknown_kind,
    e.UnknownMachine: unknown_machine,
    e.NotYours: not_yours,
    e.WhichMachine: which_machine,
    e.NoMachine: no_machine,
    e.Already: already,
    e.OverCap: over_cap,
    e.UnknownThing: unknown_thing,
    e.WhichThing: which_thing,
    e.InThePast: in_the_past,
    e.TooLong: too_long,
    e.NoLonger: no_longer,
    e.NotLater: not_later,
    e.TooWordy: too_wordy,
    e.TooLate: too_late,
    e.Promised: promised,
    e.AdminsOnly: admins_only,
    e.ReasonWanted: reason_wanted,
    e.Paused: paused,
    e.NotPossible: not_possible,
}
"""The sentence of each refusal; a test asks that none is missing."""
