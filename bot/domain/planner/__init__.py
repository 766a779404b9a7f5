"""Who gets what, and when: turns and offers.

``allot`` is the only place that gives holds. ``verdict`` says by which rules somebody is given nothing now, ``plan`` when everybody's devices
are there; ``promises`` plays one line forward.
"""

from bot.domain.lengths import end_of
from bot.domain.planner.answers import accept, pass_
from bot.domain.planner.asked import Asked, Lazily
from bot.domain.planner.giving import Left
from bot.domain.planner.plans import plan
from bot.domain.planner.settle import settle
from bot.domain.planner.spots import expected_free, window_known
from bot.domain.planner.turns import allot
from bot.domain.planner.verdicts import verdict

__all__ = [
    "Asked",
    "Lazily",
    "Left",
    "accept",
    "allot",
    "end_of",
    "expected_free",
    "pass_",
    "plan",
    "settle",
    "verdict",
    "window_known",
]
