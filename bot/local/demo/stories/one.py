"""Four cards, three people: a card is handed over by day, two more in the night."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.local.demo.processes import ZONE
from bot.local.demo.stage import Stage
from bot.local.demo.stories import seen
from bot.local.demo.stories.seen import MIN
from bot.local.demo.stories.story import Story

START = datetime(2026, 11, 30, 19, 0, tzinfo=ZoneInfo(ZONE))
"""A Monday evening: people are still at work, and the night is not far."""


def _one(stage: Stage) -> None:
    _a_card_rests(stage)
    _ada_takes_three(stage)
    _bob_and_carol_ask(stage)
    _ada_gives_one(stage)
    _ada_gives_two_tonight(stage)
    _the_night(stage)


def _a_card_rests(stage: Stage) -> None:
    stage.say("dana", "drain T4-4 because it fails its self-test")
    stage.clock.advance(MIN)
    seen.board(stage, "the drained card is shown resting", seen.row("T4-4", "resting"))
    stage.expect_board("the board counts four cards", lambda board: "4 cards" in board)


def _ada_takes_three(stage: Stage) -> None:
    answer = stage.say("ada", "request 3 on vm-python restart now")
    stage.expect("ada is told that vm-python restarts", "vm-python" in answer and "restart" in answer, answer)
    seen.called(stage, "ada", "vm-python", 30 * MIN)
    arrived = stage.clock.until(lambda: seen.told(stage, "ada", seen.ARRIVED), 30 * MIN)
    if arrived:
        stage.show_dm("ada", seen.ARRIVED)
    stage.expect("ada is told that the cards are hers", arrived, stage.dms("ada"))
    stage.expect("three cards sit in vm-python", stage.cards_in("vm-python") == 3, stage.vm("vm-python"))
    stage.work("vm-python", "ada")
    stage.clock.advance(2 * MIN)
    seen.board(stage, "the board gives three cards to ada", seen.rows("ada", "T4-1", "T4-2", "T4-3"))


def _bob_and_carol_ask(stage: Stage) -> None:
    answer = stage.say("bob", "request 1")
    stage.expect("bob is told his place", "next in line" in answer or "first in line" in answer, answer)
    stage.expect("bob is told a likely and a latest time", "ikely" in answer and "at the latest" in answer, answer)
    stage.expect("bob is asked when vm-r may restart", "May I restart vm-r" in answer, answer)
    answer = stage.say("bob", "window vm-r any time today")
    stage.expect("bob's word is taken", "vm-r" in answer and "today" in answer, answer)
    answer = stage.say("carol", "request 2 on vm-train restart tonight")
    stage.expect("carol is told that she is second", "second" in answer, answer)
    stage.clock.advance(MIN)
    seen.board(stage, "the board shows the line in order", seen.in_order("1. bob", "2. carol"))


def _ada_gives_one(stage: Stage) -> None:
    before = stage.restarts("vm-r")
    answer = stage.say("ada", "release T4-1 now")
    stage.expect("ada is thanked, and told of the restart", "T4-1" in answer and "vm-python" in answer, answer)
    called = seen.called(stage, "ada", "vm-python", 20 * MIN)
    stage.expect("ada is told before vm-python restarts", called, stage.dms("ada"))
    off = stage.clock.until(lambda: stage.cards_in("vm-python") == 2, 20 * MIN)
    stage.expect("the card leaves vm-python", off, stage.vm("vm-python"))
    called = seen.called(stage, "bob", "vm-r", 10 * MIN)
    stage.expect("bob is told before vm-r restarts", called, stage.dms("bob"))
    came = stage.clock.until(lambda: seen.told(stage, "bob", seen.ARRIVED), 60 * MIN, MIN)
    if came:
        stage.show_dm("bob", seen.ARRIVED)
    stage.expect("bob is told that the card is his", came, stage.dms("bob"))
    stage.expect("the card sits in vm-r", stage.cards_in("vm-r") == 1, stage.vm("vm-r"))
    stage.expect("bob's guest sees the card", len(stage.vm("vm-r")["guest"]["cards"]) == 1, stage.vm("vm-r"))
    stage.expect("vm-r restarted once", stage.restarts("vm-r") == before + 1, stage.restarts("vm-r"))
    stage.clock.advance(MIN)
    told = seen.restarts_told(stage, "T4-1", "vm-python", "vm-r")
    stage.expect("both restarts are told to their end", "vm-python" in told[0] and "vm-r" in told[1], told)
    seen.board(stage, "the board gives the card to bob", seen.row("T4-1", "bob · vm-r until"))
    stage.expect_board("only carol is in line now", lambda board: "1. carol" in board and "2. " not in board)


def _ada_gives_two_tonight(stage: Stage) -> None:
    answer = stage.say("ada", "release all tonight")
    stage.expect("ada is told that vm-python restarts tonight", "vm-python" in answer, answer)
    stage.clock.advance(MIN)
    seen.board(stage, "the board shows both cards given back", seen.rows("given back", "T4-2", "T4-3"))
    stage.expect("nothing restarts before the night", stage.cards_in("vm-python") == 2, stage.vm("vm-python"))


def _the_night(stage: Stage) -> None:
    before = stage.restarts("vm-train")
    stage.note("the clock is moved to the night")
    night = stage.clock.until(lambda: stage.stamp() >= "Mon 21:50", 8 * 60 * MIN, 4 * MIN)
    stage.expect("the night comes", night, stage.stamp())
    for who, vm in (("ada", "vm-python"), ("carol", "vm-train")):
        called = seen.called(stage, who, vm, 60 * MIN)
        stage.expect(f"{who} is told before {vm} restarts in the night", called, stage.dms(who))
    came = stage.clock.until(lambda: seen.told(stage, "carol", seen.ARRIVED), 120 * MIN, 2 * MIN)
    if came:
        stage.show_dm("carol", seen.ARRIVED)
    stage.expect("carol is told that the cards are hers", came, stage.dms("carol"))
    stage.expect("both cards sit in vm-train", stage.cards_in("vm-train") == 2, stage.vm("vm-train"))
    once = stage.restarts("vm-train") == before + 1
    stage.expect("vm-train restarted once for both", once, stage.restarts("vm-train"))
    stage.clock.advance(MIN)
    seen.restarts_told(stage, "T4-2", "vm-python", "vm-train", name="one message a restart in the night, too")
    seen.board(stage, "the board gives both cards to carol", seen.rows("carol", "T4-2", "T4-3"))
    stage.expect_board("nobody is in line", lambda board: "1. " not in board)
    powers = {v["name"]: v["power"] for v in stage.vcenter("GET", "state")["vms"] if not v["template"]}
    stage.expect("every machine is on", set(powers.values()) == {"poweredOn"}, powers)


ONE = Story(
    "Four cards, three people: one card is handed over by day, two more in the night.",
    START,
    _one,
    (
        "the drained card is shown resting",
        "the board counts four cards",
        "ada is told that vm-python restarts",
        "ada is told that the cards are hers",
        "three cards sit in vm-python",
        "the board gives three cards to ada",
        "bob is told his place",
        "bob is told a likely and a latest time",
        "bob is asked when vm-r may restart",
        "bob's word is taken",
        "carol is told that she is second",
        "the board shows the line in order",
        "ada is thanked, and told of the restart",
        "ada is told before vm-python restarts",
        "the card leaves vm-python",
        "bob is told before vm-r restarts",
        "bob is told that the card is his",
        "the card sits in vm-r",
        "bob's guest sees the card",
        "vm-r restarted once",
        "one message a restart, edited at each step",
        "both restarts are told to their end",
        "the board gives the card to bob",
        "only carol is in line now",
        "ada is told that vm-python restarts tonight",
        "the board shows both cards given back",
        "nothing restarts before the night",
        "the night comes",
        "ada is told before vm-python restarts in the night",
        "carol is told before vm-train restarts in the night",
        "carol is told that the cards are hers",
        "both cards sit in vm-train",
        "vm-train restarted once for both",
        "one message a restart in the night, too",
        "the board gives both cards to carol",
        "nobody is in line",
        "every machine is on",
    ),
)
