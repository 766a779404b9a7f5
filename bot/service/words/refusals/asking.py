"""No to what was asked: words that nobody knows, counts, kinds and machines that are not, limits.

Each takes whatever facts there are: a missing one never breaks the answer.
"""

from __future__ import annotations

import re

from bot.domain.policy import Policy
from bot.service.ports import Button, Code, Reply
from bot.service.words.common import (
    HELP,
    MINE,
    QUEUE,
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
from bot.service.words.kinds import counted, kind_words, size_words, typed
from bot.service.words.refusals.facts import NOTHING, Facts, choice, codes, names, typable

HARMLESS = frozenset({"request", "status", "why", "mine", "queue", "window", "help"})
"""Verbs that a guess may offer as a button: a guess never offers to give something up."""


def unknown_verb(f: Facts, policy: Policy) -> Reply:
    """Not a word of ours."""
    word, near = f.text("word", "that"), f.text("nearest")
    if len(word) < 2 or word.lower() in _OPENERS:  # of one letter nothing was left out or mistyped
        near = ""
    if not near and _CARDS.search(f.raw("line")):
        return no(
            head("That is no command of mine. To ask for a card: ", command(policy, "request 1"), "."),
            NOTHING,
            ln("What I can do: ", command(policy, "help"), "."),
            buttons=(button("Request a card", "request 1"), HELP),
        )
    return no(
        head('I do not know "', said(word, 40), '"', f". Did you mean {near}?" if near else "."),
        NOTHING,
        ln("What I can do: ", command(policy, "help"), "."),
        buttons=(_meant(f, near) if near in HARMLESS else None, HELP),
    )


_OPENERS = frozenset({"can", "could", "may", "please", "we"})
"""Words that a sentence begins with, and no mistyped command."""

_CARDS = re.compile(r"\b(?:v?gpus?|cards?)\b", re.IGNORECASE)
"""Words of a sentence that is about cards."""


def _meant(f: Facts, near: str) -> Button:
    """The line with the verb that was probably meant."""
    says = f.again(f.raw("word"), near, near)
    return button(says, says)


def unclear(f: Facts, policy: Policy) -> Reply:
    """Words that could not be read."""
    hint = "" if of_no_use(f) else f.text("hint")
    return not_understood(f.text("text"), hint or f.text("works_here"), policy)


def of_no_use(f: Facts) -> bool:
    """Whether it was read as an end or a length, for which the verb has no use: then no other one works either."""
    return f.text("part") == "length" and not f.truth("lengths", True)


def not_understood(text: str, hint: str, policy: Policy) -> Reply:
    """Words that could not be read, and what can."""
    return no(
        head('I do not understand "', said(text, 80), '".') if text else head("I do not understand that."),
        ln("What works: ", said(hint), ".") if hint else ln("What works: ", command(policy, "help"), "."),
        NOTHING,
        buttons=(HELP,),
    )


def bad_count(f: Facts, policy: Policy) -> Reply:
    """Not a number of cards that makes sense, or a number for a verb that counts none."""
    most, verb = f.number("most"), f.text("verb", "request")
    if not f.truth("counts", True):
        return not_understood(f.text("text"), f.text("works_here"), policy)
    works = ln("A whole number", f" from 1 to {most}" if most else "", " works: ", command(policy, f"{verb} 1"), ".")
    return no(
        head('"', said(f.text("text", "that"), 40), '" is no number of cards I can lend.'),
        works,
        NOTHING,
        buttons=(button("1 card", f.again(f.raw("text"), "1", f"{verb} 1")),),
    )


def too_many(f: Facts, policy: Policy) -> Reply:
    """More than exist."""
    most, kind, count = f.number("most") or 0, f.text("kind", "card"), f.number("count")
    asked = (f"{counted(count, kind)} is" if count == 1 else f"{counted(count, kind)} are") if count else "That is"
    if most < 1:
        return no(
            head("I have no card to lend yet."),
            ln("An admin registers hosts and machines; the board then shows the cards."),
            NOTHING,
        )
    can = f"request {most} {kind}" if typable(kind) and kind != "card" else f"request {most}"
    return no(
        head(f"{asked} more than {host} has: {most}.")
        if (host := f.text("host"))
        else head(f"{asked} more than there are: I have {most}."),
        ln(f"{f.text('machine', 'The machine')} can only have cards of its own host.") if host else None,
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
    kinds, why = f.many("kinds"), f.text("why")
    return no(
        head('I lend no "', said(f.text("kind", "that"), 40), '": ', why, ".")
        if why
        else head('I have no card of the kind "', said(f.text("kind", "that"), 40), '".'),
        ln("I have: ", named_kinds(kinds), ".") if kinds else ln("I have not seen a card yet."),
        NOTHING,
        buttons=[_of_kind(f, k, kinds) for k in kinds[:3] if typable(k)],
    )


def named_kinds(kinds: list[str], most: int = 6) -> list[Part]:
    """Kinds as they are typed, and what a vGPU is: ``T4``, ``8gb`` (vGPU of 8 GB, ``grid_t4-8q``)."""
    shown: list[Part] = []
    for kind in kinds[:most]:
        word = typed(kind, kinds)
        more: Part = [f" ({kind_words(kind)}", [", ", Code(kind)] if word != kind else None, ")"]
        shown.append([Code(word), more if size_words(kind) else None])
    rest = f" and {len(kinds) - most} more" if len(kinds) > most else ""
    return [*listed(shown, ", " if rest else " or "), rest]


def not_here(f: Facts, policy: Policy) -> Reply:
    """A machine can only have what its own host holds."""
    kinds, others = f.many("kinds"), f.many("others")
    vm, host, kind = f.text("machine", "that machine"), f.text("host", "its host"), f.text("kind")
    lacks = f"has no {kind_words(kind, 2)}" if kind else "has no card that I lend"
    lacks = f"shares its {kind} as vGPUs and gives none whole" if f.text("shared") else lacks
    return no(
        head(f"{vm} is on {host}, which {lacks}."),
        ln("A machine can only have cards of its own host. There it can have: ", named_kinds(kinds), ".")
        if kinds
        else ln("A machine can only have cards of its own host; an admin can move it to another."),
        ln("Of yours, ", codes(others), f" could have {'one' if kind else 'a card'}.") if others else None,
        NOTHING,
        buttons=(
            *[_of_kind(f, k, kinds) for k in kinds[:2] if typable(k)],
            *[button(f"On {m}", says) for m in others[:1] if typable(m) and (says := f.again(vm, m, ""))],
            MINE,
        ),
    )


def _of_kind(f: Facts, kind: str, kinds: list[str]) -> Button:
    """The line with a kind that there is, and no more of it than there are."""
    word, count = typed(kind, kinds), f.number("count")
    most = dict(zip(kinds, map(int, f.many("mosts")), strict=False)).get(kind)
    says = f.again(f.raw("kind"), word, f"request 1 {word}")
    if most is not None and count is not None and most < count:
        on = f" on {f.text('machine')}" if typable(f.text("machine")) else ""
        says = f"request {most} {word}{on}"
    return button(says if len(says) <= 40 else word, says)


def unknown_machine(f: Facts, policy: Policy) -> Reply:
    """No such machine, or not registered."""
    mine, there = f.many("machines"), f.many("there")
    name = said(f.text("machine", "that"), 60)
    if there:
        return _unknown_to_admin(f, policy, there)
    return no(
        head('I know no machine "', name, '".'),
        ln("Yours: ", codes(mine), ".") if mine else ln("None of yours is known to me."),
        ln("An admin can add one: ", command(policy, "machine add NAME"), ". Nothing was changed."),
        buttons=(
            *[button(f"On {m}", says) for m in mine[:2] if typable(m) and (says := f.again(f.raw("machine"), m, ""))],
            MINE,
        ),
    )


def _unknown_to_admin(f: Facts, policy: Policy, there: list[str]) -> Reply:
    """To an admin: what there is, whose it is, and the line that adds one."""
    name, seen = said(f.text("machine", "that"), 60), bool(f.text("seen"))
    shown, more = there[:6], len(there) - 6
    return no(
        head("vCenter shows no machine " if seen else "I know no machine ", '"', name, '".'),
        ln(
            "It shows " if seen else "I know ",
            listed(shown, ", " if more > 0 else " and "),
            f" and {more} more." if more > 0 else ".",
        ),
        ln("To add one: ", command(policy, "machine add NAME owners @person"), ". Nothing was changed."),
        buttons=(button("All machines", "machine list"),),
    )


def known(f: Facts, policy: Policy) -> Reply:
    """Registered already: its owners are changed by their own word, so that nobody loses a machine by a slip."""
    vm, owners, wanted = f.text("machine", "that"), f.many("owners"), f.many("wanted")
    same = set(owners) == set(wanted)
    return no(
        head(tidy(vm), " is known already; it belongs to ", names(owners, last=" and "), "."),
        None if same else ln("To change that: ", command(policy, f"machine owners {vm} @person"), "."),
        NOTHING,
        buttons=(button("All machines", "machine list"),),
    )


def not_yours(f: Facts, policy: Policy) -> Reply:
    """Somebody else's."""
    what, owners = f.text("what", "that"), f.many("owners")
    return no(
        head(tidy(what), " is not yours."),
        ln("It belongs to ", names(owners), "; only they can say that.")
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
        ln("Yours: ", codes(mine), ".") if mine else None,
        ln("Say it with ", Code("on MACHINE"), ". Nothing was changed yet."),
        buttons=[choice(repeat, m, " on ") for m in mine],
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
    if number is not None and f.number("offered"):
        count = f.number("count") or 1
        return no(
            head(f"#{number} is offered to you now: {counted(count, f.text('kind'))}. Nothing was changed."),
            ln(
                "Take it, or pass and keep your place. For anything else leave the line first: ",
                command(policy, f"release #{number}"),
                ", then ask again.",
            ),
            buttons=(
                button("Restart now", f"accept #{number} now", "primary"),
                button("Pass, keep my place", f"pass #{number}"),
                button("Leave the line", f"release #{number}"),
            ),
        )
    if number is not None:
        return no(
            head(f"You are in line for {counted(f.number('count') or 1, f.text('kind'))} already: #{number}."),
            ln(
                "Your place stays, and nothing was changed. Said again with a time it changes the request: ",
                command(policy, "request until fri 18:00"),
                "; said with fewer cards it asks for those. For more, leave the line and ask again.",
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


def contrary(f: Facts, policy: Policy) -> Reply:
    """Two words that say the opposite of each other."""
    one, other = f.text("one", "urgent"), f.text("other", "spare")
    return no(
        head(f"{one} and {other} do not go together: one is earlier in line, the other later."),
        ln("What works: one of the two."),
        NOTHING,
        buttons=[button(f"As {kept}", says) for kept, left in ((one, other), (other, one)) if (says := _less(f, left))],
    )


def urgent_soon(f: Facts, policy: Policy) -> Reply:
    """Urgent was said not long ago."""
    again, every = f.when("again"), f.text("every")
    says = _less(f, "urgent")
    return no(
        head(
            f"Urgent works once in {every or 'a while'} a person",
            [", for you again from ", again] if again else None,
            ".",
        ),
        ln("What works now: in line as usual, ", command(policy, says), ".")
        if says
        else ln("What works now: in line as usual."),
        NOTHING,
        buttons=(button("In line as usual", says) if says else None, QUEUE),
    )


def _less(f: Facts, word: str) -> str:
    """The line without a word (not in its reason); "" it is not known."""
    return " ".join(f.again(word, "", "").split())


def not_then(f: Facts, policy: Policy) -> Reply:
    """A time of a booking that cannot be."""
    said_, instead = f.raw("said"), f.text("instead")
    says = f.again(said_, instead, "") if said_ else ""
    return no(
        head(['"', said(said_, 60), '"'] if said_ else "That time", " does not work", why_tail(f.text("why"))),
        ln("What works: ", command(policy, says) if says else Code(instead), ".") if instead else None,
        NOTHING,
        buttons=(button(tidy(says, 60), says) if says else None, HELP),
    )
