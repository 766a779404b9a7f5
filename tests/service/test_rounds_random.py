"""Random days: people say anything, machines go on and off by themselves, calls fail, the bot is killed; nothing is lost.

Each seed is a day of its own and the same each time. Whatever happens: no answer is an error of ours, no round fails, no card is in two
machines, and in the end no machine that we put off is left off.
"""

import logging
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.model import Job, MoveState, Power, Reading
from bot.service.ports import Again, NeedsPerson
from tests.fakes import text_of, uuid
from tests.house import House

SAYINGS = """request 1 restart now|request 2 restart now|request 3 restart tonight|request 1|request 1 restart ask
request 1 for 4h restart when done|request 4 until tomorrow 18:00|request 1 restart today
release|release now|release all now|release T4-{c} now|release T4-{c}|release #{n}|release #{n} tonight|release #{n}b now
extend 4h|extend #{n} 1d|keep|keep #{n}|keep T4-{c}|accept now|accept #{n} now|accept tonight|accept|pass|pass #{n}
notnow|notnow {vm}|notnow {vm} undo|window now|window {vm} now|window nights|window {vm} today|window tonight hard
window remove|window ask|window when done|window nights even if busy|stop|stop m{n}|start {vm}
why|why #{n}|why T4-{c}|why @bob|mine|queue||help|adopt T4-{c}|letgo T4-{c} now""".replace("\n", "|").split("|")
"""What people say."""

ORDERS = """drain T4-{c} because x|undrain T4-{c}|undrain T4-{c}|force release #{n} because y|force release T4-{c} because z
pause because p|resume|resume|resume|machine owners {vm} @ada @bob|machine owners {vm} @carol|machine remove {vm}
machine add {vm} owners @bob|machine list""".replace("\n", "|").split("|")
"""What an admin says."""

MACHINES = ("vm-python", "vm-r", "vm-train")


class Day:
    """One random day in a house."""

    def __init__(self, house: House, seed: int) -> None:
        self.house, self.chance = house, random.Random(seed)
        self.put_off: set[str] = set()  # machines that a user switched off
        self.words = 0

    def live(self, steps: int) -> None:
        """So many things happen."""
        events: list[tuple[int, Callable[[], None]]] = [
            (60, self.somebody_speaks),
            (10, self.an_admin_speaks),
            (100, self.time_passes),
            (10, self.a_guest_speaks),
            (4, self.a_user_switches_off),
            (4, self.a_user_switches_on),
            (3, self.a_call_will_fail),
            (1, self.vcenter_comes_and_goes),
            (1, self.the_bot_is_killed),
        ]
        for happens in self.chance.choices([e for _, e in events], [w for w, _ in events], k=steps):
            happens()

    def rest(self) -> None:
        """Everything works again, and two hours pass."""
        self.house.lab.errors.clear()
        self.house.lab.away = False
        self.house.say("dana", "resume")
        self.house.forward(120, 2)

    # ---- what happens

    def somebody_speaks(self) -> None:
        self._say(self.chance.choice(("ada", "bob", "carol")), self.chance.choice(SAYINGS))

    def an_admin_speaks(self) -> None:
        self._say("dana", self.chance.choice(ORDERS))

    def _say(self, who: str, saying: str) -> None:
        machine = self.chance.choice(MACHINES)
        text = saying.format(n=self.chance.randint(1, 6), c=self.chance.randint(1, 4), vm=machine)
        reply = self.house.say(who, text)
        assert "Something of mine broke" not in text_of(reply), f"{who}: {text}"

    def time_passes(self) -> None:
        self.house.clock.forward(minutes=self.chance.choice((0.5, 0.5, 0.5, 1, 1, 2, 2, 5, 20, 120)))
        self.house.round(2)

    def a_guest_speaks(self) -> None:
        name = self.chance.choice(MACHINES)
        vm, now = self.house.lab.vms[uuid(name)], self.house.clock.now()
        if vm.power is not Power.ON:
            return
        self.words += 1
        busy = self.chance.random() < 0.5
        reading = Reading(
            uuid(name),
            now,
            str(vm.boot),
            self.words,
            stopping=False,
            cards=max(0, len(vm.cards) - (self.chance.random() < 0.1)),
            faults=("xid 79",) if self.chance.random() < 0.03 else (),
            jobs=(Job("ada", "python train.py", now, True),) if busy else (),
            free_since=None if busy else now - timedelta(minutes=self.chance.choice((1, 20))),
            first_at=vm.boot,
        )
        self.house.guest(name, reading)

    def a_user_switches_off(self) -> None:
        name = self.chance.choice(MACHINES)
        vm = self.house.lab.vms[uuid(name)]
        vm.power, vm.boot = Power.OFF, None
        self.put_off.add(uuid(name))

    def a_user_switches_on(self) -> None:
        vm = self.house.lab.vms[uuid(self.chance.choice(MACHINES))]
        if vm.power is Power.OFF:
            vm.power, vm.boot = Power.ON, self.house.clock.now()

    def a_call_will_fail(self) -> None:
        error = self.chance.choice((Again("another task"), NeedsPerson("refused"), RuntimeError("strange")))
        self.house.lab.errors.append(error)
        self.house.lab.lose_reply += self.chance.random() < 0.3

    def vcenter_comes_and_goes(self) -> None:
        self.house.lab.away = self.chance.random() < 0.3

    def the_bot_is_killed(self) -> None:
        self.house.restart(f"run-{self.chance.random()}")


def unannounced(house: House) -> list[str]:
    """Shutdowns that were written down without a last call since the one before."""
    called: set[str] = set()
    bad = []
    for line in reversed(house.store.ledger(limit=100_000)):
        if line.what == "move.last_call":
            called.add(line.about)
        elif line.what in ("move.shutdown", "move.new_window"):
            bad += [] if line.about in called else [f"{line.what} {line.about} {line.at}"]
            called.discard(line.about)
    return bad


def live_and_judge(path: Path, caplog: pytest.LogCaptureFixture, seed: int, steps: int) -> None:
    """A day, and what must be true afterwards."""
    house = House(path)
    try:
        house.furnish()
        day = Day(house, seed)
        with caplog.at_level(logging.ERROR):
            day.live(steps)
            day.rest()
        assert [r.getMessage() for r in caplog.records if r.name != "bot.service.performing"] == []
        left_off = {u for u, vm in house.lab.vms.items() if vm.power is Power.OFF} - day.put_off
        assert left_off == set()
        cards = [card for vm in house.lab.vms.values() for card in vm.cards]
        assert len(cards) == len(set(cards))
        assert house.store.pending() == 0
        assert house.vain_questions() == []
        assert house.untrue_power() == []
        assert unannounced(house) == []
        late = house.clock.now() - timedelta(minutes=45)
        under_way = {MoveState.STOPPING, MoveState.CHANGING, MoveState.STARTING, MoveState.PROVING, MoveState.UNDOING}
        assert [m for m in house.books.moves.values() if m.state in under_way and m.changed < late] == []
    finally:
        house.close()


@pytest.mark.parametrize("seed", range(6))
def test_a_random_day(tmp_path: Path, caplog: pytest.LogCaptureFixture, seed: int) -> None:
    live_and_judge(tmp_path, caplog, seed, 120)


FOUND = {1011, 1031}
"""Days on which a question was left standing for somebody who was no owner any more."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(s, marks=pytest.mark.long if s < 1010 or s in FOUND else pytest.mark.soak)
        for s in range(1000, 1060)
    ],
)
def test_many_random_days(tmp_path: Path, caplog: pytest.LogCaptureFixture, seed: int) -> None:
    live_and_judge(tmp_path, caplog, seed, 400)
