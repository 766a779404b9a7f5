"""Moves: the power cycle of a machine as a journal of steps, with a way back from each.

``plan`` gathers wishes and opens the window, ``settle`` goes on from what a look shows, ``calls`` writes down what is asked of vCenter
and what became of it, ``acts`` is what owners may say meanwhile.
"""

from bot.domain.moves.acts import SaidBefore, done, not_now, start, stop
from bot.domain.moves.calls import Order, device, host_of, outcome, pending, step_of
from bot.domain.moves.common import called_off, sits
from bot.domain.moves.hands import hand_over
from bot.domain.moves.plan import plan
from bot.domain.moves.settle import settle

__all__ = [
    "Order",
    "SaidBefore",
    "called_off",
    "device",
    "done",
    "hand_over",
    "host_of",
    "not_now",
    "outcome",
    "pending",
    "plan",
    "settle",
    "sits",
    "start",
    "step_of",
    "stop",
]
