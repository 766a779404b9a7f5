"""The clockwork: what a round looks at, decides and begins, and that nothing which breaks stops it."""

import logging
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.model import CallKind, LeaseState, MoveState, Outcome, Power, RequestState
from bot.domain.news import CHANNEL
from bot.domain.policy import Policy
from bot.service.ports import Again, NeedsPerson
from tests.fakes import PCI, text_of, uuid
from tests.house import House

WAY = [CallKind.SHUTDOWN, CallKind.CHANGE, CallKind.POWER_ON]
"""The calls of one power cycle."""


def go(house: House, minutes: float = 30, step: float = 0.5) -> None:
    """Time passes, a round every half minute."""
    house.forward(minutes, step)


def kinds(house: House) -> list[CallKind]:
    """The calls that arrived, in order."""
    return [call.kind for call in house.lab.calls]


def the_move_ended_well(house: House, number: int = 1) -> None:
    """bob's card sits in vm-r, which is on, and in no other machine."""
    assert house.books.moves[number].state is MoveState.DONE
    assert [len(vm.cards) for vm in house.lab.vms.values() if vm.cards] == [1]
    assert house.lab.vms[uuid("vm-r")].cards
    assert house.lab.vms[uuid("vm-r")].power is Power.ON
    assert house.lease("1").state is LeaseState.ACTIVE
    assert house.books.requests[1].state is RequestState.LEASED


# ---- the whole way


def test_a_request_with_a_window_becomes_a_card_in_one_power_cycle(house: House) -> None:
    house.say("bob", "request 1 restart now")
    go(house)
    assert kinds(house) == WAY
    the_move_ended_well(house)
    lease = house.lease("1")
    assert lease.slots == ("T4-1",)
    assert lease.end is not None and lease.active_since is not None


def test_a_card_goes_from_one_machine_to_another_in_two_power_cycles(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    house.say("bob", "request 1 restart now")
    house.round()
    house.say("ada", "release T4-2 now")
    go(house, 60)
    assert house.card_of("vm-python") == ["T4-1", "T4-3", "T4-4"]
    assert house.card_of("vm-r") == ["T4-2"]
    assert [call.machine for call in house.lab.calls] == [uuid("vm-python")] * 3 + [uuid("vm-r")] * 3
    assert all(vm.power is Power.ON for vm in house.lab.vms.values())


def test_the_steps_of_a_move_are_one_message_in_the_channel(house: House) -> None:
    house.say("bob", "request 1 restart now")
    go(house)
    about = [text for text in house.voice.said_to(CHANNEL) if "T4-1 went to U2BOB (vm-r)" in text]
    posted = [reply for to, reply in house.voice.posts if to == CHANNEL]
    assert len(about) == 1
    assert len(posted) == 2, "the board and the move, each posted once and then edited"


def test_guests_are_warned_and_told_by_an_order(house: House) -> None:
    house.say("bob", "request 1 restart now")
    house.round(2)
    assert house.lab.calls == [], "60 seconds of warning first"
    assert any("vm-r restarts" in text for text in house.voice.said_to("U2BOB"))
    assert house.store.take_orders(uuid("vm-r"), house.clock.now()) == ["last call"]


def test_nothing_is_switched_off_without_an_agreement(house: House) -> None:
    house.say("bob", "request 1")
    go(house, 120, 2)
    assert house.lab.calls == []
    assert all(vm.power is Power.ON for vm in house.lab.vms.values())


# ---- calls that go wrong


@pytest.mark.parametrize("nth", [0, 1, 2])
@pytest.mark.parametrize("how", ["conflict", "lost", "strange"])
def test_a_call_that_goes_wrong_once_is_asked_again(house: House, nth: int, how: str) -> None:
    house.say("bob", "request 1 restart now")
    wrong = _Wrong(house, nth, how)
    house.lab.act = wrong  # type: ignore[method-assign]
    go(house)
    assert wrong.happened
    the_move_ended_well(house)


class _Wrong:
    """The lab's calls, of which the n-th ends badly."""

    def __init__(self, house: House, nth: int, how: str) -> None:
        self.real, self.house = house.lab.act, house
        self.nth, self.how, self.seen, self.happened = nth, how, 0, False

    def __call__(self, step: Any) -> Any:
        at, self.seen = self.seen, self.seen + 1
        if at != self.nth:
            return self.real(step)
        self.happened = True
        if self.how == "conflict":
            raise Again("another task was faster", timedelta(seconds=5))
        if self.how == "strange":
            raise RuntimeError("an error that the driver does not know")
        self.real(step)
        raise Again("the reply was lost", timedelta(seconds=5))


def test_an_error_that_the_driver_does_not_know_is_logged_with_its_cause(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.say("bob", "request 1 restart now")
    house.lab.errors = [RuntimeError("strange thing")]
    with caplog.at_level(logging.ERROR):
        go(house, 5)
    assert "strange thing" in caplog.text
    assert "Traceback" in caplog.text


def test_a_change_that_is_refused_is_undone_and_the_machine_is_on_again(house: House) -> None:
    house.say("bob", "request 1 restart now")
    real = house.lab.act

    def refuses(step: Any) -> Any:
        if step.kind is CallKind.CHANGE and step.put:
            raise NeedsPerson("this card cannot be attached", card=PCI[0])
        return real(step)

    house.lab.act = refuses  # type: ignore[method-assign]
    go(house)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON
    assert house.lab.vms[uuid("vm-r")].cards == []
    assert house.books.cards["T4-1"].aside is not None, "the card that is to blame is out of the pool"


def test_a_guest_that_does_not_shut_down_is_left_on_and_nothing_is_changed(house: House) -> None:
    house.lab.stubborn.add(uuid("vm-r"))
    house.say("bob", "request 1 restart now")
    go(house, 10)
    assert CallKind.HARD_STOP not in kinds(house)
    assert CallKind.CHANGE not in kinds(house)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON


# ---- the bot is killed


@pytest.mark.parametrize("nth", [0, 1, 2])
@pytest.mark.parametrize("done", [False, True], ids=["before it was made", "after it was made"])
def test_killed_in_the_middle_of_a_call_the_move_ends_right(house: House, nth: int, done: bool) -> None:
    house.say("bob", "request 1 restart now")
    house.lab.act = _Killed(house, nth, done)  # type: ignore[method-assign]
    for _ in range(20):
        house.clock.forward(seconds=30)
        house.rounds.round()
        house.settle()
        if house.lab.act.dead:  # type: ignore[attr-defined]
            break
    assert house.lab.act.dead  # type: ignore[attr-defined]
    call = house.books.moves[1].call
    assert call is not None and call.outcome is Outcome.ASKED, "the answer is lost for ever"
    house.lab.act = house.lab.act.real  # type: ignore[attr-defined, method-assign]
    house.restart("run-2")
    go(house)
    the_move_ended_well(house)


class _Killed:
    """The process ends in the n-th call: nothing more is recorded."""

    def __init__(self, house: House, nth: int, done: bool) -> None:
        self.real, self.house, self.nth, self.done = house.lab.act, house, nth, done
        self.seen, self.dead = 0, False

    def __call__(self, step: Any) -> Any:
        at, self.seen = self.seen, self.seen + 1
        if at != self.nth:
            return self.real(step)
        if self.done:
            self.real(step)
        self.dead = True

        def gone(*_: Any) -> None:
            raise _Dead

        self.house.rounds._performer._record = gone  # type: ignore[method-assign]
        return None


class _Dead(Exception):
    """The process is no more."""


def test_a_call_of_another_run_is_not_made(house: House) -> None:
    house.say("bob", "request 1 restart now")
    house.rounds._performer.start = lambda _: 0  # type: ignore[method-assign]
    go(house, 3)
    call = house.books.moves[1].call
    assert call is not None and call.run == "run-1"
    house.restart("run-2")
    assert house.rounds._performer.start(house.books) == 0


# ---- pause and levels


def test_paused_nothing_is_begun(house: House) -> None:
    house.say("bob", "request 1 restart now")
    assert "paused" in text_of(house.say("dana", "pause because patching")).lower()
    go(house, 20)
    assert house.lab.calls == []
    assert house.say("dana", "resume").ok
    house.say("bob", "window now")
    go(house)
    the_move_ended_well(house)


def test_paused_a_written_call_is_not_made_and_a_machine_that_is_off_waits_for_resume(house: House) -> None:
    house.say("bob", "request 1 restart now")
    while house.lab.vms[uuid("vm-r")].power is Power.ON:
        go(house, 0.5)
    done = len(house.lab.calls)
    house.say("dana", "pause because patching")
    go(house, 20)
    assert len(house.lab.calls) == done
    assert house.lab.vms[uuid("vm-r")].power is Power.OFF
    house.say("dana", "resume")
    go(house, 10)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON


@pytest.mark.parametrize("level", ["watch", "hands"])
def test_only_the_level_act_acts(tmp_path: Path, level: str) -> None:
    house = House(tmp_path, Policy(level=level))
    try:
        house.furnish()
        house.say("bob", "request 1 restart now")
        go(house, 20)
        assert house.lab.calls == []
    finally:
        house.close()


def test_a_shutdown_is_not_made_after_its_window(house: House) -> None:
    """The call was written in time, and the worker came late."""
    house.say("bob", "request 1 restart now")
    start = house.rounds._performer.start
    house.rounds._performer.start = lambda _: 0  # type: ignore[method-assign]
    while house.books.moves.get(1) is None or house.books.moves[1].state is MoveState.PLANNED:
        go(house, 0.5)
    assert house.books.moves[1].state is MoveState.STOPPING
    house.clock.forward(hours=3)
    assert start(house.books) == 1
    house.settle()
    assert house.lab.calls == []
    call = house.books.moves[1].call
    assert call is not None and call.outcome is Outcome.UNMADE and "window" in call.reason


# ---- what cannot be seen


def test_without_a_look_time_goes_on_and_nothing_is_granted(house: House) -> None:
    house.say("bob", "request 1 restart now")
    kept = house.store.last_look()
    house.lab.away = True
    go(house, 10)
    assert house.books.leases == {}
    assert house.lab.calls == []
    assert house.store.last_look() == kept, "the last good look stays"
    house.lab.away = False
    go(house, 60)
    assert house.lab.calls, "and goes on when vCenter is back"


def test_a_vcenter_that_is_away_is_told_to_the_admins_once(house: House) -> None:
    house.lab.away = True
    go(house, 4)
    assert not any("does not answer" in text for text in house.voice.said_to("U4DANA"))
    go(house, 30)
    assert len([text for text in house.voice.said_to("U4DANA") if "does not answer" in text]) == 1
    house.lab.away = False
    go(house, 2)
    house.lab.away = True
    go(house, 30)
    assert len([text for text in house.voice.said_to("U4DANA") if "does not answer" in text]) == 2, "a new absence"


def test_a_look_that_breaks_stops_no_other_chore(house: House, caplog: pytest.LogCaptureFixture) -> None:
    def breaks() -> None:
        raise RuntimeError("pyVmomi says no")

    house.lab.look = breaks  # type: ignore[method-assign,assignment]
    house.say("dana", "drain T4-1 because loud")
    with caplog.at_level(logging.ERROR):
        house.round()
    assert "pyVmomi says no" in caplog.text
    assert any("T4-1" in text for text in house.voice.said_to(CHANNEL)), "the board is told"


def test_a_decision_that_breaks_is_rolled_back_logged_and_tried_again(
    house: House, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bot.service.rounds as module

    def breaks(draft: Any, *_: Any) -> None:
        draft.log("bot", "half", "done")
        raise RuntimeError("a rule is wrong")

    house.say("bob", "request 1 restart now")
    before = house.books
    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(module, "decide", breaks)
        at = house.clock.now()
        house.round()
        assert not house.rounds.ready(at)
    assert "a rule is wrong" in caplog.text
    assert house.books == before
    go(house)
    the_move_ended_well(house)


# ---- dry runs


def test_blockers_are_told_before_the_window(house: House) -> None:
    house.lab.blockers = ["esx-01 has only 41 GB of memory free"]
    house.say("bob", "request 1 restart tonight")
    go(house, 2)
    assert any("41 GB" in text for text in house.voice.said_to("U2BOB"))
    assert house.lab.calls == []
    house.lab.blockers = []
    go(house, 60 * 15, 10)
    assert CallKind.SHUTDOWN in kinds(house), "once it is mended the window is used"


def test_a_dry_run_that_fails_stops_nothing(house: House, caplog: pytest.LogCaptureFixture) -> None:
    def breaks(_: Any) -> list[str]:
        raise RuntimeError("no such method")

    house.lab.dry_run = breaks  # type: ignore[method-assign]
    house.say("bob", "request 1 restart now")
    with caplog.at_level(logging.ERROR):
        go(house)
    assert "the dry run of m1 failed" in caplog.text
    the_move_ended_well(house)


def test_a_far_window_is_not_tried_dry_in_every_round(house: House) -> None:
    house.say("bob", "request 1 restart tonight")
    house.round(3)
    before = house.lab.dry_runs
    go(house, 5, 0.25)
    assert house.lab.dry_runs - before <= 1


def test_a_vcenter_that_does_not_answer_is_not_asked_for_a_dry_run(house: House) -> None:
    """It would only be waited for, and the round with it."""
    house.say("bob", "request 1 restart tonight")
    house.round(3)
    before = house.lab.dry_runs
    house.lab.away = True
    go(house, 60, 10)
    assert house.lab.dry_runs == before


# ---- threads and readiness


def test_a_slow_call_holds_up_neither_rounds_nor_people(house: House) -> None:
    house.lab.gate = threading.Event()
    house.say("bob", "request 1 restart now")
    house.say("carol", "request 1 restart now")
    for _ in range(4):
        house.clock.forward(seconds=30)
        house.rounds.round()
    assert house.rounds._performer.busy()
    assert not house.rounds.ready(house.clock.now() - timedelta(hours=1))
    assert house.say("ada", "").ok
    house.rounds.round()
    asked = [call.machine for call in house.lab.calls]
    assert sorted(asked) == sorted({uuid("vm-r"), uuid("vm-train")}), "one call a machine, machines side by side"
    house.lab.gate.set()
    go(house)
    assert house.lab.vms[uuid("vm-r")].cards and house.lab.vms[uuid("vm-train")].cards


def test_ready_wants_a_good_round_an_empty_outbox_and_no_call(house: House) -> None:
    at = house.clock.now()
    assert "round" in house.rounds.unready(at)
    house.rounds.round()
    assert house.rounds.unready(at) in ("", "messages wait in the outbox")
    house.rounds.tell()
    house.rounds.tell()
    assert house.rounds.ready(at)
    later = at + timedelta(minutes=4)
    assert not house.rounds.ready(later), "the clock was moved: a round must see it"
    house.clock.forward(minutes=4)
    house.round()
    house.rounds.tell()
    assert house.rounds.ready(later)
    house.rounds.poke()
    assert "happened" in house.rounds.unready(later)


def test_an_outcome_wakes_a_round(house: House) -> None:
    house.say("bob", "request 1 restart now")
    go(house, 1)
    house.wakes = 0
    go(house, 0.5)
    assert house.lab.calls
    assert house.wakes == len(house.lab.calls)


def test_rounds_are_closer_while_a_move_is_open(house: House) -> None:
    assert house.rounds.round() == timedelta(seconds=15)
    house.say("bob", "request 1 restart now")
    house.rounds.round()
    house.clock.forward(seconds=70)
    assert house.rounds.round() == timedelta(seconds=2)
    assert house.rounds.every() == 2.0
    house.settle()


def test_a_bot_that_lost_its_claim_does_nothing(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.say("bob", "request 1 restart now")
    house.rounds._claim = lambda: False
    with caplog.at_level(logging.ERROR):
        go(house, 10)
    assert house.lab.calls == [] and house.books.leases == {}
    assert "another bot" in caplog.text


def test_a_clock_that_jumps_is_told_and_nothing_is_switched_off_in_that_round(house: House) -> None:
    jumps = [0.0, 20 * 60.0]
    house.rounds._jump = lambda: jumps.pop(0) if jumps else 0.0
    house.round()
    house.say("bob", "request 1 restart now")
    house.clock.at += timedelta(minutes=20)
    house.round()
    house.rounds.tell()
    assert any("jumped" in text for text in house.voice.said_to("U4DANA"))
    assert house.books.leases == {}
    go(house)
    assert house.books.leases
