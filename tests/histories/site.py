"""A whole bot on the stand-in's world, without a thread: real store, desk, rounds and performer, and a judge who watches.

`Site` is what a history plays on. A bot is killed in it by `Killed`, which flies out of whatever it was doing; another is started on the same
database. Time is that of `still`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path

from bot import commands
from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE
from bot.domain.model import Books, Job, Login, Reading, Seen
from bot.domain.policy import Policy
from bot.edges.store.store import open_store
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.server import SoapServer
from bot.local.vcenter.settings import ADMIN_USER
from bot.local.vcenter.world import World
from bot.service.desk import Desk
from bot.service.ports import Address, Again, Ask, Before, Lab, LabStep, NeedsPerson, Reply
from bot.service.rounds import Rounds
from tests.fakes import FakePeople, FakeVoice, text_of
from tests.histories import rigs
from tests.histories.judge import Judge
from tests.histories.still import Later, StillClock

VERBS = commands.found()
OWNERS = {"vm-python": "@ada", "vm-python-2": "@ada @bob", "vm-r": "@bob", "vm-train": "@carol"}
MEMORY = Path("/dev/shm")
"""Databases of histories live in memory where there is such a folder."""


NEVER_S = 1e9
"""The board shows what is asked of it elsewhere: here it would only cost time."""


class Killed(BaseException):
    """The process of the bot ends here."""


class Watched:
    """A lab in front of the judge: it sees the books before each call, and calls are lost, refused or the last of their bot here."""

    def __init__(self, inner: Lab, site: Site) -> None:
        self.inner, self.site = inner, site
        self.faults: list[str] = []  # of the next calls: before, after, refused, strange
        self.kill = ""  # look, act before, act after: where the bot dies next
        self.kill_at = (0, "")  # or at which call from the start, and whether before or after it
        self.calls = 0  # calls so far

    def look(self) -> Seen:
        """One look; the bot may die in the middle of it."""
        seen = self.inner.look()
        self.dies("look")
        return seen

    def dry_run(self, step: LabStep) -> list[str]:
        """As it is."""
        return self.inner.dry_run(step)

    def act(self, step: LabStep) -> Before | None:
        """One call."""
        site = self.site
        self.calls += 1
        self.dies("act before")
        site.judge.begins(step, site.books, site.clock.now())
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            raise Again("the connection was lost")
        if fault == "refused":
            raise NeedsPerson("refused for a test")
        if fault == "strange":
            raise RuntimeError("nobody knows this answer")
        try:
            before = self.inner.act(step)
        finally:
            site.read_journal()
        self.dies("act after")
        if fault == "after":
            raise Again("the reply was lost", timedelta(seconds=1))
        return before

    def close(self) -> None:
        """Log out."""
        self.inner.close()

    def dies(self, where: str) -> None:
        """Here, if it was ordered."""
        if self.kill == where or self.kill_at == (self.calls, where):
            self.kill, self.kill_at = "", (0, "")
            raise Killed(where)


class MortalVoice(FakeVoice):
    """A voice after whose next post the bot may die: the message stands, and nobody wrote down that it does."""

    def __init__(self) -> None:
        super().__init__()
        self.kill = False

    def post(self, to: str, reply: Reply) -> Address:
        """A new message."""
        at = super().post(to, reply)
        if self.kill:
            self.kill = False
            raise Killed("post")
        return at


@dataclass
class Site:
    """One world, one database, one bot at a time."""

    folder: Path
    world: World
    clock: StillClock
    make_lab: Callable[[Site], Lab]
    rig: str = rigs.FIXED
    policy: Policy = field(default_factory=lambda: Policy(level="act"))

    def __post_init__(self) -> None:
        self.judge, self.people, self.voice = Judge(), FakePeople(), MortalVoice()
        self.hands = Hands(self.world)
        self.words = 0  # readings so far
        self.told: dict[str, tuple[object, ...]] = {}  # what each guest said last, and when
        self.silent: set[str] = set()  # machines without an agent
        self.runs = 0
        self.on_death: Callable[[], None] = lambda: None  # what happens in the moment in which a bot dies
        self.server: SoapServer | None = None  # where there is a wire
        self.lab = Watched(self.make_lab(self), self)
        self._open()

    # ---- the bot

    def _open(self) -> None:
        self.runs += 1
        self.store = open_store(f"sqlite:///{self.folder / 'gpubot.db'}", now=self.clock.now)
        self.desk = Desk(self.store, self.people, self.clock, self.policy, ("T4",), self._wake, VERBS)
        self.rounds = Rounds(
            self.store, self.lab, self.voice, self.people, self.clock, self.policy, f"run-{self.runs}", self._wake,
            board_every=NEVER_S,
        )  # fmt: skip
        self.rounds._performer._pool.shutdown()  # its threads have not been made yet
        self.later = self.rounds._performer._pool = Later()  # type: ignore[assignment]

    def _wake(self) -> None:
        """Nobody sleeps."""

    def close(self) -> None:
        """The end of the history."""
        self.rounds.close()
        self.store.close()

    def restart(self, away: float = 0.0) -> None:
        """The process is gone, and what it had not done; after ``away`` seconds another begins."""
        self.close()
        self.pass_time(away)
        self._open()

    @contextmanager
    def mortal(self) -> Iterator[None]:
        """If the bot dies in here, another is started."""
        try:
            yield
        except Killed:
            self.on_death()
            self.restart()

    def round(self) -> None:
        """Guests speak, one pass of the clockwork, its calls, and the next pass of what they changed is the next round's."""
        self.guests()
        with self.mortal():
            self.rounds.round()
            assert not self.rounds.trouble, self.rounds.trouble
            self.later.work()
            if self.store.pending():
                self.rounds.tell()
        self.read_journal()
        self.judge.books(self.books)

    def say(self, name: str, text: str) -> Reply:
        """Somebody says a line."""
        person = self.people.find(name)
        reply = self.desk.hear(Ask(person.id if person else name, text, "test"))
        assert "Something of mine broke" not in text_of(reply), f"{name}: {text}"
        return reply

    @property
    def books(self) -> Books:
        """As they are now."""
        return self.store.read()

    # ---- the world

    def pass_time(self, seconds: float) -> None:
        """Time passes without the bot."""
        self.clock.go(seconds, self.world.timers)

    def read_journal(self) -> None:
        """The judge hears what is new."""
        self.judge.heard(self.world.journal.since(self.judge.seq))

    def guests(self) -> None:
        """Each guest that runs says how it is, when that is new or its last word is old."""
        books = self.books
        matters = {x.machine for x in books.leases.values() if x.state in OPEN_LEASE}
        matters |= {m.machine for m in books.moves.values() if m.state in OPEN_MOVE}
        for node, uuid, guest in self._running():
            if node in self.silent or uuid not in books.machines:
                continue
            cards = len(guest.seen())
            state = (
                guest.boot_id,
                guest.state,
                cards,
                tuple(guest.faults.get(c, "") for c in guest.seen()),
                len(guest.jobs),
            )
            last = self.told.get(uuid)
            if (
                last is not None
                and last[0] == state
                and (uuid not in matters or self.clock.at - float(str(last[1])) < 200)
            ):
                continue
            self.told[uuid] = (state, self.clock.at)
            self.words += 1
            self.store.take_reading(self._reading(uuid, guest, cards))

    def _running(self) -> list[tuple[str, str, object]]:
        from bot.local.vcenter.vmomi import vim

        nodes = self.world.inventory.of(vim.VirtualMachine)
        pairs = [(n.name, self.world.uuid_of(n)) for n in nodes]
        return [
            (name, uuid, guest)
            for name, uuid in pairs
            if (guest := self.world.guests[uuid]).state in ("running", "stopping")
        ]

    def _reading(self, uuid: str, guest: object, cards: int) -> Reading:
        now, jobs = self.clock.now(), list(guest.jobs.values())
        boots = guest.__dict__.setdefault("first_word", {})
        first = boots.setdefault(guest.boot_id, now)
        busy = bool(jobs)
        return Reading(
            uuid,
            now,
            str(guest.boot_id),
            self.words,
            stopping=guest.state == "stopping",
            cards=cards,
            faults=tuple(f for c in guest.seen() if (f := guest.faults.get(c))),
            logins=tuple(Login(u, now) for u in guest.logins),
            jobs=tuple(Job(j.user, j.name, now, j.gpu) for j in jobs),
            free_since=None if busy else max(first, now - timedelta(minutes=30)),
            first_at=first,
        )


@cache
def furnished(rig: str) -> bytes:
    """A database in which the machines are registered: the same for every history of a process."""
    from tests.histories.model_lab import ModelLab

    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        clock = StillClock()
        world = new_world(clock, rig)
        site = Site(Path(folder), world, clock, lambda _: ModelLab(world, clock), rig)
        site.round()
        for name, owners in OWNERS.items():
            reply = site.say("dana", f"machine add {name} owners {owners}")
            assert reply.ok, text_of(reply)
        site.round()
        site.close()
        return (Path(folder) / "gpubot.db").read_bytes()


def new_world(clock: StillClock, rig: str) -> World:
    """A rig whose machines run."""
    world = World(rigs.settings_of(rig), clock)
    start_machines(world, clock)
    return world


def start_machines(world: World, clock: StillClock) -> None:
    """All that have an owner run."""
    for name in OWNERS:
        world.power_on(world.inventory.vm(name), ADMIN_USER)
    clock.go(60, world.timers)


@contextmanager
def site_on(make_lab: Callable[[Site], Lab], world: World, clock: StillClock, rig: str) -> Iterator[Site]:
    """A furnished site on a world whose machines run."""
    folder = Path(tempfile.mkdtemp(prefix="history-", dir=MEMORY if MEMORY.is_dir() else None))
    try:
        (folder / "gpubot.db").write_bytes(furnished(rig))
        site = Site(folder, world, clock, make_lab, rig)
        try:
            yield site
        finally:
            site.close()
    finally:
        shutil.rmtree(folder)
