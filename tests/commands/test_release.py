"""release, keep and extend: what a holder says about a card."""

from datetime import timedelta

import pytest

from bot.domain.model import AgreementKind, LeaseState, Power, RequestState
from bot.service.ports import Reply
from tests.fakes import text_of, uuid
from tests.house import House


@pytest.fixture
def three(house: House) -> House:
    """ada has three cards under #1."""
    house.lend("vm-python", "T4-1", "T4-2", "T4-3")
    return house


def states(house: House) -> dict[str, tuple[LeaseState, tuple[str, ...]]]:
    """Leases by label."""
    return {label: (lease.state, lease.slots) for label, lease in house.books.leases.items()}


def test_a_bare_release_gives_all_back_agrees_to_no_restart_and_asks(three: House) -> None:
    reply = three.say("ada", "release")
    assert reply.ok
    assert states(three) == {"1": (LeaseState.RETURNING, ("T4-1", "T4-2", "T4-3"))}
    assert three.books.agreements == {}
    assert "When may vm-python restart" in text_of(reply)
    assert [button.says for button in reply.buttons] == [
        "window #1 when done",
        "window #1 tonight",
        "window #1 now",
    ]


@pytest.mark.parametrize(
    "text", ["release T4-2", "release t4-2", "give back T4-2", "return T4-2", "release the card T4-2 please"]
)
def test_one_card_is_a_part_of_its_own(three: House, text: str) -> None:
    assert three.say("ada", text).ok
    assert states(three) == {"1": (LeaseState.ACTIVE, ("T4-1", "T4-3")), "1b": (LeaseState.RETURNING, ("T4-2",))}


def test_a_count_gives_the_last_ones_back(three: House) -> None:
    assert three.say("ada", "release 2").ok
    assert states(three) == {"1": (LeaseState.ACTIVE, ("T4-1",)), "1b": (LeaseState.RETURNING, ("T4-2", "T4-3"))}


@pytest.mark.parametrize(
    "text", ["release #1", "release all", "release T4-1 T4-2 T4-3", "release 3", "release #1 T4-2"]
)
def test_all_of_it(three: House, text: str) -> None:
    assert three.say("ada", text).ok
    assert states(three) == {"1": (LeaseState.RETURNING, ("T4-1", "T4-2", "T4-3"))}


@pytest.mark.parametrize("when", ["now", "tonight", "when done", "at 18:00", "today"])
def test_a_time_is_agreed_in_the_same_transaction_for_what_comes_off(three: House, when: str) -> None:
    reply = three.say("ada", f"release T4-1 {when}")
    assert reply.ok, text_of(reply)
    (agreement,) = three.books.agreements.values()
    assert (agreement.label, agreement.machine, agreement.person) == ("1b", uuid("vm-python"), "U1ADA")
    assert agreement.kind is AgreementKind.NAMED
    assert agreement.now is (when == "now") and agreement.when_done is (when == "when done")


def test_said_again_with_a_time_it_names_the_restart(three: House) -> None:
    three.say("ada", "release")
    reply = three.say("ada", "release tonight")
    assert reply.ok
    assert [a.label for a in three.books.agreements.values()] == ["1"]
    assert states(three) == {"1": (LeaseState.RETURNING, ("T4-1", "T4-2", "T4-3"))}


def test_somebody_elses_card_is_refused(three: House) -> None:
    for text in ("release T4-1", "release #1", "release #1 now", "keep #1", "extend #1 4h"):
        before = three.books
        reply = three.say("bob", text)
        assert not reply.ok
        assert "U1ADA" in text_of(reply) or "not yours" in text_of(reply)
        assert three.books == before, text


def test_leaving_the_line(house: House) -> None:
    house.say("bob", "request 1")
    reply = house.say("bob", "cancel")
    assert reply.ok and "left the line" in text_of(reply)
    assert house.books.requests[1].state is RequestState.WITHDRAWN


@pytest.mark.parametrize("text", ["cancel", "leave", "leave the line", "cancel my request", "cancel #1", "cancel all"])
def test_what_waits_is_cancelled(house: House, text: str) -> None:
    house.say("bob", "request 1")
    assert house.say("bob", text).ok
    assert house.books.requests[1].state is RequestState.WITHDRAWN


def test_what_is_reserved_and_not_put_in_is_cancelled(house: House) -> None:
    house.say("bob", "request 2 restart tonight")
    house.round()
    assert house.lease("1").state is LeaseState.RESERVED
    assert house.say("bob", "cancel").ok
    assert house.books.requests[1].state is RequestState.WITHDRAWN and house.books.holds == frozenset()


@pytest.mark.parametrize("text", ["cancel", "leave", "cancel #1", "cancel T4-2", "cancel all", "leave the line"])
def test_cancel_gives_no_card_up_that_works_and_asks_what_is_meant(three: House, text: str) -> None:
    before = three.books
    reply = three.say("ada", text)
    assert not reply.ok and three.books == before
    assert "What do you mean?" in text_of(reply) and "/gpu release #1" in text_of(reply)
    assert [button.says for button in reply.buttons] == ["release #1", "mine"]


def test_cancel_takes_the_place_and_leaves_the_card(three: House) -> None:
    three.say("ada", "request 1")
    assert three.say("ada", "cancel").ok
    assert three.books.requests[2].state is RequestState.WITHDRAWN
    assert three.lease("1").state is LeaseState.ACTIVE


def test_cancel_of_a_card_on_its_way_back_names_keep_and_of_a_restart_notnow(three: House) -> None:
    three.say("ada", "release tonight")
    three.round()
    reply = three.say("ada", "cancel")
    assert not reply.ok and [button.says for button in reply.buttons] == ["keep #1", "notnow vm-python", "mine"]


def test_cancel_of_nothing_says_so(house: House) -> None:
    reply = house.say("bob", "cancel")
    assert not reply.ok and "nothing to cancel" in text_of(reply)


def test_cancel_of_what_is_somebody_elses_is_refused(three: House) -> None:
    reply = three.say("bob", "cancel #1")
    assert not reply.ok and "not yours" in text_of(reply)


def test_a_place_of_somebody_else_is_not_given_up(house: House) -> None:
    house.say("bob", "request 1")
    reply = house.say("ada", "release #1")
    assert not reply.ok and "not yours" in text_of(reply)
    assert house.books.requests[1].state is RequestState.QUEUED


def test_with_several_things_there_is_a_menu(three: House) -> None:
    three.say("ada", "request 1")
    reply = three.say("ada", "release tonight")
    assert not reply.ok
    assert [button.says for button in reply.buttons] == ["release tonight #1", "release tonight #2"]
    assert three.say("ada", reply.buttons[1].says).ok
    assert three.books.requests[2].state is RequestState.WITHDRAWN
    assert three.lease("1").state is LeaseState.ACTIVE


def test_a_part_of_what_is_not_in_yet_is_refused(house: House) -> None:
    house.say("bob", "request 2 restart tonight")
    house.round()
    assert house.lease("1").state is LeaseState.RESERVED
    reply = house.say("bob", "release T4-1")
    assert not reply.ok and "release #1" in text_of(reply)
    assert house.lease("1").state is LeaseState.RESERVED
    assert house.say("bob", "release #1").ok
    assert house.books.requests[1].state is RequestState.WITHDRAWN
    assert house.books.holds == frozenset()


def test_released_on_its_way_it_comes_off_again_and_the_place_is_given_up(house: House) -> None:
    house.say("bob", "request 1 restart now")
    while (
        house.books.leases.get("1") is None
        or house.lease("1").state is not LeaseState.MOVING
        or not house.card_of("vm-r")
    ):
        house.forward(0.5, 0.5)
    assert house.say("bob", "release now").ok
    house.forward(60, 0.5)
    assert house.lease("1").state is LeaseState.ENDED
    assert house.card_of("vm-r") == []
    assert house.lab.vms[uuid("vm-r")].power is Power.ON
    assert house.books.requests[1].state is RequestState.WITHDRAWN


# ---- keep


def test_keep_takes_a_return_back(three: House) -> None:
    three.say("ada", "release")
    reply = three.say("ada", "keep")
    assert reply.ok
    assert three.lease("1").state is LeaseState.ACTIVE


def test_keep_until_makes_it_longer_as_well(three: House) -> None:
    before = three.lease("1").end
    three.say("ada", "release T4-1")
    assert three.say("ada", "keep #1b until fri 18:00").ok
    after = three.lease("1b").end
    assert before is not None and after is not None and after > before


def test_what_was_promised_to_somebody_is_not_kept(three: House) -> None:
    three.say("ada", "release tonight")
    three.say("bob", "request 3 restart tonight")
    three.round()
    reply = three.say("ada", "keep")
    assert not reply.ok and "U2BOB" in text_of(reply)


def keeps(reply: Reply) -> list[str]:
    """What the buttons of an answer say of keeping."""
    return [button.says for button in reply.buttons if button.says.startswith("keep")]


def test_keep_is_offered_only_where_it_would_be_heard(three: House) -> None:
    """Whoever waits is promised a card by the next round, once it is known when it comes out: a button that is dead then is none."""
    three.say("bob", "request 4 restart when done")
    assert keeps(three.say("ada", "release T4-1 when done")) == ["keep #1b"]
    three.round()
    assert three.say("ada", "keep #1b").ok
    three.say("ada", "window vm-python nights")
    answer = three.say("ada", "release all when done")
    assert not keeps(answer) and "waits for them" in text_of(answer)
    labels = [label for label, lease in three.books.leases.items() if lease.state is LeaseState.RETURNING]
    for line in ("cancel", *(f"why #{label}" for label in labels)):
        assert not keeps(three.say("ada", line))
    three.round()
    assert not any(three.say("ada", f"keep #{label}").ok for label in labels)


def test_keep_is_offered_while_enough_lie_free_for_who_waits(three: House) -> None:
    three.say("bob", "request 1 restart when done")  # T4-4 is free
    assert keeps(three.say("ada", "release T4-1 when done")) == ["keep #1b"]
    three.round()
    assert three.say("ada", "keep #1b").ok


@pytest.mark.parametrize("waits", [False, True])
def test_what_another_owner_gave_back_is_offered_to_be_kept_only_then(three: House, waits: bool) -> None:
    three.say("dana", "machine owners vm-python @ada @carol")
    if waits:
        three.say("bob", "request 3 restart when done")
    three.say("carol", "window vm-python nights")
    assert three.say("carol", "release #1 when done because ada is ill").ok
    three.rounds.tell()
    told = [m for m in three.voice.said_to(three.people.find("ada").id) if "gave" in m]
    assert len(told) == 1 and ("Still needed" in told[0]) is not waits


# ---- extend


@pytest.mark.parametrize(("text", "hours"), [("extend 4h", 4), ("extend #1 1d", 24), ("longer for 2h", 2)])
def test_extend_by_a_length(three: House, text: str, hours: int) -> None:
    before = three.lease("1").end
    assert before is not None
    reply = three.say("ada", text)
    assert reply.ok, text_of(reply)
    assert three.lease("1").end == before + timedelta(hours=hours)


def test_extend_until_and_bare(three: House) -> None:
    assert three.say("ada", "extend until fri 18:00").ok
    end = three.lease("1").end
    assert end is not None and end.isoformat() == "2026-03-20T17:00:00+00:00"
    assert three.say("ada", "extend").ok
    longer = three.lease("1").end
    assert longer is not None and longer > end


def test_extend_beyond_what_is_allowed(three: House) -> None:
    before = three.lease("1")
    reply = three.say("ada", "extend 30d")
    assert not reply.ok and "14 days" in text_of(reply)
    assert three.lease("1") == before


def test_extend_while_others_wait_once_and_a_day(three: House) -> None:
    three.say("bob", "request 2")
    assert not three.say("ada", "extend 2d").ok
    assert three.say("ada", "extend 1d").ok
    assert not three.say("ada", "extend 1h").ok


@pytest.mark.parametrize("line", ["release now", "release all"])
def test_given_up_while_the_machine_goes_down_for_it_the_answer_says_that_it_goes_down(house: House, line: str) -> None:
    house.lab.stubborn.add(uuid("vm-r"))
    assert house.say("bob", "request 1 restart now").ok
    while not house.lab.calls:
        house.forward(0.5, 0.5)
    answer = text_of(house.say("bob", line))
    assert "Nothing restarts" not in answer and "does not restart" not in answer
    assert "vm-r is being restarted already, which cannot be called back: it comes on again unchanged." in answer
    house.lab.vms[uuid("vm-r")].power = Power.OFF
    house.forward(5, 0.5)
    assert house.lab.vms[uuid("vm-r")].power is Power.ON and house.card_of("vm-r") == []


def test_given_up_before_anything_goes_down_nothing_restarts(house: House) -> None:
    assert house.say("bob", "request 1 restart now").ok
    house.round()
    assert "Nothing restarts for that." in text_of(house.say("bob", "release"))
