"""Cards that do nothing: who works is left alone, who has forgotten a card is asked, and what is given back moves on."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from bot.local.demo.processes import ZONE
from bot.local.demo.stage import Stage
from bot.local.demo.stories import seen
from bot.local.demo.stories.seen import MIN
from bot.local.demo.stories.story import Story

START = datetime(2026, 11, 30, 14, 0, tzinfo=ZoneInfo(ZONE))
"""A Monday: a working afternoon, and then the night."""

QUESTION = "done nothing"
"""What only a question about a quiet card says."""


def _idle(stage: Stage) -> None:
    _all_cards_are_lent(stage)
    _they_work_or_not(stage)
    _ada_is_asked(stage)
    _bob_is_asked(stage)
    _bob_gives_back_when_done(stage)
    _ada_is_left_alone(stage)
    _the_night(stage)


def _all_cards_are_lent(stage: Stage) -> None:
    stage.say("ada", "request 2 on vm-python restart now")
    stage.say("bob", "request 1 on vm-r restart now")
    stage.say("ada", "request 1 on vm-python-2 restart now")

    def lent() -> bool:
        here = [stage.cards_in(vm) for vm in ("vm-python", "vm-r", "vm-python-2")]
        return here == [2, 1, 1] and sum(seen.ARRIVED in m for who in ("ada", "bob") for m in stage.dms(who)) >= 3

    stage.note("three restarts, as they were asked for")
    came = stage.clock.until(lent, 40 * MIN)
    stage.expect("all four cards are lent", came, stage.board())
    stage.say("carol", "request 1 on vm-train restart any time today")
    stage.clock.advance(MIN)
    seen.board(stage, "carol waits for one", seen.in_order("1. carol"))


def _they_work_or_not(stage: Stage) -> None:
    stage.begin("vm-python", "ada", "training", "a training on her first card", cards=1)
    stage.begin("vm-python", "ada", "forgotten", "a notebook on her second card", first=1, works_s=900)
    stage.begin("vm-python-2", "ada", "data loading", "it reads data before it uses the card")
    stage.begin("vm-r", "bob", "training", "20 min of training", duration_s=1200)
    stage.note("the notebook works for 15 min and then waits for ada; bob's card is forgotten after his 20")


def _ada_is_asked(stage: Stage) -> None:
    asked = stage.clock.until(lambda: stage.show_new_dm("ada", QUESTION), 90 * MIN, 4 * MIN)
    question = next((m for m in reversed(stage.dms("ada")) if QUESTION in m), "")
    stage.expect("ada is asked about the card that does nothing", asked and "T4-2" in question, stage.dms("ada"))
    bars = "█▁▁▁▁" in re.sub(r"[ \d]", "", question)  # it worked for a quarter of an hour, and then no more
    stage.expect("the question shows its evidence in bars", bars, question)
    stage.expect("it names what holds the card", "notebook" in question and "9.8 GB" in question, question)
    stage.expect("it says who waits", "carol" in question, question)
    questions = [m for m in stage.dms("ada") if QUESTION in m]
    stage.expect("the training is left alone", not any("Card T4-1" in m or "Cards" in m for m in questions), questions)
    loaded = stage.vm("vm-python-2")["guest"]["jobs"][0]["do"] == "data loading"
    quiet = not any("vm-python-2" in m for m in questions)
    stage.expect("data that is loaded for an hour is no idle card", loaded and quiet, questions)
    stage.end("vm-python-2", "ada", "data loading", "has read all: the training begins")
    stage.begin("vm-python-2", "ada", "training")
    stage.press("ada", "I am using it", "dm")
    stage.clock.settle()
    answered = seen.edited(stage, "ada", "then I was wrong")
    stage.expect('"I am using it" is taken', bool(answered), stage.dms("ada"))
    stage.expect("it counts as a false alarm", "false alarm" in answered, answered)


def _bob_is_asked(stage: Stage) -> None:
    asked = stage.clock.until(lambda: stage.show_new_dm("bob", QUESTION), 60 * MIN, 4 * MIN)
    stage.expect("bob is asked about the card that he forgot", asked, stage.dms("bob"))
    question = next((m for m in reversed(stage.dms("bob")) if QUESTION in m), "")
    stage.expect("he reads that no program holds it", "No program holds it" in question, question)
    before = len(stage.dms("bob"))
    stage.begin("vm-r", "bob", "training", "15 min more", duration_s=900)
    busy = stage.clock.until(lambda: bool(seen.edited(stage, "bob", "busy again")), 15 * MIN, 2 * MIN)
    stage.show_new_dm("bob", "busy again")
    stage.expect("work that begins takes the question back", busy, stage.dms("bob"))
    stage.expect("by editing it, without another message", len(stage.dms("bob")) == before, stage.dms("bob"))


def _bob_gives_back_when_done(stage: Stage) -> None:
    stage.begin("vm-r", "bob", "cpu", "on the processor alone")
    asked = stage.clock.until(lambda: stage.show_new_dm("bob", QUESTION), 120 * MIN, 4 * MIN)
    stage.expect("bob is asked anew when it is forgotten again", asked, stage.dms("bob"))
    before = stage.restarts("vm-r")
    answer = stage.press("bob", "Give it back when the work ends", "dm")
    stage.expect("bob is thanked", "given back" in answer or "gives back" in answer, answer)
    stage.clock.advance(20 * MIN)
    stage.expect("nothing restarts while his program runs", stage.restarts("vm-r") == before, stage.vm("vm-r"))
    stage.end("vm-r", "bob", "cpu")
    told = seen.called(stage, "bob", "vm-r", 30 * MIN)
    stage.expect("bob is told before vm-r restarts", told, stage.dms("bob"))
    came = stage.clock.until(lambda: seen.told(stage, "carol", seen.ARRIVED), 60 * MIN, MIN)
    if came:
        stage.show_dm("carol", seen.ARRIVED)
    stage.expect("carol is told that the card is hers", came, stage.dms("carol"))
    stage.begin("vm-train", "carol", "training")
    stage.clock.advance(MIN)
    seen.board(stage, "the board gives the card to carol", seen.row("T4-3", "carol · vm-train until"))


def _ada_is_left_alone(stage: Stage) -> None:
    hours = (stage.clock.now() - START) // timedelta(hours=1)
    still = [m for m in stage.dms("ada") if "T4-2" in m and "nothing" in m]
    stage.expect("ada is not asked again about the card that she uses", hours >= 3 and not still, still)
    answer = stage.say("bob", "request 1 on vm-r restart tonight")
    stage.expect("bob is in line again", "line" in answer, answer)


def _the_night(stage: Stage) -> None:
    stage.end("vm-python-2", "ada", "training")
    stage.begin("vm-python-2", "ada", "cpu", "on the processor alone, into the night")
    stage.say("ada", "window vm-python-2 nights")
    answer = stage.say("ada", "release T4-4")
    stage.expect("ada gives one back for the next night", "vm-python-2" in answer, answer)
    stage.note("the clock is moved to the night")
    skipped = stage.clock.until(lambda: stage.show_new_dm("ada", "vm-python-2 is not restarted"), 8 * 60 * MIN, 4 * MIN)
    stage.expect("ada is told that the night is not used", skipped and stage.stamp() > "Mon 21:4", stage.dms("ada"))
    told = next((m for m in reversed(stage.dms("ada")) if "is not restarted" in m), "")
    stage.expect("a program runs, and it says which", "simulate.py" in told, told)
    before = stage.restarts("vm-python-2")
    stage.clock.advance(30 * MIN)
    here = stage.cards_in("vm-python-2") == 1 and stage.restarts("vm-python-2") == before
    stage.expect(
        "vm-python-2 is left on, with its card", here and seen.on(stage, "vm-python-2"), stage.vm("vm-python-2")
    )
    stage.press("ada", "When nothing runs", "dm")
    stage.clock.advance(20 * MIN)
    stage.end("vm-python-2", "ada", "cpu")
    told_too = seen.called(stage, "ada", "vm-python-2", 40 * MIN)
    stage.expect("ada is told before vm-python-2 restarts", told_too, stage.dms("ada"))
    came = stage.clock.until(lambda: stage.show_new_dm("bob", "T4-4", seen.ARRIVED), 60 * MIN, 2 * MIN)
    stage.expect("the card moves on to bob", came and stage.cards_in("vm-r") == 1, stage.dms("bob"))
    stage.clock.advance(MIN)
    seen.board(stage, "the board gives the card to bob", seen.row("T4-4", "bob · vm-r until"))
    stage.expect_board("nobody is in line", lambda board: "1. " not in board)


IDLE = Story(
    "Four cards, three people: quiet cards are asked about, working ones are not.",
    START,
    _idle,
    (
        "all four cards are lent",
        "carol waits for one",
        "ada is asked about the card that does nothing",
        "the question shows its evidence in bars",
        "it names what holds the card",
        "it says who waits",
        "the training is left alone",
        "data that is loaded for an hour is no idle card",
        '"I am using it" is taken',
        "it counts as a false alarm",
        "bob is asked about the card that he forgot",
        "he reads that no program holds it",
        "work that begins takes the question back",
        "by editing it, without another message",
        "bob is asked anew when it is forgotten again",
        "bob is thanked",
        "nothing restarts while his program runs",
        "bob is told before vm-r restarts",
        "carol is told that the card is hers",
        "the board gives the card to carol",
        "ada is not asked again about the card that she uses",
        "bob is in line again",
        "ada gives one back for the next night",
        "ada is told that the night is not used",
        "a program runs, and it says which",
        "vm-python-2 is left on, with its card",
        "ada is told before vm-python-2 restarts",
        "the card moves on to bob",
        "the board gives the card to bob",
        "nobody is in line",
    ),
    nudge=True,
)
