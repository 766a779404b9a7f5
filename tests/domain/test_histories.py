"""Random histories: people, machines, vCenter and the bot itself do anything, in any order; what must always hold is asked after each
step (in ``World``), and at the end everything must come to rest: no machine left off by us, no hold without a lease, no device lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.domain import idle, leases, moves, planner, pool, queue
from bot.domain.errors import Refusal
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY
from bot.domain.model import (
    AgreementState,
    AsideWhy,
    CallKind,
    Job,
    Lease,
    LeaseState,
    Length,
    MoveState,
    Power,
    RequestState,
)
from bot.domain.news import ADMINS, NewsKind
from tests.domain.idle_builders import NUDGING
from tests.domain.world import DOES, PCI, Vm, World

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


WORDS: tuple[Callable[[datetime], dict[str, Any]], ...] = (
    lambda now: {},
    lambda now: {},
    lambda now: {},
    lambda now: {"partly": True},
    lambda now: {"spare": True},
    lambda now: {"urgent": True, "because": "a deadline"},
    lambda now: {"start": now + timedelta(hours=3)},
    lambda now: {"before": now + timedelta(hours=5)},
)
"""What else is said of a request."""


class History:
    """Draws and plays one history from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = self.build()
        self.world.skew = self.random.choice((timedelta(0), timedelta(minutes=10), -timedelta(minutes=10)))
        if self.random.random() < 0.5:  # two who may disagree
            vm = self.world.vms["vm-r"].uuid
            self.world.do(lambda d: pool.set_owners(d, d.machines[vm], ("bob", "carol"), "dana"))

    def build(self) -> World:
        """The world that it is played in."""
        return World(policy=NUDGING)

    def play(self, steps: int) -> None:
        usual: list[Callable[[], object]] = [
            self.request, self.request, self.request, self.release, self.release, self.answer, self.window, self.not_now,
            self.stop, self.start, self.extend, self.keep, self.by_hand, self.fault, self.admin, self.guest, self.crash,
            self.fault, self.guest, self.by_hand, self.quarrel, self.quarrel, self.cards, self.cards,
        ]  # fmt: skip
        seldom: list[Callable[[], object]] = [
            self.owners, self.machine, self.clone, self.host, self.attach, self.adopt, self.force, self.pause, self.jump,
            self.take_back, self.left, self.done, self.inside, self.using, self.kept,
        ]  # fmt: skip
        for _ in range(steps):
            try:
                self.random.choice(usual if self.random.random() < 0.75 else seldom)()
            except Refusal:
                pass  # an ordinary no: nothing changed
            self.time()

    def time(self) -> None:
        busy = any(m.state in UNDER_WAY for m in self.world.books.moves.values())
        long = (15, 15, 60, 120, 600, 1800, 3600, 6 * 3600)
        amount = self.random.choice((15, 15, 15, 30, 60, 360, 1800) if busy else long)
        step = timedelta(seconds=15 if amount <= 600 else 60)
        until = self.world.now + timedelta(seconds=amount)
        while self.world.now < until:
            self.world.now = min(until, self.world.now + step)
            self.world.round()

    def vm(self) -> Vm:
        """Any machine; rather one that something is about to happen to, or happens to."""
        mine = [v for n, v in sorted(self.world.vms.items()) if n in VMS]
        for states in (UNDER_WAY, OPEN_MOVE):
            busy = {m.machine for m in self.world.books.moves.values() if m.state in states}
            found = [v for v in mine if v.uuid in busy]
            if found and self.random.random() < 0.5:
                return self.random.choice(found)
        return self.random.choice(mine)

    def owner(self, vm: Vm) -> str:
        return self.world.books.machines[vm.uuid].owners[0]

    # ---- people

    def request(self) -> None:
        vm = self.vm()
        count = self.random.choice((1, 1, 1, 2, 3, 4))
        window = self.random.choice((None, *WINDOWS))
        length = self.random.choice(LENGTHS)
        self.world.request(self.owner(vm), vm.name, count, window, length, **self.random.choice(WORDS)(self.world.now))

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
        request = self.random.choice([r for r in line if r.offer is not None] or line)
        person = self.world.people[request.person]
        match self.random.randrange(3):
            case 0:
                self.world.accept(request.person, request.number, self.random.choice(WINDOWS))
            case 1:
                self.world.do(
                    lambda d: planner.pass_(
                        d, self.world.sight(), d.requests[request.number], person, self.world.policy
                    )
                )
            case _:
                self.world.do(lambda d: queue.withdraw(d, d.requests[request.number], person.id))

    def window(self) -> None:
        vm = self.vm()
        by = self.random.choice(self.world.books.machines[vm.uuid].owners)
        self.world.agree(by, vm.name, self.random.choice(WINDOWS))

    def not_now(self) -> None:
        vm = self.vm()
        by = self.random.choice(self.world.books.machines[vm.uuid].owners)
        self.world.say_no(vm.name, by)

    def quarrel(self) -> None:
        """One owner says no to what is about to happen, or happens; then some owner says yes."""
        vm = self.vm()
        owners = self.world.books.machines[vm.uuid].owners
        try:
            self.world.say_no(vm.name, self.random.choice(owners), stop=self.random.random() < 0.5)
        except Refusal:
            pass  # there is nothing to refuse, or it comes too late: the yes is said all the same
        self.world.now += timedelta(seconds=1)
        self.world.agree(
            self.random.choice(owners), vm.name, self.random.choice(("now", "now hard", "any time today hard"))
        )

    def take_back(self) -> None:
        vm = self.vm()
        self.world.take_back(vm.name, self.owner(vm))

    def stop(self) -> None:
        found = [m for m in self.world.books.moves.values() if m.state in OPEN_MOVE]
        if found:
            move = self.random.choice(found)
            by = self.random.choice(self.world.books.machines[move.machine].owners)
            self.world.say_no(next(n for n, v in self.world.vms.items() if v.uuid == move.machine), by, stop=True)

    def done(self) -> None:
        for move in list(self.world.books.moves.values()):
            if move.state is MoveState.STUCK and self.random.random() < 0.5:
                self.world.do(lambda d, m=move: moves.done(d, d.moves[m.number], "dana"))
                for vm in self.world.vms.values():
                    if vm.uuid == move.machine:
                        self.world.ours.pop(vm.name, None)  # the admin has seen to it, off or on

    def start(self) -> None:
        vm = self.vm()
        if vm.power is Power.OFF and vm.exists:
            self.world.do(lambda d: moves.start(d, d.machines[vm.uuid], self.owner(vm)))

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
        vm = self.vm()
        match self.random.randrange(3):
            case 0 if vm.power is Power.ON and vm.exists:
                self.world.switch(vm.name, Power.OFF)
            case 1 if vm.power is Power.OFF and vm.exists and not self.world.clash(vm):
                self.world.switch(vm.name, Power.ON)
            case 2 if vm.power is Power.OFF and vm.exists and vm.cards:
                vm.cards.discard(sorted(vm.cards)[0])

    def fault(self) -> None:
        """vCenter refuses, is busy, or does not answer."""
        vm = self.vm().name
        kind = self.random.choice(list(CallKind))
        match self.random.randrange(5):
            case 0 | 4:
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
            why = self.random.choice(list(AsideWhy))
            self.world.do(lambda d: pool.set_aside(d, card, why, "a test", "dana"))
        else:
            self.world.do(lambda d: pool.undrain(d, card, "dana"))

    def guest(self) -> None:
        vm = self.vm()
        match self.random.randrange(5):
            case 0:
                vm.jobs = () if vm.jobs else (Job(vm.owners[0], "python train.py", self.world.now, True),)
                vm.free_since = self.world.now
            case 1:
                vm.stop_takes = self.random.choice(
                    (timedelta(seconds=30), timedelta(minutes=4), timedelta(hours=1), None)
                )
            case 2:
                vm.agent = not vm.agent
            case 3:
                vm.faults = () if vm.faults or self.random.random() < 0.5 else ("xid 79",)
            case _:
                vm.sees = None if vm.sees is not None else 0

    def cards(self) -> None:
        """What a machine's cards do changes: they work, do nothing, or nothing sound is told of them."""
        vm = self.vm()
        does = self.random.choice(("", "busy", "burst", "quiet", "held", "held", "held", "loading", *DOES, "hidden"))
        vm.does = {"": does}
        if vm.cards and self.random.random() < 0.3:
            vm.does[self.random.choice(sorted(vm.cards))] = self.random.choice(DOES)

    def inside(self) -> None:
        """Two speak for a machine, or nobody sees into it, or `gpu done` is said there; or Slack is down."""
        vm = self.vm()
        match self.random.randrange(4):
            case 0:
                vm.rivals = not vm.rivals
            case 1:
                vm.inside = not vm.inside
            case 2:
                vm.done_at = self.world.now
            case _:
                self.world.delivers = not self.world.delivers

    def using(self) -> None:
        lease = self.world.lease(self.some_lease())
        self.world.do(lambda d: idle.using(d, d.leases[lease.label], None, lease.person, ""))

    def kept(self) -> None:
        label, until = self.some_lease(), self.world.now + timedelta(hours=2)
        person = self.world.lease(label).person
        self.world.do(lambda d: idle.keep(d, d.leases[label], None, until, "", person, self.world.policy))

    def owners(self) -> None:
        """The owners of a machine change; somebody may lose it."""
        vm = self.vm()
        owners = tuple(self.random.sample(("ada", "bob", "carol"), self.random.choice((1, 2))))
        self.world.do(lambda d: pool.set_owners(d, d.machines[vm.uuid], owners, "dana"))

    def left(self) -> None:
        """Somebody leaves the workspace, or comes back."""
        who = self.world.people["carol"]
        self.world.people["carol"] = replace(who, active=not who.active)

    def machine(self) -> None:
        """A machine is renamed, destroyed, or comes back (re-registered: the same UUID)."""
        vm = self.vm()
        match self.random.randrange(3):
            case 0 if vm.exists and self.random.random() < 0.3:
                vm.exists, vm.power, vm.stops_at = False, Power.OFF, None
            case 1 if not vm.exists:
                vm.exists, vm.cards = True, set()
            case _:
                vm.shown = f"{vm.name}-{self.random.randrange(9)}"

    def clone(self) -> None:
        """A copy of a machine brings its cards along; later it is deleted."""
        copy = self.world.vms.pop("copy", None)
        vm = self.vm()
        if copy is None and vm.exists:
            template = self.random.random() < 0.5
            self.world.vms["copy"] = Vm("copy", ("dana",), power=Power.OFF, cards=set(vm.cards), template=template)

    def host(self) -> None:
        """Maintenance, or the host is away."""
        world = self.world
        if world.maintenance or not world.connected:
            world.maintenance, world.connected = False, True
        elif self.random.random() < 0.5:
            world.maintenance = True
        else:
            world.connected = False

    def attach(self) -> None:
        """An admin puts a card that no machine has on a machine that is off."""
        vm = self.vm()
        taken = {c for v in self.world.vms.values() if v.exists for c in v.cards}
        free = [p for p in PCI if p not in taken]
        if vm.power is Power.OFF and vm.exists and free:
            vm.cards.add(self.random.choice(free))

    def adopt(self) -> None:
        """A stranger is claimed, or let go."""
        world = self.world
        for slot, card in sorted(world.books.cards.items()):
            at = [v for v in world.vms.values() if v.exists and card.pci in v.cards]
            if len(at) == 1 and at[0].uuid in world.books.machines and not world.holders(slot):
                machine = world.books.machines[at[0].uuid]
                who = world.people[machine.owners[0]]
                lease = world.do(
                    lambda d, s=slot, m=machine, w=who: leases.adopt(
                        d, m, (s,), w, Length(), by="dana", policy=world.policy
                    )
                )
                if self.random.random() < 0.5:
                    world.release(who.id, lease.label, None, self.random.choice((None, *WINDOWS)))
                return

    def force(self) -> None:
        label = self.some_lease()
        self.world.do(lambda d: leases.force(d, d.leases[label], "dana", "the demo"))

    def pause(self) -> None:
        if self.world.books.paused:
            self.world.do(lambda d: pool.resume(d, "dana"))
        else:
            self.world.do(lambda d: pool.pause(d, "dana", "a test"))

    def jump(self) -> None:
        """The clock of the bot's host was wrong by some minutes for a round."""
        self.world.round(jump=timedelta(minutes=self.random.choice((-20, 20))))

    def crash(self) -> None:
        """The bot is killed in a call: it is carried out, its answer is lost, and another run goes on."""
        vm = self.vm().name
        self.world.lose.add((vm, self.random.choice(list(CallKind))))

    # ---- the end

    def come_to_rest(self) -> None:
        """Everything works again, everybody gives back and agrees: the pool must be whole, and nothing under way."""
        world = self.world
        world.refuse.clear()
        world.again.clear()
        world.lose.clear()
        world.looking, world.connected, world.maintenance = True, True, False
        world.vms.pop("copy", None)
        if world.books.paused:
            self.pause()
        for vm in world.vms.values():
            vm.agent, vm.sees, vm.jobs, vm.faults, vm.stop_takes = True, None, (), (), timedelta(seconds=30)
            vm.rivals, vm.inside, vm.done_at, vm.does = False, True, None, {}
        world.pass_time(timedelta(hours=3), timedelta(minutes=1))
        world.until(lambda: not self.under_way(), timedelta(hours=12), timedelta(minutes=1))
        off = {name for name in world.ours if world.vms[name].exists}
        assert not off, f"{off} were put off by us and left off: {world.describe()}"
        assert not self.untrue()
        for request in queue.line(world.books):
            world.do(lambda d, r=request: queue.withdraw(d, d.requests[r.number], r.person))
        for lease in list(world.books.leases.values()):
            if lease.state in OPEN_LEASE:
                world.do(lambda d, x=lease: leases.release(d, d.leases[x.label], None, x.person))
        for name in VMS:
            vm = world.vms[name]
            if vm.power is Power.OFF and vm.exists and not world.clash(vm):
                world.switch(name, Power.ON)
            for who in world.books.machines[vm.uuid].owners:
                world.take_back(name, who)
            world.agree(self.owner(vm), name, "now hard")
        world.pass_time(timedelta(hours=4), timedelta(minutes=1))
        again = [x for x in world.books.leases.values() if x.state in (LeaseState.RESERVED, LeaseState.ACTIVE)]
        for lease in again:  # in line again, forced to give back early, and its turn came
            world.do(lambda d, x=lease: leases.release(d, d.leases[x.label], None, x.person))
        # A second restart: what was just released works, and a part may have been put in by hand since, which nobody can tell from a lent one.
        back = [x for x in world.books.leases.values() if x.state is LeaseState.RETURNING]
        for uuid in {x.machine for x in back}:
            vm = next(v for v in world.vms.values() if v.uuid == uuid)
            if vm.exists:
                world.agree(self.owner(vm), vm.name, "now hard")
        if back:
            world.pass_time(timedelta(hours=1), timedelta(minutes=1))
        still = [x for x in world.books.leases.values() if x.state in OPEN_LEASE and not self.taken_elsewhere(x)]
        assert not still, world.describe()
        offered = {str(r.number) for r in world.books.requests.values() if r.state is RequestState.OFFERED}
        open_labels = {x.label for x in world.books.leases.values() if x.state in OPEN_LEASE}
        assert {h.label for h in world.books.holds} == open_labels | offered  # in line again: forced to give back early

    def taken_elsewhere(self, lease: Lease) -> bool:
        """Whether somebody put a device of it on another machine by hand: it is clean for nobody until that is undone."""
        pcis = {self.world.card(s).pci for s in lease.slots}
        others = (v for v in self.world.vms.values() if v.exists and v.uuid != lease.machine)
        return any(v.cards & pcis for v in others)

    def untrue(self) -> list[str]:
        """Machines that are on, of which the last word to an owner is that they are off."""
        said = {(n.to, n.key): n for n in self.world.news if n.key and n.machine is not None}
        off = (NewsKind.STUCK, NewsKind.STAYS_OFF)
        on = {v.uuid for v in self.world.vms.values() if v.exists and v.power is Power.ON}
        return [
            f"{n.to}: {n.kind} of {n.machine.name}"
            for n in said.values()
            if n.kind in off
            and n.machine is not None
            and n.machine.uuid in on
            and n.to in (*self.world.books.machines[n.machine.uuid].owners, ADMINS)
        ]

    def under_way(self) -> bool:
        return any(m.state in UNDER_WAY for m in self.world.books.moves.values())


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
    told = {(n.kind, n.to, n.lease.label) for n in history.world.news if n.lease is not None}
    for lease in (*books.leases.values(), *history.world.past.values()):
        if lease.state is LeaseState.FAILED:
            assert (NewsKind.FAILED, lease.person, lease.label) in told, f"nobody told {lease}"
            assert (NewsKind.FAILED, ADMINS, lease.label) in told
    for agreement in books.agreements.values():
        assert agreement.state is AgreementState.OPEN
    for lease in books.leases.values():
        assert lease.state is not LeaseState.ACTIVE or (lease.active_since is not None and lease.end is not None)


def run(seed: int, steps: int, kind: type[History] = History) -> None:
    history = kind(seed)
    history.play(steps)
    check_books(history)
    history.come_to_rest()


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_any_history_keeps_the_rules_and_comes_to_rest(seed: int) -> None:
    run(seed, 25)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, 40, 20))
def test_many_long_histories(first: int) -> None:
    for seed in range(first, first + 20):
        run(seed, 60)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(40, 540, 50))
def test_very_many_long_histories(first: int) -> None:
    for seed in range(first, first + 50):
        run(seed, 60)
