"""Who may say what about whose thing, how it is answered, and who is told; and owners: who they are, and what a change of them means."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.model import LeaseState, RequestState, RestWhy
from bot.service.ports import Reply
from tests.fakes import text_of, uuid
from tests.house import House

BOB, CAROL, DANA = "U2BOB", "U3CAROL", "U4DANA"


@pytest.fixture
def shared(house: House) -> House:
    """vm-r belongs to bob and carol, and bob has T4-1 there; what was said of that is out."""
    assert house.say("dana", "machine owners vm-r @bob @carol").ok
    house.lend("vm-r", "T4-1")
    house.round()
    return house


def said_since(house: House, who: str, before: int) -> list[str]:
    """What somebody was told after so many messages to everybody."""
    house.round()
    return [text_of(reply) for to, reply in house.voice.posts[before:] if to == who]


# ---- a change of owners --------------------------------------------------------------------------------------------


def test_who_lost_the_machine_of_a_request_is_asked_for_another_one_and_not_promised_a_card(house: House) -> None:
    house.say("dana", "drain T4-1 T4-2 T4-3 T4-4 because x")
    assert house.say("bob", "request 1 restart any time today").ok
    house.round()
    before = len(house.voice.posts)
    assert house.say("dana", "machine owners vm-r @carol").ok
    told = "\n".join(said_since(house, BOB, before))
    rest = house.books.requests[1].rest
    assert rest is not None and rest.why is RestWhy.MACHINE
    assert "request 1 on MACHINE" in told and "an admin can add one" in told
    assert "nothing to do" not in told and "working days, I take you out of the line" in told


def test_the_loss_is_told_again_when_it_comes_again(house: House) -> None:
    house.say("dana", "drain T4-1 T4-2 T4-3 T4-4 because x")
    house.say("bob", "request 1")
    for _ in range(2):
        before = len(house.voice.posts)
        house.say("dana", "machine owners vm-r @carol")
        assert any("back in line" in text for text in said_since(house, BOB, before))
        house.say("dana", "machine owners vm-r @bob")
        house.round()


def test_whoever_rests_is_not_said_to_be_the_next_to_get_a_card(house: House) -> None:
    house.say("dana", "drain T4-1 T4-2 T4-3 T4-4 because x")
    house.say("bob", "request 1")
    house.round()
    house.say("dana", "machine owners vm-r @carol")
    house.round()
    answer = text_of(house.say("dana", "undrain T4-1"))
    assert "is first in line" not in answer and f"not asked for now, {BOB}" in answer


def test_owners_hear_that_a_machine_is_theirs_or_no_more(house: House) -> None:
    house.lend("vm-r", "T4-1")
    house.say("bob", "window vm-r nights")
    house.round()
    before = len(house.voice.posts)
    assert house.say("dana", "machine owners vm-r @carol").ok
    house.round()
    carol, bob = said_since(house, CAROL, before), said_since(house, BOB, before)
    assert any("vm-r is yours now" in text and "lent to U2BOB" in text and DANA in text for text in carol)
    gone = next(text for text in bob if "not yours any more" in text)
    assert CAROL in gone and DANA in gone
    assert "T4-1 stays in it" in gone and "no longer hold" in gone


def test_a_question_goes_with_the_machine_to_its_new_owners(house: House) -> None:
    house.lend("vm-r", "T4-1")
    house.say("bob", "release")
    house.round()
    house.say("bob", "window vm-r tonight")
    house.round()
    house.say("bob", "window vm-r remove")
    house.round()
    assert any("When may vm-r restart" in text for text in house.voice.said_to(BOB))
    assert house.say("dana", "machine owners vm-r @carol").ok
    house.round()
    assert not any("When may vm-r restart" in text for text in house.voice.said_to(BOB))
    assert any("another owner" in text for text in house.voice.said_to(BOB))
    assert any("When may vm-r restart" in text for text in house.voice.said_to(CAROL))
    assert not house.vain_questions()


def test_owners_hear_that_a_machine_is_not_known_any_more(house: House) -> None:
    house.say("bob", "window vm-r nights")
    before = len(house.voice.posts)
    assert house.say("dana", "machine remove vm-r").ok
    assert any("vm-r is no longer known" in t and DANA in t for t in said_since(house, BOB, before))


def test_what_was_kept_for_who_lost_the_machine_is_free_and_another_machine_is_asked_for(house: House) -> None:
    house.say("bob", "request 1 restart tonight")
    house.round()
    assert house.lease("1").state is LeaseState.RESERVED
    before = len(house.voice.posts)
    house.say("dana", "machine owners vm-r @carol")
    told = "\n".join(said_since(house, BOB, before))
    assert "request 1 on MACHINE" in told and "nothing to do" not in told
    house.say("dana", "machine add vm-spare owners @bob")
    house.forward(1)
    assert house.say("bob", "request 1 on vm-spare restart tonight").ok
    house.round()
    assert house.lease("1").machine == uuid("vm-spare") and house.books.requests[1].state is RequestState.LEASED


def test_a_known_machine_is_not_added_again(house: House) -> None:
    before = house.books
    reply = house.say("dana", "machine add vm-r owners @carol")
    assert not reply.ok and house.books == before
    assert BOB in text_of(reply) and "machine owners vm-r @person" in text_of(reply)


@pytest.mark.parametrize("verb", ["machine owners vm-r", "machine add vm-spare owners"])
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"outside": "that is a bot"}, "that is a bot"),
        ({"outside": "the workspace has nobody of that id"}, "nobody of that id"),
        ({"active": False}, "closed"),
    ],
)
def test_nobody_who_cannot_answer_becomes_an_owner(
    house: House, verb: str, change: dict[str, object], says: str
) -> None:
    house.people.by_id[CAROL] = replace(house.people.by_id[CAROL], **change)  # type: ignore[arg-type]
    before = house.books
    reply = house.say("dana", f"{verb} @bob @carol")
    assert not reply.ok and house.books == before
    assert CAROL in text_of(reply) and says in text_of(reply) and "machine owners" in text_of(reply)


# ---- who may say what about whose thing ----------------------------------------------------------------------------

ALONE = "belongs to U2BOB"  # the holder's word alone
BY_CAROL = [  # (line, may she, what she reads, what bob is told at once)
    ("release #1 now because bob is ill", True, "T4-1 of U2BOB is given back", "U3CAROL gave T4-1 back"),
    ("release T4-1 because bob is ill", True, "U2BOB is told", "U3CAROL gave T4-1 back"),
    ("release #1 now", False, "needs a reason", ""),
    ("release T4-1", False, "lent to U2BOB", ""),
    ("extend #1 4h", False, ALONE, ""),
    ("extend T4-1 4h", False, ALONE, ""),
    ("keep #1", True, "U2BOB is told", "U3CAROL asked me to keep T4-1 for you"),
    ("keep #1 4h because carol needs it too", True, "U2BOB is told", "U3CAROL asked me to keep T4-1 for you"),
    ("using #1", True, "U2BOB is told", "U3CAROL said that it is in use"),
    ("window vm-r remove", True, "", "U3CAROL took back the time that you agreed"),
    ("notnow vm-r", True, "does not restart", "U3CAROL said not now"),
    ("window vm-r ask", True, "U2BOB may still agree", ""),
]


@pytest.mark.parametrize(("line", "may", "reads", "told"), BY_CAROL, ids=[line for line, *_ in BY_CAROL])
def test_what_an_owner_may_say_of_what_another_has(shared: House, line: str, may: bool, reads: str, told: str) -> None:
    if "window" in line or "notnow" in line:
        shared.say("bob", "window vm-r nights")
    shared.round()
    before, books = len(shared.voice.posts), shared.books
    reply = shared.say("carol", line)
    assert reply.ok is may, text_of(reply)
    assert reads in text_of(reply) and "yours until" not in text_of(reply) and "thank you" not in text_of(reply)
    assert may or shared.books == books
    heard = [text_of(r) for to, r in posted(shared, before) if to == BOB]
    assert any(told in text for text in heard) if told else not heard, heard


def posted(house: House, before: int) -> list[tuple[str, Reply]]:
    """What is out at once, without a round."""
    house.rounds.tell()
    return house.voice.posts[before:]


BY_ANYBODY = ["accept #1 now", "pass #1", "release #1", "extend #1 4h", "keep #1"]


@pytest.mark.parametrize("line", BY_ANYBODY)
def test_a_place_in_line_is_its_persons_alone(house: House, line: str) -> None:
    house.say("dana", "machine owners vm-r @bob @carol")
    house.say("dana", "drain T4-1 T4-2 T4-3 T4-4 because x")
    house.say("bob", "request 1")
    before = house.books
    assert not house.say("carol", line).ok
    assert house.books == before


def test_who_gave_anothers_card_back_may_take_that_back_and_the_holder_hears_both(shared: House) -> None:
    assert shared.say("carol", "release #1 because bob is ill").ok
    posted(shared, 0)
    before = len(shared.voice.posts)
    reply = shared.say("carol", "keep #1")
    assert reply.ok and "stays with U2BOB" in text_of(reply)
    assert shared.lease("1").state is LeaseState.ACTIVE
    assert [to for to, r in posted(shared, before) if "U3CAROL took that back" in text_of(r)] == [BOB]


def test_a_card_that_another_adopts_for_somebody_is_told_to_them(house: House) -> None:
    house.say("dana", "machine owners vm-r @bob @carol")
    house.lab.vms[uuid("vm-r")].cards.append(house.books.cards["T4-2"].pci)
    house.store.keep_look(house.lab.look())
    house.round()
    before = len(house.voice.posts)
    assert house.say("carol", "adopt T4-2 @bob").ok
    assert [to for to, r in posted(house, before) if "T4-2 in vm-r is lent to you now: U3CAROL" in text_of(r)] == [BOB]


def test_a_card_kept_for_somebody_and_given_up_by_an_owner_is_told(house: House) -> None:
    house.say("dana", "machine owners vm-r @bob @carol")
    house.say("bob", "request 1 on vm-r restart tonight")
    house.round()
    assert house.lease("1").state is LeaseState.RESERVED
    before = len(house.voice.posts)
    reply = house.say("carol", "release #1 because bob is ill")
    assert reply.ok and "U2BOB is told" in text_of(reply)
    heard = [text_of(r) for to, r in posted(house, before) if to == BOB]
    assert any("U3CAROL gave up T4-1" in text and "out of the line" in text for text in heard), heard


# ---- what is not there any more ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "notnow vm-r",
        "start vm-r",
        "notnow vm-r undo",
        "window vm-r tonight",
        "notnow vm-spare",
        "notnow vm-long-gone",
        "start vm-q",
    ],
)
def test_a_machine_that_is_not_registered_is_named_as_that(house: House, line: str) -> None:
    assert house.say("dana", "machine remove vm-r").ok
    reply = house.say("bob", line)
    name = next(word for word in line.split() if word.startswith("vm-"))
    assert not reply.ok and f'I know no machine "{name}"' in text_of(reply)


@pytest.mark.parametrize("verb", ["release", "extend", "keep", "accept", "pass"])
def test_a_number_that_is_over_is_said_to_be_over(house: House, verb: str) -> None:
    house.say("dana", "drain T4-1 T4-2 T4-3 T4-4 because x")
    house.say("bob", "request 1")
    assert house.say("bob", "release #1").ok
    assert house.books.requests[1].state is RequestState.WITHDRAWN
    reply = house.say("bob", f"{verb} #1")
    assert not reply.ok and "#1 is over: taken out of the line" in text_of(reply), text_of(reply)
    assert "#1 is over" in text_of(house.say("bob", "why #1"))
    assert "There is no request #9." in text_of(house.say("bob", f"{verb} #9"))


def test_an_admin_who_names_no_machine_reads_whose_the_others_are_and_how_to_add_one(house: House) -> None:
    for line in ("machine add nowhere owners @bob", "machine remove nowhere", "machine owners nowhere @bob"):
        answer = text_of(house.say("dana", line))
        assert "Yours" not in answer and "An admin can" not in answer
        assert "vm-r of bob" in answer and "machine add NAME owners @person" in answer
    assert "vm-spare, not known to me" in text_of(house.say("dana", "machine add nowhere owners @bob"))


# ---- who left ------------------------------------------------------------------------------------------------------


def test_the_card_of_who_left_is_told_to_the_admins_once_with_what_they_can_do(house: House) -> None:
    house.lend("vm-r", "T4-1")
    house.round()
    before = len(house.voice.posts)
    house.people.leaves("bob")
    for _ in range(3):
        house.round()
    told = [text_of(r) for to, r in house.voice.posts[before:] if to == DANA]
    assert len(told) == 1, told
    assert "force release #1" in told[0] and "machine owners vm-r @person" in told[0]


def test_a_card_kept_for_who_left_goes_to_the_next(house: House) -> None:
    house.say("bob", "request 1 restart tonight")
    house.round()
    assert house.lease("1").state is LeaseState.RESERVED
    house.people.leaves("bob")
    for _ in range(2):
        house.round()
    assert house.books.requests[1].state is RequestState.WITHDRAWN
    assert not house.books.holds and "1" not in {
        x.label for x in house.books.leases.values() if x.state is LeaseState.RESERVED
    }
    assert any("has left" in text and "Out of the line: #1" in text for text in house.voice.said_to(DANA))
