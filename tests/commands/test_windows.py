"""window, accept, pass, notnow, start, stop: when a machine may restart, and answers to what is asked."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.model import AgreementKind, AgreementState, LeaseState, MoveState, Power, RequestState
from tests.fakes import text_of, uuid
from tests.house import House


def agreements(house: House) -> list[tuple[str, AgreementKind]]:
    """Open ones: label and kind."""
    return [(a.label, a.kind) for a in house.books.agreements.values() if a.state is AgreementState.OPEN]


# ---- window


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("window now", AgreementKind.NAMED),
        ("window vm-r tonight", AgreementKind.NAMED),
        ("window at 18:00", AgreementKind.NAMED),
        ("window today", AgreementKind.NAMED),
        ("window when done", AgreementKind.NAMED),
        ("window today 18:00-22:00", AgreementKind.NAMED),
        ("window nights", AgreementKind.STANDING),
        ("window vm-r weekdays 22:00-06:00", AgreementKind.STANDING),
        ("restart vm-r tonight", AgreementKind.NAMED),
    ],
)
def test_an_owner_agrees(house: House, text: str, kind: AgreementKind) -> None:
    reply = house.say("bob", text)
    assert reply.ok, text_of(reply)
    assert agreements(house) == [("", kind)]
    (agreement,) = house.books.agreements.values()
    assert (agreement.machine, agreement.person) == (uuid("vm-r"), "U2BOB")


def test_hard_and_even_if_busy_are_said_beforehand(house: House) -> None:
    house.say("bob", "window nights hard even if busy")
    (agreement,) = house.books.agreements.values()
    assert agreement.hard and agreement.even_if_busy
    house.say("carol", "window nights")
    other = next(a for a in house.books.agreements.values() if a.person == "U3CAROL")
    assert not other.hard and not other.even_if_busy


def test_a_named_window_is_for_the_request_that_waits(house: House) -> None:
    house.say("bob", "request 1")
    house.say("bob", "window today")
    assert agreements(house) == [("1", AgreementKind.NAMED)]
    house.say("bob", "release #1")
    house.round()
    assert agreements(house) == [], "it ends with what it was for"


def test_a_time_that_nothing_needs_yet_restarts_nothing(house: House) -> None:
    answer = text_of(house.say("bob", "window nights"))
    assert "Nothing needs a restart of vm-r now, and without need there is none." in answer


def test_a_standing_window_is_for_anything(house: House) -> None:
    house.say("bob", "request 1")
    house.say("bob", "window nights")
    assert agreements(house) == [("", AgreementKind.STANDING)]


def test_a_named_window_said_again_replaces_the_one_before(house: House) -> None:
    house.say("bob", "request 1")
    house.say("bob", "window today")
    house.say("bob", "window tonight")
    (agreement,) = [a for a in house.books.agreements.values() if a.state is AgreementState.OPEN]
    assert agreement.window is not None
    assert agreement.window.start == datetime(2026, 3, 16, 21, 0, tzinfo=UTC)


def test_bare_it_says_what_holds_and_writes_nothing(house: House) -> None:
    house.say("bob", "window nights")
    before, lines = house.books, house.store.ledger()
    reply = house.say("bob", "window")
    assert reply.ok and "22:00-06:00" in text_of(reply)
    assert (house.books, house.store.ledger()) == (before, lines)


def test_remove_takes_back(house: House) -> None:
    house.say("bob", "window nights")
    house.say("bob", "window at 18:00")
    assert house.say("bob", "window nights remove").ok
    assert agreements(house) == [("", AgreementKind.NAMED)]
    assert house.say("bob", "window remove").ok
    assert agreements(house) == []


def test_any_owner_takes_back(house: House) -> None:
    house.say("dana", "machine owners vm-r @bob @carol")
    house.say("bob", "window nights")
    assert house.say("carol", "window vm-r remove").ok
    assert agreements(house) == []


def test_ask_first_makes_the_waiting_request_an_offer(house: House) -> None:
    house.say("bob", "request 1 restart today")
    assert house.say("bob", "window ask").ok
    assert agreements(house) == []
    assert house.books.requests[1].ask_first
    house.round()
    assert house.books.requests[1].state is RequestState.OFFERED


def test_without_a_name_the_machine_that_waits_for_a_restart_is_meant(house: House) -> None:
    house.say("dana", "machine add vm-spare owners @bob")
    house.say("bob", "request 1 on vm-r")
    assert house.say("bob", "window today").ok
    (agreement,) = house.books.agreements.values()
    assert agreement.machine == uuid("vm-r")


def test_with_several_machines_there_is_a_menu(house: House) -> None:
    house.say("dana", "machine add vm-spare owners @bob")
    reply = house.say("bob", "window tonight")
    assert not reply.ok
    assert [button.says for button in reply.buttons] == ["window tonight on vm-r", "window tonight on vm-spare"]
    assert house.say("bob", reply.buttons[0].says).ok


# ---- offers


@pytest.fixture
def offered(house: House) -> House:
    """bob is offered a card."""
    house.say("bob", "request 1")
    house.round()
    assert house.books.requests[1].state is RequestState.OFFERED
    return house


@pytest.mark.parametrize("text", ["accept now", "accept #1 now", "yes tonight", "accept at 18:00"])
def test_accept_with_a_time(offered: House, text: str) -> None:
    reply = offered.say("bob", text)
    assert reply.ok, text_of(reply)
    assert offered.lease("1").state is LeaseState.RESERVED
    assert agreements(offered) == [("1", AgreementKind.NAMED)]


def test_accept_without_a_time_says_what_is_missing(offered: House) -> None:
    reply = offered.say("bob", "accept")
    assert not reply.ok and "accept now" in text_of(reply)
    assert offered.books.requests[1].state is RequestState.OFFERED


def test_an_offer_of_somebody_else_is_not_accepted(offered: House) -> None:
    for text in ("accept #1 now", "pass #1"):
        assert "not yours" in text_of(offered.say("ada", text))
    assert offered.books.requests[1].state is RequestState.OFFERED


def test_accepted_twice_the_second_answer_says_what_holds(offered: House) -> None:
    offered.say("bob", "accept now")
    reply = offered.say("bob", "accept #1 now")
    assert not reply.ok and "Too late" in text_of(reply)


def test_accepted_after_its_time(offered: House) -> None:
    offered.clock.forward(minutes=31)
    reply = offered.say("bob", "accept now")
    assert not reply.ok and "Too late" in text_of(reply)


def test_pass_keeps_the_place_and_can_be_taken_back(offered: House) -> None:
    assert offered.say("bob", "pass").ok
    request = offered.books.requests[1]
    assert request.state is RequestState.QUEUED and request.rest is not None
    assert offered.books.holds == frozenset()
    assert offered.say("bob", "accept now").ok
    offered.round()
    assert offered.lease("1").state is LeaseState.RESERVED


def test_a_time_for_the_machine_is_a_yes_to_the_offer(offered: House) -> None:
    assert offered.say("bob", "window vm-r now").ok
    assert offered.lease("1").state is LeaseState.RESERVED
    assert agreements(offered) == [("1", AgreementKind.NAMED)]


def test_a_time_that_comes_after_the_offer_is_over_is_agreed_all_the_same(offered: House) -> None:
    for _ in range(2):  # nobody answers, while somebody could
        offered.clock.forward(minutes=14)
        offered.round()
    offered.clock.forward(minutes=12)
    assert offered.say("bob", "window vm-r today").ok
    assert "1" not in offered.books.leases
    offered.round()
    offered.round()
    assert offered.lease("1").state is LeaseState.RESERVED


def test_a_time_ends_a_rest(offered: House) -> None:
    offered.say("bob", "pass")
    assert offered.books.requests[1].rest is not None
    assert offered.say("bob", "window today").ok
    assert offered.books.requests[1].rest is None
    offered.round()
    assert offered.lease("1").state is LeaseState.RESERVED


def test_a_time_is_no_longer_ask_me_first(house: House) -> None:
    house.say("bob", "request 1 restart ask")
    assert house.say("bob", "window today").ok
    assert not house.books.requests[1].ask_first


# ---- not now, stop, start


def test_not_now_skips_the_night_and_only_who_said_it_takes_it_back(house: House) -> None:
    house.say("dana", "machine owners vm-r @bob @carol")
    house.say("bob", "window vm-r nights")
    assert house.say("bob", "notnow vm-r").ok
    (agreement,) = house.books.agreements.values()
    assert [skip.by for skip in agreement.skips] == ["U2BOB"]
    house.say("carol", "notnow vm-r undo")
    assert house.books.agreements[agreement.number].skips == agreement.skips
    assert house.say("bob", "not now vm-r undo").ok
    assert house.books.agreements[agreement.number].skips == ()


def test_not_now_after_the_last_call_leaves_the_machine_on(house: House) -> None:
    house.say("bob", "request 1 restart now")
    house.round(2)
    assert house.say("bob", "notnow").ok
    house.forward(90)
    assert house.lab.calls == []
    assert house.lab.vms[uuid("vm-r")].power is Power.ON


def test_stop_while_it_is_planned(house: House) -> None:
    house.say("bob", "request 1 restart now")
    house.round(2)
    reply = house.say("bob", "stop m1")
    assert reply.ok, text_of(reply)
    house.forward(90)
    assert house.lab.calls == []


def test_stop_while_the_guest_shuts_down_brings_it_back_unchanged(house: House) -> None:
    house.lab.stubborn.add(uuid("vm-r"))
    house.say("bob", "request 1 restart now")
    while not house.lab.calls:
        house.forward(0.5, 0.5)
    assert house.books.moves[1].state is MoveState.STOPPING
    assert house.say("bob", "stop").ok
    house.lab.vms[uuid("vm-r")].power = Power.OFF
    house.forward(5, 0.5)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON
    assert house.lab.vms[uuid("vm-r")].cards == []


def test_stop_of_somebody_elses(house: House) -> None:
    house.say("bob", "request 1 restart now")
    house.round(2)
    reply = house.say("carol", "stop m1")
    assert not reply.ok and "not yours" in text_of(reply)
    assert not house.say("carol", "stop").ok


def test_a_machine_left_off_with_its_card_is_started_by_its_owner(house: House) -> None:
    house.lab.vms[uuid("vm-r")].power = Power.OFF
    house.say("bob", "request 1")
    house.forward(3, 0.5)
    assert house.card_of("vm-r") == ["T4-1"], "off is a window"
    assert house.lab.vms[uuid("vm-r")].power is Power.OFF, "left off, as it was"
    for who, said in (("bob", "mine"), ("ada", "status")):
        assert "vm-r, which is off; its time starts when that is on, or " in text_of(house.say(who, said))
    assert "vm-r is off; its time starts when that is on, or " in text_of(house.say("bob", "why"))
    house.forward(13 * 60, 30)
    assert house.lease("1").state is LeaseState.ACTIVE
    assert "vm-r is off now." in text_of(house.say("bob", "why"))
    assert "not yours" in text_of(house.say("ada", "start vm-r"))
    assert house.say("bob", "start vm-r").ok
    house.forward(5, 0.5)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON
    house.forward(30)
    assert house.lease("1").state is LeaseState.ACTIVE


def test_when_done_waits_for_the_end_of_work(house: House) -> None:
    from bot.domain.model import Job, Reading

    def guest(busy: bool, seq: int, free_since: datetime | None) -> None:
        now = house.clock.now()
        jobs = (Job("bob", "python train.py", now, True),) if busy else ()
        reading = Reading(uuid("vm-r"), now, "boot", seq, False, 0, jobs=jobs, free_since=free_since, first_at=now)
        house.guest("vm-r", reading)

    house.say("bob", "request 1 restart when done")
    for minute in range(20):
        guest(True, minute, None)
        house.forward(1)
    assert house.lab.calls == []
    free = house.clock.now()
    for minute in range(30):
        if house.lab.calls:
            break
        guest(False, 100 + minute, free)
        house.forward(1)
    assert house.lab.calls
    assert house.clock.now() - free >= timedelta(minutes=10)


def test_ask_first_takes_back_all_that_one_agreed_to(house: House) -> None:
    """After "ask me first" nothing that the same person said before lets the machine restart."""
    for text in ("window vm-r nights", "window vm-r at 23:00", "window vm-r ask"):
        assert house.say("bob", text).ok
    assert not [a for a in house.books.agreements.values() if a.state.value == "open"]


def test_what_was_taken_back_is_not_called_agreed(house: House) -> None:
    """The answer to `remove` is about the books after it."""
    assert house.say("bob", "window vm-r nights").ok
    assert "Still agreed" not in text_of(house.say("bob", "window vm-r remove"))


# ---- taken back: what was named, and nothing else


def test_remove_takes_back_only_the_time_that_was_named(house: House) -> None:
    assert house.say("bob", "window vm-r weekdays 12:00-14:00").ok
    for other in ("nights", "weekdays 12:00-13:00", "tonight", "now", "when done", "ask"):
        reply = house.say("bob", f"window vm-r {other} remove")
        assert not reply.ok and "Taken back" not in text_of(reply), other
        assert "agreed is: weekdays 12:00-14:00" in text_of(reply), text_of(reply)
        assert "window vm-r weekdays 12:00-14:00 remove" in text_of(reply)
    assert house.say("bob", "window vm-r tonight").ok
    assert house.say("bob", "window vm-r tonight remove").ok
    (left,) = [a for a in house.books.agreements.values() if a.state is AgreementState.OPEN]
    assert left.pattern is not None
    assert house.say("bob", "window vm-r weekdays 12-14 remove").ok


@pytest.mark.parametrize("when", ["today", "tonight", "at 18:00", "when done", "now", "at 2026-03-28 02:30"])
def test_each_time_can_be_taken_back_by_its_name(house: House, when: str) -> None:
    assert house.say("bob", f"window vm-r {when}").ok
    house.forward(2)
    assert house.say("bob", "window vm-r nights").ok
    assert house.say("bob", f"window vm-r {when} remove").ok
    (left,) = [a for a in house.books.agreements.values() if a.state is AgreementState.OPEN]
    assert left.pattern is not None


def test_a_date_after_at_is_that_day(house: House) -> None:
    """A time of day by itself has passed today, which is not what was said."""
    for said in ("at 2026-03-28 02:30", "at 28 mar 02:30", "at 2026-03-28T02:30"):
        reply = house.say("bob", f"window vm-r {said}")
        assert reply.ok and "28 01:30" in text_of(reply), text_of(reply)
    answer = text_of(house.say("bob", "window vm-r someday 02:30"))
    assert "someday" in answer and "passed" not in answer
