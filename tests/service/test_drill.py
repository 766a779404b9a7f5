"""`gpubot drill`: there and back through the desk and the rounds, what keeps it from beginning, and that nothing of it is left."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.domain.lifecycle import OPEN_LEASE, OPEN_MOVE, OPEN_REQUEST
from bot.domain.model import Books, CallKind, LeaseState, Power, SeenMachine, Vgpu
from bot.domain.policy import Policy
from bot.edges.store import Busy
from bot.service.ports import Ask, Reply
from bot.service.setup.drill import Wanted, Ways, drill
from bot.service.setup.drill_words import changed
from bot.wiring import terminal
from tests.fakes import text_of, uuid
from tests.house import House


@dataclass
class Terminal:
    """Somebody who sits there; a sleep is a round of the bot that runs."""

    house: House
    lines: list[str] = field(default_factory=list)
    running: bool = True
    answer: bool = True
    after_say: list[str] = field(default_factory=list)  # Ctrl-C after the line that begins so was written down
    interrupt: list[Callable[[str], bool]] = field(default_factory=list)  # Ctrl-C once the text so far is so
    raises: BaseException = field(default_factory=KeyboardInterrupt)  # instead of Ctrl-C
    lost: Exception | None = None  # why the database does not answer

    def sleep(self, seconds: float) -> None:
        self.house.forward(0.25, 0.25)
        if self.interrupt and self.interrupt[0](self.text):
            self.interrupt.pop(0)
            raise self.raises

    def books(self) -> Books:
        if self.lost is not None:
            raise self.lost
        return self.house.books

    def said(self, ask: Ask) -> Reply:
        reply = self.house.desk.hear(ask)
        if self.after_say and ask.text.startswith(self.after_say[0]):
            self.after_say.pop(0)
            raise KeyboardInterrupt
        return reply

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def drill(self, machine: str, *, yes: bool = True, kind: str = "", who: str = "dana") -> int:
        house = self.house
        person = house.people.find(who)
        assert person is not None
        ways = Ways(
            books=self.books,
            seen=house.store.last_look,
            readings=house.store.readings,
            say=lambda line: self.said(Ask(person.id, line, "terminal")),
            plain=text_of,
            running=lambda: self.running,
            now=house.clock.now,
            sleep=self.sleep,
            out=self.lines.append,
            ask=lambda question: self.answer,
            alone=house.store.alone,
        )
        return drill(ways, Wanted(machine, person, kind, "Europe/Berlin"), house.policy, yes)

    def nothing_left(self) -> bool:
        """Neither in the books nor in vCenter."""
        books, vm = self.house.books, self.house.lab.vms[uuid("vm-train")]
        open_ = [x for x in books.leases.values() if x.state in OPEN_LEASE]
        open_ += [m for m in books.moves.values() if m.state in OPEN_MOVE]  # type: ignore[misc]
        open_ += [r for r in books.requests.values() if r.state in OPEN_REQUEST]  # type: ignore[misc]
        return not open_ and not vm.cards and vm.power is Power.ON and not vm.locked


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Terminal]:
    """vm-train is nobody's: not registered."""
    house = House(tmp_path)
    house.furnish({"vm-python": "ada", "vm-r": "bob"})
    house.round()
    yield Terminal(house)
    house.close()


def test_there_and_back_and_nothing_is_left(place: Terminal) -> None:
    assert place.drill("vm-train") == 0, place.text
    assert place.nothing_left() and uuid("vm-train") not in place.house.books.machines
    for part in (
        "there:", "back:", "until its cards are changed", "of that it was off", "dana: request 1 T4 on vm-train for 4h restart now",
        "dana: release #1 now", "vm-train is as it was before, and nothing is left in the books.",
    ):  # fmt: skip
        assert part in place.text
    kinds = [c.kind for c in place.house.lab.calls]
    once = [CallKind.SHUTDOWN, CallKind.CHANGE, CallKind.POWER_ON]
    assert kinds == once * 2, "no other way than the product's"


def test_a_machine_of_the_admin_stays_registered(place: Terminal) -> None:
    assert place.house.say("dana", "machine add vm-train owners @dana").ok
    assert place.drill("VM-Train", kind="t4") == 0 and uuid("vm-train") in place.house.books.machines


def test_it_asks_first_and_a_no_changes_nothing(place: Terminal) -> None:
    place.answer = False
    assert place.drill("vm-train", yes=False) == 2
    assert "restarts twice" in place.text and "Nothing was changed." in place.text and place.nothing_left()


def level(place: Terminal) -> None:
    place.house.policy = Policy(level="hands")


def paused(place: Terminal) -> None:
    place.house.say("dana", "pause because lunch")


def not_running(place: Terminal) -> None:
    place.running = False


def off(place: Terminal) -> None:
    place.house.lab.vms[uuid("vm-train")].power = Power.OFF
    place.house.round()


def has_a_card(place: Terminal) -> None:
    place.house.lab.vms[uuid("vm-train")].cards.append(place.house.books.cards["T4-1"].pci)
    place.house.round()


def others(place: Terminal) -> None:
    place.house.say("dana", "machine add vm-train owners @dana @carol")


def awaited(place: Terminal) -> None:
    place.house.say("dana", "drain T4-1 because dust")
    place.house.say("bob", "request 4 on vm-r")


def all_lent(place: Terminal) -> None:
    place.house.lend("vm-python", "T4-1", "T4-2")
    place.house.lend("vm-r", "T4-3", "T4-4")
    place.house.round()


def asked(place: Terminal) -> None:
    place.house.say("dana", "machine add vm-train owners @dana")
    place.house.say("dana", "request 1 on vm-train")
    place.house.round()


def stale(place: Terminal) -> None:
    place.house.clock.forward(hours=1)


@pytest.mark.parametrize(
    ("hinders", "why"),
    [
        (level, 'write: level = "act"'),
        (paused, "all restarts are paused"),
        (not_running, "start `gpubot run`"),
        (off, "it is not on"),
        (has_a_card, "it has a card already"),
        (others, "others own it"),
        (awaited, "somebody waits for T4"),
        (all_lent, "no card on its host is free"),
        (asked, "somebody has asked for a card for it"),
        (stale, "has not seen vCenter lately"),
    ],
)
def test_what_keeps_it_from_beginning(place: Terminal, hinders: Callable[[Terminal], object], why: str) -> None:
    hinders(place)
    before = place.house.books
    assert place.drill("vm-train") == 2 and why in place.text
    assert replace(place.house.books, numbers={}) == replace(before, numbers={}) and place.house.lab.calls == []


def test_a_name_or_a_kind_that_is_not_there(place: Terminal) -> None:
    assert place.drill("vm-nobody") == 2 and "no vCenter shows a machine of that name" in place.text
    assert place.drill("vm-train", kind="A100") == 2 and "its host has no A100" in place.text


@pytest.mark.parametrize("at", ["dana: request", "asked to shut down", "the card is in", "on again"])
def test_ctrl_c_gives_back_what_was_begun(place: Terminal, at: str) -> None:
    place.interrupt = [lambda text: at in text]
    assert place.drill("vm-train") == 1
    assert "Stopped: interrupted. What was begun is given back" in place.text and place.nothing_left()
    assert uuid("vm-train") not in place.house.books.machines


def test_a_second_ctrl_c_leaves_it_to_the_bot_and_says_what_goes_on(place: Terminal) -> None:
    place.interrupt = [lambda text: "on again" in text, lambda text: "release #1 now" in text]
    assert place.drill("vm-train") == 1
    assert (
        "gpubot say --as dana 'machine remove vm-train'" in place.text
        and "#1 comes out in its next restart; `gpubot say --as dana 'release #1 now'` asks" in place.text
    )
    place.house.forward(30)
    assert place.nothing_left(), "the bot has brought it back"
    assert place.house.say("dana", "machine remove vm-train").ok


def test_a_guest_that_does_not_shut_down_is_left_on_and_what_goes_on_is_said(place: Terminal) -> None:
    place.house.lab.stubborn.add(uuid("vm-train"))
    assert place.drill("vm-train") == 1
    assert "Stopped: the restart went back" in place.text
    assert "The bot goes on with m1 (undoing): it is on, and nothing was changed" in place.text
    assert "gpubot say --as dana 'machine remove vm-train'" in place.text


def test_a_change_that_is_refused_ends_with_the_machine_as_it_was(place: Terminal) -> None:
    place.house.lab.refused.add(CallKind.CHANGE)
    assert place.drill("vm-train") == 1
    assert "the restart went back: no licence" in place.text and "The drill did not come through" in place.text
    assert place.nothing_left() and uuid("vm-train") not in place.house.books.machines


def test_blockers_are_told_and_it_is_given_up(place: Terminal) -> None:
    place.house.lab.blockers.append("its disk is full")
    assert place.drill("vm-train") == 1
    assert "in the way is: its disk is full" in place.text and place.nothing_left()


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"power": Power.OFF}, "it is off, and was on"),
        ({"cards": ("0000:3b:00.0",)}, "its cards are 0000:3b:00.0, and were none"),
        ({"unplaced": (Vgpu("grid_t4-8q"),)}, "devices by label or profile differ"),
        ({"memory_locked": True, "reservation_mb": 65536}, "all its memory is reserved, which was otherwise"),
        ({"reservation_mb": 1024}, "1024 MB of its memory are reserved, and 0 MB were"),
        ({"host": "host-2"}, "it is on another host"),
        ({}, ""),
    ],
)
def test_what_is_not_as_it_was_is_named(after: dict[str, object], said: str) -> None:
    before = SeenMachine("lab", "uuid-a", "vm-a", "host-1", Power.ON)
    assert "; ".join(changed(before, replace(before, **after))).endswith(said)  # type: ignore[arg-type]
    assert changed(before, None) == ["it is not seen any more"]


def test_a_guest_that_says_nothing_is_told_before_the_restart_and_waited_for_until_a_time(place: Terminal) -> None:
    assert place.drill("vm-train") == 0
    before, _, after = place.text.partition("asked to shut down")
    assert "Times are those of Europe/Berlin." in before
    assert "The guest of vm-train has never said anything" in before and "waits up to 20 min" in before
    until = re.search(r"on again\n  waiting for a word from the guest, at most until (\d\d:\d\d) CET?", after)
    assert until, place.text
    assert place.text.count("waiting for a word") == 1


@pytest.mark.parametrize("line", ["machine add", "request"])
def test_an_interruption_just_after_a_line_was_written_down_leaves_nothing(place: Terminal, line: str) -> None:
    place.after_say = [line]
    assert place.drill("vm-train") == 1
    assert place.nothing_left() and uuid("vm-train") not in place.house.books.machines


ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("number", ENDS)
def test_what_would_end_it_without_a_word_is_told_as_ctrl_c_and_is_as_before_afterwards(number: signal.Signals) -> None:
    before = [signal.getsignal(one) for one in ENDS]
    with pytest.raises(KeyboardInterrupt), terminal._as_ctrl_c():
        signal.raise_signal(number)
    assert [signal.getsignal(one) for one in ENDS] == before


def test_the_end_of_a_terminal_that_is_told_again_and_again_is_one_interruption() -> None:
    with terminal._as_ctrl_c():
        for first in (signal.SIGTERM, signal.SIGINT):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(first)
            signal.raise_signal(signal.SIGHUP)
    with terminal._as_ctrl_c():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminal._as_ctrl_c():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


class Killed(BaseException):
    """kill -9: nothing of the drill runs any more."""


def killed_at(place: Terminal, state: LeaseState) -> None:
    """A drill that ends in the middle, and leaves all it had begun."""
    killed_when(place, lambda: any(x.state is state for x in place.house.books.leases.values()))


def killed_when(place: Terminal, when: Callable[[], bool]) -> None:
    """The same at the first moment at which something holds."""

    def kill(_: str) -> bool:
        if when():
            raise Killed
        return False

    place.interrupt.append(kill)
    with pytest.raises(Killed):
        place.drill("vm-train")
    place.interrupt.clear()
    place.lines.clear()


@pytest.mark.parametrize("state", [LeaseState.MOVING, LeaseState.ACTIVE, LeaseState.RETURNING])
def test_the_next_drill_gives_back_what_one_left_that_was_killed(place: Terminal, state: LeaseState) -> None:
    killed_at(place, state)
    if state is LeaseState.RETURNING:
        place.house.forward(1)
    assert place.drill("vm-train") == 0, place.text
    assert "An earlier drill of vm-train did not come to its end: its #1 has T4-1." in place.text
    assert "dana: machine remove vm-train" in place.text and place.text.count("dana: request 1 T4") == 1
    assert place.nothing_left() and uuid("vm-train") not in place.house.books.machines


def test_a_no_leaves_it_and_says_what_ends_it(place: Terminal) -> None:
    killed_at(place, LeaseState.ACTIVE)
    place.answer = False
    assert place.drill("vm-train", yes=False) == 2
    assert "release #1 now" in place.text and "machine remove vm-train" in place.text
    assert place.house.lease("1").state is LeaseState.ACTIVE


def test_what_another_admins_drill_left_is_named_and_left_to_them(place: Terminal) -> None:
    killed_at(place, LeaseState.ACTIVE)
    assert place.drill("vm-train", who="ada") == 2
    assert "#1 was asked for by somebody else's drill" in place.text and "restart" not in place.text
    assert place.house.lease("1").state is LeaseState.ACTIVE


def test_a_machine_that_a_killed_drill_did_not_come_to_forget_is_named(place: Terminal) -> None:
    def returned() -> bool:
        return any(x.state not in OPEN_LEASE for x in place.house.books.leases.values()) and place.nothing_left()

    killed_when(place, returned)
    assert uuid("vm-train") in place.house.books.machines
    assert place.drill("vm-train") == 0
    assert (
        "The drill #1 registered vm-train, and it is registered still; if nobody wants that: `gpubot say" in place.text
    )
    assert place.house.say("dana", "machine remove vm-train").ok
    place.lines.clear()
    assert place.drill("vm-train") == 0 and "registered still" not in place.text


def test_a_database_that_does_not_answer_for_a_while_is_an_interruption(place: Terminal) -> None:
    place.interrupt = [lambda text: "on again" in text]
    place.raises = Busy("the database is held")
    assert place.drill("vm-train") == 1
    assert "Stopped: the database is held. What was begun is given back" in place.text and place.nothing_left()


def test_a_database_that_is_gone_leaves_it_to_the_bot_and_says_so(place: Terminal) -> None:
    def gone(text: str) -> bool:
        if "on again" in text:
            place.lost = Busy("the database is gone")
        return False

    place.interrupt = [gone]
    assert place.drill("vm-train") == 1
    assert "The drill ends here: the database is gone." in place.text
    assert "`gpubot drill vm-train` then offers to give back the rest" in place.text


def test_an_interruption_after_all_was_given_back_says_that_nothing_is_left(place: Terminal) -> None:
    place.interrupt = [lambda text: place.house.books.leases and place.nothing_left()]
    assert place.drill("vm-train") == 1
    assert "The drill ends here: interrupted." in place.text
    assert "Nothing of it is left in the books; it was not seen whether vm-train is as it was before." in place.text


def test_a_card_that_was_lent_otherwise_is_not_given_back(place: Terminal) -> None:
    assert place.house.say("dana", "machine add vm-train owners @dana").ok
    assert place.house.say("dana", "request 1 on vm-train restart now because drills").ok
    place.house.forward(2)
    assert (
        place.drill("vm-train") == 2
        and "a card is lent to it (#1 with T4-1)" in place.text
        and "earlier" not in place.text
    )


def test_a_second_one_leaves_alone_what_the_first_began(place: Terminal) -> None:
    other = Terminal(place.house)
    codes: list[int] = []

    def again(text: str) -> bool:
        if not codes and any(x.state is LeaseState.ACTIVE for x in place.house.books.leases.values()):
            codes.append(other.drill("VM-train"))
        return False

    place.interrupt.append(again)
    assert place.drill("vm-train") == 0 and codes == [2]
    assert "A drill of VM-train runs in another terminal now; nothing was changed." in other.text
    assert "dana:" not in other.text, "it said nothing to the bot"
    assert other.drill("vm-train") == 0, "the mark is gone with the drill that set it"
