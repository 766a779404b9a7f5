"""Refusals: every "no" of the rules, as a value with a name and a reason.

Rules raise them; ``service.words`` alone turns them into sentences. A refusal changes nothing: the draft that met it is thrown away.
"""

from __future__ import annotations

from datetime import datetime

Fact = str | int | datetime | tuple[str, ...] | None
"""What a refusal brings along for its sentence."""


class Refusal(Exception):
    """Base of every ordinary "no". ``facts`` are what the sentence needs; whoever knows the line that was said adds it as ``line``."""

    def __init__(self, **facts: Fact) -> None:
        super().__init__(type(self).__name__)
        self.facts = facts


class UnknownVerb(Refusal):
    """Not a word of ours; facts: word, nearest."""


class Unclear(Refusal):
    """Words that could not be read; facts: text, hint (an example that works)."""


class BadCount(Refusal):
    """Not a number of cards that makes sense; facts: text, most."""


class TooMany(Refusal):
    """More than exist in the pool, or on the one host that can give them; facts: count, most, kind, host, machine (None: the pool)."""


class UnknownKind(Refusal):
    """No such kind; facts: kind, kinds, why (there is one of that name, and it is not lent), count (asked for) and mosts (how many there are at
    most, one for each of kinds)."""


class NotHere(Refusal):
    """A kind that the machine's host does not have; facts: kind, machine, host, kinds (that it has), others (own machines that could have it),
    shared (the model, if that host shares it as vGPUs), count (asked for) and mosts (how many it has at most, one for each of kinds)."""


class UnknownMachine(Refusal):
    """No such machine, or not registered; facts: machine, machines (of the person), there (what can be named instead, for an admin),
    seen (it is vCenter that does not have it)."""


class Known(Refusal):
    """A machine that is registered already; facts: machine, owners, wanted (who was named now)."""


class NoAnswer(Refusal):
    """Somebody who can answer nothing: a bot, a guest, gone or unknown; facts: person (id), why."""


class Over(Refusal):
    """A number, or a restart, that is over; facts: number (as it is typed), what (it was), who (had it), when (it ended), why."""


class NotYours(Refusal):
    """Somebody else's machine, request or lease; facts: what, owners."""


class WhichMachine(Refusal):
    """Several machines, none named; facts: machines, command (to repeat with `on MACHINE`)."""


class NoMachine(Refusal):
    """The person owns no registered machine."""


class Already(Refusal):
    """Waits for the same machine and kind already; facts: number, count, kind, offered; or what."""


class OverCap(Refusal):
    """Over a limit; facts: limit, have, what."""


class Contrary(Refusal):
    """Two words that say the opposite of each other; facts: one, other."""


class UrgentSoon(Refusal):
    """Urgent was said not long ago; facts: again (when it may be said), every (how often, in words)."""


class NotThen(Refusal):
    """A time of a booking that cannot be; facts: word (from, before, until), why, said (of the line), instead (words that work)."""


class UnknownThing(Refusal):
    """No such request, lease, card or move; facts: what, text, known."""


class WhichThing(Refusal):
    """Several things fit; facts: what, choices, command."""


class InThePast(Refusal):
    """A time that has passed; facts: text."""


class TooLong(Refusal):
    """Longer than a limit allows; facts: limit, text, works (a command with a length that is allowed); or said (of the line) and instead; who
    (comes next, if it is for their sake), number (of their request), late (who would likely wait longer by what is allowed, so that it is not
    offered), when (they were told)."""


class NoLonger(Refusal):
    """A card cannot be made longer at all now; facts: number (label), end, who (waits), count (for how many), why."""


class NotLater(Refusal):
    """A new end that is not later than the one that holds; facts: number (label), end."""


class TooWordy(Refusal):
    """More text than is read; facts: what (line, reason), length, limit (characters)."""


class TooLate(Refusal):
    """What holds now is different; facts: state, number, why."""


class Promised(Refusal):
    """The slot was offered or promised; facts: who, when, slot."""


class PromisedBy(Refusal):
    """It would make somebody wait for longer than they were told; facts: number (label), who (waits), when (the latest time that they were told),
    end (of what is lent, as it stays), works (a command with a time that would work); or what: line (it waits itself), back (it was given back)."""


class AdminsOnly(Refusal):
    """Only admins may; facts: admins."""


class AskedAlready(Refusal):
    """The same holder was asked by the same person not long ago; facts: who, slots, when (it was asked), again (from then on it works), answer
    (a word of asked.ANSWERS; "" none yet), until (of the answer), end (until when it is theirs)."""


class ReasonWanted(Refusal):
    """A public reason is needed; facts: command, who (has it, if it is said for somebody else)."""


class Paused(Refusal):
    """All acting is paused; facts: machine, who, why."""


class NotPossible(Refusal):
    """The state does not allow it; facts: what, why, works (what can be said instead, in words)."""
