"""history: the story of a number in order, the last who had a card, one's own; from the store where the books have forgotten it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.draft import Changes
from bot.domain.lifecycle import LEASE, REQUEST
from bot.service.ports import Reply
from bot.service.words.history import TOLD, UNTOLD
from tests.commands.quiet_house import QuietHouse
from tests.fakes import text_of, uuid
from tests.house import House
from tests.service.words_rules import check


def lines(reply: Reply) -> list[str]:
    """The story, without its head, without the times."""
    check(reply, size=6000)
    return [line.partition(": ")[2] if line[:2].isdigit() else line for line in text_of(reply).splitlines()[1:]]


def served(house: House) -> None:
    """bob asked for a card, got it in a restart, kept it longer, and gave it back; it came out in a restart."""
    house.say("bob", "request 1 restart now because of a talk")
    house.forward(30)
    house.say("bob", "extend 4h")
    house.clock.forward(hours=2)
    house.say("bob", "release now")
    house.forward(20)


def test_a_story_from_asking_to_giving_back(house: House) -> None:
    served(house)
    reply = house.say("bob", "history #1")
    assert text_of(reply).startswith("#1, your 1 T4 for vm-r: over since 16 ")
    told = lines(reply)
    assert told[0] == "you asked for 1 T4 for vm-r: a talk."
    for words in (
        "T4-1 is kept for you.",
        "you made its time longer to ",
        "you gave T4-1 back.",
        "T4-1 came out of vm-r.",
    ):
        assert any(line.startswith(words) for line in told), words
    restarts = [line for line in told if line.startswith("vm-r restarted (m")]
    assert len(restarts) == 2 and all(", off from 16 " in line for line in restarts)
    order = [
        next(i for i, line in enumerate(told) if word in line)
        for word in ("asked", "kept for", "restarted", "its time counts", "longer", "gave", "came out")
    ]
    assert order == sorted(order)
    assert house.say("bob", "history 1").lines == reply.lines == house.say("bob", "history #1b").lines


def test_others_read_it_with_names(house: House) -> None:
    served(house)
    told = lines(house.say("ada", "history #1"))
    assert told[0] == "U2BOB asked for 1 T4 for vm-r: a talk." and "T4-1 is kept for U2BOB." in told


def test_what_the_books_have_forgotten_comes_from_the_store(house: House) -> None:
    served(house)
    before = house.say("bob", "history #1").lines
    house.clock.forward(days=30)
    house.round()
    assert 1 not in house.books.requests and "1" not in house.books.leases
    assert house.say("bob", "history #1").lines == before
    mine = text_of(house.say("bob", "history"))
    assert mine.startswith("Your one request:") and "1 T4 for vm-r: asked 16 " in mine and "worked 16 " in mine


def test_a_number_that_nothing_ever_had_is_refused_and_nothing_is_invented(house: House) -> None:
    reply = house.say("bob", "history #77")
    assert not reply.ok and "#77" in text_of(reply)
    check(reply)


def test_a_part_that_was_given_back_alone_is_in_the_story(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2")
    house.round()
    house.say("ada", "release T4-2")
    told = lines(house.say("ada", "history #1"))
    assert told[0].startswith("you took over T4-1 and T4-2, in vm-python already, until ")
    assert "you gave T4-2 back." in told
    assert text_of(house.say("ada", "history #1")).startswith("#1, your 2 T4 in vm-python: yours until ")


def test_a_long_story_is_cut_in_the_middle_and_whole_when_asked(house: House) -> None:
    house.say("bob", "request 1")
    for n in range(12):
        house.clock.forward(minutes=1)
        house.say("bob", f"request until {'thu' if n % 2 else 'fri'} 18:00")
    reply = house.say("bob", "history #1")
    told = lines(reply)
    whole = lines(house.say("bob", "history #1 all"))
    middle = f"… {len(whole) - 10} lines more: /gpu history #1 all …"
    assert len(told) == 11 and told[4] == middle and told[0].startswith("you asked")
    assert len(whole) > 12 and whole[:4] == told[:4] and whole[-6:] == told[-6:]
    assert [b.says for b in reply.buttons] == ["history #1 all", "why #1", "mine"]


def test_quiet_cards_are_told_to_the_holder_and_admins_alone(tmp_path: Path) -> None:
    house = QuietHouse(tmp_path)
    house.asked("T4-1")
    house.say("ada", "using because it loads data")
    own, admins, others = (lines(house.say(who, "history #1")) for who in ("ada", "dana", "bob"))
    assert "I asked whether T4-1 is still needed." in own and "you said that it is in use: it loads data." in own
    assert "U1ADA said that it is in use: it loads data." in admins
    assert not [line for line in others if "needed" in line or "in use" in line]
    house.close()


def test_who_had_a_card_last(house: House) -> None:
    assert text_of(house.say("bob", "history T4-1")).startswith("T4-1 was lent to nobody yet.")
    served(house)
    house.lend("vm-python", "T4-1")
    house.round()
    reply = house.say("carol", "history T4-1")
    head, *told = text_of(reply).splitlines()
    assert head == "Who had T4-1 last:" and [line.split(",")[0] for line in told] == [
        "U1ADA in vm-python",
        "U2BOB in vm-r",
    ]
    assert "since 16 " in told[0] and told[1].endswith(": given back. #1")
    check(reply)


def test_only_the_last_holders_are_shown_and_how_to_see_the_others(house: House) -> None:
    for _ in range(7):
        house.lend("vm-python", "T4-1")
        house.round()
        house.say("ada", "release now")
        house.forward(15)
        assert not house.lab.vms[uuid("vm-python")].cards
    told = text_of(house.say("bob", "history T4-1")).splitlines()
    assert len(told) == 1 + 5 + 1 and told[-1] == "Earlier ones: /gpu history T4-1 all."
    assert len(text_of(house.say("bob", "history T4-1 all")).splitlines()) == 8


def test_ones_own_last_five(house: House) -> None:
    assert text_of(house.say("bob", "history")).startswith("You have not asked for a card yet.")
    for _ in range(6):
        house.say("bob", "request 1")
        house.clock.forward(minutes=1)
        house.say("bob", "release")
    reply = house.say("bob", "history")
    head, *told = text_of(reply).splitlines()
    assert head == "Your last 5 requests:" and [line.split()[0] for line in told[:5]] == ["#6", "#5", "#4", "#3", "#2"]
    assert all("left the line 16 " in line for line in told[:5]) and told[5] == "All of one: /gpu history #6."
    assert len(text_of(house.say("bob", "history all")).splitlines()) == 8
    check(reply)


def test_words_that_are_no_part_of_it_are_refused(house: House) -> None:
    reply = house.say("bob", "history tomorrow")
    assert not reply.ok and "history #12" in text_of(reply)


def test_waiting_times_are_told_as_they_were_and_how_they_held(house: House) -> None:
    house.say("bob", "request 1 restart tonight")
    kept = house.store.ledger(about="#1")
    line = replace(
        kept[0],
        what="request.promised",
        who="bot",
        why="likely 2026-03-17 17:30, latest 2026-03-20 09:12 (own_end); urgent",
    )
    over, scored = (
        replace(line, what="request.promise_over", why="it rests"),
        replace(line, what="request.scored", why="latest kept, 35 min before it"),
    )
    with house.store.transaction() as transaction:
        transaction.record(Changes(lines=(line, replace(line, why="not known (blind)"), over, scored)), ())
    told = lines(house.say("bob", "history #1"))
    assert (
        "I told another waiting time, because somebody asked urgently, and goes before: likely by 17 17:30, at the latest 20 09:12."
        in told
    )
    assert "I told a waiting time: not known." in told and "that waiting time does not hold any more: it rests." in told
    assert told[-1] == "what I had told: latest kept, 35 min before it."


EVENTS = [f"{noun}.{event}" for noun, table in (("request", REQUEST), ("lease", LEASE)) for _, event in table]


@pytest.mark.parametrize("event", sorted(set(EVENTS)))
def test_every_event_of_a_request_and_of_what_it_becomes_is_told_or_left_out_on_purpose(event: str) -> None:
    assert (event in TOLD) != (event in UNTOLD), (
        f"{event}: give it a sentence in words/history.py, or leave it out there"
    )


def test_a_story_of_one_that_never_worked(house: House) -> None:
    house.say("bob", "request 1 restart now")
    house.round()
    house.say("bob", "release")
    reply = house.say("bob", "history #1")
    assert text_of(reply).startswith("#1, your 1 T4 for vm-r: out of the line since ")
    assert lines(reply)[-1] == "you gave T4-1 back." or "you left the line." in lines(reply)
    assert house.clock.now() - house.store.of_number(1).requests[0].asked < timedelta(minutes=1)
