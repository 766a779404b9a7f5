"""A house in which guests report cards, so that questions about quiet ones come as they do in service."""

from __future__ import annotations

from pathlib import Path

from bot.domain.inside import Device, Process
from bot.domain.model import Job, Reading
from bot.domain.policy import IdlePolicy, Policy
from bot.service.ports import Reply
from tests.fakes import text_of, uuid
from tests.house import House

NOTEBOOK = Process(4242, "ada", "ipykernel_launcher", 9800.0)
ADA, BOB = "U1ADA", "U2BOB"


class QuietHouse(House):
    """Questions are on; ``pass_time`` lets guests speak each minute."""

    def __init__(self, path: Path, nudge: bool = True) -> None:
        super().__init__(path, Policy(level="act", idle=IdlePolicy(nudge=nudge)))
        self.furnish()
        self.seq = 0

    def speak(self, busy: tuple[str, ...] = (), *, vm: str = "vm-python", jobs: tuple[Job, ...] = ()) -> None:
        """One reading of a minute about the cards that sit in the machine; those that are named work."""
        self.seq += 1
        devices = tuple(
            Device(
                f"GPU-{name}", "Tesla T4", line=f"GPU {i}: Tesla T4 (UUID: GPU-{name})", measured_s=60.0,
                busy_s=50.0 if name in busy else 0.0, util_max=97.0 if name in busy else 0.0, mem_used_mb=9900.0,
                mem_total_mb=15360.0, processes=(NOTEBOOK,), virtual="passthrough",
            )
            for i, name in enumerate(self.card_of(vm))
        )  # fmt: skip
        self.guest(
            vm, Reading(uuid(vm), self.clock.now(), "boot", self.seq, False, len(devices), jobs=jobs, devices=devices)
        )

    def pass_time(self, minutes: int, busy: tuple[str, ...] = ()) -> None:
        """Minutes go by; the guest of vm-python speaks in each."""
        for _ in range(minutes):
            self.clock.forward(minutes=1)
            self.speak(busy)
            self.round()

    def asked(self, *cards: str) -> Reply:
        """Cards of ada that worked and then did nothing for an hour while bob waits: the question that stands in her eyes."""
        self.lend("vm-python", *cards)
        self.round()
        self.say("bob", "request 4")
        self.pass_time(3, busy=cards)
        self.pass_time(62)
        return self.question()

    def question(self) -> Reply:
        """What stands in ada's eyes about quiet cards, question or what became of it."""
        found = [r for to, r in self.voice.standing.values() if to == ADA and _about(r)]
        assert len(found) == 1, [text_of(r) for to, r in self.voice.standing.values() if to == ADA]
        return found[0]


def _about(reply: Reply) -> bool:
    words = (
        "done nothing",
        "still do",
        "Warning",
        "then I was wrong",
        "busy again",
        "I do not ask before",
        "given back, thank",
    )
    return any(word in text_of(reply) for word in words)
