"""A whole house without a network: real store, desk, rounds and commands, with the stand-ins of ``tests.fakes`` around them.

Tests of the service and of the commands say things in it (``say``), let time pass and rounds go (``round``, ``forward``), and read
the books.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bot import commands
from bot.domain import pool
from bot.domain.draft import Changes, Draft
from bot.domain.model import Books, Entity, Lease, Power, Reading, RequestState
from bot.domain.news import ADMINS
from bot.domain.policy import Policy
from bot.domain.sight import Sight
from bot.edges.store.store import open_store
from bot.service.desk import Desk
from bot.service.ports import Ask, Reply
from bot.service.rounds import Rounds
from tests.fakes import FakeClock, FakeLab, FakePeople, FakeVoice, text_of, uuid

VERBS = commands.found()
OWNERS = {"vm-python": "ada", "vm-r": "bob", "vm-train": "carol"}
"""Who owns what in :meth:`House.furnish`."""


class House:
    """One bot on a database of its own."""

    def __init__(self, path: Path, policy: Policy | None = None, run: str = "run-1") -> None:
        self.clock, self.people, self.voice = FakeClock(), FakePeople(), FakeVoice()
        self.lab = FakeLab(self.clock)
        self.policy = policy or Policy(level="act")
        self.path = path
        self.wakes = 0
        self._open(run)

    def _open(self, run: str) -> None:
        self.store = open_store(f"sqlite:///{self.path / 'gpubot.db'}", now=self.clock.now)
        self.desk = Desk(self.store, self.people, self.clock, self.policy, ("T4",), self._wake, VERBS)
        self.rounds = Rounds(
            self.store, self.lab, self.voice, self.people, self.clock, self.policy, run, self._wake, board_every=10.0
        )

    def _wake(self) -> None:
        self.wakes += 1

    def close(self) -> None:
        """End the workers and close the database."""
        self.rounds.close()
        self.store.close()

    def restart(self, run: str) -> None:
        """The same database, another process of the bot."""
        self.close()
        self._open(run)

    # ---- acting

    def furnish(self, owners: Mapping[str, str] = OWNERS) -> None:
        """The cards are known by sight, and the machines are registered, each with its owner."""
        seen = self.lab.look()
        self.store.keep_look(seen)
        with self.store.transaction() as transaction:
            draft = Draft(transaction.books(), self.clock.now())
            pool.settle(draft, Sight(draft, seen, {}), self.policy)
            transaction.record(draft.changes(), ())
        for name, owner in owners.items():
            reply = self.say("dana", f"machine add {name} owners @{owner}")
            assert reply.ok, text_of(reply)

    def say(self, name: str, text: str) -> Reply:
        """Somebody says a line."""
        person = self.people.find(name)
        return self.desk.hear(Ask(person.id if person else name, text, "test"))

    def lend(self, name: str, *cards: str, until: str = "") -> Lease:
        """Cards that sit on a machine already become its owner's: seen there, and adopted."""
        for card in cards:
            self.lab.vms[uuid(name)].cards.append(self.books.cards[card].pci)
        self.store.keep_look(self.lab.look())
        reply = self.say(OWNERS[name], f"adopt {' '.join(cards)} {until}")
        assert reply.ok, text_of(reply)
        return max(self.books.leases.values(), key=lambda lease: lease.request)

    def put(self, *values: Entity) -> None:
        """Write values into the books, past the rules."""
        with self.store.transaction() as transaction:
            transaction.books()
            transaction.record(Changes(puts=values), ())

    def guest(self, name: str, reading: Reading) -> None:
        """A guest says something."""
        assert reading.machine == uuid(name)
        self.store.take_reading(reading)

    def round(self, times: int = 1) -> None:
        """Rounds, each after the calls of the one before have ended; then the outbox is told."""
        for _ in range(times):
            self.rounds.round()
            self.settle()
        self.rounds.tell()

    def settle(self) -> None:
        """Wait until no call is being made."""
        assert self.rounds.quiet(10.0), "a call did not end"

    def forward(self, minutes: float, step: float = 1.0) -> None:
        """Time passes in steps, with a round after each."""
        left = minutes
        while left > 0:
            self.clock.forward(minutes=min(step, left))
            left -= step
            self.round()

    # ---- reading

    def vain_questions(self) -> list[str]:
        """Questions that stand in an owner's eyes and have nothing in the books behind them."""
        books, vain = self.books, []
        for person, reply in self.voice.standing.values():
            mine = {m.uuid for m in books.machines.values() if person in m.owners}
            asking = [x for x in books.leases.values() if x.question is not None and x.machine in mine]
            head, says = text_of(reply).splitlines()[0], [b.says for b in reply.buttons]
            if says and says[0].startswith("accept #"):
                known = books.requests[int(says[0].split()[1][1:])].state is RequestState.OFFERED
            elif "Do you still want" in head:
                known = any(r.question is not None for r in books.requests.values() if r.person == person)
            elif mine and says and any(w in head for w in (" goes back", " go back", "When may it")):
                known = any(slot in head for lease in asking for slot in lease.slots)
            else:
                continue
            vain += [] if known else [f"{person}: {text_of(reply)} {says}"]
        return vain

    def untrue_power(self) -> list[str]:
        """Messages that stand in an owner's eyes and say of a machine that is on that it is off."""
        on = [m for m in self.books.machines.values() if self.lab.vms[m.uuid].power is Power.ON]
        return [
            f"{person}: {head}"
            for person, reply in self.voice.standing.values()
            for m in on
            if (head := text_of(reply).splitlines()[0]).startswith((f"{m.name} is off", f"{m.name} may be off"))
            and person in (*m.owners, ADMINS)
        ]

    @property
    def books(self) -> Books:
        """As they are now."""
        return self.store.read()

    def lease(self, label: str) -> Lease:
        """By its label."""
        return self.books.leases[label]

    def card_of(self, name: str) -> list[str]:
        """The cards in a machine's settings, by their names."""
        names = {card.pci: card.name for card in self.books.cards.values()}
        return [names[pci] for pci in self.lab.vms[uuid(name)].cards]
