"""What stories look for: messages, restarts and lines of the board. Called by each story."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from bot.local.demo.stage import Stage, kept

MIN = timedelta(minutes=1)
Shows = Callable[[str], bool]

ARRIVED = "yours until"
"""What only the message says that a card has come."""

SAVE = "Please save"
"""What only a last call says."""


def called(stage: Stage, who: str, vm: str, within: timedelta, short: bool = False) -> bool:
    """Wait for the announcement of a restart to an owner, show it, and say whether it came while the machine was on.

    :param short: its first line alone
    """
    return stage.clock.until(lambda: stage.show_new_dm(who, f"{vm} restarts", SAVE, short=short), within) and on(
        stage, vm
    )


def on(stage: Stage, vm: str) -> bool:
    """Whether a machine runs."""
    return bool(stage.vm(vm)["power"] == "poweredOn")


def told(stage: Stage, who: str, part: str) -> bool:
    """Whether somebody has a direct message of the bot with these words."""
    return any(part in message for message in stage.dms(who))


def restarts_told(
    stage: Stage, card: str, *machines: str, name: str = "one message a restart, edited at each step"
) -> list[str]:
    """Show the messages in #gpu of a card's way through machines; each was edited step by step."""
    moves = stage.restarts_told(card, len(machines))
    texts = [stage.plain(m["text"]) for m in moves]
    for text in texts:
        stage.show("#gpu", text)
    stage.expect(name, len(moves) == len(machines) and all(m["edits"] >= 3 for m in moves), moves)
    return texts


def restart_in_short(stage: Stage, card: str, vm: str) -> str:
    """Show the newest message in #gpu of a card's way into a machine or out of it: what went where, why, and when it was off."""
    told = [stage.plain(m["text"]) for m in stage.channel() if m["ts"] not in stage.pins()]
    text = next((t for t in reversed(told) if card in t and f"{vm} on again" in t), "")
    stage.show("#gpu", kept(text, lambda line: line == text.splitlines()[0] or bool(SHORT.search(line))))
    return text


SHORT = re.compile(r"^Why: | off (?:today|tomorrow|yesterday) | on again ")
"""Lines of a restart's message in #gpu that its short form has, besides the first."""


def board(stage: Stage, name: str, what: Shows) -> None:
    """Show the board as soon as it is as expected."""
    stage.show("#gpu, pinned", stage.shows(what))
    stage.expect_board(name, what)


def row(card: str, word: str) -> Shows:
    """Whether the board's line of a card has a word."""
    return lambda board: any(card in line and word in line for line in board.splitlines())


def rows(word: str, *cards: str) -> Shows:
    """Whether the lines of all these cards have a word."""
    return lambda board: all(row(card, word)(board) for card in cards)


def in_order(*words: str) -> Shows:
    """Whether words come in this order."""

    def shows(board: str) -> bool:
        places = [board.find(w) for w in words]
        return -1 not in places and places == sorted(places)

    return shows


def edited(stage: Stage, who: str, part: str) -> str:
    """The direct message to somebody that says this by now; "" there is none."""
    return next((m for m in reversed(stage.dms(who)) if part in m), "")
