"""Makes the calls to vCenter that a round wrote down, one worker a machine.

``rounds`` hands over the books after each decision. A worker makes one call, waits for it outside any transaction, and records
what became of it in a short transaction of its own, which wakes a round. Nothing is decided here: a call that does not hold any
more (paused, window over) is not made and said so, and the next round decides anew.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import timedelta

from bot.domain import moves
from bot.domain.draft import Draft
from bot.domain.model import Books, CallKind, MachineId, Mode, Move, MoveState, Outcome, Wish, Work
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.service.ports import Again, Before, Clock, Lab, LabStep, NeedsPerson, Store, StoreTrouble
from bot.service.recording import close

log = logging.getLogger(__name__)

POWER_OFF = frozenset({CallKind.SHUTDOWN, CallKind.HARD_STOP})
"""Calls that need their window at the moment at which they are made."""

LOST = timedelta(seconds=30)
"""Before a call is asked again whose answer nobody understood."""

WORKERS = 40
"""Machines whose calls are made at once; each waits for its own task, and for nobody else's."""


@dataclass(frozen=True)
class _Ending:
    """What became of a call."""

    outcome: Outcome  # what became of it
    reason: str = ""  # plain words
    after: timedelta | None = None  # asked again not before so long after it is recorded
    before: Before | None = None  # memory settings before a change
    card: str = ""  # PCI address of the card to blame


class Performer:
    """The pool of workers. :meth:`start` is called by one thread; the rest by any."""

    def __init__(
        self,
        store: Store,
        lab: Lab,
        clock: Clock,
        policy: Policy,
        run: str,
        wake: Callable[[], None],
        workers: int = WORKERS,
    ) -> None:
        """``run``: id of this process, as written in its calls. ``wake``: called when an outcome is recorded."""
        self._store, self._lab, self._clock, self._policy = store, lab, clock, policy
        self._run, self._wake = run, wake
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="move")
        self._lock = threading.Lock()
        self._at_work: dict[MachineId, Future[None]] = {}

    def start(self, books: Books) -> int:
        """Begin every call of ours that is written and not being made. Returns how many began."""
        mine = [move for move in books.moves.values() if self._is_mine(move)]
        return sum(self._begin(move) for move in sorted(mine, key=lambda move: move.number))

    def busy(self) -> bool:
        """Whether a call is being made."""
        with self._lock:
            return bool(self._at_work)

    def quiet(self, seconds: float) -> bool:
        """Wait until no call is being made, at most so many real seconds. Returns whether that came true."""
        with self._lock:
            running = list(self._at_work.values())
        return not wait(running, seconds).not_done and not self.busy()

    def close(self) -> None:
        """Wait for the calls that are being made; begin no other."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _is_mine(self, move: Move) -> bool:
        return move.call is not None and move.call.outcome is Outcome.ASKED and move.call.run == self._run

    def _begin(self, move: Move) -> bool:
        assert move.call is not None
        with self._lock:
            if move.machine in self._at_work:
                return False
            self._at_work[move.machine] = self._pool.submit(self._work, move.number, move.call.number, move.machine)
        return True

    def _work(self, number: int, call: int, machine: MachineId) -> None:
        try:
            ending = self._make(number, call)
            if ending is not None:
                self._record(number, call, ending)
        except (
            StoreTrouble
        ) as trouble:  # asked again when the books can be read and written: each call is safe to repeat
            log.error("call %d of m%d: its outcome could not be recorded: %s", call, number, trouble)
        except Exception:
            log.exception("call %d of m%d: its outcome could not be recorded", call, number)
        finally:
            with self._lock:
                self._at_work.pop(machine, None)
            self._wake()

    def _make(self, number: int, call: int) -> _Ending | None:
        """Make the call if it still holds; None if there is nothing (more) to record."""
        books = self._store.read()
        move = books.moves.get(number)
        if move is None or not self._is_mine(move) or move.call is None or move.call.number != call:
            return None
        why = self._not_now(books, move, move.call.kind)
        if why:
            log.info("m%d: %s is not asked: %s", number, move.call.kind, why)
            return _Ending(Outcome.UNMADE, why)
        step = _lab_step(moves.step_of(books, move))
        log.info("m%d: %s asked of %s, put %s, take %s", number, step.kind, step.machine, step.put, step.take)
        return self._ask(number, step)

    def _ask(self, number: int, step: LabStep) -> _Ending:
        try:
            before = self._lab.act(step)
        except Again as again:
            log.warning("m%d: %s goes again: %s", number, step.kind, again)
            return _Ending(Outcome.AGAIN, str(again), again.after)
        except NeedsPerson as refused:
            log.warning("m%d: %s is refused: %s", number, step.kind, refused)
            return _Ending(Outcome.REFUSED, str(refused), card=refused.card)
        except Exception:
            log.exception("m%d: %s ended in an error that the driver does not know", number, step.kind)
            return _Ending(Outcome.AGAIN, "the answer of vCenter was not understood", LOST)
        return _Ending(Outcome.DONE, before=before)

    def _not_now(self, books: Books, move: Move, kind: CallKind) -> str:
        """Why a written call is not made after all; "" it is made."""
        if books.paused:
            return "paused"
        if self._policy.level != "act":
            return f"the level is {self._policy.level}"
        if kind in POWER_OFF:
            if move.state is not MoveState.STOPPING:
                return "the way back has begun"
            now = self._clock.now()
            if move.window is None or not move.window.holds(now):
                return "its window does not hold any more"
            return moves.called_off(Draft(books, now), move)  # said since it was written, in whatever words
        return ""

    def _record(self, number: int, call: int, ending: _Ending) -> None:
        with self._store.transaction() as transaction:
            draft = Draft(transaction.books(), self._clock.now())
            moves.outcome(
                draft,
                number,
                call,
                ending.outcome,
                reason=ending.reason,
                again_at=draft.now + ending.after if ending.after is not None else None,
                before=ending.before,
                card=ending.card,
            )
            changes, posts = close(draft, self._policy)
            if changes:
                transaction.record(changes, posts)


def dry_step(books: Books, move: Move, sight: Sight) -> LabStep | None:
    """The change that a planned move is for; None if its machine cannot be seen.

    A fixed card that still sits in another machine is in it too, so that what stands in the way of its machine is found while the card is
    on its way (see :func:`on_the_way`). A device that names no card is left out until there is one: what it needs is counted.
    """
    machine = books.machines[move.machine]
    wanted = [w for w in move.wishes if w.work is Work.TAKE or sight.clean(w.slot) or _fixed(books, w)]
    # What is in another host than its machine is not put on at all: a blocker of that would outlive the look that showed it.
    wanted = [w for w in wanted if w.work is Work.TAKE or not sight.elsewhere(w.slot, move.machine)]
    put = tuple(moves.device(books, wish) for wish in wanted if wish.work is Work.PUT)
    take = tuple(moves.device(books, wish) for wish in wanted if wish.work is Work.TAKE)
    seen = sight.machine(move.machine)
    if not wanted or seen is None:
        return None
    lock = True if put else None
    host = moves.host_of(books, (w for w in wanted if w.work is Work.PUT))
    return LabStep(machine.vcenter, machine.uuid, CallKind.CHANGE, put, take, seen.unplaced, lock, host=host)


def on_the_way(books: Books, move: Move, sight: Sight) -> frozenset[str]:
    """PCI addresses of the cards that a move is to put on and that still sit elsewhere: that is no blocker."""
    wishes = (w for w in move.wishes if w.work is Work.PUT and not sight.clean(w.slot) and _fixed(books, w))
    return frozenset(books.card(w.slot).pci for w in wishes)


def _fixed(books: Books, wish: Wish) -> bool:
    return books.card(wish.slot).mode is Mode.FIXED


def _lab_step(order: moves.Order) -> LabStep:
    return LabStep(
        order.vcenter,
        order.machine,
        order.kind,
        order.put,
        order.take,
        order.had,
        order.lock_memory,
        order.reservation_mb,
        order.host,
    )
