"""Quiet cards: what guests say of them minute by minute, whether they are busy, who is asked about them, and when they go back.

``verdict`` judges one stretch, ``clocks`` count, ``identity`` knows which card it is, ``asking`` and ``taking`` are the policy, ``blind`` is
what cannot be seen, ``facts`` what is known since a move, ``acts`` what people answer. ``decide`` calls ``settle`` and ``take_back``.
"""

from bot.domain.idle.acts import keep, quiet_slots, using
from bot.domain.idle.asking import COUNTED_FOR, nudges_away
from bot.domain.idle.clocks import fold, missed
from bot.domain.idle.common import answer, rate
from bot.domain.idle.settle import settle
from bot.domain.idle.taking import settle as take_back
from bot.domain.idle.verdict import judge

__all__ = [
    "COUNTED_FOR",
    "answer",
    "fold",
    "judge",
    "keep",
    "missed",
    "nudges_away",
    "quiet_slots",
    "rate",
    "settle",
    "take_back",
    "using",
]
