"""Faults of the wire, planned from outside: which call is to fail, how, and how often. Knows no socket.

``server`` asks ``Injections.due`` at each call and carries out what it says; ``drive`` and tests plan. Whatever is
planned counts calls in the order in which they come, and its dice have a seed, so a run can be repeated.

========= ===============================================================================================
how       what the client meets
========= ===============================================================================================
delay     nothing for ``seconds``, then the call goes on
drop      the connection is closed without an answer
503       HTTP 503, as from an overloaded proxy
reset     a TCP reset
trickle   the answer, in small pieces over ``seconds``
silent    nothing at all, until the client leaves or the plan is taken back
fault     the vim fault ``fault`` with ``text`` and ``fields``
restart   vCenter restarts: no session, view or filter is left, all connections are closed, tasks go on
========= ===============================================================================================

``when`` is ``before`` the call is carried out or ``after`` it: ``drop`` after is the lost reply. A ``fault`` or ``delay`` may also come
in its ``task``: the call goes well, and the task fails in the end, having changed nothing, or takes ``seconds`` longer.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from bot.local.vcenter.vmomi import Ref, Refusal, support, vim, vmodl

HOWS = ("delay", "drop", "503", "reset", "trickle", "silent", "fault", "restart")
CONNECT, VERSIONS = "connect", "versions"  # beside the methods: before TLS shakes hands; the list of API versions
CHANGING = "changing"  # any method that changes something
KEEP = 1000  # what came to pass and can be read


@dataclass
class Injection:
    """One plan."""

    how: str  # see above
    when: str = "before"  # or after, or task
    method: str = ""  # name on the wire, "changing", "connect" or "versions"; empty: any method
    user: str = ""  # login; empty: whoever
    vm: str = ""  # name, instance UUID or managed object id of the VM that it is made on; empty: whatever it is made on
    skip: int = 0  # so many such calls go well first
    count: int = 1  # so many fail; 0: until it is taken back
    probability: float = 1.0  # of each after those skipped
    seed: int = 0  # of the dice
    seconds: float = 0.0  # real
    fault: str = ""  # e.g. TaskInProgress
    text: str = ""  # what a person reads
    fields: dict[str, Any] = field(default_factory=dict)  # of the fault; references by their managed object id

    def __post_init__(self) -> None:
        """ValueError for a plan that makes no sense."""
        if self.how not in HOWS:
            raise ValueError(f"how is one of {', '.join(HOWS)}")
        if self.when not in ("before", "after", "task"):
            raise ValueError("when is before, after or task")
        if self.when == "task" and self.how not in ("fault", "delay"):
            raise ValueError("a task can have a fault or a delay")
        if self.skip < 0 or self.count < 0 or self.seconds < 0 or not 0 < self.probability <= 1:
            raise ValueError("skip, count and seconds are 0 or more, probability is above 0 and at most 1")
        if (self.how == "fault") != bool(self.fault):
            raise ValueError("how = fault needs the name of a fault, and nothing else has one")
        if self.method == CONNECT and self.how in ("503", "trickle", "fault"):
            raise ValueError(f"before TLS there is no {self.how}")
        if self.method == VERSIONS and self.how == "fault":
            raise ValueError("the list of versions is no SOAP: it has no fault")
        if self.fault:
            self.refusal(None)

    def refusal(self, this: Ref) -> Refusal:
        """The fault, about the object ``this``."""
        kind = getattr(vim.fault, self.fault, None) or getattr(vmodl.fault, self.fault, None)
        if kind is None:
            raise ValueError(f"there is no fault {self.fault!r}")
        types = {p.name: p.type for p in kind._GetPropertyList()}
        if unknown := sorted(set(self.fields) - set(types)):
            raise ValueError(f"{self.fault} has no {', '.join(unknown)}")
        given = {n: types[n](v) if issubclass(types[n], support.ManagedObject) else v for n, v in self.fields.items()}
        if "object" in types:
            given.setdefault("object", this)
        return Refusal(kind(**given), self.text)

    def instead(self, this: Ref, work: Callable[[], Any]) -> Callable[[], Any]:
        """What a task on ``this`` does in place of ``work``."""

        def fail() -> None:
            raise self.refusal(this)

        return fail if self.how == "fault" else work

    def meant(self, method: str, user: str, changing: bool, vm: Callable[[], tuple[str, ...]]) -> bool:
        """Is a call of this kind the one? ``vm``: by which names the object of the call goes."""
        if self.method in (CONNECT, VERSIONS) or method in (CONNECT, VERSIONS):
            return self.method == method
        if self.when == "task" and not method.endswith("_Task"):
            return False
        right = not self.method or self.method == method or (self.method == CHANGING and changing)
        return right and (not self.user or self.user == user) and (not self.vm or self.vm in vm())


@dataclass
class _Planned:
    number: int
    plan: Injection
    dice: random.Random
    seen: int = 0  # calls that were meant
    done: int = 0  # calls that failed


class Injections:
    """All plans; safe for many threads."""

    def __init__(self) -> None:
        """None."""
        self._cond = threading.Condition()
        self._numbers = itertools.count(1)
        self._plans: list[_Planned] = []
        self._past: list[dict[str, Any]] = []
        self._stopped = False

    def add(self, plan: Injection) -> int:
        """Plan one; its number. Of several that mean one call the oldest is carried out."""
        with self._cond:
            number = next(self._numbers)
            self._plans.append(_Planned(number, plan, random.Random(plan.seed)))
            return number

    def clear(self, number: int | None = None) -> int:
        """Take one back, or all; how many there were. Whoever is kept waiting by them is let go."""
        with self._cond:
            kept = [p for p in self._plans if number is not None and p.number != number]
            gone = len(self._plans) - len(kept)
            self._plans = kept
            self._cond.notify_all()
            return gone

    def stop(self) -> None:
        """Nothing fails or waits any more."""
        with self._cond:
            self._stopped = True
        self.clear()

    def due(
        self, method: str, user: str = "-", changing: bool = False, vm: Callable[[], tuple[str, ...]] = tuple
    ) -> Injection | None:
        """What is to befall this call, which is counted hereby."""
        if not self._plans:
            return None
        with self._cond:
            chosen: _Planned | None = None
            for planned in self._plans:
                if planned.plan.meant(method, user, changing, vm):
                    planned.seen += 1
                    if chosen is None and self._struck(planned):
                        chosen = planned
            if chosen is None:
                return None
            chosen.done += 1
            told = {"number": chosen.number, "method": method, "user": user, "how": chosen.plan.how}
            self._past = [*self._past[-KEEP + 1 :], {**told, "when": chosen.plan.when}]
            return chosen.plan

    def _struck(self, planned: _Planned) -> bool:
        plan = planned.plan
        if planned.seen <= plan.skip or (plan.count and planned.done >= plan.count):
            return False
        return plan.probability >= 1 or planned.dice.random() < plan.probability

    def wait(self, plan: Injection, seconds: float | None, gone: Callable[[], bool], poll_s: float = 0.02) -> None:
        """Wait so many real seconds; None: as long as ``plan`` stands. Ends early when the client has gone."""
        with self._cond:
            end = None if seconds is None else time.monotonic() + seconds
            while not self._stopped and any(p.plan is plan for p in self._plans) and not gone():
                left = poll_s if end is None else end - time.monotonic()
                if left <= 0:
                    return
                self._cond.wait(min(poll_s, left))

    def shown(self) -> dict[str, Any]:
        """``{"plans": [...], "past": [...]}`` for the drive."""
        with self._cond:
            plans = [{"number": p.number, "seen": p.seen, "done": p.done, **asdict(p.plan)} for p in self._plans]
            return {"plans": plans, "past": list(self._past)}
