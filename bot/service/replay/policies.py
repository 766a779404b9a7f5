"""The policies that a replay compares, by name: who goes first, who may pass, and what brings a card back."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bot.domain.policy import IdlePolicy
from bot.service.replay.people import MIN

NUDGED = 30 * MIN  # after the work ended, where a question is all that happens


@dataclass(frozen=True)
class Idle:
    """When a card whose work is over is asked about and goes back. Seconds after the work ended; infinite: never."""

    asked: float = math.inf  # its holder is asked
    taken: float = math.inf  # it goes back
    warned: float = 0.0  # so long before at least it is told
    warns: float = math.inf  # and from then on
    not_before: float = 0.0  # of the time that it is lent
    waiting: bool = False  # all of that only while somebody waits


@dataclass(frozen=True)
class Rules:
    """One policy."""

    name: str
    passes: bool = True  # gpubot's order, and whoever delays nobody goes past; else first come, and the head blocks
    ends: bool = True  # time ends as agreed while somebody waits
    perfect: bool = False  # given back in the moment in which the work ends
    idle: Idle = Idle()


def compared(idle: IdlePolicy, take_back: float | None) -> list[Rules]:
    """All of them, in the order in which they are told.

    :param take_back: seconds after the end of the work at which a card goes back, with a warning at half of it; None: as the product does,
        by the numbers of its policy
    """
    taken = _shipped(idle) if take_back is None else Idle(taken=take_back)
    asked = _shipped(idle, asks=True) if take_back is None else Idle(asked=take_back / 2, taken=take_back)
    return [
        Rules("fifo-manual", passes=False, ends=False),
        Rules("fifo-take-back", passes=False, ends=False, idle=taken),
        Rules("gpubot-nudge", idle=Idle(asked=NUDGED)),
        Rules("gpubot", idle=asked),
        Rules("clairvoyant", perfect=True),
    ]


def _shipped(idle: IdlePolicy, asks: bool = False) -> Idle:
    return Idle(
        asked=idle.first.total_seconds() if asks else math.inf,
        taken=idle.take_back_quiet.total_seconds(),
        warned=idle.take_back_warned.total_seconds(),
        warns=idle.second.total_seconds(),
        not_before=idle.take_back_not_before.total_seconds(),
        waiting=True,
    )
