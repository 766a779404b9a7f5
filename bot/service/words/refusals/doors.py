"""No because of who says it, or because of how things stand for everybody.

Each takes whatever facts there are: a missing one never breaks the answer.
"""

from __future__ import annotations

from bot.domain.model import BOT
from bot.domain.policy import Policy
from bot.service.ports import Name, Reply
from bot.service.words.common import (
    HELP,
    MINE,
    QUEUE,
    command,
    head,
    ln,
    no,
    why_tail,
)
from bot.service.words.levels import starts_it
from bot.service.words.refusals.facts import NOTHING, Facts, codes, names, plainer


def admins_only(f: Facts, policy: Policy) -> Reply:
    """Only admins may."""
    admins = f.many("admins")
    return no(
        head("Only an admin can do that."),
        ln("Ask ", names(admins), ".") if admins else ln("No admin is set; it is a setting of the bot."),
        NOTHING,
        buttons=(HELP,),
    )


def no_answer(f: Facts, policy: Policy) -> Reply:
    """Somebody who can say nothing to the bot: named as an owner, they would answer no question."""
    who = f.text("person")
    return no(
        head(Name(who) if who else "That person", " cannot answer me", why_tail(f.text("why"))),
        ln(
            "What works: people of the workspace who can write to me, as ",
            command(policy, "machine owners vm-r @ada"),
            ".",
        ),
        NOTHING,
        buttons=(HELP,),
    )


def asked_already(f: Facts, policy: Policy) -> Reply:
    """The same person was asked by the same person not long ago."""
    who, cards, again = f.text("who"), f.many("slots"), f.when("again")
    name = Name(who) if who else "them"
    answer = ANSWERED.get(f.text("answer"), "no answer so far")
    until, end = f.when("until"), f.when("end")
    return no(
        head("You asked ", name, [" about ", codes(cards, last=" and ")] if cards else "", [" on ", *f.when("when")], f": {answer}", [" until ", *until] if until and answer != GONE else "", "."),
        ln("As it stands it is due ", *end, ".") if end and answer != GONE else None,
        ln("I ask nobody the same again and again: it works again from ", *again, " on.") if again else None,
        NOTHING,
        buttons=(QUEUE, MINE),
    )  # fmt: skip


GONE = "it goes back, or went"
ANSWERED = {
    "kept": "it is kept",
    "using": "it is in use",
    "longer": "it was made longer",
    "given": GONE,
    "due": GONE,
    "taken": GONE,
    "lost": GONE,
}
"""What was answered, for people."""


def reason_wanted(f: Facts, policy: Policy) -> Reply:
    """A public reason is needed."""
    repeat = f.text("command", "force release #12")
    example = repeat if "because" in repeat else f"{repeat} because …"
    return no(
        head("This needs a reason; everybody can read it."),
        ln("It is lent to ", Name(who), ", who is told at once, as the channel is.")
        if (who := f.text("who"))
        else None,
        ln("Say it last: ", command(policy, example)),
        NOTHING,
    )


def not_possible(f: Facts, policy: Policy) -> Reply:
    """The state does not allow it."""
    what, why = f.text("what"), f.text("why")
    return no(
        head(
            f"That does not work ({plainer(what)})" if " " in what else "That does not work",
            why_tail(why),
        ),
        ln("What works: ", works, ".") if (works := f.text("works")) else None,
        NOTHING,
        buttons=(MINE, HELP),
    )


def paused(f: Facts, policy: Policy) -> Reply:
    """All acting is paused: who did it and why, and what an owner can do all the same."""
    vm, who = f.text("machine", "the machine"), f.text("who")
    return no(
        head(
            Name(who) if who and who != BOT else "An admin",
            " has paused all restarts and starts",
            why_tail(f.text("why")),
        ),
        ln(f"So I do not start {vm}. If I switched it off: ", starts_it(policy, " as soon as an admin resumes"), "."),
        ln(f"Start {vm} in vCenter if you need it sooner: I see that and leave it on. Nothing was changed."),
        buttons=(MINE,),
    )
