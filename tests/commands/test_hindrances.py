"""What an answer says of a time that is agreed: the site's blackouts with the next time that is none, and what stands in the way with who can mend it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.model import Blackout, Power, Window
from bot.domain.policy import Policy
from tests.fakes import text_of, uuid
from tests.house import House


@pytest.fixture
def dark(tmp_path: Path) -> Iterator[House]:
    """A house in which no restart begins for the next two hours."""
    house = House(tmp_path)
    now = house.clock.now()
    house.close()
    (tmp_path / "dark").mkdir()
    window = Window(now - timedelta(hours=1), now + timedelta(hours=2))
    house = House(tmp_path / "dark", Policy(level="act", blackout=(Blackout("x", window=window),)))
    house.furnish()
    yield house
    house.close()


SAID = "This site lets no restart begin between"


def test_who_asks_when_it_may_restart_reads_of_the_blackout_and_the_next_time(dark: House) -> None:
    for text in ("request 1 restart now", "request 1 restart today", "window now", "window vm-r today", "window vm-r"):
        reply = dark.say("bob", text)
        said = text_of(reply)
        assert reply.ok and SAID in said and "vm-r restarts" in said and "at the earliest" in said, (text, said)


def test_a_time_inside_it_is_refused_with_one_that_works(dark: House) -> None:
    dark.say("bob", "request 1")
    start = dark.clock.now() + timedelta(minutes=20)
    reply = dark.say("bob", f"window vm-r at {start.astimezone(_zone(dark)):%H:%M} for 30 min")
    said = text_of(reply)
    assert not reply.ok and "this site lets no restart begin between" in said, said
    assert not dark.books.agreements


def _zone(house: House):  # type: ignore[no-untyped-def]
    from zoneinfo import ZoneInfo

    return ZoneInfo(house.people.find("bob").zone)  # type: ignore[union-attr]


def test_a_standing_time_outside_it_says_nothing_of_it(dark: House) -> None:
    assert SAID not in text_of(dark.say("bob", "window nights"))


def test_nothing_is_shut_down_in_it_and_afterwards_it_is(dark: House) -> None:
    dark.say("bob", "request 1 restart now")
    dark.round(3)
    assert not dark.lab.calls
    dark.clock.forward(hours=2)
    dark.forward(180, 5)
    assert dark.lab.calls, "as soon as it is over"


def test_what_the_last_look_shows_in_the_way_is_in_the_answer_to_who_agrees(house: House) -> None:
    house.lab.vms[uuid("vm-r")].power = Power.SUSPENDED
    house.store.keep_look(house.lab.look())
    said = text_of(house.say("bob", "request 1 restart tonight"))
    assert "In the way just now: vm-r is suspended" in said and "(an owner can mend that)" in said, said
    assert "In the way just now" in text_of(house.say("bob", "window vm-r tonight"))


def test_the_dry_run_is_made_at_once_and_told_within_seconds(house: House) -> None:
    """Not with the next beat: whoever agreed still looks at the answer."""
    found = "vm-r needs its 64 GB of memory reserved, and esx-01 has 12 GB left for that"
    house.lab.dry_run = lambda step: [found, "VMware Tools do not run in vm-r"]  # type: ignore[method-assign]
    house.say("bob", "request 1 restart tonight")
    pause = house.rounds.round()
    assert pause <= timedelta(seconds=2), "the restart was planned in this round, and is not tried dry yet"
    house.clock.forward(seconds=2)
    house.rounds.round()
    while house.rounds.tell():
        pass
    (told,) = [t for t in house.voice.said_to("U2BOB") if "cannot take" in t]
    assert "2 things are in the way" in told and found in told and "an admin can mend that" in told, told
    assert "an owner of the machine can mend that" in told
    house.lab.dry_run = lambda step: []  # type: ignore[method-assign]
    house.clock.forward(minutes=1)
    house.rounds.round()
    while house.rounds.tell():
        pass
    assert not [t for t in house.voice.said_to("U2BOB") if "cannot take" in t]
    (over,) = [t for t in house.voice.said_to("U2BOB") if "Nothing is in the way" in t]
    assert "vm-r restarts" in over
