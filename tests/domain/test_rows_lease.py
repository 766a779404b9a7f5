"""Rows of the lease's table that no awkward case plays, each by its name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain import leases, moves, pool, windows
from bot.domain.errors import NoLonger, NotLater, NotPossible, TooLate, TooLong
from bot.domain.model import AsideWhy, CallKind, Job, LeaseState, Length, Power, RequestState
from bot.domain.news import NewsKind
from bot.domain.pool import set_aside
from bot.domain.times import read_length
from tests.domain.world import MONDAY_10, World

MIN, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def quarantine(world: World, *slots: str) -> None:
    for slot in slots:
        world.do(lambda d, s=slot: set_aside(d, d.cards[s], AsideWhy.QUARANTINED, "fails its self-test"))


def tight() -> World:
    """One card is free."""
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "14d")
    return world


def working(world: World, vm: str = "vm-r", count: int = 1, length: str = "") -> str:
    """A lease that came by a request and works."""
    who = world.vms[vm].owners[0]
    label = str(world.request(who, vm, count, "now", length).number)
    world.until(lambda: label in world.books.leases and world.lease(label).state is LeaseState.ACTIVE, 15 * MIN)
    return label


def off_with_its_card(world: World) -> str:
    """bob's machine was off; it got its card and stays off."""
    world.switch("vm-r", Power.OFF)
    label = str(world.request("bob", "vm-r").number)
    world.until(lambda: bool(world.vms["vm-r"].cards), 5 * MIN)
    world.pass_time(MIN)
    assert world.lease(label).state is LeaseState.MOVING
    return label


def events(world: World, label: str) -> list[str]:
    return [
        x.what.removeprefix("lease.") for x in world.lines if x.about == f"#{label}" and x.what.startswith("lease.")
    ]


# ---- reserved


def test_adopt_gives_a_stranger_a_number_terms_and_a_clock() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",), "for 4h")
    assert (
        lease.state is LeaseState.ACTIVE
        and lease.end == world.now + 4 * HOUR
        and events(world, lease.label) == ["adopt"]
    )
    with pytest.raises(NotPossible):
        world.give("vm-python", ("T4-1",))


def test_adopt_for_longer_than_any_lease_is_refused() -> None:
    world = World()
    world.vms["vm-r"].cards.add(world.card("T4-1").pci)
    late = Length(until=world.now + 20 * DAY)
    with pytest.raises(TooLong):
        world.do(lambda d: leases.adopt(
            d, d.machines["uuid-vm-r"], ("T4-1",), world.people["bob"], late, by="bob", policy=world.policy))  # fmt: skip


def test_an_equal_device_that_is_free_earlier_is_taken() -> None:
    world = World()
    ada = world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "14d")
    bob = world.give("vm-r", ("T4-4",), "14d")
    label = str(world.request("carol", "vm-train", 1, "tonight").number)
    world.release("ada", ada.label, ("T4-1",), "tonight")
    world.round()
    assert world.holders("T4-1")["next"] == label
    world.release("bob", bob.label, None, "now")
    world.until(lambda: world.holders("T4-4").get("has") == label, 15 * MIN)
    assert "slot_changed" in events(world, label) and "next" not in world.holders("T4-1")


def test_a_slot_that_a_stranger_took_is_changed_for_a_free_one() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 1, "tonight").number)
    world.round()
    world.vms["vm-train"].cards.add(world.card("T4-1").pci)
    world.round()
    assert world.lease(label).slots == ("T4-2",)


def test_its_own_is_aside_and_no_equal_one_is_free() -> None:
    world = tight()
    label = str(world.request("bob", "vm-r", 1, "tonight").number)
    world.round()
    quarantine(world, "T4-4")
    world.looking = False
    world.round()
    assert world.lease(label).state is LeaseState.RESERVED, "nothing is known without a look"
    world.looking = True
    world.pass_time(MIN)
    assert events(world, label)[-1] == "no_equal" and world.req(int(label)).state is RequestState.QUEUED
    assert world.told(NewsKind.BACK_IN_LINE, "bob") and not world.books.agreements, "its time goes with it"


def test_reserved_and_released() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 1, "tonight").number)
    world.round()
    world.release("bob", label)
    assert world.lease(label).state is LeaseState.ENDED and not world.books.holds


def test_reserved_and_the_machine_is_gone() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 1, "tonight").number)
    world.round()
    world.vms["vm-r"].exists = False
    world.pass_time(MIN)
    assert events(world, label)[-1] == "gone" and world.req(int(label)).state is RequestState.QUEUED


def test_the_day_of_a_free_device_is_not_begun_anew_by_tries_that_failed() -> None:
    world = tight()
    world.vms["vm-r"].stop_takes = None
    label = str(world.request("bob", "vm-r", 1, "any time today").number)
    world.round()
    since = world.lease(label).free_since
    world.until(lambda: "went_back" in events(world, label), 4 * HOUR)
    assert since is not None and world.lease(label).free_since == since


def test_who_waits_for_a_restart_is_not_hurried_while_nobody_waits_for_the_card() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 1, "nights").number)
    world.vms["vm-r"].question = "is the disk full?"
    world.pass_time(21 * HOUR, 15 * MIN)
    assert world.lease(label).state is LeaseState.RESERVED and not world.told(NewsKind.FREE_UNUSED)
    world.give("vm-python", ("T4-2", "T4-3", "T4-4"), "14d")
    world.request("carol", "vm-train", 1, "nights")
    world.pass_time(HOUR, 15 * MIN)
    assert len(world.told(NewsKind.FREE_UNUSED, "bob")) == 1, "somebody waits, and two marks are behind: told once"


def test_no_lease_is_given_up_while_the_bot_is_paused() -> None:
    world = tight()
    label = str(world.request("bob", "vm-r", 1, "tonight").number)
    world.round()
    world.request("carol", "vm-train")
    world.do(lambda d: pool.pause(d, "dana", "a test"))
    world.pass_time(30 * HOUR, 15 * MIN)
    assert world.lease(label).state is LeaseState.RESERVED and not world.told(NewsKind.FREE_UNUSED)


@pytest.mark.parametrize("state", [LeaseState.RESERVED, LeaseState.RETURNING])
def test_whose_time_is_taken_back_is_asked_again(state: LeaseState) -> None:
    world = World()
    if state is LeaseState.RESERVED:
        label = str(world.request("bob", "vm-r", 1, "tonight").number)
    else:
        label = working(world)
        world.release("bob", label, None, "tonight")
    world.pass_time(MIN)
    assert world.lease(label).state is state and not world.told(NewsKind.ASK_WINDOW)
    (agreement,) = world.books.agreements.values()
    world.do(lambda d: windows.withdraw(d, d.agreements[agreement.number], "bob"))
    world.pass_time(5 * MIN)
    assert len(world.told(NewsKind.ASK_WINDOW, "bob")) == 1
    assert (events(world, label)[-1] == "ask_again") is (state is LeaseState.RETURNING)


# ---- moving


def test_no_word_from_the_guest_for_twenty_minutes_is_not_broken() -> None:
    world = World()
    world.vms["vm-r"].agent = False
    label = str(world.request("bob", "vm-r", 1, "now").number)
    world.until(lambda: world.lease(label).state is LeaseState.ACTIVE if label in world.books.leases else False, HOUR)
    on = max(a.at for a in world.journal if a.vm == "vm-r" and a.what == "on")
    assert world.now - on >= 20 * MIN and world.told(NewsKind.ACTIVE_UNSEEN, "bob")


def test_left_off_for_twelve_hours_the_clock_starts_all_the_same() -> None:
    world = World()
    label = off_with_its_card(world)
    assert len(world.told(NewsKind.WAITS_POWER_ON, "bob")) == 1
    world.pass_time(11 * HOUR, 5 * MIN)
    assert world.lease(label).state is LeaseState.MOVING
    world.pass_time(70 * MIN, 5 * MIN)
    assert world.lease(label).state is LeaseState.ACTIVE and world.vms["vm-r"].power is Power.OFF
    assert len(world.told(NewsKind.ACTIVE_OFF, "bob")) == 1 and not world.told(NewsKind.ACTIVE_UNSEEN)


def test_released_later_than_the_power_on_it_returns_in_the_next_window() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 1, "now").number)
    world.until(lambda: world.acts("vm-r")[-1:] == ["on"], 10 * MIN)
    assert world.release("bob", label).state is LeaseState.RETURNING
    world.pass_time(HOUR, MIN)
    assert world.acts("vm-r").count("shutdown") == 1 and world.vms["vm-r"].cards, "no second power-off without a window"
    assert world.told(NewsKind.ASK_WINDOW, "bob")
    world.agree("bob", "vm-r", "now", label)
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, 15 * MIN)
    assert world.req(int(label)).state is RequestState.WITHDRAWN


def test_a_card_to_blame_goes_aside_and_an_equal_one_is_taken() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 1, "any time today").number)
    world.refuse[("vm-r", CallKind.CHANGE)] = ("the card does not answer", world.card("T4-1").pci)
    world.until(lambda: "card_to_blame" in events(world, label), 30 * MIN)
    world.refuse.clear()
    world.pass_time(5 * MIN)
    assert world.card("T4-1").aside is not None and world.lease(label).slots == ("T4-2",)
    assert world.vms["vm-r"].power is Power.ON and not world.vms["vm-r"].cards


def test_a_card_to_blame_and_no_equal_one() -> None:
    world = tight()
    label = str(world.request("bob", "vm-r", 1, "any time today").number)
    world.refuse[("vm-r", CallKind.CHANGE)] = ("the card does not answer", world.card("T4-4").pci)
    world.until(lambda: world.req(int(label)).state is RequestState.QUEUED and "no_equal" in events(world, label), HOUR)
    assert world.lease(label).state is LeaseState.ENDED


def test_10_one_of_two_devices_fails_when_put_on_neither_stays() -> None:
    world = World()
    label = str(world.request("bob", "vm-r", 2, "any time today").number)
    world.refuse[("vm-r", CallKind.POWER_ON)] = ("the card does not answer", world.card("T4-1").pci)
    world.until(lambda: "change" in world.acts("vm-r"), 30 * MIN)
    assert len(world.vms["vm-r"].cards) == 2
    world.until(lambda: not world.vms["vm-r"].cards, 10 * MIN)
    world.refuse.clear()
    world.until(lambda: world.vms["vm-r"].power is Power.ON, 10 * MIN)
    world.pass_time(5 * MIN)
    assert world.lease(label).state is LeaseState.RESERVED and world.lease(label).slots == ("T4-3", "T4-2")


def test_10_one_of_two_devices_fails_later_the_rest_runs_on() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2"))
    world.vms["vm-python"].cards.discard(world.card("T4-2").pci)
    world.pass_time(MIN)
    rest, part = world.lease(lease.label), world.lease(f"{lease.label}b")
    assert (rest.state, rest.slots) == (LeaseState.ACTIVE, ("T4-1",))
    assert (part.state, part.slots) == (LeaseState.FAILED, ("T4-2",))
    assert (
        world.card("T4-2").aside is not None
        and world.told(NewsKind.FAILED, "ada")
        and world.told(NewsKind.FAILED, "admins")
    )


def test_a_guest_without_its_card_has_an_hour_for_repair() -> None:
    world = World()
    world.vms["vm-r"].sees = 0
    label = str(world.request("bob", "vm-r", 1, "now").number)
    world.until(lambda: bool(world.told(NewsKind.GUEST_WITHOUT, "bob")), 15 * MIN)
    world.pass_time(50 * MIN, MIN)
    assert world.lease(label).state is LeaseState.MOVING and world.vms["vm-r"].cards
    world.vms["vm-r"].sees = None
    world.pass_time(2 * MIN)
    assert world.lease(label).state is LeaseState.ACTIVE and world.acts("vm-r").count("shutdown") == 1


def test_not_seen_for_an_hour_it_is_broken() -> None:
    world = World()
    world.vms["vm-r"].sees = 0
    label = str(world.request("bob", "vm-r", 1, "now").number)
    world.until(lambda: f"{label}b" in world.books.leases, 2 * HOUR, MIN)
    assert world.lease(f"{label}b").state is LeaseState.RETURNING and world.card("T4-1").aside is not None


def test_a_broken_card_returns_as_a_part_and_the_request_waits_at_its_old_place_at_once() -> None:
    world = tight()
    world.vms["vm-r"].faults = ("xid 79",)
    label = str(world.request("bob", "vm-r", 1, "now").number)
    world.until(lambda: f"{label}b" in world.books.leases, 15 * MIN)
    part = world.lease(f"{label}b")
    assert (part.state, part.slots) == (LeaseState.RETURNING, ("T4-4",)) and world.card("T4-4").aside is not None
    assert world.req(int(label)).state is RequestState.QUEUED and world.req(int(label)).asked == MONDAY_10
    assert world.told(NewsKind.CARD_BROKEN, "bob") and world.told(NewsKind.CARD_BROKEN, "admins")
    assert [n.lease.label for n in world.told(NewsKind.ASK_WINDOW, "bob") if n.lease] == [part.label]


def test_gone_while_moving() -> None:
    world = World()
    label = off_with_its_card(world)
    world.vms["vm-r"].exists = False
    world.pass_time(MIN)
    assert events(world, label)[-1] == "gone" and world.req(int(label)).rest is not None


# ---- active


def test_extend_within_the_limits_and_not_beyond() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "for 8h")

    def extend(length: timedelta) -> None:
        ada = world.people["ada"]
        world.do(lambda d: leases.extend(d, d.leases[lease.label], Length(length), ada, world.policy))

    extend(2 * DAY)
    assert world.lease(lease.label).end == MONDAY_10 + 2 * DAY + 8 * HOUR and "extend" in events(world, lease.label)
    with pytest.raises(TooLong):
        extend(13 * DAY)
    world.request("bob", "vm-r")
    with pytest.raises(TooLong):
        extend(25 * HOUR)
    extend(DAY)
    with pytest.raises(NoLonger) as no:
        extend(HOUR)
    assert no.value.facts == {
        "number": lease.label,
        "end": world.lease(lease.label).end,
        "who": "bob",
        "count": 1,
        "why": "it was made longer once already",
    }


def test_what_is_too_long_is_refused_with_the_longest_that_works() -> None:
    world = World()
    label = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "for 8h").label

    def said(length: Length) -> str:
        ada = world.people["ada"]
        with pytest.raises(TooLong) as no:
            world.do(lambda d: leases.extend(d, d.leases[label], length, ada, world.policy))
        works = str(no.value.facts["works"]).removeprefix(f"extend #{label} ")
        allowed = read_length(works, world.now, "Europe/Berlin", world.policy)
        world.do(lambda d: leases.extend(d, d.leases[label], allowed, ada, world.policy))
        return works

    with pytest.raises(NotLater):
        world.do(
            lambda d: leases.extend(d, d.leases[label], Length(until=world.now), world.people["ada"], world.policy)
        )
    world.request("bob", "vm-r")
    assert said(Length(lasting=25 * HOUR)) == "until tomorrow 18:00"


def test_a_reminder_names_who_waits() -> None:
    world = World()
    world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "for 30h")
    world.pass_time(7 * HOUR, 5 * MIN)
    world.request("bob", "vm-r")
    world.pass_time(22 * HOUR + 30 * MIN, 5 * MIN)
    assert [news.who for news in world.told(NewsKind.REMIND, "ada")] == ["", "bob"]


def test_nobody_waits_and_only_the_longest_in_all_counts() -> None:
    world = World()
    label = world.give("vm-python", ("T4-1",), "for 8h").label
    with pytest.raises(TooLong) as no:
        world.do(lambda d: leases.extend(d, d.leases[label], Length(20 * DAY), world.people["ada"], world.policy))
    assert no.value.facts["works"] == f"extend #{label} until mon 14 dec 10:00"


def test_no_more_than_a_week_while_others_wait() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "7d")
    world.request("bob", "vm-r")
    with pytest.raises(NoLonger):
        world.do(lambda d: leases.extend(
            d, d.leases[lease.label], Length(HOUR), world.people["ada"], world.policy))  # fmt: skip
    with pytest.raises(TooLong):
        world.request("carol", "vm-train", 1, None, "10d")


def test_reminders_are_sent_once_a_deadline_restarts_included() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",), "for 30h")
    world.pass_time(8 * HOUR, 5 * MIN)
    assert len(world.told(NewsKind.REMIND, "ada")) == 1
    world.run = "run-2"
    world.pass_time(21 * HOUR + 30 * MIN, 5 * MIN)
    assert len(world.told(NewsKind.REMIND, "ada")) == 2
    world.do(lambda d: leases.extend(d, d.leases[lease.label], Length(2 * HOUR), world.people["ada"], world.policy))
    world.pass_time(2 * HOUR, 5 * MIN)
    assert len(world.told(NewsKind.REMIND, "ada")) == 3, "a new end is a new deadline"


def test_nobody_waits_at_the_end_it_runs_on_and_is_said_once() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",), "for 2h")
    world.pass_time(5 * HOUR, 5 * MIN)
    assert world.lease(lease.label).state is LeaseState.ACTIVE and world.lease(lease.label).over_time
    assert len(world.told(NewsKind.OVER_TIME, "ada")) == 1


def test_over_their_time_as_many_go_as_are_wanted_and_who_does_nothing_first() -> None:
    world = World()
    world.vms["vm-python"].jobs = (Job("ada", "python", MONDAY_10, True),)
    one = world.give("vm-python", ("T4-1",), "for 1h")
    two = world.give("vm-python-2", ("T4-2",), "for 2h")
    three = world.give("vm-train", ("T4-3", "T4-4"), "for 3h")
    world.pass_time(4 * HOUR, 5 * MIN)
    world.request("bob", "vm-r")
    world.pass_time(MIN)
    states = [world.lease(x.label).state for x in (one, two, three)]
    assert states == [LeaseState.ACTIVE, LeaseState.RETURNING, LeaseState.ACTIVE]
    assert world.told(NewsKind.RETURNING, "ada")


def test_work_that_runs_is_waited_for_a_day_and_the_waiter_is_told() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"), "for 1h")
    world.vms["vm-python"].jobs = (Job("ada", "python", MONDAY_10, True),)
    number = world.request("bob", "vm-r").number
    world.pass_time(24 * HOUR + 30 * MIN, 5 * MIN)
    assert world.lease(lease.label).state is LeaseState.ACTIVE
    (told,) = world.told(NewsKind.WORK_RUNS, "bob")
    assert told.until == MONDAY_10 + 25 * HOUR and told.who == "ada" and told.request and told.request.number == number
    world.pass_time(HOUR, 5 * MIN)
    assert world.lease(lease.label).state is LeaseState.RETURNING


def test_release_of_some_is_a_part_with_a_letter_that_is_not_given_twice() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3"), "14d")
    part = world.release("ada", lease.label, ("T4-1",), "now")
    assert part.label == f"{lease.label}b" and world.lease(lease.label).slots == ("T4-2", "T4-3")
    world.until(lambda: world.lease(part.label).state is LeaseState.ENDED, 15 * MIN)
    world.pass_time(9 * DAY, 30 * MIN)
    assert part.label not in world.books.leases, "it left the books"
    assert world.release("ada", lease.label, ("T4-2",)).label == f"{lease.label}c"


def test_force_release_names_no_window() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.do(lambda d: leases.force(d, d.leases[lease.label], "dana", "the demo"))
    world.pass_time(2 * HOUR, MIN)
    assert world.lease(lease.label).state is LeaseState.RETURNING and "shutdown" not in world.acts("vm-python")
    with pytest.raises(NotPossible):
        world.do(lambda d: leases.keep(d, d.leases[lease.label], "ada"))


def test_force_release_of_what_is_on_its_way_back_keeps_the_admins_reason() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2"))
    world.release("ada", lease.label)
    world.pass_time(HOUR, MIN)
    since = world.lease(lease.label).changed
    world.do(lambda d: leases.force(d, d.leases[lease.label], "dana", "it overheats", ("T4-1",)))
    whole, part = world.lease(lease.label), world.lease(f"{lease.label}b")
    assert (whole.slots, whole.reason, whole.ended_by) == (("T4-2",), "given back", "ada")
    assert (part.slots, part.reason, part.ended_by) == (("T4-1",), "it overheats", "dana")
    world.do(lambda d: leases.force(d, d.leases[lease.label], "dana", "the demo"))
    whole = world.lease(lease.label)
    assert (whole.reason, whole.ended_by) == ("the demo", "dana") and {whole.changed, part.changed} == {since}
    with pytest.raises(NotPossible):  # what an admin takes back is not kept
        world.do(lambda d: leases.keep(d, d.leases[lease.label], "ada"))


def test_a_broken_card_of_a_lease_that_works_is_set_aside_when_it_comes_off() -> None:
    world = World()
    label = working(world)
    world.vms["vm-r"].faults = ("xid 79",)
    world.pass_time(2 * MIN)
    slot = world.lease(label).slots[0]
    assert world.lease(label).state is LeaseState.ACTIVE and world.card(slot).aside is None
    assert len(world.told(NewsKind.CARD_BROKEN, "admins")) == 1
    world.release("bob", label, None, "now")
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, 15 * MIN)
    assert world.card(slot).aside is not None


def test_books_and_guest_differ_the_card_is_not_granted_before_three_looks_agree() -> None:
    world = World()
    label = working(world)
    slot = world.lease(label).slots[0]
    world.vms["vm-r"].sees = 0
    world.pass_time(15 * MIN)
    assert not world.card(slot).doubted, "unknown or short is no difference"
    world.pass_time(10 * MIN)
    assert world.card(slot).doubted and len(world.told(NewsKind.DIFFERENCE, "bob")) == 1
    assert "differs" in events(world, label) and world.lease(label).state is LeaseState.ACTIVE
    world.vms["vm-r"].sees = None
    world.pass_time(2 * MIN)
    assert not world.card(slot).doubted


def test_gone_while_active_its_person_is_told_even_if_no_owner() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.do(lambda d: pool.set_owners(d, d.machines["uuid-vm-python"], ("bob",), "dana"))
    world.vms["vm-python"].exists = False
    world.pass_time(MIN)
    assert world.lease(lease.label).state is LeaseState.ENDED and world.card("T4-1").aside is None
    assert world.told(NewsKind.ENDED, "ada") and world.told(NewsKind.MACHINE_GONE, "bob")


# ---- returning


def test_the_night_is_agreed_a_day_after_the_end_while_others_wait() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.request("bob", "vm-r")
    world.release("ada", lease.label)
    world.pass_time(23 * HOUR, 5 * MIN)
    assert not world.told(NewsKind.FIRM_WINDOW)
    world.pass_time(70 * MIN, 5 * MIN)
    assert {n.to for n in world.told(NewsKind.FIRM_WINDOW)} == {"ada", "admins", "channel"}
    (firm,) = [a for a in world.books.agreements.values() if a.firm]
    assert firm.window is not None and firm.window.start == datetime(2026, 12, 1, 21, 0, tzinfo=UTC)
    with pytest.raises(NotPossible):
        world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-python"], "ada", world.policy))
    world.until(lambda: world.lease(lease.label).state is LeaseState.ENDED, 13 * HOUR, MIN)
    assert firm.window.holds(world.now)


def test_not_now_said_twice_agrees_the_night_at_once() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1", "T4-2", "T4-3", "T4-4"))
    world.request("bob", "vm-r")
    for _ in range(2):
        if world.lease(lease.label).state is LeaseState.ACTIVE:
            world.release("ada", lease.label)
        world.agree("ada", "vm-python", "any time today", lease.label)
        world.until(lambda: any(m.last_call for m in world.books.moves.values()), 5 * MIN)
        world.do(lambda d: moves.not_now(d, d.machines["uuid-vm-python"], "ada", world.policy))
        world.pass_time(MIN)
    assert world.told(NewsKind.FIRM_WINDOW, "channel") and "shutdown" not in world.acts("vm-python")


def test_nobody_waits_no_night_is_agreed() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.release("ada", lease.label)
    world.pass_time(3 * DAY, 15 * MIN)
    assert not world.told(NewsKind.FIRM_WINDOW) and world.lease(lease.label).state is LeaseState.RETURNING


def test_way_back_done_a_returning_lease_is_asked_again() -> None:
    world = World()
    label = working(world)
    world.vms["vm-r"].stop_takes = None
    world.release("bob", label, None, "now")
    world.until(lambda: "ask_again" in events(world, label), 3 * HOUR)
    world.pass_time(MIN)
    assert world.lease(label).state is LeaseState.RETURNING and "ask_again" in events(world, label)
    assert len(world.told(NewsKind.ASK_WINDOW, "bob")) == 1


def test_returning_and_the_machine_is_gone() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",))
    world.release("ada", lease.label)
    world.vms["vm-python"].exists = False
    world.pass_time(MIN)
    assert events(world, lease.label)[-1] == "gone" and not world.books.holds


def test_extended_while_returning_means_keep() -> None:
    world = World()
    lease = world.give("vm-python", ("T4-1",), "for 4h")
    world.release("ada", lease.label)
    world.do(lambda d: leases.extend(d, d.leases[lease.label], Length(HOUR), world.people["ada"], world.policy))
    assert world.lease(lease.label).state is LeaseState.ACTIVE and world.lease(lease.label).end == MONDAY_10 + 5 * HOUR
    world.release("ada", lease.label, None, "now")
    world.until(lambda: world.lease(lease.label).state is LeaseState.ENDED, 15 * MIN)
    with pytest.raises(TooLate):
        world.do(lambda d: leases.keep(d, d.leases[lease.label], "ada"))


def test_28_drain_of_a_card_that_is_lent_is_shown_and_not_taken() -> None:
    world = World()
    label = working(world)
    slot = world.lease(label).slots[0]
    world.do(lambda d: pool.drain(d, d.cards[slot], "dana", "the fan"))
    world.pass_time(HOUR, MIN)
    assert world.lease(label).state is LeaseState.ACTIVE and world.vms["vm-r"].cards
    world.release("bob", label, None, "now")
    world.until(lambda: world.lease(label).state is LeaseState.ENDED, 15 * MIN)
    world.request("carol", "vm-train", 4, "now")
    world.pass_time(10 * MIN)
    assert not world.books.holds, "off the pool"
