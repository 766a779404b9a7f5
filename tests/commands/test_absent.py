"""Who has a card and is not there: an owner of the machine, or an admin, says so for them, with a reason that everybody reads."""

from __future__ import annotations

import pytest

from bot.domain.model import LeaseState
from bot.domain.news import CHANNEL
from tests.fakes import text_of, uuid
from tests.house import House
from tests.service.words_rules import check

ADA, BOB, CAROL = "U1ADA", "U2BOB", "U3CAROL"


@pytest.fixture
def shared(house: House) -> House:
    """vm-r belongs to bob and carol, and bob has T4-1 and T4-2 there; what was said of that is out."""
    assert house.say("dana", "machine owners vm-r @bob @carol").ok
    house.lend("vm-r", "T4-1", "T4-2")
    house.round()
    return house


def told(house: House, whom: str, before: int) -> list[str]:
    """What somebody was told, at once, after so many messages to everybody."""
    house.rounds.tell()
    for to, reply in house.voice.posts[before:]:
        check(reply)
        assert to in (ADA, BOB, CAROL, "U4DANA", CHANNEL)
    return [text_of(reply) for to, reply in house.voice.posts[before:] if to == whom and "in use" not in text_of(reply)]


def test_for_somebody_else_it_needs_a_reason_and_nothing_is_lost_without(shared: House) -> None:
    before = shared.books
    reply = shared.say("carol", "release T4-1 tonight")
    assert not reply.ok and shared.books == before
    assert "lent to U2BOB" in text_of(reply) and "/gpu release T4-1 tonight because …" in text_of(reply)


def test_the_channel_reads_both_names_and_the_reason_and_the_holder_hears_at_once(shared: House) -> None:
    before = len(shared.voice.posts)
    reply = shared.say("carol", "release T4-1 tonight because bob is ill")
    assert reply.ok and "as the channel is" in text_of(reply)
    (public,) = [x for x in told(shared, CHANNEL, before) if "back for" in x]
    assert public.startswith("U3CAROL gave T4-1 back for U2BOB (vm-r): bob is ill.")
    (bob,) = [x for x in told(shared, BOB, before) if "gave" in x]
    assert "U3CAROL gave T4-1 back" in bob and "The reason, as the channel reads it: bob is ill." in bob
    assert shared.lease("1").slots == ("T4-2",), "the other card stays"
    assert shared.lease("1b").state is LeaseState.RETURNING and shared.lease("1b").reason == "bob is ill"


def test_what_was_kept_for_somebody_and_did_not_come_yet_too(house: House) -> None:
    house.say("dana", "machine owners vm-r @bob @carol")
    assert house.say("bob", "request 1 restart tonight").ok
    house.round()
    before = len(house.voice.posts)
    assert not house.say("carol", "release #1").ok
    assert house.say("carol", "release #1 because bob is ill").ok
    (public,) = [x for x in told(house, CHANNEL, before) if "back for" in x]
    assert "Nothing restarts for that" in public
    assert any("The reason, as the channel reads it: bob is ill." in x for x in told(house, BOB, before))


def test_who_has_left_says_nothing_any_more_and_needs_no_reason(shared: House) -> None:
    shared.people.leaves("bob")
    shared.round()
    before = len(shared.voice.posts)
    assert shared.say("carol", "release #1").ok
    assert any("its holder has left the workspace" in x for x in told(shared, CHANNEL, before))


def test_ones_own_needs_no_reason_and_is_told_to_nobody(shared: House) -> None:
    before = len(shared.voice.posts)
    assert shared.say("bob", "release T4-1 because i am done").ok
    assert not [x for x in told(shared, CHANNEL, before) if "back for" in x]
    assert shared.lease("1b").reason == "given back"


def test_an_admin_who_owns_nothing_of_it_has_a_word_of_their_own(shared: House) -> None:
    reply = shared.say("dana", "release #1 because bob is ill")
    assert not reply.ok and "force release #1 because bob is ill" in text_of(reply)
    assert not shared.say("dana", "force release #1").ok, "nor without a reason"
    before = len(shared.voice.posts)
    assert shared.say("dana", "force release T4-1 because bob is ill").ok
    (public,) = [x for x in told(shared, CHANNEL, before) if "back from" in x]
    assert public.startswith("U4DANA took T4-1 back from U2BOB (vm-r): bob is ill.")
    assert any("bob is ill" in x and "U4DANA" in x for x in told(shared, BOB, before))


def test_nobody_else_says_it_with_whatever_reason(shared: House) -> None:
    before = shared.books
    reply = shared.say("ada", "release #1 because bob is ill")
    assert not reply.ok and "belongs to U2BOB" in text_of(reply) and shared.books == before


def test_a_card_that_nobody_was_lent_is_let_go_without_a_word_to_all(house: House) -> None:
    house.say("dana", "machine owners vm-r @bob @carol")
    house.lab.vms[uuid("vm-r")].cards.append(house.books.cards["T4-2"].pci)
    house.store.keep_look(house.lab.look())
    house.round()
    before = len(house.voice.posts)
    reply = house.say("carol", "letgo T4-2")
    assert reply.ok and "as the channel is" not in text_of(reply)
    assert not [x for x in told(house, CHANNEL, before) if "back for" in x or "back from" in x]


def test_how_long_it_stays_is_the_holders_word_alone_and_keeping_it_is_told(shared: House) -> None:
    assert not shared.say("carol", "extend #1 4h because bob is ill").ok
    assert not shared.say("dana", "extend #1 4h because bob is ill").ok
    before = len(shared.voice.posts)
    assert shared.say("carol", "keep #1 4h because bob is ill").ok
    assert any("U3CAROL asked me to keep" in x for x in told(shared, BOB, before))


def test_that_somebody_has_left_tells_the_admins_what_is_still_lent_to_them(shared: House) -> None:
    before = len(shared.voice.posts)
    shared.people.leaves("bob")
    shared.round()
    (dana,) = [x for x in told(shared, "U4DANA", before) if "has left the workspace" in x]
    assert "T4-1 and T4-2 of #1 are still lent to them; they go back with /gpu force release #1 because TEXT." in dana
