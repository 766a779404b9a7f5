"""Counting at the doors: who wraps the desk, the round and the lab so that the port ``Meter`` hears of each call, and how things stand.

Wiring puts it between the parts. It changes nothing of what goes through, and counts nothing about a person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeVar

from bot.domain import queue
from bot.domain.errors import Refusal
from bot.domain.model import Books, MachineId, MoveState, RequestState, Seen
from bot.service.ports import (
    Again,
    Ask,
    Before,
    Facts,
    Lab,
    LabError,
    LabStep,
    Meter,
    NeedsPerson,
    Reply,
    Store,
    StoreTrouble,
)
from bot.service.verbs import Verbs
from bot.service.words.board import ORDER, View

RESTING_MOVES = frozenset({MoveState.PLANNED, MoveState.DONE, MoveState.DROPPED})
"""Moves in which nothing is being done to a machine."""

T = TypeVar("T")

Real = Callable[[], float]
"""Steady real seconds."""


def counted_desk(
    answered: Callable[[Ask], tuple[Reply, str]], verbs: Verbs, meter: Meter, real: Real
) -> Callable[[Ask], Reply]:
    """The desk, counted by verb and by what became of the line."""

    def hear(ask: Ask) -> Reply:
        began = real()
        reply, outcome = answered(ask)
        try:
            verb = verbs.find(ask.text)[0].words[0]
        except Refusal:
            verb = "unknown"  # never what was typed: that may be anything
        meter.heard(verb or "status", outcome, real() - began)
        return reply

    return hear


def counted_round(
    round_: Callable[[], object], trouble: Callable[[], str], meter: Meter, real: Real
) -> Callable[[], object]:
    """The round, counted and timed. ``trouble``: why it could do nothing, afterwards."""

    def one() -> object:
        began, outcome = real(), "failed"
        try:
            result = round_()
            outcome = "idle" if trouble() else "good"
            return result
        finally:
            meter.went_round(outcome, real() - began)

    return one


class CountedLab:
    """A lab whose calls are counted: ``ok``, ``again``, ``refused``, or ``failed`` for what the driver does not know."""

    def __init__(self, lab: Lab, meter: Meter, real: Real) -> None:
        """``lab`` does the work."""
        self._lab, self._meter, self._real = lab, meter, real

    @property
    def troubles(self) -> Mapping[str, str]:
        """vCenter -> why its last look failed."""
        found: Mapping[str, str] = getattr(self._lab, "troubles", {})
        return found

    def look(self) -> Seen:
        """A look counts once, by whether all vCenters answered it."""
        began, outcome = self._real(), "failed"
        try:
            seen = self._lab.look()
            outcome = "again" if self.troubles else "ok"
            return seen
        except LabError:
            outcome = "again"
            raise
        finally:
            self._meter.called("vcenter", "look", outcome, self._real() - began)

    def dry_run(self, step: LabStep) -> list[str]:
        """As the lab's."""
        return self._counted("dry_run", lambda: self._lab.dry_run(step))

    def act(self, step: LabStep) -> Before | None:
        """As the lab's, counted by kind."""
        return self._counted(step.kind.value, lambda: self._lab.act(step))

    def note(self, vcenter: str, machine: MachineId, text: str) -> None:
        """As the lab's; counted as ``note``."""
        self._counted("note", lambda: self._lab.note(vcenter, machine, text))

    def close(self) -> None:
        """As the lab's."""
        self._lab.close()

    def _counted(self, method: str, call: Callable[[], T]) -> T:
        began, outcome = self._real(), "failed"
        try:
            result = call()
            outcome = "ok"
            return result
        except Again:
            outcome = "again"
            raise
        except NeedsPerson:
            outcome = "refused"
            raise
        finally:
            self._meter.called("vcenter", method, outcome, self._real() - began)


def facts_of(
    store: Store, now: datetime, *, slack: bool, vcenters: Mapping[str, bool], good_ago: float | None, works: bool
) -> Facts:
    """How things stand; those of the books are read now. ``works``: whether the last round met no trouble of the database."""
    try:
        books, seen, outbox = store.read(), store.last_look(), store.pending()
    except StoreTrouble:
        return Facts(slack, vcenters, good_ago, store=False)
    return Facts(
        slack,
        vcenters,
        good_ago,
        store=works,
        outbox=outbox,
        waiting=len(queue.line(books)),
        offered=sum(r.state is RequestState.OFFERED for r in books.requests.values()),
        cards=card_states(books, seen, now),
        moves=sum(m.state not in RESTING_MOVES for m in books.moves.values()),
    )


def card_states(books: Books, seen: Seen | None, now: datetime) -> dict[str, int]:
    """How many cards are in each state, by the board's own words."""
    view = View(books, seen, now)
    found = Counter(view.word(card) for card in books.cards.values())
    return {word.replace(" ", "_"): found[word] for word in ORDER}
