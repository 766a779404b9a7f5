"""What stands in the way of a restart: told when a time is agreed, all at once, once, with who can mend it, and edited when it is gone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain import blockers, moves, pool
from bot.domain.blockers import Mender, mender
from bot.domain.model import LeaseState, MoveState, Power
from bot.domain.news import ADMINS, NewsKind
from tests.domain.world import World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)
MEMORY = "vm-r needs its 64 GB of memory reserved, and esx-01 has 12 GB left for that"
TOOLS = "VMware Tools do not run in vm-r, so it cannot be asked to shut down"


def blocked(*found: str, window: str = "tonight") -> World:
    """Bob agreed to a time, and the dry run of his restart finds things."""
    world = World()
    world.dry_runs = {1: found}
    world.request("bob", "vm-r", 1, window)
    world.round()
    return world


def test_all_is_told_at_once_to_owner_and_admins_as_soon_as_a_time_is_agreed() -> None:
    world = blocked(MEMORY, TOOLS)
    world.vms["vm-r"].question = "was it moved or copied?"
    world.pass_time(30 * timedelta(seconds=1))
    (bob,), (admins,) = world.told(NewsKind.BLOCKED, "bob")[-1:], world.told(NewsKind.BLOCKED, ADMINS)[-1:]
    assert bob.move is not None and admins.move is not None
    assert len(bob.move.blockers) == 3 and bob.move.blockers == admins.move.blockers
    assert world.now - world.books.moves[1].opened < MIN, "twelve hours before the window"


def test_each_is_told_once_whatever_is_seen_afterwards() -> None:
    world = blocked(MEMORY)
    world.pass_time(HOUR, MIN)
    assert len(world.told(NewsKind.BLOCKED, "bob")) == 1


def test_what_is_gone_is_said_by_an_edit_and_what_comes_again_edits_the_same_message() -> None:
    world = blocked(MEMORY)
    world.dry_runs = {}
    world.round()
    (gone,) = world.told(NewsKind.UNBLOCKED, "bob")
    assert gone.key == world.told(NewsKind.BLOCKED, "bob")[0].key and gone.key
    world.dry_runs = {1: (MEMORY,)}
    world.pass_time(3 * MIN)
    told = world.told(NewsKind.BLOCKED, "bob")
    assert len(told) == 2 and {n.key for n in told} == {gone.key}


def test_a_new_one_is_a_new_message_with_all_of_them_and_the_old_one_points_to_it() -> None:
    world = blocked(MEMORY)
    world.now += MIN
    world.dry_runs = {1: (MEMORY, TOOLS)}
    world.round()
    first, second = world.told(NewsKind.BLOCKED, "bob")
    assert first.key != second.key and second.move is not None and second.move.blockers == (MEMORY, TOOLS)
    (over,) = world.told(NewsKind.UNBLOCKED, "bob")
    assert over.key == first.key and over.reason


def test_one_of_two_that_is_gone_edits_the_message() -> None:
    world = blocked(MEMORY, TOOLS)
    world.dry_runs = {1: (TOOLS,)}
    world.round()
    first, second = world.told(NewsKind.BLOCKED, "bob")
    assert first.key == second.key and second.move is not None and second.move.blockers == (TOOLS,)


def test_the_message_is_over_with_the_restart() -> None:
    world = blocked(MEMORY)
    world.release("bob", "1")
    world.round()
    assert world.books.moves[1].state is MoveState.DROPPED and len(world.told(NewsKind.UNBLOCKED, "bob")) == 1


def test_told_while_the_card_is_still_in_another_machine() -> None:
    """Not only when it comes: until then the owner can mend it."""
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.release("ada", lease.label, None, "tonight")
    world.request("bob", "vm-r", 1, "tonight")
    world.round()
    (number,) = (m.number for m in world.books.moves.values() if m.machine == "uuid-vm-r")
    world.dry_runs = {number: (MEMORY,)}
    world.round()
    assert [n.reason for n in world.told(NewsKind.BLOCKED, "bob")] == [MEMORY]
    assert world.lease(2).state is LeaseState.RESERVED


def test_without_a_time_nobody_is_told_of_what_may_be_gone_by_then() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.release("ada", lease.label)
    world.round()
    world.vms["vm-python"].question = "is the disk full?"
    world.request("bob", "vm-r", 4, "ask")
    world.pass_time(5 * MIN)
    assert len(world.told(NewsKind.BLOCKED, "ada")) == 1, "what only a person changes is told, for it can come out now"


def test_other_owners_hear_it_too() -> None:
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    world.dry_runs = {1: (MEMORY,)}
    world.request("bob", "vm-r", 1, "tonight")
    world.round()
    assert {n.to for n in world.told(NewsKind.BLOCKED)} == {"bob", "carol", ADMINS}


@pytest.mark.parametrize(
    ("why", "who"),
    [
        ("vm-r is suspended: resume it and shut it down, or start it", Mender.OWNER),
        ("vCenter waits for an answer about vm-r: moved or copied?", Mender.OWNER),
        (TOOLS, Mender.OWNER),
        ("a task runs on vm-r: create a snapshot", Mender.OWNER),
        ("vm-r is busy with another task", Mender.NOBODY),
        (MEMORY, Mender.ADMIN),
        ("host esx-01 is in maintenance", Mender.ADMIN),
        ("host esx-01 is not connected to vCenter", Mender.ADMIN),
        ("passthrough of card 0000:3b:00.0 is not active on esx-01", Mender.ADMIN),
        ("the hardware version of vm-r is vmx-11; upgrade it to vmx-13 or newer", Mender.ADMIN),
        ("vm-r boots with BIOS, and a card of this size needs EFI", Mender.ADMIN),
        ("vm-r is a template now", Mender.ADMIN),
    ],
)
def test_who_can_mend_it(why: str, who: Mender) -> None:
    assert mender(why) is who


# ---- postponed


def test_a_restart_held_up_past_its_time_is_postponed_and_its_owners_hear_the_next() -> None:
    world = blocked(MEMORY, window="any time today")
    world.agree("bob", "vm-r", "tomorrow 12:00-14:00")
    world.pass_time(14 * HOUR - 16 * MIN, 2 * MIN)
    assert not world.told(NewsKind.WINDOW_UNUSED)
    world.pass_time(4 * MIN, MIN)
    (told,) = world.told(NewsKind.WINDOW_UNUSED, "bob")
    assert told.until is not None and told.until.day == 1 and MEMORY in told.reason and "usually takes" in told.reason


def test_a_machine_that_got_slower_is_told_at_once_that_the_time_does_not_hold_its_restart() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.release("ada", lease.label, None, "at 18:00")
    world.round()
    machine = world.books.machines["uuid-vm-python"]
    from dataclasses import replace

    world.do(lambda d: d.put(replace(machine, durations_s=(4000,))))
    world.round()
    assert any("too little" in n.reason for n in world.told(NewsKind.ASK_WINDOW, "ada"))
    world.pass_time(9 * HOUR, 5 * MIN)
    assert "shutdown" not in world.acts("vm-python")


def test_what_goes_by_itself_is_waited_for_a_minute_though_a_time_was_just_agreed() -> None:
    world = blocked("vm-r is busy: a backup runs on it")
    assert not world.told(NewsKind.BLOCKED)
    world.pass_time(2 * MIN)
    assert len(world.told(NewsKind.BLOCKED, "bob")) == 1


def test_what_a_look_and_a_dry_run_find_is_told_once() -> None:
    seen = ["vm-r is suspended: resume it and shut it down, or start it"]
    tried = ["vm-r is suspended; resume it, or shut it down by hand", "host esx-01 is in maintenance"]
    assert blockers.together(seen, tried) == (seen[0], tried[1])
    assert blockers.together([], tried) == tuple(tried)


def test_suspended_after_its_start_was_asked_its_owner_hears_what_is_in_the_way() -> None:
    world = World()
    world.switch("vm-r", Power.OFF)
    world.pass_time(MIN)
    world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "bob"))
    world.switch("vm-r", Power.SUSPENDED)
    world.pass_time(2 * MIN)
    (told,) = world.told(NewsKind.BLOCKED, "bob")
    assert "suspended" in told.reason and told.move is not None and not told.move.wishes
