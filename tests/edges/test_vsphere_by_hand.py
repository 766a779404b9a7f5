"""The levels `watch` and `hands` on the real protocol: whatever people say, vCenter's journal has no changing call of the bot's login; and
what an admin does by hand there is seen, and goes on to a card that is lent.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE
from bot.domain.model import Lease, LeaseState, Move, MoveState, Outcome
from bot.domain.policy import Policy
from bot.edges.store.store import open_store
from bot.edges.vsphere.connect import VCenter
from bot.edges.vsphere.lab import ReadOnly, VSphereLab
from bot.local.clock import Clock, Rate, write_clock
from bot.local.vcenter.hands import Hands
from bot.local.vcenter.settings import ADMIN_USER, BOT_USER, Settings
from bot.local.vcenter.start import Running, start_in_thread
from bot.service.desk import Desk
from bot.service.rounds import Rounds
from bot.service.setup import role
from tests.fakes import MONDAY, FakeClock, text_of
from tests.house import VERBS, House

CHANGING = {
    "ReconfigVM_Task",
    "PowerOnVM_Task",
    "PowerOffVM_Task",
    "ShutdownGuest",
    "ResetVM_Task",
    "SetField",
    "setCustomValue",
}

EVERYTHING = """
request 1 now; request 2 until tomorrow 18:00; queue; mine; why; accept #1 now; accept #1 tonight; accept now; window now; window now hard
window tonight; window nights; window weekdays 00:00-24:00 even if busy; release now; release #1 now; release #1 when done; notnow; stop; stop m1
start vm-r; start vm-python; start vm-train; extend 3d; keep; done #1; using; pass; cancel; letgo; letgo T4-1; adopt; adopt T4-1; request 4 partly now
force release #1 because I say so; force release #2 because I say so; drain T4-4 because dust; undrain T4-4; stop m2; stop m3; start vm-python-2
pause because lunch; window now; resume; resume; request 1 for vm-python now; release all now; drill vm-r; drill; status; restart vm-r; reboot; ja
"""


class Shared(FakeClock):
    """The bot's clock, and with it the stand-in's."""

    def __init__(self, path: Path, at: datetime) -> None:
        super().__init__(at)
        self.path = path
        self.forward()

    def forward(self, **length: float) -> None:
        """Both go on."""
        super().forward(**length)
        write_clock(self.path, Rate(time.time(), self.at.timestamp(), 0))


class Site(House):
    """A house whose vCenter is the stand-in, at a level at which people do the clicks, or at `act`."""

    def __init__(self, path: Path, running: Running, level: str) -> None:
        self.running, self.hands = running, Hands(running.world)
        self.first = len(running.world.journal.since(0))
        self.vsphere: VSphereLab | None = None
        super().__init__(path, Policy(level=level))

    def _open(self, run: str) -> None:
        world = self.running.world
        self.clock = Shared(world.clock.path, world.clock.now())  # type: ignore[arg-type]
        r = self.running
        vcenter = VCenter("lab", f"127.0.0.1:{r.port}", r.user, r.password, r.ca_file)
        acts = self.policy.level == "act"
        self.vsphere = VSphereLab([vcenter], self.clock, acts=acts)
        self.lab: Any = self.vsphere if acts else ReadOnly(self.vsphere, self.policy.level)
        self.store = open_store(f"sqlite:///{self.path / 'gpubot.db'}", now=self.clock.now)
        self.desk = Desk(self.store, self.people, self.clock, self.policy, ("T4",), self._wake, VERBS)
        self.rounds = Rounds(
            self.store, self.lab, self.voice, self.people, self.clock, self.policy, run, self._wake, board_every=1e9
        )

    def close(self) -> None:
        """Log out too."""
        super().close()
        self.lab.close()

    def touched(self) -> list[dict[str, Any]]:
        """What the bot's login changed in vCenter, by its journal and by what was counted of its calls."""
        lines = self.running.world.journal.since(self.first)
        called = self.running.server.counts.shown()["users"].get(BOT_USER, {})
        return [e for e in lines if e["user"] == BOT_USER] + [{"called": m} for m in called if m in CHANGING]

    def move(self) -> Move:
        """The newest."""
        return max(self.books.moves.values(), key=lambda m: m.number)

    def until(self, what: Any, minutes: float = 30) -> None:
        """Rounds, half a minute apart, until something holds."""
        for _ in range(round(minutes * 2)):
            if what():
                return
            self.forward(0.5, 0.5)
        raise AssertionError(self.books)

    def open_lease(self) -> Lease:
        """The only one."""
        (lease,) = [x for x in self.books.leases.values() if x.state in OPEN_LEASE]
        return lease

    def cards(self, name: str) -> tuple[str, ...]:
        """In a machine's settings, by PCI address."""
        return next(m.cards for m in self.lab.look().machines if m.name == name)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A stand-in on a clock that the tests move; four machines are on."""
    path = tmp_path_factory.mktemp("clock") / "clock.json"
    write_clock(path, Rate(time.time(), MONDAY.timestamp(), 0))
    with start_in_thread(Settings(boot_s=1, shutdown_s=1), clock=Clock(path)) as running:
        for name in ("vm-python", "vm-r", "vm-train"):
            Hands(running.world).power(name, "on")
        running.server.api.privileges.lacks[BOT_USER] = set(role.ACT)  # it may only look
        yield running
        assert running.server.mistakes == []


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path, running: Running) -> Iterator[Site]:
    """Machines on, nothing lent."""
    running.server.counts.reset()
    site = Site(tmp_path, running, getattr(request, "param", "hands"))
    site.clock.forward(minutes=10)
    site.furnish()
    yield site
    site.close()


@pytest.mark.parametrize("site", ["hands", "watch"], indirect=True)
def test_whatever_people_say_the_bot_changes_nothing(site: Site) -> None:
    for line in EVERYTHING.replace("\n", ";").split(";"):
        for who in ("bob", "dana"):
            site.say(who, line.strip())
            site.clock.forward(seconds=20)
        site.round()
    site.forward(30, 3)
    assert site.touched() == []
    assert {m.call.outcome for m in site.books.moves.values() if m.call} <= {Outcome.HANDS}
    said = "\n".join(text_of(r) for r in [*(r for _, r in site.voice.posts), *(r for _, r in site.voice.edits)])
    assert ("By hand, please, now" if site.policy.level == "hands" else "At the level act I would") in said


def by_hand(site: Site, name: str) -> None:
    """The admin does what the message asks for, with the admin's login: read from what is written down of it."""
    hands, move = site.hands, site.move()
    assert move.call is not None and move.call.outcome is Outcome.HANDS
    match move.state:
        case MoveState.STOPPING:
            hands.power(name, "off", ADMIN_USER)
        case MoveState.CHANGING:
            for wish in move.call.puts:
                hands.attach(name, site.books.card(wish.slot).pci)
            for wish in move.call.takes:
                hands.detach(name, site.books.card(wish.slot).pci)
        case MoveState.STARTING:
            hands.power(name, "on", ADMIN_USER)


def through(site: Site, name: str) -> None:
    """All clicks of one restart."""
    for state in (MoveState.STOPPING, MoveState.CHANGING, MoveState.STARTING):
        site.until(lambda s=state: site.books.moves and site.move().state is s)
        by_hand(site, name)


def test_an_admin_does_the_clicks_and_the_card_is_lent_and_comes_back(site: Site) -> None:
    assert site.say("bob", "request 1 for 4h now").ok
    through(site, "vm-r")
    site.until(lambda: site.open_lease().state is LeaseState.ACTIVE)
    assert len(site.cards("vm-r")) == 1
    assert site.say("bob", "release now").ok
    through(site, "vm-r")
    site.until(lambda: not any(x.state in OPEN_LEASE for x in site.books.leases.values()))
    site.until(lambda: not any(m.state in OPEN_MOVE for m in site.books.moves.values()))
    assert site.cards("vm-r") == () and site.touched() == []
    cards = [e["user"] for e in site.running.world.journal.since(site.first) if e["verb"] in ("card on", "card off")]
    assert cards == [ADMIN_USER, ADMIN_USER]
