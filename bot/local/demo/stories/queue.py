"""A line that people trust: who goes first, who may go past, who is over the share, what was promised, and why, in the words of the bot.

No machine reports work, so every time that is agreed is used; the share is three of the four cards (``POLICY``).
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.local.demo.processes import ZONE
from bot.local.demo.stage import Stage
from bot.local.demo.stories import seen
from bot.local.demo.stories.seen import MIN
from bot.local.demo.stories.story import Story

START = datetime(2026, 11, 30, 13, 50, tzinfo=ZoneInfo(ZONE))
"""A Monday after lunch."""

POLICY = """pool_share = 0.75  # three of four cards a person, while others wait
"""


def _queue(stage: Stage) -> None:
    _all_are_lent(stage)
    _carol_wants_three(stage)
    _one_is_given_back_for_somebody(stage)
    _over_the_share(stage)
    _one_goes_past(stage)
    _urgent(stage)
    _booked(stage)
    _promised(stage)
    _asked_and_watched(stage)
    _the_urgent_one_comes(stage)
    _as_it_was_promised(stage)


def _all_are_lent(stage: Stage) -> None:
    stage.say("ada", "request 1 on vm-python until wed 18:00 restart now")
    stage.say("ada", "request 1 on vm-python-2 until today 17:00 restart now")
    answer = stage.say("bob", "request 3 partly until today 17:00 restart now")
    stage.expect("bob takes fewer than three if he must", "Partly" in answer, answer)
    fewer = stage.clock.until(lambda: stage.show_new_dm("bob", "You wanted 3 T4, or fewer: 2 are there"), 20 * MIN)
    stage.expect("bob reads that he gets two of three", fewer, stage.dms("bob"))
    came = stage.clock.until(
        lambda: [stage.cards_in(vm) for vm in ("vm-python", "vm-python-2", "vm-r")] == [1, 1, 2], 40 * MIN
    )
    told = stage.clock.until(lambda: all(seen.told(stage, who, seen.ARRIVED) for who in ("ada", "bob")), 20 * MIN)
    stage.show_dm("bob", seen.ARRIVED)
    stage.expect("bob has the two that were there", came and told, stage.board())


def _carol_wants_three(stage: Stage) -> None:
    answer = stage.say("carol", "request 3 restart any time today because the course")
    stage.expect(
        "carol is first, and reads likely and at the latest", "first in line" in answer and "ikely" in answer, answer
    )
    answer = stage.say("carol", "why")
    due = "All 4 T4 are lent" in answer and "is due first, today 17:00" in answer
    stage.expect("why says whose card is due first, and when", due, answer)


def _one_is_given_back_for_somebody(stage: Stage) -> None:
    answer = stage.say("bob", "release #3 now for @ada")
    stage.expect(
        "what is given back for ada goes by the line", "decided by the line" in answer and "carol" in answer, answer
    )
    stage.say("bob", "window #3 now")
    out = stage.clock.until(lambda: stage.cards_in("vm-r") == 0, 40 * MIN)
    stage.clock.advance(2 * MIN)
    stage.expect("they come out", out, stage.vm("vm-r"))
    answer = stage.say("carol", "why")
    stage.expect(
        "carol reads that two are free, and that she wants three",
        "2 of the 4 T4 are free" in answer and "partly" in answer,
        answer,
    )


def _over_the_share(stage: Stage) -> None:
    stage.say("ada", "window vm-python daily 16:00-17:00 even if busy")
    stage.say("ada", "request 2 on vm-python for 2d restart any time today")
    stage.clock.advance(MIN)
    answer = stage.say("ada", "why")
    share = "nobody has more than 3 of the 4 T4: you have 2" in answer
    stage.expect("ada reads that three are her share while others wait", share, answer)


def _one_goes_past(stage: Stage) -> None:
    stage.say("ada", "request 1 on vm-python")
    stage.clock.advance(MIN)
    answer = stage.say("ada", "why")
    would = "carol's turn for 3 is expected today 17:1" in answer and "In time would be" in answer
    stage.expect("ada reads whom she would hold up, and how long would do", would, answer)
    seen.board(stage, "the board says it in a few words", seen.row("2. ada", "would not be back in time for carol"))
    stage.say("ada", "request on vm-python for 1h")
    came = stage.clock.until(lambda: stage.cards_in("vm-python") == 2, 40 * MIN)
    stage.clock.until(lambda: stage.show_new_dm("ada", seen.ARRIVED, "T4-3"), 20 * MIN)
    stage.expect("an hour is short enough: she goes first", came, stage.vm("vm-python"))
    answer = stage.say("carol", "why T4-3")
    past = "past your own request" in answer and "even if something runs" in answer
    stage.expect("carol reads that ada went past her, and until when", past, answer)


def _urgent(stage: Stage) -> None:
    answer = stage.say("bob", "request 2 urgent until today 16:50 restart any time today because the review at five")
    stage.expect(
        "bob is first, and reads by how much he is earlier",
        "first in line" in answer and "24 h earlier" in answer,
        answer,
    )
    moved = stage.clock.until(
        lambda: stage.show_new_dm("carol", "may be longer than I said", "bob asked urgently (the review at five)"),
        10 * MIN,
    )
    stage.expect("carol is told that her latest time moves, by whom and why", moved, stage.dms("carol"))
    answer = stage.say("carol", "why")
    stage.expect(
        "carol reads that bob's is urgent", "urgent, 24 h earlier" in answer and "second in line" in answer, answer
    )
    answer = stage.say("carol", "why @bob")
    stage.expect("everybody can read why it is", "the review at five" in answer, answer)


def _booked(stage: Stage) -> None:
    answer = stage.say("ada", "request 1 on vm-python-2 from thu 14:00 for 4h")
    stage.expect("ada books for Thursday", "booked from" in answer and "Thu 03 Dec 14:00" in answer, answer)
    answer = stage.say("ada", "why #7")
    stage.expect(
        "why says that it is booked, and what others do until then",
        "You booked it for Thu 03 Dec 14:00" in answer,
        answer,
    )


def _promised(stage: Stage) -> None:
    answer = stage.say("ada", "extend #5 4h")
    refused = "15:48" in answer and "bob was told" in answer
    stage.expect("what was told to bob is not moved by a longer loan", refused, answer)


def _asked_and_watched(stage: Stage) -> None:
    answer = stage.say("carol", "ask T4-2 because the course begins at half past five")
    stage.expect("ada is asked for hers", "ada" in answer, answer)
    heard = stage.clock.until(
        lambda: stage.show_new_dm("ada", "carol", "the course begins at half past five"), 20 * MIN
    )
    stage.expect("she reads who asks, and why", heard, stage.dms("ada"))
    answer = stage.say("dana", "watch")
    stage.expect("dana, who waits for none, hears once when one is free", "once" in answer, answer)
    answer = stage.say("ada", "queue")
    stage.expect("the line is told in order", seen.in_order("1. bob", "2. carol", "3. ada")(answer), answer)


def _the_urgent_one_comes(stage: Stage) -> None:
    stage.note("ada's hour is over at a quarter past three")
    called = seen.called(stage, "ada", "vm-python", 120 * MIN)
    stage.expect("her hour over, vm-python restarts as was agreed with it", called, stage.dms("ada"))
    came = stage.clock.until(lambda: stage.show_new_dm("bob", "yours until today 16:50"), 60 * MIN)
    stage.expect("the urgent one is served first", came and stage.cards_in("vm-train") == 0, stage.board())


def _as_it_was_promised(stage: Stage) -> None:
    stage.note("the clock is moved to the evening")
    for who in ("bob", "ada"):
        asked = stage.clock.until(lambda w=who: stage.show_new_dm(w, "When may"), 240 * MIN, 4 * MIN)  # type: ignore[misc]
        stage.expect(f"{who} is asked for a restart when the time is over", asked, stage.dms(who))
        stage.press(who, "Now", "dm")
    came = stage.clock.until(lambda: stage.show_new_dm("carol", seen.ARRIVED), 120 * MIN, 2 * MIN)
    stage.expect("carol has her three", came and stage.cards_in("vm-train") == 3, stage.board())
    answer = stage.say("carol", "history #4")
    stage.expect("what was promised was kept, and by how much", "kept" in answer, answer)


QUEUE = Story(
    "A line for four cards: who waits for what and why, who goes past, and what was promised.",
    START,
    _queue,
    (
        "bob takes fewer than three if he must",
        "bob reads that he gets two of three",
        "bob has the two that were there",
        "carol is first, and reads likely and at the latest",
        "why says whose card is due first, and when",
        "what is given back for ada goes by the line",
        "they come out",
        "carol reads that two are free, and that she wants three",
        "ada reads that three are her share while others wait",
        "ada reads whom she would hold up, and how long would do",
        "the board says it in a few words",
        "an hour is short enough: she goes first",
        "carol reads that ada went past her, and until when",
        "bob is first, and reads by how much he is earlier",
        "carol is told that her latest time moves, by whom and why",
        "carol reads that bob's is urgent",
        "everybody can read why it is",
        "ada books for Thursday",
        "why says that it is booked, and what others do until then",
        "what was told to bob is not moved by a longer loan",
        "ada is asked for hers",
        "she reads who asks, and why",
        "dana, who waits for none, hears once when one is free",
        "the line is told in order",
        "her hour over, vm-python restarts as was agreed with it",
        "the urgent one is served first",
        "bob is asked for a restart when the time is over",
        "ada is asked for a restart when the time is over",
        "carol has her three",
        "what was promised was kept, and by how much",
    ),
    policy=POLICY,
)
