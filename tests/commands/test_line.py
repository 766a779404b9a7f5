"""What one answer says of the line holds in the transaction that gave it, and nothing that is said of it contradicts itself."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.model import AgreementState, LeaseState, RequestState
from bot.domain.news import CHANNEL
from bot.service.ports import Button
from tests.fakes import text_of
from tests.house import House


def said_to(house: House, person: str) -> str:
    """The messages that stand in somebody's eyes now."""
    return "\n".join(text_of(reply) for to, reply in house.voice.standing.values() if to == person)


def offered_button(house: House, person: str) -> Button:
    """The first answer of the one offer that stands."""
    (reply,) = [
        r
        for to, r in house.voice.standing.values()
        if to == person and any(b.says.startswith("accept") for b in r.buttons)
    ]
    return reply.buttons[0]


# ---- offers


@pytest.fixture
def coming(house: House) -> House:
    """ada gives two cards back tonight; carol, who named no time, is offered them for then."""
    house.lend("vm-python", "T4-1", "T4-4")
    house.lend("vm-r", "T4-2", "T4-3")
    house.say("carol", "request 2")
    house.say("ada", "release #1 tonight")
    house.round()
    assert house.books.requests[3].state is RequestState.OFFERED
    assert "2 T4 will be free for you, likely soon after" in said_to(house, "U3CAROL")
    return house


def test_an_offer_whose_cards_are_there_sooner_is_edited(coming: House) -> None:
    posts = len([p for p, _ in coming.voice.standing.values() if p == "U3CAROL"])
    coming.say("ada", "release #1 now")
    coming.forward(6)
    assert not coming.card_of("vm-python")
    assert coming.books.requests[3].state is RequestState.OFFERED
    offer = said_to(coming, "U3CAROL")
    assert "2 T4 are free for you. Shall vm-train restart now?" in offer and "will be free" not in offer
    assert offered_button(coming, "U3CAROL").label == "Restart now"
    assert len([p for p, _ in coming.voice.standing.values() if p == "U3CAROL"]) == posts, "edited, not said again"


def test_an_offer_whose_cards_come_at_another_time_is_edited(coming: House) -> None:
    before = coming.books.requests[3].offer
    coming.say("ada", "window #1 at 14:00")
    coming.round()
    after = coming.books.requests[3].offer
    assert before is not None and after is not None and after.free_at != before.free_at
    assert after.free_at == datetime(2026, 3, 16, 13, tzinfo=UTC)
    assert (after.made, after.accept_by) == (before.made, before.accept_by)


def test_an_offer_whose_cards_come_at_no_known_time_says_so(coming: House) -> None:
    coming.say("ada", "window #1 remove")
    coming.round()
    assert "2 T4 will be free for you; no time is agreed for that just now." in said_to(coming, "U3CAROL")
    assert offered_button(coming, "U3CAROL").label == "As soon as they are there"
    coming.say("ada", "window #1 tonight")
    coming.round()
    assert "2 T4 will be free for you, likely soon after" in said_to(coming, "U3CAROL")


@pytest.mark.parametrize("said", ["notnow", "window #1 remove"])
def test_what_comes_back_at_no_known_time_is_not_offered(house: House, said: str) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    house.say("ada", "release #1 tonight")
    house.say("ada", said)
    house.say("carol", "request 2")
    house.round()
    assert house.books.requests[2].state is RequestState.QUEUED


def test_what_comes_back_in_a_night_that_comes_again_is_offered_for_then(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    house.say("ada", "window nights")
    house.say("ada", "release #1")
    house.say("carol", "request 2")
    house.round()
    offer = house.books.requests[2].offer
    assert offer is not None and offer.free_at == datetime(2026, 3, 16, 21, tzinfo=UTC)


def test_an_offer_is_not_edited_while_nothing_changes(coming: House) -> None:
    offer, told = coming.books.requests[3].offer, dict(coming.voice.standing)
    coming.forward(10)
    assert coming.books.requests[3].offer == offer
    mine = [at for at, (to, _) in told.items() if to == "U3CAROL"]
    assert mine and all(coming.voice.standing[at] == told[at] for at in mine)


def test_why_of_an_offer_does_not_say_that_its_cards_are_kept_for_somebody(house: House) -> None:
    house.say("bob", "request 2")
    house.round()
    text = text_of(house.say("bob", "why"))
    assert "2 T4 are offered, answer by" in text
    assert "kept for" not in text
    assert "only the restart is missing" in text


def test_what_is_offered_is_called_so_on_the_board(house: House) -> None:
    house.say("bob", "request 2")
    house.round()
    assert "2 offered, 2 free" in text_of(house.say("ada", "status"))


# ---- passed, and taken after all


def test_passed_and_alone_nobody_is_said_to_be_asked(house: House) -> None:
    house.say("bob", "request 1")
    house.round()
    text = text_of(house.say("bob", "pass"))
    assert "Nobody else is in line" in text and "next in line is asked" not in text


def test_passed_and_not_alone_the_next_is_asked(house: House) -> None:
    for card in ("T4-2", "T4-3", "T4-4"):
        house.say("dana", f"drain {card} because a test")
    house.say("bob", "request 1")
    house.say("carol", "request 1")
    house.round()
    assert "The next in line is asked" in text_of(house.say("bob", "pass"))


@pytest.mark.parametrize("passes", [True, False])
def test_accept_with_a_time_while_nothing_is_offered_says_what_holds(house: House, passes: bool) -> None:
    house.say("carol", "request 2")
    if passes:
        house.round()
        house.say("carol", "pass")
    reply = house.say("carol", "accept tonight")
    text = text_of(reply)
    assert reply.ok, text
    assert text.startswith("4 T4 are free, and you are first in line for 2, with vm-train (#1).")
    assert "Agreed: vm-train may restart between" in text
    assert "Nothing is offered" not in text
    (agreement,) = house.books.agreements.values()
    assert (agreement.label, agreement.state) == ("1", AgreementState.OPEN)
    house.round()
    assert house.lease("1").state is LeaseState.RESERVED


def test_accept_without_a_time_while_nothing_is_offered_is_refused_without_the_verb(house: House) -> None:
    house.say("carol", "request 2")
    text = text_of(house.say("carol", "accept"))
    assert text.startswith("That does not work: nothing is offered to you now.")


# ---- the same card again


def test_a_card_of_ones_own_that_goes_on_to_the_next_request(house: House) -> None:
    house.lend("vm-train", "T4-4")
    house.lend("vm-r", "T4-1")
    house.say("carol", "release #1")
    house.say("carol", "request 3")
    house.round()
    offer = said_to(house, "U3CAROL")
    assert "2 more T4 are free for you" in offer and "T4-4 is in vm-train already, and stays." in offer
    assert house.say("carol", "accept now").ok
    house.round(2)
    told = said_to(house, "U3CAROL")
    assert "T4-4 stays in vm-train, for your next request (#3)." in told
    assert "without a restart" not in told and "nothing was switched off" not in told
    assert "vm-train still restarts once, for T4-2 and T4-3" in told
    house.forward(8)
    channel = said_to(house, CHANNEL)
    assert "T4-4 stays in vm-train of" in channel and "back into" not in channel


# ---- old buttons


def test_given_back_twice_is_said_to_be_given_back_already(house: House) -> None:
    house.lend("vm-python", "T4-1")
    assert "T4-1 is given back, thank you." in text_of(house.say("ada", "release #1"))
    again = text_of(house.say("ada", "release #1"))
    assert again.startswith("T4-1 is given back already.") and "thank you" not in again


def test_a_button_about_what_is_over_touches_nothing(house: House) -> None:
    house.lend("vm-python", "T4-1")
    house.say("ada", "release #1 now")
    house.forward(6)
    assert house.lease("1").state is LeaseState.ENDED
    house.say("ada", "request 1")
    for line in ("release #1", "window #1 now", "extend #1 4h", "keep #1"):
        reply = house.say("ada", line)
        assert not reply.ok and "over" in text_of(reply), (line, text_of(reply))
    assert house.books.requests[2].state is RequestState.QUEUED
    assert not [a for a in house.books.agreements.values() if a.state is AgreementState.OPEN]


def test_a_time_for_a_number_is_for_that_number_alone(house: House) -> None:
    house.lend("vm-python", "T4-1")
    house.lend("vm-python", "T4-2")
    house.say("ada", "release all")
    assert house.say("ada", "window #2 tonight").ok
    assert [a.label for a in house.books.agreements.values()] == ["2"]
    assert house.say("ada", "window #1 at 18:00").ok
    reply = house.say("ada", "window #2 tonight")
    assert reply.buttons[0].says == "window #2 remove"
    assert house.say("ada", "window #2 remove").ok
    assert [a.label for a in house.books.agreements.values() if a.state is AgreementState.OPEN] == ["1"]


def test_a_time_for_somebody_elses_number_is_refused(house: House) -> None:
    house.lend("vm-python", "T4-1")
    house.say("ada", "release all")
    assert "not yours" in text_of(house.say("bob", "window #1 now"))
    assert "not for that machine" in text_of(house.say("ada", "window vm-r #1 now"))
    assert not house.books.agreements


def test_a_time_for_a_card_that_works_is_refused(house: House) -> None:
    house.lend("vm-python", "T4-1")
    assert not house.say("ada", "window #1 now").ok
    assert not house.books.agreements


# ---- times that are agreed


def test_kept_after_all_takes_back_what_was_agreed_for_the_return(house: House) -> None:
    house.lend("vm-r", "T4-3")
    house.say("bob", "window nights")
    house.say("bob", "release T4-3 when done")
    assert len([a for a in house.books.agreements.values() if a.state is AgreementState.OPEN]) == 2
    assert house.say("bob", "keep").ok
    text = text_of(house.say("bob", "windows"))
    assert "for #1" not in text and "every day" in text


def test_a_time_that_was_put_off_is_no_time_anywhere(house: House) -> None:
    house.lend("vm-r", "T4-3")
    house.say("bob", "release T4-3 tonight")
    house.round()
    house.say("bob", "notnow")
    for line, word in (("windows", "No restart of vm-r is agreed now"), ("mine", "no time agreed yet")):
        assert word in text_of(house.say("bob", line)), line
    assert "not agreed yet" in text_of(house.say("bob", "why"))


def test_a_time_that_waits_for_silence_is_named_in_the_list(house: House) -> None:
    house.lend("vm-r", "T4-3")
    house.say("bob", "release T4-3 when done")
    text = text_of(house.say("bob", "windows"))
    assert text.startswith("vm-r may restart as soon as nothing has run for a while.")


@pytest.mark.parametrize("minutes", [7, 12, 20])
def test_the_rest_of_today_that_holds_no_restart_is_refused_with_what_works(house: House, minutes: int) -> None:
    house.say("bob", "request 1")
    house.clock.at = datetime(2026, 3, 16, 23, 0, tzinfo=UTC) - timedelta(minutes=minutes)
    reply = house.say("bob", "window any time today")
    assert not reply.ok and "What works: now, tonight, or tomorrow" in text_of(reply)
    assert not house.books.agreements
    assert not any("today" in b.says for b in house.say("bob", "windows").buttons)


def test_a_time_in_the_night_that_holds_no_restart_is_refused(house: House) -> None:
    assert not house.say("bob", "window at 18:00 to 18:10").ok
    house.clock.at = datetime(2026, 3, 17, 4, 40, tzinfo=UTC)  # 05:40 in Berlin
    assert not house.say("bob", "window today 05:00-06:00").ok
    assert not house.books.agreements


def test_given_back_with_standing_nights_names_the_next_one(house: House) -> None:
    house.lend("vm-r", "T4-3")
    house.say("bob", "window nights")
    text = text_of(house.say("bob", "release T4-3 tonight"))
    assert "every day" not in text and "between" in text


# ---- nobody in line, and somebody waits


def test_who_waits_for_what_is_theirs_is_named(house: House) -> None:
    house.say("carol", "request 2 restart tonight")
    house.round()
    assert house.lease("1").state is LeaseState.RESERVED
    way = "T4-1 and T4-2 are on their way to carol"
    assert text_of(house.say("bob", "queue")).replace("U3CAROL", "carol").startswith(f"Nobody is in line; {way}.")
    assert way in text_of(house.say("bob", "status")).replace("U3CAROL", "carol").splitlines()[0]
    house.say("bob", "request 4")
    assert way in text_of(house.say("bob", "queue")).replace("U3CAROL", "carol")


def test_what_waits_for_a_time_is_kept_and_not_on_its_way(house: House) -> None:
    house.say("bob", "request 1")
    house.round()
    house.say("bob", "accept at 14:00")
    house.round()
    assert "T4-1 is on its way to" in text_of(house.say("carol", "queue"))
    house.say("bob", "window #1 remove")
    house.round()
    assert "T4-1 is kept for" in text_of(house.say("carol", "queue"))


# ---- the next step


def test_why_offers_the_time_that_is_missing(house: House) -> None:
    house.say("bob", "request 1")
    house.round()
    house.say("bob", "accept at 14:00")
    house.say("bob", "window #1 remove")
    assert house.lease("1").state is LeaseState.RESERVED
    says = [b.says for b in house.say("bob", "why").buttons]
    assert says == ["window #1 now", "window #1 today", "window #1 tonight"]


def test_why_of_what_goes_back_offers_to_keep_it(house: House) -> None:
    house.lend("vm-r", "T4-3")
    house.say("bob", "release T4-3 tonight")
    says = [b.says for b in house.say("bob", "why").buttons]
    assert "keep #1" in says and not any(s.startswith("release") for s in says)
    house.say("carol", "request 4 restart now")
    house.round()
    assert house.say("bob", "keep #1").ok is any(b.says == "keep #1" for b in house.say("bob", "why").buttons)


def test_fewer_are_there_at_once(house: House) -> None:
    house.lend("vm-python", "T4-1")
    reply = house.say("bob", "request 4")
    assert "3 are free now" in text_of(reply)
    assert reply.buttons[0].says == "request 3 T4 on vm-r"
    asked = house.books.requests[2].asked
    house.clock.forward(minutes=1)
    assert house.say("bob", reply.buttons[0].says).ok
    request = house.books.requests[2]
    assert (request.count, request.asked, len(house.books.requests)) == (3, asked, 1)
    house.round()
    assert house.books.requests[2].state is RequestState.OFFERED


def test_more_is_not_asked_for_at_an_old_place(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    house.say("bob", "request 1")
    assert not house.say("bob", "request 2").ok
    assert house.books.requests[2].count == 1
    assert house.say("bob", "request until fri 18:00").ok
    assert house.books.requests[2].count == 1


def test_a_latest_time_far_away_comes_with_its_reason(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    assert "The latest allows for extensions" in text_of(house.say("bob", "request 1"))


# ---- names


def test_the_number_is_named_when_it_is_given(house: House) -> None:
    assert "(#1)" in text_of(house.say("bob", "request 1")).splitlines()[0]


def test_somebody_elses_card_is_named_with_its_holder(house: House) -> None:
    house.lend("vm-python", "T4-1")
    text = text_of(house.say("bob", "keep T4-1")).replace("U1ADA", "ada")
    assert "T4-1 (#1) is not yours" in text and "ada" in text


def test_back_in_the_pool_while_somebody_has_it(house: House) -> None:
    house.lend("vm-python", "T4-2")
    house.say("dana", "drain T4-2 because dust")
    text = text_of(house.say("dana", "undrain T4-2")).replace("U1ADA", "ada")
    assert "when it is given back" in text and "ada" in text


def test_of_several_cards_it_is_said_so(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2")
    house.say("ada", "release #1")
    assert "T4-1 and T4-2 in vm-python, given back, come out when their machine restarts" in text_of(
        house.say("ada", "mine")
    )


def test_asking_stands_out_only_while_a_card_is_free(house: House) -> None:
    def style() -> str:
        return next(b.style for b in house.say("bob", "status").buttons if b.says == "request")

    assert style() == "primary"
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    assert style() == ""


@pytest.mark.parametrize(
    ("lent", "says"),
    [(0, "4 T4 are free, and you are first in line for 1,"), (3, "1 T4 is free, and you are first in line,")],
)
def test_how_many_are_free_is_said_and_not_how_many_are_wanted(house: House, lent: int, says: str) -> None:
    if lent:
        house.lend("vm-python", *(f"T4-{i}" for i in range(1, lent + 1)))
    assert text_of(house.say("bob", "request 1")).startswith(says)
