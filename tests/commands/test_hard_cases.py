"""Hard cases that users of other pools met, each by its number and name: what somebody says, what becomes of it, and what they read.

Those of idle cards and of hardware are asked where their rules are.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain.model import CallKind, Job, LeaseState, Reading, RequestState
from bot.domain.news import NewsKind
from bot.service.ports import Again, Reply
from tests.domain.test_idle_taking import contended_world
from tests.fakes import text_of, uuid
from tests.house import House

BOB, CAROL, ADA = "U2BOB", "U3CAROL", "U1ADA"
HOUR = timedelta(hours=1)


def said(house: House, who: str, text: str) -> str:
    """The answer to a line that is heard."""
    reply = house.say(who, text)
    assert reply.ok, text_of(reply)
    return text_of(reply)


def presses(reply: Reply) -> list[str]:
    return [button.says for button in reply.buttons]


def lent(house: House, *left: str) -> House:
    """ada has all four cards but those that are left, under #1."""
    house.lend("vm-python", *(c for c in ("T4-1", "T4-2", "T4-3", "T4-4") if c not in left))
    return house


def line(house: House) -> list[str]:
    """Who is in line, in order."""
    waiting = (r for r in house.books.requests.values() if r.state in (RequestState.QUEUED, RequestState.OFFERED))
    return [r.person for r in sorted(waiting, key=lambda r: r.place_key)]


def both_wait(house: House) -> House:
    """All cards are ada's; carol waits with #2, bob behind her with #3."""
    lent(house)
    said(house, "carol", "request 1 restart now")
    house.clock.forward(minutes=5)
    said(house, "bob", "request 1 restart now")
    return house


# ---- 1: given back for somebody


@pytest.mark.parametrize(
    "text",
    ["release T4-1 for @bob", "release T4-1 to bob", "give T4-1 to @bob", "hand over T4-1 to <@U2BOB>", "release for bob T4-1"],
)  # fmt: skip
def test_01_given_back_for_somebody_while_others_wait(house: House, text: str) -> None:
    reply = both_wait(house).say("ada", text)
    answer = text_of(reply)
    assert reply.ok and f"decided by the line, not by who gives it back: {CAROL} is first." in answer
    assert f"{BOB} is second in line for it. Why: /gpu why #3." in answer
    assert house.lease("1b").state is LeaseState.RETURNING and house.lease("1").slots == ("T4-2", "T4-3", "T4-4")
    assert presses(reply)[0] == "keep #1b", "it was not meant so, perhaps"
    house.round()
    assert line(house) == [CAROL, BOB], "the line wins"


def test_01_given_back_for_somebody_with_a_restart_at_once_nothing_restarts_that_others_win_by(house: House) -> None:
    answer = text_of(both_wait(house).say("ada", "release T4-1 now for @bob"))
    assert f"You named a restart for {BOB}, but it goes to {CAROL}: nothing restarts yet." in answer
    assert house.books.agreements.keys() == {1, 2}, "those of carol and bob"
    assert said(house, "ada", "keep #1b") and house.lease("1b").state is LeaseState.ACTIVE


def test_01_given_back_for_who_is_first_anyway(house: House) -> None:
    answer = text_of(both_wait(house).say("ada", "release T4-1 now for carol"))
    assert f"{CAROL} is first in line, and so is next for it." in answer and "decided by the line" not in answer
    house.round(2)
    assert house.lease("2").slots == ("T4-1",)


def test_01_given_back_for_somebody_who_does_not_wait(house: House) -> None:
    answer = said(lent(house), "ada", "release T4-1 for @bob")
    assert f"Nobody waits for it. It is not kept for {BOB}, who asks with /gpu request 1." in answer
    assert said(house, "carol", "request 1")
    assert f"{BOB} is not in line; they can ask: /gpu request 1." in said(house, "ada", "release T4-2 for @bob")


def test_01_a_place_in_line_is_not_given_on_and_nobody_is_guessed(house: House) -> None:
    assert "nobody's to give on" in said(both_wait(house), "carol", "release for @bob") and line(house) == [BOB]
    before = house.books
    for text, says in (
        ("release T4-1 for @nobody", 'person "@nobody"'),
        ("give me 1", "request 1 for a card of your own"),
        ("give T4-1", "give back T4-1"),
    ):
        reply = house.say("ada", text)
        assert not reply.ok and says in text_of(reply) and house.books == before, text
    assert said(house, "ada", "give back T4-1 because bob needs it for carol").startswith("T4-1 is given back")


# ---- 2: whose turn it is does not answer


def test_02_no_answer_and_the_next_is_asked_and_the_place_is_kept(house: House) -> None:
    lent(house, "T4-4")
    said(house, "bob", "request 1 ask")
    house.clock.forward(minutes=1)
    said(house, "carol", "request 1 ask")
    house.round()
    assert "Otherwise the next in line is asked, and you keep your place." in house.voice.said_to(BOB)[-1]
    house.forward(32, 4)
    assert house.books.requests[3].state is RequestState.OFFERED and line(house) == [BOB, CAROL]
    assert "no answer came in time; you keep your place" in house.voice.said_to(BOB)[-1]
    why = said(house, "bob", "why")
    assert "was not answered, so I do not ask again until" in why and "The place is kept." in why
    said(house, "carol", "pass")
    assert said(house, "bob", "accept #2 now"), "what fits is his as soon as he says so"
    house.round(2)
    assert house.lease("2").slots == ("T4-4",)


# ---- 4: four wanted, two there


def test_04_four_wanted_and_two_free_none_is_held_back_unsaid_and_two_can_be_had(house: House) -> None:
    lent(house, "T4-3", "T4-4")
    reply = house.say("bob", "request 4 restart now")
    assert "2 are free now: /gpu request 2 T4 on vm-r changes #2 to 2 T4, taken as soon as vm-r restarts" in text_of(
        reply
    )
    assert presses(reply)[0] == "request 2 T4 on vm-r"
    house.round()
    assert not [h for h in house.books.holds if h.label == "2"], "what waits for four holds nothing"
    said(house, "bob", "request 2 T4 on vm-r")
    house.round()
    assert house.lease("2").slots == ("T4-3", "T4-4")


def test_04_four_wanted_or_fewer_and_two_are_taken_at_once(house: House) -> None:
    lent(house, "T4-3", "T4-4")
    assert "Partly: when it is your turn you get what is there" in said(house, "bob", "request 4 partly restart now")
    house.round()
    assert house.lease("2").slots == ("T4-3", "T4-4") and house.books.requests[2].count == 2
    fewer = "You wanted 4 T4, or fewer: 2 are there, because U1ADA has the others. That is all of #2"
    assert any(fewer in text for text in house.voice.said_to(BOB)), house.voice.said_to(BOB)


# ---- 5: half served, and cancelled


@pytest.mark.parametrize("text", ["release", "cancel", "release #2"])
def test_05_half_served_and_cancelled_all_of_it_goes_to_the_next(house: House, text: str) -> None:
    lent(house, "T4-4")
    said(house, "bob", "request 2 restart now")
    said(house, "carol", "request 1 restart now")
    said(house, "ada", "release T4-1 tonight")
    house.round(2)
    assert house.lease("2").state is LeaseState.RESERVED and len([h for h in house.books.holds if h.label == "2"]) == 2
    assert "no longer kept for you" in said(house, "bob", text)
    assert not [h for h in house.books.holds if h.label == "2"] and line(house) == [CAROL]
    house.round()
    assert house.lease("3").slots == ("T4-4",) and not [a for a in house.books.agreements.values() if a.label == "2"]


# ---- 7: tried again, and overtaken


def test_07_a_try_that_fails_keeps_its_place_before_who_came_later(house: House) -> None:
    lent(house, "T4-4")
    house.lab.refused = {CallKind.CHANGE}
    house.lab.errors = [Again("busy", timedelta(seconds=30))] * 4
    said(house, "bob", "request 1 restart now")
    house.round(2)
    said(house, "carol", "request 1 restart now")
    house.forward(20, 1)
    assert house.books.requests[3].state is RequestState.QUEUED and line(house) == [CAROL], "carol came later"
    house.lab.refused = set()
    said(house, "bob", "window #2 now")
    house.forward(20, 1)
    assert house.card_of("vm-r") == ["T4-4"] and line(house) == [CAROL]


# ---- 8: one who asks for everything


def test_08_who_asks_dozens_of_times_has_two_places_and_nobody_is_behind_more(house: House) -> None:
    lent(house)
    assert house.say("dana", "machine add vm-spare owners @bob").ok
    said(house, "bob", "request 1 on vm-r")
    said(house, "bob", "request 1 on vm-spare")
    assert house.say("dana", "machine owners vm-train @bob @carol").ok
    for text in ("request 1 on vm-r", "request 2 on vm-spare", "request 1 on vm-train"):
        reply = house.say("bob", text)
        assert not reply.ok and "in line" in text_of(reply), text
    said(house, "carol", "request 1")
    assert line(house) == [BOB, BOB, CAROL]


# ---- 10: pending, without a reason


@pytest.mark.parametrize("text", ["why", "mine", "status", "queue"])
def test_10_who_waits_reads_a_time_and_not_only_that_it_waits(house: House, text: str) -> None:
    both_wait(house)
    house.forward(2)
    assert "ikely" in said(house, "bob", text)


# ---- 11: cancelled while it is granted


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 6])
def test_11_what_is_just_being_granted_can_be_cancelled_at_every_step(house: House, rounds: int) -> None:
    lent(house, "T4-4")
    said(house, "bob", "request 1 restart now")
    house.round()
    house.forward(rounds * 0.5, 0.5)
    cancelled = house.say("bob", "cancel")
    if not cancelled.ok:  # it is being put in, or works: what ends that is said
        assert "release #2" in presses(cancelled)
        said(house, "bob", "release #2 now")
    said(house, "carol", "request 1 restart now")
    house.forward(20, 1)
    assert house.books.requests[2].state in (RequestState.WITHDRAWN, RequestState.SERVED)
    assert house.card_of("vm-r") == [] and house.lease("3").slots == ("T4-4",)


# ---- 13: the holder is ill


def test_13_the_holder_is_away_and_an_admin_or_another_owner_gives_back(house: House) -> None:
    lent(house)
    assert house.say("dana", "machine owners vm-python @ada @carol").ok
    assert said(house, "carol", "release T4-1 tonight because ada is ill").startswith("T4-1 of U1ADA is given back")
    assert not house.say("bob", "release T4-2").ok
    answer = said(house, "dana", "force release T4-2 because ada is ill")
    assert "Public reason: ada is ill." in answer
    house.round()
    assert any("ada is ill" in text for text in house.voice.said_to(ADA))
    assert {x.slots for x in house.books.leases.values() if x.state is LeaseState.RETURNING} == {("T4-1",), ("T4-2",)}


# ---- 14: reminders without memory


def test_14_a_reminder_comes_once_a_deadline_whatever_the_bot_goes_through(house: House) -> None:
    house.lend("vm-python", "T4-1", until="for 3h")

    def reminded() -> int:
        return sum(to == ADA and "T4-1" in text_of(reply) for to, reply in house.voice.posts)

    house.clock.forward(hours=2, minutes=1)
    house.round()
    assert reminded() == 1
    for run in ("run-2", "run-3"):
        house.restart(run)
        house.forward(3)
    assert reminded() == 1, "told once, whatever became of the bot"
    said(house, "ada", "extend 2h")
    house.restart("run-4")
    house.clock.forward(hours=2)
    house.round()
    assert reminded() == 2, "a later end is another deadline, and one that went by while the bot was away is told"


# ---- 16: four cards, changed one by one


def test_16_a_number_of_four_cards_is_changed_at_once(house: House) -> None:
    lent(house)
    assert "T4-1, T4-2, T4-3 and T4-4 are yours until" in said(house, "ada", "extend #1 8h")
    assert len({x.end for x in house.books.leases.values()}) == 1
    said(house, "ada", "release #1 tonight")
    (agreed,) = house.books.agreements.values()
    assert agreed.label == "1" and house.lease("1").slots == ("T4-1", "T4-2", "T4-3", "T4-4")


def test_16_a_request_for_four_is_changed_at_once_and_at_its_place(house: House) -> None:
    lent(house)
    said(house, "bob", "request 4 for 2d")
    asked = house.books.requests[2].asked
    house.clock.forward(minutes=9)
    said(house, "carol", "request 1")
    said(house, "bob", "request 3 until fri 18:00 restart tonight")
    request = house.books.requests[2]
    assert (request.count, request.asked) == (3, asked) and request.terms.length.until is not None
    assert line(house) == [BOB, CAROL]


# ---- 17: bookings far ahead


def test_17_bookings_are_capped_a_person_and_keep_nobody_from_what_is_free_today(house: House) -> None:
    assert house.say("dana", "machine add vm-spare owners @bob").ok
    assert house.say("dana", "machine owners vm-train @carol @bob").ok
    lent(house, "T4-3", "T4-4")
    said(house, "bob", "request 2 from thu 14:00 for 4h on vm-r")
    said(house, "bob", "request 1 from fri 14:00 on vm-spare")
    for text, says in (
        ("request 1 from wed 9:00 on vm-train", "the limit is 2 requests in line a person"),
        ("request 1 from fri 3 apr 14:00 on vm-train", "at most 14 days ahead can be booked"),
    ):
        refused = house.say("bob", text)
        assert not refused.ok and says in text_of(refused)
    said(house, "bob", "request 1 on vm-train for 4h restart now")
    house.round()
    assert house.lease("4").slots == ("T4-3",), "what is free today is used until then"
    why = said(house, "bob", "why #2")
    assert "You booked it for 19 13:00; before that others use what is free, as far as they are surely back." in why


def test_17_what_is_booked_is_not_kept_empty_until_then_nor_lent_beyond(house: House) -> None:
    lent(house, "T4-3", "T4-4")
    said(house, "bob", "request 2 from thu 14:00 for 4h")
    house.clock.forward(minutes=2)
    said(house, "carol", "request 1 for 5d restart now")
    house.round()
    assert "is expected 19 1" in said(house, "carol", "why") and line(house) == [BOB, CAROL]
    said(house, "carol", "request for 1d")
    house.round()
    assert line(house) == [BOB] and "This goes past U2BOB, who waits for 2 cards" in said(house, "carol", "why")


# ---- 19: the honest one who missed one message


def test_19_who_did_not_get_the_warning_loses_nothing_and_has_time_once_it_is_there() -> None:
    """Two questions, the second of them delivered and 45 minutes old, before anything goes; and work that is seen takes them back."""
    world, lease = contended_world()
    world.agree("ada", "vm-python", "any time today")
    world.delivers = False
    world.pass_time(3.5 * HOUR, timedelta(minutes=1))
    assert (
        world.told(NewsKind.NUDGE, "ada")
        and not world.told(NewsKind.TAKEN_BACK)
        and world.lease(lease.label).state is LeaseState.ACTIVE
    )
    world.vms["vm-python"].does = {"": "busy"}
    world.delivers = True
    world.pass_time(0.25 * HOUR, timedelta(minutes=1))
    assert world.told(NewsKind.NUDGE_OVER, "ada") and not world.told(NewsKind.TAKEN_BACK)


# ---- 20: kicked out, and the old booking still blocks


def test_20_taken_back_by_an_admin_nothing_of_it_stands_in_the_way(house: House) -> None:
    lent(house)
    for who in ("ada", "carol"):
        said(house, who, "window nights even if busy")
    said(house, "carol", "request 4")
    assert house.say("dana", "force release #1 because the project is over").ok
    house.clock.forward(hours=11, minutes=50)
    house.forward(60, 2)
    assert house.lease("1").state is LeaseState.ENDED and not [h for h in house.books.holds if h.label == "1"]
    assert sorted(house.card_of("vm-train")) == ["T4-1", "T4-2", "T4-3", "T4-4"] and house.card_of("vm-python") == []
    assert "You have no card" in said(house, "ada", "mine")


def test_20_who_left_the_workspace_blocks_nobody(house: House) -> None:
    lent(house, "T4-4")
    said(house, "bob", "request 2")
    house.clock.forward(minutes=1)
    said(house, "carol", "request 1 restart now")
    house.people.leaves("bob")
    house.round(2)
    assert line(house) == [] and house.lease("3").slots == ("T4-4",)


# ---- 22: the work before still runs


def test_22_the_work_of_who_had_it_is_waited_for_and_who_waits_is_told_until_when(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4", until="for 1h")
    said(house, "bob", "request 1 restart now")
    house.clock.forward(minutes=61)
    now = house.clock.now()
    job = Job("ada", "python train.py", now - HOUR, True)
    house.guest("vm-python", Reading(uuid("vm-python"), now, "boot-1", 1, False, 4, jobs=(job,), first_at=now))
    house.round()
    assert house.lease("1").state is LeaseState.ACTIVE, "no work is ended by the clock"
    (told,) = [text for text in house.voice.said_to(BOB) if "runs" in text]
    assert ADA in told and "17 10:00" in told
    why = "T4-1 is over its time, but work runs there, which is waited for until 17 10:00 at the latest"
    assert why in said(house, "bob", "why")
