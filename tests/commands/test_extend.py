"""extend and keep: what is refused names what would work, or that nothing does for now."""

from tests.fakes import text_of
from tests.house import House


def lent(house: House) -> None:
    """All four cards are ada's until 17:30."""
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4", until="until 17:30")


def test_the_second_time_while_somebody_waits(house: House) -> None:
    lent(house)
    house.say("bob", "request 1")
    assert house.say("ada", "extend 2h").ok
    reply = house.say("ada", "extend 1h")
    said = text_of(reply)
    assert not reply.ok and "made longer once already" in said and "horter" not in said
    assert "As it stands it is yours until" in said and "U2BOB waits" in said
    house.say("bob", "release")
    assert house.say("ada", "extend 1h").ok, "nobody waits any more"


def test_who_likely_waits_longer_by_it_is_named_and_told(house: House) -> None:
    lent(house)
    house.say("bob", "request 1")
    told = house.books.requests[2].promised
    house.round()
    assert told is not None and not any("is likely longer" in text for text in house.voice.said_to("U2BOB"))
    reply = text_of(house.say("ada", "extend until 18:30"))
    assert "U2BOB was told likely by 16 17:10, and now waits until about 16 18:10; I tell them." in reply
    house.round()
    (moved,) = [text for text in house.voice.said_to("U2BOB") if "is likely longer" in text]
    assert moved.startswith(
        "Your wait for 1 T4 is likely longer than I said.\nLikely by 16 18:10 instead of 16 17:10, at the latest "
    )
    assert " as before: U1ADA has T4-1, T4-2, T4-3 and T4-4 for longer now.\nYou keep your place." in moved
    now = house.books.requests[2].promised
    assert now is not None and (now.latest, now.likely == told.likely) == (told.latest, False), "the latest holds"
    assert "because somebody wants theirs for longer: likely by 16 18:10" in text_of(house.say("bob", "history #2"))
    house.round()
    assert len([text for text in house.voice.said_to("U2BOB") if "is likely longer" in text]) == 1


def test_who_keeps_what_was_given_back_reads_whom_it_costs_time(house: House) -> None:
    lent(house)
    house.say("ada", "release T4-1 now")
    house.say("bob", "request 1 spare")  # to whom no latest time is promised
    reply = text_of(house.say("ada", "keep T4-1"))
    assert "U2BOB was told likely by" in reply and "; I tell them." in reply, reply


def test_who_is_before_others_and_asks_for_longer_reads_whom_it_costs_time(house: House) -> None:
    house.lend("vm-python", "T4-1", until="until 17:30")
    house.lend("vm-python", "T4-2", "T4-3", "T4-4", until="for 6d")
    house.say("bob", "request 1 for 1h")
    house.clock.forward(minutes=1)
    house.say("carol", "request 1 spare")  # to whom no latest time is promised
    reply = text_of(house.say("bob", "request 1 for 5h"))
    assert (
        reply.startswith("Changed.")
        and "U3CAROL was told likely by 16 18:50, and now waits until about 16 22:50" in reply
    )
    house.round()
    assert "U2BOB, who is before you, changed what they ask for." in "".join(house.voice.said_to("U3CAROL"))
    assert "I tell them" not in text_of(house.say("bob", "request 1 for 4h")), "nobody waits longer by that"


def test_too_long_offers_what_works(house: House) -> None:
    lent(house)
    house.say("bob", "request 1")
    reply = house.say("ada", "extend 3d")
    assert not reply.ok and reply.buttons[0].says == "extend #1 until tomorrow 17:30"
    assert house.say("ada", reply.buttons[0].says).ok


def test_keep_with_the_end_that_holds_is_answered_with_what_holds(house: House) -> None:
    lent(house)
    assert house.say("ada", "release T4-1").ok
    part = next(label for label in house.books.leases if label != "1")
    end = house.books.leases[part].end
    for line in ("keep T4-1 until 17:30", "keep T4-1 until 17:30", "keep T4-1 until 15:00"):
        reply = house.say("ada", line)
        assert reply.ok, text_of(reply)
        assert "stays yours until" in text_of(reply)
        assert house.books.leases[part].end == end
    reply = house.say("ada", "keep T4-1 until 19:00")
    assert reply.ok and "extend makes its time longer" in text_of(reply)
    assert house.books.leases[part].end == end, "it is not on its way back any more"
    (longer,) = [b.says for b in reply.buttons if b.says.startswith("extend")]
    assert house.say("ada", longer).ok
    later = house.books.leases[part].end
    assert later is not None and end is not None and later > end


def test_extend_to_the_end_that_holds(house: House) -> None:
    lent(house)
    reply = house.say("ada", "extend until 17:30")
    assert not reply.ok and "already; that is not later" in text_of(reply)
