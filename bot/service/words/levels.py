"""The level in words: who restarts machines, and what the bot therefore does not announce, nor offer in a button. The one place that
knows it.

Called by all files of sentences; ``at_level`` by ``news`` and by the desk, for whatever speaks of a restart. What the bot will not do
is not said as if it would: at `watch` an admin does it or nobody, at `hands` an admin does the clicks. No rule is here.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bot.domain.model import Books
from bot.domain.policy import Policy
from bot.service.ports import Bold, Button, LineOf, Name, Reply
from bot.service.words.common import LABEL_MOST, Part, clock_words, listed, ln, span_of, tidy

BY_HAND = "when an admin does it by hand"
"""When a machine restarts at the level `watch`, instead of any time."""

_WATCHING = ln(
    "I only watch here and restart nothing: an admin puts cards in and out by hand. I ask none to, and check what is done."
)
_HANDS = ln("Restarts are made by hand here: at the agreed time an admin does it, and I check each step.")

_SPEAKS = re.compile(r"\brestarts?\b(?! times?\b)")
_SAID = re.compile(r"\bby hand\b|\badmin's hand\b|\bonly watch\b")


def watching(policy: Policy) -> LineOf | None:
    """That the bot restarts nothing; None: it is not at the level `watch`."""
    return _WATCHING if policy.level == "watch" else None


def who_restarts(policy: Policy) -> LineOf | None:
    """Who restarts, if it is not the bot."""
    return watching(policy) or (_HANDS if policy.level == "hands" else None)


_PROMISES = (
    (re.compile(r"\bRestart now\b"), "It may be restarted now"),
    (re.compile(r"\bYes, restart now\b"), "Yes, it may be now"),
    (re.compile(r"\bYes, restart (.*) any time today$"), r"Yes, \1 may be, any time today"),
    (re.compile(r"\bTry again (now|today)$"), r"It may be again \1"),
    (re.compile(r"^Only (\d+), now$"), r"Only \1"),
)
"""Labels of buttons that promise what the bot does only at `act`, and the consent that they give at every level."""

_DONE_BY_THE_BOT = re.compile(r"start\b|window\b.* hard$")
"""What buttons say that the bot would do itself, and nobody at the level `watch` is asked to."""


def _buttons(buttons: tuple[Button, ...], policy: Policy) -> tuple[Button, ...]:
    """Those that are true where an admin restarts, or nobody: consent stays, "now" by the bot goes."""
    kept = [b for b in buttons if policy.level != "watch" or not _DONE_BY_THE_BOT.match(b.says)]
    return tuple(replace(b, label=_consent(b.label)) for b in kept)


def _consent(label: str) -> str:
    for promise, consent in _PROMISES:
        label = promise.sub(consent, label)
    return tidy(label, LABEL_MOST)


def at_level(reply: Reply, policy: Policy, *, buttons_alone: bool = False) -> Reply:
    """The same with buttons that hold at the level, and who restarts, wherever a restart is spoken of and that is not said already.

    :param buttons_alone: it closes a question that has said who, or refuses
    """
    who = who_restarts(policy)
    if who is None:
        return reply
    reply = replace(reply, buttons=_buttons(reply.buttons, policy))
    if buttons_alone:
        return reply
    said = " ".join(_own(line) for line in reply.lines)
    if not _SPEAKS.search(said) or _SAID.search(said):
        return reply
    return replace(reply, lines=(*reply.lines, who))


def _own(line: LineOf) -> str:
    """The bot's own words in a line."""
    return "".join(span.text if isinstance(span, Bold) else span for span in line if isinstance(span, str | Bold))


def i_say_so(policy: Policy, words: str = "I say so before.") -> str:
    """What is announced before a restart; "" at the level `watch`, where nothing is."""
    return "" if policy.level == "watch" else words


def off_when(books: Books, policy: Policy) -> str:
    """When a card comes out of a machine that is off."""
    if policy.level != "act":
        return "by an admin's hand"
    return "once an admin resumes" if books.paused else "now"


def that_moment(policy: Policy, vm: str) -> str:
    """What becomes of a shutdown by its owner."""
    used = (
        "I use that moment and leave it off" if policy.level == "act" else "an admin can use that moment, and I check"
    )
    return f"If you shut {vm} down yourself, {used}."


def next_night(policy: Policy) -> str:
    """What the terms make of a machine's next night, where a card is late and somebody waits; "" at `watch`, where nothing is."""
    night = f"its next night ({clock_words(policy)})"
    match policy.level:
        case "watch":
            return ""
        case "hands":
            return f"{night} is used, by an admin's hand"
        case _:
            return f"I use {night} and say so before"


def without_a_word(policy: Policy, firm: bool = False) -> str:
    """What becomes of a lent card without a word of its owners: nothing, but for what the terms make of one that is late. A sentence.

    :param firm: it was given past somebody who still waits, so that its first night is certain
    """
    night = next_night(policy)
    if not night:
        return "Nothing restarts unasked."
    if firm:
        return f"Nothing restarts unasked before the end; then, since somebody has waited for it from before it was lent, {night}."
    return f"Nothing restarts unasked until {span_of(policy.stuck_return)} after the end: then, while somebody waits, {night}."


def ask_whom(policy: Policy) -> list[Part]:
    """At the level `watch`: that nobody is asked to do it, and whom to ask. A sentence without its end."""
    named = [Name(a) if _ID.fullmatch(a) else tidy(a) for a in policy.admins[:ADMINS_NAMED]]
    who = listed(named, " or ") if named else "an admin"
    return ["Nothing happens unless an admin does it by hand, and I ask none: please ask ", who, " yourself"]


_ID = re.compile(r"[UW][A-Z0-9]{6,}")
"""How people are called where they talk; settings may have the names of admins instead."""

ADMINS_NAMED = 3
"""Admins that are named; one of them is enough."""


def may_restart(policy: Policy, vm: str) -> str:
    """The question, without its end."""
    return f"May I restart {vm}" if policy.level == "act" else f"May {vm} be restarted"


def shall_start(policy: Policy) -> str:
    """The question, without its end."""
    return "Shall I start it" if policy.level == "act" else "Shall it be started"


def new_addresses(policy: Policy) -> str:
    """Who puts the addresses that cards have by now in machines' settings, as a sentence without its end."""
    return "I see to the new addresses" if policy.level == "act" else "an admin puts the new addresses in"


def put_right(policy: Policy, vm: str, *, off: bool, paused: bool = False) -> str:
    """Who puts new addresses in the settings of a machine, and when.

    :param off: it is off
    """
    if policy.level == "watch":
        return f"I only watch: an admin has to put that right in vCenter{'; then it can be started' if off else ''}."
    if not off:
        who = "I put that right" if policy.level == "act" else "An admin puts that right, by hand,"
        return f"{who} in the next restart of {vm}; I ask when that may be."
    when = "as soon as an admin resumes" if paused else "now"
    who = f"so I put that right {when}" if policy.level == "act" else f"so an admin is asked to put that right {when}"
    return f"{vm} is off, {who}; then it can be started."


def names_lost(policy: Policy, vm: str, *, many: bool) -> str:
    """Who takes off what a machine's settings name though its host has it no more, and when."""
    them = "them" if many else "it"
    who = {"act": f"I take {them} out", "hands": f"an admin is asked to take {them} out"}
    how = who.get(policy.level, f"I only watch, so an admin has to take {them} out in vCenter")
    return f"The settings of {vm} still name {them}, and it does not start so: {how} as soon as it is off."


def starts_it(policy: Policy, when: str = "") -> str:
    """Who starts a machine that is off through the bot, as a sentence without its end. ``when``: with a blank before it."""
    match policy.level:
        case "watch":
            return "I only watch and do not start it: somebody has to do it in vCenter"
        case "hands":
            return f"An admin is asked to start it{when}"
        case _:
            return f"I start it{when}"
