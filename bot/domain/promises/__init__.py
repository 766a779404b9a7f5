"""Promised waiting times: when a request is served, likely and at the latest, and the one fact behind it; kept and scored.

Asked by answers, ``why`` and the board: whoever asks for many promises of one moment takes :class:`Promises`, which plays each line once (``asked``, ``play``).
*At the latest* includes work that runs on, holders who extend once, keep silent or say "not now", and people ahead who answer late; it assumes
that machines shut down when asked, that nothing breaks, that the one who asks answers when asked, and has agreed to a restart beforehand if the
turn comes outside their working hours (else the next one may go first).
"""

from bot.domain.promises.asked import Promises, promise
from bot.domain.promises.bound import Bound
from bot.domain.promises.delayed import Delayed, likely_of_others, tell_delayed
from bot.domain.promises.promise import CAUSES, OPEN, Promise, likely_by, shown
from bot.domain.promises.scores import Score, score, score_words
from bot.domain.promises.told import MOVED, STILL_UNTIL, settle, tell

__all__ = [
    "CAUSES",
    "MOVED",
    "OPEN",
    "STILL_UNTIL",
    "Bound",
    "Delayed",
    "Promise",
    "Promises",
    "Score",
    "likely_by",
    "likely_of_others",
    "promise",
    "score",
    "score_words",
    "settle",
    "shown",
    "tell",
    "tell_delayed",
]
