"""What somebody keeps to who was given cards past others that wait for more. Said with the offer, the turn, its restart, and by ``why``;
and that they keep to it no more, once nobody waits whom they went past."""

from __future__ import annotations

from bot.domain.lifecycle import OPEN_LEASE
from bot.domain.model import Books, Lease, LeaseState, MachineId, PersonId
from bot.domain.planner.back import waits_for
from bot.domain.policy import Policy
from bot.domain.waiting import Passing
from bot.service.ports import Code, LineOf, Name, When
from bot.service.words.common import Part, command, ln, name_of, window_words


def passing_line(
    books: Books, passing: Passing | None, machine: MachineId, policy: Policy, reader: PersonId = ""
) -> LineOf | None:
    """``This goes past carol, who waits for 4 cards: so it ends … at the latest, and vm-r restarts then, by …``; None: it goes past nobody.

    Read before anything is accepted, and again with each message about it: the same words, so that nothing in them is new later.
    """
    if passing is None:
        return None
    other = books.requests.get(passing.over)
    who: Part = "somebody" if other is None else "your own request" if other.person == reader else Name(other.person)
    many = f" for {other.count} cards" if other is not None and other.count > 1 else ""
    waits = f"{'which' if who == 'your own request' else 'who'} waits{many}"
    vm, by = name_of(books.machines.get(machine)), When(passing.back_by)
    out: list[Part] = (
        [f", and {vm} restarts then, by ", by, ', even if something runs; "not now" does not move that.']
        if policy.level == "act"
        else [", and is out again ", by, ", even if something runs."]
    )
    agreed = books.agreements.get(passing.anyway)
    since: list[Part] = [f" That is in time since {vm} may restart ", window_words(agreed), "."] if agreed else []
    return ln("This goes past ", who, ", ", waits, ": so it ends ", When(passing.ends_by), " at the latest", out, since)


def passes(books: Books, lease: Lease) -> bool:
    """Whether a lease was given past somebody who still waits: its first night after its end is certain then."""
    return lease.state in OPEN_LEASE and lease.passing is not None and waits_for(books, lease) is not None


def kept_line(books: Books, lease: Lease | None, policy: Policy, reader: PersonId = "") -> LineOf | None:
    """The same of what somebody has, or is just getting; None: nobody waits any more whom it went past, or it is on its way back."""
    if lease is None or lease.state is LeaseState.RETURNING or not passes(books, lease):
        return None
    return passing_line(books, lease.passing, lease.machine, policy, reader)


def lifted_line(books: Books, lease: Lease | None, policy: Policy, reader: PersonId) -> LineOf | None:
    """That what works keeps to nothing any more, to its holder; None: it went past nobody, or they wait still.

    Nobody is written to for it: nothing is to be done. It stands in what comes anyway (the reminder) and in what is asked (``mine``, ``why``).
    """
    if lease is None or lease.passing is None or lease.person != reader or lease.state is not LeaseState.ACTIVE:
        return None
    if lease.over_time or passes(books, lease):
        return None
    extend = command(policy, f"extend #{lease.label}")
    return ln(
        "Nobody waits any more whom ",
        Code(f"#{lease.label}"),
        " went past: it can be made longer as usual, ",
        extend,
        ".",
    )
