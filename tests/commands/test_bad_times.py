"""Times as people type them, and what is no time: each is understood, or refused with an example that works. It is Monday, 10:00."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.domain.model import Lease
from tests.fakes import text_of
from tests.house import VERBS, House
from tests.service.words_rules import check

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, Lease]]:
    """One house for all rows: ada has T4-1 until 17:30. A row that makes it longer puts that back."""
    path: Path = tmp_path_factory.mktemp("times")
    house = House(path)
    house.furnish()
    yield house, house.lend("vm-python", "T4-1", until="until 17:30")
    house.close()


@pytest.fixture
def house(lent: tuple[House, Lease]) -> Iterator[House]:
    """As it was."""
    yield lent[0]
    lent[0].put(lent[1])


def end_of(house: House) -> str:
    """The end of ada's card by the clock of the wall."""
    end = house.lease("1").end
    assert isinstance(end, datetime)
    return end.astimezone(BERLIN).strftime("%a %d %H:%M")


UNDERSTOOD = [
    ("2hours", "Mon 16 19:30"),
    ("90m", "Mon 16 19:00"),
    ("1h30", "Mon 16 19:00"),
    ("1h30m", "Mon 16 19:00"),
    ("1:30h", "Mon 16 19:00"),
    ("90 minutes", "Mon 16 19:00"),
    ("half an hour", "Mon 16 18:00"),
    ("two hours", "Mon 16 19:30"),
    ("another 2 hours", "Mon 16 19:30"),
    ("by 2h", "Mon 16 19:30"),
    ("1.5h", "Mon 16 19:00"),
    ("1,5h", "Mon 16 19:00"),
    ("18h", "Tue 17 11:30"),
    ("fri 18:00", "Fri 20 18:00"),
    ("friday 6pm", "Fri 20 18:00"),
    ("tomorrow noon", "Tue 17 12:00"),
    ("18:00", "Mon 16 18:00"),
    ("18.00", "Mon 16 18:00"),
    ("until 18.30", "Mon 16 18:30"),
    ("25.3 18:00", "Wed 25 18:00"),
    ("25.03", "Wed 25 18:00"),
    ("25/3", "Wed 25 18:00"),
    ("3/25", "Wed 25 18:00"),
    ("2026-03-24 18:00", "Tue 24 18:00"),
    ("24.3. 18:00", "Tue 24 18:00"),
    ("next monday", "Mon 23 18:00"),  # today is one, so it is that of next week
    ("coming friday", "Fri 20 18:00"),
    ("tonight", "Mon 16 22:00"),
    ("in 2 weeks", "Mon 30 11:00"),  # of 168 hours, though clocks go forward in them
]


@pytest.mark.parametrize(("text", "end"), UNDERSTOOD, ids=[text for text, _ in UNDERSTOOD])
def test_a_time_is_understood_as_it_was_meant(house: House, text: str, end: str) -> None:
    reply = house.say("ada", f"extend {text}")
    assert reply.ok, text_of(reply)
    assert end_of(house) == end


PAST, LONG = "has passed already", "too long"
UNCLEAR, EARLIER, LESS = "do not understand", "that is not later", "never shorter"

REFUSED = [  # what is said, why it is not done, and the examples, each of which is said then
    ("31.02.", UNCLEAR, ["until wed 18 mar 18:00"]),
    ("31.02", UNCLEAR, ["until wed 18 mar 18:00"]),
    ("10.12", UNCLEAR, ["at 10:12", "10 dec"]),
    ("5/6", UNCLEAR, ["5 jun", "6 may"]),
    ("next fri 18:00", UNCLEAR, ["until fri 20 mar 18:00", "until fri 27 mar 18:00"]),
    ("end of week", UNCLEAR, ["fri 18:00", "sun 24:00"]),
    ("end of the day", UNCLEAR, ["today 18:00", "today 24:00"]),
    ("next week", UNCLEAR, ["next mon 18:00"]),
    ("tomorrow morning", UNCLEAR, ["tomorrow 09:00"]),
    ("this evening", UNCLEAR, ["today 20:00"]),
    ("fri 18", UNCLEAR, ["extend fri 18:00"]),
    ("fri 18h", UNCLEAR, ["until fri 18:00", "for 18h"]),
    ("5", UNCLEAR, ["extend 5h", "extend 5 min"]),
    ("0h", UNCLEAR, ["extend 4h"]),
    ("-2h", LESS, ["release"]),
    ("25:00", UNCLEAR, ["at 18:00"]),
    ("1000h", LONG, ["extend #1 until mon 30 mar 11:00"]),
    ("2026-12-24 18:00", LONG, ["extend #1 until mon 30 mar 11:00"]),
    ("24.12. 18:00", LONG, ["extend #1 until mon 30 mar 11:00"]),
    ("9:00", PAST, ["tomorrow 09:00"]),
    ("until 2026-03-15 18:00", PAST, ["until wed 18 mar 18:00"]),
    ("until 12:00", EARLIER, ["release #1"]),
    ("in an hour", EARLIER, ["release #1"]),
    ("blah", UNCLEAR, ["extend 4h"]),
]


@pytest.mark.parametrize(("text", "why", "works"), REFUSED, ids=[text for text, *_ in REFUSED])
def test_what_is_no_time_is_refused_with_examples_that_work(
    house: House, text: str, why: str, works: list[str]
) -> None:
    reply = house.say("ada", f"extend {text}")
    assert not reply.ok and why in text_of(reply), text_of(reply)
    assert end_of(house) == "Mon 16 17:30"
    check(reply)
    for line in works:
        assert line in text_of(reply)
        if not line.startswith("release"):
            said = line if line.startswith("extend") else f"extend {line}"
            assert UNCLEAR not in text_of(house.say("ada", said)), said


def test_a_decimal_comma_beside_a_count_is_asked_about(house: House) -> None:
    reply = house.say("bob", "request 2,5h")
    assert not reply.ok and not house.books.requests
    assert "for 2.5h, or 2 for 5h" in text_of(reply)


NOTHING_HELD = [  # whoever has no card, or not that one
    ("bob", "extend 4h", ["you have no card", "request 1"]),
    ("bob", "extend", ["you have no card", "request 1"]),
    ("bob", "extend #1 4h", ["belongs to U1ADA"]),
    ("bob", "extend T4-1 4h", ["belongs to U1ADA"]),
    ("bob", "extend T4-2 4h", ["nobody has T4-2"]),
    ("bob", "extend #77 4h", ["no request #77"]),
    ("ada", "extend T4-9 4h", ['no card "T4-9"', "T4-1"]),
    ("ada", "extend #1 4h until fri", ["one of the two: 4h, or until fri"]),
]


@pytest.mark.parametrize(
    ("who", "line", "words"), NOTHING_HELD, ids=[f"{who}: {line}" for who, line, _ in NOTHING_HELD]
)
def test_of_what_is_not_theirs_nobody_makes_the_time_longer(
    house: House, who: str, line: str, words: list[str]
) -> None:
    before = house.books
    reply = house.say(who, line)
    assert not reply.ok and house.books == before
    for word in words:
        assert word in text_of(reply), text_of(reply)
    check(reply)


NAMES = ["@ada", "ada", "ADA", "<@U1ADA>", "<@U1ADA|ada>", "@ADA", "ada."]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verb", ["why", "ask"])
def test_a_person_is_meant_however_they_are_written(house: House, verb: str, name: str) -> None:
    house.say("dana", "help")
    reply = house.say("dana", f"{verb} {name}")
    assert "T4-1" in text_of(reply) and "I know no person" not in text_of(reply), text_of(reply)
    assert UNCLEAR not in text_of(reply)


@pytest.mark.parametrize("line", ["why zoe", "why @zoe", "ask zoe", "ask @zoe", "ask <@U9NOBODY>"])
def test_a_name_that_nobody_has_is_refused_with_what_works(house: House, line: str) -> None:
    reply = house.say("bob", line)
    assert not reply.ok and ("@" in text_of(reply))
    check(reply)


FORMS = [
    "2hours", "90m", "1h30", "fri 18:00", "tomorrow noon", "18:00", "31.02.", "25:00", "0h", "-2h", "1e9h", "99999h", "thursday", "noon",
    "in 2 hours", "in 99999h", "24:00", "18.30", "6pm", "now", "9:00", "until", "tonight", "2099-01-01",
]  # fmt: skip
LEADS = [  # a line with a time, and what stands before an example that is no whole line
    ("ada", "extend {}", "extend"),
    ("ada", "extend until {}", "extend"),
    ("ada", "keep T4-1 {}", "keep T4-1"),
    ("ada", "keep T4-1 until {} because x", "keep T4-1"),
    ("ada", "window {}", "window"),
    ("ada", "window at {}", "window"),
    ("ada", "window until {}", "window"),
    ("ada", "release T4-1 {}", "release T4-1"),
    ("bob", "accept {}", "accept"),
    ("bob", "request 1 for {}", "request 1"),
    ("bob", "request 1 until {}", "request 1"),
    ("bob", "request 1 from {}", "request 1"),
    ("bob", "request 1 before {}", "request 1"),
    ("bob", "request 1 restart {}", "request 1"),
]
NEVER = (UNCLEAR, PAST, LONG, "does not work (")


def examples(text: str, before: str) -> list[str]:
    """The lines that a refusal names as working."""
    found = re.search(r"^What works: (?:a later time, such as )?(.*)\.$", text, re.MULTILINE)
    if found is None or found[1].startswith(("a later time, or to give", "release gives")):
        return []
    named = [re.sub(r" \(hours.*|^/gpu ", "", one) for one in re.split(r", or |, ", found[1])]
    whole = tuple(f"{word} " for verb in VERBS.all for word in verb.words if word not in ("for", "until"))
    return [one if f"{one} ".startswith(whole) else f"{before} {one}" for one in named]


@pytest.mark.parametrize(("who", "lead", "before"), LEADS, ids=[lead for _, lead, _ in LEADS])
def test_a_time_is_understood_or_refused_with_examples_that_are(
    lent: tuple[House, Lease], who: str, lead: str, before: str
) -> None:
    house, lease = lent
    tried = 0
    for form in FORMS:
        house.put(lease)
        house.say("bob", "release all")
        reply = house.say(who, lead.format(form))
        if reply.ok:
            continue
        check(reply)
        found = examples(text_of(reply), before)
        assert found or LESS in text_of(reply) or not any(no in text_of(reply) for no in NEVER), text_of(reply)
        for line in [*found, *(b.says for b in reply.buttons if b.says not in ("help", "mine", "queue"))]:
            house.put(lease)
            said = line.replace("#12", "#1").replace(" …", "").replace("TEXT", "x")
            said += " because x" if said.startswith("keep") and "because" not in said else ""  # as it asks for then
            answer = text_of(house.say(who, said))
            assert not any(no in answer for no in NEVER), (lead.format(form), line, answer)
            tried += 1
    assert tried
