"""Who gets what, and when: turns and offers.

``allot`` is the only place that gives holds. ``promises`` plays the same line forward.
"""

from bot.domain.lengths import end_of
from bot.domain.planner.answers import accept, pass_
from bot.domain.planner.settle import settle
from bot.domain.planner.spots import expected_free, window_known
from bot.domain.planner.turns import allot

__all__ = ["accept", "allot", "end_of", "expected_free", "pass_", "settle", "window_known"]
