"""What must never happen to somebody whose card looks quiet, over random days; and, for each of these, a fault planted into the rules that
the days find.

The world (``asked_rightly``, ``taken_rightly``, ``nothing_runs``) judges apart from the product, by what it made the cards do.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain import queue
from bot.domain.errors import Refusal
from bot.domain.idle import asking, clocks, taking
from bot.domain.idle.verdict import weigh
from bot.domain.inside import Minute, Verdict, Watch
from bot.domain.model import Job, RequestState, Terms, Window
from bot.domain.news import NewsKind
from bot.domain.policy import Policy
from tests.domain.idle_builders import MIN, NUDGING
from tests.domain.world import MONDAY_10, Vm, World

GIVEN = {"vm-python": ("T4-1", "T4-2"), "vm-python-2": ("T4-3",), "vm-train": ("T4-4",)}
QUIET = ("held", "held", "held", "quiet", "loading")
OTHER = ("busy", "burst", "nothing", "wrong", "stale", "hidden", "ghost", "fault")


class Days:
    """All cards are lent, mostly to nobody's use, and somebody waits; then this and that happens."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        start = MONDAY_10 + timedelta(hours=self.random.choice((0, 0, 3, 10, 12)))
        self.world = World(now=start, policy=NUDGING)
        for name, slots in GIVEN.items():
            self.world.give(name, slots, "3d")
            self.world.vms[name].does = {"": self.random.choice(QUIET)}
            self.agree(name)
        if self.random.random() < 0.8:
            self.request()
        if self.random.random() < 0.2:
            for label, lease in self.world.books.leases.items():
                terms = Terms(take_back=False)
                self.world.books = replace(
                    self.world.books, leases={**self.world.books.leases, label: replace(lease, terms=terms)}
                )

    def agree(self, name: str) -> None:
        window = self.random.choice(
            ("nights", "nights", "any time today", "any time today", None, None, "nights even if busy")
        )
        if window is not None:
            self.world.agree(self.world.vms[name].owners[0], name, window)

    def request(self) -> None:
        self.world.request("bob", "vm-r", self.random.choice((1, 1, 2)), "any time today")

    def vm(self) -> Vm:
        return self.world.vms[self.random.choice(sorted(GIVEN))]

    def happens(self) -> None:
        vm, world, what = self.vm(), self.world, self.random.randrange(12)
        if what <= 2:
            card = self.random.choice(["", *sorted(vm.cards)])
            vm.does[card] = self.random.choice(OTHER if self.random.random() < 0.5 else QUIET)
        elif what == 3:
            vm.jobs = () if vm.jobs else (Job(vm.owners[0], "make", world.now, False),)
        elif what == 4:
            vm.agent = not vm.agent
        elif what == 5:
            vm.rivals = not vm.rivals
        elif what == 6:
            world.delivers = not world.delivers
        elif what == 7:
            world.run += "'"  # a restart: the books are all it knows
            world.last_look = None
        elif what == 8:
            waiting = [r for r in world.books.requests.values() if r.state is RequestState.QUEUED]
            if waiting:
                world.do(lambda d: queue.withdraw(d, d.requests[waiting[0].number], "bob"))
            else:
                self.request()
        else:
            self.agree(vm.name)

    def play(self, steps: int = 7) -> None:
        for _ in range(steps):
            try:
                self.happens()
            except Refusal:
                pass  # an ordinary no: nothing changed
            self.world.pass_time(self.random.choice((10, 30, 70, 130)) * MIN, MIN)
        for name in GIVEN:  # whoever had agreed to nothing agrees now: a question becomes no warning by that
            try:
                self.world.agree(self.world.vms[name].owners[0], name, "any time today")
            except Refusal:
                pass  # too little of the day is left
        self.world.pass_time(20 * MIN, MIN)
        self.asked_once()

    def asked_once(self) -> None:
        """A question is decided once for a deadline, whatever was told of it."""
        decided = Counter((x.about, x.why) for x in self.world.lines if x.what == "idle.asked")
        assert all(count == 1 for count in decided.values()), f"asked twice: {decided}"


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_nobody_is_asked_or_loses_a_card_wrongly(seed: int) -> None:
    """Silence and broken data lead to no question, work within the window neither; nothing is asked twice; nothing is taken back without terms,
    waiter, delivered warning and window; no standing window is used while the guest reports work."""
    Days(seed).play()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, 100, 50))
def test_many_such_days(first: int) -> None:
    for seed in range(first, first + 50):
        Days(seed).play(12)


def test_the_days_are_full_of_questions_and_take_backs() -> None:
    """Else the properties would say nothing."""
    told: Counter[NewsKind] = Counter()
    for seed in range(10):
        days = Days(seed)
        days.play()
        told.update(n.kind for n in days.world.news)
        told["shutdown"] += sum(a.what == "shutdown" for a in days.world.journal)  # type: ignore[index]
    assert told[NewsKind.NUDGE] >= 10 and told[NewsKind.TAKEN_BACK] >= 2, told
    assert told["shutdown"] >= 2  # type: ignore[index]


# ---- planted faults -----------------------------------------------------------------------------------------------


def nothing_is_zero(minute: Minute, idle: Any, length: float, ghost: Any) -> tuple[Verdict, str]:
    """What was not measured counts as quiet."""
    found = weigh(minute, idle, length, ghost)
    return (Verdict.QUIET, "planted") if found[0] is Verdict.UNKNOWN else found


def a_mean_for_the_maximum(minute: Minute, idle: Any, length: float, ghost: Any) -> tuple[Verdict, str]:
    """A second of work in a minute is lost in the mean."""
    found = weigh(minute, idle, length, ghost)
    little = minute.busy_s is not None and minute.busy_s < 5
    return (Verdict.QUIET, "planted") if found[0] is Verdict.BUSY and little else found


def silence_is_idleness(watch: Watch, now: Any, policy: Policy) -> Watch:
    """The clock runs on while nothing is heard."""
    if watch.upto is None or watch.quiet_since is None or now <= watch.upto:
        return watch
    return replace(watch, quiet_s=watch.quiet_s + (now - watch.upto).total_seconds(), upto=now, verdict=Verdict.QUIET)


def nothing_is_remembered(now: Any, watch: Watch, *more: Any) -> int:
    """A question that was asked is not written down."""
    return RUNG(now, replace(watch, asked=()), *more)


def delivered_at_once(draft: Any, lease: Any, nudge: Any, policy: Policy) -> bool:
    """A warning counts from when it was written."""
    told = {**draft.books.delivered, nudge.key: nudge.asked}
    books, draft.books = draft.books, replace(draft.books, delivered=told)
    try:
        return WARNED(draft, lease, nudge, policy)
    finally:
        draft.books = books


def whatever_the_terms(draft: Any, lease: Any, nudge: Any, policy: Policy) -> bool:
    return WARNED(draft, replace(lease, terms=Terms()), nudge, policy)


def unwarned(draft: Any, lease: Any, nudge: Any, policy: Policy) -> bool:
    """Any question is as good as a warning."""
    return WARNED(draft, lease, replace(nudge, warning=True), policy)


def somebody_always_waits(draft: Any, lease: Any) -> Any:
    found = WAITER(draft, lease)
    return found if found is not None else next((r for r in draft.requests.values() if r.person != lease.person), None)


def all_of_it_is_needed(draft: Any, ctx: Any, ready: Any) -> tuple[Any, Any]:
    return dict(ready), dict.fromkeys(ready, "somebody")


def any_time(draft: Any, ctx: Any, machine: Any, label: str) -> Window:
    return Window(draft.now, draft.now + timedelta(hours=1))


def a_licence_to_kill_work(*_: Any) -> tuple[bool, None]:
    return True, None


SETTLE, PLAN = (importlib.import_module(f"bot.domain.{name}") for name in ("idle.settle", "moves.plan"))
RUNG, WARNED, WAITER = asking._rung, taking.warned, taking.first_waiter

FAULTS: dict[str, tuple[tuple[Any, str, Callable[..., Any]], ...]] = {
    "nothing is zero": ((clocks, "weigh", nothing_is_zero),),
    "a mean for the maximum": ((clocks, "weigh", a_mean_for_the_maximum),),
    "silence is idleness": ((SETTLE, "missed", silence_is_idleness),),
    "nothing is remembered": ((asking, "_rung", nothing_is_remembered),),
    "delivered at once": ((taking, "warned", delivered_at_once),),
    "whatever the terms": (
        (taking, "warned", whatever_the_terms),
        (asking, "may_be_warned", lambda *_: True),
    ),
    "unwarned": ((taking, "warned", unwarned), (asking, "may_be_warned", lambda *_: False)),
    "somebody always waits": (
        (taking, "first_waiter", somebody_always_waits),
        (taking, "_needed", all_of_it_is_needed),
        (asking, "first_waiter", somebody_always_waits),
    ),
    "any time": ((taking, "open_window", any_time), (asking, "may_be_warned", lambda *_: True)),
    "a licence to kill work": (
        (PLAN, "may_use", a_licence_to_kill_work),
        (taking, "may_use", a_licence_to_kill_work),
        (taking, "_nothing_runs", a_licence_to_kill_work),
    ),
}


FOUND_BY = {
    "a licence to kill work": 9, "a mean for the maximum": 7, "any time": 1, "delivered at once": 2, "nothing is remembered": 1,
    "nothing is zero": 0, "silence is idleness": 16, "somebody always waits": 7, "unwarned": 1, "whatever the terms": 26,
}  # fmt: skip
"""The first days that find them, tried first; when the days change, others do."""


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for where, name, broken in FAULTS[fault]:
        monkeypatch.setattr(where, name, broken)
    for seed in (FOUND_BY.get(fault, 0), *range(60)):
        try:
            Days(seed).play()
        except AssertionError as found:
            print(f"found by {seed}: {str(found).splitlines()[0]}")
            return
    pytest.fail(f"sixty days went by and nobody noticed: {fault}")
