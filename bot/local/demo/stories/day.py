"""A day of two groups: they share four cards, two each, then all four for one and none for the other, and back; and the halves of a fifth."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.local.demo.processes import ZONE
from bot.local.demo.stage import Stage
from bot.local.demo.stories import seen
from bot.local.demo.stories.seen import MIN
from bot.local.demo.stories.story import Story

START = datetime(2026, 11, 30, 9, 0, tzinfo=ZoneInfo(ZONE))
"""A Monday morning."""

POLICY = """pool_share = 1.0  # these two groups agreed that one may have all four for a while, and keeps them to the end
"""


def _day(stage: Stage) -> None:
    _two_each(stage)
    _two_halves(stage)
    _bob_wants_all_four(stage)
    _all_four_for_r(stage)
    _ada_asks_again(stage)
    _and_back(stage)
    _a_half_is_free(stage)


def _two_each(stage: Stage) -> None:
    stage.note("ada's group works in Python, bob's in R; both begin with two cards")
    stage.say("ada", "request 2 on vm-python until tomorrow 18:00 restart now because our paper")
    stage.say("bob", "request 2 on vm-r until tomorrow 18:00 restart now because our fits")
    called = [seen.called(stage, who, vm, 40 * MIN, short=True) for who, vm in (("ada", "vm-python"), ("bob", "vm-r"))]
    stage.expect("both are told before their machines restart", all(called), [stage.dms("ada"), stage.dms("bob")])
    came = stage.clock.until(lambda: _have(stage, ada=2, bob=2), 40 * MIN)
    stage.show_new_dm("ada", seen.ARRIVED)
    stage.show_new_dm("bob", seen.ARRIVED, short=True)
    seen.restart_in_short(stage, "T4-1", "vm-python")
    seen.restart_in_short(stage, "T4-3", "vm-r")
    stage.expect("two cards come to each group", came, stage.board())
    stage.begin("vm-python", "ada", "training", cards=2)
    stage.begin("vm-r", "bob", "training", cards=2)
    stage.clock.advance(MIN)
    seen.board(stage, "the board gives two to ada", seen.rows("ada · vm-python until", "T4-1", "T4-2"))
    stage.expect_board("and two to bob", seen.rows("bob · vm-r until", "T4-3", "T4-4"))


def _two_halves(stage: Stage) -> None:
    stage.note("a second host shares a fifth card: carol's course gets one half of it, bob's app the other")
    answer = stage.say("carol", "request 1 T4 on vm-notebook")
    stage.expect("carol is told what her machine's host has", "esx-02" in answer and "8gb" in answer, answer)
    stage.say("carol", "request 1 8gb on vm-notebook until today 17:00 restart now because the course")
    stage.say("bob", "request 1 8gb on vm-shiny until tomorrow 18:00 restart now because our app")
    halves = (("carol", "vm-notebook"), ("bob", "vm-shiny"))
    called = [seen.called(stage, who, vm, 40 * MIN, short=True) for who, vm in halves]
    stage.expect("and are told before the restarts", all(called), [stage.dms("carol"), stage.dms("bob")])
    came = stage.clock.until(
        lambda: seen.told(stage, "carol", seen.ARRIVED) and stage.board().count("vm-shiny until") == 1, 40 * MIN
    )
    for who, vm in halves:
        stage.show_new_dm(who, seen.ARRIVED, vm, short=True)
        seen.restart_in_short(stage, "T4-5", vm)
    stage.expect("a half comes to each", came and stage.cards_in("vm-shiny") == 1, stage.board())
    stage.clock.advance(MIN)
    both = seen.row("T4-5", "as 8 GB vGPUs: 2 of 2 in use")
    seen.board(stage, "the board shows one card with two halves in use", both)


def _bob_wants_all_four(stage: Stage) -> None:
    stage.note("at eleven bob's group needs all four cards for two hours")
    stage.clock.until(lambda: stage.stamp() >= "Mon 11:00", 180 * MIN, 4 * MIN)
    answer = stage.say("bob", "request 2 on vm-r for 2h restart any time today because the quarter's numbers")
    stage.expect("bob is told whose time he waits for", "ada's time ends" in answer, answer)
    answer = stage.say("ada", "why @bob")
    stage.expect("everybody can read what bob needs them for", "the quarter's numbers" in answer, answer)
    answer = stage.say("ada", "release all when done")
    stage.expect("ada gives hers back when her training is over", "nothing has run" in answer, answer)
    stage.clock.advance(20 * MIN)
    stage.expect("nothing restarts while it runs", stage.cards_in("vm-python") == 2, stage.vm("vm-python"))
    stage.end("vm-python", "ada", "training")


def _all_four_for_r(stage: Stage) -> None:
    called = seen.called(stage, "ada", "vm-python", 40 * MIN)
    stage.expect("ada is told before vm-python restarts", called, stage.dms("ada"))
    called = seen.called(stage, "bob", "vm-r", 40 * MIN)
    stage.expect("bob is told before vm-r restarts", called, stage.dms("bob"))
    stage.end("vm-r", "bob", "training", "is stopped for the restart")
    came = stage.clock.until(lambda: _have(stage, ada=0, bob=4), 60 * MIN, MIN)
    stage.show_new_dm("bob", seen.ARRIVED)
    stage.expect("all four are bob's", came, stage.board())
    stage.begin("vm-r", "bob", "training", cards=4)
    stage.clock.advance(MIN)
    seen.restarts_told(stage, "T4-1", "vm-python", "vm-r")
    told = [stage.plain(m["text"]) for m in stage.restarts_told("T4-1", 2)]
    why = "Why: ada gave them back" in told[0] and "the quarter's numbers" in told[1]
    stage.expect("the channel reads why they went", why, told)
    seen.board(stage, "the board gives all four to bob", seen.rows("bob · vm-r until", "T4-1", "T4-2", "T4-3", "T4-4"))
    stage.expect_board("and none to ada", lambda board: "ada" not in board)


def _ada_asks_again(stage: Stage) -> None:
    stage.note("ada's group wants to go on as soon as it can")
    answer = stage.say("ada", "request 2 on vm-python until tomorrow 18:00 restart any time today because our paper")
    stage.expect("ada is told when bob's two hours end", "bob's time ends" in answer, answer)
    answer = stage.say("ada", "why")
    stage.expect("why names who has them, and until when", "bob" in answer, answer)
    due = stage.clock.until(lambda: stage.show_new_dm("bob", "T4-1 and T4-2 in vm-r are due"), 180 * MIN, 4 * MIN)
    stage.expect(
        "bob is told beforehand that ada waits for them", due and "ada waits" in stage.dms("bob")[-1], stage.dms("bob")
    )
    stage.clock.until(lambda: stage.stamp() >= "Mon 13:30", 120 * MIN, 4 * MIN)
    stage.end("vm-r", "bob", "training", "is over: the numbers are in")
    asked = stage.clock.until(lambda: stage.show_new_dm("bob", "When may"), 60 * MIN, 4 * MIN)
    stage.expect("at the end of his two hours bob is asked for a restart", asked, stage.dms("bob"))
    stage.press("bob", "Now", "dm")


def _and_back(stage: Stage) -> None:
    called = [seen.called(stage, who, vm, 60 * MIN, short=True) for who, vm in (("bob", "vm-r"), ("ada", "vm-python"))]
    stage.expect("each is told before the restart", all(called), [stage.dms("bob"), stage.dms("ada")])
    came = stage.clock.until(lambda: _have(stage, ada=2, bob=2), 120 * MIN, MIN)
    stage.show_new_dm("ada", seen.ARRIVED)
    stage.expect("two come back to ada", came, stage.board())
    stage.clock.advance(MIN)
    seen.restarts_told(stage, "T4-1", "vm-r", "vm-python", name="their way back is told, too")
    told = [stage.plain(m["text"]) for m in stage.restarts_told("T4-1", 2)]
    why = "Why: the time of bob is over" in told[0] and "our paper" in told[1]
    stage.expect("and why they came back", why, told)
    seen.board(stage, "the board gives two to ada again", seen.rows("ada · vm-python until", "T4-1", "T4-2"))
    stage.expect_board("and bob keeps his first two", seen.rows("bob · vm-r until", "T4-3", "T4-4"))
    stage.expect_board("nobody is in line", lambda board: "nobody in line" in board)


def _a_half_is_free(stage: Stage) -> None:
    answer = stage.say(
        "carol", "release T4-5.1 now" if "T4-5.1" in stage.quietly("carol", "mine") else "release T4-5.2 now"
    )
    stage.expect("carol gives her half back after the course", "given back" in answer, answer)
    called = seen.called(stage, "carol", "vm-notebook", 40 * MIN, short=True)
    stage.expect("and is told before her machine restarts", called, stage.dms("carol"))
    out = stage.clock.until(lambda: stage.cards_in("vm-notebook") == 0 and "1 free" in stage.board(), 40 * MIN, MIN)
    seen.restart_in_short(stage, "T4-5", "vm-notebook")
    stage.expect("it is out, and free for somebody else", out, stage.board())
    answer = stage.say("dana", "why T4-5")
    stage.expect("why tells who has the other half", "bob" in answer and "1 of 2 in use" in answer, answer)
    answer = stage.say("dana", "why T4-1")
    stage.expect("why tells who has a card, for what and until when", "our paper" in answer, answer)


def _have(stage: Stage, ada: int, bob: int) -> bool:
    """Whether so many cards are in each group's machine, and their people were told."""
    here = stage.cards_in("vm-python") == ada and stage.cards_in("vm-r") == bob
    board = stage.board()
    return here and board.count("ada · vm-python until") == ada and board.count("bob · vm-r until") == bob


DAY = Story(
    "Two groups share four cards: two each, then all for one, and back. A fifth is shared in halves.",
    START,
    _day,
    (
        "both are told before their machines restart",
        "two cards come to each group",
        "the board gives two to ada",
        "and two to bob",
        "carol is told what her machine's host has",
        "and are told before the restarts",
        "a half comes to each",
        "the board shows one card with two halves in use",
        "bob is told whose time he waits for",
        "everybody can read what bob needs them for",
        "ada gives hers back when her training is over",
        "nothing restarts while it runs",
        "ada is told before vm-python restarts",
        "bob is told before vm-r restarts",
        "all four are bob's",
        "one message a restart, edited at each step",
        "the channel reads why they went",
        "the board gives all four to bob",
        "and none to ada",
        "ada is told when bob's two hours end",
        "why names who has them, and until when",
        "bob is told beforehand that ada waits for them",
        "at the end of his two hours bob is asked for a restart",
        "each is told before the restart",
        "two come back to ada",
        "their way back is told, too",
        "and why they came back",
        "the board gives two to ada again",
        "and bob keeps his first two",
        "nobody is in line",
        "carol gives her half back after the course",
        "and is told before her machine restarts",
        "it is out, and free for somebody else",
        "why tells who has the other half",
        "why tells who has a card, for what and until when",
    ),
    shared=True,
    policy=POLICY,
)
