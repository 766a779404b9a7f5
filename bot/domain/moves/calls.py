"""What a move asks of vCenter: written down before it is asked, its outcome written down after.

``settle`` and ``plan`` write calls; the performer of ``service.rounds`` makes those that are pending for its run and hands the outcome
back to ``outcome`` in a transaction of its own. A call asked by another run of the bot has an unknown outcome: it is decided anew
from what is seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from bot.domain import slots
from bot.domain.draft import Draft
from bot.domain.lifecycle import OPEN_MOVE
from bot.domain.model import BOT, Assignment, Books, Call, CallKind, FixedCard, Move, Outcome, Step, Unplaced, Wish
from bot.domain.moves.again import told_in
from bot.domain.news import CHANNEL, News, NewsKind
from bot.domain.renumbered import stale


class MemoryBefore(Protocol):
    """What a machine's memory settings were before a change."""

    @property
    def reservation_mb(self) -> int:
        """Reservation in MB."""
        ...

    @property
    def locked(self) -> bool:
        """Whether the reservation was locked to the memory's size."""
        ...


@dataclass(frozen=True)
class Order:
    """One call to vCenter in the lab's words: devices of a machine's settings instead of slots."""

    vcenter: str  # which
    machine: str  # instance UUID
    kind: CallKind  # what
    put: tuple[Assignment, ...] = ()  # devices to put on
    take: tuple[Assignment, ...] = ()  # devices to take off
    had: tuple[Unplaced, ...] = ()  # devices naming no card that the machine had when this was decided
    lock_memory: bool | None = None  # memory lock wanted afterwards; None: leave it
    reservation_mb: int | None = None  # reservation to go back to when the lock is lifted
    host: str = ""  # id of the host whose cards are put on: the machine must be there; "" wherever it is


def call(
    draft: Draft,
    move: Move,
    kind: CallKind,
    run: str,
    puts: tuple[Wish, ...] = (),
    takes: tuple[Wish, ...] = (),
    empties: bool = False,
    had: tuple[Unplaced, ...] = (),
) -> dict[str, Any]:
    """The fields of a move that write the next call down (for ``lifecycle.step``)."""
    last = move.call
    why = last.reason if last is not None and last.kind is kind and last.goes_again else ""
    return {
        "call": Call(
            move.calls + 1, kind, draft.now, run, reason=why, puts=puts, takes=takes, empties=empties, had=had
        ),
        "calls": move.calls + 1,
    }


def in_flight(move: Move, run: str) -> bool:
    """Whether a call of this run is being made, so that nothing may be decided before its outcome."""
    return move.call is not None and move.call.outcome is Outcome.ASKED and move.call.run == run


def forget_lost(draft: Draft, move: Move, run: str) -> Move:
    """A call that another run of the bot asked will never be answered here: it may be asked again, once a later look has shown
    what became of it."""
    c = move.call
    if c is None or move.state not in OPEN_MOVE or c.outcome is not Outcome.ASKED or c.run == run:
        return move
    why = "the bot was restarted and its answer is lost"
    draft.log(BOT, f"call.{c.kind}", f"m{move.number}", why)
    move = _lost(replace(move, call=replace(c, outcome=Outcome.AGAIN, reason=why, answered=draft.now)))
    draft.put(move)
    return move


def _lost(move: Move) -> Move:
    """Remember a power-off that is to be asked again: vCenter may have heard it, and carry it out later."""
    c = move.call
    stops = c is not None and c.outcome is Outcome.AGAIN and c.kind in (CallKind.SHUTDOWN, CallKind.HARD_STOP)
    return replace(move, lost_stop=c.asked) if c is not None and stops else move


def waits(draft: Draft, move: Move) -> bool:
    """Whether the last call may be asked again, but not yet."""
    c = move.call
    return c is not None and c.outcome is Outcome.AGAIN and c.again_at is not None and draft.now < c.again_at


def pending(books: Books, run: str) -> list[Move]:
    """Moves whose call this run has to make."""
    return [m for m in books.moves.values() if m.state in OPEN_MOVE and in_flight(m, run)]


def step_of(books: Books | Draft, move: Move) -> Order:
    """What the move's last call asks, in the lab's words."""
    c = move.call
    if c is None:
        raise ValueError(f"m{move.number} asks nothing")
    machine = books.machines[move.machine]
    if c.kind is not CallKind.CHANGE:
        return Order(machine.vcenter, machine.uuid, c.kind)
    put = tuple(device(books, w) for w in c.puts)
    take = (*(device(books, w) for w in c.takes), *old_addresses(books, (*c.takes, *c.puts)))
    lock, back = None, None
    if put:
        lock = True
    elif c.empties and machine.lock_before is not None:
        lock, back = machine.lock_before, machine.reservation_before
    return Order(machine.vcenter, machine.uuid, c.kind, put, take, c.had, lock, back, host_of(books, c.puts))


def host_of(books: Books | Draft, puts: Iterable[Wish]) -> str:
    """Id of the host whose cards are to be put on; "" none are."""
    return next((books.card(w.slot).host for w in puts), "")


def device(books: Books | Draft, wish: Wish) -> Assignment:
    """What a wish puts into, or takes out of, its machine's settings."""
    return slots.assignment(books, wish.slot, slots.kind_of(books, wish.label) or "")


def old_addresses(books: Books | Draft, wishes: Iterable[Wish]) -> tuple[FixedCard, ...]:
    """What comes off besides: what names their cards by addresses that these do not have any more."""
    cards = books.cards.values()
    return tuple(FixedCard(pci) for w in wishes for pci in stale(cards, books.card(w.slot)))


def outcome(
    draft: Draft,
    move_number: int,
    call_number: int,
    result: Outcome,
    reason: str = "",
    again_at: datetime | None = None,
    before: MemoryBefore | None = None,
    card: str = "",
) -> None:
    """Write down what became of a call. A call that is not the move's last one any more is only logged."""
    move = draft.moves.get(move_number)
    if move is None or move.call is None or move.call.number != call_number:
        draft.log(BOT, "call.late", f"m{move_number}", f"call {call_number}: {result} {reason}".strip())
        return
    c = replace(move.call, outcome=result, reason=reason, again_at=again_at, answered=draft.now, card=card)
    draft.log(BOT, f"call.{c.kind}", f"m{move.number}", f"{result} {reason}".strip())
    draft.put(_lost(replace(move, call=c)))
    machine = draft.machines.get(move.machine)
    if machine is not None and before is not None and c.puts and machine.lock_before is None:
        draft.put(replace(machine, reservation_before=before.reservation_mb, lock_before=before.locked))
    if machine is not None and result is Outcome.DONE and c.empties:
        draft.put(replace(machine, reservation_before=None, lock_before=None))


def journal(move: Move, at: datetime, what: str, detail: str = "", since: datetime | None = None) -> tuple[Step, ...]:
    """The move's steps with one more. ``since``: nobody could look between then and ``at``."""
    return (*move.steps, Step(at, what, detail, since))


def tell(draft: Draft, move: Move) -> Move:
    """One message a move in the channel, edited at each step."""
    machine = draft.machines.get(move.machine)
    draft.tell(News(NewsKind.MOVE, CHANNEL, key=f"move:{told_in(move)}", move=move, machine=machine))
    return move
