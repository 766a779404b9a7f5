"""Random histories: people, machines, vCenter and the bot itself do anything, in any order; what must always hold is asked after each
step (in ``World``), and at the end everything must come to rest: no machine left off by us, no hold without a lease, no device lost.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain import leases, moves, planner, pool, queue, windows
from bot.domain.errors import Refusal
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY
from bot.domain.model import AgreementState, AsideWhy, CallKind, Job, LeaseState, Length, Power, RequestState
from tests.domain.world import World

WINDOWS = (
    "now",
    "any time today",
    "tonight",
    "nights",
    "when done",
    "ask",
    "at 20:00",
    "nights even if busy",
    "now hard",
)
LENGTHS = ("", "for 1h", "for 8h", "3d", "until tomorrow 12:00")
VMS = ("vm-python", "vm-python-2", "vm-r", "vm-train")
OWNER = {"vm-python": "ada", "vm-python-2": "ada", "vm-r": "bob", "vm-train": "carol"}


class History:
    """Draws and plays one history from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = World()
        self.our_offs: set[str] = set()

    def play(self, steps: int) -> None:
        acts: list[Callable[[], object]] = [
            self.request, self.request, self.request, self.release, self.release, self.answer, self.window, self.not_now,
            self.stop, self.start, self.extend, self.keep, self.by_hand, self.fault, self.admin, self.guest, self.crash,
        ]  # fmt: skip
        for _ in range(steps):
            try:
                self.random.choice(acts)()
            except Refusal:
                pass  # an ordinary no: nothing changed
            self.time()

    def time(self) -> None:
        amount = self.random.choice((15, 15, 60, 120, 600, 1800, 3600, 6 * 3600))
        step = timedelta(seconds=15 if amount <= 600 else 60)
        until = self.world.now + timedelta(seconds=amount)
        while self.world.now < until:
            self.world.now = min(until, self.world.now + step)
            before = len(self.world.journal)
            self.world.round()
            for act in self.world.journal[before:]:
                if act.what in ("shutdown", "hard_stop"):
                    self.allowed(act.vm, act.what)

    def allowed(self, vm: str, what: str) -> None:
        """Never a power-off outside an agreement, never a hard stop without consent given beforehand."""
        move = self.world.move(vm)
        assert move.window is not None and move.window.holds(self.world.now), f"{what} of {vm} outside its window"
        agreement = next((a for a in self.world.books.agreements.values() if a.number == move.agreement), None)
        assert agreement is not None, f"{what} of {vm} without an agreement"
        assert move.window.start not in {s.start for s in agreement.skips}, "not now was said"
        assert what == "shutdown" or agreement.hard

    # ---- people

    def request(self) -> None:
        vm = self.random.choice(VMS)
        count = self.random.choice((1, 1, 1, 2, 3, 4))
        window = self.random.choice((None, *WINDOWS))
        self.world.request(OWNER[vm], vm, count, window, self.random.choice(LENGTHS))

    def some_lease(self) -> str:
        found = sorted(x.label for x in self.world.books.leases.values() if x.state in OPEN_LEASE)
        if not found:
            raise Refusal()
        return self.random.choice(found)

    def release(self) -> None:
        label = self.some_lease()
        lease = self.world.lease(label)
        slots = lease.slots[:1] if self.random.random() < 0.4 else None
        self.world.release(lease.person, label, slots, self.random.choice((None, *WINDOWS)))

    def answer(self) -> None:
        line = queue.line(self.world.books)
        if not line:
            raise Refusal()
        request = self.random.choice(line)
        person = self.world.people[request.person]
        match self.random.randrange(3):
            case 0:
                self.world.accept(request.person, request.number, self.random.choice(WINDOWS))
            case 1:
                self.world.do(lambda d: planner.pass_(d, d.requests[request.number], person, self.world.policy))
            case _:
                self.world.do(lambda d: queue.withdraw(d, d.requests[request.number], person.id))

    def window(self) -> None:
        vm = self.random.choice(VMS)
        self.world.agree(OWNER[vm], vm, self.random.choice(WINDOWS))

    def not_now(self) -> None:
        vm = self.random.choice(VMS)
        self.world.do(lambda d: moves.not_now(d, d.machines[f"uuid-{vm}"], OWNER[vm], self.world.policy))

    def stop(self) -> None:
        found = [m for m in self.world.books.moves.values() if m.state in OPEN_MOVE]
        if found:
            move = self.random.choice(found)
            name = self.world.books.machines[move.machine].name
            self.world.do(lambda d: moves.stop(d, d.moves[move.number], OWNER[name], self.world.policy))

    def start(self) -> None:
        vm = self.random.choice(VMS)
        if self.world.vms[vm].power is Power.OFF:
            self.world.do(lambda d: moves.start(d, d.machines[f"uuid-{vm}"], OWNER[vm]))

    def extend(self) -> None:
        lease = self.world.lease(self.some_lease())
        person = self.world.people[lease.person]
        length = Length(timedelta(hours=self.random.choice((1, 8, 48))))
        self.world.do(lambda d: leases.extend(d, d.leases[lease.label], length, person, self.world.policy))

    def keep(self) -> None:
        lease = self.world.lease(self.some_lease())
        self.world.do(lambda d: leases.keep(d, d.leases[lease.label], lease.person))

    # ---- the world

    def by_hand(self) -> None:
        """A user switches power; an admin moves devices."""
        vm = self.world.vms[self.random.choice(VMS)]
        others = {c for v in self.world.vms.values() if v is not vm and v.power is Power.ON for c in v.cards}
        match self.random.randrange(3):
            case 0 if vm.power is Power.ON:
                self.world.switch(vm.name, Power.OFF)
            case 1 if vm.power is Power.OFF and not vm.cards & others:
                self.world.switch(vm.name, Power.ON)
            case 2 if vm.power is Power.OFF and vm.cards:
                vm.cards.discard(sorted(vm.cards)[0])

    def fault(self) -> None:
        """vCenter refuses, is busy, or does not answer."""
        vm = self.random.choice(VMS)
        kind = self.random.choice(list(CallKind))
        match self.random.randrange(4):
            case 0:
                card = self.random.choice(("", *sorted(c.pci for c in self.world.books.cards.values())))
                self.world.refuse[(vm, kind)] = ("refused for a test", card)
            case 1:
                self.world.again[(vm, kind)] = self.random.randrange(1, 6)
            case 2:
                self.world.refuse.clear()
            case _:
                self.world.looking = not self.world.looking

    def admin(self) -> None:
        card = self.world.books.cards[self.random.choice(sorted(self.world.books.cards))]
        if card.aside is None:
            self.world.do(lambda d: pool.set_aside(d, card, AsideWhy.QUARANTINED, "a test"))
        else:
            self.world.do(lambda d: pool.undrain(d, card, "dana"))

    def guest(self) -> None:
        vm = self.world.vms[self.random.choice(VMS)]
        match self.random.randrange(4):
            case 0:
                vm.jobs = () if vm.jobs else (Job(vm.owners[0], "python train.py", self.world.now, True),)
                vm.free_since = self.world.now
            case 1:
                vm.stop_takes = self.random.choice(
                    (timedelta(seconds=30), timedelta(minutes=4), timedelta(hours=1), None)
                )
            case 2:
                vm.agent = not vm.agent
            case _:
                vm.sees = None if vm.sees is not None else 0

    def crash(self) -> None:
        """The bot is killed in a call: it is carried out, its answer is lost, and another run goes on."""
        vm = self.random.choice(VMS)
        self.world.lose.add((vm, self.random.choice(list(CallKind))))

    # ---- the end

    def come_to_rest(self) -> None:
        """Everything works again, everybody gives back and agrees: the pool must be whole, and nothing under way."""
        world = self.world
        world.refuse.clear()
        world.again.clear()
        world.lose.clear()
        world.looking = True
        for vm in world.vms.values():
            vm.agent, vm.sees, vm.jobs, vm.stop_takes = True, None, (), timedelta(seconds=30)
        world.pass_time(timedelta(hours=3), timedelta(minutes=1))
        world.until(lambda: not self.under_way(), timedelta(hours=12), timedelta(minutes=1))
        for request in queue.line(world.books):
            world.do(lambda d, r=request: queue.withdraw(d, d.requests[r.number], r.person))
        for lease in list(world.books.leases.values()):
            if lease.state in OPEN_LEASE:
                world.do(lambda d, x=lease: leases.release(d, d.leases[x.label], None, x.person))
        for vm in VMS:
            if world.vms[vm].power is Power.OFF:
                world.switch(vm, Power.ON) if not self._clash(vm) else None
            wish = world.wish("now hard")
            assert wish is not None
            world.do(
                lambda d, v=vm, w=wish: windows.agree(
                    d, d.machines[f"uuid-{v}"], world.people[OWNER[v]], w, world.policy
                )
            )
        world.pass_time(timedelta(hours=4), timedelta(minutes=1))
        assert not [x for x in world.books.leases.values() if x.state in OPEN_LEASE], world.describe()
        assert not world.books.holds

    def under_way(self) -> bool:
        return any(m.state in UNDER_WAY for m in self.world.books.moves.values())

    def _clash(self, name: str) -> bool:
        mine = self.world.vms[name].cards
        return any(v.cards & mine for v in self.world.vms.values() if v.name != name and v.power is Power.ON)


def check_books(history: History) -> None:
    """Requests and leases agree with each other."""
    books = history.world.books
    for request in books.requests.values():
        lease = books.leases.get(str(request.number))
        if request.state is RequestState.LEASED:
            assert lease is not None and lease.state in OPEN_LEASE, f"#{request.number} is leased without a lease"
        elif lease is not None:
            assert lease.state not in OPEN_LEASE, f"#{request.number} is {request.state} and its lease is {lease.state}"
        assert request.rest is None or request.state is RequestState.QUEUED
        assert (request.offer is None) == (request.state is not RequestState.OFFERED)
    for agreement in books.agreements.values():
        assert agreement.state is AgreementState.OPEN
    for lease in books.leases.values():
        assert lease.state is not LeaseState.ACTIVE or (lease.active_since is not None and lease.end is not None)


def run(seed: int, steps: int) -> None:
    history = History(seed)
    history.play(steps)
    check_books(history)
    history.come_to_rest()


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_any_history_keeps_the_rules_and_comes_to_rest(seed: int) -> None:
    run(seed, 25)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_many_long_histories() -> None:
    for seed in range(400):
        run(seed, 60)
