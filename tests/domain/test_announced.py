"""Restarts that were announced: when their ground is gone, whoever has the announcement before their eyes reads what holds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain import leases, moves, queue, windows
from bot.domain.model import AgreementState, Job, LeaseState, Move, MoveState, Outcome, Power
from bot.domain.news import ADMINS, CHANNEL, NewsKind
from tests.domain.world import World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)
R = "uuid-vm-r"


def announced(window: str = "now") -> World:
    """bob's card is to come out of vm-r, and the restart is announced."""
    world = World()
    world.give("vm-r", ("T4-1",))
    world.release("bob", "1", window=window)
    world.until(lambda: bool(world.books.moves) and world.move("vm-r").announced is not None, timedelta(hours=14), MIN)
    return world


def over(world: World, to: str = "bob") -> list[str]:
    """The reasons with which the announcement of the restart was edited."""
    key = world.told(NewsKind.LAST_CALL, to)[-1].key
    return [n.reason for n in world.told(NewsKind.ANNOUNCED_OVER, to) if n.key == key]


# ---- the last call


def test_kept_the_last_call_is_edited_and_nothing_restarts() -> None:
    world = announced("tonight")
    world.do(lambda d: leases.keep(d, d.leases["1"], "bob"))
    world.round()
    assert len(over(world)) == 1
    world.pass_time(12 * HOUR, MIN)
    assert "shutdown" not in world.acts("vm-r") and len(over(world)) == 1


def test_after_a_not_now_the_last_call_is_edited_and_taken_back_it_is_made_anew() -> None:
    world = announced()
    world.do(lambda d: moves.not_now(d, d.machines[R], "bob", world.policy))
    world.round()
    assert over(world) == ["not now was said"] and world.move("vm-r").announced is None
    world.do(lambda d: windows.take_back_not_now(d, d.machines[R], "bob"))
    calls = len(world.told(NewsKind.LAST_CALL))
    world.until(lambda: "shutdown" in world.acts("vm-r"), 10 * MIN)
    assert len(world.told(NewsKind.LAST_CALL)) == calls + 1, "never without a last call"


@pytest.mark.parametrize("anew", ["any time today", "any time today hard", "now"])
@pytest.mark.parametrize("later", [MIN, HOUR])
def test_what_was_agreed_anew_since_a_not_now_is_put_off_by_the_next_whatever_its_times_are(
    anew: str, later: timedelta
) -> None:
    world = announced("any time today")
    number = world.move("vm-r").number
    world.say_no("vm-r", "bob", stop=True)
    world.now += later
    world.agree("bob", "vm-r", anew, "1")
    world.now += timedelta(seconds=1)
    world.say_no("vm-r", "bob", stop=True)  # it has to put that off: see there
    world.pass_time(2 * HOUR, MIN)
    assert "shutdown" not in world.acts("vm-r") and world.books.moves[number].shutdown_at is None


def test_taken_back_the_last_call_is_edited() -> None:
    world = announced()
    (agreement,) = [a for a in world.books.agreements.values() if a.state is AgreementState.OPEN]
    world.do(lambda d: windows.withdraw(d, d.agreements[agreement.number], "bob"))
    world.round()
    assert len(over(world)) == 1


def test_when_the_restart_begins_the_last_call_has_nothing_to_press_any_more() -> None:
    world = announced()
    assert over(world) == []
    world.until(lambda: world.move("vm-r").state is MoveState.STOPPING, 5 * MIN)
    assert len(over(world)) == 1
    world.until(lambda: world.move("vm-r").state is MoveState.DONE, 30 * MIN)
    assert len(over(world)) == 2, "and how it ended, once"


def test_the_edit_survives_a_bot_that_was_killed() -> None:
    world = announced()
    world.do(lambda d: moves.not_now(d, d.machines[R], "bob", world.policy))
    world.run += "'"
    world.now += 3 * HOUR
    world.round()
    assert len(over(world)) == 1


def test_whoever_runs_a_job_there_is_told_and_told_when_it_does_not_restart() -> None:
    world = World()
    world.give("vm-r", ("T4-1",))
    job = Job("carol", "python train.py", world.now, True)
    world.vms["vm-r"].jobs = (job,)
    world.release("bob", "1", window="now")
    world.until(lambda: world.told(NewsKind.LAST_CALL), 5 * MIN)
    (told,) = world.told(NewsKind.LAST_CALL, "carol")
    assert told.inside is not None and told.inside.jobs == (job,)
    assert len(world.told(NewsKind.LAST_CALL, "bob")) == 1 and not world.told(NewsKind.LAST_CALL, "ada")
    world.do(lambda d: moves.not_now(d, d.machines[R], "bob", world.policy))
    world.round()
    assert over(world, "carol") == ["not now was said"]


# ---- "not now" as the shutdown is asked


def stopping(*, made: bool) -> World:
    """The shutdown of vm-r is written down; made, or not yet."""
    world = announced()
    perform = world.perform
    world.perform = perform if made else (lambda: None)  # type: ignore[method-assign]
    while world.move("vm-r").state is MoveState.PLANNED:
        world.now += timedelta(seconds=15)
        world.round()
    world.perform = perform  # type: ignore[method-assign]
    return world


@pytest.mark.parametrize("how", ["notnow", "stop"])
@pytest.mark.parametrize("made", [True, False])
def test_said_once_the_shutdown_is_written_the_way_back_begins_in_that_transaction(how: str, made: bool) -> None:
    world = stopping(made=made)
    move = world.move("vm-r")
    assert move.state is MoveState.STOPPING and move.call is not None
    assert (move.call.outcome is Outcome.DONE) == made
    if how == "notnow":
        said = world.do(lambda d: moves.not_now(d, d.machines[R], "bob", world.policy))
    else:
        said = world.do(lambda d: moves.stop(d, d.moves[move.number], "bob", world.policy))
    assert isinstance(said, Move) and said.state is MoveState.UNDOING and said.undo
    if not made:  # as the performer finds it
        why = "the way back has begun"
        world.do(lambda d: moves.outcome(d, move.number, said.calls, Outcome.UNMADE, why))
    world.until(lambda: world.books.moves[1].state in (MoveState.DONE, MoveState.DROPPED), 15 * MIN)
    assert world.vms["vm-r"].power is Power.ON and "change" not in world.acts("vm-r")
    assert ("shutdown" in world.acts("vm-r")) == made
    assert "before the machine was off" not in world.books.moves[1].reason


# ---- how often "not now" was said


def returning(waits: bool) -> World:
    """bob's cards are to come out tonight; carol waits for all of them, or nobody does."""
    world = World()
    world.give("vm-r", ("T4-1", "T4-2", "T4-3", "T4-4"))
    if waits:
        world.request("carol", "vm-train", 4)
    world.release("bob", "1", window="tonight")
    world.round()
    return world


def not_now(world: World) -> None:
    world.do(lambda d: moves.not_now(d, d.machines[R], "bob", world.policy))


def test_a_not_now_while_nobody_waits_does_not_count() -> None:
    world = returning(waits=False)
    not_now(world)
    world.agree("bob", "vm-r", "tonight", "1")
    not_now(world)
    world.request("carol", "vm-train", 4)
    world.pass_time(5 * MIN)
    assert world.lease(1).not_nows == 0 and not world.told(NewsKind.FIRM_WINDOW)


def test_a_not_now_while_only_its_own_holder_waits_does_not_count() -> None:
    world = returning(waits=False)
    world.request("bob", "vm-r", 4)
    not_now(world)
    assert world.lease(1).not_nows == 0


def test_a_not_now_that_is_taken_back_does_not_count() -> None:
    world = returning(waits=True)
    not_now(world)
    assert world.lease(1).not_nows == 1
    world.do(lambda d: windows.take_back_not_now(d, d.machines[R], "bob"))
    assert world.lease(1).not_nows == 0
    not_now(world)
    world.pass_time(MIN)
    assert world.lease(1).not_nows == 1 and not world.told(NewsKind.FIRM_WINDOW)


def test_said_twice_while_others_wait_the_one_reason_is_named() -> None:
    world = returning(waits=True)
    not_now(world)
    world.agree("bob", "vm-r", "tonight", "1")
    not_now(world)
    world.pass_time(MIN)
    told = world.told(NewsKind.FIRM_WINDOW)
    assert {n.to for n in told} == {"bob", ADMINS, CHANNEL}
    assert {n.reason for n in told} == {'others wait, and "not now" was said twice'}


# ---- a night by the terms


def test_a_night_by_the_terms_that_nothing_needs_any_more_is_taken_back_in_public() -> None:
    world = World()
    world.give("vm-r", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.request("carol", "vm-train", 1)
    world.release("bob", "1")
    asked = next(iter(world.books.requests))
    world.pass_time(25 * HOUR, 5 * MIN)
    told = world.told(NewsKind.FIRM_WINDOW)
    assert {n.reason for n in told} == {"others wait, and it should have come out 24 hours ago"}
    request = world.req(max(world.books.requests, default=asked))
    world.do(lambda d: queue.withdraw(d, d.requests[request.number], "carol") if request.number in d.requests else None)
    for lease in [x for x in world.books.leases.values() if x.person == "carol" and x.state is LeaseState.RESERVED]:
        world.do(lambda d, x=lease: leases.release(d, d.leases[x.label], None, "carol"))
    world.do(lambda d: leases.keep(d, d.leases["1"], "bob"))
    world.round()
    edited = world.told(NewsKind.ANNOUNCED_OVER)
    assert {(n.to, n.key) for n in edited} == {(n.to, n.key) for n in told}
    world.pass_time(20 * HOUR, 5 * MIN)
    assert "shutdown" not in world.acts("vm-r")


# ---- when nothing runs


def test_a_key_that_is_pressed_after_the_last_call_puts_when_done_off() -> None:
    world = World()
    world.give("vm-r", ("T4-1",))
    world.release("bob", "1", window="when done")
    world.until(lambda: world.told(NewsKind.LAST_CALL), 5 * MIN)
    world.vms["vm-r"].free_since = world.now
    world.pass_time(9 * MIN)
    assert "shutdown" not in world.acts("vm-r") and over(world)
    world.pass_time(13 * MIN)
    assert "shutdown" in world.acts("vm-r")


def test_the_last_call_says_in_the_end_how_the_restart_ended() -> None:
    world = announced()
    world.until(lambda: world.move("vm-r").state is MoveState.DONE, HOUR)
    world.round()
    key = world.told(NewsKind.LAST_CALL, "bob")[-1].key
    edits = [n.move for n in world.told(NewsKind.ANNOUNCED_OVER, "bob") if n.key == key]
    assert [m.state for m in edits if m] == [MoveState.STOPPING, MoveState.DONE], "as it begins, and when it is over"
    assert not world.move("vm-r").began_for
    world.pass_time(HOUR)
    assert len(over(world)) == 2, "once"
