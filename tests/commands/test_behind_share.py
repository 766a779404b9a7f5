"""Who is first in line and over their share reads that somebody behind them goes first, not that somebody is before them."""

from __future__ import annotations

from tests.fakes import text_of
from tests.house import House


def test_first_in_line_and_over_the_share(house: House) -> None:
    house.lend("vm-r", "T4-1", until="until tomorrow 18:00")
    house.lend("vm-r", "T4-2", until="for 6d")
    house.lend("vm-python", "T4-3", "T4-4", until="for 6d")
    asked = text_of(house.say("bob", "request 1"))
    assert "You are first in line" in asked and "U3CAROL" not in asked
    house.clock.forward(minutes=1)
    house.say("carol", "request 1 restart any time today")
    for said in (text_of(house.say("bob", "why")), text_of(house.say("bob", "request 1 because my paper"))):
        assert "first in line" in said and "is before you" not in said
        assert (
            "U3CAROL goes first, since this is over a share while others wait, and then has theirs until about 18 17:00"
            in said
        )
