"""What somebody reads of their waiting time when they ask is what is written down, and what others wish gives way to it."""

from __future__ import annotations

import pytest

from bot.domain.model import Request
from bot.service.ports import Reply, When
from tests.fakes import text_of
from tests.house import House


def times(reply: Reply) -> list[object]:
    """The times of the line that says when."""
    line = next(line for line in reply.lines if "ikely by" in str(line) or "can be there by" in str(line))
    return [part.at for part in line if isinstance(part, When)]


def request_of(house: House, person: str) -> Request:
    return next(r for r in house.books.requests.values() if r.person == person)


@pytest.mark.parametrize("lent", [0, 4])
def test_the_answer_to_a_request_is_written_down_as_it_is_read(house: House, lent: int) -> None:
    if lent:
        house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    reply = house.say("bob", "request 1")
    said = request_of(house, "U2BOB").promised
    assert said is not None and times(reply)[:2] == [said.likely, said.latest]
    assert said.likely is not None and said.likely.second == 0
    again = house.say("bob", "why")
    assert times(again)[:2] == [said.likely, said.latest], "why says the same"


def test_what_others_wish_gives_way_to_what_somebody_was_told(house: House) -> None:
    lease = house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    house.say("ada", f"release #{lease.label} ask me first")
    house.round()
    house.say("bob", "request 1")
    said = request_of(house, "U2BOB").promised
    refused = house.say("ada", f"keep #{lease.label}")
    assert said is not None and not refused.ok
    assert said.latest in [part.at for line in refused.lines for part in line if isinstance(part, When)]
    assert "was promised one by" in text_of(refused) and "So it goes back as agreed." in text_of(refused)


def test_a_wait_that_gets_longer_is_told_with_what_made_it_so(house: House) -> None:
    house.lend("vm-python", "T4-1", "T4-2", "T4-3", "T4-4")
    house.say("bob", "request 1")
    house.clock.forward(minutes=1)
    for slot in ("T4-1", "T4-2", "T4-3", "T4-4"):
        house.say("dana", f"drain {slot} because hot")
    house.round()
    told = [
        text_of(reply) for to, reply in house.voice.posts if to == "U2BOB" and "longer than I said" in text_of(reply)
    ]
    assert len(told) == 1 and "I do not know any more: U4DANA took T4-1" in told[0]
