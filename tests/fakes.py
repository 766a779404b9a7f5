"""Honest stand-ins for the ports, in memory: a lab that keeps the rules of a host, a voice that keeps what was said, people, a clock.

They misbehave on request: the lab refuses, conflicts or loses a reply; the voice is slow, loses messages, cannot reach somebody.
The store has no fake: tests use the real one on a file of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from bot.domain.model import CallKind, Person, PersonId, Power, Seen, SeenCard, SeenHost, SeenMachine
from bot.service.ports import Address, Again, Before, Gone, LabError, LabStep, NeedsPerson, Reply, VoiceError

MONDAY = datetime(2026, 3, 16, 9, 0, tzinfo=UTC)
"""Ten o'clock in Berlin, a working day."""

PCI = ("0000:3b:00.0", "0000:5e:00.0", "0000:86:00.0", "0000:af:00.0")
"""The four cards of the host."""

T4 = "10de:1eb8"
"""What they are."""

NAMES = ("vm-python", "vm-r", "vm-train", "vm-spare")
"""The machines of the lab; uuid-NAME are their ids."""


def uuid(name: str) -> str:
    """A machine's id."""
    return f"uuid-{name}"


class FakeClock:
    """Moved by hand. Real seconds go with it, unless a test moves them apart."""

    def __init__(self, at: datetime = MONDAY) -> None:
        self.at, self.seconds = at, 0.0

    def now(self) -> datetime:
        """The instant it was moved to."""
        return self.at

    def real(self) -> float:
        """Seconds since the start."""
        return self.seconds

    def forward(self, **length: float) -> None:
        """Both go on."""
        self.at += timedelta(**length)
        self.seconds += timedelta(**length).total_seconds()


class FakePeople:
    """ada, bob and carol, and dana who is an admin; all in Berlin."""

    def __init__(self) -> None:
        self.by_id = {
            id: Person(id, name, "Europe/Berlin", admin=name == "dana")
            for id, name in (("U1ADA", "ada"), ("U2BOB", "bob"), ("U3CAROL", "carol"), ("U4DANA", "dana"))
        }

    def person(self, id: PersonId) -> Person:
        """Somebody by id."""
        return self.by_id.get(id) or Person(id, id, "Europe/Berlin")

    def find(self, word: str) -> Person | None:
        """By mention, name or id."""
        bare = word.removeprefix("<@").removesuffix(">").split("|")[0].removeprefix("@")
        return self.by_id.get(bare) or next((p for p in self.by_id.values() if p.name == bare), None)

    def admins(self) -> Iterable[PersonId]:
        """dana, as long as she is one."""
        return [p.id for p in self.by_id.values() if p.admin]

    def leaves(self, name: str) -> None:
        """Somebody's account is closed."""
        person = self.find(name)
        assert person is not None
        self.by_id[person.id] = replace(person, active=False)


@dataclass
class _Vm:
    """A virtual machine of the lab."""

    power: Power = Power.ON
    cards: list[str] = field(default_factory=list)
    boot: datetime | None = None
    reservation_mb: int = 0
    locked: bool = False
    asked_to_stop: bool = False
    gone: bool = False


class FakeLab:
    """One vCenter, one host, four cards. A guest shuts down when the test lets it (at once by default)."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.vms = {uuid(name): _Vm(boot=clock.now() - timedelta(days=1)) for name in NAMES}
        self.names = {uuid(name): name for name in NAMES}
        self.calls: list[LabStep] = []  # every call that arrived
        self.errors: list[LabError | Exception] = []  # raised by the next calls, before they do anything
        self.refused: set[CallKind] = set()  # kinds of calls that are refused for good
        self.lose_reply = 0  # the next calls are done, and their answer is lost
        self.away = False  # vCenter does not answer
        self.stubborn: set[str] = set()  # guests that do not shut down
        self.blockers: list[str] = []  # what a dry run finds
        self.gate: threading.Event | None = None  # calls wait for it before they do anything
        self.looks = 0
        self.dry_runs = 0
        self.notes: dict[str, str] = {}  # machine -> its attribute
        self.noted: list[tuple[str, str]] = []  # every try to write one
        self.note_errors: list[LabError] = []  # raised by the next tries

    def look(self) -> Seen:
        """What is there now."""
        self.looks += 1
        if self.away:
            raise Again("vCenter does not answer")
        bound = {pci: id for id, vm in self.vms.items() if vm.power is Power.ON and not vm.gone for pci in vm.cards}
        cards = tuple(SeenCard(pci, T4, "Tesla T4", True) for pci in PCI)
        now = self.clock.now()
        return Seen(
            now,
            frozenset({"lab"}),
            (SeenHost("lab", "host-1", "esx-01", True, False, cards, bound),),
            tuple(self._seen(id, vm) for id, vm in self.vms.items() if not vm.gone),
            {"lab": now},
        )

    def dry_run(self, step: LabStep) -> list[str]:
        """What the test says stands in the way."""
        self.dry_runs += 1
        if self.away:
            raise Again("vCenter does not answer")
        return list(self.blockers)

    def act(self, step: LabStep) -> Before | None:
        """One call, after the errors that were ordered."""
        self.calls.append(step)
        if self.gate is not None:
            assert self.gate.wait(10)
        if self.errors:
            raise self.errors.pop(0)
        if step.kind in self.refused:
            raise NeedsPerson("no licence")
        before = self._do(step)
        if self.lose_reply:
            self.lose_reply -= 1
            raise Again("the reply was lost", timedelta(seconds=1))
        return before

    def note(self, vcenter: str, machine: str, text: str) -> None:
        """What stands on a machine now, after the errors that were ordered."""
        self.noted.append((machine, text))
        if self.note_errors:
            raise self.note_errors.pop(0)
        self.notes[machine] = text

    def close(self) -> None:
        """Nothing to log out of."""

    def _do(self, step: LabStep) -> Before | None:
        vm = self.vms[step.machine]
        match step.kind:
            case CallKind.SHUTDOWN:
                vm.asked_to_stop = True
                if step.machine not in self.stubborn:
                    vm.power, vm.boot = Power.OFF, None
            case CallKind.HARD_STOP:
                vm.power, vm.boot = Power.OFF, None
            case CallKind.POWER_ON:
                if vm.power is not Power.ON:
                    vm.power, vm.boot = Power.ON, self.clock.now()
            case CallKind.CHANGE:
                return self._change(vm, step)
        return None

    def _change(self, vm: _Vm, step: LabStep) -> Before:
        if vm.power is not Power.OFF:
            raise Again("the machine is on", timedelta(seconds=1))
        taken = {pci for other in self.vms.values() if other is not vm and not other.gone for pci in other.cards}
        if taken & set(step.put_pci):
            raise NeedsPerson("another machine has that card")
        before = Before(vm.reservation_mb, vm.locked)
        vm.cards = [pci for pci in vm.cards if pci not in step.take_pci]
        vm.cards += [pci for pci in step.put_pci if pci not in vm.cards]
        vm.locked = bool(vm.cards)
        vm.reservation_mb = 65536 if vm.cards else (step.reservation_mb or 0)
        return before

    def _seen(self, id: str, vm: _Vm) -> SeenMachine:
        return SeenMachine(
            "lab",
            id,
            self.names[id],
            "host-1",
            vm.power,
            tuple(vm.cards),
            boot=vm.boot,
            tools=vm.power is Power.ON,
            memory_mb=65536,
        )


class FakeVoice:
    """Keeps what stands where."""

    def __init__(self) -> None:
        self.standing: dict[Address, tuple[PersonId, Reply]] = {}
        self.posts: list[tuple[PersonId, Reply]] = []  # every new message, in order
        self.edits: list[tuple[Address, Reply]] = []
        self.pins: list[Address] = []
        self.errors: dict[PersonId, list[VoiceError]] = {}  # raised by the next messages to somebody
        self.deaf: dict[PersonId, VoiceError] = {}  # raised by every message to somebody

    def post(self, to: PersonId, reply: Reply) -> Address:
        """A new message."""
        self._fail(to)
        at = Address(f"D-{to}", f"{len(self.posts) + 1}.0")
        self.standing[at] = (to, reply)
        self.posts.append((to, reply))
        return at

    def edit(self, at: Address, reply: Reply) -> Address:
        """Change a message that stands."""
        if at not in self.standing:
            raise Gone("message_not_found")
        to, _ = self.standing[at]
        self._fail(to)
        self.standing[at] = (to, reply)
        self.edits.append((at, reply))
        return at

    def pin(self, at: Address) -> None:
        """Pin it."""
        self.pins.append(at)

    def said_to(self, to: PersonId) -> list[str]:
        """The texts that stand in somebody's eyes, oldest first."""
        return [text_of(reply) for who, reply in self.standing.values() if who == to]

    def _fail(self, to: PersonId) -> None:
        if to in self.deaf:
            raise self.deaf[to]
        if self.errors.get(to):
            raise self.errors[to].pop(0)


def text_of(reply: Reply) -> str:
    """A message as plain text, names as ids and times in UTC: enough to ask for words in it."""
    return "\n".join("".join(_span(span) for span in line) for line in reply.lines)


def _span(span: object) -> str:
    if isinstance(span, str):
        return span
    value = next(iter(vars(span).values()))
    return f"{value:%d %H:%M}" if isinstance(value, datetime) else str(value)
