"""A card that does nothing goes back in the night: asked, warned, and taken in the restart that its owner agreed to for every night."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.local.demo.processes import ZONE
from bot.local.demo.stage import Stage
from bot.local.demo.stories import seen
from bot.local.demo.stories.seen import MIN
from bot.local.demo.stories.story import Story

START = datetime(2026, 11, 30, 15, 20, tzinfo=ZoneInfo(ZONE))
"""A Monday afternoon, early enough for two questions within the working day."""

QUESTION, WARNING = "done nothing", "comes out"
"""What only a question about a quiet card says, and what only the warning says."""


def _take_back(stage: Stage) -> None:
    _all_cards_are_lent(stage)
    _ada_is_warned(stage)
    _the_night(stage)


def _all_cards_are_lent(stage: Stage) -> None:
    stage.say("ada", "request 1 on vm-python restart now")
    stage.say("bob", "request 3 on vm-r restart now")
    stage.note("two restarts, as they were asked for")
    came = stage.clock.until(lambda: [stage.cards_in(vm) for vm in ("vm-python", "vm-r")] == [1, 3], 40 * MIN)
    arrived = stage.clock.until(lambda: all(seen.told(stage, who, seen.ARRIVED) for who in ("ada", "bob")), 20 * MIN)
    stage.expect("all four cards are lent", came and arrived, stage.board())
    stage.begin("vm-python", "ada", "notebook", "a notebook, and goes home")
    stage.begin("vm-r", "bob", "training", "a training on all three")
    answer = stage.say("ada", "window vm-python nights")
    stage.expect("ada agrees to the nights", "22:00" in answer or "night" in answer, answer)
    stage.say("carol", "request 1 on vm-train restart any time today")


def _ada_is_warned(stage: Stage) -> None:
    asked = stage.clock.until(lambda: stage.show_new_dm("ada", QUESTION), 90 * MIN, 4 * MIN)
    stage.expect("ada is asked after an hour", asked, stage.dms("ada"))
    warned = stage.clock.until(lambda: stage.show_new_dm("ada", WARNING), 90 * MIN, 4 * MIN)
    warning = next((m for m in reversed(stage.dms("ada")) if WARNING in m), "")
    stage.expect("ada is warned after two", warned, stage.dms("ada"))
    stage.expect("the warning says who waits and when it comes out", "carol" in warning and "22:00" in warning, warning)
    before = stage.restarts("vm-python")
    stage.note("ada says nothing; the evening goes by")
    stage.clock.advance(120 * MIN)
    here = stage.cards_in("vm-python") == 1 and stage.restarts("vm-python") == before
    stage.expect("nothing is taken before the night", here, stage.vm("vm-python"))


def _the_night(stage: Stage) -> None:
    stage.note("the clock is moved to the night")
    called = seen.called(stage, "ada", "vm-python", 300 * MIN)
    call = next((m for m in reversed(stage.dms("ada")) if seen.SAVE in m), "")
    stage.expect("ada is told before vm-python restarts", called and stage.stamp() > "Mon 21:4", stage.dms("ada"))
    stage.expect("the last call names the notebook that is open", "a notebook of ada is open" in call, call)
    told = stage.clock.until(lambda: stage.cards_in("vm-python") == 0, 40 * MIN, MIN)
    stage.expect("the card comes out in the night", told, stage.vm("vm-python"))
    came = stage.clock.until(lambda: stage.show_new_dm("carol", seen.ARRIVED), 60 * MIN, MIN)
    stage.expect("carol is told that the card is hers", came and stage.cards_in("vm-train") == 1, stage.dms("carol"))
    why = seen.edited(stage, "ada", "somebody waits") or seen.edited(stage, "ada", "nothing was done")
    stage.expect("ada reads why it went", bool(why), stage.dms("ada"))
    stage.expect("bob's training went on", stage.cards_in("vm-r") == 3 and seen.on(stage, "vm-r"), stage.vm("vm-r"))
    stage.clock.advance(MIN)
    seen.board(stage, "the board gives the card to carol", seen.row("carol", "vm-train until"))
    stage.expect("vm-python is on again", seen.on(stage, "vm-python"), stage.vm("vm-python"))


TAKE_BACK = Story(
    "Four cards, three people: one that does nothing goes back in the night.",
    START,
    _take_back,
    (
        "all four cards are lent",
        "ada agrees to the nights",
        "ada is asked after an hour",
        "ada is warned after two",
        "the warning says who waits and when it comes out",
        "nothing is taken before the night",
        "ada is told before vm-python restarts",
        "the last call names the notebook that is open",
        "the card comes out in the night",
        "carol is told that the card is hers",
        "ada reads why it went",
        "bob's training went on",
        "the board gives the card to carol",
        "vm-python is on again",
    ),
    nudge=True,
)
