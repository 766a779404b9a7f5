"""ask: whom, about what, when it is sent, and what both read. It is Monday, 10:00."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.model import LeaseState
from tests.fakes import text_of, uuid
from tests.house import House
from tests.service.words_rules import check

ADA, BOB, CAROL = "U1ADA", "U2BOB", "U3CAROL"


@pytest.fixture
def lent(house: House) -> House:
    """ada has T4-1 and T4-2 until Friday, carol the others; bob waits for one."""
    house.lend("vm-python", "T4-1", "T4-2", until="until fri 18:00")
    house.lend("vm-train", "T4-3", "T4-4", until="until fri 18:00")
    assert house.say("bob", "request 1 any time today").ok
    house.round()
    return house


def read(house: House, who: str, about: str) -> list[str]:
    """What stands before somebody's eyes with some words in it, after a round."""
    house.round()
    found = [(to, reply) for to, reply in house.voice.standing.values() if to == who and about in text_of(reply)]
    for _, reply in found:
        check(reply)
    return [text_of(reply) for _, reply in found]


def says(house: House, who: str, about: str) -> list[str]:
    """What the buttons of that say."""
    return [b.says for to, r in house.voice.standing.values() if to == who and about in text_of(r) for b in r.buttons]


def test_the_holder_reads_who_asks_why_and_what_can_be_answered(lent: House) -> None:
    reply = lent.say("bob", "ask @ada because the demo is at three")
    assert reply.ok and text_of(reply).startswith("I asked U1ADA about T4-1 and T4-2 in vm-python.")
    assert "you wait (#3) since" in text_of(reply) and "the demo is at three" in text_of(reply)
    assert "They are due 20" in text_of(reply)
    check(reply)
    (text,) = read(lent, ADA, "U2BOB asks")
    assert "U2BOB has been waiting for 1 T4 since" in text and "(#3): the demo is at three." in text
    assert "They are yours until" in text and "I tell U2BOB what you answer" in text
    assert says(lent, ADA, "U2BOB asks") == ["release #1 when done", "keep #1 until tomorrow 09:00", "using #1"]


ANSWERS = [  # what ada says, what bob reads, what stands before ada
    ("keep #1 until tomorrow 09:00", "U1ADA keeps T4-1 and T4-2 until", "I told U2BOB that you keep T4-1 and T4-2"),
    ("keep #1 4h because a long run", "The reason: a long run.", "I told U2BOB that you keep"),
    ("using #1", "U1ADA is using T4-1 and T4-2.", "I told U2BOB that T4-1 and T4-2 are in use"),
    ("release #1 when done", "U1ADA gave T4-1 and T4-2 back.", "T4-1 and T4-2 are given back, thank you: I told U2BOB"),
    ("extend #1 4h", "U1ADA made T4-1 and T4-2 longer: until", "I told U2BOB that T4-1 and T4-2 are yours until"),
]


@pytest.mark.parametrize(("line", "bob", "ada"), ANSWERS, ids=[line for line, *_ in ANSWERS])
def test_what_is_answered_is_told_to_who_asked(lent: House, line: str, bob: str, ada: str) -> None:
    lent.say("bob", "ask @ada")
    lent.round()
    assert lent.say("ada", line).ok
    assert len(read(lent, BOB, bob)) == 1
    assert len(read(lent, ADA, ada)) == 1 and not read(lent, ADA, "U2BOB asks")


def test_a_second_answer_edits_the_first(lent: House) -> None:
    lent.say("bob", "ask @ada")
    lent.say("ada", "keep #1 2h")
    lent.round()
    lent.say("ada", "release #1 when done")
    assert len(read(lent, BOB, "U1ADA gave")) == 1 and not read(lent, BOB, "U1ADA keeps")
    assert "You are first in line (#3)." in read(lent, BOB, "U1ADA gave")[0]


ONE = [  # (line, the start of the answer): each of a house of its own
    ("ask ada", "I asked U1ADA about T4-1 and T4-2"),
    ("ask @ada about T4-1", "I asked U1ADA about T4-1 in vm-python"),
    ("ask <@U1ADA>", "I asked U1ADA about T4-1 and T4-2"),
    ("ask <@U1ADA|ada> about #1", "I asked U1ADA about T4-1 and T4-2"),
    ("ask T4-2", "I asked U1ADA about T4-2 in vm-python"),
    ("ask about #1", "I asked U1ADA about T4-1 and T4-2"),
    ("ask #2 because x", "I asked U3CAROL about T4-3 and T4-4"),
]


@pytest.mark.parametrize(("line", "answer"), ONE, ids=[line for line, _ in ONE])
def test_whom_and_about_what(lent: House, line: str, answer: str) -> None:
    reply = lent.say("bob", line)
    assert reply.ok and text_of(reply).startswith(answer), text_of(reply)


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """As ``lent``, with a part of carol's on its way back; for lines that change nothing."""
    path: Path = tmp_path_factory.mktemp("ask")
    house = House(path)
    house.furnish()
    house.lend("vm-python", "T4-1", until="until fri 18:00")
    house.lend("vm-train", "T4-2", "T4-3", until="until fri 18:00")
    assert house.say("carol", "release T4-3").ok
    assert house.say("bob", "request 4").ok
    yield house
    house.close()


REFUSED = [  # who says what, and what of the answer must be there
    ("ada", "ask @ada", ["that is you", "release #1"]),
    ("ada", "ask T4-1", ["you have it yourself", "release #1"]),
    ("bob", "ask @dana", ["dana has no card", "ask T4-1"]),
    ("bob", "ask zoe", ['I know no person "zoe"', "@ada and @carol"]),
    ("bob", "ask @zoe", ["I know no person"]),
    ("bob", "ask T4-4", ["nobody has T4-4", "request 1 T4"]),
    ("bob", "ask T4-9", ['no card "T4-9"', "T4-4"]),
    ("bob", "ask T4-3", ["it goes back already"]),
    ("ada", "ask #3", ["bob waits with #3 and has no card", "why #3"]),
    ("bob", "ask #77", ["no request #77", "#3"]),
    ("bob", "ask @ada about T4-2", ["T4-2 is with carol, not with ada", "ask T4-2"]),
    ("bob", "ask #1 #2", ["Which card do you mean?", "T4-1"]),
    ("bob", "ask @ada @carol", ["one at a time: ask @ada"]),
    ("bob", "ask @ada 2", ["do not understand"]),
    ("bob", "ask @ada tonight", ["do not understand"]),
    ("bob", "ask me first", ["window ask me first"]),
    ("bob", "ask", ["Whom shall I ask?", "U1ADA has T4-1", "U3CAROL has T4-2"]),
]


@pytest.mark.parametrize(("who", "line", "words"), REFUSED, ids=[f"{who}: {line}" for who, line, _ in REFUSED])
def test_what_cannot_be_asked_has_an_answer_with_what_works(
    still: House, who: str, line: str, words: list[str]
) -> None:
    before = still.books
    reply = still.say(who, line)
    assert not reply.ok and still.books == before
    for word in words:
        assert word in text_of(reply), text_of(reply)
    check(reply)


def test_of_several_things_that_somebody_has_one_is_chosen(house: House) -> None:
    house.lend("vm-python", "T4-1", until="until fri 18:00")
    house.lend("vm-python", "T4-2", until="until fri 18:00")
    reply = house.say("bob", "ask @ada")
    assert not reply.ok and [b.says for b in reply.buttons] == ["ask T4-1", "ask T4-2"]
    assert house.say("bob", reply.buttons[1].says).ok


def test_once_a_day_and_the_answer_so_far(lent: House) -> None:
    lent.say("bob", "ask @ada")
    reply = lent.say("bob", "ask T4-2")
    assert not reply.ok and "You asked U1ADA about T4-1 and T4-2 on" in text_of(reply)
    assert "no answer so far" in text_of(reply) and "works again from 17" in text_of(reply)
    check(reply)
    lent.say("ada", "using #1")
    assert "it is in use" in text_of(lent.say("bob", "ask @ada"))
    lent.clock.forward(hours=24)
    assert lent.say("bob", "ask @ada").ok


def test_outside_their_hours_it_is_sent_in_the_morning_and_the_answer_says_when(lent: House) -> None:
    lent.clock.forward(hours=9)
    reply = lent.say("bob", "ask @ada")
    assert reply.ok and text_of(reply).startswith("I ask U1ADA about T4-1 and T4-2 at 17 08:00")
    check(reply)
    assert not read(lent, ADA, "U2BOB asks")
    lent.clock.forward(hours=14)
    assert len(read(lent, ADA, "U2BOB asks")) == 1


def test_do_not_disturb_is_kept_as_the_last_round_knew_it(lent: House) -> None:
    until = lent.clock.now() + timedelta(hours=2)
    lent.people.by_id[ADA] = replace(lent.people.by_id[ADA], quiet_until=until)
    lent.round()
    assert text_of(lent.say("bob", "ask T4-1")).startswith("I ask U1ADA about T4-1 at 16 11:00")


def test_two_who_ask_are_one_message(lent: House) -> None:
    lent.say("bob", "ask @ada because the demo is at three")
    reply = lent.say("carol", "ask T4-1")
    assert reply.ok and "You are not in line" in text_of(reply)
    (text,) = read(lent, ADA, "whether")
    assert text.startswith("U2BOB and U3CAROL ask whether one of them can have T4-1 and T4-2 in vm-python sooner.")
    assert "U3CAROL is not in line for one." in text
    lent.say("bob", "release #3")
    (text,) = read(lent, ADA, "whether")
    assert text.startswith("U3CAROL asks")


def test_somebody_who_left_is_not_asked_but_who_owns_the_machine_too(lent: House) -> None:
    lent.say("dana", "machine owners vm-python @ada @dana")
    lent.people.leaves("ada")
    lent.round()
    reply = lent.say("bob", "ask T4-1")
    assert reply.ok and text_of(reply).startswith("I asked U4DANA about T4-1")
    assert len(read(lent, "U4DANA", "U2BOB asks")) == 1
    assert lent.say("dana", "release T4-1 when done").ok, "no reason is needed for who has left"
    assert lent.lease("1b").state is LeaseState.RETURNING


def test_who_was_asked_and_has_left_since_answers_nothing_and_the_next_owner_is_asked(lent: House) -> None:
    assert lent.say("bob", "ask @ada").ok and len(read(lent, ADA, "U2BOB asks")) == 1
    lent.people.leaves("ada")
    lent.round()
    reply = lent.say("bob", "ask @ada")
    assert not reply.ok and "has left the workspace, and its machine has no other owner" in text_of(reply)
    lent.say("dana", "machine owners vm-python @dana")
    reply = lent.say("bob", "ask T4-1")
    assert reply.ok and text_of(reply).startswith("I asked U4DANA about T4-1")
    assert len(read(lent, "U4DANA", "U2BOB asks")) == 1
    assert "no answer so far" in text_of(lent.say("bob", "ask T4-1")), "once a day"


def test_nobody_else_has_a_card(house: House) -> None:
    reply = house.say("bob", "ask")
    assert not reply.ok and "Nobody else has a card" in text_of(reply)
    check(reply)


def test_a_card_that_rests_is_not_offered(house: House) -> None:
    house.say("dana", "drain T4-1 because it is hot")
    assert "why T4-1" in text_of(house.say("bob", "ask T4-1"))
    house.lab.vms[uuid("vm-r")].cards.append(house.books.cards["T4-2"].pci)
    house.store.keep_look(house.lab.look())
    assert "why T4-2" in text_of(house.say("ada", "ask T4-2"))
