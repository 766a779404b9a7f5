"""Windows: when machines may be off. The door to three rooms.

``agreements`` is what people say and what the terms give, ``settling`` what becomes of it, ``occurrences`` when it holds. Rules and commands
come through here; nothing is defined here.
"""

from __future__ import annotations

from bot.domain.agreements import (
    agree,
    begin_again,
    firm_night,
    not_now,
    objections,
    open_of,
    refuse,
    say_too,
    take_back,
    take_back_not_now,
    use,
    withdraw,
)
from bot.domain.occurrences import (
    begin_at,
    begin_by,
    held_back,
    next_beginning,
    next_night,
    next_window,
    now_window,
    occurrence,
    open_window,
    pattern_window,
    rebase_now,
    usable_night,
    usual,
    works,
)
from bot.domain.settling import drop_lost, settle

__all__ = [
    "agree",
    "begin_again",
    "begin_at",
    "begin_by",
    "drop_lost",
    "firm_night",
    "held_back",
    "next_beginning",
    "next_night",
    "next_window",
    "not_now",
    "now_window",
    "objections",
    "occurrence",
    "open_of",
    "open_window",
    "pattern_window",
    "rebase_now",
    "refuse",
    "say_too",
    "settle",
    "take_back",
    "take_back_not_now",
    "usable_night",
    "use",
    "usual",
    "withdraw",
    "works",
]
