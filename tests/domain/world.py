"""A world in memory for the pure rules: four cards, four machines, three people, and a clock that the test moves.

It plays the store (applies a draft's changes), vCenter (carries out calls, can refuse, lose or delay them) and the guests (boot, stop,
report). After each step it asks what must always hold. No room of the product is imitated here besides what ``decide`` is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from bot.domain import leases, moves, planner, pool, queue, windows
from bot.domain.away import away
from bot.domain.decide import decide
from bot.domain.draft import Changes, Draft
from bot.domain.inside import Device, Minute, Process
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, UNDER_WAY
from bot.domain.minutes import minutes_of
from bot.domain.model import (
    Agreement,
    AgreementKind,
    Assignment,
    Books,
    Call,
    CallKind,
    Card,
    FixedCard,
    Hold,
    Job,
    Lease,
    LeaseState,
    Length,
    Line,
    Login,
    Machine,
    Move,
    MoveState,
    Outcome,
    Person,
    Power,
    Reading,
    Request,
    RequestState,
    Seen,
    SeenCard,
    SeenHost,
    SeenMachine,
    Window,
)
from bot.domain.moves import Order
from bot.domain.news import News, NewsKind
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.domain.times import WindowWish, read_length, read_window

T = TypeVar("T")
WAITING = frozenset({RequestState.QUEUED, RequestState.OFFERED})
OVER = frozenset({RequestState.SERVED, RequestState.WITHDRAWN})
PCI = ("0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0", "0000:af:00.0")
ZONE = "Europe/Berlin"
MONDAY_10 = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
"""Monday, 10:00 in Berlin."""


@dataclass
class Vm:
    """A virtual machine of the world."""

    name: str
    owners: tuple[str, ...]
    power: Power = Power.ON
    cards: set[str] = field(default_factory=set)  # PCI addresses in its settings
    boot: datetime = MONDAY_10 - timedelta(days=1)
    stops_at: datetime | None = None  # a shutdown is under way
    stop_takes: timedelta | None = timedelta(seconds=30)  # None: never
    boot_takes: timedelta = timedelta(seconds=40)
    agent: bool = True  # the guest reports
    sees: int | None = None  # how many cards the guest sees; None: all
    faults: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()
    logins: tuple[Login, ...] = ()
    user: str = "ada"  # whose the processes are that hold its cards
    exists: bool = True
    template: bool = False
    unknown: bool = False
    question: str = ""
    boots: int = 0
    free_since: datetime | None = MONDAY_10 - timedelta(days=1)
    heard_ahead: timedelta = timedelta(0)  # the clock was set back by that much since its first word was heard
    id: str = ""  # instance UUID; "" from the first name
    shown: str = ""  # its name in vCenter; "" as it was named first
    does: dict[str, str] = field(
        default_factory=dict
    )  # PCI address -> what its card does, see DOES; "" is for all others
    rivals: bool = False  # two guests speak with its token
    inside: bool = True  # False: its source sees the cards alone
    done_at: datetime | None = None  # `gpu done` was said in it
    late: timedelta = timedelta(0)  # what it says waited in it for so long
    pushed: datetime | None = None  # when it last told of its cards

    def __post_init__(self) -> None:
        self.id = self.id or f"uuid-{self.name}"

    @property
    def uuid(self) -> str:
        return self.id


BUSY_S = 30.0
"""Seconds of work in a busy minute of the world."""


def device(pci: str, does: str, covered: float = 60.0, user: str = "ada") -> Device:
    """A card as its guest sees it, by what it does: busy, burst (one second), quiet, held (quiet, and a notebook holds it), loading (quiet, and its
    process uses the processor), nothing (all unmeasured), wrong (numbers that cannot be), stale, ghost, fault."""
    nan, uuid = float("nan"), f"GPU-{pci}"
    base = Device(
        uuid, "Tesla T4", pci, f"GPU 0: Tesla T4 (UUID: {uuid})", covered, 0.0, 0.0, 0.0, mem_used_mb=0.0, mem_total_mb=15360.0,
        processes=(), ecc=True, mig=False, virtual="passthrough",
    )  # fmt: skip
    held = replace(base, mem_used_mb=9800.0, processes=(Process(4242, user, "python", 9800.0, 0.0),))
    match does:
        case "busy":
            return replace(held, busy_s=min(BUSY_S, covered), util_max=97.0)
        case "burst":
            return replace(held, busy_s=1.0, util_max=60.0)
        case "quiet":
            return base
        case "held":
            return held
        case "loading":
            return replace(held, processes=(Process(4242, "ada", "python", 9800.0, 0.9),))
        case "nothing":
            return Device(uuid, "Tesla T4", pci)
        case "wrong":
            return replace(base, util_max=nan, busy_s=nan, measured_s=nan, mem_used_mb=-1.0)
        case "stale":
            return replace(base, stale=True)
        case "ghost":
            return replace(base, busy_s=covered, util_max=100.0)
        case "fault":
            return replace(base, fault="xid 79")
    raise ValueError(does)


DOES = ("busy", "burst", "quiet", "held", "loading", "nothing", "wrong", "stale", "ghost", "fault")
"""What a card can do, for ``Vm.does``; also ``hidden``: its guest does not list it."""


@dataclass(frozen=True)
class No:
    """An owner's "not now", or "stop"."""

    machine: str
    by: str
    window: Window
    at: datetime

    def back(self, now: datetime) -> No:
        """After the clock was set back: one that lies in the future was said now, and what was about to happen then goes along."""
        ahead = max(self.at - now, timedelta(0))
        along = ahead if self.window.start <= self.at else timedelta(0)
        return No(self.machine, self.by, Window(self.window.start - along, self.window.end - along), self.at - ahead)


@dataclass(frozen=True)
class Act:
    """One line of the world's journal."""

    at: datetime
    what: str  # shutdown, hard_stop, change, power_on, on, off
    vm: str
    put: tuple[str, ...] = ()
    take: tuple[str, ...] = ()


def fixed(devices: tuple[Assignment, ...]) -> tuple[str, ...]:
    """Their PCI addresses: this world has fixed cards alone."""
    assert all(isinstance(d, FixedCard) for d in devices)
    return tuple(d.pci for d in devices if isinstance(d, FixedCard))


class World:
    """See the module. ``say_…`` is a person, ``round`` and ``pass_time`` are the clockwork."""

    def __init__(self, now: datetime = MONDAY_10, policy: Policy | None = None, names: Iterable[str] = ()) -> None:
        self.now = now
        self.policy = policy or Policy(level="act")
        self.run = "run-1"
        owners = {"vm-python": "ada", "vm-python-2": "ada", "vm-r": "bob", "vm-train": "carol"}
        self.vms = {n: Vm(n, (owners[n],)) for n in (tuple(names) or owners)}
        self.people = {n: Person(n, n, ZONE, admin=n == "dana") for n in ("ada", "bob", "carol", "dana")}
        self.books = Books()
        self.news: list[News] = []
        self.lines: list[Line] = []
        self.journal: list[Act] = []
        self.refuse: dict[tuple[str, CallKind], tuple[str, str]] = {}  # (vm, kind) -> (reason, card)
        self.again: dict[tuple[str, CallKind], int] = {}  # (vm, kind) -> how often to be told "again"
        self.unmade: set[tuple[str, CallKind]] = set()  # not made after all, once
        self.lose: set[tuple[str, CallKind]] = set()  # executed, but the answer is lost (needs a new run)
        self.dry_runs: dict[int, tuple[str, ...]] = {}  # move -> what its dry run finds
        self.last_look: datetime | None = None
        self.connected, self.maintenance, self.looking = True, False, True
        self.skew = timedelta(0)  # vCenter's clock against the bot's
        self.since_set_back = 0  # how long the journal was when the clock was last set back
        self.last_calls: list[tuple[datetime, int, News]] = []  # when each was told, and how long the journal was then
        self.nos: list[No] = []  # what owners said no to, until they take it back
        self.past: dict[str, Lease] = {}  # leases that left the books
        self.gone_requests: dict[int, Request] = {}
        self.asked_at: dict[str, datetime] = {}  # machine -> our last shutdown call that the guest heard
        self.ours: dict[str, datetime] = {}  # machine -> when we put it off, while it is off
        self.minutes: list[Minute] = []  # all that guests told of their cards, in the order of arrival
        self.work: dict[tuple[str, str], datetime] = {}  # machine and PCI address -> last told to work
        self.quiet: dict[tuple[str, str], int] = {}  # the same -> minutes told to be quiet since then
        self.delivers = True  # Slack takes what is told
        self.delivered: dict[str, datetime] = {}
        self.round()
        for vm in self.vms.values():
            self.do(lambda d, vm=vm: pool.add_machine(d, self.seen_machine(vm), vm.owners, "dana"))

    # ---- store

    def do(self, act: Callable[[Draft], T]) -> T:
        """One transaction."""
        draft = Draft(self.books, self.now)
        result = act(draft)
        self.apply(draft.changes(), draft)
        return result

    def apply(self, changes: Changes, draft: Draft) -> None:
        keys = [(h.slot, h.turn) for h in draft.holds]
        assert len(keys) == len(set(keys)), f"two holds of a kind on a slot: {sorted(draft.holds, key=str)}"
        for news in changes.news:
            if news.kind is NewsKind.NUDGE and news.once:
                self.asked_rightly(news)
            elif news.kind is NewsKind.TAKEN_BACK:
                self.taken_rightly(news, self.books)
        self._told(changes.news)
        self.lines += changes.lines
        requests = {k: r for k, r in draft.requests.items() if not self._left(r.changed, r.state in OVER, 8)}
        leases = {k: x for k, x in draft.leases.items() if not self._left(x.changed, x.state not in OPEN_LEASE, 8)}
        moves = {k: m for k, m in draft.moves.items() if not self._left(m.changed, m.state not in OPEN_MOVE, 1)}
        none_left = len(requests) + len(leases) + len(moves) == len(draft.requests) + len(draft.leases) + len(
            draft.moves
        )
        if not changes and none_left and draft.books.delivered == self.delivered:
            self.books = draft.books  # with what is kept with them, as a store keeps books that nobody wrote
            self.check()
            return
        self.past |= {k: x for k, x in draft.leases.items() if k not in leases}
        self.gone_requests |= {k: r for k, r in draft.requests.items() if k not in requests}
        self.books = Books(
            draft.cards, draft.machines, requests, leases, frozenset(draft.holds), moves,
            {k: a for k, a in draft.agreements.items() if a.state.value == "open"},
            dict(draft.watches), draft.books.said | draft._said, dict(self.delivered), dict(draft._numbers), draft.paused,
            dict(draft.accounts), {k: i for k, i in draft.interests.items() if i.open},
        )  # fmt: skip
        self.check()

    def _left(self, changed: datetime | None, over: bool, days: int) -> bool:
        """Whether a value that is over has left the books."""
        return over and changed is not None and self.now - changed > timedelta(days=days)

    def _told(self, news: Iterable[News]) -> None:
        new = list(news)
        self.news += new
        if self.delivers:
            self.delivered |= {n.key: self.now for n in new if n.key.startswith("idle:")}
        self.last_calls += [(self.now, len(self.journal), n) for n in new if n.kind is NewsKind.LAST_CALL]

    def check(self) -> None:
        """What must always hold."""
        open_moves = [m.machine for m in self.books.moves.values() if m.state in OPEN_MOVE]
        assert len(open_moves) == len(set(open_moves)), "two open moves of a machine"
        labels = {x.label for x in self.books.leases.values() if x.state in OPEN_LEASE}
        labels |= {str(r.number) for r in self.books.requests.values() if r.state.value == "offered"}
        assert {h.label for h in self.books.holds} <= labels, "a hold outlived its lease"
        for lease in self.books.leases.values():
            held = {h.slot for h in self.books.holds if h.label == lease.label}
            assert lease.state not in OPEN_LEASE or held == set(lease.slots), f"holds of #{lease.label}: {held} {lease}"

    # ---- vCenter and guests

    def seen_machine(self, vm: Vm) -> SeenMachine:
        return SeenMachine(
            "lab", vm.uuid, vm.shown or vm.name, "host-1", vm.power, tuple(sorted(vm.cards)),
            boot=vm.boot + self.skew if vm.power is Power.ON else None, template=vm.template, question=vm.question,
            unknown=vm.unknown or not self.connected, tools=vm.power is Power.ON and self.now - vm.boot >= vm.boot_takes, memory_mb=65536,
        )  # fmt: skip

    def look(self) -> Seen | None:
        if not self.looking:
            return None
        bound = {pci: vm.uuid for vm in self.vms.values() if vm.power is Power.ON and vm.exists for pci in vm.cards}
        cards = tuple(SeenCard(p, "10de:1eb8", "Tesla T4", True) for p in PCI)
        host = SeenHost("lab", "host-1", "esx-01", self.connected, self.maintenance, cards, bound)
        machines = tuple(self.seen_machine(vm) for vm in self.vms.values() if vm.exists)
        return Seen(self.now, frozenset({"lab"}), (host,), machines, {"lab": self.now + self.skew})

    def placed_in(self, vm: Vm) -> int:
        """Devices that its settings do not name as cards, and that it runs with."""
        return 0

    def readings(self) -> dict[str, Reading]:
        found = {}
        for vm in self.vms.values():
            up = vm.power is Power.ON and self.now - vm.boot >= vm.boot_takes
            if vm.exists and vm.agent and up:
                devices = self.devices(vm)
                sees = (len(vm.cards) if vm.sees is None else vm.sees) + self.placed_in(vm)
                free = None if vm.jobs else vm.free_since
                found[vm.uuid] = Reading(
                    vm.uuid, self.now, f"{vm.name}-{vm.boots}", 1, False, sees, vm.faults, vm.logins, vm.jobs if vm.inside else (), free,
                    vm.boot + vm.boot_takes + vm.heard_ahead, late_s=vm.late.total_seconds(), devices=devices, inside=vm.inside,
                    rivals=self.now if vm.rivals else None, done_at=vm.done_at, done_by=vm.owners[0] if vm.done_at else "",
                )  # fmt: skip
        return found

    def devices(self, vm: Vm) -> tuple[Device, ...]:
        """The cards as the guest sees them; none, if nothing says what they do: then it is an agent that only counts them."""
        does = {pci: vm.does.get(pci) or vm.does.get("", "") for pci in sorted(vm.cards)}
        listed = [device(pci, what, user=vm.user) for pci, what in does.items() if what and what != "hidden"]
        return tuple(listed[: len(listed) if vm.sees is None else vm.sees])

    def push(self, readings: dict[str, Reading]) -> None:
        """Guests tell of their cards once a minute: what they say becomes minutes."""
        for uuid, reading in readings.items():
            if not reading.devices:
                continue
            vm = next(v for v in self.vms.values() if v.uuid == uuid)
            told = vm.pushed is not None and timedelta() <= self.now - vm.pushed < timedelta(seconds=60)
            if not told:
                vm.pushed = self.now
                self._remember(vm, reading)
                ids = range(len(self.minutes) + 1, len(self.minutes) + 1 + len(reading.devices))
                self.minutes += [replace(m, id=i) for i, m in zip(ids, minutes_of(reading), strict=True)]

    def _remember(self, vm: Vm, reading: Reading) -> None:
        """What really happens on the cards, counted apart from the product."""
        for one in reading.devices:
            key, does = (vm.uuid, one.pci), vm.does.get(one.pci) or vm.does.get("", "")
            if does in ("busy", "burst") and not vm.rivals:
                self.work[key], self.quiet[key] = self.now, 0
            elif does in ("quiet", "held", "loading") and not vm.rivals:
                self.quiet[key] = self.quiet.get(key, 0) + 1

    def asked_rightly(self, news: News) -> None:
        """No question without an hour that was measured quiet, whatever else happened; and never after work."""
        assert news.lease is not None
        first = self.policy.idle.first - timedelta(minutes=2)
        for slot in news.slots:
            key = (news.lease.machine, self.card(slot).pci)
            told = timedelta(minutes=self.quiet.get(key, 0))
            assert told >= first, f"{slot} of #{news.lease.label} was quiet for {told}"
            worked = self.work.get(key)
            assert worked is None or self.now - worked >= first, f"{slot} of #{news.lease.label} worked at {worked}"

    def taken_rightly(self, news: News, before: Books) -> None:
        """Nothing is taken back without terms, waiter, delivered warning and window."""
        assert news.lease is not None and news.machine is not None
        label = news.lease.label
        was = (
            before.leases[label] if label in before.leases else before.leases[label.rstrip("bcdefghijklmnopqrstuvwxy")]
        )
        idle, nudge, person = self.policy.idle, was.nudge, was.person
        assert idle.nudge and was.terms.take_back and not before.paused, f"#{was.label} is taken back against its terms"
        waiting = (r for r in before.requests.values() if r.state in WAITING and r.person != person)
        assert any(r.rest is None for r in waiting), "nobody waits"
        assert nudge is not None and nudge.warning and not nudge.over, "nobody was warned"
        assert nudge.key in self.delivered, "the warning was not delivered"
        assert self.now - self.delivered[nudge.key] >= idle.take_back_warned, "the warning was not delivered long ago"
        assert was.active_since is not None and self.now - was.active_since >= idle.take_back_not_before
        usual = windows.usual(news.machine, self.policy)
        agreed = list(before.agreements.values())
        assert windows.open_window(agreed, news.machine.uuid, self.now, usual, self.policy) is not None, (
            "no window is open"
        )
        vm = next(v for v in self.vms.values() if v.uuid == news.lease.machine)
        assert not vm.jobs and not vm.logins, f"{news.slots} are taken back while somebody works in {vm.name}"
        for slot in news.slots:
            told = timedelta(minutes=self.quiet.get((was.machine, self.card(slot).pci), 0))
            assert slot in nudge.slots and told >= idle.take_back_quiet - timedelta(minutes=2), (
                f"{slot} was quiet for {told}"
            )

    def sight(self) -> Sight:
        """What commands see: a look, and the guests' words."""
        return Sight(self.books, self.look(), self.readings())

    def switch(self, name: str, power: Power) -> None:
        """Power as somebody else would switch it."""
        vm = self.vms[name]
        assert vm.power is not power
        if power is Power.ON:
            for other in self.vms.values():
                assert other is vm or other.power is not Power.ON or not (other.cards & vm.cards), (
                    "a card in two running VMs"
                )
            vm.boot, vm.boots, vm.heard_ahead = self.now, vm.boots + 1, timedelta(0)
        vm.power, vm.stops_at = power, None
        self.ours.pop(name, None)
        self.journal.append(Act(self.now, power.value, name))

    def _carry_out(self, order: Order) -> Outcome:
        vm = next(v for v in self.vms.values() if v.uuid == order.machine)
        put, take = fixed(order.put), fixed(order.take)
        self.journal.append(Act(self.now, order.kind.value, vm.name, put, take))
        if order.kind is CallKind.SHUTDOWN and vm.power is Power.ON and vm.stop_takes is not None:
            vm.stops_at = self.now + vm.stop_takes
            self.asked_at[vm.name] = self.now
        elif order.kind is CallKind.HARD_STOP and vm.power is Power.ON:
            self.switch(vm.name, Power.OFF)
            self.ours[vm.name] = self.now
        elif order.kind is CallKind.POWER_ON and vm.power is Power.OFF:
            if self.clash(vm):
                return Outcome.REFUSED
            self.switch(vm.name, Power.ON)
        elif order.kind is CallKind.CHANGE:
            if vm.power is not Power.OFF:
                return Outcome.AGAIN
            elsewhere = {c for v in self.vms.values() if v is not vm and v.exists for c in v.cards}
            assert not set(put) & elsewhere, f"{put} put on {vm.name} while another has it"
            vm.cards = (vm.cards - set(take)) | set(put)
        return Outcome.DONE

    def clash(self, vm: Vm) -> bool:
        """Whether another running machine has a card of this one."""
        others = (v for v in self.vms.values() if v is not vm and v.exists and v.power is Power.ON)
        return any(v.cards & vm.cards for v in others)

    def is_away(self, lease: Lease) -> bool:
        """Whether a lease's machine is on another host than its cards."""
        seen = self.look()
        return seen is not None and bool(away(Sight(self.books, seen, {}), lease))

    def permitted(self, move: Move, call: Call) -> None:
        """Never a power-off outside its agreement, a hard stop without consent, or a device that no returning lease names taken off."""
        if call.kind in (CallKind.SHUTDOWN, CallKind.HARD_STOP):
            assert move.window is not None and move.window.holds(self.now), (
                f"{call.kind} of m{move.number} outside its window"
            )
            agreement = self.books.agreements.get(move.agreement or 0)
            assert agreement is not None, f"{call.kind} of m{move.number} without an agreement"
            assert move.window.start not in {s.start for s in agreement.skips}, "not now was said"
            assert call.kind is CallKind.SHUTDOWN or agreement.hard
            if call.kind is CallKind.HARD_STOP or call.asked == move.shutdown_at:  # else the same is asked again
                self.announced(move, call, agreement)
            self.not_refused(move, agreement)
            if agreement.kind is AgreementKind.STANDING and not agreement.even_if_busy and call.asked == self.now:
                self.nothing_runs(move)
        elif call.kind is CallKind.CHANGE and move.was_on and not move.undo and move.agreement in self.books.agreements:
            self.not_refused(move, self.books.agreements[move.agreement])
        for wish in call.takes:
            lease = self.books.leases[wish.label]
            undone = lease.state is not LeaseState.ACTIVE and (move.undo or self.is_away(lease))
            assert lease.state is LeaseState.RETURNING or undone, (
                f"{wish.slot} of #{wish.label} ({lease.state}) is taken off"
            )
            assert wish.slot in lease.slots

    def nothing_runs(self, move: Move) -> None:
        """No standing window is used while the guest reports work, or cannot be seen into."""
        vm = next(v for v in self.vms.values() if v.uuid == move.machine)
        seen = vm.agent and vm.inside and not vm.rivals
        assert seen and not vm.jobs, f"{vm.name} is put off in a standing window: {vm}"

    def announced(self, move: Move, call: Call, agreement: Agreement) -> None:
        """All owners had a last call before it, long enough ago, for this try, and were told of a hard stop."""
        hard = call.kind is CallKind.HARD_STOP
        lead = self.policy.last_call_now if agreement.now else self.policy.last_call
        since = move.shutdown_at or self.now
        mine = [(i, a.at) for i, a in enumerate(self.journal) if a.what == "shutdown" and a.vm in self.vms]
        mine = [(i, at) for i, at in mine if self.vms[self.journal[i].vm].uuid == move.machine]
        # What the books brought to now and what this world set back are not the same instants: of before that nothing is asked.
        before = max((i for i, at in mine if at < since and i >= self.since_set_back), default=-1)
        for owner in self.books.machines[move.machine].owners:
            told = [x for x in self.last_calls if x[2].to == owner and x[2].move and x[2].move.machine == move.machine]
            if hard and not told:
                continue  # an owner since the shutdown
            assert told, f"{call.kind} of m{move.number} and no last call to {owner}"
            at, after, news = told[-1]
            assert self.now - at >= lead, f"{call.kind} of m{move.number} too soon after the last call to {owner}"
            assert after > before, f"{call.kind} of m{move.number}: the last call to {owner} was for another"
            assert news.agreement is not None and news.agreement.hard >= hard, "not announced as hard"

    def not_refused(self, move: Move, agreement: Agreement) -> None:
        """No owner said no to it who has not taken that back; of their own no, a word of their own after it is enough."""
        window, owners = move.window, self.books.machines[move.machine].owners
        for no in self.nos:
            stands = no.machine == move.machine and no.by in owners and not agreement.firm and no.window.end > self.now
            again = no.by == agreement.person and agreement.made >= no.at - timedelta(milliseconds=1)
            if stands and not again and window is not None:
                overlaps = window.start < no.window.end and no.window.start < window.end
                assert not overlaps, f"m{move.number} goes on although {no.by} said no: {no}"

    def say_no(self, vm: str, by: str, stop: bool = False) -> None:
        """An owner says "not now", or "stop" of the machine's move."""
        machine = self.books.machines[self.vms[vm].uuid]
        move = next((m for m in self.books.moves.values() if m.machine == machine.uuid and m.state in OPEN_MOVE), None)
        if stop and move is not None:
            self.do(lambda d: moves.stop(d, d.moves[move.number], by, self.policy))
        else:
            self.do(lambda d: moves.not_now(d, d.machines[machine.uuid], by, self.policy))
        if move is not None and move.state is MoveState.STOPPING:
            if move.window is not None:
                self.nos.append(No(machine.uuid, by, move.window, self.now))
            return
        said = [n.window for n in self.books.machines[machine.uuid].not_nows if n.by == by]
        self.nos.append(No(machine.uuid, by, said[-1], self.now))
        used = {m.agreement for m in self.books.moves.values() if m.state in UNDER_WAY}
        for agreement in self.books.agreements.values():
            if agreement.machine == machine.uuid and not agreement.firm and agreement.number not in used:
                usual = windows.usual(machine, self.policy)
                window = windows.occurrence(agreement, self.now, self.policy, usual)
                assert window is None or window.start >= said[-1].end, f"{agreement} goes on although {by} said no"

    def take_back(self, vm: str, by: str) -> None:
        """An owner takes their own "not now" back."""
        machine = self.vms[vm].uuid
        self.do(lambda d: windows.take_back_not_now(d, d.machines[machine], by))
        self.nos = [n for n in self.nos if (n.machine, n.by) != (machine, by)]

    def perform(self) -> None:
        """Make the calls that are pending for this run."""
        for move in moves.pending(self.books, self.run):
            order = moves.step_of(self.books, move)
            call = move.call
            assert call is not None
            machine = next(v for v in self.vms.values() if v.uuid == order.machine)
            if not machine.exists:
                continue
            self.permitted(move, call)
            name = machine.name
            key = (name, call.kind)
            reason, card, again_at = "", "", None
            if key in self.refuse:
                outcome, (reason, card) = Outcome.REFUSED, self.refuse[key]
            elif key in self.unmade:
                self.unmade.discard(key)
                outcome, reason = Outcome.UNMADE, "the way back has begun"
            elif self.again.get(key, 0):
                self.again[key] -= 1
                outcome, reason, again_at = Outcome.AGAIN, "busy", self.now + timedelta(seconds=15)
            else:
                outcome = self._carry_out(order)
                again_at = self.now + timedelta(seconds=15) if outcome is Outcome.AGAIN else None
                if key in self.lose:
                    self.lose.discard(key)
                    self.run += "'"  # the bot was killed: its answer is lost, another run goes on
                    continue
            self.do(lambda d, m=move, c=call, o=outcome, r=reason, a=again_at, k=card: moves.outcome(
                d, m.number, c.number, o, r, a, None, k))  # fmt: skip

    # ---- time

    def round(self, jump: timedelta = timedelta(0)) -> None:
        """One round, and the calls it wrote."""
        for vm in self.vms.values():
            if vm.stops_at is not None and self.now >= vm.stops_at and vm.power is Power.ON:
                asked = self.asked_at.get(vm.name)
                self.switch(vm.name, Power.OFF)
                if asked is not None and self.now - asked < self.policy.late_off:
                    self.ours[vm.name] = self.now
        seen = self.look()
        readings = self.readings()
        self.push(readings)
        behind = self.minutes[self.books.numbers.get("minute", 0) :]
        self.do(
            lambda d: decide(
                d,
                seen,
                readings,
                self.people,
                self.policy,
                self.run,
                self.dry_runs,
                jump,
                self.last_look,
                behind,
            )
        )
        self.last_look = seen.at if seen is not None else self.last_look
        self.perform()

    def set_back(self, amount: timedelta) -> None:
        """The clock of the bot's host is set back. The world goes on: as long ago as before, by vCenter's clock when it was."""
        self.now -= amount
        self.skew += amount
        self.since_set_back = len(self.journal)
        for vm in self.vms.values():
            vm.boot -= amount
            vm.heard_ahead += amount
            vm.stops_at = vm.stops_at - amount if vm.stops_at is not None else None
            vm.free_since = self.now if vm.free_since is not None else None
        self.asked_at = {name: at - amount for name, at in self.asked_at.items()}
        self.ours = {name: at - amount for name, at in self.ours.items()}
        self.journal = [replace(a, at=a.at - amount) for a in self.journal]
        self.work = {key: at - amount for key, at in self.work.items()}
        self.delivered = {key: at - amount for key, at in self.delivered.items()}
        self.last_calls = [(at - amount, after, n) for at, after, n in self.last_calls]
        self.nos = [n.back(self.now) for n in self.nos]

    def pass_time(self, amount: timedelta, step: timedelta = timedelta(seconds=15)) -> None:
        """Rounds until the time has passed."""
        until = self.now + amount
        while self.now < until:
            self.now = min(until, self.now + step)
            self.round()

    def until(self, what: Callable[[], object], within: timedelta, step: timedelta = timedelta(seconds=15)) -> None:
        """Rounds until something holds; fails after ``within``."""
        end = self.now + within
        while not what():
            assert self.now < end, f"not within {within}: {self.describe()}"
            self.now += step
            self.round()

    def describe(self) -> str:
        b = self.books
        rows = [*b.requests.values(), *b.leases.values(), *b.moves.values(), *b.agreements.values()]
        return (
            "\n".join(str(r) for r in rows) + "\n" + "\n".join(f"{x.what} {x.about} {x.why}" for x in self.lines[-30:])
        )

    # ---- people

    def wish(self, text: str | None) -> WindowWish | None:
        return read_window(text, self.now, ZONE, self.policy) if text else None

    def request(
        self,
        who: str,
        vm: str,
        count: int = 1,
        window: str | None = None,
        length: str = "",
        kind: str | None = None,
        **more: Any,
    ) -> Request:
        """``more``: other fields of what is wanted, as they are."""
        wanted = queue.Wanted(
            count,
            kind,
            f"uuid-{vm}",
            read_length(length, self.now, ZONE, self.policy) if length else Length(),
            more.pop("because", ""),
            self.wish(window),
            **more,
        )
        return self.do(lambda d: queue.request(d, self.people[who], wanted, self.policy))

    def agree(self, who: str, vm: str, window: str, label: str = "") -> Agreement | None:
        wish = self.wish(window)
        assert wish is not None
        return self.do(lambda d: windows.agree(d, d.machines[f"uuid-{vm}"], self.people[who], wish, self.policy, label))

    def release(
        self, who: str, label: str, slots: tuple[str, ...] | None = None, window: str | None = None, because: str = ""
    ) -> Lease:
        def act(d: Draft) -> Lease:
            lease = leases.release(d, d.leases[label], slots, who, because=because)
            wish = self.wish(window)
            if wish is not None:
                windows.agree(d, d.machines[lease.machine], self.people[who], wish, self.policy, lease.label)
            return lease

        return self.do(act)

    def accept(self, who: str, number: int, window: str | None) -> Lease | Request:
        wish = self.wish(window)
        return self.do(
            lambda d: planner.accept(
                d, Sight(d, self.look(), self.readings()), d.requests[number], self.people[who], wish, self.policy
            )
        )

    # ---- shortcuts

    def give(self, vm: str, slots: tuple[str, ...], length: str = "") -> Lease:
        """A lease that works already: the devices are on the machine, and it is adopted."""
        machine = self.vms[vm]
        machine.cards |= {self.card(s).pci for s in slots}
        who = machine.owners[0]
        wanted = read_length(length, self.now, ZONE, self.policy) if length else Length()
        lease = self.do(
            lambda d: leases.adopt(
                d, d.machines[machine.uuid], slots, self.people[who], wanted, by=who, policy=self.policy
            )
        )
        self.round()
        return lease

    def card(self, slot: str) -> Card:
        return self.books.card(slot)

    def lease(self, label: str | int) -> Lease:
        return self.books.leases.get(str(label)) or self.past[str(label)]

    def req(self, number: int) -> Request:
        return self.books.requests.get(number) or self.gone_requests[number]

    def move(self, vm: str) -> Move:
        """The newest move of a machine."""
        found = [m for m in self.books.moves.values() if m.machine == f"uuid-{vm}"]
        return max(found, key=lambda m: m.number)

    def told(self, kind: NewsKind, to: str | None = None) -> list[News]:
        return [n for n in self.news if n.kind is kind and to in (None, n.to)]

    def acts(self, vm: str) -> list[str]:
        return [a.what for a in self.journal if a.vm == vm]

    def holders(self, slot: str) -> dict[str, str]:
        return {h.turn.value: h.label for h in self.books.holds if h.slot == slot}


__all__ = ["MONDAY_10", "PCI", "ZONE", "Call", "Hold", "Machine", "World", "replace"]
