"""Which agreement may carry which lease: asked by rules, forecasts and words, so that nothing is foretold that would not be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from bot.domain.model import Agreement, AgreementKind, AgreementState, Lease, LeaseState
from bot.domain.shelves import S, agreements_for


class Agreed(Protocol):
    """Books or a draft."""

    @property
    def leases(self) -> Mapping[str, Lease]:
        """By label."""
        ...

    @property
    def agreements(self) -> Mapping[int, Agreement]:
        """By number."""
        ...

    def kept(self, kind: type[S]) -> S:
        """The shelf of a kind (`shelves`)."""
        ...


def carries(books: Agreed, agreement: Agreement, label: str) -> bool:
    """Whether an agreement of its machine may carry a lease. What was given back "when done" goes only when nothing runs: a time that was
    agreed before, and would not wait for that, is not what its holder meant."""
    if agreement.label not in ("", label):
        return False
    lease, heeds = books.leases.get(label), agreement.kind is AgreementKind.STANDING and not agreement.even_if_busy
    if heeds or agreement.firm or agreement.when_done or lease is None or lease.state is not LeaseState.RETURNING:
        return True
    return not any(
        a.when_done
        and a.made >= agreement.made
        and (a.state is AgreementState.OPEN or (a.state is AgreementState.USED and a.made >= lease.changed))
        for a in agreements_for(books, label)
    )
