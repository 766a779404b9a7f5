"""Several people and machines together, through both doors: what the rooms promise each other holds over a whole day."""

import threading
from datetime import timedelta

from bot.domain.model import BOT, Job, LeaseState, Login, MoveState, Power, Reading, RequestState
from bot.domain.news import CHANNEL
from bot.service.ports import Ask, Reply
from tests.fakes import text_of, uuid
from tests.house import House


def everything_is_sound(house: House) -> None:
    """No machine is left off, no card is in two machines, no hold outlives its lease, nothing waits to be said."""
    books = house.books
    assert all(vm.power is Power.ON for vm in house.lab.vms.values() if not vm.gone)
    cards = [card for vm in house.lab.vms.values() if not vm.gone for card in vm.cards]
    assert len(cards) == len(set(cards))
    open_labels = {
        label for label, lease in books.leases.items() if lease.state not in (LeaseState.ENDED, LeaseState.FAILED)
    }
    open_labels |= {str(n) for n, request in books.requests.items() if request.state is RequestState.OFFERED}
    assert {hold.label for hold in books.holds} <= open_labels
    assert house.store.pending() == 0


def test_three_people_share_four_cards_over_a_day(house: House) -> None:
    house.say("dana", "drain T4-4 because its self-test fails")
    house.say("ada", "request 3 restart now until fri 18:00")
    house.forward(30, 0.5)
    assert house.card_of("vm-python") == ["T4-1", "T4-2", "T4-3"]
    house.say("bob", "request 1")
    house.say("bob", "window any time today")
    house.say("carol", "request 2 restart tonight")
    assert house.say("ada", "release T4-1 now").ok
    house.forward(60, 0.5)
    assert (house.card_of("vm-python"), house.card_of("vm-r")) == (["T4-2", "T4-3"], ["T4-1"])
    assert house.say("ada", "release T4-2 T4-3 tonight").ok
    house.forward(60 * 10, 4)
    assert len(house.lab.calls) == 9, "nothing restarts before the night"
    house.forward(60 * 3, 1)
    assert (house.card_of("vm-python"), house.card_of("vm-train")) == ([], ["T4-2", "T4-3"])
    assert [call.machine for call in house.lab.calls].count(uuid("vm-train")) == 3, "both cards in one power cycle"
    assert "T4-4" in text_of(house.say("carol", "")) and "self-test" in text_of(house.say("carol", ""))
    everything_is_sound(house)


def test_what_is_said_in_the_channel_names_the_people_and_no_secret(house: House) -> None:
    house.say("bob", "request 1 restart now because <!here> hurry")
    house.forward(30, 0.5)
    for text in house.voice.said_to(CHANNEL):
        assert "U2BOB" in text


# ---- guests that speak


def report(house: House, boot: str, seq: int, cards: int, **more: object) -> None:
    """One word of vm-r's guest."""
    now = house.clock.now()
    house.guest("vm-r", Reading(uuid("vm-r"), now, boot, seq, False, cards, first_at=now, **more))  # type: ignore[arg-type]


def test_a_lease_begins_when_the_guest_sees_the_card(house: House) -> None:
    house.say("bob", "request 1 restart now")
    while not house.card_of("vm-r"):
        house.forward(0.5, 0.5)
    house.forward(3, 0.5)
    assert house.lease("1").state is LeaseState.MOVING
    report(house, "boot-2", 1, 1)
    house.forward(0.5, 0.5)
    assert house.lease("1").state is LeaseState.ACTIVE
    assert house.lease("1").guest_seen
    everything_is_sound(house)


def test_a_standing_window_is_not_used_while_somebody_works(house: House) -> None:
    now = house.clock.now()
    house.say("bob", "window nights")
    house.say("bob", "request 1")
    house.clock.forward(hours=12)
    for seq in range(60):
        job = Job("bob", "python train.py", now, True)
        report(house, "boot-1", seq, 0, jobs=(job,), logins=(Login("bob", now),))
        house.forward(1)
    assert house.lab.calls == []
    house.forward(60 * 12, 5)
    everything_is_sound(house)


# ---- the world moves by itself


def test_a_machine_that_is_deleted_loses_nothing_else(house: House) -> None:
    house.lend("vm-python", "T4-1")
    house.say("bob", "request 1")
    house.lab.vms[uuid("vm-python")].gone = True
    house.lab.vms[uuid("vm-r")].gone = True
    house.forward(5)
    assert house.lease("1").state is LeaseState.ENDED
    request = house.books.requests[2]
    assert request.state is RequestState.QUEUED and request.rest is not None, "its place is kept for another machine"
    assert not house.say("bob", "request 1").ok, "and no machine of bob's is left"
    assert "any more" in text_of(house.say("bob", "request 1 on vm-r"))
    assert house.say("carol", "request 1 restart now").ok
    house.forward(30, 0.5)
    assert house.card_of("vm-train")
    everything_is_sound(house)


def test_another_machine_takes_the_place_of_one_that_is_gone(house: House) -> None:
    house.say("bob", "request 2 because my thesis")
    house.say("carol", "request 1")
    house.lab.vms[uuid("vm-r")].gone = True
    house.forward(5)
    house.say("dana", "machine add vm-spare owners @bob")
    assert house.say("bob", "request restart now").ok
    request = house.books.requests[1]
    assert (request.machine, request.count, request.because) == (uuid("vm-spare"), 2, "my thesis")
    assert request.rest is None and request.asked == house.clock.now() - timedelta(minutes=5)
    assert len(house.books.requests) == 2
    house.forward(30, 0.5)
    assert len(house.card_of("vm-spare")) == 2
    everything_is_sound(house)


def test_a_machine_that_comes_back_has_its_request_back(house: House) -> None:
    house.say("bob", "request 1 restart now")
    house.lab.vms[uuid("vm-r")].gone = True
    house.forward(5)
    assert house.books.requests[1].rest is not None
    house.lab.vms[uuid("vm-r")].gone = False
    house.forward(2)
    assert house.books.requests[1].rest is None
    assert house.say("bob", "window now").ok
    house.forward(30, 0.5)
    assert house.card_of("vm-r") == ["T4-1"]


def test_vcenter_is_away_in_the_middle_of_a_move(house: House) -> None:
    house.say("bob", "request 1 restart now")
    while house.lab.vms[uuid("vm-r")].power is Power.ON:
        house.forward(0.5, 0.5)
    house.lab.away = True
    house.forward(20)
    house.lab.away = False
    house.forward(40, 0.5)
    assert house.card_of("vm-r") == ["T4-1"]
    everything_is_sound(house)


def test_a_user_who_starts_the_machine_meanwhile_is_not_fought(house: House) -> None:
    house.lab.stubborn.add(uuid("vm-r"))
    house.say("bob", "request 1 restart now")
    while not house.lab.calls:
        house.forward(0.5, 0.5)
    house.clock.forward(seconds=20)
    house.lab.vms[uuid("vm-r")].boot = house.clock.now()  # it went off and a user put it on again
    house.forward(60)
    assert len(house.lab.calls) == 1, "no second shutdown in this window"
    assert house.books.moves[1].state is MoveState.DROPPED
    everything_is_sound(house)


# ---- at the same time


def test_many_people_at_once_get_numbers_of_their_own(house: House) -> None:
    names = [f"vm-{n}" for n in range(12)]
    people = []
    for n, name in enumerate(names):
        person = type(house.people.by_id["U2BOB"])(f"U5P{n}", f"p{n}", "Europe/Berlin")
        house.people.by_id[person.id] = person
        house.lab.vms[uuid(name)] = type(house.lab.vms[uuid("vm-r")])()
        house.lab.names[uuid(name)] = name
        people.append(person)
    house.store.keep_look(house.lab.look())
    for name, person in zip(names, people, strict=True):
        assert house.say("dana", f"machine add {name} owners @{person.name}").ok
    start = threading.Barrier(len(people) + 1)
    answers: list[Reply] = []

    def ask(person: str) -> None:
        start.wait(10)
        answers.append(house.desk.hear(Ask(person, "request 1 restart now")))

    threads = [threading.Thread(target=ask, args=(person.id,)) for person in people]
    for thread in threads:
        thread.start()
    start.wait(10)
    for _ in range(5):
        house.rounds.round()
    for thread in threads:
        thread.join(20)
    assert [answer.ok for answer in answers] == [True] * len(people)
    assert sorted(house.books.requests) == list(range(1, len(people) + 1))
    house.forward(40, 0.5)
    assert sum(len(vm.cards) for vm in house.lab.vms.values()) == 4, "four cards, each in one machine"
    everything_is_sound(house)


def test_the_last_card_goes_to_one(house: House) -> None:
    for n in (1, 2, 3):
        house.say("dana", f"drain T4-{n} because loud")
    start = threading.Barrier(3)
    replies: list[Reply] = []

    def ask(name: str) -> None:
        start.wait(10)
        replies.append(house.say(name, "request 1 restart now"))

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("ada", "bob", "carol")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [reply.ok for reply in replies] == [True] * 3
    house.forward(10, 0.5)
    assert [hold.slot for hold in house.books.holds] == ["T4-4"]
    first = min(house.books.requests.values(), key=lambda request: (request.asked, request.number))
    assert {hold.label for hold in house.books.holds} == {str(first.number)}


def test_the_ledger_says_who_did_each_thing(house: House) -> None:
    house.say("bob", "request 1 restart now")
    house.forward(30, 0.5)
    who = {line.what: line.who for line in house.store.ledger(limit=1000)}
    assert who["request.asked"] == "U2BOB"
    assert BOT in who.values()
