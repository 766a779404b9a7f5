"""The awkward cases of the lifecycles, each by its number, played through ``decide`` in a world in memory.

1 accepted while the card breaks … 30 the clock jumps. What each may end in is said in its docstring.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain import leases, moves, planner, pool, windows
from bot.domain.errors import NotPossible, Promised, TooLate
from bot.domain.leases import acts
from bot.domain.model import (
    AsideWhy,
    CallKind,
    Job,
    LeaseState,
    Length,
    MoveState,
    Power,
    RequestState,
    RestWhy,
)
from bot.domain.news import NewsKind
from bot.domain.pool import set_aside
from tests.domain.world import MONDAY_10, World

MIN, HOUR = timedelta(minutes=1), timedelta(hours=1)


def state(world: World, label: str | int) -> LeaseState:
    return world.lease(label).state


def in_state(world: World, vm: str, *states: MoveState) -> bool:
    found = [m for m in world.books.moves.values() if m.machine == f"uuid-{vm}"]
    return bool(found) and world.move(vm).state in states


def quarantine(world: World, slot: str) -> None:
    world.do(lambda d: set_aside(d, d.cards[slot], AsideWhy.QUARANTINED, "fails its self-test"))


def all_on(world: World) -> bool:
    return all(v.power is Power.ON for v in world.vms.values())


def test_01_accepted_while_the_card_breaks_takes_an_equal_one() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="ask").number
    world.round()
    (slot,) = [h.slot for h in world.books.holds]
    quarantine(world, slot)
    lease = world.accept("bob", number, "now")
    assert world.req(number).state is RequestState.LEASED
    assert slot not in lease.slots and world.card(lease.slots[0]).aside is None


def test_01_accepted_while_the_card_breaks_and_none_is_equal() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"))
    number = world.request("bob", "vm-r", window="ask").number
    world.round()
    quarantine(world, "T4-4")
    world.accept("bob", number, "now")
    assert world.req(number).state is RequestState.QUEUED
    assert world.req(number).rest is None and not world.books.holds & {h for h in world.books.holds if h.slot == "T4-4"}
    assert all_on(world) and "shutdown" not in world.acts("vm-r")


def test_02_released_between_shutdown_and_change_comes_on_unchanged() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = timedelta(minutes=2)
    number = world.request("bob", "vm-r", window="now").number
    world.until(lambda: in_state(world, "vm-r", MoveState.STOPPING), 5 * MIN)
    assert world.release("bob", str(number)).state is LeaseState.ENDED
    world.until(lambda: first_is_over(world), 10 * MIN)
    assert world.vms["vm-r"].power is Power.ON and not world.vms["vm-r"].cards
    assert "change" not in world.acts("vm-r") and world.req(number).state is RequestState.WITHDRAWN
    assert not world.books.holds


def first_is_over(world: World) -> bool:
    return 1 in world.books.moves and world.books.moves[1].state in (MoveState.DONE, MoveState.DROPPED)


def test_02_released_after_the_change_comes_off_in_the_same_cycle() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="now").number
    world.again[("vm-r", CallKind.POWER_ON)] = 0
    world.until(lambda: "change" in world.acts("vm-r"), 5 * MIN)
    assert in_state(world, "vm-r", MoveState.CHANGING)
    assert world.release("bob", str(number)).state is LeaseState.RETURNING
    world.until(lambda: state(world, number) is LeaseState.ENDED, 10 * MIN)
    world.until(lambda: first_is_over(world), 10 * MIN)
    assert world.acts("vm-r").count("shutdown") == 1 and world.acts("vm-r").count("on") == 1
    assert not world.vms["vm-r"].cards and all_on(world)


def test_03_agreement_withdrawn_after_the_guest_began_to_stop() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = timedelta(minutes=3)
    number = world.request("bob", "vm-r", window="now").number
    world.until(lambda: in_state(world, "vm-r", MoveState.STOPPING), 5 * MIN)
    world.do(lambda d: moves.stop(d, d.moves[world.move("vm-r").number], "bob", world.policy))
    world.until(lambda: "off" in world.acts("vm-r"), 10 * MIN)
    world.until(lambda: world.books.moves[1].state is MoveState.DONE, 10 * MIN)
    assert world.vms["vm-r"].power is Power.ON and "change" not in world.acts("vm-r")
    assert world.books.moves[1].undo and state(world, number) is LeaseState.RESERVED
    world.pass_time(2 * HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1, "no second shutdown without a new word"


def test_04_machine_goes_off_by_itself_removal_pending() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.release("ada", lease.label)
    world.pass_time(5 * MIN)
    assert "shutdown" not in world.acts("vm-python"), "a bare release agrees to no restart"
    world.switch("vm-python", Power.OFF)
    world.until(lambda: state(world, lease.label) is LeaseState.ENDED, 5 * MIN)
    world.pass_time(30 * MIN)
    assert world.vms["vm-python"].power is Power.OFF and not world.vms["vm-python"].cards


def test_04_without_a_release_an_off_machine_is_not_touched() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.request("bob", "vm-r", 4, "now")
    world.switch("vm-python", Power.OFF)
    world.pass_time(HOUR, MIN)
    assert state(world, lease.label) is LeaseState.ACTIVE and world.vms["vm-python"].cards == {world.card("T4-1").pci}


def test_05_machine_goes_off_by_itself_and_gets_its_reserved_card() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="tonight").number
    world.round()
    assert state(world, number) is LeaseState.RESERVED
    world.switch("vm-r", Power.OFF)
    world.until(lambda: in_state(world, "vm-r", MoveState.DONE), 5 * MIN)
    assert world.vms["vm-r"].cards and world.vms["vm-r"].power is Power.OFF
    assert state(world, number) is LeaseState.MOVING
    world.pass_time(5 * MIN)
    assert world.told(NewsKind.WAITS_POWER_ON, "bob")
    world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "bob"))
    world.until(lambda: state(world, number) is LeaseState.ACTIVE, 10 * MIN)
    assert world.vms["vm-r"].power is Power.ON


def test_05_a_start_refused_because_of_the_card_takes_it_off_again() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="tonight").number
    world.round()
    world.switch("vm-r", Power.OFF)
    world.until(lambda: in_state(world, "vm-r", MoveState.DONE), 5 * MIN)
    slot = world.lease(number).slots[0]
    world.refuse[("vm-r", CallKind.POWER_ON)] = ("the card does not answer", world.card(slot).pci)
    world.do(lambda d: moves.start(d, d.machines["uuid-vm-r"], "bob"))
    world.until(lambda: not world.vms["vm-r"].cards, 10 * MIN)
    del world.refuse[("vm-r", CallKind.POWER_ON)]
    world.until(lambda: world.vms["vm-r"].power is Power.ON, 10 * MIN)
    assert world.card(slot).aside is not None
    world.pass_time(5 * MIN)
    lease = world.lease(number)
    assert lease.state is LeaseState.RESERVED and slot not in lease.slots


def test_06_user_powers_on_while_we_change_theirs_wins() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="any time today").number
    world.again[("vm-r", CallKind.CHANGE)] = 5
    world.until(lambda: in_state(world, "vm-r", MoveState.CHANGING), 20 * MIN)
    world.switch("vm-r", Power.ON)
    world.round()
    world.until(lambda: state(world, number) is LeaseState.RESERVED, 5 * MIN)
    assert world.books.moves[1].state is MoveState.DROPPED
    world.pass_time(2 * HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1, "no second shutdown in this window"


def test_06_user_powers_on_while_we_change_ours_wins() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="any time today").number
    world.until(lambda: world.vms["vm-r"].cards, 20 * MIN)
    world.switch("vm-r", Power.ON)
    world.until(lambda: state(world, number) is LeaseState.ACTIVE, 10 * MIN)
    assert world.acts("vm-r").count("power_on") <= 1


def test_07_user_powers_on_after_our_shutdown() -> None:
    world = World()
    number = world.request("bob", "vm-r", window="any time today").number
    world.until(lambda: in_state(world, "vm-r", MoveState.STOPPING), 20 * MIN)
    world.looking = False
    world.pass_time(MIN)
    world.now += timedelta(seconds=5)
    world.switch("vm-r", Power.ON) if world.vms["vm-r"].power is Power.OFF else None
    world.looking = True
    world.run += "-restarted"
    world.pass_time(3 * HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1
    assert world.books.moves[1].state is MoveState.DROPPED and state(world, number) is LeaseState.RESERVED
    assert world.vms["vm-r"].power is Power.ON


def test_08_guest_goes_off_late_but_within_two_hours_is_started_again() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = HOUR
    number = world.request("bob", "vm-r", window="any time today").number
    world.until(lambda: in_state(world, "vm-r", MoveState.UNDOING), 30 * MIN)
    assert world.told(NewsKind.GUEST_HANGS, "bob")
    world.until(lambda: "off" in world.acts("vm-r"), 2 * HOUR)
    world.until(lambda: first_is_over(world), 5 * MIN)
    assert world.vms["vm-r"].power is Power.ON
    assert not world.vms["vm-r"].cards and state(world, number) in (LeaseState.MOVING, LeaseState.RESERVED)


def test_08_guest_that_goes_off_later_is_the_owners_own() -> None:
    world = World()
    world.vms["vm-r"].stop_takes = 3 * HOUR
    number = world.request("bob", "vm-r", window="any time today").number
    world.until(lambda: first_is_over(world), 4 * HOUR, MIN)
    assert world.books.moves[1].state is MoveState.DROPPED and world.vms["vm-r"].power is Power.ON
    world.round()
    assert state(world, number) is LeaseState.RESERVED
    world.do(lambda d: leases.release(d, d.leases[str(number)], None, "bob"))
    world.until(lambda: world.vms["vm-r"].power is Power.OFF, 2 * HOUR, MIN)
    world.pass_time(HOUR, MIN)
    assert world.vms["vm-r"].power is Power.OFF


def test_09_owner_and_other_owner_disagree_the_not_now_stands() -> None:
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    number = world.request("bob", "vm-r", window="any time today").number
    world.until(lambda: 1 in world.books.moves and world.books.moves[1].last_call, 5 * MIN)
    world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-r"], "carol", world.policy))
    world.pass_time(3 * HOUR, MIN)
    assert "shutdown" not in world.acts("vm-r") and state(world, number) is LeaseState.RESERVED
    told = world.told(NewsKind.NOT_NOW, "bob")
    assert told and told[0].who == "carol"


@pytest.mark.parametrize("kind", [CallKind.CHANGE, CallKind.POWER_ON])
def test_10_two_devices_one_fails_when_put_on_and_neither_stays(kind: CallKind) -> None:
    """Whether vCenter refuses the change or the start: both come off, the machine is on, the other card is not blamed."""
    world = World()
    number = world.request("bob", "vm-r", 2, "any time today").number
    world.until(lambda: str(number) in world.books.leases, MIN)
    bad, good = world.lease(number).slots
    world.refuse[("vm-r", kind)] = ("the card does not answer", world.card(bad).pci)
    world.until(lambda: world.card(bad).aside is not None, 30 * MIN)
    world.refuse.clear()
    world.until(lambda: first_is_over(world), 30 * MIN)
    assert world.vms["vm-r"].power is Power.ON and not world.vms["vm-r"].cards
    assert world.card(good).aside is None and world.card(bad).aside.why is AsideWhy.QUARANTINED
    world.pass_time(MIN)
    lease = world.lease(number)
    assert lease.state is LeaseState.RESERVED and bad not in lease.slots and len(lease.slots) == 2, "an equal one"
    assert world.told(NewsKind.UNDONE, "bob") and world.told(NewsKind.CARD_ASIDE, "admins")
    world.pass_time(2 * HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1, "not again in this window"


def test_10_two_devices_one_fails_when_put_on_and_no_equal_one_is_left() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2"))
    number = world.request("bob", "vm-r", 2, "any time today").number
    world.until(lambda: str(number) in world.books.leases, MIN)
    world.refuse[("vm-r", CallKind.CHANGE)] = ("the card does not answer", world.card("T4-3").pci)
    world.until(lambda: world.card("T4-3").aside is not None, 30 * MIN)
    world.refuse.clear()
    world.until(lambda: world.req(number).state is RequestState.QUEUED, 30 * MIN)
    assert not world.books.holds & {h for h in world.books.holds if h.label == str(number)}
    assert world.told(NewsKind.BACK_IN_LINE, "bob")


def test_10_two_devices_one_fails_later_and_the_rest_runs_on() -> None:
    """Its holder decides: what is left is kept, or given back."""
    world = World()
    number = world.request("bob", "vm-r", 2, "now").number
    world.until(lambda: str(number) in world.books.leases and state(world, number) is LeaseState.ACTIVE, 30 * MIN)
    lost, rest = world.lease(number).slots
    world.vms["vm-r"].cards.discard(world.card(lost).pci)
    world.pass_time(MIN)
    assert state(world, number) is LeaseState.ACTIVE and world.lease(number).slots == (rest,)
    assert state(world, f"{number}b") is LeaseState.FAILED and world.holders(lost) == {}
    assert world.told(NewsKind.FAILED, "bob") and world.told(NewsKind.FAILED, "admins")
    assert world.vms["vm-r"].power is Power.ON and world.acts("vm-r").count("shutdown") == 1
    assert world.release("bob", str(number)).state is LeaseState.RETURNING


def test_10_two_devices_one_breaks_later_and_stays_with_its_holder() -> None:
    world = World()
    number = world.request("bob", "vm-r", 2, "now").number
    world.until(lambda: str(number) in world.books.leases and state(world, number) is LeaseState.ACTIVE, 30 * MIN)
    world.vms["vm-r"].faults = ("xid 79",)
    world.pass_time(MIN)
    assert state(world, number) is LeaseState.ACTIVE and len(world.lease(number).slots) == 2
    assert world.told(NewsKind.CARD_BROKEN, "bob") and world.acts("vm-r").count("shutdown") == 1


def test_11_giver_and_receiver_are_one_machine() -> None:
    world = World()
    old = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-python"], ("ada", "bob"), "dana"))
    number = world.request("bob", "vm-python", 4).number
    world.release("ada", old.label)
    world.until(lambda: str(number) in world.books.leases and state(world, number) is LeaseState.ACTIVE, 10 * MIN)
    assert state(world, old.label) is LeaseState.ENDED
    assert "shutdown" not in world.acts("vm-python") and len(world.vms["vm-python"].cards) == 4


def test_11_part_given_part_received_is_one_power_cycle() -> None:
    world = World()
    quarantine(world, "T4-4")
    world.give("vm-train", ("T4-2",))
    old = world.give("vm-python", ("T4-1",))
    number = world.request("ada", "vm-python", 1, "any time today").number
    world.until(lambda: str(number) in world.books.leases, MIN)
    world.release("ada", old.label, None, "any time today")
    world.until(lambda: state(world, number) is LeaseState.ACTIVE, 40 * MIN)
    assert state(world, old.label) is LeaseState.ENDED
    assert world.acts("vm-python").count("shutdown") == 1
    assert world.vms["vm-python"].cards == {world.card("T4-3").pci}


def test_12_a_gives_to_b_and_b_to_a() -> None:
    world = World()
    quarantine(world, "T4-3")
    quarantine(world, "T4-4")
    a = world.give("vm-python", ("T4-1",))
    b = world.give("vm-r", ("T4-2",))
    for_a = world.request("ada", "vm-python-2", 1, "any time today").number
    for_b = world.request("bob", "vm-r", 1, "any time today").number
    world.release("bob", b.label, None, "any time today")
    world.release("ada", a.label, None, "any time today")
    both = (for_a, for_b)
    world.until(
        lambda: all(str(n) in world.books.leases and state(world, n) is LeaseState.ACTIVE for n in both), 2 * HOUR
    )
    world.pass_time(5 * MIN)
    assert all_on(world)
    on_machines = [c for v in world.vms.values() for c in v.cards]
    assert sorted(on_machines) == sorted({world.card("T4-1").pci, world.card("T4-2").pci})
    for vm in ("vm-python", "vm-r", "vm-python-2"):
        offs = [a.at for a in world.journal if a.vm == vm and a.what == "off"]
        ons = [a.at for a in world.journal if a.vm == vm and a.what == "on"]
        assert all(on - off < 5 * MIN for off, on in zip(offs, ons, strict=True)), "no machine is off while it waits"


def test_13_keep_while_returning() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.release("ada", lease.label)
    world.round()
    assert world.do(lambda d: leases.keep(d, d.leases[lease.label], "ada")).state is LeaseState.ACTIVE


def test_13_keep_is_refused_when_somebody_was_promised_it() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    number = world.request("bob", "vm-r", window="tonight").number
    world.release("ada", lease.label, ("T4-1",), "tonight")
    world.round()
    part = world.lease(f"{lease.label}b")
    assert world.holders("T4-1") == {"has": part.label, "next": str(number)}
    with pytest.raises(Promised) as refused:
        world.do(lambda d: leases.keep(d, d.leases[part.label], "ada"))
    assert refused.value.facts["who"] == "bob"


def test_13_keep_is_refused_once_the_shutdown_was_asked() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.vms["vm-python"].stop_takes = timedelta(minutes=3)
    world.release("ada", lease.label, None, "now")
    world.until(lambda: in_state(world, "vm-python", MoveState.STOPPING), 5 * MIN)
    with pytest.raises(TooLate):
        world.do(lambda d: leases.keep(d, d.leases[lease.label], "ada"))


def test_14_offered_person_passes_and_the_next_withdraws_in_the_same_second() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"))
    first = world.request("bob", "vm-r", window="ask").number
    second = world.request("carol", "vm-train", window="ask").number
    third = world.request("ada", "vm-python-2", window="ask").number
    world.round()
    assert world.req(first).state is RequestState.OFFERED
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[first], world.people["bob"], world.policy))
    from bot.domain.queue import withdraw

    world.do(lambda d: withdraw(d, d.requests[second], "carol"))
    world.round()
    assert world.req(third).state is RequestState.OFFERED
    assert world.req(first).rest is not None and world.req(first).rest.why is RestWhy.PASSED


def test_14_nobody_left_the_passer_may_accept_the_free_device() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"))
    number = world.request("bob", "vm-r", window="ask").number
    world.round()
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[number], world.people["bob"], world.policy))
    world.pass_time(5 * MIN)
    assert world.req(number).state is RequestState.QUEUED and not [h for h in world.books.holds if h.slot == "T4-4"]
    world.accept("bob", number, "now")
    world.round()
    assert world.req(number).state is RequestState.LEASED


def test_15_passed_and_alone_is_not_asked_again_for_four_working_hours() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"))
    number = world.request("bob", "vm-r", window="ask").number
    world.round()
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[number], world.people["bob"], world.policy))
    world.pass_time(3 * HOUR + 50 * MIN, 5 * MIN)
    assert world.req(number).state is RequestState.QUEUED and len(world.told(NewsKind.OFFER)) == 1
    world.pass_time(20 * MIN, 5 * MIN)
    assert world.req(number).state is RequestState.OFFERED


def test_15_another_device_coming_up_ends_the_rest() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.give("vm-python-2", ("T4-2", "T4-3"))
    number = world.request("bob", "vm-r", window="ask").number
    world.round()
    world.do(lambda d: planner.pass_(d, world.sight(), d.requests[number], world.people["bob"], world.policy))
    world.pass_time(30 * MIN, MIN)
    assert world.req(number).state is RequestState.QUEUED
    world.release("ada", lease.label, None, "now")
    world.until(lambda: world.req(number).state is RequestState.OFFERED, 15 * MIN)


def test_16_bot_away_during_a_window_with_nothing_off() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.request("bob", "vm-r", 4, "any time today")
    world.release("ada", lease.label, None, "now")
    world.now += 3 * HOUR  # the bot was away
    world.run = "run-2"
    world.round()
    world.pass_time(10 * MIN)
    assert "shutdown" not in world.acts("vm-python") and state(world, lease.label) is LeaseState.RETURNING
    assert any("went by unused" in n.reason for n in world.told(NewsKind.ASK_WINDOW, "ada"))


@pytest.mark.parametrize("kind", [CallKind.SHUTDOWN, CallKind.CHANGE, CallKind.POWER_ON])
def test_16_bot_away_with_something_off_puts_it_on_first(kind: CallKind) -> None:
    world = World()
    number = world.request("bob", "vm-r", window="now").number
    world.lose.add(("vm-r", kind))
    world.until(lambda: kind.value in world.acts("vm-r"), 10 * MIN)
    world.now += 5 * HOUR
    if world.vms["vm-r"].stops_at:
        world.switch("vm-r", Power.OFF)
    world.until(lambda: first_is_over(world), 20 * MIN)
    assert world.vms["vm-r"].power is Power.ON
    assert world.acts("vm-r").count("shutdown") == 1
    assert bool(world.vms["vm-r"].cards) is (kind is not CallKind.SHUTDOWN)
    world.pass_time(5 * MIN)
    assert state(world, number) is (LeaseState.RESERVED if kind is CallKind.SHUTDOWN else LeaseState.ACTIVE)


def test_17_machine_deleted() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    number = world.request("ada", "vm-python", 1, "ask").number
    world.vms["vm-python"].exists = False
    world.round()
    assert state(world, lease.label) is LeaseState.ACTIVE, "one look is not enough"
    world.pass_time(MIN)
    assert state(world, lease.label) is LeaseState.ENDED and world.card("T4-1").aside is None
    request = world.req(number)
    assert request.state is RequestState.QUEUED and request.rest is not None and request.rest.why is RestWhy.MACHINE
    assert not world.books.holds and world.told(NewsKind.MACHINE_GONE, "ada")
    world.pass_time(timedelta(days=4), 15 * MIN)
    assert world.req(number).state is RequestState.WITHDRAWN


def test_18_machine_registered_anew_under_another_name() -> None:
    """The same machine by its instance UUID: lease, request, agreement and owners go on."""
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    number = world.request("ada", "vm-python", 4, "ask").number
    agreement = world.agree("ada", "vm-python", "nights")
    vm = world.vms["vm-python"]
    vm.exists = False
    world.round()
    vm.exists, vm.shown = True, "python-old"
    world.pass_time(5 * MIN)
    machine = world.books.machines["uuid-vm-python"]
    assert (machine.name, machine.owners, machine.gone, machine.missing) == ("python-old", ("ada",), False, 0)
    assert state(world, lease.label) is LeaseState.ACTIVE and world.req(number).rest is None
    assert agreement is not None and agreement.number in world.books.agreements
    assert not world.told(NewsKind.MACHINE_GONE) and not world.told(NewsKind.FAILED)
    world.release("ada", lease.label, None, "now")
    world.until(lambda: state(world, lease.label) is LeaseState.ENDED, HOUR)


def test_18_gone_for_two_looks_and_back_under_its_uuid() -> None:
    """Its lease ended and the card is free, as is written; the machine is known again, and its card there is asked about."""
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    vm = world.vms["vm-python"]
    vm.exists = False
    world.pass_time(MIN)
    assert state(world, lease.label) is LeaseState.ENDED
    vm.exists, vm.shown = True, "python-old"
    world.pass_time(5 * MIN)
    machine = world.books.machines["uuid-vm-python"]
    assert not machine.gone and machine.name == "python-old" and world.told(NewsKind.STRANGER, "ada")
    world.request("bob", "vm-r", 4, "now")
    world.pass_time(HOUR, MIN)
    assert vm.cards == {world.card("T4-1").pci} and "shutdown" not in world.acts("vm-python")


@pytest.mark.parametrize("template", [True, False], ids=["template", "clone"])
@pytest.mark.parametrize("registered", [True, False], ids=["known", "strange"])
def test_19_clone_of_a_machine_with_a_card(template: bool, registered: bool) -> None:
    """Two settings name one card: clean for nobody else, its owners and the admins are told, once; nothing is done to either."""
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    clone = world.vms["vm-train" if registered else "vm-r"]
    if not registered:
        world.do(lambda d: pool.remove_machine(d, d.machines["uuid-vm-r"], "dana"))
    world.switch(clone.name, Power.OFF)
    clone.template, clone.cards = template, {world.card("T4-1").pci}
    world.pass_time(10 * MIN)
    told = world.told(NewsKind.SHARED_SETTING)
    owners = {"ada", "carol"} if registered else {"ada"}
    assert {n.to for n in told} == {*owners, "admins"} and len(told) == len(owners) + 1
    assert state(world, lease.label) is LeaseState.ACTIVE
    number = world.request(
        "carol" if not registered else "ada", "vm-train" if not registered else "vm-python-2", 4, "any time today"
    ).number
    world.release("ada", lease.label, None, "now")
    world.until(lambda: state(world, lease.label) is LeaseState.ENDED, HOUR)
    world.pass_time(3 * HOUR, MIN)
    assert not any(world.card("T4-1").pci in a.put for a in world.journal), "granted to nobody"
    assert str(number) not in world.books.leases or state(world, number) is LeaseState.RESERVED
    assert clone.cards and not any(a.vm == clone.name and a.what == "change" for a in world.journal)
    clone.cards = set()
    world.until(lambda: str(number) in world.books.leases, 10 * MIN)
    assert {n.to for n in world.told(NewsKind.SHARED_OVER)} == {*owners, "admins"}, "those messages are edited"


def test_20_two_owners_leases_on_one_machine() -> None:
    world = World()
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-r"], ("bob", "carol"), "dana"))
    one = world.request("bob", "vm-r", 1, "any time today", because="his").number
    two = world.request("carol", "vm-r", 1, "any time today", because="hers").number
    assert one != two and world.req(one).because == "his", "who owns the machine, too, changes nobody's request"
    assert world.request("bob", "vm-r", 1, "tonight").number == one, "said again by its person it changes that one"
    world.agree("bob", "vm-r", "any time today", str(one))
    world.until(lambda: str(one) in world.books.leases and state(world, one) is LeaseState.ACTIVE, 30 * MIN)
    world.until(lambda: str(two) in world.books.leases and state(world, two) is LeaseState.ACTIVE, 30 * MIN)
    assert len(world.vms["vm-r"].cards) == 2 and world.acts("vm-r").count("shutdown") == 1, "one power cycle for both"
    world.release("bob", str(one), None, "now")
    world.until(lambda: state(world, one) is LeaseState.ENDED, 30 * MIN)
    world.pass_time(5 * MIN)
    assert state(world, two) is LeaseState.ACTIVE
    assert world.vms["vm-r"].cards == {world.card(world.lease(two).slots[0]).pci}


def test_21_admin_takes_a_device_off_by_hand() -> None:
    world = World()
    active = world.give("vm-python", ("T4-1",))
    returning = world.give("vm-r", ("T4-2",))
    world.release("bob", returning.label)
    world.round()
    for vm in ("vm-python", "vm-r"):
        world.vms[vm].cards.clear()
    world.pass_time(MIN)
    assert state(world, active.label) is LeaseState.FAILED and world.card("T4-1").aside is not None
    assert state(world, returning.label) is LeaseState.ENDED and world.card("T4-2").aside is None
    assert world.told(NewsKind.FAILED, "ada") and world.told(NewsKind.FAILED, "admins")


def test_22_admin_puts_the_reserved_device_on_by_hand() -> None:
    world = World()
    number = world.request("bob", "vm-r", 1, "tonight").number
    world.round()
    slot = world.lease(number).slots[0]
    world.switch("vm-r", Power.OFF)
    world.vms["vm-r"].cards.add(world.card(slot).pci)
    world.switch("vm-r", Power.ON)
    world.until(lambda: state(world, number) is LeaseState.ACTIVE, 10 * MIN)
    assert "shutdown" not in world.acts("vm-r")


@pytest.mark.parametrize("how", ["maintenance", "disconnected"])
def test_23_host_away_nothing_fails_and_nothing_is_granted(how: str) -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.maintenance, world.connected = how == "maintenance", how != "disconnected"
    world.vms["vm-python"].cards = set() if how == "disconnected" else world.vms["vm-python"].cards
    number = world.request("bob", "vm-r", 1, "now").number
    world.pass_time(HOUR, MIN)
    assert state(world, lease.label) is LeaseState.ACTIVE
    assert world.req(number).state is RequestState.QUEUED and "shutdown" not in world.acts("vm-r")
    assert len(world.told(NewsKind.HOST_AWAY)) == 1
    assert not any(m.gone for m in world.books.machines.values())


def test_24_window_over_while_off_and_not_yet_put_on() -> None:
    world = World()
    world.again[("vm-r", CallKind.CHANGE)] = 10_000
    number = world.request("bob", "vm-r", 1, "now").number
    world.until(lambda: in_state(world, "vm-r", MoveState.CHANGING), 5 * MIN)
    world.until(lambda: first_is_over(world), 2 * HOUR)
    assert world.vms["vm-r"].power is Power.ON and not world.vms["vm-r"].cards
    world.pass_time(MIN)
    assert state(world, number) is LeaseState.RESERVED


def test_25_receivers_now_begins_when_the_device_is_clean() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    number = world.request("bob", "vm-r", 1, "now").number
    world.release("ada", lease.label, ("T4-1",), "at 16:00")
    world.until(lambda: state(world, f"{lease.label}b") is LeaseState.ENDED, 7 * HOUR, MIN)
    world.until(lambda: state(world, number) is LeaseState.ACTIVE, 30 * MIN)
    assert world.now < datetime(2026, 11, 30, 16, 0, tzinfo=UTC)


def test_25_asked_again_if_that_is_outside_working_hours() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    number = world.request("bob", "vm-r", 1, "now").number
    world.release("ada", lease.label, ("T4-1",), "tonight")
    world.until(lambda: state(world, f"{lease.label}b") is LeaseState.ENDED, 13 * HOUR, MIN)
    world.pass_time(2 * HOUR, MIN)
    assert state(world, number) is LeaseState.RESERVED and "shutdown" not in world.acts("vm-r")
    assert world.told(NewsKind.ASK_WINDOW, "bob")


def test_26_extended_while_the_next_person_has_accepted() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    number = world.request("bob", "vm-r", 4, "tonight").number
    world.release("ada", lease.label, None, "tonight")
    world.round()
    assert world.req(number).state is RequestState.LEASED
    with pytest.raises(Promised) as refused:
        world.do(lambda d: acts.extend(d, d.leases[lease.label], Length(4 * HOUR), world.people["ada"], world.policy))
    assert refused.value.facts["who"] == "bob" and isinstance(refused.value.facts["when"], datetime)


def test_27_reserved_and_never_a_window_while_others_wait() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "14d")
    number = world.request("bob", "vm-r", 1, "today 11:00-11:30").number
    world.until(lambda: str(number) in world.books.leases, MIN)
    world.vms["vm-r"].question = "is the disk full?"
    other = world.request("carol", "vm-train", 1, "nights").number
    world.pass_time(26 * HOUR, 5 * MIN)
    request = world.req(number)
    assert request.state is RequestState.QUEUED and request.rest is not None and request.rest.why is RestWhy.NO_WINDOW
    assert len(world.told(NewsKind.FREE_UNUSED, "bob")) == 2
    assert world.req(other).state is RequestState.LEASED
    world.vms["vm-r"].question = ""
    world.agree("bob", "vm-r", "nights")
    world.round()
    assert world.req(number).rest is None


def test_28_drain_of_a_card_that_is_lent_is_shown_and_takes_nothing() -> None:
    """Off the pool when it comes off."""
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.do(lambda d: pool.drain(d, d.cards["T4-1"], "dana", "its fan is loud"))
    world.pass_time(2 * HOUR, MIN)
    assert state(world, lease.label) is LeaseState.ACTIVE and "shutdown" not in world.acts("vm-python")
    assert world.do(
        lambda d: acts.extend(d, d.leases[lease.label], Length(30 * HOUR), world.people["ada"], world.policy)
    )
    number = world.request("bob", "vm-r", 4, "now").number
    world.release("ada", lease.label, None, "now")
    world.until(lambda: state(world, lease.label) is LeaseState.ENDED, HOUR)
    world.pass_time(HOUR, MIN)
    aside = world.card("T4-1").aside
    assert aside is not None and (aside.why, aside.by, aside.reason) == (AsideWhy.DRAINED, "dana", "its fan is loud")
    assert world.req(number).state is RequestState.QUEUED and world.vms["vm-python"].cards == set()
    world.do(lambda d: pool.undrain(d, d.cards["T4-1"], "dana"))
    world.until(lambda: world.req(number).state is RequestState.LEASED, MIN)


def test_28_drain_of_a_card_that_is_reserved_gives_an_equal_one() -> None:
    world = World()
    number = world.request("bob", "vm-r", 1, "tonight").number
    world.round()
    (slot,) = world.lease(number).slots
    world.do(lambda d: pool.drain(d, d.cards[slot], "dana", "its fan is loud"))
    world.round()
    assert state(world, number) is LeaseState.RESERVED and world.lease(number).slots != (slot,)


def test_letgo_of_a_card_that_nobody_was_lent_comes_off_in_an_agreed_window_only() -> None:
    """Never taken off before its owner says so; then it is a returning lease like any other, and may be kept."""
    world = World()
    world.vms["vm-r"].cards = {world.card("T4-1").pci}
    world.pass_time(HOUR, MIN)
    assert world.told(NewsKind.STRANGER, "bob") and not world.acts("vm-r")

    def let_go(slot: str) -> str:
        def act(d):  # type: ignore[no-untyped-def]
            who, machine = world.people["bob"], d.machines["uuid-vm-r"]
            lease = leases.adopt(d, machine, (slot,), who, Length(), by="bob", policy=world.policy, tell=False)
            return leases.release(d, lease, None, "bob", "let go").label

        return str(world.do(act))

    label = let_go("T4-1")
    world.pass_time(HOUR, MIN)
    assert state(world, label) is LeaseState.RETURNING and not world.acts("vm-r"), "it names no window"
    assert world.do(lambda d: leases.keep(d, d.leases[label], "bob")).state is LeaseState.ACTIVE
    world.release("bob", label, None, "at 18:00")
    world.until(lambda: state(world, label) is LeaseState.ENDED, 9 * HOUR, MIN)
    assert world.now >= MONDAY_10 + 8 * HOUR and not world.vms["vm-r"].cards
    world.pass_time(5 * MIN)
    assert all_on(world) and world.card("T4-1").aside is None


def test_29_until_that_has_passed_counts_as_the_usual_length() -> None:
    world = World()
    number = world.request("bob", "vm-r", 1, "tonight", "until 22:01").number  # while its machine restarts
    other = world.request("carol", "vm-train", 1, "tonight", "for 4h").number
    both = (number, other)
    world.until(
        lambda: all(str(n) in world.books.leases and state(world, n) is LeaseState.ACTIVE for n in both), 15 * HOUR, MIN
    )
    bob, carol = world.lease(number), world.lease(other)
    assert bob.end == datetime(2026, 12, 1, 17, 0, tzinfo=UTC), "next working day 18:00"
    assert any("passed" in n.reason for n in world.told(NewsKind.ACTIVE, "bob"))
    assert carol.active_since is not None and carol.end == carol.active_since + 4 * HOUR


def test_30_clock_jump_stops_offers_and_shutdowns_for_one_round() -> None:
    world = World()
    world.request("carol", "vm-train", 1, "now")
    world.until(lambda: 1 in world.books.moves and world.books.moves[1].last_call, MIN)
    number = world.request("bob", "vm-r", 1, "ask").number
    world.now += 10 * MIN
    world.round(jump=10 * MIN)
    assert world.req(number).state is RequestState.QUEUED and "shutdown" not in world.acts("vm-train")
    assert world.told(NewsKind.CLOCK_JUMP, "admins")
    world.now += timedelta(seconds=15)
    world.round()
    assert world.req(number).state is RequestState.OFFERED and "shutdown" in world.acts("vm-train")


def test_work_in_the_guest_does_not_stop_a_named_window_but_a_standing_one() -> None:
    job = Job("bob", "python train.py", MONDAY_10, True)
    world = World(datetime(2026, 11, 30, 20, 0, tzinfo=UTC))
    world.vms["vm-r"].jobs = world.vms["vm-train"].jobs = (job,)
    world.agree("bob", "vm-r", "nights")
    world.request("bob", "vm-r", 1)
    world.request("carol", "vm-train", 1, "tonight")
    world.pass_time(8 * HOUR, MIN)
    assert "shutdown" in world.acts("vm-train") and "shutdown" not in world.acts("vm-r")
    assert world.told(NewsKind.STANDING_SKIPPED, "bob")


def test_an_admin_cannot_be_stopped_by_a_word_for_a_window_that_is_not_there() -> None:
    world = World()
    with pytest.raises(NotPossible):
        world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-r"], "bob", world.policy))
    assert windows.usual(world.books.machines["uuid-vm-r"], world.policy) == 15 * MIN
