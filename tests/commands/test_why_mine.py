"""why and mine: about the one thing that is asked about, and of machines that are there."""

from pathlib import Path

from tests.commands.test_modes import ModesHouse
from tests.fakes import text_of, uuid
from tests.house import House


def two_requests(house: House) -> None:
    """All cards are ada's; bob waits with #2 for vm-r and with #3 for vm-spare."""
    house.say("dana", "machine add vm-spare owners @bob")
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    house.say("bob", "request 1 on vm-r")
    house.clock.forward(minutes=3)
    house.say("bob", "request 1 on vm-spare")


def test_why_of_a_number_is_about_that_number(house: House) -> None:
    two_requests(house)
    second = text_of(house.say("bob", "why #3"))
    assert second.startswith("You are second in line with #3: your #2 was asked ")
    assert "vm-spare" in second and "vm-r " not in second and "you asked" not in second
    first = text_of(house.say("bob", "why #2"))
    assert first.startswith("You are first in line with #2 for 1 T4") and "vm-r" in first and "vm-spare" not in first
    assert "their #2 was asked" in text_of(house.say("ada", "why #3"))


def test_bare_why_tells_what_else_waits_and_how_to_ask_about_it(house: House) -> None:
    two_requests(house)
    bare = text_of(house.say("bob", "why"))
    assert bare.startswith("You are first in line with #2")
    assert "Yours, too: #3 1 T4 for vm-spare" in bare and "Why: /gpu why #3." in bare
    assert "Yours, too" not in text_of(house.say("bob", "why #2")), "that was asked about"
    assert "Yours, too" not in text_of(house.say("ada", "why")), "what works does not wait"


def test_a_machine_that_is_gone_is_said_to_be_gone_until_it_is_forgotten(house: House) -> None:
    two_requests(house)
    del house.lab.vms[uuid("vm-spare")]
    house.forward(30)
    said = text_of(house.say("bob", "mine"))
    assert "Your machines: vm-r." in said
    assert "vm-spare is gone from vCenter. An admin can have it forgotten: /gpu machine remove vm-spare." in said
    why = house.say("bob", "why #3")
    assert "for another one: /gpu request 1 on MACHINE" in text_of(why)
    assert [button.says for button in why.buttons] == ["queue", "release #3"], "it is not asked when that restarts"
    house.say("bob", "release #3")
    assert house.say("dana", "machine remove vm-spare").ok
    assert "vm-spare" not in text_of(house.say("bob", "mine"))


def test_of_a_machine_that_was_moved_all_say_where_it_is_and_what_helps(tmp_path: Path) -> None:
    house = ModesHouse(tmp_path)
    house.lend("vm-r", "T4-3")
    house.lab.here = ("vm-train", "vm-r")
    house.forward(60)
    why = text_of(house.say("bob", "why"))
    assert "vm-r is on esx-02 now, and T4-3 is in esx-01: it cannot work there." in why
    assert "It stays lent to vm-r. What helps: an admin moves vm-r back to esx-01; or give it back" in why
    assert "/gpu release #1" in why
    tail = "not in it now: vm-r was moved to esx-02"
    for who, said in (("bob", "mine"), ("bob", "status"), ("ada", "status")):
        assert tail in text_of(house.say(who, said)), said
    house.lab.here = ("vm-train",)
    house.forward(60)
    assert tail not in text_of(house.say("bob", "mine")) and "esx-02" not in text_of(house.say("bob", "why"))
    house.close()


def behind_carol(house: House) -> None:
    """carol waits for two: one is free, another is bob's until 18:00 tomorrow, the rest for days; ada asks for the free one, for five days."""
    house.lend("vm-r", "T4-1", until="until tomorrow 18:00")
    house.lend("vm-r", "T4-2", until="for 6d")
    house.lend("vm-python", "T4-3", until="for 6d")
    assert house.say("carol", "request 2 restart any time today").ok
    house.clock.forward(minutes=3)
    assert house.say("ada", "request 1 for 5d restart any time today").ok
    house.round()


def test_who_would_not_be_back_in_time_reads_the_rule_the_people_the_times_and_what_would_work(house: House) -> None:
    behind_carol(house)
    reply = house.say("ada", "why")
    line = text_of(reply).splitlines()[1]
    assert line.startswith("A T4 is free, but U3CAROL's turn for 2 is expected 17 17:25 (the cards work by 17 17:40)")
    assert "Nothing else counts" not in text_of(reply)
    assert (
        ", and yours (5 days) would surely be back only 22 05:00. In time would be: /gpu request on vm-python for "
        in line
    )
    assert reply.buttons[0].label.startswith("Only for ") and reply.buttons[0].says in line
    asked = house.say("ada", reply.buttons[0].says)
    assert asked.ok
    house.round()
    assert house.lease("5").slots == ("T4-4",), "what is said to work does"
    told = text_of(house.say("ada", "why"))
    past = next(line for line in told.splitlines() if line.startswith("This goes past"))
    assert past.startswith("This goes past U3CAROL, who waits for 2 cards: so it ends ")
    assert ", and vm-python restarts then, by 17 17:" in past
    assert past in text_of(asked).splitlines(), "all of it is read before it is given"
    assert "when you say; if not within 24 h" not in text_of(asked)


def test_a_list_says_in_a_few_words_why_somebody_waits_although_enough_is_there(house: House) -> None:
    behind_carol(house)
    few = "2. U1ADA · 1 T4 for vm-python"
    for who, said in (("ada", "queue"), ("bob", "status"), ("ada", "mine")):
        lines = [x for x in text_of(house.say(who, said)).splitlines() if "would not be back in time for U3CAROL" in x]
        assert lines and (few in lines[0] or "#5 1 T4 for vm-python" in lines[0]), said
    house.clock.forward(seconds=30)
    house.round()
    board = next(text_of(r) for to, r in reversed(list(house.voice.standing.values())) if "In line" in text_of(r))
    assert few in board and "would not be back in time for U3CAROL" in board
    assert "would not be back in time" not in text_of(house.say("carol", "mine")), "she waits for too little"
