"""Questions that stand: when what somebody was asked is answered, or over, its message is edited, so that nobody answers it in vain.

Called by ``decide`` last in a round, when everything else is settled: also the first round after the bot was killed finds what was asked
before and no longer holds. Offers are not among them: they end in the transaction that answers them (``queue.leave``). It asks nothing.
"""

from __future__ import annotations

from dataclasses import replace

from bot.domain.draft import Draft
from bot.domain.model import Agreement, AgreementState, Lease, LeaseState, Request, RestWhy
from bot.domain.news import News, NewsKind

ASKING = frozenset({LeaseState.RESERVED, LeaseState.RETURNING})
"""Leases that need a restart of their machine."""


def window_key(label: str) -> str:
    """The key of the one message in which a restart for a lease is asked for."""
    return f"window:{label}"


def wanted_key(number: int) -> str:
    """The key of the one message that asks whether a request is still wanted."""
    return f"wanted:{number}"


def settle(draft: Draft) -> None:
    """Edit the questions away that are answered or have lost their ground."""
    for lease in list(draft.leases.values()):
        if lease.question is not None:
            _restart(draft, lease)
    for request in list(draft.requests.values()):
        if request.question is not None:
            _still_wanted(draft, request)


def _restart(draft: Draft, lease: Lease) -> None:
    """ "When may it restart?" """
    agreed = _named_since(draft, lease)
    if lease.state in ASKING and agreed is None:
        return
    lease = replace(lease, question=None)
    draft.put(lease)
    machine = draft.machines.get(lease.machine)
    for to in machine.owners if machine else (lease.person,):
        news = News(NewsKind.ASK_OVER, to, key=window_key(lease.label), lease=lease, machine=machine, agreement=agreed)
        draft.tell(news)


def _named_since(draft: Draft, lease: Lease) -> Agreement | None:
    """The time that was agreed for it after the question; one that stood before did not answer it."""
    return next(
        (
            a
            for a in sorted(draft.agreements.values(), key=lambda a: -a.number)
            if a.machine == lease.machine
            and a.state is AgreementState.OPEN
            and (a.firm or a.label in ("", lease.label))
            and lease.question is not None
            and a.made >= lease.question
        ),
        None,
    )


def _still_wanted(draft: Draft, request: Request) -> None:
    """ "Do you still want it?" """
    if request.rest is not None and request.rest.why is RestWhy.STILL_WANTED:
        return
    request = replace(request, question=None)
    draft.put(request)
    machine = draft.machines.get(request.machine)
    draft.tell(
        News(NewsKind.ASK_OVER, request.person, key=wanted_key(request.number), request=request, machine=machine)
    )
