"""Keeps a custom attribute on each machine in vCenter: who has which card of it, and why it was last restarted.

Off unless the settings name an attribute for a vCenter. ``rounds`` hands over the books after each decision; one worker writes what has
changed, outside any transaction, so that a slow vCenter holds nobody up. It is an ornament: whatever becomes of it is logged, the admins are
told once if it is refused, and no move waits for it or goes by it. Only at the level ``act``, and not while paused.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from bot.domain.draft import Draft
from bot.domain.lifecycle import UNDER_WAY
from bot.domain.model import Books, Machine, MachineId
from bot.domain.news import ADMINS, News, NewsKind
from bot.domain.policy import Policy
from bot.service.ports import Clock, Lab, LabError, NeedsPerson, People
from bot.service.words.attribute import attribute_text

log = logging.getLogger(__name__)

LATER_S = 60.0
"""Real seconds before a machine is tried again that could not be written."""


@dataclass(frozen=True)
class _Note:
    """What is to stand on a machine."""

    machine: Machine  # which
    text: str  # what


class Noter:
    """One for a process. :meth:`start` and :meth:`tell` belong to the thread of the rounds."""

    def __init__(self, lab: Lab, people: People, clock: Clock, policy: Policy, vcenters: frozenset[str]) -> None:
        """``vcenters``: those that have an attribute for it; none: nothing is ever written."""
        self._lab, self._people, self._clock, self._policy, self._vcenters = lab, people, clock, policy, vcenters
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="note") if vcenters else None
        self._at_work: Future[None] | None = None
        self._lock = threading.Lock()
        self._written: dict[MachineId, str] = {}  # what stands there, or was refused for good
        self._later: dict[MachineId, float] = {}  # not before so many real seconds
        self._refused: dict[str, str] = {}  # vCenter -> why

    def start(self, books: Books) -> int:
        """Begin to write what has changed. Returns how many machines that is."""
        if self._pool is None or self._policy.level != "act" or books.paused or not self.quiet(0):
            return 0
        todo = [note for note in self._wanted(books) if self._written.get(note.machine.uuid) != note.text]
        todo = [n for n in todo if self._clock.real() >= self._later.get(n.machine.uuid, 0.0)]
        if todo:
            self._at_work = self._pool.submit(self._write, todo)
        return len(todo)

    def _wanted(self, books: Books) -> list[_Note]:
        moving = {m.machine for m in books.moves.values() if m.state in UNDER_WAY}
        names: Mapping[str, str] = {x.person: self._people.person(x.person).name for x in books.leases.values()}
        there = (m for m in books.machines.values() if m.vcenter in self._vcenters and not m.gone)
        return [_Note(m, attribute_text(m, books, names, self._policy.zone)) for m in there if m.uuid not in moving]

    def _write(self, todo: list[_Note]) -> None:
        for note in todo:
            machine = note.machine
            try:
                self._lab.note(machine.vcenter, machine.uuid, note.text)
            except NeedsPerson as refused:
                log.warning("the attribute of %s: %s", machine.name, refused)
                with self._lock:
                    self._refused[machine.vcenter] = str(refused)
            except LabError as again:
                log.info("the attribute of %s is tried again: %s", machine.name, again)
                self._later[machine.uuid] = self._clock.real() + LATER_S
                continue
            except Exception:
                log.exception("the attribute of %s", machine.name)
                self._later[machine.uuid] = self._clock.real() + LATER_S
                continue
            self._written[machine.uuid] = note.text

    def tell(self, draft: Draft) -> None:
        """Tell the admins, once a vCenter and cause, what was refused."""
        with self._lock:
            refused, self._refused = self._refused, {}
        for vcenter, why in sorted(refused.items()):
            draft.tell(News(NewsKind.NOTE_REFUSED, ADMINS, once=f"{vcenter} {why}", reason=why))

    def quiet(self, seconds: float) -> bool:
        """Wait until nothing is being written, at most so many real seconds. Returns whether that came true."""
        return self._at_work is None or not wait([self._at_work], seconds).not_done

    def close(self) -> None:
        """Wait for what is being written."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
