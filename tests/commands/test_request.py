"""request: what is understood, what is recorded, what is answered."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.model import AgreementKind, LeaseState, Length, Request, RequestState, Turn
from tests.fakes import text_of, uuid
from tests.house import House


def only(house: House) -> Request:
    """The only request of the books."""
    (request,) = house.books.requests.values()
    return request


@pytest.mark.parametrize(
    "text",
    [
        "request",
        "request 1",
        "request 1 T4",
        "request 1 t4 on vm-r",
        "request on vm-r one card",
        "need 1",
        "request a gpu",
    ],
)
def test_the_same_wish_in_other_words(house: House, text: str) -> None:
    reply = house.say("bob", text)
    if "one" in text:
        assert not reply.ok and house.books.requests == {}
        return
    assert reply.ok, text_of(reply)
    request = only(house)
    assert (request.person, request.count, request.kind, request.machine) == ("U2BOB", 1, "T4", uuid("vm-r"))
    assert (request.state, request.asked, request.number) == (RequestState.QUEUED, house.clock.now(), 1)


def test_nobody_is_given_a_card_by_asking(house: House) -> None:
    house.say("bob", "request 1")
    assert house.books.holds == frozenset()
    assert house.books.leases == {}


def test_the_answer_names_place_terms_and_asks_about_the_restart(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    reply = house.say("bob", "request 1")
    text = text_of(reply)
    assert "vm-r" in text
    assert "restart" in text
    assert reply.buttons and all(button.says.startswith("window #2 ") for button in reply.buttons)


@pytest.mark.parametrize(
    ("words", "length"),
    [
        ("for 8h", Length(lasting=timedelta(hours=8))),
        ("8h", Length(lasting=timedelta(hours=8))),
        ("for 3d", Length(lasting=timedelta(days=3))),
        ("until fri 18:00", Length(until=datetime(2026, 3, 20, 17, 0, tzinfo=UTC))),
        ("", Length()),
    ],
)
def test_until_when(house: House, words: str, length: Length) -> None:
    assert house.say("bob", f"request 1 {words}").ok
    assert only(house).terms.length == length


def test_a_time_that_may_be_over_before_its_turn_says_what_counts_then(house: House) -> None:
    later = " or, if it comes only after that, until 18:00 of the next working day."
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4", until="until fri 18:00")
    assert later in " ".join(text_of(house.say("bob", "request 1 until thu 12:00")).split())
    assert later not in " ".join(text_of(house.say("carol", "request 1 for 8h")).split())


@pytest.mark.parametrize(
    "words", ["restart tonight", "restart now", "restart any time today", "restart when done", "tonight"]
)
def test_a_restart_that_is_named_is_agreed_in_the_same_transaction(house: House, words: str) -> None:
    assert house.say("bob", f"request 1 {words}").ok
    (agreement,) = house.books.agreements.values()
    assert (agreement.machine, agreement.person, agreement.label) == (uuid("vm-r"), "U2BOB", str(only(house).number))
    assert agreement.kind is AgreementKind.NAMED


def test_ask_me_first_makes_no_agreement(house: House) -> None:
    assert house.say("bob", "request 1 restart ask").ok
    assert house.books.agreements == {}
    assert only(house).ask_first


def test_said_again_it_changes_the_waiting_request(house: House) -> None:
    house.say("bob", "request 1")
    house.clock.forward(minutes=5)
    assert house.say("bob", "request 1 until fri 18:00 restart tonight").ok
    request = only(house)
    assert request.terms.length.until == datetime(2026, 3, 20, 17, 0, tzinfo=UTC)
    assert len(house.books.agreements) == 1
    assert request.asked == house.clock.now() - timedelta(minutes=5), "the place is kept"


def test_the_same_again_is_answered_with_its_number(house: House) -> None:
    house.say("bob", "request 1")
    reply = house.say("bob", "request 1")
    assert not reply.ok
    assert "#1" in text_of(reply)
    assert len(house.books.requests) == 1


def test_with_several_machines_there_is_a_menu_that_repeats_the_command(house: House) -> None:
    house.say("dana", "machine add vm-spare owners @bob")
    reply = house.say("bob", "request 2 until fri 18:00")
    assert not reply.ok
    assert [button.says for button in reply.buttons] == [
        "request 2 until fri 18:00 on vm-r",
        "request 2 until fri 18:00 on vm-spare",
    ]
    assert house.books.requests == {}
    assert house.say("bob", reply.buttons[1].says).ok
    assert (only(house).machine, only(house).count) == (uuid("vm-spare"), 2)


def test_the_menu_keeps_a_reason_last(house: House) -> None:
    house.say("dana", "machine add vm-spare owners @bob")
    reply = house.say("bob", "request 1 because my thesis")
    assert house.say("bob", reply.buttons[0].says).ok
    assert (only(house).machine, only(house).because) == (uuid("vm-r"), "my thesis")


def test_who_owns_no_machine_is_told_so(house: House) -> None:
    reply = house.say("dana", "request 1")
    assert not reply.ok
    assert "no machine of yours" in text_of(reply)


def test_more_requests_than_the_cap_are_refused(house: House) -> None:
    house.say("dana", "machine add vm-spare owners @bob")
    house.say("dana", "machine owners vm-train @carol @bob")
    assert house.say("bob", "request 1 on vm-r").ok
    assert house.say("bob", "request 1 on vm-spare").ok
    reply = house.say("bob", "request 1 on vm-train")
    assert not reply.ok and "2" in text_of(reply)


def test_the_second_in_line_is_told_who_is_before(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3")
    house.say("carol", "request 1")
    house.clock.forward(minutes=1)
    reply = house.say("bob", "request 2")
    assert "second in line" in text_of(reply)
    assert all(hold.turn is Turn.HAS for hold in house.books.holds)


def test_another_owner_of_the_machine_has_a_place_of_their_own(house: House) -> None:
    house.say("dana", "machine owners vm-r @bob @ada")
    house.lend("vm-train", "T4-1", "T4-2", "T4-3", "T4-4")
    assert house.say("bob", "request 2 on vm-r until fri 18:00 because of a paper").ok
    before = house.books.requests[2]
    reply = house.say("ada", "request 1 on vm-r until thu 12:00 because of mine")
    assert reply.ok and "second in line" in text_of(reply) and "(#3)" in text_of(reply)
    assert house.books.requests[2] == before and house.books.requests[3].person == "U1ADA"
    assert "#3 1 T4 for vm-r" in text_of(house.say("ada", "mine"))
    again = house.say("ada", "request 1 on vm-r until fri 12:00")
    assert again.ok and len(house.books.requests) == 2 and house.books.requests[2] == before
    house.say("carol", "release T4-1 T4-2 T4-3 now")
    house.say("bob", "window vm-r today")
    house.forward(90, 3)
    labels = {x.label: (x.state, len(x.slots)) for x in house.books.leases.values() if x.machine == uuid("vm-r")}
    assert labels == {"2": (LeaseState.ACTIVE, 2), "3": (LeaseState.ACTIVE, 1)}
    assert len(house.card_of("vm-r")) == 3


@pytest.mark.parametrize("owner", ["bob", "ada"])
def test_ask_me_first_is_kept_whatever_stands_for_the_machine(house: House, owner: str) -> None:
    """Whose standing nights they are does not matter: the card is offered, and what is echoed is the same."""
    house.say("dana", "machine owners vm-r @bob @ada")
    assert house.say(owner, "window vm-r nights").ok
    reply = house.say("bob", "request 1 on vm-r restart ask")
    assert "I ask you before vm-r restarts." in text_of(reply) and "Agreed" not in text_of(reply)
    house.round()
    request = house.books.requests[1]
    assert (request.state, house.books.leases) == (RequestState.OFFERED, {})
    assert house.say("bob", "accept tonight").ok
    assert house.books.requests[1].state is RequestState.LEASED
