"""Every "no", in words: what was wrong, what would work, and that nothing was changed.

Called by the desk for each :class:`Refusal`; the sentences stand in the files of this room, by what is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.domain import errors as e
from bot.domain.errors import Refusal
from bot.domain.policy import Policy
from bot.service.ports import Reply
from bot.service.words.common import HELP, command, head, ln, no
from bot.service.words.refusals import asking, doors, having
from bot.service.words.refusals.facts import NOTHING, Facts


def refusal(r: Refusal, policy: Policy) -> Reply:
    """The answer for a refusal; ``ok`` is False."""
    sentence = SENTENCES.get(type(r))
    if sentence is None:
        sentence = next((SENTENCES[c] for c in type(r).__mro__ if c in SENTENCES), _plain)
    return sentence(Facts(r), policy)


def _plain(f: Facts, policy: Policy) -> Reply:
    return no(
        head("That does not work."), NOTHING, ln("What I can do: ", command(policy, "help"), "."), buttons=(HELP,)
    )


SENTENCES: dict[type[Refusal], Callable[[Facts, Policy], Reply]] = {
    e.UnknownVerb: asking.unknown_verb,
    e.Unclear: asking.unclear,
    e.BadCount: asking.bad_count,
    e.TooMany: asking.too_many,
    e.UnknownKind: asking.unknown_kind,
    e.NotHere: asking.not_here,
    e.UnknownMachine: asking.unknown_machine,
    e.Known: asking.known,
    e.NotYours: asking.not_yours,
    e.NoAnswer: doors.no_answer,
    e.Over: having.over,
    e.WhichMachine: asking.which_machine,
    e.NoMachine: asking.no_machine,
    e.Already: asking.already,
    e.OverCap: asking.over_cap,
    e.Contrary: asking.contrary,
    e.UrgentSoon: asking.urgent_soon,
    e.NotThen: asking.not_then,
    e.UnknownThing: having.unknown_thing,
    e.WhichThing: having.which_thing,
    e.InThePast: having.in_the_past,
    e.TooLong: having.too_long,
    e.NoLonger: having.no_longer,
    e.NotLater: having.not_later,
    e.TooWordy: having.too_wordy,
    e.TooLate: having.too_late,
    e.Promised: having.promised,
    e.PromisedBy: having.promised_by,
    e.AdminsOnly: doors.admins_only,
    e.AskedAlready: doors.asked_already,
    e.ReasonWanted: doors.reason_wanted,
    e.Paused: doors.paused,
    e.NotPossible: doors.not_possible,
}
"""The sentence of each refusal; a test asks that none is missing."""

__all__ = ["SENTENCES", "refusal"]
